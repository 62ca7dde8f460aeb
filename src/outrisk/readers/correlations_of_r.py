"""What R prints of a trend in proportions, and of a correlation: scores, estimate, limits, an exact p."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from scipy import stats

from outrisk.errors import OutputError
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.digits_of_r import digits_of_limits, significant
from outrisk.readers.found_tests import FoundTest, Number
from outrisk.readers.printed_number import MOST_OF_OUTPUT, read_printed

_DIGITS = 7  # significant ones of an estimate, unless R's options say otherwise
_NEAR = 0.02  # by which a number of records may be off a whole number, as far as digits go
EXACT = "the exact p-value is not that of the output, which is by {}; it is left out"
GROUPS = "numbers in the call are left out, and its groups are taken in the order of the codebook"


def of_trend(found: FoundTest, scores: str) -> FoundTest:
    """prop.trend.test, with the scores of its groups."""
    numbers = [read_printed(text) for text in scores.partition(":")[2].split()]
    if not numbers or any(each is None for each in numbers):
        raise OutputError("a test for trend without its line 'using scores'; give the page as R prints it")
    return replace(found, scores=tuple(each.value for each in numbers if each is not None), notes=(GROUPS,))


def of_correlation(found: FoundTest, body: Sequence[str]) -> FoundTest:
    """cor.test, with its estimate, and the limits of Pearson's; without an exact p."""
    test, numbers, notes = found.may_be[0], dict(found.numbers), list[str]()
    text = next((after for line, after in pairwise(body) if line in ("cor", "rho", "tau")), "")
    printed = read_printed(text)
    if printed is None:
        raise OutputError("a correlation of R without its sample estimate; give the page as R prints it")
    shown = [significant(text), digits_of_limits(body)]
    for name, more in (("[tSz]", 2), ("p-value", 3)):  # than these have
        shown += [significant(each) + more for each in re.findall(rf"\b{name} = (\d[\d.e-]*)", " ".join(body))]
    sure = min(max(shown), _DIGITS)
    size = math.floor(math.log10(abs(printed.value))) if printed.value else 0
    numbers["r"] = r = Number.of(printed, max(printed.decimals, min(sure - 1 - size, MOST_OF_OUTPUT)))
    if test == "pearson":
        ends, note = _limits(found, body)
        numbers |= ends
        notes += note
    elif test == "spearman" and "p" in numbers and is_exact(numbers["statistic"], r, numbers["p"]):
        del numbers["p"]
        notes.append(EXACT.format("Student's t"))
    elif test == "kendall" and "z" not in numbers:
        del numbers["p"]
        notes.append(EXACT.format("the normal distribution, and so is T, which tells the number of records"))
    doubtful = {name: why for name, why in found.doubtful.items() if name in numbers}
    return replace(found, numbers=numbers, notes=tuple(notes), doubtful=doubtful)


def is_exact(s: Number, rho: Number, p: Number) -> bool:
    """Whether p is not that of t, of as many records as S and rho say; of a correlation of 1 that is not told."""
    if 1.0 - abs(rho.low) < 1e-6 or s.low <= 0.0:
        return True
    cube = 6.0 * s.low / (1.0 - rho.low)  # n^3 - n
    n = round(cube ** (1.0 / 3.0) + 1.0 / (3.0 * cube ** (1.0 / 3.0)))
    if n < 3:
        return True
    half = 0.5 * 10.0**-rho.decimals
    ends = [
        float(2.0 * stats.t.sf(abs(r) * math.sqrt((n - 2) / (1.0 - r * r)), n - 2))
        for r in (rho.low - half, rho.low + half)
        if abs(r) < 1.0
    ]
    wide = 0.5 * 10.0**-p.decimals
    return not (min(ends, default=1.0) - 1.01 * wide <= p.high and max(ends, default=0.0) + 1.01 * wide >= p.low)


def _limits(found: FoundTest, body: Sequence[str]) -> tuple[dict[Statistic, Number], list[str]]:
    """The limits at 95 %, and what is left out otherwise."""
    at = next((at for at, line in enumerate(body[:-1]) if line.endswith("percent confidence interval:")), None)
    if at is None:
        return {}, []
    if body[at].split()[0] != "95" or found.doubtful:
        return {}, ["confidence limits at another level than 95 %, or on one side, are left out"]
    ends = [read_printed(text) for text in body[at + 1].split()]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        raise OutputError("confidence limits of a correlation are no two numbers; give the page as R prints it")
    decimals = max(each.decimals for each in ends if each is not None)
    return {"lower limit": Number.of(ends[0], decimals), "upper limit": Number.of(ends[1], decimals)}, []
