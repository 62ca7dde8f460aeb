"""Cross tables with the percentage of a row, of a column or of all in brackets behind each count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from outrisk.readers.cells_of_models import plain
from outrisk.readers.printed_number import Printed, read_printed
from outrisk.readers.printed_tables import Grid

_BOTH = re.compile(r"(\S+(?: \d{3})*)\s*[(\[]\s*([\d.,]+)\s*%?\s*[)\]]")
_TOTAL = re.compile(r"(?i)(?:row |column |grand )?(?:totals?|all|overall|sum)\b.*")
_HEAD = re.compile(r"\s*[(\[](?:(?:row|col(?:umn|\.)?) ?)?%[)\]]$")
_At = tuple[int, int]


def without_shares(grid: Grid) -> Grid:
    """The table of counts alone, where the numbers in brackets are their percentages of what their rows, their columns
    or all of them add up to; else as it is.
    """
    both = {
        (r, c): found
        for r, row in enumerate(grid)
        for c, each in enumerate(row)
        if c and (found := _BOTH.fullmatch(plain(each)))
    }
    numbers = {at: (read_printed(found[1]), read_printed(found[2].replace(",", "."))) for at, found in both.items()}
    first = min((row for row, _ in numbers), default=0)
    totals = {c for row in grid[:first] for c, cell in enumerate(row) if _TOTAL.fullmatch(cell)}
    inner = {(r, c): pair for (r, c), pair in numbers.items() if c not in totals and not _TOTAL.fullmatch(grid[r][0])}
    by: tuple[Callable[[_At], int], ...] = (lambda at: at[0], lambda at: at[1], lambda _: 0)
    if not inner or not any(_are_shares(inner, line) for line in by):
        return grid
    shown = [[both[r, c][1] if (r, c) in both else cell for c, cell in enumerate(row)] for r, row in enumerate(grid)]
    return [[_HEAD.sub("", cell) for cell in row] for row in shown[:first]] + shown[first:]


def _are_shares(numbers: dict[_At, tuple[Printed | None, Printed | None]], line: Callable[[_At], int]) -> bool:
    """Whether second numbers are what the first ones are of the sum of their line, in percent."""
    sums = Counter[int]()
    for at, (count, _) in numbers.items():
        if count is None or count.below or count.value % 1:
            return False
        sums[line(at)] += int(count.value)
    return all(
        count is not None
        and share is not None
        and abs(100.0 * count.value / max(sums[line(at)], 1) - share.value) <= 1.01 * share.half
        for at, (count, share) in numbers.items()
    )
