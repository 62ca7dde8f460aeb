"""Margins: refits by statsmodels and finite differences, by hand, from totals; derivatives; bad input."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from test_regression import CODEBOOK, close, random_data, totals_and_information

from outrisk.errors import OutputError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Margins, MarginsEntry, Release, release, released
from outrisk.outputs.regression.sandwich import Covariance
from outrisk.problem.influence import records_of_model

FORMULAS = {
    "logit": "ill ~ age + C(job) + area",
    "probit": "ill ~ age + C(job) + area",
    "poisson": "visits ~ age + C(job) + area",
    "negbin": "stays ~ age + C(job) + area",
    "ols": "visits ~ age + C(job) + area",
}
CURVED = {"logit": "ill ~ age * area + I(age ** 2) + job", "poisson": "visits ~ np.log(age) * C(times) + months:area"}
ALL = ("coefficients", "standard_errors", "confidence_limits", "p_values", "n")
MEANS = {
    "logit": lambda eta: 1 / (1 + np.exp(-eta)),
    "probit": norm.cdf,
    "poisson": np.exp,
    "negbin": np.exp,
    "ols": lambda eta: eta,
}


def margins(kind, formula="", parts=ALL, **options):
    options = {"dydx": ("age", "job", "area"), **options}
    return Margins(CODEBOOK, "m", kind, formula or FORMULAS[kind], release=Release(parts, 12), **options)


def numbers_of(output, data):
    return output.refit(data)[output.n_hidden :]


def fitted(output, data):
    """The same model by statsmodels."""
    sample, _ = output.regression.sample(data)
    if output.model == "ols":
        return sm.OLS(sample.response, sample.design).fit()
    options = {"disp": 0, "maxiter": 500}
    model = {"logit": sm.Logit, "probit": sm.Probit, "poisson": sm.Poisson, "negbin": sm.NegativeBinomial}[output.model]
    model = model(sample.response, sample.design)
    begin = output.refit(data)[: output.n_hidden]
    return model.fit(start_params=begin, method="newton", tol=1e-13, **options)


@pytest.mark.parametrize("at", ["overall", "mean"])
@pytest.mark.parametrize("factors", ["columns", "slopes"])
@pytest.mark.parametrize("kind", ["logit", "probit", "poisson"])
def test_margins_are_what_statsmodels_has(kind, factors, at):
    data, output = random_data(3, 300), margins(kind, factors=factors, at_means=at == "mean")
    fit = fitted(output, data)
    theirs = fit.get_margeff(at=at, dummy=factors == "columns")
    J = len(theirs.margeff)
    order = [1 + column for column in (2, 0, 1)]  # the design has the constant, job (2), area, age in its own order
    names = output.regression.columns[1:]
    place = [names.index(each.label.removeprefix("dy/dx: ")) for each in output.quantities.all]
    limits = theirs.conf_int()
    expected = [theirs.margeff, theirs.margeff_se, limits[:, 0], limits[:, 1], theirs.pvalues]
    got = numbers_of(output, data)
    close(got[: 5 * J], np.concatenate([each[place] for each in expected]), 1e-8)
    assert got[-1] == fit.nobs and len(order) == 3


def at(frame, values):
    """Records with some variables at other values."""
    changed = frame.copy()
    for name, value in values.items():
        changed[name] = pd.Series([value] * len(frame), index=frame.index).astype(frame[name].dtype)
    return changed


def by_definition(output, data, b):
    """Margins of coefficients b, from formulaic's design of records with the variable at another value."""
    sample, frame = output.regression.sample(data)
    mean, side, w = MEANS[output.model], output.regression.design, sample.counts / sample.counts.sum()

    def average(records):
        return w @ mean(side.matrix(records) @ b + sample.offset)

    found = []
    for name in output.dydx:
        variable = CODEBOOK[name]
        if name in side.categories:
            levels = [average(at(frame, {name: value})) for value in variable.values]
            found += [level - levels[0] for level in levels[1:]]
        else:
            h = 1e-4
            up, down = (average(frame.assign(**{name: frame[name].astype(float) + step})) for step in (h, -h))
            found.append((up - down) / (2 * h))
    for named in output.predictions:
        names = named.split(":") if named else []
        grid = np.array(np.meshgrid(*[np.arange(len(CODEBOOK[n].values)) for n in names], indexing="ij"))
        for codes in grid.reshape(len(names), -1).T if names else [[]]:
            values = {n: CODEBOOK[n].values[int(c)] for n, c in zip(names, codes, strict=True)}
            found.append(average(at(frame, values)))
    return np.array(found)


