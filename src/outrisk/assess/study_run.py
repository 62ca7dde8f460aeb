"""A study made ready, carried out and written: what `outrisk.assess` and the command line both come down to."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Event, Timer
from types import TracebackType
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from outrisk.assess.backends import Backend, Planned, run_all
from outrisk.assess.certain_people import CertainPeople, certain_in_study, check_register
from outrisk.assess.checkpoint import Checkpoints
from outrisk.assess.contributions.combinations import Wish
from outrisk.assess.contributions.contributed import Asked, ask, places_of, worths
from outrisk.assess.contributions.contributed import rows as rows_of
from outrisk.assess.contributions.earlier import check_earlier
from outrisk.assess.contributions.subset_runs import Kept, SubsetJob, carry_out_subsets
from outrisk.assess.forecast import TRIED, Forecast, forecast
from outrisk.assess.kept import keep as keep_run
from outrisk.assess.kept import kept as kept_run
from outrisk.assess.look import Found, in_a_sentence
from outrisk.assess.look import differences as differencing
from outrisk.assess.look.finding import NOBODY, Rows, people
from outrisk.assess.look.in_study import found_in_study
from outrisk.assess.look.unlike_data import shown
from outrisk.assess.recurrence import recurring_rows
from outrisk.assess.rounds import ROUNDS, Rounds
from outrisk.assess.run import Job, RunResult, Watcher
from outrisk.assess.study import Assessment, in_order, plan_jobs
from outrisk.assess.suite import of_run as suite
from outrisk.assess.suite import over_runs
from outrisk.assess.summary import matched_rows, risk_rows, summarise
from outrisk.assess.verdict.by_level import LevelRisk
from outrisk.assess.verdict.decide import are_disclosive
from outrisk.assess.verdict.log_entry import log_entry
from outrisk.assess.verdict.more_runs import are_enough
from outrisk.assess.verdict.of_study import Reached, levels_of, reach
from outrisk.assess.verdict.unmet import unmet
from outrisk.assess.with_register import (
    FoldGuessed,
    begin_guessing,
    guessed_rows,
    limit_of,
    register_of,
    reliability_rows,
)
from outrisk.codebook import Codebook
from outrisk.config import ENOUGH, Study
from outrisk.errors import ConfigError, RiskError
from outrisk.evolve.ahead import compile_ahead
from outrisk.evolve.schedule import tightens
from outrisk.evolve.settings import LocalSearchSettings
from outrisk.load import StudyData, public_rules
from outrisk.microdata import Microdata, write_table
from outrisk.outputs.base import Output, release
from outrisk.problem.refit import Refit
from outrisk.problem.released import Released
from outrisk.prove.in_conflict import in_conflict
from outrisk.prove.programme import drawn
from outrisk.records.directory import StudyDirectory
from outrisk.records.provenance import (
    code_digest,
    codebook_digest,
    data_digest,
    file_digest,
    flat,
    records_digest,
    versions,
)
from outrisk.records.schema import (
    NOT_FOUND,
    Contrast,
    Contribution,
    Difference,
    Finding,
    Given,
    Guessed,
    Identity,
    Input,
    Manifest,
    Matched,
    MeanOfRuns,
    Measure,
    PeopleCount,
    Recurring,
    Register,
    Reliability,
    Score,
    Slow,
    Snapshot,
    Step,
)
from outrisk.risk.attribution.definitions import key_sets
from outrisk.risk.coding.classes import check_keys


class RunFiles(Protocol):
    """Takes the files of a run: a `StudyDirectory`, or what keeps them in memory."""

    def log(self, event: str, **particulars: object) -> None: ...  # noqa: D102
    def rows(self, name: str, kind: type[Any], rows: Iterable[Any]) -> None: ...  # noqa: D102
    def json(self, name: str, document: Any) -> None: ...  # noqa: D102
    def yaml(self, name: str, document: Mapping[str, Any]) -> None: ...  # noqa: D102
    def text(self, name: str, text: str) -> None: ...  # noqa: D102
    def codebook(self, codebook: Codebook) -> None: ...  # noqa: D102


@dataclass(eq=False)
class StudyRun:
    """A study that can be carried out: every fault of its file and its data has shown, and nothing is written.

    planned: all runs that there may be; rounds: how many of them there are so far, where as many as are enough are
    asked for.
    """

    study: Study
    data: StudyData
    assessment: Assessment
    planned: list[Job]
    workers: int
    directory: StudyDirectory | None  # what is written; None: nothing
    rounds: Rounds | None = None
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.perf_counter)
    done: dict[Job, RunResult] = field(default_factory=dict)
    late: bool = False  # the time limit has ended the study
    backend: Backend = field(default_factory=Backend)
    asked: Asked | None = None  # what is to be said of each output
    subsets: dict[str, Kept] = field(default_factory=dict)  # evolutions of subsets of outputs that have ended
    _reached: tuple[tuple[int, str], Reached] | None = None  # by how many runs and what proofs, and what
    _levels: tuple[int, list[LevelRisk]] | None = None  # by how many runs, and what

    def __enter__(self) -> StudyRun:
        """Begin the run directory, or go on with it: runs that it keeps are done. It is left as it is if the block ends
        with an error, and discarded if it keeps nothing.
        """
        if self.directory is not None:
            self.directory.open(self.identity)
            found = {job: kept_run(self.directory, job) for job in self.planned}
            self.done = {job: result for job, result in found.items() if result is not None}
            while self._next_round():
                pass
            asked = {job.name: self.directory.kept(job.name, Kept) for job in (self.asked.jobs if self.asked else ())}
            self.subsets = {name: kept for name, kept in asked.items() if kept is not None}
            facts = {"runs": len(self.jobs), "kept": len(self.done), "workers": self.workers}
            self.directory.log("started", study=self.study.file.name, seed=self.assessment.seed, **facts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.backend.close()
        if error is None or self.directory is None:
            return
        kept = self.directory.folder if self.directory.keeps else None
        self.directory.discard()
        if isinstance(error, OSError) and kept is not None:
            raise ConfigError(
                f"{error.filename or kept}: {error.strerror or error}; {len(self.done)} of {len(self.jobs)} runs are "
                f"kept in {kept}, and once that is mended the same command goes on"
            ) from error

    def fork(self) -> None:
        """Fork the processes that carry out what is not done, where that is the backend: before there are threads."""
        subsets = self.asked.jobs if self.asked else []
        left = len(self.left), sum(each.name not in self.subsets for each in subsets)
        more = 0 if self.rounds is None or self.rounds.last else self.workers
        self.backend.fork(Planned(self.planned, subsets), min(self.workers, max(*left, more)))

    def foretell(self, halt: Event, finished: Callable[[RunResult], None]) -> Forecast | None:
        """What the runs that are not done will take, and the evolutions of some of the outputs; None if all are done,
        or it was halted, as it is at the time limit, which the direct look before it does not heed. It takes a few
        seconds; runs that end within them are done, each told. OSError as `carry_out`.
        """
        jobs = self._compiled()
        subsets = [] if self.asked is None else [job for job in self.asked.jobs if job.name not in self.subsets]
        limit = self.study.file.study.time_limit
        seconds = TRIED if limit is None else min(TRIED, limit / 10)

        def end(result: RunResult) -> None:
            self.done[result.job] = result if self.directory is None else self._keep(self.directory, result)
            finished(self.done[result.job])

        looked = jobs and self.findings is not None  # before the runs, as it may take more memory than they do
        if not looked:
            return None
        with self._limited(halt) as up:
            found = forecast(jobs, subsets, self.workers, halt, seconds, self.backend.forked, end)
        self.late = up.is_set() and not self.whole
        return found

    def _limited(self, halt: Event) -> AbstractContextManager[Event]:
        """A block that the study's time limit halts, if it has one."""
        limit = self.study.file.study.time_limit
        return _deadline(None if limit is None else limit - (time.perf_counter() - self.clock), halt)

    def _compiled(self) -> list[Job]:
        """The runs that are not done, in their order, what they need being compiled."""
        jobs = self.left
        searches = [(job.problem, job.settings) for job in jobs if isinstance(job.settings, LocalSearchSettings)]
        if searches:
            compile_ahead(any(tightens(*each) for each in searches))
        return jobs

    def carry_out(self, halt: Event, watcher: Watcher, finished: Callable[[RunResult], None]) -> None:
        """Carry out the runs that are not done, round by round, each told as it ends; once `halt` is set, as it is at
        the time limit, those that have not ended are left out. OSError where a run cannot be kept, those under way
        having been halted. ConfigError where the time limit is up before a run has ended.
        """
        failed, limit = list[OSError](), self.study.file.study.time_limit

        def end(result: RunResult) -> None:
            if self.directory is not None:
                try:
                    result = self._keep(self.directory, result)
                except OSError as error:
                    failed.append(error)
                    halt.set()
                    return
            self.done[result.job] = result
            finished(result)

        with self._limited(halt) as up:
            going = True
            while going:
                run_all(self._compiled(), self.workers, halt, watcher, end, self.backend)
                going = not halt.is_set() and self._next_round()
        self.late = (self.late or up.is_set()) and not self.whole
        if failed:
            raise failed[0]
        if self.late and not self.done:
            raise ConfigError(
                f"the time limit of {limit:g} s is up, and no run has ended: give a longer one, with which the same "
                "command goes on; or begin again with a run_time_limit, fewer generations or fewer outputs"
            )

    def _next_round(self) -> bool:
        """Plan a further round of runs where those of this one have ended and are not enough; whether there is one."""
        if self.rounds is None or self.rounds.last or not self.all_runs:
            return False
        appetite = self.study.file.appetite
        if are_disclosive(self.findings, appetite, self.assessment.keys) or are_enough(self.levels, appetite.margin):
            return False
        self.rounds.number += 1
        return True

    def _keep(self, directory: StudyDirectory, result: RunResult) -> RunResult:
        """Keep a result; as it is kept, so that a study that is gone on with has the same."""
        keep_run(directory, result)
        Checkpoints(directory.checkpoints, result.job.name).remove()
        took = {"generations": result.generations, "seconds": round(result.seconds, 3)}
        directory.log("run", **vars(result.job.place), stop=result.stop, **took)
        found = kept_run(directory, result.job)
        assert found is not None
        return found

    @property
    def wanted_subsets(self) -> list[SubsetJob]:
        """The evolutions that say what each output adds and have not ended; known once all runs have. Where the study
        file says nothing of it, none if there is no marginal risk to be shared.
        """
        if self.asked is None or not self.all_runs:
            return []
        if self.asked.unasked and self.reached.decision.verdict == NOT_FOUND:
            return []
        return [job for job in self.asked.jobs if job.name not in self.subsets]

    def contribute(self, halt: Event, finished: Callable[[str, float, float], None]) -> None:
        """Evolve the subsets of outputs that are wanted, each told as it ends: its name, the share of its numbers that
        is reproduced, and its seconds. Those that were kept are done. Ends as `carry_out` does.
        """
        failed = list[OSError]()

        def end(job: SubsetJob, found: Kept) -> None:
            try:
                if self.directory is not None:
                    self.directory.keep(job.name, found, Kept)
                    Checkpoints(self.directory.checkpoints, job.name).remove()
            except OSError as error:
                failed.append(error)
                halt.set()
                return
            self.subsets[job.name] = found
            finished(job.name, found.share, found.seconds)

        with self._limited(halt) as up:
            carry_out_subsets(self.wanted_subsets, self.workers, halt, end, self.backend.forked)
        self.late = up.is_set() and not self.whole
        if failed:
            raise failed[0]

    @property
    def jobs(self) -> list[Job]:
        """The runs that there are, as far as is known: of this round and those before it."""
        return self.planned if self.rounds is None else self.rounds.jobs(self.planned)

    @property
    def left(self) -> list[Job]:
        """Those that have not ended, in the order they are carried out in."""
        return [job for job in in_order(self.jobs) if job not in self.done]

    @property
    def results(self) -> list[RunResult]:
        """Results of the runs that have ended, in the order of the runs; of the data and their folds."""
        return [result for result in self.ended if not result.job.fold.swapped]

    @property
    def ended(self) -> list[RunResult]:
        """The same, and those of the given holdout in the place of the data."""
        return [self.done[job] for job in self.jobs if job in self.done]

    @property
    def keeps(self) -> bool:
        """Whether another process can go on with what is kept: runs that have ended, or how far others have come."""
        return self.directory is not None and self.directory.keeps

    @property
    def all_runs(self) -> bool:
        """Whether all runs on all outputs have ended."""
        return not self.left

    @property
    def whole(self) -> bool:
        """Whether all runs have ended, those of subsets of outputs too."""
        return self.all_runs and not self.wanted_subsets

    @cached_property
    def findings(self) -> list[Found]:
        """What the outputs say outright."""
        of = self.assessment
        return found_in_study(self.study, self.data, of.outputs, of.rules, self.beside_data)

    @property
    def outright(self) -> str:
        """That in a sentence or two, what is certain first."""
        return in_a_sentence(self.findings, len(self.assessment.outputs))

    @cached_property
    def certain(self) -> CertainPeople:
        """What the outputs prove to an intruder who knows everybody's keys."""
        of, share = self.assessment, self.study.file.register_.share
        known = drawn(len(of.original), share, of.seed) if share < 1 else None
        keys = self.study.register_keys
        return certain_in_study(self.released, of.original, keys, of.target, of.rules, known, not of.given, of.bands)

    @cached_property
    def released(self) -> Sequence[Released]:
        """The outputs of the whole data, as released."""
        for job in self.jobs:
            if job.fold.level == 1 and not job.fold.swapped:
                return job.problem.released
        of = self.assessment
        return [of.given.get(output.name) or release(output, of.original) for output in of.outputs]

    @cached_property
    def beside_data(self) -> list[Refit]:
        """The released numbers that the study gives, beside what the data give."""
        return [released.recompute(self.assessment.original) for released in self.assessment.given.values()]

    @cached_property
    def identity(self) -> Identity:
        """What must be alike for the study to be gone on with: what it asks for, of which data, by which code."""
        inputs = {
            f"{each.what} {each.name}": each.sha256
            for each in _inputs(self.study, self.data)
            if each.what not in ("study", "codebook", "data", "holdout")  # the content of these counts
        }
        records = {f"{what} {name}": records_digest(each) for what, name, each in _records_of(self.study, self.data)}
        inputs |= records | {f"codebook {self.study.file.codebook}".strip(): codebook_digest(self.data.original)}
        study = flat(self.study.resolved())
        study.pop("study.time_limit")  # it says how far to go, not where to
        return Identity(study, inputs, versions() | {"code of outrisk": code_digest()})

    @cached_property
    def guessed(self) -> list[FoldGuessed]:
        """What an intruder with a register guesses, fold by fold; empty where that is not asked for, or runs lack."""
        return self._guesses()

    @cached_property
    def _guesses(self) -> Callable[[], list[FoldGuessed]]:
        """The same when it is asked for; where there are forked processes, these begin now."""
        if "register" not in self.study.file.intruder or not self.all_runs:
            return list
        problems = {job.fold: job.problem for job in self.jobs if not job.fold.swapped}
        return begin_guessing(
            problems,
            self.study.register_keys,
            self.assessment.target,
            self.assessment.seed,
            self.study.file.register_.share,
            self.workers,
            self.backend.forked,
        )

    @cached_property
    def manifest(self) -> Manifest:
        """Where the results come from, and what they took; `interrupted` as long as there is no report."""
        found = versions()
        outputs = self.assessment.outputs
        return Manifest(
            outrisk=found.pop("outrisk"),
            study=self.study.file.name,
            started=self.started.isoformat(timespec="seconds"),
            seed=self.assessment.seed,
            workers=self.workers,
            versions=found,
            inputs=tuple(_inputs(self.study, self.data)),
            slow=tuple(_slow(output) for output in outputs if output.effort),
            status="interrupted",
            runs_done=len(self.done),
            runs_planned=len(self.jobs),
            seconds=round(time.perf_counter() - self.clock, 2),
            peak_memory_mb=self.backend.memory,
            time_limit=self.study.file.study.time_limit,
            run_time_limit=self.study.file.study.run_time_limit,
            late=self.late,
            remarks=self.study.remarks(self.assessment.original.codebook),
        )

    def write(self, directory: RunFiles, tell: Callable[[str], None] = lambda stage: None) -> None:
        """Write every file of a run directory but the synthetic data and the report; first that it is not complete.
        `tell` hears what begins.
        """
        tell("working out what they say together")
        directory.json("manifest.json", self.manifest)
        _ = self._guesses  # which takes its time
        if "register" not in self.study.file.intruder:
            self._write_results(directory)
        else:
            # Proofs hold no lock while they are searched for; linear algebra in one thread: the same on any machine.
            with threadpool_limits(limits=1), ThreadPoolExecutor(1) as aside:
                proved = aside.submit(lambda: self.certain.summary)
                self._write_results(directory)
                tell("proving what holds for certain")
                directory.json("certain.json", proved.result())
        self.backend.end_forked()
        tell("deciding")
        self._decide(directory)
        self._write_contributions(directory)

    def _write_results(self, directory: RunFiles) -> None:
        """Write what rests on the runs, and what is asked of the outputs themselves, but for what they prove."""
        results = self.results
        directory.log("written", runs=len(results))
        codebook = self.assessment.original.codebook
        stored = self.study.stored(directory.folder, codebook) if isinstance(directory, StudyDirectory) else None
        directory.yaml("study.yaml", stored or self.study.resolved())
        directory.codebook(codebook)
        directory.rows("matched.csv", Matched, self._matched())
        directory.rows("trajectory.csv", Step, (row for result in results for row in result.trajectory))
        directory.rows("snapshots.csv", Snapshot, (row for result in results for row in result.snapshots))
        directory.rows("risk.csv", Score, (row for result in results for row in risk_rows(result)))
        measured = (Measure(**vars(result.job.place), **vars(row)) for result in results for row in result.measures)
        directory.rows("measures.csv", Measure, measured)
        directory.rows("over_runs.csv", MeanOfRuns, over_runs.over_runs(results))
        directory.rows("findings.csv", Finding, self.findings)
        if self.assessment.given:
            rows = (shown(row) for refit in self.beside_data for row in refit.rows())
            directory.rows("given.csv", Given, rows)
        directory.json("risk.json", replace(summarise(self.assessment, self.jobs, results), outright=self.outright))
        threshold = self.study.file.appetite.safe_threshold
        pairs = differencing.differences(self.assessment.outputs, self.assessment.original, threshold)
        directory.rows("differencing.csv", Difference, pairs)
        directory.rows("recurring.csv", Recurring, recurring_rows(results, self.assessment.seed))
        if self.guessed:
            directory.rows("register.csv", Guessed, guessed_rows(self.guessed))
            directory.rows("reliability.csv", Reliability, reliability_rows(self.guessed))
            directory.json("register.json", self._register)

    def _matched(self) -> Iterator[Matched]:
        """Rows of matched.csv. Numbers that are given may contradict each other; those of the data never do."""
        for result in self.results:
            fold = result.job.fold
            given = self.assessment.given and fold.level == 1 and not fold.swapped
            yield from matched_rows(result, (lambda: self._conflicts) if given else None)

    @cached_property
    def _conflicts(self) -> list[dict[int, str]]:
        """What no data set has together, of the released numbers of the whole data."""
        of = self.assessment
        return in_conflict(of.original.codebook, self.released, len(of.original), of.rules)

    @property
    def levels(self) -> list[LevelRisk]:
        """The marginal risk by the runs that have ended, at every level of folds with a holdout."""
        ended = self.ended
        if self._levels is None or self._levels[0] != len(ended):
            found = levels_of(self.study.file.appetite, self.assessment, self.jobs, ended)
            self._levels = len(ended), found
        return self._levels[1]

    @property
    def reached(self) -> Reached:
        """The verdict on what is done."""
        file, ended = self.study.file, self.ended
        keys, margin, known = self.study.register_keys, file.appetite.margin, (len(ended), self._beyond)
        if self._reached is None or self._reached[0] != known:
            found = reach(
                file.name,
                file.appetite,
                self.assessment,
                self.jobs,
                ended,
                self.findings,
                self.levels,
                limit_of(self.guessed, keys, margin) if self.guessed else None,
                self._register.said if self.guessed else (),
                self._proved(),
                unmet(self._matched()),
                self._beyond,
            )
            self._reached = known, found
        return self._reached[1]

    def _write_contributions(self, directory: RunFiles) -> None:
        """Write what each output adds, where all that it takes is done."""
        if self.asked is not None and self.subsets and self.whole:
            places = places_of(self.reached.decision, self.reached.key_sets)
            found = worths(self.asked, self.ended, self.subsets, places)
            directory.rows("contributions.csv", Contribution, rows_of(self.asked, found, places))

    @property
    def _register(self) -> Register:
        """The content of register.json."""
        share = self.study.file.register_.share
        return register_of(self.guessed, self.study.register_keys, self.assessment.learnt, share)

    def _decide(self, directory: RunFiles) -> None:
        """Write the verdict, and what it rests on."""
        reached = self.reached
        directory.rows("marginal.csv", Contrast, reached.contrasts)
        directory.rows("people.csv", PeopleCount, reached.people)
        directory.json("decision.json", reached.decision)
        day, made_by = self.manifest.started.partition("T")[0], f"OutRisk {self.manifest.outrisk}"
        directory.text("decision.md", log_entry(reached.decision, reached.people, day, made_by))

    def _proved(self) -> tuple[Rows, str]:
        """Records (or people, see `look`) whose target the intruder of the appetite can prove, and that in words."""
        if self.study.file.appetite.intruder != "register" or "register" not in self.study.file.intruder:
            return NOBODY, ""
        return self.assessment.original.owners(self.certain.who), self.certain.summary.sentence

    @property
    def _beyond(self) -> str:
        """What is proved to an intruder with a register of whom the appetite does not ask, once proofs are there."""
        if "certain" not in vars(self) or self.study.file.appetite.intruder == "register":
            return ""
        who = self.assessment.original.owners(self.certain.who)
        told = f"{self.assessment.learnt} of {people(len(who))}"
        return f"To somebody who knows everybody's keys the release proves {told}." if len(who) else ""

    def write_synthetic(self, folder: Path) -> None:
        """Write the synthetic data of every run."""
        for result in self.results:
            write_table(result.synthetic, folder / result.job.file)

    def complete(self, directory: RunFiles) -> None:
        """Say that the directory is whole: once its report stands there."""
        directory.json("manifest.json", replace(self.manifest, status="complete"))
        directory.log("complete", runs=len(self.done))


