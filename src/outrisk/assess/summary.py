"""From runs to the numbers of a report: averages with intervals per fold and per level, extrapolations, rows of the
files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from outrisk.assess.extrapolation import extrapolate, possible
from outrisk.assess.run import Job, RunResult
from outrisk.assess.study import Assessment
from outrisk.problem.tension import Conflicts, compared
from outrisk.reasons import sentence
from outrisk.records.results import find
from outrisk.records.schema import (
    Estimate,
    Extrapolation,
    Fold,
    Level,
    Matched,
    ReleasedOutput,
    Risk,
    Run,
    Score,
)
from outrisk.risk.attribution.over_key_sets import MEASURES, against, some
from outrisk.risk.coding.classes import SIDES
from outrisk.risk.intervals import jackknife
from outrisk.risk.privacy.registry import METRICS, Metric

_NO_WIDTH = 1e-12  # a standard error of nothing, but for rounding


def matched_rows(result: RunResult, conflicts: Conflicts | None = None) -> Iterator[Matched]:
    """Rows of matched.csv for one run: every number of which something was released (`conflicts`: see `compared`)."""
    place = vars(result.job.place)
    yield from (Matched(**place, **vars(row)) for row in compared(result.refits, result.stop, conflicts))


def risk_rows(result: RunResult) -> Iterator[Score]:
    """Rows of risk.csv for one run: every measure, side and key set."""
    scores, place = result.scores, vars(result.job.place)
    for k, keys in enumerate(scores.sets):
        key_set = {**place, "key_size": len(keys), "keys": "+".join(keys)}
        mean = float(scores.mean_weap[k])
        yield Score(
            **key_set, measure="weap", side="synthetic", value=mean, certain=math.nan, matched=math.nan, reason=""
        )
        for (measure, side), values in scores.values.items():
            counts = scores.attributions[side][k]
            value = float(values[k])
            yield Score(
                **key_set,
                measure=measure,
                side=side,
                value=value,
                certain=counts.certain,
                matched=counts.matched,
                reason=counts.reason if math.isnan(value) else "",
            )


def summarise(assessment: Assessment, jobs: Sequence[Job], results: Sequence[RunResult]) -> Risk:
    """The content of risk.json; `results` may lack some of the jobs."""
    folds = [
        _fold(list(runs))
        for _, runs in groupby(results, key=lambda result: (result.job.fold.level, result.job.fold.index))
    ]
    names = assessment.original.codebook.names
    return Risk(
        target=assessment.target,
        learnt=assessment.learnt,
        whose=assessment.original.whose,
        keys=tuple(assessment.keys),
        key_sizes=tuple(assessment.key_sizes),
        tau=assessment.tau,
        largest=len(assessment.keys),
        outputs=tuple(ReleasedOutput.of(released, names) for released in jobs[0].problem.released),
        folds=tuple(replace(fold, estimates=_within(fold.estimates)) for fold in folds),
        terms={METRICS[name].row_name: _meaning(METRICS[name]) for name in assessment.suite.metrics},
        levels=tuple(_level(level, list(parts)) for level, parts in groupby(folds, key=lambda fold: fold.level)),
    )


def _within(estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """With intervals of shares and differences that can be: the last step, as margins are joined as they are. One of
    no width, which would claim certainty, is none.
    """
    return tuple(map(_cut, estimates))


def _cut(of: Estimate) -> Estimate:
    if of.standard_error < _NO_WIDTH:
        reason = "; ".join(filter(None, (of.reason, sentence("no_spread"))))
        return replace(of, low=math.nan, high=math.nan, reason=reason)
    low, high = jackknife.within(of.low, of.high, of.side)
    return replace(of, low=low, high=high)


def _meaning(metric: Metric) -> str:
    return f"{metric.title}: {metric.measures}"


def _fold(results: list[RunResult]) -> Fold:
    fold = results[0].job.fold
    return Fold(
        level=fold.level,
        fold=fold.name,
        n_original=len(fold.original),
        n_holdout=len(fold.holdout) if fold.holdout else 0,
        holdout=fold.holdout_name,
        runs=tuple(_run(result) for result in results),
        estimates=tuple(_estimates(results)),
        extrapolation=tuple(_extrapolations(results)),
    )


def _run(result: RunResult) -> Run:
    difference = np.concatenate([refit.differences for refit in result.refits])
    return Run(
        run=result.job.run,
        stop=result.stop,
        generations=result.generations,
        seconds=round(result.seconds, 3),
        mae=float(np.mean(np.abs(difference))),
        mse=float(np.mean(difference**2)),
        largest_difference=float(np.max(np.abs(difference))),
        matched=sum(int(refit.matched.sum()) for refit in result.refits),
        near=sum(int(refit.near.sum()) for refit in result.refits),
        numbers=len(difference),
        failures=tuple(refit.failure for refit in result.refits if refit.failure),
    )


def _estimates(results: list[RunResult]) -> Iterator[Estimate]:
    job = results[0].job
    parts = {"all": list(range(len(job.key_sets))), "largest": [job.scored.index(job.keys)]}
    for keys, chosen in parts.items():
        scores = [some(result.scores, chosen) for result in results]
        for measure in MEASURES:
            yield from (_row(measure, keys, side, found) for side, found in against(scores, measure).items())


def _row(measure: str, keys: str, side: str, found: jackknife.Estimate) -> Estimate:
    return Estimate(
        measure=measure,
        keys=keys,
        side=side,
        value=found.value,
        standard_error=found.standard_error,
        low=found.low,
        high=found.high,
        n_key_sets=found.n_key_sets,
        n_undefined=found.n_undefined,
        reason=found.reason,
    )


def _extrapolations(results: list[RunResult]) -> Iterator[Extrapolation]:
    for measure in ("tcap_undefined", "tcap_zero"):
        for side in (*SIDES, "marginal"):
            points = [
                (
                    np.array([row.mae for row in result.snapshots], dtype=float),
                    np.array([row.risk(measure, side) for row in result.snapshots], dtype=float),
                )
                for result in results
            ]
            found = replace(possible(extrapolate(points), side), measure=measure, side=side)
            missing = side != "original" and results[0].job.fold.holdout is None
            yield replace(found, reason="no holdout") if missing else found


def _is_compared(fold: Fold, estimate: Estimate) -> bool:
    """Whether the difference between original and holdout of an estimate's measure is defined in a fold."""
    return not math.isnan(find(fold.estimates, estimate.measure, "marginal", estimate.keys).value)


