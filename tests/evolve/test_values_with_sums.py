"""Values that have a sum and a sum of squares: beside all combinations there are."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from outrisk.evolve.values_with_sums import with_sums


def drawn_case(rng, lattice):
    """Possible values, those of some records, and the sum and squares of others, some of which there are not."""
    values = np.sort(rng.choice(lattice, rng.integers(3, 8), replace=False))
    n = int(rng.integers(1, 6))
    own, others = rng.choice(values, n), rng.choice(values, n)
    squares = float(others @ others) + rng.integers(-3, 4) * (rng.random() < 0.3)
    return values, own, int(others.sum()), np.array([squares, squares])


def test_of_few_values_they_are_found_wherever_there_are_any():
    rng, found_none = np.random.default_rng(1), 0
    for _ in range(150):
        values, own, total, squares = drawn_case(rng, 30)
        every = np.array(list(combinations_with_replacement(values, len(own))))
        there_are = ((every.sum(axis=1) == total) & ((every**2).sum(axis=1) == squares[0])).any()
        found = with_sums(own, values, total, squares, rng)
        assert (found is not None) == there_are
        found_none += found is None
        if found is not None:
            assert np.isin(found, values).all() and found.sum() == total and (found**2).sum() == squares[0]
    assert 10 < found_none < 100


def test_of_few_values_no_fewer_records_could_change():
    values = np.arange(6)
    found = with_sums(np.full(40, 2), values, 80, np.array([162.0, 162.0]), np.random.default_rng(2))
    assert sorted(found) == [1, *[2] * 38, 3]


@pytest.mark.parametrize("n", [1, 2, 3, 12, 400])
@pytest.mark.parametrize("wide", [0.0, 50.0, np.inf])
def test_of_many_values_those_of_other_people_have_sums_that_can_be(n, wide):
    rng, found_all = np.random.default_rng(n), 0
    for _ in range(20):
        own, others = np.minimum(rng.lognormal(6.0, 0.7, (2, n)).astype(np.int64), 10_000)
        squares = float(others @ others) + np.array([-wide, wide])
        found = with_sums(own, np.arange(10_001), int(others.sum()), squares, rng)
        found_all += found is not None
        if found is not None:
            assert found.sum() == others.sum() and squares[0] <= found @ found <= squares[1]
            assert found.min() >= 0 and found.max() <= 10_000
    assert found_all >= 18


def test_most_records_that_have_little_to_make_up_for_stay_as_they_are():
    rng = np.random.default_rng(3)
    own = rng.integers(100, 900, 500)
    squares = float(own @ own)
    found = with_sums(own, np.arange(10_001), int(own.sum()) + 7, np.array([squares, squares + 40.0]), rng)
    assert (found != own).sum() <= 10
