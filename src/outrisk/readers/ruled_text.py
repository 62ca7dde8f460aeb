"""Tables of models side by side as esttab, texreg, stargazer and `summary_col` print them on a console."""

from __future__ import annotations

import re
from collections.abc import Sequence

from outrisk.readers import journal_table
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_tables import PrintedTable
from outrisk.readers.source import Source, one_of

_RULE = re.compile(r"\s*[-=_]{10,}(?:\s+[-=]{2,})*\s*")
_CELL = re.compile(r"\S+(?: \S+)*")  # words one blank apart
_NOTES = 12


def recognises(source: Source) -> bool:
    """Whether a text is one such table, with what stands in brackets below its estimates."""
    return _tabled(source) is not None


def read(source: Source, model: int | None = None) -> Coefficients:
    """The regression; `model` is its number where there are several."""
    found = _tabled(source)
    assert found is not None
    return journal_table.read(found, model)


def _tabled(source: Source) -> Source | None:
    if source.sheets or source.document or source.chosen or source.tables:
        return None
    table = _table(source.text.splitlines())
    found = one_of(source, table) if table is not None else None
    return found if found is not None and journal_table.recognises(found) else None


def _table(lines: Sequence[str]) -> PrintedTable | None:
    """The only table of a text: its head between the first two rules, what stands above it, and below its last."""
    rules = [at for at, line in enumerate(lines) if _RULE.fullmatch(line)]
    widest = max((len(lines[at].strip()) for at in rules), default=0)
    wide = [at for at in rules if len(lines[at].strip()) == widest]
    between = range(rules[0], rules[-1]) if len(wide) > 2 else ()
    body = [at for at in between if lines[at].strip() and not _RULE.fullmatch(lines[at])]
    numbers = [at for at in body if at > wide[1]]
    if not numbers or any(re.match(r"\. \w", lines[at]) for at in body):
        return None
    columns = _columns([lines[at].expandtabs() for at in numbers])
    if len(columns) < 2:
        return None
    grid = [_head(lines[at].expandtabs(), columns) for at in body if at < wide[1]]
    ends = [start for start, _ in columns[1:]]
    for line in (lines[at].expandtabs() for at in numbers):
        grid.append([line[a:b].strip() for a, b in zip([0, *ends], [*ends, len(line)], strict=True)])
    above = [line.strip() for line in lines[: rules[0]] if line.strip() and not re.match(r"[.>] ", line)]
    below = " ".join(line.strip() for line in lines[rules[-1] + 1 :][:_NOTES] if not line.startswith("."))  # wrapped
    return PrintedTable(" ".join(above[-1:]), grid, (below,), number=0)


def _columns(lines: Sequence[str]) -> list[tuple[int, int]]:
    """From where to where columns stand: what blanks in all lines part, two or more, or one before numbers that also
    stand below no name.
    """
    width = max(map(len, lines))
    blank = "".join(" " if all(line[at : at + 1] in ("", " ") for line in lines) else "x" for at in range(width))
    found = list[tuple[int, int]]()
    for start, end in (each.span() for each in re.finditer("x+", blank)):
        after = [line for line in lines if line[start : start + 1].strip()]
        numbers = all(re.match(r"[-+(\[\d.]", line[start:]) for line in after)
        near = found and start - found[-1][1] == 1
        alone = len(found) > 1 or any(not line[slice(*found[-1])].strip() for line in after if found)
        if near and not (numbers and alone):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _head(line: str, columns: Sequence[tuple[int, int]]) -> list[str]:
    """The cells of a line of heads; what stands over several columns is in the first of them."""
    row = [""] * len(columns)
    for cell in _CELL.finditer(line):
        over = [at for at, (start, end) in enumerate(columns) if cell.start() < end and cell.end() > start]
        at = over[0] if over else min(range(len(columns)), key=lambda each: abs(columns[each][0] - cell.start()))
        row[at] = f"{row[at]} {cell[0]}".strip()
    return row
