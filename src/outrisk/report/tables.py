"""Rows of the report's tables, from plain results; the template only lays them out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from outrisk.report import formats
from outrisk.report.results import Estimate, Extrapolation, Fold, Level, Results, Run, find

WHOLE_TABLE = 60  # outputs of more numbers are summarised
_LISTED = 120  # numbers listed in all
_ROWS = 40  # rows of a summary by output
_LARGEST = 15
NO_HOLDOUT = "no holdout"
_IN_ROW = 40  # characters of a reason that fits in a table row
_STOPS = {
    "matched": "all numbers matched",
    "budget": "budget used up",
    "stalled": "no further progress",
    "interrupted": "interrupted",
}


@dataclass(frozen=True)
class Contrast:
    """Original against holdout in one fold, or averaged over the folds of a level."""

    name: str
    average: bool
    level: int
    records: str
    original: Estimate
    holdout: Estimate
    marginal: Estimate
    held_out: bool

    @property
    def no_contrast(self) -> str:
        """The one reason why neither holdout nor difference is defined; empty where there are two, or none."""
        if not self.held_out:
            return NO_HOLDOUT
        gone = math.isnan(self.holdout.value) and math.isnan(self.marginal.value)
        return self.marginal.reason if gone and self.marginal.reason == self.holdout.reason else ""

    @property
    def gap(self) -> str:
        """What stands in place of holdout and difference: `no_contrast`, if it fits in a row; empty if they stand."""
        return self.no_contrast if len(self.no_contrast) <= _IN_ROW else formats.UNDEFINED

    @property
    def reasons(self) -> list[str]:
        """What the files say on undefined or partial figures, but for `gap`."""
        found = [each.reason for each in (self.original, self.holdout, self.marginal)]
        return [reason for reason in (found if self.held_out else found[:1]) if reason and reason != self.gap]

    @property
    def left_out(self) -> str:
        """Key sets left out of the difference as undefined (of the original's mean, where there is no holdout)."""
        most = self.original if self.no_contrast else self.marginal
        return f"{most.n_undefined:,} of {most.n_undefined + most.n_key_sets:,}"


def contrasts(results: Results, measure: str, keys: str = "all") -> list[Contrast]:
    """A row for each fold with a finished run, then for the average of its level where there are several folds."""
    rows = []
    for level in sorted({fold.level for fold in results.risk.folds if fold.runs}):
        folds = results.folds_of(level)
        rows += [_contrast(fold, measure, keys, bool(fold.n_holdout)) for fold in folds]
        if len(folds) > 1:
            held_out = any(fold.n_holdout for fold in folds)
            rows += [_contrast(each, measure, keys, held_out) for each in results.risk.levels if each.level == level]
    return rows


def _contrast(part: Fold | Level, measure: str, keys: str, held_out: bool) -> Contrast:
    fold = isinstance(part, Fold)
    return Contrast(
        name=formats.fold_name(part.level, part.fold) if isinstance(part, Fold) else f"mean of {part.n_folds} folds",
        average=not fold,
        level=part.level,
        records=f"{part.n_original:,} / {formats.count(part.n_holdout)}" if isinstance(part, Fold) else "",
        original=find(part.estimates, measure, "original", keys),
        holdout=find(part.estimates, measure, "holdout", keys),
        marginal=find(part.estimates, measure, "marginal", keys),
        held_out=held_out,
    )


def run_rows(results: Results) -> list[tuple[str, Run]]:
    """Each run with the name of its fold."""
    return [(formats.fold_name(fold.level, fold.fold), run) for fold in results.risk.folds for run in fold.runs]


def fold_rows(results: Results) -> list[dict[str, str]]:
    """For each fold the range over its runs of everything in a run's row."""
    return [
        {
            "fold": formats.fold_name(fold.level, fold.fold),
            "records": f"{fold.n_original:,}",
            "holdout": fold.holdout or "none",
            "held_out": formats.count(fold.n_holdout),
            "runs": f"{len(fold.runs):,}",
            "stop": "; ".join(dict.fromkeys(stop(run.stop) for run in fold.runs)),
            "generations": formats.spread([formats.count(x) for x in sorted(run.generations for run in fold.runs)]),
            "seconds": formats.spread([formats.seconds(x) for x in _ordered([run.seconds for run in fold.runs])]),
            "mae": formats.spread([formats.error(x) for x in _ordered([run.mae for run in fold.runs])]),
            "largest": formats.spread([formats.error(x) for x in _ordered([r.largest_difference for r in fold.runs])]),
            "matched": matched_range(fold.runs),
        }
        for fold in results.risk.folds
        if fold.runs
    ]


def matched_range(runs: Sequence[Run]) -> str:
    """`9 of 9`, or `7 to 9 of 9`, over the runs of a fold."""
    return f"{formats.spread([f'{x:,}' for x in sorted(run.matched for run in runs)])} of {runs[0].numbers:,}"


def stop(reason: str) -> str:
    """Why a run ended, in words."""
    return _STOPS.get(reason, reason)


def _ordered(values: Sequence[float]) -> list[float]:
    """Ascending, what is undefined last."""
    return sorted(values, key=lambda value: (math.isnan(value), value))


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
    """The comparison of section 3; None where no run has finished."""
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


def extrapolation_rows(results: Results, measure: str) -> list[tuple[str, Extrapolation]]:
    """The fits of risk on error of one convention, each with the name of its fold."""
    return [
        (formats.fold_name(fold.level, fold.fold), fit)
        for fold in results.risk.folds
        for fit in fold.extrapolation
        if fit.measure == measure
    ]


def key_size_rows(results: Results, level: int) -> list[dict[str, Any]]:
    """Mean TCAP over key sets, folds and runs of a level, by key size; differences where both sides are defined."""
    wide = _wide(results.scores[results.scores["level"] == level])
    rows = []
    for size, group in wide.groupby("key_size"):
        row: dict[str, Any] = {"size": formats.count(float(str(size))), "sets": group["keys"].nunique()}
        for measure in formats.CONVENTIONS:
            original, holdout = (group[f"{measure} {side}"] for side in ("original", "holdout"))
            row[measure] = (original.mean(), holdout.mean(), (original - holdout).mean())
            row[f"{measure} undefined"] = int(original.isna().sum())
        row["certain"], row["met"] = group["certain"].mean(), group["met"].mean()
        rows.append(row)
    return rows


def riskiest(results: Results, level: int, most: int = 5) -> list[dict[str, Any]]:
    """Key sets with the largest difference of `tcap_undefined`, averaged over the folds and runs of a level."""
    wide = _wide(results.scores[results.scores["level"] == level])
    sides = ["original", "holdout", "difference"]
    original, holdout = wide["tcap_undefined original"], wide["tcap_undefined holdout"]
    wide = wide.assign(original=original, holdout=holdout, difference=original - holdout)
    means = wide.dropna(subset=["difference"]).groupby("keys", sort=False)[sides].mean()
    chosen = means.sort_values("difference", ascending=False, kind="stable").head(most)
    return [
        {"keys": str(keys).replace("+", ", "), **{side: float(row[side]) for side in sides}}
        for keys, row in chosen.iterrows()
    ]


def _wide(scores: pd.DataFrame) -> pd.DataFrame:
    """One row a run and key set: a column for each convention and side, and the counts behind the original's TCAP."""
    index = ["fold", "run", "key_size", "keys"]
    columns = [f"{measure} {side}" for measure in formats.CONVENTIONS for side in ("original", "holdout")]
    scores = scores[scores["measure"].isin(list(formats.CONVENTIONS))]
    names = scores["measure"] + " " + scores["side"]
    wide = scores.assign(name=names).set_index([*index, "name"])["value"].unstack("name")
    counts = scores[(scores["measure"] == "tcap_undefined") & (scores["side"] == "original")].set_index(index)
    return wide.reindex(columns=columns).assign(certain=counts["certain"], met=counts["matched"]).reset_index()
