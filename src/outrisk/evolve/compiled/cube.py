"""Compiled: the cube method of balanced sampling (Deville and Tillé 2004).

Items have shares between 0 and 1, and each adds a row to some totals. The flight moves the shares along directions in
which the totals stand still, item after item, until each is 0 or 1 but for at most as many items as there are totals.
These are landed by simulated annealing on the squared distance of the totals, or of what is beyond a band.
"""

from __future__ import annotations

import numpy as np

from outrisk.evolve.compiled.record import entry, jit

WHOLE = 1e-9  # shares as near to 0 or 1 are there
SINGULAR = 1e-7  # part of a row beyond what the others span, of a typical row's, below which it is none


# fmt: off
@entry
def fly(rows, shares, order, rng):
    """Move shares (M,) in place, the totals shares @ rows, rows (M, d), standing still; items in the order given (M,),
    of which the last are rather left between 0 and 1 than the first.
    """
    d = rows.shape[1]
    base = np.full(d, np.int64(-1))  # the item in each place of a basis of the rows' space; -1: none yet
    inverse = np.eye(d)  # of that basis, transposed
    along = np.empty(d)
    for m in order:
        if shares[m] <= WHOLE or shares[m] >= 1.0 - WHOLE:
            shares[m] = np.round(shares[m])
            continue
        along[:] = 0.0
        for c in range(d):
            if rows[m, c] != 0.0:
                for r in range(d):
                    along[r] += inverse[c, r] * rows[m, c]
        place, most = np.int64(-1), SINGULAR
        for r in range(d):
            if base[r] < 0 and abs(along[r]) > most:
                place, most = r, abs(along[r])
        if place < 0:
            place = _along(shares, base, along, m, rng)
        if place >= 0:
            _pivot(inverse, along, place)
            base[place] = m


@jit
def _along(shares, base, along, m, rng):
    """Move item m up or down, and the items of the basis with it, until one of them all is 0 or 1: up with the chance
    that keeps every share as it is on the average. Returns the place of the basis that item m takes; -1: none.
    """
    up, down, highest, lowest = 1.0 - shares[m], shares[m], np.int64(-1), np.int64(-1)
    for r in range(len(base)):
        slope = along[r]
        if base[r] < 0 or abs(slope) < WHOLE:
            continue
        share = shares[base[r]]
        rise, fall = (share / slope, (1.0 - share) / slope) if slope > 0.0 else ((share - 1.0) / slope, -share / slope)
        if rise < up:
            up, highest = rise, r
        if fall < down:
            down, lowest = fall, r
    upwards = rng.random() * (up + down) < down
    step, place = (up, highest) if upwards else (-down, lowest)
    shares[m] += step
    for r in range(len(base)):
        if base[r] >= 0:
            shares[base[r]] -= step * along[r]
    gone = m if place < 0 else base[place]
    shares[gone] = np.round(shares[gone])
    return place


@jit
def _pivot(inverse, along, place):
    """The inverse after a row, which is `along` in the basis, takes a place there."""
    d = len(along)
    for c in range(d):
        if inverse[c, place] != 0.0:
            part = inverse[c, place] / along[place]
            for r in range(d):
                inverse[c, r] -= along[r] * part
            inverse[c, place] = part


@jit
def _copy(given, into):
    """Each number of one array into another: `into[:] = given` compiles 2.5 s of code that says what does not fit."""
    for k in range(len(given)):
        into[k] = given[k]


@entry
def land(rows, taken, off, heat, sweeps, rng):
    """Take and leave items of rows (M, d), `taken` (M,) in place, so that `off` (d,), followed in place, becomes small:
    annealing in so many sweeps, from a heat of `heat` down; keeps the best.
    """
    size = np.empty(len(rows))
    for m in range(len(rows)):
        size[m] = rows[m] @ rows[m]
    fall = 1e-4 ** (1.0 / sweeps)
    left = least = off @ off
    best, best_off = taken.copy(), off.copy()
    for sweep in range(sweeps):
        heat = heat * fall if sweep + 1 < sweeps else 0.0
        for m in range(len(rows)):
            sign = -1.0 if taken[m] else 1.0
            rise = 2.0 * sign * (rows[m] @ off) + size[m]
            if rise < 0.0 or (heat > 0.0 and rng.random() < np.exp(-rise / heat)):
                taken[m] = not taken[m]
                for c in range(len(off)):
                    off[c] += sign * rows[m, c]
                left += rise
                if left < least:
                    least = left
                    _copy(taken, best)
                    _copy(off, best_off)
    _copy(best, taken)
    _copy(best_off, off)


@jit
def _beyond(off, row, sign, band, squares):
    """Sum of the squares of what `off + sign * row` (d,) is beyond `band` (d,). These are kept in `squares` (d,) first,
    so that several are worked out at once, and added up by fours, which do not wait for each other.
    """
    for c in range(len(off)):
        beyond = max(abs(off[c] + sign * row[c]) - band[c], 0.0)
        squares[c] = beyond * beyond
    first = second = third = fourth = 0.0
    fours = len(off) // 4 * 4
    for c in range(0, fours, 4):
        first += squares[c]
        second += squares[c + 1]
        third += squares[c + 2]
        fourth += squares[c + 3]
    for c in range(fours, len(off)):
        first += squares[c]
    return (first + second) + (third + fourth)


@entry
def settle(rows, taken, off, band, heat, sweeps, rng):
    """As `land`, where a total may be off by `band` (d,) for nothing: it lowers the square of what is beyond."""
    fall = 1e-4 ** (1.0 / sweeps)
    squares = np.empty(len(off))
    left = least = _beyond(off, rows[0], 0.0, band, squares)
    best, best_off = taken.copy(), off.copy()
    for sweep in range(sweeps):
        heat = heat * fall if sweep + 1 < sweeps else 0.0
        for m in range(len(rows)):
            sign = -1.0 if taken[m] else 1.0
            new = _beyond(off, rows[m], sign, band, squares)
            if new < left or (heat > 0.0 and rng.random() < np.exp((left - new) / heat)):
                taken[m] = not taken[m]
                for c in range(len(off)):
                    off[c] += sign * rows[m, c]
                left = new
                if left < least:
                    least = left
                    _copy(taken, best)
                    _copy(off, best_off)
    _copy(best, taken)
    _copy(best_off, off)
