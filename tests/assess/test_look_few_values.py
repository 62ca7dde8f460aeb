"""What means, sds, quantiles and shape of a few people leave of their values, held against all sets of values."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.of_few_values import few_values_told, summaries_of
from outrisk.assess.look.printed import Numbers
from outrisk.assess.look.sets_of_values import Work, in_order, sets_that_fit
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY

MOST = 20
CODEBOOK = Codebook(
    (
        Variable("area", "categorical", ("a", "b")),
        Variable("age", "integer", tuple(range(MOST + 1))),
        Variable("change", "integer", tuple(range(-10, 11))),
        Variable("ill", "integer", (0, 1)),
    )
)
RNG = np.random.default_rng(1)
MANY = [(1, int(RNG.integers(3, 18)), int(RNG.integers(2, 19)), int(RNG.integers(2))) for _ in range(40)]


def data_of(ages, changes=None, ill=None):
    n = len(ages)
    few = zip([0] * n, ages, changes or [10] * n, ill or [0] * n, strict=True)
    return Microdata(CODEBOOK, np.array([*few, *MANY], dtype=np.uint16))


def built(*entries):
    return [one for at, each in enumerate(entries, 1) for one in REGISTRY[each["kind"]](**each).build(CODEBOOK, at)]


def means(*statistics, value="age", **more):
    return {"kind": "magnitudes", "value": value, "by": ["area"], "statistics": ["count", *statistics], **more}


def quantiles(*quantiles, **more):
    return {"kind": "quantiles", "value": "age", "by": ["area"], "quantiles": quantiles, **more}


def shape(*statistics, **more):
    return {"kind": "shape", "value": "age", "by": ["area"], "statistics": statistics, **more}


def told(data, *entries):
    outputs = built(*entries)
    return list(few_values_told(outputs, Numbers.of(outputs, data), data, Appetite()))


def test_numbers_of_records_that_nothing_bounds_from_below_begin_with_one():
    data, outputs = data_of([3, 7]), built(means("mean", "sd"))
    (group,) = summaries_of(outputs, Numbers.of(outputs, data), data)
    assert not group.may_be_others(0, 2, Work())
    open_ = replace(group, records=(np.full(2, -np.inf), group.records[1]))
    assert open_.may_be_others(0, 2, Work()) == (group.sets(0, 1, Work()) is None or len(group.sets(0, 1, Work())) > 0)


def tried(ages, *entries):
    """The sets of values of area a with which all outputs print the same, each by its definition."""
    outputs = built(*entries)
    size = [len(each.labels) // 2 for each in outputs]
    printed = [each.publish(each.refit(data_of(ages)))[0][:k] for each, k in zip(outputs, size, strict=True)]
    fitting = []
    for values in combinations_with_replacement(range(MOST + 1), len(ages)):
        if sum(values) != sum(ages):  # which the means tell
            continue
        other = data_of(values)
        found = (each.publish(each.refit(other))[0][:k] for each, k in zip(outputs, size, strict=True))
        if all(np.array_equal(a, b) for a, b in zip(printed, found, strict=True)):
            fitting.append(values)
    return np.array(fitting)


CASES = [
    ((3, 11, 17), [means("mean", "sd", decimals=2)], {0, 1, 2}),
    ((3, 11, 17), [means("mean", decimals=2)], set()),
    ((4, 15), [means("mean", "sd", decimals=1)], {0, 1}),
    ((4, 15), [means("mean", "standard error", decimals=2)], {0, 1}),
    ((3, 11, 17), [means("mean", "limits", decimals=2), quantiles(0.5)], {0, 1, 2}),
    ((2, 7, 11, 19), [means("mean", "sd", decimals=1), quantiles(0.5)], {0, 1, 2, 3}),
    ((2, 7, 8, 11, 19), [means("mean", "sd", decimals=2), quantiles(0.25, 0.5, 0.75)], {0, 1, 2, 3, 4}),
    ((2, 7, 8, 11, 19), [means(), quantiles(0.25, 0.5, 0.75)], set()),
]


@pytest.mark.parametrize(("ages", "entries", "expected"), CASES)
def test_whose_values_are_told(ages, entries, expected):
    found = [each for each in told(data_of(ages), *entries) if "leave no other in" in each.what]
    assert {row for each in found for row in each.who.tolist()} == expected
    assert all(each.certain and each.about == "age" for each in found)
    if len(ages) < 4:
        told_of = _shared(tried(ages, *entries), np.array(ages))
        assert set(np.flatnonzero(told_of)) == expected


@pytest.mark.parametrize("seed", range(60))
def test_no_other_set_of_values_has_the_numbers(seed):
    """Twins from the definitions: positions that all sets share, from an end on; or all that are beside one's value."""
    rng = np.random.default_rng(seed)
    n, decimals = int(rng.integers(2, 5)), int(rng.integers(0, 3))
    ages = np.sort(rng.integers(0, MOST + 1, n))
    entries = [
        [means("mean", "sd", decimals=decimals)],
        [means("mean", decimals=decimals), quantiles(0.25, 0.75, decimals=decimals, program="stata")],
        [means("sd", decimals=decimals), quantiles(0.5, 1, decimals=decimals, program="spss")],
        [means("mean", decimals=decimals), shape("gini", "cr2", decimals=decimals + 1)],
    ][seed % 4]
    sets = np.array(list(combinations_with_replacement(range(MOST + 1), n)), dtype=float)
    outputs, data = built(*entries), data_of(ages)
    for output in outputs:
        own = _numbers(output, ages[None].astype(float))[0]
        half = 0.5 * 10.0 ** -np.array([decimals + (output.kind == "shape")])
        with np.errstate(invalid="ignore"):
            every = _numbers(output, sets)
            fits = np.abs(every - np.round(own / half / 2) * half * 2) <= half * (1 + 1e-6)
        sets = sets[(fits | (np.isnan(every) & np.isnan(own))).all(axis=1)]
    assert (sets == ages).all(axis=1).any()
    expected = _shared(sets, ages)
    anybody = np.logical_and.accumulate(expected) | np.logical_and.accumulate(expected[::-1])[::-1]
    one = np.zeros(n, bool)
    for own in range(n):
        having = [list(each) for each in sets if ages[own] in each]
        for each in having:
            each.remove(ages[own])
        rest = np.delete(np.arange(n), own)
        if _shared(np.array(having), ages[rest]).all():
            one[rest] = True
    found = told(data, *entries)
    assert _who(found, "leave no other in") == set(np.flatnonzero(anybody))
    assert _who(found, "beside it") == set(np.flatnonzero(one & ~anybody))


