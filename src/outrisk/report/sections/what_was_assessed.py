"""What was assessed: outputs, keys, target, folds, and the groups that a subtraction of outputs isolates."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report import formats
from outrisk.report.compose import Section, asset
from outrisk.report.runs import fold_rows
from outrisk.report.sections.isolated import isolated

_NOT_SETTINGS = {"name", "kind", "notes", "decimals", "values", "labels", "importance"}  # stand elsewhere on the page,
_NOT_SETTINGS |= {"show", "margins", "closed", "protection", "exponentiate"}  # or in the notes


def content(results: Results) -> dict[str, Any]:
    """Outputs with their definitions, folds, isolated groups."""
    return {
        "manifest": results.manifest,
        "risk": results.risk,
        "outputs": list(zip(results.risk.outputs, _definitions(results), strict=True)),
        "fold_rows": fold_rows(results),
        "differences": isolated(results.differences),
    }


def _definitions(results: Results) -> list[str]:
    """How each output was defined in the study, without its numbers and what its notes say anyway."""
    given = results.study.get("outputs")
    outputs = results.risk.outputs
    if not isinstance(given, list) or len(given) != len(outputs):
        return [""] * len(outputs)
    return [
        "; ".join(text for text in formats.flat(each, _skipped(each)) if text.split(": ", 1)[1] not in output.notes)
        if isinstance(each, dict)
        else ""
        for each, output in zip(given, outputs, strict=True)
    ]


def _skipped(output: dict[str, Any]) -> set[str]:
    limits = "confidence_limits" in (output.get("release") or ())
    return _NOT_SETTINGS if limits else _NOT_SETTINGS | {"level"}


SECTION = Section("assessed", "What was assessed", content, asset("study/assessed.html"))
