"""What is known of each output by itself, while all are released together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from outrisk.assess.look.finding import Found, everybody_of
from outrisk.assess.verdict.wording import rounded_up
from outrisk.records.schema import (
    CANNOT_TELL,
    DISCLOSIVE,
    FOUND,
    NOT_FOUND,
    NOT_REPRODUCED,
    OutputDecision,
)

if TYPE_CHECKING:
    from outrisk.assess.verdict.decide import Evidence


def of_outputs(evidence: Evidence, certain: Sequence[Found]) -> Iterator[OutputDecision]:
    """For each output, a verdict of the same five by the same order: what it says for certain, and the marginal risk at
    the key set of its own variables, with the limits that hold for all key sets at once.
    """
    missed = {each.output: each for each in evidence.missed}
    for name, keys in evidence.outputs.items():
        own = [each for each in certain if each.concerns(name)]
        people = len(everybody_of(own))
        found, up_to, told = _measured(evidence, keys)
        if people > evidence.appetite.people:
            found, told = DISCLOSIVE, own[0].what
        elif found != FOUND and name in missed:
            found = NOT_REPRODUCED
            each = missed[name]
            near = f"to 1 % of their sampling error {each.near:,}"
            told = f"{each.matched:,} of {each.numbers:,} numbers in the worst run ({near}): {each.why}"
        elif found == NOT_FOUND and missed and keys:  # what was missed may tell more at the same keys
            found, told = CANNOT_TELL, f"{told}, but {_beside(list(missed))}"
        yield OutputDecision(name, found, up_to if found == NOT_FOUND else math.nan, told)


def _beside(missed: Sequence[str]) -> str:
    """What outputs that were not reproduced leave open, as the end of a sentence."""
    were = f"“{missed[0]}” was" if len(missed) == 1 else f"{len(missed):,} of them were"
    return f"{were} not reproduced, so that it may be more"


def _measured(evidence: Evidence, keys: tuple[str, ...]) -> tuple[str, float, str]:
    """Verdict, upper limit and reason."""
    if not keys:
        return NOT_FOUND, 0.0, f"it is about {evidence.target} alone, and so tells everybody the same"
    if not evidence.levels:
        return CANNOT_TELL, math.nan, "there is no holdout"
    lead, margin = evidence.levels[0], evidence.appetite.margin
    at = next((k for k, each in enumerate(lead.sets) if frozenset(each.keys) == frozenset(keys)), None)
    if at is None:
        return CANNOT_TELL, math.nan, "its variables make a key set too many"
    limits = np.array([[each[at] for each in lead.limits_of(measure)[:2]] for measure in lead.judged])
    lowest, highest = (float(each) for each in limits.max(axis=0))
    place = f"knowing its other variables ({', '.join(keys)}), all outputs released together"
    if lowest > margin:
        return FOUND, highest, f"{place}: at least {lowest:z.3f}"
    if highest < margin:
        return NOT_FOUND, highest, f"{place}: at most {rounded_up(highest)}"
    return CANNOT_TELL, highest, f"{place}: between {lowest:z.3f} and {rounded_up(highest)}"
