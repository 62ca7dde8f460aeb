"""Printed regressions of five programs: each number found, each reference level recognised, against a refit."""

import re

import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from fair import PRINTED, codebook, frame, given, study

from outrisk.assess.look.unlike_data import ROUNDING
from outrisk.errors import OutputError
from outrisk.readers.printed_number import as_given, decimals_of, read_printed
from outrisk.readers.source import Source
from outrisk.readers.values import read_coefficients, source_of

FORMULA = "affair ~ age + C(religion) + C(occ)"
FULL = {"coefficients", "standard_errors", "confidence_limits", "p_values", "n", "log_likelihood", "pseudo_r2"}
THREE = {"coefficients", "standard_errors", "p_values"}
TABLES = {  # what each file releases, and the levels that it compares with
    "statsmodels.txt": (FULL, "4", "managerial"),
    "statsmodels.html": (FULL, "4", "managerial"),
    "statsmodels.csv": (FULL, "4", "managerial"),
    "statsmodels_summary2.txt": (FULL, "4", "managerial"),
    "stata_base1.log": (FULL, "1", "managerial"),
    "stata_base4.log": (FULL, "4", "managerial"),
    "stata_odds_ratios.log": (FULL, "4", "managerial"),
    "esttab_base4_se.csv": ({"coefficients", "standard_errors", "n", "pseudo_r2"}, "4", "managerial"),
    "esttab_base1_z_two_models.csv#1": ({"coefficients", "standard_errors", "n", "pseudo_r2"}, "1", "managerial"),
    "tidy.csv": (THREE, "1", "managerial"),
    "tidy_exponentiated.csv": (THREE, "1", "managerial"),
    "coef_summary.csv": (THREE, "1", "managerial"),
    "r_summary.txt": (THREE | {"n", "log_likelihood", "pseudo_r2"}, "1", "managerial"),
    "spss.csv": (THREE, "4", "white_collar"),
    "spss_comma.csv": (THREE, "4", "white_collar"),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("model", [{"formula": FORMULA}, {"response": "affair"}], ids=["formula", "no formula"])
def test_every_printed_number_is_what_a_refit_gives(name, model):
    parts, religion, occ = TABLES[name]
    released, beside = given({"kind": "logit", **model, "values": name})
    assert set(released.output.release.parts) == parts
    assert released.output.references == {"religion": religion, "occ": occ}
    assert released.output.release.exponentiate == ("exponentiated" in name or "odds" in name)
    off = np.abs(beside.differences) * 10.0**released.decimals  # R's summary rounds twice
    assert beside.failure == "" and (beside.matched | (off <= ROUNDING)).all()
    assert len(released.low) >= 10


@pytest.mark.parametrize(
    ("texts", "decimals", "given"),
    [
        (["5.76e-06", "1.2e-05"], 6, [6e-06, 1.2e-05]),  # the second has no more than six
        (["5.76e-06"], 8, [5.76e-06]),
        (["5.764836201e-06"], 9, [5.765e-06]),
        (["1.23e-10", "<2e-16"], 12, [1.23e-10, "0 to 0"]),
        (["5.76e-06", "0.0123"], 4, [0.0, 0.0123]),
        (["<0.001", "<0.001"], 3, ["0 to 0.001"] * 2),
        (["<2e-16"], 12, ["0 to 0"]),
        (["<10"], 0, ["0 to 10"]),
    ],
)
def test_numbers_that_are_all_small_keep_their_digits(texts, decimals, given):
    column = [read_printed(text) for text in texts]
    assert decimals_of(column) == decimals
    assert [as_given(each, decimals) for each in column] == given


@pytest.mark.parametrize("name", TABLES)
def test_a_wrong_digit_shows(name, tmp_path):
    """The last digit of the coefficient of age, one up, is a difference: no number is read with slack."""
    file, _, model = name.partition("#")
    text = (PRINTED / file).read_text()
    shown = next(
        each
        for each in ("0.053263", "0.0533", "0.05326", ".0532637", "1.054708", "1.054707", ",053", ".053")
        if each in text
    )
    line = next(line for line in text.splitlines() if "age" in line and shown in line)
    number = re.match(rf"{re.escape(shown)}\d*", line[line.index(shown) :])[0]
    place = len(shown) - 1
    wrong = number[:place] + str((int(number[place]) + 2) % 10) + number[place + 1 :]
    (tmp_path / file).write_text(text.replace(line, line.replace(number, wrong, 1), 1))
    path = tmp_path / file
    released, beside = given({"kind": "logit", "formula": FORMULA, "values": f"{path}#{model}" if model else str(path)})
    off = np.abs(beside.differences) * 10.0**released.decimals
    # beside a z-statistic an estimate tells its standard error
    assert (off > ROUNDING).sum() == (2 if "_z_" in name else 1), (number, wrong)


def test_a_stata_table_with_another_base_gives_the_same_study():
    """Both tables go with the same text of a study; they differ in nothing but the level they compare with."""
    one, four = (given({"kind": "logit", "formula": FORMULA, "values": f"stata_base{base}.log"}) for base in (1, 4))
    assert one[1].matched.all() and four[1].matched.all()
    for label in ("number of records", "log-likelihood", "pseudo-R2", "age", "age: standard error"):
        at, there = one[0].labels.index(label), four[0].labels.index(label)
        assert (one[0].low[at], one[0].high[at]) == (four[0].low[there], four[0].high[there])
    assert one[0].output.release == four[0].output.release and len(one[0].low) == len(four[0].low)


def test_value_labels_of_the_codebook_name_levels():
    released, beside = given({"kind": "logit", "formula": FORMULA, "values": "stata_value_labels.log"}, labelled=True)
    assert released.output.references["religion"] == "1" and beside.matched.all()
    with pytest.raises(OutputError, match=r"'religion=mildly' is no variable or level; levels of 'religion' are 1, 2"):
        given({"kind": "logit", "formula": FORMULA, "values": "stata_value_labels.log"})


def test_a_pasted_log():
    text = (PRINTED / "stata_base4.log").read_text()
    assert given({"kind": "logit", "response": "affair", "values": text})[1].matched.all()


def test_one_model_of_several():
    entry = {"kind": "logit", "formula": FORMULA}
    with pytest.raises(OutputError, match=r"it has 2 models; say which one behind the file's name"):
        given(entry | {"values": "esttab_base1_z_two_models.csv"})
    young = entry | {"where": "age < 40", "values": "esttab_base1_z_two_models.csv#2"}
    assert given(young)[1].matched.all()
    assert not given(entry | {"values": "esttab_base1_z_two_models.csv#2"})[1].matched.all()


@pytest.mark.parametrize(
    ("values", "reference"),
    [
        ({"_cons": -1.9044, "2.religion": -0.2189, "3.religion": -0.5977, "4.religion": -1.3268, "age": 0.0537}, "1"),
        (
            {"(Intercept)": -1.9044, "religion2": -0.2189, "religion3": -0.5977, "religion4": -1.3268, "age": 0.0537},
            "1",
        ),
        (
            {
                "Intercept": -3.2312,
                "C(religion)[T.1]": 1.3268,
                "C(religion)[T.2]": 1.1079,
                "C(religion)[T.3]": 0.7291,
                "age": 0.0537,
            },
            "4",
        ),
        (
            {"_cons": -3.2312, "religion(1)": 1.3268, "religion(2)": 1.1079, "religion(3)": 0.7291, "age": 0.0537},
            "4",
        ),
    ],
    ids=["stata", "R", "another reference", "spss"],
)
def test_names_of_other_programs_in_the_study_itself(values, reference):
    released, beside = given({"kind": "logit", "formula": "affair ~ age + C(religion)", "values": values})
    assert beside.matched.all() and released.output.references == {"religion": reference}


def test_a_table_that_leaves_the_constant_out_has_it_withheld():
    """As papers and `esttab, drop(_cons)` do: nothing is known of it, and all else is read."""
    values = {"2.religion": -0.2189, "3.religion": -0.5977, "4.religion": -1.3268, "age": 0.0537}
    released, beside = given({"kind": "logit", "formula": "affair ~ age + C(religion)", "values": values})
    assert released.output.references == {"religion": "1"} and beside.matched.all() and len(beside.matched) == 4
    at = released.output.labels.index("Intercept")
    assert np.flatnonzero(~released.known).tolist() == [at]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"_cons": 1, "2.religion": 1, "age": 1}, "no coefficient for religion = 3, 4; say with 'where'"),
        (
            {"_cons": 1, "1.religion": 1, "2.religion": 1, "3.religion": 1, "4.religion": 1, "age": 1},
            "every level, and the model has a reference level",
        ),
        ({"_cons": 1, "5.religion": 1, "age": 1}, "has no number called '_cons'"),
        ({"_cons": 1, "1.religion": 1, "2.religion": 1, "3.religion": 1}, "the table has no coefficient for age"),
        ({"_cons": 1, "age": 1, "age#2.religion": 1}, "has 'age#2.religion'|no coefficient for religion"),
    ],
)
def test_a_table_that_leaves_something_open_is_refused(values, message):
    with pytest.raises(OutputError, match=message):
        given({"kind": "logit", "formula": "affair ~ age + C(religion)", "values": values})


