"""A start that is calibrated to the released numbers, as survey statisticians calibrate weights to known totals.

A pool of records is drawn as start `released` says. Their weights are tilted, w exp(u'theta), so that weighted totals
meet the released numbers (Deville and Särndal 1992: of all weights that do, these are nearest to the first in relative
entropy). First come cells of tables and the scores of regressions at their published coefficients, which are linear in
the weights: Newton's method on a convex function. Then all other numbers, to first order by each record's influence
(problem/influence.py), in small steps; standard errors by 1/SE^2, which is nearly linear in the weights. Records are
drawn by balanced sampling (balance.py), so that all numbers stay nearly as they are. A pool of which no weights will do
is drawn anew (redrawn.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from outrisk.evolve.asked import Asked, beyond, equations_of_tallies, nearest
from outrisk.evolve.balance import balanced
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.estimated import FASTER, LEAP, SLOWER, STEPS, estimated, short
from outrisk.evolve.number_errors import GAIN
from outrisk.evolve.problem import Problem
from outrisk.evolve.redrawn import drawn_anew
from outrisk.evolve.statistics import of_p_values
from outrisk.evolve.ties import agreeing
from outrisk.evolve.tilted import FELT, INSIDE, LEAST, Around, asked_at, taken_of, tilted
from outrisk.evolve.told_counts import tables_of
from outrisk.evolve.tuning import TUNING
from outrisk.problem.algebra import invert
from outrisk.problem.blocks import Array, Tally, breaks_rule, joint_over, level_in
from outrisk.problem.influence import ModelRecords, TallyRecords, records_of_model, records_of_tally
from outrisk.problem.released import ModelPart, TallyPart

RECORDS, NUMBERS, OF_MODELS = 1_000_000, 2_000, 600  # at most, for its time: of regressions it grows by their square
MANY = 500  # numbers beyond which steps are taken in one way (294 of 315 of `groups` at their digits so), and records
# are drawn with an eye to regressions alone
WAIT = 6  # steps in which it neither gains nor falls that end it, flat ones twice
MUCH, LESS = 10.0, 0.7  # sum of squares that is missed with coefficients held; of which less is if they are let go,
# or numbers brought closer
PINNED = 0.5  # how near a count is brought as a pool is drawn from that was drawn anew, of how near all else is
OPEN = 5.0  # times its sampling variance that what equations do not say of a count is left open
ANEW, LOOSE = (0.3, 0.1), 0.03  # standard deviations over samples that equations of a pool may miss that another is
# drawn from; that numbers of that one may
FROM_ENDS = 0.1  # of what a coefficient may be, that it is estimated away from the ends of that
MET = 1.5  # mean square of what numbers miss, up to which they are met
BADLY = 1_000.0  # sum of squares that is missed, from which careful steps are taken
MOST_HELD = 1_500  # scores of clusters, up to which they are
COARSE, COARSER = 0.1, 0.3  # of a sampling error, from which half a digit is coarse; from which it is come closer to
HELD = 0.3  # of their root mean square, by how much scores of clusters may change in a step
WITHIN = 0.5  # half digits that a standard error which prints as 0 is taken to be


def pull_apart(problem: Problem) -> bool:
    """Whether there is more than the coefficients of one model: to bring one number near may move others off."""
    models = [part.model for part in problem.parts if isinstance(part, ModelPart)]
    return len(problem.parts) > 1 or any(model.size > model.n_score for model in models)


def closes(problem: Problem) -> bool:
    """Whether numbers are closed in on: those of regressions, more than the coefficients of one, of survival curves and
    correlations, or of weighted tables; no output has a slow path, and numbers and records are as many as it was
    measured to gain with.
    """
    models = any(isinstance(part, ModelPart) for part in problem.parts)
    weighted = any(block.weight for part in problem.parts for block in part.blocks if isinstance(part, TallyPart))
    slow = any(output.output.effort for output in problem.released)
    sized = problem.n_records <= RECORDS and int(problem.known.sum()) <= NUMBERS
    return (models or weighted) and pull_apart(problem) and not slow and sized


def applies(problem: Problem) -> bool:
    """Whether a start is calibrated: where numbers are closed in on, beside tables not of few people, and not too many
    are of regressions.
    """
    least = 0 if alone(problem) else TUNING.calibrated
    return closes(problem) and problem.n_records >= least and of_models(problem) <= OF_MODELS


def of_models(problem: Problem) -> int:
    """How many numbers are of regressions and other models."""
    return sum(part.n_numbers for part in problem.parts if isinstance(part, ModelPart))


def many_numbers(problem: Problem) -> bool:
    """Whether numbers are so many that equations of all of them take long."""
    return int(problem.known.sum()) > MANY


def alone(problem: Problem) -> bool:
    """Whether regressions, or other models, stand without a table."""
    return all(isinstance(part, ModelPart) for part in problem.parts)


def draw_calibrated(
    problem: Problem, draw: Callable[[int, np.random.Generator], Codes], n: int, rng: np.random.Generator
) -> Codes:
    """Draw n records (n, variables) from a pool drawn as `draw` says, calibrated to all released numbers."""
    if n != problem.n_records:  # a few again that broke a rule
        return draw(n, rng)
    pool = pool_of(problem, draw, n, rng)
    codes, weights = pool.codes, pool.calibrated()
    times = np.floor(weights)
    times = (times + pool.taken(weights, weights - times, rng)).astype(np.int64)
    short = n - int(times.sum())  # the number of records is one of what is balanced, and off by a few
    times += rng.multinomial(max(short, 0), weights / weights.sum())
    picked = np.repeat(codes, times, axis=0)
    return np.asarray(picked[rng.permutation(len(picked))[:n]])


def pool_of(
    problem: Problem, draw: Callable[[int, np.random.Generator], Codes], n: int, rng: np.random.Generator
) -> Pool:
    """A pool to draw n records from."""
    least, enough, most = TUNING.pool
    pool = Pool.of(problem, draw(min(most, max(least, n, min(20 * n, enough))), rng))
    tables = tables_of(problem)
    if not tables or pool.linear[1]:
        return pool
    table = max(tables, key=lambda table: table.counts.size)
    for loose in ANEW:
        asked = pool.asked(pool.start, False)
        asked = asked.some(asked.telling(pool.start, asked.spread(pool.start)))
        weights, _ = nearest(asked, pool.start, loose)
        codes = drawn_anew(pool.codes, weights, table, len(pool.codes), problem.codebook.sizes, rng)
        codes = agreeing(problem, codes, rng)
        codes = codes[_may_be(problem, codes)]
        cell = level_in(joint_over(table.variables, problem.codebook.sizes), codes)
        people = table.counts.ravel() / np.maximum(np.bincount(cell, minlength=table.counts.size), 1)
        pool = Pool(problem, codes, people[cell], True)
    return pool


def _may_be(problem: Problem, codes: Codes) -> NDArray[np.bool_]:
    """Which of records (N, variables) break no rule, and have no value beyond a published largest or smallest one."""
    found = ~breaks_rule(problem.rules, codes)
    for part, _, which, _ in problem.slices:
        if isinstance(part, TallyPart):
            found &= ~beyond(problem, part, which, codes)
    return found


@dataclass(frozen=True, eq=False)
class Pool:
    """Records (N, variables) to be weighted, from these weights (N,) on; whether they were drawn anew. pull: how much
    coefficients that may change are drawn to where they are, in shares of what they may be; None: by half a digit,
    also of an odds ratio.
    """

    problem: Problem
    codes: Codes
    start: Array
    anew: bool = False
    pull: float | None = None

    @classmethod
    def of(cls, problem: Problem, codes: Codes, pull: float | None = None) -> Pool:
        """Of these records, all alike."""
        return cls(problem, codes, np.full(len(codes), problem.n_records / len(codes)), pull=pull)

    def calibrated(self) -> Array:
        """Weights (N,) that add up to nearly the number of records.

        Coefficients are held to their middles at first. Where other numbers rest on them, they are let go within their
        digits then, if less is missed so by far: a p-value may say more of its coefficient than the digits of that.
        From far away these lead astray.

        A standard error printed to few digits may be many of its sampling errors away from them, and yet weigh next to
        nothing: where one stays so, all steps are taken once more with it held to its digits. Digits of others that are
        coarse may contradict each other in their middles, as those of a coefficient and of means that it follows from:
        where one stays outside, all steps are taken once more with little that may be missed. What misses least is
        kept. Where much is missed, coefficients are let go by what they may be in their own units, too: an odds of 0.04
        by an eighth of it. None of this for few records, nor regressions alone, where it was measured to lead away from
        all else; nor for many numbers, where it takes long.
        """
        if alone(self.problem):
            return tilted(self.problem, self.codes, self._models, estimated(self.problem, self._models, self.linear[0]))
        if self._many:
            return self._near(self.linear[0], free=self.anew)
        weights, free, left = self.met()
        if self.problem.n_records <= TUNING.anew:
            return weights
        if left > MET * int(self.problem.known.sum()) and self.in_other_units:
            pool = replace(self, pull=1.0)
            other, let_go, less = pool.met()
            if less < pool._left(weights, True):
                return pool._closest(other, let_go)
        return self._closest(weights, free)

    def _closest(self, weights: Array, free: bool) -> Array:
        """These weights, or others from there that come closer to digits that are coarse, or standard errors."""
        asked = self.asked(weights, True, np.float32, free)
        found = [weights, *self._closer(weights, asked, free)]
        if asked.coarse(asked.spread(weights)):
            firm = self._near(weights, free, firmly=True)
            found += [firm, *self._closer(firm, self.asked(firm, True, np.float32, free), free, firmly=True)]
        return min(found, key=lambda each: self._left(each, free)) if len(found) > 1 else weights

    def met(self) -> tuple[Array, bool, float]:
        """Weights (N,) that meet all numbers as near as steps go, whether coefficients were let go for it, and the sum
        of squares of what is missed.
        """
        weights = self._near(self.linear[0], free=self.anew)
        left = self._left(weights, True)
        if left > MUCH and self.asked(weights, True, np.float32).rests:
            other = self._near(weights, True)
            if (less := self._left(other, True)) < LESS * left:
                return other, True, less
        return weights, False, left

    def _closer(self, weights: Array, asked: Asked, free: bool, firmly: bool = False) -> list[Array]:
        """Weights that come closer to coarse digits; none where none of these is missed, or it does little good.
        `asked`: the equations at the given weights.
        """
        spread = asked.spread(weights)
        if not asked.outside(spread, COARSE if self.problem.bends else COARSER):
            return []
        other = self._near(weights, free, firmly, LEAST)
        return [other] if self._left(other, free) < LESS * asked.left(spread) else []

    def _left(self, weights: Array, free: bool) -> float:
        """Sum of squares of what all numbers miss at these weights."""
        asked = self.asked(weights, True, np.float32, free)
        return asked.left(asked.spread(weights))

    def said(self, weights: Array, block: Tally) -> tuple[Array, Array]:
        """How many records are in each cell of a tally at these weights (cells,), and how far that is left open: the
        covariance (cells, cells) of records beyond what the equations say.
        """
        asked = self.asked(weights, True)
        rows = np.hstack([asked.dense, asked.thin.toarray()])
        member = np.asarray(records_of_tally(block, self.codes).members.todense())
        heavy = rows * weights[:, None]
        covariance = heavy.T @ rows
        own = np.diag(covariance)  # 0 of an equation that no record bears on
        covariance[np.diag_indices_from(covariance)] += asked.slack**2 + 1e-9 * own + (own == 0.0)
        left = member - rows @ np.linalg.solve(covariance, heavy.T @ member)
        return weights @ member, OPEN * (left.T @ (left * weights[:, None]))

    def missed_of_linear(self) -> Array:
        """What weights miss of what is linear in them, which come as near to it as they go."""
        weights, _ = self.linear
        asked = self.asked(weights, False)
        return asked.far(asked.spread(weights))

    def estimates(self) -> tuple[dict[int, Array], float]:
        """Of each part that is a regression, by position, the coefficients (K,) that weights have which meet all
        numbers, as near as it goes: within the digits of all of its numbers. And the sum of squares of what is missed.
        """
        weights, found = self._near(self.linear[0], free=True), dict[int, Array]()
        for number, ((part, _, which, _), seen) in enumerate(zip(self.problem.slices, self._seen, strict=True)):
            if not isinstance(part, ModelPart) or not isinstance(seen, ModelRecords) or part.estimates is None:
                continue
            half, b = self.problem.tolerance[which], part.model.parameters
            low, high = self.problem.low[which] - half, self.problem.high[which] + half
            says = part.estimates(*seen.summed(weights), low, high)
            values, least, most = (each[: len(b)] for each in (says.values, says.low, says.high))
            if np.isfinite(values).all():
                inside = np.where(np.isfinite(most - least), FROM_ENDS * (most - least), 0.0)
                found[number] = np.where(least <= most, np.clip(values, least + inside, most - inside), b)
        return found, self._left(weights, True)

    @cached_property
    def linear(self) -> tuple[Array, bool]:
        """Weights that meet what is linear in them, as near as it goes beside relative entropy, and whether it went."""
        return nearest(self.asked(self.start, False), self.start)

    def _near(self, weights: Array, free: bool = False, firmly: bool = False, close: float = 1.0) -> Array:
        """Meet all numbers, to first order at each step, as near as it goes; `free`: with coefficients that may change,
        `firmly`: with standard errors that are off held to their digits, `close`: of half a digit, what may be missed.
        """
        found, left = self._in_steps(weights, free, firmly, close)
        few, many = self.problem.n_records <= TUNING.anew, self._many or self._n_held > MOST_HELD
        held = (
            not free or self.pull is not None
        )  # let go by half digits, careful steps lead astray (census at 2 decimals)
        if left > BADLY and held and not few and not many:
            other, _ = self._in_steps(weights, free, firmly, close, careful=True)
            found = other if self._left(other, free) < left else found
        return found

    def _in_steps(
        self, weights: Array, free: bool, firmly: bool, close: float, careful: bool = False
    ) -> tuple[Array, float]:
        """The weights of `_near`, and the sum of squares of what is missed; `careful`: in steps that take p-values by
        their statistics, leave the scores of clusters nearly as they are, and are shorter where one does no good.
        """
        best, least, last, waited = weights, np.inf, np.inf, 0
        told, equations = np.zeros(0, np.int64), 0
        stride, move = TUNING.stride, np.zeros(len(weights))
        for _ in range(STEPS * (1 + careful)):
            asked = self.asked(weights, True, np.float32, free, careful)
            spread = asked.spread(weights)
            left = asked.left(spread)
            falls = left < GAIN * max(least, last)
            waited = 0 if falls else waited + 1 + (GAIN * last < left <= last)
            last = left
            if left < least:
                best, least = weights, left
            if waited >= WAIT * (1 + careful):
                break
            if careful and left > least:
                stride *= SLOWER
                weights = best * np.exp(short(best, move, stride) * move)
                continue
            stride = min(TUNING.stride, FASTER * stride)
            if self.anew:  # of many numbers most follow from others
                if len(spread) != equations:
                    told, equations = asked.telling(weights, spread), len(spread)
                asked, spread = asked.some(told), spread[told]
            if careful and self._n_held:
                asked = asked.beside(*self._held(weights))
                spread = asked.spread(weights)
            loose = (LOOSE if self.anew else TUNING.loose) * spread
            slack = np.maximum(close * np.where(asked.firm & firmly, 0.0, asked.slack), loose)
            missing = np.where(spread > FELT * asked.slack, asked.missing, 0.0)
            move = asked.along(asked.step(weights, missing, slack))
            if not np.isfinite(move).all():
                break
            move = np.clip(move, -LEAP, LEAP)
            weights = weights * np.exp(short(weights, move, stride) * move)
        return best, least

    @cached_property
    def _n_held(self) -> int:
        """How many scores of clusters there are."""
        clustered = [seen.model for seen in self._models if seen.model.clusters is not None]
        return sum(model.n_meat for model in clustered)

    def _held(self, weights: Array) -> tuple[sparse.csr_matrix, Array]:
        """What each record adds to the scores of each cluster, in what they make of each coefficient, (N, h), and by
        how much these may change in a step (h,).
        """
        rows, slack = list[sparse.csr_matrix](), list[Array]()
        for seen in self._models:
            clusters, every = seen.model.clusters, np.arange(len(weights))
            if clusters is None or seen.cluster is None:
                continue
            inverse = invert(seen.information(weights * seen.weight))
            for each in (seen.scores @ inverse).T:
                rows.append(sparse.csr_matrix((each, (every, seen.cluster)), shape=(len(weights), clusters.size)))
                size = np.asarray(rows[-1].T @ weights)
                slack.append(np.full(clusters.size, HELD * np.sqrt(size @ size / clusters.size)))
        return sparse.hstack(rows, format="csr"), np.concatenate(slack)

    def taken(self, weights: Array, shares: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Which records (N,) are taken of these shares, so that all numbers stay nearly as they are to first order."""
        order = np.lexsort(self.codes.T)
        if alone(self.problem):
            return taken_of(asked_at(self.problem, self.codes, self._models, weights), shares, order, rng)
        every = self.asked(weights, True, free=self.anew)
        if self.anew:
            rows, spread = np.hstack([every.dense, every.thin.toarray()]), every.spread(weights)
            told = every.telling(weights, spread)
            spread = np.where(every.counts, PINNED, 1.0) * spread
            around = Around(rows, every.missing, INSIDE * every.slack, every.slack, spread)
            return taken_of(around, shares, order, rng, told)
        rows = every.dense if self._many else np.hstack([every.dense, every.thin.toarray()])
        rows /= np.maximum(np.sqrt(np.einsum("n,nk,nk->k", shares, rows, rows)), 1e-300)
        return balanced(rows, shares, shares @ rows, order, 0, rng)[0]

    @property
    def _many(self) -> bool:
        return many_numbers(self.problem)

    @cached_property
    def _seen(self) -> list[ModelRecords | list[TallyRecords]]:
        """The records as each part sees them."""
        return [
            records_of_model(part.model, self.codes)
            if isinstance(part, ModelPart)
            else [records_of_tally(block, self.codes) for block in part.blocks]
            for part in self.problem.parts
        ]

    @property
    def _models(self) -> list[ModelRecords]:
        """The records as each model sees them."""
        return [seen for seen in self._seen if isinstance(seen, ModelRecords)]

    @cached_property
    def _members(self) -> list[sparse.csr_matrix]:
        """What each record adds to the totals of each part that is made of tallies; empty for another."""
        return [
            sparse.csr_matrix((len(self.codes), 0))
            if isinstance(seen, ModelRecords)
            else sparse.hstack([each.members for each in seen], format="csr")
            for seen in self._seen
        ]

    def asked(
        self,
        weights: Array,
        every: bool,
        precision: DTypeLike = np.float64,
        free: bool = False,
        by_statistic: bool = False,
    ) -> Asked:
        """The equations at these weights; `every`: those too that are not linear in them; `free`: as coefficients may
        change, too; `by_statistic`: p-values by the statistics that have them. Single precision is enough for a step,
        but not for what records add up to at six digits.
        """
        dense: list[tuple[Array, Array, Array, Array, NDArray[np.bool_]]] = []
        thin: list[tuple[sparse.csr_matrix, Array, Array, NDArray[np.bool_]]] = []
        rests = False
        for (part, _, which, _), seen, member in zip(self.problem.slices, self._seen, self._members, strict=True):
            if isinstance(part, ModelPart) and isinstance(seen, ModelRecords):
                found, own = self._of_model(part, which, seen, weights, every, precision, free, by_statistic)
                dense, rests = dense + found, rests or own
            elif isinstance(part, TallyPart):
                thin.append(equations_of_tallies(self.problem, part, which, member, weights, self.anew))
        return Asked.of_all(dense, thin, weights, self.problem.n_records, precision, rests)

    def _of_model(
        self,
        part: ModelPart,
        which: slice,
        seen: ModelRecords,
        weights: Array,
        every: bool,
        precision: DTypeLike,
        free: bool,
        by_statistic: bool,
    ) -> tuple[list[tuple[Array, Array, Array, Array, NDArray[np.bool_]]], bool]:
        """The scores, which the coefficients are met by; then all other numbers, and whether one rests on them."""
        totals, half = seen.totals(weights), self.problem.tolerance[which]
        says = part.map.says(self.problem.low[which], self.problem.high[which])
        K = part.model.n_score if says is not None else 0  # correlations have columns of their own as score
        information = seen.information_with(totals, weights)
        found = []
        if says is not None and K:
            inverse = invert(information)
            influence = (seen.scores @ inverse).astype(precision, copy=False)
            with np.errstate(invalid="ignore"):  # of what nothing is told the ends are infinite
                middle = says.coefficients.mean(axis=1)
            aside = np.nan_to_num(middle - part.model.parameters, posinf=0.0, neginf=0.0)
            own = half[:K] if self.pull is None or not free else self._half_of(part, which) / self.pull
            found.append((influence, -totals[:K] @ inverse, own, aside, np.zeros(K, np.bool_)))
            if not free:
                totals[:K] = 0.0
        if not every:
            return found, False
        information = np.zeros((0, 0)) if part.model.information else information
        numbers = part.map.numbers(totals, information)
        jacobian = part.map.jacobian(totals, information)
        rests = bool(jacobian[K:, :K].any())
        if not free:
            jacobian[:, :K] = 0.0
        low, high = self.problem.low[which], self.problem.high[which]
        aim = np.clip(numbers, low, high)
        firm = np.zeros(len(numbers), np.bool_)
        with np.errstate(invalid="ignore", divide="ignore"):
            if part.p_values and by_statistic:
                at = list(part.p_values)
                half = half.copy()
                numbers[at], slopes, aim[at], half[at] = of_p_values(numbers[at], (low - half)[at], (high + half)[at])
                jacobian[at] *= slopes[:, None]
            missing = aim - numbers
            errors = list(part.errors)
            positive = np.maximum(aim, WITHIN * half)  # it may print as 0
            if part.model.clusters is None:  # those of clusters grow as the scores of these, not as 1 / root of weights
                missing[errors] = (numbers / 2.0 * (1.0 - (numbers / positive) ** 2))[errors]
            firm[errors] = (np.abs(aim - numbers) > 2.0 * TUNING.half * half)[errors]
        use = self.problem.known[which] & np.isfinite(missing) & (jacobian != 0.0).any(axis=1)
        use &= np.isfinite(jacobian).all(axis=1)
        use[:K] = False
        rows = seen.through(jacobian[use]).astype(precision, copy=False)
        found.append((rows, missing[use], half[use], np.zeros(use.sum()), firm[use]))
        return found, rests

    @property
    def in_other_units(self) -> bool:
        """Whether half of what some coefficient may be is not half a digit."""
        return not all(
            np.allclose(self._half_of(part, which), self.problem.tolerance[which][: part.model.n_score], rtol=0.01)
            for part, _, which, _ in self.problem.slices
            if isinstance(part, ModelPart)
        )

    def _half_of(self, part: ModelPart, which: slice) -> Array:
        """Half of what coefficients b may be (K,): of b, where exp(b) is printed, and as limits narrow it; half a digit
        where that says nothing.
        """
        half, K = self.problem.tolerance[which], part.model.n_score
        says = part.map.says(self.problem.low[which] - half, self.problem.high[which] + half)
        if says is None or not K:  # of correlations and Cox models, whose scores are no sums over records
            return half[:K]
        found = (says.coefficients[:, 1] - says.coefficients[:, 0]) / 2.0
        return np.where(np.isfinite(found) & (found > 0.0), found, half[:K])
