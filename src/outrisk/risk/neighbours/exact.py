"""Exact nearest and farthest distances between tables of mixed columns, in bounded memory.

Every distance is additive over columns. Between records x and y it is the power-th root of

    sum over number columns j of |x_j - y_j|^power
    + sum over category columns k with different levels u, v of cost_k(u) + cost_k(v),

power 1 or 2. That covers one-hot coding under any scale of its indicators (a mismatch moves two of them), Gower's
distance, Hamming's, and projections (numbers only). Sums are of plain differences, so the distance of a record to its
copy is exactly 0. Equal records are one point with a count. Points lie in blocks of up to 64 neighbours with their
bounds; a query skips each block that cannot hold a nearer (farther) point. That skips most blocks on data with
structure and none at worst; nothing is approximate. Memory is O(records), never O(records^2).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError

if TYPE_CHECKING:
    from outrisk.risk.neighbours.search import Index

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]

_CHUNK = 1024  # queries between two looks at the clock


class TimedOutError(RiskError):
    """A measure took longer than it was given."""


@dataclass(frozen=True)
class Pace:
    """How long a computation may take, who is told of its progress, and how many threads it uses."""

    deadline: float = math.inf  # on the clock of time.monotonic
    progress: Callable[[float], None] | None = None  # is given the share done, in [0, 1]
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)

    def check(self, done: float | None = None) -> None:
        """Report the share done; TimedOutError past the deadline."""
        if time.monotonic() > self.deadline:
            raise TimedOutError("timed out")
        if self.progress is not None and done is not None:
            self.progress(done)


UNHURRIED = Pace()


@dataclass(frozen=True, eq=False)
class Space:
    """Records as points under one additive distance (see the module)."""

    numbers: Floats  # (n_records, p)
    codes: NDArray[np.int32]  # (n_records, q)
    costs: tuple[Floats, ...]  # q arrays (n_levels,)
    power: int = 2  # 1 or 2

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: slice | Positions) -> Space:
        """The same distance on some of the records."""
        return Space(self.numbers[rows], self.codes[rows], self.costs, self.power)


@dataclass(frozen=True, eq=False)
class Points:
    """Records of one table in a space, each distinct record once; a payload tells apart records at the same place."""

    space: Space  # (n_points,) the distinct records
    counts: NDArray[np.int64]  # (n_points,) records at each point
    point: Positions  # (n_records,) where each record is
    first: Positions  # (n_points,) lowest record number at each point
    payload: Floats  # (n_points,)
    index: Index


def points(space: Space, payload: Floats | None = None) -> Points:
    """Distinct records of a table, and the blocks they lie in; O(n log n)."""
    if len(space) == 0:
        raise RiskError("a table without records has no neighbours")
    carried = np.zeros(len(space)) if payload is None else payload
    order = np.lexsort((*space.numbers.T, *space.codes.T, carried))
    rows = space.take(order)
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (
        (rows.numbers[1:] != rows.numbers[:-1]).any(axis=1)
        | (rows.codes[1:] != rows.codes[:-1]).any(axis=1)
        | (carried[order][1:] != carried[order][:-1])
    )
    number = np.cumsum(fresh) - 1
    point = np.empty(len(order), dtype=np.intp)
    point[order] = number
    first = np.full(number[-1] + 1, len(order), dtype=np.intp)
    np.minimum.at(first, point, np.arange(len(order)))
    distinct = rows.take(np.flatnonzero(fresh))
    counts = np.bincount(point)
    levels = np.array([len(cost) for cost in space.costs], dtype=np.int64)
    index = _blocks().build(distinct.numbers, distinct.codes, _level_costs(distinct), levels, counts, space.power)
    return Points(distinct, counts, point, first, carried[order][fresh], index)


def nearest(
    queries: Points,
    references: Points,
    k: int = 1,
    within: bool = False,
    rows: Positions | None = None,
    pace: Pace = UNHURRIED,
) -> Floats:
    """Distances from each record to its k nearest records (k 1 or 2), shape (n_records, k), ascending.

    within: both tables are the same one and a record is not its own neighbour (a copy of it is). rows: only of these
    records, shape (n_rows, k). inf where there are fewer than k others.
    """
    squares = np.empty((len(queries.space), 2))
    costs = _level_costs(queries.space)
    asked, point = _asked(queries, rows)

    def run(start: int, stop: int) -> None:
        _blocks().nearest(
            asked[start:stop], queries.space.numbers, queries.space.codes, costs, queries.space.power,
            references.index, k, within, squares,
        )  # fmt: skip

    _in_chunks(len(asked), run, pace)
    return np.asarray(_root(squares[point, :k], queries.space.power))


def _asked(queries: Points, rows: Positions | None) -> tuple[Positions, Positions]:
    """The points to ask about, and the point of each record asked about."""
    point = queries.point if rows is None else queries.point[rows]
    return np.unique(point), point


def between(space: Space, one: Positions, other: Positions) -> Floats:
    """Distance of each pair of records at these positions, shape (n_pairs,)."""
    sums = (np.abs(space.numbers[one] - space.numbers[other]) ** space.power).sum(axis=1)
    for k, cost in enumerate(space.costs):
        u, v = space.codes[one, k], space.codes[other, k]
        sums += np.where(u != v, cost[u] + cost[v], 0.0)
    return np.asarray(_root(sums, space.power))


def farthest(queries: Points, references: Points, pace: Pace = UNHURRIED) -> float:
    """Largest distance over all pairs of a record of one table and a record of the other."""
    costs = _level_costs(queries.space)
    best = np.zeros(1)

    def run(start: int, stop: int) -> None:
        _blocks().farthest(
            np.arange(start, stop), queries.space.numbers, queries.space.codes, costs, queries.space.power,
            references.index, best,
        )  # fmt: skip

    _in_chunks(len(queries.space), run, Pace(pace.deadline, pace.progress, threads=1))
    return float(_root(best, queries.space.power)[0])


@dataclass(frozen=True, eq=False)
class Ties:
    """What lies within a radius of each record asked about: arrays of shape (n_rows,)."""

    found: NDArray[np.int64]  # reference records within the radius
    hits: NDArray[np.int64]  # of these, those whose payload agrees with the record's
    first: NDArray[np.int64]  # lowest number of a reference record within the radius


def ties(
    queries: Points,
    references: Points,
    radius: Floats,
    absolute: Floats | float = 0.0,
    relative: float = 0.0,
    rows: Positions | None = None,
    pace: Pace = UNHURRIED,
) -> Ties:
    """Count the reference records within a radius (n_rows,) of each record asked about, and those that agree with it.

    Payloads y of the record and z of the reference agree when |y - z| <= absolute + relative * z. Radius and
    `absolute` (n_rows,) are the same for equal records.
    """
    asked, point = _asked(queries, rows)
    reach, slack = np.empty((2, len(queries.space)))
    reach[point] = radius
    slack[point] = absolute
    costs, out = _level_costs(queries.space), np.empty((len(queries.space), 3), dtype=np.int64)

    def run(start: int, stop: int) -> None:
        _blocks().ties(
            asked[start:stop], queries.space.numbers, queries.space.codes, costs, queries.space.power,
            references.index, reach, queries.payload, references.payload, slack, relative, references.first, out,
        )  # fmt: skip

    _in_chunks(len(asked), run, pace)
    found, hits, first = out[point].T
    return Ties(found, hits, first)


def _blocks() -> ModuleType:
    """The compiled search; numba takes longer to import than most measures take to compute."""
    from outrisk.risk.neighbours import search as blocks

    return blocks


def _level_costs(space: Space) -> Floats:
    """Each record's cost in each category column, (n_records, q)."""
    columns = [cost[space.codes[:, k]] for k, cost in enumerate(space.costs)]
    return np.column_stack(columns) if columns else np.empty((len(space), 0))


def _root(sums: Floats, power: int) -> Floats:
    return np.sqrt(sums) if power == 2 else sums


def _in_chunks(n: int, run: Callable[[int, int], None], pace: Pace) -> None:
    """Run over chunks of the queries in threads (the kernels hold no lock), looking at the clock between them."""
    pace.check(0.0)
    starts = range(0, n, _CHUNK)
    if pace.threads == 1 or len(starts) == 1:
        for start in starts:
            run(start, min(start + _CHUNK, n))
            pace.check(min(start + _CHUNK, n) / n)
        return
    with ThreadPoolExecutor(pace.threads) as pool:
        tasks = [pool.submit(run, start, min(start + _CHUNK, n)) for start in starts]
        try:
            for done, task in enumerate(tasks, 1):
                task.result()
                pace.check(done / len(tasks))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
