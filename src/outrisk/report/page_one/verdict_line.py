"""The verdict in a sentence."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report import findings
from outrisk.report.compose import Section, asset


def content(results: Results) -> dict[str, Any]:
    """What was assessed, what the outputs say outright, and how sure the rest is."""
    return {"paragraphs": findings.briefly(results)}


SECTION = Section("verdict", "In short", content, asset("one/verdict.html"))
