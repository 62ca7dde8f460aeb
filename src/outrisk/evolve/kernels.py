"""The compiled inner loops: totals of a data set, their change under an edit, and climbing on them.

An output is a block of totals. Two shapes of block cover what is summed over records:

- COUNTS: the record adds 1 to one cell.
- SCORES: the record adds y - mean(x'b) times x, the score of a generalised linear model at its published coefficients,
  where x is the sparse design row.

A record that is outside an output's subset adds nothing to it. A record finds its place in any table through a
*joint*: a list of variables with strides. Blocks are laid out in one integer array, `code` (see plan.py), because the
loops spend their time reading it: a few arrays handed down as plain arguments are several times faster than a
structure of many.

Layout of `code` from a block's address: kind, first total, number of totals, first weight, address of the cell's
(COUNTS) or the response's (SCORES) joint, offset of the response in `floats`, number of masks, number of terms; then
for each mask: address of its joint, offset in `flags`; then for each term: address of its joint, offset of x'b in
`floats`, first design entry, entries a level. Every level of a term has the same number of entries (a reference
level's are zeros): the loops run the same length for each record, which the processor can foresee. Layout of a joint:
number of variables, then variable and stride of each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

COUNTS, SCORES = 0, 1
KIND, FIRST, SIZE, WEIGHT, PLACE, RESPONSE, MASKS, TERMS, HEADER = range(9)
TERM = 4  # integers a term

_jit = njit(cache=True, nogil=True, error_model="numpy")
_inline = njit(cache=True, nogil=True, error_model="numpy", forceinline=True)


class Plan(NamedTuple):
    """All blocks flattened, for p variables and m totals."""

    sizes: NDArray[np.int64]  # (p,) support sizes
    numeric: NDArray[np.uint8]  # (p,) 1 where the values have an order
    active: NDArray[np.int64]  # variables that any output depends on
    var_ptr: NDArray[np.int64]  # (p + 1,) into var_blocks
    var_blocks: NDArray[np.int64]  # addresses of the blocks that depend on each variable
    blocks: NDArray[np.int64]  # (B,) addresses of all blocks
    extent: NDArray[np.int64]  # number of totals, number of weights, most entries that one edit changes in a score
    code: NDArray[np.int64]
    floats: NDArray[np.float64]
    flags: NDArray[np.uint8]
    cols: NDArray[np.int32]
    vals: NDArray[np.float64]


@_inline
def _level(code, joint, codes, i):  # type: ignore[no-untyped-def]
    """Position of record i in the product of a joint's supports."""
    level = 0
    for e in range(joint + 1, joint + 1 + 2 * code[joint], 2):
        level += codes[i, code[e]] * code[e + 1]
    return level


@_inline
def _shift(code, joint, j):  # type: ignore[no-untyped-def]
    """Stride of variable j in a joint; 0 where it is not part of it."""
    for e in range(joint + 1, joint + 1 + 2 * code[joint], 2):
        if code[e] == j:
            return code[e + 1]
    return 0


@_inline
def _mean(eta):  # type: ignore[no-untyped-def]
    """Mean of a binary response given its linear predictor."""
    return 1.0 / (1.0 + math.exp(-eta))


@_inline
def _inside(code, flags, b, codes, i, j, step):  # type: ignore[no-untyped-def]
    """Whether record i, its variable j moved by step, belongs to the subset of block b."""
    for e in range(b + HEADER, b + HEADER + 2 * code[b + MASKS], 2):
        at = _level(code, code[e], codes, i)
        if step != 0:
            at += step * _shift(code, code[e], j)
        if flags[code[e + 1] + at] == 0:
            return False
    return True


