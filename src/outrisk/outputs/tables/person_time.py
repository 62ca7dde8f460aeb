"""How rates follow from tallies of events and of time at risk, and what their confidence limits say of the events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.tables.checks import unknown
from outrisk.problem.formulas import Formula
from outrisk.problem.released import Bounds

Interval = Literal["exact", "byar", "log"]
MOST_EVENTS = 20_000  # up to which events are counted back from limits: more differ in no printed digit
_STEP = 1e-4  # of events, of which limits have no derivative in closed form


@dataclass(frozen=True)
class Limits:
    """Confidence limits of a number of events as a Poisson variable has them.

    exact: by its tails (Garwood, Biometrika 28, 1936). byar: its approximation by a cube (Rothman and Boice,
    Epidemiologic Analysis with a Programmable Calculator, NIH 1979). log: a normal log rate with the standard error
    1 / sqrt(events), as Stata's strate and stptime have it; there is none without events.
    """

    interval: Interval
    level: float

    def of(self, events: ArrayLike) -> Array:
        """Lower and upper limits (..., 2) of events (...); NaN where there are none."""
        n = np.asarray(events, dtype=np.float64)
        tail = (1.0 - self.level) / 2.0
        z = float(special.ndtri(1.0 - tail))
        with np.errstate(all="ignore"):
            if self.interval == "log":
                apart = np.exp(z / np.sqrt(n))
                ends = [np.where(n > 0, n / apart, np.nan), np.where(n > 0, n * apart, np.nan)]
            elif self.interval == "byar":
                low = n * (1.0 - 1.0 / (9.0 * n) - z / (3.0 * np.sqrt(n))) ** 3
                more = n + 1.0
                ends = [
                    np.where(n > 0, np.maximum(low, 0.0), 0.0),
                    more * (1.0 - 1.0 / (9.0 * more) + z / (3.0 * np.sqrt(more))) ** 3,
                ]
            else:
                ends = [np.where(n > 0, special.gammaincinv(n, tail), 0.0), special.gammaincinv(n + 1.0, 1.0 - tail)]
        return np.stack(ends, axis=-1)


@dataclass(frozen=True, eq=False)
class RatesOfTotals:
    """Published numbers cell by cell, in each the `statistics`: numerator, denominator, rate (per / 1 of their ratio).

    Totals by block, in each cell by cell: records, the denominator, and the numerator once for each of the numbers
    `numerator` and `rate` that is published. A rate that is not defined (range without ends) says that its cell has
    nothing in its denominator, unless the table `withholds` numbers. least: the smallest denominator above 0. half:
    half a last digit of the rate. whole: the numerator is a number of events.
    """

    statistics: tuple[str, ...]
    per: float
    withholds: bool
    least: float
    half: float
    whole: bool
    spread: float = 1.0
    differentiable = True

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The blocks, by the number that each carries."""
        return ("records", "denominator", *(each for each in ("numerator", "rate") if each in self.statistics))

    def _split(self, totals: Array) -> dict[str, Array]:
        return dict(zip(self.order, totals.reshape(len(self.order), -1), strict=True))

    def numbers(self, totals: Array) -> Array:
        """Statistics of each cell; NaN for a rate of nothing."""
        found = self._split(totals)
        time = found["denominator"]
        if "rate" in found:
            some = time > 0.5 * self.least
            found["rate"] = np.divide(self.per * found["rate"], time, out=np.full(len(time), np.nan), where=some)
        return np.stack([found[each] for each in self.statistics], axis=1).ravel()

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """Ranges of each total while the others stay as they are."""
        found, columns = self._split(totals), len(self.statistics)
        n = np.maximum(found["records"], 1.0)
        time = np.maximum(found["denominator"], self.least)
        free = np.full(len(n), np.inf)
        at = {each: place for place, each in enumerate(self.statistics)}
        ranges = {each: (low[place::columns], high[place::columns]) for each, place in at.items()}
        parts: dict[str, tuple[Array, Array, Array, Array]] = {
            "records": (-free, free, np.zeros(len(n)), n * self.spread)
        }
        least, most = ranges.get("denominator", (-free, free))
        if "rate" in ranges:
            nothing = unknown(*ranges["rate"])
            least = np.where(nothing, least, np.maximum(least, self.least))
            most = np.where(nothing & (not self.withholds), np.minimum(most, 0.0), most)
            unit = self.per / time
            low, high = ranges["rate"]
            parts["rate"] = (low / unit, high / unit, unit, self._variance(found["rate"], n))
        told = np.where(unknown(least, most), 0.0, 1.0 if "denominator" in ranges else 2.0 * self.half / self.least)
        parts["denominator"] = (np.minimum(least, most), most, told, self.spread * time**2 / n)
        if "numerator" in ranges:
            parts["numerator"] = (*ranges["numerator"], np.ones(len(n)), self._variance(found["numerator"], n))
        place = [at.get(each, at.get("rate", 0)) for each in self.order]
        number: NDArray[np.int64] = np.concatenate([np.arange(first, len(n) * columns, columns) for first in place])
        lows, highs, units, variances = (
            np.concatenate(each) for each in zip(*(parts[each] for each in self.order), strict=True)
        )
        return Bounds(lows, highs, units, number, variances)

    def _variance(self, numerator: Array, n: Array) -> Array:
        """Sampling variance of sums of so many records: of events Poisson's, of amounts at least what records without
        a spread would have, were their number left to chance.
        """
        alike = np.asarray(self.spread * numerator**2 / n)
        return np.maximum(alike, self.spread * numerator if self.whole else alike) + (numerator <= 0.0)

    def formulas(self, n_numbers: int) -> list[Formula]:
        """Each a total, or the ratio of two."""
        cells = n_numbers // len(self.statistics)
        return [self._formula(cell, cells, each) for cell in range(cells) for each in self.statistics]

    def _formula(self, cell: int, cells: int, statistic: str) -> Formula:
        own = np.array([self.order.index(statistic) * cells + cell])
        if statistic != "rate":
            return Formula("total", own)
        return Formula("ratio", own, np.array([cells + cell]), scale=self.per, least=0.5 * self.least)


