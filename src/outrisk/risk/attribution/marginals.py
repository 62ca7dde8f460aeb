"""Means over key sets of the CAP family, and original beside holdout with intervals, as data frames."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from outrisk.reasons import sentence
from outrisk.risk.attribution.definitions import Floats
from outrisk.risk.attribution.over_key_sets import Scores, marginal, score_coding, some
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, Coding, Positions
from outrisk.risk.intervals.closed import RunningMean, interval, sample
from outrisk.risk.rows import AGRESTI_CAFFO, ALL, JACKKNIFE, Row

TCAP_MEASURES = ("TCAP_undefined", "TCAP_zero")
_HITTMEIR = "Hittmeir, Mayer and Ekelhart (2020)"
_TAUB = "Taub and Elliot (2019)"


class RecordMeans:
    """Running means of record scores over the key sets of each size on which both sides are defined."""

    def __init__(self, sides: Sequence[str]) -> None:
        self.sides = sides
        self._means: dict[tuple[int, str, str], RunningMean] = defaultdict(RunningMean)

    def add(
        self,
        size: int,
        scores: Mapping[str, tuple[Floats, Floats]],
        cells: Mapping[str, Positions],
        weights: Mapping[str, Floats],
    ) -> None:
        """Take in a key set: scores by cell, and for each side the cells and weights of its distinct records."""
        for measure, (score, counted) in scores.items():
            counts = {side: counted[cells[side]] for side in self.sides}
            if all(counts[side].any() for side in self.sides):
                for side in self.sides:
                    self._means[size, measure, side].add(sample(score[cells[side]], weights[side], counts[side]))

    def interval(self, measure: str, sizes: Sequence[int]) -> tuple[float, float]:
        """95 % interval of the marginal over the key sets of these sizes; NaN where none is defined."""
        sides = {side: RunningMean() for side in (ORIGINAL, HOLDOUT)}
        for side, total in sides.items():
            for size in sizes:
                if (part := self._means.get((size, measure, side))) is not None:
                    total.add(part.mean(), part.n)
        if not sides[ORIGINAL].n:
            return math.nan, math.nan
        return interval(sides[ORIGINAL].mean(), sides[HOLDOUT].mean())


def summary_frame(per_set: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Mean and standard deviations over key sets (see `CapResult.summary`)."""
    rows = []
    for side, of_side in per_set.groupby("attacked", sort=False):
        for label, part in _by_size(of_side):
            for measure in [*measures, "mean_WEAP"]:
                values = part[measure].to_numpy(dtype=float)
                defined = values[~np.isnan(values)]
                rows.append(
                    {
                        "measure": measure,
                        "definition": _definition(measure),
                        "size": label,
                        "attacked": side,
                        "mean": defined.mean() if len(defined) else math.nan,
                        "sd": defined.std() if len(defined) else math.nan,
                        "sd_sample": defined.std(ddof=1) if len(defined) > 1 else math.nan,
                        "n_sets": len(values),
                        "n_defined": len(defined),
                        "baseline": _baseline(part, measure),
                        "reason": "" if len(defined) else sentence(*(_why(part, measure) or ("never_both", ""))),
                    }
                )
    return pd.DataFrame(rows)


