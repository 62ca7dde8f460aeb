"""The report of a run directory: one self-contained HTML file that holds aggregates only."""

from __future__ import annotations

from pathlib import Path

from outrisk.records.results import Results, read_run
from outrisk.report import findings
from outrisk.report.compose import Head, Section, compose, write_page
from outrisk.report.sections import (
    against_holdout,
    answer,
    as_released,
    generations,
    key_sizes,
    origin,
    outright,
    reading,
    reproduced,
    suite_families,
    what_was_assessed,
    zero_error,
)

SECTIONS: list[Section[Results]] = [
    outright.SECTION,
    answer.SECTION,
    what_was_assessed.SECTION,
    as_released.SECTION,
    reproduced.SECTION,
    generations.SECTION,
    against_holdout.SECTION,
    zero_error.SECTION,
    key_sizes.SECTION,
    reading.SECTION,
    suite_families.DISCLOSURE,
    suite_families.ATTRIBUTION,
    suite_families.PRIVACY,
    suite_families.FURTHER,
    origin.SECTION,
]


def render(directory: Path) -> Path:
    """Write `report.html` into a run directory from its other files, and return its path.

    Works for interrupted runs too. Raises ConfigError, in one line, where the directory is no run directory or one of
    its files is missing or broken; an earlier report is then left as it was. Same files, same bytes.
    """
    results = read_run(Path(directory))
    return write_page(results.directory / "report.html", compose(_head(results), SECTIONS, results))


def _head(results: Results) -> Head:
    manifest = results.manifest
    kicker = ["OutRisk " + manifest.outrisk, "report for output checking", manifest.started[:10]]
    return Head(
        title=f"Disclosure risk: {manifest.study}",
        heading=f"Disclosure risk of released outputs: {manifest.study}",
        kicker=" · ".join(part for part in kicker if part),
        warnings=tuple(("Note", note) for note in findings.warnings(results)),
    )
