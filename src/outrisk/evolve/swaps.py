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

from outrisk.evolve.around import Equations
from outrisk.evolve.compiled import trades
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array, breaks_rule, level_in, variables
from outrisk.problem.influence import records_of_tally

TRIED = 4  # changes that are drawn for each that is asked for, where a table must stay as it is
AIMED = 3  # changes for each sum of values that is off, each of which would do
NUMERIC = 8  # values from which on records may be near in a numeric variable without being equal


@dataclass(frozen=True, eq=False)
class Edits:
    """Changes of records: `record` (e,) becomes `after` (e, variables); `of` (e,): the swap that each belongs to."""

    record: NDArray[np.int64]
    after: Codes
    of: NDArray[np.int64]
    count: int

    @classmethod
    def of_one(cls, record: NDArray[np.int64], after: Codes) -> Edits:
        """Changes of one record each."""
        return cls(record, after, np.arange(len(record)), len(record))

    def some(self, which: NDArray[np.bool_]) -> Edits:
        """These swaps (count,) alone."""
        mine = which[self.of]
        number = np.cumsum(which) - 1
        return Edits(self.record[mine], self.after[mine], number[self.of[mine]], int(which.sum()))

    def without(self, records: NDArray[np.int64]) -> Edits:
        """Those that change none of these records."""
        return self.some(np.bincount(self.of, np.isin(self.record, records), self.count) == 0)

    def beside(self, other: Edits) -> Edits:
        """These swaps, and then others, of other records."""
        return Edits(
            np.concatenate([self.record, other.record]),
            np.concatenate([self.after, other.after]),
            np.concatenate([self.of, self.count + other.of]),
            self.count + other.count,
        )

    @property
    def sums(self) -> sparse.csr_matrix:
        """Which changes each swap is made of, (count, e)."""
        e = len(self.of)
        return sparse.csr_matrix((np.ones(e), (self.of, np.arange(e))), shape=(self.count, e))


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
    found = trades.draw(problem.plan, codes[who], *ranges, none, none, 0, TUNING.swaps, True, rng)
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
    problem: Problem,
    codes: Codes,
    who: NDArray[np.int64],
    kept: NDArray[np.bool_],
    loose: NDArray[np.bool_],
    rng: np.random.Generator,
) -> Edits:
    """At most `TUNING.swaps` swaps among records `who` that leave the kept totals (m,) as they are, and half of them
    the loose ones (m,) too.
    """
    (bound, counted), (too, _) = bound_by(problem, kept), bound_by(problem, kept | loose)
    plan, partly, several = problem.plan, _partly(problem, kept), coarse(problem, kept)
    numeric = (plan.numeric == 1) & (plan.sizes >= NUMERIC)
    tags = [rng.integers(0, 1 << 62, size) for size in plan.sizes]
    used = np.zeros(len(codes), np.bool_)
    records: list[NDArray[np.int64]] = []
    after: list[Codes] = []
    left = min(TUNING.swaps, len(who) // 2)
    choices = len(plan.active)
    quota = max(1, left // choices)
    for _ in range(2 * choices):
        moved = np.zeros(len(tags), np.bool_)
        moved[rng.choice(plan.active, min(int(rng.integers(1, 3)), choices), replace=False)] = True
        free = who[~used[who]]
        one = int(np.flatnonzero(moved)[0])
        if (partly[one] or several[one]) and rng.random() < 0.5:
            alone = partly[one] or not numeric[one] or rng.random() < 1 / 3
            draw = _changes if alone else _unlike
            pairs, new = draw(codes, free, one, numeric, plan.sizes, TRIED * min(quota, left), rng)
            pairs, new = _keeping(problem, codes, kept, pairs, new, min(quota, left))
        elif numeric[one] and not counted[one] and rng.random() < 0.25:
            two = _paired(codes, free, bound[one], np.arange(len(tags)) == one, numeric, tags, rng)
            pairs, new = _transfers(codes, *two, one, int(plan.sizes[one]), min(quota, left), rng)
        elif not counted[moved].any() and rng.random() < 0.5:
            pairs, new = _changes(codes, free, one, numeric, plan.sizes, min(quota, left), rng)
        else:
            same = np.asarray((bound, too)[rng.integers(2)][moved].any(axis=0))
            two = _paired(codes, free, same, moved, numeric, tags, rng)
            pairs, new = _exchanges(codes, *two, moved, min(quota, left), rng)
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


def aimed(equations: Equations, codes: Codes, rng: np.random.Generator) -> Edits:
    """Changes of single values, at most three for each sum of values that is off: of records of its cell, each to the
    value that would make up for what is missing, or comes nearest. No record twice. Of few people no other one may do.
    """
    problem, plan = equations.problem, equations.problem.plan
    numeric = (plan.numeric == 1) & (plan.sizes >= NUMERIC)
    missing = np.zeros(len(equations.kept))
    missing[equations.totals] = equations.off[len(equations.off) - len(equations.totals) :]
    found: dict[int, Codes] = {}
    for block, where in problem.tallies:
        those = [(j, at) for at, j in enumerate(block.place.variables) if numeric[j]]
        cells = np.flatnonzero(missing[where])
        if block.value is None or not those or not len(cells):
            continue
        level, cell_of = level_in(block.place, codes), records_of_tally(block, codes).cell
        for cell in cells:
            for record in rng.permutation(np.flatnonzero(cell_of == cell))[:AIMED]:
                j, at = those[rng.integers(len(those))]
                levels = level[record] + (np.arange(plan.sizes[j]) - int(codes[record, j])) * block.place.strides[at]
                off = block.value[level[record]] + missing[where][cell] - block.value[levels]
                if block.cell is not None:
                    off[block.cell[levels] != cell] = np.inf
                new = codes[record].copy()
                new[j] = np.argmin(np.abs(off))
                if new[j] != codes[record, j]:
                    found.setdefault(int(record), new)
    record = np.array(list(found), np.int64)
    after = np.array(list(found.values()), codes.dtype).reshape(len(record), codes.shape[1])
    fine = ~breaks_rule(problem.rules, after) if problem.rules else slice(None)
    return leaving(problem, codes, Edits.of_one(record[fine], after[fine]), equations.kept)


def changed_alone(problem: Problem, codes: Codes, who: NDArray[np.int64], rng: np.random.Generator) -> Edits:
    """Records that take another value of one variable; half of the time the next one."""
    sizes, every, after = np.asarray(problem.codebook.sizes), np.arange(len(who)), codes[who]
    variable = problem.plan.active[rng.integers(0, len(problem.plan.active), len(who))]
    size, near = sizes[variable], rng.random(len(who)) < 0.5
    by = np.where(near, rng.choice([-1, 1], len(who)), rng.integers(1, np.maximum(size, 2)))
    after[every, variable] = (after[every, variable].astype(np.int64) + by) % size
    fine = (after != codes[who]).any(axis=1) & ~breaks_rule(problem.rules, after)
    return Edits.of_one(who[fine], after[fine])


def exchanged(problem: Problem, codes: Codes, pairs: NDArray[np.int64], rng: np.random.Generator) -> Edits:
    """Pairs (M, 2) that exchange what they have in one variable or two, where that changes both."""
    every, active = np.arange(len(pairs)), problem.plan.active
    moved = np.zeros((len(pairs), codes.shape[1]), np.bool_)
    for some in (every, every[rng.random(len(pairs)) < 0.5]):
        moved[some, active[rng.integers(0, len(active), len(some))]] = True
    one, other = codes[pairs[:, 0]], codes[pairs[:, 1]]
    after = np.stack([np.where(moved, other, one), np.where(moved, one, other)], axis=1)
    fine = ((one != other) & moved).any(axis=1)
    if problem.rules:
        fine &= ~breaks_rule(problem.rules, after.reshape(-1, codes.shape[1])).reshape(-1, 2).any(axis=1)
    after = after[fine].reshape(-1, codes.shape[1])
    return Edits(pairs[fine].ravel(), after, np.repeat(np.arange(fine.sum()), 2), int(fine.sum()))


def within(problem: Problem, codes: Codes, edits: Edits, room: Array, rng: np.random.Generator) -> Edits:
    """Some of the swaps, drawn at random, such that whichever of them are made, totals fall and rise by no more than
    their room (2, m).
    """
    narrow = np.asarray(np.isfinite(room).any(axis=0))
    effects = effects_of(problem, codes, edits, narrow)
    if effects is None:
        return edits
    down, up = room[:, narrow]
    wrong = np.zeros(edits.count, np.bool_)
    for swap in rng.permutation(np.flatnonzero(np.diff(effects.indptr))):
        entries = slice(effects.indptr[swap], effects.indptr[swap + 1])
        at, change = effects.indices[entries], effects.data[entries]
        left = np.where(change > 0.0, up[at], down[at]) - np.abs(change)
        if (left < 0.0).any():
            wrong[swap] = True
        else:
            up[at], down[at] = np.where(change > 0.0, left, up[at]), np.where(change < 0.0, left, down[at])
    return edits.some(~wrong)


def _clean(problem: Problem, codes: Codes, kept: NDArray[np.bool_], edits: Edits) -> Edits:
    """Those of the swaps that leave kept totals as they are of tables of which some only are."""
    some = kept.copy()
    for _, where in problem.tallies:
        some[where] &= not _binds(kept[where])
    return leaving(problem, codes, edits, some)


def leaving(problem: Problem, codes: Codes, edits: Edits, which: NDArray[np.bool_]) -> Edits:
    """Those of the swaps that leave some totals of tables (m,) as they are."""
    effects = effects_of(problem, codes, edits, which)
    return edits if effects is None else edits.some(np.diff(effects.indptr) == 0)


def changes_by(equations: Equations, codes: Codes, edits: Edits) -> Array:
    """What each of M swaps changes the numbers by, (M, q)."""
    before, after = np.split(equations.rows(np.concatenate([codes[edits.record], edits.after])), 2)
    return np.asarray(edits.sums @ (after - before))


def effects_of(problem: Problem, codes: Codes, edits: Edits, which: NDArray[np.bool_]) -> sparse.csr_matrix | None:
    """What each swap changes some totals of tables by, (count, number of them); None where there are none."""
    if not which.any():
        return None
    (out, left, less), (into, come, more) = (problem.added(each, which) for each in (codes[edits.record], edits.after))
    swap, total = edits.of[np.concatenate([out, into])], np.concatenate([left, come])
    entries = np.concatenate([-less, more]), (swap, np.cumsum(which)[total] - 1)
    effects = sparse.csr_matrix(entries, shape=(edits.count, int(which.sum())))
    effects.eliminate_zeros()
    return effects


def _binds(kept: NDArray[np.bool_]) -> bool:
    """Whether a table's records may only change places within it, so many of its totals being kept."""
    return bool(2 * kept.sum() > len(kept))


def bound_by(problem: Problem, kept: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which variables a table of mostly kept totals (m,) binds to which others (p, p), and which are in one (p,)."""
    p = len(problem.plan.sizes)
    bound, counted = np.zeros((p, p), np.bool_), np.zeros(p, np.bool_)
    for block, where in problem.tallies:
        if _binds(kept[where]):
            those = sorted(variables(block))
            bound[np.ix_(those, those)] = True
            counted[those] = True
    return bound, counted


def _partly(problem: Problem, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which variables (p,) are in a table of counts, and in none of which all totals (m,) are kept: of such a table a
    record may go from one cell to another, so that the sizes of classes can be put right.
    """
    some, every = np.zeros((2, len(problem.plan.sizes)), np.bool_)
    for block, where in problem.tallies:
        here = kept[where]
        if here.any():
            those = sorted(variables(block))
            some[those] = True
            every[those] |= here.sum() + 1 >= block.size  # one total that is not kept follows from the others
    return some & ~every


def coarse(problem: Problem, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which variables (p,) have several values in a cell of each table of kept totals (m,) that they are in, as times
    of a survival curve have between those that are published: a record may go from one of them to another.
    """
    some, every = np.zeros((2, len(problem.plan.sizes)), np.bool_)
    for block, where in problem.tallies:
        if kept[where].any():
            some[list(block.place.variables)] = True
            several = set[int]()
            if block.cell is not None:
                cells = block.cell.reshape([int(problem.plan.sizes[j]) for j in block.place.variables])
                counted = np.where(cells < 0, np.nan, cells)
                several = {j for at, j in enumerate(block.place.variables) if (np.diff(counted, axis=at) == 0.0).any()}
            every[sorted(variables(block) - several)] = True
    return some & ~every


def _unlike(
    codes: Codes,
    free: NDArray[np.int64],
    variable: int,
    numeric: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    most: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], Codes]:
    """At most so many pairs (M, 2) of any records, and what they become (2 M, variables) as one gives an amount of a
    variable to the other, or they exchange what they have in it.
    """
    tags = [rng.integers(0, 1 << 62, size) for size in sizes]
    moved = np.arange(len(sizes)) == variable
    two = _paired(codes, free, np.zeros(len(sizes), np.bool_), moved, numeric, tags, rng)
    if rng.random() < 0.5:
        return _transfers(codes, *two, variable, int(sizes[variable]), most, rng)
    return _exchanges(codes, *two, moved, most, rng)


def _paired(
    codes: Codes,
    free: NDArray[np.int64],
    same: NDArray[np.bool_],
    moved: NDArray[np.bool_],
    numeric: NDArray[np.bool_],
    tags: list[NDArray[np.int64]],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Neighbours that are the same in some variables, and in others by chance, but need not be in those moved."""
    same = (same | (rng.random(len(tags)) < rng.random())) & ~moved
    return _neighbours(codes, free, same, numeric, tags, rng)


def _neighbours(
    codes: Codes,
    free: NDArray[np.int64],
    same: NDArray[np.bool_],
    numeric: NDArray[np.bool_],
    tags: list[NDArray[np.int64]],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of records, no record twice, that are the same in some variables: by chance, or near in a numeric one."""
    key = np.zeros(len(free), np.int64)
    for u in np.flatnonzero(same):
        key ^= tags[u][codes[free, u]]
    near = np.flatnonzero(numeric & ~same)
    second = rng.random(len(free))
    if len(near) and rng.random() < 0.5:
        second = codes[free, rng.choice(near)] + second * 2.0 ** rng.integers(0, 6)
    order = np.lexsort((second, key))
    sorted_key, free = key[order], free[order]
    starts = np.flatnonzero(np.concatenate([[True], sorted_key[1:] != sorted_key[:-1]]))
    place = np.arange(len(free)) - np.repeat(starts, np.diff(np.append(starts, len(free))))
    first = np.flatnonzero((place[:-1] % 2 == 0) & (sorted_key[1:] == sorted_key[:-1]))
    return free[first], free[first + 1]


def _exchanges(
    codes: Codes,
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    moved: NDArray[np.bool_],
    most: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], Codes]:
    """At most so many of the pairs (M, 2) of records, and what they become (2 M, variables) by exchanging what they
    have in some variables.
    """
    differ = codes[one] != codes[other]
    at = np.flatnonzero(differ[:, moved].any(axis=1) & differ[:, ~moved].any(axis=1))
    at = rng.permutation(at)[:most]
    pairs = np.stack([one[at], other[at]], axis=1)
    new = codes[pairs]
    new[:, :, moved] = codes[pairs[:, ::-1]][:, :, moved]
    return pairs, new.reshape(-1, codes.shape[1])


def _transfers(
    codes: Codes,
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    variable: int,
    size: int,
    most: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], Codes]:
    """At most so many of the pairs (M, 2) of records, and what they become (2 M, variables) where one gives an amount
    of a variable to the other: the sum over both stays, and its squares change. Small amounts are as frequent as large.
    """
    amount = np.exp(rng.uniform(0.0, np.log(size), len(one))).astype(np.int64)
    less, more = codes[one, variable] - amount, codes[other, variable] + amount
    at = rng.permutation(np.flatnonzero((less >= 0) & (more < size)))[:most]
    pairs = np.stack([one[at], other[at]], axis=1)
    new = codes[pairs]
    new[:, 0, variable], new[:, 1, variable] = less[at], more[at]
    return pairs, new.reshape(-1, codes.shape[1])


def _changes(
    codes: Codes,
    free: NDArray[np.int64],
    variable: int,
    numeric: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    most: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], Codes]:
    """Records (M, 1) that take another value of a variable, and what they become: a record is drawn with a chance
    inverse to how many share its value, as a class of few needs as many changes as one of many. A number goes as often
    by a step of any length, short ones being as frequent as long ones, as to any value.
    """
    values = codes[free, variable]
    some = free[np.argsort(rng.exponential(np.bincount(values)[values]))[:most]]
    new = codes[some]
    size = int(sizes[variable])
    step = rng.integers(1, size, len(some))
    if numeric[variable] and rng.random() < 0.5:
        step = np.exp(rng.uniform(0.0, np.log(size), len(some))).astype(np.int64) * rng.choice([-1, 1], len(some))
    new[:, variable] = (new[:, variable] + step) % size
    return some[:, None], new


def _keeping(
    problem: Problem, codes: Codes, kept: NDArray[np.bool_], records: NDArray[np.int64], new: Codes, most: int
) -> tuple[NDArray[np.int64], Codes]:
    """At most so many of the changes of one record or two (M, 1 or 2) that leave kept totals (m,) as they are."""
    count, width = records.shape
    edits = Edits(records.ravel(), new, np.repeat(np.arange(count), width), count)
    effects = effects_of(problem, codes, edits, kept)
    some = (np.arange(count) if effects is None else np.flatnonzero(np.diff(effects.indptr) == 0))[:most]
    return records[some], new.reshape(count, width, codes.shape[1])[some].reshape(-1, codes.shape[1])
