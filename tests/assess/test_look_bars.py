"""Histograms are read as tables: one bar, empty bars, and what rounded shares do not say."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.as_subsets import as_subsets
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Histogram
from outrisk.outputs.tables.histogram import bars_of
from outrisk.outputs.tables.protection import Protection

APPETITE = Appetite()
CODEBOOK = Codebook(
    (
        Variable("area", "categorical", ("n", "s")),
        Variable("visits", "integer", tuple(range(7))),
        Variable("weight", "integer", (1, 2)),
    )
)


def records(*rows):
    """Records of (area, visits), each so many times."""
    return Microdata(CODEBOOK, np.array([(a, v, 0) for a, v, n in rows for _ in range(n)], dtype=np.uint16))


def alike(output, data):
    """What is found of the bars of those who are in a cell."""
    found = look([output], data, APPETITE, "visits")
    return [each for each in found if each.rule == "same answer" and each.about != "area"]


def bars(breaks=(0, 2, 4, 5, 6), **options):
    return Histogram(CODEBOOK, "bars", "visits", breaks, ("area",), **options)


def test_all_in_the_bar_of_one_whole_number():
    data = records((0, 4, 144), *[(1, value, 20) for value in range(7)])
    (found,) = alike(bars(), data)
    assert (found.certain, found.people, found.cells, found.about) == (True, 144, 1, "visits")
    assert "everybody has the same value (4: 144)" in found.what
    assert found.places == "area=n: 144 people, all visits=4"


def test_an_empty_bar_of_two_leaves_a_band():
    data = records((0, 5, 70), (0, 6, 70), (1, 1, 20), (1, 6, 20))
    (found,) = alike(bars((0, 5, 6)), data)
    assert (found.certain, found.people) == (True, 140)
    assert "everybody is in the same bar (5 to 6: 140)" in found.what
    assert alike(bars((0, 6)), data) == []  # one bar of all values says nothing
    assert alike(bars((0, 5, 6), where="visits >= 5"), data) == []  # nor what `where` says already


def test_a_bar_tells_the_cell():
    data = records((0, 1, 20), (0, 5, 20), (1, 1, 20))
    found = {each.about: each.people for each in look([bars()], data, APPETITE, "visits") if each.certain}
    assert found == {"visits": 20, "area": 20}


def test_values_in_no_bar_leave_it_open():
    (found,) = alike(bars((0, 2, 4)), records((0, 1, 30), (1, 1, 20), (1, 3, 20)))
    assert not found.certain
    assert "may be told" in found.what
    assert found.what.endswith("of those who are in a bar.")


@pytest.mark.parametrize(("others", "certain"), [(500, True), (5000, False)])
def test_a_share_of_1_need_not_be_everybody(others, certain):
    data = records((0, 4, others), (1, 1, 20), (1, 4, 20))
    assert bool(alike(bars(show="proportions"), data)) == certain


def test_a_printed_zero_that_leaves_several_bars_excludes_a_value():
    data = records(*[(area, value, 20) for area in (0, 1) for value in range(7) if (area, value) != (0, 4)])
    (found,) = (each for each in look([bars()], data, APPETITE, "visits") if each.about != "area")
    assert (found.rule, found.certain, found.people) == ("values excluded", False, 120)
    assert found.places == "area=n: nobody has visits=4"


OPTIONS = [
    {},
    {"show": "proportions", "digits": 1},
    {"show": "density", "digits": 1},
    {"weight": "weight"},
    {"weight": "weight", "show": "proportions", "digits": 1},
    {"protection": Protection(round_to=3)},
    {"protection": Protection(threshold=3)},
    {"show": "proportions", "protection": Protection(threshold=3)},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_what_is_certain_is_true_of_all_data_with_the_printed_bars(options):
    """Every move of a record of a cell to another bar would be printed: a brute force over these."""
    rng, certain = np.random.default_rng(7), 0
    output = bars((0, 2, 4, 6), **options)
    for _ in range(25):
        n = int(rng.integers(3, 10))
        codes = np.stack([rng.integers(0, 2, n), rng.choice(7, n, p=rng.dirichlet(np.full(7, 0.1))), np.ones(n)])
        codes[2] = rng.integers(0, 2, n)
        data = Microdata(CODEBOOK, codes.T.astype(np.uint16))
        printed = np.stack(output.publish(output.refit(data)))
        for finding in alike(output, data):
            if not finding.certain:
                continue
            certain += 1
            bar = bars_of(data.codes[:, 1], output.breaks, output.closed)
            cells = [set(bar[finding.who][data.codes[finding.who, 0] == area]) for area in (0, 1)]
            assert max(map(len, cells)) == 1
            for moved, value in product(finding.who, (0, 2, 4)):
                other = data.codes.copy()
                other[moved, 1] = value
                if bars_of(other[moved, [1]], output.breaks, output.closed)[0] == bar[moved]:
                    continue
                again = np.stack(output.publish(output.refit(replace(data, codes=other))))
                assert not np.array_equal(again, printed)
    assert certain > 2 or options == OPTIONS[5]  # where 0 is 0 or 1


def of_differences(outputs, data, target="area"):
    return [each for each in look(outputs, data, APPETITE, target) if each.rule == "difference of outputs"]


def test_bars_of_other_breaks_are_subtracted():
    """Of visits 0 and 1 there is one, in the north: bars from 0 and from 2 to 4 differ by that one record."""
    data = records((0, 1, 1), *[(area, value, 20) for area in (0, 1) for value in (2, 3, 4, 5, 6)])
    early, late = bars((0, 4, 6)), replace(bars((2, 4, 6)), name="late")
    (found,) = of_differences([early, late], data)
    assert (found.certain, found.people, found.about, found.output) == (True, 1, "area", "bars minus late")
    assert "visits 0 or 1" in found.what
    several = records((0, 1, 15), (1, 0, 15), *[(area, value, 20) for area in (0, 1) for value in (2, 3, 4, 5, 6)])
    assert not of_differences([early, late], several)
    rounded = replace(late, protection=Protection(round_to=5))
    assert not any(each.certain for each in of_differences([early, rounded], data))


def test_bars_are_subtracted_from_tables_of_some_of_their_values():
    data = records((0, 1, 1), *[(area, value, 20) for area in (0, 1) for value in (2, 3, 4, 5, 6)])
    some = Frequencies(CODEBOOK, "some", ("area",), "visits < 4")
    (found,) = of_differences([some, bars((2, 4, 6))], data)
    assert (found.certain, found.people, found.output) == (True, 1, "some minus bars")


def test_bars_alone_and_shares_are_no_tables():
    other = replace(bars((2, 4, 6)), name="other", show="proportions")
    assert as_subsets([bars()], CODEBOOK, []) == [] == as_subsets([other, replace(other, name="third")], CODEBOOK, [])
    assert len(as_subsets([bars((0, 2, 4)), bars((0, 4, 6))], CODEBOOK, [])) == 4
