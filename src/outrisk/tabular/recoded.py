"""What a study says of single columns before anything is computed: codes that mean missing, dates that become years."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from outrisk.codebook import format_value
from outrisk.errors import DataError

_YEAR_FIRST = re.compile(r"\s*(\d{4})[-./]\d{1,2}[-./]\d{1,2}(?:[T ].*)?")
_YEAR_LAST = re.compile(r"\s*\d{1,2}[-./]\s?\d{1,2}[-./]\s?(\d{4})(?:[T ].*)?")
_MONTH = re.compile(r"\s*\d{1,2}[-. ]?[A-Za-z]{3,9}[-. ]?(\d{4})(?:[T :].*)?")  # 05mar1961, 5 March 1961


def year_of(value: object) -> int | None:
    """The year of a date; None for what is none, or has two digits of the year only."""
    if hasattr(value, "year") and not pd.isna(value):  # type: ignore[call-overload]
        return int(value.year)
    text = str(value)
    found = _YEAR_FIRST.fullmatch(text) or _YEAR_LAST.fullmatch(text) or _MONTH.fullmatch(text)
    return int(found.group(1)) if found else None


def with_gaps(frame: pd.DataFrame, missing: Mapping[str, Sequence[object]], source: str) -> pd.DataFrame:
    """The frame with these codes of a column as missing; DataError where there is no such column."""
    changed = {}
    for name, codes in missing.items():
        texts = {format_value(float(code) if isinstance(code, int) else code) for code in codes}
        column = _column(frame, name, f"[{source}] missing")
        gone = {value for value in column.dropna().unique().tolist() if _same(value, texts)}
        changed[name] = column.where(~column.isin(list(gone)))
    return frame.assign(**changed)


def with_years(frame: pd.DataFrame, columns: Sequence[str], missing_values: Sequence[str], source: str) -> pd.DataFrame:
    """The frame with the year of each date in these columns; DataError names the first value that is no date."""
    changed: dict[str, Any] = {}
    for name in columns:
        column = _column(frame, name, f"[{source}] years")
        gaps = column.isna() | column.astype(str).str.strip().isin(list(missing_values))
        found = {value: year_of(value) for value in column[~gaps].unique().tolist()}
        if None in found.values():
            row = next(i for i, value in enumerate(column) if value in found and found[value] is None)
            raise DataError(
                f"[{source}] years: column '{name}' has no date with a year of four digits in record {row + 1:,}; "
                "write it as 1961-03-05 or 05.03.1961"
            )
        changed[name] = column.where(~gaps, None).map(found).astype("Int64")
    return frame.assign(**changed)


def _column(frame: pd.DataFrame, name: str, place: str) -> pd.Series[Any]:
    if name not in frame.columns:
        raise DataError(f"{place}: no column '{name}'; columns are {list(frame.columns)}")
    return frame[name]


def _same(value: object, texts: set[str]) -> bool:
    """Whether a value is one of these texts, numbers by their value."""
    if isinstance(value, str):
        value = value.strip()
        try:
            return value in texts or format_value(float(value)) in texts
        except ValueError:
            return False
    return format_value(float(value) if isinstance(value, int) else value) in texts
