"""Tables of proportions in files: heads of columns, percentages, limits beside and in one cell, levels, totals."""

import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.outputs import ProportionsEntry, released_as_given
from outrisk.outputs.smooth.proportions_told import pairs_told
from outrisk.readers.remarks import kept
from outrisk.readers.values import resolve

CODEBOOK = Codebook(
    (
        Variable("sex", "categorical", ("f", "m")),
        Variable("smoker", "categorical", ("never", "former", "current")),
        Variable("ill", "categorical", ("no", "yes")),
    )
)


def read(tmp_path, text, **entry):
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    entry = ProportionsEntry(kind="proportions", **{"event": "ill", "by": "sex", "values": "table.csv", **entry})
    with kept() as remarks:
        found = resolve(entry, CODEBOOK, 1, tmp_path)
    released = [released_as_given(each.build(CODEBOOK, 1), each.values, None)[0] for each in found]
    return found, released, remarks


def pairs(released):
    return [each.pairs.tolist() for each in pairs_told(released.output, released.low, released.high)]


BESIDE = "sex,%,lower,upper\nf,12.2,6.5,20.4\nm,50.0,31.3,68.7\n"
IN_A_CELL = "sex,% (95% CI)\nf,12.2 (6.5-20.4)\nm,50.0 (31.3-68.7)\n"
OF_SHARES = "sex,proportion,95% CI\nf,0.122,0.065 to 0.204\nm,0.500,0.313 to 0.687\n"
COMMA = "sex;Percent;LCL;UCL\nf;12,2;6,5;20,4\nm;50,0;31,3;68,7\n"


@pytest.mark.parametrize("text", [BESIDE, IN_A_CELL, OF_SHARES, COMMA])
def test_percentages_with_their_limits(tmp_path, text):
    """R 4.2: binom.test(12, 98), binom.test(15, 30)."""
    (entry,), (released,), remarks = read(tmp_path, text)
    assert entry.per == (1.0 if text == OF_SHARES else 100.0) and entry.interval == "exact"
    assert entry.statistics == ("proportion", "limits")
    assert pairs(released) == [[[12, 98]], [[15, 30]]]
    assert "limits are exact ones, as no others have these numbers" in " ".join(remarks)


def test_limits_that_may_be_of_several_kinds_are_refused(tmp_path):
    text = "sex,%,lower,upper\nf,30,25,35\nm,50,45,55\n"
    with pytest.raises(OutputError, match=r"its limits may be exact or wilson or .* ones; say which, as in interval:"):
        read(tmp_path, text)
    (entry,), _, _ = read(tmp_path, text, interval="wilson")
    assert entry.interval == "wilson"


def test_totals_and_levels_of_a_variable(tmp_path):
    text = "sex,smoker,n,%\nf,never,10,50.0\nf,former,10,30.0\nf,current,10,20.0\nm,never,4,100.0\n"
    text += "m,former,4,0.0\nm,current,4,0.0\nTotal,never,14,64.3\nTotal,former,14,21.4\nTotal,current,14,14.3\n"
    entries, released, _ = read(tmp_path, text, event="smoker")
    assert [list(each.by) for each in entries] == [["sex"], []]
    assert [each.labels[0] for each in released] == ["sex=f, smoker=never: proportion", "smoker=never: proportion"]
    assert pairs(released[1]) == [[[9, 14]], [[3, 14]], [[2, 14]]]


def test_a_group_that_is_not_there_holds_nobody_and_an_empty_cell_is_withheld(tmp_path):
    (entry,), _, remarks = read(tmp_path, "sex,events,n,p,note\nf,3,10,0.3,a\n", statistics=["n", "proportion"])
    assert entry.values == {
        **{"sex=f: n": 10.0, "sex=f: proportion": 0.3},
        **{"sex=m: n": 0.0, "sex=m: proportion": "undefined"},
    }
    assert "left out: note" in remarks[0]
    (entry,), _, _ = read(tmp_path, "sex,events,n\nf,3,10\nm,,\n")
    assert entry.values["sex=m: events"] == "withheld"


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        ("sex,mean\nf,3\nm,4\n", {}, "no column of a proportion is known in it"),
        ("arm,%\nf,3\nm,4\n", {}, "the table has no column 'sex'; add it"),
        ("sex,prevalence\nf,13\nm,40\n", {}, "its proportions are above 1, and no head says percent"),
        ("sex,%\nf,13\nm,40\n", {"per": 1}, "'per' is 1 in the study, and the table has percentages; say 100"),
        ("sex,%,90% CI\nf,13,2-30\nm,40,3-70\n", {"level": 0.95}, "'level' is 0.95 in the study and 0.9 in the table"),
        ("sex,%\nf,13\nm,40\n", {"statistics": "n"}, "the table has no n; it has proportion"),
        ("sex,%,percent\nf,13,1\nm,40,1\n", {}, "several columns are of a proportion; keep one"),
        ("sex,%\nf,13\nm,40\n", {"by": ()}, "table.csv: the table has several rows; say with 'by' which variables"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, text, entry, message):
    with pytest.raises(OutputError, match=message) as caught:
        read(tmp_path, text, **entry)
    assert "\n" not in str(caught.value)
