"""The compiled inner loop of the local search: visits to records, with the totals.

The fitness is a sum over totals of tallies, `weight * (distance outside [low, high])^2`, and over models, the squared
length of their residuals, which are linear in their totals: `residual + form' change`.
"""

from __future__ import annotations

import math

import numpy as np

from outrisk.evolve.compiled.layout import (
    BARE,
    CELL,
    FIRST,
    FORM,
    GENERAL,
    KIND,
    MAPPED,
    MODEL,
    NUMBERS,
    PLACE,
    PROFILE,
    RESIDUAL,
    SHAPE,
    SIZE,
    TALLY,
    VALUE,
    WHOLE,
    Array,
    Codes,
    Plan,
)
from outrisk.evolve.compiled.record import (
    allowed,
    entries_of,
    entry,
    inline,
    jit,
    joined,
    key_of,
    level_of,
    only_score,
    score_of,
    shuffle,
    slot_of,
    spot_of,
    stride_of,
    sums,
)
from outrisk.evolve.compiled.sums import add_all, work_of

# The loops hand down long lists of plain arrays: bundled in tuples they take twice as long.
# fmt: off
ALL_VALUES = 128  # up to this support size a visit looks at every value of a variable in tallies, beyond at SAMPLED
SAMPLED = 32
MARKED = 0.5  # of the values drawn at random, where there are some at which counts begin or end
MODELLED = 3  # values for which the models are asked: they cost the most
BITS, RING = 15, 4  # records met last that are alike in all that tables see: kept by a hash of that, so many each
SWAPPING = 0.5  # share of visits that look for such exchanges alone, at least
NEAR = 3  # steps to values near by
SWAPS = 3  # exchanges among them that a visit works out
HOPELESS = 50.0  # rise in the models, in units of the heat, that what tallies gain would hardly make good
LAZY = 2000  # entries of a form that an accepted edit may cost: larger gradients are brought up to date more rarely
RUN = 32  # records visited one after the other, which are at hand before they are asked for
TRIES = 3  # exchanges a visit works out in full


@inline
def _penalty(total, low, high, weight):
    """Weighted squared distance of a total outside its range."""
    if total < low:
        return weight * (low - total) * (low - total)
    if total > high:
        return weight * (total - high) * (total - high)
    return 0.0


@inline
def _steps(a, totals, low, high, weight, up, down):
    """Note what one record more and one less in total a would change."""
    now = _penalty(totals[a], low[a], high[a], weight[a])
    up[a] = _penalty(totals[a] + 1.0, low[a], high[a], weight[a]) - now
    down[a] = _penalty(totals[a] - 1.0, low[a], high[a], weight[a]) - now


@jit
def _add(a, share, totals, low, high, weight, up, down):
    """Add to total a; returns the change of its penalty."""
    before = _penalty(totals[a], low[a], high[a], weight[a])
    totals[a] += share
    _steps(a, totals, low, high, weight, up, down)
    return _penalty(totals[a], low[a], high[a], weight[a]) - before


@jit
def _tallies(
    blocks, start, end, code, floats, flags, cells, j, codes, i, value, k, other, totals, low, high, weight, up, down
):
    """Give variable j of record i a value, and (if k >= 0) that of record k the `other`, and the tallies their new
    totals; returns the change of the fitness.
    """
    change = 0.0
    for e in range(start, end):
        b = blocks[e]
        if code[b + KIND] != TALLY:
            continue
        if k >= 0 and code[b + SHAPE] != GENERAL:
            here, there = level_of(code, code[b + PLACE], codes, i), level_of(code, code[b + PLACE], codes, k)
            if there - here == (np.int64(codes[k, j]) - np.int64(codes[i, j])) * stride_of(code, code[b + PLACE], j):
                continue  # the two records change places
        row, to = i, value
        for _ in range(1 if k < 0 else 2):
            old = np.int64(codes[row, j])
            first = code[b + FIRST]
            if code[b + SHAPE] == BARE:
                was = level_of(code, code[b + PLACE], codes, row)
                becomes = was + (to - old) * stride_of(code, code[b + PLACE], j)
                share = new_share = 1.0
            else:
                was, share = spot_of(code, floats, flags, cells, b, codes, row)
                codes[row, j] = to
                becomes, new_share = spot_of(code, floats, flags, cells, b, codes, row)
                codes[row, j] = old
            if was == becomes:
                if was >= 0 and share != new_share:
                    change += _add(first + was, new_share - share, totals, low, high, weight, up, down)
            else:
                if was >= 0:
                    change += _add(first + was, -share, totals, low, high, weight, up, down)
                if becomes >= 0:
                    change += _add(first + becomes, new_share, totals, low, high, weight, up, down)
            row, to = k, other
    codes[i, j] = value
    if k >= 0:
        codes[k, j] = other
    return change


