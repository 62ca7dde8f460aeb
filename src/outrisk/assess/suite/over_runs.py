"""Means over runs of the suite's measures: rows of over_runs.csv, by fold and for all folds of a level together.

Runs without a value are left out and counted; without a difference from the holdout, where there is one.

An interval has two parts. The sampling of records: the runs of a fold are measured on the same records, so that their
intervals are averaged, as if they erred all alike. The variation between runs: the variance of their values / their
number. The parts are added as variances, above and below the mean by themselves (the intervals of shares are not
symmetric), with Satterthwaite's degrees of freedom (1946). Folds are taken as independent; folds that are each other's
holdout err in opposite directions, so that a difference has too wide an interval rather than too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from scipy.special import stdtrit

from outrisk.assess.run import RunResult
from outrisk.reasons import sentence
from outrisk.records.schema import MeanOfRuns
from outrisk.result_row import NORMAL, Row
from outrisk.risk.privacy.metrics import BETWEEN

_NEEDLESS = "asked about a sample"  # what the study says by itself
_LEVEL = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean with the two parts of its variance, below and above it; NaN where undefined."""

    value: float
    sampling: tuple[float, float]
    between: float
    degrees: float  # of `between`

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        low, high = (self._margin(part) for part in self.sampling)
        return self.value - low, self.value + high

    def _margin(self, sampling: float) -> float:
        variance = sampling + self.between
        if not self.between > 0:
            return NORMAL * math.sqrt(variance)
        ratio = variance / self.between  # may be beyond what a power allows; a product becomes infinite
        degrees = self.degrees * ratio * ratio
        return float(stdtrit(degrees, (1 + _LEVEL) / 2)) * math.sqrt(variance)


UNDEFINED = Mean(math.nan, (math.nan, math.nan), math.nan, math.nan)


def mean_of_runs(runs: Sequence[tuple[float, float, float]]) -> Mean:
    """Mean of (value, low, high) of several runs on the same records; runs without a value are left out.

    Without an interval of one that is not left out there is none.
    """
    known = np.array([run for run in runs if not math.isnan(run[0])])
    if not len(known):
        return UNDEFINED
    values = known[:, 0]
    below, above = np.maximum(values - known[:, 1], 0), np.maximum(known[:, 2] - values, 0)
    n = len(known)
    between = float(values.var(ddof=1)) / n if n > 1 else 0.0
    sampling = (float(below.mean() / NORMAL) ** 2, float(above.mean() / NORMAL) ** 2)
    return Mean(float(values.mean()), sampling, between, n - 1)


def mean_of_folds(folds: Sequence[Mean]) -> Mean:
    """Mean of the folds that have a value."""
    known = [fold for fold in folds if not math.isnan(fold.value)]
    if not known:
        return UNDEFINED
    n = len(known)
    low, high = (sum(fold.sampling[side] for fold in known) / n**2 for side in (0, 1))
    between = sum(fold.between for fold in known) / n**2
    spread = sum((fold.between / n**2) ** 2 / fold.degrees for fold in known if fold.between > 0)
    value = float(np.mean([fold.value for fold in known]))
    return Mean(value, (low, high), between, between**2 / spread if spread else math.inf)


def over_runs(results: Sequence[RunResult]) -> Iterator[MeanOfRuns]:
    """Rows of over_runs.csv; `results` in the order of the folds."""
    for family in dict.fromkeys(row.family for result in results for row in result.measures):
        for level, of_level in groupby(results, key=lambda result: result.job.fold.level):
            folds = [
                [[row for row in result.measures if row.family == family] for result in runs]
                for _, runs in groupby(of_level, key=lambda result: result.job.fold.index)
            ]
            at = [result.job.fold for result in results if result.job.fold.level == level]
            against = family != "privacy" and at[0].holdout is not None  # a metric need not have a difference
            yield from _of_level(family, level, list(dict.fromkeys(fold.name for fold in at)), folds, against)


