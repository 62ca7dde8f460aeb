"""Robust standard errors: refits by statsmodels and from the definition, totals, derivatives, bad input."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from evolve.slow import block_totals
from hypothesis import given, settings
from hypothesis import strategies as st
from test_regression import CODEBOOK, KIND, KINDS, all_of, close, random_data, totals_and_information

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.evolve.problem import Problem
from outrisk.microdata import Microdata
from outrisk.outputs import Regression, RegressionEntry, Release, released
from outrisk.outputs.regression.sandwich import Covariance, meat_of
from outrisk.problem.influence import records_of_model

ESTIMATORS = [
    Covariance("HC0"), Covariance("HC1"), Covariance("CR1"), Covariance("robust"),
    Covariance("CR0", "months"), Covariance("CR1", "months"), Covariance("CR1S", "months"), Covariance("", "months"),
]  # fmt: skip


def regression(kind, covariance, parts=None, **options):
    release = Release(parts or all_of(kind), 12)
    return Regression(CODEBOOK, "r", kind, KINDS[kind], release, covariance=covariance, **options)


def by_hand(kind, output, data, weight):
    """Standard errors from the definition, score by score and cluster by cluster."""
    sample, frame = output.sample(data)
    b = output.refit(data)[: len(output.coefficients)]
    X, y, w = sample.design, sample.response, sample.counts
    if kind == "mnlogit":
        eta = np.column_stack([np.zeros(len(y)), X @ b.reshape(-1, X.shape[1]).T])
        p = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
        scores = np.hstack([((y == e) - p[:, e])[:, None] * X for e in range(1, p.shape[1])])
        A = sum(
            w[i] * np.kron(np.diag(p[i, 1:]) - np.outer(p[i, 1:], p[i, 1:]), np.outer(X[i], X[i]))
            for i in range(len(y))
        )
    else:
        assert kind in ("ols", "logit")
        mean = X @ b if kind == "ols" else 1 / (1 + np.exp(-X @ b))
        scores, curved = (y - mean)[:, None] * X, np.ones(len(y)) if kind == "ols" else mean * (1 - mean)
        A = (X.T * (w * curved)) @ X
    scores = scores * w[:, None]
    names = np.arange(len(y)) if not output.covariance.cluster else frame[output.covariance.cluster].to_numpy()
    S = np.zeros_like(A)
    for name in np.unique(names):
        s = scores[names == name].sum(axis=0)
        S += np.outer(s, s)
    n, K, G = len(y), len(A), len(np.unique(names))
    how = output.covariance_meant.estimator
    c = {"HC0": 1, "CR0": 1, "HC1": n / (n - K), "CR1": G / (G - 1), "CR1S": G / (G - 1) * (n - 1) / (n - K)}[how]
    return np.sqrt(c * np.diag(np.linalg.inv(A) @ S @ np.linalg.inv(A)))


@pytest.mark.parametrize("weight", ["", "w"])
@pytest.mark.parametrize("covariance", ESTIMATORS, ids=lambda each: f"{each.estimator} {each.cluster}")
@pytest.mark.parametrize("kind", ["ols", "logit", "mnlogit"])
def test_a_refit_has_the_errors_of_the_definition(kind, covariance, weight):
    data, output = random_data(5, 200), regression(kind, covariance, weight=weight)
    K = len(output.coefficients)
    close(output.refit(data)[K : 2 * K], by_hand(kind, output, data, weight), 1e-7)


@pytest.mark.parametrize("kind", ["ols", "logit", "probit", "poisson"])
@pytest.mark.parametrize(("ours", "theirs"), [("HC0", "HC0"), ("HC1", "HC1"), ("CR0", "cluster"), ("CR1S", "cluster")])
def test_a_refit_is_what_statsmodels_has(kind, ours, theirs):
    """Of others than ols, statsmodels' HC1 is HC0."""
    if kind != "ols" and ours == "HC1":
        ours = "HC0"
    data = random_data(8, 250)
    covariance = Covariance(ours, "months" if ours.startswith("CR") else "")
    output = regression(kind, covariance)
    sample, frame = output.sample(data)
    model = {"ols": sm.OLS, "logit": sm.Logit, "probit": sm.Probit, "poisson": sm.Poisson}[kind]
    months = data.frame().loc[frame.index, "months"].to_numpy()
    groups = {"groups": months, "use_correction": ours == "CR1S"}
    options = {"cov_type": theirs, "cov_kwds": groups if theirs == "cluster" else {}}
    settled = {} if kind == "ols" else {"disp": 0, "tol": 1e-12, "maxiter": 200}
    fit = model(sample.response, sample.design).fit(use_t=kind == "ols", **settled, **options)
    K, got = len(fit.params), output.refit(data)
    limits = fit.conf_int()
    close(got[: 5 * K], np.concatenate([fit.params, fit.bse, limits[:, 0], limits[:, 1], fit.pvalues]), 1e-6)


