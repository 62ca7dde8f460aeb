"""Linear constraints collected output by output, and what a record of each kind adds to the totals of an output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from outrisk.problem.blocks import Array, Model, Tally, joint_over, level_in

_LEVELS = 2**62  # combinations of codes that a whole number tells apart
WHOLE = 1e-6  # what arithmetic may take from a whole number
Codes = NDArray[np.int64]


@dataclass(eq=False)
class Rows:
    """Constraints low <= matrix x <= high, collected in blocks of rows; columns may still be added behind.

    of_quantiles: entries of the constraints of quantiles so far.
    """

    matrix: list[sparse.csr_array] = field(default_factory=list)
    low: list[Array] = field(default_factory=list)
    high: list[Array] = field(default_factory=list)
    origin: list[str] = field(default_factory=list)  # the output that each block comes from
    number: list[Codes] = field(default_factory=list)  # and which of its numbers each row comes from
    of_quantiles: int = 0

    def add(
        self, matrix: sparse.csr_array, low: ArrayLike, high: ArrayLike, origin: str, number: ArrayLike = -1
    ) -> None:
        """More constraints; those that say nothing are left out, whole sums of whole numbers get whole ends."""
        rows = matrix.shape[0]
        low, high = (np.broadcast_to(np.asarray(each, dtype=np.float64), rows) for each in (low, high))
        broken = np.repeat(np.arange(rows), np.diff(matrix.indptr))[matrix.data != np.round(matrix.data)]
        whole = ~np.isin(np.arange(rows), broken)
        low, high = np.where(whole, np.ceil(low - WHOLE), low), np.where(whole, np.floor(high + WHOLE), high)
        empty = np.diff(matrix.indptr) == 0
        says = (np.isfinite(low) | np.isfinite(high)) & ~(empty & (low <= 0) & (high >= 0))
        if says.any():
            self.matrix.append(sparse.csr_array(matrix[np.flatnonzero(says)]))
            self.low.append(low[says])
            self.high.append(high[says])
            self.origin.append(origin)
            self.number.append(np.broadcast_to(np.asarray(number, dtype=np.int64), rows)[says])

    def one(
        self,
        column: ArrayLike,
        value: ArrayLike,
        low: float,
        high: float,
        origin: str,
        width: int,
        number: int = -1,
    ) -> None:
        """One more constraint, by its columns."""
        column = np.asarray(column, dtype=np.int64)
        value = np.broadcast_to(np.asarray(value, dtype=np.float64), column.shape)
        self.add(sparse.csr_array((value, column, [0, len(column)]), shape=(1, width)), low, high, origin, number)

    def stacked(self, width: int) -> tuple[sparse.csr_array, Array, Array, tuple[str, ...], Codes]:
        """All of them over so many columns, the output of each, and which of its numbers it comes from."""
        if not self.matrix:
            nothing = np.zeros(0)
            return sparse.csr_array((0, width)), nothing, nothing, (), np.zeros(0, np.int64)
        for each in self.matrix:
            each.resize(each.shape[0], width)
        origins = tuple(name for name, each in zip(self.origin, self.matrix, strict=True) for _ in range(each.shape[0]))
        matrix = sparse.csr_array(sparse.vstack(self.matrix, format="csr"))
        return matrix, np.concatenate(self.low), np.concatenate(self.high), origins, np.concatenate(self.number)

    def fixed(self, columns: Codes) -> int | None:
        """The sum of some columns, if one constraint alone fixes it."""
        columns = np.sort(columns)
        for matrix, lows, highs in zip(self.matrix, self.low, self.high, strict=True):
            for at in np.flatnonzero(np.diff(matrix.indptr) == len(columns)):
                low, high = np.ceil(lows[at] - 1e-9), np.floor(highs[at] + 1e-9)
                inside = slice(matrix.indptr[at], matrix.indptr[at + 1])
                if (
                    low == high
                    and (matrix.data[inside] == 1).all()
                    and (np.sort(matrix.indices[inside]) == columns).all()
                ):
                    return int(low)
        return None


@dataclass(eq=False)
class Columns:
    """Kinds of records, each a column: their codes (columns, variables), and those that an output is about.

    group (columns,): the group of the register that a column is of, -1 for people outside it. most (columns,): how
    many such records there can be. next: columns that are taken so far; 0/1 helpers stand behind the kinds. places: the
    columns that outputs are about, those of several once.
    """

    codes: Codes
    group: Codes
    most: Array
    next: int
    places: tuple[Codes, ...] = ()

    def helpers(self, number: int) -> Codes:
        """So many more columns for helpers."""
        self.next += number
        return np.arange(self.next - number, self.next)


@dataclass(frozen=True, eq=False)
class Seen:
    """The columns `at` that an output is about, of all `columns`."""

    columns: Columns
    at: Codes

    @property
    def codes(self) -> Codes:
        """Their codes."""
        return self.columns.codes[self.at]

    def people(self, columns: Codes) -> int | None:
        """How many people some columns are of, where these are all columns of some groups (people outside are one)."""
        group, mine = self.columns.group[self.at] + 1, self.columns.group[columns] + 1
        people, kinds = np.zeros(int(group.max()) + 1), np.bincount(group)
        np.maximum.at(people, group, self.columns.most[self.at])
        some = np.unique(mine)
        return int(people[some].sum()) if len(mine) == kinds[some].sum() else None

    def elsewhere(self, columns: Codes) -> Iterator[Codes]:
        """The columns that other outputs have of the same people, where their tables have the variables that say who
        these are.
        """
        codes, member = self.codes, np.isin(self.at, columns)
        names = np.flatnonzero((codes >= 0).all(axis=0)).tolist()
        sizes = (self.columns.codes.max(axis=0) + 1).tolist()
        if not member.any() or joint_over(names, sizes).size > _LEVELS:
            return
        for name in list(names):
            rest = [other for other in names if other != name]
            _, level = np.unique(level_in(joint_over(rest, sizes), codes), return_inverse=True)
            some, every = np.bincount(level, member), np.bincount(level)
            if ((some == 0) | (some == every)).all():
                names = rest
        joint = joint_over(names, sizes)
        for at in self.columns.places:
            here = self.columns.codes[at]
            if at is not self.at and (here[:, names] >= 0).all():
                yield at[np.isin(level_in(joint, here), level_in(joint, codes[member]))]

    def wide(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """A matrix over these columns as one over all."""
        matrix = sparse.csr_array(matrix)
        shape = (matrix.shape[0], len(self.columns.codes))
        return sparse.csr_array((matrix.data, self.at[matrix.indices], matrix.indptr), shape=shape)


def sums_of_groups(groups: int, kinds: int, width: int) -> sparse.csr_array:
    """The counts of each group's kinds added up, (groups, width): the first columns, group by group."""
    n = groups * kinds
    return sparse.csr_array((np.ones(n), np.arange(n), np.arange(0, n + 1, kinds)), shape=(groups, width))


