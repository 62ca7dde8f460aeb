"""The report of a run directory: page one, and the details behind it, both self-contained; aggregates only."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from markupsafe import escape

from outrisk.records.results import Results, read_run
from outrisk.report import findings, formats
from outrisk.report.compose import Behind, Head, Section, composed, write_page
from outrisk.report.drawing import FOLDER, drawings_as_files
from outrisk.report.page_one import (
    beside_margin,
    by_person,
    each_output,
    told_outright,
    verdict_line,
    what_would_change,
    who_decides,
)
from outrisk.report.sections import (
    against_holdout,
    answer,
    as_released,
    by_output,
    certain_values,
    generations,
    key_sizes,
    known_keys,
    origin,
    outright,
    reading,
    recurring_records,
    reproduced,
    suite_families,
    what_was_assessed,
    zero_error,
)

DETAILS = "details.html"
_NOTE = 36  # words of a note on page one: its first sentence; whole in the details

SECTIONS: list[Section[Results]] = [
    outright.SECTION,
    certain_values.SECTION,
    answer.SECTION,
    what_was_assessed.SECTION,
    by_output.SECTION,
    as_released.SECTION,
    reproduced.SECTION,
    generations.SECTION,
    against_holdout.SECTION,
    known_keys.SECTION,
    recurring_records.SECTION,
    zero_error.SECTION,
    key_sizes.SECTION,
    reading.SECTION,
    suite_families.DISCLOSURE,
    suite_families.ATTRIBUTION,
    suite_families.PRIVACY,
    suite_families.FURTHER,
    origin.SECTION,
]


FIRST: list[Section[Results]] = [
    verdict_line.SECTION,
    told_outright.SECTION,
    by_person.SECTION,
    beside_margin.SECTION,
    each_output.SECTION,
    what_would_change.SECTION,
    who_decides.SECTION,
]


def render(directory: Path) -> Path:
    """Write page one, `report.html`, into a run directory from its other files, and return its path.

    `details.html` and the figures of both pages, in `figures/`, are written first. Works for interrupted runs too.
    Raises ConfigError, in one line, where the directory is no run directory or one of its files is missing or broken;
    an earlier report is then left as it was. Same files, same bytes.
    """
    results = read_run(Path(directory))
    import_module("outrisk.report.figures.study_figures")  # a process forked while a thread does would wait for that
    (results.directory / FOLDER).mkdir(exist_ok=True)  # before the pages list what is there
    behind = composed(_head(results, "Details of the assessment"), SECTIONS, results, beside=True)
    names = Behind(DETAILS, behind.names)
    head = _head(results, "Disclosure risk of released outputs")
    brief = tuple((word, formats.sentences(str(note), _NOTE) or note) for word, note in head.warnings)
    head = replace(head, warnings=brief)
    first = composed(head, FIRST, results, behind=names, numbered=False, beside=True)
    drawings_as_files((*first.drawings, *behind.drawings), results.directory)
    write_page(results.directory / DETAILS, behind.text)
    return write_page(results.directory / "report.html", first.text)


def copy_pages(directory: Path, path: Path) -> None:
    """The pages of a run directory as `path` and `<name>.details.html` beside it, without links to the run's files."""
    details = path.with_name(f"{path.stem}.details.html")

    def link(found: re.Match[str]) -> str:
        place, mark, section = found["place"].partition("#")
        if place and place != DETAILS:
            return found["words"]
        return f'<a href="{escape(details.name) if place else ""}{mark}{section}">{found["words"]}</a>'

    for source, target in ((DETAILS, details), ("report.html", path)):
        text = (directory / source).read_text(encoding="utf-8")
        write_page(target, re.sub(r'<a href="(?P<place>[^"]*)">(?P<words>.*?)</a>', link, text))


def _head(results: Results, heading: str) -> Head:
    manifest = results.manifest
    kicker = ["OutRisk " + manifest.outrisk, "report for output checking", manifest.started[:10]]
    return Head(
        title=f"{heading}: {manifest.study}",
        heading=f"{heading}: {manifest.study}",
        kicker=" · ".join(part for part in kicker if part),
        warnings=tuple(("Note", note) for note in findings.warnings(results)),
    )
