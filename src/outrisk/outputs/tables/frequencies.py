"""Released frequency tables: counts, proportions and percentages in the cells of any number of variables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import sparse

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Names
from outrisk.outputs.tables.as_given import Sheet, sheet_of_shares
from outrisk.outputs.tables.bases import bases_of, no_bases
from outrisk.outputs.tables.cells import Cells
from outrisk.outputs.tables.checks import check_shares, check_sum, check_whole, check_within
from outrisk.outputs.tables.counted import TOTAL, counts_of
from outrisk.outputs.tables.protection import UNPROTECTED, Protection
from outrisk.outputs.tables.shares import Shares
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.counts import Counts
from outrisk.problem.released import TallyPart, half_digit

Show = Literal["counts", "proportions", "row_percentages", "column_percentages"]
_SCALE: dict[Show, float] = {"counts": 1.0, "proportions": 1.0, "row_percentages": 100.0, "column_percentages": 100.0}
_DIGITS: dict[Show, int] = {"counts": 0, "proportions": 3, "row_percentages": 1, "column_percentages": 1}


@dataclass(frozen=True, eq=False)
class _Block:
    """The cells, or one margin: its variables, and where each of its totals goes."""

    names: tuple[str, ...]
    number: NDArray[np.int64]  # (size,) position among the published numbers
    base: NDArray[np.int64]  # (size,) group whose sum a share is divided by
    member: bool  # whether its totals make up these sums


@dataclass(frozen=True)
class Frequencies(Common):
    """Counts of records by the variables `by`, or shares; a missing value is a level of its own.

    Cells are in C order: the last variable runs fastest. Every combination of the codebook's values is a cell, so a
    published zero is a published number too. Rows are the combinations of all variables but the last, columns the
    levels of the last. With `margins` each variable has one more level, Total, the last; shares that are 1 or 100 by
    definition are not among the numbers. A share of no records is not defined (NaN).

    With a threshold, the numbers of records of the cells stand behind the shares or weighted counts (`: records`): not
    printed, but a reader knows from what is withheld whether they reach it.
    """

    by: tuple[str, ...]
    where: str = ""
    show: Show = "counts"
    margins: bool = False
    weight: str = ""
    digits: int | None = None
    protection: Protection = UNPROTECTED
    kind = "frequencies"

    def __post_init__(self) -> None:
        cells = self.cells
        if not self.by:
            raise cells.error(f"by: {list(self.by)} must name one or more different variables")
        if self.show == "column_percentages" and len(self.by) < 2:
            raise cells.error("column percentages need two variables or more; take row_percentages")
        if self.show != "counts" and (self.protection.round_to or self.protection.top_code is not None):
            raise cells.error(f"round_to and top_code are of counts, and show: {self.show} has none; set its decimals")

    @property
    def table(self) -> tuple[str, ...]:
        """The variables of the cells."""
        return self.by

    @cached_property
    def cells(self) -> Cells:
        """The cells without margins."""
        return Cells(self.codebook, self.name, self.by, self.where, self.weight)

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return tuple(size + self.margins for size in self.cells.shape)

    @property
    def _guarded(self) -> bool:
        """Whether numbers of records stand behind the published numbers."""
        return self.protection.threshold is not None and (self.show != "counts" or bool(self.weight))

    @property
    def _columns(self) -> frozenset[int]:
        """The axis whose levels are groups of column percentages, Total among them."""
        return frozenset({len(self.by) - 1} if self.show == "column_percentages" else ())

    def _shown(self, totals: frozenset[int]) -> bool:
        """Whether the margin over these axes is published: not where each share of it is the whole."""
        axes = frozenset(range(len(self.by)))
        if self.show == "row_percentages":
            return len(self.by) - 1 not in totals
        return self.show == "counts" or not axes - self._columns <= totals

    @cached_property
    def _layout(self) -> tuple[tuple[_Block, ...], NDArray[np.int64]]:
        """The blocks of cells and published margins; the place of each number (k,) in the table with margins."""
        axes = range(len(self.by))
        grid = np.arange(math.prod(self._shape)).reshape(self._shape)
        places: dict[frozenset[int], NDArray[np.int64]] = {}
        for totals in (frozenset(some) for n in range(len(axes) + 1) for some in combinations(axes, n)):
            if not totals or (self.margins and self._shown(totals)):
                part = tuple(-1 if axis in totals else slice(self.cells.shape[axis]) for axis in axes)
                places[totals] = np.atleast_1d(grid[part]).ravel()
        position = np.sort(np.concatenate(list(places.values())))
        columns = self._shape[-1]
        blocks = []
        for totals, place in places.items():
            base = {"row_percentages": place // columns, "column_percentages": place % columns}.get(
                self.show, 0 * place
            )
            names = tuple(self.by[axis] for axis in axes if axis not in totals)
            member = self.show == "row_percentages" or totals <= self._columns
            blocks.append(_Block(names, np.searchsorted(position, place), base, member))
        return tuple(blocks), position

    @cached_property
    def labels(self) -> list[str]:
        """One label a cell, such as 'religious=1, affair=0'."""
        more = [TOTAL] * self.margins
        levels = [[f"{name}={label}" for label in [*self.codebook[name].labels, *more]] for name in self.by]
        cells = [", ".join(cell) for cell in product(*levels)]
        labels = [cells[place] for place in self._layout[1]]
        return [*labels, *(f"{label}: records" for label in labels)] if self._guarded else labels

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each number."""
        digits = np.full(len(self._layout[1]), _DIGITS[self.show] if self.digits is None else self.digits)
        return np.concatenate([digits, np.zeros(len(digits), np.int64)]) if self._guarded else digits

    @property
    def notes(self) -> str:
        """What the table counts and how it is protected, in words."""
        what = f"{self.show.replace('_', ' ')} {self.cells.notes}" + (", with margins" if self.margins else "")
        return "; ".join(part for part in (what, self.protection.notes(of_counts=True)) if part)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas on the decoded records, shape (k,)."""
        frame = self.cells.frame(data)
        groups = self.cells.groups(frame)
        numbers = self._numbers(self.cells.sums(groups, self.cells.weights(frame)))
        if not self._guarded:
            return numbers
        records = self._spread(self.cells.sums(groups, np.ones(len(frame))))
        return np.concatenate([numbers, records[self._layout[1]]])

    @property
    def printed_by(self) -> list[tuple[tuple[str, ...], NDArray[np.int64]]]:
        """The variables of the cells, then of each published margin, and where its numbers stand among them all."""
        return [(block.names, block.number) for block in self._layout[0]]

    def of_counts(self, counts: Array) -> Array:
        """The numbers (k,) of a table without a weight whose cells hold so many records, flat."""
        numbers = self._numbers(counts)
        return np.concatenate([numbers, self._spread(counts)[self._layout[1]]]) if self._guarded else numbers

    def _spread(self, counts: Array) -> Array:
        """Counts of the cells with all margins, flat."""
        table = counts.reshape(self.cells.shape)
        if self.margins:
            for axis in range(len(self.by)):
                table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
        return table.ravel()

    def _numbers(self, counts: Array) -> Array:
        table = self._spread(counts).reshape(self._shape)
        if self.show == "row_percentages":
            whole = table[..., : self.cells.shape[-1]].sum(axis=-1, keepdims=True)
        elif self.show == "column_percentages":
            whole = table[tuple(slice(size) for size in self.cells.shape[:-1])]
            whole = whole.sum(axis=tuple(range(len(self.by) - 1)))
        else:
            whole = counts.sum() if self.show == "proportions" else np.ones(())
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(whole > 0, _SCALE[self.show] * table / whole, np.nan).ravel()[self._layout[1]])

    def publish(self, values: Array) -> tuple[Array, Array]:
        """What a reader knows of exact numbers (k,): low, high. Without ends: withheld, or not defined."""
        return self.protection.publish_cells(
            values, self.decimals, self._guarded, self.name, self.show == "counts", bool(self.weight)
        )

    @property
    def sheet(self) -> Sheet:
        """The numbers that are printed."""
        k = len(self._layout[1])
        return sheet_of_shares(self.labels[:k], self.protection, self.show == "counts", not self.weight, self._guarded)

    def counts(self, low: Array, high: Array) -> Iterator[RecordCounts]:
        """The cells and margins, where they are counts; the records behind them."""
        if self.show == "counts" and not self.weight:
            yield from counts_of(self.codebook, self.by, self.labels, low, high)
        if self._guarded:
            yield from counts_of(self.codebook, self.by, self.labels, low, high, ": records")

    def parts(self, values: Array) -> tuple[TallyPart, ...]:
        """The tallies of cells and margins; and those of the records behind them."""
        k = len(self._layout[1])
        number = np.concatenate([block.number for block in self._layout[0]])
        spread = self.cells.spread
        tallies = tuple(self.cells.tally(block.names) for block in self._layout[0])
        if self.show == "counts":
            main = TallyPart(tallies, Counts(number, spread), k)
        else:
            base = np.concatenate([block.base for block in self._layout[0]])
            member = np.concatenate([np.full(len(block.base), block.member) for block in self._layout[0]])
            main = TallyPart(tallies, self._shares(values, number, base, member), k)
        if not self._guarded:
            return (main,)
        return main, TallyPart(
            tuple(self.cells.tally(block.names, weighted=False) for block in self._layout[0]), Counts(number), k
        )

    def _shares(
        self, values: Array, number: NDArray[np.int64], base: NDArray[np.int64], member: NDArray[np.bool_]
    ) -> Shares:
        k, n_groups, scale = len(self._layout[1]), int(base.max()) + 1, _SCALE[self.show]
        bases = no_bases(n_groups)
        if not self.weight:
            digits, used = half_digit(self.decimals[:k]) / scale, number[member]
            half, counts = self.protection.behind_shares(values[:k], digits, values[k:])
            known = counts[0][used], counts[1][used]
            bases = bases_of(values[used] / scale, half[used], known, base[member], *self._cover(n_groups))
        withholds, scales = self.protection.threshold is not None, np.full(len(number), scale)
        sums = sparse.vstack([sparse.csr_matrix((0, math.prod(self.cells.shape))), *self._sums], format="csr")
        return Shares(number, base, member, scales, bases, sums, withholds, self.cells.spread, self.cells.lightest)

    def _cover(self, n_groups: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The groups of shares of which every record is in one, and which of these each group is made up of (groups,
        any); none of a subset.
        """
        main, *margins = self._layout[0]
        cover = np.unique(main.base[: 0 if self.cells.masks else None])
        made = np.zeros((n_groups, n_groups), np.bool_)
        made[cover, cover] = True
        for block, sums in zip(margins, self._sums, strict=True):
            margin, cell = sums.nonzero()
            if block.member:
                made[block.base[margin], main.base[cell]] = True
        return cover, made[:, cover]

    @cached_property
    def _sums(self) -> list[sparse.csr_matrix]:
        """Which cells the totals of each margin are the sums of, (totals, cells)."""
        cells = np.indices(self.cells.shape).reshape(len(self.by), -1)
        found = []
        for block in self._layout[0][1:]:
            shape = [self.codebook[name].size for name in block.names]
            of = [cells[self.by.index(name)] for name in block.names]
            place = np.ravel_multi_index(tuple(of), tuple(shape)) if of else np.zeros(cells.shape[1], np.int64)
            ones = np.ones(len(place)), (place, np.arange(len(place)))
            found.append(sparse.csr_matrix(ones, shape=(len(block.base), len(place))))
        return found

    def check(self, low: Array, high: Array) -> None:
        """OutputError unless ranges (k,), both ends the number where it is known, can be those of this table."""
        labels, k = self.labels, len(self._layout[1])
        low, high, slack = low[:k], high[:k], half_digit(self.decimals[:k])
        if self.show == "counts":
            check_within(self.name, labels, low, high, 0.0, np.inf, "a count")
            if not self.weight:
                check_whole(self.name, labels, low, high)
            self._check_margins(low, high, slack * bool(self.weight))
            return
        summed = [block for block in self._layout[0] if block.member]
        number, base = (np.concatenate([getattr(block, each) for block in summed]) for each in ("number", "base"))
        check_shares(self.name, labels, low, high, number, base, _SCALE[self.show], slack)

    def _check_margins(self, low: Array, high: Array, slack: Array) -> None:
        """Every margin can be the sum of its cells."""
        cells = self._layout[0][0].number
        table_low, table_high, table_slack = (part[cells].reshape(self.cells.shape) for part in (low, high, slack))
        for block in self._layout[0][1:]:
            axes = tuple(axis for axis, name in enumerate(self.by) if name not in block.names)
            sums = (part.sum(axis=axes).ravel() for part in (table_low, table_high, table_slack))
            of = [f"the cells of '{self.labels[number]}'" for number in block.number]
            lows, highs, slacks = sums
            check_sum(self.name, of, lows, highs, low[block.number], high[block.number], slacks + slack[block.number])


