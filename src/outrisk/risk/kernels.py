"""The compiled search for the nearest key combinations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nearest(
    points: Any,  # (n_keys, n_points) codes of the combinations searched
    classes: Any,  # (n_points,) their classes
    queries: Any,  # (n_queries, n_keys)
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
    """Count the targets of all points at the least Hamming distance from each query."""
    n_keys, n_points = points.shape
    apart = np.empty(n_points, dtype=np.uint16)
    found = np.zeros(n_targets, dtype=np.int64)
    for i in range(len(asked)):
        apart[:] = 0
        for k in range(n_keys):
            code, column = queries[i, k], points[k]
            for j in range(n_points):
                apart[j] += np.uint16(column[j] != code)
        least = np.uint16(n_keys)
        for j in range(n_points):
            least = min(least, apart[j])
        found[:] = 0
        for j in range(n_points):
            if apart[j] == least:
                for cell in range(ends[classes[j]], ends[classes[j] + 1]):
                    found[target[cell]] += counts[cell]
        q = asked[i]
        size[q], top[q], tied[q], distance[q] = 0, 0, 0, least
        for t in range(n_targets):
            size[q] += found[t]
            if found[t] > top[q]:
                top[q], tied[q], guess[q] = found[t], 1, t
            elif found[t] == top[q] and found[t] > 0:
                tied[q] += 1
        for cell in range(ends[q], ends[q + 1]):
            hits[cell] = found[target[cell]]
