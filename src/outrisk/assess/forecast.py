"""What a study will take, from the beginnings of its first runs and the measures on what these give.

As many runs as go side by side are tried side by side, so that what they take from each other, and what else the
machine does, is in the time of a generation. Runs that end within these seconds tell how many generations runs of this
study need, and are kept as the runs they are; others are put by, and go on later from where they were. How many
generations those need is not known: as many as runs of the same make have needed count as one more that has ended, and
the whole budget is the most.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from threading import Event
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from outrisk.assess import efforts
from outrisk.assess.checkpoint import Checkpoints
from outrisk.assess.contributions.subset_runs import SubsetJob
from outrisk.assess.kept import packed, unpacked
from outrisk.assess.run import Job, RunResult, evolved, measured
from outrisk.evolve.loop import evolve
from outrisk.evolve.schedule import tightens
from outrisk.evolve.settings import LocalSearchSettings
from outrisk.problem.released import ModelPart
from outrisk.records.provenance import peak_memory_mb
from outrisk.side_by_side.forked import Forked, Here, Stop

FEW = 12  # generations that are tried, at least: the first are of the approach
TRIED = 4.0  # seconds that runs are begun in
TYPICAL = {"tables": 45, "models": 12, "crowded": 100}  # generations of a run: of tables, of models alone, of both


@dataclass(frozen=True)
class Forecast:
    """Seconds that runs and evolutions of some of the outputs will take, likely and at most, of all workers side by
    side; memory in MB, None where the system does not tell.
    """

    likely: float
    most: float
    subsets: float
    memory: float | None


@dataclass(frozen=True)
class Timing:
    """What a run takes: seconds before the first generation, of each, and of refits and measures; its records."""

    start: float
    generation: float
    measures: float
    n_records: int


@dataclass(frozen=True)
class Trial:
    """What runs take, by the level of their fold, the first tried being the first; generations that they likely have;
    MB of all that were tried; those that have come to their end, and seconds of evolution that others need no more.
    """

    timings: Mapping[int, Timing]
    generations: float
    memory: float
    ended: frozenset[Job] = frozenset()
    spent: Mapping[Job, float] = field(default_factory=dict)

    def run(self, job: Job, generations: float) -> float:
        """Seconds that a run of so many generations still takes; where none of its level was tried, by its records."""
        timing, scale = self._timing(job)
        return max(0.0, self.evolution(job, generations) - self.spent.get(job, 0.0)) + scale * timing.measures

    def evolution(self, job: Job, generations: float) -> float:
        """Seconds of its evolution."""
        timing, scale = self._timing(job)
        seconds = scale * (timing.start + generations * timing.generation)
        return seconds if job.time_limit is None else min(seconds, job.time_limit)

    def _timing(self, job: Job) -> tuple[Timing, float]:
        """Of the level of a job, or of another, and what that is to be multiplied by."""
        if job.fold.level in self.timings:
            return self.timings[job.fold.level], 1.0
        first = next(iter(self.timings.values()))
        return first, job.problem.n_records / first.n_records


@dataclass(frozen=True)
class _Begun:
    """A run that was begun: its result, and the seconds it took, and those of it for refits and measures."""

    job: Job
    result: RunResult
    seconds: float
    measures: float

    @property
    def ended(self) -> bool:
        """Whether it came to its own end."""
        return self.result.stop != "tried"


def tried(
    jobs: Sequence[Job],
    side_by_side: int,
    seconds: float,
    halt: Event,
    forked: Forked | None = None,
    finished: Callable[[RunResult], None] = lambda result: None,
) -> Trial | None:
    """The beginnings of these runs, measured, on threads or in forked processes that know them; None if they were
    halted. One generation of one of the smallest comes before, so that what evolving loads once is loaded. Those that
    come to their end are told in this thread.
    """
    smallest = min(jobs, key=lambda job: job.problem.n_records)
    before = _memory_with(forked)
    jobs = _levels_by_turns(jobs, side_by_side)
    parts = [jobs[at::side_by_side] for at in range(side_by_side)]
    if forked is not None:
        place = forked.shared.place
        asked = [(place(smallest), [place(job) for job in part], seconds) for part in parts]
        every = list[_Begun]()

        def heard(_: int, what: tuple[int, dict[str, Any], float, float]) -> None:
            at, result, *seconds = what
            job: Job = forked.shared.jobs[at]
            every.append(_Begun(job, unpacked(job, result), *seconds))
            if every[-1].ended:
                finished(every[-1].result)

        for _, taken in forked.carry_out(_begun_there, asked, halt, heard):
            efforts.add(smallest, taken)
    else:
        with threadpool_limits(limits=1), ThreadPoolExecutor(side_by_side) as threads:
            _load(smallest)
            before = _memory_with(None)
            begun = list(threads.map(lambda part: list(_begun(part, seconds, halt)), parts))
        every = [each for runs in begun for each in runs]
        for each in every:
            if each.ended:
                finished(replace(each.result, job=each.job))
    if halt.is_set():
        return None
    timings = {}
    for level in dict.fromkeys(each.job.fold.level for each in every):
        timings[level] = _timing([each for each in every if each.job.fold.level == level])
    return Trial(
        timings,
        _generations(jobs[0], every),
        max(0.0, _memory_with(forked) - before),
        frozenset(each.job for each in every if each.ended),
        {each.job: each.result.seconds for each in every if Checkpoints(each.job.folder, each.job.name).keeps},
    )


def _load(smallest: Job) -> None:
    settings = replace(smallest.settings, start="uniform")  # others take many times as long, and so may a run's end
    deque(islice(evolve(smallest.problem, settings, np.random.default_rng(0)), 2), maxlen=0)


def _memory_with(forked: Forked | None) -> float:
    """MB at most so far, with that of forked processes."""
    return max(peak_memory_mb() or 0.0, forked.memory if forked else 0.0)


def _begun_there(here: Here, smallest: int, places: Sequence[int], seconds: float) -> efforts.Efforts:
    """Runs begun in a forked process, each told when there is no more of it: its place, result and seconds. Returns
    what slow paths of all have taken, which are of the same outputs.
    """
    job = here.shared.jobs[smallest]

    def begin() -> None:
        _load(job)
        begun = _begun([here.shared.jobs[place] for place in places], seconds, here.halt)
        for place, each in zip(places, begun, strict=False):
            here.tell((place, packed(each.result), each.seconds, each.measures))

    return efforts.counted(job, begin)[1]


def _levels_by_turns(jobs: Sequence[Job], side_by_side: int) -> list[Job]:
    """So many jobs of each level after each other, the first level first."""
    seen, turns = Counter[int](), list[tuple[int, int, Job]]()
    for job in jobs:
        turn = seen[job.fold.level] // side_by_side
        seen[job.fold.level] += 1
        turns.append((turn, list(seen).index(job.fold.level), job))
    return [job for *_, job in sorted(turns, key=lambda each: each[:2])]


def _begun(jobs: Sequence[Job], seconds: float, halt: Stop) -> Iterator[_Begun]:
    """Runs one after the other, until the time is up; none that would likely be put by, of a level that is known. The
    first has its first generation before that, which loads what is still to be.
    """
    if jobs and Checkpoints(jobs[0].folder, jobs[0].name).keeps:  # else it would not go on from there
        evolved(replace(jobs[0], tried=0.0, least=1), halt)
    found, until = list[_Begun](), time.perf_counter() + seconds
    for job in jobs:
        if halt.is_set():
            break
        clock = time.perf_counter()
        alike = [each.seconds for each in found if each.job.fold.level == job.fold.level]
        if alike and clock + max(alike) > until:
            break
        brief = replace(job, tried=max(0.0, until - clock), least=FEW)
        run = evolved(brief, halt)
        between = time.perf_counter()
        result = None if run is None else measured(brief, *run, halt)
        if result is None:
            break
        now = time.perf_counter()
        found.append(_Begun(job, result, now - clock, now - between))
        yield found[-1]
        if time.perf_counter() >= until:
            break


def _timing(begun: Sequence[_Begun]) -> Timing:
    """Of runs of a level: means; the least of what comes before and after generations, as what measures need is loaded
    in the first runs. A generation is as long as all after the first of a run that came to its end, as the later half
    of those of another.
    """
    steps = [[step.seconds for step in each.result.trajectory] for each in begun]
    later = [each[len(each) > 2 if one.ended else len(each) // 2 :] for one, each in zip(begun, steps, strict=True)]
    return Timing(
        start=min(each[0] for each in steps),
        generation=sum(each[-1] - each[0] for each in later) / max(1, sum(len(each) - 1 for each in later)),
        measures=min(each.measures for each in begun),
        n_records=begun[0].job.problem.n_records,
    )


def _generations(job: Job, begun: Sequence[_Begun]) -> float:
    """Generations that runs likely have: those seen over the runs that came to their end, as an end is to be expected
    where it is equally likely at any generation. Where some did not, one that has the typical number is added.
    """
    seen, ends = sum(each.result.generations for each in begun), sum(each.ended for each in begun)
    expected = seen / ends if ends == len(begun) else (typical_generations(job) + seen) / (1 + ends)
    return min(job.settings.generations, expected)


def forecast(
    jobs: Sequence[Job],
    subsets: Sequence[SubsetJob],
    workers: int,
    halt: Event,
    seconds: float = TRIED,
    forked: Forked | None = None,
    finished: Callable[[RunResult], None] = lambda result: None,
) -> Forecast | None:
    """What these runs, of which the first are tried for some seconds, and evolutions of subsets will take; None if it
    was halted. Runs that come to their end meanwhile are told in this thread.
    """
    side_by_side = max(1, min(workers, len(jobs)))
    trial = tried(jobs, side_by_side, seconds, halt, forked, finished)
    if trial is None:
        return None
    left = [job for job in jobs if job not in trial.ended]
    likely = sum(trial.run(job, trial.generations) for job in left) / side_by_side
    most = sum(trial.run(job, jobs[0].settings.generations) for job in left) / side_by_side
    share = sum(len(each.outputs) / len(each.job.problem.released) for each in subsets)
    return Forecast(
        likely,
        max(likely, most),
        share * trial.evolution(jobs[0], trial.generations) / workers,
        _memory(jobs, trial, forked),
    )


def _memory(jobs: Sequence[Job], trial: Trial, forked: Forked | None) -> float | None:
    """In MB, when the runs with most records go side by side."""
    peak, tried_records = _memory_with(forked), max(timing.n_records for timing in trial.timings.values())
    more = max(job.problem.n_records for job in jobs) / tried_records - 1.0
    return peak + max(0.0, more) * trial.memory if peak else None


def typical_generations(job: Job) -> int:
    """How many generations runs of this make have needed."""
    if not isinstance(job.settings, LocalSearchSettings):
        return job.settings.generations
    models = any(isinstance(part, ModelPart) for part in job.problem.parts)
    make = "crowded" if tightens(job.problem, job.settings) else "models" if models else "tables"
    return min(job.settings.generations, TYPICAL[make])
