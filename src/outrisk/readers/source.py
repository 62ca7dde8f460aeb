"""A file or a pasted text that released numbers are read from: as lines, as cells, as the tables of a web page."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path

from outrisk.errors import DataError
from outrisk.readers.decimal_signs import Signs, decimal_comma
from outrisk.readers.remarks import remark
from outrisk.readers.workbook import Sheet, first_sheet, others_than, read_workbook, text_of

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
    sheets: tuple[Sheet, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The text by lines."""
        return self.text.splitlines()

    @cached_property
    def grid(self) -> Grid:
        """Cells of a delimited text or of the first sheet, without empty lines; all rows of one length."""
        return _even(self.sheets[0].grid if self.sheets else self._cells[0])

    @cached_property
    def _cells(self) -> tuple[Grid, str]:
        """The cells of a delimited text, and what is between them."""
        return _delimited(self.text)

    @cached_property
    def comma(self) -> bool:
        """Whether numbers have a decimal comma."""
        cells = [cell.strip() for row in self.grid for cell in row]
        shown = decimal_comma(cells)
        if shown is not None or self.sheets or self._cells[1] == ",":
            return bool(shown)
        commas = sum(re.fullmatch(r"[+-]?\d*,\d+", cell) is not None for cell in cells)
        points = sum(re.fullmatch(r"[+-]?\d*\.\d+", cell) is not None for cell in cells)
        return commas > points

    @cached_property
    def signs(self) -> Signs:
        """Which signs its numbers may have."""
        if self.sheets or self.tables:
            return Signs()
        return Signs(self._cells[1], decimal_comma([cell.strip() for row in self.grid for cell in row]))

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
        return Source(str(path), "", read_workbook(path))
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


def one_sheet(source: Source, number: int | None, place: str, percent: bool = False) -> Source:
    """A sheet of a workbook, from 1, as delimited text; None: the first that is seen, which says that there are others.
    `percent`: percentages as they are shown, rather than as the shares that Excel holds.
    """
    if number is not None and not 1 <= number <= len(source.sheets):
        raise DataError(f"{place}: {source.name} has no sheet {number}; it has {len(source.sheets)}")
    at = number or first_sheet(source.sheets)
    sheet = source.sheets[at - 1]
    if number is None and (others := others_than(source.sheets, at)):
        remark(
            place,
            f"{source.name}: read is its sheet '{sheet.title}', and not {others}; say which behind the file's name, as "
            f"in '...#{1 if at > 1 else 2}'",
        )
    return Source(source.name, text_of(sheet, place, percent))


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
