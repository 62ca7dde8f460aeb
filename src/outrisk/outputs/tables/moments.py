"""How means, sums and standard deviations follow from tallies of n, x and x^2 in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.tables.checks import unknown
from outrisk.problem.counts import middle
from outrisk.problem.formulas import Formula
from outrisk.problem.released import Bounds

Ranges = tuple[Array, Array]
_CARRIES = {"n": "count", "first": "mean", "sum": "sum", "second": "sd"}  # the statistic of each moment


@dataclass(frozen=True, eq=False)
class Moments:
    """Published numbers cell by cell, in each the `statistics`; totals by moment (see `order`), in each cell by cell.

    centre, sd (cells,): what the moments are taken around, and the size of their sampling error. support: least and
    largest value. half: half a last digit of the sd. A number that is not defined (range without ends) says
    that its cell holds no record (mean) or at most one (sd), unless the table `withholds` numbers: then it says
    nothing. spread, lightest: variance of a weighted count over the count, and the least weight (1 without weights).
    """

    statistics: Sequence[str]
    centre: Array
    sd: Array
    support: tuple[float, float]
    half: float
    withholds: bool
    spread: float = 1.0
    lightest: float = 1.0
    differentiable = True

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The moments that are tallied: n; 'first': x - centre; 'sum': x; 'second': (x - centre)^2."""
        named = set(self.statistics)
        needed = {"first": bool(named & {"mean", "sd"}), "sum": "sum" in named, "second": "sd" in named}
        return ("n", *(each for each, on in needed.items() if on))

    def _split(self, totals: Array) -> dict[str, Array]:
        return dict(zip(self.order, totals.reshape(len(self.order), -1), strict=True))

    def numbers(self, totals: Array) -> Array:
        """Statistics of each cell; NaN for a mean of no record and an sd of fewer than two."""
        moments = self._split(totals)
        n = moments["n"]
        found = {"count": n, "sum": moments.get("sum", n)}
        some = n > 0.5 * self.lightest
        if "first" in moments:
            shift = np.divide(moments["first"], n, out=np.full(len(n), np.nan), where=some)
            found["mean"] = self.centre + shift
        if "second" in moments:
            squares = np.maximum(moments["second"] - moments["first"] * shift, 0.0)
            variance = np.divide(squares, n - 1, out=np.full(len(n), np.nan), where=some & (n > 1 + 1e-9))
            found["sd"] = np.sqrt(variance)
        return np.stack([found[each] for each in self.statistics], axis=1).ravel()

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """Ranges of each moment while the others stay as they are."""
        moments, columns = self._split(totals), len(self.statistics)
        ranges = {each: (low[at::columns], high[at::columns]) for at, each in enumerate(self.statistics)}
        n = np.maximum(moments["n"], self.lightest)
        parts = {"n": self._of_n(ranges, n)}
        if "first" in moments:
            parts["first"] = self._of_first(ranges, n)
        if "sum" in moments:
            parts["sum"] = (*ranges["sum"], np.ones(len(n)), n * self.spread * (self.centre**2 + self.sd**2))
        if "second" in moments:
            parts["second"] = self._of_second(ranges["sd"], n, moments["first"])
        carried = [_CARRIES[moment] for moment in self.order]
        place = [self.statistics.index(each) if each in self.statistics else 0 for each in carried]
        number: NDArray[np.int64] = np.concatenate([np.arange(at, len(n) * columns, columns) for at in place])
        lows, highs, units, variances = (
            np.concatenate(each) for each in zip(*(parts[moment] for moment in self.order), strict=True)
        )
        return Bounds(lows, highs, units, number, variances, self._drift(ranges))

    def _drift(self, ranges: dict[str, Ranges]) -> Array:
        """A sum of squares that belongs to an sd grows with the records of its cell; of weighted ones, none is told."""
        found = np.zeros((len(self.order), len(self.centre)))
        if "second" in self.order and self.spread == 1.0:
            low, high = ranges["sd"]
            found[-1] = np.where(np.isfinite(high), np.maximum(middle(low, high), 0.0) ** 2, 0.0)
        return found.ravel()

    def formulas(self, n_numbers: int) -> list[Formula]:
        """Each from the moments of its cell."""
        return [self._formula(cell, each) for cell in range(len(self.centre)) for each in self.statistics]

    def _formula(self, cell: int, statistic: str) -> Formula:
        place = {moment: np.array([at * len(self.centre) + cell]) for at, moment in enumerate(self.order)}
        if statistic in ("count", "sum"):
            return Formula("total", place["n" if statistic == "count" else "sum"])
        if statistic == "sd":
            return Formula("deviation", np.concatenate([place["n"], place["first"], place["second"]]))
        least = 0.5 * self.lightest
        return Formula("ratio", place["first"], place["n"], shift=float(self.centre[cell]), least=least)

    def _of_n(self, ranges: dict[str, Ranges], n: Array) -> tuple[Array, Array, Array, Array]:
        """Range of n: the count, where it is published; else what the statistics need to be defined, or not to be."""
        free = np.full(len(n), np.inf)
        least, most = ranges.get("count", (-free, free))
        size = np.maximum(middle(least, most), 1.0) if "count" in ranges else n
        two = 2.0 if self.spread == 1.0 else 1.0 + 1e-6  # weights of more than 1 in all do for a weighted sd
        for each, need, without in (("mean", self.lightest, 0.0), ("sd", two, 1.0)):
            if each in ranges:
                nothing = unknown(*ranges[each])
                least = np.where(nothing, least, np.maximum(least, need))
                if not self.withholds:
                    most = np.where(nothing, np.minimum(most, without), most)
        unit = np.where(unknown(least, most), 0.0, 1.0 if "count" in ranges else 2 * self.half)
        return np.minimum(least, most), most, unit, np.maximum(self.spread * size, self.spread**2)

    def _of_first(self, ranges: dict[str, Ranges], n: Array) -> tuple[Array, Array, Array, Array]:
        variance = n * self.spread * self.sd**2
        if "mean" not in ranges:
            return np.full(len(n), -np.inf), np.full(len(n), np.inf), np.zeros(len(n)), variance
        low, high = ranges["mean"]
        return n * (low - self.centre), n * (high - self.centre), 1.0 / n, variance

    def _of_second(self, ranges: Ranges, n: Array, first: Array) -> tuple[Array, Array, Array, Array]:
        """Range of the sum of squares around the centre; its unit is that of the sd, at the published one."""
        low, high = ranges
        degrees = np.maximum(n - 1, self.lightest)
        moved = first**2 / n
        least = np.where(low > 0, degrees * np.maximum(low, 0.0) ** 2 + moved, -np.inf)
        most = np.where(np.isinf(high), np.inf, degrees * np.maximum(high, 0.0) ** 2 + moved)
        flat = ~unknown(low, high) & (low <= 0)
        least = np.where(flat, moved, least)
        at = np.where(np.isfinite(high), (np.maximum(low, 0.0) + high) / 2, self.sd)
        unit = 0.5 / (np.maximum(at, self.half / 2) * degrees)
        return least, most, unit, 2 * n * self.spread * self.sd**4
