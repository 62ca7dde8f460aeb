"""`outrisk measure`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from outrisk.api import measuring

_WIDTH = 120  # of what goes to a file or a pipe


def measure_files(json_file: Path | None, html_file: Path | None, details: bool, **options: Any) -> int:
    """Measure (`options` as `measuring.measure_files`), print the tables, and write the files asked for."""
    found = measuring.measure_files(**options, outputs=[path for path in (json_file, html_file) if path is not None])
    if json_file is not None:
        found.json(json_file)
    if html_file is not None:
        found.report(html_file)
    found.show(Console(width=None if sys.stdout.isatty() else _WIDTH), details)
    return 0
