"""Fitted models of statsmodels as entries of a study."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.stats import gumbel_r
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.miscmodels.ordinal_model import OrderedModel

from outrisk.api.entries import check_sources, entry_of
from outrisk.api.output_kinds import Fitted
from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook
from outrisk.readers.fitted_shape import estimates_of

FORMULA = "ill ~ C(area) + age"


def records(n=400, seed=2):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "area": rng.integers(1, 5, n),
            "months": rng.integers(1, 30, n),
            "weight": rng.choice([1.0, 2.0, 3.5], n),
            "place": rng.choice(["north", "south", "west"], n),
        }
    )
    chance = 1 / (1 + np.exp(-0.05 * (frame["age"] - 40) - 0.5 * (frame["area"] == 2)))
    severity = 0.03 * frame["age"] + 0.5 * (frame["place"] == "south") + rng.logistic(size=n)
    grade = np.digitize(severity, [0.2, 1.2, 2.5])
    frame = frame.assign(
        grade=grade + 1,
        level=pd.Categorical.from_codes(grade, ["low", "middle", "high", "top"], ordered=True),
        cases=rng.poisson(rng.gamma(0.8, np.exp(0.02 * frame["age"]) / 0.8)),
    )
    return frame.assign(
        ill=(rng.random(n) < chance).astype(int),
        visits=rng.poisson(np.exp(0.01 * frame["age"])),
        answer=rng.choice(["a", "b", "c"], n),
    )


DF = records()


def read(output, tmp_path, frame=DF, decimals=4):
    """The released coefficients of an output, by label; an error if the fit is not of these records."""
    data = from_frame(frame, infer_codebook(frame)[0])
    entry, source = entry_of(output, 1, frame, data, decimals)
    document = {
        "name": "s", "data": {"path": "x"}, "outputs": [entry], "keys": ["age"], "target": "ill",
    }  # fmt: skip
    study = study_of(document, tmp_path / "s.yaml")
    check_sources(study, data, [source])
    (built,) = study.outputs(data.codebook)
    return entry, pd.Series(built.refit(data), built.labels)


def arrays(columns, dummies="area"):
    made = pd.get_dummies(DF[dummies], prefix=dummies, drop_first=True).astype(float)
    return sm.add_constant(DF[columns].astype(float).join(made))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: smf.logit(FORMULA, DF), "logit"),
        (lambda: smf.probit(FORMULA, DF), "probit"),
        (lambda: smf.poisson("visits ~ age + place", DF), "poisson"),
        (lambda: smf.poisson("visits ~ age", DF, offset=np.log(DF.months)), "poisson"),
        (lambda: smf.poisson("visits ~ age", DF, exposure=DF.months), "poisson"),
        (lambda: smf.ols("age ~ C(area, Treatment(reference=3)) + np.log(months)", DF), "ols"),
        (lambda: smf.wls("age ~ area", DF, weights=DF.weight), "ols"),
        (lambda: smf.glm(FORMULA, DF, family=sm.families.Binomial()), "logit"),
        (lambda: smf.glm(FORMULA, DF, family=sm.families.Binomial(sm.families.links.Probit())), "probit"),
        (lambda: smf.glm("visits ~ age", DF, family=sm.families.Poisson()), "poisson"),
        (lambda: smf.glm("visits ~ age", DF, family=sm.families.Poisson(), freq_weights=DF.weight), "poisson"),
        (lambda: smf.glm("age ~ area", DF), "ols"),
        (lambda: sm.Logit(DF.ill, arrays(["age", "months"])), "logit"),
        (lambda: sm.OLS(DF.age, arrays(["months"], "place")), "ols"),
        (lambda: sm.Logit(DF.ill.to_numpy(), arrays(["age"]).to_numpy()), "logit"),
        (lambda: sm.OLS(DF.age, DF[["months"]]), "ols"),
    ],
)
def test_coefficients_are_those_of_the_fit(make, kind, tmp_path):
    model = make()
    fit = model.fit(disp=0) if kind not in ("ols",) and not isinstance(model, sm.GLM) else model.fit()
    entry, numbers = read(fit, tmp_path)
    assert entry["kind"] == kind
    np.testing.assert_allclose(np.sort(numbers), np.sort(fit.params), atol=2e-5)


def test_multinomial_logit(tmp_path):
    frame = DF.assign(outcome=DF["answer"].map({"a": 0, "b": 1, "c": 2}))
    fit = smf.mnlogit("outcome ~ age + place", frame).fit(disp=0)
    _, numbers = read(fit, tmp_path, frame)
    np.testing.assert_allclose(np.sort(numbers), np.sort(np.ravel(fit.params)), atol=2e-5)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    "outcomes",
    [[1, 2, 3], ["b", "a", "c"], pd.Categorical.from_codes([1, 0, 2], ["west", "south", "north"])],
    ids=["numbers", "text", "categories"],
)
def test_a_multinomial_logit_of_arrays(outcomes, gaps, tmp_path):
    levels = pd.Series(outcomes)
    frame = DF.assign(outcome=levels.iloc[DF["answer"].map({"a": 0, "b": 1, "c": 2})].to_numpy())
    frame["outcome"] = frame["outcome"].astype(levels.dtype)
    frame["age"] = frame["age"].where((np.arange(len(DF)) % 7 > 0) | (not gaps))
    fit = sm.MNLogit(frame["outcome"], sm.add_constant(frame[["age", "months"]]), missing="drop").fit(disp=0)
    entry, numbers = read(fit, tmp_path, frame)
    assert entry["formula"] == "outcome ~ 1 + age + months"
    np.testing.assert_allclose(np.sort(numbers), np.sort(np.ravel(fit.params)), atol=5e-5)


GAPS = DF.assign(age=DF["age"].where(np.arange(len(DF)) % 7 > 0), **{"a w": DF["weight"] + 1, "class": DF["months"]})
KEPT = GAPS.dropna().reset_index(drop=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: smf.wls("months ~ age", GAPS, weights=GAPS["weight"]),
        lambda: sm.WLS(GAPS["months"], sm.add_constant(GAPS[["age"]]), weights=GAPS["a w"], missing="drop"),
        lambda: smf.wls("months ~ age", KEPT, weights=KEPT["a w"]),
        lambda: sm.OLS(GAPS["months"], sm.add_constant(GAPS[["age", "area"]]), missing="drop"),
        lambda: sm.OLS(GAPS["months"].to_numpy(), sm.add_constant(GAPS[["age"]].to_numpy()), missing="drop"),
        lambda: sm.OLS(KEPT["months"].to_numpy(), sm.add_constant(KEPT[["age"]].to_numpy())),
        lambda: sm.OLS(GAPS.dropna()["months"], sm.add_constant(GAPS.dropna()[["age"]])),
        lambda: smf.poisson("visits ~ age", GAPS, exposure=GAPS["months"]),
        lambda: smf.poisson("visits ~ area", GAPS, offset=GAPS["a w"]),
        lambda: smf.poisson("visits ~ area", GAPS, exposure=GAPS["class"]),
        lambda: smf.poisson("visits ~ age", GAPS, exposure=GAPS["a w"]),
        lambda: smf.glm("visits ~ age", GAPS, family=sm.families.Poisson(), freq_weights=GAPS["a w"]),
    ],
)
def test_weights_offsets_and_arrays_beside_missing_values_and_odd_names(make, tmp_path):
    model = make()
    fit = model.fit(disp=0) if type(model).__name__ == "Poisson" else model.fit()
    np.testing.assert_allclose(np.sort(read(fit, tmp_path, GAPS)[1]), np.sort(fit.params), atol=5e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda frame: smf.phreg("months ~ age", frame),
        lambda frame: PHReg(frame["months"], frame[["age"]]),
        lambda frame: smf.phreg("months ~ part", frame, status=frame["ill"]),
        lambda frame: PHReg(frame["months"], frame[["part"]], status=frame["ill"], missing="drop"),
        lambda frame: PHReg(frame["months"], frame[["part"]], missing="drop"),
        lambda frame: smf.phreg("months ~ part", frame.dropna(), status=frame.dropna()["ill"]),
        lambda frame: PHReg(frame.dropna()["months"].to_numpy(), frame.dropna()[["part"]].to_numpy()),
    ],
)
def test_proportional_hazards_without_censoring_or_with_missing_values(make, tmp_path):
    frame = DF[["months", "ill", "age"]].assign(part=DF["area"].where(DF["age"] % 7 > 0))
    fit = make(frame).fit()
    _, numbers = read(fit, tmp_path, frame)
    np.testing.assert_allclose(numbers, [*fit.params, *fit.bse], atol=1e-9)


@pytest.mark.parametrize("strata", [DF["place"], DF["place"].astype("category").cat.codes, DF["area"]])
def test_proportional_hazards_in_strata_of_any_type(strata, tmp_path):
    fit = PHReg(DF["months"], DF[["age"]], status=DF["ill"], strata=strata).fit()
    np.testing.assert_allclose(read(fit, tmp_path, DF)[1], [*fit.params, *fit.bse], atol=5e-5)


@pytest.mark.parametrize(("levels", "said"), [((False, True), "False"), (("no", "yes"), "no"), ((0, 1), "0")])
def test_a_fit_of_the_other_level(levels, said, tmp_path):
    frame = DF.assign(sick=np.where(DF["ill"] == 1, levels[1], levels[0]))
    if said == "0":
        fit = smf.logit("sick ~ age", frame.assign(sick=1 - DF["ill"])).fit(disp=0)
    else:
        fit = smf.glm("sick ~ age", frame, family=sm.families.Binomial()).fit()
    with pytest.raises(OutputError, match=rf"the other level of 'sick', {said}, as its event; .*event='{said}'"):
        read(fit, tmp_path, frame)
    np.testing.assert_allclose(read(Fitted(fit, event=said), tmp_path, frame)[1], fit.params, atol=5e-5)


def test_categories_in_an_order_of_their_own(tmp_path):
    frame = DF.assign(place=pd.Categorical(DF["place"], categories=["west", "south", "north"]))
    fit = smf.logit("ill ~ place", frame).fit(disp=0)
    _, numbers = read(fit, tmp_path, frame)
    assert list(numbers.index) == ["Intercept", "place[T.south]", "place[T.north]"]
    np.testing.assert_allclose(numbers, fit.params, atol=2e-5)


def test_records_with_missing_values_are_left_out_as_statsmodels_does(tmp_path):
    frame = DF.assign(age=DF["age"].where(np.arange(len(DF)) % 7 > 0))
    fit = smf.logit("ill ~ age", frame).fit(disp=0)
    np.testing.assert_allclose(read(fit, tmp_path, frame)[1], fit.params, atol=2e-5)


def test_a_fit_of_a_part_needs_its_where(tmp_path):
    part = DF[DF["age"] >= 30]
    fit = smf.logit(FORMULA, part).fit(disp=0)
    with pytest.raises(OutputError, match=r"outputs 1: the fit is of \d+ records, the data give 400; .* Fitted"):
        read(fit, tmp_path)
    entry, numbers = read(Fitted(fit, where="age >= 30", release=["coefficients", "standard_errors"]), tmp_path)
    assert entry["where"] == "age >= 30"
    np.testing.assert_allclose(np.sort(numbers[:5]), np.sort(fit.params), atol=2e-5)
    with pytest.raises(OutputError, match="look at where: 'age >= 31'"):
        read(Fitted(fit, where="age >= 31"), tmp_path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: smf.logit(FORMULA, DF.assign(ill=DF.ill[::-1].to_numpy())),
            "the response of the fit is not 'ill' of the data",
        ),
        (
            lambda: smf.logit(FORMULA, DF.assign(age=DF.age[::-1].to_numpy())),
            "'age' of the formula .* has other values",
        ),
        (lambda: sm.Logit(DF.ill, arrays(["age"]).assign(odd=DF.age**2)), "column 'odd' of the fit's matrix is no col"),
        (lambda: sm.Logit(1 - DF.ill, arrays(["age"])), "the response of the fit is no column of the data"),
        (
            lambda: sm.Logit(DF.ill, arrays(["age"]).drop(columns="area_2")),
            r"dummies of 'area' .* none for \[np.*|none",
        ),
        (
            lambda: sm.GeneralizedPoisson(DF.visits, DF[["age"]]),
            "a fitted GeneralizedPoisson is not known; known are L",
        ),
        (
            lambda: sm.NegativeBinomial(DF.cases, sm.add_constant(DF[["age"]]), loglike_method="nb1"),
            "a NegativeBinomial of the form nb1 is not known; fit it by nb2",
        ),
        (
            lambda: OrderedModel(DF.grade, DF[["age"]], distr=gumbel_r),
            "an OrderedModel of the distribution gumbel_r is not known; known are logit and probit",
        ),
        (
            lambda: OrderedModel(DF.grade, DF[["age"]], offset=DF.months / 100, distr="logit"),
            "an OrderedModel with an offset is not known; write it as an outrisk.Custom",
        ),
        (lambda: smf.glm("ill ~ age", DF, family=sm.families.Gamma()), "GLM of the family Gamma with link"),
        (
            lambda: smf.poisson("visits ~ age", DF, offset=DF.age / 100),
            "the offset of the fit is no column of the data",
        ),
        (
            lambda: smf.wls("age ~ area", DF, weights=np.log(DF.months + 1)),
            "the weights of the fit are no column of the data; add them",
        ),
        (lambda: smf.wls("age ~ area", DF, weights=np.log(DF.age)), "the weights of the fit are no column of the data"),
        (
            lambda: sm.OLS(DF.age.to_numpy()[:70], DF[["area"]].to_numpy()[:70]),
            "the fit is of 70 records, the data give 400 without missing values in its columns; .* Fitted",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_is_not_of_these_records(make, message, tmp_path):
    model = make()
    fit = model.fit() if isinstance(model, sm.GLM) else model.fit(disp=0)
    with pytest.raises(OutputError, match=message):
        read(fit, tmp_path)


def test_numbers_that_a_refit_does_not_give(tmp_path):
    penalised = smf.logit(FORMULA, DF).fit_regularized(alpha=5.0, disp=0)
    with pytest.raises(OutputError, match=r"in the fit and .* by a refit on the data"):
        read(penalised, tmp_path)


SHAPE = {"release": ["coefficients", "standard_errors", "p_values"]}
ORDERED = {"method": "bfgs", "gtol": 1e-8}


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: OrderedModel.from_formula("level ~ age + place", DF, distr="logit"), "ologit"),
        (lambda: OrderedModel.from_formula("grade ~ age + C(area)", DF, distr="probit"), "oprobit"),
        (lambda: OrderedModel.from_formula("grade ~ 0 + age", DF, distr="logit"), "ologit"),
        (lambda: OrderedModel.from_formula("grade ~ age + months - 1", DF, distr="logit"), "ologit"),
        (lambda: OrderedModel(DF["level"], DF[["months", "age"]], distr="probit"), "oprobit"),
        (lambda: OrderedModel(DF["grade"], arrays(["age"], "place").drop(columns="const"), distr="logit"), "ologit"),
    ],
)
def test_thresholds_of_an_ordered_fit_are_those_of_its_predictions(make, kind, tmp_path):
    model = make()
    fit = model.fit(disp=0, **ORDERED)
    entry, numbers = read(Fitted(fit, **SHAPE), tmp_path)
    assert entry["kind"] == kind
    k, K = model.exog.shape[1], len(fit.params)
    np.testing.assert_allclose(np.sort(numbers[:k]), np.sort(np.asarray(fit.params)[:k]), atol=5e-6)
    below = np.cumsum(model.predict(np.asarray(fit.params), exog=np.zeros((1, k)))[0])[:-1]
    np.testing.assert_allclose(model.cdf(numbers[k:K].to_numpy()), below, atol=5e-6)
    assert numbers.index[k] == ("low|middle" if model.endog_names == "level" else "1|2") and len(numbers) == 3 * K


def test_thresholds_of_a_fit_have_the_standard_errors_that_a_refit_gives(tmp_path):
    """They follow from those of logarithms of distances; `read` compares all of them, so that a wrong one is told."""
    fit = OrderedModel.from_formula("level ~ age", DF, distr="logit").fit(disp=0, **ORDERED)
    _, numbers = read(Fitted(fit, **SHAPE), tmp_path)
    estimates = estimates_of(fit)
    found = np.concatenate([estimates[part] for part in SHAPE["release"]])
    np.testing.assert_allclose(found, numbers, atol=5e-6)
    assert np.abs(found[2:4] - np.asarray(fit.params)[2:]).min() > 0.5  # which have the distances


@pytest.mark.filterwarnings("ignore")
def test_an_ordered_fit_that_stopped_early_is_told_how_to_go_on(tmp_path):
    fit = OrderedModel.from_formula("level ~ age + place", DF, distr="logit").fit(disp=0, method="nm", maxiter=60)
    with pytest.raises(OutputError, match=r"until it converges \(method='bfgs', gtol=1e-8\), without"):
        read(fit, tmp_path)


def test_an_ordered_fit_of_another_order(tmp_path):
    other = DF.assign(level=pd.Categorical(DF["level"], ["top", "high", "low", "middle"], ordered=True))
    fit = OrderedModel.from_formula("level ~ age", other, distr="logit").fit(disp=0, **ORDERED)
    assert list(read(fit, tmp_path, other)[1].index) == ["age", "top|high", "high|low", "low|middle"]
    with pytest.raises(
        OutputError, match="the order top, high, low, middle, the data low, middle, high, top, or other"
    ):
        read(fit, tmp_path)


@pytest.mark.parametrize(
    "make",
    [
        lambda: smf.negativebinomial("cases ~ age + place", DF),
        lambda: smf.negativebinomial("cases ~ age", DF, offset=np.log(DF["weight"])),
        lambda: sm.NegativeBinomial(DF["cases"], arrays(["age"], "place")),
    ],
)
def test_negative_binomial_fits(make, tmp_path):
    fit = make().fit(disp=0, method="bfgs", maxiter=500, gtol=1e-8)
    entry, numbers = read(Fitted(fit, **SHAPE), tmp_path)
    K = len(fit.params)
    assert entry["kind"] == "negbin" and numbers.index[K - 1] == "alpha"
    assert numbers.iloc[K - 1] == pytest.approx(fit.params["alpha"], abs=5e-6)
    np.testing.assert_allclose(np.sort(numbers[K : 2 * K]), np.sort(fit.bse), atol=5e-6)
    _, ratios = read(Fitted(fit, exponentiate=True), tmp_path)
    assert ratios.iloc[-1] == pytest.approx(fit.params["alpha"], abs=5e-6)
    np.testing.assert_allclose(np.sort(ratios[:-1]), np.sort(np.exp(fit.params.iloc[:-1])), atol=5e-5)


@pytest.mark.filterwarnings("ignore")
def test_a_fit_without_numbers_is_told(tmp_path):
    fit = smf.negativebinomial("cases ~ age", DF).fit(disp=0, maxiter=500)
    fit._results.params = fit._results.params * np.nan  # as an iteration leaves them that fails
    with pytest.raises(OutputError, match=r"Intercept is nan in the fit and .* by a refit on the data; fit it again"):
        read(fit, tmp_path)


def test_robust_standard_errors_of_a_fit(tmp_path):
    with_errors = {"release": ["coefficients", "standard_errors", "p_values"]}
    for kind, formula, said, meant in (
        ("ols", "age ~ months", {"cov_type": "HC1"}, ("HC1", "", "normal")),
        ("ols", "age ~ months", {"cov_type": "HC0", "use_t": True}, ("HC0", "", "")),
        ("logit", FORMULA, {"cov_type": "HC1"}, ("HC0", "", "")),  # as statsmodels has it
        ("logit", FORMULA, {"cov_type": "cluster", "cov_kwds": {"groups": DF["area"]}}, ("CR1S", "area", "")),
    ):
        fit = getattr(smf, kind)(formula, DF).fit(**said, **({} if kind == "ols" else {"disp": 0}))
        entry, _ = read(Fitted(fit, **with_errors), tmp_path)
        assert tuple(entry.get(each, "") for each in ("covariance", "cluster", "distribution")) == meant
        _ = read(fit, tmp_path)  # the coefficients alone are the same


def test_standard_errors_of_a_fit_that_are_not_known(tmp_path):
    fit = smf.ols("age ~ months", DF).fit(cov_type="HC3")
    _ = read(fit, tmp_path)
    with pytest.raises(OutputError, match="standard errors of the type HC3 are not known; known are nonrobust, HC0"):
        read(Fitted(fit, release=["coefficients", "standard_errors"]), tmp_path)
    groups = np.arange(len(DF)) // 7
    fit = smf.ols("age ~ months", DF).fit(cov_type="cluster", cov_kwds={"groups": groups})
    with pytest.raises(OutputError, match="the clusters of the fit are no column of the data; add them as one"):
        read(Fitted(fit, release=["coefficients", "standard_errors"]), tmp_path)
