"""Moves of the local search: which edits are tried on a data set, and which of them are kept.

Each takes a candidate and changes it in place; totals follow. All of them lower the fitness of a linear map (see
weights.py) or, at a temperature above zero, raise it now and then.
"""

from __future__ import annotations

import numpy as np

from outrisk.evolve.around import bearing
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled import climb as kernels
from outrisk.evolve.compiled import exchanges, trades
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array

SWEEPS = 60  # tries of each swap of a batch
SEEN, TIMES = 40_000, 4  # records of which it is asked how they bear on a number; how often


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
    return _anneal(candidate.codes, candidate.totals, linear, temperature, rng)


def anneal_around(
    candidate: Candidate, linear: Linear, far: Array, temperature: float, rng: np.random.Generator
) -> None:
    """The same a few times among some of the records alone, those that bear on a number drawn by how `far` (total k,)
    it is: the one swap that it needs may be between two of the few at the end of a survival curve, which hardly ever
    meet among all records.
    """
    for _ in range(TIMES):
        number = rng.choice(len(far), p=far**2 / (far @ far))
        seen = rng.permutation(len(candidate.codes))[:SEEN]
        weight = np.abs(bearing(linear, candidate.codes[seen], number))
        most = min(int((weight > 0.0).sum()), TUNING.swaps // 4)
        if most > 1:
            some = rng.choice(seen, most, replace=False, p=weight / weight.sum())
            codes = candidate.codes[some]
            _anneal(codes, candidate.totals, linear, temperature, rng)
            candidate.codes[some] = codes


def _anneal(codes: Codes, totals: Array, linear: Linear, temperature: float, rng: np.random.Generator) -> int:
    """Anneal swaps between records (n, variables) of a data set with these totals (m,), both in place."""
    residual, _ = linear.slopes(totals)
    plan, most = linear.problem.plan, 2 * TUNING.swaps
    found = trades.draw(plan, codes, *linear.arrays, len(residual), most, False, rng)
    hot, cold = (heat * temperature for heat in TUNING.heats)
    made = trades.anneal(found, residual, totals.copy(), *linear.ranges, hot, cold, SWEEPS, rng)
    trades.make(plan, found, made, codes, totals)
    return len(found.variable)
