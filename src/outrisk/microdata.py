"""Microdata as integer codes under a codebook, and their ways in and out: data frames, written files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import Codebook, Kind, Variable, format_value
from outrisk.errors import DataError
from outrisk.whole_files import whole

Codes = NDArray[np.uint16]
MISSING_VALUES = ("", "NA")  # an empty cell, and what R writes
_COPY_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3  # always so from pandas 3 on
FEW = 20  # values seen: that many may be codes of categories
_WHOLE_SPAN = 1_000  # integers are proposed as a min-max range up to this span, as listed values beyond


@dataclass(frozen=True, eq=False)
class Microdata:
    """Records as codes: `codes[i, j]` is the position of record i's value in the support of variable j.

    person: whose record each is, where a person may have several; together: whose records go together, as they are of
    one person or household. Numbers without a meaning, which stand in no file; None: each record for itself.
    """

    codebook: Codebook
    codes: Codes  # (n_records, n_variables)
    person: NDArray[np.intp] | None = None  # (n_records,)
    together: NDArray[np.intp] | None = None  # (n_records,)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[np.intp]) -> Microdata:
        """The records at these positions."""
        person, together = (None if each is None else each[rows] for each in (self.person, self.together))
        return replace(self, codes=self.codes[rows], person=person, together=together)

    def owners(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> NDArray[np.intp]:
        """The people whose records these are, each once; where nothing says so, the records."""
        if self.person is not None:
            return np.unique(self.person[rows])
        return np.flatnonzero(rows) if rows.dtype == np.bool_ else np.unique(rows)

    @property
    def apart(self) -> int:
        """How many may be sampled apart from each other: people or households where these are known, else records."""
        return len(self) if self.together is None else len(np.unique(self.together))

    @property
    def whose(self) -> str:
        """Of how many people or households the records are, in words: `1,000 people`; empty where nothing says so."""
        if self.together is None:
            return ""
        return f"{self.apart:,} households" if self.person is None else f"{self.people():,} people"

    def people(self, rows: NDArray[np.intp] | NDArray[np.bool_] | None = None) -> int:
        """How many people the records are of, or those at some positions."""
        if rows is None:
            return len(self) if self.person is None else len(np.unique(self.person))
        if self.person is None and (rows.dtype == np.bool_ or (rows[1:] > rows[:-1]).all()):
            return int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else len(rows)
        return len(self.owners(rows))

    def frame(self) -> pd.DataFrame:
        """Decode to a data frame: categoricals with every level of the codebook, numbers as numbers, missing as NaN.

        Decoded once and kept; each caller has a copy of its own, which with pandas' copy on write costs nothing.
        """
        return self._decoded.copy(deep=not _COPY_ON_WRITE)

    @cached_property
    def _decoded(self) -> pd.DataFrame:
        return pd.DataFrame(
            {variable.name: decode(variable, self.codes[:, j]) for j, variable in enumerate(self.codebook.variables)},
            copy=False,
        )


def people_by(place: NDArray[np.intp], owner: NDArray[np.intp], places: int = 0) -> NDArray[np.intp]:
    """How many people have records in each place, (places,) or as many as there are; place and owner (n_records,)."""
    people = int(owner.max(initial=0)) + 1
    once = np.unique(place.astype(np.int64) * people + owner) // people
    return np.bincount(once, minlength=places)


def decode(variable: Variable, codes: NDArray[Any]) -> pd.Categorical | NDArray[Any]:
    """Values that codes stand for: a Categorical, or an array of int64 (float64 where a value may be missing)."""
    if variable.kind == "categorical":
        signed = codes.astype(np.int32)
        if variable.missing:
            signed[signed == len(variable.values)] = -1
        text: pd.Categorical = pd.Categorical.from_codes(signed, categories=list(variable.values))  # type: ignore[call-overload]
        return text
    values = [*variable.values, np.nan] if variable.missing else list(variable.values)
    return np.take(np.array(values), codes)


def from_frame(
    frame: pd.DataFrame, codebook: Codebook, missing_values: Sequence[str] = MISSING_VALUES, source: str = "data"
) -> Microdata:
    """Encode the codebook's variables; DataError names the column and the value that do not fit."""
    absent = [name for name in codebook.names if name not in frame.columns]
    if absent:
        raise DataError(f"{source}: no column {absent[0]!r} (in the codebook); columns are {list(frame.columns)}")
    if len(frame) == 0:
        raise DataError(f"{source}: no records")
    codes = np.empty((len(frame), len(codebook.variables)), dtype=np.uint16)
    for j, variable in enumerate(codebook.variables):
        codes[:, j] = encode(variable, frame[variable.name], missing_values, source)
    return Microdata(codebook, codes)


