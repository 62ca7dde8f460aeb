"""`outrisk report`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from outrisk.report.render import render
from outrisk.report.terminal import summary


def render_again(directory: Path) -> int:
    """Render report.html from a run directory's files and print the summary."""
    render(directory)
    summary(directory, Console())
    return 0