def included(block: Tally | Model, codes: Codes) -> NDArray[np.bool_]:
    """Whether a record of each kind is inside all masks of a block."""
    inside = np.ones(len(codes), dtype=np.bool_)
    for mask in block.masks:
        inside &= mask.include[level_in(mask.joint, codes)]
    return inside


def weights(block: Tally | Model, codes: Codes) -> Array:
    """How often a record of each kind counts."""
    if block.weight is None:
        return np.ones(len(codes))
    return np.asarray(block.weight.by_code[codes[:, block.weight.variable]], dtype=np.float64)


def totals_of(blocks: Sequence[Tally], seen: Seen) -> sparse.csr_array:
    """What a record of each kind adds to each total of the blocks, (totals, kinds)."""
    parts, codes = [], seen.codes
    for block in blocks:
        level = level_in(block.place, codes)
        cell = level if block.cell is None else block.cell[level].astype(np.int64)
        value = np.ones(len(codes)) if block.value is None else np.asarray(block.value[level], dtype=np.float64)
        value = value * weights(block, codes)
        at = np.flatnonzero((cell >= 0) & (value != 0) & included(block, codes))
        parts.append(sparse.coo_array((value[at], (cell[at], at)), shape=(block.size, len(codes))))
    return seen.wide(sparse.csr_array(sparse.vstack(parts, format="csr")))
