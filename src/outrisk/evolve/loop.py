"""The evolution: a DEAP toolbox and the loop over generations."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal

import numpy as np
from deap import base, tools
from numpy.typing import NDArray

from outrisk.evolve import operators
from outrisk.evolve.operators import Candidate
from outrisk.evolve.problem import Errors, Fitness, Linear, Problem
from outrisk.evolve.settings import Settings

Stop = Literal["", "matched", "budget", "stalled"]
_EMPHASIS, _MOST_EMPHASIS = 2.0, 1e3  # how outputs that are still off gain weight, as clauses do in local search
_GAIN = 1e-3  # relative fall of the error below which a generation counts as standing still


@dataclass(frozen=True, eq=False)
class Generation:
    """State after a generation: the best candidate (do not change it), its errors, why the run stops if it does."""

    number: int
    best: Candidate
    errors: Errors
    mutation_rate: float
    fitness: dict[str, float]  # 'best' and 'mean' of the population
    stop: Stop

    @property
    def codes(self) -> NDArray[np.uint16]:
        """A copy of the best candidate's codes, shape (n_records, n_variables)."""
        return self.best.codes.astype(np.uint16)


def evolve(problem: Problem, settings: Settings, rng: np.random.Generator, workers: int = 1) -> Iterator[Generation]:
    """Evolve synthetic data that reproduce the released numbers; yields every generation, 0 being the start.

    The last generation yielded has a `stop`. Errors are first-order around the published numbers: exact for counts,
    exact in the limit for a regression; 'matched' is said only after exact totals and a fresh linear map agree. The
    same generator gives the same run for any number of workers, which are threads that breed pairs of candidates.
    """
    if workers < 2 or settings.population < 4:
        yield from _Evolution(problem, settings, rng, map).run()
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from _Evolution(problem, settings, rng, pool.map).run()


def make_toolbox(problem: Problem, settings: Settings, rng: np.random.Generator) -> base.Toolbox:
    """Register the operators of an evolution in a DEAP toolbox."""
    chances = {"uniform": operators.uniform, "univariate": operators.univariate}[settings.start](problem)
    toolbox = base.Toolbox()
    toolbox.register("candidate", operators.draw_candidate, problem, chances, rng)
    toolbox.register("population", tools.initRepeat, list, toolbox.candidate)
    toolbox.register("mate", operators.mate, problem)
    toolbox.register("mutate", operators.mutate, problem, creep=settings.creep)
    toolbox.register("climb", operators.climb, problem, creep=settings.creep)
    toolbox.register("evaluate", operators.evaluate, problem)
    toolbox.register("select", operators.survive)
    return toolbox