@_inline
def _add(blocks, start, end, code, floats, flags, cols, vals, codes, i, sign, totals, at):  # type: ignore[no-untyped-def]
    """Add (sign 1) or take away (sign -1) the contribution of record i to the totals of blocks[start:end].

    `at` is working memory for one integer a term.
    """
    for each in range(start, end):
        b = blocks[each]
        if not _inside(code, flags, b, codes, i, 0, 0):
            continue
        first = code[b + FIRST]
        place = _level(code, code[b + PLACE], codes, i)
        if code[b + KIND] == COUNTS:
            totals[first + place] += sign
            continue
        terms = b + HEADER + 2 * code[b + MASKS]
        eta = 0.0
        n_terms = code[b + TERMS]
        for e in range(n_terms):
            t = terms + TERM * e
            at[e] = _level(code, code[t], codes, i)
            eta += floats[code[t + 1] + at[e]]
        scale = sign * (floats[code[b + RESPONSE] + place] - _mean(eta))
        for e in range(n_terms):
            t = terms + TERM * e
            entry = code[t + 2] + code[t + 3] * at[e]
            for f in range(entry, entry + code[t + 3]):
                totals[first + cols[f]] += scale * vals[f]


@_jit
def totals_of(plan, codes):  # type: ignore[no-untyped-def]
    """All totals of a data set, from nothing; shape (m,)."""
    blocks, code, floats, flags = plan.blocks, plan.code, plan.floats, plan.flags
    cols, vals = plan.cols, plan.vals
    totals = np.zeros(plan.extent[0])
    at = np.empty(plan.extent[2], np.int64)
    for i in range(len(codes)):
        _add(blocks, 0, len(blocks), code, floats, flags, cols, vals, codes, i, 1.0, totals, at)
    return totals


@_jit
def information_of(plan, b, codes):  # type: ignore[no-untyped-def]
    """Fisher information of the SCORES block at address b, at its published coefficients; shape (k, k)."""
    code, floats, flags = plan.code, plan.floats, plan.flags
    cols, vals = plan.cols, plan.vals
    k = code[b + SIZE]
    information = np.zeros((k, k))
    filled_cols = np.empty(plan.extent[2], np.int64)
    filled_vals = np.empty(plan.extent[2])
    start = b + HEADER + 2 * code[b + MASKS]
    for i in range(len(codes)):
        if not _inside(code, flags, b, codes, i, 0, 0):
            continue
        eta = 0.0
        filled = 0
        for t in range(start, start + TERM * code[b + TERMS], TERM):
            level = _level(code, code[t], codes, i)
            eta += floats[code[t + 1] + level]
            entry = code[t + 2] + code[t + 3] * level
            for e in range(entry, entry + code[t + 3]):
                filled_cols[filled] = cols[e]
                filled_vals[filled] = vals[e]
                filled += 1
        mean = _mean(eta)
        weight = mean * (1.0 - mean)
        for a in range(filled):
            for c in range(a + 1):
                information[filled_cols[a], filled_cols[c]] += weight * filled_vals[a] * filled_vals[c]
    for a in range(k):
        for c in range(a):
            both = information[a, c] + information[c, a]
            information[a, c] = both
            information[c, a] = both
    return information


@_jit
def gradient_of(plan, weights, change):  # type: ignore[no-untyped-def]
    """Half the gradient of the fitness in the totals, H (T - t), block by block; shape (m,)."""
    code = plan.code
    gradient = np.zeros(len(change))
    for b in plan.blocks:
        first, k, at = code[b + FIRST], code[b + SIZE], code[b + WEIGHT]
        for a in range(k):
            if code[b + KIND] == COUNTS:
                gradient[first + a] = weights[at + a] * change[first + a]
            else:
                for c in range(k):
                    gradient[first + a] += weights[at + a * k + c] * change[first + c]
    return gradient


@_inline
def _score_change(code, floats, cols, vals, b, codes, i, j, step, was, becomes, gradient, scale):  # type: ignore[no-untyped-def]
    """First-order change of the fitness in SCORES block b; leaves the residuals before and after in scale[0:2]."""
    first = code[b + FIRST]
    eta_old = 0.0
    eta_new = 0.0
    slope_old = 0.0
    slope_new = 0.0
    start = b + HEADER + 2 * code[b + MASKS]
    for t in range(start, start + TERM * code[b + TERMS], TERM):
        joint = code[t]
        at = _level(code, joint, codes, i)
        shift = step * _shift(code, joint, j)
        eta = floats[code[t + 1] + at]
        slope = 0.0
        width = code[t + 3]
        entry = code[t + 2] + width * at
        for e in range(entry, entry + width):
            slope += gradient[first + cols[e]] * vals[e]
        eta_old += eta
        slope_old += slope
        if shift != 0:
            eta = floats[code[t + 1] + at + shift]
            slope = 0.0
            entry += width * shift
            for e in range(entry, entry + width):
                slope += gradient[first + cols[e]] * vals[e]
        eta_new += eta
        slope_new += slope
    joint = code[b + PLACE]
    place = code[b + RESPONSE] + _level(code, joint, codes, i)
    scale[0] = floats[place] - _mean(eta_old) if was else 0.0
    scale[1] = floats[place + step * _shift(code, joint, j)] - _mean(eta_new) if becomes else 0.0
    return scale[1] * slope_new - scale[0] * slope_old


