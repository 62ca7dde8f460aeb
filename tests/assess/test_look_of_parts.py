"""Sums of a whole less several parts of it, of bands less subsets by what they are of, and weighted ones: what each of
these leaves, and that what is called certain is so of all values and weights with the same print.
"""

import re
from itertools import combinations, product

import numpy as np
import pytest

from outrisk.assess.look import Appetite, look
from outrisk.assess.look.apart import nearly_whole
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Magnitudes
from outrisk.outputs.conditions.derived import derived_in
from outrisk.outputs.tables.protection import UNPROTECTED, Protection

APPETITE = Appetite()
BOOK = Codebook(
    (
        Variable("area", "categorical", ("n", "s")),
        Variable("age", "integer", tuple(range(8))),
        Variable("band", "integer", (0, 1)),
        Variable("w", "numeric", (0.5, 1.5, 2.0)),
        Variable("pay", "integer", (0, 10, 30, 70, 90)),
    )
)
RULES = tuple(rule.mask for rule in derived_in(BOOK, {"band": "age // 4"}).values())


def records(*rows):
    """Records of (area, age, weight's code, pay's code); the band follows from the age."""
    return Microdata(BOOK, np.array([(area, age, age // 4, w, pay) for area, age, w, pay in rows], dtype=np.uint16))


def pay(name, where="", by=(), statistics=("sum", "count"), digits=(0, 0), weight="", protection=UNPROTECTED):
    return Magnitudes(BOOK, name, "pay", by, statistics, where, weight, digits, protection)


def certain(outputs, data, inside=False):
    found = look(outputs, data, APPETITE, "pay", inside, RULES)
    return [each for each in found if each.certain and each.about == "pay" and each.rule != "dominance"]


EVERYBODY = [
    (area, age, 1, 1 + (area + age) % 3) for area in range(2) for age in (0, 1, 2, 3, 4, 5, 7) for _ in range(6)
]
WITH_ONE = records(*EVERYBODY, (0, 6, 2, 4))
ONE = len(EVERYBODY)


def test_a_whole_less_three_parts_leaves_one_person():
    parts = [pay("young", "age <= 2"), pay("middle", "age in [3, 4, 5]"), pay("old", "age == 7")]
    (found,) = certain([pay("all"), *parts], WITH_ONE)
    assert found.who.tolist() == [ONE]
    assert found.output == "all minus young minus middle minus old"
    assert "subtracting “young”, “middle”, “old” from “all” leaves it alone (age 6)" in found.what
    assert certain([pay("all"), *parts[:2]], WITH_ONE) == []


def test_parts_that_may_overlap_are_not_subtracted():
    overlapping = [
        pay("young", "age <= 3"),
        pay("old", "age == 7 or age == 3 and area == 's'"),
        pay("m", "age in [4, 5]"),
    ]
    data = records(*[row for row in EVERYBODY if row[:2] != (1, 3)], (0, 6, 2, 4))
    assert certain([pay("all"), *overlapping], data) == []


def test_few_that_parts_leave_are_said_to_be_few():
    data = records(*EVERYBODY, (0, 6, 2, 4), (1, 6, 1, 3), (1, 6, 1, 3))
    found = look([pay("all"), pay("y", "age <= 2"), pay("m", "age in [3, 4, 5]"), pay("o", "age == 7")], data, APPETITE)
    few = [each for each in found if each.output == "all minus y minus m minus o"]
    assert [(each.certain, each.people) for each in few] == [(False, 3)]


@pytest.mark.parametrize("less", ["age in [4, 5, 7]", "age == 7 or age == 5 or age == 4"])
def test_sums_of_bands_less_a_subset_by_what_they_are_of(less):
    (found,) = certain([pay("bands", by=("band",)), pay("less", less)], WITH_ONE)
    assert found.who.tolist() == [ONE]
    assert "subtracting “less” from “bands” leaves it alone (age 6)" in found.what
    assert certain([pay("bands", by=("band",)), pay("less", "age in [3, 4, 5, 7]")], WITH_ONE) == []


def test_sums_of_bands_that_are_rounded_by_chance_are_left_alone():
    protection = Protection(round_to=5, random=True)
    outputs = [pay("bands", by=("band",), protection=protection), pay("less", "age in [4, 5, 7]")]
    assert not [each for each in certain(outputs, WITH_ONE) if "difference" in each.rule]


def test_weighted_sums_on_nested_subsets():
    outputs = [pay("all", weight="w", digits=(1, 1)), pay("less", "age != 6", weight="w", digits=(1, 1))]
    (found,) = certain(outputs, WITH_ONE)
    assert found.who.tolist() == [ONE]
    means = {"statistics": ("mean", "count"), "digits": (6, 1), "weight": "w"}
    assert certain([pay("all", **means), pay("less", "age != 6", **means)], WITH_ONE)
    coarse = means | {"digits": (0, 1)}
    assert certain([pay("all", **coarse), pay("less", "age != 6", **coarse)], WITH_ONE) == []


def test_weighted_sums_alone_leave_what_no_weight_of_the_codebook_makes_of_another_value():
    """135 is 1.5 times 90, or 2 or 0.5 times no value; 15 is 1.5 times 10, and 0.5 times 30."""
    sums = {"statistics": ("sum",), "digits": (1,), "weight": "w"}
    for code, is_told in ((4, True), (1, False)):
        data = records(*EVERYBODY, (0, 6, 1, code))
        assert bool(certain([pay("all", **sums), pay("less", "age != 6", **sums)], data)) == is_told


def test_sums_that_few_subsets_could_make_up_are_found_without_going_through_all():
    """As before, by the definition: apart from each other, and all but fewer than ten together."""
    rng = np.random.default_rng(5)
    data = records(
        *[(int(a), int(b), 1, 1) for a, b in zip(rng.integers(0, 2, 60), rng.integers(0, 8, 60), strict=True)]
    )
    held = {"": np.ones(60, np.bool_)}
    held |= {f"age == {at}": data.codes[:, 1] == at for at in range(8)} | {"age < 4": data.codes[:, 1] < 4}
    found = list(nearly_whole(held, data, 10))
    for larger, parts in found:
        assert np.sum([held[each] for each in parts], axis=0).max() == 1
        assert 0 < held[larger].sum() - sum(held[each].sum() for each in parts) < 10
    size = {where: int(flags.sum()) for where, flags in held.items()}
    pairs = [
        (larger, parts)
        for larger in held
        for parts in combinations([each for each in held if each], 2)
        if all(each != larger and not (held[each] & ~held[larger]).any() for each in parts)
        and not (held[parts[0]] & held[parts[1]]).any()
        and 0 < size[larger] - size[parts[0]] - size[parts[1]] < 10
    ]
    assert {(larger, frozenset(parts)) for larger, parts in found if len(parts) == 2} == {
        (larger, frozenset(parts)) for larger, parts in pairs
    }


PARTS = ["", "age <= 2", "age in [3, 4]", "age >= 6"]
CONDITIONS = ["", "", "age < 4", "age >= 4", "age <= 2", "age in [3, 4]", "age > 4", "age != 6", "age in [4, 5, 7]"]


def random_case(seed):
    """Few records, and three to five tables on subsets of them, weighted in half of the cases."""
    rng = np.random.default_rng(seed)
    n, weight = int(rng.integers(3, 6)), "w" if rng.random() < 0.5 else ""
    data = records(*zip(*(rng.integers(0, size, n).tolist() for size in (2, 8, 3, 5)), strict=True))
    outputs, conditions = [], CONDITIONS if rng.random() < 0.4 else PARTS
    for at in range(int(rng.integers(3, 6)) if conditions is CONDITIONS else 4):
        where = str(rng.choice(conditions)) if conditions is CONDITIONS else conditions[at]
        statistics = [("sum",), ("sum", "count"), ("mean", "count"), ("mean",)][rng.integers(0, 4)]
        by = [(), (), ("band",), ("area",)][rng.integers(0, 4 if conditions is CONDITIONS else 2)]
        protection = Protection(top_code=30) if rng.random() < 0.1 else Protection()
        digits = tuple(int(rng.integers(0, 4)) if each != "count" or weight else 0 for each in statistics)
        outputs.append(pay(f"{at}", where, by, statistics, digits, weight, protection))
    frame = data.frame()
    return data, [each for each in outputs if not each.where or frame.eval(each.where).any()]


def printed(output, data, values, weights):
    """What an output prints of every assignment of values and weights (sets, n), by its definition."""
    frame, numbers = data.frame(), []
    inside = frame.eval(output.where).to_numpy() if output.where else np.ones(len(data), bool)
    key = frame[list(output.by)].astype(str).agg("-".join, axis=1) if output.by else frame["area"].astype(str) * 0
    for each in sorted(set(key[inside])):
        rows = inside & (key == each).to_numpy()
        counted = np.minimum(values, output.protection.top_code or np.inf)[:, rows]
        w = weights[:, rows] if output.weight else np.ones_like(counted)
        of = {"sum": (w * counted).sum(axis=1), "count": w.sum(axis=1)}
        of["mean"] = of["sum"] / of["count"]
        numbers += [np.round(of[name], at) for name, at in zip(output.statistics, output.digits, strict=True)]
    return np.stack(numbers, axis=1) if numbers else np.zeros((len(values), 0))


def test_what_is_called_certain_is_so_of_all_values_and_weights_with_the_same_print():
    support, of_weights = (np.array(BOOK[name].values, dtype=float) for name in ("pay", "w"))
    claimed = {"parts": 0, "weighted": 0, "pairs": 0}
    for seed in range(200):
        data, outputs = random_case(seed)
        found = certain(outputs, data)
        if not found:
            continue
        weighted = bool(outputs[0].weight)  # of all or of none
        each = np.array(list(product(support, of_weights) if weighted else product(support, [1.0])))
        at = np.array(list(product(range(len(each)), repeat=len(data))) if len(each) ** len(data) < 12_000 else
                      np.random.default_rng(seed).integers(0, len(each), (12_000, len(data))))  # fmt: skip
        own = support[data.codes[:, 4]], of_weights[data.codes[:, 3]] if weighted else np.ones(len(data))
        values, weights = np.concatenate([each[at], near(np.stack(own, axis=1), each)]).transpose(2, 0, 1)
        fits = np.ones(len(values), bool)
        for output in outputs:
            fits &= (printed(output, data, values, weights) == printed(output, data, own[0][None], own[1][None])).all(
                axis=1
            )
        for one in found:
            if one.rule == "values of few":
                continue  # that some have them, and not who
            share = 0.1 if "within the share" in one.what else 0.0
            kind = "weighted" if weighted else "parts" if one.output.count(" minus ") > 1 else "pairs"
            claimed[kind] += "difference" in one.rule
            for person in one.who.tolist():
                if top := re.search(r"to be (\d+) or more, the top code", one.what):
                    assert (values[fits][:, person] >= float(top[1])).all(), (seed, one.what)
                    continue
                off = np.abs(values[fits][:, person] - own[0][person])
                assert (off <= share * own[0][person]).all(), (seed, one.what)
    assert min(claimed.values()) >= 5, claimed


def near(own, each):
    """The values and weights (n, 2) as they are, and all with those of two records changed (sets, n, 2)."""
    changed = [own]
    for one, other in combinations(range(len(own)), 2):
        for first, second in product(each, repeat=2):
            row = own.copy()
            row[one], row[other] = first, second
            changed.append(row)
    return np.array(changed)
