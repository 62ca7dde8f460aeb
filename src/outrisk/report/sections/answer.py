"""The answer in short."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report import findings
from outrisk.report.compose import Section, asset


def content(results: Results) -> dict[str, Any]:
    """Headline numbers and paragraphs."""
    return {"headlines": findings.headlines(results), "paragraphs": findings.in_short(results)}


SECTION = Section("answer", "In short", content, asset("study/answer.html"))
