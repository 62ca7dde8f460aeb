"""Standard errors and confidence limits of means: how they follow from standard deviations, and what they tell.

With n records of standard deviation s, the standard error of their mean is s / sqrt(n), and its limits lie
q s / sqrt(n) on either side of it, q being a quantile of Student's t with n - 1 degrees of freedom, or of the normal
distribution. So a standard deviation beside a standard error or limits tells how many records there are; and so do, of
few, a standard error and limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from outrisk.outputs.base import Array
from outrisk.outputs.tables.checks import unknown
from outrisk.outputs.tables.moments import Moments
from outrisk.outputs.tables.person_time import ENDS
from outrisk.problem.formulas import Formula
from outrisk.problem.released import Bounds

Distribution = Literal["t", "normal"]
Ranges = Mapping[str, tuple[Array, Array]]
_Ends = tuple[Array, Array]
ERROR = "standard error"
_TABLE = 2_000  # quantiles by the number of records, beyond which they approach the normal one as its inverse
_TIGHT = 0.05  # of half a last digit: how narrow a range is at least that others leave
_MOST = 1e12  # records that are looked for
_HALVINGS = 80


@dataclass(frozen=True)
class ErrorsOfMeans:
    """Those at a confidence `level` by a `distribution`."""

    level: float = 0.95
    distribution: Distribution = "t"

    @cached_property
    def normal(self) -> float:
        """The quantile of the normal distribution."""
        return float(special.ndtri(0.5 + self.level / 2.0))

    def quantile(self, n: ArrayLike) -> Array:
        """How many standard errors limits of n records (...) lie from the mean; NaN of fewer than two."""
        degrees = np.asarray(n, dtype=np.float64) - 1.0
        student = special.stdtrit(np.maximum(degrees, 1e-9), 0.5 + self.level / 2.0)
        found = np.full(degrees.shape, self.normal) if self.distribution == "normal" else np.asarray(student)
        return np.where(degrees > 1e-9, found, np.nan)

    @cached_property
    def table(self) -> Array:
        """Those of 0, 1, ... records."""
        return self.quantile(np.arange(_TABLE + 1))

    def of(self, mean: Array, sd: Array, n: Array) -> dict[str, Array]:
        """Standard error and limits of means (...) of n records each; NaN of fewer than two."""
        error = sd / np.sqrt(np.where(n > 1, n, np.nan))
        apart = self.quantile(n) * error
        return {ERROR: error, ENDS[0]: mean - apart, ENDS[1]: mean + apart}

    def deviations(self, ranges: Ranges, n: Array) -> tuple[Array, Array]:
        """What each number says of the standard deviations of n records each, (sources, cells) from low to high."""
        apart = self._apart(ranges)
        root = np.sqrt(n)
        unit = {"sd": np.ones(len(n)), ERROR: root, "limits": root / self.quantile(n)}
        sources = [(unit[each], *apart[each]) for each in apart]
        return np.array([low * by for by, low, _ in sources]), np.array([high * by for by, _, high in sources])

    @staticmethod
    def _apart(ranges: Ranges) -> dict[str, tuple[Array, Array]]:
        """Standard deviations, errors, and how far limits lie from means: from low to high (cells,), as printed."""
        found = {each: ranges[each] for each in ("sd", ERROR) if each in ranges}
        if ENDS[0] in ranges:
            (least, most), (low, high) = ranges[ENDS[0]], ranges[ENDS[1]]
            found["limits"] = (low - most) / 2.0, (high - least) / 2.0
        return {
            each: (np.where(unknown(low, high), low, np.maximum(low, 0.0)), high) for each, (low, high) in found.items()
        }

    def records(self, ranges: Ranges) -> tuple[Array, Array]:
        """The least and the most records (cells,) that all of these numbers leave, each from low to high (cells,),
        without ends where it was not printed; the least above the most where no number of records has them.
        """
        cells = len(next(iter(ranges.values()))[0])
        least, most = np.zeros(cells), np.full(cells, np.inf)
        apart = self._apart(ranges)
        for large, small in (("sd", ERROR), ("sd", "limits"), ("limits", ERROR)):
            if large in apart and small in apart:
                one, other = apart[large], apart[small]
                with np.errstate(divide="ignore", invalid="ignore"):
                    low = np.where(other[1] > 0, one[0] / other[1], np.inf)
                    high = np.where(other[0] > 0, one[1] / other[0], np.inf)
                known = np.isfinite(one[1]) & np.isfinite(other[1])
                fewest, greatest = self._between(np.where(known, low, 0.0), high, (large, small))
                least = np.where(known, np.maximum(least, fewest), least)
                most = np.where(known, np.minimum(most, greatest), most)
        return least, most

    def _ratio(self, n: Array, of: tuple[str, str]) -> Array:
        """How many times as large the first is as the second, of n records."""
        if of == ("sd", ERROR):
            return np.sqrt(n)
        return np.sqrt(n) / self.quantile(n) if of[0] == "sd" else self.quantile(n)

    def _between(self, low: Array, high: Array, of: tuple[str, str]) -> tuple[Array, Array]:
        """The fewest and the most records, from 2 on, of which the ratio lies from low to high (cells,)."""
        rises = of[0] == "sd"

        def first(bound: Array, above: bool) -> Array:
            """From how many records on the ratio is at least a bound (cells,), or more than it (falling: at most)."""
            one, many = np.full(len(bound), 1.0), np.full(len(bound), _MOST)
            for _ in range(_HALVINGS):
                middle = np.floor((one + many) / 2.0)
                ratio, end = self._ratio(np.maximum(middle, 2.0), of), bound
                there = (ratio > end if above else ratio >= end) if rises else (ratio < end if above else ratio <= end)
                one, many = np.where(there, one, middle), np.where(there, middle, many)
            return many

        slack = 1e-9 * (1.0 if rises else -1.0)
        start = first((low if rises else high) * (1.0 - slack), above=False)
        end = first((high if rises else low) * (1.0 + slack), above=True) - 1.0
        least = np.where(start >= _MOST, np.inf, np.maximum(start, 2.0))
        return least, np.where(end >= _MOST - 1.0, np.inf, end)


@dataclass(frozen=True, eq=False)
class MeansWithErrors:
    """Published numbers cell by cell, in each the `statistics`, standard errors or limits of means among them (see
    `Moments`, which are those of means, standard deviations, sums and counts, published or not).

    halves: half a last digit of each statistic.
    """

    statistics: Sequence[str]
    moments: Moments
    errors: ErrorsOfMeans
    halves: Mapping[str, float]
    differentiable = True

    @property
    def order(self) -> tuple[str, ...]:
        """The moments that are tallied."""
        return self.moments.order

    @property
    def _cells(self) -> int:
        return len(self.moments.centre)

    def _inner(self, numbers: Array) -> dict[str, Array]:
        inner = self.moments.statistics
        return dict(zip(inner, numbers.reshape(-1, len(inner)).T, strict=True))

    def numbers(self, totals: Array) -> Array:
        """Statistics of each cell; NaN where there are too few records."""
        found = self._inner(self.moments.numbers(totals))
        found |= self.errors.of(found["mean"], found["sd"], totals[: self._cells])
        return np.stack([found[each] for each in self.statistics], axis=1).ravel()

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """Ranges of each moment while the others stay as they are."""
        every, cells, inner = len(self.statistics), self._cells, self.moments.statistics
        ranges = {each: (low[at::every], high[at::every]) for at, each in enumerate(self.statistics)}
        scale, carried = {each: np.ones(cells) for each in inner}, {each: each for each in inner}
        now = self._inner(self.moments.numbers(totals))
        n, printed = np.maximum(totals[:cells], 2.0), dict(ranges)
        told, wide = (self._told(printed, now, n, more) for more in (0.0, 1.0))
        for each, digit in self._digits(n).items():
            carried[each] = each if each in self.statistics else ERROR if ERROR in self.statistics else ENDS[1]
            ranges[each], less = _shrunk(told[each], wide[each], digit)
            scale[each] = self.halves[carried[each]] / less
        ends = (np.stack([ranges[each][end] for each in inner], axis=1).ravel() for end in (0, 1))
        found = self.moments.bounds(totals, *ends)
        cell, which = np.divmod(found.number, len(inner))
        place = np.array([self.statistics.index(carried[each]) for each in inner])
        of_moment = {"first": scale["mean"], "second": scale["sd"]}
        times = np.concatenate([of_moment.get(each, np.ones(cells)) for each in self.order])
        return replace(found, number=cell * every + place[which], unit=found.unit * times)

    def _digits(self, n: Array) -> dict[str, Array]:
        """Half a last digit of the numbers that stand for means and standard deviations of n records, as of these."""
        units = {"sd": np.ones(len(n)), ERROR: np.sqrt(n), ENDS[1]: np.sqrt(n) / self.errors.quantile(n)}
        of = next(each for each in units if each in self.statistics)
        return {"mean": np.full(len(n), self.halves["mean"]), "sd": units[of] * self.halves[of]}

    def _told(self, ranges: Ranges, now: Mapping[str, Array], n: Array, more: float) -> dict[str, _Ends]:
        """Of means and standard deviations of n records (cells,), where all printed numbers leave them while the other
        one is as it is `now`, each from so many half last digits `more` below to as many above.
        """
        wide = {e: (low - more * self.halves[e], high + more * self.halves[e]) for e, (low, high) in ranges.items()}
        low, high = self.errors.deviations(wide, n)
        mean, sd = wide["mean"], (low.max(axis=0), high.min(axis=0))
        if ENDS[0] not in wide:
            return {"mean": mean, "sd": sd}
        (a, b), (c, d) = (wide[each] for each in ENDS)
        unit = self.errors.quantile(n) / np.sqrt(n)
        with np.errstate(invalid="ignore"):  # of limits that are not known
            apart, at = unit * np.nan_to_num(now["sd"]), np.nan_to_num(now["mean"])
            of_mean = np.maximum(a + apart, c - apart), np.minimum(b + apart, d - apart)
            of_sd = np.maximum(at - b, c - at) / unit, np.minimum(at - a, d - at) / unit
            middle = np.clip((a + b + c + d) / 4.0, *mean)
            near, further = of_mean[0] <= of_mean[1], of_sd[0] <= of_sd[1]
        of_mean = np.where(near, of_mean[0], middle), np.where(near, of_mean[1], middle)
        of_sd = np.where(further, of_sd[0], sd[0]), np.where(further, of_sd[1], sd[1])
        return {"mean": _both(mean, of_mean), "sd": _both(sd, of_sd)}

    def formulas(self, n_numbers: int) -> list[Formula]:
        """Each from the moments of its cell."""
        inner = self.moments.formulas(self._cells * len(self.moments.statistics))
        every = len(self.moments.statistics)
        found = []
        for cell in range(self._cells):
            own = dict(zip(self.moments.statistics, inner[cell * every : (cell + 1) * every], strict=True))
            found += [own[each] if each in own else self._error(each, own) for each in self.statistics]
        return found

    def _error(self, statistic: str, own: Mapping[str, Formula]) -> Formula:
        moments, mean = own["sd"].totals, own["mean"]
        if statistic == ERROR:
            return Formula("error", moments, points=np.ones(1), least=1.0)
        sign = -1.0 if statistic == ENDS[0] else 1.0
        table, normal = self.errors.table, self.errors.normal
        return Formula("error", moments, mean.base, table, shift=mean.shift, scale=sign, least=normal)


def _both(one: _Ends, other: _Ends) -> _Ends:
    """What lies within two ranges (cells,), of which those without ends say nothing."""
    known = np.isfinite(other[0]) & np.isfinite(other[1])
    return np.where(known, np.maximum(one[0], other[0]), one[0]), np.where(known, np.minimum(one[1], other[1]), one[1])


def _shrunk(told: _Ends, wide: _Ends, digit: Array) -> tuple[_Ends, Array]:
    """The range that printed numbers leave (cells,), and how far beyond it is still right: `wide` is the one that they
    leave with half a last digit more; its middle, where they contradict each other without.
    """
    least, most = told
    empty = least > most
    with np.errstate(invalid="ignore"):
        middle = (wide[0] + wide[1]) / 2.0
        further = np.minimum(least - wide[0], wide[1] - most)
        less = np.where(empty, (wide[1] - wide[0]) / 2.0, np.where(np.isfinite(further), further, digit))
    ends = np.where(empty, middle, least), np.where(empty, middle, most)
    return ends, np.clip(less, _TIGHT * digit, digit)
