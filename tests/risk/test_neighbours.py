"""The block search against all pairs."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.errors import RiskError
from outrisk.risk.neighbours.exact import Pace, Space, TimedOutError, between, farthest, nearest, points, ties

COSTS = (np.array([0.5, 0.5, 2.0]), np.linspace(0.1, 3.0, 90))  # more levels than a block's mask has bits


def space(rng, n, power, columns=2, spread=4):
    """Records of few distinct values, so that many are equal and many distances tie."""
    numbers = rng.integers(0, spread, size=(n, columns)) / 2
    codes = np.column_stack([rng.integers(0, 3, n), rng.integers(0, 90, n) * (rng.random(n) < 0.3)])
    return Space(numbers, codes.astype(np.int32), COSTS, power)


def all_pairs(one, other):
    total = (np.abs(one.numbers[:, None] - other.numbers[None]) ** one.power).sum(axis=2)
    for k, cost in enumerate(one.costs):
        u, v = one.codes[:, None, k], other.codes[None, :, k]
        total += np.where(u != v, cost[u] + cost[v], 0.0)
    return total ** (1 / one.power)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 400), st.integers(2, 400), st.sampled_from([1, 2]), st.integers(0, 3))
def test_nearest_farthest_and_ties_agree_with_all_pairs(seed, n, m, power, columns):
    rng = np.random.default_rng(seed)
    one, other = space(rng, n, power, columns), space(rng, m, power, columns)
    matrix, inner = all_pairs(one, other), all_pairs(other, other)
    np.fill_diagonal(inner, math.inf)
    queries, references = points(one), points(other, payload := rng.integers(0, 3, m).astype(float))
    np.testing.assert_allclose(nearest(queries, references, 2), np.sort(matrix, axis=1)[:, :2], atol=1e-12)
    np.testing.assert_allclose(nearest(queries, references)[:, 0], matrix.min(axis=1), atol=1e-12)
    np.testing.assert_allclose(
        nearest(references, references, 2, within=True), np.sort(inner, axis=1)[:, :2], atol=1e-12
    )
    assert farthest(queries, references) == pytest.approx(matrix.max(), abs=1e-12)
    rows = np.flatnonzero(rng.random(n) < 0.5)
    asked = points(one, own := (one.numbers.sum(axis=1) % 3).astype(float))  # the same for equal records
    near = matrix[rows] <= matrix[rows].min(axis=1, keepdims=True) + 1e-9
    found = ties(asked, references, matrix[rows].min(axis=1) + 1e-9, 0.5, 0.25, rows)
    agree = np.abs(own[rows, None] - payload) <= 0.5 + 0.25 * payload
    assert found.found.tolist() == near.sum(axis=1).tolist()
    assert found.hits.tolist() == (near & agree).sum(axis=1).tolist()
    assert found.first.tolist() == near.argmax(axis=1).tolist()
    pair = rng.integers(0, n, size=(2, 9))
    np.testing.assert_allclose(between(one, *pair), all_pairs(one, one)[pair[0], pair[1]], atol=1e-12)


def test_the_distance_of_a_record_to_its_copy_is_exactly_zero():
    rng = np.random.default_rng(1)
    table = Space(rng.normal(1e6, 1, size=(3000, 6)), np.empty((3000, 0), dtype=np.int32), ())
    assert (nearest(points(table), points(table.take(slice(None, None, -1)))) == 0).all()


def test_one_record_has_no_other():
    table = points(space(np.random.default_rng(0), 1, 2))
    assert nearest(table, table, 2, within=True).tolist() == [[math.inf, math.inf]]


def test_threads_give_the_same_and_progress_reaches_the_end():
    rng = np.random.default_rng(3)
    one, other = points(Space(rng.normal(size=(5000, 3)), np.empty((5000, 0), dtype=np.int32), ())), None
    done = []
    other = nearest(one, one, 2, within=True, pace=Pace(threads=1, progress=done.append))
    assert (nearest(one, one, 2, within=True, pace=Pace(threads=3)) == other).all()
    assert done[0] == 0
    assert done[-1] == 1
    assert done == sorted(done)


def test_a_deadline_stops_the_search():
    table = points(space(np.random.default_rng(0), 50, 2))
    with pytest.raises(TimedOutError, match="timed out"):
        nearest(table, table, pace=Pace(deadline=time.monotonic() - 1))


def test_a_table_without_records_is_refused():
    with pytest.raises(RiskError, match="without records"):
        points(space(np.random.default_rng(0), 0, 2))
