"""What published numbers of tallies ask of totals: for each number an equation that is linear in them.

A count asks that its total be the count; a share or a mean, that records add up to nothing beyond it; a standard
deviation the same of squares, about the published mean or else the present one; a quantile, that its share of the
records lies below it. So totals may change together, where the range of one of them (`Bounded.bounds`) holds while the
others stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.problem.blocks import Array
from outrisk.problem.formulas import Formula
from outrisk.problem.released import TallyPart


@dataclass(frozen=True, eq=False)
class Tallied:
    """Equations: rows (q, m) of m totals; what each misses (q,), and what it may (q,)."""

    rows: sparse.csr_matrix
    missing: Array
    half: Array


def equations_of(
    part: TallyPart, totals: Array, low: Array, high: Array, tolerance: Array, passed: bool = False
) -> Tallied:
    """The equations of the numbers, each from `low` to `high` (k,) and printed to within `tolerance` (k,), at these
    totals (m,); none of a mode or of a limit of a rate, nor of a number that lies beyond no end of a range that has one
    end only. `passed`: of a quantile that is off, that the records which are too many on one side come back, no more;
    else that the middle of those at its value is where it should be.
    """
    simple, where, missing, half = _of_totals(part.formulas, totals, low - tolerance, high + tolerance)
    means = _means(part.formulas, low, high)
    others: list[tuple[int, NDArray[np.int64], Array, float, float]] = []
    for at, formula in enumerate(part.formulas):
        ends = float(low[at]), float(high[at])
        if formula.kind in ("total", "mode", "limit") or np.isinf(ends).all():
            continue
        digit = float(tolerance[at])
        if formula.kind == "error" and len(formula.base):
            formula, ends, digit = _of_both(part.formulas, at, low, high, digit)
            if np.isinf(ends).any():
                continue
        places, weights, now, least, most = _linear(formula, totals, *ends, digit, means, passed)
        both = np.isfinite(least) and np.isfinite(most)
        missed = (least + most) / 2.0 - now if both else min(max(now, least), most) - now
        if missed != 0.0 or both:
            others.append((at, places, weights, missed, (most - least) / 2.0 if both else 0.0))
    order = np.argsort([*simple, *(each[0] for each in others)])  # as they were published
    places = np.concatenate([where, *(each[1] for each in others)])
    entries = np.concatenate([np.ones(len(simple)), *(each[2] for each in others)])
    ptr = np.cumsum([0, *(1 for _ in simple), *(len(each[1]) for each in others)])
    rows = sparse.csr_matrix((entries, places, ptr), shape=(len(order), len(totals)))
    missing = np.concatenate([missing, [each[3] for each in others]])
    half = np.concatenate([half, [each[4] for each in others]])
    return Tallied(rows[order], missing[order], half[order])


def _of_totals(
    formulas: list[Formula], totals: Array, least: Array, most: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, Array]:
    """Of the numbers that are a total, each from `least` to `most` (k,): which they are, which totals, what each misses
    and what it may.
    """
    bounded = np.isfinite(least) | np.isfinite(most)
    at = np.array([at for at, each in enumerate(formulas) if each.kind == "total" and bounded[at]], np.int64)
    where = np.array([formulas[each].totals[0] for each in at], np.int64)
    now, low, high = totals[where], least[at], most[at]
    both = np.isfinite(low) & np.isfinite(high)
    missing = np.where(both, (low + high) / 2.0, np.clip(now, low, high)) - now
    half = np.where(both, (high - low) / 2.0, 0.0)
    use = both | (missing != 0.0)
    return at[use], where[use], missing[use], half[use]


def _means(formulas: list[Formula], low: Array, high: Array) -> dict[int, float]:
    """Published means, beyond what they are counted from, by the total of first moments that they are made of."""
    return {
        int(formula.totals[0]): _middle(low[at], high[at]) - formula.shift
        for at, formula in enumerate(formulas)
        if formula.kind == "ratio" and formula.scale == 1.0 and not np.isinf([low[at], high[at]]).all()
    }


def _middle(low: float, high: float) -> float:
    return low if np.isinf(high) else high if np.isinf(low) else (low + high) / 2.0


def _linear(
    formula: Formula, totals: Array, low: float, high: float, tolerance: float, means: dict[int, float], passed: bool
) -> tuple[NDArray[np.int64], Array, float, float, float]:
    """Which totals an equation has, with what weights; what they add up to, and the range of that."""
    where, base = formula.totals, formula.base
    if formula.kind == "ratio":
        size = max(float(totals[base].sum()), formula.least)
        middle = _middle(low, high)
        share = (middle - formula.shift) / formula.scale
        now = float(totals[where[0]] - share * totals[base].sum())
        each = size / formula.scale
        places, weights = np.concatenate([where, base]), np.concatenate([np.ones(1), np.full(len(base), -share)])
        return places, weights, now, (low - tolerance - middle) * each, (high + tolerance - middle) * each
    if formula.kind in ("deviation", "error"):
        return _of_squares(formula, totals, low, high, tolerance, means)
    below = (formula.points < low - tolerance).astype(float)
    upto = (formula.points <= high + tolerance).astype(float)
    weights, size = (below + upto) / 2.0, float(totals[base].sum())
    most = float((upto - below) @ totals[where]) / 2 + 0.5
    if passed and below @ totals[where] > formula.scale * size + 0.5:
        weights, most = below, 0.5
    elif passed and upto @ totals[where] < formula.scale * size - 0.5:
        weights, most = upto, 0.5
    now = float(weights @ totals[where]) - formula.scale * size
    used = weights != 0.0
    places = np.concatenate([where[used], base])
    return places, np.concatenate([weights[used], np.full(len(base), -formula.scale)]), now, -most, most


def _of_both(
    formulas: list[Formula], at: int, low: Array, high: Array, tolerance: float
) -> tuple[Formula, tuple[float, float], float]:
    """What the two limits of a mean, the lower one at `at` or before it, say together: the lower one of the mean in
    their middle, the upper one of how far they are from it. Within half their tolerance of both, both are right.
    """
    formula = formulas[at]
    lower, upper = (at, at + 1) if formula.scale < 0.0 else (at - 1, at)
    if formula.scale < 0.0:
        mean = Formula("ratio", formula.totals[1:2], formula.base, shift=formula.shift, least=0.5)
        return mean, ((low[lower] + low[upper]) / 2.0, (high[lower] + high[upper]) / 2.0), tolerance / 2.0
    apart = (low[upper] - high[lower]) / 2.0, (high[upper] - low[lower]) / 2.0
    return replace(formula, base=formula.base[:0]), apart, tolerance / 2.0


def _of_squares(
    formula: Formula, totals: Array, low: float, high: float, tolerance: float, means: dict[int, float]
) -> tuple[NDArray[np.int64], Array, float, float, float]:
    """That of a standard deviation, or of the one that a standard error tells of as many records as there are: of
    squares about the published mean.
    """
    where = formula.totals
    n, first, second = (float(totals[at]) for at in where)
    size, unit, spreads = max(n, 2.0), 1.0, 1.0
    mean = means.get(int(where[1]), first / size)
    if formula.kind == "error":
        unit, spreads = formula.times(size), 2.0  # squares of as large an error grow with n (n - 1)
    printed = np.array([low, high]) / unit
    middle = _middle(*printed)
    spread = np.maximum(printed + np.array([-1.0, 1.0]) * tolerance / unit, 0.0)
    weights = np.array([mean**2 - spreads * middle**2, -2.0 * mean, 1.0])
    now = second - 2.0 * mean * first + mean**2 * n - middle**2 * (n - 1.0)
    least, most = (spread**2 - middle**2) * (size - 1.0)
    return where, weights, now, float(least), float(most)
