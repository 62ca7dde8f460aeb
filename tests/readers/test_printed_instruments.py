"""Printed regressions with instrumental variables: each number against a refit.

R's AER 1.2 (ivreg), broom and lmtest, statsmodels (IV2SLS) and linearmodels 7.1 printed their own, of schooling.csv.
Stata's logs are by hand in the layout of ivregress, with numbers of the refit as linearmodels has them.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from outrisk.assess.look.unlike_data import ROUNDING
from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook
from outrisk.readers.remarks import kept

PRINTED = Path(__file__).parent / "printed"
OF_R = {"coefficients", "standard_errors", "p_values", "n", "r2", "r2_adjusted", "residual_sd", "f"}
TESTS = {"first_stage_f", "wu_hausman", "sargan"}
LIMITS = {"coefficients", "standard_errors", "p_values", "confidence_limits", "n", "r2"}
MODEL = {"formula": "wage ~ school + exper + region", "endogenous": "school", "instruments": "far + quarter"}
BY_AREA = {"cluster": "area"}
TABLES = {  # what each file releases, its program, whether it divides by n - K, its covariance, what it does not say
    "ivreg.txt": (OF_R | TESTS, "ivreg", False, "", {}),
    "ivreg_plain.txt": (OF_R, "ivreg", False, "", {}),
    "statsmodels_iv2sls.txt": ((OF_R | LIMITS) - {"residual_sd"}, "statsmodels", False, "", MODEL),
    "linearmodels_iv.txt": (LIMITS | {"r2_adjusted", "wald"}, "linearmodels", False, "", {}),
    "linearmodels_iv_robust.txt": (LIMITS | {"r2_adjusted", "wald"}, "linearmodels", False, "HC0", {}),
    "linearmodels_iv_debiased.txt": (LIMITS | {"r2_adjusted", "f"}, "linearmodels", True, "", {}),
    "linearmodels_iv_clustered.txt": (LIMITS | {"r2_adjusted", "f"}, "linearmodels", True, "CR1S", BY_AREA),
    "stata_ivregress.log": (LIMITS | {"residual_sd", "wald", "wu_hausman", "sargan"}, "ivregress", False, "", {}),
    "stata_ivregress_robust.log": (LIMITS | {"residual_sd", "wald"}, "ivregress", False, "HC0", {}),
    "stata_ivregress_small.log": (LIMITS | {"residual_sd", "f"}, "ivregress", True, "CR1S", {}),
    "ivreg_tidy.csv": ({"coefficients", "standard_errors", "p_values"}, "ivreg", False, "", MODEL),
}  # fmt: skip


@cache
def data():
    frame = pd.read_csv(PRINTED / "schooling.csv")
    return from_frame(frame, infer_codebook(frame)[0])


def given(entry):
    """The output of an entry as its print gives it, and its refit."""
    document = {"name": "wages", "data": {"path": "schooling.csv"}, "keys": ["region"], "target": "wage"}
    study = study_of(document | {"outputs": [{"kind": "iv", **entry}]}, PRINTED / "wages.yaml")
    (found,) = study.given(data().codebook).values()
    return found, found.recompute(data())


def wrong(released, beside):
    off = np.abs(beside.differences) * 10.0**released.decimals
    fine = beside.matched | (off <= ROUNDING)
    return [label for label, good in zip(released.labels, fine, strict=True) if not good]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("said", [True, False])
def test_every_printed_number_is_what_a_refit_gives(name, said):
    parts, program, small, covariance, more = TABLES[name]
    model = MODEL | more if said else more
    released, beside = given({**model, "values": name})
    output = released.output
    assert set(output.release.parts) - {"confidence_limits"} == parts - {"confidence_limits"}
    assert (output.program, output.small, output.release.endogenous) == (program, small, ("school",))
    assert output.covariance_meant.estimator == covariance
    assert beside.failure == "" and not wrong(released, beside)


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("ivreg_two.txt", {"formula": "wage ~ school + exper + region"}),
        ("ivreg_just.txt", {"formula": "wage ~ school + region"}),
        ("ivreg_weights.txt", {"formula": "wage ~ school + exper", "where": "region == 'north'"}),
        ("ivreg_normal.txt", MODEL | {"covariance": "HC0"}),
        ("ivreg_coeftest.txt", MODEL | {"covariance": "HC1"}),
    ],
)
def test_other_prints_of_r(name, entry):
    released, beside = given({**entry, "values": name})
    assert beside.failure == "" and not wrong(released, beside)
    assert ("first_stage_f" in released.output.release.parts) == (name in ("ivreg_two.txt", "ivreg_just.txt"))


def test_first_stages_are_matched_by_name():
    for formula in ("wage ~ school + exper + region", "wage ~ exper + school + region"):
        released, beside = given({"formula": formula, "values": "ivreg_two.txt"})
        assert "first_stage_f" in released.output.release.parts and not wrong(released, beside)


IVREGRESS = (PRINTED / "stata_ivregress.log").read_text()
ROBUST = (PRINTED / "stata_ivregress_robust.log").read_text()
COMMAND = "ivregress 2sls wage exper i.region (school = far i.quarter)"
FIRST_STAGE = """
. estat firststage

  First-stage regression summary statistics
  --------------------------------------------------------------------------
               |            Adjusted      Partial
      Variable |   R-sq.       R-sq.        R-sq.     F(3,234)   Prob > F
  -------------+------------------------------------------------------------
        school |  0.4000      0.4000       0.4000      50.7644    0.0000
  --------------------------------------------------------------------------
