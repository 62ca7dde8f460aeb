"""A released table as its readers have it: counts behind its cells, and what of them is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.finding import named
from outrisk.codebook import Codebook
from outrisk.microdata import Microdata
from outrisk.outputs.base import Subset
from outrisk.outputs.tables.cells import Cells
from outrisk.outputs.tables.frequencies import Frequencies

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Told:
    """Counts of records by variables, in their shape; shown: cells that a reader knows to hold somebody, or nobody.

    exact: the counts themselves are printed (not shares, and not rounded).
    """

    codebook: Codebook
    by: tuple[str, ...]
    counts: Counts
    shown: Flags
    exact: Flags

    @cached_property
    def _levels(self) -> list[list[str]]:
        return [self.codebook[name].labels for name in self.by]

    def label(self, cell: Sequence[int], axes: Sequence[int] | None = None) -> str:
        """A cell, or the group that some of its axes make, in words."""
        chosen = range(len(self.by)) if axes is None else axes
        return ", ".join(f"{self.by[axis]}={self._levels[axis][cell[axis]]}" for axis in chosen) or "all records"

    def labels(self, cells: Flags) -> list[str]:
        """The flagged cells in words, those of the fewest records first."""
        found = np.argwhere(cells)
        order = np.argsort(self.counts[cells], kind="stable")
        return [f"{self.label(cell)}: {self.counts[tuple(cell)]:,}" for cell in found[order].tolist()]

    def places(self, cells: Flags) -> str:
        """The flagged cells in words, without their counts."""
        return named([self.label(cell) for cell in np.argwhere(cells).tolist()])


def members(data: Microdata, where: str, output: str) -> Microdata:
    """The records of the data that a condition keeps."""
    if not where:
        return data
    kept = Subset(data.codebook, where, output).select(data.frame()).index
    return data.take(kept.to_numpy())


def counts_by(data: Microdata, by: Sequence[str]) -> Counts:
    """Records by every combination of variables, an axis each; one number without any."""
    codebook = data.codebook
    shape = tuple(codebook[name].size for name in by)
    if not by:
        return np.array(len(data), dtype=np.int64)
    codes = [data.codes[:, codebook.index(name)].astype(np.intp) for name in by]
    place = np.ravel_multi_index(tuple(codes), shape)
    return np.bincount(place, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)


def cell_records(cells: Cells, data: Microdata) -> Microdata:
    """The records that are in a cell of a table: of its subset, without a missing value or weight."""
    kept = members(data, cells.where, cells.output)
    inside = np.ones(len(kept), dtype=np.bool_)
    for name in (cells.value, cells.weight):
        if name:
            variable = data.codebook[name]
            codes = kept.codes[:, data.codebook.index(name)]
            inside &= codes < len(variable.values)
    return kept if inside.all() else kept.take(np.flatnonzero(inside))


def told_by(table: Frequencies, data: Microdata) -> Told:
    """What a released frequency table tells about these records."""
    counts = counts_by(cell_records(table.cells, data), table.by)
    rule, flat = table.protection, counts.ravel().astype(np.float64)
    hidden = rule.hides(flat)
    exact = np.zeros(len(flat), dtype=np.bool_)
    shown = ~hidden
    if table.show == "counts" and not table.weight:
        low, high = rule.known(rule.printed(flat, hidden, table.name))
        exact, shown = low == high, (low > 0) | (high <= 0)
    return Told(data.codebook, table.by, counts, shown.reshape(counts.shape), exact.reshape(counts.shape))
