"""Means over key sets of the CAP family, and original beside holdout with intervals, as data frames."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from outrisk.risk.attribution.definitions import Floats
from outrisk.risk.attribution.over_key_sets import Scores, marginal, score_coding
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, Coding, Positions
from outrisk.risk.intervals.closed import RunningMean, interval, sample

TCAP_MEASURES = ("TCAP_undefined", "TCAP_zero")
ALL = "all"
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
                        "reason": "" if len(defined) else _why(part, measure),
                    }
                )
    return pd.DataFrame(rows)


def marginal_frame(
    per_set: pd.DataFrame,
    measures: Sequence[str],
    means: RecordMeans,
    scores: Scores | None,
) -> pd.DataFrame:
    """Original minus holdout, its interval and the baseline (see `CapResult.marginal`)."""
    original = per_set[per_set["attacked"] == ORIGINAL].reset_index(drop=True)
    holdout = per_set[per_set["attacked"] == HOLDOUT].reset_index(drop=True)
    rows = []
    for label, part in _by_size(original):
        for measure in measures:
            row: dict[str, object] = {"measure": measure, "definition": _definition(measure), "size": label}
            values = {"original": part[measure].to_numpy(dtype=float), "holdout": np.full(len(part), math.nan)}
            if scores is not None:
                values["holdout"] = holdout.loc[part.index, measure].to_numpy(dtype=float)
            both = ~np.isnan(values["original"] - values["holdout"])
            low, high, reason = math.nan, math.nan, ""
            if scores is None:
                row |= {"original": _mean(values["original"]), "holdout": math.nan}
                reason = "no holdout"
            else:
                # without a key set where both are defined, each side alone still says what it can
                row |= {side: _mean(found[both] if both.any() else found) for side, found in values.items()}
                if not both.any():
                    reason = _why(part, measure) or _why(holdout.loc[part.index], measure) or "never defined on both"
                elif measure in TCAP_MEASURES:
                    low, high, reason = tcap_interval(some(scores, part.index.to_numpy()), measure)
                else:
                    low, high = means.interval(measure, sorted(set(part["size"])))
            difference = float((values["original"] - values["holdout"])[both].mean()) if both.any() else math.nan
            counts = {"n_sets": len(part), "n_both": int(both.sum())}
            row |= {"marginal": difference, "low": low, "high": high, "baseline": _baseline(part, measure)}
            rows.append(row | counts | {"reason": reason})
    return pd.DataFrame(rows)


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
    """95 % interval of TCAP's marginal over all key sets scored, within [-1, 1], or why there is none."""
    if scores is None:
        return math.nan, math.nan, "no holdout"
    estimate = marginal(scores, measure.lower())
    if estimate.standard_error == 0:
        return math.nan, math.nan, "no interval: every jackknife group gives the same value"
    # a NaN bound must stay one: min and max would replace it
    low, high = np.clip([estimate.low, estimate.high], -1.0, 1.0)
    return float(low), float(high), estimate.reason


def some(scores: Scores, which: Positions | list[int]) -> Scores:
    """The scores of the key sets at these positions."""
    return dataclasses.replace(
        scores,
        sets=tuple(scores.sets[k] for k in which),
        values={at: values[which] for at, values in scores.values.items()},
        replicates={at: replicates[which] for at, replicates in scores.replicates.items()},
        attributions={side: tuple(found[k] for k in which) for side, found in scores.attributions.items()},
        mean_weap=scores.mean_weap[which],
        non_matches={side: found[which] for side, found in scores.non_matches.items()},
    )


def _definition(measure: str) -> str:
    return _TAUB if measure.startswith("TCAP") or measure == "mean_WEAP" else _HITTMEIR


def _baseline(part: pd.DataFrame, measure: str) -> float:
    """It depends on the target alone, so that all key sets have the same; WEAP is about synthetic records only."""
    if measure == "mean_WEAP":
        return math.nan
    return float(part["baseline_R" if measure.startswith("R_") else "baseline"].iloc[0])


def _why(part: pd.DataFrame, measure: str) -> str:
    """The first reason found why a measure is undefined."""
    undefined = part.loc[part[measure].isna()]
    subject = "TCAP" if measure in TCAP_MEASURES else "ICAP"
    reasons = [reason for text in undefined["reason"] for reason in text.split("; ") if reason.startswith(subject)]
    return f"{reasons[0]} ({undefined['attacked'].iloc[0]})" if reasons else ""


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan
