"""What would settle the verdict or change it."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_ITEMS, _WORDS = 3, 22


def content(results: Results) -> dict[str, Any] | None:
    """The advice of the decision, and how much more there is; None where there is none."""
    settle = results.decision.settle if results.decision else ()
    shown = settle[:_ITEMS]
    room = _WORDS * _ITEMS // max(1, len(shown))
    advice = [formats.sentences(each, room) or formats.cut(each, room) for each in shown]
    return {"advice": advice, "left_out": len(settle) - len(shown)} if advice else None


SECTION = Section("change", "What would change the verdict", content, asset("one/change.html"))
