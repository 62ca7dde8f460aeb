"""Values of variables that have many, moved at once: numbers come nearer, counts and rules stay as they are."""

from copy import deepcopy
from functools import partial

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from outrisk.codebook import Codebook, Variable
from outrisk.config import OutputEntry
from outrisk.evolve.amounts import MANY, _apart, amounts_of, moved
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.problem import Problem
from outrisk.microdata import from_frame
from outrisk.outputs import release
from outrisk.problem.refit import NEAR

ENTRIES = [
    {"kind": "frequencies", "by": ["sex"]},
    {"kind": "quantiles", "value": "pay", "by": ["sex"], "quantiles": [0.5]},
    {"kind": "magnitudes", "value": "pay", "by": ["sex"], "statistics": ["mean", "sd"], "decimals": 0},
    {"kind": "shape", "value": "pay", "by": ["sex"], "statistics": ["gini", "cv", "skewness"]},
    {"kind": "ols", "formula": "pay ~ C(sex) + years", "decimals": 1, "release": ["coefficients", "standard_errors"]},
]
CODEBOOK = Codebook(
    (
        Variable("sex", "categorical", ("f", "m")),
        Variable("years", "integer", tuple(range(20))),
        Variable("pay", "integer", tuple(range(0, 200_001, 50))),
    )
)


def problem_of(n, entries=ENTRIES):
    rng = np.random.default_rng(3)
    pay = 50 * (rng.lognormal(10, 0.6, n) / 50).round().clip(0, 4_000)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "years": rng.integers(0, 20, n), "pay": pay.astype(int)})
    data, adapter = from_frame(people, CODEBOOK), TypeAdapter(OutputEntry)
    outputs = [adapter.validate_python(each).build(CODEBOOK, at)[0] for at, each in enumerate(entries, 1)]
    return Problem(CODEBOOK, n, tuple(release(each, data) for each in outputs)), data.codes


def elsewhere(problem, codes, seed):
    """The same people, with each one's pay off by up to a tenth, on its side of the median pay of their sex."""
    rng, new = np.random.default_rng(seed), codes.copy()
    for sex in (0, 1):
        mine = np.flatnonzero(codes[:, 0] == sex)
        ranked = mine[np.argsort(codes[mine, 2], kind="stable")]
        low, high = (codes[ranked[at], 2] for at in ((len(mine) - 1) // 2, len(mine) // 2))
        pay = codes[mine, 2] * rng.uniform(0.9, 1.1, len(mine))
        below, above = codes[mine, 2] < low, codes[mine, 2] > high
        pay = np.where(below, np.minimum(pay, low - 1.0), np.where(above, np.maximum(pay, high + 1.0), codes[mine, 2]))
        new[mine, 2] = pay
    return Candidate(new, problem.totals(new))


def far(problem, linear, candidate, errors):
    allowed = np.maximum(problem.tolerance, NEAR * errors)
    return int((np.abs(linear.distances(candidate.totals)) > allowed).sum())


@pytest.mark.parametrize("n", [60, 400])
def test_all_numbers_come_near_and_counts_and_medians_stay(n):
    problem, codes = problem_of(n)
    at = elsewhere(problem, codes, 1)
    errors, rng = np.nan_to_num(problem.sampling_errors(at.codes)), np.random.default_rng(2)

    def around(candidate):
        return linearise(problem, candidate.codes, candidate.totals, "precision")

    linear, before = around(at), deepcopy(at)
    begun = far(problem, linear, at, errors)
    assert begun > 5
    for _ in range(8):
        if found := moved(at, linear, around, errors, rng):
            at, linear = found
    assert far(problem, linear, at, errors) <= begun // 5
    numbers = [linear.numbers(each.totals)[:4] for each in (at, before)]
    np.testing.assert_array_equal(*numbers)
    assert (at.codes[:, :2] == before.codes[:, :2]).all()
    np.testing.assert_allclose(at.totals, problem.totals(at.codes))


def test_nothing_is_moved_where_all_numbers_are_met_or_no_variable_has_many_values():
    problem, codes = problem_of(200)
    at = Candidate(codes, problem.totals(codes))
    around = partial(pytest.fail, "a data set was tried")
    linear = linearise(problem, at.codes, at.totals, "precision")
    errors, rng = np.nan_to_num(problem.sampling_errors(codes)), np.random.default_rng(1)
    assert (np.abs(linear.distances(at.totals)) <= problem.tolerance).all()
    assert moved(at, linear, around, errors, rng) is None
    few = [{"kind": "ols", "formula": "years ~ C(sex)", "release": ["coefficients", "standard_errors"]}]
    problem, codes = problem_of(200, few)
    assert not len(amounts_of(problem))
    assert CODEBOOK["years"].size < MANY
    codes = codes[::-1] // 2
    at, errors = Candidate(codes, problem.totals(codes)), np.zeros(4)
    assert moved(at, linearise(problem, at.codes, at.totals, "precision"), around, errors, rng) is None


def test_values_are_apart_as_their_neighbours_by_rank_are():
    np.testing.assert_array_equal(_apart(np.array([7, 0, 1, 3], np.uint16)), [4, 1, 3, 6])
