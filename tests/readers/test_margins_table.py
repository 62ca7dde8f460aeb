"""Margins as programs print them: statsmodels' own pages, Stata's and R's by hand; another model is refused."""

import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import from_frame
from outrisk.outputs import MarginsEntry, released_as_given
from outrisk.readers.remarks import kept
from outrisk.readers.values import resolve

CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(20, 60))),
        Variable("sex", "categorical", ("f", "m")),
        Variable("occ", "integer", (1, 2, 3)),
        Variable("ill", "integer", (0, 1)),
    )
)
FORMULA = "ill ~ age + sex + C(occ)"
STATA = """
. margins, dydx(*)

Average marginal effects                                 Number of obs = 1,500
Model VCE: OIM

Expression: Pr(ill), predict()
dy/dx wrt:  age 2.sex 2.occ 3.occ

------------------------------------------------------------------------------
             |            Delta-method
             |      dy/dx   std. err.      z    P>|z|     [95% conf. interval]
-------------+----------------------------------------------------------------
         age |   .0081616   .0009969     8.19   0.000     .0062077    .0101156
             |
         sex |
          f  |          0  (base)
          m  |   .1572639   .0244014     6.44   0.000      .109438    .2050898
             |
         occ |
          2  |  -.0408119   .0303759    -1.34   0.179    -.1003475    .0187237
          3  |  -.1633686    .029709    -5.50   0.000    -.2215972     -.10514
------------------------------------------------------------------------------
Note: dy/dx for factor levels is the discrete change from the base level.
"""
PREDICTIVE = """
Predictive margins                                       Number of obs = 1,500
Model VCE: OIM

Expression: Pr(ill), predict()

------------------------------------------------------------------------------
             |            Delta-method
             |     Margin   std. err.      z    P>|z|     [95% conf. interval]
-------------+----------------------------------------------------------------
         occ |
          1  |   .4888711   .0214046    22.84   0.000     .4469189    .5308234
          2  |   .4480593   .0215313    20.81   0.000     .4058588    .4902598
          3  |   .3255025   .0205931    15.81   0.000     .2851407    .3658643
             |
       _cons |       .422   .0121956    34.60   0.000      .398097     .445903
------------------------------------------------------------------------------
"""


def read(tmp_path, text, name="table.csv", **entry):
    (tmp_path / name).write_text(text, encoding="utf-8")
    entry = MarginsEntry(kind="margins", **{"formula": FORMULA, "values": name, **entry})
    with kept() as remarks:
        (found,) = resolve(entry, CODEBOOK, 1, tmp_path)
    (released,) = released_as_given(found.build(CODEBOOK, 1), found.values, None)
    numbers = dict(zip(released.labels, released.values, strict=True))
    return found, {label: value for label, value in numbers.items() if not label.startswith("coefficient")}, remarks


