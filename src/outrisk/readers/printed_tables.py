"""Tables of a document (Word, RTF, LaTeX, a web page): their cells laid out, and which of them is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from outrisk.errors import DataError

Grid = list[list[str]]

BETWEEN_LINES = " \u21b5 "  # two numbers on two lines of a cell are not one of thousands
_MOST_CELLS = 2_000_000
_WIDEST = 1_000  # columns that one cell is as wide as
_NUMBER = re.compile(r"[(\[<≤=]*\s*[+\-\u2212–]?\s*[\d.,][\d.,\s\u00a0\u2009\u202f’']*(?:[eE][+-]?\d+)?\s*[)\]%*†‡]*")
_NUMBERED = re.compile(  # not 'Table 2 shows that', which begins a sentence
    r"(?:\w+\s+)?(?i:table|tables|tabelle|tab\.|tableau|tabla|tabella|tabel)\s*[A-Z]?\.?\s?\d+(?:[.\-–]?[\dA-Za-z])*\b"
    r"(?=\s*$|\s*[.:|–—)\]-]|\s+[^a-z\s,;])"
)
_BEGINS_NUMBER = re.compile(r"[<≤]?\s*[+\-\u2212–]?[\d.,]")
_FIGURE = re.compile(r"(?i)(?:\w+\s+)?(?:figure|fig\.|abbildung|graph)\s*[A-Z]?\d")
_SUPERSCRIPTS = str.maketrans("0123456789+-=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾")
_UNSEEN = re.compile("[\u200b-\u200d\u2060\ufeff]")  # of no width
_SOFT = re.compile("(?<=[^\\W\\d_])\u00ad(?=[^\\W\\d_])")
_HYPHENS = str.maketrans({"\u2010": "-", "\u2011": "-", "\u2012": "-"})
_MARK = r"[(\[]?(?:[^\W\d_]{1,3}|\d{1,3}|[*†‡§¶#])[)\]]?"
_NOTE = r"[(\[]?[a-k](?:,\s?[a-k])*[)\]]?"  # letters of footnotes
_MARKS = re.compile(rf"{_MARK}(?:[\s,;–-]*{_MARK}){{,9}}[,;]?")
_OF_P = re.compile(r"(?i)p(?:[\s-]?val(?:ue)?)?\W*[a-d¹²³⁴]?\W*|pr\(.*")
_LISTED = 20
_NEAR = 40  # characters that a raised text is looked at beside
_OVER = re.compile(r" \(one cell over \d+ columns\)$")  # what `laid_out` says


@dataclass(frozen=True)
class PrintedTable:
    """A table of a document. caption: what stands above it; notes: lines below it; fault: why it is not read, '' if
    nothing speaks against it; passed: what of it is passed over, in words; number: which table of its
    document it is, from 1; 0 of a text that is no document.
    """

    caption: str
    grid: Grid
    notes: tuple[str, ...] = ()
    fault: str = ""
    passed: tuple[str, ...] = ()
    number: int = 1

    @property
    def numbered(self) -> bool:
        """Whether its caption begins as in 'Table 2'."""
        return is_numbered(self.caption)


@dataclass(frozen=True)
class Placed:
    """A cell: its row and first column, from 0; over how many rows and columns it stands; head: it is marked as one."""

    row: int
    column: int
    text: str
    rows: int = 1
    columns: int = 1
    head: bool = False


@dataclass
class Layout:
    """Cells as they are met, row by row; those of rows above that stand in later ones too keep their columns."""

    cells: list[Placed] = field(default_factory=list)
    height: int = 0
    _taken: dict[int, int] = field(default_factory=dict)  # by column: the first row that is free again
    _at: int = 0
    _all: int = 0

    def row(self) -> None:
        """Begin a row."""
        self.height += 1
        self._at = 0

    def add(self, text: str, rows: int = 1, columns: int = 1, head: bool = False, at: int | None = None) -> None:
        """Put a cell into the first free columns of the row, or `at` a column."""
        while at is None and self._taken.get(self._at, 0) >= self.height:
            self._at += 1
        self._at = self._at if at is None else at
        columns = max(1, min(columns, _WIDEST))
        rows = max(1, min(rows, _MOST_CELLS))
        self.cells.append(Placed(self.height - 1, self._at, text, rows, columns, head))
        for column in range(self._at, self._at + columns):
            self._taken[column] = self.height - 1 + rows
        self._at += columns
        self._all += columns
        if self._all > _MOST_CELLS:
            raise DataError(f"a table of more than {_MOST_CELLS:,} cells is too large for released numbers")

    def group(self) -> None:
        """Begin a group of rows, into which no cell of the rows above reaches."""
        self._taken.clear()
        self.cells = [replace(cell, rows=min(cell.rows, self.height - cell.row)) for cell in self.cells]

    def grid(self) -> Grid:
        """The cells by rows; DataError for too many."""
        return laid_out(self.cells, self.height)


def without_span(cell: str) -> str:
    """A cell without what `laid_out` says of one over several columns."""
    return _OVER.sub("", cell)


def laid_out(cells: Sequence[Placed], height: int) -> Grid:
    """A table's cells by rows, all of one length. A label over several rows is in each of them, a text over several
    columns in the first. A number over several rows or columns is of all of them at once, and of none by itself: it
    says so, which no reader takes for a number; but one of a column of p-values, which stands in its first row.
    """
    width = max((cell.column + cell.columns for cell in cells), default=0)
    if width * height > _MOST_CELLS:
        raise DataError(f"a table of {width:,} by {height:,} cells is too large for released numbers")
    grid = [[""] * width for _ in range(height)]
    over = {(cell.row + down, cell.column): cell for cell in cells for down in range(min(cell.rows, height - cell.row))}
    heads_of_p = {cell.column: cell.row for cell in reversed(cells) if _OF_P.fullmatch(cell.text.strip())}
    alone = sorted(cell.row for cell in cells if is_number(cell.text) and cell.columns == 1 and cell.column)
    for cell in cells:
        text, below = cell.text, cell.text
        rows = min(cell.rows, height - cell.row)
        body = not cell.head and is_number(text) and bool(alone) and alone[0] <= cell.row
        if body and cell.columns > 1:
            text = below = f"{text} (one cell over {cell.columns} columns)"
        elif not cell.head and rows > 1 and is_number(text) and not _is_label(cell, over):
            below = ""
            if heads_of_p.get(cell.column, height) >= cell.row:
                text = below = f"{text} (one cell over {rows} rows)"
        for down in range(rows):
            grid[cell.row + down][cell.column] = below if down else text
    return grid


def is_number(text: str) -> bool:
    """Whether a text is a number, perhaps with what stands about one."""
    return bool(_NUMBER.fullmatch(text.strip())) and any(map(str.isdigit, text))


def _is_label(cell: Placed, over: dict[tuple[int, int], Placed]) -> bool:
    """Whether all to its left stand over the same rows, as labels of groups do."""
    left = [over.get((cell.row, at)) for at in range(cell.column)]
    return all(each is None or each.row + each.rows >= cell.row + cell.rows for each in left)


def in_a_line(cell: str) -> str:
    """The text of a cell without its line breaks, invisible characters and kinds of hyphens; two numbers on two lines
    stay apart. A soft hyphen is dropped between letters only: at a number it may be shown, as a minus.
    """
    cell = _SOFT.sub("", _UNSEEN.sub("", cell)).translate(_HYPHENS)
    found = list[str]()
    for line in (" ".join(line.split(" ")).strip() for line in cell.splitlines()):
        if line:
            apart = bool(found) and found[-1][-1].isdigit() and line[0].isdigit()
            found += [BETWEEN_LINES if apart else " ", line] if found else [line]
    return "".join(found)


def rows_of_lines(grid: Grid) -> Grid:
    """A row whose cells all have as many lines as its label as that many rows; the others with one line a cell."""
    found: Grid = []
    for row in grid:
        lines = [[line.strip() for line in cell.splitlines() if line.strip()] for cell in row]
        n = len(lines[0]) if lines else 0
        others = [each for each in lines[1:] if each]
        numbers = all(_BEGINS_NUMBER.match(line) for each in others for line in each)
        if n > 1 and others and numbers and all(len(each) == n for each in others):
            found += [[each[at] if each else "" for each in lines] for at in range(n)]
        else:
            found.append([in_a_line(cell) for cell in row])
    return found


def raised(before: str, text: str) -> str:
    """What a raised or lowered text adds to a cell: nothing where it marks a number, such as a footnote's letter; what
    makes no number where it is no mark (`1` and a raised `.5`).
    """
    mark, before = text.strip(), before[-_NEAR:].rstrip()
    if not mark or re.fullmatch(r"[*†‡§¶#+]+", mark):
        return text
    digits = re.fullmatch(r"[\d,;\s+−-]+", mark) is not None
    behind = re.search(r"[\d)\]%*.–—]$", before) is not None
    if digits and (not behind or re.search(r"(?:^|[×x·*\s])10$", before)):
        return text.translate(_SUPERSCRIPTS)
    if not behind and not (re.fullmatch(_NOTE, mark) and re.search(r"[^\W\d_]{3}$", before)):
        return text
    return "" if _MARKS.fullmatch(mark) else f"^{text}"


def is_numbered(text: str) -> bool:
    """Whether a line begins as in 'Table 2'."""
    return bool(_NUMBERED.match(text.strip()))


def is_figure(text: str) -> bool:
    """Whether a line is a figure's caption."""
    return bool(_FIGURE.match(text.strip()))


