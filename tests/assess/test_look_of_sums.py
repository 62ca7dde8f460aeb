"""Sums that subtraction leaves: of one person their value; what is called certain is so in all data sets that fit."""

from itertools import product

import numpy as np
import pytest

from outrisk.assess.look import Appetite, look
from outrisk.assess.look.of_sums import sums_subtracted
from outrisk.assess.look.printed import Numbers
from outrisk.assess.look.withheld import counts_withheld, sums_withheld
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes
from outrisk.outputs.tables.protection import Protection

APPETITE = Appetite()
CODEBOOK = Codebook(
    (
        Variable("area", "categorical", ("n", "s")),
        Variable("age", "integer", (1, 2, 3, 4)),
        Variable("eth", "categorical", ("a", "b", "c")),
        Variable("pay", "integer", tuple(range(0, 1001, 10))),
    )
)


def records(*rows, book=CODEBOOK):
    """Records of (area, age, eth, pay) by code, each so many times."""
    return Microdata(book, np.array([row[:4] for row in rows for _ in range(row[4])], dtype=np.uint16))


def pay(name, by=(), where="", statistics=("count", "sum"), digits=(0, 0), book=CODEBOOK, **options):
    return Magnitudes(book, name, "pay", by, statistics, where, digits=digits, **options)


def certain(outputs, data, inside=False):
    found = look(outputs, data, APPETITE, "pay", inside)
    return [(each.rule, each.output, each.who.tolist()) for each in found if each.certain and each.about == "pay"]


EVERYBODY = [(area, age, eth, 20 + age, 15) for area in range(2) for age in range(3) for eth in range(3)]


@pytest.mark.parametrize("statistics", [("count", "sum"), ("sum",), ("mean", "count")])
def test_one_person_is_left(statistics):
    data = records(*EVERYBODY, (0, 3, 2, 73, 1))
    digits = tuple(0 if each != "mean" else 2 for each in statistics)
    outputs = [pay("all", (), "", statistics, digits), pay("under 4", (), "age < 4", statistics, digits)]
    assert certain(outputs, data) == [("difference of outputs", "all minus under 4", [270])]
    first = look(outputs, data, APPETITE, "pay")[0]
    assert "pay of 1 person is told for certain: subtracting “under 4” from “all” leaves it alone (age 4)" in first.what


def test_one_person_is_left_in_a_cell_of_many():
    data = records(*EVERYBODY, *[(0, 3, 0, 30 + k, 1) for k in range(20)], (0, 3, 2, 73, 1))
    outputs = [pay("all", ("eth",)), pay("under 4", ("eth",), "age < 4")]
    assert certain(outputs, data) == [("difference of outputs", "all minus under 4", [290])]
    named = look(outputs, data, APPETITE, "pay", inside=True)[0]
    assert named.places == "eth=c: 1 record"


def test_one_person_dominates_what_is_left():
    data = records(*EVERYBODY, (0, 3, 2, 100, 1), (0, 3, 2, 20, 1), *[(0, 3, 2, 0, 1)] * 12)
    assert certain([pay("all"), pay("under 4", (), "age < 4")], data) == [("dominance", "all minus under 4", [270])]


def test_what_is_rounded_tells_no_value():
    data = records(*EVERYBODY, (0, 3, 2, 73, 1))
    rounded = {"protection": Protection(round_to=500)}
    assert certain([pay("all", **rounded), pay("under 4", (), "age < 4", **rounded)], data) == []
    coarse = {"statistics": ("mean", "count"), "digits": (0, 0)}
    assert certain([pay("all", **coarse), pay("under 4", (), "age < 4", **coarse)], data) == []


def test_a_withheld_sum_follows_from_the_totals_of_another_table():
    data = records(*[row for row in EVERYBODY if row[:3:2] != (0, 2)], (0, 3, 2, 73, 1))  # nobody else of c in n
    guarded = pay("by both", ("area", "eth"), protection=Protection(threshold=10))
    assert certain([guarded], data) == []
    found = certain([guarded, pay("by area", ("area",))], data)
    assert found == [("withheld cells recoverable", "by both", [225])]
    means = [
        pay("by both", ("area", "eth"), "", ("mean", "count"), (2, 0), protection=Protection(threshold=10)),
        pay("by area", ("area",), "", ("mean", "count"), (2, 0)),
    ]
    assert certain(means, data) == found
    two = records(*[row for row in EVERYBODY if row[0] or row[2] == 0], (0, 3, 1, 73, 1), (0, 3, 2, 50, 1))
    assert certain([guarded, pay("by area", ("area",))], two) == []


def test_withheld_counts_follow_though_no_programme_is_solved():
    book = Codebook((*CODEBOOK.variables[:3], Variable("pay", "integer", tuple(range(0, 10001)))))
    data = records(*[row for row in EVERYBODY if row[:3:2] != (0, 2)], (0, 3, 2, 73, 3), book=book)
    outputs = [
        pay("by both", ("area", "eth"), book=book, protection=Protection(threshold=10)),
        pay("by area", ("area",), book=book),
    ]
    found = list(counts_withheld(Numbers.of(outputs, data), outputs, data, True))
    assert [(each.output, each.cells, each.who.tolist(), each.places) for each in found] == [
        ("by both", 1, [225, 226, 227], "area=n, eth=c: 3")
    ]
    assert "withheld cells recoverable" in {each.rule for each in look(outputs, data, APPETITE, "pay")}
    counts = [
        Frequencies(book, "t", ("area", "eth"), protection=Protection(threshold=10)),
        Frequencies(book, "u", ("eth",), margins=True),
        Frequencies(book, "v", ("area",)),
    ]
    found = list(counts_withheld(Numbers.of(counts, data), counts, data, True))
    assert [(each.output, each.places) for each in found] == [("t", "area=n, eth=c: 3")]


