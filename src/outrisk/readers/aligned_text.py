"""Tables whose columns stand below each other on a console: data frames and matrices of R, `ftable`, pandas, knitr."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

Grid = list[list[str]]
_WORD = re.compile(r"[\d.]+ %|\S+")  # `2.5 %` is the head of one column
_RULE = re.compile(r" *-{2,}(?: +-{2,})+ *")
_SERIES = re.compile(r"Name: (\S+)(?:, Length: \d+)?, dtype: \w+")
_FOOT = re.compile(r"\[\d+ rows x \d+ columns\]|dtype: \w+|Table: .*")


def aligned(text: str) -> Grid | None:
    """The cells of a text that is one such table, its heads first; None of any other. Names of the rows' variables are
    a line of their own below the heads where they are so in the text, as pandas' `to_csv` has them.
    """
    lines = [line.rstrip().expandtabs() for line in text.splitlines() if line.strip()]
    series = _SERIES.fullmatch(lines[-1].strip()) if lines else None
    lines = [line for line in lines if not _FOOT.fullmatch(line.strip()) and not _SERIES.fullmatch(line.strip())]
    if len(lines) < 2 or any(re.search("[,;|]", line) for line in lines[:2]):
        return None
    if rule := next((line for line in lines[1:2] if _RULE.fullmatch(line)), ""):
        return _by_rule(lines, rule)
    if series:
        rows = [re.split(r" {2,}", line.strip()) for line in lines]
        alone = len(rows[0]) == 1 and all(len(row) == 2 for row in rows[1:])
        return [[rows[0][0], series[1]], *rows[1:]] if alone else None
    edges = _edges(lines[0], lines[2:])
    if edges and len(lines[1]) <= min((_start(line, edges[0]) for line in lines[2:]), default=0):
        return _with_index(lines, edges)
    edges = _edges(lines[0], lines[1:])
    return _with_labels(lines, edges) if edges else None


def _by_rule(lines: Sequence[str], rule: str) -> Grid | None:
    """A table of pandoc or knitr, whose columns are as wide as the dashes below its heads."""
    ends = [found.end() for found in re.finditer("-+", rule)]
    rows = [[line[a:b].strip() for a, b in zip([0, *ends[:-1]], ends, strict=True)] for line in lines if line != rule]
    return rows if all(len(line) <= ends[-1] for line in lines) else None


def _edges(head: str, body: Sequence[str]) -> list[int]:
    """Where columns end: with a head and with a cell of every row; [] where a head behind the first has none."""
    ends = [word.end() for word in _WORD.finditer(head)]
    common = [set(_ends(line)) for line in body]
    edges = [end for end in ends if common and all(end in each for each in common)]
    covered = bool(edges) and ends[ends.index(edges[0]) :] == edges
    return edges if covered and all(len(line) <= edges[-1] for line in body) else []


def _ends(line: str) -> list[int]:
    return [word.end() for word in re.finditer(r"\S+", line)]


def _start(line: str, edge: int) -> int:
    """Where the word that ends at an edge begins."""
    return next((word.start() for word in re.finditer(r"\S+", line) if word.end() == edge), 0)


def _cells(line: str, edges: Sequence[int]) -> list[str]:
    """The cells of a line, what stands before the first of them in front."""
    first = _start(line, edges[0])
    bounds = [(first, edges[0]), *pairwise(edges)]
    return [line[:first], *(line[start:end].strip() for start, end in bounds)]


def _with_index(lines: Sequence[str], edges: Sequence[int]) -> Grid | None:
    """A table whose second line names the variables of its rows; above them may stand that of its columns."""
    starts = [word.start() for word in re.finditer(r"\S+", lines[1])]
    head = _cells(lines[0], edges)
    rest = [""] * (len(starts) - 1)
    rows = [[head[0].strip(), *rest, *head[1:]], [*lines[1].split(), *[""] * len(edges)]]
    for line in lines[2:]:
        label, *cells = _cells(line, edges)
        bounds = zip([0, *starts[1:]], [*starts[1:], len(label)], strict=True)
        rows.append([*(label[start:end].strip() for start, end in bounds), *cells])
    return rows


def _with_labels(lines: Sequence[str], edges: Sequence[int]) -> Grid | None:
    """A table whose rows have names, or numbers, without a head."""
    head, *body = (_cells(line, edges) for line in lines)
    if head[0].strip():
        return None
    for least in (0, 1):  # a row's number, before a cell that may have blanks
        numbers = [re.match(rf" *{at} ", line) for at, line in enumerate(lines[1:], least)]
        if all(numbers):
            ends = [found.end() if found else 0 for found in numbers]
            body = [
                [row[0].split()[0], line[end : edges[0]], *row[2:]]
                for end, line, row in zip(ends, lines[1:], body, strict=True)
            ]
    return [["", *head[1:]], *([cell.strip() for cell in row] for row in body)]
