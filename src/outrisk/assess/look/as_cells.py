"""What is known of the cells of a table by all tables that divide the same people, whatever subsets these are of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.known import Array, Kind, shape
from outrisk.assess.look.printed import Numbers, places
from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import joint_for
from outrisk.outputs.conditions.pairs import compare

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
    others = [each for each in numbers.closed if each.where != kind.where and replace(each, where=kind.where) == kind]
    for other in _may_be_made_of(numbers, kind, by, others, data):
        for known in numbers.closed[other].values():
            for cells, parts in _made_of(numbers.codebook, kind.where, by, other.where, known.by):
                low[cells] = np.fmax(low[cells], known.low.ravel()[parts].sum(axis=1))
                high[cells] = np.fmin(high[cells], known.high.ravel()[parts].sum(axis=1))
    return low, high


def _may_be_made_of(
    numbers: Numbers, kind: Kind, by: Sequence[str], others: Sequence[Kind], data: Microdata
) -> Iterator[Kind]:
    """The other subsets that all records of some cell are in, which takes less than to ask it of any data."""
    if not others:
        return
    rows = numbers.records(kind, data)
    place = places(data, by, rows)
    sizes = np.bincount(place)
    for other in others:
        inside = numbers.inside(other, data)
        if ((sizes > 0) & (np.bincount(place[inside[rows]], minlength=len(sizes)) == sizes)).any():
            yield other


def _made_of(
    codebook: Codebook, where: str, by: Sequence[str], other: str, names: Sequence[str]
) -> Iterator[tuple[_Places, _Places]]:
    """Cells by some variables of a subset (b,), each with those of a table of another (b, parts) that are it in any
    data, together.

    What is so of one level of a variable that divides both tables, and that no subset names, is so of all its levels.
    """
    try:
        pair = compare(codebook, where, other, "")
        asked = {codebook.names[at] for at in pair.joint.variables}
        alike = [name for name in by if name in names and name not in asked]
        apart, of_parts = ([name for name in each if name not in alike] for each in (by, names))
        if any(codebook[name].size > 1 and name not in asked for name in apart if name not in names):
            return  # a part has all levels of a variable that divides the cells
        joint = joint_for(codebook, sorted({*asked, *apart, *of_parts}, key=codebook.index), "")
    except OutputError:
        return
    levels = np.indices([codebook.sizes[at] for at in joint.variables]).reshape(len(joint.variables), joint.size)
    codes = {codebook.names[at]: each for at, each in zip(joint.variables, levels, strict=True)}
    at = tuple(codes[codebook.names[each]] for each in pair.joint.variables)
    first, second = (
        np.where(np.broadcast_to(flags, pair.sizes)[at], _places(codebook, each, codes, joint.size), -1)
        for flags, each in ((pair.one, apart), (pair.other, of_parts))
    )
    cells, parts = (
        (_within(codebook, each, one), _within(codebook, each, alike)) for each, one in ((by, apart), (names, of_parts))
    )
    for cell, some in _whole(first, second):
        yield cells[0][cell] + cells[1], parts[0][some] + parts[1][:, None]


def _whole(first: _Places, second: _Places) -> Iterator[tuple[int, _Places]]:
    """Places in a first division of combinations (combinations,), each with those in a second that together are it; -1
    is none of these.
    """
    both, together = np.unique((first + 1) * (second.max() + 2) + second + 1, return_counts=True)
    pairs = np.stack(np.divmod(both, second.max() + 2)) - 1
    size = np.bincount(second + 1)[1:]
    for cell in np.unique(first[first >= 0]).tolist():
        parts, shared = pairs[1, pairs[0] == cell], together[pairs[0] == cell]
        if (parts >= 0).all() and (size[parts] == shared).all():
            yield cell, parts


def _places(codebook: Codebook, names: Sequence[str], codes: dict[str, _Places], n: int) -> _Places:
    found = [codes[name] for name in names]
    return np.ravel_multi_index(found, shape(codebook, names)) if names else np.zeros(n, dtype=np.int64)


def _within(codebook: Codebook, names: Sequence[str], some: Sequence[str]) -> _Places:
    """Where combinations of some variables of a table stand in it, at the first level of its others (combinations,)."""
    sizes = shape(codebook, names)
    first = np.arange(int(np.prod(sizes))).reshape(sizes)[tuple(slice(None if name in some else 1) for name in names)]
    left = [name for name in names if name not in some]
    return np.transpose(first, [list(names).index(name) for name in [*some, *left]]).ravel()
