"""Columns of a programme: how many people there are of each kind, in the tables that were chosen for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.codebook import Codebook
from outrisk.problem.blocks import Array
from outrisk.problem.released import Released
from outrisk.prove.arranged import named
from outrisk.prove.constraints import Codes
from outrisk.prove.junction_tree import Table


@dataclass(frozen=True, eq=False)
class Further:
    """A further table of the same people, in `columns` of a programme, by variables of which few are in others.

    Its sums agree with those of a table before it, in the columns `parent`, by what both have: cell (columns,) and
    parent_cell (parent columns,) say which sum each is in. The tables are a junction tree: counts that agree so are
    those of some data set. sizes: people of each of its groups. outputs: names of those that it is for.
    """

    columns: slice
    parent: slice
    cell: Codes
    parent_cell: Codes
    sizes: Codes
    outputs: tuple[str, ...]

    @property
    def n_cells(self) -> int:
        """Sums in which the two tables agree."""
        return int(self.cell.max()) + 1

    def tied(self, width: int) -> sparse.csr_array:
        """The sums of the parent less those here, (cells, width)."""
        row = np.concatenate([self.parent_cell, self.cell])
        column = np.concatenate([np.arange(at.start, at.stop) for at in (self.parent, self.columns)])
        sign = np.repeat([1.0, -1.0], [len(self.parent_cell), len(self.cell)])
        return sparse.csr_array((sign, (row, column)), shape=(self.n_cells, width))


@dataclass(frozen=True, eq=False)
class KindsOfPeople:
    """Columns of the tables of some people, from `first` on.

    first_table: the columns of the first, by groups of people with the same of what is known: groups (m,), the group of
    each person, sizes (G,), people in each; `unknown` variables with their codes in each of its kinds (U, unknown).
    codes (columns, variables), group and most (columns,): of all tables. of_output: the columns that each is about.
    """

    first_table: slice
    groups: NDArray[np.int64]
    sizes: Codes
    unknown: tuple[str, ...]
    kinds: Codes
    codes: Codes
    group: Codes
    most: Array
    further: tuple[Further, ...]
    of_output: Mapping[str, slice]


def kinds_of_people(
    codebook: Codebook,
    tables: Sequence[Table],
    known: Mapping[str, Codes],
    people: int,
    outputs: Sequence[Released],
    first: int = 0,
) -> KindsOfPeople:
    """The columns, from `first` on, of tables of so many people, of whom `known` (people,) is known."""
    names = [[name for name in codebook.names if codebook.index(name) in each.variables] for each in tables]
    keys = sorted(name for name in names[0] if name in known)
    distinct, groups, sizes = _grouped(np.column_stack([known[name] for name in keys]) if keys else None, people)
    parts = [_part(codebook, distinct, keys, sizes, names[0])]
    for each in names[1:]:
        some = [name for name in keys if name in each]
        here = distinct[:, [keys.index(name) for name in some]]
        fewer, group, _ = _grouped(here if some else None, len(distinct))
        parts.append(_part(codebook, fewer, some, np.bincount(group, sizes).astype(np.int64), each))
    ends = first + np.cumsum([0, *(len(part.codes) for part in parts)])
    places = [slice(int(start), int(end)) for start, end in pairwise(ends)]
    of_output = {}
    for one in outputs:
        of_it = [at for at, each in zip(places, tables, strict=True) if named(one) <= each.variables]
        of_output[one.name] = min(of_it, key=lambda at: at.stop - at.start)
    further = []
    for table, part, place in zip(tables[1:], parts[1:], places[1:], strict=True):
        cells = cells_of(part.codes, parts[table.parent].codes, sorted(table.shared))
        here_too = tuple(name for name, at in of_output.items() if at == place)
        further.append(Further(place, places[table.parent], *cells, part.sizes, here_too))
    starts = np.cumsum([0, *(len(part.sizes) for part in parts)])
    unknown = tuple(name for name in names[0] if name not in keys)
    return KindsOfPeople(
        places[0],
        groups,
        sizes,
        unknown,
        _kinds(codebook, unknown),
        np.concatenate([part.codes for part in parts]),
        np.concatenate([start + part.group for start, part in zip(starts[:-1], parts, strict=True)]),
        np.concatenate([part.sizes[part.group] for part in parts]).astype(np.float64),
        tuple(further),
        of_output,
    )


def _grouped(table: Codes | None, people: int) -> tuple[Codes, Codes, Codes]:
    """The different rows of what is known of people, of each person which it is, and people of each."""
    if table is None:  # takes no memory, however many they are
        return np.zeros((1, 0), np.int64), np.broadcast_to(np.int64(0), people), np.array([people], np.int64)
    distinct, groups, sizes = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    return distinct.astype(np.int64), groups.ravel().astype(np.int64), sizes.astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Part:
    """A table: codes (columns, variables) and group (columns,) of each column, sizes of the groups."""

    codes: Codes
    group: Codes
    sizes: Codes


def _part(codebook: Codebook, distinct: Codes, keys: Sequence[str], sizes: Codes, names: Sequence[str]) -> _Part:
    """The table of some variables, by groups of people that have `distinct` (groups, keys)."""
    unknown = [name for name in names if name not in keys]
    kinds = _kinds(codebook, unknown)
    codes = np.full((len(distinct) * len(kinds), len(codebook.variables)), -1, dtype=np.int64)
    codes[:, [codebook.index(name) for name in keys]] = np.repeat(distinct, len(kinds), axis=0)
    codes[:, [codebook.index(name) for name in unknown]] = np.tile(kinds, (len(distinct), 1))
    return _Part(codes, np.repeat(np.arange(len(sizes)), len(kinds)), sizes)


def _kinds(codebook: Codebook, names: Sequence[str]) -> Codes:
    """Every combination of codes of some variables, (kinds, variables); of none, one."""
    kinds = list(product(*(range(codebook[name].size) for name in names)))
    return np.array(kinds, dtype=np.int64).reshape(len(kinds), len(names))


def cells_of(codes: Codes, others: Codes, shared: Sequence[int]) -> tuple[Codes, Codes]:
    """Of each of some kinds, and of some others, the cell by variables `shared` that it is in, numbered alike."""
    both = np.concatenate([codes, others])
    cell = np.unique(both[:, shared], axis=0, return_inverse=True)[1].ravel() if shared else np.zeros(len(both))
    return cell[: len(codes)].astype(np.int64), cell[len(codes) :].astype(np.int64)
