"""Groups that a subtraction of outputs isolates: the rows shown, and those left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from outrisk.records.schema import Difference

_ROWS = 40
_CELLS = 12  # small cells written out in a row


@dataclass(frozen=True)
class Differences:
    """What the report shows."""

    rows: tuple[tuple[Difference, str], ...] = ()  # and its small cells, as many as fit
    left_out: int = 0
    listed: bool = False  # whether the small cells are named


def isolated(rows: Sequence[Difference]) -> Differences:
    """The rows as the report shows them."""
    shown = tuple((row, _cells(row.small_cells)) for row in rows[:_ROWS])
    return Differences(shown, max(0, len(rows) - _ROWS), any(row.small_cells for row in rows))


def _cells(listed: str) -> str:
    cells = [cell for cell in listed.split("; ") if cell]
    more = f"; and {len(cells) - _CELLS:,} more" if len(cells) > _CELLS else ""
    return "; ".join(cells[:_CELLS]) + more
