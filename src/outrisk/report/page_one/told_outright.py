"""The worst of what the outputs say outright; the rest stands behind."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import Finding
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_ROWS = 4
_WORDS = {"output": 7, "what": 22, "advice": 10}  # of each where all rows are taken; more where there are fewer


def content(results: Results) -> dict[str, Any] | None:
    """The worst findings, cut to what fits; None for a run directory without the file."""
    rows = results.findings
    if rows is None:
        return None
    return {
        "rows": [(row, _cut(row, _ROWS / min(len(rows), _ROWS))) for row in rows[:_ROWS]],
        "left_out": len(rows) - _ROWS,
        "sentence": results.risk.outright,
    }


def _cut(row: Finding, room: float) -> dict[str, str]:
    return {name: formats.cut(getattr(row, name), int(most * room)) for name, most in _WORDS.items()}


SECTION = Section("told", "What the release says outright", content, asset("one/told.html"))
