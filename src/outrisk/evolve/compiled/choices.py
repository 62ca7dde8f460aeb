"""Compiled: one of several changes of each record, or none, so that they add up to what is missed."""

from __future__ import annotations

import numpy as np

from outrisk.evolve.compiled.record import entry


# fmt: off
@entry
def choose(rows, first, missing, hot, cold, proposals, rng):
    """Of changes, each with what it adds to some numbers, rows (M, q), those first[i] to first[i + 1] of record i,
    choose at most one of each record by simulated annealing on the squared distance to what is `missing` (q,), from a
    heat of `hot` down to `cold`; returns the best choice met, the indices of its changes.
    """
    n = len(first) - 1
    chosen = np.full(n, np.int64(-1))
    best, left = chosen.copy(), missing.copy()
    rise = least = 0.0  # of the squared distance
    for step in range(proposals):
        heat = hot * (cold / hot) ** (step / proposals)
        i = int(rng.random() * n)
        old, new = chosen[i], first[i] + int(rng.random() * (first[i + 1] - first[i] + 1))
        if new == first[i + 1]:
            new = -1
        change = 0.0
        for c in range(len(left)):
            by = (rows[new, c] if new >= 0 else 0.0) - (rows[old, c] if old >= 0 else 0.0)
            change += by * (by - 2.0 * left[c])
        if new == old or (change > 0.0 and rng.random() >= np.exp(-change / heat)):
            continue
        for c in range(len(left)):
            left[c] -= (rows[new, c] if new >= 0 else 0.0) - (rows[old, c] if old >= 0 else 0.0)
        chosen[i] = new
        rise += change
        if rise < least:
            least = rise
            best[:] = chosen
    return best[best >= 0]
