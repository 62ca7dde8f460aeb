"""What published numbers of tallies ask of totals: for each number an equation that is linear in them.

A count asks that its total be the count; a share or a mean, that records add up to nothing beyond it; a standard
deviation the same of squares, about the published mean or else the present one; a quantile, that its share of the
records lies below it. So totals may change together, where the range of one of them (`Bounded.bounds`) holds while the
others stay.
"""

from __future__ import annotations

from dataclasses import dataclass

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


def equations_of(part: TallyPart, totals: Array, low: Array, high: Array, tolerance: Array) -> Tallied:
    """The equations of the numbers, each from `low` to `high` (k,) and printed to within `tolerance` (k,), at these
    totals (m,); none of a mode, nor of a number that lies beyond no end of a range that has one end only.
    """
    rows: list[tuple[NDArray[np.int64], Array]] = []
    found: list[tuple[float, float]] = []
    formulas = part.map.formulas(part.n_numbers)
    means = _means(formulas, low, high)
    for at, formula in enumerate(formulas):
        ends = float(low[at]), float(high[at])
        if formula.kind == "mode" or np.isinf(ends).all():
            continue
        places, weights, now, least, most = _linear(formula, totals, *ends, float(tolerance[at]), means)
        both = np.isfinite(least) and np.isfinite(most)
        missing = (least + most) / 2.0 - now if both else min(max(now, least), most) - now
        if missing == 0.0 and not both:
            continue
        half = (most - least) / 2.0 if both else 0.0
        rows.append((places, weights))
        found.append((missing, half))
    missed, may = np.array(found).reshape(-1, 2).T
    ptr = np.cumsum([0, *(len(places) for places, _ in rows)])
    places = np.concatenate([np.zeros(0, np.int64), *(places for places, _ in rows)])
    weights = np.concatenate([np.zeros(0), *(weights for _, weights in rows)])
    matrix = sparse.csr_matrix((weights, places, ptr), shape=(len(rows), len(totals)))
    return Tallied(matrix, missed, may)


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
    formula: Formula, totals: Array, low: float, high: float, tolerance: float, means: dict[int, float]
) -> tuple[NDArray[np.int64], Array, float, float, float]:
    """Which totals an equation has, with what weights; what they add up to, and the range of that."""
    where, base = formula.totals, formula.base
    if formula.kind == "total":
        return where, np.ones(1), float(totals[where[0]]), low - tolerance, high + tolerance
    if formula.kind == "ratio":
        size = max(float(totals[base].sum()), formula.least)
        middle = _middle(low, high)
        share = (middle - formula.shift) / formula.scale
        now = float(totals[where[0]] - share * totals[base].sum())
        each = size / formula.scale
        places, weights = np.concatenate([where, base]), np.concatenate([np.ones(1), np.full(len(base), -share)])
        return places, weights, now, (low - tolerance - middle) * each, (high + tolerance - middle) * each
    if formula.kind == "deviation":
        n, first, second = (float(totals[at]) for at in where)
        size = max(n, 2.0)
        middle = _middle(low, high)
        mean = means.get(int(where[1]), first / size)
        weights = np.array([mean**2 - middle**2, -2.0 * mean, 1.0])
        now = second - 2.0 * mean * first + mean**2 * n - middle**2 * (n - 1.0)
        ends = [(max(end, 0.0) ** 2 - middle**2) * (size - 1.0) for end in (low - tolerance, high + tolerance)]
        return where, weights, now, ends[0], ends[1]
    below = (formula.points < low - tolerance).astype(float)
    upto = (formula.points <= high + tolerance).astype(float)
    weights = (below + upto) / 2.0
    at = float((upto - below) @ totals[where])
    size = float(totals[base].sum())
    now = float(weights @ totals[where]) - formula.scale * size
    used = weights != 0.0
    places = np.concatenate([where[used], base])
    return places, np.concatenate([weights[used], np.full(len(base), -formula.scale)]), now, -at / 2 - 0.5, at / 2 + 0.5
