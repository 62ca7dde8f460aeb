"""The compiled search for the nearest key combinations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from outrisk.inner_code import inner


@inner()
def _largest(same: Any) -> Any:
    largest = np.uint8(0)
    for j in range(len(same)):
        largest = max(largest, same[j])
    return largest


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def nearest(
    common: Any,  # (n_common, n_points) uint8 codes, in the keys of few levels, of the combinations searched
    rare: Any,  # (n_rare, n_points) points in the order of their codes, in the keys of many levels
    places: Any,  # (n_rare, 2, n_queries) where the points of a query's level start and end in that order
    classes: Any,  # (n_points,) their classes
    queries: Any,  # (n_queries, n_common)
    asked: Any,  # (n_queries,) their classes
    ends: Any,  # (n_classes + 1,) cells of class q: ends[q] to ends[q + 1]
    target: Any,  # (n_cells,)
    counts: Any,  # (n_cells,) records searched
    n_targets: int,
    hits: Any,  # (n_cells,), written for the cells of the classes asked, as are the rest
    size: Any,  # (n_classes,)
    top: Any,
    tied: Any,
    guess: Any,
    distance: Any,
) -> None:
    """Count the targets of all points at the least Hamming distance from each query, at most 255 keys.

    Keys of few levels are compared all along, 64 points an instruction; of a level out of many only its own points are
    visited.
    """
    n_common, n_points = common.shape
    same = np.empty(n_points, dtype=np.uint8)
    found = np.zeros(n_targets, dtype=np.int64)
    for i in range(len(asked)):
        for j in range(n_points):
            same[j] = 0
        for k in range(n_common):
            code, column = queries[i, k], common[k]
            for j in range(n_points):
                same[j] += np.uint8(column[j] == code)
        for k in range(len(rare)):
            for place in range(places[k, 0, i], places[k, 1, i]):
                same[rare[k, place]] += np.uint8(1)
        most = _largest(same)
        for t in range(n_targets):
            found[t] = 0
        for start in range(0, n_points, 256):
            stop = min(start + 256, n_points)
            if _largest(same[start:stop]) < most:
                continue
            for j in range(start, stop):
                if same[j] == most:
                    for cell in range(ends[classes[j]], ends[classes[j] + 1]):
                        found[target[cell]] += counts[cell]
        q = asked[i]
        size[q], top[q], tied[q], distance[q] = 0, 0, 0, n_common + len(rare) - most
        for t in range(n_targets):
            size[q] += found[t]
            if found[t] > top[q]:
                top[q], tied[q], guess[q] = found[t], 1, t
            elif found[t] == top[q] and found[t] > 0:
                tied[q] += 1
        for cell in range(ends[q], ends[q + 1]):
            hits[cell] = found[target[cell]]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def count_group(
    classes: Any,  # (n_points,) classes searched, in the order of their codes
    starts: Any,  # (n_queries,) where those of a query's code start in that order
    stops: Any,  # (n_queries,) and end
    ends: Any,  # (n_classes + 1,) cells of class q: ends[q] to ends[q + 1]
    target: Any,  # (n_cells,)
    counts: Any,  # (n_cells,) records searched
    found: Any,  # (n_queries, n_targets), added to
) -> None:
    """Count the targets of all points that have a query's code."""
    for i in range(len(starts)):
        for j in range(starts[i], stops[i]):
            for cell in range(ends[classes[j]], ends[classes[j] + 1]):
                found[i, target[cell]] += counts[cell]
