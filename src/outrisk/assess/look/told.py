"""A released table as its readers have it: counts behind its cells, and what of them is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.finding import Rows, named
from outrisk.assess.look.once import inside, refit
from outrisk.codebook import Codebook
from outrisk.microdata import Microdata, people_by
from outrisk.outputs.base import Output, Subset
from outrisk.outputs.smooth.survival import Survival
from outrisk.outputs.tables.cells import Cells
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.problem.blocks import Tally, level_in

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Told:
    """Counts of records by variables, in their shape; shown: cells that a reader knows to hold somebody, or nobody.

    exact: the counts themselves are printed (not shares, and not rounded). rows: the records that are counted, of the
    data; place: the cell of each; owner: the person of each, where a person may have several.
    """

    codebook: Codebook
    by: tuple[str, ...]
    counts: Counts
    shown: Flags
    exact: Flags
    rows: Rows
    place: Rows
    owner: Rows | None

    @classmethod
    def whole(cls, data: Microdata, by: Sequence[str], rows: Rows) -> Told:
        """Some records of the data by every combination of variables, an axis each; all of it printed."""
        shape = tuple(data.codebook[name].size for name in by)
        codes = tuple(data.codes[rows, data.codebook.index(name)].astype(np.intp) for name in by)
        place = np.ravel_multi_index(codes, shape) if by else np.zeros(len(rows), dtype=np.intp)
        counts = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)
        printed = np.ones(shape, dtype=np.bool_)
        owner = None if data.person is None else data.person[rows]
        return cls(data.codebook, tuple(by), counts, printed, printed, rows, place, owner)

    @cached_property
    def people(self) -> Counts:
        """The people in each cell, in the shape of the counts."""
        return self.people_over()

    def people_over(self, axis: int | None = None) -> Counts:
        """The people in each cell, or in the cells of an axis together, which is then left out."""
        shape = self.counts.shape
        if self.owner is None:
            return self.counts if axis is None else np.asarray(self.counts.sum(axis=axis))
        left = [each for each in range(len(shape)) if each != axis]
        codes = np.unravel_index(self.place, shape) if shape else ()
        sizes = tuple(shape[each] for each in left)
        place = np.ravel_multi_index([codes[each] for each in left], sizes) if left else np.zeros_like(self.rows)
        return people_by(place, self.owner, int(np.prod(sizes))).reshape(sizes)

    def number(self, cells: Flags) -> int:
        """How many people the flagged cells hold together."""
        inside = cells.ravel()[self.place]
        return int(inside.sum()) if self.owner is None else len(np.unique(self.owner[inside]))

    def who(self, cells: Flags) -> Rows:
        """The records in the flagged cells."""
        return self.rows[cells.ravel()[self.place]]

    @cached_property
    def _levels(self) -> list[list[str]]:
        return [self.codebook[name].labels for name in self.by]

    def label(self, cell: Sequence[int], axes: Sequence[int] | None = None) -> str:
        """A cell, or the group that some of its axes make, in words."""
        chosen = range(len(self.by)) if axes is None else axes
        return ", ".join(f"{self.by[axis]}={self._levels[axis][cell[axis]]}" for axis in chosen) or "all records"

    def labels(self, cells: Flags) -> list[str]:
        """The flagged cells in words, those of the fewest people first."""
        found = np.argwhere(cells)
        order = np.argsort(self.people[cells], kind="stable")
        return [f"{self.label(cell)}: {self.people[tuple(cell)]:,}" for cell in found[order].tolist()]

    def places(self, cells: Flags) -> str:
        """The flagged cells in words, without their counts."""
        return named([self.label(cell) for cell in np.argwhere(cells).tolist()])


def complete(data: Microdata, where: str, output: str, names: Sequence[str]) -> Rows:
    """The records that a condition keeps and that lack no value of some variables (an empty name is none)."""
    rows = inside(data, where, output)
    for name in filter(None, names):
        rows = rows[data.codes[rows, data.codebook.index(name)] < len(data.codebook[name].values)]
    return rows


def cell_rows(cells: Cells, data: Microdata) -> Rows:
    """The records that are in a cell of a table: of its subset, without a missing value or weight."""
    return complete(data, cells.where, cells.output, (cells.value, cells.weight))


def rows_in(tally: Tally, totals: Sequence[int] | NDArray[np.int64], data: Microdata) -> Rows:
    """The records that some totals of a tally grow by."""
    level = level_in(tally.place, data.codes)
    inside = np.isin(level if tally.cell is None else tally.cell[level], totals)
    for mask in tally.masks:
        inside &= mask.include[level_in(mask.joint, data.codes)]
    return np.flatnonzero(inside)


def told_by_curves(curves: Survival, data: Microdata) -> Told:
    """What released survival curves tell about these records, by group, time and event."""
    ends = curves.publish(refit(curves, data))
    return told_at(curves, curves.told_apart(*ends) | curves.one_answer(*ends), data)


def told_at(curves: Survival, known: NDArray[np.bool_], data: Microdata) -> Told:
    """Records by group, time and event, and at which groups and times (groups, times) of the support it is told who
    had the event; how many there are is left open.
    """
    names = curves.variables
    whole = Told.whole(data, names, complete(data, curves.where, curves.name, names))
    shown = np.zeros(whole.counts.shape, dtype=np.bool_)
    values = [len(data.codebook[name].values) for name in names[:-1]]
    shown[tuple(slice(size) for size in values)] = known.reshape(values)[..., None]
    return replace(whole, shown=shown, exact=np.zeros_like(shown))


def allowed(codebook: Codebook, output: Output, name: str) -> Flags:
    """Which levels of a variable, the missing one last, records of an output may have, as far as its `where` says."""
    subset, labels = Subset(codebook, output.where, output.name), codebook[name].labels
    levels = subset.levels(name) if name in subset.variables else set(labels)
    return np.array([label in levels for label in labels])


def told_by(table: Frequencies, data: Microdata) -> Told:
    """What a released frequency table tells about these records."""
    whole = Told.whole(data, table.by, cell_rows(table.cells, data))
    counts = whole.counts
    rule, flat = table.protection, counts.ravel().astype(np.float64)
    hidden = rule.hides(flat)
    exact = np.zeros(len(flat), dtype=np.bool_)
    shown = ~hidden
    if table.show == "counts" and not table.weight:
        low, high = rule.known(rule.printed(flat, hidden, table.name))
        exact, shown = low == high, (low > 0) | (high <= 0)
    return replace(whole, shown=shown.reshape(counts.shape), exact=exact.reshape(counts.shape))
