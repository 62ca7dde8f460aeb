"""One run: evolve from a fold's released numbers, check by refit, measure the risk of what came out."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from outrisk.assess.checkpoint import EVERY, Checkpoint, Checkpoints
from outrisk.assess.folds import Fold
from outrisk.assess.people import Right, inferred_rightly
from outrisk.assess.suite.of_run import Suite
from outrisk.evolve.loop import Generation, State, evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import Settings
from outrisk.microdata import Microdata
from outrisk.problem.refit import Refit
from outrisk.records.schema import Place, Snapshot, Step
from outrisk.risk.attribution.over_key_sets import Scores, score_coding
from outrisk.risk.families import Question, measure
from outrisk.risk.rows import Row
from outrisk.side_by_side.forked import Stop

KeySets = Sequence[tuple[str, ...]]
_STEP = 2.0  # a snapshot is taken each time the error has fallen by this factor
_MOST_SNAPSHOTS = 40
_TOGETHER = 100_000  # records that are decoded at once


class Watcher(Protocol):
    """Is told of every generation of every run, from any thread: its number, and the share of the numbers that are
    right at their released precision.
    """

    def __call__(self, fold: Fold, run: int, number: int, share: float) -> None: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Job:
    """All that one run needs. Only `problem`, `settings` and `seed` go to the evolution."""

    fold: Fold
    run: int
    problem: Problem
    settings: Settings
    seed: np.random.SeedSequence
    key_sets: KeySets  # those that averages are taken over
    keys: tuple[str, ...]  # the largest set
    target: str
    tau: float
    jackknife_seed: int
    suite: Suite
    workers: int  # threads inside the run
    time_limit: float | None = None  # seconds of evolution; None: as many as it takes
    tried: float | None = None  # seconds after which it is put by, to be gone on with later; None: it comes to its end
    least: int = 0  # generations that it has before that
    folder: Path | None = None  # where checkpoints are kept; None: nowhere
    every: float = EVERY  # seconds between them

    @property
    def scored(self) -> list[tuple[str, ...]]:
        """Key sets to score: those of the averages, and the largest (last, if it is none of them)."""
        return list(dict.fromkeys([*self.key_sets, self.keys]))

    @property
    def name(self) -> str:
        """Names the run's files."""
        return f"level-{self.fold.level}_fold-{self.fold.name}_run-{self.run}"

    @property
    def file(self) -> str:
        """Name of the file with the run's synthetic data."""
        return f"{self.name}.csv"

    @property
    def place(self) -> Place:
        """Which run a row belongs to."""
        return Place(self.fold.level, self.fold.name, self.run)


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run leaves behind.

    refits: the released numbers of the best candidate, output by output. trajectory, snapshots: rows of the files of
    these names. scores: risk of the best candidate over all key sets. measures: rows of all families, of the best
    candidate.
    """

    job: Job
    stop: str
    generations: int
    seconds: float
    refits: list[Refit]
    trajectory: list[Step]
    snapshots: list[Snapshot]
    scores: Scores
    measures: list[Row]
    synthetic: Microdata  # the best candidate
    right: Mapping[str, Right]  # side -> whose target it gives rightly, by the largest key set


@dataclass(eq=False)
class Trace:
    """What is kept while a run goes on."""

    steps: list[Step] = field(default_factory=list)
    kept: list[tuple[int, np.ndarray]] = field(default_factory=list)  # generation and codes of a snapshot
    error: float = math.inf

    seconds: float = 0.0
    state: State | None = None  # to go on from

    @classmethod
    def begun(cls, checkpoint: Checkpoint | None) -> Trace:
        """A new trace, or the one that a checkpoint has."""
        if checkpoint is None:
            return cls()
        kept = list(zip(checkpoint.numbers, checkpoint.codes, strict=True))
        return cls(list(checkpoint.steps), kept, checkpoint.error, checkpoint.seconds, checkpoint.state)

    def checkpoint(self, state: State) -> Checkpoint:
        """What is kept up to here."""
        numbers, codes = [number for number, _ in self.kept], [codes for _, codes in self.kept]
        return Checkpoint(state, self.steps, numbers, codes, self.error, self.seconds)

    def add(self, job: Job, generation: Generation, seconds: float) -> None:
        """Take note of a generation, so many seconds after the start; of its data too, where the error has fallen."""
        errors, self.seconds = generation.errors, seconds
        self.steps.append(
            Step(
                **vars(job.place),
                generation=generation.number,
                mse=errors.mse,
                mae=errors.mae,
                chi2=errors.chi2,
                rate=generation.mutation_rate,
                seconds=round(seconds, 3),
                matched=errors.matched,
            )
        )
        if errors.mae < self.error / _STEP and len(self.kept) < _MOST_SNAPSHOTS:
            self.error = errors.mae
            self.kept.append((generation.number, generation.codes))

    def end(self, generation: Generation) -> None:
        """The last snapshot is of the last generation."""
        if not self.kept or self.kept[-1][0] != generation.number:
            self.kept.append((generation.number, generation.codes))


def evolved(job: Job, halt: Stop | None = None, watcher: Watcher | None = None) -> tuple[Trace, str] | None:
    """The trace of a run's evolution, from its last checkpoint on, and why it stopped; None if it was halted."""
    checkpoints = Checkpoints(job.folder, job.name, job.every)
    trace, stop = Trace.begun(checkpoints.read()), ""
    before = trace.seconds
    clock = time.perf_counter() - before
    for generation in evolve(job.problem, job.settings, np.random.default_rng(job.seed), job.workers, trace.state):
        seconds = time.perf_counter() - clock
        late = job.time_limit is not None and seconds >= job.time_limit
        enough = job.tried is not None and seconds - before >= job.tried and generation.number >= job.least
        stop = generation.stop or ("time" if late else "tried" if enough else "")
        trace.add(job, generation, seconds)
        if watcher is not None:
            watcher(job.fold, job.run, generation.number, generation.errors.share)
        halted = halt is not None and halt.is_set()
        if generation.state is not None and stop in ("", "tried"):
            state = generation.state
            checkpoints.see(seconds, halted, lambda of=state: trace.checkpoint(of()), enough)  # type: ignore[misc]
        if halted:
            return None
        if stop:
            trace.end(generation)
            break
    return trace, stop


