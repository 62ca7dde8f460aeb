"""What a validation has measured stays on disk, so that an interrupted one goes on where it stopped.

Evolved data and rows are kept apart, each under a digest of the source code that they come from.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "runs" / "validation"
_NOT_MEASURING = ("run.py", "kept.py", "intervals.py")
_ENGINE = ("evolve", "problem", "outputs")


@cache
def _digest(*parts: str) -> str:
    found = hashlib.sha256()
    for part in parts:
        for path in sorted((ROOT / part).rglob("*.py")):
            if path.name not in _NOT_MEASURING:
                found.update(path.read_bytes())
    return found.hexdigest()[:12]


def arrays(name: str, made: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Evolved data by name, from disk or made now; they stand as long as the engine's code does."""
    path = KEPT / _digest(*(f"src/outrisk/{part}" for part in _ENGINE)) / f"{name}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part.npz")
        np.savez_compressed(unfinished, **made())
        unfinished.replace(path)
    with np.load(path, allow_pickle=False) as found:
        return dict(found)


def _row_path(name: str) -> Path:
    return KEPT / _digest("src/outrisk", "validation", "benchmarks") / f"{name}.json"


@dataclass(frozen=True)
class Measured:
    """A row, the processor seconds and the seconds by the clock that it took, and the commit it was measured at."""

    row: Any
    seconds: float
    clock: float
    commit: str


def known(name: str) -> Measured | None:
    """A row by name if it is on disk, else None."""
    path = _row_path(name)
    return Measured(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def measure(name: str, made: Callable[[], Any]) -> None:
    """Measure a row and keep it, unless it is there; it stands as long as the code of outrisk and of the validation."""
    path = _row_path(name)
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    seconds, clock = time.process_time(), time.perf_counter()
    row = made()
    found = Measured(row, time.process_time() - seconds, time.perf_counter() - clock, _commit())
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(found)), encoding="utf-8")
    unfinished.replace(path)


@cache
def _commit() -> str:
    said = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return said.stdout.strip()
