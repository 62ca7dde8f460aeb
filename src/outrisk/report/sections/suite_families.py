"""The report's sections on the suite of risk measures, from over_runs.csv of a run directory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outrisk.reasons import sentence
from outrisk.records.results import Results
from outrisk.records.schema import MeanOfRuns
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_INTERVAL = "The intervals are for the sampling of the people attacked and for the variation between runs."
_SHOWN = ("0CAP", "ICAP", "GCAP", "R_0CAP_first", "R_ICAP_first", "R_GCAP_first")  # the file has all ways with ties
_ALONE = "Of a fold with a single run the variation between runs is not known, and not in the intervals."
_DECIMALS = {"disclosure": 4, "attribution": 3, "privacy": 3, "further": 3}
_USUAL = ("", "larger = riskier")  # directions that need no column
_BETWEEN = " · "  # between notes
_WORDS = {"timed_out": "timed out", "not_asked": "not asked", "trained_not_asked": "not asked", "failed": "failed"}


@dataclass(frozen=True, eq=False)
class SuiteTable:
    """A table of a section: its rows written for readers, and which columns they have.

    Columns: 'direction', 'synthetic', 'holdout' (with the difference), 'worst_case', 'baseline', 'fold', 'size'.
    """

    caption: str
    rows: list[dict[str, str]]
    columns: frozenset[str]


@dataclass(frozen=True, eq=False)
class Family:
    """Measures that are shown together; `folds` has the rows of every fold of every level."""

    level: int
    runs: int
    against: bool
    tables: list[SuiteTable]
    folds: list[SuiteTable]
    notes: list[str]


def family(results: Results, name: str) -> Family | None:
    """Measures on the level of the report's answer, else on the largest folds; None where there are no rows."""
    level = results.shown_level
    parts = _PARTS[name](results.means)
    kept = {caption: part for caption, part in parts.items() if any(row.level == level for row in part)}
    return _family(level, kept, _DECIMALS[name]) if kept and level is not None else None


Rows = Sequence[MeanOfRuns]


def _of(rows: Rows, name: str) -> list[MeanOfRuns]:
    return [row for row in rows if row.family == name]


def _disclosure(rows: Rows) -> dict[str, Rows]:
    return {"Original beside holdout, shares of records": _of(rows, "synthpop")}


def _attribution(rows: Rows) -> dict[str, Rows]:
    sizes = sorted({row.size for row in rows if row.size not in ("", "all")}, key=int)
    shown = {"all", *sizes[-1:]} if len(sizes) > 1 else set(sizes)
    cap = [row for row in _of(rows, "cap") if row.measure in _SHOWN and row.size in shown]
    return {
        f"The CAP family over key sets of {formats.names(sizes)} keys": cap,
        "Accuracy of classifiers trained on the synthetic data": _of(rows, "attacks"),
    }


def _privacy(rows: Rows) -> dict[str, Rows]:
    return {"The privacy metrics": _of(rows, "privacy")}


def _further(rows: Rows) -> dict[str, Rows]:
    return {name: _of(rows, name) for name in dict.fromkeys(row.family for row in rows) if name not in _KNOWN}


_KNOWN = ("attribution", "synthpop", "cap", "attacks", "privacy")  # families that have a place of their own
_PARTS = {"disclosure": _disclosure, "attribution": _attribution, "privacy": _privacy, "further": _further}


def _family(level: int, parts: Mapping[str, Rows], decimals: int) -> Family:
    tables, folds, notes = [], [], list[str]()
    runs, against = 0, False
    for caption, part in parts.items():
        own = [row for row in part if row.level == level]
        rows = [row for row in own if not row.fold] or own
        tables.append(_table(caption, rows, decimals, set()))
        each = [row for row in part if row.fold]
        if len({row.fold for row in each}) > 1:
            folds.append(_table(f"{caption}: every fold", each, decimals, {"fold"}))
        notes += _notes(rows)
        if any(row.fold and row.runs == 1 for row in own) and _ALONE not in notes:
            notes.append(_ALONE)
        runs = max(runs, *(row.runs for row in rows))
        against = against or any(not math.isnan(row.holdout) for row in rows)
    return Family(level, runs, against, tables, folds, notes)