def people():
    rng, n = np.random.default_rng(1), 1500
    frame = pd.DataFrame(
        {"age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n), "occ": rng.choice([1, 2, 3], n)}
    )
    eta = -2 + 0.04 * frame.age + 0.5 * (frame.sex == "m") - 0.7 * (frame.occ == 3)
    return frame.assign(ill=(rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int))


@pytest.mark.parametrize(("options", "ours"), [
    ({"dummy": True}, {"factors": "columns"}), ({}, {"factors": "slopes"}),
    ({"dummy": True, "at": "mean"}, {"factors": "columns", "at_means": True}),
])  # fmt: skip
def test_pages_and_frames_of_statsmodels_are_read_and_refitted(tmp_path, options, ours):
    frame = people()
    effects = smf.logit(FORMULA, frame).fit(disp=0).get_margeff(**options)
    data = from_frame(frame, CODEBOOK)
    for text in (str(effects.summary()), effects.summary_frame().to_csv()):
        entry, numbers, _ = read(tmp_path, text, **ours)
        assert entry.release == ("margins", "standard_errors", "p_values", "confidence_limits")
        (output,) = entry.build(CODEBOOK, 1)
        (released,) = released_as_given([output], entry.values, None)
        assert released.known.sum() == len(numbers) == 5 * len(output.quantities.all)
        assert released.is_matched(output.refit(data)).all()


def test_the_marginal_effects_of_stata_are_read(tmp_path):
    entry, numbers, _ = read(tmp_path, STATA)
    assert entry.dydx == ("age", "sex", "occ") and numbers["number of records"] == 1500
    assert numbers["dy/dx: sex = m"] == 0.1572639 and numbers["dy/dx: occ = 3: standard error"] == 0.029709
    assert numbers["dy/dx: age: lower 95 %"] == 0.0062077
    (output,) = entry.build(CODEBOOK, 1)
    refit = dict(zip(output.labels, output.refit(from_frame(people(), CODEBOOK)), strict=True))
    for label, value in numbers.items():
        assert refit[label] == pytest.approx(value, abs=5.1e-4 if "p-value" in label else 1e-7)


def test_the_predictive_margins_of_stata_are_read(tmp_path):
    entry, numbers, _ = read(tmp_path, PREDICTIVE)
    assert entry.predictions == ("occ", "*") and entry.dydx == ()
    (output,) = entry.build(CODEBOOK, 1)
    refit = dict(zip(output.labels, output.refit(from_frame(people(), CODEBOOK)), strict=True))
    for label, value in numbers.items():
        assert refit[label] == pytest.approx(value, abs=5.1e-4 if "p-value" in label else 1e-7)


def test_margins_at_means_of_stata_are_read(tmp_path):
    above = (
        "At: age    = 39.5 (mean)\n    1.sex  = .52 (mean)\n    2.occ  = .31 (mean)\n    3.occ  = .34 (mean)\ndy/dx wrt"
    )
    assert read(tmp_path, STATA.replace("dy/dx wrt", above), at_means=True)[0].at_means
    *_, remarks = read(tmp_path, STATA.replace("Pr(ill)", "Pr(sick)"))
    assert any("'sick' is no variable and is taken for ill" in each for each in map(str, remarks))


def test_tables_of_r_are_read(tmp_path):
    slopes = "term,contrast,estimate,std.error,statistic,p.value,s.value,conf.low,conf.high\n"
    slopes += (
        "age,dY/dX,0.0082,0.0010,8.2,0.0001,9,0.0062,0.0101\nocc,2 - 1,-0.0389,0.0287,-1.4,0.1753,1,-0.0952,0.0174\n"
    )
    slopes += "occ,3 - 1,-0.1614,0.0286,-5.7,0.0001,9,-0.2174,-0.1054\n"
    slopes += "sex,mean(m) - mean(f),0.1573,0.0244,6.4,0.0001,9,0.1094,0.2051\n"
    entry, numbers, _ = read(tmp_path, slopes)
    assert entry.dydx == ("age", "occ", "sex") and numbers["dy/dx: sex = m"] == 0.1573
    assert numbers["dy/dx: occ = 2: p-value"] == 0.1753
    entry, numbers, _ = read(tmp_path, "occ,estimate,std.error\n1,0.4621,0.0202\n2,0.4232,0.0204\n3,0.3007,0.0191\n")
    assert entry.predictions == ("occ",) and numbers["margin: occ = 3"] == 0.3007
    text = "factor,AME,SE,z,p,lower,upper\nage,0.0082,0.0010,8.2,0,0.0062,0.0101\n"
    text += "occ2,-0.0389,0.0287,-1.4,0.1753,-0.0952,0.0174\n"
    text += "occ3,-0.1614,0.0286,-5.7,0,-0.2174,-0.1054\nsexm,0.1573,0.0244,6.4,0,0.1094,0.2051\n"
    assert read(tmp_path, text)[1]["dy/dx: occ = 3"] == -0.1614


def test_errors_of_r_are_by_the_expected_information_and_the_normal_distribution(tmp_path):
    """Of a linear model R's marginaleffects has z where Stata has t; of a probit another information than both."""
    text = "term,contrast,estimate,std.error,p.value,conf.low,conf.high\nage,dY/dX,0.0082,0.0010,0.01,0.0062,0.0102\n"
    options = {"formula": "ill ~ age", "dydx": ["age"]}
    entry, _, remarks = read(tmp_path, text, model="probit", **options)
    assert entry.release == ("margins",) and "expected information" in str(remarks)
    assert len(read(tmp_path, text, **options)[0].release) == 4
    with pytest.raises(OutputError, match="are by the normal distribution; give the output distribution: normal"):
        read(tmp_path, text, model="ols", **options)
    assert len(read(tmp_path, text, model="ols", distribution="normal", **options)[0].release) == 4


@pytest.mark.parametrize(("text", "entry", "message"), [
    (STATA, {"model": "poisson", "formula": FORMULA}, "of a logit or probit, the output says model: poisson"),
    (STATA, {"at_means": True}, "averages over records, the output says at_means: true"),
    (STATA, {"covariance": "robust"}, "are by the model, the output says otherwise"),
    (STATA.replace("OIM", "Robust"), {}, "are robust, the output says otherwise"),
    (STATA.replace("P>|z|", "P>|t|"), {}, "by the t distribution"),
    (STATA, {"level": 0.9}, "limits are at 95 %"),
    (STATA, {"formula": "ill ~ age + sex"}, "'occ' is no variable on the right"),
    (STATA, {"dydx": ["age"]}, "is none of the output's margins"),
    (STATA, {"formula": FORMULA, "dydx": ["age", "sex", "occ"], "predictions": ["occ"]}, "make two outputs of it"),
    (STATA.replace("dy/dx", "ey/ex"), {}, "neither dy/dx nor margins"),
    (STATA.replace("dy/dx wrt", "At: age = 39.5 (mean)\ndy/dx wrt"), {}, "at the means"),
    (STATA.replace("dy/dx wrt", "At: age = 30\ndy/dx wrt"), {}, "at values of variables"),
    (STATA.replace("Pr(ill)", "Pr(sex)"), {}, "its response is sex"),
    (STATA.replace("Pr(ill), predict()", "Pr(ill)*100, predict()"), {}, "no margin that is known"),
    (STATA.replace("dy/dx wrt", "At: age = 39.5 (mean)\n    2.occ = 1\ndy/dx wrt"), {"at_means": True}, "at values of"),
    (STATA.replace("dy/dx wrt", "Over: sex\ndy/dx wrt"), {}, "margins within groups of records"),
    (STATA.replace("Delta-method", "Unconditional"), {}, "not by the delta method"),
    (STATA.replace("Model VCE", "Subpop. no. obs = 700\nModel VCE"), {}, "records of a survey's subpopulation"),
    ("term,contrast,estimate\nage,mean(+1),0.0082\n", {"dydx": ["age"]}, "is 'mean(+1)', which is neither"),
    ("term,contrast,estimate\nage,eY/eX,0.0082\n", {"dydx": ["age"]}, "is 'eY/eX', which is neither"),
    ("term,contrast,estimate,occ\nage,dY/dX,0.0082,2\n", {"dydx": ["age"]}, "at values of occ"),
    (STATA.replace("Pr(ill)", "Pr(ill==2)").replace("Pr(", "xb("), {}, "no margin that is known"),
    (STATA, {"formula": "ill ~ age + sex + C(occ, contr.treatment(base=3))"}, "none of the output's margins"),
    ("term,contrast,estimate\noccc,dY/dX,1\n", {}, "is no variable or level"),
    ("term,contrast,estimate\nocc,2 - 3,1\n", {}, "is compared with 3, the output's reference is 1"),
    ("a,b\n1,2\n", {}, "no table of margins is known in it"),
])  # fmt: skip
def test_what_does_not_match_the_study_is_refused_in_one_line(tmp_path, text, entry, message):
    with pytest.raises(OutputError, match=re.escape(message)) as error:
        read(tmp_path, text, **entry)
    assert "\n" not in str(error.value)


def test_statsmodels_pages_that_may_be_of_either_are_refused(tmp_path):
    effects = smf.logit(FORMULA, people()).fit(disp=0).get_margeff()
    with pytest.raises(OutputError, match="do not say whether dummy=True"):
        read(tmp_path, str(effects.summary()))


def test_each_margins_of_a_session_are_found(tmp_path):
    at_20 = STATA.replace(". margins, dydx(*)", ". margins, dydx(age) at(age=20)").replace(
        "dy/dx wrt", "At: age = 20\n"
    )
    text = f". logit ill age i.sex i.occ\n\n{STATA}\n. margins occ\n{PREDICTIVE}"
    assert read(tmp_path, text, name="log.log", predictions=["occ", "*"])[0].predictions
    entry, numbers, _ = read(tmp_path, text, name="log.log", dydx=["age", "sex", "occ"])
    assert entry.dydx == ("age", "sex", "occ") and numbers["dy/dx: occ = 3: standard error"] == 0.029709
    for values, asked in (("log.log#1", "dydx"), ("log.log#2", "predictions")):
        (tmp_path / "log.log").write_text(text)
        found = resolve(MarginsEntry(kind="margins", formula=FORMULA, values=values), CODEBOOK, 1, tmp_path)[0]
        assert getattr(found, asked)
    with pytest.raises(OutputError, match=r"2 tables of such margins; say which .*1: margins, dydx\(\*\); 2: margins"):
        read(tmp_path, text + at_20, name="log.log", dydx=["age"])
