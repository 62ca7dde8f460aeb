"""Operators of the genetic algorithm: mating, mutation, and who breeds and who survives (see genetic.py)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled.records import exchange, places_of, redrawn
from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import breaks_rule

_FITNESS = attrgetter("fitness")


def mate(problem: Problem, one: Candidate, other: Candidate, share: float, rng: np.random.Generator) -> None:
    """Swap each record between two candidates with probability `share`, in place (uniform crossover: Syswerda 1989);
    totals follow.
    """
    rows, change = hits(len(one.codes), share, rng), np.zeros_like(one.totals)
    exchange(problem.plan, one.codes, rows, other.codes, rows, change)
    one.totals += change
    other.totals -= change


def mutate(problem: Problem, candidate: Candidate, rate: float, rng: np.random.Generator) -> None:
    """Redraw each value with probability `rate`, any other value being equally likely, in place; totals follow. Changes
    of a record that would break a rule are not made.
    """
    codes = candidate.codes
    places = hits(codes.size, rate, rng)
    rows, after = redrawn(codes, problem.plan.sizes, places, rng.random(len(places)))
    kept = ~breaks_rule(problem.rules, after)
    if not kept.all():
        rows, after = rows[kept], after[kept]
    exchange(problem.plan, codes, rows, after, np.arange(len(rows)), candidate.totals)


def hits(length: int, chance: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Which of so many independent events of equal chance happen, in order: geometric gaps, about a draw an event."""
    if not 0.0 < chance < 1.0:
        return np.arange(length if chance else 0)
    expected, scale = length * chance, -1.0 / np.log1p(-chance)
    gaps = rng.standard_exponential(int(expected + 5 * expected**0.5 + 10))
    found: NDArray[np.int64] = places_of(gaps, scale, length)
    while found[-1] < length - 1:
        found = np.append(found, min(length, int(found[-1] + np.ceil(scale * rng.standard_exponential()))))
    return found[: len(found) - (found[-1] == length)]


def shuffled(population: Sequence[Candidate], rng: np.random.Generator) -> list[Candidate]:
    """Everyone breeds once, in random pairs."""
    return [population[at] for at in rng.permutation(len(population))]


def tournament(population: Sequence[Candidate], size: int, rng: np.random.Generator) -> list[Candidate]:
    """Each parent is the fittest of `size` drawn with replacement (DEAP's selTournament, with a generator)."""
    draws = rng.integers(0, len(population), (len(population), size))
    return [max((population[at] for at in drawn), key=_FITNESS) for drawn in draws]


def own_parent(parents: Sequence[Candidate], children: Sequence[Candidate]) -> list[Candidate]:
    """Each child competes with its own parent (deterministic crowding: Mahfoud 1992); a tie goes to the child."""
    return [
        parent if parent.fitness > child.fitness else child for parent, child in zip(parents, children, strict=True)
    ]


def comma(population: Sequence[Candidate], children: Sequence[Candidate]) -> list[Candidate]:
    """The children, but for the worst of them, and the best of the population: (mu, lambda) with an elite of one."""
    best = max(population, key=_FITNESS)
    return [best, *sorted(children, key=_FITNESS, reverse=True)[:-1]]


def plus(population: Sequence[Candidate], children: Sequence[Candidate]) -> list[Candidate]:
    """The best of population and children: (mu + lambda)."""
    return sorted((*population, *children), key=_FITNESS, reverse=True)[: len(population)]
