"""Error over generations."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report.compose import Section, asset


def content(results: Results) -> dict[str, Any] | None:
    """The figure; none where every run met all numbers from the start, or nothing was recorded."""
    if all(run.generations == 0 for run in results.runs):
        return None
    from outrisk.report.figures import study_figures  # matplotlib takes a second to import: only here

    figure = study_figures.error_figure(results.trajectory, results.snapshots)
    return {"figure": figure} if figure else None


SECTION = Section("generations", "Error over generations", content, asset("study/generations.html"))
