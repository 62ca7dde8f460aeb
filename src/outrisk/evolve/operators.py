"""The operators that the toolbox registers: how candidates are drawn, mated, mutated, climbed and how they survive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from deap import base
from numpy.typing import NDArray

from outrisk.errors import EvolveError
from outrisk.evolve import kernels
from outrisk.evolve.blocks import Array, Mask
from outrisk.evolve.problem import Codes, Linear, Problem
from outrisk.evolve.released import TallyPart

_REDRAWS = 1000  # rounds of drawing records again that break a rule


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
    """A candidate with independent variables, variable j drawn with `probabilities[j]` (sizes[j],).

    Records that break a rule are drawn again. EvolveError if some still do after many rounds.
    """
    narrow = max(problem.codebook.sizes) <= 256  # one byte a value where it will do: more records fit into the cache
    codes = np.empty((problem.n_records, len(probabilities)), dtype=np.uint8 if narrow else np.uint16)
    steps = [np.cumsum(chance) / np.sum(chance) for chance in probabilities]
    rows = np.arange(problem.n_records)
    for _ in range(_REDRAWS):
        for j, step in enumerate(steps):
            codes[rows, j] = np.searchsorted(step, rng.random(len(rows)), side="right").clip(max=len(step) - 1)
        rows = np.flatnonzero(breaks_rule(problem.rules, codes))
        if not len(rows):
            return Candidate(codes, problem.totals(codes))
    raise EvolveError(
        f"{len(rows):,} of {problem.n_records:,} records still break a rule after being drawn {_REDRAWS} times: "
        "rules and released numbers hardly fit together; check both"
    )


def breaks_rule(rules: Sequence[Mask], codes: Codes) -> NDArray[np.bool_]:
    """Which records (n,) break any of the rules."""
    broken = np.zeros(len(codes), dtype=bool)
    for rule in rules:
        level = np.zeros(len(codes), dtype=np.int64)
        for j, stride in zip(rule.joint.variables, rule.joint.strides, strict=True):
            level += codes[:, j].astype(np.int64) * stride
        broken |= ~rule.include[level]
    return broken


def uniform(problem: Problem) -> list[Array]:
    """Every level of every variable equally likely."""
    return [np.full(size, 1.0 / size) for size in problem.codebook.sizes]


def univariate(problem: Problem) -> list[Array]:
    """Each variable by its distribution in a released table of counts of all records; where there is none, uniform."""
    chances = uniform(problem)
    for released in reversed(problem.released):
        at = 0
        for part in released.parts:
            which = slice(at, at + part.n_numbers)
            at = which.stop
            if not isinstance(part, TallyPart) or len(part.blocks) != 1:
                continue
            block = part.blocks[0]
            shape = [problem.codebook.sizes[j] for j in block.place.variables]
            counts = np.clip(np.minimum(released.high[which], problem.n_records), 0, None)
            if block.masks or block.weight or block.value is not None or block.cell is not None:
                continue
            if block.size != part.n_numbers or not counts.sum() > 0:
                continue
            if (part.map.bounds(np.ones(block.size), counts, counts).unit != 1.0).any():  # shares, not counts
                continue
            table = counts.reshape(shape)
            for axis, j in enumerate(block.place.variables):
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
    visits: int,
    exchange: bool,
    heat: float,
    rng: np.random.Generator,
) -> None:
    """Visit `visits` records for one variable each and keep what does not raise the error, in place (see kernels.py).

    `exchange`: also try to exchange values between two records. `heat`: keep now and then what raises the fitness by
    about this share of it.
    """
    residuals, gradient = problem.slopes(candidate.totals, linear)
    kernels.climb(
        problem.plan, candidate.codes, candidate.totals, linear.low, linear.high, linear.weight, linear.flat_forms,
        residuals, gradient, visits, exchange, heat * problem.fitness(candidate.totals, linear), rng,
    )  # fmt: skip


def evaluate(problem: Problem, candidate: Candidate, linear: Linear) -> tuple[float]:
    """DEAP's evaluation: the error as a tuple of one; not a number counts as infinite."""
    error = problem.fitness(candidate.totals, linear)
    return (error if np.isfinite(error) else np.inf,)


def survive(parents: Sequence[Candidate], children: Sequence[Candidate]) -> list[Candidate]:
    """Each child competes with its own parent (deterministic crowding: Mahfoud 1992); a tie goes to the child."""
    return [
        parent if parent.fitness > child.fitness else child for parent, child in zip(parents, children, strict=True)
    ]