class _Evolution:
    """One run: its population, its linear map and the best so far."""

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        rng: np.random.Generator,
        mapper: Callable[..., Iterable[None]],
    ) -> None:
        self.problem, self.settings, self.rng = problem, settings, rng
        self.rngs = rng.spawn(settings.population // 2)  # one a pair, so that pairs may breed in any order
        self.toolbox = make_toolbox(problem, settings, rng)
        self.toolbox.register("map", mapper)
        self.spare: list[Candidate] = []
        self.population: list[Candidate] = self.toolbox.population(n=settings.population)
        self.hall = tools.HallOfFame(1, similar=operator.is_)
        self.statistics = tools.Statistics(key=lambda candidate: candidate.fitness.values[0])
        self.statistics.register("best", np.min)
        self.statistics.register("mean", np.mean)
        self.fitness: Fitness = settings.fitness
        self.linear: Linear
        self.near = False  # whether the released numbers are within reach, so that fine steps pay
        self.emphasis = np.ones(len(problem.tolerance))
        self._refresh(self.population[0])
        self.least, self.since = np.inf, 0  # least error so far and the generation that reached it

    def run(self) -> Iterator[Generation]:
        for number in range(self.settings.generations + 1):
            if number:
                self._step(number - 1)
            stop = self._stop(number)
            errors = self._errors()
            fitness = self.statistics.compile(self.population)
            yield Generation(number, self.best, errors, self.settings.mutation(number), fitness, stop)
            if stop:
                return
            if number and number % self.settings.refresh == 0:
                self.near = errors.digits < self.settings.sharpen
                if self.near:
                    self._sharpen()
                else:
                    self.fitness = self.settings.fitness
                self._refresh(self.best)

    @property
    def best(self) -> Candidate:
        found: Candidate = self.hall[0]
        return found

    def _step(self, generation: int) -> None:
        """One generation: copies of the parents mate, mutate and climb, then compete with their parents."""
        order = self.rng.permutation(len(self.population))
        parents = [self.population[at] for at in order]
        children = [self.spare.pop() if self.spare else deepcopy(parent) for parent in parents]
        pairs = zip(range(0, len(parents), 2), self.rngs, strict=True)
        list(self.toolbox.map(lambda pair: self._breed(parents, children, pair[0], pair[1], generation), pairs))
        self.population = self.toolbox.select(parents, children)
        survivors = {id(candidate) for candidate in self.population}
        self.spare = [candidate for candidate in (*parents, *children) if id(candidate) not in survivors]
        self.hall.update(self.population)

    def _breed(
        self,
        parents: Sequence[Candidate],
        children: Sequence[Candidate],
        first: int,
        rng: np.random.Generator,
        generation: int,
    ) -> None:
        """Make the children of parents `first` and `first + 1`, in the memory of candidates that did not survive."""
        settings, toolbox = self.settings, self.toolbox
        pair = children[first : first + 2]
        for parent, child in zip(parents[first : first + 2], pair, strict=True):
            child.become(parent)
        if rng.random() < settings.mate_probability:
            toolbox.mate(*pair, settings.mate_share(generation), rng=rng)
        for child in pair:
            toolbox.mutate(child, settings.mutation(generation), rng=rng)
            steps = round(settings.climb(generation) * self.problem.n_records)
            if self.near:
                toolbox.climb(child, self.linear, max(steps, settings.polish), settings.exchange, rng=rng)
            else:
                toolbox.climb(child, self.linear, steps, 0.0, rng=rng)
            child.fitness.values = toolbox.evaluate(child, self.linear)

    def _sharpen(self) -> None:
        """Turn from one fitness to the other; each time an output gains weight by its share of numbers still off."""
        if self.fitness == "precision":
            self.fitness = self.settings.fitness
            return
        self.fitness = "precision"
        off = np.abs(self.problem.residuals(self.best.totals, self.linear)) > self.problem.tolerance
        at = 0
        for output in self.problem.released:
            part = slice(at, at + len(output.values))
            at = part.stop
            self.emphasis[part] = np.minimum(self.emphasis[part] * _EMPHASIS ** off[part].mean(), _MOST_EMPHASIS)

    def _refresh(self, at: Candidate) -> None:
        """Take the linear map afresh at a candidate and judge everyone by it."""
        self.linear = self.problem.linearise(at.codes, self.fitness, self.emphasis)
        for candidate in self.population:
            candidate.fitness.values = self.toolbox.evaluate(candidate, self.linear)
        self.hall.clear()
        self.hall.update(self.population)

    def _errors(self) -> Errors:
        return self.problem.errors(self.best.totals, self.linear)

    def _stop(self, number: int) -> Stop:
        errors = self._errors()
        if errors.all_matched:
            self.best.totals = self.problem.totals(self.best.codes)
            self.linear = self.problem.linearise(self.best.codes, self.fitness, self.emphasis)
            if self._errors().all_matched:
                return "matched"
            self._refresh(self.best)
        if errors.digits < self.least * (1 - _GAIN):
            self.least, self.since = errors.digits, number
        if number == self.settings.generations:
            return "budget"
        return "stalled" if 0 < self.settings.patience <= number - self.since else ""
