"""The verdict in a sentence, what was assessed, and what folds say about the whole."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report import findings, formats
from outrisk.report.compose import Section, asset

_MOST_WORDS, _MORE = 64, 40


def content(results: Results) -> dict[str, Any]:
    """The sentence of the decision; of a run directory without one, what was measured in two or three paragraphs."""
    decision = results.decision
    if decision is None:
        return {"verdict": "", "sentence": "", "paragraphs": findings.briefly(results)}
    return {
        "verdict": decision.verdict,
        "sentence": formats.sentences(decision.sentence, _MOST_WORDS) or decision.verdict,
        "paragraphs": [findings.assessed(results), formats.sentences(decision.halves, _MORE)],
    }


SECTION = Section("verdict", "Verdict", content, asset("one/verdict.html"))