@dataclass(frozen=True, eq=False)
class LimitsOfRates:
    """Published confidence limits of rates, lower and upper cell by cell, from totals: numerators, then denominators
    (cells,) each.
    """

    limits: Limits
    per: float
    decimals: NDArray[np.int64]

    def numbers(self, totals: Array, information: Array) -> Array:
        """The limits (k,), exactly; NaN where they are undefined."""
        events, time = totals.reshape(2, -1)
        with np.errstate(all="ignore"):
            found = self.per * self.limits.of(np.maximum(events, 0.0)) / np.where(time > 0, time, np.nan)[:, None]
        return np.asarray(found.ravel(), dtype=np.float64)

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m); 0 where a number is not defined."""
        events, time = np.maximum(totals.reshape(2, -1), 0.0)
        step = _STEP * (1.0 + events)
        with np.errstate(all="ignore"):
            below = np.maximum(events - step, 0.0)
            apart = (self.limits.of(events + step) - self.limits.of(below)) / (events + step - below)[:, None]
            by_event = self.per * apart / time[:, None]
            by_time = -self.per * self.limits.of(events) / time[:, None] ** 2
        cells = len(events)
        slopes = np.zeros((cells, 2, 2, cells))
        at = np.arange(cells)
        slopes[at, :, 0, at], slopes[at, :, 1, at] = by_event, by_time
        return np.where(np.isfinite(slopes), slopes, 0.0).reshape(2 * cells, 2 * cells)

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling variances of what Poisson events make of them, on the diagonal, shape (k, k)."""
        events, time = totals.reshape(2, -1)
        variance = np.concatenate([np.maximum(events, 1.0), np.zeros(len(time))])
        return smooth.precision_of(self.jacobian(totals, information), variance, self.decimals)

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""


def events_behind(
    limits: Limits, per: float, time: tuple[Array, Array], numbers: Mapping[str, tuple[Array, Array]], least: int = 0
) -> tuple[Array, Array]:
    """What printed numbers say of the events of each cell: the fewest and the most (cells,); NaN where no number of
    events up to `MOST_EVENTS` gives them, the most infinite where that many do.

    time: the range of the denominator of each; numbers: 'rate', 'lower limit', 'upper limit', each from low to high
    (cells,), without ends where it was not printed. least: from 1 to which no cell that is printed has.
    """
    events = np.arange(MOST_EVENTS + 1, dtype=np.float64)
    lower, upper = limits.of(events).T
    at = {"rate": events, "lower limit": lower, "upper limit": upper}
    found = np.full((2, len(time[0])), np.nan)
    for cell in range(len(time[0])):
        fits = (events == 0) | (events >= least)
        shortest, longest = np.full(len(events), time[0][cell]), np.full(len(events), time[1][cell])
        for name, (low, high) in numbers.items():
            if np.isneginf(low[cell]) and np.isposinf(high[cell]):
                continue
            fits &= np.isfinite(at[name])
            with np.errstate(all="ignore"):  # from low to high lies per * at / time
                shortest = np.maximum(shortest, per * at[name] / high[cell])
                longest = np.minimum(longest, per * at[name] / low[cell]) if low[cell] > 0.0 else longest
        which = np.flatnonzero(fits & (shortest <= longest * (1 + 1e-9)) & (longest > 0.0))
        if len(which):
            found[:, cell] = events[which[0]], np.inf if which[-1] == MOST_EVENTS else events[which[-1]]
    return found[0], found[1]
