"""A file or a pasted text that released numbers are read from: as lines, as cells, as the tables of a web page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from outrisk.errors import DataError
from outrisk.readers.decimal_signs import Signs, decimal_comma
from outrisk.readers.latex_tables import is_latex, read_latex
from outrisk.readers.printed_tables import PrintedTable, chosen, in_a_line
from outrisk.readers.remarks import remark
from outrisk.readers.rich_text import read_rich_text
from outrisk.readers.web_tables import read_page
from outrisk.readers.word_document import read_word
from outrisk.readers.workbook import Sheet, first_sheet, others_than, read_workbook, text_of

Grid = list[list[str]]

_LARGEST = 20_000_000  # bytes
_MOST_CELLS = 2_000_000
_AS_TEXT = re.compile(r'(^|[,;\t])="([^"\n]*)"(?=[,;\t\r\n]|$)', re.M)  # a cell that is not to be taken for a number


@dataclass(frozen=True)
class Source:
    """What released numbers are read from; `name` is how messages call it.

    document: what its `printed` tables stand in ('Word', 'RTF', 'LaTeX'), '' for no document; passed: what else stands
    in it and is not read. chosen: the table of a document that the text is.
    """

    name: str
    text: str
    sheets: tuple[Sheet, ...] = ()
    printed: tuple[PrintedTable, ...] = ()
    document: str = ""
    passed: tuple[str, ...] = ()
    chosen: PrintedTable | None = None

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
        return _delimited(self.text) if self.chosen is None else (self.chosen.grid, ",")

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
    def pages(self) -> list[PrintedTable]:
        """Tables of an HTML text, with what stands about them."""
        if self.chosen is not None or not re.search(r"<t[dhr][\s>]", self.text, re.I):
            return []
        return read_page(self.text)

    @cached_property
    def tables(self) -> list[Grid]:
        """The cells of the tables of an HTML text."""
        return [_even(table.grid) for table in self.pages]

    def words(self, number: int | None = None) -> str:
        """Caption and notes of a table: of the one it is, or of a page's only or `number`."""
        pages = [self.chosen] if self.chosen else self.pages
        at = number or (1 if len(pages) == 1 else 0)
        return " . ".join((pages[at - 1].caption, *pages[at - 1].notes)) if 1 <= at <= len(pages) else ""

    @property
    def first_model(self) -> str:
        """How a study names the first of several models in it."""
        short = self.name.rpartition("/")[2]
        return f"{short}#1" if self.chosen is None or not self.chosen.number else f"{short}#{self.chosen.number}#1"

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
    if path.suffix.lower() in (".docx", ".docm"):
        tables, passed = read_word(path)
        return Source(str(path), "", printed=tuple(tables), document="Word", passed=passed)
    if path.suffix.lower() in (".doc", ".odt", ".pdf"):
        raise DataError(f"{path}: such files are not read; save the document as docx, or give the table as CSV")
    raw = path.read_bytes()
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = raw.decode("utf-16", errors="replace")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = raw.decode("cp1252", errors="replace")
    if raw.startswith(b"{\\rtf"):
        text = raw.decode("latin-1")
    if "\0" in text:
        raise DataError(f"{path}: not a text; give released numbers as CSV, text, HTML, docx or xlsx")
    return text_source(str(path), text)


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


def one_table(source: Source, which: str, place: str) -> Source:
    """A table of a document by its number or caption, '' for the only one there is, as delimited text; what of it is
    passed over has a line.
    """
    table = chosen(source.printed, which, place, source.name)
    if told := [*table.passed, *(each for each in source.passed if each not in table.passed)]:
        remark(place, f"{source.name}: passed over, or read as accepted: {', '.join(told)}")
    return one_of(source, table)


def one_of(source: Source, table: PrintedTable) -> Source:
    """A table of a document as delimited text."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table.grid)
    return Source(source.name, text.getvalue(), chosen=replace(table, grid=_even(table.grid)))


def text_source(name: str, text: str, plain: Callable[[str], str] = str) -> Source:
    """What a text is read as: RTF, LaTeX, or as it is, `plain`."""
    if text.lstrip().startswith("{\\rtf"):
        return Source(name, "", printed=tuple(read_rich_text(text)), document="RTF")
    if is_latex(text):
        return Source(name, "", printed=tuple(read_latex(text)), document="LaTeX")
    return Source(name, plain(text))


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
    rows = [[in_a_line(cell) for cell in row] for row in grid if any(cell.strip() for cell in row)]
    width = max(map(len, rows), default=0)
    if width * len(rows) > _MOST_CELLS:
        raise DataError(f"a table of {width:,} by {len(rows):,} cells is too large for released numbers")
    return [row + [""] * (width - len(row)) for row in rows]
