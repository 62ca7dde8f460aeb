"""Where events lie, given the records that there are, for proportions and their limits to print as they did.

Ranges of events and of records say less together than the pairs of both that numbers can be of: of the same records, a
few more events already print otherwise. A search that has the records of a group is told between which events it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.smooth.binomial_limits import BinomialLimits
from outrisk.problem.formulas import Formula
from outrisk.problem.released import Bounds

_STEPS = 30  # of a bisection
_INSIDE = 1e-6  # events within which its ends are kept


@dataclass(frozen=True, eq=False)
class PairsOfTotals:
    """Numbers that are totals themselves: events (rows,), then records (groups,).

    group (rows,): that of each. printed: from where to where (rows, 2) 'proportion', 'lower limit' and 'upper limit' of
    each row lie, as shares of 1. possible (groups,): the records that a group can have, in rising order; None where
    these are too many.
    """

    limits: BinomialLimits
    group: NDArray[np.int64]
    printed: dict[str, Array]
    possible: Sequence[Array | None]
    differentiable = True
    _last: dict[bytes, tuple[Array, Array]] = field(default_factory=dict)

    def numbers(self, totals: Array) -> Array:
        """The totals."""
        return totals

    def formulas(self, n_numbers: int) -> list[Formula]:
        """Each the total."""
        return [Formula("total", np.array([at])) for at in range(n_numbers)]

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """The events that go with the records as they are, or with the nearest number of them that is possible."""
        rows = len(self.group)
        low, high = low.copy(), high.copy()
        n = np.clip(totals[rows:], low[rows:], high[rows:])
        for at, each in enumerate(self.possible):
            if each is not None and len(each):
                n[at] = each[np.abs(each - n[at]).argmin()]
                low[rows + at], high[rows + at] = _run(each, n[at])
        least, most = self._events(n)
        least, most = np.maximum(least, low[:rows]), np.minimum(most, high[:rows])
        wrong = least > most
        middle = np.clip(np.round((least + most) / 2.0), low[:rows], high[:rows])
        low[:rows], high[:rows] = np.where(wrong, middle, least), np.where(wrong, middle, most)
        return Bounds(low, high, np.ones(len(low)), np.arange(len(low)), np.maximum(totals, 1.0))

    def _events(self, n: Array) -> tuple[Array, Array]:
        """The fewest and the most events (rows,) of so many records (groups,)."""
        key = n.tobytes()
        if key not in self._last:
            self._last.clear()
            self._last[key] = events_of(self.limits, self.printed, np.maximum(n[self.group], 1.0))
        return self._last[key]


def _run(numbers: Array, one: float) -> tuple[float, float]:
    """From where to where whole numbers follow each other without a gap, around one of them."""
    at = int(np.searchsorted(numbers, one))
    gaps = np.flatnonzero(np.diff(numbers) > 1.0)
    first, last = gaps[gaps < at], gaps[gaps >= at]
    return float(numbers[first[-1] + 1] if len(first) else numbers[0]), float(
        numbers[last[0]] if len(last) else numbers[-1]
    )


def events_of(limits: BinomialLimits, printed: dict[str, Array], n: Array) -> tuple[Array, Array]:
    """The fewest and the most events (rows,), in whole numbers, of n records (rows,) whose numbers lie as printed (see
    `PairsOfTotals`): limits rise with the events. The fewest are more than the most where there are none.
    """
    ends = printed["proportion"]
    least, most = np.maximum(ends[:, 0] * n, 0.0), np.minimum(ends[:, 1] * n, n)
    for upper, name in ((False, "lower limit"), (True, "upper limit")):
        for end, bound in enumerate(printed.get(name, np.zeros((0, 2))).T):
            said = np.isfinite(bound)
            if not said.any():
                continue
            low, high = least.copy(), most.copy()
            for _ in range(_STEPS):
                middle = (low + high) / 2.0
                up = limits.reaches(upper, middle, n, np.where(said, bound, 0.0))
                low, high = np.where(up, low, middle), np.where(up, middle, high)
            if end == 0:
                least = np.where(said & ~limits.reaches(upper, least, n, np.where(said, bound, 0.0)), high, least)
            else:
                most = np.where(said & limits.reaches(upper, most, n, np.where(said, bound, 0.0)), low, most)
    return np.ceil(least - _INSIDE), np.floor(most + _INSIDE)
