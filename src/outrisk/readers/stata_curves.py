"""Survival curves that Stata's sts list prints, as a table by its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from outrisk.errors import OutputError
from outrisk.outputs.smooth.survival import SurvivalEntry
from outrisk.readers.remarks import remark
from outrisk.readers.source import Grid, Source
from outrisk.readers.stata_data import hold_records
from outrisk.readers.stata_session import Command, commands_of

_HEAD = re.compile(
    r"^\s*Time\s+(?:[Rr]isk|Total)\s+Fail\s+Lost\s+[Ff]unction\s+[Ee]rror\s+\[[\d.]+% [Cc]onf\. [Ii]nt\.\]\s*$"
)
_ANY = re.compile(r"^\s*Time\s+(?:[Rr]isk|Total)\s+Fail\b")
_LINE = re.compile(r"^\s*-{20,}\s*$")
_COLUMNS = ("time", "n.risk", "n.event", "lost", "survival", "std.err")
_NUMBERS = re.compile(r"(?:\d[\d,]*\.?\d*|\.\d+|\.)")


def curves_of_stata(source: Source, entry: SurvivalEntry, place: str) -> Grid | None:
    """The curves of a log with a column of strata; None where it has none. OutputError where they are of other records
    than the entry, or several tables may be the entry's.
    """
    commands = commands_of(source.text)
    tables = [each for each in commands if any(_ANY.match(line) for line in each.lines)]
    if not tables:
        return None
    some = [each for each in tables if len(tables) == 1 or _by(each) == [*entry.by]]
    if len(some) != 1:
        raise OutputError(
            f"{place}: it has {len(tables)} tables of sts list, and not one by {list(entry.by)}; paste it"
        )
    _hold(some[0], entry, commands, place)
    return _grid(some[0], place)


def _by(command: Command) -> list[str]:
    found = re.search(r"\b(?:by|strata)\(([^)]*)\)", command.options)
    return found[1].split() if found else []


def _hold(command: Command, entry: SurvivalEntry, commands: Sequence[Command], place: str) -> None:
    """OutputError where a log says another time or event than the entry, or other records."""
    if not any(_HEAD.match(line) for line in command.lines) or command.has(
        r"at|enter|failure|fail|cumhaz|na|adjust\w*"
    ):
        raise OutputError(
            f"{place}: its table is not that of sts list without at(), enter, cumhaz, failure or adjustfor(); print it"
        )
    text = "\n".join(command.lines)
    for what, own, said in (
        ("time", entry.time, re.search(r"(?i)analysis time _t:\s*(\w+)\s*$", text, re.M)),
        ("event", entry.event, re.search(r"(?i)failure _d:\s*(\w+)", text)),
    ):
        if said and said[1] not in (own, "1"):
            raise OutputError(f"{place}: its {what} is '{said[1]}', the output says {what}: {own}; correct it")
    if re.search(r"(?im)^\s*weight:|enter on or after|origin:|\bID variable:", text):
        raise OutputError(f"{place}: its records are weighted, enter late or are several a person; no output has that")
    hold_records(commands, command, entry.where, place)
    remark(place, "limits of the survival, on the scale of log(-log), and who is lost are left out")


def _grid(command: Command, place: str) -> Grid:
    grid: Grid = [[*_COLUMNS[:3], *_COLUMNS[4:], "strata"]]
    at = next(k for k, line in enumerate(command.lines) if _HEAD.match(line))
    strata, rules = "", 0
    for line in command.lines[at + 1 :]:
        cells = line.split()
        if _LINE.match(line) or not cells:
            rules += bool(cells)
            if rules > 1 or (rules and not cells):
                break
            continue
        if not all(_NUMBERS.fullmatch(each) for each in cells) or len(cells) == 1:
            strata = line.strip().split(" / ")[0]
            if len(re.findall(r"\d\.\d{4}", line)) > 1:
                raise OutputError(f"{place}: {line.strip()[:60]!r} is no row of sts list; give it as it is printed")
        elif len(cells) != 8:
            raise OutputError(f"{place}: the row of time {cells[0]} has {len(cells)} numbers, and sts list prints 8")
        else:
            grid.append(
                [
                    *(each.replace(",", "") for each in cells[:3]),
                    cells[4],
                    "NaN" if cells[5] == "." else cells[5],
                    strata,
                ]
            )
    if rules < 2:
        raise OutputError(f"{place}: its table of sts list is cut off; give it to its last rule")
    return grid
