"""What R's package survival writes in the formula of a Cox model: Surv(time, event) and strata(...)."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = r"`[^`]+`|[\w.]+"
_SURV = re.compile(
    rf"(?:survival::)?Surv\(\s*(?:time\s*=\s*)?({_NAME})\s*,\s*(?:event\s*=\s*)?({_NAME})\s*"
    r"""(?:==\s*(?:"([^"]*)"|'([^']*)'|([\w.]+))\s*)?\)"""
)
_STRATA = re.compile(r"(?:survival::)?\bstrata\(([^()]*)\)")


class OfSurv(NamedTuple):
    """Time, status, the level of the status that is the event ('': not said), variables of strata, and the terms that
    are left.
    """

    time: str
    status: str
    event: str
    strata: tuple[str, ...]
    terms: str


def read_surv(formula: str) -> OfSurv | None:
    """A formula with Surv(...) on its left; None for another one, as with a start and a stop of each interval."""
    left, _, right = formula.partition("~")
    found = _SURV.fullmatch(left.strip())
    if found is None:
        return None
    time, status, *levels = found.groups()
    strata = tuple(name.strip("` ") for each in _STRATA.findall(right) for name in each.split(",") if "=" not in name)
    terms = re.sub(r"^(\s*\+)+|(\+\s*)+$", "", re.sub(r"(\+\s*)+\+", "+ ", _STRATA.sub("", right)))
    return OfSurv(time, status.strip("`"), next(filter(None, levels), ""), strata, " ".join(terms.split()))
