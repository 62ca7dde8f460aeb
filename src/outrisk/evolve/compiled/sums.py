"""Compiled: totals and information of records, many at a time (layout: see layout.py; definitions: blocks.py).

Records are taken in batches, and each step of a block (its levels, its residuals, ...) runs over the whole batch: what
the plan says is then read once a batch, not once a record. A model whose totals are its score alone is summed by
levels: a record adds its residual to one bin for each of the model's terms, and `fold` multiplies the bins with the
design in the end. The sums are the same, and the cost of a record does not depend on the number of coefficients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.compiled.layout import (
    BINNED,
    CELL,
    COLUMNS,
    EQUATIONS,
    FAMILY,
    FIRST,
    KIND,
    MASK_AT,
    MASKS,
    MODEL,
    PLACE,
    RESPONSE,
    TALLY,
    TERM,
    TERM_AT,
    TERMS,
    VALUE,
    WEIGHT,
    WEIGHT_AT,
    Array,
    Codes,
    Plan,
)
from outrisk.evolve.compiled.record import (
    NO,
    OLOGIT,
    ONE,
    derivatives,
    design_of,
    entries_of,
    entry,
    jit,
    level_of,
    row_of,
    share_of,
)

BATCH = 256  # records: what is kept of them stays in the nearest cache
NUDGE = 1e-4  # of a linear predictor, to see how the curvature changes with it
PAIRED = 1 << 18  # levels of two terms together up to which an information is summed by them


# fmt: off
@jit
def work_of(plan):
    """Working memory for the contributions of one record (see entries_of)."""
    design, equations = plan.extent[1], plan.extent[3]
    return (
        np.empty(equations),
        np.empty(equations),
        np.empty((equations, equations)),
        np.empty(design, np.int64),
        np.empty(design),
    )


@jit
def levels_of(code, joint, codes, levels):
    """Positions of records in the product of a joint's supports."""
    levels[:] = 0
    for e in range(code[joint]):
        j, stride = code[joint + 1 + 2 * e], code[joint + 2 + 2 * e]
        for r in range(len(codes)):
            levels[r] += codes[r, j] * stride


@jit
def shares_of(code, floats, flags, b, codes, levels, shares):
    """How often records count in block b: their weights, 0 outside the subset."""
    if code[b + WEIGHT] < 0:
        shares[:] = 1.0
    else:
        for r in range(len(codes)):
            shares[r] = floats[code[b + WEIGHT_AT] + codes[r, code[b + WEIGHT]]]
    for m in range(code[b + MASKS]):
        e = code[b + MASK_AT] + 2 * m
        levels_of(code, code[e], codes, levels)
        at = code[e + 1]
        for r in range(len(codes)):
            if flags[at + levels[r]] == 0:
                shares[r] = 0.0


@jit
def _residuals_of(code, floats, flags, b, codes, levels, shares, residuals, curvatures, eta, residual, curvature):
    """Residuals and curvatures of records in MODEL b of one equation, times their weights; and their levels in term m
    in levels[m].
    """
    n, terms = len(codes), code[b + TERMS]
    shares_of(code, floats, flags, b, codes, levels[0], shares)
    residuals[:] = 0.0
    for m in range(terms):
        t = code[b + TERM_AT] + TERM * m
        levels_of(code, code[t], codes, levels[m])
        at = code[t + 1]
        for r in range(n):
            residuals[r] += floats[at + levels[m, r]]
    levels_of(code, code[b + PLACE], codes, levels[terms])
    family, at = code[b + FAMILY], code[b + RESPONSE]
    for r in range(n):
        eta[0] = residuals[r]
        derivatives(family, floats[at + levels[terms, r]], eta, residual, curvature, ONE, NO)
        residuals[r] = shares[r] * residual[0] if shares[r] != 0.0 else 0.0
        curvatures[r] = shares[r] * curvature[0, 0] if shares[r] != 0.0 else 0.0


@jit
def memory_of(plan):
    """Working memory for a batch (see add): levels; shares, residuals and curvatures; bins."""
    return np.empty((plan.extent[1] + 1, BATCH), np.int64), np.empty((3, BATCH)), np.zeros(plan.extent[5])


