"""What shape and concentration give away: planted disclosures are found, and told by the print alone."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.finding import NOT_SEEN
from outrisk.assess.look.of_shape import shapes_told
from outrisk.assess.look.printed import Numbers
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY

CODEBOOK = Codebook(
    (Variable("sector", "categorical", ("a", "b", "c")), Variable("sales", "integer", tuple(range(0, 1001))))
)
MEANS = {"kind": "magnitudes", "value": "sales", "by": ["sector"], "statistics": ["count", "sum"]}
SHAPE = {"kind": "shape", "value": "sales", "by": ["sector"], "statistics": ["hhi"]}
MANY = [40 + at % 9 for at in range(60)]


def looked(values, *entries, **appetite):
    """What is found of sectors with such sales."""
    codes = np.array([(at, each) for at, sales in enumerate(values) for each in sales], dtype=np.uint16)
    outputs = [one for at, each in enumerate(entries, 1) for one in REGISTRY[each["kind"]](**each).build(CODEBOOK, at)]
    found = look(outputs, Microdata(CODEBOOK, codes), Appetite(**appetite))
    return [each for each in found if each.output.startswith("shape")], outputs, codes


def printed(outputs, codes):
    data = Microdata(CODEBOOK, codes)
    return np.concatenate([np.concatenate(each.publish(each.refit(data))) for each in outputs])


def certain(found):
    return [each for each in found if each.certain]


def test_the_share_of_the_largest_beside_a_sum_is_its_value():
    values = [[900, *MANY], MANY, MANY[:50]]
    found, outputs, codes = looked(values, MEANS, SHAPE | {"statistics": ["cr1"], "decimals": 5})
    (told,) = [each for each in certain(found) if "share of a total" in each.what]
    assert told.rule == "dominance" and 0 in told.who and told.about == "sales"
    changed = codes.copy()
    changed[0, 1] = 901
    assert not np.array_equal(printed(outputs, codes), printed(outputs, changed))


def test_a_share_to_few_digits_does_not_tell_it_exactly():
    values = [[900, *MANY], MANY, MANY[:50]]
    found, _, _ = looked(values, MEANS, SHAPE | {"statistics": ["cr1"], "decimals": 3})
    assert not [each for each in found if "share of a total" in each.what]
    (near,) = [each for each in certain(found) if "within 10 %" in each.what]
    assert 0 in near.who
    alone, _, _ = looked(values, SHAPE | {"statistics": ["cr1"], "decimals": 5})
    assert not certain(alone)  # a share of an unknown total


def test_an_index_near_1_tells_who_dominates_to_within_p_percent():
    values = [[900, *([1] * 15)], MANY, MANY[:50]]
    found, outputs, codes = looked(values, MEANS, SHAPE)
    assert not certain(found)  # which the sum says by itself
    data = Microdata(CODEBOOK, codes)
    (told,) = certain(shapes_told(outputs, Numbers.of(outputs, data), data, Appetite()))
    assert told.rule == "dominance" and told.who.tolist() == [0] and "within 10 %" in told.what
    alone, _, _ = looked(values, SHAPE)
    (rule,) = [each for each in alone if each.rule == "dominance"]
    assert not rule.certain and rule.who.tolist() == [0]


def test_shares_of_one_and_two_tell_the_second_largest_the_largest():
    values = [[800, 100, *([20] * 15)], MANY, MANY[:50]]
    found, _, _ = looked(values, SHAPE | {"statistics": ["cr1", "cr2"]})
    (told,) = certain(found)
    assert 0 in told.who and "second largest" in told.what
    found, _, _ = looked(values, SHAPE | {"statistics": ["cr1", "cr4"]})
    assert not certain(found)


@pytest.mark.parametrize("statistic", ["gini", "hhi", "cv"])
def test_two_people_beside_their_mean_are_told(statistic):
    values = [[310, 77], MANY, MANY[:50]]
    means = MEANS | {"statistics": ["count", "mean"]}
    found, outputs, codes = looked(values, means, SHAPE | {"statistics": [statistic], "decimals": 5})
    (told,) = [each for each in certain(found) if each.rule == "values of few"]
    assert told.who.tolist() == [0, 1] and told.about == "sales"
    for row, change in ((0, 1), (0, -1), (1, 1), (1, -1)):
        changed = codes.astype(int)
        changed[row, 1] += change
        assert not np.array_equal(printed(outputs, codes), printed(outputs, changed.astype(np.uint16)))
    found, _, _ = looked(values, SHAPE | {"statistics": ["count", statistic], "decimals": 5})
    assert all("to who has another" in each.what for each in certain(found))  # without a scale


def test_three_values_follow_from_skewness_beside_mean_and_sd():
    codebook = Codebook((Variable("sales", "integer", tuple(range(101))),))
    data = Microdata(codebook, np.array([[3], [40], [88]], dtype=np.uint16))
    entries = [
        {"kind": "magnitudes", "value": "sales", "statistics": ["count", "mean", "sd"]},
        {"kind": "shape", "value": "sales", "statistics": ["skewness"]},
    ]
    outputs = [REGISTRY[each["kind"]](**each).build(codebook, 1)[0] for each in entries]
    (told,) = [
        each for each in look(outputs, data, Appetite()) if each.certain and each.output.startswith("shape of sales")
    ]
    assert told.rule == "values of few" and told.people == 3
    ends = [one.publish(one.refit(data)) for one in outputs]
    fitting = []
    for values in combinations_with_replacement(range(101), 3):
        other = Microdata(codebook, np.array(values, dtype=np.uint16)[:, None])
        if sum(values) != 131:  # which the mean tells
            continue
        found = [one.publish(one.refit(other)) for one in outputs]
        if all(
            np.array_equal(a, b) for one, two in zip(ends, found, strict=True) for a, b in zip(one, two, strict=True)
        ):
            fitting.append(values)
    assert fitting == [(3, 40, 88)]
    assert not [each for each in look(outputs[1:], data, Appetite()) if each.certain]


def test_what_the_codebook_says_is_not_told_by_the_print():
    """Who has the second largest value, the end of the codebook's, knows the largest without any number."""
    found, _, _ = looked([[1000, 1000, *MANY], MANY, MANY[:50]], MEANS, SHAPE)
    assert not [each for each in certain(found) if 0 in each.who]


