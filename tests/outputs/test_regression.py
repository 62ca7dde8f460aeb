"""Regressions of every kind: published numbers from totals, refits by statsmodels, derivatives, bad input."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from evolve.slow import block_totals
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from statsmodels.miscmodels.ordinal_model import OrderedModel

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import Regression, RegressionEntry, Release, logit_from_terms, release, released
from outrisk.outputs.regression import design as designs
from outrisk.outputs.regression.release import STEEPEST

CODEBOOK = Codebook(
    (
        Variable("visits", "integer", (0, 1, 2, 3, 4)),
        Variable("pay", "numeric", (101.5, 102.0, 104.25, 109.0), missing=True),
        Variable("ill", "categorical", ("no", "yes")),
        Variable("job", "categorical", ("a", "b", "c"), missing=True),
        Variable("age", "integer", (20, 30, 40, 50, 60)),
        Variable("area", "categorical", ("n", "s")),
        Variable("months", "numeric", (0.5, 1.0, 6.0, 12.0)),
        Variable("w", "numeric", (0.0, 0.5, 1.0, 2.75), missing=True),
        Variable("times", "integer", (1, 2, 3)),
        Variable("stays", "integer", (0, 1, 2, 9, 30)),
    )
)
GLM = ("coefficients", "standard_errors", "confidence_limits", "p_values", "n", "log_likelihood", "pseudo_r2")
OLS = ("coefficients", "standard_errors", "confidence_limits", "p_values", "n", "log_likelihood", "r2", "residual_sd")
KINDS = {
    "logit": "ill ~ age + area",
    "probit": "ill ~ age + C(area)",
    "poisson": "visits ~ I(age / 10) + area",
    "ols": "pay ~ age * area",
    "mnlogit": "job ~ age + area",
    "ologit": "job ~ I(age / 10) + area",
    "oprobit": "job ~ I(age / 10) * area",
    "negbin": "stays ~ I(age / 10) + area",
}
ORDERED = ("ologit", "oprobit")
KIND = st.sampled_from(sorted(KINDS))


def all_of(kind):
    return OLS if kind == "ols" else GLM[:-1] if kind == "negbin" else GLM


def microdata(codebook, columns):
    return Microdata(codebook, np.stack(columns, axis=1).astype(np.uint16))


def random_data(seed, n=150):
    rng = np.random.default_rng(seed)
    return microdata(CODEBOOK, [rng.integers(0, size, n) for size in CODEBOOK.sizes])


def regression(kind, parts=None, **options):
    release_ = Release(parts or all_of(kind), 12, exponentiate=options.pop("exponentiate", False))
    return Regression(CODEBOOK, "r", kind, options.pop("formula", KINDS[kind]), release_, **options)


def totals_and_information(part, data):
    """Slow totals, and the information on the same data."""
    whole = replace(part.model, information=True)
    totals, K = block_totals(whole, data.codes), whole.n_score
    information = np.zeros((K, K))
    rows, columns = np.tril_indices(K)
    information[rows, columns] = information[columns, rows] = totals[K : K + len(rows)]
    return block_totals(part.model, data.codes), information


def close(left, right, tolerance=1e-6):
    np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)


@settings(max_examples=40, deadline=None)
@given(KIND, st.integers(0, 10**6), st.sampled_from(["", "w", "times"]), st.booleans(), st.data())
def test_totals_give_the_numbers_of_a_refit(kind, seed, weight, exponentiate, draw):
    """At exact coefficients every part, alone or with others, is what statsmodels says of the same records."""
    parts = draw.draw(st.sets(st.sampled_from(all_of(kind))).map(lambda chosen: tuple({"coefficients", *chosen})))
    options = {"where": draw.draw(st.sampled_from(["", "age >= 30"])), "exponentiate": exponentiate, "weight": weight}
    if kind == "poisson":
        options["offset"] = draw.draw(st.sampled_from(["", "np.log(months)", "months"]))
    data, output = random_data(seed), regression(kind, parts, **options)
    values = output.refit(data)
    (part,) = output.parts(values)
    close(part.map.numbers(*totals_and_information(part, data)), values)
    assert part.n_numbers == len(values) == len(output.labels) == len(output.decimals)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["", "w"]), st.sampled_from(["age + area", "0 + age", "0 + area", "job"]))
def test_a_linear_regression_is_exact_at_any_coefficients(seed, weight, design):
    formula = f"pay ~ {design}"
    data, output = random_data(seed), regression("ols", weight=weight, formula=formula)
    values = output.refit(data)
    other = values + np.random.default_rng(seed).normal(0, 0.5, len(values))
    (part,) = output.parts(other)
    K, places = len(output.coefficients), dict(output.release.layout(len(output.coefficients)))
    across = np.sign(values[:K]) != np.sign(other[:K])  # these p-values are seen from the other side of 0
    values[places["p_values"]] = np.where(across, 2.0 - values[places["p_values"]], values[places["p_values"]])
    close(part.map.numbers(*totals_and_information(part, data)), values, 1e-5)


def test_a_p_value_draws_its_coefficient_to_the_side_that_was_published():
    """The least of all coefficients, released with the other sign: the p-value falls as it comes nearer."""
    data, output = random_data(4), regression("logit", ("coefficients", "p_values"))
    values = output.refit(data)
    K = len(output.coefficients)
    at = int(np.argmax(values[K:]))
    values[at] *= -1.0
    (part,) = output.parts(values)
    totals = totals_and_information(part, data)
    here, slope = part.map.numbers(*totals), part.map.jacobian(*totals)
    assert here[K + at] > 1.0 > values[K + at] and np.sign(here[at]) != np.sign(values[at])
    assert np.sign(slope[K + at] @ slope[at]) == np.sign(here[at] - values[at])


@settings(max_examples=30, deadline=None)
@given(KIND, st.integers(0, 10**6), st.sampled_from(["", "w"]), st.booleans(), st.booleans())
def test_the_jacobian_is_that_of_the_numbers(kind, seed, weight, exponentiate, alone):
    data = random_data(seed)
    parts = ("coefficients",) if alone else all_of(kind)
    options = {"offset": "np.log(months)"} if kind == "poisson" else {}
    output = regression(kind, parts, weight=weight, exponentiate=exponentiate, **options)
    values = output.refit(data)
    shifted = values.copy()
    if not exponentiate:  # some score is left; exp(b) has the derivatives of chords, which are right at the match
        K = len(output.coefficients)
        shifted[:K] += np.random.default_rng(seed).normal(0, 0.01, K)
    (part,) = output.parts(shifted)
    totals, information = totals_and_information(part, data)
    jacobian = part.map.jacobian(totals, information)
    steepest = np.abs(jacobian).max(axis=1)
    assert steepest.max() <= STEEPEST
    tame = steepest < STEEPEST  # rows of exp(b) beyond it are cut, and their numbers overflow
    here = np.abs(part.map.numbers(totals, information))
    for j in range(len(totals)):
        step = np.zeros(len(totals))
        step[j] = 1e-5 * max(abs(totals[j]), 1.0)
        change = part.map.numbers(totals + step, information) - part.map.numbers(totals - step, information)
        slope = change / (2 * step[j])
        noise = 1e-6 * steepest + 1e-14 * here / step[j]  # of the curve, and of the numbers' last digits
        near = np.abs(jacobian[:, j] - slope) <= noise + 1e-4 * np.abs(slope)
        assert near[tame].all(), np.flatnonzero(tame & ~near)


def theirs(kind, frame, **options):
    """The same regression in statsmodels' own formulas, or on its own response."""
    frame = frame.assign(ill=(frame["ill"] == "yes").astype(int))
    if kind == "mnlogit":
        frame = frame.dropna(subset=["job"])
        design = pd.DataFrame({"c": 1.0, "s": frame["area"] == "s", "age": frame["age"]}, dtype=float)
        return sm.MNLogit(frame["job"].cat.codes, design)
    name = "negativebinomial" if kind == "negbin" else kind
    return getattr(smf, name)(KINDS[kind], frame, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_designs_made_in_parts_are_those_made_at_once(kind, monkeypatch):
    data, output = random_data(11, 100), regression(kind)
    at_once, _ = output.sample(data)
    monkeypatch.setattr(designs, "_CHUNK", 7)
    in_parts, _ = output.sample(data)
    np.testing.assert_array_equal(in_parts.response, at_once.response)
    np.testing.assert_array_equal(in_parts.design, at_once.design)
    assert in_parts.design.flags.owndata
    assert in_parts.design.flags.c_contiguous


@pytest.mark.parametrize("kind", [kind for kind in sorted(KINDS) if kind not in ORDERED])
def test_a_refit_is_what_statsmodels_prints(kind):
    data = random_data(7, 600)
    offset = {"offset": np.log(data.frame()["months"])} if kind in ("poisson", "negbin") else {}
    settled = {} if kind == "ols" else {"disp": 0, "tol": 1e-12, "maxiter": 200}
    if kind == "negbin":  # whose own start does not get there
        start = smf.poisson(KINDS[kind], data.frame(), **offset).fit(disp=0).params
        settled = {"disp": 0, "method": "newton", "tol": 1e-12, "start_params": [*start, 1.0]}
    fit = theirs(kind, data.frame(), **offset).fit(**settled)
    output = regression(kind, offset="np.log(months)" if kind in ("poisson", "negbin") else "")
    got = dict(zip(output.labels, output.refit(data), strict=True))
    limits = np.asarray(fit.conf_int()).reshape(-1, 2)
    columns = [fit.params, fit.bse, limits[:, 0], limits[:, 1], fit.pvalues]
    expected = np.stack([np.asarray(column).ravel(order="F") for column in columns])
    singles = [fit.nobs, fit.llf, *([fit.rsquared, np.sqrt(fit.mse_resid)] if kind == "ols" else [fit.prsquared])]
    singles = singles[:-1] if kind == "negbin" else singles
    values = np.array(list(got.values()))
    K = expected.shape[1]
    mine = values[: 5 * K].reshape(5, K)
    close(mine[:, np.argsort(mine[0])], expected[:, np.argsort(expected[0])])
    close(values[5 * K :], singles)
    names = output.coefficients
    assert output.labels[K] == f"{names[0]}: standard error"
    assert output.labels[2 * K] == f"{names[0]}: lower 95 %"
    assert output.labels[4 * K] == f"{names[0]}: p-value"
    assert output.labels[5 * K : 5 * K + 2] == ["number of records", "log-likelihood"]


@pytest.mark.parametrize("kind", ORDERED)
def test_an_ordered_refit_is_what_statsmodels_prints(kind):
    """Its thresholds are the first and the logs of the others' distances, so that only these are compared."""
    data = random_data(7, 600)
    frame = data.frame().dropna(subset=["job"]).assign(age=lambda records: records["age"] / 10)
    design = pd.DataFrame({"age": frame["age"], "s": 1.0 * (frame["area"] == "s")})
    model = OrderedModel(frame["job"].cat.codes, design, distr=kind[1:])
    fit = model.fit(method="bfgs", disp=0, gtol=1e-9, maxiter=500)
    output = regression(kind, formula="job ~ I(age / 10) + area")
    got = dict(zip(output.labels, output.refit(data), strict=True))
    assert output.coefficients == ["I(age / 10)", "area[T.s]", "a|b", "b|c"]
    close([got[name] for name in output.coefficients[:2]], fit.params[:2], 1e-5)
    close([got[name] for name in output.coefficients[2:]], model.transform_threshold_params(fit.params)[1:-1], 1e-5)
    errors = [got[f"{name}: standard error"] for name in output.coefficients]
    close(errors[:3], fit.bse[:3], 1e-4)
    close([got["log-likelihood"], got["number of records"], got["pseudo-R2"]], [fit.llf, fit.nobs, fit.prsquared], 1e-5)


@pytest.mark.parametrize("kind", ["logit", "probit", "poisson", "mnlogit", *ORDERED, "negbin"])
def test_a_whole_weight_counts_a_record_so_often(kind):
    data = random_data(11, 200)
    parts = tuple(part for part in all_of(kind) if part != "n")
    weighted = regression(kind, parts, weight="times").refit(data)
    repeated = data.take(np.repeat(np.arange(len(data)), data.frame()["times"]))
    close(weighted, regression(kind, parts).refit(repeated))


def test_weights_of_a_linear_regression_are_those_of_wls():
    data = random_data(12, 300)
    frame = data.frame().dropna(subset=["pay", "w"]).query("w > 0")
    fit = smf.wls("pay ~ age + area", frame, weights=frame["w"]).fit()
    output = regression("ols", formula="pay ~ area + age", weight="w")
    got = dict(zip(output.labels, output.refit(data), strict=True))
    assert got["age"] == pytest.approx(fit.params["age"])
    assert got["age: standard error"] == pytest.approx(fit.bse["age"])
    assert got["age: p-value"] == pytest.approx(fit.pvalues["age"])
    assert got["number of records"] == len(frame)
    assert [got["log-likelihood"], got["R2"]] == pytest.approx([fit.llf, fit.rsquared])
    assert got["residual s"] == pytest.approx(np.sqrt(fit.mse_resid))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_compiled_totals_are_those_by_hand(kind):
    data = random_data(4)
    options = {"offset": "np.log(months)"} if kind == "poisson" else {}
    output = regression(kind, weight="w", where="age >= 30", **options)
    one = released(output, output.refit(data))
    close(Problem(CODEBOOK, len(data), (one,)).totals(data.codes), block_totals(one.blocks[0], data.codes), 1e-9)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_evolution_reproduces_what_is_printed(kind):
    """Released to two decimals, confirmed by a refit of the records that come out."""
    data = random_data(4, 2000)
    formula = KINDS[kind].replace("I(age / 10)", "age").replace("age", "I(age / 10)")
    output = Regression(CODEBOOK, "r", kind, formula, Release(("coefficients", "standard_errors", "n"), 2))
    one = release(output, data)
    *_, end = evolve(Problem(CODEBOOK, len(data), (one,)), preset("fast"), np.random.default_rng(1))
    assert end.stop == "matched"
    assert one.is_matched(output.refit(Microdata(CODEBOOK, end.codes))).all()


def test_odds_ratios_display_the_same():
    data = random_data(3)
    parts = ("coefficients", "standard_errors", "confidence_limits")
    plain = regression("logit", parts)
    shown = regression("logit", parts, exponentiate=True)
    b = plain.refit(data)
    close(shown.refit(data), [*np.exp(b[:3]), *b[3:6], *np.exp(b[6:])])
    (part,) = regression("logit", ("coefficients",), exponentiate=True).parts(np.exp(b[:3]) * [1.5, 1.0, 0.2])
    totals, information = totals_and_information(part, data)
    step = np.linalg.solve(information, totals)  # from the published b; the chord's slope makes exp(b) say just that
    far = part.map.numbers(totals, information) - part.map.published
    close(far / part.map.jacobian(totals, information).sum(axis=1) * (np.linalg.inv(information).sum(axis=1)), step)
    assert shown.labels[:4] == ["Intercept: exp(b)", "age: exp(b)", "area[T.s]: exp(b)", "Intercept: standard error"]
    assert shown.notes.endswith("coefficients as exp(b)")


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_records_never_fail(kind, n):
    """An evolution may pass through data on which nothing is defined."""
    data = random_data(1)
    output = regression(kind)
    (part,) = output.parts(output.refit(data))
    for rows in (np.arange(n), np.flatnonzero(data.frame()["area"] == "n")[: 10 * n]):
        totals, information = totals_and_information(part, data.take(rows))
        assert part.map.numbers(totals, information).shape == (part.n_numbers,)
        assert np.isfinite(part.map.jacobian(totals, information)).all()
        precision = part.map.precision(totals, information)
        assert np.isfinite(precision).all()
        assert np.linalg.eigvalsh(precision)[0] >= -1e-9 * abs(precision).max()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_precision_is_the_inverse_of_the_covariance(kind):
    data = random_data(2, 300)
    output = regression(kind, ("coefficients",))
    (part,) = output.parts(output.refit(data))
    precision = part.map.precision(*totals_and_information(part, data))
    errors = regression(kind, ("coefficients", "standard_errors")).refit(data)[part.n_numbers :]
    close(np.sqrt(np.diag(np.linalg.inv(precision))), errors, 1e-5)


@pytest.mark.parametrize("exponentiate", [False, True])
@pytest.mark.parametrize("kind", ["logit", "probit", "poisson", "mnlogit", *ORDERED, "negbin"])
def test_numbers_that_say_the_same_count_once(kind, exponentiate):
    """Coefficients that are off have one chi-square, whether or not their limits and p-values are released too."""
    data = random_data(2, 300)
    output = regression(kind, exponentiate=exponentiate)
    (part,) = output.parts(output.refit(data))
    totals, information = totals_and_information(part, data)
    K = len(output.coefficients)
    off = np.random.default_rng(0).normal(0, 1, K)
    numbers = part.map.jacobian(totals, information)[:, :K] @ information @ off
    precision = part.map.precision(totals, information)
    assert numbers @ precision @ numbers == pytest.approx(off @ information @ off, rel=0.02)


def test_columns_on_one_scale_far_from_0_are_told_apart():
    """Years beside a constant: nearly collinear, yet their standard errors are those of the refit."""
    codebook = Codebook((Variable("year", "integer", tuple(range(1990, 2021))), Variable("ill", "integer", (0, 1))))
    rng = np.random.default_rng(0)
    data = microdata(codebook, [rng.integers(0, 31, 400), rng.integers(0, 2, 400)])
    printed = Release(("coefficients", "standard_errors"), 12)
    output = Regression(codebook, "r", "logit", "ill ~ year + I((year - 1900) ** 2)", printed)
    values = output.refit(data)
    (part,) = output.parts(values)
    close(part.map.numbers(*totals_and_information(part, data)), values, 1e-4)


def test_a_sum_of_squares_survives_a_far_mean():
    codebook = Codebook((Variable("y", "numeric", tuple(1e6 + np.arange(5) / 4)), Variable("x", "integer", (0, 1, 2))))
    rng = np.random.default_rng(0)
    data = microdata(codebook, [rng.integers(0, 5, 90), rng.integers(0, 3, 90)])
    output = Regression(codebook, "r", "ols", "y ~ x", Release(OLS, 12))
    values = output.refit(data)
    (part,) = output.parts(values)
    close(part.map.numbers(*totals_and_information(part, data)), values)


def test_numbers_without_a_definition_are_nan():
    """More columns than degrees of freedom, a constant response: coefficients are there, the rest is not."""
    data = random_data(5)
    frame = data.frame()
    output = regression("ols", formula="age ~ area")
    two = pd.concat([frame[frame["area"] == "n"].head(1), frame[frame["area"] == "s"].head(1)])
    got = dict(zip(output.labels, output.refit(from_frame(two, CODEBOOK)), strict=True))
    assert np.isfinite(got["area[T.s]"])
    assert np.isnan([got["area[T.s]: standard error"], got["area[T.s]: p-value"], got["residual s"]]).all()
    flat = from_frame(frame.assign(age=30), CODEBOOK)
    assert np.isnan(dict(zip(output.labels, output.refit(flat), strict=True))["R2"])
    low, high = output.publish(output.refit(from_frame(two, CODEBOOK)))
    at = output.labels.index("residual s")
    assert low[at] == -np.inf
    assert high[at] == np.inf


def test_decimals_by_part():
    printed = Release(("n", "coefficients", "p_values"), {"p_values": 3, "coefficients": 2})
    output = Regression(CODEBOOK, "r", "logit", "ill ~ age", printed)
    assert output.decimals.tolist() == [2, 2, 3, 3, 0]
    low, high = output.publish(np.array([0.123, -0.456, 0.0456, 0.9, 150.0]))
    np.testing.assert_array_equal(low, [0.12, -0.46, 0.046, 0.9, 150])
    np.testing.assert_array_equal(low, high)


def test_a_study_file_entry():
    entry = RegressionEntry(
        kind="mnlogit", response="job", terms=("age", "area"), reference={"area": "s"}, base="b",
        release=("coefficients", "n"), decimals={"coefficients": 3}, weight="times",
    )  # fmt: skip
    (output,) = entry.build(CODEBOOK, 2)
    assert output.labels == [
        *(f"job = {outcome}: {name}" for outcome in "ac" for name in ("const", "age", "area_n")),
        "number of records",
    ]
    assert output.notes == (
        "mnlogit: job ~ 1 + age + C(area, contr.treatment(base='s')); outcomes of job against b; "
        "reference area = s; weighted by times"
    )
    assert output.name == "mnlogit 2"
    assert len(release(output, random_data(1)).values) == 7


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "logit", "release": ("coefficients", "r2")}, "'r2' is not a part of logit; parts are"),
        ({"kind": "ols", "release": ("coefficients", "pseudo_r2")}, "'pseudo_r2' is not a part of ols"),
        ({"kind": "logit", "release": ("standard_errors",)}, "lacks coefficients"),
        ({"kind": "logit", "decimals": {"n": 2}}, "decimals for 'n', which is not released"),
        ({"kind": "logit", "level": 95}, "level: 95 is not between 0 and 1"),
        ({"kind": "logit", "offset": "age"}, "'offset' goes with poisson and negbin, not logit"),
        ({"kind": "poisson", "event": "yes"}, "'event' goes with logit, probit and cox, not poisson"),
        ({"kind": "ols", "base": "a"}, "'base' goes with mnlogit, not ols"),
        ({"kind": "logit", "weight": "area"}, r"weight: 'area' is not a numeric variable; these are \['visits'"),
        ({"kind": "logit", "weight": "wage"}, "weight: 'wage' is not a numeric variable"),
        ({"kind": "poisson", "formula": "pay ~ age"}, "the value 101.5; a regression of counts needs whole numbers"),
        ({"kind": "poisson", "offset": "np.log(visits)"}, "gives no number at visits = 0"),
        ({"kind": "poisson", "offset": "area"}, "offset: 'area' is not a number for each record"),
        ({"kind": "poisson", "offset": "age + months"}, "is not one expression"),
        ({"kind": "poisson", "offset": "log("}, "cannot be read"),
        ({"kind": "poisson", "offset": "wage"}, "names 'wage', which is not a variable"),
        ({"kind": "ols", "formula": "area ~ age"}, "the response 'area' is a category, not a number"),
        ({"kind": "mnlogit", "base": "z"}, "base 'z' is not a value of 'job'; values are a, b, c"),
        ({"kind": "mnlogit", "formula": "ill ~ age"}, "has 2 outcomes; a mnlogit needs 3 to 20"),
        ({"kind": "mnlogit", "formula": "I(age + 1) ~ area"}, "of a mnlogit must be a variable"),
        ({"kind": "ologit", "formula": "ill ~ age"}, r"has 2 outcomes; an ologit needs 3 to 20 \(two: logit;"),
        ({"kind": "oprobit", "formula": "I(age + 1) ~ area"}, "of an oprobit must be a variable"),
        ({"kind": "ologit", "formula": "job ~ 1"}, "needs a term, and no constant"),
        ({"kind": "ologit", "formula": "job ~ 0 + area"}, "leave out '0 \\+' or '- 1'"),
        ({"kind": "negbin", "formula": "pay ~ age"}, "the value 101.5; a regression of counts"),
        ({"kind": "negbin", "release": ("coefficients", "pseudo_r2")}, "'pseudo_r2' is not a part of negbin"),
    ],
)
def test_entries_that_cannot_be_used(entry, message):
    with pytest.raises(OutputError, match=message) as caught:
        RegressionEntry(**{"formula": KINDS[entry["kind"]], **entry}).build(CODEBOOK, 1)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"output '{entry['kind']} 1'")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"decimals": -1}, "a whole number from 0 to 12, or one a part"),
        ({"decimals": {"coefficients": 3.5}}, "a whole number from 0 to 12, or one a part"),
        ({"decimals": {"slopes": 3}}, "'slopes' is not a part of a regression; parts are"),
        ({"release": ("coefficients", "slopes")}, "Input should be 'coefficients', 'standard_errors'"),
        ({"release": ()}, "at least 1 item"),
    ],
)
def test_fields_that_cannot_be_read(entry, message):
    with pytest.raises(ValidationError, match=message):
        RegressionEntry(kind="logit", formula="ill ~ age", **entry)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"age": np.nan}, "the value of age is not a number"),
        ({"age": np.inf}, "the value of age is not a number"),
        ({"age: standard error": -1.0}, "age: standard error is -1; a standard error is positive: correct it, or drop"),
        ({"age: p-value": 1.5}, "age: p-value is 1.5; a p-value lies between 0 and 1"),
        ({"age: p-value": -0.1}, "age: p-value is -0.1"),
        ({"age: lower 95 %": 9.0}, "age: lower 95 % is 9; the limits must enclose their coefficient"),
        ({"age: upper 95 %": -9.0}, "age: upper 95 % is -9"),
        ({"number of records": 0.0}, "number of records is 0"),
        ({"number of records": 10.5}, "number of records is 10.5; it is a whole number from 1"),
        ({"R2": 1.2}, "R2 is 1.2; it is at most 1"),
        ({"residual s": -2.0}, "residual s is -2"),
    ],
)
def test_published_values_that_cannot_be(changes, message):
    output = regression("ols", formula="pay ~ age")
    values = dict(zip(output.labels, output.refit(random_data(1)), strict=True))
    with pytest.raises(OutputError, match=message):
        released(output, np.array(list((values | changes).values())))