def test_limits_of_an_ols_may_be_normal():
    """As statsmodels prints them beside robust errors, and Gaussian GLMs."""
    data = random_data(9, 60)
    for covariance, options in (
        (Covariance("HC1", "", "normal"), {"cov_type": "HC1"}),
        (Covariance("", "", "normal"), {}),
    ):
        output = regression("ols", covariance)
        sample, _ = output.sample(data)
        fit = sm.OLS(sample.response, sample.design).fit(use_t=False, **options)
        K, got, limits = len(fit.params), output.refit(data), fit.conf_int()
        close(got[: 5 * K], np.concatenate([fit.params, fit.bse, limits[:, 0], limits[:, 1], fit.pvalues]), 1e-6)


@settings(max_examples=40, deadline=None)
@given(KIND, st.integers(0, 10**6), st.sampled_from(["", "w", "times"]), st.sampled_from(ESTIMATORS))
def test_totals_give_the_numbers_of_a_refit(kind, seed, weight, covariance):
    data, output = random_data(seed), regression(kind, covariance, weight=weight)
    values = output.refit(data)
    (part,) = output.parts(values)
    close(part.map.numbers(*totals_and_information(part, data)), values)
    one = released(output, values)
    close(Problem(CODEBOOK, len(data), (one,)).totals(data.codes), block_totals(one.blocks[0], data.codes), 1e-9)
    seen = records_of_model(part.model, data.codes)
    close(seen.totals(np.ones(len(data))), block_totals(part.model, data.codes), 1e-9)


