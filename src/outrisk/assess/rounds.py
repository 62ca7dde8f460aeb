"""Runs by rounds, until they are enough (`study: {runs: enough}`): the first of those that a fixed number would be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from outrisk.assess.run import Job

ROUNDS = (5, 8, 12, 20)  # runs of a fold that the verdict rests on, once each round is over
ELSEWHERE = 3  # runs of a fold that it does not rest on


@dataclass
class Rounds:
    """How far a study has come. level: of the folds that the verdict rests on; None: there is no holdout."""

    level: int | None
    number: int = 0

    @classmethod
    def of(cls, jobs: Iterable[Job]) -> Rounds:
        """Before the first round of all runs that there may be."""
        return cls(min((job.fold.level for job in jobs if job.fold.holdout is not None), default=None))

    @property
    def last(self) -> bool:
        """Whether there is none after this one, however wide the limits are."""
        return self.level is None or self.number == len(ROUNDS) - 1

    def jobs(self, planned: Sequence[Job]) -> list[Job]:
        """The runs of this round and those before it, of all that there may be."""
        return [job for job in planned if job.run <= self._runs_at(job.fold.level)]

    def _runs_at(self, level: int) -> int:
        return ROUNDS[self.number] if self.level in (None, level) else ELSEWHERE
