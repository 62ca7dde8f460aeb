"""Swaps between records that leave tables of counts as they are, drawn in batches by sorting.

Two records exchange what they have in some variables. A table over these and others stays as it is where the two agree
in the others. So records are sorted by what they have to agree in, and neighbours are paired, no record twice: by more
variables than they must agree in and by nearness of numeric ones, so that some swaps change much and others little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.evolve.candidate import breaks_rule
from outrisk.evolve.compiled import trades
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.evolve.tuning import SWAPS
from outrisk.problem.blocks import Array, Tally, variables
from outrisk.problem.influence import records_of_tally


@dataclass(frozen=True, eq=False)
class Edits:
    """Changes of records: `record` (e,) becomes `after` (e, variables); `of` (e,): the swap that each belongs to."""

    record: NDArray[np.int64]
    after: Codes
    of: NDArray[np.int64]
    count: int


def drawn_alike(
    problem: Problem,
    codes: Codes,
    who: NDArray[np.int64],
    kept: NDArray[np.bool_],
    ranges: tuple[Array, Array, Array],
    rng: np.random.Generator,
) -> Edits:
    """The same among records that are alike in most, and changes of two pairs at once (compiled/trades.py), of which
    totals have these ranges and weights.
    """
    none = np.zeros(0)
    found = trades.draw(problem.plan, codes[who], *ranges, none, none, 0, SWAPS.batch, True, rng)
    total_of = np.repeat(np.arange(len(found.variable)), np.diff(found.total_ptr))
    clean = np.ones(len(found.variable), np.bool_)
    clean[total_of[kept[found.totals]]] = False
    records = np.where(found.records >= 0, who[found.records], -1)[clean]
    i, k, i2, k2 = records.T
    j, value = found.variable[clean], found.value[clean]
    values = (np.where(k >= 0, codes[k, j], value), codes[i, j], codes[k2, j], codes[i2, j])
    of = [np.flatnonzero(row >= 0) for row in (i, k, i2, k2)]
    record = np.concatenate([row[at] for row, at in zip((i, k, i2, k2), of, strict=True)])
    after, every = codes[record].copy(), np.concatenate(of)
    after[np.arange(len(every)), j[every]] = np.concatenate([v[at] for v, at in zip(values, of, strict=True)])
    return Edits(record, after, every, len(j))


def draw_swaps(
    problem: Problem, codes: Codes, who: NDArray[np.int64], kept: NDArray[np.bool_], rng: np.random.Generator
) -> Edits:
    """At most `SWAPS.batch` swaps among records `who` that leave the kept totals (m,) as they are."""
    bound, counted = bound_by(problem, kept)
    plan = problem.plan
    numeric = (plan.numeric == 1) & (plan.sizes >= SWAPS.numeric)
    tags = [rng.integers(0, 1 << 62, size) for size in plan.sizes]
    used = np.zeros(len(codes), np.bool_)
    records: list[NDArray[np.int64]] = []
    after: list[Codes] = []
    left = min(SWAPS.batch, len(who) // 2)
    quota = max(1, left // SWAPS.draws)
    for _ in range(2 * SWAPS.draws):
        moved = np.zeros(len(tags), np.bool_)
        moved[rng.choice(plan.active, 1 + (rng.random() < SWAPS.double), replace=False)] = True
        free = who[~used[who]]
        if not counted[moved].any() and rng.random() < 0.5:
            pairs, new = _changes(codes, free[: min(quota, left)], int(np.flatnonzero(moved)[0]), plan.sizes, rng)
        else:
            same = bound[moved].any(axis=0)
            same |= rng.random(len(tags)) < rng.choice(SWAPS.alike)
            pairs, new = _pairs(codes, free, moved, same & ~moved, numeric, tags, min(quota, left), rng)
        fine = ~breaks_rule(problem.rules, new).reshape(pairs.shape).any(axis=1) if problem.rules else slice(None)
        pairs, new = pairs[fine], new.reshape(*pairs.shape, codes.shape[1])[fine]
        used[pairs.ravel()] = True
        left -= len(pairs)
        records.append(pairs)
        after.append(new)
        if left <= 0:
            break
    sizes = [pairs.shape for pairs in records]
    of = np.repeat(np.arange(sum(n for n, _ in sizes)), np.repeat([w for _, w in sizes], [n for n, _ in sizes]))
    found = Edits(
        np.concatenate([pairs.ravel() for pairs in records]),
        np.concatenate([new.reshape(-1, codes.shape[1]) for new in after]),
        of,
        sum(n for n, _ in sizes),
    )
    return _clean(problem, codes, kept, found)


def _clean(problem: Problem, codes: Codes, kept: NDArray[np.bool_], edits: Edits) -> Edits:
    """Those of the swaps that leave kept totals as they are of tables of which some only are."""
    wrong, at = np.zeros(edits.count, np.bool_), 0
    for part in problem.parts:
        for block in part.blocks:
            here = kept[at : at + block.size]
            if isinstance(block, Tally) and here.any() and not _binds(here):
                before, after = (records_of_tally(block, each).members for each in (codes[edits.record], edits.after))
                moved = (after - before)[:, here]
                each = edits.of, np.arange(len(edits.of))
                of = sparse.csr_matrix((np.ones(len(edits.of)), each), shape=(edits.count, len(edits.of)))
                wrong |= np.asarray(abs(of @ moved).sum(axis=1)).ravel() > 0.0
            at += block.size
    fine = ~wrong[edits.of]
    number = np.cumsum(~wrong) - 1
    return Edits(edits.record[fine], edits.after[fine], number[edits.of[fine]], int((~wrong).sum()))


def _binds(kept: NDArray[np.bool_]) -> bool:
    """Whether a table's records may only change places within it, so many of its totals being kept."""
    return bool(2 * kept.sum() > len(kept))


