"""Released quantiles of a numeric variable in each cell: the median, any other, the least and the largest value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from outrisk.codebook import Codebook
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Names
from outrisk.outputs.tables.as_given import Sheet, sheet_of_values
from outrisk.outputs.tables.cells import Cells, grouped
from outrisk.outputs.tables.checks import check_order, check_within
from outrisk.outputs.tables.counted import counts_of
from outrisk.outputs.tables.protection import UNPROTECTED, Protection, rounded, withheld
from outrisk.outputs.tables.ranks import Cut, Ranks, cut_at, fewest_records
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Tally
from outrisk.problem.counts import Counts
from outrisk.problem.quantile_places import METHODS, TYPES, QuantileProgram
from outrisk.problem.released import TallyPart, half_digit

NAMED = {"min": 0.0, "median": 0.5, "max": 1.0}
_SAID = {7: "linear between records", 2: "on a record or halfway between two", 6: "at (n + 1) p of the records"}


@dataclass(frozen=True)
class Quantiles(Common):
    """Quantiles of a numeric variable by the variables `by`; cell by cell, in each the `probabilities` as given.

    As the `program` has them by default (Hyndman and Fan 1996): of `r`, as of pandas and Excel, at rank (n - 1) p of n
    records, counted from 0, linearly between two (type 7); of `stata` and `sas` on the record after n p, and halfway to
    it where n p is whole (type 2); of `spss` at (n + 1) p - 1 (type 6). Records with a missing value are left out; the
    quantile of no record is not defined (NaN). With a threshold, the numbers of records of the cells stand last
    (`: records`): not printed, but a reader knows from what is withheld whether they reach it.
    """

    value: str
    by: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = (0.5,)
    where: str = ""
    digits: int = 2
    protection: Protection = UNPROTECTED
    program: QuantileProgram = "r"
    kind = "quantiles"

    def __post_init__(self) -> None:
        self.cells.number_of("value")
        wrong = [each for each in self.probabilities if not 0 <= each <= 1]
        if wrong or not self.probabilities or len(set(self.probabilities)) < len(self.probabilities):
            raise self.cells.error(
                f"quantiles: {list(self.probabilities)} must be one or more different ones, from 0 to 1"
            )
        if self.protection.round_to:
            raise self.cells.error("round_to is of counts, and quantiles have none; set their decimals")

    @cached_property
    def cells(self) -> Cells:
        """The cells."""
        return Cells(self.codebook, self.name, self.by, self.where, value=self.value)

    @property
    def _guarded(self) -> bool:
        return self.protection.threshold is not None

    @property
    def _k(self) -> int:
        return len(self.cells.labels) * len(self.probabilities)

    @cached_property
    def labels(self) -> list[str]:
        """One label a number, such as 'religious=1: median of age'."""
        name_of = {probability: name for name, probability in NAMED.items()}
        what = [name_of.get(each, f"quantile {each:g}") for each in self.probabilities]
        cells = self.cells.labels
        labels = [f"{cell}: {each} of {self.value}" for cell in cells for each in what]
        return [*labels, *(f"{cell}: records" for cell in cells)] if self._guarded else labels

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each number."""
        return np.array([self.digits] * self._k + [0] * (len(self.labels) - self._k), dtype=np.int64)

    @property
    def notes(self) -> str:
        """What the table holds and how it is protected, in words."""
        what = f"quantiles of {self.value} {self.cells.notes}".strip() + f" ({_SAID[self.of_type]})"
        return "; ".join(part for part in (what, self.protection.notes(of_counts=False)) if part)

    @property
    def of_type(self) -> int:
        """Of Hyndman and Fan."""
        return TYPES[self.program]

    @cached_property
    def support(self) -> Array:
        """The values of the variable as they count, top-coded; ascending, without the missing one."""
        return self.protection.top_coded(np.array(self.codebook[self.value].values, dtype=np.float64))

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas and numpy on the decoded records, shape (k,)."""
        frame = self.cells.frame(data)
        groups = self.cells.groups(frame)
        value = np.minimum(np.asarray(frame[self.value], dtype=np.float64), self.support[-1])
        if self.program == "r":
            table = grouped(groups, value)
            found = [np.asarray(table.quantile(each), dtype=np.float64) for each in self.probabilities]
        else:
            known = np.isfinite(value)
            place = self.cells.place(groups)[known]
            order = np.argsort(place, kind="stable")
            ends = np.searchsorted(place[order], np.arange(1, len(self.cells.labels)))
            found = list(np.stack([self._of_cell(each) for each in np.split(value[known][order], ends)], axis=1))
        records = [self.cells.sums(groups, np.ones(len(frame)))] if self._guarded else []
        return np.concatenate([np.stack(found, axis=1).ravel(), *records])

    def _of_cell(self, values: Array) -> Array:
        """The quantiles (probabilities,) of some values by numpy; NaN of none."""
        if not len(values):
            return np.full(len(self.probabilities), np.nan)
        method: Any = METHODS[self.of_type]
        return np.asarray(np.quantile(values, self.probabilities, method=method))

    def publish(self, values: Array) -> tuple[Array, Array]:
        """What a reader knows of exact numbers (k,): low, high. Without ends: withheld, or not defined."""
        numbers, records = rounded(values, self.decimals)[: self._k], np.asarray(values[self._k :])
        if not self._guarded:
            return withheld(numbers, np.zeros(len(numbers), np.bool_))
        low, high = withheld(numbers, np.repeat(self.protection.hides(records), len(self.probabilities)))
        return self.protection.with_presence(low, high, records)

    @property
    def sheet(self) -> Sheet:
        """The numbers that are printed."""
        return sheet_of_values(self.labels[: self._k], self.protection, len(self.probabilities))

    def counts(self, low: Array, high: Array) -> Iterator[RecordCounts]:
        """The records behind the cells."""
        if self._guarded:
            yield from counts_of(self.codebook, self.by, self.labels, low, high, ": records")

    def parts(self, values: Array) -> tuple[TallyPart, ...]:
        """The tallies on either side of each published quantile; and those of the records behind them."""
        half, support = float(half_digit(self.digits)), self.support
        table = values[: self._k].reshape(-1, len(self.probabilities))
        cuts = [cut_at(table[:, at], half, support, each, self.of_type) for at, each in enumerate(self.probabilities)]
        size = self.codebook[self.value].size
        fewest = fewest_records(table, half, support, self.probabilities, self.of_type)
        ranks = Ranks(self.probabilities, support, size, cuts, fewest, half, self._guarded, self.of_type)
        names = (*self.by, self.value)
        sides = [tally for cut in cuts for tally in self._sides(cut, size)]
        main = TallyPart((self.cells.tally(self.by), self.cells.tally(names), *sides), ranks, self._k)
        if not self._guarded:
            return (main,)
        return main, TallyPart((self.cells.tally(self.by),), Counts(np.arange(len(table))), len(table))

    def _sides(self, cut: Cut, size: int) -> list[Tally]:
        """Tallies of the records below, between and above the values of each pair; and of those up to `under`."""
        names, n_cells = (*self.by, self.value), len(cut.under)
        x = np.full(size, np.nan)  # a missing value is on no side
        x[: len(self.support)] = self.support
        cells = np.arange(n_cells)[:, None]
        tallies = []
        for below, above in zip(cut.below[:, :, None], cut.above[:, :, None], strict=True):
            side = np.select([x < below, x > above, (x > below) & (x < above) & cut.straddled[:, None]], [0, 2, 1], -1)
            cell = np.where(side < 0, -1, 3 * cells + side).astype(np.int32)
            tallies.append(self.cells.tally(names, cell.ravel(), 3 * n_cells))
        if cut.straddled.any():
            under = np.where(x <= cut.under[:, None], cells, -1).astype(np.int32)
            tallies.append(self.cells.tally(names, under.ravel(), n_cells))
        return tallies

    def check(self, low: Array, high: Array) -> None:
        """OutputError unless ranges (k,), both ends the number where it is known, can be those of this table."""
        half, low, high = float(half_digit(self.digits)), low[: self._k], high[: self._k]
        least, most = self.support[0] - half, self.support[-1] + half
        check_within(self.name, self.labels, low, high, least, most, f"a quantile of {self.value}")
        order = np.argsort(self.probabilities)
        place = (np.arange(0, self._k, len(order))[:, None] + order).ravel()
        check_order(self.name, [self.labels[at] for at in place], low[place], high[place], len(order))


def _probability(value: object) -> object:
    if isinstance(value, str) and value not in NAMED:
        raise ValueError(f"write a number from 0 to 1, or one of {', '.join(NAMED)}")
    return NAMED[value] if isinstance(value, str) else value


class QuantilesEntry(Entry):
    """Quantiles of a numeric variable in a study file: numbers from 0 to 1, or min, median, max."""

    positional = ("value", "by")

    kind: Literal["quantiles"]
    value: str
    by: Names = ()
    quantiles: tuple[Annotated[float, BeforeValidator(_probability)], ...] = (0.5,)
    decimals: int = Field(default=2, ge=0, le=12)
    program: QuantileProgram = "r"
    protection: Protection = UNPROTECTED

    def build(self, codebook: Codebook, position: int) -> list[Quantiles]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        name = self.name or f"quantiles of {self.value}" + (f" by {' x '.join(self.by)}" if self.by else "")
        asked = self.value, self.by, self.quantiles, self.where, self.decimals, self.protection, self.program
        return [Quantiles(codebook, name, *asked)]
