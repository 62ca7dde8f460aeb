"""Coarsely printed coefficients are taken where the other released numbers have them, within their printed digits."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.formula.api as smf
from pydantic import TypeAdapter

from outrisk.codebook import Codebook, Variable
from outrisk.config import OutputEntry
from outrisk.evolve import resolved as resolving
from outrisk.evolve.calibrated import Pool
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.resolved import PULLS, once_resolved, resolved
from outrisk.evolve.settings import preset
from outrisk.evolve.start import from_released
from outrisk.microdata import Microdata
from outrisk.outputs import release

TABLES = [{"kind": "frequencies", "by": ["area", "ill"]}, {"kind": "frequencies", "by": ["age"]}]
FORMULA = "ill ~ age + I(age**2) + C(area)"
CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(20, 80, 2))),
        Variable("area", "categorical", ("n", "s", "w")),
        Variable("ill", "integer", (0, 1)),
    )
)


def data_of(seed, n=4_000):
    rng = np.random.default_rng(seed)
    age, area = rng.integers(0, 30, n), rng.integers(0, 3, n)
    years = 20.0 + 2 * age
    chance = 1 / (1 + np.exp(3.0 - 0.1 * years + 0.00066 * years**2 + 0.4 * area))
    return Microdata(CODEBOOK, np.column_stack([age, area, rng.random(n) < chance]).astype(np.uint16))


def problem_of(data, decimals=4, tables=TABLES):
    fit = {"kind": "logit", "formula": FORMULA, "event": 1, "release": ["coefficients", "standard_errors"]}
    entries = [fit | {"decimals": decimals}, *tables]
    outputs = [
        output
        for at, entry in enumerate(entries, 1)
        for output in TypeAdapter(OutputEntry).validate_python(entry).build(CODEBOOK, at)
    ]
    return Problem(CODEBOOK, len(data), tuple(release(output, data) for output in outputs))


def test_odds_ratios_that_print_as_1_are_moved_in_their_own_units():
    data = data_of(1)
    fit = {"kind": "logit", "formula": FORMULA, "event": 1, "exponentiate": True, "decimals": 1}
    problem = problem_of(data, tables=[fit, *TABLES])
    found = resolved(problem, from_released(problem))
    printed, moved = (np.exp(each.parts[1].model.coefficients.ravel()) for each in (problem, found))
    assert np.abs(moved - printed).max() <= 0.05 + 1e-9 and (moved != printed).any()
    first = next(iter(evolve(problem, preset("fast"), np.random.default_rng(1))))
    assert np.isfinite(first.errors.mae)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_small_odds_ratio_is_coarse_in_its_sampling_errors_and_is_moved_to_where_tables_have_it(seed):
    """0.01 may be half as much again, or half, and 0.00 nothing: more than a sampling error of its logarithm."""
    rng = np.random.default_rng(seed)
    age, area = rng.integers(0, 30, 4_000), rng.integers(0, 3, 4_000)
    ill = rng.random(4_000) < 1 / (1 + np.exp(5.3 - 0.06 * (20.0 + 2 * age) + 0.4 * area))
    data = Microdata(CODEBOOK, np.column_stack([age, area, ill]).astype(np.uint16))
    fit = {"kind": "logit", "formula": "ill ~ age + C(area)", "event": 1, "exponentiate": True, "decimals": 2}
    fit["release"] = ["coefficients", "confidence_limits"]
    problem = problem_of(data, tables=[fit, *TABLES])
    problem = replace(problem, released=problem.released[1:])  # without the other logit
    found = resolved(problem, from_released(problem))
    left = [Pool.of(each, data.codes).missed_of_linear() for each in (problem, found)]
    assert left[1] @ left[1] < 0.5 * left[0] @ left[0]
    last = list(evolve(problem, preset("fast"), np.random.default_rng(seed)))[-1]
    assert last.stop == "matched" and last.number < 15
    assert released_matches(problem, last)


@pytest.mark.parametrize("seed", [2, 6])
def test_odds_ratios_of_a_variable_that_stands_in_no_table_are_told_by_limits_and_p_values(seed):
    """The least squares alone go where the pool is: to an end of the digits, from which a search does not come back."""
    rng = np.random.default_rng(seed)
    age, area = np.minimum(rng.poisson(9, 4_000), 29), rng.integers(0, 3, 4_000)
    ill = rng.random(4_000) < 1 / (1 + np.exp(6.0 - 0.06 * (20.0 + 2 * age) + 0.4 * area))
    data = Microdata(CODEBOOK, np.column_stack([age, area, ill]).astype(np.uint16))
    fit = {"kind": "logit", "formula": "ill ~ age + C(area)", "event": 1, "exponentiate": True, "decimals": 2}
    fit["release"] = ["coefficients", "confidence_limits", "p_values"]
    problem = problem_of(data, tables=[fit, TABLES[0]])
    problem = replace(problem, released=problem.released[1:])
    last = list(evolve(problem, preset("fast"), np.random.default_rng(seed)))[-1]
    assert last.stop == "matched" and last.number < 50 and released_matches(problem, last)


def released_matches(problem, generation):
    synthetic = Microdata(problem.codebook, generation.codes)
    return all(output.recompute(synthetic).matched.all() for output in problem.released)


def squared(problem):
    """Age squared among the coefficients that the totals are those of."""
    part = problem.released[0].parts[0]
    at = [label for label in problem.released[0].labels if "standard error" not in label].index("I(age ** 2)")
    return float(part.model.coefficients.ravel()[at])


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_it_is_where_a_refit_has_it(seed):
    data = data_of(seed)
    frame = data.frame().assign(
        age=lambda table: table["age"].astype(float), ill=lambda table: table["ill"].astype(int)
    )
    exact = float(smf.logit(FORMULA, frame).fit(disp=0).params["I(age ** 2)"])
    problem = problem_of(data)
    found = resolved(problem, from_released(problem))
    printed = squared(problem)
    assert printed == pytest.approx(round(exact, 4))
    assert abs(squared(found) - printed) <= 0.5e-4
    assert abs(squared(found) - exact) < 0.1 * 0.5e-4  # half a last digit
    assert np.array_equal(found.low, problem.low) and np.array_equal(found.high, problem.high)
    again = resolved(problem, from_released(problem))
    assert squared(again) == squared(found)


def test_nothing_is_moved_where_no_table_says_what_it_is_or_digits_are_fine():
    data = data_of(1)
    alone = problem_of(data, tables=[])
    assert resolved(alone, from_released(alone)) is alone
    fine = problem_of(data, decimals=7)
    assert resolved(fine, from_released(fine)) is fine


def test_it_is_found_once_for_all_runs_of_a_problem_and_no_longer_kept_than_that():
    problem = problem_of(data_of(1))
    draw, asked = from_released(problem), []

    def counted(n, rng):
        asked.append(n)
        return draw(n, rng)

    found = once_resolved(problem, counted)
    assert squared(found) == squared(resolved(problem, draw)) and once_resolved(problem, counted) is found
    fine = problem_of(data_of(1), decimals=7)
    assert once_resolved(fine, counted) is fine and once_resolved(fine, counted) is fine
    assert len(asked) == 2
    kept = weakref.ref(fine)
    del fine
    gc.collect()
    assert kept() is None


def test_all_numbers_are_reproduced():
    data = data_of(1)
    problem = problem_of(data)
    *_, last = evolve(problem, preset("fast"), np.random.default_rng(1))
    assert last.stop == "matched"
    assert all(each.recompute(Microdata(CODEBOOK, last.codes)).matched.all() for each in problem.released)


def test_odds_ratios_may_change_by_half_a_digit_in_their_own_units():
    """Where estimates are tried again; of an odds of 0.04 that is an eighth of it, not 0.005."""
    data = data_of(1)
    fit = {"kind": "logit", "formula": "ill ~ age + C(area)", "event": 1, "exponentiate": True, "decimals": 2}
    problem = problem_of(data, tables=[fit, *TABLES])
    _, part, *_ = problem.parts
    pool = Pool.of(problem, data.codes)
    _, _, which, _ = problem.slices[1]
    printed = problem.low[which]
    half = (np.log(printed + 0.005) - np.log(printed - 0.005)) / 2
    np.testing.assert_allclose(pool._half_of(part, which), half, rtol=2e-3)
    assert half.max() > 4 * 0.005 and half.min() < 0.005
    for free in (False, True):
        assert (pool.asked(pool.start, True, free=free).slack == problem.tolerance[which][0]).sum() >= len(half), free
    for pull in (1.0, 0.1):
        asked = Pool.of(problem, data.codes, pull).asked(pool.start, True, free=True)
        assert all(np.isclose(asked.slack, each / pull, rtol=2e-3).any() for each in half)


@pytest.mark.parametrize(
    ("lefts", "mets", "tried", "taken"),
    [
        ([2.0], [], [None], 0),  # the first estimates do
        ([9.0, 4.0], [9.0], [None, 1.0], 1),  # the second do
        ([9.0] * 4, [5.0, 1.2], [None, 1.0], 1),  # the second are good enough
        ([9.0] * 4, [5.0, 3.0, 4.0, 3.5], [None, 1.0, 0.1, 0.01], 1),  # the best of all
        ([9.0] * 4, [np.nan, np.inf, 4.0, np.nan], [None, 1.0, 0.1, 0.01], 2),
    ],
)
def test_of_several_estimates_the_best_are_taken(monkeypatch, lefts, mets, tried, taken):
    problem = problem_of(data_of(1))
    numbers = int(problem.known.sum())
    found, seen, scores = [replace(problem) for _ in (None, *PULLS)], [], iter(mets)

    def estimated(problem, codes, pull):
        seen.append(pull)
        return found[len(seen) - 1], lefts[len(seen) - 1] * numbers

    monkeypatch.setattr(resolving, "_estimated", estimated)
    monkeypatch.setattr(Pool, "in_other_units", True)
    monkeypatch.setattr(Pool, "met", lambda self: (None, False, next(scores) * numbers))
    assert resolving._best_estimated(problem, data_of(1).codes) is found[taken]
    assert seen == tried
    monkeypatch.setattr(Pool, "in_other_units", False)
    seen.clear()
    assert resolving._best_estimated(problem, data_of(1).codes) is found[0] and seen == [None]


def test_coefficients_in_other_units_are_odds_ratios():
    data = data_of(1)
    assert not Pool.of(problem_of(data), data.codes).in_other_units
    fit = {"kind": "logit", "formula": FORMULA, "event": 1, "exponentiate": True, "decimals": 2}
    assert Pool.of(problem_of(data, tables=[fit, *TABLES]), data.codes).in_other_units