@settings(max_examples=30, deadline=None)
@given(KIND, st.integers(0, 10**6), st.sampled_from(["", "w"]), st.sampled_from(ESTIMATORS))
def test_the_jacobian_is_that_of_the_numbers_and_of_records(kind, seed, weight, covariance):
    data, output = random_data(seed), regression(kind, covariance, weight=weight)
    values = output.refit(data)
    K = len(output.coefficients)
    values[:K] += np.random.default_rng(seed).normal(0, 0.01, K)
    (part,) = output.parts(values)
    totals = block_totals(part.model, data.codes)
    nothing = np.zeros((0, 0))
    jacobian = part.map.jacobian(totals, nothing)
    last = part.model.size - (4 if covariance.cluster else 0)  # numbers of records of clusters are not differentiable
    for j in range(last):
        step = np.zeros(len(totals))
        step[j] = 1e-6 * max(abs(totals[j]), 1.0)
        up, down = (part.map.numbers(totals + sign * step, nothing) for sign in (1, -1))
        slope = (up - down) / (2 * step[j])
        noise = 1e-5 * np.abs(jacobian).max(axis=1) + 1e-14 * np.abs(up) / step[j]
        assert (np.abs(jacobian[:, j] - slope) <= noise + 1e-3 * np.abs(slope)).all(), j
    seen = records_of_model(part.model, data.codes)
    each = np.array([block_totals(part.model, data.codes[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(seen.through(jacobian, exact=True)[:20], each @ jacobian.T, rtol=1e-6, atol=1e-9)
    scale = np.abs(jacobian).max(axis=1)
    left_out = 1e-150  # of a number that next to nothing bears on, as a p-value of z = 28
    assert (np.abs(seen.through(jacobian)[:20] - each @ jacobian.T) <= 1e-4 * scale * 100 + left_out).all()


def test_a_category_of_numbers_is_a_response_of_an_ols():
    """A linear probability model, as economists write it, of a 0 and 1 that the codebook has as a category."""
    book = Codebook((*CODEBOOK.variables, Variable("well", "categorical", ("0", "1"), missing=True)))
    data = random_data(6, 200)
    rng = np.random.default_rng(1)
    data = Microdata(book, np.column_stack([data.codes, rng.integers(0, 3, len(data)).astype(np.uint16)]))
    release = Release(("coefficients", "standard_errors", "n"), 8)
    output = Regression(book, "r", "ols", "well ~ age + area", release, covariance=Covariance("HC1"))
    frame = data.frame().dropna(subset=["well"])
    design = np.column_stack([np.ones(len(frame)), frame["age"], frame["area"] == "s"])
    fit = sm.OLS(frame["well"].astype(float).to_numpy(), design).fit(cov_type="HC1")
    got = dict(zip(output.labels, output.refit(data), strict=True))
    names = ["Intercept", "age", "area[T.s]"]
    close([got[name] for name in names], fit.params)
    close([got[f"{name}: standard error"] for name in names], fit.bse)
    assert got["number of records"] == len(frame)
    one = released(output, output.refit(data))
    close(Problem(book, len(data), (one,)).totals(data.codes), block_totals(one.blocks[0], data.codes), 1e-9)


def test_numbers_of_clusters_are_of_those_with_records():
    scores = np.array([[1.0], [2.0], [-1.0], [3.0]])
    meat, groups = meat_of(scores, np.array([7, 7, 2, 2]))
    assert meat.tolist() == [[13.0]]
    assert groups == 2.0


def test_one_cluster_has_no_standard_errors():
    book = Codebook((*CODEBOOK.variables, Variable("site", "categorical", ("one",))))
    output = Regression(
        book, "r", "ols", KINDS["ols"], Release(("coefficients", "standard_errors")), covariance=Covariance("", "site")
    )
    data = random_data(3)
    data = Microdata(book, np.column_stack([data.codes, np.zeros(len(data), np.uint16)]))
    values = output.refit(data)
    K = len(output.coefficients)
    assert np.isfinite(values[:K]).all()
    assert np.isnan(values[K:]).all()


def test_a_study_file_entry():
    entry = RegressionEntry(
        kind="ols", formula="pay ~ age", release=("coefficients", "standard_errors"), cluster="area", covariance="CR0"
    )
    (output,) = entry.build(CODEBOOK, 1)
    assert output.variables == ["pay", "age", "area"]
    assert "robust standard errors (CR0), clustered by area, t distribution" in output.notes
    (plain,) = RegressionEntry(kind="ols", formula="pay ~ age").build(CODEBOOK, 1)
    assert "robust" not in plain.notes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"release": ("coefficients",), "covariance": "HC1"}, "'covariance' goes with standard errors"),
        ({"release": ("coefficients",), "cluster": "area"}, "'cluster' goes with standard errors"),
        ({"covariance": "HC1", "cluster": "area"}, "HC1 has no clusters; with 'cluster' it is CR0, CR1 or CR1S"),
        ({"cluster": "school"}, "cluster: no variable 'school'; variables are"),
    ],
)
def test_entries_that_cannot_be_used(changes, message):
    given_ = {"kind": "ols", "formula": "pay ~ age", "release": ("coefficients", "standard_errors"), **changes}
    with pytest.raises(OutputError, match=message):
        RegressionEntry(**given_).build(CODEBOOK, 1)


def test_records_without_a_cluster_are_left_out():
    data = random_data(4, 80)
    output = Regression(
        CODEBOOK,
        "r",
        "ols",
        "times ~ age",
        Release(("coefficients", "standard_errors", "n")),
        covariance=Covariance("", "job"),
    )
    assert output.refit(data)[-1] == data.frame()["job"].notna().sum() < len(data)
    assert pd.isna(data.frame()["job"]).any()