def family_rows(
    per_set: pd.DataFrame, measures: Sequence[str], target: str, means: RecordMeans, scores: Scores | None
) -> list[Row]:
    """A row for each measure and size of key sets, and for all together: means over the key sets.

    With a holdout the means are over the key sets where both sides are defined; `scores` are the jackknife's.
    """
    original = per_set[per_set["attacked"] == ORIGINAL].reset_index(drop=True)
    holdout = per_set[per_set["attacked"] == HOLDOUT].reset_index(drop=True)
    rows = []
    for label, part in _by_size(original):
        for measure in measures:
            row = Row(
                family="cap", measure=measure, size=label, target=target, baseline=_baseline(part, measure),
                sets=len(part), n_original=int(part["n_records"].iloc[0]),
            )  # fmt: skip
            own = part[measure].to_numpy(dtype=float)
            if scores is None:
                rows.append(replace(row, original=_mean(own), defined=int((~np.isnan(own)).sum()), reason="no_holdout"))
                continue
            of_holdout = holdout.loc[part.index]
            row = replace(row, n_holdout=int(of_holdout["n_records"].iloc[0]))
            other = of_holdout[measure].to_numpy(dtype=float)
            both = ~np.isnan(own - other)
            if not both.any():  # each side alone still says what it can
                reason, detail = _why(part, measure) or _why(of_holdout, measure) or ("never_both", "")
                rows.append(replace(row, original=_mean(own), holdout=_mean(other), reason=reason, detail=detail))
                continue
            if measure in TCAP_MEASURES:
                method, (low, high, reason) = JACKKNIFE, tcap_interval(some(scores, part.index.to_numpy()), measure)
            else:
                method, (low, high), reason = AGRESTI_CAFFO, means.interval(measure, sorted(set(part["size"]))), ""
            rows.append(
                replace(
                    row,
                    original=_mean(own[both]),
                    holdout=_mean(other[both]),
                    reason=reason,
                    method=method,
                    difference=float((own - other)[both].mean()),
                    low=low,
                    high=high,
                    defined=int(both.sum()),
                )
            )
    return rows


def marginal_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """The rows under the names of `CapResult.marginal`."""
    return pd.DataFrame(
        [
            {
                "measure": row.measure,
                "definition": _definition(row.measure),
                "size": row.size,
                "original": row.original,
                "holdout": row.holdout,
                "marginal": row.difference,
                "low": row.low,
                "high": row.high,
                "baseline": row.baseline,
                "n_sets": row.sets,
                "n_both": row.defined if row.n_holdout else 0,
                "reason": row.sentence,
            }
            for row in rows
        ]
    )


def _by_size(part: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each size, and those of all together where there are several sizes."""
    parts = [(str(size), rows) for size, rows in part.groupby("size", sort=False)]
    return [*parts, (ALL, part)]


def tcap_scores(
    coding: Coding, sets: Sequence[tuple[str, ...]], target: str, tau: float, groups: int, seed: int
) -> Scores | None:
    """Jackknife replicates of TCAP: of as many groups as asked for or as there are records; None without a holdout."""
    if HOLDOUT not in coding.lengths:
        return None
    possible = min(groups, coding.lengths[ORIGINAL], coding.lengths[HOLDOUT])
    return score_coding(coding, sets, target, tau, 0 if possible == 1 < groups else possible, seed)


def tcap_interval(scores: Scores | None, measure: str = "TCAP_undefined") -> tuple[float, float, str]:
    """95 % interval of TCAP's marginal over all key sets scored, within [-1, 1], or the code why there is none."""
    if scores is None:
        return math.nan, math.nan, "no_holdout"
    estimate = marginal(scores, measure.lower())
    if estimate.standard_error == 0:
        return math.nan, math.nan, "no_spread"
    # a NaN bound must stay one: min and max would replace it
    low, high = np.clip([estimate.low, estimate.high], -1.0, 1.0)
    return float(low), float(high), estimate.code


def _definition(measure: str) -> str:
    return _TAUB if measure.startswith("TCAP") or measure == "mean_WEAP" else _HITTMEIR


def _baseline(part: pd.DataFrame, measure: str) -> float:
    """It depends on the target alone, so that all key sets have the same; WEAP is about synthetic records only."""
    if measure == "mean_WEAP":
        return math.nan
    return float(part["baseline_R" if measure.startswith("R_") else "baseline"].iloc[0])


def _why(part: pd.DataFrame, measure: str) -> tuple[str, str] | None:
    """Code and side of the first reason found why a measure is undefined; None where it is defined."""
    undefined = part.loc[part[measure].isna()]
    if not len(undefined):
        return None
    first, code = undefined.iloc[0], "no_match"
    if measure in TCAP_MEASURES:
        code = "certain_unmatched" if first["certain"] else "nothing_certain"
    return code, str(first["attacked"])


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan
