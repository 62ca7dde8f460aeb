"""What means, sums and quantiles tell of single values: what is called certain is so of all values with the same print.

The twin goes over every assignment of values to the records of a table, from its definition: a value that is claimed
for certain is the same in all that print the same, or within the share of the p % rule where that is said.
"""

from itertools import product

import numpy as np
import pytest

from outrisk.assess.look import Appetite, look
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Magnitudes, Quantiles
from outrisk.outputs.tables.protection import Protection

APPETITE = Appetite()
TOP = Protection(top_code=60)
BOOK = Codebook(
    (
        Variable("area", "categorical", ("n", "s", "w")),
        Variable("pay", "integer", (0, 50, 59, 60, 61, 200)),
        Variable("w", "numeric", (0.5, 1.0, 2.0)),
    )
)


def records(*cells, book=BOOK):
    """Records by area: the values of pay of each."""
    code = book["pay"].code_of
    rows = [(area, code[value], 1) for area, values in enumerate(cells) for value in values]
    return Microdata(book, np.array(rows, dtype=np.uint16))


def means(statistics=("mean",), digits=(), protection=TOP, **more):
    return Magnitudes(BOOK, "t", "pay", ("area",), statistics, digits=digits, protection=protection, **more)


def quantiles(at=(0.0, 1.0), digits=2, protection=TOP, **more):
    return Quantiles(BOOK, "q", "pay", ("area",), at, digits=digits, protection=protection, **more)


def found(outputs, data, rule):
    return [each for each in look(outputs, data, APPETITE, "pay") if each.rule == rule]


@pytest.mark.parametrize("output", [means(), means(("sum", "count")), quantiles((0.5,)), quantiles()])
def test_the_top_code_is_told_of_one_person_and_not_the_value(output):
    (one,) = found([output], records([200], [50, 59], [0, 59]), "same answer")
    assert one.certain, "that it is no less"
    assert one.what.startswith("pay of 1 person is told for certain to be 60 or more, the top code: 1 cell in which")
    (below,) = found([output], records([59], [50, 59], [0, 59]), "same answer")
    assert below.certain, "a value below the top code is told"


@pytest.mark.parametrize("output", [means(), means(("mean", "sd")), quantiles()])
def test_the_top_code_is_told_of_a_cell_of_many(output):
    (all_,) = found([output], records([200, 61, 60], [50, 59], [0, 59]), "same answer")
    assert (all_.certain, all_.people) == (True, 3)
    assert "is told for certain to be 60 or more" in all_.what


def test_a_value_that_alone_counts_as_the_top_code_is_told():
    """Of 200 alone lies above 61.5, or where the condition leaves no other."""
    data = records([200], [50, 59], [0, 59])
    for output in (means(protection=Protection(top_code=61.5)), means(where="pay not in [60, 61]")):
        assert found([output], data, "same answer")[0].certain


@pytest.mark.parametrize("output", [means(("mean",), where="pay < 200"), quantiles(where="pay < 200")])
def test_the_top_code_of_values_that_are_near_each_other_tells_them_to_within_the_share_of_the_rule(output):
    """60 and 61 alone count as 60: whoever has it has a value within 10 % of either."""
    found_ = look([output], records([61, 61], [50, 59], [0, 59]), APPETITE, "pay")
    (told,) = [each for each in found_ if each.rule == "same answer"]
    assert (told.certain, told.people) == (True, 2)
    assert "to within the share of the p % rule" in told.what
    assert all(each.certain for each in found_ if each.rule == "extreme values")


def test_what_records_of_one_person_come_to_is_not_told_with_the_top_code():
    data = records([200, 50], [50, 59], [0, 59])
    of_one = Microdata(data.codebook, data.codes, np.array([0, 0, 1, 2, 3, 4]))
    assert found([means(("sum",))], of_one, "same answer") == []
    (told,) = found([means(("sum",), protection=Protection())], of_one, "same answer")
    assert told.certain