def _who(found, words):
    rows = [each.who for each in found if words in each.what]
    return {int(row) for row in np.concatenate(rows)} if rows else set()


def _shared(sets, ages):
    off = np.abs(sets - ages).max(axis=0)
    return (off == 0) | ((off < 0.1 * ages) & (np.maximum(MOST - ages, ages) >= 0.1 * ages))


def _numbers(output, sets):
    if output.kind == "shape":
        return output.of_many(sets)
    if output.kind == "quantiles":
        method = {"stata": "averaged_inverted_cdf", "spss": "weibull"}[output.program]
        return np.quantile(sets, output.probabilities, axis=1, method=method).T
    of = {"mean": sets.mean(axis=1), "sd": sets.std(axis=1, ddof=1)}
    return np.stack([of[each] for each in output.shown if each in of], axis=1)


def test_how_many_there_are_may_follow_from_what_is_printed():
    """Of three people some may have no age, but no two have such a mean and sd; beside a mean alone two may be."""
    book = Codebook((CODEBOOK["area"], Variable("age", "integer", tuple(range(MOST + 1)), missing=True)))
    data = Microdata(
        book, np.array([*((0, each) for each in (3, 11, 17)), *((1, at % 20) for at in range(40))], np.uint16)
    )
    table, mean = (
        {"kind": "frequencies", "by": ["area"]},
        means("mean", "sd", decimals=2) | {"statistics": ["mean", "sd"]},
    )
    for entry, expected in ((mean, {0, 1, 2}), (mean | {"statistics": ["mean"]}, set())):
        entries = (table, entry)
        outputs = [REGISTRY[each["kind"]](**each).build(book, at)[0] for at, each in enumerate(entries, 1)]
        found = list(few_values_told(outputs, Numbers.of(outputs, data), data, Appetite()))
        assert _who(found, "leave no other in") == expected


