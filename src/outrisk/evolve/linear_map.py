"""The linear map: a fitness around one data set, in which any edit costs a few additions.

Released numbers are smooth functions of totals, which are sums over records. Around one data set the numbers of tallies
turn into ranges of their totals, and the residuals of models are linear in theirs, so that the fitness is quadratic in
both. It is taken afresh at the best data set in every generation (a Gauss-Newton step for the search to follow).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.compiled.sums import bends_of
from outrisk.evolve.number_errors import Errors, errors_of
from outrisk.evolve.problem import Problem
from outrisk.evolve.tuning import TUNING
from outrisk.evolve.weights import Fitness, Weights, of_model, of_tally
from outrisk.problem.algebra import invert, symmetric
from outrisk.problem.blocks import Array
from outrisk.problem.counts import made_of_counts
from outrisk.problem.released import Bounds, ModelPart, TallyPart

WITHIN = 1.0  # standard errors of the coefficients within which third derivatives tell how an information bends
SEEN = 5_000  # records that tell how an information changes with the coefficients: a mean over so many is exact enough


@dataclass(frozen=True, eq=False)
class Linear:
    """A fitness around one data set (its totals: `origin`, (m,)): quadratic outside ranges of the tallies, and in the
    residuals of the models, which are linear in their totals.

    low, high, weight (m,): range and weight of each total of a tally. forms: for each model (totals, numbers), the
    change of its scaled residuals with its totals; residuals: those at the origin. informations: of each part, (0, 0)
    where there is none. bends: of each part, how its numbers change with the score besides (see bend_of). jacobians: of
    each model, the change of its numbers with its totals, bends included. beyond: what is added to all numbers (total
    k,), as a refit had it (see by_refit.py).
    """

    problem: Problem
    origin: Array
    low: Array
    high: Array
    weight: Array
    forms: tuple[Array, ...]
    residuals: tuple[Array, ...]
    informations: tuple[Array, ...]
    bends: tuple[Array, ...]
    jacobians: tuple[Array, ...]
    beyond: Array

    @cached_property
    def flat_forms(self) -> Array:
        """All forms in one array, as the compiled loops read them."""
        return np.concatenate([np.zeros(0), *(form.ravel() for form in self.forms)])

    @cached_property
    def profiles(self) -> Array:
        """What each kind of record adds to the residuals of the models that tell few kinds apart, flat, a row a kind:
        visits read a change of the residuals off two rows, and need not work out what a record adds to every total.
        """
        kinds = zip(self.problem.kinds, self.forms, strict=True)
        return np.concatenate(
            [np.zeros(0), *(each.through(form.T, exact=True).ravel() for each, form in kinds if each is not None)]
        )

    @property
    def ranges(self) -> tuple[Array, Array, Array]:
        """Ranges and weights of the totals."""
        return self.low, self.high, self.weight

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array, Array]:
        """Ranges and weights of the totals, forms and profiles, as the compiled loops take them."""
        return *self.ranges, self.flat_forms, self.profiles

    def numbers(self, totals: Array) -> Array:
        """All published numbers recomputed from totals, (total k,): those of tallies exactly."""
        found = []
        parts = zip(self.problem.slices, self.informations, self.bends, strict=True)
        for (part, where, _, _), information, bend in parts:
            found.append(
                part.map.numbers(totals[where])
                if isinstance(part, TallyPart)
                else part.map.numbers(totals[where], information) + bend @ totals[where][: bend.shape[1]]
            )
        return np.concatenate(found) + self.beyond

    def distances(self, totals: Array) -> Array:
        """Signed distance (total k,) of all numbers from where they should lie; infinite where undefined."""
        problem, numbers = self.problem, self.numbers(totals)
        far = np.where(problem.known, numbers - np.clip(numbers, problem.low, problem.high), 0.0)
        return np.where(np.isfinite(far), far, np.inf)

    def slopes(self, totals: Array) -> tuple[Array, Array]:
        """Scaled residuals of the models in one array, and half the gradient of their part of the fitness, (m,)."""
        residuals = self._changes(totals)
        gradient = np.zeros(len(totals))
        for where, form, residual in zip(self._models, self.forms, residuals, strict=True):
            gradient[where] = form @ residual
        return np.concatenate([np.zeros(0), *residuals]), gradient

    def fitness(self, totals: Array) -> float:
        """What evolution lowers; 0 = everything reproduced, infinite where it is not a number."""
        outside = totals - np.clip(totals, self.low, self.high)
        found = float(self.weight @ outside**2 + sum(r @ r for r in self._changes(totals)))
        return found if np.isfinite(found) else np.inf

    def errors(self, totals: Array) -> Errors:
        """All errors of a data set with these totals, those of models to first order."""
        return errors_of(self.problem, self.distances(totals), totals, self.informations)

    @property
    def _models(self) -> list[slice]:
        """The totals of each model."""
        return [where for part, where, _, _ in self.problem.slices if isinstance(part, ModelPart)]

    def _changes(self, totals: Array) -> list[Array]:
        """Scaled residuals of every model."""
        return [
            residual + (totals[where] - self.origin[where]) @ form
            for where, form, residual in zip(self._models, self.forms, self.residuals, strict=True)
        ]


def linearise(
    problem: Problem,
    codes: Codes,
    totals: Array,
    fitness: Fitness,
    emphasis: Array | None = None,
    tightness: float = 0.0,
    beyond: Array | None = None,
) -> Linear:
    """The fitness (see weights.py) around a data set with these totals. Each number's share is multiplied by its
    importance and its `emphasis` (total k,). beyond: what to add to all numbers, bends being taken into account.
    """
    weights = Weights(fitness, tightness, problem.importance if emphasis is None else problem.importance * emphasis)
    low, high, weight = np.zeros(len(totals)), np.zeros(len(totals)), np.zeros(len(totals))
    forms, residuals, bends, jacobians, informations = [], [], [], [], problem.informations(codes)
    more = np.zeros(len(problem.tolerance)) if beyond is None else beyond
    for (part, where, which, block), information in zip(problem.slices, informations, strict=True):
        here, bend = totals[where], np.zeros((part.n_numbers, 0))
        if isinstance(part, TallyPart):
            low[where], high[where], weight[where] = _of_tally(problem, part, which, here, weights)
        else:
            jacobian = part.map.jacobian(here, information)
            if beyond is not None or fitness not in ("mse", "chi2"):
                bend = bend_of(problem, part, block, codes, here, jacobian)
                jacobian[:, : bend.shape[1]] += bend
            far = part.map.numbers(here, information) + bend @ here[: bend.shape[1]] + more[which]
            far -= np.clip(far, problem.low[which], problem.high[which])
            far = np.where(np.isfinite(far), far, 0.0)  # an undefined number cannot draw
            scale = of_model(weights, which, part.map.precision(here, information), problem.tolerance[which])
            forms.append(np.ascontiguousarray((scale.T @ jacobian).T))
            residuals.append(scale.T @ far)
            jacobians.append(jacobian)
        bends.append(bend)
    return Linear(
        problem,
        totals.copy(),
        *(low, high, weight),
        *(tuple(forms), tuple(residuals), informations, tuple(bends), tuple(jacobians)),
        more,
    )


def _of_tally(
    problem: Problem, part: TallyPart, which: slice, totals: Array, weights: Weights
) -> tuple[Array, Array, Array]:
    """Ranges and weights of the totals of a tally."""
    tolerance = problem.tolerance[which]
    bounds, widest = (
        part.map.bounds(totals, problem.low[which] - aim, problem.high[which] + aim)
        for aim in ((1.0 - TUNING.half) * tolerance, tolerance)
    )
    return *_reachable(part, bounds, widest), of_tally(weights, which, bounds, tolerance, made_of_counts(part))


def _reachable(part: TallyPart, bounds: Bounds, widest: Bounds) -> tuple[Array, Array]:
    """Ranges of totals, those of bare counts in whole numbers: all in the `widest` range, which prints the number;
    where none lies within, the two around (a share may need another number of records to fall on).
    """
    whole = np.concatenate([np.full(block.size, block.value is None and block.weight is None) for block in part.blocks])
    least, most = np.ceil(widest.low - 1e-9), np.floor(widest.high + 1e-9)
    none = least > most
    least, most = np.where(none, most, least), np.where(none, least, most)
    return np.where(whole, least, bounds.low), np.where(whole, most, bounds.high)


def bend_of(problem: Problem, part: ModelPart, block: int, codes: Codes, totals: Array, jacobian: Array) -> Array:
    """What the published numbers (k,) of a model change with its score (k, K), as its information is taken at the
    estimates of a data set and not at the published coefficients: those were rounded, and printed standard errors
    can tell. None far from the published coefficients, where estimates are not known well.
    """
    model, size = part.model, part.model.n_score
    if not model.information or model.family in ("none", "ols", "sign"):
        return np.zeros((part.n_numbers, 0))
    information = slice(size, size + model.n_information)
    inverse = invert(symmetric(totals[information], size))
    if not totals[:size] @ inverse @ totals[:size] < WITHIN * size:
        return np.zeros((part.n_numbers, 0))
    bends = bends_of(problem.plan, problem.plan.blocks[block], codes, -(-len(codes) // SEEN))
    bend = jacobian[:, information] @ bends @ inverse
    return np.where(np.isfinite(bend).all(axis=1, keepdims=True), bend, 0.0)
