"""Equivalence classes: keys x target counted once for several tables, under one coding.

Every attribution measure is a few lines on the counts made here. Records with the same values of all keys are one
equivalence class q; within it, the records with the same target value t are one cell (q, t). Only cells that occur in
some table are kept, so a target with many values costs no dense matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import MISSING, Variable, format_value
from outrisk.errors import RiskError, did_you_mean
from outrisk.microdata import MISSING_VALUES, Microdata

Counts = NDArray[np.int64]
Positions = NDArray[np.intp]
Floats = NDArray[np.float64]

ORIGINAL, SYNTHETIC, HOLDOUT = "original", "synthetic", "holdout"  # names of tables
SIDES = (ORIGINAL, HOLDOUT)  # those that are attacked

_OVERFLOW = 2**62  # combined codes are signed 64-bit integers
_DENSE_CELLS = 2**22  # largest table of counts that is made dense: 32 MiB a table
_DENSE_PER_RECORD = 16  # beyond this many possible cells a record, sorting the records is quicker than a dense table
_KEPT_RECORDS, _KEPT_SETS = 50_000, 64  # of all tables: 400 kB a key set


@dataclass(frozen=True, eq=False)
class Coding:
    """Several tables under one coding; the records of the tables stand after one another.

    `columns[j]` has shape (n_records of all tables,) and holds positions in `labels[j]`.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]  # each variable's levels as text, those of all tables together
    columns: tuple[NDArray[np.int32], ...]
    lengths: Mapping[str, int]  # table -> number of records, in the order of the records
    missing: Mapping[str, int] = field(default_factory=dict)  # variable -> position of its missing level, if it has one
    values: Mapping[str, Floats] = field(default_factory=dict)  # numeric variable -> number of each level
    together: Mapping[str, Positions] = field(default_factory=dict)  # table -> see `Microdata`; none: each for itself
    crossed: dict[tuple[str, ...], Equivalence] = field(default_factory=dict, init=False, repr=False)  # see `cross`

    def rows(self) -> dict[str, slice]:
        """Where each table's records stand."""
        slices, start = {}, 0
        for table, length in self.lengths.items():
            slices[table] = slice(start, start + length)
            start += length
        return slices

    def apart(self, table: str) -> int:
        """How many may be sampled apart from each other: people or households where these are known, else records."""
        return len(np.unique(self.together[table])) if table in self.together else self.lengths[table]

    def only(self, names: Sequence[str]) -> Coding:
        """The same tables with these variables alone; nothing is copied."""
        at = [self.names.index(name) for name in names]
        return replace(
            self,
            names=tuple(names),
            labels=tuple(self.labels[j] for j in at),
            columns=tuple(self.columns[j] for j in at),
        )

    def beside(self, synthetic: Microdata) -> Coding:
        """The same tables and a synthetic one of the same codebook, after the original; it alone is coded."""
        check_table(SYNTHETIC, len(synthetic), synthetic.codebook.names, self.names)
        first = self.lengths[ORIGINAL]
        columns = tuple(
            np.concatenate([column[:first], synthetic.codes[:, j], column[first:]], dtype=np.int32, casting="safe")
            for column, j in zip(self.columns, map(synthetic.codebook.index, self.names), strict=True)
        )
        lengths = {ORIGINAL: first, SYNTHETIC: len(synthetic), **self.lengths}
        return replace(self, columns=columns, lengths=lengths)


@dataclass(frozen=True, eq=False)
class Equivalence:
    """Counts of one key set x target in several tables, over the cells that occur in at least one of them.

    Cells are ordered by class, then by target code; classes are numbered from 0 without gaps.
    """

    cell_class: Positions  # (n_cells,)
    cell_target: Positions  # (n_cells,) codes of the target
    counts: Mapping[str, Counts]  # table -> (n_cells,) records in the cell
    class_counts: Mapping[str, Counts]  # table -> (n_classes,) records in the class
    records: Mapping[str, Positions]  # table -> (n_records,) cell of each record
    together: Mapping[str, Positions] = field(default_factory=dict)  # table -> (n_records,), see `Microdata`
    _totals: dict[str, Counts] = field(default_factory=dict, init=False, repr=False)
    _shares: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)

    def class_totals(self, table: str) -> Counts:
        """For each cell, the number of the table's records in its class; shape (n_cells,)."""
        if table not in self._totals:
            self._totals[table] = self.class_counts[table][self.cell_class]
        return self._totals[table]

    def shares(self, table: str) -> Floats:
        """Share of the table's records of the class that are in the cell, (n_cells,); 0 where the class is empty."""
        if table not in self._shares:
            counts, totals = self.counts[table], self.class_totals(table)
            self._shares[table] = np.divide(counts, totals, out=np.zeros(len(counts)), where=totals > 0)
        return self._shares[table]

    def n_records(self, table: str) -> int:
        """Number of records of a table."""
        return len(self.records[table])

    def apart(self, table: str) -> int:
        """As `Coding.apart`."""
        return len(np.unique(self.together[table])) if table in self.together else self.n_records(table)

    def members(self, table: str) -> tuple[Positions, Positions] | None:
        """The cell of each record, and whom it goes together with; None where each is for itself."""
        return (self.records[table], self.together[table]) if table in self.together else None