def _level(level: int, folds: list[Fold]) -> Level:
    """Mean over the folds of a level, its margins of error those of the folds joined as of independent parts; of one
    fold alone they are its own. Folds that are each other's holdout err in opposite directions, which is left out: the
    interval is somewhat too wide for the marginal risk, not too narrow. Original, holdout and difference are means over
    the same folds, those where the difference is defined (if any), so that they subtract.
    """
    rows = zip(*(fold.estimates for fold in folds), strict=True)
    runs = sum(len(fold.runs) for fold in folds)
    return Level(level, len(folds), runs, _within([_over_folds(folds, estimates) for estimates in rows]))


def _over_folds(folds: Sequence[Fold], rows: Sequence[Estimate]) -> Estimate:
    compared = [row for row, fold in zip(rows, folds, strict=True) if _is_compared(fold, row)]
    used = compared or [row for row in rows if not math.isnan(row.value)]
    value = float(np.mean([row.value for row in used])) if used else math.nan
    margin = math.hypot(*((row.high - row.low) / 2 for row in used)) / len(used) if used else math.nan
    left = len(rows) - len(used)
    reason = next((row.reason for row in sorted(rows, key=lambda row: not math.isnan(row.low)) if row.reason), "")
    return replace(
        rows[0],
        value=value,
        standard_error=math.sqrt(sum(row.standard_error**2 for row in used)) / len(used) if used else math.nan,
        low=value - margin,
        high=value + margin,
        n_key_sets=sum(row.n_key_sets for row in rows),
        n_undefined=sum(row.n_undefined for row in rows),
        reason=f"{left} of {len(rows)} folds left out: {reason}" if left and used else reason,
    )
