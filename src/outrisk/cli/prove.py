"""`outrisk prove`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from outrisk.api.proving import Asked, Proof, prove_study

_SHOWN = 20
_SETS = 8


def prove(
    path: Path,
    time_limit: float | None,
    csv: Path | None,
    sample: int | None,
    known_for: float | None,
    seed: int,
    trust: bool,
    released: Sequence[Path],
) -> int:
    """Print what the outputs of a study prove; returns the exit code."""
    outputs = [csv] if csv is not None else []
    proof = prove_study(path, Asked(known_for, sample, time_limit, seed), trust, released, outputs)
    console = Console(highlight=False)
    console.print(escape(proof.sentence))
    if "number" in proof.certain and not proof.certain.empty:
        console.print(escape(proof.certain.head(_SHOWN).to_string(index=False)))
    _print_sets(proof, console)
    if proof.of_cells:
        console.print(escape(proof.of_cells))
    for name, reason in proof.left_out.items():
        console.print(escape(f"Not used, or not in full: {name} ({reason}). With all of it there may be more claims."))
    if csv is not None:
        proof.write(csv)
    return 0


def _print_sets(proof: Proof, console: Console) -> None:
    """The sets of outputs that prove values, most people first."""
    if proof.by_outputs.empty:
        return
    sets = proof.by_outputs.groupby("outputs")["smallest"].agg(["size", "all"]).sort_values("size", ascending=False)
    console.print("Proved by (no fewer outputs do, unless said):")
    for outputs, row in sets.head(_SETS).iterrows():
        note = "" if row["all"] else " (perhaps fewer would do)"
        console.print(
            escape(f"  {_number(row['size'], proof)}: {str(outputs).replace('; ', ' with ') or 'the keys alone'}{note}")
        )
    if len(sets) > _SETS:
        rest = int(sets["size"].iloc[_SETS:].sum())
        console.print(f"  {_number(rest, proof)}: {len(sets) - _SETS:,} further sets of outputs")
    unknown = len(proof.certain) - len(proof.by_outputs)
    if unknown:
        console.print(f"  {_number(unknown, proof)}: not found with the work that is allowed for it")


def _number(number: int, proof: Proof) -> str:
    """So many people, or records where people may have several."""
    one = "person" if proof.counted == "people" else "record"
    return f"1 {one}" if number == 1 else f"{number:,} {proof.counted}"