def test_a_largest_value_that_is_the_top_code_is_nobodys():
    by_rule = found([quantiles((1.0,))], records([200, 50], [50, 59], [0, 59]), "extreme values")
    assert [(each.certain, each.people) for each in by_rule] == [(True, 2), (False, 1)]
    assert "the top code, 60 or more," in by_rule[1].what


def test_whose_contribution_is_the_top_code_is_not_worked_out():
    """Of 60 or more and 0: by the second the largest is known to be the top code, which 200 counts as."""
    data = records([200, 0, 0], [50, 59, 59], [50, 59, 59])
    (top,) = found([means(("sum", "count"))], data, "dominance")
    assert not top.certain
    (plain,) = found([means(("sum", "count"), protection=Protection())], data, "dominance")
    assert plain.certain


def test_what_subtraction_leaves_of_the_top_code_is_not_told():
    data = records([200, 50], [50, 59], [0, 59])
    outputs = [means(("sum",)), Magnitudes(BOOK, "less", "pay", ("area",), ("sum",), "pay < 60", protection=TOP)]
    assert not [each for each in look(outputs, data, APPETITE, "pay") if each.certain and 0 in each.who]


def test_counts_tell_no_value():
    assert found([means(("count",), protection=Protection())], records([50], [50, 59], [0, 59]), "same answer") == []
    (by_one,) = found([means(("sd",), protection=Protection())], records([50, 50], [50, 59], [0, 59]), "same answer")
    assert "to who knows that of one of them" in by_one.what


@pytest.mark.parametrize(
    "output", [means(("mean", "sd"), (-2, 2), Protection()), means(("sum", "sd"), protection=Protection(round_to=50))]
)
def test_digits_that_leave_several_values_leave_all_alike_where_a_deviation_of_0_shows_it(output):
    """Who knows the own value knows the others', as without a mean or sum beside it: 59, 60 and 61 print alike."""
    (told,) = found([output], records([60, 60], [50, 59], [0, 59]), "same answer")
    assert (told.certain, told.people) == (True, 2)
    assert "to who knows that of one of them" in told.what


def test_least_and_largest_values_that_print_alike_and_may_differ_are_not_certain():
    coarse = quantiles(digits=-2, protection=Protection())
    assert not [each for each in found([coarse], records([60, 60], [50, 59], [0, 59]), "same answer") if each.certain]


def test_weighted_sums_of_unknown_weights_tell_no_value():
    data = records([50], [50, 59], [0, 59])
    rule = {"protection": Protection(), "weight": "w"}
    assert found([means(("sum",), **rule)], data, "same answer") == []
    assert found([means(("sum", "count"), (2, 2), **rule)], data, "same answer")[0].certain
    assert found([means(("mean",), **rule)], data, "same answer")[0].certain


def printed(output, cells, values):
    """What an output prints of every assignment (sets, n) of values to records of cells (n,), from the definition."""
    counted = values if output.protection.top_code is None else np.minimum(values, output.protection.top_code)
    numbers = []
    for cell in np.unique(cells):
        own = counted[:, cells == cell]
        if isinstance(output, Quantiles):
            numbers += [np.round(np.quantile(own, each, axis=1), output.digits) for each in output.probabilities]
            continue
        for statistic, digits in zip(output.statistics, output._digits, strict=True):
            records = own.shape[1]
            of = {"mean": own.mean(axis=1), "sum": own.sum(axis=1), "count": np.full(len(own), float(records))}
            of["sd"] = own.std(axis=1, ddof=1) if records > 1 else np.zeros(len(own))  # not defined, of any value
            numbers.append(np.round(of[statistic], digits))
    return np.stack(numbers, axis=1)


SMALL = Codebook((Variable("area", "categorical", ("n", "s")), Variable("pay", "numeric", (0, 0.4, 1, 60, 61, 90))))
RULES = [Protection(), Protection(), Protection(top_code=60), Protection(top_code=61), Protection(top_code=0.4)]


