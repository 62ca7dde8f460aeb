"""A table of statistics that Stata prints, as its readers give it; the digits of its general format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from outrisk.readers.printed_number import read_printed
from outrisk.readers.stata_session import Command

Levels = tuple[str, ...]
RULE = re.compile(r"^\s*-{3,}\+-{3,}(?:\+-+)?\s*$")
LINE = re.compile(r"^\s*-{5,}\s*$")
MOST = 10_000  # lines of a table
_GENERAL = 7  # significant digits of Stata's general format
_SMALLEST = 1e-3  # in size, of which it is sure how many digits it shows
_EVIDENT = 6  # significant digits that no format of two or three decimals would show of most numbers


@dataclass(frozen=True)
class StataTable:
    """Statistics of one variable, as called in the print, by the levels of others.

    cells: texts by statistic and levels, one of each of `by`. level: of limits.
    together: variables whose values none of its records misses. digits: significant ones of its general format.
    refused: why it is not read. left: what else is printed of it, in words.
    labels: of `by`, '' of one without.
    """

    command: Command
    value: str
    by: tuple[str, ...]
    cells: Mapping[str, Mapping[Levels, str]]
    level: float | None = None
    together: tuple[str, ...] = ()
    digits: int = _GENERAL
    refused: str = ""
    left: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        return f"{self.value} by {', '.join(self.by)}" if self.by else self.value


@dataclass
class Rows:
    """Cells of several variables as they are read."""

    found: dict[str, dict[str, dict[Levels, str]]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def put(self, value: str, levels: Levels, texts: Mapping[str, str]) -> None:
        """Take the texts of a cell, by statistic; refused where it has them already."""
        for statistic, text in texts.items():
            cells = self.found.setdefault(value, {}).setdefault(statistic, {})
            if levels in cells:
                self.refused[value] = f"{', '.join((value, *levels))} stands in it twice"
            cells[levels] = text

    def refuse(self, value: str, why: str) -> None:
        """Refuse the table of a variable; the first reason counts."""
        self.found.setdefault(value, {})
        self.refused.setdefault(value, why)


def table_of(command: Command, value: str, by: tuple[str, ...], rows: Rows, **more: object) -> StataTable:
    """The table of one variable whose rows are read."""
    return StataTable(command, value, by, rows.found[value], refused=rows.refused.get(value, ""), **more)  # type: ignore[arg-type]


def until_blank(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Rows of a table: what stands before its bar, and its cells; up to a line that is none."""
    for line in lines:
        left, bar, right = line.partition("|")
        if RULE.match(line):
            continue
        if not bar:
            return
        yield left.strip(), right.split()


def are_numbers(cells: Sequence[str]) -> bool:
    """Whether all cells are numbers, or the point of one that is not there."""
    return all(cell == "." or read_printed(cell) is not None for cell in cells)


def with_zeros(texts: Sequence[str], digits: int, evident: bool) -> list[str]:
    """Numbers in the general format with the zeros that it cuts off; as they are where they are in another.

    `evident`: that the command has no format of its own; else one of six significant digits or more shows it.
    """
    bare = [text.lstrip("-").replace(",", "") for text in texts]
    fixed = any(text.startswith("0.") or re.search(r"\.\d*0$", text) for text in bare)
    long = any(len(text.replace(".", "").lstrip("0")) >= _EVIDENT and "." in text and "e" not in text for text in bare)
    if fixed or not (evident or long):
        return list(texts)
    return [_with_zeros(text, digits) for text in texts]


def _with_zeros(text: str, digits: int) -> str:
    number = read_printed(text)
    if number is None or "e" in text.casefold() or (0 < abs(number.value) < _SMALLEST):
        return text
    whole = len(str(int(abs(number.value)))) if abs(number.value) >= 1 else 0
    missing = digits - whole - number.decimals
    if missing <= 0:
        return text
    return (text if "." in text else f"{text}.") + "0" * missing
