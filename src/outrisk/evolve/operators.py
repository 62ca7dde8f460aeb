"""The operators that the toolbox registers: how candidates are drawn, mated, mutated, climbed and how they survive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from deap import base
from numpy.typing import NDArray

from outrisk.errors import EvolveError
from outrisk.evolve.compiled import climb as kernels
from outrisk.evolve.compiled import exchanges, trades
from outrisk.evolve.problem import Codes, Linear, Problem
from outrisk.evolve.start import Draw
from outrisk.problem.blocks import Array, Mask, level_in

_TRADES = 12_000  # drawn at once
_SWEEPS = 60  # tries of each trade
_HOTTER, _COLDER = 2.5, 0.25  # than the heat: where annealing begins and ends
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


def draw_candidate(problem: Problem, draw: Draw, rng: np.random.Generator) -> Candidate:
    """A candidate as drawn; records that break a rule are drawn again. EvolveError if some still do in the end."""
    codes = draw(problem.n_records, rng)
    rows = np.flatnonzero(breaks_rule(problem.rules, codes))
    for _ in range(_REDRAWS):
        if not len(rows):
            return Candidate(codes, problem.totals(codes))
        codes[rows] = draw(len(rows), rng)
        rows = rows[breaks_rule(problem.rules, codes[rows])]
    raise EvolveError(
        f"{len(rows):,} of {problem.n_records:,} records still break a rule after being drawn {_REDRAWS} times: "
        "rules and released numbers hardly fit together; check both"
    )


def breaks_rule(rules: Sequence[Mask], codes: Codes) -> NDArray[np.bool_]:
    """Which records (n,) break any of the rules."""
    broken = np.zeros(len(codes), dtype=bool)
    for rule in rules:
        broken |= ~rule.include[level_in(rule.joint, codes)]
    return broken


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

    `exchange`: also try to exchange values between two records, first between records alike (see exchanges.py). `heat`:
    keep now and then what raises the fitness by about this.
    """
    if exchange:
        exchanges.exchange(
            problem.plan, candidate.codes, candidate.totals, linear.low, linear.high, linear.weight, visits, rng
        )
    slopes = problem.slopes(candidate.totals, linear)
    kernels.climb(problem.plan, candidate.codes, candidate.totals, *linear.arrays, *slopes, visits, exchange, heat, rng)


def trade(problem: Problem, candidate: Candidate, linear: Linear, heat: float, rng: np.random.Generator) -> int:
    """Draw trades between records alike in what the tallies see and anneal them, in place (see trades.py); returns how
    many were found.
    """
    residual, _ = problem.slopes(candidate.totals, linear)
    found = trades.draw(problem.plan, candidate.codes, *linear.arrays, len(residual), _TRADES, rng)
    totals = candidate.totals.copy()
    ranges = linear.low, linear.high, linear.weight
    made = trades.anneal(found, residual, totals, *ranges, _HOTTER * heat, _COLDER * heat, _SWEEPS, rng)
    trades.make(problem.plan, found, made, candidate.codes, candidate.totals)
    return len(found.variable)


def evaluate(problem: Problem, candidate: Candidate, linear: Linear) -> tuple[float]:
    """DEAP's evaluation: the error as a tuple of one; not a number counts as infinite."""
    error = problem.fitness(candidate.totals, linear)
    return (error if np.isfinite(error) else np.inf,)


def survive(parents: Sequence[Candidate], children: Sequence[Candidate]) -> list[Candidate]:
    """Each child competes with its own parent (deterministic crowding: Mahfoud 1992); a tie goes to the child."""
    return [
        parent if parent.fitness > child.fitness else child for parent, child in zip(parents, children, strict=True)
    ]
