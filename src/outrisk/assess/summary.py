"""From runs to the numbers of a report: averages with intervals per fold and per level, extrapolations, rows of the
files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np

from outrisk.assess.extrapolation import extrapolate
from outrisk.assess.run import Job, RunResult
from outrisk.assess.study import Assessment
from outrisk.risk.attribution.over_key_sets import MEASURES, against, some
from outrisk.risk.coding.classes import SIDES
from outrisk.risk.intervals.jackknife import Estimate

Row = dict[str, Any]


def matched_rows(result: RunResult) -> Iterator[Row]:
    """Rows of matched.csv for one run: every number of which something was released."""
    yield from ({**result.job.place, **row} for refit in result.refits for row in refit.rows())


def risk_rows(result: RunResult) -> Iterator[Row]:
    """Rows of risk.csv for one run: every measure, side and key set."""
    scores = result.scores
    for k, keys in enumerate(scores.sets):
        place = {**result.job.place, "key_size": len(keys), "keys": "+".join(keys)}
        yield {**place, "measure": "weap", "side": "synthetic", "value": float(scores.mean_weap[k]), "reason": ""}
        for (measure, side), values in scores.values.items():
            counts = scores.attributions[side][k]
            value = float(values[k])
            yield {
                **place,
                "measure": measure,
                "side": side,
                "value": value,
                "certain": counts.certain,
                "matched": counts.matched,
                "reason": counts.reason if math.isnan(value) else "",
            }


def summarise(assessment: Assessment, jobs: Sequence[Job], results: Sequence[RunResult]) -> Row:
    """The content of risk.json; `results` may lack some of the jobs."""
    folds = [
        _fold(list(runs))
        for _, runs in groupby(results, key=lambda result: (result.job.fold.level, result.job.fold.index))
    ]
    return {
        "target": assessment.target,
        "keys": list(assessment.keys),
        "key_sizes": list(assessment.key_sizes),
        "tau": assessment.tau,
        "largest": len(assessment.keys),
        "outputs": [
            {
                "name": released.name,
                "kind": released.kind,
                "notes": released.output.notes,
                "numbers": int(released.known.sum()),
                "withheld": int((~released.known).sum()),
                "importance": released.importance,
            }
            for released in jobs[0].problem.released
        ],
        "folds": folds,
        "levels": [_level(level, list(parts)) for level, parts in groupby(folds, key=lambda fold: fold["level"])],
    }


def _fold(results: list[RunResult]) -> Row:
    fold = results[0].job.fold
    return {
        "level": fold.level,
        "fold": fold.name,
        "n_original": len(fold.original),
        "n_holdout": len(fold.holdout) if fold.holdout else 0,
        "holdout": fold.holdout_name,
        "runs": [_run(result) for result in results],
        "estimates": list(_estimates(results)),
        "extrapolation": list(_extrapolations(results)),
    }


def _run(result: RunResult) -> Row:
    difference = np.concatenate([refit.differences for refit in result.refits])
    return {
        "run": result.job.run,
        "stop": result.stop,
        "generations": result.generations,
        "seconds": round(result.seconds, 3),
        "mae": float(np.mean(np.abs(difference))),
        "mse": float(np.mean(difference**2)),
        "largest_difference": float(np.max(np.abs(difference))),
        "matched": sum(int(refit.matched.sum()) for refit in result.refits),
        "numbers": len(difference),
        "failures": [refit.failure for refit in result.refits if refit.failure],
    }


def _estimates(results: list[RunResult]) -> Iterator[Row]:
    job = results[0].job
    parts = {"all": list(range(len(job.key_sets))), "largest": [job.scored.index(job.keys)]}
    for keys, chosen in parts.items():
        scores = [some(result.scores, chosen) for result in results]
        for measure in MEASURES:
            yield from (_row(measure, keys, side, found) for side, found in against(scores, measure).items())


def _row(measure: str, keys: str, side: str, estimate: Estimate) -> Row:
    return {
        "measure": measure,
        "keys": keys,
        "side": side,
        "value": estimate.value,
        "standard_error": estimate.standard_error,
        "low": estimate.low,
        "high": estimate.high,
        "n_key_sets": estimate.n_key_sets,
        "n_undefined": estimate.n_undefined,
        "reason": estimate.reason,
    }


def _extrapolations(results: list[RunResult]) -> Iterator[Row]:
    def column(result: RunResult, name: str) -> np.ndarray:
        return np.array([row[name] for row in result.snapshots], dtype=float)

    for measure in ("tcap_undefined", "tcap_zero"):
        for side in (*SIDES, "marginal"):
            points = []
            for result in results:
                risks = (
                    column(result, f"{measure}_original") - column(result, f"{measure}_holdout")
                    if side == "marginal"
                    else column(result, f"{measure}_{side}")
                )
                points.append((column(result, "mae"), risks))
            found = asdict(extrapolate(points))
            if side != "original" and results[0].job.fold.holdout is None:
                found["reason"] = "no holdout"
            yield {"measure": measure, "side": side, **found}


def _is_compared(fold: Row, estimate: Row) -> bool:
    """Whether the difference between original and holdout of an estimate's measure is defined in a fold."""
    wanted = (estimate["measure"], estimate["keys"], "marginal")
    found = (row for row in fold["estimates"] if (row["measure"], row["keys"], row["side"]) == wanted)
    return not math.isnan(next(found)["value"])


def _level(level: int, folds: list[Row]) -> Row:
    """Mean over the folds of a level, its margins of error those of the folds joined as of independent parts; of one
    fold alone they are its own. Folds that are each other's holdout err in opposite directions, which is left out: the
    interval is somewhat too wide for the marginal risk, not too narrow. Original, holdout and difference are means over
    the same folds, those where the difference is defined (if any), so that they subtract.
    """
    estimates = []
    for at, model in enumerate(folds[0]["estimates"]):
        rows = [fold["estimates"][at] for fold in folds]
        compared = [row for row, fold in zip(rows, folds, strict=True) if _is_compared(fold, model)]
        used = compared or [row for row in rows if not math.isnan(row["value"])]
        value = float(np.mean([row["value"] for row in used])) if used else math.nan
        error = math.sqrt(sum(row["standard_error"] ** 2 for row in used)) / len(used) if used else math.nan
        margin = math.hypot(*((row["high"] - row["low"]) / 2 for row in used)) / len(used) if used else math.nan
        left = len(rows) - len(used)
        reason = next((row["reason"] for row in rows if row["reason"]), "")
        estimates.append(
            {
                **{name: model[name] for name in ("measure", "keys", "side")},
                "value": value,
                "standard_error": error,
                "low": value - margin,
                "high": value + margin,
                "n_key_sets": sum(row["n_key_sets"] for row in rows),
                "n_undefined": sum(row["n_undefined"] for row in rows),
                "reason": f"{left} of {len(rows)} folds left out: {reason}" if left and used else reason,
            }
        )
    return {
        "level": level,
        "n_folds": len(folds),
        "runs": sum(len(fold["runs"]) for fold in folds),
        "estimates": estimates,
    }