@jit
def _difference(
    code, floats, flags, design_cols, design_vals, b, j, codes, i, value, eta, slack, curvature, x_cols, x_vals, cols,
    vals, filled,
):
    """Change of the totals of MODEL b if variable j of record i took a value, as (position, value) from `filled` on;
    returns the new length.
    """
    start = middle = filled
    old = codes[i, j]
    for sign in (-1.0, 1.0):
        middle = filled
        filled = entries_of(
            code, floats, flags, design_cols, design_vals, b, codes, i, sign, eta, slack, curvature, x_cols, x_vals,
            cols, vals, filled,
        )
        codes[i, j] = value
    codes[i, j] = old
    if filled - middle != middle - start:
        return filled
    kept = middle
    for f in range(middle - start):  # entries at one position make one
        if cols[start + f] == cols[middle + f]:
            vals[start + f] += vals[middle + f]
        else:
            cols[kept] = cols[middle + f]
            vals[kept] = vals[middle + f]
            kept += 1
    return kept


@sums
def _rise(moved, residual, first):
    """Change of the squared length of the residuals from `first` on if they moved."""
    change = 0.0
    for q in range(len(moved)):
        change += moved[q] * (2.0 * residual[first + q] + moved[q])
    return change


@sums
def _along(residual, first, numbers, profiles, was, becomes):
    """The residuals from `first` on times the difference of two profiles."""
    product = 0.0
    for q in range(numbers):
        product += residual[first + q] * (profiles[becomes + q] - profiles[was + q])
    return product


@jit
def _models(
    blocks, start, end, code, floats, flags, design_cols, design_vals, j, codes, i, value, k, other, residual, forms,
    profiles, eta, slack, curvature, x_cols, x_vals, cols, vals, ends, delta,
):
    """Change of the fitness in the models if variable j of record i took a value, and (if k >= 0) that of record k the
    `other`; leaves the changes of their totals in cols and vals, those of model e of the variable up to ends[e], and
    those of their residuals in delta.
    """
    change = 0.0
    filled = np.int64(0)
    at = 0
    for e in range(start, end):
        b = blocks[e]
        if code[b + KIND] == MODEL:
            numbers, first = code[b + NUMBERS], code[b + RESIDUAL]
            moved = delta[at : at + numbers]
            at += numbers
            ends[e - start] = filled
            whole = code[b + WHOLE]
            if whole >= 0:
                stride = stride_of(code, whole, j)
                was = code[b + PROFILE] + level_of(code, whole, codes, i) * numbers
                step = (value - np.int64(codes[i, j])) * stride * numbers
                if k < 0:
                    for q in range(numbers):
                        moved[q] = profiles[was + step + q] - profiles[was + q]
                else:
                    also = code[b + PROFILE] + level_of(code, whole, codes, k) * numbers
                    back = (other - np.int64(codes[k, j])) * stride * numbers
                    if was + step == also:  # the two records change places
                        for q in range(numbers):
                            moved[q] = 0.0
                        continue
                    for q in range(numbers):
                        moved[q] = (
                            profiles[was + step + q] - profiles[was + q]
                            + profiles[also + back + q] - profiles[also + q]
                        )
                change += _rise(moved, residual, first)
                continue
            from_here = filled
            filled = _difference(
                code, floats, flags, design_cols, design_vals, b, j, codes, i, value, eta, slack, curvature, x_cols,
                x_vals, cols, vals, filled,
            )
            if k >= 0:
                filled = _difference(
                    code, floats, flags, design_cols, design_vals, b, j, codes, k, other, eta, slack, curvature,
                    x_cols, x_vals, cols, vals, filled,
                )
            form = code[b + FORM]
            for q in range(numbers):
                moved[q] = 0.0
            for f in range(from_here, filled):
                row, value_here = form + cols[f] * numbers, vals[f]
                for q in range(numbers):
                    moved[q] += value_here * forms[row + q]
            change += _rise(moved, residual, first)
            ends[e - start] = filled
    return change


