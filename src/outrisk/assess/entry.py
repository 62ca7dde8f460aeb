"""A study made ready, carried out and written: what `outrisk.assess` and the command line both come down to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from threading import Event
from types import TracebackType
from typing import Any

from outrisk.assess import files
from outrisk.assess.files import RunDirectory
from outrisk.assess.look import FINDINGS, Finding, in_a_sentence, look
from outrisk.assess.look import differences as differencing
from outrisk.assess.run import Job, RunResult, Watcher
from outrisk.assess.study import Assessment, carry_out, plan_jobs
from outrisk.assess.suite import of_run as suite
from outrisk.assess.suite import over_runs
from outrisk.assess.summary import matched_rows, risk_rows, summarise
from outrisk.config import Study
from outrisk.errors import ConfigError, RiskError
from outrisk.load import StudyData
from outrisk.provenance import data_digest, file_digest, peak_memory_mb, versions
from outrisk.risk.rows import asdict


@dataclass(eq=False)
class StudyRun:
    """A study that can be carried out: every fault of its file and its data has shown, and nothing is written."""

    study: Study
    data: StudyData
    assessment: Assessment
    jobs: list[Job]
    workers: int
    directory: RunDirectory | None  # what is written; None: nothing
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.perf_counter)
    done: dict[Job, RunResult] = field(default_factory=dict)

    def __enter__(self) -> StudyRun:
        """Begin the run directory; it is discarded if the block ends with an error."""
        if self.directory is not None:
            self.directory.open()
            facts = {"runs": len(self.jobs), "workers": self.workers, "seed": self.assessment.seed}
            self.directory.log("started", study=self.study.file.name, **facts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self.directory is not None:
            self.directory.discard()

    def carry_out(self, halt: Event, watcher: Watcher, finished: Callable[[], None]) -> None:
        """Carry out the runs, each told as it ends; once `halt` is set, those that have not ended are left out."""

        def keep(result: RunResult) -> None:
            self.done[result.job] = result
            finished()
            if self.directory is not None:
                took = {"generations": result.generations, "seconds": round(result.seconds, 3)}
                self.directory.log("run", **result.job.place, stop=result.stop, **took)

        carry_out(self.jobs, self.workers, halt, watcher, keep)

    @property
    def results(self) -> list[RunResult]:
        """Results of the runs that have ended, in the order of the runs."""
        return [self.done[job] for job in self.jobs if job in self.done]

    @property
    def whole(self) -> bool:
        """Whether all runs have ended."""
        return len(self.done) == len(self.jobs)

    @cached_property
    def findings(self) -> list[Finding]:
        """What the outputs say outright."""
        file = self.study.file
        return look(self.assessment.outputs, self.assessment.original, file.appetite, file.target)

    def manifest(self) -> dict[str, Any]:
        """Where the results come from, and what they took."""
        found = versions()
        outputs = self.assessment.outputs
        return {
            "outrisk": found.pop("outrisk"),
            "study": self.study.file.name,
            "started": self.started.isoformat(timespec="seconds"),
            "seed": self.assessment.seed,
            "workers": self.workers,
            "versions": found,
            "inputs": _inputs(self.study, self.data),
            "slow": [{"output": output.name, **output.effort} for output in outputs if output.effort],
            "status": "complete" if self.whole else "interrupted",
            "runs_done": len(self.done),
            "runs_planned": len(self.jobs),
            "seconds": round(time.perf_counter() - self.clock, 2),
            "peak_memory_mb": peak_memory_mb(),
        }

    def write(self, directory: RunDirectory) -> None:
        """Write every file of a run directory but the synthetic data and the report."""
        manifest, results = self.manifest(), self.results
        directory.log(manifest["status"], runs=len(results))
        directory.yaml("study.yaml", self.study.resolved())
        directory.codebook(self.assessment.original.codebook)
        directory.json("manifest.json", manifest)
        directory.table("matched.csv", files.MATCHED, (row for result in results for row in matched_rows(result)))
        directory.table("trajectory.csv", files.TRAJECTORY, (row for result in results for row in result.trajectory))
        directory.table("snapshots.csv", files.SNAPSHOTS, (row for result in results for row in result.snapshots))
        directory.table("risk.csv", files.RISK, (row for result in results for row in risk_rows(result)))
        measured = ({**result.job.place, **asdict(row)} for result in results for row in result.measures)
        directory.table("measures.csv", suite.COLUMNS, measured)
        directory.table("over_runs.csv", over_runs.COLUMNS, over_runs.over_runs(results))
        directory.table("findings.csv", FINDINGS, (finding.row() for finding in self.findings))
        outright = in_a_sentence(self.findings, len(self.assessment.outputs))
        directory.json("risk.json", {"outright": outright, **summarise(self.assessment, self.jobs, results)})
        threshold = self.study.file.appetite.safe_threshold
        pairs = differencing.differences(self.assessment.outputs, self.assessment.original, threshold)
        directory.table("differencing.csv", differencing.COLUMNS, (pair.row() for pair in pairs))


def prepare(study: Study, data: StudyData, directory: RunDirectory | None, workers: int | None = None) -> StudyRun:
    """Release the outputs of every fold and lay out the runs; any OutRiskError of the study or its data shows here.

    `workers` is how many runs go side by side (None: one a core).
    """
    assessment = assessment_of(study, data)
    workers = workers or os.cpu_count() or 1
    jobs = plan_jobs(assessment, directory.synthetic if directory else None, workers)
    return StudyRun(study, data, assessment, jobs, min(workers, len(jobs)), directory)


def assessment_of(study: Study, data: StudyData) -> Assessment:
    """What a study file asks for, on its data."""
    file, codebook = study.file, data.original.codebook
    return Assessment(
        original=data.original,
        holdout=data.holdout,
        outputs=tuple(study.outputs(codebook)),
        keys=file.keys,
        key_sizes=study.key_sizes,
        target=file.target,
        tau=file.tau,
        settings=file.evolve.settings(),
        runs={level: file.study.runs_at(level) for level in sorted(file.study.folds)},
        seed=file.evolve.seed,
        rules=tuple(rule.mask for rule in study.rules(codebook)),
        suite=_suite(study),
    )


def _suite(study: Study) -> suite.Suite:
    privacy, attacks = study.file.privacy, study.file.attacks
    try:
        return suite.make_suite(
            privacy.metrics, privacy.sample, privacy.time_limit, attacks.classifiers, attacks.encoding
        )
    except RiskError as error:
        raise ConfigError(f"{study.path}: {error}") from None


def _inputs(study: Study, data: StudyData) -> list[dict[str, Any]]:
    """Every file that the study read, by digest."""
    inputs: list[dict[str, Any]] = []
    if study.path.is_file():
        inputs.append({"what": "study", "name": study.path.name, "sha256": file_digest(study.path)})
    if study.file.codebook:
        inputs.append(
            {"what": "codebook", "name": study.file.codebook, "sha256": file_digest(study.folder / study.file.codebook)}
        )
    for entry in study.file.outputs:
        place = entry.runs.rpartition(":")[0]
        if place.endswith(".py"):
            inputs.append({"what": "function", "name": place, "sha256": file_digest(study.folder / place)})
    for what, section, records in (
        ("data", study.file.data, data.original),
        ("holdout", study.file.holdout, data.holdout),
    ):
        if section is not None and records is not None:
            name = section.path or f"{section.package}: {section.dataset}"
            inputs.append({"what": what, "name": name, "sha256": data_digest(records), "records": len(records)})
    return inputs
