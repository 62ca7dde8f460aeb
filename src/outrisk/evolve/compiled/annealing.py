"""Compiled: simulated annealing of few records on the published numbers themselves (see small.py).

Numbers of tallies are worked out exactly from the totals, whatever function of them they are; numbers of models are
linear in their totals around the data set that the round begins with.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.compiled.layout import FIRST, FORM, KIND, NUMBERS, RESIDUAL, TALLY
from outrisk.evolve.compiled.record import allowed, entries_of, entry, jit, spot_of
from outrisk.evolve.compiled.sums import work_of
from outrisk.problem.quantile_places import HALVES, WEIGHTED

TOTAL, RATIO, DEVIATION, RANK, MODE, LIMIT, ERROR = range(7)
UNDEFINED = 1e6  # half last digits that an undefined number counts for
WHOLE = 1e-9  # ranks are rounded to this
REDRAW, CREEP, TRANSFER, SWAP, PAIR = 0.25, 0.45, 0.75, 0.85, 1.0  # cumulated chances of the moves


class Recipes(NamedTuple):
    """Formulas of k numbers of tallies flattened, where they should lie, and which numbers each of m totals enters."""

    kind: NDArray[np.int64]  # (k,)
    first: NDArray[np.int64]  # (k + 1,) into positions: the totals of each number
    base: NDArray[np.int64]  # (k + 1,) into bases: the totals that it is divided by
    point: NDArray[np.int64]  # (k + 1,) into points
    shift: NDArray[np.float64]  # (k,)
    scale: NDArray[np.float64]  # (k,)
    least: NDArray[np.float64]  # (k,)
    positions: NDArray[np.int64]
    bases: NDArray[np.int64]
    points: NDArray[np.float64]
    enters: NDArray[np.int64]  # (m + 1,) into numbers
    numbers: NDArray[np.int64]


class Goal(NamedTuple):
    """Where numbers should lie, half a last digit of each, and what each counts."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    half: NDArray[np.float64]
    scale: NDArray[np.float64]
    weight: NDArray[np.float64]


# fmt: off
@jit
def cost_of(number, goal, k):
    """What number k costs: the logarithm of 1 + its distance in half last digits, 0 where it is matched."""
    if math.isnan(number):
        return goal.weight[k] * math.log1p(UNDEFINED)
    distance = max(goal.low[k] - number, number - goal.high[k])
    return 0.0 if distance <= goal.half[k] else goal.weight[k] * math.log1p(distance / goal.scale[k])


@jit
def number_of(recipes, k, totals):
    """Number k from the totals; NaN where it is undefined."""
    kind, positions = recipes.kind[k], recipes.positions[recipes.first[k] : recipes.first[k + 1]]
    if kind == TOTAL:
        return totals[positions[0]]
    if kind in (RATIO, LIMIT):
        base, above = 0.0, totals[positions[0]]
        for e in range(recipes.base[k], recipes.base[k + 1]):
            base += totals[recipes.bases[e]]
        if base <= recipes.least[k]:
            return math.nan
        if kind == LIMIT:
            above = recipes.points[min(recipes.point[k] + int(above + 0.5), recipes.point[k + 1] - 1)]
        return recipes.shift[k] + recipes.scale[k] * above / base
    if kind in (DEVIATION, ERROR):
        n, first, second = totals[positions[0]], totals[positions[1]], totals[positions[2]]
        if n <= 1.0 + WHOLE:
            return math.nan
        sd = math.sqrt(max(second - first * first / n, 0.0) / (n - 1.0))
        if kind == DEVIATION:
            return sd
        last = recipes.point[k + 1] - recipes.point[k] - 1
        q = recipes.points[recipes.point[k] + min(int(n + 0.5), last)]
        if n > last:
            q = recipes.least[k] + (q - recipes.least[k]) * last / n
        mean = recipes.shift[k] + first / n if recipes.base[k + 1] > recipes.base[k] else 0.0
        return mean + recipes.scale[k] * q * sd / math.sqrt(n)
    points = recipes.points[recipes.point[k] : recipes.point[k] + len(positions)]
    if kind == MODE:
        most, at = 0.5, -1
        for e in range(len(positions)):
            if totals[positions[e]] > most + WHOLE:
                most, at = totals[positions[e]], e
        return points[at] if at >= 0 else math.nan
    n = totals[recipes.bases[recipes.base[k]]]
    if n < 0.5:
        return math.nan
    place = (round(n) - 1.0) * recipes.scale[k]
    if recipes.least[k] == HALVES:  # as problem/quantile_places.py
        place = math.floor(round(n) * recipes.scale[k] + WHOLE) + 0.0
        place -= 0.5 if round(n) * recipes.scale[k] - place <= WHOLE else 0.0
    elif recipes.least[k] == WEIGHTED:
        place = (round(n) + 1.0) * recipes.scale[k] - 1.0
    place = min(max(place, 0.0), round(n) - 1.0)
    rank = math.floor(place + WHOLE)
    e, below = 0, totals[positions[0]]
    while below < rank + 0.5 and e + 1 < len(positions):
        e += 1
        below += totals[positions[e]]
    lower = points[e]
    if place - rank <= WHOLE:
        return lower
    while below < rank + 1.5 and e + 1 < len(positions):
        e += 1
        below += totals[positions[e]]
    return lower + (points[e] - lower) * (place - rank)


