"""Compiled: exchange of whole records between two data sets, totals following (layout: see layout.py)."""

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
