"""Printed ordered logits and probits and negative binomial regressions: each number found, against a refit."""

import re

import numpy as np
import pytest
from fair import PRINTED, codebook, given, study

from outrisk.assess.look.unlike_data import ROUNDING
from outrisk.errors import OutputError

ORDERED = {"kind": "ologit", "formula": "marriage ~ age + C(religion) + children"}
PROBIT = ORDERED | {"kind": "oprobit"}
NEGATIVE = {"kind": "negbin", "formula": "round(affairs) ~ age + C(religion)"}
CUTS = ["1|2", "2|3", "3|4", "4|5"]
ERRORS, P = ("standard_errors",), ("standard_errors", "p_values")
FULL = ("standard_errors", "confidence_limits", "p_values", "n", "log_likelihood")
NO_P = [f"{cut}: p-value" for cut in CUTS]
OF_ALPHA = ["alpha: lower 95 %", "alpha: upper 95 %", "alpha: p-value"]
OF_DISTANCES = [
    f"{cut}{end}" for end in ("", ": standard error", ": lower 95 %", ": upper 95 %", ": p-value") for cut in CUTS[1:]
]
TABLES = {  # entry, what each file releases beside coefficients, and what is withheld
    "stata_ologit.log": (ORDERED, (*FULL, "pseudo_r2"), NO_P),
    "stata_ologit_or.log": (ORDERED, (*FULL, "pseudo_r2"), NO_P),
    "stata_oprobit.log": (PROBIT, (*FULL, "pseudo_r2"), NO_P),
    "stata_nbreg.log": (NEGATIVE, FULL, OF_ALPHA),
    "stata_nbreg_irr.log": (NEGATIVE, FULL, OF_ALPHA),
    "esttab_ologit.csv": (ORDERED, (*ERRORS, "n", "pseudo_r2"), []),
    "esttab_ologit_old.csv": (ORDERED, (*ERRORS, "n", "pseudo_r2"), []),
    "esttab_nbreg.csv": (NEGATIVE, (*ERRORS, "n"), []),
    "esttab_nbreg_old.csv": (NEGATIVE, (*ERRORS, "n"), []),
    "polr.txt": (ORDERED, (*ERRORS, "log_likelihood"), []),
    "polr_probit.txt": (PROBIT, (*ERRORS, "log_likelihood"), []),
    "polr_tidy.csv": (ORDERED, ERRORS, []),
    "polr_ratios.csv": (ORDERED, ERRORS, []),
    "polr_coef.csv": (ORDERED, ERRORS, []),
    "glm_nb.txt": (NEGATIVE, ("n", "log_likelihood"), ["alpha"]),
    "glm_nb_tidy.csv": (NEGATIVE, (), ["alpha"]),
    "negbin.txt": (NEGATIVE, FULL, []),
    "negbin.html": (NEGATIVE, FULL, []),
    "negbin.csv": (NEGATIVE, FULL, []),
    "negbin_summary2.txt": (NEGATIVE, FULL, []),
    "orderedmodel.txt": (ORDERED, FULL, OF_DISTANCES),
    "orderedmodel.csv": (ORDERED, FULL, OF_DISTANCES),
    "orderedmodel_probit.txt": (PROBIT, FULL, OF_DISTANCES),
}


def read(entry, name):
    return given({**entry, "values": name})


WITHOUT_FORMULA = [(name, False) for name, (entry, *_) in TABLES.items() if entry is not NEGATIVE]  # y is no variable


@pytest.mark.parametrize(("name", "said"), [*((name, True) for name in TABLES), *WITHOUT_FORMULA])
def test_every_printed_number_is_what_a_refit_gives(name, said):
    entry, parts, withheld = TABLES[name]
    if not said:
        entry = {"kind": entry["kind"], "response": "marriage"}
    released, beside = read(entry, name)
    assert released.output.release.parts == ("coefficients", *parts)
    assert released.output.references == {"religion": "1"}
    assert released.output.release.exponentiate == any(each in name for each in ("_or", "ratios", "irr"))
    off = np.abs(beside.differences) * 10.0 ** released.decimals[released.known]
    assert beside.failure == "" and (beside.matched | (off <= ROUNDING)).all()
    assert [label for label, known in zip(released.labels, released.known, strict=True) if not known] == withheld


