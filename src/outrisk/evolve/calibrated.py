"""A start that is calibrated to the released numbers, as survey statisticians calibrate weights to known totals.

A pool of records is drawn as start `released` says. Their weights are tilted, w exp(u'theta), so that weighted totals
meet the released numbers (Deville and Särndal 1992: of all weights that do, these are nearest to the first in relative
entropy). First come cells of tables and the scores of regressions at their published coefficients, which are linear in
the weights: Newton's method on a convex function. Then all other numbers, to first order by each record's influence
(problem/influence.py), in small steps; standard errors by 1/SE^2, which is nearly linear in the weights. Records are
drawn by balanced sampling (balance.py), so that all numbers stay nearly as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.evolve.balance import balanced
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.evolve.tuning import CALIBRATION, CLOSING
from outrisk.problem.blocks import Array
from outrisk.problem.influence import ModelRecords, TallyRecords, records_of_model, records_of_tally
from outrisk.problem.released import ModelPart, TallyPart


def applies(problem: Problem) -> bool:
    """Whether a start is calibrated: regressions stand beside other outputs, none of which has a slow path, and numbers
    and records are as many as it was measured to gain with.
    """
    models = any(isinstance(part, ModelPart) and part.model.n_score for part in problem.parts)
    slow = any(output.output.effort for output in problem.released)
    sized = (
        CALIBRATION.records[0] <= problem.n_records <= CALIBRATION.records[1]
        and int(problem.known.sum()) <= CALIBRATION.numbers
    )
    return models and len(problem.parts) > 1 and not slow and sized


def draw_calibrated(
    problem: Problem, draw: Callable[[int, np.random.Generator], Codes], n: int, rng: np.random.Generator
) -> Codes:
    """Draw n records (n, variables) from a pool drawn as `draw` says, calibrated to all released numbers."""
    if n != problem.n_records:  # a few again that broke a rule
        return draw(n, rng)
    least, enough, most = CALIBRATION.pool
    codes = draw(min(most, max(least, n, min(20 * n, enough))), rng)
    pool = Pool(problem, codes)
    weights = pool.calibrated()
    times = np.floor(weights)
    shares = weights - times
    rows = pool.rows(weights)
    rows /= np.maximum(np.sqrt(shares @ rows**2), 1e-300)
    taken, _ = balanced(rows, shares, shares @ rows, np.lexsort(codes.T), 0, rng)
    times = (times + taken).astype(np.int64)
    short = n - int(times.sum())  # the number of records is one of what is balanced, and off by a few
    times += rng.multinomial(max(short, 0), weights / weights.sum())
    picked = np.repeat(codes, times, axis=0)
    return np.asarray(picked[rng.permutation(len(picked))[:n]])


@dataclass(frozen=True, eq=False)
class _Asked:
    """Equations of the weights: influence of each record, dense (N, d) and then sparse (N, s); what is missing, and
    what may be (d + s,); which are standard errors away from their digits.
    """

    dense: Array
    thin: sparse.csr_matrix
    missing: Array
    slack: Array
    firm: NDArray[np.bool_]

    def along(self, theta: Array) -> Array:
        """Change of the log weights (N,)."""
        d = self.dense.shape[1]
        return np.asarray(self.dense @ theta[:d] + self.thin @ theta[d:])

    def spread(self, weights: Array) -> Array:
        """Standard deviation of every number over samples (d + s,)."""
        squares = [(self.dense**2).T @ weights, np.asarray(self.thin.multiply(self.thin).T @ weights)]
        return np.asarray(np.sqrt(np.maximum(np.concatenate(squares), 1e-300)))

    def coarse(self, weights: Array) -> bool:
        """Whether a standard error is away from digits that are coarser than its sampling error."""
        return bool((self.firm & (self.slack > self.spread(weights))).any())

    def left(self, weights: Array) -> float:
        """Sum of squares of what is missed, in what closing in begins with."""
        far = self.missing / np.maximum(CLOSING.half * self.slack, CLOSING.near[0] * self.spread(weights))
        return float(far @ far)

    def step(self, weights: Array, firmly: bool) -> Array:
        """Newton's step theta (d + s,): missing over covariance, both scaled."""
        weighted = self.dense * weights[:, None]
        own, mixed = self.dense.T @ weighted, np.asarray(self.thin.T @ weighted)
        thin = (self.thin.T @ self.thin.multiply(weights[:, None]).tocsr()).toarray()
        covariance = np.block([[own, mixed.T], [mixed, thin]])
        spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        slack = np.maximum(np.where(self.firm & firmly, 0.0, self.slack), CALIBRATION.slack * spread)
        scale = np.hypot(spread, slack)
        covariance /= np.outer(scale, scale)
        covariance[np.diag_indices_from(covariance)] += (slack / scale) ** 2
        missing = np.where(spread > CALIBRATION.felt * self.slack, self.missing, 0.0)
        return np.asarray(np.linalg.solve(covariance, missing / scale) / scale)


