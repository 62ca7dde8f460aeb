"""The worst of what the outputs say outright; the rest stands behind."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import Finding
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_ROWS = 4  # more where as many rules find something certain
_ALSO = 2  # further findings of a rule that are named, where what they tell is certain
_NAMED = 4  # outputs of the others that are named
_WORDS = {"what": 32, "advice": 14}  # of whole sentences, where all rows are taken; more where there are fewer
_NAME, _SHORT = 7, 4  # words of an output's name


def content(results: Results) -> dict[str, Any] | None:
    """The worst finding of each rule, those of all rules that find something certain among them, and of which outputs
    they say the same; None for a run directory without the file.
    """
    found = results.findings
    if found is None:
        return None
    rules: dict[tuple[str, bool], list[Finding]] = {}
    for row in found:
        rules.setdefault((row.rule, row.certain), []).append(row)
    shown = list(rules.values())[: max(_ROWS, sum(certain for _, certain in rules))]
    return {
        "certain": any(rows[0].certain for rows in shown),
        "rows": [(rows[0], _said(rows[0], _ROWS / len(shown)), _others(rows)) for rows in shown],
        "left_out": len(found) - sum(len(rows) for rows in shown),
        "sentence": results.risk.outright,
    }


def _said(row: Finding, room: float) -> dict[str, str]:
    """What a finding says in whole sentences; of what none fits, how many cells it is about."""
    said = {name: formats.sentences(getattr(row, name), int(most * room)) for name, most in _WORDS.items()}
    if not (said["what"] or row.cells):  # of the study itself, of which no number of cells says anything
        said["what"] = formats.cut(f"{row.rule}: {row.what}", int(_WORDS["what"] * room))
    return {"output": formats.cut(row.output, _NAME), **said, "cells": "" if said["what"] else _cells(row)}


def _cells(row: Finding) -> str:
    cells = f"{row.rule}, {formats.plural(row.cells, 'cell')}"
    return f"their {row.about} ({cells})" if row.certain and row.about else cells


def _others(rows: list[Finding]) -> str:
    """Of which the same rule says something, besides the worst; where it is certain, the most people first."""
    if not rows[0].certain:
        outputs = {row.output for row in rows} - {rows[0].output}
        return f"{rows[0].rule}: {formats.plural(len(outputs), 'further output')} or pairs of them" if outputs else ""
    most = sorted(rows[1:], key=lambda row: -row.people)
    told = [
        f"{row.about or 'a value'} of {formats.plural(row.people, 'person')} ({formats.cut(row.output, _SHORT)})"
        for row in most[:_ALSO]
    ]
    if len(most) > _ALSO:
        left = list(dict.fromkeys(formats.cut(row.output, _SHORT) for row in most[_ALSO:]))
        named = [*left[:_NAMED], *([f"{len(left) - _NAMED} more"] if len(left) > _NAMED else [])]
        told += [f"{formats.plural(len(most) - _ALSO, 'further finding')} ({formats.names(named)})"]
    return f"Also {formats.names(told)}" if told else ""


SECTION = Section("told", "What the release says outright", content, asset("one/told.html"))
