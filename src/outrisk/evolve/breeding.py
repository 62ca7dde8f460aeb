"""Operators of the genetic algorithm: mating, mutation, and who breeds and who survives (see genetic.py)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.candidate import Candidate, breaks_rule
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem

_FITNESS = attrgetter("fitness")


def mate(problem: Problem, one: Candidate, other: Candidate, share: float, rng: np.random.Generator) -> None:
    """Swap each record between two candidates with probability `share`, in place (uniform crossover: Syswerda 1989);
    totals follow.
    """
    rows = hits(len(one.codes), share, rng)
    here, there = one.codes.take(rows, axis=0), other.codes.take(rows, axis=0)
    change = problem.totals(there) - problem.totals(here)
    _records(one.codes)[rows], _records(other.codes)[rows] = _records(there), _records(here)
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
    before, after = codes.take(rows, axis=0), codes.take(rows, axis=0)
    after[which, variables] = (after[which, variables] + steps) % sizes[variables]
    kept = ~breaks_rule(problem.rules, after)
    if not kept.all():
        rows, before, after = rows[kept], before[kept], after[kept]
    _records(codes)[rows] = _records(after)
    candidate.totals += problem.totals(after) - problem.totals(before)


def _records(codes: Codes) -> NDArray[np.void]:
    """Codes (n, variables) as n records in the same memory: numpy moves whole records eight times as fast as rows."""
    return codes.view(np.dtype((np.void, codes.shape[1] * codes.itemsize))).ravel()


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
