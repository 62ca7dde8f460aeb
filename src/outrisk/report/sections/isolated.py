"""Groups that a subtraction of outputs isolates: the rows shown, those left out, and the warning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from outrisk.records.schema import Difference
from outrisk.report import formats

_ROWS = 40
_CELLS = 12  # small cells written out in a row


@dataclass(frozen=True)
class Differences:
    """What the report shows; the warning is empty where no group is small."""

    rows: tuple[tuple[Difference, str], ...] = ()  # and its small cells, as many as fit
    left_out: int = 0
    warning: str = ""


def isolated(rows: Sequence[Difference]) -> Differences:
    """The rows as the report shows them."""
    shown = tuple((row, _cells(row.small_cells)) for row in rows[:_ROWS])
    return Differences(shown, max(0, len(rows) - _ROWS), _warning([row for row in rows if row.small]))


def _cells(listed: str) -> str:
    cells = [cell for cell in listed.split("; ") if cell]
    more = f"; and {len(cells) - _CELLS:,} more" if len(cells) > _CELLS else ""
    return "; ".join(cells[:_CELLS]) + more


def _warning(small: Sequence[Difference]) -> str:
    if not small:
        return ""
    worst = max(small, key=lambda row: (row.below, -row.records))
    cells = (
        f"; of the {worst.cells} occupied cells of their table by {worst.variables.replace('+', ', ')}, "
        f"{worst.below} hold fewer than {worst.threshold}"
        if worst.cells
        else ""
    )
    others = f" {formats.plural(len(small) - 1, 'further pair')} of outputs do the like." if len(small) > 1 else ""
    return (
        f"Outputs can be subtracted from each other. “{worst.larger}” minus “{worst.smaller}” leaves "
        f"{formats.plural(worst.records, 'record')} ({worst.group}){cells}.{others} See [[assessed]] for the groups."
    )