def _table(caption: str, part: Rows, decimals: int, columns: set[str]) -> SuiteTable:
    columns |= {"direction"} if any(row.direction not in _USUAL for row in part) else set()
    columns |= {"size"} if any(row.size for row in part) else set()
    held = {
        "synthetic": [row.synthetic for row in part],
        "holdout": [row.holdout for row in part],
        "worst_case": [row.worst_case for row in part],
        "baseline": [row.baseline for row in part],
        "original_low": [row.original_low for row in part],
    }
    columns |= {name for name, values in held.items() if not all(map(math.isnan, values))}
    return SuiteTable(caption, [_row(row, decimals) for row in part], frozenset(columns))


def _row(row: MeanOfRuns, decimals: int) -> dict[str, str]:
    """The cells; a dash for what the measure does not have, words for what is undefined."""
    missing = "–" if row.runs_defined else _WORDS.get(row.reason, formats.UNDEFINED)
    compared = "–" if row.runs_defined and math.isnan(row.difference) else missing

    def cell(value: float, without: str = "–", sign: bool = False) -> str:
        return without if math.isnan(value) else formats.fixed(value, decimals, sign)

    def between(low: float, high: float, sign: bool = False) -> str:
        ends = [formats.fixed(end, decimals, sign) for end in (low, high)]
        return "–" if formats.UNDEFINED in ends else formats.spread(ends)

    return {
        "measure": row.measure,
        "size": "all sets" if row.size == "all" else f"{row.size} keys",
        "fold": formats.fold_name(row.level, row.fold),
        "direction": row.direction,
        "synthetic": cell(row.synthetic),
        "original": cell(row.original, missing),
        "original_interval": between(row.original_low, row.original_high),
        "holdout": cell(row.holdout),
        "worst_case": cell(row.worst_case),
        "difference": cell(row.difference, compared, sign=True),
        "interval": between(row.low, row.high, sign=True),
        "range": between(row.least, row.most, sign=not math.isnan(row.difference)),
        "baseline": cell(row.baseline),
    }


def _notes(rows: Rows) -> list[str]:
    """Why figures are undefined or partial, and what else is to be known of them: a line each, with its measures."""
    by_note: dict[str, list[str]] = {}
    for row in rows:
        measure = row.measure if row.size in ("", "all") else f"{row.measure} ({row.size} keys)"
        for note in dict.fromkeys([_reason(row), *row.note.split(_BETWEEN)]):
            if note:
                by_note.setdefault(note, []).append(measure)
    return [note if len(at) == len(rows) else f"{', '.join(at)}: {note}" for note, at in by_note.items()]


def _reason(row: MeanOfRuns) -> str:
    """Why runs have no value, and how many where others have one."""
    said = sentence(row.reason, row.detail)
    left = row.runs - row.runs_defined
    return f"{left} of {row.runs} runs left out: {said}" if said and row.runs_defined else said


def _content(name: str) -> Callable[[Results], dict[str, Any] | None]:
    def content(results: Results) -> dict[str, Any] | None:
        found = family(results, name)
        if found is None:
            return None
        sample = (results.study.get("privacy") or {}).get("sample")
        shown = {row["measure"] for table in found.tables for row in table.rows}
        return {
            "section": found,
            "interval": _INTERVAL,
            "attacks": len(found.tables) > 1,
            "sample": sample,
            "terms": [(name, meaning) for name, meaning in results.risk.terms.items() if name in shown],
        }

    return content


def _section(name: str, title: str) -> Section[Results]:
    return Section(name, title, _content(name), asset(f"study/{name}.html"))


DISCLOSURE = _section("disclosure", "Disclosure measures of synthpop")
ATTRIBUTION = _section("attribution", "Correct attribution and classifier attacks")
PRIVACY = _section("privacy", "Privacy metrics for synthetic data")
FURTHER = _section("further", "Further measures")
