"""The verdict in a sentence, what was assessed, and what folds say about the whole."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import READS_LOWER
from outrisk.report import findings, formats
from outrisk.report.compose import Section, asset

_MOST_WORDS, _MORE = 64, 40


def content(results: Results) -> dict[str, Any]:
    """The sentence of the decision; of a run directory without one, what was measured in two or three paragraphs."""
    decision = results.decision
    if decision is None:
        return {"verdict": "", "sentence": "", "paragraphs": findings.briefly(results)}
    said, _, lower = decision.sentence.partition(f" {READS_LOWER}")
    shorter = formats.sentences(said, _MOST_WORDS) or decision.verdict
    return {
        "verdict": decision.verdict,
        "sentence": f"{shorter} {READS_LOWER}{lower}" if lower else shorter,
        "paragraphs": [findings.assessed(results), formats.sentences(decision.halves, _MORE)],
    }


SECTION = Section("verdict", "Verdict", content, asset("one/verdict.html"))
