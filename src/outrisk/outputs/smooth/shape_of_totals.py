"""How shape and concentration follow from totals: power sums, and records and sums of values by bins of the support.

Skewness, kurtosis, coefficients of variation and Herfindahl-Hirschman indices are functions of the sums of powers of
the values. A Gini coefficient and the share of the largest are functions of how many records have each value: exactly
so where each value is a bin of its own. Values of different bins differ by what the sums of the bins say; those of one
bin by what their standard deviation says (of most distributions, 1 to 2 / sqrt(3) times it on average), and a refit
tells what that leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.shape_by_records import Divisor, Moments, fewest_of, from_moments

_APART, _FLAT = 1.13, 0.05  # mean difference of values in a bin over their sd; an sd, of a bin, whose slope is finite
_RELATIVE, _LARGEST = {"cv": 3.0, "hhi": 10.0}, 0.1  # about the relative variance, times n; of one of the largest
_CONSTANT = 1e-13  # share of the mean square about the centre below which a variance is rounding


@dataclass(frozen=True, eq=False)
class Bins:
    """Ranges of a support (V,), ascending: the first value of each bin (B,), its width (B,), 0 of a single value, and
    the bin of each value (V,).
    """

    first: Array
    width: Array
    of: NDArray[np.int64]

    @classmethod
    def over(cls, support: Array, most: int) -> Bins:
        """At most so many bins, of as many values of the support each as may be."""
        starts = np.unique(np.linspace(0, len(support), min(most, len(support)) + 1).astype(np.int64)[:-1])
        of = np.searchsorted(starts, np.arange(len(support)), side="right") - 1
        last = np.append(starts[1:], len(support)) - 1
        return cls(support[starts], support[last] - support[starts], of)

    @cached_property
    def wide(self) -> NDArray[np.intp]:
        """Which bins have more than one value."""
        return np.flatnonzero(self.width > 0)

    def rows(self, support: Array) -> Array:
        """What a record of each value adds: 1 to its bin, and where in a wide one it is, from 0 to 1, and the square of
        that.
        """
        V, B, W = len(support), len(self.first), len(self.wide)
        rows = np.zeros((V, B + 2 * W))
        rows[np.arange(V), self.of] = 1.0
        place = np.full(B, -1)
        place[self.wide] = B + np.arange(W)
        some = np.flatnonzero(place[self.of] >= 0)
        of = self.of[some]
        at = (support[some] - self.first[of]) / self.width[of]
        rows[some, place[of]], rows[some, place[of] + W] = at, at**2
        return rows


@dataclass(frozen=True, eq=False)
class ShapeOfTotals:
    """The numbers of one cell: `statistics` (k,), as shares times `scale` (k,).

    Totals: n, sums of powers of (x - centre) / unit up to `power`, then those of the bins.
    """

    statistics: tuple[str, ...]
    scale: Array
    decimals: NDArray[np.int64]
    centre: float
    unit: float
    power: int
    bins: Bins | None
    moments: Moments
    excess: bool
    divisor: Divisor

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,); NaN where they are undefined."""
        with np.errstate(all="ignore"):
            found = self._of_powers(totals[None, :])[0].real
            for at, each in enumerate(self.statistics):
                if self.ranked(each):
                    found[at] = self._by_rank(each, totals)[0]
        return np.asarray(found * self.scale, np.float64)

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m)."""
        found = np.zeros((len(self.statistics), len(totals)))
        found[:, : self.power + 1] = smooth.derivatives(self._of_powers, totals[: self.power + 1])
        with np.errstate(all="ignore"):
            for at, each in enumerate(self.statistics):
                if self.ranked(each):
                    slopes = self._by_rank(each, totals)[1]
                    found[at] = np.where(np.isfinite(slopes), slopes, 0.0)
        return found * self.scale[:, None]

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling variances (k, k), on the diagonal, by their sizes for tails as the kurtosis is."""
        n = max(float(totals[0]), 4.0)
        now = np.nan_to_num(self.numbers(totals, information) / self.scale)
        by_name = dict(zip(self.statistics, now, strict=True))
        tail = max(by_name.get("kurtosis", 3.0 + 1.5 * by_name.get("skewness", 0.0) ** 2) + 3.0 * self.excess, 2.0)
        of = {"skewness": tail**2 * 5.0 / 3.0 - 6.0 * tail + 9.0, "kurtosis": tail**3}
        variance = np.empty(len(now))
        for at, each in enumerate(self.statistics):
            ratio = _LARGEST * n / int(each[2:]) if each.startswith("cr") else _RELATIVE.get(each, 1.0)
            variance[at] = of.get(each, ratio * now[at] ** 2) / n
        return np.diag(1.0 / (variance * self.scale**2 + 10.0 ** (-2.0 * self.decimals) / 12.0))

    @staticmethod
    def ranked(statistic: str) -> bool:
        """Whether it depends on how many records have each value, and not on power sums alone."""
        return statistic == "gini" or statistic.startswith("cr")

    def _of_powers(self, totals: NDArray[Any]) -> NDArray[Any]:
        """Those that follow from power sums, (b, k), of totals (b, ...) that may be complex; NaN for the others."""
        n, *sums = totals[:, : self.power + 1].T
        found = np.full((len(totals), len(self.statistics)), np.nan, dtype=totals.dtype)
        means = [each / n for each in sums]  # of the powers
        total = n * self.centre + self.unit * sums[0]
        variance = means[1] - means[0] ** 2 if self.power > 1 else np.zeros_like(n)
        flat = variance.real <= _CONSTANT * (means[1].real if self.power > 1 else 1.0)
        for at, each in enumerate(self.statistics):
            few = n.real < fewest_of(each, self.moments, self.divisor) - 0.5
            if each in ("skewness", "kurtosis"):
                g1, b2 = self._standard(means, variance)
                value, few = from_moments(each, n, g1, b2, self.moments, self.excess), few | flat
            elif each == "cv":
                value = self.unit * np.sqrt(np.where(flat, 0.0, variance) * n / (n - 1.0)) * n / total
            elif each == "hhi":
                squares = n * self.centre**2 + 2 * self.centre * self.unit * sums[0] + self.unit**2 * sums[1]
                value = squares / total**2
            else:
                continue
            nothing = few if each in ("skewness", "kurtosis") else few | (np.abs(total.real) < 1e-9 * self.unit)
            found[:, at] = np.where(nothing, np.nan, value)
        return found

    @staticmethod
    def _standard(means: list[NDArray[Any]], variance: NDArray[Any]) -> tuple[Any, Any]:
        """The third and fourth standardised moments."""
        m1, m2, m3 = means[:3]
        g1 = (m3 - 3.0 * m1 * m2 + 2.0 * m1**3) / variance**1.5
        b2 = (means[3] - 4.0 * m1 * m3 + 6.0 * m1**2 * m2 - 3.0 * m1**4) / variance**2 if len(means) > 3 else g1
        return g1, b2

    def _by_rank(self, statistic: str, totals: Array) -> tuple[float, Array]:
        """A Gini coefficient or the share of the largest, and its derivatives (m,)."""
        assert self.bins is not None
        n, total, slopes = (
            float(totals[0]),
            float(totals[0] * self.centre + self.unit * totals[1]),
            np.zeros(len(totals)),
        )
        if n < fewest_of(statistic, self.moments, self.divisor) - 0.5 or total <= 1e-9 * self.unit:
            return float("nan"), slopes
        start, B, wide = self.power + 1, len(self.bins.first), self.bins.wide
        counts, above, squares = np.maximum(totals[start : start + B], 0.0), np.zeros(B), np.zeros(B)
        above[wide], squares[wide] = totals[start + B :].reshape(2, -1)
        sums = self.bins.first * counts + self.bins.width * above
        if statistic != "gini" and n <= int(statistic[2:]) + 0.5:
            return 1.0, slopes
        amount, of_count, of_sum = (
            self._apart(counts, sums) if statistic == "gini" else self._top(statistic, counts, sums)
        )
        of_place, of_square = of_sum * self.bins.width, np.zeros(B)
        if statistic == "gini":
            inside, *more = self._inside(counts, above, squares)
            amount, of_count, of_place, of_square = amount + inside, of_count + more[0], of_place + more[1], more[2]
        below = n * total if statistic == "gini" else total
        value = amount / below
        of_count = of_count + of_sum * self.bins.first
        slopes[start:] = np.concatenate([of_count, of_place[wide], of_square[wide]]) / below
        slopes[0] -= value * (self.centre / total + (1.0 / n if statistic == "gini" else 0.0))
        slopes[1] -= value * self.unit / total
        if statistic == "gini" and self.divisor == "n - 1":
            slopes *= n / (n - 1.0)
            slopes[0] -= value / (n - 1.0) ** 2
            value *= n / (n - 1.0)
        return float(value), slopes

    @staticmethod
    def _apart(counts: Array, sums: Array) -> tuple[float, Array, Array]:
        """The sum of the differences of all pairs of records of different bins, and its derivatives in the counts and
        the sums of bins.
        """
        fewer, less = np.cumsum(counts) - counts, np.cumsum(sums) - sums
        more, greater = counts.sum() - fewer - counts, sums.sum() - less - sums
        return float(fewer @ sums - less @ counts), greater - less, fewer - more

    def _inside(self, counts: Array, above: Array, squares: Array) -> tuple[float, Array, Array, Array]:
        """That of pairs of one bin, and its derivatives in the counts, places and squared places of bins."""
        assert self.bins is not None
        spread = np.sqrt(np.maximum(counts * squares - above**2, 0.0))  # records times their standard deviation
        times = 0.5 * self.bins.width * (_APART - (_APART - 1.0) * 2.0 / np.maximum(counts, 2.0))
        steep = np.maximum(spread, _FLAT * counts) + 1e-12
        of_count = times * (spread + counts * squares / (2.0 * steep))
        return (
            float(times @ (counts * spread)),
            of_count,
            -times * counts * above / steep,
            times * counts**2 / (2.0 * steep),
        )

    def _top(self, statistic: str, counts: Array, sums: Array) -> tuple[float, Array, Array]:
        """The sum of so many of the largest values, and its derivatives in the counts and sums of bins."""
        assert self.bins is not None
        largest = int(statistic[2:])
        more = np.cumsum(counts[::-1])[::-1] - counts  # records in higher bins
        whole = more + counts <= largest + 1e-9
        at = int(np.flatnonzero(~whole)[-1])
        rest, size = largest - float(more[at]), float(counts[at])
        mean = float(sums[at] / size)
        threshold = mean + float(self.bins.width[at]) / 2.0 * (1.0 - rest / size)
        amount = float(sums[whole].sum()) + rest * threshold
        return amount, np.where(whole, -threshold, 0.0), whole.astype(np.float64)
