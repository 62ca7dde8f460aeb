"""`outrisk init`."""

from __future__ import annotations

import sys
from pathlib import Path

from outrisk.api import starter


def start_study(data: Path, out: Path | None, force: bool) -> int:
    """Write a commented study and codebook for a data file, and say what to do with them."""
    study, codebook = starter.start_study(data, out, force)
    sys.stdout.write(f"Wrote {study} and {codebook}; correct what is marked CHECK, then: outrisk assess {study}\n")
    return 0