SMALL = Codebook((*CODEBOOK.variables[:3], Variable("pay", "integer", (0, 1, 3, 4, 9))))
PROTECTIONS = [Protection()] * 4 + [Protection(threshold=2), Protection(round_to=2), Protection(top_code=4)]


def random_case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    codes = [rng.integers(0, size, n) for size in SMALL.sizes]
    data = Microdata(SMALL, np.stack(codes, axis=1).astype(np.uint16))
    outputs = []
    for k in range(int(rng.integers(2, 4))):
        where = str(rng.choice(["", "", "age < 4", "age > 1", "age in [2, 3]"]))
        by = [(), ("area",), ("eth",), ("area", "eth")][rng.integers(0, 4)]
        statistics = [("count", "sum"), ("sum",), ("mean", "count"), ("mean",)][rng.integers(0, 4)]
        protection = PROTECTIONS[rng.integers(0, len(PROTECTIONS))]
        if protection.round_to and statistics == ("mean",):
            protection = Protection()
        digits = tuple(int(rng.integers(0, 3)) if each == "mean" else 0 for each in statistics)
        outputs.append(pay(f"{k}", by, where, statistics, digits, SMALL, protection=protection))
    return data, outputs


def print_of(output, data, values):
    """What an output prints where the records have these values (sets, n), by the definition; (sets, numbers)."""
    frame = data.frame()
    inside = frame.eval(output.where).to_numpy() if output.where else np.ones(len(data), bool)
    keys = [tuple(frame[name].astype(str).iloc[row] for name in output.by) for row in range(len(data))]
    rule, numbers = output.protection, []
    values = values if rule.top_code is None else np.minimum(values, rule.top_code)
    for key in sorted({key for key, is_in in zip(keys, inside, strict=True) if is_in}):
        rows = [row for row in range(len(data)) if inside[row] and keys[row] == key]
        if rule.threshold and len(rows) < rule.threshold:
            continue
        total = values[:, rows].sum(axis=1)
        for statistic, digits in zip(output.statistics, output.digits, strict=True):
            if statistic == "sum":
                base = rule.round_to
                numbers.append(base * np.floor(total / base + 0.5) if base else total)
            elif statistic == "mean":
                numbers.append(np.round(total / len(rows), digits))
    return np.stack(numbers, axis=1) if numbers else np.zeros((len(values), 0))


def claims(data, outputs):
    numbers = Numbers.of(outputs, data)
    found = [*sums_subtracted(numbers, data, APPETITE, "pay", False)]
    return [each for each in [*found, *sums_withheld(numbers, outputs, data, APPETITE, False)] if each.certain]


def test_what_is_called_certain_is_so_in_every_data_set_that_fits():
    found_in = 0
    for seed in range(250):
        data, outputs = random_case(seed)
        claimed = claims(data, outputs)
        if not claimed:
            continue
        found_in += 1
        support = np.array(SMALL["pay"].values, dtype=float)
        every = np.array(list(product(support, repeat=len(data))))
        own = support[data.codes[:, 3]]
        fits = np.ones(len(every), bool)
        for output in outputs:
            fits &= (print_of(output, data, every) == print_of(output, data, own[None])).all(axis=1)
        for each in claimed:
            for person in each.who:
                possible, true = every[fits][:, person], own[person]
                if each.rule == "dominance":  # to somebody who knows the other values
                    assert true > 0
                    continue
                assert (np.abs(possible - true) <= 0.1 * true).all(), (seed, each.what, possible, true)
    assert found_in > 25


def test_a_dominating_value_is_within_reach_of_the_second():
    """By hand from what is printed: the sum that is left, at most, less the second largest is the largest to 10 %."""
    found_in = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        values = np.sort(rng.integers(0, 8, int(rng.integers(3, 6))))
        data = records(*EVERYBODY, (0, 3, 2, int(rng.integers(60, 101)), 1), *[(0, 3, 2, int(v), 1) for v in values])
        base = int(rng.choice([0, 20, 100]))
        rule = {"protection": Protection(round_to=base)} if base else {}
        outputs = [pay("all", statistics=("sum",), digits=(0,), **rule)]
        outputs.append(pay("under 4", (), "age < 4", ("sum",), (0,), **rule))
        low, high = (outputs[0].publish(outputs[0].refit(data)), outputs[1].publish(outputs[1].refit(data)))
        half = 0.0 if base else 0.5
        most = float(low[1][0] - high[0][0]) + 2 * half
        own = np.sort(10.0 * data.codes[270:, 3])[::-1]
        reached = most - own[1] - own[0] < 0.1 * own[0] and own[0] > 0 and own[2:].sum() < 0.1 * own[0]
        found = [each for each in claims(data, outputs) if each.rule == "dominance"]
        assert bool(found) == bool(reached)
        assert all(each.who.tolist() == [270 + int(np.argmax(data.codes[270:, 3]))] for each in found)
        found_in += bool(found)
    assert found_in > 20
