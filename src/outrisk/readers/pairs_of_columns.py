"""Tables with two columns below one head, such as n and % of a group: both in one cell, as other tables have them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from outrisk.readers.printed_tables import Grid

_PAIRS = (  # what two columns of a group have, in small letters; the other way round, too
    (r"n|no\.?|num(?:ber|\.)?|counts?|freq(?:uency|\.)?", r"%|per ?cent(?:age)?s?|pct\.?|(?:col(?:umn|\.)?|row) ?%"),
    (r"mean|m|average", r"s\.?d\.?|std\.? ?dev(?:iation|\.)?|standard deviation|s\.?e\.?m?\.?|std\.? ?err(?:or|\.)?"),
    (r"median|med\.?|mdn", r"i\.?q\.?r\.?|q1 ?[,–-] ?q3|interquartile range|range"),
)
_MOST_HEADS = 6


def with_pairs_joined(grid: Grid) -> Grid:
    """The table with one column for each pair that a line of heads names below heads that stand over both."""
    for number in range(1, min(len(grid), _MOST_HEADS)):
        pairs = dict(_pairs(grid[number - 1], grid[number]))
        if pairs:
            gone = {*pairs.values()}
            kept = [at for at in range(len(grid[number])) if at not in gone]
            heads = [[row[min(at, pairs.get(at, at))] for at in kept] for row in grid[:number]]
            joined = [[_joined(row, at, pairs) for at in kept] for row in grid[number:]]
            joined[0] = [re.sub(rf"(?i)(?:{_PAIRS[0][0]}) \((?:{_PAIRS[0][1]})\)", "n (%)", cell) for cell in joined[0]]
            return [*heads, *joined]
    return grid


def _pairs(above: Sequence[str], row: Sequence[str]) -> list[tuple[int, int]]:
    """Columns of numbers, and of what stands in brackets behind these."""
    found = []
    for at in range(1, len(row) - 1):
        if above[at] and not above[at + 1]:
            texts = [row[each].casefold().strip(" ()[]") for each in (at, at + 1)]
            for first, second in _PAIRS:
                for one, other in ((at, at + 1), (at + 1, at)):
                    if re.fullmatch(first, texts[one - at]) and re.fullmatch(second, texts[other - at]):
                        found.append((one, other))
    return found


def _joined(row: Sequence[str], at: int, pairs: dict[int, int]) -> str:
    """A cell, with that of its pair in brackets."""
    behind = row[pairs[at]].strip("()[] ") if at in pairs else ""
    return f"{row[at] or '*'} ({behind})" if behind else row[at]
