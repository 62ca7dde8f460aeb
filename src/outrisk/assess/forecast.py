"""What a study will take, from a few generations of one of its runs and its measures on what these give.

How long a generation takes is measured. How many a run needs is not known before: likely are as many as runs of the
same make have needed (benchmarks/forecast.py), at most the whole budget.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Event

from threadpoolctl import threadpool_limits

from outrisk.assess.contributions.subset_runs import SubsetJob
from outrisk.assess.run import Job, perform
from outrisk.evolve.schedule import tightens
from outrisk.evolve.settings import LocalSearchSettings
from outrisk.problem.released import ModelPart
from outrisk.records.provenance import peak_memory_mb

FEW = 4  # generations that are tried
TYPICAL = {"tables": 45, "models": 12, "crowded": 200}  # generations of a run: of tables, of models alone, of both


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
class Trial:
    """What a run takes: seconds before the first generation, of each, and of refits and measures; records; MB."""

    start: float
    generation: float
    measures: float
    n_records: int
    memory: float

    def run(self, job: Job, generations: int) -> float:
        """Seconds of a run of so many generations, by the number of its records."""
        return job.problem.n_records / self.n_records * (self.evolution(generations) + self.measures)

    def evolution(self, generations: int) -> float:
        """Seconds of an evolution of so many generations."""
        return self.start + generations * self.generation


def tried(job: Job, halt: Event) -> Trial | None:
    """A few generations of a run, measured and thrown away; None if they were halted."""
    few = replace(job, run=2, settings=replace(job.settings, generations=FEW), folder=None, time_limit=None)
    before, clock = peak_memory_mb() or 0.0, time.perf_counter()
    with threadpool_limits(limits=1):
        found = perform(few, halt)
    if found is None:
        return None
    seconds = time.perf_counter() - clock
    steps = [step.seconds for step in found.trajectory]
    done = max(1, len(steps) - 1)
    memory = max(0.0, (peak_memory_mb() or 0.0) - before)
    return Trial(steps[0], (steps[-1] - steps[0]) / done, seconds - found.seconds, job.problem.n_records, memory)


def forecast(jobs: Sequence[Job], subsets: Sequence[SubsetJob], workers: int, halt: Event) -> Forecast | None:
    """What these runs, of which the first is tried, and evolutions of subsets will take; None if it was halted."""
    trial = tried(jobs[0], halt)
    if trial is None:
        return None
    budget, typical = jobs[0].settings.generations, typical_generations(jobs[0])
    side_by_side = max(1, min(workers, len(jobs)))
    likely = sum(_limited(job, trial.run(job, typical)) for job in jobs) / side_by_side
    most = sum(_limited(job, trial.run(job, budget)) for job in jobs) / side_by_side
    share = sum(len(each.outputs) / len(each.job.problem.released) for each in subsets)
    evolution = _limited(jobs[0], trial.evolution(typical))
    peak = peak_memory_mb()
    return Forecast(
        likely,
        max(likely, most),
        share * evolution / workers,
        None if peak is None else peak + (side_by_side - 1) * trial.memory,
    )


def typical_generations(job: Job) -> int:
    """How many generations runs of this make have needed."""
    if not isinstance(job.settings, LocalSearchSettings):
        return job.settings.generations
    models = any(isinstance(part, ModelPart) for part in job.problem.parts)
    make = "crowded" if tightens(job.problem, job.settings) else "models" if models else "tables"
    return min(job.settings.generations, TYPICAL[make])


def _limited(job: Job, seconds: float) -> float:
    return seconds if job.time_limit is None else min(seconds, job.time_limit)
