"""What R's survfit gives: printed curves as a table, and standard errors of the survival from those of the hazard."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from outrisk.readers.printed_number import Printed
from outrisk.readers.source import Grid, Source

Group = tuple[str, ...]
Row = Mapping[str, Printed | None]

_HEADER = re.compile(r"\s*time\s+n\.risk\s+n\.event\s+(?:n\.censor\s+)?survival\s+std\.err\b")
_CURVE = re.compile(r"\s*(\w[\w. ]*=.*\S)\s*")


def printed_curves(source: Source) -> Grid | None:
    """The curves of a printed `summary(survfit())` as a table with a column of strata; None where it is none."""
    grid: Grid = []
    strata, columns = "", list[str]()
    for line in source.lines:
        curve = _CURVE.fullmatch(line)
        if _HEADER.match(line):
            columns = line.split()[: 6 if "n.censor" in line else 5]
            grid = grid or [[*columns, "strata"]]
        elif curve and not line.lstrip().startswith("Call:"):
            strata, columns = curve[1], []
        elif columns:
            cells = line.split()
            if len(cells) >= len(columns):
                grid.append([*cells[: len(columns)], strata])
    return grid if len(grid) > 1 else None


def of_survival(rows: Mapping[tuple[Group, float], Row]) -> dict[tuple[Group, float], Row]:
    """Rows by group and time with standard errors of the survival.

    A survfit object and `broom::tidy` have those of the cumulative hazard, which are larger by 1 / survival. They are
    known by Greenwood's formula from the records at risk and the events; rows without these are left as they are.
    """
    plain = hazard = 0.0
    sums: dict[Group, float] = {}
    for (group, _), row in sorted(rows.items(), key=lambda item: item[0]):
        risk, events, survival, error = (row.get(name) for name in ("at risk", "events", "survival", "standard error"))
        if risk is None or events is None or survival is None or error is None or risk.value <= events.value:
            continue
        sums[group] = sums.get(group, 0.0) + events.value / (risk.value * (risk.value - events.value))
        greenwood = math.sqrt(sums[group])
        plain += abs(error.value - survival.value * greenwood)
        hazard += abs(error.value - greenwood)
    if hazard >= plain:
        return dict(rows)
    return {key: {**row, "standard error": _times_survival(row)} for key, row in rows.items()}


def _times_survival(row: Row) -> Printed | None:
    error, survival = row.get("standard error"), row.get("survival")
    if error is None or survival is None:
        return None
    return replace(error, value=error.value * survival.value)
