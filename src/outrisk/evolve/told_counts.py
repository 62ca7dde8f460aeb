"""Tables of counts of all records, as released numbers tell them; and tables of shares, which tell none by themselves
(see settled_shares.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import Array, Tally
from outrisk.problem.counts import counts_in
from outrisk.problem.released import Bounded, Margins, TallyPart

CELLS = 500_000  # of a table that crosses all variables of several outputs, at most
_UNKNOWN = 0.5  # records at least taken to be in a cell of which nothing was released


@runtime_checkable
class Shared(Bounded, Protocol):
    """Published numbers (k,) that are shares of groups of records, `base` (m,) being the group of each total, those of
    the first tally first, and `number` (m,) the position of its number.
    """

    base: NDArray[np.int64]
    number: NDArray[np.int64]

    @property
    def counts(self) -> Bounded:
        """The map of the counts that the numbers are shares of."""

    def agreeing(self, other: Any, pairs: NDArray[np.int64]) -> Any:
        """These shares, whose groups are as large as those of others of the same kind that they are paired with (2,
        any).
        """

    def aiming(self, sizes: Array | None) -> Any:
        """These shares, whose groups are to be of these sizes (groups,), or of any."""

    def sizes(self, about: Array) -> Array | None:
        """How large all groups are (groups,), where the sizes are known of groups that each record is in one of: about
        (groups, 2) as in `drawn`. None where they are not, or some records are in no group.
        """

    def conditions(self, low: Array, high: Array) -> sparse.csr_matrix:
        """What is linear in the counts of the first tally's cells (any, cells), and at most 0 where shares lie from low
        to high (k,), whatever the sizes of their groups.
        """

    def conditions_by_group(
        self, low: Array, high: Array
    ) -> tuple[sparse.csr_matrix, sparse.csr_matrix, sparse.csr_matrix]:
        """The same in these counts (any, cells) and the sizes of groups (any, groups), and which cells these add up
        (groups, cells).
        """

    def ranges(self, low: Array, high: Array, sizes: Array) -> tuple[Array, Array]:
        """Ranges of the counts (k,) of shares from `low` to `high` (k,) of groups of these sizes (groups,)."""

    def drawn(
        self, low: Array, high: Array, n: int, about: Array, margins: Margins, times: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """How large groups of n records are (some, groups), drawn so many times, and by how many records the counts in
        the cells of the first tally are then beyond what is known of their `margins`. about (groups, 2): how large they
        are expected to be, and the standard deviation of that, 0 where it is known; NaN where nothing is. None (0,
        groups) where these are not told.
        """


SharedPart = tuple[TallyPart, Shared, slice]  # shares, and which numbers of all outputs they are


@dataclass(frozen=True, eq=False)
class Table:
    """Counts of all records by some variables, an axis each: the least and the most that they may be, and in between
    what they are taken to be.
    """

    variables: tuple[int, ...]
    least: Array
    most: Array
    counts: Array

    def over(self, variables: Sequence[int], counts: Array) -> Array:
        """The margin of counts (as the table) over some of its variables, in this order."""
        kept = counts.sum(axis=tuple(at for at, j in enumerate(self.variables) if j not in variables))
        order = [j for j in self.variables if j in variables]
        return np.asarray(kept.transpose([order.index(j) for j in variables]))

    def known(self, block: Tally, sizes: Sequence[int]) -> Margins:
        """What it says of the cells of a tally of all combinations of some variables: the margins in common."""
        variables = block.place.variables
        common = [j for j in variables if j in self.variables]
        least, most = (self.over(common, each).ravel() for each in (self.least, self.most))
        return summing(variables, [sizes[j] for j in variables], common), least, most


def summing(variables: Sequence[int], shape: Sequence[int], kept: Sequence[int]) -> sparse.csr_matrix:
    """Which cells of a table of variables with so many levels add up to each combination of those kept (levels, cells),
    in their order.
    """
    levels, size = np.indices(shape), int(np.prod(shape))
    of = [levels[variables.index(j)].ravel() for j in kept]
    shape = [shape[variables.index(j)] for j in kept]
    margin = np.ravel_multi_index(of, shape) if kept else np.zeros(size, np.int64)
    ones = np.ones(size), (margin, np.arange(size))
    return sparse.csr_matrix(ones, shape=(int(np.prod(shape)), size))


class Counted(NamedTuple):
    """A tally of records whose counts (cells,) lie from least to most."""

    block: Tally
    least: Array
    most: Array


def counted(problem: Problem, of_subsets: bool = False) -> Iterator[Counted]:
    """The tallies whose counts were released: of all records, or of those of a subset, too."""
    for part, _, which, _ in problem.slices:
        one = counts_in(part) if isinstance(part, TallyPart) else None
        if one is None or isinstance(one[0].map, Shared) or not (_counts if of_subsets else _counts_each)(one[0]):
            continue
        low, high = problem.low[which][one[1]], problem.high[which][one[1]]
        bounds, at = one[0].map.bounds(np.ones(len(low)), low, high), 0
        for block in one[0].blocks if (bounds.unit == 1.0).all() else ():
            own, at = slice(at, at + block.size), at + block.size
            yield Counted(block, np.maximum(bounds.low[own], 0.0), bounds.high[own])


def tables_of(problem: Problem) -> list[Table]:
    """The tables of counts that were released, their cells being all combinations of variables."""
    found = [_table(*each, problem) for each in counted(problem) if each.block.cell is None]
    return [table for table in found if table.counts.sum() > 0]


def counting(problem: Problem) -> Iterator[tuple[TallyPart, slice]]:
    """Parts of which each number has a total of its own, which counts records among all; and their numbers."""
    for part, _, which, _ in problem.slices:
        if isinstance(part, TallyPart) and _counts_each(part):
            yield part, which


def _counts_each(part: TallyPart) -> bool:
    """Whether each number of a part has a total of its own, which counts records among all."""
    return _counts(part) and not any(block.masks for block in part.blocks)


def in_subset(part: TallyPart) -> bool:
    """The same, among the records of a subset."""
    return _counts(part) and all(block.masks for block in part.blocks)


def _counts(part: TallyPart) -> bool:
    plain = not any(block.weight or block.value is not None for block in part.blocks)
    return plain and sum(block.size for block in part.blocks) == part.n_numbers


def _table(block: Tally, least: Array, most: Array, problem: Problem) -> Table:
    """A table of these counts; where that has no end before all records, they are taken to be what is left of these,
    evenly.
    """
    known = most < problem.n_records
    middle = np.where(known, (least + np.where(known, most, 0.0)) / 2.0, least)
    spare = max(0.0, problem.n_records - middle.sum()) / max(1, (~known).sum())
    counts = np.where(known, middle, np.maximum(least, spare + _UNKNOWN))
    shape = [problem.codebook.sizes[j] for j in block.place.variables]
    return Table(block.place.variables, *(each.reshape(shape) for each in (least, most, counts)))
