"""`outrisk assess`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

from rich.console import Console

from outrisk.assess import files
from outrisk.assess.files import RunDirectory
from outrisk.assess.folds import Fold
from outrisk.assess.look import differences as differencing
from outrisk.assess.run import Job, RunResult
from outrisk.assess.study import Assessment, carry_out, plan_jobs
from outrisk.assess.suite import of_run as suite
from outrisk.assess.suite import over_runs
from outrisk.assess.summary import matched_rows, risk_rows, summarise
from outrisk.cli import STOPPED
from outrisk.cli.interrupt import breakable, halting, undisturbed
from outrisk.cli.progress import Progress
from outrisk.config import Study, read_study
from outrisk.errors import ConfigError, RiskError
from outrisk.evolve.loop import Generation
from outrisk.load import StudyData, load_study_data
from outrisk.provenance import data_digest, file_digest, peak_memory_mb, versions
from outrisk.report.pages.study_page import render
from outrisk.report.terminal import summary


def run_study(path: Path, out: Path | None, force: bool, workers: int | None, seed: int | None, quiet: bool) -> int:
    """Carry out a study and write its run directory; returns the exit code (130 if it was interrupted)."""
    started, clock = datetime.now(UTC), time.perf_counter()
    study = read_study(path, seed)
    directory = RunDirectory(out or Path("runs") / study.file.name, force)
    data = load_study_data(study)
    assessment = _assessment(study, data)
    workers = workers or os.cpu_count() or 1
    jobs = plan_jobs(assessment, directory.synthetic, workers)
    workers = min(workers, len(jobs))
    with undisturbed(), _discarded_on_error(directory):
        directory.open()
        directory.log("started", study=study.file.name, runs=len(jobs), workers=workers, seed=assessment.seed)
        results = _results(directory, jobs, workers, Console(stderr=True, quiet=quiet))
        if not results:
            raise KeyboardInterrupt
        whole = len(results) == len(jobs)
        manifest = {
            **_manifest(study, data, assessment, workers, started),
            "slow": [{"output": output.name, **output.effort} for output in assessment.outputs if output.effort],
            "status": "complete" if whole else "interrupted",
            "runs_done": len(results),
            "runs_planned": len(jobs),
            "seconds": round(time.perf_counter() - clock, 2),
            "peak_memory_mb": peak_memory_mb(),
        }
        directory.log(manifest["status"], runs=len(results))
        _write(directory, study, data, assessment, jobs, results, manifest)
        rendered = whole and _rendered(directory.folder)
        place = directory.close(whole)
    if not rendered:
        _keep_only(place / "synthetic", results)
        sys.stderr.write(
            f"outrisk: stopped; {len(results)} of {len(jobs)} runs are kept in {place}; "
            f"'outrisk report {place}' renders them\n"
        )
        return STOPPED
    if not quiet:
        if data.guesses:
            Console().print(f"The codebook was guessed from the data; check {place / 'codebook.yaml'}", highlight=False)
        summary(place, Console())
    return 0


@contextmanager
def _discarded_on_error(directory: RunDirectory) -> Iterator[None]:
    try:
        yield
    except BaseException:
        directory.discard()
        raise


def _results(directory: RunDirectory, jobs: Sequence[Job], workers: int, console: Console) -> list[RunResult]:
    """Carry out the jobs; results in their order, of those that ended before a Ctrl-C."""
    halt, done = Event(), {}

    def finished(result: RunResult) -> None:
        done[result.job] = result
        progress.finished()
        directory.log(
            "run",
            **result.job.place,
            stop=result.stop,
            generations=result.generations,
            seconds=round(result.seconds, 3),
        )

    def watch(fold: Fold, run: int, generation: Generation) -> None:
        progress.heard(f"fold {fold.name}, run {run}", generation)

    with halting(halt), Progress("runs", len(jobs), console) as progress:
        carry_out(jobs, workers, halt, watch, finished)
    return [done[job] for job in jobs if job in done]


def _rendered(folder: Path) -> bool:
    """Render the report; False if Ctrl-C broke in."""
    try:
        with breakable():
            render(folder)
    except KeyboardInterrupt:
        return False
    return True


def _keep_only(folder: Path, results: Sequence[RunResult]) -> None:
    """Remove what a run that was cut short may have written at the last moment."""
    kept = {result.job.file for result in results}
    for file in folder.iterdir():
        if file.name not in kept:
            file.unlink()


def _assessment(study: Study, data: StudyData) -> Assessment:
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
        return suite.make_suite(privacy.metrics, privacy.sample, privacy.time_limit, attacks)
    except RiskError as error:
        raise ConfigError(f"{study.path}: {error}") from None


def _manifest(study: Study, data: StudyData, assessment: Assessment, workers: int, started: datetime) -> dict[str, Any]:
    inputs: list[dict[str, Any]] = [{"what": "study", "name": study.path.name, "sha256": file_digest(study.path)}]
    if study.file.codebook:
        inputs.append(
            {"what": "codebook", "name": study.file.codebook, "sha256": file_digest(study.folder / study.file.codebook)}
        )
    for entry in study.file.outputs:
        place = str(getattr(entry, "function", "")).rpartition(":")[0]
        if place.endswith(".py"):
            inputs.append({"what": "function", "name": place, "sha256": file_digest(study.folder / place)})
    for what, section, records in (
        ("data", study.file.data, data.original),
        ("holdout", study.file.holdout, data.holdout),
    ):
        if section is not None and records is not None:
            name = section.path or f"{section.package}: {section.dataset}"
            inputs.append({"what": what, "name": name, "sha256": data_digest(records), "records": len(records)})
    found = versions()
    return {
        "outrisk": found.pop("outrisk"),
        "study": study.file.name,
        "started": started.isoformat(timespec="seconds"),
        "seed": assessment.seed,
        "workers": workers,
        "versions": found,
        "inputs": inputs,
    }


def _write(
    directory: RunDirectory,
    study: Study,
    data: StudyData,
    assessment: Assessment,
    jobs: Sequence[Job],
    results: Sequence[RunResult],
    manifest: dict[str, Any],
) -> None:
    directory.yaml("study.yaml", study.resolved())
    directory.codebook(data.original.codebook)
    directory.json("manifest.json", manifest)
    directory.table("matched.csv", files.MATCHED, (row for result in results for row in matched_rows(result)))
    directory.table("trajectory.csv", files.TRAJECTORY, (row for result in results for row in result.trajectory))
    directory.table("snapshots.csv", files.SNAPSHOTS, (row for result in results for row in result.snapshots))
    directory.table("risk.csv", files.RISK, (row for result in results for row in risk_rows(result)))
    for name, columns in suite.COLUMNS.items():
        rows = ({**result.job.place, **row} for result in results for row in result.suite[name])
        directory.table(f"{name}.csv", columns, rows)
    directory.table("over_runs.csv", over_runs.COLUMNS, over_runs.over_runs(results))
    directory.json("risk.json", summarise(assessment, jobs, results))
    pairs = differencing.differences(assessment.outputs, assessment.original)
    directory.table("differencing.csv", differencing.COLUMNS, (pair.row() for pair in pairs))
