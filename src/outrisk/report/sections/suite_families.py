"""The report's sections on the suite of risk measures, from over_runs.csv of a run directory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from outrisk.errors import ConfigError
from outrisk.reasons import sentence
from outrisk.records.run import Results
from outrisk.report import formats
from outrisk.report.compose import Section, asset

FILE = "over_runs.csv"
_INTERVAL = "The intervals are for the sampling of the people attacked and for the variation between runs."
_NUMBERS = [
    *["original", "original_low", "original_high", "holdout", "worst_case", "synthetic", "difference", "low", "high"],
    *["least", "most", "baseline"],
]
_TEXTS = ["family", "fold", "size", "measure", "direction", "reason", "detail", "note"]
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


def read_over_runs(directory: Path) -> pd.DataFrame | None:
    """The file's rows; None where a run was made before there was such a file."""
    path = directory / FILE
    if not path.is_file():
        return None
    try:
        frame = pd.read_csv(path, dtype=dict.fromkeys(_TEXTS, str), keep_default_na=False)
        frame = frame.assign(**{name: pd.to_numeric(frame[name]) for name in _NUMBERS})
        return frame.astype({"level": "int64", "runs": "int64", "runs_defined": "int64"})[
            ["level", "runs", "runs_defined", *_TEXTS, *_NUMBERS]
        ]
    except (ValueError, KeyError, OSError) as error:
        raise ConfigError(f"{path} cannot be read: {' '.join(str(error).split())}; see docs/files.md") from error


def family(results: Results, name: str) -> Family | None:
    """Measures on the level of the report's answer, else on the largest folds; None where there are no rows."""
    frame = read_over_runs(results.directory)
    levels = [fold.level for fold in results.risk.folds if fold.runs]
    if frame is None or frame.empty or not levels:
        return None
    level = results.lead.level if results.lead else min(levels)
    kept = {caption: part for caption, part in _PARTS[name](frame).items() if (part["level"] == level).any()}
    return _family(level, kept, _DECIMALS[name]) if kept else None


def _disclosure(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {"Original beside holdout, shares of records": frame[frame["family"] == "synthpop"]}


def _attribution(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    sizes = sorted({size for size in frame["size"] if size not in ("", "all")}, key=int)
    shown = {"all", *sizes[-1:]} if len(sizes) > 1 else set(sizes)
    cap = frame[(frame["family"] == "cap") & frame["measure"].isin(_SHOWN) & frame["size"].isin(shown)]
    return {
        f"The CAP family over key sets of {formats.names(sizes)} keys": cap,
        "Accuracy of classifiers trained on the synthetic data": frame[frame["family"] == "attacks"],
    }


def _privacy(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {"The privacy metrics": frame[frame["family"] == "privacy"]}


def _further(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    names = [name for name in dict.fromkeys(frame["family"]) if name not in _KNOWN]
    return {name: frame[frame["family"] == name] for name in names}


_KNOWN = ("attribution", "synthpop", "cap", "attacks", "privacy")  # families that have a place of their own
_PARTS = {"disclosure": _disclosure, "attribution": _attribution, "privacy": _privacy, "further": _further}


def _family(level: int, parts: Mapping[str, pd.DataFrame], decimals: int) -> Family:
    tables, folds, notes = [], [], list[str]()
    runs, against = 0, False
    for caption, part in parts.items():
        own = part[part["level"] == level]
        rows = own[own["fold"] == ""] if (own["fold"] == "").any() else own
        tables.append(_table(caption, rows, decimals, set()))
        each = part[part["fold"] != ""]
        if each["fold"].nunique() > 1:
            folds.append(_table(f"{caption}: every fold", each, decimals, {"fold"}))
        notes += _notes(rows)
        if (own.loc[own["fold"] != "", "runs"] == 1).any() and _ALONE not in notes:
            notes.append(_ALONE)
        runs, against = max(runs, int(rows["runs"].max())), against or bool(rows["holdout"].notna().any())
    return Family(level, runs, against, tables, folds, notes)


def _table(caption: str, part: pd.DataFrame, decimals: int, columns: set[str]) -> SuiteTable:
    columns |= {"direction"} if not part["direction"].isin(_USUAL).all() else set()
    columns |= {"size"} if (part["size"] != "").any() else set()
    for name in ("synthetic", "holdout", "worst_case", "baseline", "original_low"):
        columns |= {name} if part[name].notna().any() else set()
    return SuiteTable(caption, [_row(row, decimals) for row in part.to_dict("records")], frozenset(columns))


def _row(row: Mapping[Any, Any], decimals: int) -> dict[str, str]:
    """The cells; a dash for what the measure does not have, words for what is undefined."""
    missing = "–" if row["runs_defined"] else _WORDS.get(row["reason"], formats.UNDEFINED)
    compared = "–" if row["runs_defined"] and math.isnan(row["difference"]) else missing

    def cell(name: str, without: str = "–", sign: bool = False) -> str:
        return without if math.isnan(row[name]) else formats.fixed(row[name], decimals, sign)

    def between(low: str, high: str, sign: bool = False) -> str:
        ends = [formats.fixed(row[name], decimals, sign) for name in (low, high)]
        return "–" if formats.UNDEFINED in ends else formats.spread(ends)

    signed = not math.isnan(row["difference"])
    return {
        "measure": row["measure"],
        "size": "all sets" if row["size"] == "all" else f"{row['size']} keys",
        "fold": formats.fold_name(row["level"], row["fold"]),
        "direction": row["direction"],
        "synthetic": cell("synthetic"),
        "original": cell("original", missing),
        "original_interval": between("original_low", "original_high"),
        "holdout": cell("holdout"),
        "worst_case": cell("worst_case"),
        "difference": cell("difference", compared, sign=True),
        "interval": between("low", "high", sign=True),
        "range": between("least", "most", sign=signed),
        "baseline": cell("baseline"),
    }


def _notes(rows: pd.DataFrame) -> list[str]:
    """Why figures are undefined or partial, and what else is to be known of them: a line each, with its measures."""
    by_note: dict[str, list[str]] = {}
    for row in rows.to_dict("records"):
        measure = row["measure"] if row["size"] in ("", "all") else f"{row['measure']} ({row['size']} keys)"
        for note in dict.fromkeys([_reason(row), *row["note"].split(_BETWEEN)]):
            if note:
                by_note.setdefault(note, []).append(measure)
    return [note if len(at) == len(rows) else f"{', '.join(at)}: {note}" for note, at in by_note.items()]


def _reason(row: Mapping[Any, Any]) -> str:
    """Why runs have no value, and how many where others have one."""
    said = sentence(row["reason"], row["detail"])
    left = row["runs"] - row["runs_defined"]
    return f"{left} of {row['runs']} runs left out: {said}" if said and row["runs_defined"] else said


def _content(name: str) -> Callable[[Results], dict[str, Any] | None]:
    def content(results: Results) -> dict[str, Any] | None:
        found = family(results, name)
        if found is None:
            return None
        sample = (results.study.get("privacy") or {}).get("sample")
        return {"section": found, "interval": _INTERVAL, "attacks": len(found.tables) > 1, "sample": sample}

    return content


def _section(name: str, title: str) -> Section[Results]:
    return Section(name, title, _content(name), asset(f"study/{name}.html"))


DISCLOSURE = _section("disclosure", "Disclosure measures of synthpop")
ATTRIBUTION = _section("attribution", "Correct attribution and classifier attacks")
PRIVACY = _section("privacy", "Privacy metrics for synthetic data")
FURTHER = _section("further", "Further measures")
