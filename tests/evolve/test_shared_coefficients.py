"""Coefficients that one output leaves unprinted are those that another output of the same regression prints."""

import numpy as np
import pytest
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.datasets import sars_codebook, sars_like
from outrisk.evolve.problem import Problem
from outrisk.evolve.resolved import has_untold
from outrisk.evolve.shared_coefficients import with_shared
from outrisk.microdata import from_frame
from outrisk.outputs import release

FORMULA = "TENURE ~ AGE + C(SEX) + C(LTILL)"
MARGINS = {"kind": "margins", "model": "logit", "formula": FORMULA, "event": 1, "release": ["margins"]}


def problem_of(*entries):
    data, adapter = from_frame(sars_like(400, 1991), sars_codebook()), TypeAdapter(OutputEntry)
    outputs = [adapter.validate_python(each).build(data.codebook, at)[0] for at, each in enumerate(entries, 1)]
    return Problem(data.codebook, 400, tuple(release(each, data) for each in outputs)), data


@pytest.mark.parametrize(
    ("printed", "within"),
    [({}, 1e-9), ({"decimals": 2}, 5e-3), ({"exponentiate": True, "decimals": 3}, 1e-3)],
)
def test_margins_stand_at_the_coefficients_printed_of_their_regression(printed, within):
    problem, data = problem_of({"kind": "logit", "formula": FORMULA, "event": 1} | printed, MARGINS)
    found = with_shared(problem)
    logit, margins = found.parts
    np.testing.assert_array_equal(margins.model.parameters, logit.model.parameters)
    K, (_, other) = margins.model.n_score, found.released
    true = problem.released[1].output.refit(data)[:K]
    assert (np.abs(true - np.clip(true, other.low[:K], other.high[:K])) <= other.tolerance[:K] + 1e-12).all()
    assert (other.high[:K] - other.low[:K] <= 2.0 * within).all()
    np.testing.assert_array_equal(other.low[K:], problem.released[1].low[K:])
    assert has_untold(problem)
    assert not has_untold(found)


def test_what_is_printed_is_what_the_data_have_there():
    problem, data = problem_of({"kind": "logit", "formula": FORMULA, "event": 1}, MARGINS)
    found = with_shared(problem)
    totals, information = found.totals(data.codes)[found.slices[1][1]], found.informations(data.codes)[1]
    np.testing.assert_allclose(found.parts[1].map.numbers(totals, information), found.released[1].low, atol=1.5e-4)


@pytest.mark.parametrize(
    "other",
    [
        {"formula": "TENURE ~ AGE + C(SEX)"},
        {"where": "AGE >= 30"},
        {"kind": "probit"},
        {"event": 0},
        {"keep": ["AGE"]},
    ],
)
def test_of_another_regression_nothing_is_taken(other):
    problem, _ = problem_of({"kind": "logit", "formula": FORMULA, "event": 1} | other, MARGINS)
    assert with_shared(problem) is problem


def test_without_a_regression_beside_the_problem_stays():
    problem, _ = problem_of(MARGINS, MARGINS | {"dydx": ["AGE"]})
    assert with_shared(problem) is problem
