"""Make teaching data: synthetic records from a codebook and released numbers alone."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from rich.console import Console

from outrisk.config import read_study
from outrisk.evolve.loop import Generation
from outrisk.load import load_study_data
from outrisk.progress import Progress
from outrisk.records.directory import RunDirectory
from outrisk.report.pages.teaching_page import render_teaching
from outrisk.teach.making import Making, prepare


def prepare_teaching(
    path: Path,
    records: int | None,
    copies: int,
    out: Path | None,
    force: bool,
    workers: int | None,
    seed: int | None,
    trust: bool = False,
) -> Making:
    """A study file made ready for teaching data, to be written into `out` (None: runs/<name>-teaching).

    `trust`: the study's own functions may be run.
    """
    study = read_study(path, seed, trust)
    directory = RunDirectory(out or Path("runs") / f"{study.file.name}-teaching", force)
    original = load_study_data(study).original if study.file.data is not None else None
    return prepare(study, original, records, copies, directory, workers)


def make(making: Making, halt: Event, console: Console) -> None:
    """Evolve the copies, their progress told on `console`."""

    def watch(number: int, generation: Generation) -> None:
        progress.heard(f"data set {number}", generation)

    with Progress("data sets", making.course.copies, console) as progress:
        making.make(halt, watch, progress.finished)


def write_teaching(making: Making, parquet: bool) -> Path:
    """Write the copies with their page: where they are now."""
    directory = making.directory
    assert directory is not None
    making.write(directory, parquet)
    render_teaching(directory.folder)
    return directory.close(whole=True)
