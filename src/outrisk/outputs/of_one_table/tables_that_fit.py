"""All tables of whole numbers that fit what is printed of their cells and sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.problem.blocks import Array

MOST_TABLES = 1_000_000  # tables that fit, of which each is to be held against something
_ARITHMETIC = 1e-9  # share of a number that its computation may be off by
_ROUNDS = 100
_MOST_NUMBERS = 30_000_000  # their cells

Counts = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Printed:
    """What outputs print of the cells of a table, in its shape: ranges of them, of `sums` over some of its axes (`kept`
    are the others), and of sums of `some` of its cells. `outputs` say so; `whole`: one of them prints the table itself.
    """

    low: Array
    high: Array
    sums: tuple[tuple[tuple[int, ...], Array, Array], ...]
    outputs: tuple[str, ...]
    whole: bool
    some: tuple[tuple[NDArray[np.bool_], float, float], ...] = ()

    def ranges(self) -> tuple[Array, Array]:
        """From where to where each cell may lie, by the ranges of each sum and of the other cells in it; not always the
        narrowest.
        """
        low, high = np.ceil(self.low), np.floor(self.high)
        for _ in range(_ROUNDS):
            before = low.copy(), high.copy()
            for kept, least, most in self.sums:
                over = tuple(axis for axis in range(low.ndim) if axis not in kept)
                of = [np.expand_dims(each, over) for each in (least, most)]
                rest = [each.sum(axis=over, keepdims=True) - each for each in (low, high)]
                low, high = np.maximum(low, of[0] - rest[1]), np.minimum(high, of[1] - rest[0])
            for cells, fewest, largest in self.some:
                low, high = (
                    np.where(cells, np.maximum(low, fewest - (high[cells].sum() - high)), low),
                    np.where(cells, np.minimum(high, largest - (low[cells].sum() - low)), high),
                )
            if all(np.array_equal(*pair) for pair in zip(before, (low, high), strict=True)):
                break
        return low, high


@dataclass(frozen=True, eq=False)
class Shares:
    """What is known of shares of people with an outcome. cells (G, 2): of each group the one without it and the one
    with it, in the order in which groups are best filled. between(g, others): from where to where (b,) the share of
    group g may lie, given the shares (b,) of some others. number(g, others, share): from where to where (b,) its people
    may be, given those without and with the outcome (b,) of some others, and the range (b,) of its share.
    """

    cells: NDArray[np.int64]
    between: Callable[[int, Mapping[int, Array]], tuple[Array, Array]]
    number: Callable[[int, Mapping[int, tuple[Array, Array]], tuple[Array, Array]], tuple[Array, Array]] | None = None

    def of_cell(self, cell: int, beside: _Beside) -> tuple[Array, Array]:
        """From where to where (b,) a cell may lie beside others."""
        if not (self.cells == cell).any():
            return np.zeros(1), np.full(1, np.inf)
        (group,), (side,) = np.nonzero(self.cells == cell)
        counts = {g: [beside.count(each) for each in pair] for g, pair in enumerate(self.cells.tolist()) if g != group}
        with np.errstate(all="ignore"):
            known = {g: (none, some) for g, (none, some) in counts.items() if none is not None and some is not None}
            shares = {g: some / (none + some) for g, (none, some) in known.items()}
            share = tuple(np.clip(each, 0.0, 1.0) for each in self.between(int(group), shares))
            low, high = share if side else (1.0 - share[1], 1.0 - share[0])
            other = int(self.cells[group, 1 - side])
            if (number := beside.count(other)) is None:
                least, most = beside.size(cell, other)
                if self.number:
                    fewest, largest = self.number(int(group), known, (share[0], share[1]))
                    least, most = np.fmax(least, fewest), np.fmin(most, largest)
                none = least > most
                low, high = np.where(none, 1.0, least * low), np.where(none, 0.0, most * high)
            else:
                low, high = number * low / (1.0 - low), number * high / (1.0 - high)
        low, high = np.fmax(low, 0.0), np.where(np.isnan(high), np.inf, high)
        return np.ceil(low - _ARITHMETIC * np.maximum(low, 1.0)), np.floor(high + _ARITHMETIC * np.maximum(high, 1.0))


@dataclass(frozen=True, eq=False)
class _Beside:
    """Tables as far as they are filled, in `order`: cells that are all known (`least`), then those of `tables` (b,
    filled). Of each sum what is in it (b, sums), its range, and what the cells behind the next one may bring (sums,);
    `places` say of each cell in which sum it is.
    """

    least: Array
    greatest: Array
    order: NDArray[np.intp]
    tables: Counts
    places: Sequence[NDArray[np.intp]]
    sums: Array
    sums_low: Array
    sums_high: Array
    rest_low: Array
    rest_high: Array

    def count(self, cell: int) -> Array | None:
        """The count (b,) of a cell, or (1,) where it is known; None where it is still open."""
        at = np.flatnonzero(self.order == cell)
        behind = int(at[0]) - (len(self.order) - self.tables.shape[1]) if len(at) else 0
        if not len(at):
            return None
        return self.least[[cell]] if behind < 0 else self.tables[:, behind].astype(np.float64)

    def size(self, cell: int, other: int) -> tuple[Array, Array]:
        """The range (b,) of the sum of the next cell and one behind it."""
        low, high = (np.full(len(self.tables), each[[cell, other]].sum()) for each in (self.least, self.greatest))
        for at in (int(at[cell]) for at in self.places if at[cell] == at[other]):
            low = np.maximum(low, self.sums_low[at] - self.sums[:, at] - (self.rest_high[at] - self.greatest[other]))
            high = np.minimum(high, self.sums_high[at] - self.sums[:, at] - (self.rest_low[at] - self.least[other]))
        return low, high


def tables_that_fit(printed: Printed, shares: Sequence[Shares] = (), most: int = MOST_TABLES) -> Counts | None:
    """All tables of whole numbers (b, *shape) in these ranges, without some that `shares` rule out; None where there
    are more than `most`.

    Cell by cell, each with every number that leaves each sum within its range, whatever the cells after it are.
    """
    shape = printed.low.shape
    cells = np.indices(shape).reshape(len(shape), -1)
    others = ([least, -np.inf] for _, least, _ in printed.some), ([most, np.inf] for _, _, most in printed.some)
    sums_low = np.concatenate([np.zeros(0), *(low.ravel() for _, low, _ in printed.sums), *others[0]])
    sums_high = np.concatenate([np.zeros(0), *(high.ravel() for _, _, high in printed.sums), *others[1]])
    places, start = [], 0
    for kept, low, _ in printed.sums:
        at = np.ravel_multi_index(tuple(cells[list(kept)]), low.shape) if kept else np.zeros(cells.shape[1], np.intp)
        places.append(start + at)
        start += low.size
    for within, _, _ in printed.some:
        places.append(np.where(within.ravel(), start, start + 1))  # a sum of its own, and one of which nothing is known
        start += 2
    least, greatest = (each.ravel() for each in printed.ranges())
    if (least > greatest).any():
        return np.zeros((0, *shape), dtype=np.int32)
    turn = np.full(len(least), -1)
    for each in shares:
        turn[each.cells] = np.arange(each.cells.size).reshape(each.cells.shape)
    order = np.lexsort((turn, least < greatest))  # what is known first
    known, open_ = np.split(order, [int((least >= greatest).sum())])
    sums = np.zeros((1, len(sums_low)))
    rest_low, rest_high = np.zeros(len(sums_low)), np.zeros(len(sums_low))  # of the cells to come, in each sum
    for at in places:
        np.add.at(sums[0], at[known], least[known])
        np.add.at(rest_low, at[open_], least[open_])
        np.add.at(rest_high, at[open_], greatest[open_])
    fits = (sums + rest_low <= sums_high).all() and (sums + rest_high >= sums_low).all()
    tables: Counts = np.zeros((int(fits), 0), dtype=np.int32)
    sums = sums[: len(tables)]
    for filled, cell in enumerate(open_.tolist(), len(known)):
        of = [int(at[cell]) for at in places]
        rest_low[of] -= least[cell]
        rest_high[of] -= greatest[cell]
        fewest = np.maximum(least[cell], (sums_low[of] - sums[:, of] - rest_high[of]).max(axis=1, initial=-np.inf))
        largest = np.minimum(greatest[cell], (sums_high[of] - sums[:, of] - rest_low[of]).min(axis=1, initial=np.inf))
        beside = _Beside(
            least, greatest, order[:filled], tables, places, sums, sums_low, sums_high, rest_low, rest_high
        )
        for each in shares:
            ends = each.of_cell(cell, beside)
            fewest, largest = np.maximum(fewest, ends[0]), np.minimum(largest, ends[1])
        width = np.maximum(largest - fewest + 1, 0).astype(np.int64)
        if width.sum() > most or width.sum() * max(len(least), len(sums_low)) > _MOST_NUMBERS:
            return None
        row = np.repeat(np.arange(len(tables)), width)
        value = np.arange(len(row)) - np.repeat(np.cumsum(width) - width, width) + fewest[row]
        tables = np.column_stack([tables[row], value.astype(np.int32)])
        sums = sums[row]
        sums[:, of] += value[:, None]
    found = np.tile(least.astype(np.int32), (len(tables), 1))
    found[:, open_] = tables
    return found.reshape(-1, *shape)
