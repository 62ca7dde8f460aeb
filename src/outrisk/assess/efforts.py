"""What slow paths of outputs take in another process, counted there and added here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from outrisk.assess.run import Job

Found = TypeVar("Found")
Efforts = list[dict[str, float]]  # of the outputs of a job


def counted(job: Job, work: Callable[[], Found]) -> tuple[Found, Efforts]:
    """What some work on a job gives, and what it takes."""
    before = _of(job)
    found = work()
    return found, [{name: now[name] - was[name] for name in now} for was, now in zip(before, _of(job), strict=True)]


def add(job: Job, efforts: Sequence[Mapping[str, float]]) -> None:
    """Add what work on a job has taken."""
    for released, more in zip(job.problem.released, efforts, strict=True):
        if more:
            released.output.add_effort(more)


def _of(job: Job) -> Efforts:
    return [dict(released.output.effort) for released in job.problem.released]