def test_all_alike_is_told_where_a_total_says_which_value():
    values = [[7] * 20, MANY, MANY[:50]]
    found, _, _ = looked(values, MEANS, SHAPE | {"statistics": ["skewness"]})
    (told,) = certain(found)
    assert told.rule == "same answer" and told.people == 20
    found, _, _ = looked(values, MEANS, SHAPE | {"statistics": ["cv"]})
    assert [each.people for each in certain(found)] == [20]
    found, _, _ = looked(values, MEANS, SHAPE | {"statistics": ["cv"], "decimals": 1})
    assert not certain(found)  # one of them at 8 would be printed as 0.0 too
    found, _, _ = looked(values, SHAPE | {"statistics": ["skewness"]})
    assert not certain(found)


def test_small_cells_and_none_unseen():
    found, outputs, codes = looked([[7, 9, 11], MANY, MANY], SHAPE)
    assert [(each.people, each.certain) for each in found if each.rule == "small cells"] == [(3, False)]
    everything = look(outputs, Microdata(CODEBOOK, codes), Appetite())
    assert not [each for each in everything if each.rule == NOT_SEEN]
    withheld, _, _ = looked([[7, 9, 11], MANY, MANY], MEANS, SHAPE | {"protection": {"threshold": 10}})
    assert not withheld


@pytest.mark.parametrize("other", [{"by": [], "where": "sector == 'a'"}, {"by": ["sector"], "where": "sector != 'c'"}])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_total_of_the_same_people_by_another_subset(other, swapped):
    values = [[900, *MANY], MANY, MANY[:50]]
    share = SHAPE | {"statistics": ["cr1"], "decimals": 5}
    entries = [MEANS, share | other] if swapped else [MEANS | other, share]
    found, _, _ = looked(values, *entries)
    (told,) = [each for each in certain(found) if "share of a total" in each.what]
    assert 0 in told.who


@pytest.mark.parametrize("statistic", ["hhi", "cr1", "gini", "cv"])
def test_an_undefined_share_tells_that_all_have_nothing(statistic):
    found, outputs, codes = looked([[0] * 14, MANY, MANY], SHAPE | {"statistics": ["count", statistic]})
    (told,) = certain(found)
    assert told.rule == "same answer" and told.who.tolist() == list(range(14))
    changed = codes.copy()
    changed[3, 1] = 1
    assert not np.array_equal(printed(outputs, codes), printed(outputs, changed), equal_nan=True)


