"""Means that other outputs than tables tell, such as a regression of categories or a difference: the rules of tables,
held against how many digits they are told to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import Cell, all_alike, dominated
from outrisk.assess.look.finding import Found
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array

_MANY = 100  # records of a cell that are looked at in short first


@dataclass(frozen=True, eq=False)
class Mean:
    """The records of a cell, how far what is printed of their mean may be from it, and how many records more it may be
    of, as far as a reader knows: 0 where whoever reads the mean off has counted them.
    """

    cell: Cell
    half: float
    more: float = 0.0

    @property
    def blur(self) -> float:
        """How far the sum may be from it."""
        more = self.more * float(self.cell.values.mean()) if self.more else 0.0
        return self.half * len(self.cell.rows) + more


def told_by_means(
    output: str, value: str, means: Sequence[Mean], support: Array, data: Microdata, appetite: Appetite
) -> Iterator[Found]:
    """Cells of one person, cells whose mean is at an end of what the value can be (`support`, ascending), and cells
    that break a rule of dominance.

    Certain is what no other values of the support are printed as: a value has the next one further away than twice the
    half digit, and one person at the next value would move a mean that is at an end by more than that.
    """
    for certain in (True, False):
        of_one = [each.cell for each in means if _one(each, data) and _pinned(each, support, 1) == certain]
        at_end = [
            each.cell
            for each in means
            if not _one(each, data)
            and _at_an_end(each, support)
            and _pinned(each, support, len(each.cell.rows)) == certain
        ]
        if of_one or at_end:
            yield all_alike(output, value, [*of_one, *at_end], data, certain)
    others = [each for each in means if not _one(each, data) and _may_break(each.cell, data, appetite)]
    yield from dominated(output, value, [each.cell for each in others], [each.blur for each in others], appetite)


def _one(mean: Mean, data: Microdata) -> bool:
    """Whether it is of one person, with one value."""
    return bool(mean.cell.values[0] == mean.cell.values[-1]) and mean.cell.people == 1


def _at_an_end(mean: Mean, support: Array) -> bool:
    values = mean.cell.values
    return bool(values[0] == values[-1] and len(support) > 1 and values[0] in support[[0, -1]])


def _pinned(mean: Mean, support: Array, records: int) -> bool:
    """Whether the mean would be printed otherwise if one of so many records had the next value."""
    apart = np.abs(support - mean.cell.values[0])
    return bool(apart[apart > 0].min(initial=np.inf) > 2.0 * mean.half * records)


def _may_break(cell: Cell, data: Microdata, appetite: Appetite) -> bool:
    """Whether the largest values of a cell of many are so much of it that a rule of dominance can be broken; where a
    person may have several records it is not asked.
    """
    most = max(2, appetite.safe_nk_n)
    if data.person is not None or len(cell.values) <= _MANY:
        return True
    largest = np.sort(np.partition(np.abs(cell.values), -most)[-most:])[::-1]
    total = float(np.abs(cell.values).sum())
    few = float(largest[: appetite.safe_nk_n].sum()) > 0.99 * appetite.safe_nk_k * total
    return few or total - float(largest[:2].sum()) < 1.01 * appetite.safe_pratio_p * float(largest[0])