@pytest.mark.parametrize("weight", ["", "times"])
@pytest.mark.parametrize(
    ("kind", "formula"), [*FORMULAS.items(), *CURVED.items()], ids=lambda each: each if " " not in each else "f"
)
def test_margins_are_those_of_their_definition(kind, formula, weight):
    """Means of differences and difference quotients, and the delta method by differences in the coefficients."""
    dydx = {CURVED["logit"]: ("age", "area", "job"), CURVED["poisson"]: ("age", "times", "months")}
    categories = ("area", "") if "job" not in formula else ("job", "area:job", "")
    categories = categories if "C(times)" not in formula else ("times", "")
    output = margins(
        kind, formula, dydx=dydx.get(formula, ("age", "job", "area")), predictions=categories, weight=weight
    )
    data = random_data(11, 400)
    got, k = output.refit(data), len(output.regression.columns)
    b, J = got[:k], len(output.quantities.all)
    found = got[output.n_hidden :]
    close(found[:J], by_definition(output, data, b), 1e-6)
    gradient = np.stack(
        [
            (by_definition(output, data, b + h) - by_definition(output, data, b - h)) / 2e-5
            for h in 1e-5 * np.eye(k)
        ],
        axis=1,
    )  # fmt: skip
    sample, _ = output.regression.sample(data)
    if weight:
        family = {
            "logit": sm.families.Binomial(), "poisson": sm.families.Poisson(), "ols": sm.families.Gaussian(),
            "probit": sm.families.Binomial(sm.families.links.Probit()),
        }.get(kind)  # fmt: skip
        if family is None:
            return
        if kind == "ols":
            V = sm.WLS(sample.response, sample.design, weights=sample.weights).fit().cov_params()
        else:
            model = sm.GLM(sample.response, sample.design, family=family, freq_weights=sample.weights)
            V = np.linalg.inv(-model.hessian(b, scale=1.0, observed=True))
    else:
        V = np.asarray(fitted(output, data).cov_params())[:k, :k]
    close(found[J : 2 * J], np.sqrt(np.diag(gradient @ V @ gradient.T)), 1e-5)


@pytest.mark.parametrize("kind", ["ols", "logit", "poisson"])
def test_robust_errors_are_those_of_the_sandwich(kind):
    data = random_data(8, 300)
    plain, output = margins(kind), margins(kind, covariance=Covariance("CR1S", "months"))
    sample, frame = output.regression.sample(data)
    months = data.frame().loc[frame.index, "months"].to_numpy()
    model = {"ols": sm.OLS, "logit": sm.Logit, "poisson": sm.Poisson}[kind]
    settled = {} if kind == "ols" else {"disp": 0, "tol": 1e-13, "maxiter": 200}
    fit = model(sample.response, sample.design).fit(cov_type="cluster", cov_kwds={"groups": months}, **settled)
    codes = data.codes[frame.index.to_numpy()]
    _, slopes = output.quantities.over(codes, sample.counts, fit.params)
    J = len(slopes)
    got = numbers_of(output, data)
    close(got[:J], numbers_of(plain, data)[:J], 1e-10)
    close(got[J : 2 * J], np.sqrt(np.diag(slopes @ fit.cov_params() @ slopes.T)), 1e-7)


OPTIONS = st.fixed_dictionaries(
    {
        "weight": st.sampled_from(["", "w", "times"]),
        "covariance": st.sampled_from([Covariance(), Covariance("HC0"), Covariance("CR1", "months")]),
        "factors": st.sampled_from(["levels", "columns", "slopes"]),
        "predictions": st.sampled_from([(), ("job",), ("job:area", "")]),
        "where": st.sampled_from(["", "age >= 30"]),
    }
)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(sorted(FORMULAS)), st.integers(0, 10**6), OPTIONS)
def test_totals_give_the_numbers_of_a_refit(kind, seed, options):
    data, output = random_data(seed, 200), margins(kind, **options)
    values = output.refit(data)
    (part,) = output.parts(values)
    totals = records_of_model(part.model, data.codes).totals(np.ones(len(data)))
    close(part.map.numbers(totals, np.zeros((0, 0))), values)
    assert part.n_numbers == len(values) == len(output.labels) == len(output.decimals)


@settings(max_examples=8, deadline=None)
@given(st.sampled_from([*FORMULAS.items(), *CURVED.items()]), st.integers(0, 10**6), OPTIONS)
def test_the_jacobian_is_that_of_the_numbers(model, seed, options):
    kind, formula = model
    data = random_data(seed, 200)
    if formula in CURVED.values():
        options = {**options, "predictions": (), "dydx": ("age",)}
    output = margins(kind, formula, **options)
    values = output.refit(data)
    K = output.n_hidden
    off = 0.003 if formula in FORMULAS.values() else 1e-5  # of squares of ages, in thousands
    values[:K] += np.random.default_rng(seed).normal(0, off, K)
    (part,) = output.parts(values)
    totals, nothing = records_of_model(part.model, data.codes).totals(np.ones(len(data))), np.zeros((0, 0))
    jacobian = part.map.jacobian(totals, nothing)
    for j in range(len(totals)):
        if options["covariance"].cluster and part.map.newton.sandwich.counts <= j < part.map.newton.sandwich.counts + 4:
            continue  # numbers of records of clusters are not differentiable
        slopes = []
        for size in (1e-4, 1e-5, 1e-6):  # too large for what bends, or too small for a power of ages
            step = np.zeros(len(totals))
            step[j] = size * max(1.0, abs(totals[j]))
            one, two = (
                part.map.numbers(totals + by * step, nothing) - part.map.numbers(totals - by * step, nothing)
                for by in (1, 2)
            )
            slopes.append((8.0 * one - two) / (12.0 * step[j]))
        nearest = np.abs(np.array(slopes) - jacobian[:, j]).argmin(axis=0)
        slope = np.array(slopes)[nearest, np.arange(len(nearest))]
        np.testing.assert_allclose(jacobian[:, j], slope, rtol=2e-3, atol=1e-5 * max(1e-2, np.abs(slope).max()))


