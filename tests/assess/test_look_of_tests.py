"""Tests that compare few people, and what a difference tells beside a mean of the others."""

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import HypothesisTest, Magnitudes

CODEBOOK = Codebook(
    (Variable("eth", "categorical", ("a", "b", "c")), Variable("visits", "integer", tuple(range(0, 41, 1))))
)


def data_of(*groups):
    """Records of the groups a, b, c with these visits."""
    rows = [(at, value) for at, values in enumerate(groups) for value in values]
    return Microdata(CODEBOOK, np.array(rows, dtype=np.uint16))


def compared(test="t", statistics=("difference", "n"), places=3, **options):
    options = {"where": "eth != 'a'", **options}
    return HypothesisTest(CODEBOOK, "t", test, "visits", ("eth",), statistics, places=places, **options)


def found_in(outputs, data):
    return [(each.rule, each.certain, each.people) for each in look(outputs, data, Appetite(), "visits")]


TABLE = Magnitudes(CODEBOOK, "m", "visits", ("eth",), ("mean", "count"), "eth != 'c'", digits=(3, 0))


def test_one_person_against_many():
    rng = np.random.default_rng(1)
    data = data_of(rng.integers(0, 9, 60), rng.integers(0, 9, 241), [11])
    for test in ("t", "welch", "rank-sum", "kruskal-wallis"):
        statistics = ("difference", "n") if test in ("t", "welch") else ("statistic", "n")
        assert found_in([compared(test, statistics)], data) == [("small cells", False, 1)]
    assert found_in([compared(), TABLE], data) == [("same answer", True, 1), ("small cells", False, 1)]
    other = Magnitudes(CODEBOOK, "m", "visits", ("eth",), ("mean", "count"), "eth != 'b'", digits=(3, 0))
    assert ("same answer", True, 1) not in found_in([compared(), Magnitudes(CODEBOOK, "m", "visits")], data)
    assert ("same answer", False, 1) in found_in([compared(places=0), TABLE], data), "11 or 12 are printed so"
    assert ("same answer", True, 1) in found_in([other], data), "whose own mean is printed"


def test_a_mean_of_two_is_a_sum_where_both_groups_together_are_counted():
    rng = np.random.default_rng(1)
    data = data_of(rng.integers(0, 9, 60), rng.integers(0, 9, 241), [40, 1])
    assert ("dominance", True, 1) in found_in([compared(), TABLE], data)
    uncounted = compared(statistics=("difference",))
    assert ("dominance", False, 1) in found_in([uncounted, TABLE], data)
    assert ("dominance", True, 1) not in found_in([uncounted, TABLE], data)


def test_groups_of_enough_people_are_no_finding():
    rng = np.random.default_rng(1)
    data = data_of(*(rng.integers(0, 9, 60) for _ in range(3)))
    assert found_in([compared(), TABLE], data) == []


@pytest.mark.parametrize("digits", [0, 1, 3])
def test_what_is_certain_follows_from_what_is_printed(digits):
    """From the printed mean and difference alone, by every value that the one may have, or the larger of two."""
    rng, certain = np.random.default_rng(digits), 0
    test = compared(places=digits)
    table = Magnitudes(CODEBOOK, "m", "visits", ("eth",), ("mean", "count"), "eth != 'c'", digits=(digits, 0))
    half = 0.5 * 10.0**-digits
    for _ in range(150):
        few = rng.choice([0, 1, 2, 20, 40], int(rng.integers(1, 4)))
        data = data_of(rng.integers(0, 9, 4), rng.integers(0, 41, int(rng.integers(2, 12))), few)
        mean, difference = table.publish(table.refit(data))[0][2], test.publish(test.refit(data))[0][0]
        if not np.isfinite([mean, difference]).all():
            continue
        ends = mean - difference - 2 * half, mean - difference + 2 * half
        for each in look([test, table], data, Appetite(), "visits"):
            if not each.certain or "with" not in each.output:
                continue
            certain += 1
            own = data.codes[each.who, 1].astype(float)
            if each.rule == "same answer" and len(few) == 1:
                assert [v for v in range(41) if ends[0] <= v <= ends[1]] == own.tolist()
            elif each.rule == "same answer":  # all at an end: no other whole sum of so many is printed so
                sums = [s for s in range(40 * len(few) + 1) if ends[0] <= s / len(few) <= ends[1]]
                assert sums == [few.sum()]
                assert sums[0] in (0, 40 * len(few))
            else:
                largest, second = np.sort(few)[::-1][:2]
                assert all(abs(end * len(few) - second - largest) <= 0.1 * largest for end in ends)
    assert certain > 20 or digits == 0
