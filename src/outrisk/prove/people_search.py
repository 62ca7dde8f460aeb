"""The search behind `few_people`, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


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
def _within(
    n: int,
    chosen: Any,
    below: Any,
    above: Any,
    matrix: Any,
    low: Any,
    high: Any,
    start: Any,
    least: Any,
    most: Any,
    member: Any,
    value: Any,
    value_least: Any,
    value_most: Any,
    share: Any,
    ends: Any,
    found: Any,
    n_found: int,
    nodes: int,
) -> tuple[int, int]:
    """Kinds for people whose classes are chosen; adds what it finds, up to the room there is."""
    R, Q = matrix.shape[1], len(share)
    kind = np.empty(n, np.int64)
    low_sum, high_sum = np.empty((n + 1, R)), np.empty((n + 1, R))
    low_sum[0], high_sum[0] = below, above
    inside = np.empty((n, Q), np.bool_)
    v_least, v_most = np.empty((n, Q)), np.empty((n, Q))
    for p in range(n):
        inside[p] = member[start[chosen[p]]]
        v_least[p], v_most[p] = value_least[chosen[p]], value_most[chosen[p]]
    d = 0
    kind[0] = start[chosen[0]] - 1
    while d >= 0:
        c = chosen[d]
        kind[d] += 1
        if kind[d] >= start[c + 1]:
            v_least[d], v_most[d] = value_least[c], value_most[c]
            d -= 1
            continue
        nodes -= 1
        if nodes <= 0:
            return n_found, 0
        k, good = kind[d], True
        for r in range(R):
            x = low_sum[d, r] - least[c, r] + matrix[k, r]
            y = high_sum[d, r] - most[c, r] + matrix[k, r]
            low_sum[d + 1, r], high_sum[d + 1, r] = x, y
            if x > high[r] or y < low[r]:
                good = False
                break
        if not good:
            continue
        v_least[d], v_most[d] = value[k], value[k]
        if not _ranks_can(n, v_least, v_most, inside, share, ends):
            continue
        if d == n - 1:
            found[n_found] = kind
            n_found += 1
            if n_found == len(found):
                return n_found, nodes
            continue
        d += 1
        kind[d] = kind[d - 1] - 1 if chosen[d] == c else start[chosen[d]] - 1
    return n_found, nodes


@njit(cache=True)
def search(
    n: int,
    matrix: Any,
    low: Any,
    high: Any,
    start: Any,
    member: Any,
    value: Any,
    share: Any,
    ends: Any,
    most_found: int,
    nodes: int,
) -> tuple[Any, bool]:
    """Data sets (d, n) of kinds, at most `most_found`; whether there are no others.

    matrix (K, R): kinds in the order of their classes, those of class c from start[c] on. low, high (R,) of the sums.
    member, value (K, Q), share (Q,), ends (Q, 2): quantiles. nodes: branches it may take.
    """
    C, R = len(start) - 1, matrix.shape[1]
    found = np.empty((most_found, n), np.int64)
    least, most = _extremes(matrix, start)
    value_least, value_most = _extremes(value, start)
    rest_least, rest_most = least.copy(), most.copy()  # over this class and all behind it
    for c in range(C - 2, -1, -1):
        for r in range(R):
            rest_least[c, r] = min(rest_least[c, r], rest_least[c + 1, r])
            rest_most[c, r] = max(rest_most[c, r], rest_most[c + 1, r])
    low_sum, high_sum = np.zeros((n + 1, R)), np.zeros((n + 1, R))
    chosen = np.empty(n, np.int64)
    inside = np.empty((n, len(share)), np.bool_)
    v_least, v_most = np.empty((n, len(share))), np.empty((n, len(share)))
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
        left, good = n - d - 1, True
        for r in range(R):
            x, y = low_sum[d, r] + least[c, r], high_sum[d, r] + most[c, r]
            low_sum[d + 1, r], high_sum[d + 1, r] = x, y
            if x + left * rest_least[c, r] > high[r] or y + left * rest_most[c, r] < low[r]:
                good = False
                break
        if not good:
            continue
        if d < n - 1:
            d += 1
            chosen[d] = c - 1
            continue
        for p in range(n):
            inside[p] = member[start[chosen[p]]]
            v_least[p], v_most[p] = value_least[chosen[p]], value_most[chosen[p]]
        if not _ranks_can(n, v_least, v_most, inside, share, ends):
            continue
        n_found, nodes = _within(
            n,
            chosen,
            low_sum[n],
            high_sum[n],
            matrix,
            low,
            high,
            start,
            least,
            most,
            member,
            value,
            value_least,
            value_most,
            share,
            ends,
            found,
            n_found,
            nodes,
        )
        if n_found == most_found or nodes <= 0:
            return found[:n_found], False
    return found[:n_found], True