@_inline
def _score_spread(code, cols, vals, b, codes, i, j, step, before, after, to_cols, to_vals):  # type: ignore[no-untyped-def]
    """Change of the totals of SCORES block b as (columns, values); returns how many entries were filled."""
    filled = 0
    start = b + HEADER + 2 * code[b + MASKS]
    for t in range(start, start + TERM * code[b + TERMS], TERM):
        width = code[t + 3]
        entry = code[t + 2] + width * _level(code, code[t], codes, i)
        shift = step * _shift(code, code[t], j)
        scale = after - before if shift == 0 else -before
        for e in range(entry, entry + width):
            to_cols[filled] = cols[e]
            to_vals[filled] = scale * vals[e]
            filled += 1
        if shift != 0:
            entry += width * shift
            for e in range(entry, entry + width):
                to_cols[filled] = cols[e]
                to_vals[filled] = after * vals[e]
                filled += 1
    return filled


@_inline
def _move(blocks, start, end, code, floats, flags, cols, vals, codes, i, j, step, totals, at, shifts):  # type: ignore[no-untyped-def]
    """Carry the move of variable j of record i by step (not made yet) into the totals of blocks[start:end].

    `at` and `shifts` are working memory for one integer a term.
    """
    for each in range(start, end):
        b = blocks[each]
        was = becomes = True
        if code[b + MASKS] > 0:
            was = _inside(code, flags, b, codes, i, j, 0)
            becomes = _inside(code, flags, b, codes, i, j, step)
        first = code[b + FIRST]
        joint = code[b + PLACE]
        place = _level(code, joint, codes, i)
        moved = place + step * _shift(code, joint, j)
        if code[b + KIND] == COUNTS:
            if was:
                totals[first + place] -= 1.0
            if becomes:
                totals[first + moved] += 1.0
            continue
        terms = b + HEADER + 2 * code[b + MASKS]
        eta_old = 0.0
        eta_new = 0.0
        n_terms = code[b + TERMS]
        for e in range(n_terms):
            t = terms + TERM * e
            at[e] = _level(code, code[t], codes, i)
            shifts[e] = step * _shift(code, code[t], j)
            eta_old += floats[code[t + 1] + at[e]]
            eta_new += floats[code[t + 1] + at[e] + shifts[e]]
        before = floats[code[b + RESPONSE] + place] - _mean(eta_old) if was else 0.0
        after = floats[code[b + RESPONSE] + moved] - _mean(eta_new) if becomes else 0.0
        for e in range(n_terms):
            width = code[terms + TERM * e + 3]
            entry = code[terms + TERM * e + 2] + width * at[e]
            if shifts[e] == 0:
                for f in range(entry, entry + width):
                    totals[first + cols[f]] += (after - before) * vals[f]
                continue
            for f in range(entry, entry + width):
                totals[first + cols[f]] -= before * vals[f]
            entry += width * shifts[e]
            for f in range(entry, entry + width):
                totals[first + cols[f]] += after * vals[f]


@_inline
def _quadratic(weights, at, k, cols, vals, filled):  # type: ignore[no-untyped-def]
    """d'Hd for a sparse change d of a block whose weights start at `at`."""
    change = 0.0
    for a in range(filled):
        row = at + cols[a] * k
        inner = 0.0
        for c in range(a):
            inner += weights[row + cols[c]] * vals[c]
        change += vals[a] * (2.0 * inner + weights[row + cols[a]] * vals[a])
    return change


