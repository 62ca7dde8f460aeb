"""Make teaching data: synthetic records from a codebook and released numbers alone."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from threading import Event
from typing import Any

import pandas as pd
from rich.console import Console

from outrisk.api.checks_of_arguments import (
    check_codebook,
    check_count,
    check_frame,
    check_place,
    check_switch,
    listed,
    seeded,
    several,
)
from outrisk.api.entries import check_sources, entry_of, numbered, plain_entry
from outrisk.api.not_over_inputs import check_directory
from outrisk.codebook import Codebook
from outrisk.config import read_study, study_of
from outrisk.errors import ConfigError
from outrisk.load import encode_frames, exactly, load_study_data
from outrisk.microdata import MISSING_VALUES
from outrisk.progress import Outlook, Progress
from outrisk.records.directory import RunDirectory
from outrisk.records.schema import Reproduced
from outrisk.report.pages.teaching_page import render_teaching
from outrisk.tabular import check_parquet
from outrisk.teach.course import Copy
from outrisk.teach.handout import reproduced_rows
from outrisk.teach.labelled_files import LABELLED, check_labelled
from outrisk.teach.making import Making, prepare


class Taught:
    """Synthetic teaching data, and how far they reproduce the released numbers; nothing is written unless asked."""

    def __init__(self, making: Making) -> None:
        self._making = making

    @property
    def data(self) -> list[pd.DataFrame]:
        """The synthetic records of each copy."""
        return [copy.data.frame() for copy in self._making.copies]

    @property
    def reproduced(self) -> pd.DataFrame:
        """Each released number beside its refit from each copy (as reproduced.csv)."""
        course = self._making.course
        rows = [
            row
            for copy in self._making.copies
            for row in reproduced_rows(
                copy.number,
                [released.recompute(copy.data) for released in course.released],
                copy.stop,
                lambda: course.conflicts,
            )
        ]
        return pd.DataFrame(rows, columns=[field.name for field in fields(Reproduced)])

    def __repr__(self) -> str:
        found = self.reproduced
        matched, near = int(found["matched"].sum()), int(found["near"].sum())
        course = self._making.course
        return (
            f"{course.copies} synthetic data sets of {course.n_records:,} records; {matched:,} of {len(found):,} "
            f"released numbers are reproduced at their printed precision, {near:,} to 1 % of their sampling error."
        )

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>"

    def write(self, out: str | Path, force: bool = False, more: Sequence[str] = ()) -> Path:
        """Write the copies, marked as synthetic, with their page, as `outrisk teach` does; returns the directory.

        `more`: what they are written as beside CSV, of '.parquet', '.dta' and '.sav'.
        """
        more = several(more, "more")
        _check_endings(more, self._making.course.codebook)
        check_switch(force, "force")
        directory = RunDirectory(check_place(out, "out"), force)
        directory.open()
        try:
            self._making.write(directory, more)
            render_teaching(directory.folder)
        except BaseException:
            directory.discard()
            raise
        return directory.close()


def teach(
    data: pd.DataFrame | None,
    outputs: Sequence[object],
    *,
    codebook: Codebook | None = None,
    decimals: int | None = None,
    rules: Sequence[str] = (),
    records: int | None = None,
    copies: int = 1,
    evolve: Mapping[str, Any] | None = None,
    seed: int = 1,
    name: str = "study",
    workers: int | None = None,
    quiet: bool = False,
) -> Taught:
    """Make synthetic teaching data from a codebook and released numbers alone.

    Parameters
    ----------
    data : the records (n, variables) from which the numbers are computed; None where every output brings its `values`.
    outputs : as in `outrisk.assess`.
    codebook : the variables and their supports; inferred where there are data and no codebook.
    decimals, rules, evolve : as in `outrisk.assess`.
    records, copies : how many records, and data sets; without `records` as many as `data` has.
    seed, name, workers, quiet : as in `outrisk.assess`.

    Returns
    -------
    Taught : its `data` (a list of data frames), `reproduced`, and `write(out)`.

    Raises
    ------
    OutRiskError : in one line, for whatever is wrong with the numbers or the settings.

    Examples
    --------
    >>> outrisk.teach(None, [outrisk.Univariate(["sex"], values=[210, 190])], codebook=codebook, records=400).data[0]
    """
    check_codebook(codebook)
    check_count(workers, "workers", or_none=True)
    check_switch(quiet, "quiet")
    document: dict[str, Any] = {
        "name": name,
        "rules": listed(rules),
        "records": records if data is None else None,
        "evolve": seeded(evolve, seed),
    }
    if data is None:
        if codebook is None:
            raise ConfigError("teach: without data there must be a codebook; give codebook=")
        original = None
        entries = [plain_entry(output, position, decimals) for position, output in numbered(outputs)]
        document |= {"codebook": "codebook"}
    else:
        check_frame(data, "data")
        exact = exactly(data, codebook)
        found = [entry_of(output, position, data, exact, decimals) for position, output in numbered(outputs)]
        entries = [entry for entry, _ in found]
        named = str([entries, document["rules"]])
        original = encode_frames({"data": data}, codebook, {"data": MISSING_VALUES}, named).original
        first, *_, last = original.codebook.names  # a study with data has keys and a target; they play no part here
        document |= {"data": {"path": "data frame"}, "keys": [first], "target": last}
    study = study_of(document | {"outputs": entries}, Path("outrisk.teach"))
    if original is not None:
        check_sources(study, exact, [source for _, source in found])
    making = prepare(study, original, records, copies, None, workers, codebook)
    with making:
        make(making, Event(), Console(stderr=True, quiet=quiet))
    return Taught(making)


def prepare_teaching(
    path: Path,
    records: int | None,
    copies: int,
    out: Path | None,
    force: bool,
    workers: int | None,
    seed: int | None,
    trust: bool = False,
    more: Sequence[str] = (),
) -> Making:
    """A study file made ready for teaching data, to be written into `out` (None: runs/<name>-teaching).

    `trust`: the study's own functions may be run. `more`: what the copies are written as beside CSV.
    """
    study = read_study(path, seed, trust)
    directory = RunDirectory(out or Path("runs") / f"{study.file.name}-teaching", force)
    check_directory(directory.final, study.files)
    original = load_study_data(study).original if study.file.data is not None else None
    making = prepare(study, original, records, copies, directory, workers)
    _check_endings(more, making.course.codebook)
    return making


def _check_endings(more: Sequence[str], codebook: Codebook) -> None:
    """OutRiskError where copies cannot be written with one of these endings."""
    unknown = [ending for ending in more if ending not in (".parquet", *LABELLED)]
    if unknown:
        raise ConfigError(f"more: {unknown[0]!r} is none of '.parquet', '.dta', '.sav'")
    if ".parquet" in more:
        check_parquet(".parquet")
    check_labelled(codebook, more)


def make(making: Making, halt: Event, console: Console) -> None:
    """Evolve the copies, their progress told on `console`."""

    def watch(number: int, generation: int, share: float) -> None:
        seen[number] = share
        progress.heard(f"data set {number}", generation, share)

    def end(copy: Copy) -> None:
        found = seen.get(copy.number, 0.0)
        progress.finished(f"data set {copy.number}", found, copy.seconds)

    course, seen = making.course, dict[int, float]()
    outlook = Outlook(course.copies, 0, min(making.workers, course.copies), course.settings.generations)
    making.fork()
    with Progress("data sets", outlook, console) as progress:
        making.make(halt, watch, end)


def write_teaching(making: Making, more: Sequence[str]) -> Path:
    """Write the copies with their page: where they are now."""
    directory = making.directory
    assert directory is not None
    making.write(directory, more)
    render_teaching(directory.folder)
    return directory.close()
