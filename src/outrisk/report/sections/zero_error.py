"""Risk against error, extrapolated to zero error."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import Extrapolation
from outrisk.report import formats
from outrisk.report.compose import Section, asset
from outrisk.report.drawing import Drawing

_FOLDS_DRAWN = 2  # the table has them all


def content(results: Results) -> dict[str, Any]:
    """Fits and figures of both conventions."""
    return {
        "risk": results.risk,
        "conventions": formats.CONVENTIONS,
        "extrapolations": {measure: extrapolation_rows(results, measure) for measure in formats.CONVENTIONS},
        "figures": {measure: _figure(results, measure) for measure in formats.CONVENTIONS},
    }


def extrapolation_rows(results: Results, measure: str) -> list[tuple[str, Extrapolation]]:
    """The fits of risk on error of one convention, each with the name of its fold."""
    return [
        (formats.fold_name(fold.level, fold.fold), fit)
        for fold in results.risk.folds
        for fit in fold.extrapolation
        if fit.measure == measure
    ]


def _figure(results: Results, measure: str) -> Drawing | None:
    from outrisk.report.figures import study_figures  # matplotlib takes a second to import: only here

    level = results.shown_level
    panels = [
        (
            formats.fold_name(fold.level, fold.fold),
            [each for each in results.snapshots if (each.level, each.fold) == (fold.level, fold.fold)],
            fold.extrapolation,
        )
        for fold in (results.folds_of(level)[:_FOLDS_DRAWN] if level is not None else [])
    ]
    return study_figures.extrapolation_figure(panels, measure, f"extrapolation-{formats.anchor(measure)}")


SECTION = Section("extrapolation", "Risk against error", content, asset("study/extrapolation.html"))