@contextmanager
def _deadline(seconds: float | None, halt: Event) -> Iterator[Event]:
    """In this block `halt` is set after so many seconds, and so is the event given, which says that they are up."""
    up = Event()

    def end() -> None:
        up.set()
        halt.set()

    timer = None if seconds is None else Timer(max(0.0, seconds), end)
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield up
    finally:
        if timer is not None:
            timer.cancel()


def prepare(study: Study, data: StudyData, directory: StudyDirectory | None, workers: int | None = None) -> StudyRun:
    """Release the outputs of every fold and lay out the runs; any OutRiskError of the study or its data shows here.

    `workers` is how many runs go side by side (None: one a core).
    """
    check_earlier(study, data)
    assessment = assessment_of(study, data)
    workers = workers or os.cpu_count() or 1
    jobs = plan_jobs(assessment, workers, study.file.study.run_time_limit, directory.checkpoints if directory else None)
    asked = ask(assessment.wish, jobs, assessment.n_earlier, assessment.seed)
    rounds = Rounds.of(jobs) if study.file.study.runs == ENOUGH else None
    return StudyRun(study, data, assessment, jobs, min(workers, len(jobs)), directory, rounds, asked=asked)


def _slow(output: Output) -> Slow:
    return Slow(output.name, int(output.effort["refits"]), output.effort["seconds"])


