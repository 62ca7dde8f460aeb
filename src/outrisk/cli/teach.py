"""`outrisk teach`."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from rich.console import Console

from outrisk.api import lessons, rendering
from outrisk.cli.interrupt import halting, undisturbed


def make_teaching_data(
    path: Path,
    records: int | None,
    copies: int,
    out: Path | None,
    force: bool,
    more: tuple[str, ...],
    workers: int | None,
    seed: int | None,
    quiet: bool,
    trust: bool,
) -> int:
    """Evolve the copies, write them, check what was written, and render the page; returns the exit code."""
    making = lessons.prepare_teaching(path, records, copies, out, force, workers, seed, trust, more)
    halt = Event()
    with undisturbed() as missed, making:
        with halting(halt, missed):
            lessons.make(making, halt, Console(stderr=True, quiet=quiet))
        if len(making.copies) < copies:
            raise KeyboardInterrupt
        place = lessons.write_teaching(making, more)
    if not quiet:
        rendering.show(place, Console())
    return 0
