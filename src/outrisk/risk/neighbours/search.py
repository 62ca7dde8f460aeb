"""The compiled search behind `neighbours`: blocks of nearby points, their bounds, and loops over the blocks.

A bound is never above (for the nearest) or below (for the farthest) the distance to any point of the block. Category
levels in a block are remembered as 64 bits, one for each level modulo 64; a bit that is not set rules the level out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outrisk.inner_code import inner

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

entry = njit(cache=True, nogil=True, no_cfunc_wrapper=True)
jit = inner()  # for what only compiled code calls

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


def build(
    numbers: Floats, codes: NDArray[np.int32], costs: Floats, levels: Integers, counts: Integers, power: int
) -> Index:
    """Blocks of distinct points (n, p) and (n, q): cut in two along the most spread column until they are small."""
    n = len(numbers)
    order, starts = np.arange(n), np.empty(n + 1, np.int64)
    n_blocks = _cut(numbers, codes, costs, levels, power, order, starts)
    starts = starts[:n_blocks]
    sizes = np.diff(starts, append=n)
    place = np.arange(WIDTH)
    ids = order[np.minimum(starts[:, None] + place, n - 1)]  # past a block's size: any point, which no loop looks at
    present = place < sizes[:, None]
    sorted_numbers, sorted_codes, sorted_costs = numbers[order], codes[order], costs[order]
    return Index(
        low=_columns(np.minimum.reduceat(sorted_numbers, starts)),
        high=_columns(np.maximum.reduceat(sorted_numbers, starts)),
        masks=_columns(np.bitwise_or.reduceat(np.uint64(1) << (sorted_codes % 64).astype(np.uint64), starts)),
        cheapest=_columns(np.minimum.reduceat(sorted_costs, starts)),
        dearest=_columns(np.maximum.reduceat(sorted_costs, starts)),
        sizes=sizes,
        numbers=_columns(numbers[ids]),
        codes=_columns(codes[ids].astype(float)),
        costs=_columns(costs[ids]),
        ids=ids,
        counts=np.where(present, counts[ids], 0),
    )


def _columns(rows: NDArray[Any]) -> NDArray[Any]:
    """The last two axes exchanged, in one piece."""
    return np.ascontiguousarray(np.swapaxes(rows, -1, -2))


@entry
def _cut(numbers, codes, costs, levels, power, order, starts):
    """Bring the points into the order of their blocks and leave where these start; returns how many there are."""
    p, q = numbers.shape[1], codes.shape[1]
    most = 1
    for k in range(q):
        most = max(most, levels[k])
    seen, values = np.zeros(most, np.int64), np.empty(len(order))
    ends = np.empty(len(order) + 1, np.int64)  # of the parts still to be cut, the leftmost last
    ends[0] = len(order)
    left, start, n_blocks = 1, np.int64(0), 0  # a plain 0 is a type of its own, for which `_select` is compiled again
    while left:
        stop = ends[left - 1]
        size = stop - start
        if size <= WIDTH:
            starts[n_blocks] = start
            n_blocks += 1
            start = stop
            left -= 1
            continue
        widest, column = -1.0, 0
        for j in range(p):
            mean = 0.0
            for r in range(start, stop):
                mean += numbers[order[r], j]
            mean /= size
            variance = 0.0
            for r in range(start, stop):
                variance += (numbers[order[r], j] - mean) ** 2
            variance /= size
            spread = 2 * variance if power == 2 else math.sqrt(variance)
            if spread > widest:
                widest, column = spread, j
        for k in range(q):
            for r in range(start, stop):
                seen[codes[order[r], k]] += 1
            spread = 0.0  # expected cost of a pair of records of this block
            for r in range(start, stop):
                spread += 2 * costs[order[r], k] * (1 - seen[codes[order[r], k]] / size)
            for r in range(start, stop):
                seen[codes[order[r], k]] = 0
            if spread / size > widest:
                widest, column = spread / size, p + k
        for r in range(start, stop):
            values[r] = numbers[order[r], column] if column < p else codes[order[r], column - p]
        middle = start + size // 2
        _select(values, order, start, stop, middle)
        if column >= p:
            middle = _between_levels(values, order, start, stop, middle)
        ends[left] = middle
        left += 1
    return n_blocks


@jit
def _select(values, order, start, stop, middle):
    """Exchange places from start to stop until no value before `middle` is above one after it (Hoare 1961)."""
    stop -= 1
    while start < stop:
        pivot = values[(start + stop) // 2]
        low, high = start, stop
        while low <= high:
            while values[low] < pivot:
                low += 1
            while values[high] > pivot:
                high -= 1
            if low <= high:
                values[low], values[high] = values[high], values[low]
                order[low], order[high] = order[high], order[low]
                low += 1
                high -= 1
        if middle <= high:
            stop = high
        elif middle >= low:
            start = low
        else:
            return


@jit
def _between_levels(values, order, start, stop, middle):
    """Move the cut of a selected range to the nearest place where one level ends; the middle where all are of one."""
    level = values[middle]
    low = middle  # where the records of this level start
    for r in range(middle - 1, start - 1, -1):
        if values[r] == level:
            low -= 1
            values[r], values[low] = values[low], values[r]
            order[r], order[low] = order[low], order[r]
    high = middle  # and end
    for r in range(middle, stop):
        if values[r] == level:
            values[r], values[high] = values[high], values[r]
            order[r], order[high] = order[high], order[r]
            high += 1
    if low == start and high == stop:
        return middle
    return low if high == stop or (low > start and middle - low <= high - middle) else high


@jit
def _lower_bounds(x, u, cost, power, index, bounds):
    for b in range(len(bounds)):
        bounds[b] = 0.0
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


@jit
def _upper_bounds(x, u, cost, power, index, bounds):
    for b in range(len(bounds)):
        bounds[b] = 0.0
    for j in range(len(x)):
        value, low, high = x[j], index.low[j], index.high[j]
        for b in range(len(bounds)):
            gap = max(high[b] - value, value - low[b])
            bounds[b] += gap * gap if power == 2 else gap
    for k in range(len(u)):
        dearest = index.dearest[k]
        for b in range(len(bounds)):
            bounds[b] += cost[k] + dearest[b]


@jit
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


@entry
def nearest(asked, numbers, codes, costs, power, index, k, within, out):
    """Write the two smallest sums of the points asked about to out (n, 2); with k = 1 the second is not to be used."""
    bounds, sums = np.empty(len(index.sizes)), np.empty(WIDTH)
    for i in asked:
        x, u, cost = numbers[i], codes[i], costs[i]
        _lower_bounds(x, u, cost, power, index, bounds)
        home = 0
        for b in range(1, len(bounds)):
            home = b if bounds[b] < bounds[home] else home
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


@entry
def farthest(asked, numbers, codes, costs, power, index, best):
    """Raise best (1,) to the largest sum from the points asked about."""
    bounds, sums = np.empty(len(index.sizes)), np.empty(WIDTH)
    for i in asked:
        x, u, cost = numbers[i], codes[i], costs[i]
        _upper_bounds(x, u, cost, power, index, bounds)
        home = 0
        for b in range(1, len(bounds)):
            home = b if bounds[b] > bounds[home] else home
        for step in range(len(bounds) + 1):
            b = home if step == 0 else step - 1
            if bounds[b] <= best[0]:
                continue
            _to_block(x, u, cost, power, index, b, sums)
            for r in range(index.sizes[b]):
                if sums[r] > best[0]:
                    best[0] = sums[r]


@entry
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


def hits(
    y: Floats, y_group: Integers, z: Floats, z_group: Integers, reaches: Floats, lead: int, count: bool
) -> Integers:
    """For each y (p, n) the records z (p, m) of its group that lie within `reaches` of it; count False: 1 if any.

    z is sorted by group, then by its row `lead`.
    """
    low, high = (np.searchsorted(z_group, y_group, side=side) for side in ("left", "right"))
    found = np.zeros(len(y_group), dtype=np.int64)
    _hits(y, z, low, high, reaches, lead, count, found)
    return found


@entry
def _hits(y, z, low, high, reaches, lead, count, found):
    for i in range(len(found)):
        start, stop = low[i], high[i]
        while start < stop:  # the first record that the leading column does not rule out
            middle = (start + stop) // 2
            if z[lead, middle] < y[lead, i] - reaches[lead]:
                start = middle + 1
            else:
                stop = middle
        for r in range(start, high[i]):
            if z[lead, r] > y[lead, i] + reaches[lead]:
                break
            inside = True
            for j in range(len(reaches)):
                if abs(z[j, r] - y[j, i]) > reaches[j]:
                    inside = False
                    break
            if inside:
                found[i] += 1
                if not count:
                    break
