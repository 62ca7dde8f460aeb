"""Expressions: what they are worth (as pandas has it), what is refused, and that nothing a file says is run."""

import os

import numpy as np
import pandas as pd
import pytest
import yaml
from cli.command import CODEBOOK, STUDY, outrisk, records, write_study
from hypothesis import given, settings
from hypothesis import strategies as st
from payloads import payloads
from pydantic import ValidationError

from outrisk.codebook import codebook_from_dict
from outrisk.config import DataSection
from outrisk.errors import ExpressionError, OutputError, OutRiskError
from outrisk.expressions import read_expression
from outrisk.outputs import Regression, Rule
from outrisk.outputs.base import Subset

FRAME = pd.DataFrame(
    {
        "age": [20, 30, 30, 41, 55],
        "pay": [1.5, np.nan, 0.0, -2.0, 3.25],
        "my job": pd.Series(["a", "b", None, "a", "c"], dtype=object),
        "ill": [True, False, False, True, True],
        "größe": [1, 2, 3, 4, 5],
    }
)
BOOK = codebook_from_dict(CODEBOOK)

numbers = st.recursive(
    st.sampled_from(["age", "pay", "größe", "2", "7.5", "age // 10"]),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(lambda t: f"({' '.join(t)})"),
    max_leaves=4,
)
truths = st.recursive(
    st.one_of(
        st.tuples(numbers, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers)
        .filter(lambda t: any(name in t[0] + t[2] for name in ("age", "pay", "größe")))
        .map(" ".join),
        st.sampled_from(
            (
                *("`my job` == 'a'", '`my job` != "b"', "`my job` in ['a', 'c']", "age not in (30, 41)", "ill", "~ill"),
                *(
                    "20 < age <= 41",
                    "age == [20, 55]",
                    "age > 25 & pay < 2",
                    "ill | age == 30 and pay > 0",
                    "pay == pay",
                ),
            )
        ),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or", "&", "|"]), inner).map(lambda t: f"({' '.join(t)})"),
        inner.map(lambda text: f"not ({text})"),
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(numbers.filter(lambda text: any(n in text for n in ("age", "pay", "größe"))), truths))
def test_values_are_those_of_pandas(text):
    found = read_expression(text).evaluate(FRAME)
    expected = FRAME.eval(text, engine="python")
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log(age)", np.log(FRAME["age"])),
        ("sqrt(abs(pay))", np.sqrt(FRAME["pay"].abs())),
        ("round(pay / 3, 1)", (FRAME["pay"] / 3).round(1)),
        ("isna(pay) or isna(`my job`)", FRAME["pay"].isna() | FRAME["my job"].isna()),
        ("pay.isna()", FRAME["pay"].isna()),
        ("age.between(25, 45)", FRAME["age"].between(25, 45)),
        ("not `my job`.isin(['a'])", ~FRAME["my job"].isin(["a"])),
        ("minimum(age, 35) ** 2", np.minimum(FRAME["age"], 35) ** 2),
        ("'&' != `my job`", FRAME["my job"] != "&"),
        ("age ** 64", FRAME["age"] ** 64.0),
        ("age * 9223372036854775807 * 3", FRAME["age"] * 3.0 * 2**63),
        ("age + 9223372036854775807", FRAME["age"] + 2.0**63),
        ("2 ** -age", 2.0 ** -FRAME["age"]),
    ],
)
def test_functions_and_methods(text, expected):
    np.testing.assert_array_equal(np.asarray(read_expression(text).evaluate(FRAME)), np.asarray(expected))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age >", "is not an expression; write for example age >= 27"),
        ("wage > 3", "names 'wage', which is no column"),
        ("age > 'a'", "fails: "),
        ("age and ill", "'age' is not true or false"),
        ("`my job` * 3", "'_quoted_column_0' is not a number|not a number for each record"),
        ("age.mean()", r"has 'age.mean\(\)', which is no function of expressions"),
        ("age in pay", "needs a list of values"),
        ("log(age, pay)", "has not the arguments that log takes"),
        ("isna(obj=age)", "names an argument"),
        ("`age", "a ` that is not closed"),
        ("2 ** 70 ** 2", "is a power above 64"),
        ("age ** (64 * 64)", "is a power above 64"),
        (f"age ** ({2**63 - 1} * {2**63 - 1})", "is a power above 64"),
        ("20 ** (64 * 64) > age", "is a power above 64"),
        ("age" + " + age" * 2_000, "is longer than 5,000 characters"),
    ],
)
def test_what_is_refused_says_why(text, message):
    with pytest.raises(ExpressionError, match=message) as caught:
        read_expression(text).evaluate(FRAME)
    assert "\n" not in str(caught.value)


