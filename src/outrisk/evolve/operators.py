"""The operators that the toolbox registers: how candidates are drawn, mated, mutated, climbed and how they survive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from deap import base
from numpy.typing import NDArray

from outrisk.evolve import kernels
from outrisk.evolve.plan import Array, CountBlock
from outrisk.evolve.problem import Linear, Problem

Codes = NDArray[np.uint8] | NDArray[np.uint16]


class Error(base.Fitness):  # type: ignore[misc]
    """Fitness of a candidate: its error, the smaller the better."""

    weights = (-1.0,)


class Candidate:
    """One synthetic data set: codes (n_records, n_variables), their totals (m,) and their fitness."""

    def __init__(self, codes: Codes, totals: Array) -> None:
        self.codes = codes
        self.totals = totals
        self.fitness = Error()

    def become(self, other: Candidate) -> None:
        """Take over another candidate's data, in this one's memory; the fitness is to be evaluated."""
        np.copyto(self.codes, other.codes)
        np.copyto(self.totals, other.totals)
        del self.fitness.values

    def __deepcopy__(self, memo: dict[int, Any]) -> Candidate:
        twin = Candidate(self.codes.copy(), self.totals.copy())
        if self.fitness.valid:
            twin.fitness.values = self.fitness.values
        return twin


def draw_candidate(problem: Problem, probabilities: Sequence[Array], rng: np.random.Generator) -> Candidate:
    """A candidate with independent variables, variable j drawn with `probabilities[j]` (sizes[j],)."""
    narrow = max(problem.codebook.sizes) <= 256  # one byte a value where it will do: more records fit into the cache
    codes = np.empty((problem.n_records, len(probabilities)), dtype=np.uint8 if narrow else np.uint16)
    for j, chance in enumerate(probabilities):
        steps = np.cumsum(chance)
        codes[:, j] = np.searchsorted(steps / steps[-1], rng.random(problem.n_records), side="right")
    return Candidate(codes, problem.totals(codes))


def uniform(problem: Problem) -> list[Array]:
    """Every level of every variable equally likely."""
    return [np.full(size, 1.0 / size) for size in problem.codebook.sizes]


def univariate(problem: Problem) -> list[Array]:
    """Each variable by its distribution in a released frequency table of all records; where there is none, uniform."""
    chances = uniform(problem)
    for released in reversed(problem.released):
        block = released.block
        if not isinstance(block, CountBlock) or block.masks or released.values.sum() <= 0:
            continue
        shape = [problem.codebook.sizes[j] for j in block.cell.variables]
        table = released.values.reshape(shape)
        for axis, j in enumerate(block.cell.variables):
            chances[j] = table.sum(axis=tuple(a for a in range(len(shape)) if a != axis)) / table.sum()
    return chances


def mate(problem: Problem, one: Candidate, other: Candidate, share: float, rng: np.random.Generator) -> None:
    """Swap each record between two candidates with probability `share`, in place."""
    kernels.mate(problem.plan, one.codes, one.totals, other.codes, other.totals, share, rng)


def mutate(problem: Problem, candidate: Candidate, rate: float, creep: float, rng: np.random.Generator) -> None:
    """Change each value with probability `rate`, in place."""
    kernels.mutate(problem.plan, candidate.codes, candidate.totals, rate, creep, rng)


def climb(
    problem: Problem,
    candidate: Candidate,
    linear: Linear,
    steps: int,
    exchange: float,
    creep: float,
    rng: np.random.Generator,
) -> None:
    """Try `steps` edits and keep those with which the error does not rise, in place.

    A share `exchange` of them exchange a value between two records, the others change one value.
    """
    exchanges = round(steps * exchange)
    where = (problem.plan, candidate.codes, candidate.totals, problem.target, linear.weights)
    if steps > exchanges:
        kernels.climb(*where, steps - exchanges, creep, rng)
    if exchanges:
        kernels.exchange(*where, exchanges, rng)


def evaluate(problem: Problem, candidate: Candidate, linear: Linear) -> tuple[float]:
    """DEAP's evaluation: the error as a tuple of one; not a number counts as infinite."""
    error = problem.fitness(candidate.totals, linear)
    return (error if np.isfinite(error) else np.inf,)


def survive(parents: Sequence[Candidate], children: Sequence[Candidate]) -> list[Candidate]:
    """Each child competes with its own parent (deterministic crowding: Mahfoud 1992); a tie goes to the child."""
    return [
        parent if parent.fitness > child.fitness else child for parent, child in zip(parents, children, strict=True)
    ]
