"""Moves of the local search: which edits are tried on a data set, and which of them are kept.

Each takes a candidate and changes it in place; totals follow. All of them lower the fitness of a linear map (see
problem.py) or, at a temperature above zero, raise it now and then.
"""

from __future__ import annotations

import numpy as np

from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled import climb as kernels
from outrisk.evolve.compiled import exchanges, trades
from outrisk.evolve.problem import Linear, Problem
from outrisk.evolve.tuning import TUNING


def descend(
    problem: Problem, candidate: Candidate, linear: Linear, visits: int, temperature: float, rng: np.random.Generator
) -> None:
    """Local search: visit `visits` records for one variable each; give it the value that lowers the fitness most, if
    one does (steepest descent in the neighbourhood of one value; see compiled/climb.py). Rises by about `temperature`
    are kept now and then.
    """
    _visit(problem, candidate, linear, visits, False, temperature, rng)


def descend_with_swaps(
    problem: Problem, candidate: Candidate, linear: Linear, visits: int, temperature: float, rng: np.random.Generator
) -> None:
    """Local search whose neighbourhood holds swaps too: first between records that differ in two variables alone
    (compiled/exchanges.py), then wherever a visit finds no value that does good.
    """
    exchanges.exchange(
        problem.plan, candidate.codes, candidate.totals, linear.low, linear.high, linear.weight, visits, rng
    )
    _visit(problem, candidate, linear, visits, True, temperature, rng)


def _visit(
    problem: Problem,
    candidate: Candidate,
    linear: Linear,
    visits: int,
    swaps: bool,
    temperature: float,
    rng: np.random.Generator,
) -> None:
    slopes = problem.slopes(candidate.totals, linear)
    kernels.climb(
        problem.plan, candidate.codes, candidate.totals, *linear.arrays, *slopes, visits, swaps, temperature, rng
    )


def anneal(problem: Problem, candidate: Candidate, linear: Linear, temperature: float, rng: np.random.Generator) -> int:
    """Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983) over a batch of swaps between records that are alike in
    what tables see, no record in two of them (compiled/trades.py). Returns how many swaps were found.
    """
    residual, _ = problem.slopes(candidate.totals, linear)
    found = trades.draw(problem.plan, candidate.codes, *linear.arrays, len(residual), TUNING.batch, rng)
    totals = candidate.totals.copy()
    ranges = linear.low, linear.high, linear.weight
    hot, cold = TUNING.hotter * temperature, TUNING.colder * temperature
    made = trades.anneal(found, residual, totals, *ranges, hot, cold, TUNING.sweeps, rng)
    trades.make(problem.plan, found, made, candidate.codes, candidate.totals)
    return len(found.variable)
