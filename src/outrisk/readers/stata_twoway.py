"""Tables that Stata's tabulate prints, of one variable or of two."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_RULE = re.compile(r"^(-{3,})\+(-{3,})(?:\+(-+))?\s*$")
_MOST = 10_000  # lines of a table
_WIDE = 11  # of a column, with the blank behind it
_OF_COUNTS = re.compile(r"^(.*)\|\s+Freq\.\s+Percent\s+Cum\.\s*$")
_SUMMARIES = re.compile(
    r"^\s*((?:Means?|Standard Deviations?|Frequencies|Number of Observations|, |,? and )+) of (.+?)\s*$"
)
_OF_SUMMARIES = {"means": "mean", "mean": "mean", "standard deviations": "sd", "standard deviation": "sd",
                 "frequencies": "count", "number of observations": "count"}  # fmt: skip
_KEYS = {"frequency": "counts", "row percentage": "row_percentages", "column percentage": "column_percentages",
         "cell percentage": "proportions"}  # fmt: skip
_OTHERS = ("expected frequency", "chi2 contribution", "likelihood-ratio contribution", "cumulative row percentage")
_TITLE = re.compile(r"^\s*-> tabulation of (\S+)(?:\s+by (\S+))?")
Levels = tuple[str, ...]


@dataclass(frozen=True)
class Crossed:
    """A table by one or two variables: their names or labels as they are printed, texts by levels and by how manyth
    line of a cell they stand in. shows: what each line of a cell is. summaries: of which variable which statistics it
    has, where these are no counts. refused: why it is not read. named: names that a line above it says.
    """

    row: str
    column: str
    cells: Mapping[tuple[Levels, int], str]
    shows: tuple[str, ...] = ("counts",)
    deep: int = 1
    summaries: tuple[str, tuple[str, ...]] = ("", ())
    refused: str = ""
    named: tuple[str, ...] = ()


@dataclass
class _Table:
    """A table as it is read, of several panels where its columns do not fit in one."""

    row: str
    column: str
    above: Sequence[str]
    cells: dict[tuple[Levels, int], str] = field(default_factory=dict)
    deep: int = 0
    refused: str = ""
    ended: bool = False  # by its column of totals


def is_of_summaries(line: str) -> tuple[str, tuple[str, ...]]:
    """The variable and the statistics of a title of tabulate with summarize(); ('', ()) of another line."""
    found = _SUMMARIES.match(line)
    if not found:
        return "", ()
    parts = [each.strip().casefold() for each in re.split(r",| and ", found[1]) if each.strip()]
    return found[2], tuple(_OF_SUMMARIES.get(each, "") for each in parts)


def crossed_in(lines: Sequence[str]) -> Iterator[Crossed]:
    """The tables of one command, in their order."""
    pending: _Table | None = None
    inside = 0  # up to where lines are of a panel that is read
    for at, line in enumerate(lines):
        if found := _OF_COUNTS.match(line):
            yield _of_one(found[1], lines, at)
        head = _head(lines, at) if at >= inside else None
        if head is None:
            continue
        columns, stub, column = head
        goes_on = pending is not None and not pending.ended and (pending.row, pending.column) == (stub, column)
        if pending is not None and not goes_on:
            yield _whole(pending)
        table = pending if goes_on and pending is not None else _Table(stub, column, lines[max(0, at - 40) : at])
        inside = at + 2 + _read_panel(table, columns, lines[at + 2 : at + _MOST])
        pending = table
        if table.ended or table.refused:
            yield _whole(table)
            pending = None
    if pending is not None:
        yield _whole(pending)


def _whole(table: _Table) -> Crossed:
    above = table.above
    whole = table.ended and (("Total", "Total"), table.deep - 1) in table.cells
    refused = table.refused or ("" if whole else "it is cut off before its totals")
    summaries = next((found for line in reversed(above[-12:]) if (found := is_of_summaries(line))[0]), ("", ()))
    shows, named = _shown(above), _named(above)
    if not summaries[0] and not refused and len(shows) != table.deep:
        if table.deep == 1 or not shows:
            refused = "it does not say what its cells hold"
        else:
            refused = f"its cells have {table.deep} lines, its key {len(shows)}"
    return Crossed(table.row, table.column, table.cells, shows, table.deep, summaries, refused, named)


def _shown(above: Sequence[str]) -> tuple[str, ...]:
    """What the lines of a cell are, by the key above a table: counts alone without one."""
    key = next(
        (at for at in range(len(above) - 1, max(-1, len(above) - 24), -1) if re.match(r"^\s*\| Key", above[at])), None
    )
    if key is None:
        return ("counts",)
    said = [found[1] for line in above[key + 1 :] if (found := re.match(r"^\s*\|\s+([a-z][\w -]*?)\s+\|\s*$", line))]
    return tuple(_KEYS.get(each, each) for each in said)


def _named(above: Sequence[str]) -> tuple[str, ...]:
    found = next((each for line in reversed(above) if (each := _TITLE.match(line))), None)
    return tuple(each for each in found.groups() if each) if found else ()


def _stub(lines: Sequence[str], at: int) -> tuple[str, list[str]]:
    """The words left of the bar in the lines of a head, up to line `at`, and what stands right of it, line by line."""
    lefts, rights = list[str](), list[str]()
    for line in reversed(lines[max(0, at - 40) : at + 1]):
        left, bar, right = line.partition("|")
        if not bar or _RULE.match(line):
            break
        lefts.insert(0, left.strip())
        rights.insert(0, right)
    return " ".join(each for each in lefts if each), rights


def _of_one(stub: str, lines: Sequence[str], at: int) -> Crossed:
    """tabulate of one variable: its levels with their records and percentages."""
    name, _ = _stub(lines, at)
    cells, refused = dict[tuple[Levels, int], str](), ""
    for line in lines[at + 1 : at + _MOST]:
        if _RULE.match(line):
            continue
        left, bar, right = line.partition("|")
        parts = right.split()
        if not bar:
            break
        level, total = left.strip(), left.strip() == "Total" and len(parts) == 2
        if len(parts) != (2 if total else 3) or "|" in right or ((level,), 0) in cells:
            refused = f"its row {level!r} has {' '.join(parts)[:40]!r}, or stands in it twice"
            break
        cells[(level,), 0], cells[(level,), 1] = parts[0], f"{parts[1]}%"
        if total:
            break
    if not refused and (("Total",), 0) not in cells:
        refused = "it is cut off before its total"
    return Crossed(
        name, "", cells, ("counts", "proportions"), 2, refused=refused, named=_named(lines[max(0, at - 40) : at])
    )


def _head(lines: Sequence[str], at: int) -> tuple[list[str], str, str] | None:
    """The labels of the columns, the words of rows and of columns, where a line heads a table of two variables."""
    rule = _RULE.match(lines[at + 1]) if at + 1 < len(lines) else None
    line = lines[at]
    left, bar, right = line.partition("|")
    if not rule or not bar or len(left) != len(rule[1]) or len(rule[2]) % _WIDE or at == 0:
        return None
    name, rights = _stub(lines, at)
    if len(rights) < 2:
        return None
    inner = right[: len(rule[2])].ljust(len(rule[2]))
    columns = [inner[k : k + _WIDE].strip() for k in range(0, len(inner), _WIDE)]
    if rule[3]:
        if right[len(rule[2]) :].strip("| ") != "Total":
            return None
        columns.append("Total")
    title = " ".join(each.strip(" |") for each in rights[:-1] if each.strip(" |"))
    return (columns, name, title) if all(columns) and title else None


def _read_panel(table: _Table, columns: Sequence[str], below: Sequence[str]) -> int:
    """Read the rows of a panel; the number of its lines."""
    level, number, lines = "", 0, 0
    k = len(columns) - (columns[-1] == "Total")
    table.ended = columns[-1] == "Total"
    for line in below:
        lines += 1
        if _RULE.match(line):
            continue
        left, bar, right = line.partition("|")
        if not bar:
            break
        number = 0 if left.strip() else number + 1
        level = left.strip() or level
        inner, _, total = right.partition("|")
        texts = [*inner.split(), *total.split()]
        if not level or len(inner.split()) != k or len(texts) != len(columns):
            table.refused = f"its row {level!r} has {' '.join(texts)[:60]!r} in {len(columns)} columns"
            return lines
        table.deep = max(table.deep, number + 1)
        for column, text in zip(columns, texts, strict=True):
            if ((level, column), number) in table.cells:
                table.refused = f"{level}, {column} stands in it twice, as labels that are cut off may do"
                return lines
            table.cells[(level, column), number] = text
    return lines
