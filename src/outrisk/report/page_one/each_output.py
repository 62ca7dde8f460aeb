"""A row per output: what was found in it, and whether the synthetic data reproduce it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import Finding, Matched
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_ROWS = 12
_WORDS = 6  # of an output's name


@dataclass(frozen=True)
class OutputRow:
    """An output as page one shows it; people: of the findings that are certain, else of all; worst: the finding."""

    name: str
    kind: str
    numbers: int
    matched: str
    worst: Finding | None


def content(results: Results) -> dict[str, Any]:
    """Rows of the outputs, those with the worst findings first."""
    rows = sorted(output_rows(results), key=_worst_first)
    return {
        "rows": [(formats.cut(row.name, _WORDS), row) for row in rows[:_ROWS]],
        "left_out": len(rows) - _ROWS,
        "looked": results.findings is not None,
    }


def output_rows(results: Results) -> list[OutputRow]:
    """Every output in the order of the study."""
    level = results.shown_level
    folds = results.folds_of(level) if level is not None else []
    matched = [row for fold in folds for row in results.matched(fold)]
    return [
        OutputRow(
            name=output.name,
            kind=output.kind,
            numbers=output.numbers,
            matched=_reproduced([row for row in matched if row.output == output.name]),
            worst=_worst(results.findings or [], output.name),
        )
        for output in results.risk.outputs
    ]


def _reproduced(rows: list[Matched]) -> str:
    """The share of its numbers met in the run that met the fewest, in words."""
    if not rows:
        return formats.UNDEFINED
    runs: dict[tuple[str, int], list[bool]] = {}
    for row in rows:
        runs.setdefault((row.fold, row.run), []).append(row.matched)
    least = min(runs.values(), key=lambda met: sum(met) / len(met))
    if all(least):
        return "all, in every run"
    return f"{sum(least):,} of {len(least):,} in the worst run"


def _worst(findings: list[Finding], output: str) -> Finding | None:
    """The first finding that is about this output, alone or in a pair; they stand the worst first."""
    alone = [finding for finding in findings if finding.output == output]
    return next(iter(alone), None)


def _worst_first(row: OutputRow) -> tuple[bool, bool, int]:
    worst = row.worst
    return (worst is None, not (worst and worst.certain), -(worst.people if worst else 0))


SECTION = Section("outputs", "Output by output", content, asset("one/outputs.html"))
