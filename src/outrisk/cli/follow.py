"""`outrisk follow`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from outrisk.api.followed import follow_study

_SHOWN = 20


def follow(
    path: Path,
    runs: int,
    rounds: int,
    seed: int | None,
    workers: int | None,
    trust: bool,
    released: Sequence[Path],
) -> int:
    """Print whom the outputs of a study follow, in counts; returns the exit code."""
    found = follow_study(path, runs, rounds, seed, workers, trust, released)
    console = Console(highlight=False)
    console.print(escape(found.sentence))
    if len(found.by_keys):
        console.print(escape(found.by_keys.head(_SHOWN).to_string(index=False)))
    if len(found.by_keys) > _SHOWN:
        console.print(f"and {len(found.by_keys) - _SHOWN:,} further key sets")
    return 0
