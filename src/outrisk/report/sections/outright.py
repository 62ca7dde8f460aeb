"""What the release says outright: findings of the direct look, from a run directory's findings.csv."""

from __future__ import annotations

from typing import Any

from outrisk.records.folded import folded
from outrisk.records.results import Results
from outrisk.report.compose import Section, asset

_ROWS = 300  # in full, and all that are certain
_OF_THE_VERDICT = ("margin", "measure", "people", "intruder", "rules_are_disclosive")  # no rules


def content(results: Results) -> dict[str, Any] | None:
    """The findings, worst first, those that say the same of several outputs as one; None for a run directory without
    the file.
    """
    rows = results.findings
    if rows is None:
        return None
    appetite = results.study.get("appetite") or {}
    groups, full = folded(rows), max(_ROWS, sum(row.certain for row in rows))
    return {
        "sentence": results.risk.outright,
        "groups": groups,
        "every": rows[:full] if len(groups) < len(rows) else [],
        "number": len(rows),
        "left_out": len(rows) - full,
        "certain": any(row.certain for row in rows),
        "appetite": {name: f"{value:g}" for name, value in appetite.items() if name not in _OF_THE_VERDICT},
    }


SECTION = Section("outright", "What the release says outright", content, asset("study/outright.html"))
