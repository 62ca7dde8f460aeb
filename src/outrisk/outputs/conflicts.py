"""Released numbers that no data can have together, found from the numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Array
from outrisk.outputs.conditions.pairs import compare
from outrisk.problem.blocks import variables
from outrisk.problem.released import Released

_SHOWN = 3  # cells of one conflict that are named
_HAIR = 1e-9


@dataclass(frozen=True, eq=False)
class _Counts:
    """How many records of a subset lie where: low and high have an axis for each variable of `by`.

    complete: each record of the subset is counted; else some may be left out (for a missing value).
    """

    output: str
    where: str
    by: tuple[str, ...]
    low: Array
    high: Array
    complete: bool

    def over(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Counts by some of the variables, in codebook order of `names`."""
        others = tuple(axis for axis, name in enumerate(self.by) if name not in names)
        kept = [name for name in self.by if name in names]
        order = [kept.index(name) for name in names]
        return tuple(np.asarray(end.sum(axis=others)).transpose(order) for end in (self.low, self.high))  # type: ignore[return-value]


def conflicts(codebook: Codebook, released: Sequence[Released], n_records: int) -> list[str]:
    """Every contradiction that shows before an evolution: a line each, with outputs, numbers and values named.

    Looked at are: values that no data can have (each kind's own `check`); counts above the number of records; records
    that an output's own subset leaves out; and, of outputs on the same subset or on one that contains the other, the
    numbers of records in each cell of the variables that they have in common. A number known to a range conflicts only
    where ranges cannot meet. An empty list is no proof that the numbers can be met together.
    """
    found = [message for output in released for message in _refused(output)]
    counts = [each for output in released for each in _counts(codebook, output)]
    whole = np.array(float(n_records))
    counts.insert(0, _Counts("the data", "", (), whole, whole, True))
    for each in counts:
        found += _outside(codebook, each)
    contains: dict[tuple[str, str], bool] = {}
    for larger, smaller in permutations(counts, 2):
        place = (larger.where, smaller.where)
        if place not in contains:
            contains[place] = _contains(codebook, *place, smaller.output)
        if larger.complete and contains[place]:
            found += _more(codebook, larger, smaller)
    return list(dict.fromkeys(found))  # cells and margins of one table can tell the same


def _refused(released: Released) -> list[str]:
    try:
        released.output.check(released.low, released.high)
    except OutputError as error:
        return [str(error)]
    return []


def _contains(codebook: Codebook, larger: str, smaller: str, output: str) -> bool:
    if not larger or larger == smaller:
        return True
    try:
        return compare(codebook, larger, smaller, output).contains
    except OutputError:  # supports too large to go through: nothing can be said
        return False


def _more(codebook: Codebook, larger: _Counts, smaller: _Counts) -> list[str]:
    """Cells in which the smaller of two sets of records must have more than the larger can have."""
    common = [name for name in larger.by if name in smaller.by]
    (_, most), (least, _) = larger.over(common), smaller.over(common)
    cells = np.argwhere(np.atleast_1d(least > most + _HAIR))
    if not len(cells):
        return []
    what = [
        f"{least[tuple(cell[: least.ndim])]:,.10g} or more in '{smaller.output}', "
        f"{most[tuple(cell[: most.ndim])]:,.10g} at most in '{larger.output}'"
        for cell in cells[:_SHOWN]
    ]
    same = f"'{smaller.output}' and '{larger.output}' are on the same records"
    nested = f"'{larger.output}' has too few records, and the records of '{smaller.output}' are among the other's"
    text = same if larger.where == smaller.where else nested
    return [f"{text}: {_listed(codebook, common, cells, what)}"]


def _outside(codebook: Codebook, counts: _Counts) -> list[str]:
    """Cells that hold records although the output's subset leaves them out."""
    if not counts.where or not counts.by:
        return []
    pair = compare(codebook, "", counts.where, counts.output)
    names = [codebook.names[j] for j in pair.joint.variables]
    common = [name for name in names if name in counts.by]
    others = tuple(axis for axis, name in enumerate(names) if name not in counts.by)
    include = pair.second.reshape([codebook[name].size for name in names])
    least, _ = counts.over(common)
    cells = np.argwhere((least > _HAIR) & ~include.any(axis=others)) if common else np.zeros((0, 0), np.int64)
    if not len(cells):
        return []
    what = [f"{least[tuple(cell)]:,.10g} or more" for cell in cells[:_SHOWN]]
    return [
        f"'{counts.output}' has records that its subset, {counts.where}, leaves out: "
        f"{_listed(codebook, common, cells, what)}"
    ]


def _listed(codebook: Codebook, names: Sequence[str], cells: NDArray[Any], what: Sequence[str]) -> str:
    """The first cells of a conflict, each with what is wrong there."""
    shown = [f"{_place(codebook, names, cell)}: {text}" for cell, text in zip(cells, what, strict=False)]
    return "; ".join(shown) + (f"; and {len(cells) - _SHOWN:,} more" if len(cells) > _SHOWN else "")


def _place(codebook: Codebook, names: Sequence[str], cell: NDArray[Any]) -> str:
    words = [f"{name}={codebook[name].labels[level]}" for name, level in zip(names, cell, strict=False)]
    return ", ".join(words) or "records in all"


def _counts(codebook: Codebook, released: Released) -> list[_Counts]:
    """All that an output says about numbers of records, a set of cells at a time."""
    output, found = released.output, list(released.output.counts(released.low, released.high))
    levels = {name for each in found for name in each.by}  # there a missing value is a cell of its own
    used = {codebook.variables[j] for block in released.blocks for j in variables(block)}
    complete = all(variable.name in levels for variable in used if variable.missing)
    return [_Counts(output.name, output.where, each.by, each.low, each.high, complete) for each in found]