def test_an_odds_ratio_is_positive_and_may_print_as_0():
    output = regression("logit", ("coefficients",), exponentiate=True, formula="ill ~ age")
    with pytest.raises(OutputError, match=r"age: exp\(b\) is -0.1; exp\(b\) is positive: correct it"):
        released(output, np.array([1.2, -0.1]))
    (part,) = released(output, np.array([0.0, 1.02])).parts
    expected = [0.25 * 10.0 ** -int(output.decimals[0]), 1.02]
    assert np.exp(part.model.coefficients.ravel()).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("poisson", {"visits": 0}, "the response is 0 in all of these records"),
        ("mnlogit", {"job": "a"}, "no record has the outcome b; merge it with another"),
        ("probit", {"ill": "yes"}, "the response is constant"),
        ("oprobit", {"job": "a"}, "no record has the outcome b; merge it with another"),
        ("negbin", {"stays": 0}, "the response is 0 in all of these records; a regression of counts needs events"),
        (
            "negbin",
            {"stays": np.tile([1, 2], 75)},
            "the counts vary no more than those of a Poisson regression, so that there is no dispersion",
        ),
        ("ologit", {"age": 20}, "columns are collinear"),
        ("ols", {"area": "n"}, r"area = s has no records"),
        ("ols", {"age": 20}, "columns are collinear"),
    ],
)
@pytest.mark.parametrize("weight", ["", "times"])
def test_fits_that_are_not_defined(kind, change, message, weight):
    data = from_frame(random_data(1).frame().astype(object).assign(**change), CODEBOOK)
    with pytest.raises(OutputError, match=message):
        regression(kind, weight=weight).refit(data)


