"""Which outputs the synthetic data reproduce well enough for a statement that there is no risk."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from outrisk.assess.run import RunResult
from outrisk.problem.blocks import Array
from outrisk.problem.refit import NEAR, Refit
from outrisk.records.schema import NotReproduced

MISPLACED = 0.005  # of the records of a table, at most
_DIGITS = 2.0  # half units of the last printed digit that other numbers may be away


def not_reproduced(results: Sequence[RunResult]) -> tuple[NotReproduced, ...]:
    """Outputs that some run does not reproduce: fewest numbers that a run met, by both measures, and the run that is
    furthest away.

    A table is reproduced where at most 0.5 % of what it counts stands in other cells (half the sum of the absolute
    differences over the sum of the numbers), another output where every number is within one unit of its last digit, or
    within 1 % of its sampling error.
    """
    found = []
    for position, released in enumerate(results[0].job.problem.released if results else ()):
        refits = [result.refits[position] for result in results]
        failing = [(distance(refit), refit) for refit in refits if distance(refit) > 1]
        if failing:
            worst = max(failing, key=lambda each: each[0])[1]
            matched = min(int(refit.matched.sum()) for refit in refits)
            near = min(int(refit.near.sum()) for refit in refits)
            found.append(_row(worst, len(failing), matched, near, bool(released.output.table)))
    return tuple(found)


def distance(refit: Refit) -> float:
    """How far an output is from being reproduced: at most 1 where it is; infinite where it could not be refitted."""
    differences = np.abs(refit.differences)
    if refit.failure or not np.isfinite(differences).all():
        return math.inf
    if not len(differences):
        return 0.0
    if refit.released.output.table:
        total = float(np.nansum(np.abs(refit.released.values[refit.released.known])))
        return float(differences.sum()) / (2 * MISPLACED * total) if total else float(differences.sum())
    return float((differences / _allowed(refit)).max())


def _allowed(refit: Refit) -> Array:
    """How far each number may be away."""
    digits = _DIGITS * refit.released.tolerance[refit.released.known]
    return np.asarray(np.fmax(digits, NEAR * refit.sampling_errors))


def _row(refit: Refit, runs: int, matched: int, near: int, table: bool) -> NotReproduced:
    released = refit.released
    known = np.flatnonzero(released.known)
    if refit.failure or not np.isfinite(refit.differences).all():
        worst = int(np.flatnonzero(~np.isfinite(refit.differences))[0])
        why = refit.failure or "a number is undefined in the synthetic data"
    else:
        worst = int(np.argmax(np.abs(refit.differences) / _allowed(refit)))
        why = (
            f"more than {100 * MISPLACED:g} % of what the table counts stands in other cells"
            if table
            else "a number is further away than one unit of its last digit, and than 1 % of its sampling error"
        )
    at = known[worst]
    return NotReproduced(
        output=released.name,
        runs=runs,
        numbers=len(known),
        matched=matched,
        near=near,
        worst=released.labels[at],
        released=float(released.values[at]),
        refit=float(refit.numbers[at]),
        why=why,
    )
