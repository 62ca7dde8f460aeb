"""Whose data a table of a Stata session is of: subsets, weights and changes that stand above it are not passed over."""

import re

import pytest
from fair import PRINTED, codebook, given, study
from test_rates_tables import strate

from outrisk.errors import OutputError
from outrisk.readers.remarks import kept
from outrisk.readers.stata_data import chosen_before, fit_of
from outrisk.readers.stata_session import commands_of

TESTS = PRINTED.with_name("printed_tests")
LOGIT = (PRINTED / "stata_base1.log").read_text()
OF_LOGIT = {"kind": "logit", "response": "affair"}
FIT = "logit affair age i.religion i.occ"
MARGINS = """
Average marginal effects                                 Number of obs = 6,366
Model VCE: OIM

Expression: Pr(affair), predict()
dy/dx wrt:  age

------------------------------------------------------------------------------
             |            Delta-method
             |      dy/dx   std. err.      z    P>|z|     [95% conf. interval]
-------------+----------------------------------------------------------------
         age |   .0099521   .0008071    12.33   0.000     .0083702     .011534
------------------------------------------------------------------------------
"""
OF_MARGINS = {"kind": "margins", "model": "logit", "formula": "affair ~ age + educ", "dydx": ["age"]}
T, AGE = (TESTS / "stata_t.log").read_text(), {"kind": "test", "variable": "age", "by": "affair"}
TABLE, BELIEF = (TESTS / "stata_tabulate.log").read_text(), {"kind": "test", "variable": "religion", "by": "affair"}
RATES = {"kind": "rates", "numerator": "affair", "denominator": "yrs_married", "by": ["religion"], "per": 1000}
RHO = (TESTS / "stata_spearman.log").read_text()


def typed(command, text):
    """The print below another command."""
    return f". {command}\n{text.partition(chr(10))[2] if text.startswith('. ') else text}"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("ttest age if religion==2, by(affair)", "of a subset, religion==2"),
        ("qui capture noi ttest age in 1/500, by(affair)", "of a subset, in 1/500"),
        ("bysort religion: ttest age, by(affair)\n\n-> religion = 2\n", "of a subset, religion = 2"),
    ],
)
def test_a_test_of_some_is_refused(command, says):
    with pytest.raises(OutputError, match=says):
        given(AGE | {"values": typed(command, T)})
    entry = AGE | {"where": "religion == 2", "values": typed(command, T)}
    assert next(iter(study(entry).given(codebook()).values())).output.where == "religion == 2"


def test_a_test_of_weighted_records_is_refused():
    with pytest.raises(OutputError, match=r"weighted \(fw=n\), which is not read"):
        given(BELIEF | {"test": "chi-square", "values": typed("tab religion affair [fw=n], chi2", TABLE)})


def test_records_and_changes_above_a_test_are_said():
    with kept() as said:
        study(AGE | {"values": typed("replace age = log(age)\n\n. ttest age, by(affair)", T)}).given(codebook())
    assert any("`replace age = log(age)`: the data are taken" in each for each in said)
    with kept() as said:
        study(
            BELIEF | {"test": "chi-square", "values": typed("foreach v in a b {\n  2. tab `v' x, chi2\n  3. }", TABLE)}
        ).given(codebook())
    assert any("stands in a loop" in each for each in said)


def test_numbers_of_a_correlation_are_not_those_of_the_one_above(tmp_path):
    second = RHO.replace("66", "77").replace("0.6921", "0.1234").replace("educ", "yrs_married")
    (tmp_path / "out.log").write_text(RHO + "\n" + second)
    for way in ("", "#2"):
        entry = {"kind": "test", "variable": "yrs_married", "paired": "age", "values": f"{tmp_path / 'out.log'}{way}"}
        (released,) = study(entry).given(codebook()).values()
        assert dict(zip(released.labels, released.low, strict=True)) == {"rho": 0.0497, "p": 0.1234, "n": 77}


@pytest.mark.parametrize(
    "shown", ["logit", "logit, or", "estimates replay", "est store a\n\n. logit x y\n\n. est replay a"]
)
def test_a_fit_that_is_shown_again_is_that_of_its_command(shown):
    text = f". quietly {FIT} if educ>12\n\n. {shown}\n{LOGIT}"
    with pytest.raises(OutputError, match="of a subset, educ>12"):
        given(OF_LOGIT | {"values": text})


def test_levels_that_xi_made_columns_of_are_levels():
    coded = "i.religion        _Ireligion_1-4      (naturally coded; _Ireligion_1 omitted)\n"
    text = re.sub(r"^ +religion \|\n", "", LOGIT, flags=re.M)
    for level in (2, 3, 4):
        text = re.sub(rf"^ +{level}  \|", f"_Ireligion_{level} |", text, flags=re.M)
    released, beside = given(OF_LOGIT | {"values": f". xi: {FIT}\n{coded}{text}"})
    own, _ = given(OF_LOGIT | {"values": f". {FIT}\n{LOGIT}"})
    assert "_Ireligion_4 |   -1.311225" in text and beside.matched.all() and released.labels == own.labels
    with pytest.raises(OutputError, match="'_Ireligion_2' is no variable or level"):
        given(OF_LOGIT | {"values": f". xi: {FIT}\n{text}"})


def test_a_fit_whose_command_is_not_there_is_said():
    with kept() as said:
        given(OF_LOGIT | {"values": f". use fair\n\n. logit\n{LOGIT}"})
    assert any("no command of the fit" in each for each in said)


