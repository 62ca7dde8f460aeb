"""Exchanges between kinds of records: they gain what they are drawn for, and leave counts as they are."""

import numpy as np
import pytest
from test_hazards_evolve import CODEBOOK, TABLE

from outrisk.evolve.around import equations_at
from outrisk.evolve.by_kinds import exchanged_by_kinds
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.closing import make
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.swaps import changes_by
from outrisk.microdata import Microdata
from outrisk.outputs import SurvivalEntry, release

CURVES = {"kind": "survival", "time": "months", "event": "died", "by": "arm", "times": [6, 18, 30]}
CURVES = SurvivalEntry(**CURVES, statistics=["survival", "standard error", "at risk", "events"], decimals=4)


def patients(n, least, seed=1):
    """Nobody is censored before the `least` month."""
    rng = np.random.default_rng(seed)
    arm, age = rng.integers(2, size=n), rng.integers(40, size=n)
    until = rng.exponential(24 * np.exp(0.4 * arm - 0.02 * (age - 20)))
    left = rng.uniform(least, 60, n)
    months = np.clip(np.minimum(until, left), 0, 35).astype(int)
    return Microdata(CODEBOOK, np.stack([months, (until <= left) & (until < 36), arm, age], axis=1).astype(np.uint16))


def problem_of(data):
    (curves,) = CURVES.build(CODEBOOK, 1)
    return Problem(CODEBOOK, len(data), (release(TABLE, data), release(curves, data))).searched


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_they_gain_and_leave_all_counts_as_they_are(sign, seed):
    data = patients(2_000, 2)
    problem, rng = problem_of(data), np.random.default_rng(seed)
    codes = data.codes.copy()
    totals = problem.totals(codes)
    linear = linearise(problem, codes, totals, "mse")
    errors = np.nan_to_num(problem.sampling_errors(codes), nan=1.0)
    equations = equations_at(linear, Candidate(codes, totals), errors)
    asked = np.zeros(len(equations.number))
    asked[2] = sign * 1e-3  # survival at the last time of the first arm
    edits = exchanged_by_kinds(equations, asked, codes, rng)
    assert edits.count > 20 and len(np.unique(edits.record)) == len(edits.record) == 2 * edits.count
    assert (sign * changes_by(equations, codes, edits)[:, 2] > 0.0).all()
    make(codes, edits, np.arange(edits.count))
    moved = problem.totals(codes) - totals
    assert moved.any() and not moved[equations.kept].any()
    assert exchanged_by_kinds(equations, np.zeros(len(asked)), codes, rng) is None


def test_a_curve_at_the_end_of_what_counts_allow_is_met():
    """Nobody is censored until after the second published time: survival there is as high as events and numbers at
    risk let it be.
    """
    data = patients(4_000, 20)
    problem = problem_of(data)
    for last in evolve(problem, preset("fast"), np.random.default_rng(1)):
        if last.near or last.number >= 400:
            break
    assert last.near
