"""Levels of the columns of several data frames under one coding, in the order of R's tables.

A column of numbers has its values as levels, in ascending order, or intervals of them; a column of categories has its
categories in their order, a column of text its texts in alphabetical order. Missing values (NaN, None, and the texts of
`outrisk.microdata.MISSING_VALUES`) are the last level, `Missing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import MISSING, Codebook, Variable
from outrisk.errors import RiskError
from outrisk.microdata import MISSING_VALUES
from outrisk.risk.coding.classes import column_texts, value_text
from outrisk.risk.coding.grouping import breaks_of, interval_labels, interval_of
from outrisk.risk.coding.kinds import NUMBERS, are_numbers, same_kind

_MANY = 100  # levels beyond which an ungrouped numeric key is called continuous


@dataclass(frozen=True, eq=False)
class Levels:
    """One variable of several tables: `codes` (n_records of all tables,) are positions in `labels`."""

    labels: tuple[str, ...]
    codes: NDArray[np.int32]
    missing: int | None  # position of the missing level; None where no table has a missing value
    numeric: bool
    continuous: bool = False  # numeric, ungrouped, and with so many values that records hardly share one


@dataclass(frozen=True)
class Groups:
    """How a numeric variable is to be grouped: into about `n` intervals, with the values `keep` as own levels."""

    n: int
    keep: tuple[float, ...] = ()


def code_levels(
    name: str,
    columns: Mapping[str, pd.Series[Any]],
    groups: Groups | None = None,
    pool: Sequence[str] = (),
    codebook: Codebook | None = None,
) -> Levels:
    """Code one variable of several tables; `pool` names the tables whose values the breaks of `groups` come from.

    RiskError where the tables hold the variable in different kinds (numbers, text), unless the codebook says which it
    is, and where a variable that is no number is to be grouped.
    """
    variable = codebook[name] if codebook is not None and name in codebook else None
    numeric = are_numbers(name, columns) if variable is None else variable.numeric
    if groups is not None and not numeric:
        kind = "categories" if variable is not None else same_kind(name, columns) or "no values"
        kind = "categories of numbers" if kind == NUMBERS else kind
        raise RiskError(f"{name!r} cannot be grouped: it holds {kind}, not numbers")
    if numeric:
        return _numeric_levels(name, columns, groups, pool)
    return _text_levels(name, columns, variable)


def _numeric_levels(
    name: str, columns: Mapping[str, pd.Series[Any]], groups: Groups | None, pool: Sequence[str]
) -> Levels:
    factorized = {table: _factorize_numbers(name, table, column) for table, column in columns.items()}
    value_of = {
        text: value for _, texts, values in factorized.values() for text, value in zip(texts, values, strict=True)
    }
    ordered = sorted(value_of, key=value_of.__getitem__)
    at = {text: i for i, text in enumerate(ordered)}
    positions = {
        table: np.array([at[text] for text in texts], dtype=np.intp) for table, (_, texts, _) in factorized.items()
    }
    values = np.array([value_of[text] for text in ordered])
    labels, level = tuple(ordered), np.arange(len(ordered))
    if groups is not None:
        counts = np.zeros(len(ordered), dtype=np.int64)
        for table in pool:
            codes = factorized[table][0]
            np.add.at(counts, positions[table], np.bincount(codes[codes >= 0], minlength=len(positions[table])))
        labels, level = _group(name, values, counts, groups)
    continuous = groups is None and any(
        len(texts) > _MANY or len(texts) > max(10, len(codes) / 2) for codes, texts, _ in factorized.values()
    )
    return _join(
        name,
        labels,
        [(codes, level[positions[table]]) for table, (codes, _, _) in factorized.items()],
        True,
        continuous,
    )


def _group(
    name: str, values: NDArray[np.float64], counts: NDArray[np.int64], groups: Groups
) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Labels of the groups, and the group of each value: the intervals in order, then the values kept apart."""
    kept = [i for value in groups.keep for i in np.flatnonzero(values == value)]
    free = np.ones(len(values), dtype=bool)
    free[kept] = False
    pooled = free & (counts > 0)
    in_pool = [i for i in kept if counts[i] > 0]
    breaks = breaks_of(name, values[pooled], counts[pooled], groups.n, len(in_pool))
    labels = interval_labels(breaks)
    level = interval_of(breaks, values)
    level[kept] = len(labels) + np.arange(len(kept))
    return (*labels, *(number_text(values[i]) for i in kept)), level


