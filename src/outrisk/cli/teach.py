"""`outrisk teach`."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

from rich.console import Console

from outrisk import __version__
from outrisk.assess.files import RunDirectory
from outrisk.cli.interrupt import halting, undisturbed
from outrisk.cli.progress import Progress
from outrisk.codebook import codebook_to_dict
from outrisk.config import Study, read_study
from outrisk.errors import ConfigError
from outrisk.evolve.loop import Generation
from outrisk.load import load_study_data
from outrisk.microdata import Microdata
from outrisk.outputs import release
from outrisk.outputs.conflicts import conflicts
from outrisk.provenance import data_digest, file_digest, versions
from outrisk.report.pages.teaching_page import render_teaching, teaching_summary
from outrisk.teach.course import Copy, Course, make_copies
from outrisk.teach.handout import REPRODUCED, Row, check_files, document
from outrisk.teach.marked import marked_codebook, write_marked


def make_teaching_data(
    path: Path,
    records: int | None,
    copies: int,
    out: Path | None,
    force: bool,
    parquet: bool,
    workers: int | None,
    seed: int | None,
    quiet: bool,
) -> int:
    """Evolve the copies, write them, check what was written, and render the page; returns the exit code."""
    started, clock = datetime.now(UTC), time.perf_counter()
    study = read_study(path, seed)
    directory = RunDirectory(out or Path("runs") / f"{study.file.name}-teaching", force)
    course, original = _course(study, records, copies)
    marked = marked_codebook(course.codebook)
    workers = workers or os.cpu_count() or 1
    _ = course.problem.plan  # a fault of the released numbers shows here, before anything is written
    contradictions = [] if original is not None else conflicts(course.codebook, course.released, course.n_records)
    if contradictions:
        more = f" (and {len(contradictions) - 1} more such conflicts)" if len(contradictions) > 1 else ""
        raise ConfigError(f"{study.path}: {contradictions[0]}{more}")
    with undisturbed():
        directory.open()
        try:
            directory.log("started", study=study.file.name, copies=copies, records=course.n_records, seed=course.seed)
            made = _made(course, workers, directory, Console(stderr=True, quiet=quiet))
            checked, rows = [], list[Row]()
            for copy in made:
                facts, found = check_files(course, copy, _write(directory, study.file.name, course, copy, parquet))
                checked.append((copy, facts))
                rows += found
            directory.table("reproduced.csv", REPRODUCED, rows)
            directory.json("teaching.json", document(course, checked, original is not None, study.file.source))
            _write_marked_yaml(
                directory, "study.yaml", study.resolved() | {"records": None if original else course.n_records}
            )
            _write_marked_yaml(directory, "codebook.yaml", codebook_to_dict(marked))
            manifest = _manifest(study, original, course, workers, started)
            directory.json("manifest.json", {**manifest, "seconds": round(time.perf_counter() - clock, 2)})
            directory.log("complete", copies=len(made))
            render_teaching(directory.folder)
            place = directory.close(whole=True)
        except BaseException:
            directory.discard()
            raise
    if not quiet:
        teaching_summary(place, Console())
    return 0


def _course(study: Study, records: int | None, copies: int) -> tuple[Course, Microdata | None]:
    """What the copies are made from; and the original records, if the released numbers were computed from them."""
    file, original = study.file, None
    if file.data is not None:
        original = load_study_data(study).original
    codebook = study.codebook() if original is None else original.codebook
    assert codebook is not None  # a study without data names one
    if original is not None:
        released = tuple(release(output, original) for output in study.outputs(codebook))
    else:
        released = tuple(study.released(codebook))
    n_records = records or (file.records if original is None else len(original))
    if n_records is None:
        raise ConfigError(f"{study.path}: 'records' is missing; add how many the results rest on, or give --records")
    settings, rules = file.evolve.settings(), study.rules(codebook)
    return Course(codebook, released, n_records, rules, settings, file.evolve.seed, copies), original


def _made(course: Course, workers: int, directory: RunDirectory, console: Console) -> list[Copy]:
    """All copies in order; KeyboardInterrupt if a Ctrl-C came before the last was done."""
    halt, made = Event(), list[Copy]()

    def watch(number: int, generation: Generation) -> None:
        progress.heard(f"data set {number}", generation)

    with halting(halt), Progress("data sets", course.copies, console) as progress:
        for copy in make_copies(course, workers, halt, watch):
            made.append(copy)
            progress.finished()
            directory.log("copy", copy=copy.number, stop=copy.stop, seconds=round(copy.seconds, 3))
    if len(made) < course.copies:
        raise KeyboardInterrupt
    return sorted(made, key=lambda copy: copy.number)


def _write(directory: RunDirectory, name: str, course: Course, copy: Copy, parquet: bool) -> list[Path]:
    """Write the records of a copy, marked as synthetic."""
    facts = {"synthetic": True, "study": name, "copy": copy.number, "seed": course.seed, "outrisk": __version__}
    endings = [".csv", *([".parquet"] if parquet else [])]
    files = [directory.synthetic / f"{name}_synthetic_{copy.number}{ending}" for ending in endings]
    for file in files:
        write_marked(copy.data, file, facts)
    return files


def _write_marked_yaml(directory: RunDirectory, name: str, content: dict[str, Any]) -> None:
    directory.yaml(name, content)
    file = directory.folder / name
    mark = "# synthetic: this belongs to synthetic teaching data; no record was collected from a person.\n"
    file.write_text(mark + file.read_text(encoding="utf-8"), encoding="utf-8")


def _manifest(
    study: Study, original: Microdata | None, course: Course, workers: int, started: datetime
) -> dict[str, Any]:
    file = study.file
    inputs: list[dict[str, Any]] = [{"what": "study", "name": study.path.name, "sha256": file_digest(study.path)}]
    if file.codebook:
        inputs.append({"what": "codebook", "name": file.codebook, "sha256": file_digest(study.folder / file.codebook)})
    for name in dict.fromkeys(entry.values for entry in file.outputs if isinstance(entry.values, str)):
        inputs.append({"what": "values", "name": name, "sha256": file_digest(study.folder / name)})
    if original is not None and file.data is not None:
        name = file.data.path or f"{file.data.package}: {file.data.dataset}"
        inputs.append({"what": "data", "name": name, "sha256": data_digest(original), "records": len(original)})
    found = versions()
    return {
        "synthetic": True,
        "outrisk": found.pop("outrisk"),
        "study": file.name,
        "status": "complete",
        "started": started.isoformat(timespec="seconds"),
        "seed": course.seed,
        "workers": workers,
        "versions": found,
        "inputs": inputs,
    }
