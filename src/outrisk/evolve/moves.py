"""Moves of the local search: which edits are tried on a data set, and which of them are kept.

Each takes a candidate and changes it in place; totals follow. All of them lower the fitness of a linear map (see
weights.py) or, at a temperature above zero, raise it now and then.
"""

from __future__ import annotations

import numpy as np

from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled import climb as kernels
from outrisk.evolve.compiled import exchanges, trades
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.tuning import TUNING

SWEEPS = 60  # tries of each swap of a batch


def descend(candidate: Candidate, linear: Linear, visits: int, temperature: float, rng: np.random.Generator) -> None:
    """Local search: visit `visits` records for one variable each; give it the value that lowers the fitness most, if
    one does (steepest descent in the neighbourhood of one value; see compiled/climb.py). Rises by about `temperature`
    are kept now and then.
    """
    _visit(candidate, linear, visits, False, temperature, rng)


def descend_with_swaps(
    candidate: Candidate, linear: Linear, visits: int, temperature: float, rng: np.random.Generator
) -> None:
    """Local search whose neighbourhood holds swaps too: first between records that differ in two variables alone
    (compiled/exchanges.py), then wherever a visit finds no value that does good.
    """
    exchanges.exchange(linear.problem.plan, candidate.codes, candidate.totals, *linear.ranges, visits, rng)
    _visit(candidate, linear, visits, True, temperature, rng)


def _visit(
    candidate: Candidate,
    linear: Linear,
    visits: int,
    swaps: bool,
    temperature: float,
    rng: np.random.Generator,
) -> None:
    slopes = linear.slopes(candidate.totals)
    kernels.climb(
        linear.problem.plan, candidate.codes, candidate.totals, *linear.arrays, *slopes, visits, swaps, temperature, rng
    )


def anneal(candidate: Candidate, linear: Linear, temperature: float, rng: np.random.Generator) -> int:
    """Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983) over a batch of swaps between records that are alike in
    what tables see, no record in two of them (compiled/trades.py). Returns how many swaps were found.
    """
    codes, totals = candidate.codes, candidate.totals
    residual, _ = linear.slopes(totals)
    plan, most = linear.problem.plan, 2 * TUNING.swaps
    found = trades.draw(plan, codes, *linear.arrays, len(residual), most, False, rng)
    hot, cold = (heat * temperature for heat in TUNING.heats)
    made = trades.anneal(found, residual, totals.copy(), *linear.ranges, hot, cold, SWEEPS, rng)
    trades.make(plan, found, made, codes, totals)
    return len(found.variable)
