"""The tables that privacy metrics compare, under one reading of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import RiskError
from outrisk.microdata import MISSING_VALUES
from outrisk.risk.coding.classes import ORIGINAL, Coding, code_frames
from outrisk.risk.coding.kinds import are_numbers
from outrisk.risk.neighbours.exact import Floats

RESAMPLE = "resample"  # of the original


@dataclass(frozen=True, eq=False)
class Tables:
    """Several tables after one another, each column as levels and, where it is numeric, as numbers too.

    A missing value of a category is a level of its own. A missing number is the original's median, and a column of
    two levels says that it was missing.
    """

    coding: Coding  # every column as levels
    numbers: Mapping[str, Floats]  # numeric column -> (n_records of all tables,)
    gaps: Mapping[str, NDArray[np.int32]]  # numeric column with missing values -> 1 where missing
    rows: Mapping[str, NDArray[np.intp]]  # table -> where its records stand

    @property
    def names(self) -> tuple[str, ...]:
        """Columns in order."""
        return self.coding.names

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to missing values."""
        if not self.gaps:
            return ()
        return (f"missing numbers of {', '.join(self.gaps)}: median of the original and an indicator",)

    def n_records(self, table: str) -> int:
        """Number of records of a table."""
        return len(self.rows[table])

    def codes(self, name: str, table: str) -> NDArray[np.int32]:
        """A column of one table as positions in its levels."""
        return self.coding.columns[self.names.index(name)][self.rows[table]]

    def n_levels(self, name: str) -> int:
        """Number of levels of a column in all tables together."""
        return len(self.coding.labels[self.names.index(name)])

    def with_rows(self, table: str, rows: NDArray[np.intp]) -> Tables:
        """The same tables and one more, made of some of the records."""
        return Tables(self.coding, self.numbers, self.gaps, {**self.rows, table: rows})


def read(frames: Mapping[str, pd.DataFrame], codebook: Codebook | None = None) -> Tables:
    """Read data frames of the same columns, one of them called 'original'.

    The columns are the original's, or the codebook's. A column is numeric when the codebook says so; without one, when
    it holds numbers (a column of text is a category, whatever it holds; see `outrisk.microdata.typed`).
    """
    names = [str(name) for name in frames[ORIGINAL].columns] if codebook is None else codebook.names
    coding = code_frames(frames, names)
    values: dict[str, Floats] = {}
    for name in names:
        columns = {table: frame[name] for table, frame in frames.items()}
        if not (are_numbers(name, columns) if codebook is None else codebook[name].numeric):
            continue
        values[name] = np.concatenate([_as_floats(name, table, column) for table, column in columns.items()])
    return _filled(coding, values)


def from_coding(coding: Coding) -> Tables:
    """Tables that are coded already: the levels that occur, in the order that `read` gives them, and the numbers."""
    labels, columns = [], []
    for name, own, codes in zip(coding.names, coding.labels, coding.columns, strict=True):
        missing = coding.missing.get(name, -1)
        present = np.flatnonzero(np.bincount(codes, minlength=len(own))).tolist()
        order = sorted((level for level in present if level != missing), key=own.__getitem__)
        order += [missing] if missing in present else []
        position = np.empty(len(own), dtype=np.int32)
        position[order] = np.arange(len(order), dtype=np.int32)
        labels.append(tuple(own[level] for level in order))
        columns.append(position[codes])
    numbers = {name: coding.values[name][codes] for name, codes in zip(coding.names, coding.columns, strict=True)
               if name in coding.values}  # fmt: skip
    coded = Coding(coding.names, tuple(labels), tuple(columns), coding.lengths, together=coding.together)
    return _filled(coded, numbers)


def _filled(coding: Coding, values: dict[str, Floats]) -> Tables:
    """The tables with missing numbers filled in, in place."""
    rows = {table: np.arange(at.start, at.stop, dtype=np.intp) for table, at in coding.rows().items()}
    gaps = {}
    for name, numbers in values.items():
        missing = np.isnan(numbers)
        if missing.any():
            present = numbers[rows[ORIGINAL]][~missing[rows[ORIGINAL]]]
            numbers[missing] = np.median(present) if len(present) else 0.0
            gaps[name] = missing.astype(np.int32)
    return Tables(coding, values, gaps, rows)


def _as_floats(name: str, table: str, column: pd.Series[Any]) -> Floats:
    numbers = pd.to_numeric(column, errors="coerce")
    values = numbers.to_numpy(dtype=float, na_value=np.nan).copy()
    lost = np.isnan(values) & column.notna().to_numpy()
    if lost.any():  # text where the codebook says numbers
        other = [value for value in column[lost] if str(value).strip() not in MISSING_VALUES]
        if other:
            raise RiskError(f"{table}: column {name!r} holds {str(other[0])!r}, and its codebook says numbers")
    if np.isinf(values).any():
        raise RiskError(f"{table}: column {name!r} holds an infinite value; distances need finite numbers")
    return values
