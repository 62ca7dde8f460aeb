"""Released numbers that runs did not meet, each with the reason and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable

from outrisk.reasons import sentence
from outrisk.records.schema import Matched, Unmet

MOST = 10  # numbers that are told


def unmet(rows: Iterable[Matched]) -> tuple[Unmet, ...]:
    """Numbers that are neither at their digits nor within 1 % of their sampling error in some run, as they are in the
    run that is furthest away: first those that no data set has, then the others by the number of runs, and by sampling
    errors (half last digits where there are none).
    """
    missed: dict[tuple[str, str], list[Matched]] = {}
    for row in rows:
        if not row.near:
            missed.setdefault((row.output, row.label), []).append(row)
    found = [(max(each, key=_far), len(each)) for each in missed.values()]
    found.sort(key=lambda each: (each[0].reason != "conflict", -each[1], -_far(each[0])))
    return tuple(
        Unmet(
            output=row.output,
            number=row.label,
            runs=runs,
            level=row.level,
            fold=row.fold,
            released=row.released,
            refit=row.refit,
            reason=row.reason,
            why=sentence(row.reason, row.detail),
        )
        for row, runs in found[:MOST]
    )


def _far(row: Matched) -> float:
    """How far a number is away; infinitely where it is undefined."""
    unit = row.sampling_error if row.sampling_error > 0 else 0.5 * 10.0**-row.decimals
    return abs(row.difference) / unit if math.isfinite(row.difference) else math.inf
