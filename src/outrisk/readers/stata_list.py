"""Data that Stata's list prints, such as those of collapse, as delimited text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from outrisk.errors import OutputError
from outrisk.readers.remarks import remark
from outrisk.readers.source import Grid, Source
from outrisk.readers.stata_session import commands_of

_EDGE = re.compile(r"^\s*\+-{4,}\+\s*$")
_INNER = re.compile(r"^\s*\|-{4,}\|\s*$")
_ROW = re.compile(r"^\s*(?:([\d,]+)\.\s+)?\|\s(.*?)\s*\|\s*$")
_NAMES = re.compile(r"[A-Za-z_][\w~]*")


def listed(source: Source, number: int | None, place: str) -> Source | None:
    """The list of a log, the `number`-th (from 1) of several, as delimited text; None where there is none."""
    if source.sheets or "+--" not in source.text:
        return None
    found = [
        (command, each)
        for command in commands_of(source.text)
        if not command.name or re.fullmatch(r"l|li|lis|list", command.name)
        for each in _boxes(command.lines)
    ]
    if not found:
        return None
    if (number is None and len(found) > 1) or not 1 <= (number or 1) <= len(found):
        heads = "; ".join(f"{at}: {' '.join(grid[0])[:50]}" for at, (_, grid) in enumerate(found[:20], 1))
        raise OutputError(
            f"{place}: it has {len(found)} lists; say which behind the file's name, as in '...#2' ({heads})"
        )
    command, grid = found[(number or 1) - 1]
    if command.subset:
        remark(place, f"the list is of some rows, {command.subset[:80]}: others are taken to be of nobody")
    broken = next((row for row in grid if len(row) != len(grid[0])), None)
    if broken is not None:
        raise OutputError(
            f"{place}: the row {' '.join(broken)[:60]!r} of a list has {len(broken)} cells below {len(grid[0])} names; "
            "list it with clean, or give it as CSV"
        )
    return replace(source, text="\n".join(",".join(f'"{cell}"' for cell in row) for row in grid) + "\n")


def _boxes(lines: Sequence[str]) -> list[Grid]:
    """The lists in boxes: names, then rows."""
    found = list[Grid]()
    rows: Grid | None = None
    for line in lines:
        row = _ROW.match(line)
        if _EDGE.match(line):
            if rows and len(rows) > 1 and len(rows[0]) > 1 and all(_NAMES.fullmatch(each) for each in rows[0]):
                found.append(rows)
            rows = [] if not rows else None
        elif rows is not None and row:
            rows.append(re.split(r"\s{2,}", row[2].strip()) if rows else row[2].split())
        elif not _INNER.match(line):
            rows = None
    return found
