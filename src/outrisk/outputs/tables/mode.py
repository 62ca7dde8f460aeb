"""Released modes: the most frequent value of a variable in each cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.microdata import Microdata, decode
from outrisk.outputs.base import Array, Common, Entry, Names
from outrisk.outputs.tables.as_given import Sheet, sheet_of_values
from outrisk.outputs.tables.cells import Cells
from outrisk.outputs.tables.checks import check_within, unknown
from outrisk.outputs.tables.counted import counts_of
from outrisk.outputs.tables.protection import UNPROTECTED, Protection, rounded, withheld
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.counts import Counts, middle
from outrisk.problem.formulas import Formula
from outrisk.problem.released import Bounds, TallyPart, half_digit

_DIGITS = 6  # enough to tell the values of a numeric variable apart


@dataclass(frozen=True, eq=False)
class Modal:
    """The first level with the most records in each cell; totals: the counts of each cell at each level.

    points (s,): the number that stands for each level. A mode that is not defined (range without ends) says that its
    cell is empty, unless the table `withholds` numbers: then it says nothing.
    """

    points: Array
    size: int  # levels of the variable, its missing one included
    withholds: bool
    differentiable = False

    def _counts(self, totals: Array) -> Array:
        return totals.reshape(-1, self.size)[:, : len(self.points)]

    def numbers(self, totals: Array) -> Array:
        """The mode of each cell; NaN in an empty one."""
        counts = np.round(self._counts(totals), 6)
        return np.where(counts.max(axis=1) > 0, self.points[np.argmax(counts, axis=1)], np.nan)

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """No level before the mode has as many records as it has now, none after it more; and it has no fewer."""
        counts, cells = self._counts(totals), np.arange(len(low))
        nothing = unknown(low, high)
        modal = np.argmin(np.abs(self.points - np.where(nothing, self.points[0], middle(low, high))[:, None]), axis=1)
        earlier = np.arange(len(self.points)) < modal[:, None]
        at_mode = np.maximum(counts[cells, modal], 1.0)
        rivals = counts + earlier
        rivals[cells, modal] = 1.0
        least, most = np.full((len(low), self.size), -np.inf), np.full((len(low), self.size), np.inf)
        most[:, : len(self.points)] = at_mode[:, None] - earlier
        most[cells, modal], least[cells, modal] = np.inf, rivals.max(axis=1)
        most[nothing], least[nothing] = np.inf if self.withholds else 0.0, -np.inf
        variance = np.maximum(np.repeat(at_mode, self.size), 1.0)
        number = np.repeat(cells, self.size)
        return Bounds(least.ravel(), most.ravel(), np.ones(len(totals)), number, variance)

    def formulas(self, n_numbers: int) -> list[Formula]:
        """Each from the counts of its cell."""
        levels = np.arange(len(self.points))
        return [Formula("mode", cell * self.size + levels, points=self.points) for cell in range(n_numbers)]


@dataclass(frozen=True)
class Mode(Common):
    """The mode of a variable by the variables `by`, as pandas finds it; of several, the first in codebook order.

    The number is the value of a numeric variable, and the position of the level (from 1, in codebook order) of a
    categorical one. Records with a missing value are left out; the mode of no record is not defined (NaN). With a
    threshold, the numbers of records of the cells stand last (`: records`): not printed, but a reader knows from what
    is withheld whether they reach it.
    """

    variable: str
    by: tuple[str, ...] = ()
    where: str = ""
    protection: Protection = UNPROTECTED
    kind = "mode"

    def __post_init__(self) -> None:
        if self.protection.round_to or self.protection.top_code is not None:
            raise self.cells.error("round_to and top_code are of counts and sums; a mode takes a threshold only")

    @cached_property
    def cells(self) -> Cells:
        """The cells."""
        return Cells(self.codebook, self.name, self.by, self.where, value=self.variable)

    @property
    def _guarded(self) -> bool:
        return self.protection.threshold is not None

    @cached_property
    def labels(self) -> list[str]:
        """One label a cell, such as 'religious=1: mode of age'."""
        cells = self.cells.labels
        labels = [f"{cell}: mode of {self.variable}" for cell in cells]
        return [*labels, *(f"{cell}: records" for cell in cells)] if self._guarded else labels

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point: none for whole values and positions of levels."""
        whole = all(float(point).is_integer() for point in self.points)
        cells = len(self.cells.labels)
        return np.array([0 if whole else _DIGITS] * cells + [0] * (len(self.labels) - cells), dtype=np.int64)

    @property
    def notes(self) -> str:
        """What the table holds and how it is protected, in words."""
        coded = "" if self.codebook[self.variable].numeric else " (position of the level in the codebook, from 1)"
        what = f"mode of {self.variable} {self.cells.notes}".strip() + coded
        return "; ".join(part for part in (what, self.protection.notes(of_counts=False)) if part)

    @cached_property
    def points(self) -> Array:
        """The number that stands for each level, the missing one left out."""
        variable = self.codebook[self.variable]
        return np.array(variable.values if variable.numeric else range(1, len(variable.values) + 1), dtype=np.float64)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas on the decoded records, shape (k,)."""
        frame = self.cells.frame(data)
        groups, variable = self.cells.groups(frame), self.codebook[self.variable]
        values = decode(variable, np.arange(len(variable.values)))
        level = pd.Categorical(frame[self.variable], categories=values).codes
        counts = pd.DataFrame({"cell": self.cells.place(groups), "level": level}).groupby(["cell", "level"]).size()
        every = counts.unstack().reindex(range(len(self.cells.labels)), columns=range(len(self.points)))
        table = np.nan_to_num(every.to_numpy(dtype=np.float64))
        numbers = np.where(table.max(axis=1) > 0, self.points[table.argmax(axis=1)], np.nan)
        records = [self.cells.sums(groups, np.ones(len(frame)))] if self._guarded else []
        return np.concatenate([numbers, *records])

    def publish(self, values: Array) -> tuple[Array, Array]:
        """What a reader knows of exact numbers (k,): low, high. Without ends: withheld, or not defined."""
        n_cells = len(self.cells.labels)
        numbers, records = rounded(values, self.decimals)[:n_cells], np.asarray(values[n_cells:])
        if not self._guarded:
            return withheld(numbers, np.zeros(len(numbers), np.bool_))
        low, high = withheld(numbers, self.protection.hides(records))
        return self.protection.with_presence(low, high, records)

    @property
    def sheet(self) -> Sheet:
        """The numbers that are printed."""
        return sheet_of_values(self.labels[: len(self.cells.labels)], self.protection, 1)

    def counts(self, low: Array, high: Array) -> Iterator[RecordCounts]:
        """The records behind the cells."""
        if self._guarded:
            yield from counts_of(self.codebook, self.by, self.labels, low, high, ": records")

    def parts(self, values: Array) -> tuple[TallyPart, ...]:
        """The tally of each level in each cell; and those of the records behind them."""
        n_cells, names = len(self.cells.labels), (*self.by, self.variable)
        modal = Modal(self.points, self.codebook[self.variable].size, self._guarded)
        main = TallyPart((self.cells.tally(names),), modal, n_cells)
        if not self._guarded:
            return (main,)
        return main, TallyPart((self.cells.tally(self.by),), Counts(np.arange(n_cells)), n_cells)

    def check(self, low: Array, high: Array) -> None:
        """OutputError unless ranges (k,), both ends the number where it is known, can be those of this table."""
        low, high = low[: len(self.cells.labels)], high[: len(self.cells.labels)]
        check_within(self.name, self.labels, low, high, self.points[0], self.points[-1], f"a mode of {self.variable}")
        off = np.abs(low[:, None] - self.points).min(axis=1) > half_digit(_DIGITS)
        wrong = off & ~unknown(low, high)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise self.cells.error(
                f"{self.labels[at]} is {low[at]:g}, which is not a value of '{self.variable}': correct the value"
            )


class ModeEntry(Entry):
    """The mode of a variable in a study file."""

    positional = ("variable", "by")

    kind: Literal["mode"]
    variable: str
    by: Names = ()
    protection: Protection = UNPROTECTED

    def build(self, codebook: Codebook, position: int) -> list[Mode]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        name = self.name or f"mode of {self.variable}" + (f" by {' x '.join(self.by)}" if self.by else "")
        return [Mode(codebook, name, self.variable, self.by, self.where, self.protection)]