def code_microdata(tables: Mapping[str, Microdata], names: Sequence[str]) -> Coding:
    """Take the named variables of tables that share a codebook; their codes are used as they are."""
    codebook = next(iter(tables.values())).codebook
    for table, data in tables.items():
        if data.codebook is not codebook and data.codebook != codebook:
            raise RiskError(
                f"{table}: its codebook differs from that of {next(iter(tables))}; encode all with one codebook"
            )
        check_table(table, len(data), codebook.names, names)
    positions = [codebook.index(name) for name in names]
    return Coding(
        names=tuple(names),
        labels=tuple(tuple(codebook.variables[j].labels) for j in positions),
        columns=tuple(
            np.concatenate([data.codes[:, j] for data in tables.values()], dtype=np.int32, casting="safe")
            for j in positions
        ),
        lengths={table: len(data) for table, data in tables.items()},
        missing={name: len(codebook[name].labels) - 1 for name in names if codebook[name].missing},
        values={name: numbers_of(codebook[name]) for name in names if codebook[name].numeric},
        together={table: data.together for table, data in tables.items() if data.together is not None},
    )


def numbers_of(variable: Variable) -> Floats:
    """The number of each level of a numeric variable, (levels,); NaN the missing one."""
    return np.array([*variable.values, *([np.nan] if variable.missing else [])], dtype=float)


def code_frames(tables: Mapping[str, pd.DataFrame], names: Sequence[str]) -> Coding:
    """Code the named columns of data frames of any origin.

    Two values are the same when they read the same as text (2, 2.0 and '2' do; '2.0' as text does not). Missing values
    (NaN, None, and the texts of `outrisk.microdata.MISSING_VALUES`) are one level of their own, which matches itself.
    A level may occur in one table only.
    """
    for table, frame in tables.items():
        check_table(table, len(frame), list(frame.columns), names)
    labels, columns = [], []
    for name in names:
        levels, codes = _code_columns([frame[name] for frame in tables.values()])
        labels.append(levels)
        columns.append(codes)
    return Coding(tuple(names), tuple(labels), tuple(columns), {table: len(frame) for table, frame in tables.items()})


def cross(coding: Coding, keys: Sequence[str], target: str, dense: bool | None = None) -> Equivalence:
    """Count keys x target in every table of a coding.

    `dense` chooses between counting in a table of all possible cells, O(n_records + possible cells), and sorting the
    records, O(n_records log n_records); by default whichever is quicker. Both give the same result. Several measures
    ask for the same counts: of small tables they are kept with the coding.
    """
    check_keys(coding.names, keys, target)
    asked = (*keys, target)
    if dense is not None or asked not in coding.crossed:
        found = _crossed(coding, asked, dense)
        if dense is not None or sum(coding.lengths.values()) > _KEPT_RECORDS or len(coding.crossed) >= _KEPT_SETS:
            return found
        coding.crossed[asked] = found
    return coding.crossed[asked]


