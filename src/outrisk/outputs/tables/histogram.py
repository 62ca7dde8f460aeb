"""Released histograms: the records of a numeric variable between given breaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field
from scipy import sparse

from outrisk.codebook import Codebook, format_value
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Names
from outrisk.outputs.tables.as_given import Sheet, sheet_of_shares
from outrisk.outputs.tables.bases import bases_of, no_bases
from outrisk.outputs.tables.cells import Cells
from outrisk.outputs.tables.checks import check_shares, check_whole, check_within
from outrisk.outputs.tables.protection import UNPROTECTED, Protection
from outrisk.outputs.tables.shares import Shares
from outrisk.problem.counts import Counts
from outrisk.problem.released import TallyPart, half_digit

Bars = Literal["counts", "proportions", "density"]
Closed = Literal["left", "right"]
_DIGITS: dict[Bars, int] = {"counts": 0, "proportions": 3, "density": 4}


@dataclass(frozen=True)
class Histogram(Common):
    """Bars of a numeric variable between `breaks`, in each cell of the variables `by`; bars run fastest.

    A bar holds the values from its lower break (included) to its upper one (not included, but for the last bar), as
    numpy.histogram does; closed='right': without the lower (but for the first bar) and with the upper, as R's hist.
    Values outside the breaks, and missing ones, are in no bar. density: the share of the cell's records in the bars,
    divided by the bar's width; shares of no record are not defined (NaN). With a threshold, the numbers of records
    stand behind the shares or weighted counts, last (`: records`): not printed, but a reader knows from what is
    withheld whether they reach it.
    """

    value: str
    breaks: tuple[float, ...]
    by: tuple[str, ...] = ()
    where: str = ""
    show: Bars = "counts"
    closed: Closed = "left"
    weight: str = ""
    digits: int | None = None
    protection: Protection = UNPROTECTED
    kind = "histogram"

    def __post_init__(self) -> None:
        self.cells.number_of("value")
        if len(self.breaks) < 2 or not (np.diff(self.breaks) > 0).all():
            raise self.cells.error(f"breaks: {list(self.breaks)} must be two or more rising numbers")
        if (self._bar < 0).all():
            raise self.cells.error(f"breaks: no value of '{self.value}' lies within {list(self.breaks)}")
        if self.show != "counts" and (self.protection.round_to or self.protection.top_code is not None):
            raise self.cells.error(
                f"round_to and top_code are of counts, and show: {self.show} has none; set its decimals"
            )

    @cached_property
    def cells(self) -> Cells:
        """The cells that each have a histogram."""
        return Cells(self.codebook, self.name, self.by, self.where, self.weight, self.value)

    @cached_property
    def _bar(self) -> NDArray[np.int64]:
        """The bar of each value; -1 for a value in none, and for the missing one."""
        variable = self.codebook[self.value]
        bar = np.full(variable.size, -1)
        bar[: len(variable.values)] = bars_of(np.array(variable.values, dtype=np.float64), self.breaks, self.closed)
        return bar

    @property
    def _guarded(self) -> bool:
        return self.protection.threshold is not None and (self.show != "counts" or bool(self.weight))

    @property
    def _k(self) -> int:
        return len(self.cells.labels) * (len(self.breaks) - 1)

    @cached_property
    def labels(self) -> list[str]:
        """One label a bar, such as 'religious=1: age 20 to 30'."""
        ends = [format_value(float(each)) for each in self.breaks]
        bars = [f"{self.value} {low} to {high}" for low, high in pairwise(ends)]
        labels = [f"{cell}: {bar}" if self.by else bar for cell in self.cells.labels for bar in bars]
        return [*labels, *(f"{label}: records" for label in labels)] if self._guarded else labels

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each number."""
        digits = _DIGITS[self.show] if self.digits is None else self.digits
        return np.array([digits] * self._k + [0] * (len(self.labels) - self._k), dtype=np.int64)

    @property
    def notes(self) -> str:
        """What the bars are and how they are protected, in words."""
        what = f"histogram of {self.value} {self.cells.notes}".strip() + f": {self.show}, bars closed {self.closed}"
        return "; ".join(part for part in (what, self.protection.notes(of_counts=True)) if part)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas (pandas.cut) on the decoded records, shape (k,)."""
        frame = self.cells.frame(data)
        right = self.closed == "right"
        value = np.asarray(frame[self.value], dtype=np.float64)
        edge = self.breaks[0] if right else self.breaks[-1]  # this break is in its bar too: just inside it
        inside = np.nextafter(edge, np.inf if right else -np.inf)
        bars = pd.cut(np.where(value == edge, inside, value), list(self.breaks), right=right)
        groups = [*(self.cells.groups(frame) if self.by else []), bars]
        numbers = self.cells.sums(groups, self.cells.weights(frame))
        if self.show != "counts":
            table = numbers.reshape(-1, len(self.breaks) - 1)
            whole = table.sum(axis=1, keepdims=True)
            with np.errstate(invalid="ignore", divide="ignore"):
                numbers = np.where(whole > 0, table / whole * self._scale, np.nan).ravel()
        records = [self.cells.sums(groups, np.ones(len(frame)))] if self._guarded else []
        return np.concatenate([numbers, *records])

    @property
    def _scale(self) -> Array:
        """What the share of each bar is multiplied by, (bars,)."""
        return 1.0 / np.diff(self.breaks) if self.show == "density" else np.ones(len(self.breaks) - 1)

    def publish(self, values: Array) -> tuple[Array, Array]:
        """What a reader knows of exact numbers (k,): low, high. Without ends: withheld, or not defined."""
        return self.protection.publish_cells(
            values, self.decimals, self._guarded, self.name, self.show == "counts", bool(self.weight)
        )

    @property
    def sheet(self) -> Sheet:
        """The numbers that are printed."""
        labels = self.labels[: self._k]
        return sheet_of_shares(labels, self.protection, self.show == "counts", not self.weight, self._guarded)

    def parts(self, values: Array) -> tuple[TallyPart, ...]:
        """The tally of the bars; and that of the records behind them."""
        n_cells, n_bars = len(self.cells.labels), len(self.breaks) - 1
        cells = np.arange(n_cells)[:, None]
        cell = np.where(self._bar < 0, -1, cells * n_bars + self._bar).astype(np.int32).ravel()
        names, number = (*self.by, self.value), np.arange(self._k)
        tallies = (self.cells.tally(names, cell, self._k),)
        if self.show == "counts":
            main = TallyPart(tallies, Counts(number, self.cells.spread), self._k)
        else:
            base, scale = np.repeat(np.arange(n_cells), n_bars), np.tile(self._scale, n_cells)
            bases = no_bases(n_cells)
            if not self.weight:
                shares, digits = values[: self._k], half_digit(self.decimals[: self._k]) / scale
                half, counts = self.protection.behind_shares(shares, digits, values[self._k :])
                cover = np.arange(0 if self.cells.masks or (self._bar < 0).any() else n_cells)
                made = np.eye(n_cells, len(cover), dtype=np.bool_)
                bases = bases_of(shares / scale, half, counts, base, cover, made)
            spread, lightest, none = self.cells.spread, self.cells.lightest, sparse.csr_matrix((0, self._k))
            of_bars = Shares(number, base, number >= 0, scale, bases, none, self._guarded, spread, lightest)
            main = TallyPart(tallies, of_bars, self._k)
        if not self._guarded:
            return (main,)
        return main, TallyPart((self.cells.tally(names, cell, self._k, weighted=False),), Counts(number), self._k)

    def check(self, low: Array, high: Array) -> None:
        """OutputError unless ranges (k,), both ends the number where it is known, can be those of this table."""
        labels, k = self.labels, self._k
        low, high = low[:k], high[:k]
        if self.show == "counts":
            check_within(self.name, labels, low, high, 0.0, np.inf, "a count")
            if not self.weight:
                check_whole(self.name, labels, low, high)
            return
        scale = np.tile(self._scale, len(self.cells.labels))
        slack = half_digit(self.decimals[:k]) / scale
        base = np.repeat(np.arange(len(self.cells.labels)), len(self._scale))
        check_shares(self.name, labels, low / scale, high / scale, np.arange(k), base, 1.0, slack)


def bars_of(values: Array, breaks: Sequence[float], closed: Closed) -> NDArray[np.int64]:
    """The bar of each value (n,) between breaks; -1 where it is in none."""
    edges = np.array(breaks, dtype=np.float64)
    bar = np.searchsorted(edges, values, side="right" if closed == "left" else "left") - 1
    bar[values == (edges[-1] if closed == "left" else edges[0])] = len(edges) - 2 if closed == "left" else 0
    return np.where((values < edges[0]) | (values > edges[-1]), -1, bar)


class HistogramEntry(Entry):
    """A histogram in a study file."""

    positional = ("value", "breaks")

    kind: Literal["histogram"]
    value: str
    breaks: tuple[float, ...]
    by: Names = ()
    show: Bars = "counts"
    closed: Closed = "left"
    weight: str = ""
    decimals: int | None = Field(default=None, ge=0, le=12)
    protection: Protection = UNPROTECTED

    def build(self, codebook: Codebook, position: int) -> list[Histogram]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        name = self.name or f"histogram of {self.value}" + (f" by {' x '.join(self.by)}" if self.by else "")
        return [
            Histogram(
                codebook,
                name,
                self.value,
                self.breaks,
                self.by,
                self.where,
                self.show,
                self.closed,
                self.weight,
                self.decimals,
                self.protection,
            )
        ]