@jit
def _settle(blocks, start, end, code, totals, residual, gradient, pending, waited, forms, cols, vals, ends, delta):
    """Carry a change that `_models` left into totals and residuals, and now and then into the gradient, which only
    chooses what to look at: changes of the residuals that it has not seen wait in `pending`.
    """
    done = 0
    at = 0
    for e in range(start, end):
        b = blocks[e]
        if code[b + KIND] == MODEL:
            upto = ends[e - start]
            numbers, first = code[b + NUMBERS], code[b + FIRST]
            moved = delta[at : at + numbers]
            for q in range(numbers):
                residual[code[b + RESIDUAL] + q] += moved[q]
            if upto > done:
                for f in range(done, upto):
                    totals[first + cols[f]] += vals[f]
                at_residual = code[b + RESIDUAL]
                for q in range(numbers):
                    pending[at_residual + q] += moved[q]
                waited[at_residual] += 1
                if waited[at_residual] * LAZY >= numbers * code[b + SIZE]:
                    waited[at_residual] = 0
                    row = code[b + FORM]
                    for a in range(first, first + code[b + SIZE]):
                        step = 0.0
                        for q in range(numbers):
                            step += forms[row + q] * pending[at_residual + q]
                        gradient[a] += step
                        row += numbers
                    for q in range(numbers):
                        pending[at_residual + q] = 0.0
            at += numbers
            done = upto


@jit
def _appraise(
    blocks, start, end, code, floats, flags, cells, j, codes, i, values, n_values, tally, totals, low, high, weight,
    up, down,
):
    """Change of the fitness in the tallies for each value that variable j of record i could take, added to tally[:]."""
    old = np.int64(codes[i, j])
    for e in range(start, end):
        b = blocks[e]
        first = code[b + FIRST]
        if code[b + KIND] == MODEL:
            continue
        if code[b + SHAPE] == MAPPED:
            stride = stride_of(code, code[b + PLACE], j)
            at = level_of(code, code[b + PLACE], codes, i)
            cell, value = code[b + CELL], code[b + VALUE]
            was = at if cell < 0 else cells[cell + at]
            share = 1.0 if value < 0 else floats[value + at]
            gone = now = 0.0
            a = first + max(was, 0)
            if was >= 0:
                now = _penalty(totals[a], low[a], high[a], weight[a])
                gone = _penalty(totals[a] - share, low[a], high[a], weight[a]) - now
            at -= old * stride
            for c in range(n_values):
                to = at + values[c] * stride
                new_share = 1.0 if value < 0 else floats[value + to]
                if cell >= 0:
                    to = cells[cell + to]
                if to == was:
                    if was >= 0 and share != new_share:
                        moved = totals[a] + new_share - share
                        tally[c] += _penalty(moved, low[a], high[a], weight[a]) - now
                    continue
                tally[c] += gone
                if to >= 0:
                    to += first
                    if new_share == 1.0:
                        tally[c] += up[to]
                    else:
                        tally[c] += _penalty(totals[to] + new_share, low[to], high[to], weight[to])
                        tally[c] -= _penalty(totals[to], low[to], high[to], weight[to])
        elif code[b + SHAPE] == BARE:
            at = first + level_of(code, code[b + PLACE], codes, i)
            stride = stride_of(code, code[b + PLACE], j)
            gone = down[at]
            at -= old * stride
            for c in range(n_values):
                tally[c] += gone + up[at + values[c] * stride]
        else:
            was, share = spot_of(code, floats, flags, cells, b, codes, i)
            gone = now = 0.0
            a = first + max(was, 0)
            if was >= 0:
                now = _penalty(totals[a], low[a], high[a], weight[a])
                gone = _penalty(totals[a] - share, low[a], high[a], weight[a]) - now
            for c in range(n_values):
                codes[i, j] = values[c]
                becomes, new_share = spot_of(code, floats, flags, cells, b, codes, i)
                if was == becomes:
                    if was >= 0 and share != new_share:
                        moved = totals[a] + new_share - share
                        tally[c] += _penalty(moved, low[a], high[a], weight[a]) - now
                    continue
                tally[c] += gone
                if becomes >= 0:
                    to = first + becomes
                    tally[c] += _penalty(totals[to] + new_share, low[to], high[to], weight[to])
                    tally[c] -= _penalty(totals[to], low[to], high[to], weight[to])
            codes[i, j] = old


