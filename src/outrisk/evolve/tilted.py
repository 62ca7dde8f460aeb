"""Weights of a pool that meet all numbers of regressions, as near as they are printed.

Where regressions stand without a table, their standard errors are all that is known of how variables go together, and
the records that have them are far from any pool. So weights go there step by step. In each, numbers are taken to first
order around the present weights (each record's influence), and none is asked to move further than that holds. Of all
weights that have them so the nearest in relative entropy are found, exactly (Newton's method on the dual); a number is
not asked for a value, but to lie within its printed digits. Each step also goes part of the way back to the pool, so
that the records stay as many different ones as the numbers allow, until one does no good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.balance import STILL, SWEEPS, balanced
from outrisk.evolve.compiled import cube
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.estimated import LEAP, MOST
from outrisk.evolve.linear_map import SEEN, bend_of
from outrisk.evolve.number_errors import GAIN
from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import Array
from outrisk.problem.influence import ModelRecords
from outrisk.problem.refit import NEAR
from outrisk.problem.released import ModelPart

STEPS, INNER, WAIT = 30, 8, 15  # at most: steps, Newton steps in each; steps without gain that end it
HASTE = 5  # steps without gain that one counts for where all are near
FAR = 5.0  # sampling errors that a number is asked to move in a step, at most
BACK, NEARLY = 0.25, 5.0  # share of the way back to the pool, until a step gains nothing, while all numbers together
# are so many errors off
INSIDE = 0.7  # of half a last digit: as near is asked for
SLACK, SMOOTH = 5e-3, 30.0  # of what is asked, in sampling errors; of the dual where it bends
DRAWN, LEAST = 0.03, 0.1  # sampling errors and half digits that a number is brought to where it is to come closest
FELT = 2e-3  # half digits that a sampling error must be for its number to be asked for


@dataclass(frozen=True, eq=False)
class Around:
    """What each record adds to the number of records and to every number (N, q) to first order; what these miss of the
    middle of where they may lie; half of what they may miss, and half a last digit; and their sampling errors (q,).
    """

    rows: Array
    missing: Array
    band: Array
    half: Array
    error: Array


def asked_at(problem: Problem, codes: Codes, seen: Sequence[ModelRecords], weights: Array) -> Around:
    """The numbers around weights (N,) of records (N, variables), seen by the model of each part, that bear on them."""
    at = (np.arange(SEEN) + 0.5) / SEEN * weights.sum()
    sample = codes[np.minimum(np.searchsorted(np.cumsum(weights), at), len(codes) - 1)]
    rows, found = [np.ones((len(codes), 1))], [np.array([[problem.n_records - weights.sum()], [NEAR], [0.5]])]
    for (part, _, which, block), each in zip(problem.slices, seen, strict=True):
        assert isinstance(part, ModelPart)
        (totals, information), half = each.summed(weights), problem.tolerance[which]
        jacobian = part.map.jacobian(totals, information)
        bend = bend_of(problem, part, block, sample, totals, jacobian) * (problem.n_records / SEEN)
        jacobian[:, : bend.shape[1]] += bend
        numbers = part.map.numbers(totals, information) + bend @ totals[: bend.shape[1]]
        low, high = problem.low[which], problem.high[which]
        with np.errstate(invalid="ignore"):
            missing, band = (low + high) / 2.0 - numbers, INSIDE * half + (high - low) / 2.0
        use = problem.known[which] & np.isfinite(missing) & np.isfinite(band) & np.isfinite(jacobian).all(axis=1)
        rows.append(each.through(jacobian[use]))
        found.append(np.array([missing, band, half])[:, use])
    every, (missing, band, half) = np.hstack(rows), np.hstack(found)
    error = np.sqrt((every**2).T @ weights)
    use = error > FELT * half
    return Around(every[:, use], missing[use], band[use], half[use], error[use])


def tilted(problem: Problem, codes: Codes, seen: Sequence[ModelRecords], weights: Array) -> Array:
    """Weights (N,) near the given ones that meet all numbers, or as many as it comes to."""
    pool = np.full(len(codes), problem.n_records / len(codes))
    best, least, waited, back = weights, np.inf, 0, BACK
    for _ in range(STEPS):
        asked = asked_at(problem, codes, seen, weights)
        missing, band = asked.missing / asked.error, asked.band / asked.error
        off = np.maximum(np.abs(missing) - 1.01 * band, 0.0)
        left = float(np.minimum(off, MOST).sum())
        waited = 0 if left < GAIN * least else waited + (1 if left > NEARLY else HASTE)
        if left < least:
            best, least = weights, left
        if (off <= NEAR).all() or waited >= WAIT:
            break
        if waited and back:
            weights, back = best, 0.0
            continue
        start = weights * (pool / weights) ** back if left > NEARLY else weights
        start *= weights.sum() / start.sum()
        move = np.sign(missing) * np.minimum(np.abs(missing), band + FAR)
        rows = (asked.rows / asked.error).astype(np.float32)
        new = _nearest(start, rows, rows.T @ weights + move, band)
        if not np.isfinite(new).all():
            break
        weights = new
    return best


def taken_of(
    asked: Around,
    shares: Array,
    order: NDArray[np.int64],
    rng: np.random.Generator,
    told: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Which records (N,) are taken of these shares, so that all numbers stay where they may lie; in an order (N,).
    told: of the numbers (q,) those that the others follow from, if not all.
    """
    unit = np.maximum(LEAST * asked.half, DRAWN * asked.error)
    rows, band = np.ascontiguousarray(asked.rows / unit), asked.band / unit
    some = rows if told is None else np.ascontiguousarray(rows[:, told])
    taken, off = balanced(some, shares, shares @ some, order, 0, rng)
    if told is not None:
        off = (taken - shares) @ rows
    off -= asked.missing / unit
    left = np.maximum(np.abs(off) - band, 0.0)
    cube.settle(rows, taken, off, band, float(left @ left) / len(off), SWEEPS, rng)
    return taken


def _nearest(start: Array, rows: NDArray[np.float32], target: Array, band: Array) -> Array:
    """Weights (N,), of all that add rows (N, q) up to within `band` of `target` (q,) those nearest to the start."""
    theta, tilt = np.zeros(len(target)), np.zeros(len(start))

    def dual(tilt: Array, theta: Array) -> float:
        bent = float(band @ np.sqrt(theta**2 + SMOOTH**2)) + 0.5 * SLACK**2 * float(theta @ theta)
        return float(np.exp(np.minimum(tilt, 60.0)) @ start - theta @ target) + bent

    value = dual(tilt, theta)
    for _ in range(INNER):
        weights, root = start * np.exp(tilt), np.hypot(theta, SMOOTH)
        gradient = rows.T @ weights - target + band * theta / root + SLACK**2 * theta
        weighted = rows * np.sqrt(weights).astype(np.float32)[:, None]
        curved = (weighted.T @ weighted).astype(np.float64)
        curved[np.diag_indices_from(curved)] *= 1.0 + 1e-6
        curved[np.diag_indices_from(curved)] += band * SMOOTH**2 / root**3 + SLACK**2
        step = -np.linalg.solve(curved, gradient)
        fall = float(-gradient @ step)
        if fall < 0.5 * NEAR**2:  # of what a number may be off
            break
        move = rows @ step
        share = min(1.0, LEAP / max(float(np.abs(move).max()), 1e-300))
        while share > STILL and dual(tilt + share * move, theta + share * step) > value - 0.1 * share * fall:
            share /= 2.0
        theta, tilt = theta + share * step, tilt + share * move
        value = dual(tilt, theta)
    return np.asarray(start * np.exp(tilt))
