"""What would settle the verdict or change it."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_ITEMS, _WORDS = 3, 22


def content(results: Results) -> dict[str, Any] | None:
    """The advice of the decision; None where there is none."""
    settle = results.decision.settle if results.decision else ()
    shown = settle[:_ITEMS]
    advice = [formats.sentences(each, _WORDS * _ITEMS // len(shown)) for each in shown]
    return {"advice": [each for each in advice if each]} if any(advice) else None


SECTION = Section("change", "What would change the verdict", content, asset("one/change.html"))
