"""Weights of a pool that bring regressions near what is published of them, from far away.

Printed numbers are poor guides from far: a p-value of 0.000 does not say which way to go, and a limit of an odds ratio
is anything but linear. So what they say of the estimates is looked at: of coefficients, standard errors (which limits
tell too), and those of the whole model. To first order at each step (each record's influence), standard errors by
1/SE^2, which is nearly linear in the weights; a step that does not bring them nearer is taken back and made shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from outrisk.evolve.problem import Problem
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array
from outrisk.problem.influence import ModelRecords
from outrisk.problem.released import ModelPart

STEPS = 40  # of the weights of a pool, at most
CLOSE = 0.5  # sampling errors that estimates are off on the average, from which on that will do
MOST = 100.0  # sampling errors that one counts as, at most
LOOSE = 0.1  # sampling errors that an estimate may miss of what a step asks of it
LEAP = 5.0  # that a log weight may change by in a step; what is linear in the weights may let it fall further
FASTER, SLOWER = 1.5, 0.25  # the length of a step after one that did good, and after one that did not


def estimated(problem: Problem, seen: Sequence[ModelRecords], weights: Array) -> Array:
    """Weights (N,), from the given ones, at which estimates are near; the records as the model of each part sees them.
    Where this leads nowhere, the nearest that it came to.
    """
    best, least, stride, move = weights, np.inf, TUNING.stride, np.zeros(len(weights))
    for _ in range(STEPS):
        rows, missing, slack = _around(problem, seen, weights)
        error = np.sqrt(np.maximum((rows**2).T @ weights, 1e-300))
        off = np.maximum(np.abs(missing) - slack, 0.0) / error
        left = float(np.minimum(off, MOST).mean())
        if left < least:
            best, least, stride = weights, left, min(TUNING.stride, FASTER * stride)
            if left < CLOSE:
                break
            loose = np.where(off > 0.0, 0.0, slack / 2.0)
            asked = np.where(off > 0.0, np.sign(missing) * (np.abs(missing) - slack / 2.0), missing)
            move = np.clip(rows @ _step(rows, weights, asked, np.maximum(loose, LOOSE * error)), -LEAP, LEAP)
            if not np.isfinite(move).all():
                break
        else:
            stride *= SLOWER
        weights = best * np.exp(short(best, move, stride) * move)
        weights *= problem.n_records / weights.sum()
    return best


def short(weights: Array, move: Array, stride: float) -> float:
    """The share of a change (N,) of log weights that leaves these near the old ones (N,): in relative entropy within
    `stride`.
    """
    part, share = weights / weights.sum(), 1.0
    while float(part @ (np.expm1(np.minimum(share * move, 50.0)) - share * move)) > stride:
        share *= 0.8
    return share


def _around(problem: Problem, seen: Sequence[ModelRecords], weights: Array) -> tuple[Array, Array, Array]:
    """What each record adds to the number of records and to every estimate (N, q), to first order; what these miss of
    the middle of what is said of them, and half the range of that (q,).
    """
    rows, found = [np.ones((len(weights), 1))], [np.array([[problem.n_records - weights.sum()], [0.5]])]
    for (part, _, which, _), each in zip(problem.slices, seen, strict=True):
        assert isinstance(part, ModelPart)
        (totals, information), half = each.summed(weights), problem.tolerance[which]
        low, high = problem.low[which] - half, problem.high[which] + half
        if part.estimates is None:
            values, jacobian = part.map.numbers(totals, information), part.map.jacobian(totals, information)
            errors = range(0)
        else:
            says = part.estimates(totals, information, low, high)
            values, jacobian, low, high, errors = says.values, says.jacobian, says.low, says.high, says.errors
        with np.errstate(invalid="ignore", divide="ignore"):
            missing, slack = (low + high) / 2.0 - values, (high - low) / 2.0
            aim = np.maximum(low + high, high - low)[errors] / 2.0  # it may print as 0
            missing[errors] = values[errors] / 2.0 * (1.0 - (values[errors] / aim) ** 2)
        use = np.isfinite(missing) & np.isfinite(slack) & np.isfinite(jacobian).all(axis=1) & jacobian.any(axis=1)
        rows.append(each.through(jacobian[use]))
        found.append(np.array([missing, slack])[:, use])
    return np.hstack(rows), *np.hstack(found)


def _step(rows: Array, weights: Array, missing: Array, slack: Array) -> Array:
    """Newton's step (q,): what is missing over the covariance and what may be missed (Levenberg and Marquardt's)."""
    seen = rows.astype(np.float32) * np.sqrt(weights).astype(np.float32)[:, None]  # a direction need not be exact
    covariance = (seen.T @ seen).astype(np.float64)
    scale = np.hypot(np.sqrt(np.maximum(np.diag(covariance), 1e-300)), slack)
    covariance /= np.outer(scale, scale)
    covariance[np.diag_indices_from(covariance)] += (slack / scale) ** 2
    return np.asarray(np.linalg.solve(covariance, missing / scale) / scale)
