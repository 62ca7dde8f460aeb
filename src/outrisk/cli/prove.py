"""`outrisk prove`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from outrisk.api.proving import prove_study

_SHOWN = 20


def prove(path: Path, seconds: float, csv: Path | None) -> int:
    """Print what the outputs of a study prove; returns the exit code."""
    proof = prove_study(path, seconds)
    console = Console(highlight=False)
    console.print(escape(proof.sentence))
    if "number" in proof.certain and not proof.certain.empty:
        console.print(escape(proof.certain.head(_SHOWN).to_string(index=False)))
    for name, reason in proof.left_out.items():
        console.print(escape(f"Not used: {name} ({reason}). Claims hold without it; with it there may be more."))
    if csv is not None:
        proof.certain.to_csv(csv, index=False)
    return 0
