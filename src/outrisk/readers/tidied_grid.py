"""Cross tables as spreadsheets hold them, without what stands around their cells: titles, notes, words of a pivot."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.readers.aligned_text import aligned
from outrisk.readers.cells_of_models import whole
from outrisk.readers.printed_number import is_undefined, is_withheld
from outrisk.readers.remarks import remark
from outrisk.readers.source import Grid, Source
from outrisk.readers.table_layout import MARGINS, STATISTICS, index_line
from outrisk.readers.table_one_reading import parts_of
from outrisk.readers.table_one_rows import statistics_of
from outrisk.readers.tables_of_r import table_of_r
from outrisk.readers.term_names import levels_of

_COLUMN_LABELS = ("column labels", "spaltenbeschriftungen", "étiquettes de colonnes")
_ROW_LABELS = ("row labels", "zeilenbeschriftungen", "étiquettes de lignes")
_PERCENTS = (
    *("%", "percent", "percentage", "pct", "pct.", "perc.", "cum.", "cum. %", "cum %", "cum. percent", "cumulative"),
    *("cumulative percent", "cumulative %", "valid percent", "valid %", "row %", "col %", "column %", "total %"),
)
_MADE_BY_PIVOT = re.compile(r"(?i)(sum|average|count|max|min|product|std ?dev|var)p? of (.+)")
_OF_ALL = re.compile(r"(?i)(?:(?:row|column|col\.?|grand) )?totals?(?:,? \(?n\)?)?|all \(n\)")
_SIZE = re.compile(r"(?i)(?:\s*[(\[,]\s*n\s*=\s*[\d, .\u202f\u00a0]+[)\]]?|,? n ?\(%\)|,? n)$")  # of a head, people
_RULE = re.compile(r":?-{2,}:?")


def cells_of(source: Source, number: int | None, place: str) -> tuple[Grid, int | None]:
    """The cells of a source: those of a table of a web page, from 1, of a table in Markdown or as R prints it, or of
    its text; and the number again where it is of no web page.
    """
    if source.tables:
        if number is None and len(source.tables) > 1:
            raise OutputError(
                f"{place}: it has {len(source.tables)} tables; say which of them behind the file's name, as in '...#2'"
            )
        if not 1 <= (number or 1) <= len(source.tables):
            raise OutputError(f"{place}: it has {len(source.tables)} tables, and no table {number}")
        return source.tables[(number or 1) - 1], None
    if not (source.sheets or source.chosen) and (printed := table_of_r(source.text)) is not None:
        return printed, number
    if not (source.sheets or source.chosen) and (found := aligned(source.text)) is not None:
        return found, number
    if any(row and all(_RULE.fullmatch(cell) for cell in row if cell) and any(row) for row in source.grid):
        return whole(source.grid), number
    return source.grid, number


def tidied(grid: Grid, by: Sequence[str], counts: bool, value: str, codebook: Codebook, place: str) -> Grid:
    """The table alone; what is left out has a line. `counts`: it is of numbers of people; `value`: the variable whose
    statistics it is to have, '' for none.
    """

    def is_level(cell: str) -> bool:
        of_some = any(levels_of(codebook[name], cell) for name in by if name in codebook)
        return of_some or cell.casefold() in MARGINS

    names = {*codebook.names, *(codebook[name].label for name in by if name in codebook and codebook[name].label)}
    grid = _without_lines(grid, names, is_level, place)
    grid = _of_pivot(grid, counts, place)
    grid = _without_sizes(grid, is_level, counts, place)
    if counts:
        if grid and len(grid[0]) > 2 and any(map(is_level, grid[0][1:])):
            heads = ["Total" if cell.casefold() == "n" and not is_level(cell) else cell for cell in grid[0]]
            grid = [heads, *grid[1:]]
        grid = [[_total(cell) for cell in row] if not at else [_total(row[0]), *row[1:]] for at, row in enumerate(grid)]
        grid = _without_percents(grid, is_level, place)
    if value:
        grid = _of_variable(_apart(grid, place), value, names, place)
    return _filled_down(_with_head(grid, names), names, codebook)


def _without_lines(grid: Grid, names: Collection[str], is_level: Callable[[str], bool], place: str) -> Grid:
    """Without lines of one cell above the head and below the last row, which are its title and notes."""

    def alone(row: Sequence[str]) -> bool:
        text = row[0].casefold()
        return bool(row[0]) and not any(row[1:]) and row[0] not in names and text not in STATISTICS

    first, last = 0, len(grid)
    while first < last and len(grid[0]) > 1 and alone(grid[first]):
        first += 1
    while first < last and len(grid[0]) > 1 and alone(grid[last - 1]) and not is_level(grid[last - 1][0]):
        last -= 1
    for row in (*grid[:first], *grid[last:]):
        remark(place, f"the line {row[0][:60]!r} beside the table is left out")
    return grid[first:last]


def _of_pivot(grid: Grid, counts: bool, place: str) -> Grid:
    """Excel's pivot table with plain heads; OutputError for a pivot of sums or means given as counts."""
    if len(grid) < 2 or not any(cell.casefold() in _ROW_LABELS for cell in grid[0] + grid[1]):
        return grid
    made = next((found for cell in grid[0] if (found := _MADE_BY_PIVOT.fullmatch(cell))), None)
    if counts and made is not None and made[1].casefold() != "count":
        raise OutputError(f"{place}: the pivot table has the {made[0]!r}, which is no number of people")
    if made is not None:
        remark(place, f"the pivot table has the {made[0]!r}; records whose {made[2]} is missing are not in it")
    if any(cell.casefold() in _COLUMN_LABELS for cell in grid[0]):
        grid = grid[1:]
    return [["" if cell.casefold() in _ROW_LABELS else cell for cell in grid[0]], *grid[1:]]


