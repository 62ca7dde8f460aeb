"""Assess released outputs: a study is read, carried out, and kept or written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event

from rich.console import Console

from outrisk.assess.entry import StudyRun, prepare
from outrisk.assess.folds import Fold
from outrisk.config import read_study
from outrisk.evolve.loop import Generation
from outrisk.load import load_study_data
from outrisk.progress import Progress
from outrisk.records.directory import RunDirectory
from outrisk.report.pages.study_page import render


def prepare_study(
    path: Path, out: Path | None, force: bool, workers: int | None, seed: int | None, trust: bool = False
) -> StudyRun:
    """A study file made ready to be carried out (see `StudyRun`), to be written into `out` (None: runs/<name>).

    `trust`: the study's own functions may be run.
    """
    study = read_study(path, seed, trust)
    directory = RunDirectory(out or Path("runs") / study.file.name, force)
    return prepare(study, load_study_data(study), directory, workers)


def carry_out(study: StudyRun, halt: Event, console: Console) -> None:
    """Carry out a study, its progress told on `console`."""

    def watch(fold: Fold, run: int, generation: Generation) -> None:
        progress.heard(f"fold {fold.name}, run {run}", generation)

    with Progress("runs", len(study.jobs), console) as progress:
        study.carry_out(halt, watch, progress.finished)


def _at_once(render: Callable[[], object]) -> bool:
    render()
    return True


def write_study(run: StudyRun, rendering: Callable[[Callable[[], object]], bool] = _at_once) -> tuple[Path, bool]:
    """Write what is done of a study into its directory: where that is now, and whether the report was rendered.

    `rendering` is given what renders the report of a whole study, and says whether that came to its end.
    """
    directory = run.directory
    assert directory is not None
    run.write(directory)
    rendered = run.whole and rendering(lambda: render(directory.folder))
    if rendered:
        run.complete(directory)
    else:
        directory.log("interrupted", runs=len(run.results))
    place = directory.close(run.whole)
    if not rendered:
        _keep_only(place / "synthetic", {result.job.file for result in run.results})
    return place, rendered


def _keep_only(folder: Path, names: set[str]) -> None:
    """Remove what a run that was cut short may have written at the last moment."""
    for file in folder.iterdir():
        if file.name not in names:
            file.unlink()
