"""Tables of counts and shares as R prints them: `table`, `xtabs`, `addmargins`, `prop.table`, wrapped and in layers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Grid = list[list[str]]
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?|NaN|NA")
_LAYER = re.compile(r"^, , (.+)$", re.M)
_ROW = re.compile(r"  (?=\S)")  # what R begins the rows of a table of two variables with
_Cells = list[tuple[tuple[str, ...], str]]


def table_of_r(text: str) -> Grid | None:
    """Its cells one a row, behind the levels that they have, under the names of the axes (`Var1`, `Var2`, … where none
    are printed) and `count`; None where it is no such table, or is not all of one.
    """
    pieces = _LAYER.split(text)
    if len(pieces) > 1 and pieces.pop(0).strip():
        return None
    layers = [("", pieces[0])] if len(pieces) == 1 else list(zip(pieces[::2], pieces[1::2], strict=True))
    header, cells = list[str](), _Cells()
    for said, body in layers:
        outer = [each.rpartition(" = ") for each in said.split(", ")] if said else []
        found = _of_one(body) or _of_two(body)
        if found is None:
            return None
        names, inner = [*found[0], *(name for name, _, _ in outer)], found[1]
        if header and names != header:
            return None
        header = names
        cells += [((*levels, *(level for _, _, level in outer)), number) for levels, number in inner]
    if len({levels for levels, _ in cells}) < len(cells):
        return None
    heads = [name or f"Var{at}" for at, name in enumerate(header, 1)]
    return [[*heads, "count"], *([*levels, number] for levels, number in cells)]


def _of_one(text: str) -> tuple[list[str], _Cells] | None:
    """A table of one variable: its name or nothing, then lines of levels and of numbers below them in turn."""
    lines = [line.rstrip() for line in text.splitlines()]
    name = re.fullmatch(r"\S+", lines[0]) if lines else None
    rest = [line for line in lines[1 if name else 0 :] if line]
    cells = _Cells()
    if not rest or len(rest) % 2:
        return None
    for above, below in zip(rest[::2], rest[1::2], strict=True):
        tokens = [*re.finditer(r"\S+", below)]
        levels = _sliced(above, [token.end() for token in tokens])
        if not all(_NUMBER.fullmatch(token[0]) for token in tokens) or not all(levels):
            return None
        cells += [((level,), token[0]) for level, token in zip(levels, tokens, strict=True)]
    return [name[0] if name else ""], cells


def _of_two(text: str) -> tuple[list[str], _Cells] | None:
    """A table of two variables: the name of its columns or blanks; that of its rows, and the columns; the rows."""
    lines = [line.rstrip() for line in text.splitlines()]
    starts = [at for at, line in enumerate(lines[:-1]) if at and not _ROW.match(line) and _ROW.match(lines[at + 1])]
    names, cells, used = list[str](), _Cells(), 0
    for at in starts:
        rows = [*_rows_from(lines, at + 1)]
        edges = _edges(rows)
        if not edges:
            return None
        row_name = re.match(r"\S+", lines[at])
        inner = lines[at][row_name.end() if row_name else 0 :].rjust(len(lines[at]))
        levels = _sliced(inner, edges)
        found = [row_name[0] if row_name else "", lines[at - 1].strip()]
        if not all(levels) or (names and found != names):
            return None
        names, used = found, used + len(rows) + 1 + bool(lines[at - 1])
        for row in rows:
            numbers = _sliced(row, edges)
            label = numbers[0].rpartition(" ")[0].strip()
            numbers[0] = numbers[0].rpartition(" ")[2]
            cells += [((label, level), number) for level, number in zip(levels, numbers, strict=True)]
    return (names, cells) if cells and used == sum(map(bool, lines)) else None


def _rows_from(lines: Sequence[str], at: int) -> Iterator[str]:
    while at < len(lines) and _ROW.match(lines[at]):
        yield lines[at]
        at += 1


def _edges(rows: Sequence[str]) -> list[int]:
    """Where numbers end in all rows, behind the first word of each, which is its level's."""
    ends = [{word.end() for word in [*re.finditer(r"\S+", row)][1:] if _NUMBER.fullmatch(word[0])} for row in rows]
    return sorted(set.intersection(*ends)) if ends else []


def _sliced(line: str, edges: Sequence[int]) -> list[str]:
    """The texts that end at these edges; an empty one too many, '', where something stands behind the last."""
    parts = [line[start:end].strip() for start, end in zip([0, *edges[:-1]], edges, strict=True)]
    return parts if len(line) <= edges[-1] else [*parts, ""]