def _without_percents(grid: Grid, is_level: Callable[[str], bool], place: str) -> Grid:
    """Without columns of percentages beside counts."""
    heads = grid[0] if grid else []
    gone = [at for at, cell in enumerate(heads) if at and cell.casefold() in _PERCENTS and not is_level(cell)]
    if not gone or len(gone) >= len(heads) - 1:
        return grid
    remark(place, f"columns {', '.join(heads[at] for at in gone)} stand beside counts and are left out")
    return [[cell for at, cell in enumerate(row) if at not in gone] for row in grid]


def _total(cell: str) -> str:
    """A head of all people by its plain name: `Total (N)`, `Row total`."""
    return "Total" if _OF_ALL.fullmatch(cell.strip()) else cell


def _without_sizes(grid: Grid, is_level: Callable[[str], bool], counts: bool, place: str) -> Grid:
    """With heads of levels without how many people they are of ('0 (n = 4,313)', '0, n (%)'), which become a row of
    totals where cells are withheld.
    """
    heads, sizes = list[str](), list[str]()
    for cell in grid[0] if grid else ():
        bare = _SIZE.sub("", cell)
        found = bool(bare) and not is_level(cell) and (is_level(bare) or _OF_ALL.fullmatch(bare) is not None)
        heads.append(bare if found else cell)
        sizes.append(re.sub(r"\D", "", cell[len(bare) :]) if found else "")
    if not any(sizes):
        return [heads, *grid[1:]] if grid else grid
    rows = [row for row in grid[1:] if row[0].casefold() not in MARGINS]
    gaps = any(is_withheld(cell) or cell[:1] in ("<", "≤") for row in rows for cell in row[1:])
    if counts and len(rows) == len(grid) - 1 and all(sizes[1:]) and gaps:
        return [heads, *rows, ["Total", *sizes[1:]]]
    remark(place, f"what heads say of their groups is left out: {', '.join(filter(_SIZE.search, grid[0]))[:120]}")
    return [heads, *grid[1:]]


def _apart(grid: Grid, place: str) -> Grid:
    """Columns of two or more statistics (`mean (sd)`, `Mean ± SD`) as one of each."""
    for at in reversed(range(1, len(grid[0]) if grid else 0)):
        names = statistics_of(grid[0][at])
        if len(names) < 2 or names[0] != "mean":
            continue
        rows = [[*row[:at], *_parts(row[at], len(names), place), *row[at + 1 :]] for row in grid[1:]]
        grid = [[*grid[0][:at], *names, *grid[0][at + 1 :]], *rows]
    return grid


def _parts(cell: str, n: int, place: str) -> list[str]:
    parts = [cell] * n if is_withheld(cell) or is_undefined(cell) else parts_of(cell, n, False)
    if len(parts) != n:
        raise OutputError(f"{place}: {cell[:40]!r} is not {n} numbers, as in '11.52 (3.16)'; give each its own column")
    return parts


def _of_variable(grid: Grid, value: str, names: Collection[str], place: str) -> Grid:
    """The columns of one variable of a table of several, as pandas' agg writes them: variables above statistics."""
    line = index_line(grid, names)
    heads = grid[0] if line else []
    k = next((at for at, cell in enumerate(heads) if cell), len(heads))
    others = list(dict.fromkeys(cell for cell in heads[k:] if cell != value))
    if not k or value not in heads or not others or not all(cell in names for cell in heads[k:]):
        return grid
    remark(place, f"columns of {', '.join(others)} are left out; they are an output of their own")
    return [[cell for at, cell in enumerate(row) if at < k or heads[at] == value] for row in grid]


def _with_head(grid: Grid, names: Collection[str]) -> Grid:
    """Heads of two lines, as spreadsheets merge cells: names of the rows and of the columns, then the columns' levels;
    as pandas writes them.
    """
    if len(grid) < 3:
        return grid
    first, second = grid[0], grid[1]
    over = [cell for cell in first if cell]
    n = next((at for at, cell in enumerate(first) if cell), 0)
    named = len(over) == 1 and n > 0 and over[0] in names and all(second) and all(cell in names for cell in second[:n])
    if named and not any(cell in names for cell in second[n:]):  # its columns' variable stands above their levels
        return [[over[0], *[""] * (n - 1), *second[n:]], [*second[:n], *[""] * (len(second) - n)], *grid[2:]]
    k = next((at for at, cell in enumerate(second) if cell), 0)
    if not 0 < k < len(first) or not all(second[k:]) or any(first[k + 1 :]) or first[k] not in names:
        return grid
    if not all(cell in names for cell in first[:k]) or all(cell in names for cell in second[k:]):
        return grid
    return [[first[k], *[""] * (k - 1), *second[k:]], [*first[:k], *[""] * (len(first) - k)], *grid[2:]]


def _filled_down(grid: Grid, names: Collection[str], codebook: Codebook) -> Grid:
    """Levels of the rows that are written once for several, in each of them."""
    line = index_line(grid, names)
    heads = grid[line or 0] if grid else []
    k = next((at for at, cell in enumerate(heads) if cell not in names), len(heads))
    found = [list(row) for row in grid[: (line or 0) + 1]]
    for row in grid[len(found) :]:
        blank = next((at for at, cell in enumerate(row) if cell), 0)
        may_be_missing = any(name in codebook and codebook[name].missing for name in heads[:blank])
        fill = blank if blank < k and len(found) > (line or 0) + 1 and not may_be_missing else 0
        found.append([*found[-1][:fill], *row[fill:]])
    return found
