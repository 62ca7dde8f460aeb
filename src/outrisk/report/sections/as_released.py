"""Released numbers that the study gives, beside what the data give."""

from __future__ import annotations

import math
from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import Given
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_ROWS = 40


def content(results: Results) -> dict[str, Any] | None:
    """A row for each output, and the numbers that differ; None where the study gives no numbers."""
    if not results.given:
        return None
    by_output: dict[str, list[Given]] = {}
    for row in results.given:
        by_output.setdefault(row.output, []).append(row)
    wrong = [row for row in results.given if not row.matched]
    return {
        "outputs": [
            {
                "output": name,
                "numbers": len(rows),
                "agree": sum(row.matched for row in rows),
                "differ": sum(not row.matched for row in rows),
            }
            for name, rows in by_output.items()
        ],
        "rows": [_row(row) for row in wrong[:_ROWS]],
        "left_out": len(wrong) - _ROWS,
        "parts": any(fold.level > 1 for fold in results.risk.folds),
    }


def _row(row: Given) -> dict[str, str]:
    same = formats.fixed(row.refit, row.decimals) == formats.fixed(row.released, row.decimals)
    more = row.decimals + (0 if math.isnan(row.refit) or not same else 2)
    return {
        "output": row.output,
        "label": row.label,
        "released": formats.span(row.low, row.high, row.decimals),
        "data": formats.fixed(row.refit, more),
        "difference": formats.fixed(row.difference, more, sign=True),
    }


SECTION = Section("given", "The released numbers beside the data", content, asset("study/as_released.html"))
