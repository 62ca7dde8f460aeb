"""Preset `paper`: the genetic algorithm of Elliot, Little and Allmendinger, in DEAP, and nothing besides.

Candidates are synthetic data sets. In each generation copies of the parents swap records and change values at random,
are evaluated (mean squared error of the published numbers), and compete for the places in the population. No child is
improved by local search: that is the other preset (local_search.py). The operators: breeding.py.

Source: "Evolutionary Algorithms for Output Disclosure Risk Assessment", Table 1 (see settings.GeneticSettings). The
paper does not print how parents and survivors are chosen; what other choices reach: docs/search.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from copy import deepcopy
from functools import partial
from operator import attrgetter

import numpy as np
from deap import base, tools

from outrisk.evolve import breeding
from outrisk.evolve.by_refit import by_refit
from outrisk.evolve.candidate import Candidate, draw_candidate, evaluate
from outrisk.evolve.generation import Generation, Stop
from outrisk.evolve.linear_map import Linear, linearise
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import GeneticSettings
from outrisk.evolve.start import STARTS
from outrisk.evolve.state import State, restore, state_of
from outrisk.problem.blocks import Array


def evolve(
    problem: Problem,
    settings: GeneticSettings,
    rng: np.random.Generator,
    workers: int = 1,
    state: State | None = None,
) -> Iterator[Generation]:
    """Yield every generation, 0 being the start, or those after the one that `state` is of; the last has a `stop`.

    The linear map of the fitness is taken afresh at the best candidate every `refresh` generations; 'matched' is said
    only where a refit agrees. The same generator gives the same run for any number of workers,
    which are threads that breed pairs.
    """
    with ThreadPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        run = _Evolution(problem, settings, rng, state)
        run.toolbox.register("map", pool.map if pool else map)
        yield from run.generations(state.number + 1 if state else 0)


class _Evolution:
    """One run: its population, the data set that the linear map was taken at, and those that did not survive, in whose
    memory children are made.
    """

    FOLLOWS = ("linear", "toolbox", "spare")

    def __init__(
        self, problem: Problem, settings: GeneticSettings, rng: np.random.Generator, state: State | None
    ) -> None:
        self.problem, self.settings, self.rng = problem.tied, settings, rng
        self.toolbox = make_toolbox(self.problem, settings, rng)
        self.rngs = rng.spawn(settings.population // 2)  # one a pair, so that pairs may breed in any order
        self.population: list[Candidate] = [] if state else self.toolbox.population(n=settings.population)
        self.spare: list[Candidate] = []
        self.at = deepcopy(self.population[0]) if self.population else None
        self.beyond: Array | None = None  # what numbers are beyond first order (see by_refit.py)
        if state:
            restore(self, state)
        assert self.at is not None
        self.linear: Linear = self.toolbox.linearise(self.at, self.beyond)
        if not state:
            judge(self.toolbox, self.population, self.linear)

    def generations(self, first: int) -> Iterator[Generation]:
        """The generations from `first` on."""
        toolbox, settings, statistics = self.toolbox, self.settings, make_statistics()
        for number in range(first, settings.generations + 1):
            if number:
                self.population = step(
                    toolbox, settings, self.population, self.linear, number - 1, self.rngs, self.spare
                )
            best = max(self.population, key=attrgetter("fitness"))
            errors = self.linear.errors(best.totals)
            if number % settings.refresh == 0 or errors.all_matched:
                best = self._refresh(best)
                errors = self.linear.errors(best.totals)
            if errors.all_matched:
                found = by_refit(self.problem, best)
                errors = found.errors
                if not errors.all_matched:
                    self.beyond = found.beyond
                    self._refresh(best)
            stop: Stop = "matched" if errors.all_matched else "budget" if number == settings.generations else ""
            fitness, rate = statistics.compile(self.population), settings.mutation(number)
            state, determined = partial(state_of, self, number), self.problem.determined
            yield Generation(number, best, errors, rate, fitness, stop, state, determined=determined)
            if stop:
                return

    def _refresh(self, best: Candidate) -> Candidate:
        """Take the linear map at a candidate; returns who is best by it."""
        best.totals = self.problem.totals(best.codes)
        self.at = deepcopy(best)
        self.linear = self.toolbox.linearise(best, self.beyond)
        judge(self.toolbox, self.population, self.linear)
        return max(self.population, key=attrgetter("fitness"))


def step(
    toolbox: base.Toolbox,
    settings: GeneticSettings,
    population: Sequence[Candidate],
    linear: Linear,
    generation: int,
    rngs: Sequence[np.random.Generator],
    spare: list[Candidate],
) -> list[Candidate]:
    """One generation: parents, their children, and who of both survives; the others are spare afterwards."""
    crowding = generation < settings.crowding
    parents = toolbox.shuffle(population) if crowding else toolbox.select(population)
    rate = settings.mutation(generation)
    children = [spare.pop() if spare else deepcopy(parent) for parent in parents]

    def breed(pair: int) -> None:
        """Two children: copies of two parents that mate and mutate."""
        rng, these = rngs[pair], slice(2 * pair, 2 * pair + 2)
        for child, parent in zip(children[these], parents[these], strict=True):
            child.become(parent)
        if rng.random() < settings.mate_probability:
            toolbox.mate(*children[these], rng=rng)
        for child in children[these]:
            toolbox.mutate(child, rate, rng=rng)

    list(toolbox.map(breed, range(len(rngs))))
    judge(toolbox, children, linear)
    survivors = breeding.own_parent(parents, children) if crowding else toolbox.survive(population, children)
    stay = {id(candidate) for candidate in survivors}
    spare[:] = [candidate for candidate in (*population, *children) if id(candidate) not in stay]
    return survivors


def make_toolbox(problem: Problem, settings: GeneticSettings, rng: np.random.Generator) -> base.Toolbox:
    """The operators, registered in a DEAP toolbox."""
    toolbox = base.Toolbox()
    toolbox.register("candidate", draw_candidate, problem, STARTS[settings.start](problem.free), rng)
    toolbox.register("population", tools.initRepeat, list, toolbox.candidate)
    toolbox.register(
        "linearise",
        lambda best, beyond: linearise(problem, best.codes, best.totals, settings.fitness, beyond=beyond),
    )
    toolbox.register("evaluate", evaluate)
    toolbox.register("mate", breeding.mate, problem, share=settings.mate_share)
    toolbox.register("mutate", breeding.mutate, problem)
    toolbox.register("shuffle", breeding.shuffled, rng=rng)
    toolbox.register("select", breeding.tournament, size=settings.tournament, rng=rng)
    toolbox.register("survive", {"comma": breeding.comma, "plus": breeding.plus}[settings.survival])
    return toolbox


def make_statistics() -> tools.Statistics:
    """DEAP's statistics of a population's fitness."""
    statistics = tools.Statistics(key=lambda candidate: candidate.fitness.values[0])
    statistics.register("best", np.min)
    statistics.register("mean", np.mean)
    return statistics


def judge(toolbox: base.Toolbox, candidates: Sequence[Candidate], linear: Linear) -> None:
    """Evaluate candidates."""
    for candidate in candidates:
        candidate.fitness.values = toolbox.evaluate(candidate, linear)
