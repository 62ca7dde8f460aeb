"""Records that recur from run to run: are they those of people in the data?"""

from __future__ import annotations

from typing import Any

import numpy as np

from outrisk.records.results import Results
from outrisk.records.schema import Recurring
from outrisk.report.compose import Section, asset

_SHARES = ("recurs", "original", "holdout", "null", "difference", "area_original", "area_holdout", "area_null")


def content(results: Results) -> dict[str, Any] | None:
    """Means over the folds of the level that is shown, a table for whole records and one for keys and target."""
    rows = [row for row in results.recurring if row.level == results.shown_level]
    if not rows:
        return None
    tables: dict[str, dict[int, list[Recurring]]] = {}
    for row in rows:
        tables.setdefault(row.of, {}).setdefault(row.top, []).append(row)
    folds = len({row.fold for row in rows})
    return {
        "runs": rows[0].runs,
        "folds": folds,
        "tables": {
            of: [_mean(top, some) for top, some in tops.items() if len(some) == folds] for of, tops in tables.items()
        },
        "held_out": not np.isnan(rows[0].holdout),
    }


def _mean(top: int, rows: list[Recurring]) -> dict[str, float]:
    """Mean over folds; the margins of the difference joined as of independent folds."""
    found = {name: float(np.mean([getattr(row, name) for row in rows])) for name in _SHARES}
    margin = float(np.hypot.reduce([(row.high - row.low) / 2 for row in rows])) / len(rows)
    return {"top": top, **found, "low": found["difference"] - margin, "high": found["difference"] + margin}


SECTION = Section("recurring", "Records that recur from run to run", content, asset("study/recurring.html"))
