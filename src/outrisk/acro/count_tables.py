"""The tables of counts of a session as numbers by levels, without a codebook: to compare them with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from outrisk.acro.command import read_command
from outrisk.acro.session import Result, Session
from outrisk.codebook import format_value
from outrisk.errors import OutRiskError
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Grid
from outrisk.readers.table_layout import MARGINS

Key = tuple[str, ...]
Count = float | None  # None: withheld


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts of one output by the levels of its variables, and its totals; `where` names its records."""

    key: str
    by: tuple[str, ...]
    cells: Mapping[Key, Count]
    totals: Mapping[Key, Count]  # with '' at the axes that are summed over
    where: str
    rounded: bool

    def words(self, key: Key) -> str:
        """A cell in words."""
        return ", ".join(f"{name}={level}" for name, level in zip(self.by, key, strict=True) if level)

    def summed(self, by: Sequence[str]) -> dict[Key, Count]:
        """Counts by some of its variables, in this order; None where a cell in it is withheld."""
        order = [self.by.index(name) for name in by]
        found: dict[Key, Count] = {}
        for key, count in self.cells.items():
            place = tuple(key[at] for at in order)
            before = found.get(place, 0.0)
            found[place] = None if count is None or before is None else before + count
        return found

    @cached_property
    def true_totals(self) -> dict[Key, float]:
        """Totals that are of all records: not those that add up the printed cells of a table with withheld ones."""
        found = {}
        for key, count in self.totals.items():
            inside = [each for cell, each in self.cells.items() if _within(cell, key)]
            printed = sum(each for each in inside if each is not None)
            if count is not None and (None not in inside or abs(count - printed) > 0.5):
                found[key] = count
        return found


def _within(cell: Key, total: Key) -> bool:
    return all(there in ("", level) for level, there in zip(cell, total, strict=True))


def count_tables(session: Session, results: Sequence[Result]) -> tuple[list[CountTable], dict[str, str]]:
    """Tables of counts, and why others that seem to be some could not be read."""
    tables, unread = list[CountTable](), dict[str, str]()
    for result in results:
        command = read_command(result.command)
        if result.type != "table" or command.values or command.aggfunc or command.normalize:
            continue
        by = (*command.rows, *command.columns)
        if not by or "?" in by or result.method not in ("crosstab", "table"):
            continue
        try:
            grid = session.source(result).grid
            cells, totals = _numbers(grid, len(command.rows), len(command.columns))
        except (OutRiskError, ValueError, IndexError) as error:
            unread[result.key] = " ".join(str(error).split()) or type(error).__name__
            continue
        where = command.where or ", ".join(command.frames)
        tables.append(CountTable(result.key, by, cells, totals, where, result.mitigation == "round"))
    return tables, unread


def _numbers(grid: Grid, rows: int, columns: int) -> tuple[dict[Key, Count], dict[Key, Count]]:
    """Cells and totals of a wide table with so many row and column variables."""
    head = 1 if rows == columns == 1 else columns + 1
    levels = [row[rows:] for row in grid[: 1 if head == 1 else columns]]
    cells: dict[Key, Count] = {}
    totals: dict[Key, Count] = {}
    for row in grid[head:]:
        for at, text in enumerate(row[rows:]):
            key = (*map(_level, row[:rows]), *(_level(each[at]) for each in levels))
            number = read_printed(text)
            if number is None and text not in ("", "nan"):
                raise ValueError(f"the cell {text[:30]!r} is no number")
            (totals if "" in key else cells)[key] = None if number is None else number.value
    if not cells:
        raise ValueError("no cells in it")
    return cells, totals


def _level(text: str) -> str:
    """A level as it is compared: '2.0' is '2'; '' for a margin."""
    if text.casefold() in MARGINS or not text:
        return ""
    try:
        return format_value(float(text))
    except (ValueError, OverflowError):
        return text