@_inline
def _propose(size, ordered, old, creep, rng):  # type: ignore[no-untyped-def]
    """A change for a code: to a neighbour with probability `creep` if values are ordered, else to any other value."""
    if ordered == 1 and size > 2 and creep > 0.0 and rng.random() < creep:
        step = 1 if rng.random() < 0.5 else -1
        return step if 0 <= old + step < size else -step
    return (old + 1 + int(rng.random() * (size - 1))) % size - old


@_jit
def climb(plan, codes, totals, target, weights, steps, creep, rng):  # type: ignore[no-untyped-def]
    """Try `steps` single-value edits on a data set in place; keep those with which the fitness does not rise.

    A proposal draws a record and one of the variables that matter, and a new value for it (see _propose). Returns the
    number of edits kept. Cost of a proposal: the blocks that depend on the variable; no refit.
    """
    blocks, var_ptr, active, sizes, numeric = plan.var_blocks, plan.var_ptr, plan.active, plan.sizes, plan.numeric
    code, floats, flags = plan.code, plan.floats, plan.flags
    cols, vals = plan.cols, plan.vals
    gradient = gradient_of(plan, weights, totals - target)
    widest = plan.extent[2]
    to_cols = np.empty(widest, np.int64)
    to_vals = np.empty(widest)
    scale = np.empty(2)
    most = 0
    for j in range(len(sizes)):
        most = max(most, var_ptr[j + 1] - var_ptr[j])
    before = np.empty(
        most
    )  # by block of the variable: its share in the cell, or its residual, before and after the edit
    after = np.empty(most)
    n_active = len(active)
    n_places = len(codes) * n_active
    kept = 0
    for _ in range(steps):
        draw = int(rng.random() * n_places)
        i = draw // n_active
        j = active[draw - i * n_active]
        old = np.int64(codes[i, j])
        step = _propose(sizes[j], numeric[j], old, creep, rng)
        start, end = var_ptr[j], var_ptr[j + 1]
        change = 0.0
        for e in range(start, end):
            b = blocks[e]
            was = becomes = True
            if code[b + MASKS] > 0:
                was = _inside(code, flags, b, codes, i, j, 0)
                becomes = _inside(code, flags, b, codes, i, j, step)
            if code[b + KIND] == COUNTS:
                before[e - start] = 1.0 if was else 0.0
                after[e - start] = 1.0 if becomes else 0.0
                joint = code[b + PLACE]
                level = _level(code, joint, codes, i)
                moved = level + step * _shift(code, joint, j)
                if moved == level and was == becomes:
                    continue
                if was:
                    change += weights[code[b + WEIGHT] + level] - 2.0 * gradient[code[b + FIRST] + level]
                if becomes:
                    change += weights[code[b + WEIGHT] + moved] + 2.0 * gradient[code[b + FIRST] + moved]
            elif was or becomes:
                change += 2.0 * _score_change(
                    code, floats, cols, vals, b, codes, i, j, step, was, becomes, gradient, scale
                )
                before[e - start] = scale[0]
                after[e - start] = scale[1]
            else:
                before[e - start] = 0.0
                after[e - start] = 0.0
        if change > 0.0:  # what is still to be added cannot be negative
            continue
        for e in range(start, end):
            b = blocks[e]
            if code[b + KIND] == SCORES and (before[e - start] != 0.0 or after[e - start] != 0.0):
                filled = _score_spread(
                    code, cols, vals, b, codes, i, j, step, before[e - start], after[e - start], to_cols, to_vals
                )
                change += _quadratic(weights, code[b + WEIGHT], code[b + SIZE], to_cols, to_vals, filled)
                if change > 0.0:
                    break
        if change > 0.0:
            continue
        for e in range(start, end):
            b = blocks[e]
            first, at = code[b + FIRST], code[b + WEIGHT]
            if code[b + KIND] == COUNTS:
                level = _level(code, code[b + PLACE], codes, i)
                moved = level + step * _shift(code, code[b + PLACE], j)
                totals[first + level] -= before[e - start]
                gradient[first + level] -= weights[at + level] * before[e - start]
                totals[first + moved] += after[e - start]
                gradient[first + moved] += weights[at + moved] * after[e - start]
                continue
            if before[e - start] == 0.0 and after[e - start] == 0.0:
                continue
            k = code[b + SIZE]
            filled = _score_spread(
                code, cols, vals, b, codes, i, j, step, before[e - start], after[e - start], to_cols, to_vals
            )
            for f in range(filled):
                totals[first + to_cols[f]] += to_vals[f]
                row = at + to_cols[f] * k
                for a in range(k):
                    gradient[first + a] += weights[row + a] * to_vals[f]
        codes[i, j] = old + step
        kept += 1
    return kept


