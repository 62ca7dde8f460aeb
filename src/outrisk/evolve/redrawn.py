"""A pool of records drawn anew from its own weights, so that what was learnt by weighing it is common in the next one.

Where released numbers ask for what the first pool hardly has (age and years of marriage that go together, of which no
table tells, but three regressions), some records would have to stand for all. So the weights are taken as far as they
go, and records are drawn by them anew (as sequential Monte Carlo does, and population Monte Carlo: Cappé et al. 2004).
Of the largest table of counts each cell gets as many as its count says, but enough of small cells too. What the table
does not count is taken from a record of the same cell, or of one that shares some of the table's variables: as in
crossover, values that were not seen together come together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.told_counts import Table
from outrisk.problem.blocks import Array, joint_over, level_in

LEAST = 12  # records of a cell in which there is anybody
OWN = 0.5  # of the records, that take the rest from their own cell, if there is any
FELT = 0.05  # weight of the records that share some values, below which others are looked at


def drawn_anew(
    codes: Codes, weights: Array, table: Table, n: int, sizes: Sequence[int], rng: np.random.Generator
) -> Codes:
    """Some n records (m, variables), drawn of records (N, variables) of these weights (N,)."""
    joint, counts = joint_over(table.variables, sizes), table.counts.ravel()
    times = np.where(counts > 0, np.maximum(LEAST, np.rint(n * counts / counts.sum())), 0).astype(np.int64)
    cell = np.repeat(np.arange(len(counts)), times)
    wanted = np.zeros((len(cell), len(sizes)), codes.dtype)
    for v, stride in zip(table.variables, joint.strides, strict=True):
        wanted[:, v] = cell // stride % sizes[v]
    donors = _donors(codes, weights, wanted, table.variables, sizes, rng)
    rest = [v for v in range(len(sizes)) if v not in table.variables]
    wanted[:, rest] = codes[donors][:, rest]
    return wanted


def _donors(
    codes: Codes,
    weights: Array,
    wanted: Codes,
    given: tuple[int, ...],
    sizes: Sequence[int],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """For each wanted record (m,) one of records (N, variables), drawn by weight of those that share values given: all
    of these, or those of some of the variables, drawn at random, or fewer where there are none.
    """
    shared = [some for size in range(len(given), -1, -1) for some in combinations(given, size)]
    begin = np.where(rng.random(len(wanted)) < OWN, 0, rng.integers(0, len(shared), len(wanted)))
    donors = np.full(len(wanted), -1)
    for at, some in enumerate(shared):
        rows = np.flatnonzero((donors < 0) & (begin <= at))
        joint = joint_over(some, sizes)
        have, want = level_in(joint, codes), level_in(joint, wanted[rows])
        order = np.argsort(have, kind="stable")
        upto, have = np.concatenate([[0.0], np.cumsum(weights[order])]), have[order]
        first_of, after = np.searchsorted(have, want), np.searchsorted(have, want, side="right")
        heavy = upto[after] - upto[first_of]
        use = (heavy > FELT) | (not some)
        spot = np.searchsorted(upto, upto[first_of] + heavy * rng.random(len(rows)), side="right") - 1
        donors[rows[use]] = order[np.clip(spot, first_of, after - 1)[use]]
    return donors
