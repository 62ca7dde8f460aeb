"""Cross tables of a session (`pandas.crosstab`, `value_counts`) as entries of a study, and held against the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from outrisk.codebook import MISSING
from outrisk.errors import OutputError
from outrisk.microdata import MISSING_VALUES, Microdata, coded, gaps_of
from outrisk.outputs.base import Array
from outrisk.outputs.regression.design import quoted
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.problem.released import half_digit

Normalize = Literal["all", "index", "columns"]
_SHOW: dict[Normalize, str] = {"all": "proportions", "index": "row_percentages", "columns": "column_percentages"}
_SHARE_DIGITS = 3  # of tables that do not say theirs
_EXACT = 1e-9
_KEPT = "; what outrisk.init counted as 'Other' has a level of its own with rare='keep'"
_MARGIN: Any = object()  # in the place of a level; the data may have one called Total


@dataclass(frozen=True, eq=False)
class CrossTable:
    """A cross table of one number a cell: its variables on each axis, their levels (_MARGIN in a margin), the numbers.

    numbers: (rows, columns), NaN where there is none; times `unit` they are those of the entry.
    """

    axes: tuple[list[str], list[str]]
    rows: list[tuple[Any, ...]]
    columns: list[tuple[Any, ...]]
    numbers: Array
    unit: float = 1.0
    part: bool = False  # whether it is said to be of a part of the records

    @property
    def by(self) -> list[str]:
        """Its variables."""
        return [*self.axes[0], *self.axes[1]]

    @property
    def cells(self) -> list[tuple[Any, ...]]:
        """The levels of each cell and margin, in the order of its numbers."""
        return [(*row, *column) for row in self.rows for column in self.columns]

    @property
    def margins(self) -> bool:
        """Whether it has any."""
        return any(_MARGIN in level for level in (*self.rows, *self.columns))

    @property
    def inner(self) -> Array:
        """The numbers without margins, (rows, columns); 0 where there is none."""
        rows, columns = ([_MARGIN not in level for level in levels] for levels in (self.rows, self.columns))
        return np.nan_to_num(self.numbers[rows][:, columns])

    @property
    def turned(self) -> CrossTable:
        """Its rows as columns."""
        return CrossTable(self.axes[::-1], self.columns, self.rows, self.numbers.T)


def read_crosstab(
    table: pd.DataFrame | pd.Series[Any],
    records: pd.DataFrame,
    given: Mapping[str, Any],
    place: str,
    decimals: int | None,
) -> tuple[dict[str, Any], CrossTable]:
    """The entry of kind `frequencies` that a table comes down to, and the table, for `check_crosstab`.

    `records` are those that it was made from, after `where`; those with a missing value are left out, as pandas does,
    unless the table has a level for it. Counts, perhaps weighted, or shares as `normalize` makes them, perhaps times
    100; with margins or without. `decimals`, or those in `given`, are the digits of shares as they stand in the table.
    OutputError for a table of another kind.
    """
    found = _parts(table, records, place)
    gaps = _left_out(found, records)
    digits = given.get("decimals", decimals)
    normalize, whole = _normalized(found, _total(records, gaps, given), given, digits, place)
    if normalize in ("index", "columns") and len(found.axes[1]) > 1:  # an entry has one variable in its columns
        if len(found.axes[0]) > 1:
            raise OutputError(
                f"{place}: the cross table has shares within {'rows' if normalize == 'index' else 'columns'} and "
                "several variables on both axes; leave one variable on an axis, or take normalize='all'"
            )
        found, normalize = found.turned, "columns" if normalize == "index" else "index"
    percent = normalize in ("index", "columns")  # in the entry
    show = "counts" if normalize is None else _SHOW[normalize]
    said = {"by": found.by, "show": show, "ways": len(found.by), "margins": found.margins or given.get("margins")}
    for name in said.keys() & given.keys():
        if given[name] != said[name]:
            raise OutputError(f"{place}: {name} is {given[name]!r}, in the cross table {said[name]!r}; leave it out")
    entry: dict[str, Any] = {"kind": "frequencies", "by": found.by, **given}
    if normalize is not None:
        entry["show"] = show
    if found.margins:
        entry["margins"] = True
    if digits is not None and (normalize is not None or given.get("weight")):
        entry["decimals"] = max(0, digits + 2 * (whole == 100.0) - 2 * percent)
    if gaps:
        where = [f"({given['where']})"] if given.get("where") else []
        entry["where"] = " and ".join([*where, *(f"{quoted(name)}.notna()" for name in gaps)])
    return entry, replace(found, unit=(100.0 if percent else 1.0) / whole, part=bool(given.get("where")))


def check_crosstab(table: CrossTable, output: Frequencies, data: Microdata, place: str) -> None:
    """OutputError at the first cell that differs from what the output gives on the data.

    A number may be rounded to the digits that are released; there may be none where the protection withholds it, and
    where nobody is.
    """
    labels = output.labels
    known, digits = (dict(zip(labels, each, strict=True)) for each in (output.refit(data), output.decimals))
    records = np.array([known.get(f"{label}: records", known[label]) for label in labels])
    withheld = {label for label, hides in zip(labels, output.protection.hides(records), strict=True) if hides}
    _check_levels(table, data, place)
    written = _labels(table, data)
    there = dict(zip(written, table.numbers.ravel() * table.unit, strict=True))
    if len(there) < len(written):
        twice = next(label for label in written if written.count(label) > 1)
        raise OutputError(f"{place}: the cross table has more than one cell for {twice}; make it of single levels")
    whole = {"counts": 0.0, "proportions": 1.0}.get(output.show, 100.0)  # of margins of shares that are no numbers
    margins = {label for label, cell in zip(written, table.cells, strict=True) if _MARGIN in cell}
    beside = [": records", *([f"={TOTAL}"] if output.margins else [])]  # not in every table, or in none
    absent = [label for label in labels if not any(each in label for each in beside)]
    for label in dict.fromkeys((*there, *absent)):
        here = there.get(label, 0.0)
        expected = np.nan_to_num(known.get(label, whole if label in margins and here else 0.0))
        if (np.isnan(here) and label in withheld) or _agrees(np.nan_to_num(here), expected, digits.get(label, 0)):
            continue
        said = "no number" if np.isnan(here) else f"{here / table.unit:g}"
        raise OutputError(
            f"{place}: the cross table has {said} at {label}, the data give "
            f"{expected / table.unit:g}; {_advice(table, output, bool(np.isnan(here)))}"
            f"{_KEPT if any(data.codebook[name].if_merged for name in table.by) else ''}"
        )


def _check_levels(table: CrossTable, data: Microdata, place: str) -> None:
    """OutputError for a level of somebody that the codebook does not list, as it has been merged into another."""
    for at, name in enumerate(table.by):
        variable, levels = data.codebook[name], _distinct(cell[at] for cell in table.cells)
        codes, gaps = coded(variable, _column(levels), MISSING_VALUES)
        for code, gap, level in zip(codes, gaps, levels, strict=True):
            if code < 0 and not gap and variable.if_merged:
                raise OutputError(
                    f"{place}: the cross table has the level {str(level)!r} of '{name}', which the codebook does not "
                    f"list; make the table from data that fit it{_KEPT}"
                )


def _agrees(here: float, expected: float, digits: int) -> bool:
    """Whether a number is one of the data, exactly or rounded to so many digits."""
    rounded = abs(here - np.round(here, digits)) < _EXACT and abs(here - expected) < half_digit(digits) + _EXACT
    return bool(rounded or np.isclose(here, expected, rtol=_EXACT, atol=_EXACT))


def _advice(table: CrossTable, output: Frequencies, withheld: bool) -> str:
    if withheld:
        return "say which are withheld: Crosstab(table, protection={'threshold': ...})"
    part = "give the data that it was made from, or say which part: Crosstab(table, where=...)"
    part = "look at its 'where'" if table.part else part
    return part if output.show == "counts" else f"{part}; for rounded shares: Crosstab(table, decimals=...)"


def _parts(table: pd.DataFrame | pd.Series[Any], records: pd.DataFrame, place: str) -> CrossTable:
    """The table as it stands."""
    single = isinstance(table, pd.Series)
    axes: tuple[list[Any], list[Any]] = ([*table.index.names], [] if single else [*table.columns.names])
    by = [*axes[0], *axes[1]]
    unnamed = [name for name in by if name not in records.columns]
    if unnamed == [None] * len(by):
        raise OutputError(
            f"{place}: a table without names of its axes is no cross table; make it as pd.crosstab(df.a, df.b); means, "
            "quantiles and correlations are outrisk.Magnitudes, outrisk.Quantiles and outrisk.Correlations"
        )
    if unnamed:
        raise OutputError(
            f"{place}: the cross table has an axis called {unnamed[0]!r}, which is no column of the data; "
            "make it of their columns, as in pd.crosstab(df.a, df.b)"
        )
    _check_values(table, records, place)
    if len(set(by)) < len(by):
        raise OutputError(f"{place}: the cross table has {by} as axes; each variable can stand on one of them")
    if not table.size:
        raise OutputError(f"{place}: the cross table has no cells; make it of records that have values in {by}")
    try:
        numbers = table.to_numpy(dtype=float, na_value=np.nan).reshape(len(table), -1)
    except (TypeError, ValueError):
        raise OutputError(f"{place}: the cross table holds text; give it as pd.crosstab makes it") from None
    columns = [()] if single else _levels(table.columns, axes[1], records)
    return CrossTable(axes, _levels(table.index, axes[0], records), columns, numbers)


def _check_values(table: pd.DataFrame | pd.Series[Any], records: pd.DataFrame, place: str) -> None:
    """OutputError for an axis of which no level is a value of its column, as those of `pd.cut(df.age, ...)` are not."""
    for axis in (table.index, *([] if isinstance(table, pd.Series) else [table.columns])):
        for at, name in enumerate(axis.names):
            levels = axis.get_level_values(at).dropna()
            if len(levels) and not set(levels) & set(records[name].dropna()):
                raise OutputError(
                    f"{place}: the cross table has levels of {name!r}, such as {str(levels[0])!r}, none of which is a "
                    "value of that column; make what it crosses a column of the data, by its own name, and cross that"
                )


def _levels(labels: pd.Index[Any], names: list[str], records: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The levels that labels of an axis stand for; a last one that the records do not have is a margin's."""
    levels = [label if isinstance(label, tuple) else (label,) for label in labels]
    column, last = records[names[0]], levels[-1][0]
    known = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    margin = isinstance(last, str) and not (known.astype(object) == last).any()
    return [
        (_MARGIN,) * len(names)
        if margin and isinstance(level[0], str) and level[0] == last
        else tuple(np.nan if pd.isna(each) else each for each in level)
        for level in levels
    ]


