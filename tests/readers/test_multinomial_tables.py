"""Printed multinomial logits of three programs: each number found, the base recognised, against a refit."""

import re

import numpy as np
import pytest
from fair import PRINTED, codebook, given, study

from outrisk.errors import OutputError

FORMULA = "religion ~ age + C(occ) + children"
FULL = {"coefficients", "standard_errors", "confidence_limits", "p_values", "n", "log_likelihood", "pseudo_r2"}
TABLES = {  # what each file releases, and the outcome that it compares with
    "mnlogit.txt": (FULL, "1"),
    "mnlogit.html": (FULL, "1"),
    "mnlogit.csv": (FULL, "1"),
    "mnlogit_summary2.txt": (FULL, "1"),  # which counts the outcomes from 0, whatever they are called
    "stata_mlogit.log": (FULL, "1"),
    "stata_mlogit_base4_rrr.log": (FULL, "4"),
    "esttab_mlogit.csv": ({"coefficients", "standard_errors", "n", "pseudo_r2"}, "1"),
    "esttab_mlogit_unstack.csv": ({"coefficients", "standard_errors", "n", "pseudo_r2"}, "1"),
    "multinom_tidy.csv": ({"coefficients", "standard_errors", "p_values"}, "1"),
    "multinom_coef.csv": ({"coefficients"}, "1"),
    "nomreg.csv": ({"coefficients", "standard_errors", "p_values"}, "4"),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("model", [{"formula": FORMULA}, {"response": "religion"}], ids=["formula", "no formula"])
def test_every_printed_number_is_what_a_refit_gives(name, model):
    parts, base = TABLES[name]
    released, beside = given({"kind": "mnlogit", **model, "values": name})
    assert set(released.output.release.parts) == parts
    reference = "white_collar" if name == "nomreg.csv" else "managerial"
    assert released.output.outcomes[0] == base and released.output.references == {"occ": reference}
    assert released.output.release.exponentiate == ("rrr" in name)
    assert beside.failure == "" and beside.matched.all(), [row for row in beside.rows() if not row.matched]
    assert len(released.output.coefficients) == 24 and len(released.low) >= 24


@pytest.mark.parametrize("name", TABLES)
def test_a_wrong_digit_shows(name, tmp_path):
    """A coefficient of children, another in each equation, changed in its third digit: one number differs."""
    text = (PRINTED / name).read_text()
    at = re.search(r"0?\.274|-\.275|\.759|0?\.197", text)
    wrong = text[: at.end() - 1] + str((int(text[at.end() - 1]) + 3) % 10) + text[at.end() :]
    (tmp_path / name).write_text(wrong)
    _, beside = given({"kind": "mnlogit", "formula": FORMULA, "values": str(tmp_path / name)})
    assert (~beside.matched).sum() == 1 + ("rrr" in name)  # of a ratio, the standard error of b goes with it


def test_tables_of_two_bases_say_the_same():
    one, four = (
        given({"kind": "mnlogit", "formula": FORMULA, "values": f"stata_mlogit{end}.log"})[0]
        for end in ("", "_base4_rrr")
    )
    at, there = (each.labels.index("log-likelihood") for each in (one, four))
    assert (one.low[at], one.high[at]) == (four.low[there], four.high[there])
    b = one.values[one.labels.index("religion = 4: age")]
    exp_b = four.values[four.labels.index("religion = 1: age: exp(b)")]
    assert np.log(exp_b) == pytest.approx(-b, abs=1e-5)


def test_value_labels_name_outcomes():
    released, beside = given(
        {"kind": "mnlogit", "formula": FORMULA, "values": "stata_mlogit_labels.log"}, labelled=True
    )
    assert released.output.outcomes == ["1", "2", "3", "4"] and beside.matched.all()
    with pytest.raises(
        OutputError, match="an equation is of 'mildly', which is no level of 'religion'; levels are 1, 2"
    ):
        given({"kind": "mnlogit", "formula": FORMULA, "values": "stata_mlogit_labels.log"})


def changed(tmp_path, name, old, new):
    text = (PRINTED / name).read_text()
    assert old in text
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}-{name}"
    path.write_text(text.replace(old, new))
    return {"kind": "mnlogit", "formula": FORMULA, "values": str(path)}


REFUSED = [
    ("mnlogit.txt", "religion=4", "religion=3", "has equations for religion=2, religion=3, and one"),
    ("mnlogit.txt", "religion=4", "religion=7", "an equation is of 'religion=7', which is no level"),
    ("multinom_tidy.csv", '"2","age"', '"2","educ"', "'educ' is no variable or level"),
    ("nomreg.csv", "category is: 4", "category is: 2", "says that the base is 2"),
    ("nomreg.csv", "[occ=student]", "[occ=pilot]", "'occ=pilot' is no variable or level"),
    ("multinom_tidy.csv", '"3","age"', '"3","children"', "are all children; keep one"),
    ("multinom_tidy.csv", '"3","age"', '"2","agee"', "'agee' is no variable"),
    ("stata_mlogit.log", "1                |  (base", "4                |  (base", "says that the base is 4"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), REFUSED)
def test_tables_that_are_no_multinomial_logit_are_refused(name, old, new, message, tmp_path):
    entry = changed(tmp_path, name, old, new)
    with pytest.raises(OutputError, match=re.escape(message)):
        study(entry).given(codebook())


def test_a_table_of_another_kind_or_with_a_row_less_is_refused(tmp_path):
    lines = (PRINTED / "multinom_tidy.csv").read_text().splitlines()
    for name, dropped in (("one", '"3","children"'), ("two", '"3",')):
        (tmp_path / f"{name}.csv").write_text("\n".join(line for line in lines if not line.startswith(dropped)))
    for kind, values, message in (
        ("mnlogit", "tidy.csv", "(is no variable or level|does not say which outcome)"),
        ("logit", "mnlogit.txt", "the table is of a mnlogit"),
        ("mnlogit", str(tmp_path / "one.csv"), "not all the same coefficients"),
        ("mnlogit", str(tmp_path / "two.csv"), "has equations for 2, 4, and one level"),
    ):
        with pytest.raises(OutputError, match=message):
            study({"kind": kind, "formula": FORMULA, "values": values}).given(codebook())
