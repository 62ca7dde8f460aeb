"""Regressions in a whole session of Stata: each output takes its own, and other fits are refused."""

import re

import numpy as np
import pytest
from fair import PRINTED, given

from outrisk.errors import OutputError
from outrisk.readers.smcl import plain_text
from outrisk.readers.stata_session import commands_of, sections_of, text_of_log

LOGIT = (PRINTED / "stata_base1.log").read_text()
ORDERED = (PRINTED / "stata_ologit.log").read_text()
ENTRY = {"kind": "logit", "response": "affair"}
OF_ORDERED = {"kind": "ologit", "response": "marriage"}
MEANS = """
Mean estimation                           Number of obs = 1,159

--------------------------------------------------------------
             |       Mean   Std. err.     [95% conf. interval]
-------------+------------------------------------------------
         age |   27.56371   .1693381      27.23177    27.89564
--------------------------------------------------------------
"""
TEST = "\n ( 1)  [affair]age = 0\n\n           chi2(  1) =  171.27\n         Prob > chi2 =    0.0000\n"
LINCOM = LOGIT[LOGIT.index("-----") :].replace("affair", "      ")
SESSION = f"""
. use fair

. mean age if children == 1
{MEANS}
. logit affair age i.religion i.occ
{LOGIT}
. test age
{TEST}
. lincom age
{LINCOM}
. ologit marriage age i.religion children, vce(oim)
{ORDERED}
. tabulate marriage
"""


def numbers(entry, text):
    released, beside = given({**entry, "values": text})
    assert beside.failure == ""
    return released, beside


@pytest.mark.parametrize(("entry", "alone"), [(ENTRY, LOGIT), (OF_ORDERED, ORDERED)])
def test_each_regression_of_a_session_is_read_as_alone(entry, alone):
    released, beside = numbers(entry, SESSION)
    own, _ = numbers(entry, alone)
    assert beside.matched.all() and released.labels == own.labels
    assert np.array_equal(released.low, own.low) and np.array_equal(released.high, own.high)


def test_numbers_of_a_command_beside_are_not_those_of_the_model():
    for text in (LOGIT + MEANS, f". mean age\n{MEANS}\n. logit affair age i.religion i.occ\n{LOGIT}"):
        _, beside = numbers(ENTRY, text)
        assert beside.matched.all()


def test_the_variables_of_a_formula_say_which_regression_it_is(tmp_path):
    other = re.sub(r"^ +age \|.*\n", "", LOGIT, flags=re.M).replace(".0532637", ".0632637")
    text = f". logit affair i.religion i.occ\n{other}\n. logit affair age i.religion i.occ\n{LOGIT}"
    formula = {"kind": "logit", "formula": "affair ~ age + C(religion) + C(occ)"}
    _, beside = numbers(formula, text)
    assert beside.matched.all()
    with pytest.raises(OutputError, match=r"2 that may be the output's; say which .*1: logit affair i\.religion"):
        given({**ENTRY, "values": text})
    (tmp_path / "out.log").write_text(text)
    _, beside = numbers(ENTRY, str(tmp_path / "out.log") + "#2")
    assert beside.matched.all()
    with pytest.raises(OutputError, match="no regression 3"):
        given({**ENTRY, "values": str(tmp_path / "out.log") + "#3"})


@pytest.mark.parametrize(
    ("above", "says"),
    [
        ("logit affair age i.religion in 1/500", "of a subset, in 1/500"),
        ("qui eststo m1: logit affair age i.religion if age > 30, or", "of a subset, age > 30"),
        ("logit affair age i.religion [fweight=w]", "weighted, by 'w'"),
        ("logit affair age i.religion [iw = n] if age > 30", "of a subset"),
        ("logit affair age\n\n-> children = 0", "of a subset, children = 0"),
        ("logit affair age\n\nMultiple-imputation estimates       Imputations = 20", "combines imputations"),
        ("logit affair age, constraints(1)\n\n ( 1)  [affair]age = .05", "under constraints"),
        ("firthlogit affair age\n\nPenalized log likelihood = -3818.75", "penalised"),
    ],
)
def test_a_fit_of_others_or_another_fit_is_refused(above, says):
    with pytest.raises(OutputError, match=says):
        given({**ENTRY, "values": f". {above}\n{LOGIT}"})


