"""Risk by number of keys, and the key sets with the largest difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from outrisk.records.results import LEADING, Results
from outrisk.records.schema import Score
from outrisk.report import formats
from outrisk.report.compose import Section, asset


def content(results: Results) -> dict[str, Any]:
    """Means by key size on the level of the answer, else on the largest folds; the riskiest key sets."""
    level = results.shown_level
    return {
        "risk": results.risk,
        "lead": results.lead,
        "conventions": formats.CONVENTIONS,
        "key_sizes": key_size_rows(results, level) if level is not None else [],
        "riskiest": riskiest(results, results.lead.level) if results.lead else [],
    }


@dataclass(frozen=True)
class KeySet:
    """One key set in one run: TCAP by convention and side, and the counts behind that of the original."""

    size: int
    keys: str
    tcap: dict[tuple[str, str], float]
    certain: float
    met: float

    def sides(self, measure: str) -> tuple[float, float, float]:
        """Original, holdout and their difference."""
        original, holdout = (self.tcap.get((measure, side), math.nan) for side in ("original", "holdout"))
        return original, holdout, original - holdout


def key_sets(results: Results, level: int) -> list[KeySet]:
    """Every key set of every run of a level."""
    found: dict[tuple[str, int, str], list[Score]] = {}
    for row in results.scores:
        if row.level == level and row.measure in formats.CONVENTIONS:
            found.setdefault((row.fold, row.run, row.keys), []).append(row)
    sets = []
    for rows in found.values():
        own = next((row for row in rows if (row.measure, row.side) == (LEADING, "original")), None)
        tcap = {(row.measure, row.side): row.value for row in rows}
        counts = (own.certain, own.matched) if own else (math.nan, math.nan)
        sets.append(KeySet(rows[0].key_size, rows[0].keys, tcap, *counts))
    return sets


def key_size_rows(results: Results, level: int) -> list[dict[str, Any]]:
    """Mean TCAP over key sets, folds and runs of a level, by key size, of those where both sides are defined."""
    by_size: dict[int, list[KeySet]] = {}
    for each in key_sets(results, level):
        by_size.setdefault(each.size, []).append(each)
    rows = []
    for size, group in sorted(by_size.items()):
        row: dict[str, Any] = {"size": formats.count(size), "sets": len({each.keys for each in group})}
        for measure in formats.CONVENTIONS:
            row[measure] = mean_sides([each.sides(measure) for each in group])
        row["certain"], row["met"] = _mean([each.certain for each in group]), _mean([each.met for each in group])
        rows.append(row)
    return rows


def mean_sides(sides: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Mean original, holdout and difference over those that have one, so that they subtract; else each by itself."""
    both = [each for each in sides if not math.isnan(each[2])] or sides
    original, holdout, difference = (_mean([each[at] for each in both]) for at in range(3))
    return original, holdout, difference


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def riskiest(results: Results, level: int, most: int = 5) -> list[dict[str, Any]]:
    """Key sets with the largest difference of `tcap_undefined`, averaged over the folds and runs of a level."""
    by_keys: dict[str, list[tuple[float, float, float]]] = {}
    for each in key_sets(results, level):
        sides = each.sides(LEADING)
        if not math.isnan(sides[2]):
            by_keys.setdefault(each.keys, []).append(sides)
    means = sorted(((keys, mean_sides(sides)) for keys, sides in by_keys.items()), key=lambda each: -each[1][2])
    return [{"keys": keys.replace("+", ", "), "sides": sides} for keys, sides in means[:most]]


SECTION = Section("keysizes", "Risk by number of keys", content, asset("study/keysizes.html"))
