"""`outrisk compare`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from outrisk.api import rendering


def compare_runs(one: Path, other: Path) -> int:
    """Print two runs side by side."""
    rendering.compare(one, other, Console())
    return 0
