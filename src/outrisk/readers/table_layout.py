"""Tables as grids of cells: which rows and columns are headers, which levels a cell belongs to."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from outrisk.errors import OutputError
from outrisk.readers.source import Grid

MARGINS = ("all", "total", "sum", "insgesamt", "gesamt", "sous-total", "margin",
           "grand total", "gesamtergebnis", "total général")  # fmt: skip  # what a level of all is called
STATISTICS = {
    "mean": "mean",
    "average": "mean",
    "std": "sd",
    "sd": "sd",
    **dict.fromkeys(("std. deviation", "std dev", "std. dev.", "std. dev", "std deviation"), "sd"),
    "sum": "sum",
    "count": "count",
    "n": "count",
    "size": "count",
    "median": "median",
    "min": "min",
    "minimum": "min",
    "max": "max",
    "maximum": "max",
    "mode": "mode",
    "mode_aggfunc": "mode",
    "agg_mode": "mode",
}
_OF_MEANS = {  # beside a mean; elsewhere they may be levels
    **dict.fromkeys(("standard error", "std. error", "std. err.", "std error", "std.error", "se", "sem", "s.e.",
                     "std. error of mean", "std. error mean"), "standard error"),
    **dict.fromkeys(("lower limit", "lower", "lower bound", "lower ci", "ci lower", "lcl", "conf.low"), "lower limit"),
    **dict.fromkeys(("upper limit", "upper", "upper bound", "upper ci", "ci upper", "ucl", "conf.high"), "upper limit"),
}  # fmt: skip
_COUNTS = ("freq", "freq.", "frequency", "count", "n", "counts", "value")
_MOST_HEADERS = 6
_CORNER = re.compile(r"(.+?)\s*(?:[\\/×|]|\bx\b|\bby\b)\s*(.+)")  # names of rows and of columns in the first cell
_UNNAMED = re.compile(r"Var\d+")  # how R's as.data.frame calls the axes of a table without names


@dataclass(frozen=True)
class Cell:
    """A cell: its levels, one an axis (as printed), the statistic that it is of ('' if it is not said), its text."""

    levels: tuple[str, ...]
    statistic: str
    text: str


@dataclass(frozen=True)
class CellTable:
    """A table by cells. axes: names of the variables, '' for one that the table does not name; rows first. left:
    columns beside statistics that are none.
    """

    axes: tuple[str, ...]
    cells: tuple[Cell, ...]
    statistics: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def lay_out(
    grid: Grid, names: Collection[str], row_axes: int | None, place: str, statistics: Mapping[str, str] = STATISTICS
) -> CellTable:
    """The cells of a wide table (header lines, then rows that begin with levels) or of a long one.

    `names`: of variables. `row_axes`: how many variables stand in the rows, if that is known. `statistics`: by what
    a line of several header lines calls them.
    """
    if len(grid) < 2 or len(grid[0]) < 2:
        raise OutputError(f"{place}: no table in it: it needs a header and rows")
    grid = _without_row_numbers(grid, names)
    header = grid[0]
    last = header[-1].casefold()
    if last in _COUNTS and len(header) > 1 and all(cell in names or _UNNAMED.fullmatch(cell) for cell in header[:-1]):
        cells = tuple(Cell(tuple(row[:-1]), "", row[-1]) for row in grid[1:])
        return CellTable(tuple(cell if cell in names else "" for cell in header[:-1]), cells)
    index = index_line(grid, names)
    if index is not None:
        return _with_index_line(grid, index, statistics)
    return _one_header(grid, names, row_axes)


def _without_row_numbers(grid: Grid, names: Collection[str]) -> Grid:
    """A table without the first column that R's write.csv, or pandas, numbers rows with."""
    header = grid[0]
    numbered = len(header) > 2 and not header[0] and (header[1] in names or _UNNAMED.fullmatch(header[1]))
    if numbered and [row[0] for row in grid[1:]] in ([str(at + by) for at in range(len(grid) - 1)] for by in (0, 1)):
        return [row[1:] for row in grid]
    return grid


