"""All values that a few people may have together, by their sum, their squares, and what is known of each in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array

_MOST = 1_000_000  # sets, and beginnings of sets, that are tried
FEW = 12  # records of a set at most
_WORK = 100_000_000  # values of sets, and of beginnings of sets, that a rule looks at
_SLACK = 1e-9
_AT_ONCE = 10_000  # beginnings of sets, so that of too many not all are gone through
_Places = NDArray[np.integer[Any]]
Ends = tuple[float, float]


@dataclass(eq=False)
class Work:
    """How many more values of sets a rule looks at; left: the cells that it did not ask about any more."""

    values: int = _WORK
    left: int = 0

    def is_done(self) -> bool:
        """Whether it is all done; then a cell more is left."""
        self.left += self.values < 0
        return self.values < 0


def sets_that_fit(
    support: Array,
    n: int,
    total: Ends,
    sd: Ends = (0.0, np.inf),
    order: tuple[Array, Array] | None = None,
    work: Work | None = None,
) -> Array | None:
    """All sets of n values of a support (V,), each ascending, (b, n), whose sum and standard deviation (n - 1 below)
    lie from a low to a high end, and each of which in order from and to (n,); of the sd necessary conditions alone.
    None where they are too many to be tried. work: what it takes is taken from it.

    The largest value is taken first. Of m values with a mean a and a variance v (m below) the largest lies from
    a + sqrt(v / (m - 1)) to a + sqrt(v (m - 1)) (Samuelson, How deviant can you be?, JASA 63, 1968).
    """
    if n > FEW:
        return None
    least, most = order if order is not None else (np.full(n, support[0]), np.full(n, support[-1]))
    least, most = np.maximum(np.maximum.accumulate(least), support[0]), np.minimum.accumulate(most[::-1])[::-1]
    most = np.minimum(most, support[-1])
    total = max(total[0], float(least.sum())), min(total[1], float(most.sum()))
    middle = (total[0] + total[1]) / 2.0 / n
    values, least, most = support - middle, least - middle, most - middle
    sums = total[0] - n * middle, total[1] - n * middle
    slack = _SLACK * max(1.0, abs(total[0]), abs(total[1]))
    squares = (n - 1) * sd[0] ** 2, (n - 1) * sd[1] ** 2 + max(sums[0] ** 2, sums[1] ** 2) / n
    limits = _Limits(values, least, most, (float(sums[0]), float(sums[1])), squares, slack)
    begun = _Begun(np.zeros(1), np.zeros(1), *limits.next(n, np.zeros(1), np.zeros(1), np.array([len(values) - 1])))
    steps = list[tuple[_Places, _Places]]()
    for m in range(n, 0, -1):
        if begun.size.sum() > _MOST:
            return None
        if work is not None:
            work.values -= int(begun.size.sum()) * (n - m + 1)
        longer = _longer(begun, limits, m)
        if longer is None:
            return None
        begun, step = longer
        steps.append(step)
    at: _Places = np.arange(len(begun.done))
    columns = list[_Places]()
    for which, place in reversed(steps):
        columns.append(place[at])
        at = which[at]
    return np.asarray(support[np.stack(columns, axis=1)])


@dataclass(frozen=True, eq=False)
class _Begun:
    """Beginnings of sets, the largest values first: their sums and sums of squares, and which of the values may come
    next, the first of them and how many, (b,) each.
    """

    done: Array
    square: Array
    start: _Places
    size: _Places


@dataclass(frozen=True, eq=False)
class _Limits:
    """What holds of sets of values (V,), ascending: from and to where each in order (n,), their sum and their squares
    lie.
    """

    values: Array
    least: Array
    most: Array
    sums: Ends
    squares: Ends
    slack: float

    def next(self, m: int, done: Array, square: Array, last: _Places) -> tuple[_Places, _Places]:
        """Which values may be the largest of m missing ones, the first and how many, (b,) each; done, square:
        the sum and the squares of the others; last: the least of these.
        """
        sums, squares, values = self.sums, self.squares, self.values
        a, b = (sums[0] - done) / m, (sums[1] - done) / m
        low = np.maximum(a, self.least[m - 1])
        high = np.minimum(sums[1] - done - self.least[: m - 1].sum(), self.most[m - 1])
        high = np.minimum(high, values[last])
        if m > 1:
            nearest = np.where((a <= 0.0) & (b >= 0.0), 0.0, np.minimum(a**2, b**2))
            widest = np.maximum((squares[1] - square) / m - nearest, 0.0)
            narrow = np.maximum((squares[0] - square) / m - np.maximum(a**2, b**2), 0.0)
            high = np.minimum(high, b + np.sqrt(widest * (m - 1)))
            low = np.maximum(low, a + np.sqrt(narrow / (m - 1)))
        start = np.searchsorted(values, low - self.slack)
        return start, np.maximum(np.searchsorted(values, high + self.slack, side="right") - start, 0)


def _longer(begun: _Begun, limits: _Limits, m: int) -> tuple[_Begun, tuple[_Places, _Places]] | None:
    """Beginnings with one of m missing values more, and of each (b,) which it was before and which value has come; None
    as soon as too many follow, whatever the rest of them.
    """
    found, follow = list[tuple[_Places, ...]](), 0
    ends = np.cumsum(begun.size)
    cuts = np.searchsorted(ends, np.arange(0, ends[-1], _AT_ONCE) if len(ends) else [], side="right")
    for low, high in pairwise([*np.unique(cuts).tolist(), len(ends)]):
        size = begun.size[low:high]
        which = np.repeat(np.arange(low, high), size)
        place = np.arange(len(which)) - np.repeat(np.cumsum(size) - size, size) + begun.start[which]
        value = limits.values[place]
        done, square = begun.done[which] + value, begun.square[which] + value**2
        start, more = limits.next(m - 1, done, square, place) if m > 1 else (place, place)
        follow += int(more.sum()) * (m > 1)
        if follow > _MOST:
            return None
        found.append((done, square, start, more, which.astype(np.int32), place.astype(np.int32)))
    if not found:
        nothing = np.zeros(0, np.int32)
        return _Begun(np.zeros(0), np.zeros(0), nothing, nothing), (nothing, nothing)
    joined = [np.concatenate(each) for each in zip(*found, strict=True)]
    return _Begun(*joined[:4]), (joined[4], joined[5])


def in_order(n: int, quantiles: Iterable[tuple[float, float, float]], support: Array) -> tuple[Array, Array]:
    """From where to where each of n sorted values lies, by places (0 to n - 1, from halfway between two on) at which
    quantiles lie from a low to a high end.
    """
    least, most = np.full(n, float(support[0])), np.full(n, float(support[-1]))
    for place, low, high in quantiles:
        before, after = int(np.floor(place)), int(np.ceil(place))
        most[before] = min(most[before], high)
        least[after] = max(least[after], low)
    return least, most
