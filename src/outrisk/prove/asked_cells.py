"""Counts that are not printed: withheld cells of released tables, and cells of tables that were not released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.problem.blocks import Array, Mask, Tally, joint_over
from outrisk.problem.released import Released, TallyPart

MOST_CELLS = 300  # of a table that was not released
_MOST_ASKED = 600  # cells of all such tables


@dataclass(frozen=True, eq=False)
class Table:
    """Cells that are asked about: `labels` (q,), each a total (its position in `total`) of the tallies `blocks`.

    output: the released output that withholds them, '' for a table that was not released. low, high (q,): what the
    output itself says of them. variables: by name.
    """

    name: str
    output: str
    variables: tuple[str, ...]
    labels: tuple[str, ...]
    blocks: tuple[Tally, ...]
    total: NDArray[np.int64]
    low: Array
    high: Array


def withheld_cells(codebook: Codebook, released: Sequence[Released]) -> list[Table]:
    """Counts of released outputs of which a range is known and no number: withheld, or rounded."""
    found = []
    for one in released:
        first = 0
        for part in one.parts:
            if isinstance(part, TallyPart) and (table := _hidden(codebook, one, part, first)):
                found.append(table)
            first += part.n_numbers
    return found


def _hidden(codebook: Codebook, one: Released, part: TallyPart, first: int) -> Table | None:
    formulas = part.formulas
    counts = np.concatenate([np.full(block.size, is_count(block)) for block in part.blocks])
    at = [
        k
        for k, formula in enumerate(formulas)
        if formula.kind == "total"
        and counts[formula.totals[0]]
        and one.low[first + k] < one.high[first + k]
        and (one.low[first + k] <= 1 or np.isfinite(one.high[first + k]))
    ]
    if not at:
        return None
    numbers = first + np.array(at)
    return Table(
        one.name,
        one.name,
        tuple(codebook.names[j] for j in sorted({j for block in part.blocks for j in block.place.variables})),
        tuple(one.labels[number] for number in numbers),
        part.blocks,
        np.array([int(formulas[k].totals[0]) for k in at], dtype=np.int64),
        np.maximum(one.low[numbers], 0.0),
        one.high[numbers],
    )


def is_count(block: object) -> bool:
    """Whether a block counts records."""
    return isinstance(block, Tally) and block.value is None and block.weight is None


def tables_not_released(
    codebook: Codebook, released: Sequence[Released], first: str = "", told: Sequence[Released] = ()
) -> tuple[list[Table], list[str]]:
    """Crosses of two released tables of counts of the same records, by all variables of both, and tables that nobody
    released and of which other outputs tell (`told`); and those not asked.

    Asked are tables that no released one contains, of at most `MOST_CELLS` cells, up to 600 cells in all: those with
    the variable `first` before others, then the smallest.
    """
    by_records: dict[bytes, tuple[Released, tuple[Mask, ...], tuple[set[frozenset[int]], set[frozenset[int]]]]] = {}
    for at, one in [*((0, one) for one in released), *((1, one) for one in told)]:
        for part in one.parts:
            for block in part.blocks if isinstance(part, TallyPart) else ():
                if is_count(block) and block.cell is None and block.place.variables:
                    there = by_records.setdefault(_key(block.masks), (one, block.masks, (set(), set())))
                    there[2][at].add(frozenset(block.place.variables))
    asked: list[Table] = []
    for one, masks, (sets, of_told) in by_records.values():
        largest = [each for each in sets if not any(each < other for other in sets)]
        unions = {a | b for a, b in combinations(largest, 2)}
        unions |= {each for each in of_told if not any(each <= other for other in sets)}
        asked += [_cross(codebook, sorted(each), masks, one.output.where) for each in unions]
    asked.sort(key=lambda table: (first not in table.variables, len(table.labels) or np.inf, table.name))
    chosen, left, cells = [], [], 0
    for table in asked:
        if table.labels and cells + len(table.labels) <= _MOST_ASKED:
            cells += len(table.labels)
            chosen.append(table)
        else:
            left.append(table.name)
    return chosen, left


def _key(masks: Sequence[Mask]) -> bytes:
    return b"|".join(repr(mask.joint.variables).encode() + mask.include.tobytes() for mask in masks)


def _cross(codebook: Codebook, variables: list[int], masks: tuple[Mask, ...], where: str) -> Table:
    """The table by some variables; without cells where it has more than `MOST_CELLS`."""
    place = joint_over(variables, codebook.sizes)
    names = tuple(codebook.names[j] for j in variables)
    name = " x ".join(names) + (f" where {where}" if where else "")
    small = place.size <= MOST_CELLS
    levels = [[f"{each}={label}" for label in codebook[each].labels] for each in names]
    labels = tuple(", ".join(cell) for cell in product(*levels)) if small else ()
    size = len(labels)
    block = Tally(place, place.size, masks=masks)
    return Table(name, "", names, labels, (block,), np.arange(size), np.zeros(size), np.full(size, np.inf))
