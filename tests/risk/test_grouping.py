"""Grouping of numeric variables against slow twins; ../shared/golden/synthpop has R's own groups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.errors import RiskError
from outrisk.risk.coding.grouping import breaks_of, interval_labels, interval_of, quantiles

samples = st.lists(st.integers(-20, 20).map(lambda x: x / 4), min_size=2, max_size=40)


def counted(sample):
    return np.unique(np.array(sample, dtype=float), return_counts=True)


@settings(max_examples=60, deadline=None)
@given(samples, st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_quantiles_are_those_of_the_sample_written_out(sample, shares):
    found = quantiles(*counted(sample), np.array(shares))
    assert found == pytest.approx(np.quantile(sample, shares, method="linear"), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(samples.filter(lambda sample: len(set(sample)) > 1), st.integers(2, 12))
def test_every_value_falls_into_the_interval_that_its_label_names(sample, n_groups):
    values, counts = counted(sample)
    breaks = breaks_of("x", values, counts, n_groups, n_kept=1)
    found = np.array(interval_labels(breaks))[interval_of(breaks, values)]
    limits = [[float(limit) for limit in label[1:-1].split(",")] for label in found]
    lower = [max(limit for limit in breaks[:-1] if limit <= value) for value in values]
    assert [low for low, _ in limits] == pytest.approx(lower, rel=1e-7)
    assert all(low <= value <= high for (low, high), value in zip(limits, values, strict=True))
    assert len(breaks) - 1 <= n_groups


def test_values_have_an_interval_each_where_there_are_enough_groups():
    values, counts = counted([1, 2, 2, 4])
    breaks = breaks_of("x", values, counts, 10, n_kept=0)
    assert list(breaks) == [0.25, 1.5, 3.0, 4.75]
    assert interval_labels(breaks) == ["[0.25,1.5)", "[1.5,3)", "[3,4.75]"]


def test_coinciding_quantiles_are_one_and_few_groups_are_of_equal_width():
    values, counts = counted([0] * 6 + [1, 2, 3, 10])
    assert list(breaks_of("x", values, counts, 3, n_kept=1)) == [0, 1, 10]
    assert list(breaks_of("x", values, counts, 3, n_kept=0)) == pytest.approx([0, 10 / 3, 20 / 3, 10])


def test_labels_take_as_many_digits_as_tell_the_breaks_apart():
    assert interval_labels([0, 1 / 3, 1]) == ["[0,0.33333333)", "[0.33333333,1]"]
    assert interval_labels([1, 1 + 1e-9, 2]) == ["[1,1.000000001)", "[1.000000001,2]"]


def test_values_beyond_the_breaks_fall_into_the_end_groups():
    assert list(interval_of(np.array([0.0, 1.0, 2.0]), np.array([-5.0, 0.0, 1.0, 2.0, 9.0]))) == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(("sample", "found"), [([], "no value"), ([3, 3], "only the value 3")])
def test_less_than_two_values_cannot_be_grouped(sample, found):
    with pytest.raises(RiskError, match=f"'x' cannot be grouped: it has {found} to group"):
        breaks_of("x", *counted(sample), 4, 0)


def test_infinite_values_cannot_be_grouped():
    with pytest.raises(RiskError, match="'x' cannot be grouped: it has infinite values"):
        breaks_of("x", *counted([1, 2, np.inf]), 2, 0)
