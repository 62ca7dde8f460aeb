"""Compiled: exchanges between records alike in all but two variables, the finest edit that tables allow.

Where two records differ in variables j and v alone, of all that any output of j sees, exchanging j between them moves
the tables of both variables and nothing else. So each table is brought near by itself, and stays so.
"""

from __future__ import annotations

import numpy as np

from outrisk.evolve.compiled.climb import _penalty
from outrisk.evolve.compiled.layout import (
    BARE,
    CLOCK,
    CLUSTERS,
    EXTRA_AT,
    EXTRAS,
    FIRST,
    KIND,
    MASK_AT,
    MASKS,
    MODEL,
    PLACE,
    SHAPE,
    TERM,
    TERM_AT,
    TERMS,
    WEIGHT,
    Array,
    Codes,
    Plan,
)
from outrisk.evolve.compiled.record import (
    allowed,
    entry,
    inline,
    jit,
    joined,
    level_of,
    shuffle,
    slot_of,
    spot_of,
    stride_of,
)

BITS = 16
ALIKE = 1 << BITS  # records met last, kept by a hash of what they should have in common


# fmt: off
@jit
def _see(code, b, seen):
    """Mark the variables that block b depends on."""
    if code[b + WEIGHT] >= 0:
        seen[code[b + WEIGHT]] = True
    _mark(code, code[b + PLACE], seen)
    for m in range(code[b + MASKS]):
        _mark(code, code[code[b + MASK_AT] + 2 * m], seen)
    if code[b + KIND] == MODEL:
        for m in range(code[b + TERMS]):
            _mark(code, code[code[b + TERM_AT] + TERM * m], seen)
        for m in range(code[b + EXTRAS]):
            _mark(code, code[code[b + EXTRA_AT] + TERM * m], seen)
        if code[b + CLOCK] >= 0:
            _mark(code, code[code[b + CLOCK]], seen)
        if code[b + CLUSTERS] >= 0:
            _mark(code, code[b + CLUSTERS], seen)


@jit
def _mark(code, joint, seen):
    for e in range(code[joint]):
        seen[code[joint + 1 + 2 * e]] = True


@inline
def _shift(a, share, totals, low, high, weight):
    """Add to total a; returns the change of its penalty."""
    before = _penalty(totals[a], low[a], high[a], weight[a])
    totals[a] += share
    return _penalty(totals[a], low[a], high[a], weight[a]) - before


@jit
def _exchange(blocks, count, code, floats, flags, cells, j, codes, i, k, totals, low, high, weight):
    """Exchange variable j between records i and k; returns the change of the fitness in these tallies."""
    change = 0.0
    a, c = np.int64(codes[i, j]), np.int64(codes[k, j])
    for e in range(count):
        b = blocks[e]
        first = code[b + FIRST]
        if code[b + SHAPE] == BARE:
            one = first + level_of(code, code[b + PLACE], codes, i)
            other = first + level_of(code, code[b + PLACE], codes, k)
            step = (c - a) * stride_of(code, code[b + PLACE], j)
            change += _shift(one, -1.0, totals, low, high, weight)
            change += _shift(other, -1.0, totals, low, high, weight)
            change += _shift(one + step, 1.0, totals, low, high, weight)
            change += _shift(other - step, 1.0, totals, low, high, weight)
            continue
        sign = -1.0
        for _ in range(2):
            row = i
            for _ in range(2):
                cell, share = spot_of(code, floats, flags, cells, b, codes, row)
                if cell >= 0:
                    change += _shift(first + cell, sign * share, totals, low, high, weight)
                row = k
            codes[i, j], codes[k, j] = codes[k, j], codes[i, j]
            sign = 1.0
    codes[i, j], codes[k, j] = c, a
    return change


@jit
def _joined(plan, j, v, seen, rest, blocks):
    """Leave the blocks that join variables j and v in blocks, and the others that any block of j sees in rest; returns
    how many blocks there are, 0 where one of them is a model.
    """
    code = plan.code
    for u in range(len(rest)):
        rest[u] = False
    count = 0
    modelled = False
    for e in range(plan.var_ptr[j], plan.var_ptr[j + 1]):
        b = plan.var_blocks[e]
        for u in range(len(seen)):
            seen[u] = False
        _see(code, b, seen)
        for u in range(len(seen)):
            rest[u] |= seen[u]
        if seen[v]:
            blocks[count] = b
            count += 1
            modelled |= code[b + KIND] == MODEL
    rest[j] = rest[v] = False
    return 0 if modelled or plan.sizes[j] < 2 or plan.sizes[v] < 2 else count


@entry
def _exchange_all(plan, codes, totals, low, high, weight, visits, rng):
    """See exchange."""
    code, floats, flags, cells = plan.code, plan.floats, plan.flags, plan.cells
    n, p = codes.shape
    met = np.empty(ALIKE, np.int64)
    rest, seen = np.zeros(p, np.bool_), np.zeros(p, np.bool_)
    blocks, pairs = np.empty(len(plan.blocks), np.int64), np.empty(p * p, np.int64)
    same = np.empty(p, np.int64)
    n_pairs = 0
    for pair in range(p * p):
        if pair // p < pair % p and _joined(plan, pair // p, pair % p, seen, rest, blocks):
            pairs[n_pairs] = pair
            n_pairs += 1
    kept = looked = 0
    shuffle(pairs[:n_pairs], n_pairs, rng)
    for turn in range(n_pairs):
        j, v = pairs[turn] // p, pairs[turn] % p
        count = _joined(plan, j, v, seen, rest, blocks)
        n_same = 0
        for u in range(p):
            if rest[u]:
                same[n_same] = u
                n_same += 1
        ruled = plan.rule_ptr[j + 1] > plan.rule_ptr[j]
        for u in range(ALIKE):
            met[u] = -1
        i = int(rng.random() * n)
        for _ in range(visits // n_pairs):
            i = i + 1 if i + 1 < n else 0
            key = np.uint64(0)
            for u in range(n_same):
                key = joined(key, np.uint64(codes[i, same[u]]))
            at = slot_of(key, BITS)
            k = met[at]
            met[at] = i
            if k < 0 or codes[i, j] == codes[k, j] or codes[i, v] == codes[k, v]:
                continue
            agrees = True
            for u in range(n_same):
                agrees &= codes[i, same[u]] == codes[k, same[u]]
            if not agrees:
                continue
            looked += 1
            change = _exchange(blocks, count, code, floats, flags, cells, j, codes, i, k, totals, low, high, weight)
            if change <= 0.0 and (not ruled or (allowed(plan, j, codes, i) and allowed(plan, j, codes, k))):
                kept += 1
            else:
                _exchange(blocks, count, code, floats, flags, cells, j, codes, i, k, totals, low, high, weight)
    return kept, looked


def exchange(
    plan: Plan,
    codes: Codes,
    totals: Array,
    low: Array,
    high: Array,
    weight: Array,
    visits: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Visit `visits` records, as many for each two variables that tallies join, in place; exchange one of the two with
    the record alike met last, where the fitness does not rise. Variables that a model joins are left alone. Returns the
    number of exchanges and of those looked at.
    """
    if all(plan.code[b + KIND] == MODEL for b in plan.blocks):
        return 0, 0  # without a table nothing is to be exchanged, and nothing to be compiled
    found: tuple[int, int] = _exchange_all(plan, codes, totals, low, high, weight, visits, rng)
    return found
