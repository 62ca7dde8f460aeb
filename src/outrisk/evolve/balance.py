"""Choosing some of many items so that what they add up to is as asked: by shares of them first, then whole.

Each item adds a row to some totals. Shares between 0 and 1 that meet the totals, and are else nearest to a given share
in relative entropy, are those of a calibration with a logistic link (Deville and Särndal 1992): Newton's method on a
convex function of as many unknowns as there are totals. They become 0 or 1 by the cube method (compiled/cube.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from outrisk.evolve.compiled import cube
from outrisk.problem.blocks import Array

STEPS, STILL = 60, 1e-6  # of Newton's method: steps at most; fall of the function, or share of a step, that ends it
TIGHTER = 3.0  # factor by which the slack falls in a step; Newton's method loses its way where all is asked at once
LAST = 300  # sweeps of annealing over the last items
SWEEPS = 100  # over all of them


def balanced(
    rows: Array,
    shares: Array,
    asked: Array,
    order: NDArray[np.int64],
    polish: int,
    rng: np.random.Generator,
    others: int | None = None,
) -> tuple[NDArray[np.bool_], Array]:
    """Take items with the chances `shares` (M,), so that rows (M, d) add up to nearly what they do on the average, and
    then nearly to `asked` (d,).

    order (M,): items of which the last are those that chance decides on, at most d; polish: sweeps of annealing over
    all of them at the end, or over those taken and so many `others`. Returns which are taken (M,), and by how much
    their sum is off (d,).
    """
    now = shares.copy()
    cube.fly(rows, now, order, rng)
    taken = now > 0.5
    left = np.flatnonzero((now > cube.WHOLE) & (now < 1.0 - cube.WHOLE))
    taken[left] = rng.random(len(left)) < now[left]
    off = taken @ rows - asked
    some, few = taken[left], np.ascontiguousarray(rows[left])
    cube.land(few, some, off, float((few**2).sum() / max(len(few), 1)), LAST, rng)
    taken[left] = some
    if polish:
        which: slice | NDArray[np.int64] = slice(None)
        if others is not None and others < len(rows) - taken.sum():
            which = np.concatenate([np.flatnonzero(taken), rng.permutation(np.flatnonzero(~taken))[:others]])
        some = taken[which]
        cube.land(np.ascontiguousarray(rows[which]), some, off, float(off @ off) / len(off), polish, rng)
        taken[which] = some
    return taken, off


def shares_to(rows: Array, asked: Array, share: float, slack: float) -> Array:
    """Shares (M,) of items of which rows (M, d) add up to `asked` (d,), nearest to `share` of every item; what the
    totals miss counts 1/slack for its square beside the entropy.
    """
    start = np.log(share / (1.0 - share))
    theta = np.zeros(rows.shape[1])
    seen: NDArray[Any] = rows.astype(np.float32)
    tilt, now = np.full(len(rows), start), max(slack, float(np.sqrt(asked @ asked)))
    for _ in range(STEPS):
        shares = expit(tilt)
        gradient = shares @ rows - asked + now * theta
        weighted = seen * np.sqrt(shares * (1.0 - shares)).astype(seen.dtype)[:, None]
        covariance = (weighted.T @ weighted).astype(np.float64)
        covariance[np.diag_indices_from(covariance)] += now
        step = -np.linalg.solve(covariance, gradient)
        fall, length = float(-gradient @ step), 1.0
        if fall < STILL and now == slack:
            break
        value = _dual(tilt, theta, asked, now)
        while length > STILL:
            new = start + rows @ (theta + length * step)
            if _dual(new, theta + length * step, asked, now) <= value - 0.1 * length * fall:
                theta, tilt = theta + length * step, new
                break
            length /= 2.0
        if length <= STILL and seen is rows:
            break
        if length <= STILL:
            seen = rows  # single precision is not enough where totals are nearly the same ones
        elif length >= 0.5 or fall < 1.0:
            now = max(slack, now / TIGHTER)
    return np.asarray(expit(tilt))


def _dual(tilt: Array, theta: Array, asked: Array, slack: float) -> float:
    """The convex function whose least value gives the shares."""
    return float(np.logaddexp(0.0, tilt).sum() - theta @ asked + 0.5 * slack * (theta @ theta))
