"""Values of a class of records that have a given sum and sum of squares, near to those that the records have.

Of a few possible values it is settled how many records have each, by integer programming (HiGHS): the fewest changes
that give both sums. Of many, values are moved until both are near; then of three records one is given any value near
its own, and the other two follow from a quadratic equation, which has whole solutions often enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint

from outrisk.evolve.agreeing_sums import EXACT
from outrisk.problem.blocks import Array
from outrisk.quiet_milp import milp

Values = NDArray[np.int64]

FEW, _FEWER = 64, 16  # values up to which their numbers of records are unknowns; and nothing else is tried
_NODES = 30  # of a search for these, at most
_TRIES, _NEAR, _ROUNDS = 300, 50, 20  # threes of records tried at once; values on either side of one; and how often
_PAIRS = 4, 4_000  # of records moved apart or together, for each record, and at most


def with_sums(own: Values, values: Values, total: int, squares: Array, rng: np.random.Generator) -> Values | None:
    """Values (n,) out of ascending `values` with this sum, and a sum of squares in a range (2,), near to those that
    records have. None where none are found.
    """
    n, first, last = len(own), float(values[0]), float(values[-1])
    most = (first + last) * total - n * first * last  # of squares, where all are at either end
    if not n * first <= total <= n * last or squares[1] < total**2 / n - EXACT or squares[0] > most + EXACT:
        return None
    if len(values) <= FEW:
        found = _by_number(own, values, total, squares, rng)
        if found is not None or len(values) <= _FEWER:
            return found
    near = _moved(own, values, total, squares, rng)
    for turn in range(_ROUNDS):
        found = _by_threes(near, values, total, squares, turn, rng)
        if found is not None:
            return found
    return None


def _by_number(own: Values, values: Values, total: int, squares: Array, rng: np.random.Generator) -> Values | None:
    """By how many records have each value: those that leave one, drawn at random, and those that take one."""
    level, k = np.searchsorted(values, own), len(values)
    here = np.bincount(level, minlength=k)
    rows = np.stack([np.ones(k), values.astype(np.float64), values.astype(np.float64) ** 2])
    now = rows @ here
    ends = np.array([[now[0], now[0]], [total, total], squares]) - now[:, None]
    found = milp(
        np.ones(2 * k),
        constraints=LinearConstraint(np.hstack([rows, -rows]), ends[:, 0] - EXACT, ends[:, 1] + EXACT),
        integrality=np.ones(2 * k),
        bounds=Bounds(0.0, np.concatenate([np.full(k, len(own)), here])),
        options={"node_limit": _NODES},
    )
    if found.x is None:
        return None
    change = np.rint(found.x[:k] - found.x[k:]).astype(np.int64)
    if (rows[:2] @ change != [0.0, total - now[1]]).any():
        return None
    order = rng.permutation(len(own))
    order = order[np.argsort(level[order], kind="stable")]
    place = np.arange(len(own)) - np.repeat(np.cumsum(here) - here, here)
    new = own.copy()
    new[order[place < np.maximum(-change, 0)[level[order]]]] = np.repeat(values, np.maximum(change, 0))
    return new


def _moved(own: Values, values: Values, total: int, squares: Array, rng: np.random.Generator) -> Values:
    """Values moved one after the other until their sum is near, then two by two until their squares are."""
    own, n = own.copy(), len(own)
    wide = int(2.0 * own.std()) + int(np.diff(values).max())

    def nearest(aims: Array) -> Values:
        right = np.clip(np.searchsorted(values, aims), 1, len(values) - 1)
        return np.asarray(values[right - (aims - values[right - 1] < values[right] - aims)])

    left = total - int(own.sum())
    for at in rng.permutation(n):
        if not left:
            break
        before = own[at]
        own[at] = nearest(np.array([before + np.clip(left, -wide, wide)]))[0]
        left -= own[at] - before
    now, within = float(own.astype(np.float64) @ own), _NEAR * float(own.std())  # what three will make up for
    for turn in range(min(_PAIRS[0] * n, _PAIRS[1])):
        missing = float(np.clip(now, *squares)) - now
        there = np.flatnonzero(own > values[0]) if missing > 0.0 else np.arange(n)  # the least can become no less
        if abs(missing) <= within or len(there) < 2:
            break
        one, other = rng.choice(there, 2, replace=False)
        if turn >= n:  # none has sufficed: of those farthest apart
            one = there[own[there].argmax()]
            other = rng.choice(there) if missing > 0.0 else own.argmin()
        high, low = max(own[one], own[other]), min(own[one], own[other])
        half = (high - low) / 2.0  # of which the square grows by half of what is left
        apart = np.sqrt(max(half**2 + missing / 2.0, 0.0)) - half
        apart = np.clip(apart, -half, min(low - values[0], values[-1] - high))
        if one != other:
            own[[one, other]] = new = nearest(np.array([high + apart, low - apart]))
            now += float(new @ new) - float(high**2 + low**2)
    return own


def _by_threes(
    own: Values, values: Values, total: int, squares: Array, turn: int, rng: np.random.Generator
) -> Values | None:
    """Three records, or as many as there are, given other values; later some more have been moved at random before."""
    own, n = own.copy(), len(own)
    if turn:
        some = rng.integers(0, n, turn)
        far = int(2 ** (turn / 2))
        level = np.searchsorted(values, own[some]) + rng.integers(-far, far + 1, turn)
        own[some] = values[np.clip(level, 0, len(values) - 1)]
    who = rng.integers(0, n, (_TRIES, min(n, 3)))
    who = who[(np.diff(np.sort(who, axis=1), axis=1) > 0).all(axis=1)]
    now = own[who].astype(np.float64)
    rest = float(own.sum()) - now.sum(axis=1), float(own.astype(np.float64) @ own) - (now**2).sum(axis=1)
    first = np.zeros((len(who), 1))  # of two records or one there is nothing to choose
    if n >= 3:
        level = np.searchsorted(values, own[who[:, 0]])[:, None] + np.arange(-_NEAR, _NEAR + 1)
        first = values[np.clip(level, 0, len(values) - 1)].astype(np.float64)
    pair = total - rest[0][:, None] - first
    if n == 1:
        second, third = pair, np.zeros_like(pair)
    elif np.isinf(squares).all():
        second = np.broadcast_to(now[:, -2:-1], pair.shape)
        third = pair - second
    else:
        least = 2.0 * (squares[0] - rest[1][:, None] - first**2) - pair**2
        root = np.ceil(np.sqrt(np.maximum(least - EXACT, 0.0)))
        root += (root - pair) % 2.0
        second, third = (pair + root) / 2.0, (pair - root) / 2.0
    sums = rest[1][:, None] + first**2 + second**2 + third**2
    fine = (sums >= squares[0] - EXACT) & (sums <= squares[1] + EXACT) & np.isin(second, values)
    if n > 1:
        fine &= np.isin(third, values)
    if not fine.any():
        return None
    if n >= 3 and not np.isinf(squares).all():  # the larger one stays the larger one
        swap = now[:, 1] < now[:, 2]
        second, third = np.where(swap[:, None], third, second), np.where(swap[:, None], second, third)
    new = np.stack([first, second, third][3 - who.shape[1] :] if n > 1 else [second], axis=-1)
    moved = np.where(fine, np.abs(new - now[:, None, :]).sum(axis=-1), np.inf)
    at, which = np.unravel_index(int(moved.argmin()), moved.shape)
    own[who[at]] = new[at, which].astype(np.int64)
    return own