@jit
def add(plan, blocks, codes, sign, work, cols, vals, memory, totals):
    """Add (sign 1) or take away (sign -1) what at most BATCH records contribute to the totals of some blocks, or to
    their bins in the memory.
    """
    code, floats, flags, cells, design_cols, design_vals = (
        plan.code, plan.floats, plan.flags, plan.cells, plan.cols, plan.vals,
    )
    n = len(codes)
    eta, residual, curvature, x_cols, x_vals = work
    levels, shares, residuals, curvatures = memory[0][:, :n], memory[1][0, :n], memory[1][1, :n], memory[1][2, :n]
    bins = memory[2]
    for b in blocks:
        first = code[b + FIRST]
        if code[b + KIND] == TALLY:
            plain = code[b + MASKS] == 0 and code[b + WEIGHT] < 0
            if not plain:
                shares_of(code, floats, flags, b, codes, levels[0], shares)
            levels_of(code, code[b + PLACE], codes, levels[0])
            cell, value = code[b + CELL], code[b + VALUE]
            for r in range(n):
                level = levels[0, r]
                share = 1.0 if plain else shares[r]
                to = level if cell < 0 else cells[cell + level]
                if share != 0.0 and to >= 0:
                    totals[first + to] += sign * (share if value < 0 else share * floats[value + level])
        elif code[b + BINNED]:
            _residuals_of(
                code, floats, flags, b, codes, levels, shares, residuals, curvatures, eta, residual, curvature,
            )
            for m in range(code[b + TERMS]):
                at = code[code[b + TERM_AT] + TERM * m + 4]
                for r in range(n):
                    bins[at + levels[m, r]] += sign * residuals[r]
        else:
            for r in range(n):
                filled = entries_of(
                    code, floats, flags, design_cols, design_vals, b, codes, r, sign, eta, residual, curvature,
                    x_cols, x_vals, cols, vals, np.int64(0),
                )
                for f in range(filled):
                    totals[first + cols[f]] += vals[f]


@jit
def fold(plan, memory, totals):
    """Add what the bins hold to the totals and empty them."""
    code, design_cols, design_vals = plan.code, plan.cols, plan.vals
    bins = memory[2]
    for b in plan.blocks:
        if code[b + KIND] != MODEL or not code[b + BINNED]:
            continue
        first = code[b + FIRST]
        for m in range(code[b + TERMS]):
            t = code[b + TERM_AT] + TERM * m
            entry, at = code[t + 2], code[t + 4]
            for level in range(code[t + 5]):
                scale = bins[at + level]
                if scale != 0.0:
                    for f in range(entry, entry + code[t + 3]):
                        totals[first + design_cols[f]] += scale * design_vals[f]
                    bins[at + level] = 0.0
                entry += code[t + 3]


@entry
def add_all(plan, blocks, codes, sign, totals):
    """Add (sign 1) or take away (sign -1) what all records contribute to the totals of some blocks."""
    work, memory = work_of(plan), memory_of(plan)
    cols, vals = np.empty(plan.extent[2], np.int64), np.empty(plan.extent[2])
    for start in range(0, len(codes), BATCH):
        add(plan, blocks, codes[start : start + BATCH], sign, work, cols, vals, memory, totals)
    fold(plan, memory, totals)


def totals_of(plan: Plan, codes: Codes) -> Array:
    """All totals of a data set, from nothing; shape (m,)."""
    totals = np.zeros(plan.extent[0])
    add_all(plan, plan.blocks, codes, 1.0, totals)
    return totals


def information_of(plan: Plan, b: int, codes: Codes) -> Array:
    """Information of the MODEL at address b, at its published coefficients; shape (K, K)."""
    starts = _pairs_of(plan.code, b)
    if plan.code[b + EQUATIONS] == 1 and starts[-1, 0] <= min(PAIRED, 4 * len(codes)):
        return np.asarray(information_by_pairs(plan, b, codes, starts))
    return np.asarray(information_by_records(plan, b, codes))


def _pairs_of(code: NDArray[np.int64], b: int) -> NDArray[np.int64]:
    """Where the levels of terms m and q <= m together begin, [m, q], among those of all pairs; their number last."""
    terms, at = code[b + TERMS], code[b + TERM_AT]
    levels = code[at + 5 : at + TERM * terms : TERM]
    together = np.tril(np.outer(levels, levels), -1) + np.diag(levels)
    starts, each = np.zeros((terms + 1, terms + 1), np.int64), np.tril_indices(terms)
    ends = np.cumsum(together[each])
    starts[each], starts[terms, 0] = ends - together[each], together.sum()
    return starts


@entry
def information_by_pairs(plan, b, codes, starts):
    """Sums of the curvature over the levels of each two terms together, then multiplied with the design."""
    code, cols, vals = plan.code, plan.cols, plan.vals
    k, terms, at = code[b + COLUMNS], code[b + TERMS], code[b + TERM_AT]
    eta, residual, curvature, _, _ = work_of(plan)
    memory = memory_of(plan)
    sums = np.zeros(starts[-1, 0])
    for begin in range(0, len(codes), BATCH):
        batch = codes[begin : begin + BATCH]
        n = len(batch)
        levels, shares, residuals, curvatures = (
            memory[0][:, :n], memory[1][0, :n], memory[1][1, :n], memory[1][2, :n],
        )
        _residuals_of(
            code, plan.floats, plan.flags, b, batch, levels, shares, residuals, curvatures, eta, residual, curvature,
        )
        for m in range(terms):
            for q in range(m + 1):
                width, base = code[at + TERM * q + 5] if q < m else 1, starts[m, q]
                for r in range(n):
                    sums[base + levels[m, r] * width + (levels[q, r] if q < m else 0)] += curvatures[r]
    information, row = np.zeros((k, k)), np.empty(k)
    for m in range(terms):
        for q in range(m + 1):
            t, s = at + TERM * m, at + TERM * q
            cell = starts[m, q]
            for level in range(code[t + 5]):
                row[:] = 0.0  # the weighted sum of the other term's rows
                for other in range(level if q == m else 0, level + 1 if q == m else code[s + 5]):
                    if sums[cell] != 0.0:
                        entry = code[s + 2] + other * code[s + 3]
                        for f in range(entry, entry + code[s + 3]):
                            row[cols[f]] += sums[cell] * vals[f]
                    cell += 1
                entry = code[t + 2] + level * code[t + 3]
                for f in range(entry, entry + code[t + 3]):
                    for c in range(k):
                        information[cols[f], c] += vals[f] * row[c]
                        if q < m:
                            information[c, cols[f]] += vals[f] * row[c]
    return information