@jit
def _ask(
    blocks, start, end, code, floats, flags, design_cols, design_vals, j, codes, i, values, chosen, n_chosen, slope,
    residual, profiles, gradient, eta, slack, curvature, x_cols, x_vals, cols, vals,
):
    """Change of the fitness in the models, to first order, for some of the values."""
    old = np.int64(codes[i, j])
    for e in range(n_chosen):
        slope[chosen[e]] = 0.0
    for each in range(start, end):
        b = blocks[each]
        if code[b + KIND] == TALLY:
            continue
        whole = code[b + WHOLE]
        if whole >= 0:
            numbers, first = code[b + NUMBERS], code[b + RESIDUAL]
            stride = stride_of(code, whole, j) * numbers
            was = code[b + PROFILE] + level_of(code, whole, codes, i) * numbers
            for e in range(n_chosen):
                becomes = was + (values[chosen[e]] - old) * stride
                slope[chosen[e]] += 2.0 * _along(residual, first, numbers, profiles, was, becomes)
            continue
        first = code[b + FIRST]
        quick = only_score(code, b)
        now = 0.0
        for e in range(-1, n_chosen):
            if e >= 0:
                codes[i, j] = values[chosen[e]]
            if quick:
                scale, then = score_of(
                    code, floats, flags, design_cols, design_vals, b, codes, i, eta, slack, curvature, gradient,
                )
                then *= scale
            else:
                filled = entries_of(
                    code, floats, flags, design_cols, design_vals, b, codes, i, 1.0, eta, slack, curvature, x_cols,
                    x_vals, cols, vals, np.int64(0),
                )
                then = 0.0
                for f in range(filled):
                    then += gradient[first + cols[f]] * vals[f]
            if e < 0:
                now = then
            else:
                slope[chosen[e]] += 2.0 * (then - now)
        codes[i, j] = old


@inline
def _slot(key, value):
    """Where records alike in the key with a value are kept."""
    return slot_of(joined(key, np.uint64(value)), BITS) * RING


@inline
def _other(size, ordered, old, rng):
    """Another value: where values are ordered, mostly one near by, which models hardly tell apart."""
    if ordered and size > 2 * NEAR and rng.random() < 0.7:
        value = old + 1 + int(rng.random() * NEAR)
        return value if value < size and rng.random() < 0.5 else max(2 * old - value, 0) if old > 0 else old + 1
    return (old + 1 + int(rng.random() * (size - 1))) % size


@jit
def _propose(codes, j, size, old, ordered, marks, count, values, partners, rng):
    """Some values to look at: neighbours, values at which counts begin or end, values at random, and those of other
    records, to be had in exchange.
    """
    for c in range(count):
        partners[c] = -1
        if c % 2:
            partners[c] = int(rng.random() * len(codes))
            values[c] = codes[partners[c], j]
        elif ordered and rng.random() < 0.3:
            step = 1 + c // 8
            values[c] = min(size - 1, max(0, old + (step if rng.random() < 0.5 else -step)))
        elif len(marks) > 0 and rng.random() < MARKED:
            values[c] = marks[int(rng.random() * len(marks))]
        else:
            values[c] = int(rng.random() * size)


