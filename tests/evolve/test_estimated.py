"""What printed numbers say of estimates leads a pool near them from far away, where the numbers themselves do not."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from pydantic import TypeAdapter

from outrisk.config import OutputEntry, read_study
from outrisk.evolve.calibrated import Pool
from outrisk.evolve.candidate import draw_candidate
from outrisk.evolve.estimated import estimated, short
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.problem import Problem
from outrisk.evolve.start import calibrated, from_released
from outrisk.load import load_study_data
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import release

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {"release": ["coefficients", "confidence_limits", "pseudo_r2", "n"], "exponentiate": True, "decimals": 4}
LOGIT = {"kind": "logit", "formula": "ill ~ age + C(town)", "event": 1, **LIMITS}
OLS = {"kind": "ols", "formula": "age ~ C(town)", "decimals": 3}
OLS |= {"release": ["coefficients", "standard_errors", "p_values", "r2", "residual_sd"]}


def people(n, seed=1):
    """A rare first level, which every contrast is with, and a rare answer."""
    rng = np.random.default_rng(seed)
    town = rng.choice(4, n, p=[0.02, 0.6, 0.35, 0.03])
    age = np.clip(np.round(rng.normal(30 + 3 * town, 6, n)), 15, 54).astype(int)
    ill = (rng.random(n) < 1 / (1 + np.exp(3.0 - 0.05 * age - 0.5 * (town == 2)))).astype(int)
    return pd.DataFrame({"town": town, "age": age, "ill": ill})


@pytest.fixture(scope="module")
def problem():
    frame = people(2_000)
    codebook, _ = infer_codebook(frame)
    adapter = TypeAdapter(OutputEntry)
    outputs = [
        each for at, entry in enumerate((LOGIT, OLS), 1) for each in adapter.validate_python(entry).build(codebook, at)
    ]
    data = from_frame(frame, codebook)
    return Problem(codebook, len(data), tuple(release(output, data) for output in outputs))


def said(problem, at, codes):
    """What the numbers of an output say of its estimates, and these on the records."""
    (part, _, which, _), totals = problem.slices[at], problem.totals(codes)
    half = problem.tolerance[which]
    here = totals[problem.slices[at][1]]
    return part.estimates(here, problem.informations(codes)[at], problem.low[which] - half, problem.high[which] + half)


def test_estimates_are_those_of_a_refit_and_within_what_is_said_of_them(problem):
    frame = people(2_000)
    codes = from_frame(frame, problem.codebook).codes
    fits = smf.logit("ill ~ age + C(town)", frame).fit(disp=0), smf.ols("age ~ C(town)", frame).fit()
    for at, fit in enumerate(fits):
        found, K = said(problem, at, codes), len(fit.params)
        names = [label.removesuffix(": exp(b)") for label in problem.released[at].labels[:K]]
        assert found.values[:K] == pytest.approx(fit.params[names].to_numpy(), rel=1e-2, abs=1e-2)
        assert found.values[K : 2 * K] == pytest.approx(fit.bse[names].to_numpy(), rel=1e-2)
        known = np.isfinite(found.low)
        slack = 1e-2 * np.abs(found.values)
        assert (found.low - slack <= found.values)[known].all() and (found.values <= found.high + slack)[known].all()
        assert known[found.errors].all()  # of the logit limits alone are printed
    assert found.values[2 * K : 2 * K + 4] == pytest.approx(
        [2_000, fit.llf, np.sqrt(fit.scale), fit.rsquared], rel=1e-3
    )


def test_slopes_are_those_of_the_estimates(problem):
    """By differences: of a few totals moved by a little, at other records than those released."""
    codes = from_frame(people(2_000, 2), problem.codebook).codes
    totals, information = problem.totals(codes), problem.informations(codes)
    for (part, where, which, _), own in zip(problem.slices, information, strict=True):
        low, high = problem.low[which], problem.high[which]
        here = totals[where]
        found = part.estimates(here, own, low, high)
        for move in 1e-5 * np.abs(here) * np.random.default_rng(1).normal(size=(5, len(here))):
            ahead, back = (part.estimates(here + sign * move, own, low, high).values for sign in (1.0, -1.0))
            change, known = (ahead - back) / 2.0, np.isfinite(found.values)
            assert change[known] == pytest.approx((found.jacobian @ move)[known], rel=1e-3, abs=1e-8)


def test_a_pool_comes_near_what_is_published(problem):
    """By a weighted sum of the records: the estimates, in the sampling errors that a refit of the data has."""
    pool = Pool.of(problem, from_released(problem)(20_000, np.random.default_rng(1)))
    start = np.full(20_000, 0.1)
    found = estimated(problem, pool._models, start)
    assert found.min() > 0.0 and found.sum() == pytest.approx(2_000)
    assert off(problem, pool, found) < 0.3 < off(problem, pool, start) / 5


def off(problem, pool, weights):
    """What estimates of a weighted pool are beyond what is said of them, the mean: coefficients in standard errors,
    these in tenths of themselves.
    """
    found = []
    for (part, _, which, _), seen in zip(problem.slices, pool._models, strict=True):
        low, high = (problem.released[len(found)].values + sign * problem.tolerance[which] for sign in (-1.0, 1.0))
        says = part.estimates(seen.totals(weights), np.zeros((0, 0)), low, high)
        K = says.errors.start
        unit = np.concatenate([says.values[K : 2 * K], says.values[K : 2 * K] / 10.0])
        beyond = np.maximum(np.maximum(says.low - says.values, says.values - says.high), 0.0)[: 2 * K]
        found.append(np.minimum(beyond / unit, 100.0))
    return np.concatenate(found).mean()


def test_a_change_is_made_shorter_until_weights_stay_near():
    rng = np.random.default_rng(1)
    weights, move = rng.random(500), rng.normal(size=500) * 3.0
    share = short(weights, move, 0.05)
    assert 0.0 < share < 1.0 == short(weights, move / 100.0, 0.05)
    new = weights * np.exp(share * move)
    part = weights / weights.sum()
    assert part @ (new / weights - 1.0 - np.log(new / weights)) <= 0.05


def test_a_weighing_of_limits_that_are_out_of_sight_is_finite(problem):
    """exp(b) of records far from the published ones overflowed, and a run ended in a traceback."""
    codes = np.zeros((2_000, 3), np.uint16)
    rng = np.random.default_rng(1)
    names = list(problem.codebook.names)
    codes[:, names.index("ill")] = rng.integers(0, 2, 2_000)
    codes[:, names.index("age")] = rng.integers(0, 2, 2_000)
    linear = linearise(problem, codes, problem.totals(codes), "tightening")
    assert all(np.isfinite(each).all() for each in (*linear.forms, *linear.jacobians))


def test_half_of_the_women_of_fair_begin_near():
    """Of five regressions this half of the data began with 117 of 120 numbers far off, and ended with 87."""
    study = read_study(ROOT / "configs" / "fair-regressions.yaml")
    data = load_study_data(study).original
    half = data.take(np.random.default_rng(3).permutation(len(data))[: len(data) // 2])
    problem = Problem(half.codebook, len(half), tuple(release(each, half) for each in study.outputs(half.codebook)))
    candidate = draw_candidate(problem, calibrated(problem), np.random.default_rng(1))
    refits = [each.recompute(Microdata(half.codebook, candidate.codes)) for each in problem.released]
    assert np.concatenate([refit.near for refit in refits]).sum() > 60