@jit
def _move(numeric, active, codes, sizes, rng):
    """A move as (record, variable, value) twice; record -1 where there is no second change."""
    n = len(codes)
    i, j = int(rng.random() * n), active[int(rng.random() * len(active))]
    old, size = np.int64(codes[i, j]), sizes[j]
    other = (old + 1 + int(rng.random() * (size - 1))) % size
    draw = rng.random()
    if draw >= REDRAW and draw < TRANSFER and numeric[j]:
        step = 1 + int(-math.log(1.0 - rng.random()) * (1.0 + 0.05 * size))
        step = -step if rng.random() < 0.5 else step
        value = min(max(old + step, 0), size - 1)
        k = int(rng.random() * n)
        if draw < CREEP or k == i:
            return i, j, value, -1, j, value
        return i, j, value, k, j, min(max(np.int64(codes[k, j]) - (value - old), 0), size - 1)
    if draw < REDRAW:
        return i, j, other, -1, j, other
    if draw < SWAP:
        k = int(rng.random() * n)
        return i, j, np.int64(codes[k, j]), k, j, old
    v = active[int(rng.random() * len(active))]
    return i, j, other, i if v != j else -1, v, int(rng.random() * sizes[v])


@jit
def _carry(plan, touches, j, v, codes, i, sign, forms, work, cols, vals, totals, moved, log, shares, logged):
    """Add (sign 1) or take away what record i contributes to blocks that see variable j or v: to the totals of
    tallies, which are noted, and to the numbers of models in `moved`; returns how many are noted.
    """
    code, floats, flags = plan.code, plan.floats, plan.flags
    eta, residual, curvature, x_cols, x_vals = work
    for e in range(len(plan.blocks)):
        if not (touches[e, j] or touches[e, v]):
            continue
        b = plan.blocks[e]
        if code[b + KIND] == TALLY:
            cell, share = spot_of(code, floats, flags, plan.cells, b, codes, i)
            if cell >= 0:
                totals[code[b + FIRST] + cell] += sign * share
                log[logged], shares[logged] = code[b + FIRST] + cell, sign * share
                logged += 1
            continue
        filled = entries_of(
            code, floats, flags, plan.cols, plan.vals, b, codes, i, sign, eta, residual, curvature, x_cols, x_vals,
            cols, vals, 0,
        )
        numbers, first = code[b + NUMBERS], code[b + RESIDUAL]
        for f in range(filled):
            row = code[b + FORM] + cols[f] * numbers
            for q in range(numbers):
                moved[first + q] += vals[f] * forms[row + q]
    return logged


