"""Bases of shares against all whole numbers tried one after the other, and what is drawn against how probable it is."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from outrisk.outputs.tables import bases
from outrisk.outputs.tables.bases import Bases, Cells, bases_of

TOLERANCE = 0.0005
NOTHING = np.zeros(0)
ANY = sparse.csr_matrix((0, 6)), NOTHING, NOTHING


def printed(counts):
    return np.round(counts / counts.sum(axis=1, keepdims=True), 3)


def made_of(counts, tolerance=TOLERANCE, known=None):
    groups, levels = counts.shape
    spread = np.full(counts.size, tolerance)
    known = known or (np.zeros(counts.size), np.full(counts.size, np.inf))
    group = np.repeat(np.arange(groups), levels)
    return bases_of(printed(counts).ravel(), spread, known, group, np.arange(groups), np.eye(groups, dtype=bool))


def prints_so(shares, base):
    """Whether some counts that add up to the base are printed as these shares."""
    return any(
        sum(counts) == base and (np.abs(np.array(counts) / base - shares) <= TOLERANCE * (1 + 1e-9)).all()
        for counts in product(range(base + 1), repeat=len(shares))
    )


def test_a_base_is_possible_where_some_counts_are_printed_so():
    counts = np.array([[1, 6], [2, 1], [7, 13], [30, 10]])
    found = made_of(counts).nearest
    for row, each in zip(found, printed(counts), strict=True):
        for base in range(1, 60):
            assert (row[base] == base) == prints_so(each, base)
    assert (found[:, 0] > 0).all()  # a share is of some records


def test_a_withheld_share_is_of_as_many_records_as_are_known_of_it():
    shares, spread = np.array([0.75, 0.0, 0.0]), np.array([TOLERANCE, np.inf, TOLERANCE])
    known = np.array([5.0, 1.0, 0.0]), np.array([np.inf, 4.0, np.inf])
    found = bases_of(shares, spread, known, np.zeros(3, int), np.array([0]), np.ones((1, 1), bool)).nearest[0]
    assert [base for base in range(40) if found[base] == base] == [8, 12, 16]  # 6 + 2, 9 + 3, 12 + 4


@pytest.fixture
def three():
    counts = np.array([[2, 4], [3, 9], [5, 10]])
    return made_of(counts), int(counts.sum())


def cells_of(each):
    of_cells = np.repeat(each.shares, 1)
    return Cells(of_cells - TOLERANCE, of_cells + TOLERANCE, each.group, sparse.csr_matrix((0, len(of_cells))))


def all_of(each, n):
    """All possible bases of three groups that add up to n."""
    possible = [[base for base in range(1, n) if row[base] == base] for row in each.nearest]
    return {(a, b, n - a - b) for a in possible[0] for b in possible[1] if n - a - b in possible[2]}


def test_the_nearest_bases_of_all_groups_add_up_and_no_others_are_nearer(three):
    each, n = three
    for sums in ([6.0, 12.0, 15.0], [11.0, 11.0, 11.0], [20.0, 8.0, 5.0], [3.0, 21.0, 9.0]):
        near = each.near(np.array(sums), np.zeros(3, bool))
        assert tuple(near.astype(int)) in all_of(each, n)
        cost = {some: sum((np.array(some) - sums) ** 2 / np.array(sums)) for some in all_of(each, n)}
        assert cost[tuple(near.astype(int))] == pytest.approx(min(cost.values()))


def test_an_empty_group_has_no_record_and_the_others_all(three):
    each, _ = three
    near = each.near(np.array([2.0, 12.0, 18.0]), np.array([True, False, False]))
    assert near[0] == 0
    assert near.sum() == 32 or near.tolist() == [0, 12, 18]
    assert all(row[int(base)] == base for row, base in zip(each.nearest[1:], near[1:], strict=True))


@pytest.mark.parametrize("exactly", [True, False])
def test_bases_are_drawn_as_often_as_they_are_probable(three, monkeypatch, exactly):
    each, n = three
    monkeypatch.setattr(bases, "_SUMS", 10**9 if exactly else 0)
    rng, seen = np.random.default_rng(1), Counter()
    about = np.array([[8.0, 3.0], [np.nan, np.nan], [np.nan, np.nan]])
    for _ in range(600):
        drawn, apart = each.drawn(n, about, cells_of(each), ANY, 1, rng)
        assert not apart.any()
        seen[tuple(drawn[0].astype(int))] += 1
    assert set(seen) <= all_of(each, n)
    logs = {
        some: sum(each._chances(g, np.array([base]), *about[g])[0] for g, base in enumerate(some))
        for some in all_of(each, n)
    }
    whole = sum(np.exp(log) for log in logs.values())
    for some, log in logs.items():
        assert seen[some] / 600 == pytest.approx(np.exp(log) / whole, abs=0.06)


def test_what_is_known_of_a_base_is_kept_and_none_is_told_where_they_cannot_add_up(three):
    each, n = three
    about = np.array([[6.0, 0.0], [np.nan, np.nan], [15.0, 0.0]])
    drawn, _ = each.drawn(n, about, cells_of(each), ANY, 5, np.random.default_rng(1))
    assert drawn.tolist() == [[6.0, n - 21.0, 15.0]]
    about[1] = 13.0, 0.0
    assert each.drawn(n, about, cells_of(each), ANY, 5, np.random.default_rng(1))[0].shape == (0, 3)


def test_bases_are_mended_until_they_add_up_to_the_margins_that_are_known():
    rng = np.random.default_rng(3)
    counts = (rng.integers(0, 4, (12, 4)) + np.eye(4, dtype=int)[0]) * rng.integers(1, 4, (12, 1))
    each, n, levels = made_of(counts), int(counts.sum()), counts.shape[1]
    member = sparse.csr_matrix(np.tile(np.eye(levels), (1, len(counts))))
    margins = member, counts.sum(axis=0).astype(float), counts.sum(axis=0).astype(float)
    cells = cells_of(each)
    any_margins = sparse.csr_matrix((0, counts.size)), NOTHING, NOTHING
    about = np.full((len(counts), 2), np.nan)
    free, _ = each.drawn(n, about, cells, any_margins, 100, rng)
    share = printed(counts)
    wrong = [np.abs(np.round(row[:, None] * share).sum(axis=0) - margins[1]).sum() for row in free]
    assert min(wrong) > 0  # of a hundred draws none happens to
    drawn, apart = each.drawn(n, about, cells, margins, 100, rng)
    assert apart.min() == 0.0
    found = np.round(drawn[apart.argmin()][:, None] * share)
    np.testing.assert_array_equal(found.sum(axis=0), margins[1])
    np.testing.assert_array_equal(printed(found), share)


def test_groups_of_two_tables_have_bases_that_are_possible_in_both():
    one, other = made_of(np.array([[1, 2], [3, 4]])), made_of(np.array([[2, 3], [1, 3]]))
    both = one.agreeing(other, np.array([[0, 1], [1, 0]]))
    assert isinstance(both, Bases)
    for own, theirs in ((0, 1), (1, 0)):
        for base in range(1, 80):
            possible = one.nearest[own][base] == base and other.nearest[theirs][base] == base
            assert (both.nearest[own][base] == base) == possible
