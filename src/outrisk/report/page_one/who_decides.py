"""Who decides, what the page does not say, and what stands beside it."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report.compose import Section, asset

_FILES = ("findings.csv", "matched.csv", "risk.csv", "differencing.csv", "over_runs.csv")


def content(results: Results) -> dict[str, Any]:
    """The tables that are there, and what was assumed of an intruder."""
    return {
        "risk": results.risk,
        "manifest": results.manifest,
        "files": [name for name in _FILES if (results.directory / name).exists()],
    }


SECTION = Section("decision", "Who decides", content, asset("one/decides.html"))
