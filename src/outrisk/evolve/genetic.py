"""Preset `paper`: the genetic algorithm of Elliot, Little and Allmendinger, in DEAP, and nothing besides.

Candidates are synthetic data sets. In each generation copies of the parents swap records and change values at random,
are evaluated (mean squared error of the published numbers), and compete for the places in the population. No child is
improved by local search: that is the other preset (local_search.py). The operators: breeding.py.

Source: "Evolutionary Algorithms for Output Disclosure Risk Assessment", Table 1 (see settings.GeneticSettings). The
paper does not print how parents and survivors are chosen; what other choices reach: docs/how-it-works.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from copy import deepcopy
from operator import attrgetter

import numpy as np
from deap import base, tools

from outrisk.evolve import breeding
from outrisk.evolve.candidate import Candidate, draw_candidate, evaluate
from outrisk.evolve.generation import Generation, Stop
from outrisk.evolve.linear_map import Linear, linearise
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import GeneticSettings
from outrisk.evolve.start import STARTS


def evolve(
    problem: Problem, settings: GeneticSettings, rng: np.random.Generator, workers: int = 1
) -> Iterator[Generation]:
    """Yield every generation, 0 being the start; the last one has a `stop`.

    The linear map of the fitness is taken afresh at the best candidate every `refresh` generations; 'matched' is said
    only after exact totals and a fresh map agree. The same generator gives the same run for any number of workers,
    which are threads that breed pairs.
    """
    toolbox, statistics = make_toolbox(problem, settings, rng), make_statistics()
    rngs = rng.spawn(settings.population // 2)  # one a pair, so that pairs may breed in any order
    population: list[Candidate] = toolbox.population(n=settings.population)
    linear = toolbox.linearise(population[0])
    judge(toolbox, population, linear)
    with ThreadPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        toolbox.register("map", pool.map if pool else map)
        for number in range(settings.generations + 1):
            if number:
                population = step(toolbox, settings, population, linear, number - 1, rngs)
            best = max(population, key=attrgetter("fitness"))
            if number % settings.refresh == 0 or linear.errors(best.totals).all_matched:
                best.totals = problem.totals(best.codes)
                linear = toolbox.linearise(best)
                judge(toolbox, population, linear)
                best = max(population, key=attrgetter("fitness"))
            errors = linear.errors(best.totals)
            stop: Stop = "matched" if errors.all_matched else "budget" if number == settings.generations else ""
            yield Generation(number, best, errors, settings.mutation(number), statistics.compile(population), stop)
            if stop:
                return


def step(
    toolbox: base.Toolbox,
    settings: GeneticSettings,
    population: Sequence[Candidate],
    linear: Linear,
    generation: int,
    rngs: Sequence[np.random.Generator],
) -> list[Candidate]:
    """One generation: parents, their children, and who of both survives."""
    crowding = generation < settings.crowding
    parents = toolbox.shuffle(population) if crowding else toolbox.select(population)
    rate = settings.mutation(generation)

    def breed(pair: int) -> list[Candidate]:
        """Two children: copies of two parents that mate and mutate."""
        rng, children = rngs[pair], [deepcopy(parent) for parent in parents[2 * pair : 2 * pair + 2]]
        if rng.random() < settings.mate_probability:
            toolbox.mate(*children, rng=rng)
        for child in children:
            toolbox.mutate(child, rate, rng=rng)
        return children

    children = [child for pair in toolbox.map(breed, range(len(rngs))) for child in pair]
    judge(toolbox, children, linear)
    return breeding.own_parent(parents, children) if crowding else toolbox.survive(population, children)


def make_toolbox(problem: Problem, settings: GeneticSettings, rng: np.random.Generator) -> base.Toolbox:
    """The operators, registered in a DEAP toolbox."""
    toolbox = base.Toolbox()
    toolbox.register("candidate", draw_candidate, problem, STARTS[settings.start](problem), rng)
    toolbox.register("population", tools.initRepeat, list, toolbox.candidate)
    toolbox.register("linearise", lambda best: linearise(problem, best.codes, best.totals, settings.fitness))
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