CODES = codebook_from_dict(
    CODEBOOK | {"variables": CODEBOOK["variables"] | {"sex": {"kind": "categorical", "levels": [1, 2]}}}
)


@pytest.mark.parametrize(
    "text",
    [
        *("sex != 2", "sex not in [2]", "sex not in ['1', 2]", "age >= 0 and not sex == 2", "age > 1 or sex == 2"),
        *("2 != sex", "not sex.isin([2])", "area != 'nn'", "sex != -2", "sex != age", "age != sex", "sex != age + 1"),
        *("age != '2'", "age not in ['2']", "age < 3 != sex"),
    ],
)
def test_a_comparison_with_what_no_record_can_be_is_refused(text):
    message = (
        "the levels of '(sex|area)' are text: '(1', '2|n', 's', 'w)'|the values of 'age' are numbers: write one without"
    )
    with pytest.raises(OutputError, match=message):
        Subset(CODES, text, "o").masks()
    for rule in (f"{text} implies age > 0", f"age > 0 implies {text}"):
        with pytest.raises(OutputError, match=rf"^\[rules 1\] .* compares '(sex|age|area)' with .*; ({message})"):
            Rule(CODES, rule, 1)


@pytest.mark.parametrize(
    "text", ["sex != '2'", "age not in [2, -9, 99]", "area < 'o'", "sex != area", "age == sqrt(age)"]
)
def test_a_comparison_with_what_a_record_can_be_is_not(text):
    assert Subset(CODES, text, "o").masks()


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("I(age ** 32)", r"has 'age \*\* 32', which can pass the whole numbers there are: divide first"),
        ("I((-age * 10000) ** 16)", "can pass the whole numbers"),
        ("{age * 9223372036854775807}", "can pass the whole numbers"),
        (f"I(age + {2**63 - 1} * {2**63 - 1})", "can pass the whole numbers"),
        ("np.log(age ** age ** age + 1)", "can pass the whole numbers"),
        ("I(age ** (64 * 64))", "is a power above 64"),
        ("I((area != 'nn') * age)", "compares 'area' with 'nn'; the levels of 'area' are text: 'n', 's', 'w'"),
        ("I((2 == area) * age)", "compares 'area' with 2; the levels of 'area' are text: 'n', 's', 'w'"),
        (
            "I((`age` != '2') * sex)",
            "compares 'age' with '2'; the values of 'age' are numbers: write one without quotes",
        ),
        ("C(area, levels=['n', 's'])", r"which has an unknown option; options are base, center"),
        ("C(area, contrasts=99)", "which codes a category by none of Treatment, Sum, Helmert"),
        ("C(area, [1, 2])", "which codes a category by none of Treatment"),
    ],
)
def test_terms_that_would_give_other_numbers_are_refused(term, message):
    for formula in (f"ill ~ {term}", f"ill ~ sex + {term}"):
        with pytest.raises(OutputError, match=message):
            Regression(BOOK, "o", "logit", formula)
    with pytest.raises(OutputError, match=message):
        Regression(BOOK, "o", "poisson", "sex ~ area", offset=term)