def _left_out(table: CrossTable, records: pd.DataFrame) -> list[str]:
    """Variables with missing values that the table has no level for."""
    return [
        name
        for at, name in enumerate(table.by)
        if gaps_of(records[name], MISSING_VALUES).any()
        and not gaps_of(_column(_distinct(cell[at] for cell in table.cells)), MISSING_VALUES).any()
    ]


def _distinct(levels: Iterable[Any]) -> list[Any]:
    return [level for level in dict.fromkeys(levels) if level is not _MARGIN]


def _column(levels: list[Any]) -> pd.Series[Any]:
    return pd.Series(levels, dtype=object).infer_objects()


def _total(records: pd.DataFrame, gaps: list[str], given: Mapping[str, Any]) -> float:
    """Records, or their weights, in a table that leaves out the gaps of these variables."""
    kept = ~np.any([np.zeros(len(records), bool), *(gaps_of(records[name], MISSING_VALUES) for name in gaps)], axis=0)
    weight = given.get("weight")
    return float(records[weight][kept].sum() if weight in records.columns else kept.sum())


def _normalized(
    table: CrossTable, total: float, given: Mapping[str, Any], digits: int | None, place: str
) -> tuple[Normalize | None, float]:
    """How `normalize` made shares of counts whose sum is `total` (None: they are counts), and what the whole is."""
    values, found = table.inner, list[tuple[float, Normalize, float]]()
    for whole in (1.0, 100.0):
        half = whole * half_digit(_SHARE_DIGITS) if digits is None else half_digit(digits)
        ways: dict[Normalize, int | None] = {"all": None, "index": 1, "columns": 0} if table.axes[1] else {"all": None}
        for normalize, axis in ways.items():
            sums = np.atleast_1d(values.sum(axis=axis))
            off = float(np.max(np.where(sums == 0, 0.0, np.abs(sums / whole - 1.0))))
            if sums.any() and off <= _EXACT + half / whole * values.size / sums.size:
                found.append((max(0.0, off - _EXACT), normalize, whole))
    if np.array_equal(values, np.round(values)) and (not found or np.isclose(values.sum(), total)):
        return None, 1.0
    if found and (values >= 0).all():
        _, normalize, whole = min(found, key=lambda each: (_SHOW[each[1]] != given.get("show"), each[0]))
        return normalize, whole
    if given.get("weight"):
        return None, 1.0
    raise OutputError(
        f"{place}: the numbers of the cross table are neither counts nor shares as `normalize` makes them; means go "
        "through outrisk.Magnitudes, weighted counts need Crosstab(table, weight=...), rounded shares decimals=..."
    )


def _labels(table: CrossTable, data: Microdata) -> list[str]:
    """How the output writes each cell."""
    texts: list[dict[Any, str]] = []
    for at, name in enumerate(table.by):
        variable, levels = data.codebook[name], _distinct(cell[at] for cell in table.cells)
        codes, gaps = coded(variable, _column(levels), MISSING_VALUES)
        written = [
            variable.labels[code] if code >= 0 else MISSING if gap else str(level)
            for code, gap, level in zip(codes, gaps, levels, strict=True)
        ]
        texts.append({level: f"{name}={text}" for level, text in zip(levels, written, strict=True)})
    return [
        ", ".join(text.get(level, f"{name}={TOTAL}") for name, text, level in zip(table.by, texts, cell, strict=True))
        for cell in table.cells
    ]
