"""A file or a pasted text that released numbers are read from: as lines, as cells, as the tables of a web page."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

from outrisk.errors import DataError, first_line

Grid = list[list[str]]
_LARGEST = 20_000_000  # bytes
_MOST_CELLS = 2_000_000
_WIDEST = 1_000  # cells that one is as wide as
_AS_TEXT = re.compile(r'(^|[,;\t])="([^"\n]*)"(?=[,;\t\r\n]|$)', re.M)  # a cell that is not to be taken for a number


@dataclass(frozen=True)
class Source:
    """What released numbers are read from; `name` is how messages call it."""

    name: str
    text: str
    sheets: tuple[tuple[str, Grid], ...] = ()

    @property
    def lines(self) -> list[str]:
        """The text by lines."""
        return self.text.splitlines()

    @cached_property
    def grid(self) -> Grid:
        """Cells of a delimited text or of the first sheet, without empty lines; all rows of one length."""
        return _even(self.sheets[0][1] if self.sheets else self._cells[0])

    @cached_property
    def _cells(self) -> tuple[Grid, str]:
        """The cells of a delimited text, and what is between them."""
        return _delimited(self.text)

    @cached_property
    def comma(self) -> bool:
        """Whether numbers have a decimal comma."""
        if self.sheets or self._cells[1] == ",":
            return False
        cells = [cell.strip() for row in self.grid for cell in row]
        commas = sum(re.fullmatch(r"[+-]?\d*,\d+", cell) is not None for cell in cells)
        points = sum(re.fullmatch(r"[+-]?\d*\.\d+", cell) is not None for cell in cells)
        return commas > points

    @cached_property
    def tables(self) -> list[Grid]:
        """Tables of an HTML text."""
        if not re.search(r"<t[dhr][\s>]", self.text, re.I):
            return []
        reader = _Tables()
        reader.feed(self.text)
        reader.close()
        return [_even(table) for table in reader.found]

    @property
    def by_commas(self) -> bool:
        """Whether commas, or the bars of Markdown, stand between its cells."""
        return bool(self.sheets) or self._cells[1] in (",", "|")

    @property
    def delimited(self) -> bool:
        """Whether it is cells rather than a printed page."""
        return bool(self.sheets) or (not self.tables and any(len(row) > 1 for row in self.grid))


def read_source_of_values(path: Path) -> Source:
    """A file of released numbers; DataError in one line if it cannot be read as text or sheets."""
    if not path.is_file():
        raise DataError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
    if path.stat().st_size > _LARGEST:
        raise DataError(
            f"{path}: {path.stat().st_size:,} bytes are too many for released numbers; give the table alone"
        )
    if path.suffix.lower() in (".xlsx", ".xlsm"):
        return Source(str(path), "", tuple(_sheets(path)))
    raw = path.read_bytes()
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = raw.decode("utf-16", errors="replace")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = raw.decode("cp1252", errors="replace")
    if "\0" in text:
        raise DataError(f"{path}: not a text; give released numbers as CSV, text, HTML or xlsx")
    return Source(str(path), text)


def one_sheet(source: Source, number: int, place: str) -> Source:
    """A sheet of a workbook, from 1, as delimited text; of a sheet of ACRO what stands below its command."""
    if not 1 <= number <= len(source.sheets):
        raise DataError(f"{place}: {source.name} has no sheet {number}; it has {len(source.sheets)}")
    grid = source.sheets[number - 1][1]
    blocks = acro_blocks(grid)
    if any(cell == "Dep. Variable:" for block in blocks for row in block for cell in row):
        grid = [row for block in blocks for row in block]
    else:
        grid = _spread(blocks[-1] if blocks else grid)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(grid)
    return Source(source.name, text.getvalue())


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
    """A table with merged headers written out: levels repeated to the right and down."""
    filled = [list(row) for row in grid]
    for number, row in enumerate(grid[:6]):
        k = next((at for at, cell in enumerate(row) if not cell), len(row))
        if number and 0 < k < len(row) and not any(row[k:]):
            for above in filled[:number]:
                for at in range(k + 1, len(above)):
                    above[at] = above[at] or above[at - 1]
            for before, after in pairwise(filled[number + 1 :]):
                for at in range(k - 1):
                    after[at] = after[at] or before[at]
            break
    return filled


def _sheets(path: Path) -> list[tuple[str, Grid]]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise DataError(
            f"{path}: reading xlsx needs openpyxl (pip install 'outrisk[excel]'); or save it as CSV"
        ) from None
    try:
        sheets = [(sheet.title, _cells(sheet)) for sheet in load_workbook(path, data_only=True).worksheets]
    except Exception as error:  # zip and XML have faults of many kinds
        raise DataError(f"{path}: cannot be read as xlsx: {first_line(error)}") from None
    if not sheets:
        raise DataError(f"{path}: no sheet in it")
    return sheets


def _cells(sheet: Any) -> Grid:
    """The cells of a sheet; those merged down a column all say what the first of them says."""
    grid = [[_cell(value) for value in row] for row in sheet.iter_rows(min_row=1, min_col=1, values_only=True)]
    for merged in sheet.merged_cells.ranges:
        if merged.min_col == merged.max_col:
            for row in range(merged.min_row, merged.max_row):
                grid[row][merged.min_col - 1] = grid[merged.min_row - 1][merged.min_col - 1]
    return grid


def _cell(value: object) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _delimited(text: str) -> tuple[Grid, str]:
    """The cells of a delimited text, and the delimiter: the one that most lines agree on."""
    lines = [line for line in text.splitlines() if line.strip()][:50]
    if any(_AS_TEXT.match(line) for line in lines):  # as esttab writes them, whose commas separate nothing
        text = _AS_TEXT.sub(r'\1"\2"', text)
        lines = [re.sub(r'"[^"]*"', '""', line) for line in text.splitlines() if line.strip()][:50]
    best, fit = ",", -1.0
    for delimiter in (",", ";", "\t", "|"):
        counts = [line.count(delimiter) for line in lines]
        alike = max((counts.count(each) for each in set(counts) if each), default=0)
        if alike > fit:
            best, fit = delimiter, float(alike)
    if lines and all(line[0] == '"' and not re.search("[,;\t]", line) for line in lines):
        best = " "  # R's write.table
    try:
        return [row for row in csv.reader(io.StringIO(text), delimiter=best) if any(map(str.strip, row))], best
    except csv.Error:
        return [line.split(best) for line in text.splitlines() if line.strip()], best


def _even(grid: Grid) -> Grid:
    rows = [[_in_a_line(cell) for cell in row] for row in grid if any(cell.strip() for cell in row)]
    width = max(map(len, rows), default=0)
    if width * len(rows) > _MOST_CELLS:
        raise DataError(f"a table of {width:,} by {len(rows):,} cells is too large for released numbers")
    return [row + [""] * (width - len(row)) for row in rows]


def _in_a_line(cell: str) -> str:
    return " ".join(line.strip() for line in cell.splitlines()).strip()


class _Tables(HTMLParser):
    """Cells of the tables of a page; a table within a table counts as its own. A cell over several rows is in each."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Grid] = []
        self._cell: list[str] | None = None
        self._rows = 1  # that the cell stands in
        self._columns = 1
        self._below: dict[int, tuple[int, str]] = {}  # by column: how many rows more a cell stands in

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a table, a row or a cell."""
        if tag == "table":
            self.found.append([])
            self._below = {}
        elif tag == "tr" and self.found:
            self._end()
            self.found[-1].append([])
            self._continue()
        elif tag in ("td", "th") and self.found:
            self._end()
            if not self.found[-1]:
                self.found[-1].append([])
            self._cell = []
            rows = dict(attrs).get("rowspan") or "1"
            self._rows = min(int(rows), _MOST_CELLS) if rows.isdecimal() else 1
            columns = dict(attrs).get("colspan") or "1"
            self._columns = min(int(columns), _WIDEST) if columns.isdecimal() else 1

    def handle_endtag(self, tag: str) -> None:
        """End a cell."""
        if tag in ("td", "th", "tr", "table"):
            self._end()

    def handle_data(self, data: str) -> None:
        """Text of a cell."""
        if self._cell is not None:
            self._cell.append(data)

    def _end(self) -> None:
        if self._cell is not None and self.found and self.found[-1]:
            row, text = self.found[-1][-1], " ".join("".join(self._cell).split())
            if self._rows > 1:
                self._below[len(row)] = self._rows - 1, text
            row.append(text)
            row += [""] * (self._columns - 1)
            self._continue()
        self._cell = None

    def _continue(self) -> None:
        """Cells of the rows above that stand in this one too, next to what is in it."""
        row = self.found[-1][-1]
        while (at := len(row)) in self._below:
            rows, text = self._below.pop(at)
            row.append(text)
            if rows > 1:
                self._below[at] = rows - 1, text