@pytest.mark.parametrize("where", ["", "age > 1", "area != 's'", "area != 'w' or age > 3"])
def test_a_level_without_a_column_is_none_that_a_record_may_have(where):
    formula = "ill ~ C(area, Treatment(reference='n', without=['w']))"
    with pytest.raises(OutputError, match="is without w of 'area', which 'where' does not leave out; do, or give"):
        Regression(BOOK, "o", "logit", formula, where=where)
    assert Regression(BOOK, "o", "logit", formula, where="area != 'w' and age > 1").labels


@pytest.mark.parametrize("term", ["I(age ** 20)", "I((age / 10) ** 30)", "I(age ** 2 * sex)", "C(area, contr.sum)"])
def test_terms_that_stay_whole_are_not(term):
    assert Regression(BOOK, "o", "logit", f"ill ~ {term}").labels


def test_a_formula_of_too_many_columns_is_refused_before_it_is_computed():
    book = codebook_from_dict(
        {"variables": CODEBOOK["variables"] | {"id": {"kind": "integer", "min": 1, "max": 60_000}}}
    )
    for term, columns in {"C(id)": "60,001", "C(id):C(area)": "180,001"}.items():
        with pytest.raises(OutputError, match=f"has {columns} columns; at most 1,000 are possible: band"):
            Regression(book, "o", "ols", f"age ~ {term}")
    assert Regression(book, "o", "ols", "age ~ id").labels


def places(text):
    """Everything in a study that is an expression, made of a text."""
    yield lambda: read_expression(DataSection(path="x.csv", where=text).where).evaluate(records())
    yield lambda: read_expression(DataSection(path="x.csv", derive={"c": text}).derive["c"]).evaluate(records())
    yield lambda: Subset(BOOK, text, "o").masks()
    yield lambda: Rule(BOOK, text, 1)
    for formula in (f"ill ~ {text}", f"ill ~ I({text})", f"ill ~ C(area) + {{{text}}}", f"{text} ~ age"):
        yield lambda formula=formula: Regression(BOOK, "o", "logit", formula)
    yield lambda: Regression(BOOK, "o", "poisson", "age ~ area", offset=text)
    yield lambda: Regression(BOOK, "o", "logit", "ill ~ area", weight=text)


@pytest.mark.parametrize("at", range(10))
def test_no_expression_runs_a_command(tmp_path, at):
    """Every payload at every place: refused in one line, and it leaves no mark."""
    mark = tmp_path / "mark"
    texts = payloads(mark)
    assert len(texts) >= 200
    for text in texts:
        try:
            list(places(text))[at]()
            refused = False
        except (OutRiskError, ValidationError):
            refused = True
        assert refused and not mark.exists(), text


def documents(text):
    """A study, or another file of it, with a text at each place that a person can write to."""
    output = STUDY["outputs"][0]
    logit = STUDY["outputs"][1]
    yield {"data": {"path": "small.csv", "where": text}}, {}
    yield {"data": {"path": "small.csv", "derive": {"new": text}}}, {}
    yield {"holdout": {"path": "small.csv", "where": text}}, {}
    yield {"outputs": [{**output, "where": text}]}, {}
    yield {"rules": [text]}, {}
    yield {"outputs": [{**logit, "formula": f"ill ~ {text}"}]}, {}
    yield {"outputs": [{**logit, "kind": "poisson", "formula": "age ~ area", "offset": text}]}, {}
    yield {"outputs": [{**logit, "weight": text}]}, {}
    yield {"outputs": [{**logit, "event": text}]}, {}
    yield {"outputs": [{**output, "by": [text]}]}, {}
    yield {"outputs": [{"kind": "custom", "function": text, "variables": ["age"], "labels": ["a"]}]}, {}
    yield {"keys": [text]}, {}
    yield {"target": text}, {}
    yield {"codebook": text}, {}
    yield {"data": {"path": text}}, {}
    yield {"data": {"package": "statsmodels", "dataset": text}}, {}
    yield {"outputs": [{**output, "values": text}], "data": None}, {}
    yield {"outputs": [{**output, "values": {text: 3}}], "data": None}, {}
    yield {"outputs": [{**output, "values": [text] * 6}], "data": None}, {}
    yield {"outputs": [{**output, "values": "v.csv"}], "data": None}, {"v.csv": f'label,value\n"{text}","{text}"\n'}
    yield {}, {"small.codebook.yaml": yaml.safe_dump({"variables": {text: {"kind": text}}})}
    yield {}, {"small.codebook.yaml": yaml.safe_dump({"variables": {"age": {"kind": "integer", "min": text}}})}
    yield {}, {"small.csv": f'age,area,sex,"{text}"\n1,n,1,no\n'}
    yield {}, {"small.csv": f'age,area,sex,ill\n1,n,1,"{text}"\n'}
    yield {}, {"small.yaml": text}
    yield {}, {"small.yaml": f"name: {text}\noutputs: {text}"}


