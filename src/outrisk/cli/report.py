"""`outrisk report`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from outrisk.report.pages.study_page import render
from outrisk.report.pages.teaching_page import is_teaching, render_teaching, teaching_summary
from outrisk.report.terminal import summary


def render_again(directory: Path) -> int:
    """Render the page of a run directory (or of teaching data) from its files and print the summary."""
    if is_teaching(directory):
        render_teaching(directory)
        teaching_summary(directory, Console())
        return 0
    render(directory)
    summary(directory, Console())
    return 0