def test_of_two_people_each_knows_the_other():
    """Whatever the sign of a value, and however few it has."""
    (found,) = told(data_of([5, 6], changes=[2, 17]), means("mean", value="change"))
    assert found.certain and found.people == 2 and "to who has another" in found.what
    (found,) = told(data_of([5, 6], ill=[0, 1]), means("mean", value="ill"))
    assert found.people == 2


def test_how_often_a_value_occurs_does_not_tell_whose_it_is():
    assert not told(data_of([5, 6, 7, 8], ill=[0, 1, 0, 1]), means("mean", "sd", value="ill"))


def test_what_is_withheld_tells_nothing():
    hidden = {"protection": {"threshold": 10}}
    assert not told(data_of([3, 11, 17]), means("mean", "sd", **hidden))
    assert not told(data_of([3, 11, 17]), means(**hidden), quantiles(0, 1, **hidden))


def test_a_top_code_is_no_value():
    capped = {"protection": {"top_code": 12}}
    found = told(data_of([3, 11, 17]), means("mean", "sd", **capped), quantiles(0, 0.5, 1, **capped))
    assert _who(found, "leave no other in") == {0, 1}


def test_the_look_says_so():
    found = look(built(means("mean", "sd", decimals=2)), data_of([3, 11, 17]), Appetite(), "age")
    assert found[0].certain and found[0].who.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_sets_that_fit_are_all_of_them(seed):
    rng = np.random.default_rng(seed)
    support, n = np.unique(rng.integers(-9, 30, 9)).astype(float), int(rng.integers(1, 5))
    values = np.sort(rng.choice(support, n))
    total = values.sum() - rng.integers(0, 4), values.sum() + rng.integers(0, 4)
    sd = np.std(values, ddof=1) if n > 1 else 0.0
    ends = (max(sd - 2.0, 0.0), sd + 1.0) if seed % 2 else (0.0, np.inf)
    order = in_order(n, [(float(n - 1) / 2, values.mean() - 20, values.mean() + 12)], support)
    found = sets_that_fit(support, n, total, ends, order)
    every = {each for each in combinations_with_replacement(support, n) if total[0] <= sum(each) <= total[1]}
    every = {each for each in every if n == 1 or ends[0] <= np.std(each, ddof=1) <= ends[1]}
    every = {each for each in every if (order[0] <= each).all() and (each <= order[1]).all()}
    assert {tuple(each) for each in found.tolist()} >= every
    assert len(found) == len({tuple(each) for each in found.tolist()})
    if not seed % 2:
        assert len(found) == len(every)


def test_sets_are_found_among_many_values():
    support = np.arange(200_001.0)
    values = np.array([1_204.0, 73_911.0, 160_040.0])
    mean, sd = values.mean(), values.std(ddof=1)
    found = sets_that_fit(support, 3, (3 * mean - 0.015, 3 * mean + 0.015), (sd - 0.005, sd + 0.005))
    assert found is not None and (found == values).all(axis=1).any()
    assert sets_that_fit(support, 3, (-np.inf, np.inf)) is None
    assert sets_that_fit(np.arange(9.0), 5_000, (0, 9)) is None  # whose number is none that a float can be