@pytest.mark.parametrize("place", range(len(list(documents("")))))
def test_no_file_runs_a_command(tmp_path, capsys, monkeypatch, place):
    """At every place of all files: exit code 2, one line, no mark, nothing written.

    Each payload is put into two places, all in turn; with OUTRISK_PAYLOADS=all into every one, in ten minutes of
    processor time.
    """
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "mark"
    step = 1 if os.environ.get("OUTRISK_PAYLOADS") == "all" else 13
    for text in payloads(mark)[place % step :: step]:
        changes, files = list(documents(text))[place]
        path = write_study(tmp_path, changes)
        for name, content in files.items():
            (tmp_path / name).write_text(content, encoding="utf-8")
        command = "teach" if changes.get("data", "") is None else "assess"
        code, out, said = outrisk(capsys, command, path, "--out", tmp_path / "run")
        assert code == 2, (text, said)
        assert said.count("\n") == 1 and said.startswith("outrisk: ") and not out, said
        assert not mark.exists() and not (tmp_path / "run").exists(), text
        assert "Traceback" not in said


def test_a_function_of_the_study_runs_only_if_it_is_trusted(tmp_path, capsys):
    output = {"kind": "custom", "function": "f.py:mean", "variables": ["age"], "labels": ["mean"], "decimals": 1}
    (tmp_path / "f.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\ndef mean(frame): return [frame.age.mean()]")
    path = write_study(tmp_path, {"outputs": [output], "study": {"runs": 1, "folds": [1]}})
    code, _, said = outrisk(capsys, "assess", path, "--out", tmp_path / "run")
    assert code == 2 and "[outputs 1] runs 'f.py:mean', code that comes with the study" in said and "--trust" in said
    assert not (tmp_path / "mark").exists()
    code, _, said = outrisk(capsys, "assess", path, "--out", tmp_path / "run", "--trust", "--quiet")
    assert code == 0, said
    assert (tmp_path / "mark").exists()
    assert "by code that comes with the study, trusted and run" in (tmp_path / "run" / "details.html").read_text()


@pytest.mark.parametrize(
    "content",
    [
        "import sys\nsys.exit(7)",
        "raise SystemExit",
        "raise KeyError",
        "def mean(frame): raise SystemExit(3)",
        "1/0",
        "(",
    ],
)
def test_a_function_that_cannot_be_loaded_is_told(tmp_path, capsys, content):
    output = {"kind": "custom", "function": "f.py:mean", "variables": ["age"], "labels": ["mean"]}
    (tmp_path / "f.py").write_text(content)
    path = write_study(tmp_path, {"outputs": [output]})
    code, out, said = outrisk(capsys, "assess", path, "--out", tmp_path / "run", "--trust")
    assert code == 2 and said.count("\n") == 1 and not out


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "\n".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefghi", "bcdefghij", strict=True)),
        "a: &a [*a]",
        "[" * 5_000,
    ],
)
def test_yaml_that_would_fill_the_memory_is_refused(tmp_path, capsys, text):
    path = write_study(tmp_path)
    for name in ("small.yaml", "small.codebook.yaml"):
        write_study(tmp_path)
        (tmp_path / name).write_text(text)
        code, _, said = outrisk(capsys, "assess", path, "--out", tmp_path / "run")
        assert code == 2 and said.count("\n") == 1, said
    assert not (tmp_path / "run").exists()
