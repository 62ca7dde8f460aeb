"""What the columns of data frames hold, and whether they hold the same in every table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from outrisk.errors import RiskError
from outrisk.microdata import MISSING_VALUES

NUMBERS = "numbers"
_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (  # of values; the first that fits
    ("text", (str,)),
    ("true or false", (bool, np.bool_)),
    (NUMBERS, (int, float, np.number, Decimal)),
    ("times", (datetime, np.datetime64)),
    ("dates", (date,)),
)


def same_kind(name: str, columns: Mapping[str, pd.Series[Any]]) -> str:
    """What a column holds in all tables: 'numbers', 'text', ...; empty where it has no value in any of them.

    RiskError where it holds one kind in one table and another elsewhere, or several kinds in one: nobody but the user
    knows whether 1 and '1' are one level. Categories are of the kind of their values. A table without a value fits all.
    """
    found = {table: kind for table, column in columns.items() if (kind := _kind(name, table, column))}
    for table, kind in found.items():
        first, expected = next(iter(found.items()))
        if kind != expected:
            raise RiskError(
                f"column {name!r} holds {expected} in {first} and {kind} in {table}: 1 and '1' are one level only if a "
                "codebook says so; give one that describes it, or make the columns alike"
            )
    return next(iter(found.values()), "")


def are_numbers(name: str, columns: Mapping[str, pd.Series[Any]]) -> bool:
    """Whether a column holds numbers in all tables, and nowhere as categories; RiskError as `same_kind`."""
    as_categories = any(isinstance(column.dtype, pd.CategoricalDtype) for column in columns.values())
    return same_kind(name, columns) == NUMBERS and not as_categories


def _kind(name: str, table: str, column: pd.Series[Any]) -> str:
    """What a column holds; empty where it holds nothing but missing values."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _kind(name, table, pd.Series(dtype.categories))
    if _is_empty(column):
        return ""
    if pd.api.types.is_bool_dtype(dtype):
        return "true or false"
    if pd.api.types.is_numeric_dtype(dtype):
        return NUMBERS
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "times"
    if not pd.api.types.is_object_dtype(dtype):
        return "text" if pd.api.types.is_string_dtype(dtype) else str(dtype)
    kinds = {_kind_of_value(value) for value in column.dropna().unique() if value not in MISSING_VALUES}
    if len(kinds) > 1:
        raise RiskError(
            f"{table}: column {name!r} mixes {' and '.join(sorted(kinds))}; make it one of them, or describe it in a "
            "codebook"
        )
    return kinds.pop()


def _is_empty(column: pd.Series[Any]) -> bool:
    """Whether there are missing values alone; the first value tells most columns apart at once."""
    if len(column) and not pd.isna(column.iloc[0]) and column.iloc[0] not in MISSING_VALUES:
        return False
    return bool((column.isna() | column.isin(list(MISSING_VALUES))).all())


def _kind_of_value(value: Any) -> str:
    return next((kind for kind, types in _KINDS if isinstance(value, types)), type(value).__name__)
