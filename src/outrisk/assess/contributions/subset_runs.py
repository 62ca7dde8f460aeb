"""Evolutions of subsets of the released outputs, on the folds that the verdict rests on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from outrisk.assess import efforts
from outrisk.assess.checkpoint import Checkpoint, Checkpoints
from outrisk.assess.contributions.combinations import Subset
from outrisk.assess.run import Job
from outrisk.evolve.loop import State, evolve
from outrisk.microdata import Codes, Microdata
from outrisk.records.provenance import seed_of
from outrisk.side_by_side.forked import Forked, Here, Stop

BRANCH = 5  # of the study's random tree
_MET = ("matched", "near")


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of the evolution of a subset: codes of the best candidate; whether, and of which share, it met its
    numbers; how long it took.
    """

    codes: Codes
    met: bool
    share: float
    seconds: float


@dataclass(frozen=True, eq=False)
class SubsetJob:
    """One evolution of some of the outputs of a fold. job: a run of all of them on this fold."""

    job: Job
    subset: Subset  # of parts
    outputs: tuple[int, ...]  # positions among the released outputs
    run: int
    seed: int

    @property
    def name(self) -> str:
        """Of the files it is kept in: by what it is, so that whoever needs the subset shares it."""
        outputs = "-".join(map(str, self.outputs))
        return f"subset-{outputs}_level-{self.job.fold.level}_fold-{self.job.fold.name}_run-{self.run}"


def subset_jobs(
    jobs: Sequence[Job], parts: Sequence[Sequence[int]], subsets: Sequence[Subset], runs: int, seed: int
) -> Iterator[SubsetJob]:
    """Evolutions of every subset on every fold of these jobs, `runs` each."""
    folds = {job.fold.name: job for job in jobs}
    for subset in subsets:
        outputs = tuple(sorted(output for part in subset for output in parts[part]))
        for job in folds.values():
            for run in range(1, runs + 1):
                yield SubsetJob(job, subset, outputs, run, seed)


def evolve_subset(asked: SubsetJob, halt: Stop) -> Kept | None:
    """The best candidate for the numbers of a subset, evolved from its last checkpoint on; None if it was halted."""
    job = asked.job
    problem = replace(job.problem, released=tuple(job.problem.released[at] for at in asked.outputs))
    path = [BRANCH, job.fold.level, job.fold.index, asked.run, *asked.outputs]
    checkpoints = Checkpoints(job.folder, asked.name, job.every)
    before = checkpoints.read()
    codes, stop, share, seconds = None, "", 0.0, before.seconds if before else 0.0
    clock, rng = time.perf_counter() - seconds, np.random.default_rng(seed_of(asked.seed, path))
    for generation in evolve(problem, job.settings, rng, 1, before.state if before else None):
        codes, stop, seconds = generation.codes, generation.stop, time.perf_counter() - clock
        share, halted = generation.errors.share, halt.is_set()
        if generation.state is not None and not stop:
            checkpoints.see(seconds, halted, partial(_checkpoint, generation.state, seconds))
        if halted:
            return None
        if job.time_limit is not None and seconds >= job.time_limit:
            break
    assert codes is not None
    return Kept(codes, stop in _MET, share, seconds)


def _checkpoint(state: Callable[[], State], seconds: float) -> Checkpoint:
    return Checkpoint(state(), [], [], [], 0.0, seconds)


def carry_out_subsets(
    asked: Sequence[SubsetJob],
    workers: int,
    halt: Event,
    finished: Callable[[SubsetJob, Kept], None],
    forked: Forked | None = None,
) -> None:
    """Carry out evolutions side by side, on threads or in forked processes that know them, each told as it ends, in
    this thread; those that were halted are left out.
    """
    if forked is not None:
        places = [(forked.shared.place(each),) for each in asked]
        for at, (found, taken) in forked.carry_out(_evolved, places, halt):
            efforts.add(asked[at].job, taken)
            if found is not None:
                finished(asked[at], found)
        return
    with threadpool_limits(limits=1):
        outcomes = joblib.Parallel(n_jobs=workers, prefer="threads", return_as="generator_unordered")(
            joblib.delayed(_guarded)(each, halt) for each in asked
        )
        for each, found in outcomes:
            if found is not None:
                finished(each, found)


def _evolved(here: Here, place: int) -> tuple[Kept | None, efforts.Efforts]:
    asked: SubsetJob = here.shared.subsets[place]
    return efforts.counted(asked.job, lambda: evolve_subset(asked, here.halt))


def _guarded(asked: SubsetJob, halt: Event) -> tuple[SubsetJob, Kept | None]:
    return asked, None if halt.is_set() else evolve_subset(asked, halt)


def synthetic_of(asked: SubsetJob, kept: Kept) -> Microdata:
    """The best candidate as records."""
    return Microdata(asked.job.problem.codebook, kept.codes)