def encode(variable: Variable, column: pd.Series[Any], missing_values: Sequence[str], source: str) -> Codes:
    """Codes of one column, shape (n_records,)."""
    codes, gaps = coded(variable, column, missing_values)
    unknown = (codes < 0) & ~gaps
    if unknown.any():
        row = int(np.argmax(unknown))
        raise DataError(
            f"{source}: column '{variable.name}' holds {str(column.iloc[row])!r}, which is not in its codebook "
            f"({unknown.sum():,} such cells, the first in record {row + 1:,}); "
            f"add the value to the codebook or correct the data{variable.if_merged}"
        )
    empty = (codes < 0) & gaps
    if empty.any():
        if not variable.missing:
            raise DataError(
                f"{source}: column '{variable.name}' has {empty.sum():,} missing values, its codebook declares none; "
                "set 'missing: true' there, or drop these records with 'where'"
            )
        codes[empty] = len(variable.values)
    return np.asarray(codes, dtype=np.uint16)


def unlisted(
    variable: Variable, column: pd.Series[Any], missing_values: Sequence[str] = MISSING_VALUES
) -> NDArray[np.bool_]:
    """Which records have a value that the codebook does not list, shape (n_records,); a missing value is none."""
    codes, gaps = coded(variable, column, missing_values)
    return np.asarray((codes < 0) & ~gaps, dtype=bool)


