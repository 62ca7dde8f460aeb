"""Operators of the genetic algorithm: mating, mutation, and who breeds and who survives (see genetic.py)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.candidate import Candidate, breaks_rule
from outrisk.evolve.problem import Problem

_FITNESS = attrgetter("fitness")


def mate(problem: Problem, one: Candidate, other: Candidate, share: float, rng: np.random.Generator) -> None:
    """Swap each record between two candidates with probability `share`, in place (uniform crossover: Syswerda 1989);
    totals follow.
    """
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
