"""What is known of the cells of a table by all tables that divide the same people, whatever subsets these are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.known import Array, Kind, shape
from outrisk.assess.look.printed import Numbers, places
from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Subset, joint_for, support_frame

_Places = NDArray[np.int64]


def known_of_cells(numbers: Numbers, kind: Kind, by: Sequence[str], data: Microdata) -> tuple[Array, Array]:
    """From where to where each number of a kind lies, by cell of some variables (cells,), the last running fastest.

    A table of another subset counts where some of its cells together are all that a cell is: of sectors, say, beside
    the sum of those where the sector is one. It is worked out once.
    """
    key = kind, tuple(by)
    if key not in numbers.of_cells:
        numbers.of_cells[key] = _known_of_cells(numbers, kind, by, data)
    low, high = numbers.of_cells[key]
    return low.copy(), high.copy()


def _known_of_cells(numbers: Numbers, kind: Kind, by: Sequence[str], data: Microdata) -> tuple[Array, Array]:
    n = int(np.prod(shape(numbers.codebook, by)))
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    own = numbers.over(kind, sorted(by, key=numbers.codebook.index))
    if own is not None:
        order = [own.by.index(name) for name in by]
        low, high = (np.transpose(end, order).flatten() for end in (own.low, own.high))
    for other, tables in numbers.closed.items():
        if other.where != kind.where and replace(other, where=kind.where) == kind:
            if not _may_be_made_of(numbers, kind, by, other, data):
                continue
            for known in tables.values():
                for cell, parts in _made_of(numbers.codebook, kind.where, tuple(by), other.where, known.by):
                    low[cell] = max(low[cell], known.low.ravel()[parts].sum())
                    high[cell] = min(high[cell], known.high.ravel()[parts].sum())
    return low, high


def _may_be_made_of(numbers: Numbers, kind: Kind, by: Sequence[str], other: Kind, data: Microdata) -> bool:
    """Whether all records of some cell are in another subset, which takes less than to ask it of any data."""
    rows, inside = numbers.records(kind, data), np.zeros(len(data), np.bool_)
    inside[numbers.records(other, data)] = True
    place = places(data, by, rows)
    sizes = np.bincount(place)
    return bool(((sizes > 0) & (np.bincount(place[inside[rows]], minlength=len(sizes)) == sizes)).any())


@lru_cache(maxsize=4_096)  # of counts and of sums, of many pairs of subsets
def _made_of(
    codebook: Codebook, where: str, by: tuple[str, ...], other: str, names: tuple[str, ...]
) -> tuple[tuple[int, _Places], ...]:
    """Cells by some variables of a subset, each with those of a table of another that are it in any data, together."""
    try:
        subsets = [Subset(codebook, each, "") for each in (where, other)]
        named = {*by, *names, *(name for each in subsets for name in each.variables)}
        joint = joint_for(codebook, sorted(named, key=codebook.index), "")
    except OutputError:
        return ()
    frame = support_frame(codebook, joint)
    levels = np.indices([codebook.sizes[at] for at in joint.variables]).reshape(len(joint.variables), -1)
    codes = {codebook.names[at]: each for at, each in zip(joint.variables, levels, strict=True)}
    first, second = (
        np.where(np.isin(frame.index, subset.select(frame).index), _places(codebook, each, codes, joint.size), -1)
        for subset, each in zip(subsets, (by, names), strict=True)
    )
    both, together = np.unique((first + 1) * (second.max() + 2) + second + 1, return_counts=True)
    pairs = np.stack(np.divmod(both, second.max() + 2)) - 1
    sizes = [dict(zip(*np.unique(each, return_counts=True), strict=True)) for each in (first, second)]
    found = list[tuple[int, _Places]]()
    for cell in np.unique(first[first >= 0]):
        parts, shared = pairs[1, pairs[0] == cell], together[pairs[0] == cell]
        if (parts >= 0).all() and all(sizes[1][part] == size for part, size in zip(parts, shared, strict=True)):
            found.append((int(cell), parts))
    return tuple(found)


def _places(codebook: Codebook, names: Sequence[str], codes: dict[str, _Places], n: int) -> _Places:
    found = [codes[name] for name in names]
    return np.ravel_multi_index(found, shape(codebook, names)) if names else np.zeros(n, dtype=np.int64)
