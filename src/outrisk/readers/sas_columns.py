"""Heads over the columns of a table of SAS, which may stand in several lines; rows of numbers below them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from outrisk.readers.printed_number import read_printed

_GAP = 2  # blanks between columns


@dataclass(frozen=True)
class Column:
    """A column: the words over it, and from where to where they stand."""

    words: str
    start: int
    end: int


def columns_of(heads: Sequence[str]) -> list[Column]:
    """The columns that lines of heads make up together: apart by two blanks or more in all of them."""
    width = max(map(len, heads), default=0)
    filled = [any(at < len(line) and line[at] != " " for line in heads) for at in range(width)]
    found, start = list[Column](), -1
    for at in range(width + _GAP):
        if at < width and filled[at]:
            start = at if start < 0 else start
        elif start >= 0 and not any(filled[at : at + _GAP]):
            words = " ".join(" ".join(line[start:at].split()) for line in heads if line[start:at].strip())
            found.append(Column(words, start, at))
            start = -1
    return found


def is_number(text: str) -> bool:
    """Whether a cell is a number, one that is less than another, or the point of one that is not there."""
    return text == "." or (text[-1:].isdigit() and read_printed(text) is not None)


def numbers_behind(line: str, k: int) -> tuple[str, list[str]] | None:
    """What stands before the last k numbers of a line, and these; None where it does not end in so many."""
    cells = list(re.finditer(r"\S+", line))
    if len(cells) < k or not all(is_number(each[0]) for each in cells[len(cells) - k :]):
        return None
    some = cells[len(cells) - k :]
    start = some[0].start() if some else len(line)
    return line[:start].rstrip(), [each[0] for each in some]