def bound_by(problem: Problem, kept: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which variables a table of mostly kept totals (m,) binds to which others (p, p), and which are in one (p,)."""
    p = len(problem.plan.sizes)
    bound, counted = np.zeros((p, p), np.bool_), np.zeros(p, np.bool_)
    at = 0
    for part in problem.parts:
        for block in part.blocks:
            if isinstance(block, Tally) and _binds(kept[at : at + block.size]):
                those = sorted(variables(block))
                bound[np.ix_(those, those)] = True
                counted[those] = True
            at += block.size
    return bound, counted


def _pairs(
    codes: Codes,
    free: NDArray[np.int64],
    moved: NDArray[np.bool_],
    same: NDArray[np.bool_],
    numeric: NDArray[np.bool_],
    tags: list[NDArray[np.int64]],
    most: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], Codes]:
    """At most so many pairs (M, 2) of records, and what they become (2 M, variables)."""
    key = np.zeros(len(free), np.int64)
    for u in np.flatnonzero(same):
        key ^= tags[u][codes[free, u]]
    near = np.flatnonzero(numeric & ~same)
    second = rng.random(len(free))
    if len(near) and rng.random() < SWAPS.close:
        second = codes[free, rng.choice(near)] + second * 2.0 ** rng.integers(0, 6)
    order = np.lexsort((second, key))
    sorted_key, free = key[order], free[order]
    starts = np.flatnonzero(np.concatenate([[True], sorted_key[1:] != sorted_key[:-1]]))
    place = np.arange(len(free)) - np.repeat(starts, np.diff(np.append(starts, len(free))))
    first = np.flatnonzero((place[:-1] % 2 == 0) & (sorted_key[1:] == sorted_key[:-1]))
    one, other = free[first], free[first + 1]
    differ = codes[one] != codes[other]
    at = np.flatnonzero(differ[:, moved].any(axis=1) & differ[:, ~moved].any(axis=1))
    at = rng.permutation(at)[:most]
    pairs = np.stack([one[at], other[at]], axis=1)
    new = codes[pairs]
    new[:, :, moved] = codes[pairs[:, ::-1]][:, :, moved]
    return pairs, new.reshape(-1, codes.shape[1])


def _changes(
    codes: Codes, some: NDArray[np.int64], variable: int, sizes: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], Codes]:
    """Records (M, 1) that take another value of a variable that is in no table, and what they become."""
    new = codes[some].copy()
    size = int(sizes[variable])
    new[:, variable] = (new[:, variable] + rng.integers(1, size, len(some))) % size
    return some[:, None], new
