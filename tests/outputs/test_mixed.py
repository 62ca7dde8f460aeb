"""Linear mixed models with a random intercept, against R's lme4, lmerTest, nlme and plm, and statsmodels."""

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook
from outrisk.outputs import Mixed, MixedEntry, Release

PARTS = (
    "coefficients",
    "standard_errors",
    "p_values",
    "n",
    "log_likelihood",
    "residual_sd",
    "sigma_u",
    "rho",
    "levels",
)
MORE = ("variance_u", "variance_e", "aic", "bic")
OF_GLS = tuple(part for part in (*PARTS, "variance_u", "variance_e") if part != "log_likelihood")


def pupils(n=400, groups=25, spread=5.0, seed=1):
    """Of `size` the groups differ, and no two pupils of one."""
    rng = np.random.default_rng(seed)
    school = rng.choice(groups, size=n, p=rng.dirichlet(np.full(groups, 2.0)))
    own, size = rng.normal(0, spread, groups), rng.integers(1, 6, groups)
    hours, sex = rng.integers(0, 21, n), rng.choice(["f", "m"], n)
    score = 50 + 1.2 * hours - 3 * (sex == "m") + 2 * size[school] + own[school] + rng.normal(0, 8, n)
    made = {"school": [f"s{k:04d}" for k in school], "hours": hours, "sex": sex, "size": size[school]}
    return pd.DataFrame(made | {"score": np.round(score).astype(int)})


def few_of_each():
    """25 schools of one or two pupils."""
    frame = pupils()
    return frame[frame.groupby("school").cumcount() < 1 + frame["school"].str[1:].astype(int) % 2]


def fitted(frame, parts=(*PARTS, *MORE), formula="score ~ hours + sex + size", **options):
    codebook = infer_codebook(frame)[0]
    output = Mixed(codebook, "mixed", formula, "school", Release(parts), **options)
    return dict(zip(output.labels, output.refit(from_frame(frame, codebook)), strict=True))


NAMES = ["Intercept", "hours", "sex[T.m]", "size"]
OF_R = {  # lme4 1.1-31, lmerTest 3.1-3, nlme 3.1-162, plm 2.6-2 on pupils(), options(digits = 12): b, its error, p
    ("lmerTest", "reml"): [
        (53.388360412, 2.68163180828, 2.459161740e-17),
        (1.298456166, 0.06753520328, 4.301738869e-58),
        (-3.135998213, 0.82247163210, 1.600572130e-04),
        (1.127338360, 0.83648766724, 1.918883638e-01),
    ],
    ("lmerTest", "ml"): [
        (53.370261089, 2.57434983929, 7.345365134e-19),
        (1.298984726, 0.06732664699, 1.735494041e-58),
        (-3.144322576, 0.81988841541, 1.466233492e-04),
        (1.139536942, 0.79958356062, 1.674756767e-01),
    ],
    ("nlme", "reml"): [
        (53.388360411, 2.68163180525, 1.314531150e-60),
        (1.298456166, 0.06753520328, 9.733199088e-58),
        (-3.135998214, 0.82247163214, 1.606608985e-04),
        (1.127338360, 0.83648766618, 1.908796311e-01),
    ],
    ("nlme", "ml"): [
        (53.370261088, 2.58731893170, 1.261772943e-63),
        (1.298984726, 0.06766582621, 1.292636728e-57),
        (-3.144322577, 0.82401886189, 1.588294042e-04),
        (1.139536943, 0.80361171262, 1.695924071e-01),
    ],
    ("plm", "gls"): [
        (53.394892599, 2.71795849586, 6.352088465e-86),
        (1.298266856, 0.06748904764, 1.824461434e-82),
        (-3.133068607, 0.82192591638, 1.379235787e-04),
        (1.123015922, 0.84910919565, 1.859746647e-01),
    ],
}
OF_WHOLE = {  # variances between groups and of residuals, log-likelihood, AIC, BIC
    ("lmerTest", "reml"): (23.26707478, 63.80327934, -1418.11525388, 2848.23050776, 2872.17929504),
    ("lmerTest", "ml"): (20.87550159, 63.47742902, -1418.74820487, 2849.49640973, 2873.44519702),
    ("nlme", "reml"): (23.2670747099, 63.8032793541, -1418.11525388, 2848.23050776, 2872.11899303),
    ("nlme", "ml"): (20.8755014393, 63.4774290409, -1418.74820487, 2849.49640973, 2873.44519702),
    ("plm", "gls"): (24.1580843380, 63.7722594456),
}


