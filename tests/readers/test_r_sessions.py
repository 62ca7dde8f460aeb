"""A whole session of R 4.2.2 (`programs/session_by_r.R`): each output takes its own print alone."""

import re

import numpy as np
import pandas as pd
import pytest
from fair import PRINTED

from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook
from outrisk.readers import r_output
from outrisk.readers.r_session import prints_of
from outrisk.readers.source import Source
from outrisk.readers.tables_of_r import table_of_r

CARS = pd.read_csv(PRINTED / "mtcars.csv")
CODEBOOK = infer_codebook(CARS, few=5)[0]
SESSION = (PRINTED / "r_session.txt").read_text()
LOGIT = {"kind": "logit", "formula": "am ~ wt"}
OLS = {"kind": "ols", "formula": "mpg ~ wt + shape"}
TABLE = {"kind": "frequencies", "by": ["shape", "box"]}
TEST = {"kind": "test", "test": "welch", "variable": "mpg", "by": "box"}


def read(entry, values="r_session.txt"):
    """The first output as the session gives it, and beside what the data give."""
    document = {"name": "cars", "data": {"path": "mtcars.csv"}, "keys": ["shape"], "target": "am"}
    study = study_of({**document, "outputs": [{**entry, "values": values}]}, PRINTED / "cars.yaml")
    released = next(iter(study.given(CODEBOOK).values()))
    return released, released.recompute(from_frame(CARS, CODEBOOK))


@pytest.mark.parametrize(
    ("entry", "values", "numbers"),
    [
        (LOGIT, "r_session.txt", 2),
        (LOGIT, "r_session.txt#1", 2),
        (OLS, "r_session.txt#2", 3),
        ({**OLS, "where": "hp < 150"}, "r_session.txt#3", 3),
        (TABLE, "r_session.txt#1", 4),
        (TABLE, "r_session.txt#2", 4),
        ({**TABLE, "by": ["box", "shape"]}, "r_session.txt#2", 4),
        ({**TABLE, "by": ["cyl"]}, "r_session.txt", 3),
        ({**TABLE, "by": ["shape", "cyl", "box"]}, "r_session.txt", 12),
        (TEST, "r_session.txt", 3),
    ],
)
def test_outputs_of_a_session_are_those_of_its_data(entry, values, numbers):
    released, beside = read(entry, values)
    assert beside.failure == "" and beside.matched.all() and len(released.labels) >= numbers


def test_of_two_fits_that_may_be_meant_the_number_says_which():
    with pytest.raises(OutputError, match=r"3 regressions, 2 that may be .* say which .*2: lm\(.*3: lm\(.*hp < 150"):
        read({**OLS, "where": "hp < 150"})
    _, beside = read(OLS)  # which is of all cars
    assert beside.matched.all()
    with pytest.raises(OutputError, match="3 regressions, and no regression 4"):
        read(OLS, "r_session.txt#4")


def test_fits_without_commands_are_told_apart_by_their_calls():
    text = "\n".join(each.text for each in prints_of(SESSION) if "Call:" in each.text)
    released, beside = read(LOGIT, text)
    own, _ = read(LOGIT)
    assert beside.matched.all() and np.array_equal(released.low, own.low) and released.labels == own.labels
    with pytest.raises(OutputError, match="3 models, also of plm; give each output its own text"):
        read(LOGIT, text.replace("lm(formula = mpg ~ wt + shape, data = d)", "plm(formula = mpg ~ wt)"))


def test_a_number_beyond_the_only_fit_is_refused():
    alone = next(each.text for each in prints_of(SESSION) if "glm(" in each.text)
    with pytest.raises(OutputError, match="1 regression, and no regression 2"):
        r_output.read(Source("one.txt", alone), 2)


def test_a_table_of_other_variables_is_not_taken():
    other = SESSION.replace("table(d$shape, d$box)", "table(d$vs, d$am)").replace(
        "xtabs(~ shape + box, d)", "xtabs(~ vs + am, d)"
    )
    with pytest.raises(OutputError, match="no table of the output's variables and levels; paste it alone"):
        read(TABLE, other)
    _, beside = read(TABLE)  # which stands there twice
    assert beside.matched.all()
    again = "> table(d$shape, d$box)\n          \n           auto hand\n  in a v     11    7\n  straight    7    7\n"
    another = SESSION.replace("> table(d$cyl)", f"{again}> table(d$cyl)")
    with pytest.raises(OutputError, match=r"3 tables .* say which .*1: table\(d\$shape, d\$box\); 2: xtabs"):
        read(TABLE, another)


def test_tables_as_r_prints_them():
    wide = "     gear\ncyl   3  4\n  4   1  8\n  8  12  0\n     gear\ncyl   5\n  4   2\n  8   2\n"
    assert table_of_r(wide) == [
        ["cyl", "gear", "count"],
        ["4", "3", "1"],
        ["4", "4", "8"],
        ["8", "3", "12"],
        ["8", "4", "0"],
        ["4", "5", "2"],
        ["8", "5", "2"],
    ]
    words = (
        "           edu\nsex         no school at school Sum\n"
        "  not known        31        75 106\n  Sum              31        75 106\n"
    )
    assert table_of_r(words)[1:4] == [
        ["not known", "no school", "31"],
        ["not known", "at school", "75"],
        ["not known", "Sum", "106"],
    ]
    shares = "      b\na         x     y\n  1   0.550 0.450\n  2   0.534 0.466\n"
    assert table_of_r(shares)[4] == ["2", "y", "0.466"]
    assert table_of_r("\n a  b \n 3 12 \n") == [["Var1", "count"], ["a", "3"], ["b", "12"]]


@pytest.mark.parametrize(
    "text", ["", "\n", "a,b\n1,2\n", "  x\n", "x\n  y\n", SESSION, "> x\n", "     a\nb  x y\n  1 2 3\nnote\n"]
)
def test_what_is_no_such_table(text):
    assert table_of_r(text) is None


def test_a_row_that_is_cut_off_is_no_table():
    table = next(each.text for each in prints_of(SESSION) if each.command.startswith("xtabs"))
    assert table_of_r(table) is not None
    assert table_of_r(table.replace("in a v     12    6", "in a v     12")) is None
    assert table_of_r(re.sub(r"\bhand\b", "    ", table)) is None