@dataclass(frozen=True, eq=False)
class Pool:
    """Records (N, variables) to be weighted."""

    problem: Problem
    codes: Codes

    def calibrated(self) -> Array:
        """Weights (N,) that add up to the number of records.

        A standard error printed to few digits may be many of its sampling errors away from them, and yet weigh next to
        nothing: where one stays so, all steps are taken once more with it held to its digits, and kept if they do good.
        Not for few records, nor regressions alone: there it was measured to lead away from all else.
        """
        n = self.problem.n_records
        linear, few, many = CALIBRATION.steps
        most = few if n <= CLOSING.small else many
        weights = self._step(np.full(len(self.codes), n / len(self.codes)), linear, False, False)
        weights = self._step(weights, most, True, False)
        if n <= CLOSING.small or not any(isinstance(part, TallyPart) for part in self.problem.parts):
            return weights
        asked = self._asked(weights, True)
        if not asked.coarse(weights):
            return weights
        other = self._step(weights, most, True, True)
        return other if self._asked(other, True).left(other) < asked.left(weights) else weights

    def _step(self, weights: Array, most: int, every: bool, firmly: bool) -> Array:
        """Take at most so many steps, with all numbers or those that are linear in the weights."""
        for _ in range(most):
            asked = self._asked(weights, every)
            theta = asked.step(weights, firmly)
            move = asked.along(theta)
            if not np.isfinite(move).all():
                return weights
            share = _short(weights, move) if every else _descending(weights, move, float(theta @ asked.missing))
            weights = weights * np.exp(share * move)
            weights *= self.problem.n_records / weights.sum()
            if share == 1.0 and np.abs(move).max() < CALIBRATION.still:
                break
        return weights

    def rows(self, weights: Array) -> Array:
        """What each record adds to the number of records and, to first order, to all numbers, (N, 1 + d + s)."""
        asked = self._asked(weights, True)
        return np.hstack([np.ones((len(weights), 1)), asked.dense, asked.thin.toarray()])

    @cached_property
    def _seen(self) -> list[ModelRecords | list[TallyRecords]]:
        """The records as each part sees them."""
        return [
            records_of_model(part.model, self.codes)
            if isinstance(part, ModelPart)
            else [records_of_tally(block, self.codes) for block in part.blocks]
            for part in self.problem.parts
        ]

    @cached_property
    def _members(self) -> list[sparse.csr_matrix]:
        """What each record adds to the totals of each part that is made of tallies; empty for another."""
        return [
            sparse.csr_matrix((len(self.codes), 0))
            if isinstance(seen, ModelRecords)
            else sparse.hstack([each.members for each in seen], format="csr")
            for seen in self._seen
        ]

    def _asked(self, weights: Array, every: bool) -> _Asked:
        """The equations at these weights; `every`: those too that are not linear in them."""
        dense: list[tuple[Array, Array, Array, NDArray[np.bool_]]] = []
        thin: list[tuple[sparse.csr_matrix, Array, Array]] = []
        for (part, _, which, _), seen, member in zip(self.problem.slices, self._seen, self._members, strict=True):
            if isinstance(part, ModelPart) and isinstance(seen, ModelRecords):
                dense += self._of_model(part, which, seen, weights, every)
            elif isinstance(part, TallyPart):
                thin.append(self._of_tallies(part, which, member, weights))
        none = np.zeros((len(weights), 0))
        left = [np.zeros(0), *(each[1] for each in (*dense, *thin))]
        slack = [np.zeros(0), *(each[2] for each in (*dense, *thin))]
        return _Asked(
            np.hstack([none, *(each[0] for each in dense)]),
            sparse.hstack([sparse.csr_matrix(none), *(each[0] for each in thin)], format="csr"),
            np.concatenate(left),
            np.concatenate(slack),
            np.concatenate(
                [
                    np.zeros(0, np.bool_),
                    *(each[3] for each in dense),
                    *(np.zeros(len(each[1]), np.bool_) for each in thin),
                ]
            ),
        )

    def _of_tallies(
        self, part: TallyPart, which: slice, member: sparse.csr_matrix, weights: Array
    ) -> tuple[sparse.csr_matrix, Array, Array]:
        """Totals go to the middle of their range, those with one end to it if they are beyond."""
        totals = np.asarray(member.T @ weights)
        bounds = part.map.bounds(totals, self.problem.low[which], self.problem.high[which])
        both = np.isfinite(bounds.low) & np.isfinite(bounds.high)
        with np.errstate(invalid="ignore", divide="ignore"):
            middle, half = (bounds.low + bounds.high) / 2.0, (bounds.high - bounds.low) / 2.0
            missing = np.where(both, middle, np.clip(totals, bounds.low, bounds.high)) - totals
            digit = self.problem.tolerance[which][bounds.number] / np.abs(bounds.unit)
        use = (bounds.unit != 0.0) & np.isfinite(missing) & (both | (missing != 0.0))
        return member[:, use], missing[use], (np.where(both, half, 0.0) + digit)[use]

    def _of_model(
        self, part: ModelPart, which: slice, seen: ModelRecords, weights: Array, every: bool
    ) -> Iterator[tuple[Array, Array, Array, NDArray[np.bool_]]]:
        """The scores, which the coefficients are met by; then all other numbers."""
        totals, K, half = seen.totals(weights), part.model.n_score, self.problem.tolerance[which]
        information = seen.information(weights * seen.weight) if K else np.zeros((0, 0))
        if K:
            score = seen.residual[:, :, None] * seen.rows[:, None, :] * seen.weight[:, None, None]
            yield score.reshape(len(weights), K), -totals[:K], np.diag(information) * half[:K], np.zeros(K, np.bool_)
            totals[:K] = 0.0
        if K and not every:
            return
        information = np.zeros((0, 0)) if part.model.information else information
        numbers = part.map.numbers(totals, information)
        jacobian = part.map.jacobian(totals, information)
        jacobian[:, :K] = 0.0
        aim = np.clip(numbers, self.problem.low[which], self.problem.high[which])
        missing = aim - numbers
        firm = np.zeros(len(numbers), np.bool_)
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = list(part.errors)
            missing[errors] = (numbers / 2.0 * (1.0 - (numbers / aim) ** 2))[errors]
            firm[errors] = (np.abs(aim - numbers) > CLOSING.inside * half)[errors]
        use = self.problem.known[which] & np.isfinite(missing) & (jacobian != 0.0).any(axis=1)
        use[:K] = False
        yield seen.through(jacobian[use]), missing[use], half[use], firm[use]


def _descending(weights: Array, move: Array, gain: float) -> float:
    """The share of a step of Newton's method at which the convex function falls enough (Armijo's rule)."""
    start = float(weights.sum())
    tilt = float(weights @ move) + gain  # of the linear part
    share = min(1.0, CALIBRATION.leap / max(float(np.abs(move).max()), 1e-300))
    while share > 1e-9 and float(weights @ np.exp(share * move)) - share * tilt > start - 0.1 * share * gain:
        share /= 2.0
    return share


def _short(weights: Array, move: Array) -> float:
    """The share of a step that leaves the weights near the old ones, in relative entropy."""
    part, share = weights / weights.sum(), min(1.0, CALIBRATION.leap / max(float(np.abs(move).max()), 1e-300))
    while float(part @ (np.expm1(np.minimum(share * move, 50.0)) - share * move)) > CALIBRATION.stride:
        share *= 0.8
    return share