@pytest.mark.parametrize(("program", "method"), OF_R)
def test_as_r_fits_it(program, method):
    parts = OF_GLS if method == "gls" else (*PARTS, *MORE)
    found = fitted(pupils(), parts, program=program, method=method)
    for name, numbers in zip(NAMES, OF_R[program, method], strict=True):
        mine = [found[name], found[f"{name}: standard error"], found[f"{name}: p-value"]]
        assert mine == pytest.approx(numbers, rel=1e-6)
    whole = ["variance between groups", "residual variance", "log-likelihood", "AIC", "BIC"]
    for name, number in zip(whole, OF_WHOLE[program, method], strict=False):
        assert found[name] == pytest.approx(number, rel=1e-7)
    u, e = found["variance between groups"], found["residual variance"]
    assert (found["sigma_u"], found["residual s"], found["rho"]) == pytest.approx((u**0.5, e**0.5, u / (u + e)))
    assert (found["number of records"], found["levels of school"]) == (400, 25)


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_as_statsmodels_fits_it(reml, seed):
    frame = pupils(seed=seed)
    found = fitted(frame, program="statsmodels", method="reml" if reml else "ml")
    fit = smf.mixedlm("score ~ hours + sex + size", frame, groups="school").fit(reml=reml, gtol=1e-10)
    for name in NAMES:
        assert found[name] == pytest.approx(fit.fe_params[name], rel=1e-6)
        assert found[f"{name}: standard error"] == pytest.approx(fit.bse_fe[name], rel=1e-5)
    assert found["variance between groups"] == pytest.approx(float(fit.cov_re.iloc[0, 0]), rel=1e-4)
    assert (found["residual variance"], found["log-likelihood"]) == pytest.approx((fit.scale, fit.llf), rel=1e-6)


def test_a_singular_fit_is_the_linear_regression():
    frame = pupils(spread=0.0, seed=3)  # lme4: boundary (singular) fit
    found, linear = fitted(frame, program="lmerTest"), smf.ols("score ~ hours + sex + size", frame).fit()
    assert found["sigma_u"] == found["rho"] == found["variance between groups"] == 0.0
    for name in NAMES:
        assert found[name] == pytest.approx(linear.params[name])
        assert found[f"{name}: standard error"] == pytest.approx(linear.bse[name])
        assert found[f"{name}: p-value"] == pytest.approx(linear.pvalues[name], rel=1e-6)  # 396 degrees of freedom
    assert found["log-likelihood"] == pytest.approx(-1389.56531998)  # lme4


def test_swamy_arora_of_balanced_groups_is_the_same_by_both_programs():
    frame = pupils()
    frame = frame[frame["school"].map(frame["school"].value_counts()) >= 12].groupby("school").head(12)
    xtreg, plm = (fitted(frame.reset_index(drop=True), OF_GLS, program=each) for each in ("xtreg", "plm"))
    assert xtreg == pytest.approx(plm)