def index_line(grid: Grid, names: Collection[str]) -> int | None:
    """The line of a pandas table that names its rows and nothing else, where there are several header lines."""
    for number, row in enumerate(grid[:_MOST_HEADERS]):
        k = _leading(row)
        if number and 0 < k < len(row) and not any(row[k:]) and all(cell in names for cell in row[:k]):
            return number
    return None


def _leading(row: Sequence[str]) -> int:
    return next((number for number, cell in enumerate(row) if not cell), len(row))


def _with_index_line(grid: Grid, index: int, statistics: Mapping[str, str]) -> CellTable:
    """Header lines above the line of the rows' names: levels of column variables, statistics, the name of the value."""
    k = _leading(grid[index])
    axes, keep, statistic = list(grid[index][:k]), list[list[str]](), [""] * (len(grid[0]) - k)
    for row in grid[:index]:
        name = next((cell for cell in row[:k] if cell), "")
        levels = row[k:]
        if not name and all(level.casefold() in statistics for level in levels):
            statistic = [statistics[level.casefold()] for level in levels]
        elif name:
            axes.append(name)
            keep.append(levels)
        elif len(set(levels)) > 1:
            axes.append("")
            keep.append(levels)
    cells = tuple(
        Cell((*row[:k], *(levels[at] for levels in keep)), statistic[at], row[k + at])
        for row in grid[index + 1 :]
        for at in range(len(row) - k)
    )
    return CellTable(tuple(axes), cells, tuple(dict.fromkeys(each for each in statistic if each)))


def _one_header(grid: Grid, names: Collection[str], row_axes: int | None) -> CellTable:
    """One header line: names of the row variables, then the levels of one column variable (or statistics)."""
    header = [_bare_statistic(cell, names) for cell in grid[0]]
    corner = _CORNER.fullmatch(header[0])
    if corner and header[0] not in names and corner[1] in names and corner[2] in names:
        cells = [Cell((row[0], header[at]), "", row[at]) for row in grid[1:] for at in range(1, len(header))]
        return CellTable((corner[1], corner[2]), tuple(cells))
    unnamed = next((at for at, cell in enumerate(header) if cell and cell not in names), len(header) - 1)
    k = row_axes or max(1, unnamed)
    columns = header[k:]
    row_names = tuple(cell if cell in names else "" for cell in header[:k])
    of_columns = [STATISTICS.get(cell.casefold(), "") for cell in columns]
    known = STATISTICS | (_OF_MEANS if "mean" in of_columns else {})
    found = [known.get(cell.casefold(), "") for cell in columns]
    if all(found) or ("mean" in found and len([each for each in found if each]) > 1):
        left = tuple(cell for cell, each in zip(columns, found, strict=True) if not each)
        kept = [at for at, each in enumerate(found) if each]
        cells = [Cell(tuple(row[:k]), found[at], row[k + at]) for row in grid[1:] for at in kept]
        return CellTable(row_names, tuple(cells), tuple(dict.fromkeys(found[at] for at in kept)), left)
    if len(columns) == 1 and columns[0] in names:  # the value's name, as pandas' pivot_table writes one statistic
        return CellTable(row_names, tuple(Cell(tuple(row[:k]), "", row[k]) for row in grid[1:]))
    body = [row for row in grid[1:] if any(row[k:]) or row[0]]
    cells = [Cell((*row[:k], columns[at]), "", row[k + at]) for row in body for at in range(len(columns))]
    return CellTable((*row_names, ""), tuple(cells))


def _bare_statistic(cell: str, names: Collection[str]) -> str:
    """`mean` of `educ.mean`, as R's aggregate names what a function of several results gives."""
    name, _, statistic = cell.rpartition(".")
    return statistic if name in names and cell not in names and statistic.casefold() in STATISTICS else cell