def test_the_compiled_totals_are_those_of_records():
    data, output = random_data(5, 200), margins("logit", predictions=("job",), weight="times")
    one = released(output, *output.publish(output.refit(data)))
    (part,) = one.parts
    assert np.isneginf(one.low[: output.n_hidden]).all()
    seen = records_of_model(part.model, data.codes).totals(np.ones(len(data)))
    close(Problem(CODEBOOK, len(data), (one,)).totals(data.codes), seen, 1e-9)
    close(totals_and_information(part, data)[0], seen, 1e-9)


def test_margins_at_means_are_not_sought_and_say_so():
    """They bear on no search, which goes on beside them; what is off is said to be not sought."""
    data, output = random_data(5, 60), margins("logit", parts=("coefficients", "n"), at_means=True)
    one = release(output, data)
    assert not output.sought.any() and not len(one.searched.low)
    beside = release(Frequencies(CODEBOOK, "f", ("ill", "area")), data)
    problem = Problem(CODEBOOK, len(data), (one, beside))
    *_, last = evolve(problem, replace(preset("fast"), generations=3), np.random.default_rng(1))
    rows = list(one.recompute(Microdata(CODEBOOK, last.codes)).rows())
    assert {row.reason for row in rows if not row.matched and np.isfinite(row.refit)} <= {"not_sought"}
    wide = replace(output, at_means=False)
    assert wide.is_sought and wide.sought.all()


@pytest.mark.parametrize("parts", [ALL, ("coefficients", "standard_errors")])
def test_a_search_has_margins_without_the_coefficients(parts):
    data = random_data(7, 300)
    output = replace(margins("logit", dydx=("age", "area"), parts=parts), formula="ill ~ age + area")
    output = replace(output, release=Release(parts, 3))
    problem = Problem(CODEBOOK, len(data), (release(output, data), release(Frequencies(CODEBOOK, "f", ("ill",)), data)))
    *_, last = evolve(problem, preset("fast"), np.random.default_rng(1))
    refit = problem.released[0].recompute(Microdata(CODEBOOK, last.codes))
    assert refit.near.all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dydx": ("pay",)}, "'pay' is no variable on the right of the formula"),
        ({"predictions": ("age",)}, "predictions: 'age' is no category"),
        ({"formula": "ill ~ I(age > 30) + area", "dydx": ("age",)}, "by steps"),
        ({"formula": "ill ~ np.abs(age - 40) + area", "dydx": ("age",)}, "bends at one of its values"),
        ({"formula": "ill ~ np.maximum(age, 40) * area", "dydx": ("age",)}, "bends at one of its values"),
        ({"predictions": ("job:job",)}, "has 'job' twice"),
        ({"formula": "ill ~ age * area", "dydx": ("age",), "at_means": True}, "at_means: the formula has interactions"),
        ({"formula": "ill ~ I(age ** 2)", "dydx": ("age",), "at_means": True}, "at_means: 'age' is not in"),
        ({"dydx": ()}, "nothing is asked for"),
        ({"dydx": ("age", "age")}, "stands there twice"),
        ({"parts": ("coefficients",), "covariance": Covariance("HC0")}, "none is released"),
        ({"parts": ("coefficients", "pseudo_r2")}, "'pseudo_r2' is no part of margins"),
    ],
)
def test_what_has_no_margins_is_refused(options, message):
    with pytest.raises(OutputError, match=message.replace("(", r"\(").replace("*", r"\*")):
        margins("logit", **options)
    with pytest.raises(OutputError, match="not of mnlogit"):
        replace(margins("logit"), model="mnlogit")


@pytest.mark.parametrize("text", ["np.log(age)", "np.exp(age / 10)", "np.sqrt(age - 15)", "I(age ** 5)"])
def test_smooth_functions_have_a_derivative(text):
    """Also where the function is steep, and at each value of the codebook."""
    (term,) = margins("logit", f"ill ~ {text}", dydx=("age",)).quantities.designs.slopes("age")
    x = np.array(CODEBOOK["age"].values, dtype=float)
    by_hand = {
        "np.log(age)": 1 / x, "np.exp(age / 10)": np.exp(x / 10) / 10, "np.sqrt(age - 15)": 0.5 / np.sqrt(x - 15),
        "I(age ** 5)": 5 * x**4,
    }[text]  # fmt: skip
    close(term.rows[: len(x), 0] / by_hand, np.ones(len(x)), 1e-6)


def test_an_entry_asks_for_all_where_it_names_none():
    (output,) = MarginsEntry(kind="margins", formula="ill ~ age + area").build(CODEBOOK, 1)
    assert np.array(output.labels)[output.printed].tolist() == ["dy/dx: age", "dy/dx: area = s"]