@jit
def _promising(tally, values, old, n_values, chosen):
    """The MODELLED values that the tallies like best, into chosen[:]; returns how many."""
    filled = 0
    for c in range(n_values):
        if values[c] == old:
            continue
        at = filled
        while at > 0 and tally[chosen[at - 1]] > tally[c]:
            at -= 1
        if at == MODELLED:
            continue
        filled = min(MODELLED, filled + 1)
        for e in range(filled - 1, at, -1):
            chosen[e] = chosen[e - 1]
        chosen[at] = c
    return filled


@jit
def _fitness(plan, totals, low, high, weight, residual, up, down):
    """The fitness; leaves what one record more and one less would change in up and down."""
    code = plan.code
    fitness = 0.0
    for q in range(len(residual)):
        fitness += residual[q] * residual[q]
    for b in plan.blocks:
        if code[b + KIND] == TALLY:
            for a in range(code[b + FIRST], code[b + FIRST] + code[b + SIZE]):
                _steps(a, totals, low, high, weight, up, down)
                fitness += _penalty(totals[a], low[a], high[a], weight[a])
    return fitness


@inline
def _stand_beside(plan, j, beside, rng):
    """Mark the variables that stand beside variable j in counts, and some others, so that exchanges of all sizes are
    looked at; returns whether a model sees j, and whether a tally does.
    """
    code, blocks = plan.code, plan.var_blocks
    modelled = tallied = False
    for v in range(len(beside)):
        beside[v] = False
    for e in range(plan.var_ptr[j], plan.var_ptr[j + 1]):
        modelled |= code[blocks[e] + KIND] == MODEL
        tallied |= code[blocks[e] + KIND] == TALLY
        if code[blocks[e] + KIND] == TALLY and code[blocks[e] + VALUE] < 0:
            place = code[blocks[e] + PLACE]
            for v in range(place + 1, place + 1 + 2 * code[place], 2):
                beside[code[v]] = code[v] != j
    for v in range(len(beside)):
        beside[v] = v != j and (beside[v] or rng.random() < 0.5)
    return modelled, tallied


@jit
def _most(plan):
    """How many values of a variable a visit looks at, at most, and how many blocks see one, at least 1."""
    values, blocks = np.int64(2), np.int64(1)
    for j in plan.active:
        values = max(values, plan.sizes[j] if plan.sizes[j] <= ALL_VALUES else SAMPLED)
        blocks = max(blocks, plan.var_ptr[j + 1] - plan.var_ptr[j])
    return values, blocks


@jit
def _forget(met, wanting):
    for v in range(len(met)):
        met[v] = -1
    for c in range(len(wanting)):
        for d in range(len(wanting)):
            wanting[c, d] = -1


@inline
def _choose(tally, slope, values, old, n_values, modelled, rng):
    """Draw a value of those that do good: any, where models know it only to first order; else of the best. -1: none."""
    good = 0
    chosen = np.int64(-1)
    for c in range(n_values):
        if tally[c] + slope[c] <= 0.0 and values[c] != old:
            if not modelled and chosen >= 0 and tally[c] < tally[chosen]:
                good = 0
            if modelled or chosen < 0 or tally[c] <= tally[chosen]:
                good += 1
                if rng.random() * good < 1.0:
                    chosen = np.int64(c)
    return chosen


@inline
def _who_agrees(codes, j, old, every, s, first, n_values, values, partners, wanting, price, tally, slope):
    """The next record, from the value in place s on, that may agree to an exchange (-1: none), the value that it has,
    and the place after.
    """
    while s < n_values:
        c = (first + s) % n_values
        s += 1
        k = wanting[c, old] if every else partners[c]
        if (
            k >= 0
            and values[c] != old
            and codes[k, j] == values[c]
            and (not every or tally[c] + slope[c] + price[c, old] <= 0.0)
        ):
            return k, values[c], s
    return np.int64(-1), old, s


@inline
def _who_is_alike(codes, j, old, size, ordered, key, met, swaps, rng):
    """A record met lately that is alike in the key and has another value (-1: none), that value, and how often one may
    still be looked for.
    """
    while swaps > 0:
        swaps -= 1
        value = _other(size, ordered, old, rng)
        k = np.int64(met[_slot(key, value) + int(rng.random() * RING)])
        if k >= 0 and codes[k, j] == value:
            return k, value, swaps
    return np.int64(-1), old, swaps