def coded(
    variable: Variable, column: pd.Series[Any], missing_values: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Positions in the support, -1 for what is not in it, and which values are missing; shapes (n_records,)."""
    gaps = gaps_of(column, missing_values)
    if variable.kind == "categorical":
        levels, text = pd.Index(variable.values, dtype=object), pd.Series(as_text(column), dtype=object)
        positions = np.array(levels.get_indexer(pd.Index(text)), dtype=np.int64)
        stray = np.flatnonzero((positions < 0) & ~gaps)
        if len(stray):  # whole numbers with a gap are written as 3.0
            whole = text.iloc[stray].astype(str).str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
            positions[stray] = levels.get_indexer(pd.Index(whole, dtype=object))
        return positions, gaps
    return _nearest(variable, as_numbers(column, gaps)), gaps


def _nearest(variable: Variable, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Codes of numbers in a numeric support; -1 for one that is not in it (but for rounding errors)."""
    support = np.array(variable.values, dtype=float)
    codes = np.clip(np.searchsorted(support, numbers), 0, len(support) - 1)
    codes -= (codes > 0) & (np.abs(support[codes - 1] - numbers) < np.abs(support[codes] - numbers))
    rounding = 0.0 if variable.kind == "integer" else 1.0
    codes[~np.isclose(support[codes], numbers, rtol=1e-9 * rounding, atol=1e-12 * rounding)] = -1
    return codes


def as_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Values as a data file would write them; a missing value stays one."""
    present = column.notna()
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        known = {value: format_value(value) for value in column[present].unique().tolist()}
        return column.astype(object).map(known).astype(object)
    return column.astype(object).map(str).astype(object).where(present, None)


def as_numbers(column: pd.Series[Any], gaps: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Values as numbers; NaN in the gaps and where a value is no number."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return pd.to_numeric(column.where(~gaps), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    codes, values = pd.factorize(as_text(column).where(~gaps))  # -1 for a gap: the last one below
    return np.append(numbers_of(values), np.nan)[codes]


def numbers_of(texts: Iterable[object]) -> NDArray[np.float64]:
    """What texts read as; NaN where one is no number."""
    numbers = pd.to_numeric(pd.Series(list(texts), dtype=object), errors="coerce")
    return np.asarray(numbers.to_numpy(dtype=float, na_value=np.nan))


def gaps_of(column: pd.Series[Any], missing_values: Sequence[str]) -> NDArray[np.bool_]:
    """Which values are missing, or written as one of `missing_values`."""
    text = as_text(column).astype(str).str.strip()
    return np.asarray(column.isna().to_numpy() | text.isin(list(missing_values)).to_numpy(), dtype=bool)


def write_table(data: Microdata, path: Path) -> None:
    """Write decoded records as CSV or, by the ending, Parquet; a missing value is an empty cell."""
    frame = data.frame()
    if path.suffix == ".parquet":
        with whole(path) as draft:
            frame.to_parquet(draft, index=False)
        return
    for variable in data.codebook.variables:
        if variable.numeric:  # as text, so that 2.0 reads '2' and a column with gaps keeps its whole numbers
            written = Variable(
                variable.name, "categorical", tuple(map(format_value, variable.values)), variable.missing
            )
            frame[variable.name] = decode(written, data.codes[:, data.codebook.index(variable.name)])
    with whole(path) as draft:
        frame.to_csv(draft, index=False, lineterminator="\n")


def typed(
    frame: pd.DataFrame, codebook: Codebook | None = None, missing_values: Sequence[str] = MISSING_VALUES
) -> pd.DataFrame:
    """Columns of text as numbers where every value reads as one, unless the codebook says that they are categories."""
    columns = {}
    for name in frame.columns:
        column = frame[name]
        if not pd.api.types.is_numeric_dtype(column.dtype) and not (
            codebook is not None and name in codebook and not codebook[name].numeric
        ):
            gaps = gaps_of(column, missing_values)
            if not gaps.all() and reads_as_numbers(column[~gaps]):
                column = pd.Series(as_numbers(column, gaps), index=frame.index)
        columns[name] = column
    return pd.DataFrame(columns, index=frame.index)


def infer_codebook(
    frame: pd.DataFrame, missing_values: Sequence[str] = MISSING_VALUES, source: str = "data", few: int = 0
) -> tuple[Codebook, dict[str, str]]:
    """Propose a codebook from data, and what was guessed for each variable (for a person to correct).

    A column is numeric when every value in it reads as a number and none has a leading zero; it is never called
    categorical just because it takes few values. Whole numbers get all from the least to the largest as support, but
    where no more than `few` different ones are seen: those alone (a level that nobody has cannot be fitted).
    """
    guesses: dict[str, str] = {}
    variables = []
    for name in frame.columns:
        variable, guess = infer_variable(str(name), frame[name], missing_values, source, few)
        variables.append(variable)
        guesses[variable.name] = guess
    return Codebook(tuple(variables)), guesses


def infer_variable(
    name: str, column: pd.Series[Any], missing_values: Sequence[str], source: str, few: int
) -> tuple[Variable, str]:
    """What `infer_codebook` proposes for one column."""
    gaps = gaps_of(column, missing_values)
    present = column[~gaps]
    missing = bool(gaps.any())
    if present.empty:
        raise DataError(f"{source}: column '{name}' has no values at all; drop it")
    note = f"; {gaps.sum():,} missing" if missing else ""
    if isinstance(column.dtype, pd.CategoricalDtype) or not reads_as_numbers(present):
        seen = set(as_text(present).unique())
        levels = tuple(sorted(seen))
        if isinstance(column.dtype, pd.CategoricalDtype):  # its own order says which level is the reference
            levels = tuple(text for text in as_text(pd.Series(column.cat.categories, dtype=object)) if text in seen)
        return Variable(name, "categorical", levels, missing), f"categorical: text, {len(levels)} levels{note}"
    numbers = np.unique(as_numbers(present, np.zeros(len(present), dtype=bool)))
    hint = "; if the numbers are codes of categories: 'kind: categorical' and 'levels'" if len(numbers) <= FEW else ""
    if np.all(numbers == np.round(numbers)) and np.abs(numbers).max() < 2**53:
        low, high = int(numbers[0]), int(numbers[-1])
        whole = len(numbers) > few and high - low < _WHOLE_SPAN
        values = tuple(range(low, high + 1)) if whole else tuple(int(x) for x in numbers)
        kind: Kind = "integer"
        return Variable(
            name, kind, values, missing
        ), f"integer: {len(numbers)} values seen, {low} to {high}{note}{hint}"
    return (
        Variable(name, "numeric", tuple(float(x) for x in numbers), missing),
        f"numeric: the {len(numbers)} values seen; a grid (min, max, step) may be better{note}{hint}",
    )


def reads_as_numbers(column: pd.Series[Any]) -> bool:
    """Whether every value is a finite number, written without a leading zero."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return False
    if pd.api.types.is_numeric_dtype(column.dtype):
        return bool(np.isfinite(column.to_numpy(dtype=float)).all())
    text = pd.Series(column.astype(str).unique(), dtype=str).str.strip()
    return not text.str.match(r"[+-]?0\d").any() and bool(np.isfinite(numbers_of(text)).all())