@pytest.mark.parametrize(
    ("kind", "column", "value", "message"),
    [
        ("poisson", "visits", 0, "area = s is separated: the response is 0 in all"),
        ("mnlogit", "job", "b", "area = s is separated: none of its .* has the outcome a"),
        ("probit", "ill", "no", "area = s is separated: the response is 0 in all"),
        ("ologit", "job", "c", "area = s is separated: the response is c in all"),
        ("negbin", "stays", 0, "area = s is separated: the response is 0 in all"),
    ],
)
@pytest.mark.parametrize("weight", ["", "times"])
def test_separation_is_named(kind, column, value, message, weight):
    frame = random_data(1).frame().astype(object)
    frame.loc[frame["area"] == "s", column] = value
    with pytest.raises(OutputError, match=message):
        regression(kind, weight=weight).refit(from_frame(frame, CODEBOOK))


def test_variables_with_names_of_one_letter_stand_in_terms():
    codebook = Codebook(tuple(Variable(name, "categorical", ("0", "1")) for name in ("a", "t", "my y")))
    output = logit_from_terms(codebook, "logit", "my y", ["a", "t"], {})
    assert output.labels == ["const", "a_1", "t_1"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"where": "age > 20", "weight": "w"}])
def test_several_sets_of_records_are_refitted_as_one_by_one(kind, options):
    output = regression(kind, **options)
    nobody = Microdata(CODEBOOK, np.zeros((5, len(CODEBOOK.names)), np.uint16))  # of age 20, of weight 0
    many = [random_data(1), nobody, random_data(2, 90), random_data(3, 200)]
    found = list(output.refits(many))
    assert isinstance(found[1], OutputError)
    with pytest.raises(OutputError) as alone:
        output.refit(nobody)
    assert str(found[1]) == str(alone.value)
    for at in (0, 2, 3):
        np.testing.assert_array_equal(found[at], output.refit(many[at]))
    assert [type(one) for one in output.refits([nobody])] == [OutputError]


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.PerfectSeparationWarning")
@pytest.mark.parametrize("kind", ["logit", "probit"])
def test_weighted_fits_of_few_people_have_numbers_or_a_reason(kind):
    """Of some the information is not finite where the iterations end."""
    output = Regression(CODEBOOK, "few", kind, "ill ~ months + C(age)", weight="times")
    found = []
    for seed in range(60):
        try:
            found.append(np.isfinite(output.refit(random_data(seed, 15))).all())
        except OutputError:
            found.append(None)
    assert True in found and None in found and False not in found
