"""Tables that R and PSPP wrote, against refits; written anew where these programs are installed.

The scripts in `programs` make them of the fair data.
"""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from fair import PRINTED, codebook, data, frame, study

from outrisk.assess.look.unlike_data import ROUNDING
from outrisk.errors import OutputError

PROGRAMS = PRINTED.with_name("programs")
LOGIT = {"kind": "logit", "formula": "affair ~ age + C(religion) + C(occ)"}
LINEAR = {"kind": "ols", "formula": "affairs ~ C(religion) + age"}
POISSON = {"kind": "poisson", "formula": "round(children) ~ age + C(religion)"}
COUNTS = {"kind": "frequencies", "by": ["occ", "religion"]}
MNLOGIT = {"kind": "mnlogit", "formula": "religion ~ age + C(occ) + children"}
CURVES = {"kind": "survival", "time": "yrs_married", "event": "affair", "by": ["religion"]}
ORDERED = {"kind": "ologit", "formula": "marriage ~ age + C(religion) + children"}
NEGATIVE = {"kind": "negbin", "formula": "round(affairs) ~ age + C(religion)"}
COX = {"kind": "cox"}
HAZARDS = {"kind": "cox", "formula": "Surv(yrs_married, affair) ~ C(religion) + C(occ) + educ"}
RATES = {"kind": "rates", "numerator": "affair", "denominator": "yrs_married", "by": ["occ"]}
EDUCATION = {"kind": "magnitudes", "value": "educ", "by": ["occ"]}
BY_R = {  # file, entry, how many numbers it holds
    "tidy": ("tidy.csv", LOGIT, 30),
    "ratios": ("tidy_exponentiated.csv", LOGIT, 30),
    "profile limits left out": (
        "tidy_profile.csv",
        LOGIT | {"release": ["coefficients", "standard_errors", "p_values"]},
        30,
    ),
    "limits of lm": ("tidy_lm.csv", LINEAR, 25),
    "coef(summary())": ("coef_summary.csv", LOGIT, 30),
    "write.table": ("coef_summary.txt", LOGIT, 30),
    "summary": ("r_summary.txt", LOGIT, 33),
    "summary of lm": ("lm.txt", LINEAR, 18),
    "summary of a poisson": ("glm_poisson.txt", POISSON, 17),
    "summary of a probit": ("glm_probit.txt", {"kind": "probit", "formula": "affair ~ age + C(occ)"}, 10),
    "summary of a quasibinomial": ("glm_quasi.txt", {"kind": "logit", "formula": "affair ~ age + C(occ)"}, 10),
    "robust": ("coeftest.txt", LOGIT | {"covariance": "HC0"}, 30),
    "robust, of lm": ("coeftest_lm.txt", LINEAR | {"covariance": "HC1"}, 15),
    "by clusters": ("coeftest_clusters.txt", LINEAR | {"cluster": "occ"}, 15),
    "of a survey": ("svyglm.txt", {"kind": "logit", "formula": "affair ~ C(religion) + age"}, 15),
    "multinom": ("multinom_tidy.csv", MNLOGIT, 72),
    "multinom, a matrix": ("multinom_coef.csv", MNLOGIT, 24),
    "polr": ("polr_tidy.csv", ORDERED, 18),
    "polr, ratios": ("polr_ratios.csv", ORDERED, 18),
    "polr, a matrix": ("polr_coef.csv", ORDERED, 18),
    "polr, limits left out": (
        "polr_limits.csv",
        {"kind": "ologit", "formula": "marriage ~ age + children", "release": ["coefficients", "standard_errors"]},
        12,
    ),
    "summary of polr": ("polr.txt", ORDERED, 19),
    "summary of polr, probit": ("polr_probit.txt", ORDERED | {"kind": "oprobit"}, 19),
    "glm.nb": ("glm_nb_tidy.csv", NEGATIVE, 6),
    "summary of glm.nb": ("glm_nb.txt", NEGATIVE, 8),
    "survfit": ("survfit_tidy.csv", CURVES, 112),  # with standard errors of the cumulative hazard
    "summary of survfit": ("survfit_summary.txt", CURVES, 112),
    "coxph": ("coxph.txt", COX, 29),
    "summary of coxph": ("coxph_summary.txt", HAZARDS, 29),
    "tidy of coxph": ("coxph_tidy.csv", HAZARDS, 45),
    "hazard ratios": ("coxph_ratios.csv", HAZARDS, 45),
    "Breslow, strata": ("coxph_breslow.txt", COX, 8),
    "xtabs": ("xtabs.csv", COUNTS, 35),
    "xtabs, long": ("xtabs_long.csv", COUNTS, 24),
    "table, long": ("table_long.csv", COUNTS, 24),
    "aggregate": ("aggregate.csv", EDUCATION, 6),
    "aggregate, several": (
        "aggregate_several.csv",
        EDUCATION | {"by": ["occ", "affair"], "statistics": ["mean", "sd", "count"]},
        36,
    ),
}
RATES_BY_R = {
    "pois.exact": ("pois_exact.csv", RATES, 30),
    "pois.exact, said": ("pois_exact.csv", RATES | {"interval": "exact"}, 30),
    "pois.exact by write.table": ("pois_exact_table.txt", RATES, 30),
    "pois.exact, printed": ("pois_exact.txt", RATES, 30),
    "pois.byar, limits left out": ("pois_byar.txt", RATES | {"statistics": ["numerator", "denominator", "rate"]}, 18),
    "summary of pyears": ("pyears.txt", RATES | {"by": ["religion"]}, 20),
    "pyears as a data frame": ("pyears.csv", RATES | {"by": ["religion", "children"]}, 48),
}
PARTS = ["coefficients", "confidence_limits", "p_values"]
CRUDE = {"kind": "logit", "formula": "affair ~ C(religion)", "release": PARTS}
WALD = LOGIT | {"release": PARTS}
CROSSED = {"kind": "ols", "formula": "affairs ~ C(religion) * age"}
RELIGION = {"kind": "ols", "formula": "affairs ~ C(religion)"}
BY_PACKAGES = {  # that gtsummary and modelsummary write by themselves
    "tbl_regression": ("gtsummary_profile.csv", LOGIT | {"release": ["coefficients", "p_values"]}, 20),
    "tbl_regression of an lm": ("gtsummary_lm.csv", CROSSED, 32),
    "tbl_regression of a coxph": (
        "gtsummary_cox.csv",
        HAZARDS | {"formula": HAZARDS["formula"].replace("C(occ) + ", "")},
        18,
    ),
    "tbl_merge": ("gtsummary_merged.csv#1", CRUDE | {"release": ["coefficients", "p_values"]}, 8),
    "modelsummary": ("modelsummary.csv#1", CROSSED, 43),
    "modelsummary, the second": ("modelsummary.csv#2", RELIGION, 23),
}
OF_MODELS = BY_PACKAGES | {
    "limits of Wald": ("gtsummary.csv", WALD, 40),
    "logarithms": ("gtsummary_logs.csv", WALD, 40),
    "limits behind": ("gtsummary_jama.csv", WALD, 40),
    "tbl_merge, limits": ("gtsummary_merged.csv#1", CRUDE, 16),
    "tbl_merge, the second": ("gtsummary_merged.csv#2", WALD, 40),
    "names of columns": ("gtsummary_names.csv#2", WALD | {"exponentiate": True}, 40),
    "modelsummary as Markdown": ("modelsummary.md#1", CROSSED, 27),
    "modelsummary as Markdown, the second": ("modelsummary.md#2", RELIGION, 15),
}
BY_PSPP = {
    "logistic regression": ("pspp.csv#1", {"kind": "logit", "formula": "affair ~ C(religion) + C(occ)"}, 27),
    "regression": ("pspp.csv#2", {"kind": "ols", "formula": "affairs ~ age + yrs_married"}, 9),
    "counts": ("pspp.csv", COUNTS, 35),
    "row percentages": ("pspp.csv", COUNTS | {"show": "row_percentages"}, 28),
    "column percentages": ("pspp.csv", COUNTS | {"show": "column_percentages"}, 30),
    "another table": ("pspp.csv", {"kind": "frequencies", "by": ["affair", "religion"]}, 15),
    "frequencies": ("pspp.csv", {"kind": "frequencies", "by": ["religion"]}, 5),
    "means": ("pspp.csv", EDUCATION | {"statistics": ["mean", "count", "sd"]}, 18),
}


