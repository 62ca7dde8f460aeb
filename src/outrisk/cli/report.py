"""`outrisk report`."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from outrisk.api import acro_copies, rendering


def render_again(directory: Path) -> int:
    """Render the page of a run directory (or of teaching data) from its files and print the summary."""
    rendering.render_page(directory)
    rendering.show(directory, Console())
    return 0


def copy_session(run: Path, copy: Path, folder: Path | None) -> int:
    """Write an annotated copy of the ACRO session of a run, and say so."""
    place, commented = acro_copies.copy_session(run, copy, folder)
    sys.stdout.write(f"Wrote {place}: {commented} outputs have a comment; the session itself is as it was.\n")
    return 0
