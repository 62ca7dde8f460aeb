"""The line of risk on error."""

import numpy as np
import pytest
import statsmodels.api as sm

from outrisk.assess.extrapolation import extrapolate, possible


def runs(n_runs=5, n_points=8, noise=0.01, seed=0):
    rng = np.random.default_rng(seed)
    points = []
    for _ in range(n_runs):
        errors = np.geomspace(0.5, 1e-4, n_points)
        points.append((errors, 0.6 - 0.3 * errors + rng.normal(0, noise, n_points)))
    return points


def test_a_true_line_is_found():
    found = extrapolate(runs(noise=0))
    assert (found.intercept, found.slope, found.correlation) == pytest.approx((0.6, -0.3, -1.0))
    assert found.low == pytest.approx(found.high)
    assert (found.n_points, found.n_runs, found.reason) == (40, 5, "")
    assert found.measured == pytest.approx(0.6 - 0.3e-4)


def test_intercept_is_the_mean_of_statsmodels_lines_and_its_interval_students():
    points = runs()
    found = extrapolate(points)
    intercepts = [sm.OLS(risks, sm.add_constant(errors)).fit().params[0] for errors, risks in points]
    interval = sm.stats.DescrStatsW(intercepts).tconfint_mean(0.05)
    assert found.intercept == pytest.approx(np.mean(intercepts))
    assert (found.low, found.high) == pytest.approx(interval)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    hits = 0
    for seed in range(200):
        found = extrapolate(runs(seed=seed))
        hits += found.low <= 0.6 <= found.high
    assert 180 <= hits <= 199


def test_undefined_points_are_left_out():
    points = runs()
    points[0][1][:2] = np.nan
    assert extrapolate(points).n_points == 38


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (runs(2), "at least 3 runs are needed"),
        (runs(5, 3), "0 of 5 runs have 4 or more points"),
        ([(np.linspace(0.1, 0.2, 5), np.full(5, 0.5))] * 4, "must span a factor of 3"),
        ([], "0 of 0 runs"),
        ([(np.full(5, np.nan), np.full(5, 0.5))] * 4, "0 of 4 runs"),
    ],
)
def test_thin_evidence_is_refused_with_the_reason(points, words):
    found = extrapolate(points)
    assert np.isnan(found.intercept) and np.isnan(found.low)
    assert words in found.reason


def test_a_line_that_ends_beyond_what_a_share_can_be_is_refused():
    """Risk that stays at 1 from some error on: the line through it overshoots."""
    errors = np.geomspace(0.5, 1e-4, 8)
    found = possible(extrapolate([(errors, np.minimum(1.0, 1.2 - k * errors)) for k in (1, 1.1, 1.2)]), "original")
    assert np.isnan([found.intercept, found.low, found.slope]).all()
    assert "ends at 1.0" in found.reason and found.measured == 1.0


def test_intervals_hold_only_what_can_be():
    points = [(np.geomspace(0.5, 1e-4, 8), 0.95 - k * np.geomspace(0.5, 1e-4, 8) + k / 5) for k in (-0.2, 0.0, 0.2)]
    wide = extrapolate(points)
    assert wide.high > 1
    cut = possible(wide, "original")
    assert (cut.intercept, cut.low, cut.high, cut.reason) == (wide.intercept, wide.low, 1.0, "")
    below = extrapolate([(errors, risks - 0.95) for errors, risks in points])
    assert possible(below, "marginal") == below