def random_case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    rows = np.stack([np.sort(rng.integers(0, 2, n)), rng.integers(0, 6, n)], axis=1)
    for area in range(2):  # cells of one value are what most claims are about
        if rng.random() < 0.6:
            rows[rows[:, 0] == area, 1] = rng.integers(0, 6)
    rule = RULES[rng.integers(0, len(RULES))]
    if rng.random() < 0.4:
        at = [(0.0, 1.0), (1.0,), (0.0,), (0.5,), (0.0, 0.5, 1.0)][rng.integers(0, 5)]
        output = Quantiles(SMALL, "t", "pay", ("area",), at, digits=int(rng.integers(0, 2)), protection=rule)
    else:
        some = [("mean",), ("sum",), ("mean", "sd"), ("sum", "sd"), ("sd",), ("count",), ("mean", "sum", "count")]
        some = some[rng.integers(0, len(some))]
        digits = tuple(0 if each == "count" else int(rng.integers(0, 3)) for each in some)
        output = Magnitudes(SMALL, "t", "pay", ("area",), some, digits=digits, protection=rule)
    return Microdata(SMALL, rows.astype(np.uint16)), output


def _are_values_of_few(each, fits, cells, own):
    """Whether all that fit have the same values of these people, in order, or of all the others beside one's own."""
    near = 0.1 if "to within the share" in each.what else 0.0
    for area in np.unique(cells[each.who]):
        mine = np.flatnonzero(cells == area)
        whole = [(fits[:, mine], own[mine], np.isin(mine, each.who))]
        if "to who has another" in each.what:
            whole = [
                (fits[fits[:, one] == own[one]][:, mine[mine != one]], own[mine[mine != one]], slice(None))
                for one in mine
            ]
        same = []
        for sets, values, told in whole:
            order = np.argsort(values, kind="stable")
            off = np.abs(np.sort(sets, axis=1) - values[order]).max(axis=0)
            same.append((off <= near * values[order])[told if isinstance(told, slice) else told[order]].all())
        if not any(same):
            return False
    return True


def test_what_is_called_certain_is_so_of_all_values_with_the_same_print():
    support, claimed = np.array(SMALL["pay"].values, dtype=float), 0
    for seed in range(600):
        data, output = random_case(seed)
        cells, own = data.codes[:, 0], support[data.codes[:, 1]]
        every = np.array(list(product(support, repeat=len(own))))
        fits = every[(printed(output, cells, every) == printed(output, cells, own[None])).all(axis=1)]
        told = set()
        for each in look([output], data, APPETITE, "pay"):
            if not each.certain or each.about != "pay" or each.rule == "dominance":
                continue
            near = 0.1 if "to within the share" in each.what else 0.0
            claimed += 1
            told |= set(each.who.tolist())
            if each.rule == "extreme values":  # that somebody has the value, and not who
                for area in np.unique(cells[each.who]):
                    mine = cells == area
                    ends = [end(fits[:, mine], axis=1) for end in (np.min, np.max)]
                    sure = [np.ptp(end) <= 0.2 * end.max() for end in ends]
                    assert any(sure), (seed, each.what)
                continue
            if each.rule == "values of few":  # that some have them, and not who; or to one of them
                assert _are_values_of_few(each, fits, cells, own), (seed, each.what)
                continue
            for person in each.who.tolist():
                left = fits
                if "who knows that of one of them" in each.what:
                    other = next(row for row in each.who.tolist() if row != person and cells[row] == cells[person])
                    left = fits[fits[:, other] == own[other]]
                if "or more, the top code" in each.what:
                    assert (left[:, person] >= output.protection.top_code).all(), (seed, each.what)
                    continue
                assert (np.abs(left[:, person] - own[person]) <= near * own[person]).all(), (seed, each.what)
        alone = {row for row in range(len(own)) if (cells == cells[row]).sum() == 1 and np.ptp(fits[:, row]) == 0}
        assert alone <= told, "the value of who is alone in a cell, where the print leaves no other"
    assert claimed > 150