class TableEntry(Entry):
    """What entries of tables of counts or shares have in common."""

    show: Show = "counts"
    margins: bool = False
    weight: str = ""
    decimals: int | None = Field(default=None, ge=0, le=12)
    protection: Protection = UNPROTECTED

    def table(self, codebook: Codebook, name: str, by: tuple[str, ...]) -> Frequencies:
        """One table of this entry."""
        return Frequencies(
            codebook, name, by, self.where, self.show, self.margins, self.weight, self.decimals, self.protection
        )


class FrequenciesEntry(TableEntry):
    """A frequency table in a study file; with `ways: k`, every table of k of the variables `by`."""

    positional = ("by",)

    kind: Literal["frequencies"]
    by: Names
    ways: int | None = Field(default=None, ge=1)

    def build(self, codebook: Codebook, position: int) -> list[Frequencies]:
        """The outputs of this entry, the `position`-th (from 1) of its study."""
        if self.ways is None:
            return [self.table(codebook, self.name or f"table {' x '.join(self.by)}", self.by)]
        if self.ways > len(self.by):
            raise OutputError(f"output {position} (frequencies): ways: {self.ways} but by: {list(self.by)}")
        label = self.name or "table"
        return [self.table(codebook, f"{label} {' x '.join(by)}", by) for by in combinations(self.by, self.ways)]


class UnivariateEntry(TableEntry):
    """The one-way distributions of some variables (all, if none are named) in a study file."""

    positional = ("variables",)

    kind: Literal["univariate"]
    variables: Names = ()

    def build(self, codebook: Codebook, position: int) -> list[Frequencies]:
        """The outputs of this entry, one a variable."""
        names = self.variables or tuple(codebook.names)
        return [self.table(codebook, f"{self.name or 'univariate'} {name}", (name,)) for name in names]