def test_a_name_of_two_readings_is_refused_with_both():
    from outrisk.codebook import Codebook, Variable
    from outrisk.readers.term_names import read_term

    book = Codebook((Variable("a", "categorical", ("b_1", "c")), Variable("a_b", "categorical", ("1", "2"))))
    with pytest.raises(OutputError, match=r"'a_b_1' may be a = b_1 or a_b = 1; rename it"):
        read_term("a_b_1", book, book.names, "here")
    assert read_term("a_b_1", book, ["a_b"], "here") == (("a_b", "1"),)
    assert read_term("a_b_2", book, book.names, "here") == (("a_b", "2"),)


def test_no_message_names_another_level():
    for label in ("C(religion)[T.9]", "religion_9", "9.religion"):
        with pytest.raises(OutputError) as refused:
            given({"kind": "logit", "formula": "affair ~ C(religion)", "values": {"Intercept": 1, label: 1}})
        assert "did you mean" not in str(refused.value)


def test_errors_by_the_expected_information_are_left_out_and_that_is_told(caplog):
    """R's, of a probit; those of a logit are the same by either information."""
    caplog.set_level("INFO", "outrisk")
    released, _ = given({"kind": "probit", "formula": FORMULA, "values": "tidy.csv"})
    assert released.output.release.parts == ("coefficients",)
    assert "standard errors and p values are not assessed: they are by the expected information" in caplog.text
    with pytest.raises(OutputError, match="its standard errors of a probit are those of the expected information"):
        given({"kind": "probit", "formula": FORMULA, "values": "tidy.csv", "release": ["coefficients", "p_values"]})


