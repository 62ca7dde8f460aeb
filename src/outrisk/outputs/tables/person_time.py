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
from outrisk.outputs.tables.checks import unknown
from outrisk.problem.formulas import Formula
from outrisk.problem.released import Bounds

Interval = Literal["exact", "byar", "log"]
MOST_EVENTS = 20_000  # up to which events are counted back from limits: more differ in no printed digit
ENDS = ("lower limit", "upper limit")
_ONE = 1.0 + 1e-6  # between the ends of the one whole number that rounds to it


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

    @cached_property
    def table(self) -> Array:
        """Those of 0, 1, ... events, (2, `MOST_EVENTS` + 1)."""
        return np.ascontiguousarray(self.of(np.arange(MOST_EVENTS + 1)).T)


@dataclass(frozen=True, eq=False)
class RatesOfTotals:
    """Published numbers cell by cell, in each the `statistics`: numerator, denominator, rate (per times their ratio),
    lower limit, upper limit; then, `behind` them, numerators or denominators that are not printed, of all cells. Where
    these two are known, of whole numbers of events exactly, rate and limits follow, and their totals may lie anywhere.

    Totals by block, in each cell by cell: the numerator where a number but the rate needs it, the denominator, and for
    each further number one of its own: of a rate what the numerator has beyond that of the rate `centre` (cells,), of a
    limit the denominator; then the records. A rate that is not defined (range without ends) says that its cell has
    nothing in its denominator, unless the table `withholds` numbers. least: the smallest denominator above 0. half:
    half a last digit of the rate. whole: the numerator is a number of events. exact: the range of a denominator leaves
    rate and limits no other number.
    """

    statistics: tuple[str, ...]
    behind: tuple[str, ...]
    centre: Array
    per: float
    withholds: bool
    least: float
    half: float
    limits: Limits
    whole: bool
    exact: bool
    spread: float = 1.0
    differentiable = True

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The blocks, by the number that each carries."""
        events = bool({"numerator", *ENDS} & {*self.statistics, *self.behind})
        return (
            *["numerator"] * events,
            "denominator",
            *(e for e in ("rate", *ENDS) if e in self.statistics),
            "records",
        )

    def _split(self, totals: Array) -> dict[str, Array]:
        return dict(zip(self.order, totals.reshape(len(self.order), -1), strict=True))

    def _ends(self, numerator: Array) -> dict[str, Array]:
        return dict(zip(ENDS, self.limits.of(np.maximum(numerator, 0.0)).T, strict=True))

    def numbers(self, totals: Array) -> Array:
        """Statistics of each cell; NaN for a rate of nothing, and for limits where there are none."""
        found = self._split(totals)
        time = found["denominator"]
        unit = np.divide(self.per, time, out=np.full(len(time), np.nan), where=time > 0.5 * self.least)
        if "rate" in found:
            found["rate"] = self.centre + unit * found["rate"]
        if ENDS[0] in found:
            found |= {name: unit * end for name, end in self._ends(found["numerator"]).items()}
        printed = np.stack([found[each] for each in self.statistics], axis=1).ravel()
        return np.concatenate([printed, *(found[each] for each in self.behind)])

    def _places(self, cells: int) -> dict[str, NDArray[np.int64]]:
        """Which numbers are those of each statistic (cells,)."""
        columns, each = len(self.statistics), np.arange(cells)
        printed = {name: at + columns * each for at, name in enumerate(self.statistics)}
        return printed | {name: (columns + at) * cells + each for at, name in enumerate(self.behind)}

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """Ranges of each total while the others stay as they are."""
        found = self._split(totals)
        time = np.maximum(found["denominator"], self.least)
        free, nothing = np.full(len(time), np.inf), np.zeros(len(time))
        at = self._places(len(time))
        ranges = {each: (low[place], high[place]) for each, place in at.items()}
        events, of_all = (ranges.get(each, (-free, free)) for each in ("numerator", "denominator"))
        follows = (events[1] - events[0] <= _ONE) & np.isfinite(of_all).all(axis=0) & self.exact
        numerator = np.maximum(found["numerator"], 0.0) if "numerator" in ranges else self.centre * time / self.per
        variance = np.maximum(self.spread * (numerator if self.whole else numerator**2), self.spread**2)
        of_time = self.spread * time**2 / np.maximum(found["records"], 1.0)  # at least, were all times alike
        told = {each: unknown(*ranges[each]) for each in ranges}
        parts: dict[str, tuple[Array, Array, Array, Array]] = {
            "numerator": (*events, nothing + ("numerator" in ranges), variance),
            "records": (-free, free, nothing, np.maximum(found["records"], 1.0)),
        }
        least, most = of_all
        if "rate" in ranges:
            least = np.where(told["rate"], least, np.maximum(least, self.least))
            most = np.where(told["rate"] & (not self.withholds), np.minimum(most, 0.0), most)
            unit, (lower, upper) = self.per / time, (end - self.centre for end in ranges["rate"])
            lower, upper = np.where(follows, -np.inf, lower), np.where(follows, np.inf, upper)
            parts["rate"] = (lower / unit, upper / unit, unit, variance)
        share = np.where(unknown(least, most), 0.0, 1.0 if "denominator" in ranges else 2.0 * self.half / self.least)
        parts["denominator"] = (np.minimum(least, most), most, share, of_time)
        if ENDS[0] in ranges:
            for name, end in self._ends(found["numerator"]).items():
                shortest, longest = _time_of(self.per * np.where(follows, 0.0, end), *ranges[name])
                per_time = np.where(unknown(shortest, longest), 0.0, self.per * np.nan_to_num(end) / time**2)
                of_limit = of_time + time**2 / np.maximum(found["numerator"], 1.0)
                parts[name] = (shortest, longest, per_time, of_limit)
        number = np.concatenate([at.get(each, at.get("rate", at[self.statistics[0]])) for each in self.order])
        lows, highs, units, variances = (
            np.concatenate(each) for each in zip(*(parts[each] for each in self.order), strict=True)
        )
        return Bounds(lows, highs, units, number, variances)

    def formulas(self, n_numbers: int) -> list[Formula]:
        """Each a total, the ratio of two, or a limit."""
        cells = n_numbers // len(self.statistics + self.behind)
        printed = [self._formula(cell, cells, each) for cell in range(cells) for each in self.statistics]
        return printed + [self._formula(cell, cells, each) for each in self.behind for cell in range(cells)]

    def _formula(self, cell: int, cells: int, statistic: str) -> Formula:
        at = {each: np.array([place * cells + cell]) for place, each in enumerate(self.order)}
        time, least = at["denominator"], 0.5 * self.least
        if statistic == "rate":
            return Formula("ratio", at["rate"], time, shift=float(self.centre[cell]), scale=self.per, least=least)
        if statistic in ENDS:
            table = self.limits.table[ENDS.index(statistic)]
            return Formula("limit", at["numerator"], time, table, scale=self.per, least=least)
        return Formula("total", at[statistic])


def _time_of(above: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Denominators for which `above` (cells,) over them lies from low to high: none are told of where it is 0, nor
    where it is not defined.
    """
    says = (above > 0.0) & ~unknown(low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        shortest = np.where(says & (high > 0.0), above / high, -np.inf)
        longest = np.where(says & (low > 0.0), above / low, np.inf)
    return shortest, longest


def behind_rates(
    limits: Limits,
    per: float,
    numerator: tuple[Array, Array],
    time: tuple[Array, Array],
    numbers: Mapping[str, tuple[Array, Array]],
    least: int = 0,
) -> tuple[Array, Array]:
    """What printed numbers say of the events and of the denominator of each cell: the least and the most of both, each
    (2, cells); NaN where no number of events up to `MOST_EVENTS` gives them, the most infinite where that many do.

    numerator, time: the ranges of the events and of the denominator of each; numbers: 'rate', 'lower limit', 'upper
    limit', each from low to high (cells,), without ends where it was not printed. least: below which no cell that is
    printed has events, but none.
    """
    events = np.arange(MOST_EVENTS + 1, dtype=np.float64)
    at = {"rate": events, **dict(zip(ENDS, limits.table, strict=True))}
    fewest, most = np.full((2, 2, len(time[0])), np.nan)
    for cell in range(len(time[0])):
        fits = ((events == 0) | (events >= least)) & (events >= numerator[0][cell]) & (events <= numerator[1][cell])
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
            fewest[:, cell], most[:, cell] = (
                (events[which[0]], shortest[which].min()),
                (events[which[-1]], longest[which].max()),
            )
            if which[-1] == MOST_EVENTS:
                most[:, cell] = np.inf
    return fewest, most