def compare(folder, file, entry, numbers):
    """Each number of a table is what a refit gives, to the digits that it shows."""
    released = list(study({**entry, "values": str(folder / file)}).given(codebook(True)).values())
    for each in released:
        beside = each.recompute(data(True))
        off = np.abs(beside.differences) * 10.0 ** each.decimals[each.known]
        assert beside.failure == "" and (beside.matched | (off <= ROUNDING)).all()
    assert len(released[0].low) == numbers


@pytest.mark.parametrize("case", [*BY_R, *RATES_BY_R, *OF_MODELS, *BY_PSPP])
def test_every_number_is_what_a_refit_gives(case):
    compare(PRINTED, *(BY_R | RATES_BY_R | OF_MODELS | BY_PSPP)[case])


@pytest.mark.parametrize(
    ("program", "script", "cases"),
    [
        ("Rscript", "by_r.R", BY_R),
        ("Rscript", "rates_by_r.R", RATES_BY_R),
        ("Rscript", "models_by_r.R", OF_MODELS),
        ("Rscript", "models_by_packages.R", BY_PACKAGES),
        ("pspp", "by_pspp.sps", BY_PSPP),
    ],
)
def test_the_installed_program_writes_such_tables(program, script, cases, tmp_path):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    frame().to_csv(tmp_path / "fair.csv", index=False)
    command = [PROGRAMS / script, *([tmp_path] if program == "Rscript" else ["-o", "pspp.csv"])]
    done = subprocess.run([program, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
    if "there is no package called" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    for case in cases.values():
        compare(tmp_path, *case)


def test_a_summary_says_more_of_its_model_than_the_coefficients():
    """What follows from a deviance, or from AIC, counts; the rest is said to be left out. R's errors of a weighted glm
    are those of the last step but one.
    """

    def read(entry, name):
        asked = study({**entry, "values": name})
        (released,) = asked.given(codebook(True)).values()
        last = slice(len(released.labels) - len(released.output.release.parts) + 3, None)
        beside = released.recompute(data(True))
        ends = zip(released.labels[last], released.low[last], released.high[last], beside.matched[last], strict=True)
        return {label: (low, high, matched) for label, low, high, matched in ends}, asked.remarks(codebook(True))

    residuals = "not assessed of the model: quantiles of the residuals, the least and the greatest of which are of "
    residuals += "single people"
    found, left = read({"kind": "logit", "formula": "affair ~ age + C(occ)"}, "glm_weighted.txt")
    assert found == {
        "number of records": (6366, 6366, True),
        "log-likelihood": (7 - 109943.5 / 2, 7 - 109942.5 / 2, True),
        "pseudo-R2": (pytest.approx(0.02724, abs=1e-4), pytest.approx(0.02734, abs=1e-4), True),
    }
    assert [each.partition(" not")[0] for each in left] == ["[outputs 1.values] glm_weighted.txt:"]
    assert left[0].endswith(residuals)
    found, left = read({"kind": "ols", "formula": "affairs ~ C(religion) + age"}, "lm.txt")
    assert found["number of records"] == (6366, 6366, True) and found["residual s"][2] and left[0].endswith(residuals)
    _, left = read(POISSON, "glm_poisson.txt")
    assert left[0].endswith(f"{residuals}; deviances")
    _, left = read({"kind": "logit", "formula": "affair ~ age + C(occ)"}, "glm_quasi.txt")
    assert left[1].endswith(
        "p values are not assessed: they are scaled by a dispersion of 0.9980511, in a way not known"
    )


@pytest.mark.parametrize(
    ("kind", "changed", "to", "message"),
    [
        ("poisson", "", "", "the table is of a probit, the output says kind: poisson"),
        ("logit", '"probit"', '"cloglog"', "a glm of the family binomial by the link 'cloglog' is not known"),
        ("logit", "for binomial", "for Gamma", "a glm of the family gamma is not known; known are binomial"),
        ("negbin", "for binomial", "for Negative Binomial(0.2)", "whose theta is set, not estimated; fit it by glm.nb"),
        (
            "probit",
            "data = data)",
            "data = data, weights = pw)",
            "the table is weighted, by 'pw', which is no variable",
        ),
    ],
)
def test_a_model_that_is_another_is_refused(kind, changed, to, message):
    text = (PRINTED / "glm_probit.txt").read_text(encoding="utf-8")
    entry = {"kind": kind, "formula": "affair ~ age + C(occ)", "values": text.replace(changed, to)}
    with pytest.raises(OutputError, match=re.escape(message)):
        study(entry).given(codebook(True))


def test_answers_of_groups_have_no_log_likelihood_of_records():
    text = (PRINTED / "glm_probit.txt").read_text(encoding="utf-8").replace("AIC: 7807.7", "AIC: 907.7")
    asked = study({"kind": "probit", "formula": "affair ~ age + C(occ)", "values": text})
    (released,) = asked.given(codebook(True)).values()
    assert "log_likelihood" not in released.output.release.parts
    assert asked.remarks(codebook(True))[0].endswith("deviances and AIC, which are not those of one answer a record")


def test_profile_limits_are_refused_with_what_can_be_assessed():
    with pytest.raises(OutputError, match=r"no multiple of the standard errors .* release: \[coefficients, "):
        study({**LOGIT, "values": "tidy_profile.csv"}).given(codebook())


def test_an_output_of_many_tables_says_which_there_are():
    for entry, message in (
        (LOGIT | {"values": "pspp.csv"}, "it has 2 models; say which one"),
        (LOGIT | {"values": "pspp.csv#3"}, "it has 2 models, and no model 3"),
        (COUNTS | {"by": ["occ", "educ"], "values": "pspp.csv"}, r"it has no table of counts by occ, educ; .*\(1: "),
        (COUNTS | {"values": "pspp.csv#99"}, r"it has \d+ tables, and no table 99"),
        (COUNTS | {"values": "xtabs.csv#2"}, "it has 1 tables, and no table 2"),
    ):
        with pytest.raises(OutputError, match=message):
            study(entry).given(codebook(True))


def test_the_table_of_nomreg_is_that_of_a_fit():
    command = [sys.executable, PROGRAMS / "nomreg.py"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert made == (PRINTED / "nomreg.csv").read_text(encoding="utf-8")


def test_tables_of_rates_that_are_not_read_say_what_to_give():
    for entry, message in (
        (RATES | {"values": "pois_byar.txt"}, "its limits are neither exact, byar nor log limits .* at 90 %; say its "),
        (RATES | {"values": "pyears_wide.txt"}, r"no table of pyears by one variable is known in it; give the data fr"),
        (RATES | {"values": "pois_numbered.txt"}, "rows are numbered from 1 to 6 and do not say their level of 'occ'"),
    ):
        with pytest.raises(OutputError, match=message):
            study(entry).given(codebook(True))
