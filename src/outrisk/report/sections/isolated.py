"""Groups that a subtraction of outputs isolates, from a run directory's differencing.csv."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from outrisk.errors import ConfigError, first_line
from outrisk.report import formats

_COLUMNS = {
    **dict.fromkeys(["larger", "smaller", "group", "variables", "small_cells", "note"], "str"),
    **dict.fromkeys(["records", "cells", "below", "threshold"], "int64"),
}
_ROWS = 40
_CELLS = 12  # small cells written out in a row


@dataclass(frozen=True)
class Row:
    """One pair of outputs and the group between them."""

    larger: str
    smaller: str
    group: str
    records: int
    variables: str
    cells: int
    below: int
    threshold: int
    small_cells: str
    note: str

    @property
    def small(self) -> bool:
        """Whether the group itself, or a cell of its table, is below the threshold and holds anybody."""
        return 0 < self.records < self.threshold or self.below > 0

    @property
    def shown(self) -> str:
        """The small cells, as many as fit."""
        cells = [cell for cell in self.small_cells.split("; ") if cell]
        more = f"; and {len(cells) - _CELLS:,} more" if len(cells) > _CELLS else ""
        return "; ".join(cells[:_CELLS]) + more


@dataclass(frozen=True)
class Differences:
    """What the report shows: the rows, those left out, and a warning (empty where no group is small)."""

    rows: tuple[Row, ...] = ()
    left_out: int = 0
    warning: str = ""


def read(directory: Path) -> Differences:
    """The pairs of a run; none where it has no such file. ConfigError, in one line, where the file is broken."""
    path = directory / "differencing.csv"
    if not path.is_file():
        return Differences()
    try:
        frame = pd.read_csv(path, usecols=list(_COLUMNS), dtype=_COLUMNS, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} is broken: {first_line(error)}; run `outrisk assess` again to complete the directory"
        ) from error
    rows = [Row(**{str(name): value for name, value in row.items()}) for row in frame.to_dict("records")]
    return Differences(tuple(rows[:_ROWS]), max(0, len(rows) - _ROWS), _warning([row for row in rows if row.small]))


def _warning(small: list[Row]) -> str:
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
