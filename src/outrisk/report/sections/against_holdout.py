"""Risk, original against holdout."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report import formats
from outrisk.report.compose import Section, asset
from outrisk.report.contrasts import contrasts
from outrisk.report.drawing import Drawing


def content(results: Results) -> dict[str, Any]:
    """Tables and figures of both conventions, and of the further measures."""
    return {
        "risk": results.risk,
        "runs": results.runs,
        "lead": results.lead,
        "conventions": formats.CONVENTIONS,
        "contrasts": {
            (measure, keys): contrasts(results, measure, keys)
            for measure in (*formats.CONVENTIONS, "dcap", "baseline")
            for keys in ("all", "largest")
        },
        "figures": {measure: _figure(results, measure) for measure in formats.CONVENTIONS},
    }


def _figure(results: Results, measure: str) -> Drawing | None:
    from outrisk.report.figures import study_figures  # matplotlib takes a second to import: only here

    return study_figures.contrast_figure(contrasts(results, measure), f"contrast-{formats.anchor(measure)}")


SECTION = Section("risk", "Risk, original against holdout", content, asset("study/risk.html"))
