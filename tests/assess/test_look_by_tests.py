"""Counts that a table rounds, withholds or does not print, and that tests give back."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY
from outrisk.outputs.smooth import compared

CODEBOOK = Codebook(
    (
        Variable("ill", "categorical", ("no", "yes"), missing=True),
        Variable("area", "categorical", ("n", "s", "w")),
        Variable("stage", "integer", (1, 2, 3)),
    )
)
CHI2 = {"kind": "test", "test": "chi-square", "variable": "ill", "by": ["area"]}
ROUNDED = {"kind": "frequencies", "by": ["area", "ill"], "margins": True, "protection": {"round_to": 5}}


def data_of(*cells):
    """Records of (ill, area, stage), each so many times."""
    codes = [codes for codes, times in cells for _ in range(times)]
    return Microdata(CODEBOOK, np.array(codes, dtype=np.uint16))


TWO_AREAS = data_of(((0, 0, 0), 41), ((1, 0, 0), 12), ((0, 1, 0), 38), ((1, 1, 0), 23))


def found(entries, data=TWO_AREAS, inside=False):
    outputs = [one for at, entry in enumerate(entries, 1) for one in built(entry, at)]
    return [each for each in look(outputs, data, Appetite(), "ill", inside) if "test" in each.output]


def built(entry, at):
    return REGISTRY[entry["kind"]](**entry).build(CODEBOOK, at)


def test_a_chi_square_undoes_the_rounding():
    (finding,) = found([ROUNDED, CHI2])
    assert (finding.rule, finding.cells, finding.people) == (
        "withheld cells recoverable",
        6,
        114,
    )  # two are of area w: 0
    assert "9 tables of the 349 that fit" in finding.what and "chi-square test of ill by area" in finding.output
    for cell in ("area=n, ill=no: 41", "area=n, ill=yes: 12", "area=s, ill=no: 38", "area=s, ill=yes: 23"):
        assert cell in finding.places


def test_an_exact_test_says_as_much():
    exact = {"kind": "test", "test": "fisher", "variable": "ill", "by": ["area"]}
    (finding,) = found([ROUNDED, exact])
    assert finding.rule == "withheld cells recoverable" and "fisher test of ill by area" in finding.output


def test_margins_and_an_exact_test_leave_one_table():
    """Of 47 and 52 people 20 are ill: one of 21 tables of two by two."""
    data = data_of(((0, 0, 0), 41), ((1, 0, 0), 6), ((0, 1, 0), 38), ((1, 1, 0), 14))
    margins = {"kind": "univariate", "variables": ["area", "ill"]}
    exact = {"kind": "test", "test": "fisher", "variable": "ill", "by": ["area"]}
    p = [stats.fisher_exact([[47 - x, x], [32 + x, 20 - x]]).pvalue for x in range(21)]
    fitting = {places: [x for x in range(21) if round(p[x], places) == round(p[6], places)] for places in (1, 2, 3)}
    assert fitting == {3: [6], 2: [6], 1: [6, 13]}
    for places, rest in fitting.items():
        (finding,) = found([margins, exact | {"decimals": places}], data, inside=True)
        only = len(rest) == 1
        assert f"{'1 table' if only else '2 tables'} of the 21 that fit the printed counts" in finding.what
        assert (finding.rule, finding.places) == ("table not released", "area=n, ill=yes: 6" if only else "")


def test_exact_tests_that_take_too_long_are_said(monkeypatch):
    monkeypatch.setattr(compared, "MOST_WORK", 1_000)
    exact = {"kind": "test", "test": "fisher", "variable": "ill", "by": ["area"]}
    (finding,) = found([ROUNDED, exact])
    assert finding.rule == "not bounded" and finding.what.startswith("Too many tables fit the printed counts")
    (both,) = found([ROUNDED, CHI2, exact])
    assert both.rule in ("not bounded", "withheld cells recoverable")


def test_a_test_that_says_too_little_does_not():
    coarse = {**CHI2, "decimals": 0, "statistics": ["p"]}
    assert found([ROUNDED, coarse]) == []


def test_of_other_records_or_of_rounded_counts_nothing_follows():
    assert found([ROUNDED, {**CHI2, "where": "stage == 1"}]) == []
    assert found([{**ROUNDED, "protection": {}}, CHI2]) == []  # nothing is hidden


def test_a_withheld_cell_from_ranks():
    data = data_of(*(((i, 0, s), n) for (i, s), n in np.ndenumerate([[30, 14, 25], [11, 4, 17]])))
    table = {"kind": "frequencies", "by": ["ill", "stage"], "protection": {"threshold": 10}}
    ranks = {"kind": "test", "test": "rank-sum", "variable": "stage", "by": ["ill"], "statistics": ["statistic"]}
    (finding,) = found([table, ranks], data)
    assert finding.cells == 1 and "ill=yes, stage=2: 4" in finding.places


ORDERED = {
    "trend": {"variable": "ill", "by": ["stage"]},
    "linear-by-linear": {"variable": "ill", "by": ["stage"]},
    "spearman": {"variable": "ill", "paired": "stage"},
    "kendall": {"variable": "ill", "paired": "stage"},
}


@pytest.mark.parametrize("test", ORDERED)
def test_trends_and_ranks_give_cells_back(test):
    """Beside counts rounded to 5, or beside the totals alone: 456 tables of two by three."""
    data = data_of(*(((i, 0, s), n) for (i, s), n in np.ndenumerate([[30, 14, 25], [11, 4, 17]])))
    entry = {"kind": "test", "test": test, **ORDERED[test]}
    if entry.get("by"):
        (finding,) = found([{**ROUNDED, "by": ["ill", "stage"]}, entry], data, inside=True)
        assert (finding.rule, finding.cells) == ("withheld cells recoverable", 7)
        assert "3 tables of the 25,732 that fit the printed counts give what the test prints" in finding.what
        assert "stage=2, ill=yes: 4" in finding.places and "stage=3, ill=yes: 17" in finding.places
    else:
        margins = {"kind": "univariate", "variables": ["ill", "stage"]}
        (finding,) = found([margins, entry], data, inside=True)
        assert (finding.rule, finding.places) == ("table not released", "stage=2, ill=yes: 4")
        assert "1 table of the 456 that fit the printed counts gives what the test prints" in finding.what


def test_a_correlation_of_eleven_has_nine_degrees_of_freedom():
    few = data_of(((0, 0, 0), 6), ((1, 1, 2), 5))
    (finding,) = found([{"kind": "test", "test": "spearman", "variable": "ill", "paired": "stage"}], few)
    assert finding.what.startswith("11 records leave 9 degrees of freedom to a correlation of ill")


def test_a_table_that_was_not_released_follows_from_margins_and_a_test():
    data = data_of(((0, 0, 0), 41), ((1, 0, 0), 3), ((0, 1, 0), 38), ((1, 1, 0), 23))
    margins = {"kind": "univariate", "variables": ["area", "ill"]}
    (finding,) = found([margins, CHI2], data)
    assert (finding.rule, finding.cells, finding.people, finding.places) == ("table not released", 1, 3, "")
    (inside,) = found([margins, CHI2], data, inside=True)
    assert inside.places == "area=n, ill=yes: 3"
    assert found([margins, CHI2], TWO_AREAS) == []  # no cell of few


def test_tables_too_many_to_try_are_said():
    many = data_of(*(((i, a, s), 1_000) for i, a, s in product(range(2), range(3), range(3))))
    wide = {**ROUNDED, "by": ["area", "stage", "ill"], "protection": {"round_to": 50}}
    (finding,) = found([wide, {**CHI2, "by": ["area", "stage"]}], many)
    assert finding.rule == "not bounded"
    assert finding.what.startswith("Too many tables fit the printed counts of area x stage x ill")


def test_few_degrees_of_freedom():
    few = data_of(((0, 0, 0), 6), ((1, 1, 2), 5))
    student = {"kind": "test", "test": "t", "variable": "stage", "by": ["area"]}
    finding, groups = found([student], few)
    assert finding.rule == "degrees of freedom" and "9 degrees of freedom" in finding.what
    assert (groups.rule, groups.cells, groups.places) == ("small cells", 2, "area=s: 5; area=n: 6")
    assert found([student]) == []


def test_cells_of_one_of_two_numbers_are_said():
    data = data_of(((0, 0, 0), 47), ((1, 0, 0), 3), ((0, 1, 0), 33), ((1, 1, 0), 17))  # 3 and 17, or 17 and 3
    margins = {"kind": "univariate", "variables": ["area", "ill"]}
    (finding,) = found([margins, CHI2], data, inside=True)
    assert (finding.rule, finding.cells, finding.people, finding.places) == ("table not released", 0, 0, "")
    assert "0 cells of fewer than 10 records follow exactly, and 1 more is known to be one of two" in finding.what


def test_cells_outside_the_subset_are_no_finding():
    south = {"where": "area == 's'"}
    data = data_of(((0, 0, 0), 41), ((0, 1, 0), 38), ((1, 1, 1), 23), ((0, 1, 1), 12), ((1, 1, 0), 9))
    by_stage = {"kind": "test", "test": "chi-square", "variable": "ill", "by": ["stage"], "decimals": 1, **south}
    table = {"kind": "frequencies", "by": ["area", "stage", "ill"], "protection": {"round_to": 5}, **south}
    crossed = {**by_stage, "by": ["area", "stage"], "decimals": 6}
    (finding,) = found([table, crossed], data, inside=True)
    assert finding.cells and "area=n" not in finding.places and "area=w" not in finding.places
    assert found([table, by_stage], data) == []  # another table
