"""`outrisk report`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from outrisk.api import rendering


def render_again(directory: Path) -> int:
    """Render the page of a run directory (or of teaching data) from its files and print the summary."""
    rendering.render_page(directory)
    rendering.show(directory, Console())
    return 0
