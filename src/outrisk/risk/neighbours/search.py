"""The compiled search behind `neighbours`: blocks of nearby points, their bounds, and loops over the blocks.

A bound is never above (for the nearest) or below (for the farthest) the distance to any point of the block. Category
levels in a block are remembered as 64 bits, one for each level modulo 64; a bit that is not set rules the level out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

WIDTH = 64  # points of a block: its columns fit the first-level cache, and its loops run in vector registers


class Index(NamedTuple):
    """Points by block; the last axis runs over blocks (bounds) or over the points of one block (columns)."""

    low: Floats  # (p, n_blocks)
    high: Floats  # (p, n_blocks)
    masks: NDArray[np.uint64]  # (q, n_blocks) levels present, modulo 64
    cheapest: Floats  # (q, n_blocks) smallest cost of a level present
    dearest: Floats  # (q, n_blocks) largest cost of a level present
    sizes: Integers  # (n_blocks,)
    numbers: Floats  # (n_blocks, p, WIDTH)
    codes: Floats  # (n_blocks, q, WIDTH); as floats, so that they share vector registers with the sums
    costs: Floats  # (n_blocks, q, WIDTH)
    ids: Integers  # (n_blocks, WIDTH) number of the point
    counts: Integers  # (n_blocks, WIDTH) records at the point


def build(numbers: Floats, codes: Integers, costs: Floats, levels: Integers, counts: Integers, power: int) -> Index:
    """Blocks of distinct points (n, p) and (n, q): cut in two along the most spread column until they are small."""
    order, starts = _cut(numbers, codes, costs, levels, power)
    return Index(*_fill(numbers, codes, costs, counts, order, starts))


@njit(cache=True, nogil=True)
def _cut(numbers, codes, costs, levels, power):
    n, p, q = len(numbers), numbers.shape[1], codes.shape[1]
    order = np.arange(n)
    starts = [0]
    stack = [(0, n)]
    seen = np.zeros(max(1, levels.max() if q else 1), dtype=np.int64)
    while stack:
        start, stop = stack.pop()
        size = stop - start
        if size <= WIDTH:
            if start:
                starts.append(start)
            continue
        rows = order[start:stop]
        widest, column = -1.0, 0
        for j in range(p):
            mean = 0.0
            for i in rows:
                mean += numbers[i, j]
            mean /= size
            variance = 0.0
            for i in rows:
                variance += (numbers[i, j] - mean) ** 2
            variance /= size
            spread = 2 * variance if power == 2 else np.sqrt(variance)
            if spread > widest:
                widest, column = spread, j
        for k in range(q):
            for i in rows:
                seen[codes[i, k]] += 1
            spread = 0.0  # expected cost of a pair of records of this block
            for i in rows:
                spread += 2 * costs[i, k] * (1 - seen[codes[i, k]] / size)
            for i in rows:
                seen[codes[i, k]] = 0
            if spread / size > widest:
                widest, column = spread / size, p + k
        if column < p:
            sort = np.argsort(numbers[rows, column])
            middle = size // 2
        else:
            levels_here = codes[rows, column - p]
            sort = np.argsort(levels_here)
            middle, apart = size // 2, size
            for i in range(1, size):
                if levels_here[sort[i]] != levels_here[sort[i - 1]] and abs(i - size // 2) < apart:
                    middle, apart = i, abs(i - size // 2)
        order[start:stop] = rows[sort]
        stack.append((start, start + middle))
        stack.append((start + middle, stop))
    starts.sort()
    starts.append(n)
    return order, np.array(starts)


@njit(cache=True, nogil=True)
def _fill(numbers, codes, costs, counts, order, starts):
    n_blocks, p, q = len(starts) - 1, numbers.shape[1], codes.shape[1]
    low, high = np.empty((p, n_blocks)), np.empty((p, n_blocks))
    masks = np.zeros((q, n_blocks), dtype=np.uint64)
    cheapest, dearest = np.empty((q, n_blocks)), np.empty((q, n_blocks))
    sizes = np.empty(n_blocks, dtype=np.int64)
    by_block = np.zeros((n_blocks, p, WIDTH))
    codes_by_block, costs_by_block = np.zeros((n_blocks, q, WIDTH)), np.zeros((n_blocks, q, WIDTH))
    ids, counts_by_block = np.zeros((n_blocks, WIDTH), dtype=np.int64), np.zeros((n_blocks, WIDTH), dtype=np.int64)
    for b in range(n_blocks):
        rows = order[starts[b] : starts[b + 1]]
        sizes[b] = len(rows)
        for r in range(len(rows)):
            ids[b, r], counts_by_block[b, r] = rows[r], counts[rows[r]]
        for j in range(p):
            for r in range(len(rows)):
                by_block[b, j, r] = numbers[rows[r], j]
            low[j, b], high[j, b] = by_block[b, j, : len(rows)].min(), by_block[b, j, : len(rows)].max()
        for k in range(q):
            for r in range(len(rows)):
                codes_by_block[b, k, r], costs_by_block[b, k, r] = codes[rows[r], k], costs[rows[r], k]
                masks[k, b] |= np.uint64(1) << np.uint64(codes[rows[r], k] % 64)
            cheapest[k, b] = costs_by_block[b, k, : len(rows)].min()
            dearest[k, b] = costs_by_block[b, k, : len(rows)].max()
    return low, high, masks, cheapest, dearest, sizes, by_block, codes_by_block, costs_by_block, ids, counts_by_block


@njit(cache=True, nogil=True)
def _lower_bounds(x, u, cost, power, index, bounds):
    bounds[:] = 0.0
    for j in range(len(x)):
        value, low, high = x[j], index.low[j], index.high[j]
        if power == 2:
            for b in range(len(bounds)):
                gap = max(low[b] - value, value - high[b], 0.0)
                bounds[b] += gap * gap
        else:
            for b in range(len(bounds)):
                bounds[b] += max(low[b] - value, value - high[b], 0.0)
    for k in range(len(u)):
        bit = np.uint64(1) << np.uint64(u[k] % 64)
        masks, cheapest = index.masks[k], index.cheapest[k]
        for b in range(len(bounds)):
            if masks[b] & bit == 0:
                bounds[b] += cost[k] + cheapest[b]


@njit(cache=True, nogil=True)
def _upper_bounds(x, u, cost, power, index, bounds):
    bounds[:] = 0.0
    for j in range(len(x)):
        value, low, high = x[j], index.low[j], index.high[j]
        for b in range(len(bounds)):
            gap = max(high[b] - value, value - low[b])
            bounds[b] += gap * gap if power == 2 else gap
    for k in range(len(u)):
        dearest = index.dearest[k]
        for b in range(len(bounds)):
            bounds[b] += cost[k] + dearest[b]


@njit(cache=True, nogil=True)
def _to_block(x, u, cost, power, index, b, sums):
    """Sums of the distance from one record to each point of a block, (WIDTH,); places past its size hold nothing."""
    for r in range(WIDTH):
        sums[r] = 0.0
    for j in range(len(x)):
        value, column = x[j], index.numbers[b, j]
        if power == 2:
            for r in range(WIDTH):
                gap = column[r] - value
                sums[r] += gap * gap
        else:
            for r in range(WIDTH):
                sums[r] += abs(column[r] - value)
    for k in range(len(u)):
        code, own = float(u[k]), cost[k]
        codes, costs = index.codes[b, k], index.costs[b, k]
        for r in range(WIDTH):
            sums[r] += own + costs[r] if codes[r] != code else 0.0


@njit(cache=True, nogil=True)
def nearest(asked, numbers, codes, costs, power, index, k, within, out):
    """Write the two smallest sums of the points asked about to out (n, 2); with k = 1 the second is not to be used."""
    bounds, sums = np.empty(len(index.sizes)), np.empty(WIDTH)
    for i in asked:
        x, u, cost = numbers[i], codes[i], costs[i]
        _lower_bounds(x, u, cost, power, index, bounds)
        home = np.argmin(bounds)
        one, two = np.inf, np.inf
        for step in range(len(bounds) + 1):
            b = home if step == 0 else step - 1
            if bounds[b] >= (one if k == 1 else two) or (step > 0 and b == home):
                continue
            _to_block(x, u, cost, power, index, b, sums)
            for r in range(index.sizes[b]):
                if sums[r] < two:
                    count = index.counts[b, r]
                    if within and index.ids[b, r] == i:
                        count -= 1
                    if count > 0:
                        if sums[r] < one:
                            one, two = sums[r], one
                            count -= 1
                        if count > 0 and sums[r] < two:
                            two = sums[r]
        out[i, 0], out[i, 1] = one, two


@njit(cache=True, nogil=True)
def farthest(asked, numbers, codes, costs, power, index, best):
    """Raise best (1,) to the largest sum from the points asked about."""
    bounds, sums = np.empty(len(index.sizes)), np.empty(WIDTH)
    for i in asked:
        x, u, cost = numbers[i], codes[i], costs[i]
        _upper_bounds(x, u, cost, power, index, bounds)
        home = np.argmax(bounds)
        for step in range(len(bounds) + 1):
            b = home if step == 0 else step - 1
            if bounds[b] <= best[0]:
                continue
            _to_block(x, u, cost, power, index, b, sums)
            for r in range(index.sizes[b]):
                if sums[r] > best[0]:
                    best[0] = sums[r]


@njit(cache=True, nogil=True)
def ties(asked, numbers, codes, costs, power, index, reach, own, payload, slack, relative, first, out):
    """Write to out (n, 3): records within reach, those of them whose payload agrees, the lowest record number."""
    bounds, sums = np.empty(len(index.sizes)), np.empty(WIDTH)
    for i in asked:
        x, u, cost = numbers[i], codes[i], costs[i]
        _lower_bounds(x, u, cost, power, index, bounds)
        limit = reach[i] * reach[i] if power == 2 else reach[i]
        found, hits, lowest = 0, 0, np.iinfo(np.int64).max
        for b in range(len(bounds)):
            if bounds[b] > limit * (1 + 1e-12):  # rounding of the bound may not lose a tie
                continue
            _to_block(x, u, cost, power, index, b, sums)
            for r in range(index.sizes[b]):
                if sums[r] <= limit:
                    at, count = index.ids[b, r], index.counts[b, r]
                    found += count
                    if abs(own[i] - payload[at]) <= slack[i] + relative * payload[at]:
                        hits += count
                    lowest = min(lowest, first[at])
        out[i, 0], out[i, 1], out[i, 2] = found, hits, lowest


@njit(cache=True, nogil=True)
def hits(y, y_group, z, z_group, reaches, lead, count):
    """For each y (p, n) the records z (p, m) of its group that lie within `reaches` of it; count False: 1 if any.

    z is sorted by group, then by its row `lead`.
    """
    found = np.zeros(len(y_group), dtype=np.int64)
    for i in range(len(y_group)):
        low = np.searchsorted(z_group, y_group[i])
        high = np.searchsorted(z_group, y_group[i], side="right")
        window = z[lead, low:high]
        high = low + np.searchsorted(window, y[lead, i] + reaches[lead], side="right")
        low += np.searchsorted(window, y[lead, i] - reaches[lead])
        for r in range(low, high):
            inside = True
            for j in range(len(reaches)):
                if abs(z[j, r] - y[j, i]) > reaches[j]:
                    inside = False
                    break
            if inside:
                found[i] += 1
                if not count:
                    break
    return found
