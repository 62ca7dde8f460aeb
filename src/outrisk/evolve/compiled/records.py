"""Compiled: exchange of whole records between two data sets, totals following, and which records are mated and mutated
(layout: see layout.py).
"""

from __future__ import annotations

import numpy as np

from outrisk.evolve.compiled.record import entry
from outrisk.evolve.compiled.sums import BATCH, add, fold, memory_of, work_of


# fmt: off
@entry
def exchange(plan, one, rows, other, at, change):
    """Exchange record `rows[r]` of one data set with record `at[r]` of another, in place, for every r (no record in two
    of them); what the totals of the first change by is added to `change` (m,).
    """
    p = one.shape[1]
    work, memory = work_of(plan), memory_of(plan)
    cols, vals = np.empty(plan.extent[2], np.int64), np.empty(plan.extent[2])
    before, after = np.empty((BATCH, p), one.dtype), np.empty((BATCH, p), one.dtype)
    for start in range(0, len(rows), BATCH):
        n = min(BATCH, len(rows) - start)
        for r in range(n):
            i, k = rows[start + r], at[start + r]
            for j in range(p):
                before[r, j], after[r, j] = one[i, j], other[k, j]
                one[i, j], other[k, j] = after[r, j], before[r, j]
        add(plan, plan.blocks, before[:n], -1.0, work, cols, vals, memory, change)
        add(plan, plan.blocks, after[:n], 1.0, work, cols, vals, memory, change)
    fold(plan, memory, change)


@entry
def places_of(gaps, scale, length):
    """Where events lie whose distances are the gaps times `scale`, rounded up; where one lies at `length` or beyond, it
    is the last, and told as `length`.
    """
    found, at, n = np.empty(len(gaps), np.int64), -1.0, 0
    while n < len(gaps) and at < length:
        at += np.ceil(gaps[n] * scale)
        found[n] = min(at, length)
        n += 1
    return found[:n]


@entry
def redrawn(codes, sizes, places, draws):
    """Records of which values are drawn anew, those at `places` among all values, and what they become: any other value
    is equally likely (draws in [0, 1)).
    """
    p = codes.shape[1]
    rows, after = np.empty(len(places), np.int64), np.empty((len(places), p), codes.dtype)
    n = 0
    for e in range(len(places)):
        i = places[e] // p
        j = places[e] - i * p
        if n == 0 or rows[n - 1] != i:
            rows[n] = i
            for v in range(p):
                after[n, v] = codes[i, v]
            n += 1
        value = codes[i, j] + 1 + np.int64(draws[e] * (sizes[j] - 1))
        after[n - 1, j] = value if value < sizes[j] else value - sizes[j]
    return rows[:n], after[:n]
