"""Preset `paper`: the genetic algorithm of Elliot, Little and Allmendinger, in DEAP, and nothing besides.

Candidates are synthetic data sets. Each generation, copies of the parents swap records (`mate`) and change values at
random (`mutate`); each child is evaluated (mean squared error of the published numbers) and competes with its parent
(`survive`). No child is improved by local search: that is the other preset (loop.py).

Source: "Evolutionary Algorithms for Output Disclosure Risk Assessment", Table 1 (see settings.GeneticSettings).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from copy import deepcopy
from operator import attrgetter

import numpy as np
from deap import base, tools
from numpy.typing import NDArray

from outrisk.evolve import start
from outrisk.evolve.candidate import Candidate, breaks_rule, draw_candidate, evaluate, survive
from outrisk.evolve.distances import Errors
from outrisk.evolve.generation import Generation, Stop
from outrisk.evolve.linear_map import Linear, linearise
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import GeneticSettings


def evolve(
    problem: Problem, settings: GeneticSettings, rng: np.random.Generator, workers: int = 1
) -> Iterator[Generation]:
    """Yield every generation, 0 being the start; the last one has a `stop`.

    The linear map of the fitness is taken afresh at the best candidate every `refresh` generations; 'matched' is said
    only after exact totals and a fresh map agree. The same generator gives the same run for any number of workers,
    which are threads that breed pairs.
    """
    toolbox, statistics = make_toolbox(problem, settings, rng), make_statistics()
    population: list[Candidate] = toolbox.population(n=settings.population)
    rngs = rng.spawn(settings.population // 2)  # one a pair, so that pairs may breed in any order
    linear = linearise(problem, population[0].codes, population[0].totals, settings.fitness)
    with ThreadPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        toolbox.register("map", pool.map if pool else map)
        judge(toolbox, population, linear)
        for number in range(settings.generations + 1):
            if number:
                children = breed(toolbox, population, settings, number - 1, rng, rngs)
                judge(toolbox, children, linear)
                population = toolbox.select(population, children)
            if number % settings.refresh == 0:
                linear = refresh(problem, settings, population)
                judge(toolbox, population, linear)
            best = max(population, key=attrgetter("fitness"))
            errors = linear.errors(best.totals)
            if errors.all_matched:
                linear, errors = check(problem, settings, best)
                judge(toolbox, population, linear)
            stop: Stop = "matched" if errors.all_matched else "budget" if number == settings.generations else ""
            yield Generation(number, best, errors, settings.mutation(number), statistics.compile(population), stop)
            if stop:
                return


def make_toolbox(problem: Problem, settings: GeneticSettings, rng: np.random.Generator) -> base.Toolbox:
    """The operators, registered in a DEAP toolbox."""
    toolbox = base.Toolbox()
    toolbox.register("candidate", draw_candidate, problem, start.STARTS[settings.start](problem), rng)
    toolbox.register("population", tools.initRepeat, list, toolbox.candidate)
    toolbox.register("mate", mate, problem, share=settings.mate_share)
    toolbox.register("mutate", mutate, problem)
    toolbox.register("evaluate", evaluate)
    toolbox.register("select", survive)
    return toolbox


def make_statistics() -> tools.Statistics:
    """DEAP's statistics of a population's fitness."""
    statistics = tools.Statistics(key=lambda candidate: candidate.fitness.values[0])
    statistics.register("best", np.min)
    statistics.register("mean", np.mean)
    return statistics


def breed(
    toolbox: base.Toolbox,
    population: list[Candidate],
    settings: GeneticSettings,
    generation: int,
    rng: np.random.Generator,
    rngs: list[np.random.Generator],
) -> list[Candidate]:
    """One child of each parent, in the parents' order: copies that mate in random pairs and mutate."""
    rate = settings.mutation(generation)

    def of_pair(pair: tuple[NDArray[np.int64], np.random.Generator]) -> list[Candidate]:
        (one, other), own = pair
        children = [deepcopy(population[one]), deepcopy(population[other])]
        if own.random() < settings.mate_probability:
            toolbox.mate(*children, rng=own)
        for child in children:
            toolbox.mutate(child, rate, rng=own)
        return children

    order = rng.permutation(len(population))
    pairs: Iterable[list[Candidate]] = toolbox.map(of_pair, zip(order.reshape(-1, 2), rngs, strict=True))
    children = dict(zip(order, (child for pair in pairs for child in pair), strict=True))
    return [children[at] for at in range(len(population))]


def mate(problem: Problem, one: Candidate, other: Candidate, share: float, rng: np.random.Generator) -> None:
    """Swap each record between two candidates with probability `share`, in place; totals follow."""
    rows = hits(len(one.codes), share, rng)
    rows = rows[(one.codes[rows] != other.codes[rows]).any(axis=1)]
    here, there = one.codes[rows], other.codes[rows]
    change = problem.totals(there) - problem.totals(here)
    one.codes[rows], other.codes[rows] = there, here
    one.totals += change
    other.totals -= change


def mutate(problem: Problem, candidate: Candidate, rate: float, rng: np.random.Generator) -> None:
    """Redraw each value with probability `rate`, any other value being equally likely, in place; totals follow. Changes
    of a record that would break a rule are not made.
    """
    codes, sizes = candidate.codes, np.array(problem.codebook.sizes)
    places = hits(codes.size, rate, rng)
    variables = places % codes.shape[1]
    steps = 1 + (rng.random(len(places)) * (sizes[variables] - 1)).astype(np.int64)
    rows, which = np.unique(places // codes.shape[1], return_inverse=True)
    before, after = codes[rows], codes[rows]
    after[which, variables] = (after[which, variables] + steps) % sizes[variables]
    kept = ~breaks_rule(problem.rules, after)
    codes[rows[kept]] = after[kept]
    candidate.totals += problem.totals(after[kept]) - problem.totals(before[kept])


def hits(length: int, chance: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Which of so many independent events of equal chance happen, in order: geometric gaps, about a draw an event."""
    if not chance:
        return np.empty(0, np.int64)
    expected = length * chance
    found = np.cumsum(rng.geometric(chance, int(expected + 5 * expected**0.5 + 10))) - 1
    while found[-1] < length - 1:
        found = np.append(found, found[-1] + rng.geometric(chance))
    return found[found < length]


def judge(toolbox: base.Toolbox, candidates: list[Candidate], linear: Linear) -> None:
    """Evaluate candidates."""
    for candidate in candidates:
        candidate.fitness.values = toolbox.evaluate(candidate, linear)


def refresh(problem: Problem, settings: GeneticSettings, population: list[Candidate]) -> Linear:
    """The linear map of the fitness at the best candidate."""
    best = max(population, key=attrgetter("fitness"))
    return linearise(problem, best.codes, best.totals, settings.fitness)


def check(problem: Problem, settings: GeneticSettings, best: Candidate) -> tuple[Linear, Errors]:
    """The linear map and the errors of a candidate by its exact totals."""
    best.totals = problem.totals(best.codes)
    linear = linearise(problem, best.codes, best.totals, settings.fitness)
    return linear, linear.errors(best.totals)
