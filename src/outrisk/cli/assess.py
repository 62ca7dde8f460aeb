"""`outrisk assess`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

from rich.console import Console

from outrisk.api import rendering, studies
from outrisk.cli import STOPPED
from outrisk.cli.interrupt import breakable, halting, undisturbed


def run_study(
    path: Path,
    out: Path | None,
    force: bool,
    workers: int | None,
    seed: int | None,
    quiet: bool,
    trust: bool,
    time_limit: float | None = None,
    run_time_limit: float | None = None,
    backend: str | None = None,
    address: str | None = None,
    released: Sequence[Path] = (),
) -> int:
    """Carry out a study and write its run directory; returns the exit code (130 if it was interrupted)."""
    more = (time_limit, run_time_limit, backend, address, released)
    run = studies.prepare_study(path, out, force, workers, seed, trust, *more)
    halt = Event()
    with undisturbed() as missed, run:
        console = Console(stderr=True, quiet=quiet)
        with halting(halt, missed):
            studies.carry_out(run, halt, console)
        if not run.done and not run.keeps:
            raise KeyboardInterrupt
        place, rendered = studies.write_study(run, _unless_broken, console)
    if not rendered:
        done = f"{len(run.done)} of {len(run.jobs)} runs are" if run.done else "no run has ended; what was begun is"
        sys.stderr.write(
            f"outrisk: stopped; {done} kept in {place}, and the same command {'without --force ' if force else ''}"
            f"goes on with {'them' if run.done else 'it'}\n"
        )
        return STOPPED
    if not quiet:
        if run.data.guesses:
            Console().print(f"The codebook was guessed from the data; check {place / 'codebook.yaml'}", highlight=False)
        rendering.show(place, Console())
    return 0


def _unless_broken(render: Callable[[], object]) -> bool:
    """Render the report; False if Ctrl-C broke in."""
    try:
        with breakable():
            render()
    except KeyboardInterrupt:
        return False
    return True