@entry
def typical_changes(plan, touches, recipes, forms, n_modelled, codes, totals, tries, rng):
    """Mean size of the changes that one move makes to each number of tallies, and of models, where it changes it."""
    work = work_of(plan)
    cols, vals = np.empty(plan.extent[2], np.int64), np.empty(plan.extent[2])
    n_numbers = len(recipes.kind)
    here = np.array([number_of(recipes, k, totals) for k in range(n_numbers)])
    changes, times = np.zeros(n_numbers + n_modelled), np.zeros(n_numbers + n_modelled)
    moved, now = np.zeros(n_modelled), totals.copy()
    log, shares = np.empty(2 * len(plan.blocks), np.int64), np.empty(2 * len(plan.blocks))
    for _ in range(tries):
        i, j, value, _, _, _ = _move(plan.numeric, plan.active, codes, plan.sizes, rng)
        moved[:], now[:], old = 0.0, totals, codes[i, j]
        for sign in (-1.0, 1.0):
            _carry(plan, touches, j, j, codes, i, sign, forms, work, cols, vals, now, moved, log, shares, 0)
            codes[i, j] = value
        codes[i, j] = old
        for q in range(n_numbers + n_modelled):
            change = abs(number_of(recipes, q, now) - here[q]) if q < n_numbers else abs(moved[q - n_numbers])
            if change > 0.0:  # not where it is not a number
                changes[q] += change
                times[q] += 1.0
    return changes / np.maximum(times, 1.0)


@entry
def anneal(plan, touches, recipes, goal, forms, modelled, aim, codes, totals, best, hot, cold, steps, rng):
    """Try `steps` moves at temperatures that fall from hot to cold, in place; leaves in `best` the best codes met.

    forms: change of the models' numbers with their totals; modelled: those numbers; aim: where they should lie.
    Returns the cost of the best and the number of moves that were tried.
    """
    work = work_of(plan)
    cols, vals = np.empty(plan.extent[2], np.int64), np.empty(plan.extent[2])
    n_numbers, n_modelled = len(recipes.kind), len(modelled)
    costs = np.array([cost_of(number_of(recipes, k, totals), goal, k) for k in range(n_numbers)])
    total = costs.sum()
    for q in range(n_modelled):
        total += cost_of(modelled[q], aim, q)
    stamp, tick = np.full(n_numbers, -1, np.int64), 0
    found, fresh = np.empty(n_numbers, np.int64), np.empty(n_numbers)
    moved = np.zeros(n_modelled)
    log, shares = np.empty(4 * len(plan.blocks), np.int64), np.empty(4 * len(plan.blocks))
    best[:] = codes
    least = total
    for step in range(steps):
        if least <= 0.0:
            return least, step
        i, j, value, k, v, also = _move(plan.numeric, plan.active, codes, plan.sizes, rng)
        one = np.int64(codes[i, j])
        other = np.int64(codes[k, v]) if k >= 0 else 0
        if value == one and (k < 0 or also == other):
            continue
        logged, tick = 0, tick + 1
        moved[:] = 0.0
        for sign in (-1.0, 1.0):
            logged = _carry(
                plan, touches, j, v, codes, i, sign, forms, work, cols, vals, totals, moved, log, shares, logged,
            )
            if k >= 0 and k != i:
                logged = _carry(
                    plan, touches, j, v, codes, k, sign, forms, work, cols, vals, totals, moved, log, shares, logged,
                )
            if sign < 0.0:
                codes[i, j] = value
                if k >= 0:
                    codes[k, v] = also
        change, count = 0.0, 0
        fine = allowed(plan, j, codes, i) and (k < 0 or (allowed(plan, v, codes, k) and allowed(plan, v, codes, i)))
        if fine:
            for e in range(logged):
                for at in range(recipes.enters[log[e]], recipes.enters[log[e] + 1]):
                    q = recipes.numbers[at]
                    if stamp[q] != tick:
                        stamp[q] = tick
                        found[count] = q
                        fresh[count] = cost_of(number_of(recipes, q, totals), goal, q)
                        change += fresh[count] - costs[q]
                        count += 1
            for q in range(n_modelled):
                if moved[q] != 0.0:
                    change += cost_of(modelled[q] + moved[q], aim, q) - cost_of(modelled[q], aim, q)
            heat = hot * (cold / hot) ** (step / steps)
            fine = change <= 0.0 or rng.random() < math.exp(-change / heat)
        if not fine:
            for e in range(logged):
                totals[log[e]] -= shares[e]
            if k >= 0:
                codes[k, v] = other
            codes[i, j] = one
            continue
        total += change
        for e in range(count):
            costs[found[e]] = fresh[e]
        for q in range(n_modelled):
            modelled[q] += moved[q]
        if total < least - 1e-9:
            least = total if total > 1e-6 else 0.0
            best[:] = codes
    return least, steps
