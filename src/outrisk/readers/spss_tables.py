"""Tables of an output of SPSS or PSPP as CSV: which stand in it; cross tables and frequencies as plain wide ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from outrisk.errors import OutputError
from outrisk.readers.source import Grid

_TITLE = re.compile(r"(?i)table: (.*)")
_STATISTICS = {
    "counts": ("count", "anzahl"),
    "row_percentages": ("row %", "row percent", "zeile %"),
    "column_percentages": ("column %", "column percent", "spalte %"),
    "proportions": ("total %", "total percent", "% of total", "gesamt %"),
}
_TOTAL = ("total", "gesamt", "insgesamt")
_FREQUENCY = ("frequency", "häufigkeit")


def titled_tables(grid: Grid) -> list[tuple[str, Grid]]:
    """The tables of an output with their titles, 'Table: ...' lines; all of a grid without such lines, as one."""
    found: list[tuple[str, Grid]] = [("", [])]
    for row in grid:
        title = _TITLE.fullmatch(", ".join(cell for cell in row if cell)) if row[0].startswith("Table: ") else None
        if title:
            found.append((title[1], []))
        elif not row[0].startswith("note: "):
            found[-1][1].append(row)
    return [(title, _narrow(rows)) for title, rows in found if rows]


def _narrow(rows: Grid) -> Grid:
    """A table without the empty columns that wider ones beside it give it."""
    width = max((at + 1 for row in rows for at, cell in enumerate(row) if cell), default=0)
    return [row[:width] for row in rows]


def plain_table(
    grid: Grid, by: Sequence[str], show: str, number: int | None, place: str, called: Mapping[str, str] | None = None
) -> Grid:
    """The table of an SPSS output that is by these variables, as a wide one; the grid itself if it is no such output.

    `show`: which of the statistics of its cells, '' for a table of means and the like. `number`: which table, from 1.
    `called`: names of variables by their labels, which stand in place of names.
    """
    called = called or {}
    titled = titled_tables(grid)
    if number is None and len(titled) == 1 and not titled[0][0]:
        return _plain(_named(grid, called), "", by, show) or grid
    if number is not None:
        if not 1 <= number <= len(titled):
            raise OutputError(f"{place}: it has {len(titled)} tables, and no table {number}")
        titled = titled[number - 1 : number]
    plain = [_plain(_named(rows, called), called.get(title, title), by, show) for title, rows in titled]
    found = [each for each in plain if each is not None]
    found = [each for at, each in enumerate(found) if each not in found[:at]]
    if len(found) == 1:
        return found[0]
    titles = "; ".join(f"{at}: {title or 'untitled'}" for at, (title, _) in enumerate(titled, 1))
    what = f"{show.replace('_', ' ') or 'statistics'} by {', '.join(by) or 'variables that the output names'}"
    raise OutputError(
        f"{place}: it has {f'{len(found)} tables' if found else 'no table'} of {what}; say which of its tables behind "
        f"the file's name, as in '...#2' ({titles})"
    )


def _named(grid: Grid, called: Mapping[str, str]) -> Grid:
    return [[called.get(cell, cell) for cell in row] for row in grid]


def _plain(grid: Grid, title: str, by: Sequence[str], show: str) -> Grid | None:
    """A table by these variables as a plain one; None for another."""
    if len(grid) < 2:
        return None
    header = [cell.casefold() for cell in grid[0]]
    if show and len(by) == 1 and any(name in header for name in _FREQUENCY):
        return _frequencies(grid, title, by[0], show)
    if not show and len(by) == 1 and grid[0][0] == by[0]:
        return grid
    if len(by) == 2 and title:
        return _crossed(grid, by, show)
    crossed = len(by) == 2 and not grid[0][0] and sum(cell in by for cell in grid[0]) == 1
    return _crossed(grid, by, show) if crossed else None


def _frequencies(grid: Grid, title: str, name: str, show: str) -> Grid | None:
    """Levels with their frequencies, of those with a valid value; its total is a margin where nothing is missing."""
    if show != "counts" or (title and name not in re.split(r"\W+", title)):
        return None
    at = next(number for number, cell in enumerate(grid[0]) if cell.casefold() in _FREQUENCY)
    rows, part = list[list[str]](), ""
    for row in grid[1:]:
        part = row[0] or part
        level = next((cell for cell in reversed(row[:at]) if cell), "")
        if part.casefold().startswith(("missing", "fehlend")):
            return None  # what counts as missing is not told by level
        rows.append([level, row[at]])
    seen = [row for number, row in enumerate(rows) if row not in rows[:number]]
    return [[name, "count"], *seen]


def _crossed(grid: Grid, by: Sequence[str], show: str) -> Grid | None:
    """Counts or shares of a cross table whose column variable stands over its levels."""
    start = next((number for number, cell in enumerate(grid[0]) if cell in by), None)
    if not start or len(grid) < 3:
        return None
    column = grid[0][start]
    (row_name,) = [name for name in by if name != column] or [""]
    levels = [below or above for above, below in zip(grid[0][start:], grid[1][start:], strict=True)]
    body, above = list[list[str]](), ["", "", ""]
    for row in grid[2:]:
        heads = row[:start]
        if heads[0]:
            above = [*heads[:2], ""]
        elif heads[1:2] and heads[1]:
            above = [above[0], heads[1], ""]
        if above[0] and above[0] != row_name and above[0].casefold() not in _TOTAL:
            return None
        statistic = heads[-1].casefold() if start > 2 else "count"
        if statistic in _STATISTICS.get(show, ()) or _within(statistic, show, row_name, column):
            body.append([above[1] or above[0], *row[start:]])
    return [[row_name, *levels], *body] if body else None


def _within(statistic: str, show: str, row: str, column: str) -> bool:
    """Whether it is SPSS's '% within NAME'."""
    names: Collection[str] = {"row_percentages": (row,), "column_percentages": (column,)}.get(show, ())
    return any(re.fullmatch(rf"% (?:within|innerhalb von) {re.escape(name.casefold())}", statistic) for name in names)