def test_another_kind_or_robust_errors_are_told(tmp_path):
    with pytest.raises(OutputError, match="the table is of a logit, the output says kind: probit"):
        given({"kind": "probit", "formula": FORMULA, "values": "stata_base1.log"})
    text = (PRINTED / "statsmodels.txt").read_text().replace("nonrobust", "      HC1")
    (tmp_path / "robust.txt").write_text(text)
    released, _ = given({"kind": "logit", "formula": FORMULA, "values": str(tmp_path / "robust.txt")})
    assert set(released.output.release.parts) == FULL
    assert released.output.covariance.estimator == "HC0"  # of others than ols statsmodels corrects nothing
    for covariance in ("      HC3", "  cluster"):
        text = (PRINTED / "statsmodels.txt").read_text().replace("nonrobust", covariance)
        (tmp_path / "robust.txt").write_text(text)
        entry = {"kind": "logit", "formula": FORMULA, "values": str(tmp_path / "robust.txt")}
        released, _ = given(entry)
        assert set(released.output.release.parts) == FULL - {"standard_errors", "confidence_limits", "p_values"}
    released, _ = given(entry | {"cluster": "occ"})
    assert set(released.output.release.parts) == FULL
    assert (released.output.covariance.estimator, released.output.covariance.cluster) == ("CR1S", "occ")


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        ("               Robust", "", ("robust", "")),
        ("               Robust", "(Std. err. adjusted for 6 clusters in occ)", ("robust", "occ")),
        ("               Robust", "(Std. err. adjusted for 700 clusters in ward)", None),
        ("           Linearized", "", None),
        ("            Bootstrap", "", None),
    ],
)
def test_robust_errors_of_stata(above, below, expected, tmp_path):
    """In the form of its logs, as they are known."""
    lines = (PRINTED / "stata_base1.log").read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if "| Coef" in line)
    head = f"             |{above}"
    (tmp_path / "robust.log").write_text("\n".join([*lines[: at - 1], below, lines[at - 1], head, *lines[at:]]))
    entry = {"kind": "logit", "formula": FORMULA, "values": str(tmp_path / "robust.log")}
    released, _ = given(entry)
    parts = set(released.output.release.parts)
    if expected is None:
        assert not parts & {"standard_errors", "confidence_limits", "p_values"}
        with pytest.raises(OutputError, match="how these are computed is not known; give the output its 'covariance'"):
            given(entry | {"release": ["coefficients", "standard_errors"]})
    else:
        covariance = released.output.covariance
        assert (covariance.estimator, covariance.cluster) == expected
        assert "standard_errors" in parts