@pytest.mark.parametrize(
    ("fit", "margins", "says"),
    [
        ("quietly logit affair age educ if religion==2", "margins, dydx(age)", "of a subset, religion==2"),
        ("logit affair age educ", "margins if age > 30, dydx(age)", "of a subset, age > 30"),
        ("logit affair age educ [fw=children]", "margins, dydx(age)", "weighted by children, the output by nothing"),
        ("logit affair age i.religion", "margins, dydx(age)", "go on from `logit affair age i.religion`"),
        ("logit affair age educ\n\n. est store a\n\n. logit affair age\n\n. est restore a", "margins, dydx(age)", ""),
        (
            "logit affair age\n\n. est store a\n\n. logit affair age educ\n\n. est restore a",
            "margins, dydx(age)",
            "go on",
        ),
    ],
)
def test_margins_are_those_of_the_fit_above(fit, margins, says):
    entry = OF_MARGINS | {"values": f". {fit}\n\n. {margins}\n{MARGINS}"}
    if not says:
        assert study(entry).given(codebook())
        return
    with pytest.raises(OutputError, match=says):
        study(entry).given(codebook())


@pytest.mark.parametrize(
    ("above", "says"),
    [
        ("strate religion if age>30", "of a subset, age>30"),
        ("stset yrs_married if age>30, failure(affair)\n\n. strate religion", "of a subset, age>30"),
        ("stset yrs_married, failure(affair) if(age>30)\n\n. strate religion", "of a subset, age>30"),
        ("stset yrs_married [fw=n], failure(affair)\n\n. strate religion", "weighted by `stset"),
    ],
)
def test_rates_of_some_are_refused(above, says):
    with pytest.raises(OutputError, match=says):
        given(RATES | {"values": strate().replace("strate religion", above, 1)})


COX = """
Cox regression with Breslow method for ties

No. of subjects =  6,366                                Number of obs =  6,366
No. of failures =  2,053
Log likelihood = -15000.0                               Prob > chi2   = 0.0000

------------------------------------------------------------------------------
          _t | Haz. ratio   Std. err.      z    P>|z|     [95% conf. interval]
-------------+----------------------------------------------------------------
         age |    .953264   .0040700   -11.21   0.000     .9453200    .9612747
------------------------------------------------------------------------------
"""


@pytest.mark.parametrize(
    ("above", "says"),
    [
        ("stset yrs_married, failure(affair)", ""),
        ("stset yrs_married, failure(affair==1) scale(12)", ""),
        ("stset yrs_m, f(affair)", ""),
        ("stset yrs_married if educ>12, failure(affair)", "of a subset, educ>12"),
        ("stset age, failure(affair)", "its time is 'age', the output says time: yrs_married"),
        ("stset yrs_married, failure(children)", "its event is 'children', the output says event: affair"),
        ("stset yrs_married, failure(affair) origin(time age)", "time begins"),
    ],
)
def test_hazards_are_those_of_what_was_set(above, says):
    entry = {"kind": "cox", "response": "yrs_married", "status": "affair"}
    entry["values"] = f". {above}\n\n. quietly stcox age\n\n. stcox\n{COX}"
    if not says:
        assert study(entry).given(codebook())
        return
    with pytest.raises(OutputError, match=says):
        study(entry).given(codebook())


@pytest.mark.parametrize(
    ("session", "said"),
    [
        ("use a\nkeep if x\npreserve\ndrop if y\nrestore", ["keep if x"]),
        ("use a\npreserve\ndrop if y\nrestore, not", ["drop if y"]),
        ("use a\npreserve\nkeep if y\nrestore, preserve\nkeep if z\nrestore", []),
        ("use a if x > 1, clear\ngen b = 1\nreplace b = 2 if x", ["use a if x > 1, clear"]),
        ("use a\nkeep if x\nuse b, clear", ["use b, clear"]),
        ("use a\nkeep if x\nuse a, clear", []),
        ("use a\ndrop x\nreplace y = . if y > 9\nrecode z (1=2), gen(w)", ["replace y = . if y > 9"]),
        ("use a\nqui sample 10", ["qui sample 10"]),
        ("foreach i in 1 2 {\n  2. keep if x == `i'\n  3. }", ["keep if x == `i'"]),
    ],
)
def test_what_was_done_to_data(session, said):
    lines = [line if line.startswith("  ") else f". {line}" for line in session.split("\n")]
    commands = commands_of("\n".join([*lines, ". su y", "out"]))
    assert chosen_before(commands, commands[-1]) == said


def test_conditions_in_a_loop_and_in_macros_are_seen():
    loop = "foreach y in affair {\n  2. logit `y' age i.religion i.occ if educ>12\n  3. }"
    with pytest.raises(OutputError, match="of a subset, educ>12"):
        given(OF_LOGIT | {"values": f". {loop}\n{LOGIT}"})
    for above, told in (("", True), ('. local some "if educ>12"\n', True), (". local some i.occ\n", False)):
        with kept() as said:
            given(OF_LOGIT | {"values": f"{above}\n. logit affair age i.religion `some'\n{LOGIT}"})
        assert any("weight in `some' of" in each for each in said) == told


def test_the_fit_of_a_loop_is_found():
    text = ". foreach y in a b {\n  2. logit `y' x if z\n  3. }\n\n. margins, dydx(x)\nout"
    commands = commands_of(text)
    assert fit_of(commands, commands[-1]).subset == "z"
    assert fit_of(commands[-1:], commands[-1]) is None