CHANGED = {  # a coefficient, a threshold or the dispersion, and what it becomes
    "stata_ologit.log": [("-.0115336", "-.0115396"), ("-3.024481", "-3.024487")],
    "stata_ologit_or.log": [(".9885326", ".9885386"), ("-3.024481", "-3.024487")],
    "stata_nbreg.log": [("-.0312997", "-.0312937"), ("5.159521", "5.159527")],
    "stata_nbreg_irr.log": [("5.159521", "5.159527")],
    "esttab_ologit.csv": [("-4.5965", "-4.5968")],
    "esttab_ologit_old.csv": [("-0.0709", "-0.0706")],
    "esttab_nbreg.csv": [("1.6408", "1.6405")],
    "polr.txt": [("-3.0245", "-3.0265"), ("0.20035", "0.20135")],
    "polr_ratios.csv": [("0.0485829", "0.0486829"), ("0.988532", "0.988632")],
    "polr_coef.csv": [("-3,02448", "-3,02548")],
    "negbin.txt": [("5.1595", "5.1598")],
    "orderedmodel.txt": [("-4.5965", "-4.5985")],
}


@pytest.mark.parametrize(("name", "old", "new"), [(name, *pair) for name, pairs in CHANGED.items() for pair in pairs])
def test_a_wrong_digit_shows(name, old, new, tmp_path):
    text = (PRINTED / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new, 1))
    released, beside = read(TABLES[name][0], str(tmp_path / name))
    off = np.abs(beside.differences) * 10.0 ** released.decimals[released.known]
    assert (off > ROUNDING).sum() == 1


def test_thresholds_and_dispersions_stay_as_they_are_beside_ratios():
    for plain, ratios in (("stata_ologit.log", "stata_ologit_or.log"), ("stata_nbreg.log", "stata_nbreg_irr.log")):
        (one, _), (other, _) = (read(TABLES[name][0], name) for name in (plain, ratios))
        for label in one.output.coefficients[-one.output.release.plain :]:
            for end in ("", ": standard error"):
                at, there = (each.labels.index(f"{label}{end}") for each in (one, other))
                assert one.low[at] == other.low[there]
        at, there = one.labels.index("age"), other.labels.index("age: exp(b)")
        assert np.exp(one.low[at]) == pytest.approx(other.low[there], abs=1e-6)


def test_a_dispersion_by_its_logarithm_is_a_range():
    released, _ = read(NEGATIVE, "esttab_nbreg.csv")
    at = released.labels.index("alpha")
    np.testing.assert_allclose([released.low[at], released.high[at]], np.exp([1.64075, 1.64085]), atol=1e-8)