def _crossed(coding: Coding, names: Sequence[str], dense: bool | None) -> Equivalence:
    """Records by their values of all variables named, of which the last is the target."""
    chosen = [coding.names.index(name) for name in names]
    code, possible = combined_code([coding.columns[j] for j in chosen], [len(coding.labels[j]) for j in chosen])
    if dense is None:
        dense = possible <= min(_DENSE_CELLS, _DENSE_PER_RECORD * len(code))
    rows = coding.rows()
    if dense:
        tables = {table: np.bincount(code[at], minlength=possible) for table, at in rows.items()}
        occupied = np.flatnonzero(reduce(np.bitwise_or, tables.values()))  # counts are not negative
        counts = {table: table_counts[occupied] for table, table_counts in tables.items()}
        cell_of = np.empty(possible, dtype=np.intp)
        cell_of[occupied] = np.arange(len(occupied))
        cells = cell_of[code]
    else:
        occupied, cells = np.unique(code, return_inverse=True)
        counts = {table: np.bincount(cells[at], minlength=len(occupied)) for table, at in rows.items()}
    classes, targets = np.divmod(occupied, len(coding.labels[chosen[-1]]))
    opens = np.concatenate(([True], classes[1:] != classes[:-1]))
    starts = np.flatnonzero(opens)
    return Equivalence(
        cell_class=np.cumsum(opens) - 1,
        cell_target=targets.astype(np.intp),
        counts=counts,
        class_counts={table: np.add.reduceat(cell_counts, starts) for table, cell_counts in counts.items()},
        records={table: cells[at] for table, at in rows.items()},
        together=coding.together,
    )


def check_keys(known: Sequence[str], keys: Sequence[str], target: str) -> None:
    """Refuse a key set on which no measure is defined."""
    if isinstance(keys, str) or not keys:
        raise RiskError(f"keys {keys!r}: expected a list with at least one name; known: {list(known)}")
    repeated = sorted({key for key in keys if list(keys).count(key) > 1})
    if repeated:
        raise RiskError(f"keys {list(keys)}: {repeated} repeated; name each key once")
    unknown = [key for key in keys if key not in known]
    if unknown:
        apart = "; separate names by blanks" if "," in unknown[0] else ""
        raise RiskError(f"keys: no variable {unknown[0]!r}; known: {list(known)}{apart}")
    if target not in known:
        raise RiskError(f"target: no variable {target!r}; known: {list(known)}")
    if target in keys:
        raise RiskError(f"target {target!r} is among the keys {list(keys)}; an intruder who knows it learns nothing")


def check_target_varies(coding: Coding, target: str, table: str = "original") -> None:
    """Refuse a target that has a single value in a table: every guess of it is right, whatever was released."""
    j = coding.names.index(target)
    codes = coding.columns[j][coding.rows()[table]]
    if (codes == codes[0]).all():
        raise RiskError(
            f"constant target: {target!r} is {coding.labels[j][codes[0]]!r} in every record of {table}; "
            "choose a target that varies"
        )


def check_table(table: str, n_records: int, known: Sequence[Any], names: Iterable[str]) -> None:
    """Refuse a table without records, and one that lacks a variable or has it twice."""
    if n_records == 0:
        raise RiskError(f"{table}: no records; no measure is defined on an empty table")
    for name in names:
        if list(known).count(name) != 1:
            fault = "no column" if name not in known else "more than one column"
            near = did_you_mean(name, map(str, known)) if name not in known else ""
            raise RiskError(f"{table}: {fault} {name!r}; known: {list(known)}{near}")


def combined_code(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> tuple[Counts, int]:
    """One code per record for its values in all columns, the last column varying fastest, and the number of codes."""
    code = columns[0].astype(np.int64)
    possible = sizes[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if possible * size > _OVERFLOW:
            occupied, code = np.unique(code, return_inverse=True)
            possible = len(occupied)
        code = code * size + column
        possible *= size
    return code, possible


def _code_columns(columns: Sequence[pd.Series[Any]]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Levels of a column of several tables together, and its codes in the tables after one another."""
    found = [column_texts(column) for column in columns]
    levels = sorted({text for _, texts in found for text in texts if text is not None})
    position: dict[str | None, int] = {text: i for i, text in enumerate(levels)}
    position[None] = len(levels)
    # Code -1, a missing value, reads the last entry of the lookup.
    codes = np.concatenate(
        [np.array([*map(position.__getitem__, texts), len(levels)], dtype=np.int32)[code] for code, texts in found]
    )
    return (*levels, MISSING) if (codes == len(levels)).any() else tuple(levels), codes


def column_texts(column: pd.Series[Any]) -> tuple[Positions, list[str | None]]:
    """Codes of a column (-1 for missing) and what each code reads as (None for a text that means missing)."""
    codes, values = pd.factorize(column)
    # A float index yields Python floats, in which single precision would no longer show.
    levels = values.to_numpy() if values.dtype.kind == "f" else values
    return codes, [value_text(value) for value in levels]


def value_text(value: object) -> str | None:
    """What a value reads as; None for one that means missing."""
    if isinstance(value, np.floating):
        value = float(str(value))  # by its printed digits: 0.1 in single precision is 0.1, not 0.10000000149
    text = format_value(value)
    return None if text in MISSING_VALUES else text
