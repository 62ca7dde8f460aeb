"""How well the released numbers were reproduced: runs, and the numbers beside their refit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from outrisk.report import formats
from outrisk.report.compose import Section, asset
from outrisk.report.results import Results
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
    if not folds or results.matched.empty:
        return None
    fold = min(folds, key=lambda each: each.level)
    everything = results.matched
    everything = everything[(everything["level"] == fold.level) & (everything["fold"] == fold.fold)]
    first = int(everything["run"].min()) if len(everything) else fold.runs[0].run
    everything = everything.assign(position=everything.groupby("run").cumcount())  # labels need not be unique
    spread = everything.groupby("position")["difference"].agg(["min", "max"])
    rows = everything[everything["run"] == first].set_index("position").join(spread)
    by_output = list(rows.groupby("output", sort=False))
    listed, left = [], _LISTED
    for name, group in by_output:
        if len(group) <= min(WHOLE_TABLE, left):
            listed.append((str(name), _number_rows(group)))
            left -= len(group)
    whole = len(listed) == len(by_output)
    summary = [] if whole else sorted((_summarise(str(name), group) for name, group in by_output), key=_worst_first)
    size = rows["difference"].abs()
    worst = size.sort_values(ascending=False, na_position="first", kind="stable").index
    return Numbers(
        fold=formats.fold_name(fold.level, fold.fold),
        run=first,
        n_runs=everything["run"].nunique(),
        listed=listed,
        summary=summary[:_ROWS],
        summary_left_out=max(0, len(summary) - _ROWS),
        largest=[] if whole or (size == 0).all() else _number_rows(rows.loc[worst[:_LARGEST]]),
    )


def _number_rows(group: pd.DataFrame) -> list[dict[str, Any]]:
    finest = [int(found) if not math.isnan(found) else 4 for found in group["decimals"]]
    exact = bool((group["difference"] == 0).all())  # counts met exactly need no decimals
    rows = []
    for row, decimals in zip(group.to_dict("records"), finest, strict=True):
        ends = [row["min"], row["max"]]
        whole = decimals == 0 and all(float(each).is_integer() for each in (row["refit"], *ends))  # a count needs none
        more = decimals if exact or whole else decimals + 2
        rows.append(
            {
                "output": row["output"],
                "label": row["label"],
                "released": formats.span(row["low"], row["high"], decimals),
                "refit": formats.fixed(row["refit"], more),
                "difference": _difference(row["difference"], more),
                "range": formats.UNDEFINED
                if any(math.isnan(end) for end in ends)
                else " to ".join(_difference(end, more) for end in ends),
                "matched": row["matched"],
            }
        )
    return rows


def _difference(value: float, decimals: int) -> str:
    """Fixed decimals; rounding noise of the refit (below half of the last digit shown) reads 0.00, not 1e-15."""
    return formats.fixed(0.0 if abs(value) < 0.5 * 10**-decimals else value, decimals, sign=True)


def _summarise(name: str, group: pd.DataFrame) -> dict[str, Any]:
    size = group["difference"].abs()
    return {
        "output": name,
        "numbers": len(group),
        "matched": int(group["matched"].sum()),
        "mae": float(size.mean(skipna=False)),
        "largest": float(size.max(skipna=False)),
    }


def _worst_first(row: Mapping[str, Any]) -> tuple[float, bool, float]:
    largest = row["largest"]
    return row["matched"] / row["numbers"], not math.isnan(largest), -largest


SECTION = Section(
    "reproduced", "How well the released numbers were reproduced", content, asset("study/reproduced.html")
)
