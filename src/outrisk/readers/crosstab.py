"""Cross tables of a session (`pandas.crosstab`, `value_counts`) as entries of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from outrisk.errors import OutputError

_SHOW = {"all": "proportions", "index": "row_percentages", "columns": "column_percentages"}
Normalize = Literal["all", "index", "columns"]


def read_crosstab(
    table: pd.DataFrame | pd.Series[Any],
    records: pd.DataFrame,
    given: Mapping[str, Any],
    place: str,
    decimals: int | None,
) -> dict[str, Any]:
    """The entry of kind `frequencies` whose numbers this table holds.

    `records` are those that it was made from, after `where`. Counts, or shares as `normalize` makes them; with margins
    or without. OutputError names the first cell that the records do not give; `decimals` are those of shares.
    """
    if isinstance(table, pd.Series):
        table = table.to_frame()
        table.columns = pd.Index([""])
    axes: list[list[Any]] = [[*table.index.names], [] if list(table.columns) == [""] else [*table.columns.names]]
    by = [name for axis in axes for name in axis]
    unnamed = [name for name in by if name not in records.columns]
    if not by or unnamed:
        raise OutputError(
            f"{place}: the cross table has an axis called {(unnamed or [None])[0]!r}, which is no column of the data; "
            "make it of their columns, as in pd.crosstab(df.a, df.b)"
        )
    if len(set(by)) < len(by):
        raise OutputError(f"{place}: the cross table has {by} as axes; each variable can stand on one of them")
    cells, margins = _without_margins(table, records, axes)
    normalize = _normalized(cells)
    _compare(table, _computed(records, axes, normalize, margins), place, bool(given.get("where")))
    entry: dict[str, Any] = {"kind": "frequencies", "by": by, **given}
    if normalize is not None:
        entry.setdefault("show", _SHOW[normalize])
        if decimals is not None:  # digits of a share; a percentage shows two fewer
            entry.setdefault("decimals", decimals if normalize == "all" else max(decimals - 2, 0))
    if margins:
        entry.setdefault("margins", True)
    return entry


def _without_margins(table: pd.DataFrame, records: pd.DataFrame, axes: list[list[Any]]) -> tuple[pd.DataFrame, str]:
    """The cells alone, and what the margin is called (empty where there is none)."""
    rows, columns = table.index, table.columns
    for axis, labels in zip(axes, (rows, columns), strict=True):
        if not axis:
            continue
        last = labels[-1][0] if isinstance(labels, pd.MultiIndex) else labels[-1]
        if isinstance(last, str) and not (records[axis[0]].astype(object) == last).any():
            keep_rows = [label for label in rows if _first(label) != last]
            keep_columns = [label for label in columns if _first(label) != last]
            return table.loc[keep_rows, keep_columns], last
    return table, ""


def _first(label: Any) -> Any:
    return label[0] if isinstance(label, tuple) else label


def _normalized(cells: pd.DataFrame) -> Normalize | None:
    """How `normalize` made shares of the counts; None for counts."""
    values = cells.to_numpy(dtype=float)
    if np.all(values == np.round(values)) and values.sum() > 1:
        return None
    if np.isclose(values.sum(), 1.0):
        return "all"
    return "index" if np.allclose(values.sum(axis=1), 1.0) else "columns"


def _computed(records: pd.DataFrame, axes: list[list[Any]], normalize: Normalize | None, margins: str) -> pd.DataFrame:
    rows, columns = ([records[name] for name in axis] for axis in axes)
    if not columns:
        counts = records.groupby(axes[0], observed=True).size().to_frame()
        counts.columns = pd.Index([""])
        return counts if normalize is None else counts / counts.to_numpy().sum()
    crosstab: Any = pd.crosstab  # its stubs have no overload for this call
    found: pd.DataFrame = crosstab(
        rows, columns, normalize=normalize or False, margins=bool(margins), margins_name=margins or "All"
    )
    return found


def _compare(table: pd.DataFrame, found: pd.DataFrame, place: str, subset: bool) -> None:
    """OutputError at the first cell that differs."""
    advice = "give the data that it was made from, or say which part: Crosstab(table, where=...)"
    advice = "look at its 'where'" if subset else advice
    for row in table.index.union(found.index, sort=False):
        for column in table.columns.union(found.columns, sort=False):
            here, there = _at(table, row, column), _at(found, row, column)
            if not np.isclose(here, there, rtol=0, atol=1e-9):
                cell = ", ".join(
                    f"{name} = {level}"
                    for names, label in ((table.index.names, row), (table.columns.names, column))
                    for name, level in zip(names, label if isinstance(label, tuple) else (label,), strict=True)
                    if name is not None
                )
                raise OutputError(f"{place}: the cross table has {here:g} at {cell}, the data give {there:g}; {advice}")


def _at(table: pd.DataFrame, row: Any, column: Any) -> float:
    """A cell; 0 where the table has no such row or column, as where nobody is in it."""
    if row not in table.index or column not in table.columns:
        return 0.0
    value = float(table.loc[[row], [column]].to_numpy(dtype=float)[0, 0])
    return 0.0 if np.isnan(value) else value
