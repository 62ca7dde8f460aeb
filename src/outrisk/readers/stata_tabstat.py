"""Tables of Stata's tabstat: statistics of variables, also by group, in each of its layouts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from outrisk.readers.stata_rows import LINE, MOST, RULE, Levels, Rows, StataTable, are_numbers, table_of
from outrisk.readers.stata_session import Command

_GROUPS = re.compile(r"^\s*(?:by categories of|Group variable): (\S+)(?:\s+\((.*)\))?\s*$")
_CALLED = {
    "n": "count", "mean": "mean", "sd": "sd", "sum": "sum", "min": "min", "max": "max", "p50": "median",
    "median": "median", "se(mean)": "standard error", "skewness": "skewness", "kurtosis": "kurtosis", "cv": "cv",
    "range": "range", "iqr": "iqr", "variance": "variance",
}  # fmt: skip


def is_tabstat(lines: Sequence[str], at: int) -> bool:
    """Whether a line is the head of a table of tabstat: statistics or variables above a rule."""
    if at + 1 >= len(lines) or not RULE.match(lines[at + 1]):
        return False
    left, bar, right = lines[at].partition("|")
    if not bar or "|" in right:
        return False
    some = all(_statistic(each) for each in right.split()) and bool(right.split())
    return (
        bool(_lead(lines, at)[0])
        or (left.strip() in ("variable", "Variable") and some)
        or left.strip() in ("stats", "Stats")
    )


def _statistic(text: str) -> str:
    text = text.casefold()
    return _CALLED.get(text, text if re.fullmatch(r"p\d\d?", text) else "")


def _lead(lines: Sequence[str], at: int) -> tuple[list[str], list[str], str, str]:
    """What stands above a table of tabstat: its variables, or its statistics; the variable of its groups, its label."""
    above = list[str]()
    for line in reversed(lines[max(0, at - 40) : at]):
        if line.strip():
            above.insert(0, line)
        elif above:
            break
    if not above and at > 1 and not lines[at - 1].strip():
        return [], [], "", ""
    groups = next((found for line in above if (found := _GROUPS.match(line))), None)
    said = " ".join(line.strip() for line in above if not _GROUPS.match(line))
    variables = re.search(r"Summary for variables: (.+)$", said)
    statistics = re.search(r"Summary statistics: (.+)$", said)
    if groups is None or not (variables or statistics):
        return [], [], "", ""
    some = [each.strip() for each in statistics[1].split(",")] if statistics else []
    return (["*"] if statistics else variables[1].split() if variables else []), some, groups[1], groups[2] or ""


def of_tabstat(command: Command, lines: Sequence[str], at: int) -> Iterator[StataTable]:
    """The table whose head is a line, one for each variable."""
    variables, order, group, label = _lead(lines, at)
    stub, _, right = lines[at].partition("|")
    heads = right.split()
    stub_words = stub.split()
    if order:
        variables = []
    by_statistic = bool(variables) or stub.strip().casefold() == "variable"  # each column is one
    long = (
        bool(group)
        and stub_words[-1:] != []
        and stub_words[-1].casefold() in ("variable", "stats")
        and len(stub_words) > 1
    )
    wide = len(stub) - len(stub_words[-1]) if long else len(stub)
    columns = [_statistic(each) for each in heads] if by_statistic else heads
    rows, count, whole = Rows(), 0, False
    key: Levels = ()
    for line in lines[at + 2 : at + MOST]:
        left, bar, rest = line.partition("|")
        if RULE.match(line):
            continue
        if not bar:
            whole = bool(LINE.match(line))
            break
        cells = rest.split()
        first, inner = (left[:wide].strip(), left[wide:].strip()) if long else (left.strip(), "")
        if group and first:
            key, count = (first,), 0
        place = inner if long else first if not group else ""
        down = place or _at(variables if by_statistic else order, count)
        count += 1
        _put_row(rows, by_statistic, columns, down, key, cells)
    by = (group,) if group else ()
    for value in rows.found:
        if not whole:
            rows.refuse(value, "it is cut off")
        together = tuple(rows.found) if command.has(r"case\w*") else ()
        yield table_of(command, value, by, rows, labels=(label,) if group else (), together=together)


def _at(items: Sequence[str], number: int) -> str:
    return items[number] if number < len(items) else ""


def _put_row(
    rows: Rows, by_statistic: bool, columns: Sequence[str], down: str, key: Levels, cells: Sequence[str]
) -> None:
    """A row of tabstat: the statistics of one variable, or one statistic of several."""
    whole = len(cells) == len(columns) and are_numbers(cells) and down and all(columns)
    if by_statistic:
        if whole:
            rows.put(down, key, dict(zip(columns, cells, strict=True)))
        else:
            rows.refuse(down or "a variable", f"its row has {' '.join(cells)[:60]!r} below {' '.join(columns)[:60]!r}")
        return
    statistic = _statistic(down)
    for at, value in enumerate(columns):
        if whole and statistic:
            rows.put(value, key, {statistic: cells[at]})
        else:
            rows.refuse(value, f"its row has {' '.join(cells)[:60]!r} below {' '.join(columns)[:60]!r}")