LOG = (PRINTED / "stata_base1.log").read_text()
ROBUST = LOG.replace(
    "                      affair |", "                             |    Robust\n                      affair |"
)
CLUSTERS = "(Std. err. adjusted for 6 clusters in occ)\n"


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        (LOG, {"covariance": "HC1"}, "those of the model, and the output has a 'covariance'"),
        (LOG, {"cluster": "occ"}, "those of the model, and the output has a 'cluster'"),
        (ROBUST, {"cluster": "occ"}, "the standard errors of the table are not by clusters; take 'cluster' out"),
        (ROBUST, {"covariance": "HC0"}, "are robust, the output says covariance: HC0; correct it"),
        (CLUSTERS + ROBUST, {"cluster": "educ"}, "clustered by 'occ', the output says cluster: educ"),
        (
            CLUSTERS.replace("occ", "ward") + ROBUST,
            {"covariance": "CR1"},
            "by clusters of 'ward', which is no variable",
        ),
        (
            "(sum of wgt is 81,234)\n" + LOG,
            {},
            "weighted, by what it does not say simply; give the output its 'weight'",
        ),
        ("(Std. err. adjusted for multiway clustering)\n" + ROBUST, {"covariance": "CR1"}, "are by clusters; give the"),
    ],
)
def test_what_is_said_of_standard_errors_and_printed_must_agree(text, entry, message):
    assert "Robust" in ROBUST
    with pytest.raises(OutputError, match=message):
        given({"kind": "logit", "formula": FORMULA, "values": text, **entry})


def test_a_log_that_is_weighted_takes_the_weight_of_the_study():
    text = "(sum of wgt is 81,234)\n" + ROBUST
    released, _ = given({"kind": "logit", "formula": FORMULA, "values": text, "weight": "educ"})
    assert (released.output.weight, released.output.covariance.estimator) == ("educ", "robust")


def test_clusters_of_a_log_stand_beside_what_a_study_says_of_them():
    released, _ = given({"kind": "logit", "formula": FORMULA, "values": CLUSTERS + ROBUST, "covariance": "robust"})
    assert (released.output.covariance.estimator, released.output.covariance.cluster) == ("robust", "occ")
    renamed = CLUSTERS.replace("occ", "job") + ROBUST
    released, _ = given({"kind": "logit", "formula": FORMULA, "values": renamed, "cluster": "occ"})
    assert released.output.covariance.cluster == "occ"


