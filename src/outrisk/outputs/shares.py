"""How counts and shares follow from tallies: the maps that frequency tables and histograms have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.released import Bounds
from outrisk.outputs.base import Array, middle

_MOST_BASE = 100  # the least base that shares of a given precision can come from is looked for up to here


@dataclass(frozen=True, eq=False)
class Counts:
    """Published numbers that are totals themselves: number[i] (m,) is the position of total i's number.

    spread: variance of a total divided by its size (1 without weights).
    """

    number: NDArray[np.int64]
    spread: float = 1.0

    def numbers(self, totals: Array) -> Array:
        """The totals, in the order of the numbers."""
        numbers = np.empty(len(totals))
        numbers[self.number] = totals
        return numbers

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """The ranges themselves."""
        low, high = low[self.number], high[self.number]
        variance = np.maximum(self.spread * np.maximum(middle(low, high), 1.0), self.spread**2)
        return Bounds(low, high, np.ones(len(low)), self.number, variance)


@dataclass(frozen=True, eq=False)
class Shares:
    """Published numbers that are totals divided by the sum of a group of them.

    number, base (m,): position of each total's number, and the group whose sum it is divided by; member (m,): whether
    it is part of that sum; scale (m,): what the share is multiplied by (100: a percentage). least (groups,): the
    smallest sum that the published precision allows. A number that is not defined (range without ends) says that its
    group is empty, unless the table `withholds` numbers: then it says nothing here.
    """

    number: NDArray[np.int64]
    base: NDArray[np.int64]
    member: NDArray[np.bool_]
    scale: Array
    least: Array
    withholds: bool
    spread: float = 1.0

    @cached_property
    def _summed(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.member)

    def _sums(self, totals: Array) -> Array:
        sums = np.bincount(self.base[self._summed], totals[self._summed], minlength=len(self.least))
        return np.asarray(sums[self.base], dtype=np.float64)

    def numbers(self, totals: Array) -> Array:
        """Shares of the groups; NaN in a group without records."""
        sums = self._sums(totals)
        numbers = np.empty(len(totals))
        numbers[self.number] = np.divide(self.scale * totals, sums, out=np.full(len(sums), np.nan), where=sums > 0)
        return numbers

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """Ranges of the totals while their group's sum stays as it is."""
        low, high = low[self.number], high[self.number]
        unit = self.scale / np.maximum(self._sums(totals), self.least[self.base])
        empty = np.isinf(low) & np.isinf(high) & (not self.withholds)
        low, high = np.where(empty, 0.0, low / unit), np.where(empty, 0.0, high / unit)
        variance = np.maximum(self.spread * np.maximum(middle(low, high), 1.0), self.spread**2)
        return Bounds(low, high, unit, self.number, variance)


def least_base(shares: Array, tolerance: Array, group: NDArray[np.int64], n_groups: int) -> Array:
    """The smallest whole base (n_groups,) of which every share (m,) of a group can be one, to within its tolerance."""
    least = np.full(n_groups, float(_MOST_BASE))
    known = np.isfinite(shares)
    share, slack, group = shares[known], tolerance[known] * (1 + 1e-9), group[known]
    open_ = np.ones(n_groups, dtype=np.bool_)
    for base in range(1, _MOST_BASE):
        apart = np.abs(share - np.round(share * base) / base) > slack
        fits = np.bincount(group[apart], minlength=n_groups) == 0
        least[open_ & fits] = base
        open_ &= ~fits
    return least
