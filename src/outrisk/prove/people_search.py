"""The search behind `few_people`, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit


class Question(NamedTuple):
    """What a search is about, kinds in the order of their classes.

    matrix (K, R) with low, high (R,) of the sums over people. start (C + 1,): those of class c are from start[c] on.
    member, value (K, Q), share (Q,), ends (Q, 2): quantiles.
    """

    matrix: Any
    low: Any
    high: Any
    start: Any
    member: Any
    value: Any
    share: Any
    ends: Any


@njit(cache=True)
def _ranks_can(n: int, least: Any, most: Any, inside: Any, share: Any, ends: Any) -> bool:
    """Whether each quantile can be as printed; least, most, inside (n, Q): each person's value and membership."""
    low, high = np.empty(n), np.empty(n)
    for q in range(len(share)):
        size = 0
        for p in range(n):
            if inside[p, q]:
                low[size], high[size] = least[p, q], most[p, q]
                size += 1
        if size == 0:
            return False
        down, up = np.sort(low[:size]), np.sort(high[:size])
        rank = (size - 1) * share[q]
        below = int(np.floor(rank + 1e-9))
        part = max(rank - below, 0.0)
        above = min(below + 1, size - 1)
        if (1 - part) * down[below] + part * down[above] > ends[q, 1]:
            return False
        if (1 - part) * up[below] + part * up[above] < ends[q, 0]:
            return False
    return True


@njit(cache=True)
def _extremes(matrix: Any, start: Any) -> tuple[Any, Any]:
    """Least and largest entry of each class in each column, (C, columns)."""
    C, R = len(start) - 1, matrix.shape[1]
    least, most = np.full((C, R), np.inf), np.full((C, R), -np.inf)
    for c in range(C):
        for k in range(start[c], start[c + 1]):
            for r in range(R):
                least[c, r] = min(least[c, r], matrix[k, r])
                most[c, r] = max(most[c, r], matrix[k, r])
    return least, most


@njit(cache=True)
def _of_people(of: Any, chosen: Any, least: Any, most: Any) -> tuple[Any, Any, Any]:
    """Membership and the ends of the values (n, Q) of people whose classes are chosen."""
    n, Q = len(chosen), len(of.share)
    inside = np.empty((n, Q), np.bool_)
    v_least, v_most = np.empty((n, Q)), np.empty((n, Q))
    for p in range(n):
        inside[p] = of.member[of.start[chosen[p]]]
        v_least[p], v_most[p] = least[chosen[p]], most[chosen[p]]
    return inside, v_least, v_most


@njit(cache=True)
def _kind_fits(of: Any, k: int, least: Any, most: Any, sums: Any, then: Any) -> bool:
    """Whether sums (2, R), with a kind in the place of the ends of its class, can be as printed; written to `then`."""
    for r in range(len(of.low)):
        then[0, r] = sums[0, r] - least[r] + of.matrix[k, r]
        then[1, r] = sums[1, r] - most[r] + of.matrix[k, r]
        if then[0, r] > of.high[r] or then[1, r] < of.low[r]:
            return False
    return True


@njit(cache=True)
def _class_fits(of: Any, c: int, least: Any, most: Any, rest: Any, left: int, sums: Any, then: Any) -> bool:
    """Whether sums (2, R) with one more of class c, and `left` of it or behind it, can be as printed."""
    for r in range(len(of.low)):
        then[0, r], then[1, r] = sums[0, r] + least[c, r], sums[1, r] + most[c, r]
        if then[0, r] + left * rest[0, c, r] > of.high[r] or then[1, r] + left * rest[1, c, r] < of.low[r]:
            return False
    return True


@njit(cache=True)
def _within(
    of: Any, chosen: Any, ends: Any, least: Any, most: Any, values: Any, found: Any, n_found: int, nodes: int
) -> tuple[int, int]:
    """Kinds for people whose classes are chosen; adds what it finds, up to the room there is.

    ends (2, R): of the sums; values: least and largest values of each class.
    """
    n = len(chosen)
    kind, sums = np.empty(n, np.int64), np.empty((n + 1, 2, len(of.low)))
    sums[0] = ends
    inside, v_least, v_most = _of_people(of, chosen, values[0], values[1])
    d = 0
    kind[0] = of.start[chosen[0]] - 1
    while d >= 0:
        c = chosen[d]
        kind[d] += 1
        if kind[d] >= of.start[c + 1]:
            v_least[d], v_most[d] = values[0][c], values[1][c]
            d -= 1
            continue
        nodes -= 1
        if nodes <= 0:
            return n_found, 0
        k = kind[d]
        if not _kind_fits(of, k, least[c], most[c], sums[d], sums[d + 1]):
            continue
        v_least[d], v_most[d] = of.value[k], of.value[k]
        if not _ranks_can(n, v_least, v_most, inside, of.share, of.ends):
            continue
        if d == n - 1:
            found[n_found] = kind
            n_found += 1
            if n_found == len(found):
                return n_found, nodes
            continue
        d += 1
        kind[d] = kind[d - 1] - 1 if chosen[d] == c else of.start[chosen[d]] - 1
    return n_found, nodes


@njit(cache=True)
def search(n: int, of: Any, most_found: int, nodes: int) -> tuple[Any, bool]:
    """Data sets (d, n) of kinds, at most `most_found`, for a `Question`; whether there are no others.

    nodes: branches it may take.
    """
    C = len(of.start) - 1
    found = np.empty((most_found, n), np.int64)
    least, most = _extremes(of.matrix, of.start)
    values = _extremes(of.value, of.start)
    rest = np.stack((least, most))  # over this class and all behind it
    for c in range(C - 2, -1, -1):
        rest[0, c] = np.minimum(rest[0, c], rest[0, c + 1])
        rest[1, c] = np.maximum(rest[1, c], rest[1, c + 1])
    sums = np.zeros((n + 1, 2, len(of.low)))
    chosen = np.empty(n, np.int64)
    n_found, d = 0, 0
    chosen[0] = -1
    while d >= 0:
        chosen[d] += 1
        c = chosen[d]
        if c >= C:
            d -= 1
            continue
        nodes -= 1
        if nodes <= 0:
            return found[:n_found], False
        if not _class_fits(of, c, least, most, rest, n - d - 1, sums[d], sums[d + 1]):
            continue
        if d < n - 1:
            d += 1
            chosen[d] = c - 1
            continue
        inside, v_least, v_most = _of_people(of, chosen, values[0], values[1])
        if not _ranks_can(n, v_least, v_most, inside, of.share, of.ends):
            continue
        n_found, nodes = _within(of, chosen, sums[n], least, most, values, found, n_found, nodes)
        if n_found == most_found or nodes <= 0:
            return found[:n_found], False
    return found[:n_found], True
