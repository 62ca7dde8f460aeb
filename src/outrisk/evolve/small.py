"""Small problems: simulated annealing of few records on the published numbers themselves.

Of few people a page of statistics leaves few data sets, or one, and these are not at the end of a slope: an edit of one
record moves many numbers by many times their last digits. So the numbers are not linearised here but worked out anew
for each edit, which few records allow (those of models are taken afresh every few hundred edits), and an edit that
raises the cost is kept with a probability that falls (Kirkpatrick, Gelatt and Vecchi, Optimization by Simulated
Annealing, Science 220, 1983), from several starts. A number that is matched costs nothing, any other the logarithm of
its distance in units of its scale, so that no single one matters much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.by_refit import by_refit
from outrisk.evolve.candidate import Candidate, draw_candidate
from outrisk.evolve.compiled.annealing import (
    DEVIATION,
    ERROR,
    LIMIT,
    MODE,
    RANK,
    RATIO,
    TOTAL,
    Goal,
    Recipes,
    anneal,
    typical_changes,
)
from outrisk.evolve.compiled.layout import Codes, Plan
from outrisk.evolve.compiled.plan import build_plan
from outrisk.evolve.compiled.sums import information_of, totals_of
from outrisk.evolve.generation import Generation, Stop
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.number_errors import Errors
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import LocalSearchSettings
from outrisk.evolve.start import STARTS
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array, Block, Tally, variables
from outrisk.problem.formulas import Formula
from outrisk.problem.released import ModelPart

CHAINS = 12, 5  # at most, each from its own start: tables, with models
STEPS, LEAST_STEPS = (2_500, 5_000), 26_000  # moves in a chain: a record's, of tables and with models; at least
EVERY = 300  # moves after which models are linearised anew; and that tell how much one changes a number
_KINDS = {
    "total": TOTAL,
    "ratio": RATIO,
    "deviation": DEVIATION,
    "rank": RANK,
    "mode": MODE,
    "limit": LIMIT,
    "error": ERROR,
}


def search(problem: Problem, settings: LocalSearchSettings, rng: np.random.Generator) -> Iterator[Generation]:
    """Anneal chain after chain; yields the start and the best after each chain, until all numbers are matched.

    Distances are by turns in typical changes, where there is a slope, which models need, and in half last digits, where
    all numbers weigh alike and few data sets are left: neither is best for all pages of statistics.
    """
    draw, problem = STARTS[settings.start](problem), problem.tied
    exact = Exact(problem)
    best: tuple[Candidate, Errors] | None = None
    chains = min(CHAINS[exact.modelled], settings.generations)
    for number in range(chains + 1):
        candidate = draw_candidate(problem, draw, rng)
        if number:
            candidate.codes = exact.chain(candidate.codes, number % 2 == 0 and not exact.modelled, rng)
            candidate.totals = problem.totals(candidate.codes)
        errors = linearise(problem, candidate.codes, candidate.totals, "precision").errors(candidate.totals)
        if errors.all_matched:
            errors = by_refit(problem, candidate).errors
        if best is None or errors.missed <= best[1].missed:
            best = candidate, errors
        stop: Stop = "matched" if best[1].all_matched else "" if number < chains else "stalled"
        fitness = {"best": best[1].missed, "mean": errors.missed}
        yield Generation(number, best[0], best[1], 0.0, fitness, stop, determined=problem.determined)
        if stop:
            return


@dataclass(frozen=True, eq=False)
class Exact:
    """A problem with each number as a formula of totals; of the blocks only those that a formula reads."""

    problem: Problem

    @cached_property
    def _layout(self) -> tuple[list[tuple[Tally, int]], list[tuple[ModelPart, slice]], list[tuple[int, Formula]]]:
        """Tallies that are read, each with its first total; models with their numbers; and formulas, each with its
        number, their totals renumbered.
        """
        tallies: list[tuple[Tally, int]] = []
        models: list[tuple[ModelPart, slice]] = []
        formulas: list[tuple[int, Formula]] = []
        number, total = 0, 0
        for part in self.problem.parts:
            if isinstance(part, ModelPart):
                models.append((part, slice(number, number + part.n_numbers)))
            else:
                known = self.problem.known[number : number + part.n_numbers]
                wanted = [(at, one) for at, one in enumerate(part.formulas) if known[at]]
                place = np.full(sum(block.size for block in part.blocks), -1, np.int64)
                read = np.unique(np.concatenate([np.zeros(0, np.int64), *(_read(one) for _, one in wanted)]))
                first = 0
                for block in part.blocks:
                    if ((read >= first) & (read < first + block.size)).any():
                        place[first : first + block.size] = total + np.arange(block.size)
                        tallies.append((block, total))
                        total += block.size
                    first += block.size
                formulas += [(number + at, _moved(one, place)) for at, one in wanted]
            number += part.n_numbers
        return tallies, models, formulas

    @property
    def modelled(self) -> bool:
        """Whether a model is among the outputs."""
        return bool(self._layout[1])

    @cached_property
    def _blocks(self) -> list[Block]:
        tallies, models, _ = self._layout
        return [*(block for block, _ in tallies), *(part.model for part, _ in models)]

    @cached_property
    def plan(self) -> Plan:
        """The flat form of the blocks: tallies first, then models."""
        tallies, models, _ = self._layout
        numbers = [0] * len(tallies) + [part.n_numbers for part, _ in models]
        return build_plan(self.problem.codebook, self._blocks, numbers, self.problem.rules)

    @cached_property
    def touches(self) -> NDArray[np.bool_]:
        """Which blocks (B,) see which variables (p,)."""
        seen = [variables(block) for block in self._blocks]
        return np.array([[j in on for j in range(len(self.plan.sizes))] for on in seen], np.bool_)

    @cached_property
    def recipes(self) -> Recipes:
        """The formulas, flat."""
        formulas = [formula for _, formula in self._layout[2]]
        enters: list[list[int]] = [[] for _ in range(int(self.plan.extent[0]))]
        for at, formula in enumerate(formulas):
            for total in _read(formula):
                enters[total].append(at)
        return Recipes(
            np.array([_KINDS[formula.kind] for formula in formulas], np.int64),
            _starts([len(formula.totals) for formula in formulas]),
            _starts([len(formula.base) for formula in formulas]),
            _starts([len(formula.points) for formula in formulas]),
            np.array([formula.shift for formula in formulas], float),
            np.array([formula.scale for formula in formulas], float),
            np.array([formula.least for formula in formulas], float),
            np.concatenate([np.zeros(0, np.int64), *(formula.totals for formula in formulas)]),
            np.concatenate([np.zeros(0, np.int64), *(formula.base for formula in formulas)]),
            np.concatenate([np.zeros(0), *(formula.points for formula in formulas)]),
            _starts([len(into) for into in enters]),
            np.array([at for into in enters for at in into], np.int64),
        )

    @cached_property
    def numbered(self) -> NDArray[np.int64]:
        """The number of each formula."""
        return np.array([number for number, _ in self._layout[2]], np.int64)

    @cached_property
    def goal(self) -> Goal:
        """Where the numbers with a formula should lie."""
        return self._goal(self.numbered)

    @cached_property
    def aim(self) -> Goal:
        """Where the numbers of models should lie."""
        return self._goal(np.concatenate([np.zeros(0, np.int64), *(np.r_[where] for _, where in self._layout[1])]))

    def chain(self, codes: Codes, by_digits: bool, rng: np.random.Generator) -> Codes:
        """The best codes that one chain of annealing meets (near the last ones, where models are linearised anew)."""
        hot, cold = TUNING.by_digits if by_digits else TUNING.by_changes
        steps = max(LEAST_STEPS, STEPS[self.modelled] * len(codes))
        rounds = steps // EVERY if self.modelled else 1
        best, (goal, aim) = codes.copy(), (self.goal, self.aim) if by_digits else self._scaled(codes, rng)
        for number in range(rounds):
            heat = hot * (cold / hot) ** (np.array([number, number + 1]) / rounds)
            totals = totals_of(self.plan, codes)
            numbers, forms = self.models(codes, totals)
            ends = *heat, steps // rounds
            least, _ = anneal(
                self.plan, self.touches, self.recipes, goal, forms, numbers, aim, codes, totals, best, *ends, rng
            )
            if least <= 0.0:
                break
        return best

    def _scaled(self, codes: Codes, rng: np.random.Generator) -> tuple[Goal, Goal]:
        """The goals of tallies and models with distances in typical changes, where these are above half digits."""
        totals = totals_of(self.plan, codes)
        _, forms = self.models(codes, totals)
        n = len(self.recipes.kind)
        changes = typical_changes(
            self.plan, self.touches, self.recipes, forms, len(self.aim.low), codes, totals, EVERY, rng
        )
        scales = np.maximum(self.goal.half, changes[:n]), np.maximum(self.aim.half, changes[n:])
        return self.goal._replace(scale=scales[0]), self.aim._replace(scale=scales[1])

    def models(self, codes: Codes, totals: Array) -> tuple[Array, Array]:
        """The numbers of all models, and their change with the models' totals (as the compiled loop reads it)."""
        tallies, models, _ = self._layout
        forms, numbers = [np.zeros(0)], [np.zeros(0)]
        at = sum(block.size for block, _ in tallies)
        for address, (part, _) in zip(self.plan.blocks[len(tallies) :], models, strict=True):
            here = totals[at : at + part.model.size]
            information = information_of(self.plan, address, codes) if part.model.apart else np.zeros((0, 0))
            forms.append(np.ascontiguousarray(part.map.jacobian(here, information).T).ravel())
            numbers.append(part.map.numbers(here, information))
            at += part.model.size
        return np.concatenate(numbers), np.concatenate(forms)

    def _goal(self, numbers: NDArray[np.int64]) -> Goal:
        problem = self.problem
        weight = np.where(problem.known, problem.importance, 0.0)
        return Goal(
            *(each[numbers] for each in (problem.low, problem.high, problem.tolerance, problem.tolerance, weight))
        )


def _read(formula: Formula) -> NDArray[np.int64]:
    """The totals that a formula reads."""
    return np.union1d(formula.totals, formula.base)


def _moved(formula: Formula, place: NDArray[np.int64]) -> Formula:
    return Formula(
        formula.kind, place[formula.totals], place[formula.base], formula.points, formula.shift, formula.scale,
        formula.least,
    )  # fmt: skip


def _starts(lengths: list[int]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