def perform(job: Job, halt: Stop | None = None, watcher: Watcher | None = None) -> RunResult | None:
    """Carry out a run; None if it was halted before its end (an unfinished run is not kept)."""
    found = evolved(job, halt, watcher)
    return None if found is None else measured(job, *found, halt)


def measured(job: Job, trace: Trace, stop: str, halt: Stop | None = None) -> RunResult | None:
    """Refits and measures of a run that has been evolved; None if it was halted."""
    snapshots: list[Snapshot] = []
    refits = list[Refit]()
    for number, synthetic, refits in _refitted(job, trace.kept):
        if halt is not None and halt.is_set():
            return None
        snapshots.append(_snapshot(job, number, synthetic, refits))
    best = Microdata(job.problem.codebook, trace.kept[-1][1])
    fitted = job.fold.measured(best)
    coding, groups = job.fold.coding.beside(fitted), groups_of(job.fold)
    scores = score_coding(coding, job.scored, job.target, job.tau, groups, job.jackknife_seed)
    question = Question(
        keys=job.keys,
        target=job.target,
        key_sets=tuple(job.key_sets),
        tau=job.tau,
        groups=groups,
        seed=job.jackknife_seed,
        classifiers=job.suite.attacks,
        encoding=job.suite.encoding,
        metrics=job.suite.metrics,
        sample=job.suite.sample,
        time_limit=job.suite.time_limit,
        worst_case=job.run == 1,  # it hardly depends on the synthetic data
        scores=scores,
    )
    measures = measure(coding, question, lambda: halt is not None and halt.is_set())
    if halt is not None and halt.is_set():
        return None
    return RunResult(
        job,
        stop,
        len(trace.steps) - 1,
        trace.seconds,
        refits,
        trace.steps,
        snapshots,
        scores,
        measures,
        best,
        _right(job, fitted),
    )


def _refitted(job: Job, kept: Sequence[tuple[int, np.ndarray]]) -> Iterator[tuple[int, Microdata, list[Refit]]]:
    """Each snapshot with the refits of all outputs, several at a time: decoding few records costs as much as many."""
    step = max(1, _TOGETHER // job.problem.n_records)
    for start in range(0, len(kept), step):
        numbers, codes = zip(*kept[start : start + step], strict=True)
        many = [Microdata(job.problem.codebook, each) for each in codes]
        found = zip(*(released.recompute_all(many) for released in job.problem.released), strict=True)
        yield from zip(numbers, many, map(list, found), strict=True)


def _right(job: Job, measured: Microdata) -> dict[str, Right]:
    sides = {"original": job.fold.people, "holdout": job.fold.others}
    return {
        side: inferred_rightly(measured, records, job.keys, job.target, job.tau)
        for side, records in sides.items()
        if records is not None
    }


def groups_of(fold: Fold, most: int = 20) -> int:
    """Jackknife groups that the smaller side of a fold can fill with records, or with people or households where these
    are known; 0 (no interval) where it has fewer than 2 of them.
    """
    smaller = min(fold.original.apart, fold.holdout.apart if fold.holdout else most)
    return min(most, smaller) if smaller >= 2 else 0


def _snapshot(job: Job, generation: int, synthetic: Microdata, refits: list[Refit]) -> Snapshot:
    difference = np.concatenate([refit.differences for refit in refits])
    coding = job.fold.coding.only([*job.keys, job.target]).beside(job.fold.measured(synthetic))
    scores = score_coding(coding, [job.keys], job.target, job.tau, groups=0, seed=0)

    def risk(measure: str, side: str) -> float:
        return float(scores.values[measure, side][0]) if (measure, side) in scores.values else math.nan

    mse, mae = float(np.mean(difference**2)), float(np.mean(np.abs(difference)))
    return Snapshot(
        **vars(job.place),
        generation=generation,
        mse=mse,
        mae=mae,
        tcap_undefined_original=risk("tcap_undefined", "original"),
        tcap_undefined_holdout=risk("tcap_undefined", "holdout"),
        tcap_zero_original=risk("tcap_zero", "original"),
        tcap_zero_holdout=risk("tcap_zero", "holdout"),
    )