@jit
def _keeps(plan, codes, j, i, value, k, other):
    """Whether all rules hold if variable j of record i took a value, and (if k >= 0) that of record k the `other`."""
    before = np.int64(codes[i, j])
    codes[i, j] = value
    keeps = allowed(plan, j, codes, i)
    if k >= 0:
        codes[k, j] = other
        keeps &= allowed(plan, j, codes, k)
        codes[k, j] = value
    codes[i, j] = before
    return keeps


@entry
def visit_all(plan, codes, totals, low, high, weight, forms, profiles, residual, gradient, visits, exchange, heat, rng):
    """See climb."""
    code, floats, flags, cells, design_cols, design_vals = (
        plan.code, plan.floats, plan.flags, plan.cells, plan.cols, plan.vals,
    )
    n, active, blocks = len(codes), plan.active, plan.var_blocks
    up, down = np.empty(len(totals)), np.empty(len(totals))
    left = _fitness(plan, totals, low, high, weight, residual, up, down)
    enough = 1e-9 * left  # with nothing left to do, ranges that move with the data would only drift
    eta, slack, curvature, x_cols, x_vals = work_of(plan)
    most_values, most_blocks = _most(plan)
    room = 4 * plan.extent[2] * most_blocks
    cols, vals = np.empty(room, np.int64), np.empty(room)
    ends = np.empty(most_blocks, np.int64)
    delta = np.empty(plan.extent[4] * most_blocks)
    pending, waited = np.zeros(len(residual)), np.zeros(len(residual), np.int64)
    tally, slope = np.empty(most_values), np.empty(most_values)
    beside, met = np.zeros(codes.shape[1], np.bool_), np.empty(RING << BITS, np.int32)
    asked = np.empty(MODELLED, np.int64)
    values, partners = np.empty(most_values, np.int64), np.empty(most_values, np.int64)
    wanting = np.empty((most_values, most_values), np.int64)  # who has the row's value and would take the column's
    price = np.empty((most_values, most_values))  # and the change that would bring
    changed = looked = 0
    order = np.arange(len(active))
    shuffle(order, len(order), rng)
    for turn in range(len(order)):
        j = active[order[turn]]
        size = plan.sizes[j]
        ruled = plan.rule_ptr[j + 1] > plan.rule_ptr[j]
        start, end = plan.var_ptr[j], plan.var_ptr[j + 1]
        marks = plan.marks[plan.mark_ptr[j] : plan.mark_ptr[j + 1]]
        modelled, tallied = _stand_beside(plan, j, beside, rng)
        _forget(met, wanting)
        every = tallied and size <= ALL_VALUES  # every value, and so exchanges with whoever wants it
        swapping = exchange and modelled and size <= ALL_VALUES
        n_values = size if every else (SAMPLED if tallied else (2 if exchange else 1))
        for c in range(n_values):
            values[c] = c
            partners[c] = -1
        i = n
        for visit in range((visits + turn) // len(order)):
            if left <= enough and visit > 0:  # a single visit, in case numbers are off all the same
                break
            i = i + 1 if visit % RUN and i + 1 < n else int(rng.random() * n)
            old = np.int64(codes[i, j])
            only_swaps = swapping and rng.random() < max(SWAPPING, 1.0 - 8.0 / size)
            if not every:
                _propose(codes, j, size, old, plan.numeric[j], marks, n_values, values, partners, rng)
            looked += 0 if only_swaps else n_values - 1
            for c in range(n_values):
                tally[c] = 0.0
                slope[c] = np.inf if modelled else 0.0
            if tallied and not only_swaps:
                _appraise(
                    blocks, start, end, code, floats, flags, cells, j, codes, i, values, n_values, tally, totals, low,
                    high, weight, up, down,
                )
            if modelled and not only_swaps:
                n_asked = _promising(tally, values, old, n_values, asked)
                _ask(
                    blocks, start, end, code, floats, flags, design_cols, design_vals, j, codes, i, values, asked,
                    n_asked, slope, residual, profiles, gradient, eta, slack, curvature, x_cols, x_vals, cols, vals,
                )
            chosen = _choose(tally, slope, values, old, n_values, modelled, rng)
            first = int(rng.random() * n_values)
            key = key_of(codes, i, beside, np.uint64(0)) if swapping else np.uint64(0)
            swaps = np.int64(SWAPS if swapping else 0)
            s = np.int64(n_values if only_swaps or not exchange else 0)
            tries = 0 if chosen >= 0 else 1
            done = False
            while not done and tries <= TRIES:
                k, value = np.int64(-1), values[max(chosen, 0)]
                if tries > 0:  # an exchange: with the next record that may agree, or one alike in all that tables see
                    k, value, s = _who_agrees(
                        codes, j, old, every, s, first, n_values, values, partners, wanting, price, tally, slope,
                    )
                    if k < 0:
                        k, value, swaps = _who_is_alike(
                            codes, j, old, size, plan.numeric[j], key, met, swaps, rng,
                        )
                        tries -= 1 if k >= 0 else 0
                    if k < 0:
                        break
                tries += 1
                if ruled and not _keeps(plan, codes, j, i, value, k, old):
                    continue
                moved = 0.0
                if modelled:
                    moved = _models(
                        blocks, start, end, code, floats, flags, design_cols, design_vals, j, codes, i, value, k, old,
                        residual, forms, profiles, eta, slack, curvature, x_cols, x_vals, cols, vals, ends, delta,
                    )
                    if heat > 0.0 and k >= 0 and moved > HOPELESS * heat:
                        continue
                moved += _tallies(
                    blocks, start, end, code, floats, flags, cells, j, codes, i, value, k, old, totals, low, high,
                    weight, up, down,
                )
                if moved <= 0.0 or moved <= -heat * math.log(1.0 - rng.random()):
                    if modelled:
                        _settle(
                            blocks, start, end, code, totals, residual, gradient, pending, waited, forms, cols, vals,
                            ends, delta,
                        )
                    left += moved
                    changed += 1 if k < 0 else 2
                    done = True
                else:
                    _tallies(
                        blocks, start, end, code, floats, flags, cells, j, codes, i, old, k, value, totals, low, high,
                        weight, up, down,
                    )
            if swapping:
                met[_slot(key, np.int64(codes[i, j])) + int(rng.random() * RING)] = i
            if exchange and every and not done and not only_swaps:
                for c in range(n_values):
                    if slope[c] < np.inf:
                        wanting[old, c] = i
                        price[old, c] = tally[c] + slope[c]
    return changed, looked


def climb(
    plan: Plan,
    codes: Codes,
    totals: Array,
    low: Array,
    high: Array,
    weight: Array,
    forms: Array,
    profiles: Array,
    residual: Array,
    gradient: Array,
    visits: int,
    exchange: bool,
    heat: float,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Visit `visits` records for one variable each, in place; give the variable another value where the fitness does
    not rise.

    A visit works out what each value of the variable would change (of the tallies exactly, of the models to first
    order), draws one of those that would do good, and takes it if the exact change is not a rise. If `exchange`, a
    record that finds none looks for another one, met earlier, that wants the value it has and has a value it wants: an
    exchange moves the totals far less than the two edits it consists of, so it still finds steps down where single
    edits are too coarse. A rise is kept with the probability exp(-rise / heat). Returns the number of values changed
    and of those looked at.
    """
    found: tuple[int, int] = visit_all(
        plan, codes, totals, low, high, weight, forms, profiles, residual, gradient, visits, exchange, heat, rng
    )
    _afresh(plan, codes, totals)
    return found


def _afresh(plan: Plan, codes: Codes, totals: Array) -> None:
    """Work out the totals of all models that have profiles, in place: visits follow their residuals alone."""
    code = plan.code
    blocks = [b for b in plan.blocks if code[b + KIND] == MODEL and code[b + WHOLE] >= 0]
    for b in blocks:
        totals[code[b + FIRST] : code[b + FIRST] + code[b + SIZE]] = 0.0
    if blocks:
        add_all(plan, np.array(blocks), codes, 1.0, totals)