@pytest.mark.parametrize(
    ("design", "entry", "expected"),
    [
        ("ids = ~1, weights = ~educ,\n    data = data", {}, ("CR1", "educ", None)),
        ("ids = ~1, strata = ~occ, weights = ~educ,\n    data = data", {}, ("", "educ", ("occ", ""))),
        ("ids = ~occ, weights = ~educ, data = data", {}, ("", "educ", ("", "occ"))),
        ("ids = ~1, weights = data$educ, data = data", {"weight": "educ"}, ("CR1", "educ", None)),
        ("ids = ~1, weights = data$educ, data = data", {}, "weighted, by what it does not say simply; give the output"),
        ("ids = ~1, weights = ~pw, data = data", {}, "weighted, by 'pw', which is no variable; give the output its"),
    ],
)
def test_the_design_of_a_survey_is_known_or_refused(design, entry, expected):
    text = (PRINTED / "svyglm.txt").read_text().replace("ids = ~1, weights = ~educ, data = data", design)
    entry = {"kind": "logit", "formula": "affair ~ C(religion) + age", "values": text, **entry}
    if isinstance(expected, str):
        with pytest.raises(OutputError, match=expected):
            given(entry)
        return
    released, _ = given(entry)
    covariance, survey = released.output.covariance, released.output.covariance.survey
    strata = survey and (survey.strata, survey.psu)
    assert (covariance.estimator, released.output.weight, strata) == expected
    assert "standard_errors" in released.output.release.parts


def test_a_test_of_coefficients_does_not_say_how_its_errors_were_computed():
    """R's coeftest: they are left out, unless the study says it."""
    entry = {"kind": "logit", "formula": "affair ~ age + C(religion) + C(occ)", "values": "coeftest.txt"}
    released, _ = given(entry)
    assert released.output.release.parts == ("coefficients",)
    released, _ = given(entry | {"covariance": "HC0"})
    assert released.output.release.parts == ("coefficients", "standard_errors", "p_values")


def test_a_survey_says_its_weight():
    released, _ = given({"kind": "logit", "formula": "affair ~ C(religion) + age", "values": "svyglm.txt"})
    output = released.output
    assert output.weight == "educ"
    assert (output.covariance.estimator, output.covariance.distribution) == ("CR1", "t")


def test_trailing_zeros_that_a_csv_lost(tmp_path):
    """0.13 in a column of four decimals is 0.1300: the interval is the column's."""
    (tmp_path / "t.csv").write_text("term,estimate,std.error\n(Intercept),-1.9044,0.13\nage,0.05,0.0041\n")
    entry = {"kind": "logit", "formula": "affair ~ age", "values": str(tmp_path / "t.csv")}
    released, _ = given(entry)
    np.testing.assert_array_equal(released.decimals, 4)


def test_formulas_read_back_by_their_own_names():
    """What the readers write, a study can hold: resolved entries build, and their values stand in label order."""
    for name in TABLES:
        for output in study({"kind": "logit", "response": "affair", "values": name}).outputs(codebook()):
            assert output.formula.startswith("affair ~ 1 + ")


def test_names_and_labels_that_stata_shortens(tmp_path):
    """Beyond its column it writes rate_marri~e; older versions head the table otherwise and list bases."""
    text = (PRINTED / "stata_base1.log").read_text()
    for long, short in {
        "affair |": " aff~r |",
        "religion |": " relig~n |",
        "teacher_nurse ": " teacher_n~e ",
        "white_collar ": "  white_co.. ",
        "Coefficient  Std. err.": "Coef.   Std. Err.",
        "[95% conf. interval]": "[95% Conf. Interval]",
        " 2  |": " 1  |          0  (base)\n                          2  |",
    }.items():
        assert long in text
        text = text.replace(long, short)
    (tmp_path / "old.log").write_text(text)
    for model in ({"formula": FORMULA}, {}):
        (released, _), (plain, _) = (
            given({"kind": "logit", **model, "values": str(file)}) for file in (tmp_path / "old.log", "stata_base1.log")
        )
        assert released.labels == plain.labels and (released.low == plain.low).all()
    (tmp_path / "open.log").write_text(text.replace("    age |", "     a~ |"))
    with pytest.raises(OutputError, match="'a~' may be 'affairs' or 'age'; rename it, or say it in the formula"):
        given({"kind": "logit", "values": str(tmp_path / "open.log")})


