"""How to read the report, and what it does not say."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report.compose import Section, asset


def content(results: Results) -> dict[str, Any]:
    """The study's own settings, for the terms."""
    return {"risk": results.risk}


SECTION = Section("reading", "How to read this report", content, asset("study/reading.html"))
