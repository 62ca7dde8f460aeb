"""How well the released numbers were reproduced: runs, and the numbers beside their refit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outrisk.reasons import sentence
from outrisk.records.results import Results
from outrisk.records.schema import Matched
from outrisk.report import formats
from outrisk.report.compose import Section, asset
from outrisk.report.runs import fold_rows, run_rows

WHOLE_TABLE = 60  # outputs of more numbers are summarised
_LISTED = 120  # numbers listed in all
_ROWS = 40  # rows of a summary by output
_LARGEST = 15
_RUNS_SHOWN = 20  # beyond, the list of runs is folded away under ranges by fold


def content(results: Results) -> dict[str, Any]:
    """Runs, ranges by fold, and released numbers beside their refit."""
    return {
        "fold_rows": fold_rows(results),
        "run_rows": run_rows(results),
        "runs_shown": _RUNS_SHOWN,
        "numbers": numbers(results),
    }


@dataclass(frozen=True)
class Number:
    """A released number of one run, and its differences in all runs of the fold."""

    row: Matched
    differences: tuple[float, ...]


@dataclass(frozen=True)
class Numbers:
    """Released numbers beside their refit, of run 1 of the largest fold; long lists are summarised."""

    fold: str
    run: int
    n_runs: int
    listed: list[tuple[str, list[dict[str, Any]]]]  # output, rows
    summary: list[dict[str, Any]]  # one row an output; empty where all is listed
    summary_left_out: int
    largest: list[dict[str, Any]]  # empty where all is listed, or all differences are 0


def numbers(results: Results) -> Numbers | None:
    """Released numbers beside their refit; None where no run has finished."""
    folds = [fold for fold in results.risk.folds if fold.runs]
    fold = min(folds, key=lambda each: each.level, default=None)
    everything = results.matched(fold) if fold else []
    if fold is None or not everything:
        return None
    runs: dict[int, list[Matched]] = {}
    for row in everything:
        runs.setdefault(row.run, []).append(row)
    first = min(runs)
    differences = zip(*([row.difference for row in rows] for rows in runs.values()), strict=True)
    rows = [Number(row, spread) for row, spread in zip(runs[first], differences, strict=True)]
    by_output: dict[str, list[Number]] = {}
    for number in rows:
        by_output.setdefault(number.row.output, []).append(number)
    listed, left = [], _LISTED
    for name, group in by_output.items():
        if len(group) <= min(WHOLE_TABLE, left):
            listed.append((name, _number_rows(group)))
            left -= len(group)
    whole = len(listed) == len(by_output)
    summary = [] if whole else sorted((_summarise(name, group) for name, group in by_output.items()), key=_worst_first)
    exact = all(number.row.difference == 0 for number in rows)
    return Numbers(
        fold=formats.fold_name(fold.level, fold.fold),
        run=first,
        n_runs=len(runs),
        listed=listed,
        summary=summary[:_ROWS],
        summary_left_out=max(0, len(summary) - _ROWS),
        largest=[] if whole or exact else _number_rows(sorted(rows, key=_undefined_then_largest)[:_LARGEST]),
    )


def _undefined_then_largest(number: Number) -> tuple[bool, float]:
    size = abs(number.row.difference)
    return not math.isnan(size), -size


def _number_rows(group: Sequence[Number]) -> list[dict[str, Any]]:
    exact = all(number.row.difference == 0 for number in group)  # counts met exactly need no decimals
    rows = []
    for number in group:
        row, ends = number.row, (min(number.differences), max(number.differences))
        undefined = any(math.isnan(each) for each in number.differences)
        whole = row.decimals == 0 and all(float(each).is_integer() for each in (row.refit, *ends))
        more = row.decimals if exact or whole else row.decimals + 2
        rows.append(
            {
                "output": row.output,
                "label": row.label,
                "released": formats.span(row.low, row.high, row.decimals),
                "refit": formats.fixed(row.refit, more),
                "difference": formats.fixed(row.difference, more, sign=True),
                "range": formats.UNDEFINED
                if undefined
                else " to ".join(formats.fixed(end, more, sign=True) for end in ends),
                "matched": row.matched,
                "far": "none"
                if math.isnan(row.sampling_error)
                else formats.error(abs(row.difference) / row.sampling_error),
                "near": row.near,
                "why": sentence(row.reason, row.detail),
            }
        )
    return rows


def _summarise(name: str, group: Sequence[Number]) -> dict[str, Any]:
    size = [abs(number.row.difference) for number in group]
    undefined = any(math.isnan(each) for each in size)
    return {
        "output": name,
        "numbers": len(group),
        "matched": sum(number.row.matched for number in group),
        "near": sum(number.row.near for number in group),
        "mae": math.nan if undefined else sum(size) / len(size),
        "largest": math.nan if undefined else max(size),
    }


def _worst_first(row: Mapping[str, Any]) -> tuple[float, bool, float]:
    largest = row["largest"]
    return row["matched"] / row["numbers"], not math.isnan(largest), -largest


SECTION = Section(
    "reproduced", "How well the released numbers were reproduced", content, asset("study/reproduced.html")
)