@pytest.mark.parametrize("options", [
    {"program": "lme4"}, {"program": "mixed"}, {"program": "nlme"}, {"program": "plm"}, {"program": "xtreg"},
])  # fmt: skip
@pytest.mark.parametrize("spread", [5.0, 0.0])
def test_numbers_and_their_derivatives_from_totals_by_group(options, spread):
    frame = pupils(spread=spread, seed=3 if spread == 0.0 else 1)
    codebook = infer_codebook(frame)[0]
    parts = OF_GLS if options["program"] in ("plm", "xtreg") else (*PARTS, *MORE)
    parts = tuple(part for part in parts if part != "levels")
    output = Mixed(codebook, "mixed", "score ~ hours + sex + size", "school", Release(parts), **options)
    published = output.refit(from_frame(frame, codebook))
    made, (_, centre, scale) = output.parts(published)[0].map, output._columns
    terms, response, groups, _ = output.records(from_frame(frame, codebook))
    z = np.column_stack([np.ones(len(frame)), (np.column_stack([terms, response]) - centre) / scale])

    def totals(z):
        sums = np.zeros((codebook["school"].size, z.shape[1]))
        np.add.at(sums, groups, z)
        return np.concatenate([z.sum(axis=0), (z.T @ z)[np.tril_indices(z.shape[1])], sums.ravel()])

    assert made.numbers(totals(z), None) == pytest.approx(published, rel=1e-9)
    moved = np.zeros_like(z)
    moved[7, 1:] = 1e-4 * np.array([1.0, -2.0, 0.5, 1.5])
    ends = totals(z + moved), totals(z - moved)
    slopes = made.jacobian(totals(z), None) @ (ends[0] - ends[1])
    assert slopes == pytest.approx(made.numbers(ends[0], None) - made.numbers(ends[1], None), rel=3e-3, abs=1e-9)


@pytest.mark.parametrize("program", ["lme4", "mixed", "statsmodels", "plm", "xtreg"])
@pytest.mark.parametrize("levels", [1, 2, 25])
@pytest.mark.parametrize("same", ["", "score"])
def test_a_search_has_a_map_of_data_that_have_no_such_fit(program, levels, same):
    frame = pupils()
    codebook = infer_codebook(frame)[0]
    output = Mixed(codebook, "mixed", "score ~ hours + size", "school", Release(OF_GLS), program=program)
    (part,) = output.parts(output.refit(from_frame(frame, codebook)))
    made, (_, centre, scale) = part.map, output._columns
    groups = frame["school"].str[1:].astype(int)
    some = frame.assign(**({same: 5} if same else {}))[groups < levels]
    z = np.column_stack([np.ones(len(some)), (some[["hours", "size", "score"]] - centre) / scale])
    sums = np.stack([np.bincount(groups[groups < levels], column, minlength=25) for column in z.T], axis=1)
    totals = np.concatenate([z.sum(axis=0), (z.T @ z)[np.tril_indices(4)], sums.ravel()])
    with np.errstate(all="ignore"):
        assert len(made.numbers(totals, None)) == len(output.labels)
        assert np.isfinite(made.jacobian(totals, None)).all() and np.isfinite(made.precision(totals, None)).all()


# nlme 3.1-162: the DF of lme(score ~ hours, random = ~1 | school) and lme(score ~ 1, ...) on these 37 pupils
@pytest.mark.parametrize(("formula", "df"), [("score ~ hours", [24, 11]), ("score ~ 1", [25])])
def test_degrees_of_freedom_of_nlme_where_groups_are_many(formula, df):
    frame = few_of_each()
    found = fitted(frame, formula=formula, program="nlme")
    for name, each in zip(NAMES, df, strict=False):
        t = abs(found[name] / found[f"{name}: standard error"])
        assert found[f"{name}: p-value"] == pytest.approx(2.0 * stats.t.sf(t, each), rel=1e-9)


def test_the_number_of_groups_is_not_sought():
    output = Mixed(infer_codebook(pupils())[0], "mixed", "score ~ hours", "school", Release(("coefficients", "levels")))
    assert dict(zip(output.labels, output.sought, strict=True)) == {
        "Intercept": True,
        "hours": True,
        "levels of school": False,
    }


