"""Changes made one after the other bring back a number that few records bear on, and leave counts alone."""

import numpy as np
import pytest
from problems import published

from outrisk.datasets import sars_codebook, sars_like
from outrisk.evolve.around import equations_at
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.closing import Closing
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.one_by_one import one_by_one
from outrisk.microdata import from_frame

ENTRIES = [
    {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX)", "event": 1, "decimals": 3},
    {"kind": "frequencies", "by": ["MSTATUS", "TENURE"]},
    {"kind": "magnitudes", "value": "AGE", "by": ["MSTATUS", "LTILL"], "statistics": ["mean", "sd", "count"]},
]


@pytest.fixture(scope="module")
def near():
    """A problem, and its own data with three people of a small cell changed in age."""
    data = from_frame(sars_like(1_500, 1991), sars_codebook())
    problem = published(data, *ENTRIES)
    marital, ill, age = (data.codebook.index(name) for name in ("MSTATUS", "LTILL", "AGE"))
    cell = data.codes[:, marital] * 100 + data.codes[:, ill]
    kinds, times = np.unique(cell, return_counts=True)
    few = np.flatnonzero(cell == kinds[times >= 4][np.argmin(times[times >= 4])])
    codes = data.codes.copy()
    codes[few[:3], age] = codes[few[:3], age] // 2
    return problem, codes


def looked(problem, codes, errors):
    candidate = Candidate(codes, problem.totals(codes))
    return equations_at(linearise(problem, codes, candidate.totals, "tightening"), candidate, errors)


@pytest.mark.parametrize("seed", range(3))
def test_a_number_of_a_small_cell_is_brought_back(near, seed):
    problem, codes = near
    errors = np.nan_to_num(problem.sampling_errors(codes))
    equations = looked(problem, codes, errors)
    scale, free, after = 0.05 * equations.error, np.zeros(len(equations.error)), codes.copy()
    before = equations.missing / scale
    left = one_by_one(after, equations, before, scale, free, np.random.default_rng(seed))
    assert left @ left < 0.2 * (before @ before)
    totals = problem.totals(after)
    assert np.array_equal(problem.totals(codes)[equations.kept], totals[equations.kept])
    changed = (equations.rows(after) - equations.rows(codes)).sum(axis=0)
    np.testing.assert_allclose(left, before - changed / scale, atol=1e-6)
    now = looked(problem, after, errors).missing / scale
    assert now @ now < 0.5 * (before @ before)


def test_nothing_is_changed_where_all_may_be_off(near):
    problem, codes = near
    equations = looked(problem, codes, np.nan_to_num(problem.sampling_errors(codes)))
    missing, after = equations.missing / equations.error, codes.copy()
    free = np.abs(missing) + 1.0
    left = one_by_one(after, equations, missing, equations.error, free, np.random.default_rng(1))
    assert (after == codes).all() and (left == missing).all()


def test_every_other_round_goes_one_by_one_where_many_have_been_in_vain(near, monkeypatch):
    problem, codes = near
    said = []

    def counted(codes, equations, missing, scale, free, rng):
        said.append(True)
        return missing

    monkeypatch.setattr("outrisk.evolve.closing.one_by_one", counted)
    candidate = Candidate(codes, problem.totals(codes))
    linear = linearise(problem, codes, candidate.totals, "tightening")
    closing, rng, found = Closing(rounds=9), np.random.default_rng(1), []
    for _ in range(4):
        gained = closing.round(codes.copy(), closing.look(linear, candidate, False), linear, rng)
        found.append((len(said), gained))
        closing.learn(True, False, rng)
    assert [times for times, _ in found] == [0, 0, 1, 1] and not found[2][1]
    assert Closing(rounds=11).by_turns and not Closing(rounds=11, arrived=True).by_turns
    assert not Closing(rounds=11, brief=True).by_turns