@pytest.mark.parametrize(("statistics", "decimals"), [(["hhi"], 10), (["cr4"], 6), (["gini"], 6), (["cv"], 6)])
def test_all_alike_is_told_by_each_number_that_shows_it(statistics, decimals):
    shape = SHAPE | {"statistics": ["count", *statistics], "decimals": decimals}
    values = [[50] * 20, MANY, MANY]
    (told,) = [each for each in certain(looked(values, MEANS, shape)[0]) if each.rule == "same answer"]
    assert told.who.tolist() == list(range(20)) and "everybody has the same value" in told.what
    (of_one,) = certain(looked(values, shape)[0])  # of which nobody knows the value
    assert of_one.who.tolist() == list(range(20)) and "who knows one of them knows the others" in of_one.what
    coarse = shape | {"decimals": 2}
    assert not [each for each in certain(looked(values, MEANS, coarse)[0]) if each.rule == "same answer"]


@pytest.mark.parametrize(("statistics", "few"), [(["hhi"], [900]), (["cr1"], [900]), (["cr4"], [500, 400, 30, 20])])
def test_shares_of_1_tell_that_the_others_have_nothing(statistics, few):
    values = [[*few, *([0] * 20)], MANY, MANY]
    shape = SHAPE | {"statistics": ["count", *statistics], "decimals": 5}
    (told,) = [each for each in certain(looked(values, shape)[0]) if "has 0" in each.what]
    assert sorted(told.who) == list(range(len(few), len(few) + 20))
    values[0][-1] = 1
    assert not [each for each in certain(looked(values, shape)[0]) if "has 0" in each.what]
    values[0] = [*few[:-1], *([0] * 20)]  # any of the twenty may be the last of the K largest
    assert not [each for each in certain(looked(values, shape)[0]) if "has 0" in each.what]


def test_two_of_whom_the_larger_is_printed_are_told():
    largest = {"kind": "quantiles", "value": "sales", "by": ["sector"], "quantiles": [1.0]}
    shape = SHAPE | {"statistics": ["count", "cr1"], "decimals": 6}
    found, _, _ = looked([[500, 400], MANY, MANY], shape, largest)
    (told,) = [each for each in certain(found) if each.rule == "values of few"]
    assert told.who.tolist() == [0, 1]


def test_three_of_many_values_are_told_by_their_largest_first():
    codebook = Codebook((CODEBOOK["sector"], Variable("sales", "integer", tuple(range(20001)))))
    rows = [(at, each) for at, sales in enumerate([[9000, 6000, 500], MANY, MANY]) for each in sales]
    outputs = [
        one
        for at, each in enumerate([MEANS, SHAPE | {"statistics": ["hhi", "cr1"], "decimals": 8}], 1)
        for one in REGISTRY[each["kind"]](**each).build(codebook, at)
    ]
    found = look(outputs, Microdata(codebook, np.array(rows, dtype=np.uint16)), Appetite())
    (told,) = [each for each in certain(found) if "leave no other in" in each.what]
    assert told.who.tolist() == [0, 1, 2]


def test_cells_of_many_records_are_looked_at():
    values = [[40 + at % 9 for at in range(3000)], MANY, MANY]
    found, _, _ = looked(values, MEANS | {"statistics": ["count", "mean"]}, SHAPE)
    assert not certain(found)


def test_what_counts_as_the_top_code_is_not_told():
    top = {"protection": {"top_code": 500}}
    share = SHAPE | top | {"statistics": ["cr1"], "decimals": 5}
    found, _, _ = looked([[900, *MANY], MANY, MANY], MEANS | top, share)
    assert not any(0 in each.who for each in certain(found))
    found, _, _ = looked([[900, 3], MANY, MANY], MEANS | top, share)
    assert [each.who.tolist() for each in certain(found) if each.rule == "values of few"] == [[1]]
    for means in (MEANS, MEANS | {"statistics": ["count", "sum"]}):  # the mean or the sum says it itself
        found, outputs, codes = looked([[900] * 20, MANY, MANY], means | top, share | {"statistics": ["gini"]})
        every = look(outputs, Microdata(CODEBOOK, codes), Appetite())
        (all_,) = [each for each in every if each.rule == "same answer" and each.certain]
        assert "to be 500 or more, the top code" in all_.what and all_.people == 20
