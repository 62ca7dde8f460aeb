import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.assess.look.differences import differences, group_in_words
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Logit
from outrisk.outputs.conditions.pairs import compare

CODEBOOK = Codebook(
    (
        Variable("age", "integer", (1, 2, 3, 4, 5)),
        Variable("job", "categorical", ("a", "b", "c"), missing=True),
        Variable("ill", "categorical", ("no", "yes")),
    )
)


def table(name, by, where=""):
    return Frequencies(CODEBOOK, name, by, where)


def records(seed, n=80):
    rng = np.random.default_rng(seed)
    return Microdata(
        CODEBOOK, np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1).astype(np.uint16)
    )


def test_a_group_by_hand():
    rows = [[0, 0, 0], [1, 1, 0], [1, 1, 1], [1, 3, 1], [4, 2, 1]]
    data = Microdata(CODEBOOK, np.array(rows, dtype=np.uint16))
    outputs = [table("all", ("job", "ill")), table("older", ("ill", "job"), "age != 2")]
    (counted,) = differences(outputs, data, threshold=2)
    assert (counted.small_cells, counted.people) == ("", 3), "cells of one are records: named only where asked for"
    (found,) = differences(outputs, data, threshold=2, inside=True)
    assert (found.larger, found.smaller, found.group, found.records) == ("all", "older", "age 2", 3)
    assert (found.variables, found.cells, found.below) == ("job+ill", 3, 3)
    assert found.small_cells == "job=b, ill=no: 1; job=b, ill=yes: 1; job=Missing, ill=yes: 1"
    assert found.threshold == 2


@pytest.mark.parametrize(
    ("larger", "smaller", "group"),
    [
        ("", "age >= 2", "age 1"),
        ("age >= 2", "age >= 2 and job != 'a'", "age 2 to 5, job a"),
        ("age >= 2", "age >= 2 and job not in ['a', 'c']", "age 2 to 5, job a or c"),
        ("", "age == 2 and ill == 'no'", "all records, but not: age == 2 and ill == 'no'"),
        ("age > 1", "age == 3 and ill == 'no'", "age > 1, but not: age == 3 and ill == 'no'"),
    ],
)
def test_groups_in_words(larger, smaller, group):
    (found,) = differences([table("t", ("ill",), smaller), table("u", ("ill",), larger)], records(1))
    assert (found.larger, found.smaller, found.group) == ("u", "t", group)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_counts_are_those_of_the_two_tables_subtracted(seed):
    data = records(seed)
    one, other = table("one", ("job", "ill"), "age > 1"), table("other", ("job", "ill"), "age > 1 and job != 'b'")
    (found,) = differences([one, other], data)
    subtracted = one.refit(data) - other.refit(data)
    assert found.records == subtracted.sum()
    assert found.cells == (subtracted > 0).sum()
    assert found.below == ((subtracted > 0) & (subtracted < 10)).sum()


def test_pairs_that_isolate_nobody_in_particular():
    same = [table("a", ("ill",), "age > 1"), table("b", ("ill",), "age >= 2"), table("c", ("ill",), "age in [2,3,4,5]")]
    crossing = [table("a", ("ill",), "age > 1"), table("b", ("ill",), "age < 4")]
    assert differences(same, records(2)) == []
    assert differences(crossing, records(2)) == []
    assert differences([table("a", ("ill",)), table("b", ("job",))], records(2)) == []


def test_only_the_finest_tables_are_listed_and_other_kinds_share_none():
    larger = [table(f"all {by}", by) for by in (("ill",), ("ill", "job"), ("age",))]
    smaller = [table(f"some {by}", by, "age < 5") for by in (("ill",), ("ill", "job"))]
    found = differences([*larger, *smaller], records(3))
    assert [row.variables for row in found] == ["ill+job"]
    logits = [Logit(CODEBOOK, "l", "ill ~ age"), Logit(CODEBOOK, "m", "ill ~ age", where="age < 5")]
    (row,) = differences(logits, records(3))
    assert (row.variables, row.cells, row.below) == ("", 0, 0)
    assert row.records == (records(3).codes[:, 0] == 4).sum()


def test_the_smallest_group_comes_first():
    outputs = [table(f"t{k}", ("ill",), f"age <= {k}") for k in (5, 4, 3)]
    found = differences(outputs, records(4))
    assert [row.records for row in found] == sorted(row.records for row in found)
    assert {(row.larger, row.smaller) for row in found} == {("t5", "t4"), ("t5", "t3"), ("t4", "t3")}


def test_supports_too_large_to_compare_fall_back_on_the_records():
    codebook = Codebook(tuple(Variable(name, "integer", tuple(range(300))) for name in "abc"))
    rows = np.array(list(product(range(3), repeat=3)), dtype=np.uint16)
    outputs = [
        Frequencies(codebook, "one", ("a",), "b + c >= 0"),
        Frequencies(codebook, "two", ("a",), "a + b >= 1"),
    ]
    (found,) = differences(outputs, Microdata(codebook, rows))
    assert found.records == 3
    assert "was not checked" in found.note


def test_the_sum_of_two_or_three_subtracted_from_the_whole():
    rows = [[0, 0, 0]] * 3 + [[1, 1, 1]] * 4 + [[2, 2, 0]] * 5 + [[3, 0, 1]] * 6 + [[4, 1, 1]] * 2
    data = Microdata(CODEBOOK, np.array(rows, dtype=np.uint16))
    ages = {"first": "age == 1", "next": "age in [2, 3]", "fourth": "age == 4"}
    outputs = [table("all", ("ill",)), *(table(name, ("ill",), where) for name, where in ages.items())]
    found = [row for row in differences(outputs, data, threshold=3, target="ill") if row.records < 3]
    assert [(row.larger, row.smaller, row.records, row.group) for row in found] == [
        ("all", "first minus next minus fourth", 2, "age 5")
    ]
    assert (found[0].variables, found[0].alike) == ("ill", 2)
    overlapping = [table("all", ("ill",)), table("b", ("ill",), "age <= 3"), table("c", ("ill",), "age >= 3")]
    assert not [row for row in differences(overlapping, data, threshold=3) if " minus " in row.smaller]


def test_a_group_of_many_values_is_named_at_once():
    """The texts of a variable's values were made anew for each value of a group: 20,000 of them took minutes."""
    wage = Variable("wage", "integer", tuple(range(20_000)))
    codebook = Codebook((wage, Variable("ill", "categorical", ("no", "yes"))))
    pair = compare(codebook, "", "wage < 1000", "a table")
    begun = time.process_time()
    assert group_in_words(codebook, pair, "", "wage < 1000") == "wage 1000 to 19999"
    assert time.process_time() - begun < 5.0