def assessment_of(study: Study, data: StudyData) -> Assessment:
    """What a study file asks for, on its data."""
    file, codebook = study.file, data.original.codebook
    check_roles(study, codebook)
    return Assessment(
        original=data.original,
        holdout=data.holdout,
        outputs=tuple(study.outputs(codebook)),
        keys=file.keys,
        key_sizes=study.key_sizes,
        target=file.target,
        tau=file.tau,
        settings=file.evolve.settings(),
        runs={level: file.study.runs_at(level, ROUNDS[-1]) for level in sorted(file.study.folds)},
        seed=file.evolve.seed,
        rules=tuple(rule.mask for rule in public_rules(study, data.original, data.holdout)),
        suite=_suite(study),
        given=study.given(codebook),
        n_earlier=len(study.outputs_of_earlier(codebook)),
        wish=Wish(**file.contributions.model_dump()),
        within=file.target_within,
    )


def check_roles(study: Study, codebook: Codebook) -> None:
    """ConfigError where the keys, the target or the sizes of key sets cannot be those of these data."""
    keys = study.file.keys
    try:
        check_keys(codebook.names, keys, study.file.target)
    except RiskError as error:
        raise ConfigError(f"{study.path}: {error}") from None
    try:
        key_sets(keys, study.key_sizes)
    except RiskError:
        raise ConfigError(
            f"{study.path}: [key_sizes] is {list(study.key_sizes)}: write each size once, from 1 to the number of keys "
            f"({len(keys)})"
        ) from None
    check_register(study, codebook)