"""
STAGE = """
First-stage regressions
-----------------------

                                                  Number of obs   =        999
                                                  F(4, 235)       =      41.98
                                                  R-squared       =     0.1234
                                                  Root MSE        =     9.3097

------------------------------------------------------------------------------
      school | Coefficient  Std. err.      t    P>|t|     [95% conf. interval]
-------------+----------------------------------------------------------------
       exper |   .1821986   .1151583     1.58   0.121    -.0498851    .4142823
       _cons |  -18.68194   11.99539    -1.56   0.127    -42.8571     5.493219
------------------------------------------------------------------------------


"""
# by hand in the layout of ivreg2 4.1
IVREG2 = f"""
IV (2SLS) estimation
--------------------

Estimates efficient for homoskedasticity only
Statistics consistent for homoskedasticity only

                                                      Number of obs =      240
                                                      F(  3,   236) =    47.00
                                                      Prob > F      =   0.0000
Total (centered) SS     =  6696.123456                Centered R2   =   0.6002
Total (uncentered) SS   =  24652.24662                Uncentered R2 =   0.9968
Residual SS             =  2677.018234                Root MSE      =     3.34

{IVREGRESS[IVREGRESS.index("-----") : IVREGRESS.index("Endogenous:")]}
Instrumented:         school
Included instruments: exper 2.region
Excluded instruments: far 2.quarter 3.quarter
"""


def test_tests_below_a_command_are_those_of_its_model(tmp_path):
    two = f"{IVREGRESS}{FIRST_STAGE}\n. quietly regress wage far\n{ROBUST}\n. estat overid\n\n  Score chi2(2) = 3.1\n"
    (tmp_path / "out.log").write_text(two)
    tests = {"first_stage_f", "wu_hausman", "sargan"}
    for number, own in ((1, tests), (2, set())):
        released, beside = given({**MODEL, "values": f"{tmp_path / 'out.log'}#{number}"})
        assert tests & set(released.output.release.parts) == own and not wrong(released, beside)
    (tmp_path / "out.log").write_text(
        f". {COMMAND}\n{ROBUST.partition(chr(10))[2]}\n. quietly regress wage far\n" + FIRST_STAGE
    )
    released, _ = given({**MODEL, "values": str(tmp_path / "out.log")})
    assert not tests & set(released.output.release.parts)


def test_a_test_of_some_endogenous_terms_is_left_out():
    for of, known in (("school", True), ("school exper", False)):
        released, beside = given({**MODEL, "values": IVREGRESS.replace("estat endogenous", f"estat endogenous {of}")})
        assert ("wu_hausman" in released.output.release.parts) == known and not wrong(released, beside)


def test_regressions_of_first_stages_above_are_left_out():
    with kept() as said:
        released, beside = given({**MODEL, "values": IVREGRESS.replace("\nInstrumental", f"{STAGE}Instrumental")})
    assert beside.matched.all() and "sargan" in released.output.release.parts
    assert "the regressions of first stages" in said[0]


def test_without_a_constant_tests_in_which_programs_differ_are_left_out():
    text = re.sub(r"^ +_cons \|.*\n|^ +\|\n +region \|\n.*\n", "", IVREGRESS, flags=re.M)
    text = text.replace("i.region ", "").replace("2.region ", "").replace("quarter)", "quarter), noconstant", 1)
    with kept() as said:
        released, _ = given({"formula": "wage ~ 0 + school + exper", "values": text})
    assert not {"wald", "sargan"} & set(released.output.release.parts)
    assert any("wald, sargan are not assessed: without a constant" in each for each in said)


@pytest.mark.parametrize("kind", ["iv", "ols"])
@pytest.mark.parametrize("title", ["IV (2SLS) estimation", "LIML estimation", "OLS estimation"])
def test_prints_of_ivreg2_are_refused(kind, title):
    entry = MODEL | {"program": "ivreg2"} if kind == "iv" else {"formula": MODEL["formula"]}
    for above in ("", ". ivreg2 wage exper i.region (school = far i.quarter)\n"):
        with pytest.raises(OutputError, match=r"a print of ivreg2, .* fit it by ivregress 2sls, or write"):
            given({"kind": kind, **entry, "values": above + IVREG2.replace("IV (2SLS) estimation", title)})


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("linearmodels_iv.txt", "unadjusted", "kernel    "),
        ("linearmodels_iv_clustered.txt", "(One-Way)", "(Two-Way)"),
        ("stata_ivregress_robust.log", "|               Robust", "|                 HAC"),
        ("stata_ivregress_robust.log", "|               Robust", "|             Bootstrap"),
    ],
)
def test_tests_of_errors_that_are_not_known_are_left_out(name, old, new):
    text = (PRINTED / name).read_text()
    assert old in text
    released, beside = given({**MODEL, "values": text.replace(old, new)})
    assert not {"standard_errors", "p_values", "f", "wald"} & set(released.output.release.parts)
    assert beside.failure == "" and not wrong(released, beside)


def test_frequency_weights_are_refused():
    with pytest.raises(OutputError, match=r"frequency weights .*expand the records"):
        given({**MODEL, "values": IVREGRESS.replace("quarter)\n", "quarter) [fw=weight]\n", 1)})


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("ivreg.txt", "Wu-Hausman         1", "Wu-Hausman         1"),
        ("statsmodels_iv2sls.txt", "0.600", "0.610"),
        ("linearmodels_iv.txt", "143.39", "143.49"),
        ("stata_ivregress.log", ".9585592", ".9685592"),
    ],
)
def test_a_wrong_digit_shows(name, old, new, tmp_path):
    text = (PRINTED / name).read_text()
    assert old in text
    text = text.replace(old, new)
    if old == new:
        at = text.index("Wu-Hausman") + 28
        digit = next(place for place in range(at, at + 20) if text[place].isdigit())
        text = text[:digit] + str((int(text[digit]) + 1) % 10) + text[digit + 1 :]
    (tmp_path / name).write_text(text)
    _, beside = given({**MODEL, "values": str(tmp_path / name)})
    assert not beside.matched.all()


@pytest.mark.parametrize(
    ("name", "entry", "says"),
    [
        ("ivreg.txt", MODEL | {"endogenous": "exper"}, "the table has school as endogenous, the output says exper"),
        ("ivreg.txt", MODEL | {"instruments": "far"}, "has far and quarter as instruments, the output says far"),
        ("ivreg.txt", MODEL | {"program": "ivregress"}, "the table is by program: ivreg, the output says ivregress"),
        ("ivreg.txt", {"kind": "ols", "formula": "wage ~ school"}, "the table is of an iv, the output says kind: ols"),
        ("stata_ivregress.log", MODEL | {"small": True}, "the table is by small: False, the output says True"),
        ("linearmodels_iv.txt", MODEL | {"covariance": "robust"}, "are those of the model, and the output has another"),
        ("linearmodels_iv_clustered.txt", MODEL, "give the output its 'cluster'"),
        ("statsmodels_iv2sls.txt", {"formula": "wage ~ school"}, "the table does not say its endogenous"),
        ("lm.txt", MODEL, "the table is of an ols, the output says kind: iv"),
    ],
)
def test_what_does_not_fit_the_study_is_refused(name, entry, says):
    with pytest.raises(OutputError, match=says):
        given({"values": name} | entry)


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("linearmodels_iv.txt", "IV-2SLS Estimation", "IV-GMM Estimation", "linearmodels' IV-GMM, which is not known"),
        ("stata_ivregress.log", "variables 2SLS", "variables LIML", "its title is 'Instrumental variables LIML"),
        ("ivreg.txt", "data = d)", 'data = d, method = "MM")', "an ivreg by the method 'MM', which is not known"),
    ],
)
def test_other_models_are_refused(name, old, new, says, tmp_path):
    text = (PRINTED / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new))
    with pytest.raises(OutputError, match=says):
        given({**MODEL, "values": str(tmp_path / name)})