def _text_levels(name: str, columns: Mapping[str, pd.Series[Any]], variable: Variable | None) -> Levels:
    factorized = {table: _factorize_texts(column) for table, column in columns.items()}
    first: list[str] = variable.labels[: len(variable.values)] if variable is not None else []
    for table, (_, texts) in factorized.items():
        if isinstance(columns[table].dtype, pd.CategoricalDtype):
            first += [text for text in texts if text is not None]
    rest = sorted({text for _, texts in factorized.values() for text in texts if text is not None} - set(first))
    labels = tuple(dict.fromkeys([*first, *rest]))
    at: dict[str | None, int] = {text: i for i, text in enumerate(labels)} | {None: -1}
    parts = [(codes, np.array([at[text] for text in texts], dtype=np.intp)) for codes, texts in factorized.values()]
    return _join(name, labels, parts, numeric=False)


def _join(
    name: str,
    labels: tuple[str, ...],
    parts: Iterable[tuple[NDArray[Any], NDArray[np.intp]]],
    numeric: bool,
    continuous: bool = False,
) -> Levels:
    """Put tables after one another; each comes as codes (-1 for missing) and the level that each code stands for."""
    # Code -1 reads the last entry of the lookup, the missing level; so does a text that means missing.
    lookups = [
        (codes, np.append(np.where(level < 0, len(labels), level), len(labels)).astype(np.int32))
        for codes, level in parts
    ]
    codes = np.concatenate([lookup[codes] for codes, lookup in lookups])
    if not (codes == len(labels)).any():
        return Levels(labels, codes, None, numeric, continuous)
    if MISSING in labels:
        raise RiskError(f"{name!r} has missing values and a level {MISSING!r}; rename the level, or make it missing")
    return Levels((*labels, MISSING), codes, len(labels), numeric, continuous)


def _factorize_numbers(
    name: str, table: str, column: pd.Series[Any]
) -> tuple[NDArray[np.intp], list[str], list[float]]:
    """Codes of a column (-1 for missing), and text and value of each code."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        plain = column.astype(object)
        plain = plain.where(~plain.isin(list(MISSING_VALUES)), None)
        try:
            column = pd.to_numeric(plain)
        except (ValueError, TypeError) as error:
            raise RiskError(f"{table}: {name!r} is numeric in the codebook: {error}; correct one of them") from None
    codes, found = pd.factorize(column)
    values = np.asarray(found)
    texts = [number_text(value) for value in values]
    return codes, texts, [float(text) for text in texts]


def number_text(value: Any) -> str:
    """A number to 15 significant digits, as R labels it; a whole number with all of its digits."""
    if isinstance(value, np.integer | int):
        return str(value)
    double = float(value) if isinstance(value, float) else float(str(value))  # single precision by its printed digits
    return str(int(double)) if double.is_integer() and abs(double) < 1e15 else f"{double:.15g}"


def _factorize_texts(column: pd.Series[Any]) -> tuple[NDArray[Any], list[str | None]]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), [value_text(value) for value in column.cat.categories.to_numpy()]
    return column_texts(column)


def make_groups(
    names: Sequence[str], option: str, n_groups: int | Mapping[str, int] | None, keep_values: Mapping[str, Any] | None
) -> dict[str, Groups]:
    """How to group the named variables; a mapping names those to group, one number is meant for all."""
    if isinstance(n_groups, Mapping):
        unknown = [name for name in n_groups if name not in names]
        if unknown:
            raise RiskError(f"{option}: {unknown[0]!r} is not among {list(names)}")
        wanted = {name: n or 0 for name, n in n_groups.items()}
    else:
        wanted = dict.fromkeys(names, n_groups or 0)
    for name, n in wanted.items():
        if not is_whole(n) or n < 0 or n == 1:
            raise RiskError(f"{option}: {n!r} groups for {name!r}; give a whole number from 2, or 0 for no grouping")
    kept = {}
    for name, values in (keep_values or {}).items():
        single = is_number(values)
        if not single and (isinstance(values, str) or not all(is_number(value) for value in values)):
            raise RiskError(f"keep_values: {values!r} of {name!r} is no number; only numbers are grouped")
        kept[name] = (float(values),) if single else tuple(float(value) for value in values)
    return {name: Groups(int(n), kept.get(name, ())) for name, n in wanted.items() if n}


def is_whole(value: Any) -> bool:
    """Whether an option is a whole number."""
    return is_number(value) and float(value).is_integer()


def is_number(value: Any) -> bool:
    """Whether an option is a number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