@_inline
def _next(at, log_stay, length, rng):  # type: ignore[no-untyped-def]
    """The next place that an event of constant probability hits: geometric gaps, so one draw an event."""
    gap = math.log(1.0 - rng.random()) / log_stay
    return length if gap >= length else at + 1 + int(gap)


@_jit
def mutate(plan, codes, totals, rate, creep, rng):  # type: ignore[no-untyped-def]
    """Change each value with probability `rate`, in place; totals follow. Returns the number of values changed."""
    blocks, var_ptr, code, floats, flags = plan.var_blocks, plan.var_ptr, plan.code, plan.floats, plan.flags
    cols, vals = plan.cols, plan.vals
    n, p = codes.shape
    if rate <= 0.0:
        return 0
    log_stay = math.log1p(-rate) if rate < 1.0 else -math.inf
    at = np.empty(plan.extent[2], np.int64)
    shifts = np.empty(plan.extent[2], np.int64)
    changed = 0
    gene = -1
    while True:
        gene = _next(gene, log_stay, n * p, rng)
        if gene >= n * p:
            return changed
        i, j = gene // p, gene % p
        if plan.sizes[j] < 2:
            continue
        old = np.int64(codes[i, j])
        step = _propose(plan.sizes[j], plan.numeric[j], old, creep, rng)
        _move(
            blocks, var_ptr[j], var_ptr[j + 1], code, floats, flags, cols, vals, codes, i, j, step, totals, at, shifts
        )
        codes[i, j] = old + step
        changed += 1


@_jit
def mate(plan, codes_a, totals_a, codes_b, totals_b, share, rng):  # type: ignore[no-untyped-def]
    """Swap each record between two data sets with probability `share`, in place; totals follow."""
    blocks, code, floats, flags = plan.blocks, plan.code, plan.floats, plan.flags
    cols, vals = plan.cols, plan.vals
    n, p = codes_a.shape
    if share <= 0.0:
        return
    log_stay = math.log1p(-share) if share < 1.0 else -math.inf
    change = np.zeros(len(totals_a))
    at = np.empty(plan.extent[2], np.int64)
    i = -1
    while True:
        i = _next(i, log_stay, n, rng)
        if i >= n:
            break
        _add(blocks, 0, len(blocks), code, floats, flags, cols, vals, codes_a, i, -1.0, change, at)
        _add(blocks, 0, len(blocks), code, floats, flags, cols, vals, codes_b, i, 1.0, change, at)
        for j in range(p):
            codes_a[i, j], codes_b[i, j] = codes_b[i, j], codes_a[i, j]
    for a in range(len(change)):
        totals_a[a] += change[a]
        totals_b[a] -= change[a]


@_inline
def _tally(cells, shares, filled, cell, share):  # type: ignore[no-untyped-def]
    """Add a share to a cell of a short list, which names each cell once; returns its new length."""
    for e in range(filled):
        if cells[e] == cell:
            shares[e] += share
            return filled
    cells[filled] = cell
    shares[filled] = share
    return filled + 1