@entry
def information_by_records(plan, b, codes):
    """The same record by record, where there are several equations or too many levels."""
    code, floats, flags, design_cols, design_vals = plan.code, plan.floats, plan.flags, plan.cols, plan.vals
    equations, k, shaped = code[b + EQUATIONS], code[b + COLUMNS], code[b + FAMILY] >= OLOGIT
    eta, residual, curvature, x_cols, x_vals = work_of(plan)
    size = k + equations - 1 if shaped else equations * k
    information = np.zeros((size, size))
    for i in range(len(codes)):
        share = share_of(code, floats, flags, b, codes, i)
        if share == 0.0:
            continue
        length = design_of(code, floats, design_cols, design_vals, b, codes, i, eta, x_cols, x_vals)
        y = floats[code[b + RESPONSE] + level_of(code, code[b + PLACE], codes, i)]
        derivatives(code[b + FAMILY], y, eta, residual, curvature, equations, NO)
        for e in range(equations):
            begin, end, own = row_of(e, k, length, shaped)
            for f in range(e + 1):
                start, stop, other = row_of(f, k, length, shaped)
                for a in range(begin, end):
                    product = share * curvature[e, f] * x_vals[a]
                    for c in range(start, stop):
                        information[own + x_cols[a], other + x_cols[c]] += product * x_vals[c]
    for e in range(equations):
        begin, end, own = row_of(e, k, k, shaped)
        for f in range(e):
            start, stop, other = row_of(f, k, k, shaped)
            for a in range(own, own + end - begin):
                for c in range(other, other + stop - start):
                    information[c, a] = information[a, c]
    return information


@jit
def _bend(bends, g, equations, shaped, k, length, share, above, below, x_cols, x_vals):
    """Add what the curvatures of a record above and below say of the change of the information with predictor g."""
    first, last, along = row_of(g, k, length, shaped)
    for e in range(equations):
        begin, end, own = row_of(e, k, length, shaped)
        for f in range(e + 1):
            start, stop, other = row_of(f, k, length, shaped)
            steep = share * (above[e, f] - below[e, f])
            for a in range(begin, end):
                row = own + x_cols[a]
                for c in range(start, a + 1 if e == f else stop):
                    column = other + x_cols[c]
                    high = max(row, column)
                    product = steep * x_vals[a] * x_vals[c]
                    bend = bends[high * (high + 1) // 2 + min(row, column)]
                    for d in range(first, last):
                        bend[along + x_cols[d]] += product * x_vals[d]


@entry
def bends_of(plan, b, codes, every):
    """How the information of the MODEL at address b changes with its coefficients, from every `every`-th record; shape
    (K (K + 1) / 2, K), the rows of its lower triangle.
    """
    code, floats, flags, design_cols, design_vals = plan.code, plan.floats, plan.flags, plan.cols, plan.vals
    equations, k, shaped = code[b + EQUATIONS], code[b + COLUMNS], code[b + FAMILY] >= OLOGIT
    eta, residual, curvature, x_cols, x_vals = work_of(plan)
    above = np.empty((equations, equations))
    size = k + equations - 1 if shaped else equations * k
    bends = np.zeros((size * (size + 1) // 2, size))
    for i in range(0, len(codes), every):
        share = every * share_of(code, floats, flags, b, codes, i)
        if share == 0.0:
            continue
        length = design_of(code, floats, design_cols, design_vals, b, codes, i, eta, x_cols, x_vals)
        y = floats[code[b + RESPONSE] + level_of(code, code[b + PLACE], codes, i)]
        for g in range(equations):
            at = eta[g]
            eta[g] = at + NUDGE
            derivatives(code[b + FAMILY], y, eta, residual, above, equations, NO)
            eta[g] = at - NUDGE
            derivatives(code[b + FAMILY], y, eta, residual, curvature, equations, NO)
            eta[g] = at
            _bend(
                bends, g, equations, shaped, k, length, share / (2.0 * NUDGE), above, curvature, x_cols, x_vals,
            )
    return bends
