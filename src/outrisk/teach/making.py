"""Teaching data made ready, evolved, checked and written: what Python and the command line both come down to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from numbers import Integral
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any

from outrisk import __version__
from outrisk.codebook import Codebook, codebook_to_dict
from outrisk.config import Study
from outrisk.errors import ConfigError
from outrisk.load import public_rules
from outrisk.microdata import Microdata
from outrisk.outputs import release
from outrisk.outputs.conflicts import conflicts
from outrisk.records.directory import RunDirectory
from outrisk.records.provenance import data_digest, file_digest, versions
from outrisk.records.schema import Input, Reproduced, TeachingCopy, TeachingManifest
from outrisk.side_by_side.forked import Forked
from outrisk.teach.course import Copy, Course, Watcher, fork_copies, make_copies
from outrisk.teach.handout import check_files, document
from outrisk.teach.marked import marked_codebook, write_marked
from outrisk.teach.scripts import r_script, stata_script
from outrisk.whole_files import write_text

_MARK = "# synthetic: this belongs to synthetic teaching data; no record was collected from a person.\n"


@dataclass(eq=False)
class Making:
    """Teaching data that can be made: every fault of the study and its numbers has shown, and nothing is written."""

    study: Study
    course: Course
    original: Microdata | None  # the records that the released numbers were computed from
    workers: int
    directory: RunDirectory | None  # what is written; None: nothing
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.perf_counter)
    copies: list[Copy] = field(default_factory=list)
    forked: Forked | None = None  # processes that make them

    def __enter__(self) -> Making:
        """Begin the directory; it is discarded if the block ends with an error."""
        if self.directory is not None:
            self.directory.open()
            course = self.course
            facts = {"copies": course.copies, "records": course.n_records, "seed": course.seed}
            self.directory.log("started", study=self.study.file.name, **facts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.forked is not None:
            self.forked.close()
        if error is not None and self.directory is not None:
            self.directory.discard()

    def fork(self) -> None:
        """Fork the processes that make the copies, where these are of use: before there are other threads."""
        self.forked = fork_copies(self.course, self.workers)

    def make(self, halt: Event, watcher: Watcher, finished: Callable[[Copy], None]) -> None:
        """Evolve all copies, each told as it ends; once `halt` is set, those that have not ended are left out."""
        for copy in make_copies(self.course, self.workers, halt, watcher, self.forked):
            self.copies.append(copy)
            finished(copy)
            if self.directory is not None:
                self.directory.log("copy", copy=copy.number, stop=copy.stop, seconds=round(copy.seconds, 3))
        self.copies.sort(key=lambda copy: copy.number)

    def write(self, directory: RunDirectory, more: Sequence[str]) -> None:
        """Write the copies, read them back and check them; and every other file but the page.

        EvolveError if what was written differs from the copies, or breaks a rule.
        """
        course, study = self.course, self.study
        checked, rows = list[TeachingCopy](), list[Reproduced]()
        for copy in self.copies:
            facts, found = check_files(course, copy, self._write_copy(directory, copy, more))
            checked.append(facts)
            rows += found
        directory.rows("reproduced.csv", Reproduced, rows)
        data, remarks = [copy.data for copy in self.copies], study.remarks(course.codebook)
        directory.json("teaching.json", document(course, checked, data, study.file.source, remarks))
        records = {"records": None if course.computed else course.n_records}
        _write_marked_yaml(directory, "study.yaml", study.stored(directory.final, course.codebook) | records)
        _write_marked_yaml(directory, "codebook.yaml", codebook_to_dict(marked_codebook(course.codebook)))
        first = f"synthetic/{study.file.name}_synthetic_{self.copies[0].number}.csv" if self.copies else ""
        write_text(directory.folder / "read.do", stata_script(marked_codebook(course.codebook), first))
        write_text(directory.folder / "read.R", r_script(marked_codebook(course.codebook), first))
        directory.json("manifest.json", self.manifest())
        directory.log("complete", copies=len(self.copies))

    def _write_copy(self, directory: RunDirectory, copy: Copy, more: Sequence[str]) -> list[Path]:
        """Write the records of a copy, marked as synthetic, as CSV and with these endings."""
        name = self.study.file.name
        facts = {"synthetic": True, "study": name, "copy": copy.number, "seed": self.course.seed}
        files = [directory.synthetic / f"{name}_synthetic_{copy.number}{ending}" for ending in (".csv", *more)]
        for file in files:
            write_marked(copy.data, file, facts | {"outrisk": __version__})
        return files

    def manifest(self) -> TeachingManifest:
        """Where the data come from, and what they took."""
        found = versions()
        return TeachingManifest(
            outrisk=found.pop("outrisk"),
            study=self.study.file.name,
            status="complete",
            started=self.started.isoformat(timespec="seconds"),
            seed=self.course.seed,
            workers=self.workers,
            versions=found,
            inputs=tuple(_inputs(self.study, self.original)),
            seconds=round(time.perf_counter() - self.clock, 2),
        )


def prepare(
    study: Study,
    original: Microdata | None,
    records: int | None,
    copies: int,
    directory: RunDirectory | None,
    workers: int | None = None,
    codebook: Codebook | None = None,
) -> Making:
    """Release the outputs (as the study gives them, or from `original`) and check them against each other.

    Any OutRiskError of the study or its numbers shows here. `records` is how many are made (None: as the study);
    `codebook` takes the place of the study's.
    """
    for name, number in (("records", records), ("copies", copies)):
        if number is not None and not (isinstance(number, Integral) and number >= 1):
            raise ConfigError(f"{name} is {number!r}: write a whole number from 1")
    file = study.file
    codebook = codebook or (study.codebook() if original is None else original.codebook)
    assert codebook is not None  # a study without data names one
    if original is not None:
        given = study.given(codebook)
        released = tuple(given.get(output.name) or release(output, original) for output in study.outputs(codebook))
    else:
        released = tuple(study.released(codebook))
    n_records = records or (file.records if original is None else len(original))
    if n_records is None:
        raise ConfigError(
            f"{study.path}: 'records' is missing; add how many the results rest on (--records, in Python records=)"
        )
    settings = file.evolve.settings()
    rules = study.rules(codebook) if original is None else public_rules(study, original, taught=True)
    course = Course(codebook, released, n_records, rules, settings, file.evolve.seed, copies, original is not None)
    _ = marked_codebook(codebook), course.problem.searched.plan  # their faults show here
    if original is None:
        _refuse_contradictions(study, course)
    return Making(study, course, original, workers or os.cpu_count() or 1, directory)


def _refuse_contradictions(study: Study, course: Course) -> None:
    found = conflicts(course.codebook, course.released, course.n_records)
    if found:
        more = f" (and {len(found) - 1} more such conflicts)" if len(found) > 1 else ""
        raise ConfigError(f"{study.path}: {found[0]}{more}")


def _write_marked_yaml(directory: RunDirectory, name: str, content: dict[str, Any]) -> None:
    directory.yaml(name, content)
    file = directory.folder / name
    write_text(file, _MARK + file.read_text(encoding="utf-8"))


def _inputs(study: Study, original: Microdata | None) -> list[Input]:
    """Every file that the study read, by digest."""
    file, inputs = study.file, list[Input]()
    if study.path.is_file():
        inputs.append(Input("study", study.path.name, file_digest(study.path)))
    if file.codebook and (study.folder / file.codebook).is_file():
        inputs.append(Input("codebook", file.codebook, file_digest(study.folder / file.codebook)))
    inputs += [Input("values", path.name, file_digest(path)) for path in study.files_of_values]
    if original is not None and file.data is not None:
        name = file.data.path or f"{file.data.package}: {file.data.dataset}"
        inputs.append(Input("data", name, data_digest(original), len(original)))
    return inputs