def _suite(study: Study) -> suite.Suite:
    privacy, attacks = study.file.privacy, study.file.attacks
    try:
        return suite.make_suite(
            privacy.metrics, privacy.sample, privacy.time_limit, attacks.classifiers, attacks.encoding
        )
    except RiskError as error:
        raise ConfigError(f"{study.path}: {error}") from None


def _inputs(study: Study, data: StudyData) -> list[Input]:
    """Every file that the study read, by digest."""
    inputs: list[Input] = []
    if study.path.is_file():
        inputs.append(Input("study", study.path.name, file_digest(study.path)))
    for each in study.earlier:
        here = str(each.file.model_dump(include={"outputs"})) if each.path == study.path else ""  # of the session
        digest = hashlib.sha256(here.encode()).hexdigest() if here else file_digest(each.path)
        inputs.append(Input("released", study.seen(each.path), digest))
    for each in (study, *study.earlier):
        if each.file.codebook:
            path = each.folder / each.file.codebook
            inputs.append(Input("codebook", study.seen(path), file_digest(path)))
    for each in (study, *study.earlier):
        files = {"values": each.files_of_values, "function": each.files_of_functions}
        inputs += [Input(what, study.seen(path), file_digest(path)) for what, paths in files.items() for path in paths]
    inputs += [
        Input(what, name, data_digest(records), len(records)) for what, name, records in _records_of(study, data)
    ]
    return [*dict.fromkeys(inputs)]


def _records_of(study: Study, data: StudyData) -> Iterator[tuple[str, str, Microdata]]:
    """What records are, where they are from, and the records."""
    sections = (("data", study.file.data, data.original), ("holdout", study.file.holdout, data.holdout))
    for what, section, records in sections:
        if section is not None and records is not None:
            yield what, section.path or f"{section.package}: {section.dataset}", records
