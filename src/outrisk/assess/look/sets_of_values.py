"""All values that a few people may have together, by their sum, their squares, and what is known of each in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from outrisk.outputs.base import Array

_MOST = 1_000_000  # sets, and beginnings of sets, that are tried
FEW = 12  # records of a set at most
_WORK = 100_000_000  # values of sets, and of beginnings of sets, that a rule looks at
_SLACK = 1e-9
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
    found, done, square = np.zeros((1, 0), np.intp), np.zeros(1), np.zeros(1)
    for m in range(n, 0, -1):
        a, b = (sums[0] - done) / m, (sums[1] - done) / m
        low = np.maximum(a, least[m - 1])
        high = np.minimum(sums[1] - done - least[: m - 1].sum(), most[m - 1])
        if found.shape[1]:
            high = np.minimum(high, values[found[:, -1]])
        nearest = np.where((a <= 0.0) & (b >= 0.0), 0.0, np.minimum(a**2, b**2))
        widest = np.maximum((squares[1] - square) / m - nearest, 0.0)
        narrow = np.maximum((squares[0] - square) / m - np.maximum(a**2, b**2), 0.0)
        if m > 1:
            high = np.minimum(high, b + np.sqrt(widest * (m - 1)))
            low = np.maximum(low, a + np.sqrt(narrow / (m - 1)))
        start = np.searchsorted(values, low - slack)
        size = np.maximum(np.searchsorted(values, high + slack, side="right") - start, 0)
        if size.sum() > _MOST:
            return None
        if work is not None:
            work.values -= int(size.sum()) * (found.shape[1] + 1)
        which = np.repeat(np.arange(len(found)), size)
        place = np.arange(len(which)) - np.repeat(np.cumsum(size) - size, size) + start[which]
        found = np.hstack([found[which], place[:, None]])
        done, square = done[which] + values[place], square[which] + values[place] ** 2
    return np.asarray(support[found[:, ::-1]])


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