OF_SQUARES = """
      Source |       SS           df       MS      Number of obs   =     6,366
-------------+----------------------------------   F(1, 6364)      =     53.10
       Model |   256.87         1       256.87    Prob > F        =    0.0000
    Residual |   30788.2     6,364   4.8379      R-squared       =    0.0083
-------------+----------------------------------   Adj R-squared   =    0.0081
       Total |   31045.1     6,365   4.8775      Root MSE        =    2.1995

------------------------------------------------------------------------------
     affairs | Coefficient  Std. err.      t    P>|t|     [95% conf. interval]
-------------+----------------------------------------------------------------
         age |  -.0293366   .0040259    -7.29   0.000    -.0372287   -.0214445
       _cons |    1.55851    .120281    12.96   0.000      1.32272      1.7943
------------------------------------------------------------------------------
"""
OF_THE_MODEL = {  # what of a model is read beside its coefficients, and what is said to be left out
    "a log of regress": (OF_SQUARES, {"n", "r2", "residual_sd"}, ["sums of squares"]),
    "a weighted one": (
        OF_SQUARES.replace("\n      Source", "\n(sum of wgt is 6,366)\n\n      Source"),
        {"n", "r2"},
        ["sums of squares", "Root MSE, whose weights add up to the number of records"],
    ),
    "a robust one": (
        OF_SQUARES.replace("Coefficient  Std. err.", "Robust Coefficient  std. err."),
        {"n", "r2", "residual_sd"},
        ["sums of squares", "the F test, which is robust"],
    ),
    "coxph": ("coxph_summary.txt", {"n", "events"}, ["concordance and the tests of all coefficients"]),
    "a log of logit": ("stata_base1.log", {"n", "log_likelihood", "pseudo_r2"}, []),
    "statsmodels": ("statsmodels.txt", {"n", "log_likelihood", "pseudo_r2"}, []),
    "modelsummary": ("modelsummary.csv#1", {"n", "log_likelihood", "r2"}, ["RMSE"]),
    "esttab": (
        ",(1)\n,affair\nage,0.05\n_cons,-1.2\nN,6366\nrmse,2.1\naic,99.1\nr2_a,0.01\n",
        {"n"},
        ["rmse", "aic", "r2_a"],
    ),
    "esttab, what follows": (
        ",(1)\n,affair\nage,0.05\n_cons,-1.2\nN,6366\nll,-40.1\naic,99.1\nr2,0.02\nr2_a,0.01\n",
        {"n", "log_likelihood", "r2"},
        [],
    ),
}


@pytest.mark.parametrize("case", OF_THE_MODEL)
def test_what_is_printed_of_a_model_is_read_or_said_to_be_left_out(case):
    text, single, unread = OF_THE_MODEL[case]
    table = read_coefficients(*source_of(text, PRINTED, case), case)
    assert set(table.single) == single and list(table.unread) == unread


@pytest.mark.parametrize("form", [str, lambda summary: summary.as_html(), lambda summary: summary.as_csv()])
def test_what_statsmodels_says_of_residuals_is_said_to_be_left_out(form):
    linear = smf.ols("affairs ~ age", frame()).fit()
    table = read_coefficients(Source("ols", f"{form(linear.summary())}\n"), None, "ols")
    assert table.unread == ("tests of the residuals, their skewness and kurtosis, and the condition number",)
    counts = smf.glm("round(children) ~ age", frame(), family=sm.families.Poisson()).fit()
    table = read_coefficients(Source("glm", f"{form(counts.summary())}\n"), None, "glm")
    assert table.unread == ("Pearson's chi-squared and the deviance",)
