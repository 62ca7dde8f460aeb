"""What outputs that are already released say by themselves, and so no new one adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from outrisk.assess.look.finding import Found, Rows, everybody_of, people


def with_already(findings: Sequence[Found], before: Sequence[Found]) -> list[Found]:
    """Findings about all outputs, each with the people of whom those `before`, about the outputs that are already
    released, say the same; in each degree of certainty, what is new of anybody first.
    """
    found = [_beside(finding, before) for finding in findings]
    return sorted(found, key=lambda each: (not each.certain, _is_old(each)))


def _is_old(finding: Found) -> bool:
    return 0 < finding.people == finding.already


def _beside(finding: Found, before: Sequence[Found]) -> Found:
    known: Rows = np.intersect1d(finding.who, everybody_of([each for each in before if _is_same(each, finding)]))
    if not len(known):
        return finding
    told = "of all of them" if len(known) == finding.people else f"of {people(len(known))} of them"
    what = f"{finding.what} What is already released says so {told} by itself."
    advice = "" if len(known) == finding.people else finding.advice
    return replace(finding, already=len(known), before=known, what=what, advice=advice)


def _is_same(one: Found, other: Found) -> bool:
    """Whether a finding is another, of as many people or fewer. One of the same people in another place is not: it may
    tell their values to more readers.
    """
    return (one.rule, one.output, one.certain, one.about) == (other.rule, other.output, other.certain, other.about)
