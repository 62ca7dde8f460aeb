"""Sheets of a workbook: their cells as texts; which are hidden, have percentages, or formulas without values."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from outrisk.errors import DataError, first_line

Grid = list[list[str]]


@dataclass(frozen=True)
class Sheet:
    """A sheet. percents: (row, column) of cells that Excel shows as percentages, which are held as shares; formula: the
    first cell whose formula has no value, as `D2: =SUM(B2:C2)`, '' if there is none.
    """

    title: str
    grid: Grid
    hidden: bool = False
    percents: frozenset[tuple[int, int]] = frozenset()
    formula: str = ""

    def shown(self) -> Grid:
        """The cells with percentages as they are shown: 50.8% for 0.508."""
        return [
            [_percent(cell) if (row, at) in self.percents else cell for at, cell in enumerate(cells)]
            for row, cells in enumerate(self.grid)
        ]


def read_workbook(path: Path) -> tuple[Sheet, ...]:
    """The sheets of an xlsx file; DataError where it cannot be read."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise DataError(
            f"{path}: reading xlsx needs openpyxl (pip install 'outrisk[excel]'); or save it as CSV"
        ) from None
    try:
        books = load_workbook(path, data_only=True), load_workbook(path)
        sheets = tuple(_sheet(*pair) for pair in zip(*(book.worksheets for book in books), strict=True))
    except Exception as error:  # zip and XML have faults of many kinds
        raise DataError(f"{path}: cannot be read as xlsx: {first_line(error)}") from None
    if not sheets:
        raise DataError(f"{path}: no sheet in it")
    return sheets


def first_sheet(sheets: Sequence[Sheet]) -> int:
    """The number, from 1, of the sheet that is seen first."""
    return next((number for number, sheet in enumerate(sheets, 1) if not sheet.hidden), 1)


def others_than(sheets: Sequence[Sheet], number: int) -> str:
    """The sheets with cells, other than one, as a line names them; '' where there are none."""
    return ", ".join(
        f"'{sheet.title}'{' (hidden)' * sheet.hidden}"
        for at, sheet in enumerate(sheets, 1)
        if at != number and any(cell.strip() for row in sheet.grid for cell in row)
    )


def text_of(sheet: Sheet, place: str, percent: bool) -> str:
    """A sheet as delimited text; of a sheet of ACRO what stands below its command. OutputError for formulas without
    values. `percent`: percentages as they are shown rather than as the shares that they are held as.
    """
    if sheet.formula:
        raise DataError(
            f"{place}: the sheet '{sheet.title}' has a formula without its value ({sheet.formula}); open the file in "
            "Excel or LibreOffice and save it, or write the number"
        )
    grid = sheet.shown() if percent else sheet.grid
    blocks = acro_blocks(grid)
    if any(cell == "Dep. Variable:" for block in blocks for row in block for cell in row):
        grid = [row for block in blocks for row in block]
    else:
        grid = _spread(blocks[-1] if blocks else grid)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(grid)
    return text.getvalue()


def acro_blocks(grid: Grid) -> list[Grid]:
    """Blocks of rows of a sheet that ACRO wrote, below its command and summary; none of another sheet."""
    if len(grid) < 3 or [row[0] for row in grid[1:3] if row] != ["Command", "Summary"]:
        return []
    blocks: list[Grid] = [[]]
    for row in grid[3:]:
        if any(cell.strip() for cell in row):
            blocks[-1].append(row)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _spread(grid: Grid) -> Grid:
    """A table with merged headers written out: levels repeated to the right and down. The names of its rows are a line
    below the headers, of which the first has blanks and the last has none: a row of withheld cells is no such line.
    """
    filled = [list(row) for row in grid]
    for number, row in enumerate(grid[:6]):
        k = next((at for at, cell in enumerate(row) if not cell), len(row))
        if number and 0 < k < len(row) and not any(row[k:]):
            heads = [each[k:] for each in filled[:number]]
            if not all(each[0] for each in heads) or all(heads[0]) or not all(heads[-1]):
                continue
            for above in filled[:number]:
                for at in range(k + 1, len(above)):
                    above[at] = above[at] or above[at - 1]
            for before, after in pairwise(filled[number + 1 :]):
                for at in range(k - 1):
                    after[at] = after[at] or before[at]
            break
    return filled


def _sheet(values: Any, formulas: Any) -> Sheet:
    """A sheet of openpyxl, by the values that were last computed, and by its formulas; cells merged down a column all
    say what the first of them says.
    """
    rows = list(values.iter_rows(min_row=1, min_col=1))
    grid = [[_cell(cell.value) for cell in row] for row in rows]
    for merged in values.merged_cells.ranges:
        if merged.min_col == merged.max_col:
            for row in range(merged.min_row, merged.max_row):
                grid[row][merged.min_col - 1] = grid[merged.min_row - 1][merged.min_col - 1]
    percents = frozenset(
        (at, column)
        for at, row in enumerate(rows)
        for column, cell in enumerate(row)
        if isinstance(cell.value, int | float) and "%" in str(cell.number_format)
    )
    bare = next(
        (
            f"{cell.coordinate}: {str(cell.value)[:40]}"
            for row in formulas.iter_rows(min_row=1, min_col=1)
            for cell in row
            if cell.data_type == "f" and values[cell.coordinate].value is None
        ),
        "",
    )
    return Sheet(values.title, grid, values.sheet_state != "visible", percents, bare)


def _cell(value: object) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _percent(cell: str) -> str:
    """A share as a percentage: 50.8% for 0.508."""
    return f"{(Decimal(cell) * 100).normalize():f}%"