@_jit
def exchange(plan, codes, totals, target, weights, steps, rng):  # type: ignore[no-untyped-def]
    """Try `steps` exchanges of one variable's values between two records, in place; keep those with which the fitness
    does not rise.

    An exchange moves the totals far less than the two edits it consists of, so it still finds steps down where single
    edits (see climb) are too coarse. Returns the number of exchanges kept.
    """
    blocks, var_ptr, active = plan.var_blocks, plan.var_ptr, plan.active
    code, floats, flags = plan.code, plan.floats, plan.flags
    cols, vals = plan.cols, plan.vals
    gradient = gradient_of(plan, weights, totals - target)
    widest = plan.extent[2]
    to_cols = np.empty(2 * widest, np.int64)
    to_vals = np.empty(2 * widest)
    scale = np.empty(2)
    cells = np.empty(4, np.int64)
    shares = np.empty(4)
    most = 0
    for j in range(len(plan.sizes)):
        most = max(most, var_ptr[j + 1] - var_ptr[j])
    before = np.empty((2, most))
    after = np.empty((2, most))
    rows = np.empty(2, np.int64)
    moves = np.empty(2, np.int64)
    n, n_active = len(codes), len(active)
    kept = 0
    for _ in range(steps):
        j = active[int(rng.random() * n_active)]
        rows[0] = int(rng.random() * n)
        rows[1] = int(rng.random() * n)
        moves[0] = np.int64(codes[rows[1], j]) - np.int64(codes[rows[0], j])
        moves[1] = -moves[0]
        if moves[0] == 0:
            continue
        start, end = var_ptr[j], var_ptr[j + 1]
        change = 0.0
        for e in range(start, end):
            b = blocks[e]
            filled = 0
            for u in range(2):
                was = _inside(code, flags, b, codes, rows[u], j, 0)
                becomes = _inside(code, flags, b, codes, rows[u], j, moves[u])
                if code[b + KIND] == COUNTS:
                    level = _level(code, code[b + PLACE], codes, rows[u])
                    before[u, e - start] = 1.0 if was else 0.0
                    after[u, e - start] = 1.0 if becomes else 0.0
                    moved = level + moves[u] * _shift(code, code[b + PLACE], j)
                    filled = _tally(cells, shares, filled, level, -before[u, e - start])
                    filled = _tally(cells, shares, filled, moved, after[u, e - start])
                elif was or becomes:
                    change += 2.0 * _score_change(
                        code, floats, cols, vals, b, codes, rows[u], j, moves[u], was, becomes, gradient, scale
                    )
                    before[u, e - start] = scale[0]
                    after[u, e - start] = scale[1]
                else:
                    before[u, e - start] = 0.0
                    after[u, e - start] = 0.0
            for f in range(filled):
                weight = weights[code[b + WEIGHT] + cells[f]]
                change += shares[f] * (2.0 * gradient[code[b + FIRST] + cells[f]] + weight * shares[f])
        if change > 0.0:  # what is still to be added cannot be negative
            continue
        for e in range(start, end):
            b = blocks[e]
            if code[b + KIND] == SCORES:
                filled = 0
                for u in range(2):
                    filled += _score_spread(
                        code, cols, vals, b, codes, rows[u], j, moves[u], before[u, e - start], after[u, e - start],
                        to_cols[filled:], to_vals[filled:],
                    )  # fmt: skip
                change += _quadratic(weights, code[b + WEIGHT], code[b + SIZE], to_cols, to_vals, filled)
                if change > 0.0:
                    break
        if change > 0.0:
            continue
        for e in range(start, end):
            b = blocks[e]
            first, at = code[b + FIRST], code[b + WEIGHT]
            for u in range(2):
                if code[b + KIND] == COUNTS:
                    level = _level(code, code[b + PLACE], codes, rows[u])
                    moved = level + moves[u] * _shift(code, code[b + PLACE], j)
                    totals[first + level] -= before[u, e - start]
                    gradient[first + level] -= weights[at + level] * before[u, e - start]
                    totals[first + moved] += after[u, e - start]
                    gradient[first + moved] += weights[at + moved] * after[u, e - start]
                    continue
                k = code[b + SIZE]
                filled = _score_spread(
                    code, cols, vals, b, codes, rows[u], j, moves[u], before[u, e - start], after[u, e - start],
                    to_cols, to_vals,
                )  # fmt: skip
                for f in range(filled):
                    totals[first + to_cols[f]] += to_vals[f]
                    row = at + to_cols[f] * k
                    for a in range(k):
                        gradient[first + a] += weights[row + a] * to_vals[f]
        codes[rows[0], j] += moves[0]
        codes[rows[1], j] += moves[1]
        kept += 1
    return kept
