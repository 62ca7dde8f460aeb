"""Fisher's exact test: by brute force over all tables, by what R prints, and what is too much."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.outputs.smooth import fisher as module
from outrisk.outputs.smooth.fisher import TooMuchWorkError, fisher

# of R 4.2: fisher.test(matrix(c(...), rows)), by columns
OF_R = [
    (2, [3, 1, 1, 3], 0.485714285714286),  # the lady tasting tea, of R's page
    (2, [2, 0, 3, 7], 0.151515151515152),
    (2, [7, 10, 12, 1], 0.00672520882415934),
    (2, [4000, 1900, 1800, 950], 0.0325944014120834),
    (2, [4, 2, 5, 6, 8, 1, 0, 2, 0, 2], 0.0329070051440445),
    (2, [5, 1, 0, 5, 3, 4, 5, 3, 3, 1], 0.0573673603514714),
    (3, [4, 0, 14, 11, 8, 3, 3, 4, 13], 8.35614038347701e-05),
    (3, [4, 0, 4, 1, 1, 0, 3, 4, 1, 2, 3, 3, 3, 0, 1], 0.227932068678114),
    (3, [0, 1, 2, 2, 0, 2, 0, 0, 1, 0, 1, 0, 1, 0, 2], 0.568181818181816),
    (4, [3, 2, 1, 3, 1, 2, 7, 0, 3, 3, 2, 3], 0.106134997591627),
    (4, [1, 2, 1, 0, 3, 3, 6, 1, 10, 10, 14, 9, 6, 7, 12, 11], 0.782684938965639),  # job satisfaction, of R's page
]


def as_table(rows, cells):
    return np.array(cells, dtype=np.int64).reshape(-1, rows).T


def every_table(rows, columns):
    """All tables of these margins."""
    if len(columns) == 1:
        yield np.array(rows)[:, None]
        return
    for first in product(*(range(each + 1) for each in rows)):
        if sum(first) == columns[0]:
            for rest in every_table([a - b for a, b in zip(rows, first, strict=True)], columns[1:]):
                yield np.column_stack([first, rest])


def by_brute_force(table):
    """P by whole numbers, of all tables of the same margins."""
    largest = factorial(int(table.sum()))
    ways = [largest // prod(map(factorial, t.ravel().tolist())) for t in every_table(table.sum(1), table.sum(0))]
    own = largest // prod(map(factorial, table.ravel().tolist()))
    return sum(each for each in ways if each <= own) / sum(ways)


def random_table(seed, shape, n):
    """A table without empty rows and columns."""
    rng = np.random.default_rng(seed)
    while True:
        table = rng.multinomial(n, rng.dirichlet(np.full(np.prod(shape), 0.8))).reshape(shape)
        if table.sum(0).all() and table.sum(1).all():
            return table


@pytest.mark.parametrize(("rows", "cells", "p"), OF_R)
def test_r_prints_the_same(rows, cells, p):
    table = as_table(rows, cells)
    np.testing.assert_allclose(fisher(table[None]), p, rtol=1e-10)
    np.testing.assert_allclose(fisher(table.T[None]), p, rtol=1e-10)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([(2, 2), (2, 3), (2, 4), (3, 3), (4, 2), (3, 4)]), st.integers(8, 14))
def test_brute_force_finds_the_same(seed, shape, n):
    table = random_table(seed, shape, n)
    np.testing.assert_allclose(fisher(table[None])[0], by_brute_force(table), rtol=1e-10)


@pytest.mark.parametrize("margins", [([6, 9], [7, 8]), ([5, 5], [5, 5]), ([4, 6], [3, 3, 4]), ([3, 3, 5], [2, 4, 5])])
def test_many_tables_at_once(margins):
    """All of the same margins, which are one network, and one of others among them."""
    tables = [*every_table(*margins)]
    tables.insert(1, tables[0] + 1)
    found = fisher(np.array(tables))
    np.testing.assert_allclose(found, [fisher(table[None])[0] for table in tables], rtol=1e-10)
    np.testing.assert_allclose(found[[0, 2, -1]], [by_brute_force(tables[at]) for at in (0, 2, -1)], rtol=1e-10)


def test_tables_that_are_as_likely_are_one():
    """Their probabilities are computed to be a little apart."""
    for n in range(1, 400, 7):
        for first in {0, n // 3, n // 2, n}:
            one, other = ([[a, n - a], [n - a, a]] for a in (first, n - first))
            p = fisher(np.array([one, other]))
            assert p[0] == pytest.approx(p[1], rel=1e-12)
            assert p[0] == pytest.approx(1.0) if abs(2 * first - n) < 2 else p[0] < 1.0


def test_of_one_row_or_column_there_is_none():
    assert np.isnan(fisher(np.array([[[3, 4]], [[1, 2]]]))).all()
    assert np.isnan(fisher(np.array([[[3], [4]]]))).all()


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_out_is_nothing(seed, monkeypatch):
    """Where cells are wide: against going through all of them."""
    table = random_table(seed, (2, 3), 150)
    quick = fisher(table[None])[0]
    monkeypatch.setattr(module, "_WIDE", 1e6)
    monkeypatch.setattr(module, "_NOTHING", 1e-300)
    assert quick == pytest.approx(fisher(table[None])[0], abs=1e-13, rel=1e-9)


@pytest.mark.parametrize("cells", [[[59, 27, 3], [31, 66, 8], [22, 9, 75]], [[900, 20, 60, 9], [30, 800, 70, 80]]])
def test_what_is_far_from_likely_is_0(cells):
    assert 0.0 <= fisher(np.array([cells]))[0] < 1e-13


@pytest.mark.parametrize("shape", [(3, 3), (5, 5)])
def test_too_much_work_is_said(shape):
    with pytest.raises(TooMuchWorkError, match="too many tables"):
        fisher(np.full((1, *shape), 900) + 30 * np.eye(shape[0], dtype=np.int64))
