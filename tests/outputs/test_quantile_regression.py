"""Quantile regressions against a linear programme of all records, statsmodels, and numbers that R printed."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from statsmodels.regression.quantile_regression import QuantReg

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import from_frame
from outrisk.outputs import QuantileRegression, Release
from outrisk.outputs.regression.quantile_errors import errors_of
from outrisk.outputs.regression.quantile_fit import deviations_of, fitted_plane
from outrisk.problem.influence import records_of_model

BOOK = Codebook(
    (
        Variable("wage", "integer", tuple(range(400))),
        Variable("age", "integer", tuple(range(20, 70))),
        Variable("area", "categorical", ("a", "b", "c")),
    )
)


def twin(X, y, tau):
    """The least sum of deviations, by parts of each residual above and below 0."""
    n, k = X.shape
    cost = np.concatenate([np.zeros(k), np.full(n, tau), np.full(n, 1.0 - tau)])
    parts = np.hstack([X, np.eye(n), -np.eye(n)])
    return linprog(cost, A_eq=parts, b_eq=y, bounds=[(None, None)] * k + [(0, None)] * (2 * n)), cost, parts


def sample(seed, n, whole):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.integers(0, 30, n), rng.random(n) < 0.3]).astype(float)
    y = X @ rng.normal(size=3) + rng.gamma(2.0, 5.0, n)
    return X, np.round(y) if whole else y


def people(n=200, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(20, 70, n), "area": rng.choice(["a", "b", "c"], n)})
    return frame.assign(wage=np.clip(np.round(rng.gamma(3.0, 30.0, n) + frame["age"]), 0, 399).astype(int))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_sum_of_deviations_is_the_least(seed, whole):
    n, tau = (20, 61, 150)[seed % 3], (0.1, 0.25, 0.5, 0.8)[seed % 4]
    X, y = sample(seed, n, whole)
    found, (least, cost, parts) = fitted_plane(X, y, tau), twin(X, y, tau)
    assert found.deviations(tau) == pytest.approx(least.fun, abs=1e-7)
    assert deviations_of(y - X @ found.coefficients, tau) == pytest.approx(least.fun, abs=1e-7)
    assert np.linalg.matrix_rank(X[found.on]) == 3
    for at in range(3):  # which coefficients are the same in all planes
        aim = np.zeros(len(cost))
        ends = []
        for sign in (1.0, -1.0):
            aim[at] = sign
            bounds = [(None, None)] * 3 + [(0, None)] * (2 * n)
            ends.append(sign * linprog(aim, cost[None, :], [least.fun + 1e-9], parts, y, bounds).fun)
        assert found.unique[at] == (ends[1] - ends[0] < 1e-5)


def test_many_records_are_fitted_as_few_are():
    X, y = sample(3, 9_000, True)
    for tau in (0.05, 0.5):
        whole = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
        rows, counts = whole
        dual = linprog(
            -rows[:, 3],
            A_eq=rows[:, :3].T,
            b_eq=np.zeros(3),
            bounds=np.column_stack([(tau - 1) * counts, tau * counts]),
        )
        assert fitted_plane(X, y, tau).deviations(tau) == pytest.approx(-dual.fun, rel=1e-9)


@pytest.mark.parametrize("errors", ["robust", "iid"])
@pytest.mark.parametrize("bandwidth", ["hsheather", "bofinger"])
@pytest.mark.parametrize("tau", [0.25, 0.5])
def test_standard_errors_are_those_of_statsmodels(tau, errors, bandwidth):
    X, y = sample(5, 151, False)
    X = X[:, :2] + np.outer(np.random.default_rng(1).random(151), [0.0, 1.0])
    found = fitted_plane(X, y, tau)
    assert found.unique.all()
    fit = QuantReg(y, X).fit(q=tau, vcov=errors, bandwidth=bandwidth, max_iter=20_000, p_tol=1e-10)
    own = errors_of(X, y, found.residuals, tau, "statsmodels", errors, bandwidth)
    assert own == pytest.approx(fit.bse, rel=1e-4)


def test_beside_printed_coefficients_the_nearest_plane_counts():
    frame = pd.DataFrame({"wage": [10, 20, 50, 90], "age": 30, "area": "a"})
    data = from_frame(frame, BOOK)
    fit = QuantileRegression(BOOK, "median", "wage ~ 1", 0.5)
    for printed in (20.0, 50.0):
        assert fit.refit(data, np.array([printed])) == pytest.approx([printed])
    assert fit.refit(data)[0] in (20.0, 50.0)
    assert fit.refit(data, np.array([33.0]))[0] in (20.0, 50.0)  # no program prints a plane through nobody


@pytest.mark.parametrize("tau", [0.25, 0.5])
def test_totals_at_the_fitted_plane_give_its_numbers_back(tau):
    data = from_frame(people(), BOOK)
    release = Release(("coefficients", "n", "deviations", "raw_deviations", "pseudo_r2"), 6)
    fit = QuantileRegression(BOOK, "fit", "wage ~ age + area", tau, release)
    exact = fit.refit(data)
    (part,) = fit.parts(np.round(exact, 6))
    totals, information = records_of_model(part.model, data.codes).summed(np.ones(len(data)))
    assert part.map.numbers(totals, information)[4:] == pytest.approx(exact[4:], rel=2e-3)
    jacobian = part.map.jacobian(totals, information)
    moved = totals.copy()
    moved[:4] += 40.0  # beyond what those on the plane make up for
    step = part.map.numbers(moved, information) - exact
    assert (np.sign(step[:4]) == np.sign((jacobian[:, :4].sum(axis=1) * 40.0)[:4])).mean() >= 0.75


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"tau": 1.0}, "tau: 1 is not between 0 and 1"),
        ({"errors": "rank"}, "errors: 'rank' is not known of quantreg"),
        ({"program": "sas"}, "program: 'sas' is not one of"),
        ({"formula": "wage ~ age - 1"}, "without a constant"),
        ({"release": Release(("coefficients", "r2"))}, "'r2' is not a part of quantreg"),
    ],
)
def test_what_is_not_known_is_refused(more, reason):
    with pytest.raises(OutputError, match=reason):
        QuantileRegression(BOOK, "fit", **({"formula": "wage ~ age"} | more))