def chosen(tables: Sequence[PrintedTable], which: str, place: str, name: str) -> PrintedTable:
    """The table that is meant: by its number from 1, by its caption or how that begins, or the only one there is.
    DataError that lists them where it is not told, or may be several.
    """
    if not tables:
        raise DataError(f"{place}: {name} has no table in it")
    short = name.rpartition("/")[2]
    say = f"say which one behind the file's name, as in '{short}#1'"
    if which.isdecimal():
        if not 1 <= int(which) <= len(tables):
            raise DataError(f"{place}: {name} has no table {which}; its tables are {list_of_tables(tables)}")
        found = [tables[int(which) - 1]]
    elif which:
        found = [table for table in tables if _begins(table.caption, which)]
    else:
        found = list(tables)
    if not found:
        raise DataError(f"{place}: {name} has no table '{which}'; its tables are {list_of_tables(tables)}")
    if len(found) > 1:
        of = f"{len(found)} tables of which '{which}' may be the caption" if which else f"{len(found)} tables"
        raise DataError(f"{place}: {name} has {of}; {say}: {list_of_tables(tables)}")
    if found[0].fault:
        raise DataError(f"{place}: the table {_called(found[0])}of {name} {found[0].fault}")
    return found[0]


def list_of_tables(tables: Sequence[PrintedTable]) -> str:
    """Tables by number and caption, in one line."""
    names = [
        f"{at} '{table.caption[:60]}'" if table.caption else _by_head(at, table) for at, table in enumerate(tables, 1)
    ]
    return ", ".join([*names[:_LISTED], *(["..."] if len(names) > _LISTED else [])])


def _by_head(at: int, table: PrintedTable) -> str:
    head = ", ".join(cell for cell in (table.grid[0] if table.grid else []) if cell)
    return f"{at} (without a caption: {head[:40]})"


def _called(table: PrintedTable) -> str:
    return f"'{table.caption[:60]}' " if table.caption else ""


def _begins(caption: str, which: str) -> bool:
    """Whether a caption is a text, or begins with it: 'Table 2' does not begin 'Table 21'."""
    caption, which = (" ".join(text.split()).casefold() for text in (caption, which))
    rest = caption[len(which) :]
    return bool(which) and caption.startswith(which) and not (rest[:1].isalnum() or re.match(r"[.\-–]\d", rest))
