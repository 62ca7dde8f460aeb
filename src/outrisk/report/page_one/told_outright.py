"""The worst of what the outputs say outright; the rest stands behind."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import Finding
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_ROWS = 4
_WORDS = {"what": 32, "advice": 14}  # of whole sentences, where all rows are taken; more where there are fewer
_NAME = 7  # words of an output's name


def content(results: Results) -> dict[str, Any] | None:
    """The worst finding of each rule, and of how many outputs it says the same; None for a run directory without the
    file.
    """
    found = results.findings
    if found is None:
        return None
    rules: dict[tuple[str, bool], list[Finding]] = {}
    for row in found:
        rules.setdefault((row.rule, row.certain), []).append(row)
    shown = list(rules.values())[:_ROWS]
    return {
        "rows": [(rows[0], _said(rows[0], _ROWS / len(shown)), _others(rows)) for rows in shown],
        "left_out": len(found) - sum(len(rows) for rows in shown),
        "sentence": results.risk.outright,
    }


def _said(row: Finding, room: float) -> dict[str, str]:
    """What a finding says in whole sentences; of what none fits, how many cells it is about."""
    said = {name: formats.sentences(getattr(row, name), int(most * room)) for name, most in _WORDS.items()}
    return {"output": formats.cut(row.output, _NAME), **said, "cells": "" if said["what"] else _cells(row)}


def _cells(row: Finding) -> str:
    return f"{row.rule}, {formats.plural(row.cells, 'cell')}"


def _others(rows: list[Finding]) -> str:
    """Of which the same rule says something, besides the worst."""
    more = len({row.output for row in rows} - {rows[0].output})
    return f"{rows[0].rule}: {formats.plural(more, 'further output')} or pairs of them" if more else ""


SECTION = Section("told", "What the release says outright", content, asset("one/told.html"))
