"""How far a run has come, on disk: a run that takes minutes goes on from there when it was cut short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from outrisk.evolve.loop import State
from outrisk.records.schema import Step
from outrisk.records.stored import read_stored, remove_stored, write_stored

EVERY = 60.0  # seconds of a run after which its state is kept
PARTING = 5.0  # the same, where the run is halted


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of the search, and what is kept of the run: its steps, the snapshots' generations and codes, the error
    of the last of them, and the seconds it has taken.
    """

    state: State
    steps: list[Step]
    numbers: list[int]
    codes: list[NDArray[Any]]
    error: float
    seconds: float


@dataclass
class Checkpoints:
    """The checkpoints of one run. folder: where they are kept; without one, or where it is not, none are."""

    folder: Path | None
    name: str
    every: float = EVERY
    last: float = 0.0  # seconds of the run at the last one

    @property
    def keeps(self) -> bool:
        """Whether any are kept."""
        return self.folder is not None and self.folder.is_dir()

    def read(self) -> Checkpoint | None:
        """The last checkpoint, if there is one."""
        if self.folder is None:
            return None
        found = read_stored(self.folder / self.name, Checkpoint)
        self.last = found.seconds if found else 0.0
        return found

    def see(self, seconds: float, halted: bool, make: Callable[[], Checkpoint], put_by: bool = False) -> None:
        """Keep a checkpoint where it is time for one, and of a run that is put by."""
        due = self.last + (0.0 if put_by else min(PARTING, self.every) if halted else self.every)
        if seconds < due or not self.keeps:
            return
        assert self.folder is not None
        self.last = seconds
        write_stored(self.folder / self.name, make(), Checkpoint)

    def remove(self) -> None:
        """Remove the checkpoint of a run that has ended."""
        if self.folder is not None:
            remove_stored(self.folder / self.name)