def _of_level(
    family: str, level: int, names: Sequence[str], folds: Sequence[Sequence[Sequence[Row]]], against: bool
) -> Iterator[MeanOfRuns]:
    """Rows of every fold, then, where there are several, of all of them; folds[i][j]: rows of run j of fold i."""
    for place in dict.fromkeys(map(_place, (row for fold in folds for run in fold for row in run))):
        found = [[row for run in fold for row in run if _place(row) == place] for fold in folds]
        for name, rows in zip(names, found, strict=True):
            yield _mean_row(family, level, name, [rows], against)
        if len(folds) > 1:
            yield _mean_row(family, level, "", found, against)


def _place(row: Row) -> tuple[str, str, str, str]:
    return row.measure, row.keys, row.size, row.target


def _mean_row(family: str, level: int, fold_name: str, folds: Sequence[Sequence[Row]], against: bool) -> MeanOfRuns:
    """One measure: means over the runs of each fold, then over the folds; `against`: of original against holdout."""
    rows = [row for fold in folds for row in fold]
    column = next((name for name in ("synthetic", "difference") if not math.isnan(_mean(folds, name))), "original")
    if column == "original" and against:
        column = "difference"  # undefined in every run
    shown = [value for row in rows if not math.isnan(value := getattr(row, column))]
    used = [[row for row in fold if not shown or not math.isnan(getattr(row, column))] for fold in folds]
    original, difference = (
        mean_of_folds([mean_of_runs([_triple(row, *names) for row in fold]) for fold in used])
        for names in (("original", "original_low", "original_high"), ("difference", "low", "high"))
    )
    first = rows[0]
    reason, detail = _why([row for row in rows if math.isnan(getattr(row, column))])
    return MeanOfRuns(
        family=family,
        level=level,
        fold=fold_name,
        measure=first.measure,
        keys=first.keys,
        size=first.size,
        target=first.target,
        unit=first.unit,
        direction=first.direction,
        original=original.value,
        original_low=float(np.maximum(original.interval[0], 0.0)),  # of a share; undefined stays undefined
        original_high=float(np.minimum(original.interval[1], 1.0)),
        holdout=_mean(used, "holdout"),
        synthetic=_mean(used, "synthetic"),
        baseline=_mean(used, "baseline"),
        worst_case=_mean(folds, "worst_case"),
        difference=difference.value,
        low=difference.interval[0],
        high=difference.interval[1],
        least=min(shown, default=math.nan),
        most=max(shown, default=math.nan),
        runs=len(rows),
        runs_defined=len(shown),
        reason=reason,
        detail=detail,
        note=BETWEEN.join(_notes([row for row in rows if not math.isnan(getattr(row, column))])),
    )


def _why(undefined: Sequence[Row]) -> tuple[str, str]:
    """Why runs have no value, as a code and its detail; that there is no holdout, the study says by itself."""
    found = dict.fromkeys((row.reason, row.detail) for row in undefined if row.reason not in ("", "no_holdout"))
    if len(found) > 1:
        return "several", "; ".join(sentence(*each) for each in found)
    return next(iter(found), ("", ""))


def _notes(rows: Sequence[Row]) -> dict[str, None]:
    """What else is to be known of the runs that have a value."""
    reasons = [row.sentence for row in rows if row.reason not in ("", "no_holdout")]
    notes = [note for row in rows for note in row.note.split(BETWEEN)]
    return dict.fromkeys(text for text in [*reasons, *notes] if text and not text.startswith(_NEEDLESS))


def _triple(row: Row, *names: str) -> tuple[float, float, float]:
    value, low, high = (getattr(row, name) for name in names)
    return value, low, high


def _mean(folds: Sequence[Sequence[Row]], name: str) -> float:
    """Mean over the folds of means over runs, of those that are defined."""
    means = [
        float(np.mean(values))
        for fold in folds
        if (values := [value for row in fold if not math.isnan(value := getattr(row, name))])
    ]
    return float(np.mean(means)) if means else math.nan
