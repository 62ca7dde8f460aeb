"""Fitted models of statsmodels as entries of a study."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from outrisk.api.entries import check_sources, entry_of
from outrisk.api.output_kinds import Fitted
from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook

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
        (lambda: smf.logit(FORMULA, DF.assign(ill=1 - DF.ill)), "the response of the fit is not 'ill' of the data"),
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
        (lambda: smf.negativebinomial("visits ~ age", DF), "a fitted NegativeBinomial is not known; known are Logit"),
        (lambda: smf.glm("ill ~ age", DF, family=sm.families.Gamma()), "GLM of the family Gamma with link"),
        (
            lambda: smf.poisson("visits ~ age", DF, offset=DF.age / 100),
            "the offset of the fit is no column of the data",
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
    robust = smf.ols("age ~ months", DF).fit(cov_type="HC1")
    _ = read(robust, tmp_path)  # the coefficients are the same
    with pytest.raises(OutputError, match=r"standard error is .* in the fit and .* by a refit on the data"):
        read(Fitted(robust, release=["coefficients", "standard_errors"]), tmp_path)
