"""Compiled: trades, worked out once and annealed together.

A trade moves one variable between records that are alike in the other variables that tallies see, so that most tables
stay as they are: an exchange between two records; or two exchanges, where the second takes back what the first does to
tables in which its two records are not alike; or, for a variable that no tally sees, another value of one record. No
record is in more than one trade, so what a trade changes does not depend on the others: it is worked out once, and then
any of them can be made and taken back in a few nanoseconds. That settles regressions beside tables, where climbing has
to pay for several likelihoods at every step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.compiled.climb import _models, _penalty
from outrisk.evolve.compiled.exchanges import _see
from outrisk.evolve.compiled.layout import (
    FAMILY,
    FIRST,
    KIND,
    MODEL,
    NUMBERS,
    RESIDUAL,
    SIZE,
    VALUE,
    Array,
    Codes,
    Plan,
)
from outrisk.evolve.compiled.record import allowed, entry, inline, jit, joined, key_of, shuffle, slot_of, spot_of, sums
from outrisk.evolve.compiled.sums import add_all, work_of

BITS, RING = 15, 4  # records met last, kept by a hash of what they should have in common; so many each
ALIKE = 1 << BITS
ROUNDS = 3  # over the variables in one drawing, each with other tables whose variables records must share
HARD, SOFT, NONE = 0.9, 0.2, 0.3  # chance that records share the variables of a count table, of others, of smooth parts
FREE = 0.5  # chance that they are not asked to, and no second exchange makes up for it, where that is no count table
NARROW = 3.0  # width of a range of counts below which its table is kept
BANDS, CLOSE = 8, 0.6  # values above which an ordered variable has bands; chance that records must be in the same one
ALSO = 0.25  # chance that they must be alike in any other variable too, which makes small changes
HOPELESS = 30.0  # rise, in units of the heat, that is never kept
NOTHING = 1e-10  # squared change of the residuals below which a trade is idle


class Trades(NamedTuple):
    """M trades and what each changes.

    records (M, 4): i, k and i2, k2, each pair exchanging `variable` (M,); k -1: i takes `value` (M,). changes: of the
    residuals, trade after trade, those of trade m from change_ptr[m] on, in segments (first residual, length)
    segments[segment_ptr[m]:segment_ptr[m + 1]]. totals, shares: the totals of tallies that trade m moves, and by how
    much, total_ptr[m] to total_ptr[m + 1].
    """

    variable: NDArray[np.int64]
    records: NDArray[np.int64]
    value: NDArray[np.int64]
    changes: NDArray[np.float32]
    change_ptr: NDArray[np.int64]
    segments: NDArray[np.int64]
    segment_ptr: NDArray[np.int64]
    totals: NDArray[np.int64]
    shares: NDArray[np.float64]
    total_ptr: NDArray[np.int64]


# fmt: off
@inline
def _near(codes, i, width, key):
    """A hash of the bands of the width given, 0 for none, that record i lies in, on top of another one."""
    for u in range(codes.shape[1]):
        if width[u]:
            key = joined(key, np.uint64(codes[i, u] // width[u]))
    return key


@inline
def _alike(codes, i, k, which):
    """Whether two records have the same in the variables `which`."""
    alike = True
    for u in range(codes.shape[1]):
        alike &= not which[u] or codes[i, u] == codes[k, u]
    return alike


@jit
def _pinned(code, b, low, high, weight):
    """Whether most cells of TALLY b are counts with narrow ranges."""
    if code[b + VALUE] >= 0:
        return False
    narrow = 0
    for a in range(code[b + FIRST], code[b + FIRST] + code[b + SIZE]):
        narrow += 1 if weight[a] > 0.0 and high[a] - low[a] < NARROW else 0
    return 2 * narrow > code[b + SIZE]


@jit
def _roles(plan, j, low, high, weight, seen, same, rest, rng):
    """Draw which variables the two records of an exchange of j must share, and in which a second exchange must make up
    for their differences; returns whether a model sees j, whether a tally does, and whether one that is pinned does.
    """
    code = plan.code
    for u in range(len(same)):
        same[u] = rest[u] = False
    modelled = tallied = pinned = False
    for e in range(plan.var_ptr[j], plan.var_ptr[j + 1]):
        b = plan.var_blocks[e]
        chance, free = HARD, 0.0
        if code[b + KIND] == MODEL:
            modelled = True
            if code[b + FAMILY] != 0:
                continue
            chance, free = NONE, FREE
        else:
            tallied = True
            if _pinned(code, b, low, high, weight):
                pinned = True
            else:
                chance, free = SOFT, FREE
        for u in range(len(seen)):
            seen[u] = False
        _see(code, b, seen)
        x = rng.random()
        for u in range(len(seen)):
            same[u] |= seen[u] and x < chance
            rest[u] |= seen[u] and x >= chance + free
    same[j] = rest[j] = False
    for u in range(len(same)):
        rest[u] &= not same[u]
    return modelled, tallied, pinned


@inline
def _step(old, size, rng):
    """A value near by, mostly the next one."""
    far = 1 + int(-math.log(1.0 - rng.random()) * 1.5)
    new = old - far if rng.random() < 0.5 else old + far
    return min(max(new, np.int64(0)), size - 1)


@jit
def _pair(codes, j, order, used, same, rest, width, records, count, upto, rng):
    """Find exchanges of variable j, into `records` from `count` on; returns how many there are then. `same`: variables
    that the records of an exchange share; `rest`: those in which a second exchange makes up for their differences.
    """
    twofold = False
    for u in range(len(rest)):
        twofold |= rest[u]
    met = np.full(ALIKE, -1, np.int64)
    size = ALIKE if twofold else 1
    bucket, twin = np.full(size * RING, -1, np.int64), np.full(size, -1, np.int64)
    if twofold:
        for i in order:
            if not used[i]:
                key = key_of(codes, i, rest, joined(np.uint64(0), np.uint64(codes[i, j])))
                bucket[slot_of(key, BITS) * RING + int(rng.random() * RING)] = i
                twin[slot_of(key_of(codes, i, same, key), BITS)] = i
    for i in order:
        if count >= upto:
            break
        if used[i]:
            continue
        at = slot_of(_near(codes, i, width, key_of(codes, i, same, np.uint64(0))), BITS)
        k = met[at]
        if k < 0 or used[k] or codes[i, j] == codes[k, j] or not _alike(codes, i, k, same):
            if k < 0 or used[k] or rng.random() < 0.5:
                met[at] = i
            continue
        i2 = k2 = np.int64(-1)
        if twofold and not _alike(codes, i, k, rest):
            here = key_of(codes, k, rest, joined(np.uint64(0), np.uint64(codes[i, j])))
            there = key_of(codes, i, rest, joined(np.uint64(0), np.uint64(codes[k, j])))
            for e in range(RING):
                i2 = bucket[slot_of(here, BITS) * RING + e]
                k2 = -1 if i2 < 0 else twin[slot_of(key_of(codes, i2, same, there), BITS)]
                if (
                    k2 >= 0 and i2 != i and i2 != k and k2 != i and k2 != k and not used[i2] and not used[k2]
                    and codes[i2, j] == codes[i, j] and codes[k2, j] == codes[k, j]
                    and _alike(codes, i2, k, rest) and _alike(codes, k2, i, rest)
                    and _alike(codes, i2, k2, same) and not _alike(codes, i, i2, same)
                ):
                    break
                k2 = -1
            if k2 < 0:
                met[at] = i
                continue
            used[i2] = used[k2] = True
        records[count, 0], records[count, 1] = i, k
        records[count, 2], records[count, 3] = (i2, k2) if k2 >= 0 else (-1, -1)
        used[i] = used[k] = True
        met[at] = -1
        count += 1
    return count


@jit
def _turn(codes, j, records, value):
    """Make or take back a trade, in place; returns the value with which a lone record goes back."""
    i, k, i2, k2 = records[0], records[1], records[2], records[3]
    if k < 0:
        old = np.int64(codes[i, j])
        codes[i, j] = value
        return old
    codes[i, j], codes[k, j] = codes[k, j], codes[i, j]
    if i2 >= 0:
        codes[i2, j], codes[k2, j] = codes[k2, j], codes[i2, j]
    return value


@jit
def _keeps(plan, codes, j, records, value):
    """Whether a trade of variable j keeps all rules."""
    if plan.rule_ptr[j + 1] == plan.rule_ptr[j]:
        return True
    back = _turn(codes, j, records, value)
    keeps = True
    for row in records:
        keeps &= row < 0 or allowed(plan, j, codes, row)
    _turn(codes, j, records, back)
    return keeps


@jit
def _moves(plan, codes, j, records, value, weight, totals, shares, filled):
    """What a trade moves in the totals of tallies that count, from `filled` on; returns the new length."""
    code, floats, flags, cells = plan.code, plan.floats, plan.flags, plan.cells
    for e in range(plan.var_ptr[j], plan.var_ptr[j + 1]):
        b = plan.var_blocks[e]
        if code[b + KIND] == MODEL:
            continue
        start = filled
        for sign in (-1.0, 1.0):
            for row in records:
                if row < 0:
                    continue
                cell, share = spot_of(code, floats, flags, cells, b, codes, row)
                if cell < 0 or weight[code[b + FIRST] + cell] == 0.0:
                    continue
                at = start
                while at < filled and totals[at] != code[b + FIRST] + cell:
                    at += 1
                if at == filled:
                    totals[at], shares[at] = code[b + FIRST] + cell, 0.0
                    filled += 1
                shares[at] += sign * share
            value = _turn(codes, j, records, value)
        kept = start
        for f in range(start, filled):
            if abs(shares[f]) > NOTHING:
                totals[kept], shares[kept] = totals[f], shares[f]
                kept += 1
        filled = kept
    return filled


@jit
def _delta(plan, codes, j, records, value, forms, profiles, work, delta, second):
    """What a trade of variable j changes in the residuals of the models that see it, one after the other in delta."""
    i, k, i2, k2 = records[0], records[1], records[2], records[3]
    start, end = plan.var_ptr[j], plan.var_ptr[j + 1]
    eta, slack, curvature, x_cols, x_vals, cols, vals, ends, residual = work
    old = np.int64(codes[i, j])
    _models(
        plan.var_blocks, start, end, plan.code, plan.floats, plan.flags, plan.cols, plan.vals, j, codes, i, value, k,
        old, residual, forms, profiles, eta, slack, curvature, x_cols, x_vals, cols, vals, ends, delta,
    )
    if i2 >= 0:
        _models(
            plan.var_blocks, start, end, plan.code, plan.floats, plan.flags, plan.cols, plan.vals, j, codes, i2, value,
            k2, old, residual, forms, profiles, eta, slack, curvature, x_cols, x_vals, cols, vals, ends, second,
        )
        for q in range(len(delta)):
            delta[q] += second[q]


@jit
def _keep(plan, j, delta, changes, filled, segments, segment):
    """Keep what delta changes in `changes` from `filled` on, in segments from `segment` on; returns the new lengths."""
    code, first = plan.code, segment
    at = 0
    for e in range(plan.var_ptr[j], plan.var_ptr[j + 1]):
        b = plan.var_blocks[e]
        if code[b + KIND] != MODEL:
            continue
        numbers = code[b + NUMBERS]
        moved = delta[at : at + numbers]
        at += numbers
        squares = 0.0
        for q in range(numbers):
            squares += moved[q] * moved[q]
        if squares <= NOTHING:
            continue
        if segment > first and segments[segment - 1, 0] + segments[segment - 1, 1] == code[b + RESIDUAL]:
            segments[segment - 1, 1] += numbers
        else:
            segments[segment, 0], segments[segment, 1] = code[b + RESIDUAL], numbers
            segment += 1
        for q in range(numbers):
            changes[filled + q] = moved[q]
        filled += numbers
    return filled, segment


@entry
def draw(plan, codes, low, high, weight, forms, profiles, n_residuals, most, fine, rng):
    """At most `most` trades between random records of a data set, for the variables that models see; `fine`: between
    records that are alike in most. With no residuals (n_residuals 0) what they change in the models is not worked out.
    """
    n, p = codes.shape
    n_blocks, most = len(plan.blocks), min(most, n)
    order = np.arange(n)
    shuffle(order, min(n, 8 * most), rng)
    order = order[:8 * most]
    variables = plan.active.copy()
    used = np.zeros(n, np.bool_)
    seen, same, rest, width = np.zeros(p, np.bool_), np.zeros(p, np.bool_), np.zeros(p, np.bool_), np.zeros(p, np.int64)
    records, variable, value = np.empty((most, 4), np.int64), np.empty(most, np.int64), np.zeros(most, np.int64)
    change_ptr, segment_ptr = np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    total_ptr = np.zeros(most + 1, np.int64)
    changes, segments = np.empty(most * n_residuals, np.float32), np.empty((most * n_blocks, 2), np.int64)
    totals, shares = np.empty(most * 8 * n_blocks, np.int64), np.empty(most * 8 * n_blocks)
    room = 4 * plan.extent[2] * n_blocks
    work = (
        *work_of(plan), np.empty(room, np.int64), np.empty(room), np.empty(n_blocks, np.int64), np.zeros(n_residuals),
    )
    delta, second = np.zeros(n_residuals), np.zeros(n_residuals)
    turns = 0
    for j in plan.active:
        turns += ROUNDS if _roles(plan, j, low, high, weight, seen, same, rest, rng)[0] and plan.sizes[j] > 1 else 0
    count = turn = np.int64(0)
    for _ in range(ROUNDS):
        shuffle(variables, len(variables), rng)
        for j in variables:
            modelled, tallied, pinned = _roles(plan, j, low, high, weight, seen, same, rest, rng)
            if not modelled or plan.sizes[j] < 2:
                continue
            turn += 1
            upto = most * turn // turns
            found = count
            stepped = fine and not pinned and plan.numeric[j] == 1 and plan.sizes[j] > BANDS
            also = 0.5 + 0.25 * int(rng.random() * 3.0) if fine else ALSO
            if (stepped or not tallied) and rng.random() < 0.5:
                for i in order:
                    if found < upto and not used[i]:
                        records[found, 0], records[found, 1] = i, -1
                        records[found, 2], records[found, 3] = -1, -1
                        used[i] = True
                        found += 1
            else:
                for u in range(p):
                    many = plan.numeric[u] == 1 and plan.sizes[u] > BANDS
                    same[u] |= u != j and not rest[u] and not (fine and many) and rng.random() < also
                    banded = many and not same[u] and (fine or rng.random() < CLOSE)
                    width[u] = 2 << int(rng.random() * 4.0) if banded else 0
                found = _pair(codes, j, order, used, same, rest, width, records, count, upto, rng)
            for m in range(count, found):
                i, k = records[m, 0], records[m, 1]
                new = np.int64(codes[k, j]) if k >= 0 else np.int64(codes[i, j])
                if k < 0:
                    new = _step(new, plan.sizes[j], rng) if stepped else (
                        (new + 1 + int(rng.random() * (plan.sizes[j] - 1))) % plan.sizes[j]
                    )
                if not _keeps(plan, codes, j, records[m], new):
                    continue
                filled, segment = change_ptr[count], segment_ptr[count]
                if n_residuals:
                    _delta(plan, codes, j, records[m], new, forms, profiles, work, delta, second)
                    filled, segment = _keep(plan, j, delta, changes, filled, segments, segment)
                    if segment == segment_ptr[count]:
                        continue
                for e in range(4):
                    records[count, e] = records[m, e]
                variable[count], value[count] = j, new
                change_ptr[count + 1], segment_ptr[count + 1] = filled, segment
                total_ptr[count + 1] = _moves(
                    plan, codes, j, records[count], new, weight, totals, shares, total_ptr[count],
                )
                count += 1
    return Trades(
        variable[:count], records[:count], value[:count], changes[:change_ptr[count]], change_ptr[:count + 1],
        segments[:segment_ptr[count]], segment_ptr[:count + 1], totals[:total_ptr[count]], shares[:total_ptr[count]],
        total_ptr[:count + 1],
    )


@sums
def _rise(changes, at, residual, first, length, sign):
    """Change of the squared length of some residuals if they moved."""
    rise = np.float32(0.0)
    for q in range(length):
        rise += changes[at + q] * (sign * residual[first + q] + changes[at + q])
    return rise


@entry
def anneal(trades, residual, totals, low, high, weight, hot, cold, sweeps, rng):
    """Make trades and take them back while a heat falls from `hot` to `cold`, `sweeps` times each on the average: one
    that raises the fitness by as much as the heat is kept with probability 1 / e, none without heat. Totals of tallies
    follow, in place; returns which are made.
    """
    changes, change_ptr, segments, segment_ptr = (
        trades.changes, trades.change_ptr, trades.segments, trades.segment_ptr,
    )
    moved, shares, total_ptr = trades.totals, trades.shares, trades.total_ptr
    made = np.zeros(len(trades.variable), np.bool_)
    now = np.empty(len(residual), np.float32)
    for q in range(len(now)):
        now[q] = residual[q]
    heat, fall = hot, (cold / hot) ** (1.0 / max(1, sweeps - 1)) if hot > 0.0 else 1.0
    for _ in range(sweeps):
        for m in range(len(made)):
            sign = -1.0 if made[m] else 1.0
            rise = 0.0
            at = change_ptr[m]
            for s in range(segment_ptr[m], segment_ptr[m + 1]):
                first, length = segments[s, 0], segments[s, 1]
                rise += _rise(changes, at, now, first, length, np.float32(2.0 * sign))
                at += length
            if rise > HOPELESS * heat and total_ptr[m] == total_ptr[m + 1]:
                continue
            for f in range(total_ptr[m], total_ptr[m + 1]):
                a, share = moved[f], sign * shares[f]
                rise += _penalty(totals[a] + share, low[a], high[a], weight[a])
                rise -= _penalty(totals[a], low[a], high[a], weight[a])
            if rise > HOPELESS * heat or (rise > 0.0 and rise > -heat * math.log(1.0 - rng.random())):
                continue
            made[m] = not made[m]
            at = change_ptr[m]
            for s in range(segment_ptr[m], segment_ptr[m + 1]):
                first, length = segments[s, 0], segments[s, 1]
                for q in range(length):
                    now[first + q] += np.float32(sign) * changes[at + q]
                at += length
            for f in range(total_ptr[m], total_ptr[m + 1]):
                totals[moved[f]] += sign * shares[f]
        heat *= fall
    return made


def make(plan: Plan, trades: Trades, made: NDArray[np.bool_], codes: Codes, totals: Array) -> int:
    """Make the chosen trades, in place; totals follow. Returns how many records change."""
    records, value, j = trades.records[made], trades.value[made], trades.variable[made]
    rows = records[records >= 0]
    add_all(plan, plan.blocks, codes[rows], -1.0, totals)
    i, k, i2, k2 = records.T
    alone, twofold = k < 0, i2 >= 0
    codes[i[alone], j[alone]] = value[alone]
    for one, other, which in ((i, k, ~alone), (i2, k2, twofold)):
        here, there, at = one[which], other[which], j[which]
        codes[here, at], codes[there, at] = codes[there, at], codes[here, at]
    add_all(plan, plan.blocks, codes[rows], 1.0, totals)
    return len(rows)