def swapped(name, *pairs):
    text = (PRINTED / name).read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("entry", "text", "message"),
    [
        (
            ORDERED | {"kind": "logit"},
            swapped("stata_ologit.log"),
            "the table is of an ologit, the output says kind: lo",
        ),
        (ORDERED, swapped("stata_oprobit.log"), "the table is of an oprobit, the output says kind: ologit"),
        (ORDERED, swapped("polr_probit.txt"), "the table is of an oprobit, the output says kind: ologit"),
        (ORDERED | {"kind": "ols"}, swapped("polr_tidy.csv"), "is of an ordered regression (ologit or oprobit)"),
        (ORDERED | {"kind": "mnlogit"}, swapped("orderedmodel.txt"), "is of an ordered regression (ologit or oprobit)"),
        (NEGATIVE | {"kind": "poisson"}, swapped("negbin.txt"), "the table is of a negbin, the output says kind: poi"),
        (
            ORDERED,
            swapped("stata_ologit.log", ("       /cut4", "       /cut5")),
            "has 4 thresholds, /cut1, /cut2, /cut3, /cut5, and 'marriage' has 5 outcomes, in the order 1, 2, 3, 4, 5: "
            "4 thresholds; correct",
        ),
        (ORDERED, swapped("stata_ologit.log", ("/cut4", "/cut3")), "the table has '/cut3' 2 times; keep one"),
        (
            ORDERED | {"formula": "religion ~ age + C(marriage) + children"},
            swapped("polr_tidy.csv", ("factor(religion)", "factor(marriage)")),
            "has the threshold '4|5', and 'religion' has 4 outcomes, in the order 1, 2, 3, 4: thresholds lie between",
        ),
        (
            ORDERED,
            swapped("polr_tidy.csv", ('"2|3"', '"3|2"')),
            "has the threshold '3|2', and 'marriage' has 5 outcomes",
        ),
        (ORDERED, swapped("orderedmodel.txt", ("1.0/2.0", "1.0/3.0")), "has the threshold '1.0/3.0', and 'marriage'"),
        (
            ORDERED,
            swapped("polr.txt", ("Hess = TRUE", 'method = "cloglog"')),
            "a polr by method 'cloglog' is not known",
        ),
        (ORDERED, swapped("polr.txt", ("Hess = TRUE", "weights = pw")), "weighted, by 'pw', which is no variable"),
        (ORDERED, swapped("polr.txt", ("|", "")), "coefficients by 'Value' and no thresholds; of these only polr's"),
        (ORDERED, swapped("polr_ratios.csv", ('"scale"', '"intercept"')), "write it without exponentiate"),
        (
            NEGATIVE,
            swapped("stata_nbreg.log", ("Dispersion: mean", "Dispersion: constant")),
            "is constant (NB1), which",
        ),
        (
            NEGATIVE,
            swapped("stata_nbreg.log", ("Negative binomial r", "Truncated negative binomial r")),
            "its title is 'Truncated negative binomial regression', of a model that is not known; known are",
        ),
        (
            ORDERED,
            swapped("stata_ologit.log", ("Ordered logistic r", "Random-effects ordered logistic r")),
            "its title is 'Random-effects ordered logistic regression', of a model",
        ),
        (
            ORDERED,
            swapped("esttab_ologit.csv", ("Standard errors in", "Exponentiated coefficients; Standard errors in")),
            "whether '/cut1' is exponentiated as well, it does not say; write the table without eform",
        ),
        (
            NEGATIVE | {"release": ["coefficients", "standard_errors"]},
            swapped("glm_nb_tidy.csv"),
            "its standard errors of a negbin are those of the expected information",
        ),
        (
            ORDERED,
            swapped("stata_ologit.log", ("    children |", "       _cons |")),
            "the table has '_cons' (the constant), and the model",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_and_said(entry, text, message):
    with pytest.raises(OutputError, match=re.escape(message)):
        study({**entry, "values": text}).given(codebook())


def test_a_glm_of_a_set_dispersion_is_refused():
    text = swapped("negbin.txt", ("Model:               NegativeBinomial", "Model Family:        NegativeBinomial"))
    with pytest.raises(OutputError, match="whose alpha is set, not estimated, which is not known"):
        study({**NEGATIVE, "values": text}).given(codebook())


def test_limits_and_p_values_of_polr_are_others_than_those_of_a_refit():
    """The first by the profile likelihood, and refused with what can be assessed; the second by ratios of it."""
    entry = {"kind": "ologit", "formula": "marriage ~ age + children", "values": "polr_limits.csv"}
    header, *rows = (PRINTED / "polr_limits.csv").read_text().splitlines()
    assert header.endswith('"conf.low","conf.high","p.value","coef.type"') and len(rows) == 6
    with pytest.raises(OutputError, match=r"no multiple of the standard errors .* \[coefficients, standard_errors\]"):
        study(entry).given(codebook())
    with pytest.raises(OutputError, match="no value for age: p-value; say with 'release' what is released"):
        study(entry | {"release": ["coefficients", "p_values"]}).given(codebook())


def test_an_ordered_regression_of_a_survey_needs_its_weight_and_has_no_known_errors():
    text = swapped("polr.txt", ("polr(formula", "svyolr(formula"))
    with pytest.raises(OutputError, match="weighted, by what it does not say simply; give the output its 'weight'"):
        study({**ORDERED, "values": text}).given(codebook())
    released, _ = read(ORDERED | {"weight": "educ"}, text)
    assert released.output.release.parts == ("coefficients",) and released.output.weight == "educ"


def test_logs_of_other_kinds_are_still_told_apart():
    """'Ordered logistic regression' holds the words of another head, and a survey says its own before them."""
    text = swapped("stata_ologit.log", ("Ordered logistic r", "Survey: Ordered logistic r"))
    released, beside = read(ORDERED, text)
    assert released.output.kind == "ologit" and beside.matched.all()


@pytest.mark.parametrize(
    ("entry", "name", "line", "withheld"),
    [
        (ORDERED, "stata_ologit.log", r".*/cut\d \|.*\n", CUTS),
        (ORDERED, "stata_ologit.log", r".*/cut2 \|.*\n", ["2|3"]),
        (ORDERED, "polr_tidy.csv", r'"3\|4".*\n', ["3|4"]),
        (NEGATIVE, "stata_nbreg.log", r".*alpha \|.*\n", ["alpha"]),
    ],
)
def test_thresholds_and_dispersions_that_are_not_there_are_withheld(entry, name, line, withheld):
    text = re.sub(line, "", (PRINTED / name).read_text())
    released, beside = given({**entry, "release": ["coefficients"], "values": text})
    assert beside.failure == "" and beside.matched.all()
    assert [label for label, known in zip(released.labels, released.known, strict=True) if not known] == withheld


RAW = {"age": -0.0115, "2.religion": -0.0726, "3.religion": 0.2004, "4.religion": 0.7654, "children": -0.1379}


@pytest.mark.parametrize("form", ["/cut{}", "cut{}", "_cut{}", "{}|{}"])
def test_names_of_thresholds_in_the_study_itself(form):
    values = RAW | {
        form.format(at, at + 1): value for at, value in enumerate((-4.5965, -3.0245, -1.6527, -0.0709), start=1)
    }
    released, beside = given(ORDERED | {"values": values})
    assert beside.matched.all() and len(beside.matched) == 9
    np.testing.assert_array_equal(released.values[5:], [-4.5965, -3.0245, -1.6527, -0.0709])


@pytest.mark.parametrize(("name", "value"), [("alpha", "5.1595"), ("/alpha", "5.1595"), ("lnalpha", "1.6408")])
def test_names_of_dispersions_in_the_study_itself(name, value):
    values = {"_cons": 1.0392, "age": -0.0313, "2.religion": -0.4436, "3.religion": -0.7493, "4.religion": -1.4824}
    _, beside = given(NEGATIVE | {"values": values | {name: value}})
    assert beside.matched.all() and len(beside.matched) == 6


def test_value_labels_name_the_sides_of_a_threshold():
    entry = {"kind": "ologit", "formula": "religion ~ age + children"}
    values = {"age": 0.0136, "children": 0.1013, "not at all|mildly": -1.1299, "mildly|fairly": 0.5734}
    released, beside = given(entry | {"values": values}, labelled=True)
    assert released.output.coefficients[2:] == ["1|2", "2|3", "3|4"]
    assert np.flatnonzero(~released.known).tolist() == [4] and beside.failure == ""


def test_a_variable_that_is_called_as_a_dispersion_is_refused():
    from outrisk.codebook import Codebook, Variable
    from outrisk.readers.coefficients import Coefficients
    from outrisk.readers.rows_of_shape import apart

    book = Codebook((Variable("alpha", "integer", (0, 1)), Variable("cut1", "integer", (0, 1))))
    for kind, name, what in (("negbin", "alpha", "the dispersion"), ("ologit", "cut1", "a threshold")):
        table = Coefficients(((name, {"coefficients": "1"}),))
        with pytest.raises(OutputError, match=f"'{name}' may be {what} or the variable '{name}'; rename"):
            apart(table, kind, "y", book, book.names, "here")
