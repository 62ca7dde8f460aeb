"""Files of other packages: Parquet, Stata, SPSS and Excel, each with its labels."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from outrisk.codebook import format_value
from outrisk.errors import DataError
from outrisk.tabular.table import Table


def check_parquet(place: str) -> None:
    """DataError where Parquet cannot be read or written, for want of pyarrow."""
    _check(place, "pyarrow", "Parquet", "parquet")


def _check(place: str, module: str, what: str, extra: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise DataError(f"{place}: {what} needs {module}; install it (pip install 'outrisk[{extra}]'), or use CSV")


def _parquet(path: Path) -> Table:
    check_parquet(str(path))
    return Table(pd.read_parquet(path))


def _stata(path: Path) -> Table:
    """Codes stay as they are; Stata's missing values (. and .a to .z) are missing."""
    reader: Any = pd.read_stata(path, iterator=True, convert_categoricals=False)
    with reader:
        frame = reader.read()
        sets, labels = reader.value_labels(), reader.variable_labels()
        # pandas has the sets of labels by their names, and only here which column has which
        names = dict(zip(reader._varlist, reader._lbllist, strict=True))
    levels = {column: _texts(sets[name]) for column, name in names.items() if name in sets and column in frame}
    return Table(frame, (), {name: text for name, text in labels.items() if text}, levels)


def _spss(path: Path) -> Table:
    """Codes stay as they are; what the file declares as missing is missing."""
    _check(str(path), "pyreadstat", "SPSS", "spss")
    import pyreadstat

    frame, meta = pyreadstat.read_sav(str(path))
    labels = {name: text for name, text in meta.column_names_to_labels.items() if text}
    levels = {name: _texts(found) for name, found in meta.variable_value_labels.items()}
    return Table(frame, (), labels, levels)


def _excel(path: Path) -> Table:
    """The first sheet, its first row the header."""
    _check(str(path), "openpyxl", "Excel", "excel")
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        sheet, others = book.worksheets[0], len(book.worksheets) - 1
        title, rows = sheet.title, [row for row in sheet.values if any(cell is not None for cell in row)]
    finally:
        book.close()
    if not rows:
        raise DataError(f"{path}: the first sheet is empty")
    frame = pd.DataFrame(rows[1:], columns=["" if name is None else str(name) for name in rows[0]]).infer_objects()
    left = f"; {others} more {'is' if others == 1 else 'are'} left alone" if others else ""
    return Table(frame, (f"the first sheet, {title!r}, is read{left}",) if others else ())


def _texts(found: Mapping[Any, str]) -> dict[str, str]:
    return {format_value(float(code) if isinstance(code, int) else code): str(text) for code, text in found.items()}


ENDINGS: dict[str, tuple[str, Callable[[Path], Table]]] = {
    ".parquet": ("Parquet", _parquet),
    ".dta": ("Stata", _stata),
    ".sav": ("SPSS", _spss),
    ".xlsx": ("Excel", _excel),
}