def test_200_000_people_in_1_000_groups_refit_in_well_under_a_second():
    frame = pupils(200_000, 1_000)
    codebook = infer_codebook(frame)[0]
    data = from_frame(frame, codebook)
    output = Mixed(codebook, "mixed", "score ~ hours + sex", "school", Release(PARTS))
    data.frame()
    started = time.perf_counter()
    output.refit(data)
    assert time.perf_counter() - started < 2.0  # 0.3 s alone


@pytest.mark.parametrize(("entry", "says"), [
    ({"formula": "score ~ hours"}, "say with 'groups'"),
    ({"formula": "score ~ hours + (hours | school)"}, r"\(hours \| school\) is not known"),
    ({"formula": "score ~ hours + (1 | school) + (1 | sex)"}, r"\(1 \| school\) \+ \(1 \| sex\) is not known"),
    ({"formula": "score ~ hours + (1 | school)", "groups": "sex"}, "keep one"),
    ({"formula": "score ~ hours", "groups": "class"}, "no variable 'class'"),
    ({"formula": "score ~ hours", "groups": "score"}, "is the response"),
    ({"formula": "score ~ hours + school", "groups": "school"}, "are terms of the formula too"),
    ({"formula": "score ~ 0 + hours", "groups": "school"}, "without a constant"),
    ({"formula": "score ~ hours", "groups": "school", "method": "gls"}, "lme4 does not fit by gls; write program"),
    ({"formula": "score ~ hours", "groups": "school", "program": "plm", "method": "ml"}, "plm does not fit by ml"),
    ({"formula": "score ~ hours", "groups": "school", "program": "plm", "release": ["coefficients", "aic"]}, "no aic"),
    ({"formula": "score ~ hours", "groups": "school", "release": ["coefficients", "r2"]}, "'r2' is not a part"),
    ({"formula": "score ~ hours", "groups": "school", "exponentiate": True}, "no program prints exp"),
    ({"formula": "score ~ hours", "groups": "school", "program": "spss", "release": ["coefficients", "p_values"]},
     "of SPSS"),
    ({"response": "score", "terms": ["hours"], "groups": "school"}, "'response' does not go with a mixed model"),
])  # fmt: skip
def test_what_it_cannot_be_is_said_in_one_line(entry, says):
    codebook = infer_codebook(pupils())[0]
    with pytest.raises(OutputError, match=says):
        MixedEntry(**({"kind": "mixed"} | entry)).build(codebook, 1)


@pytest.mark.parametrize(("keep", "says"), [
    (lambda frame: frame["school"] == "s0003", "all records are of one level of 'school'"),
    (lambda frame: ~frame["school"].duplicated(), "every level of 'school' has one record"),
    (lambda frame: (frame["sex"] == "f"), "columns are collinear"),
    (lambda frame: frame["school"].isin(["s0003", "s0004"]), "do not vary within these, so that REML does not tell"),
])  # fmt: skip
def test_records_that_have_no_such_fit(keep, says):
    frame = pupils()
    codebook = infer_codebook(frame)[0]
    (output,) = MixedEntry(kind="mixed", formula="score ~ hours + sex + size + (1 | school)").build(codebook, 1)
    with pytest.raises(OutputError, match=says):
        output.refit(from_frame(frame[keep(frame)].reset_index(drop=True), codebook))


def test_in_a_study_as_lme4_writes_it():
    document = {"name": "a", "data": {"path": "a.csv"}, "keys": ["hours"], "target": "score"}
    entry = {
        "kind": "mixed",
        "formula": "score ~ (1 | school)",
        "release": ["coefficients", "rho"],
        "keep": ["constant"],
    }
    study = study_of(document | {"outputs": [entry]}, Path(__file__))
    (output,) = study.outputs(infer_codebook(pupils())[0])
    assert (output.formula, output.groups, output.labels) == ("score ~ 1", "school", ["Intercept", "rho"])