def test_a_weight_of_the_command_is_that_of_the_output():
    released, beside = numbers(ENTRY, f". logit affair age i.religion [fweight=children]\n{LOGIT}")
    assert released.output.weight == "children" and not beside.matched.all()


def test_standardised_coefficients_are_no_limits():
    head = LOGIT.replace("[95% conf. interval]", "               Beta")
    text = re.sub(r"(\d\.\d{3}) +-?[\d.]+ +(-?[\d.]+)$", r"\1         \2", head, flags=re.M)
    released, beside = numbers(ENTRY, text)
    assert "confidence_limits" not in released.output.release.parts and beside.matched.all()


def test_a_row_without_a_cell_is_refused():
    for gone in ("   13.09", ".0040700", ".0612408"):
        with pytest.raises(OutputError, match="the row of age has 5 numbers"):
            given({**ENTRY, "values": LOGIT.replace(gone, " " * len(gone), 1)})


def test_decimal_commas_of_a_session_are_read():
    turned = re.sub(r"(?<![\w.,])-?[\d.,]*\d[\d.,]*(?!\w)", lambda n: n[0].translate(str.maketrans(".,", ",.")), LOGIT)
    released, beside = numbers(ENTRY, turned.replace("[95%", "[95%"))
    assert "6.366" in turned and beside.matched.all() and released.output.release.parts[-1] == "pseudo_r2"


def test_continued_lines_and_loops_are_one_command():
    text = """. logit affair age ///
>     i.religion if age > 30, ///
>     or
out
. foreach v of varlist age educ {
  2. tabulate `v' if children == 1, missing
  3. }
 1 | 2
. * mean x if y
. use "C:\\data\\people if.dt
> a", clear // in x
"""
    first, loop, comment, use = commands_of(text)
    assert (first.name, first.subset, first.options) == ("logit", "age > 30", "or")
    assert first.arguments == ("affair", "age", "i.religion") and first.lines == ("out",)
    assert (loop.name, loop.subset, loop.lines) == ("", "children == 1", (" 1 | 2",))
    assert (comment.name, use.subset) == ("", "") and use.said.startswith('use "C:\\data\\people if.dta"')


def test_groups_stand_above_their_lines():
    found = sections_of(["", "-> area = north, wave = 1", "a", "-> area = south west, wave = 2", "b"])
    assert found == [({"area": "north", "wave": "1"}, ["a"]), ({"area": "south west", "wave": "2"}, ["b"])]


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("{txt}{hline 4}{c +}{hline 3}", "----+---"),
        ("{space 3}age {c |}{res}{col 12} 1.5{txt}", "   age |    1.5"),
        ("{ralign 12:{res:{sf:  .25}}}|{lalign 6:ab}|", "         .25|ab    |"),
        ("{c -(}x{c )-} {c S|}y {c 0xe9} {c 'g}", "{x} $y é `"),
        ("{center 9:abc}{dup 3:-}", "   abc   ---"),
        ('{search r(4), local:r(4);} {stata "di 1":run}', "r(4); run"),
        ("{bf:{c )-}} {unclosed", "} {unclosed"),
        ("{res}{txt}{err}{p 0 4 2}", ""),
        ("{bogus}{1}{ }", "{1}{ }"),
    ],
)
def test_markup_is_what_it_shows(markup, shown):
    assert plain_text("{smcl}\n" + markup).split("\n")[1] == shown.rstrip()


def test_deep_and_wide_markup_ends():
    assert len(plain_text("{smcl}\n" + "{bf:" * 3000 + "x" + "}" * 3000)) < 20_000
    assert len(plain_text("{smcl}\n{hline 999999999}{dup 99999999:ab}{col 88888888}x")) < 5_000


def test_other_texts_are_left_as_they_are():
    for text in ("a,b\n1,2\n", "x | 1,5\n", "Coefficients:\n (Intercept) 1,5\n"):
        assert text_of_log(text) == text
