"""Means over key sets of the CAP family, and original beside holdout with intervals, as data frames."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from outrisk.reasons import sentence
from outrisk.risk.attribution.definitions import Floats
from outrisk.risk.attribution.over_key_sets import Scores, marginal, score_coding, some
from outrisk.risk.coding.classes import HOLDOUT, SIDES, Coding, Counts, Positions
from outrisk.risk.intervals.closed import Members, RunningMeans, interval, sample
from outrisk.risk.rows import AGRESTI_CAFFO, ALL, JACKKNIFE, Row

TCAP_MEASURES = ("TCAP_undefined", "TCAP_zero")
_HITTMEIR = "Hittmeir, Mayer and Ekelhart (2020)"
_TAUB = "Taub and Elliot (2019)"


@dataclass(frozen=True, eq=False)
class RecordScores:
    """What an attacked record in each cell scores by m measures, and whether it counts (0 or 1).

    A measure is the sum of scores over the records attacked, divided by the number of them that count.
    """

    measures: tuple[str, ...]  # (m,)
    score: Floats  # (m, n_cells)
    counted: Floats  # (m, n_cells)

    def values(self, counts: Counts) -> dict[str, float]:
        """The measures of a table with so many records in each cell (n_cells,); NaN where none counts."""
        sums, totals = self.score @ counts, self.counted @ counts
        found = np.divide(sums, totals, out=np.full(len(sums), math.nan), where=totals > 0)
        return dict(zip(self.measures, found.tolist(), strict=True))


class RecordMeans:
    """Running means of record scores over the key sets of each size on which both sides are defined."""

    def __init__(self, sides: Sequence[str]) -> None:
        self.sides = sides
        self.measures: tuple[str, ...] = ()
        self._means: dict[tuple[int, str], RunningMeans] = defaultdict(RunningMeans)

    def add(
        self,
        size: int,
        scores: RecordScores,
        cells: Mapping[str, Positions],
        weights: Mapping[str, Floats],
        members: Mapping[str, Members | None],
    ) -> None:
        """Take in a key set, and for each side the cells, weights and members of its distinct records."""
        self.measures = scores.measures
        counted = {side: scores.counted.take(cells[side], axis=1) for side in self.sides}
        used = np.all([each.any(axis=1) for each in counted.values()], axis=0)
        for side in self.sides:
            self._means[size, side].add(
                sample(scores.score.take(cells[side], axis=1), weights[side], counted[side], members[side]), used
            )

    def interval(self, measure: str, sizes: Sequence[int]) -> tuple[float, float]:
        """95 % interval of the marginal over the key sets of these sizes; NaN where none is defined."""
        at = self.measures.index(measure)
        found = [RunningMeans.mean([self._means[size, side] for size in sizes], at) for side in SIDES]
        if found[0] is None or found[1] is None:
            return math.nan, math.nan
        return interval(found[0], found[1])


class _Table:
    """The rows of `CapResult.per_set` of one table attacked, as numbers column by column."""

    def __init__(self, per_set: pd.DataFrame, side: str) -> None:
        self._rows, self._side = per_set[per_set["attacked"] == side], side
        self._columns: dict[str, Floats] = {}

    def __getitem__(self, column: str) -> Floats:
        if column not in self._columns:
            self._columns[column] = self._rows[column].to_numpy(dtype=float)
        return self._columns[column]

    @property
    def n_records(self) -> int:
        return int(self["n_records"][0])

    def by_size(self) -> list[tuple[str, Positions]]:
        """Positions of the rows of each size, and those of all together where there are several sizes."""
        sizes = self["size"]
        return [(f"{size:g}", np.flatnonzero(sizes == size)) for size in dict.fromkeys(sizes.tolist())] + [
            (ALL, np.arange(len(sizes)))
        ]

    def baseline(self, measure: str) -> float:
        """It depends on the target alone, so that all key sets have the same; WEAP is about synthetic records only."""
        if measure == "mean_WEAP":
            return math.nan
        return float(self["baseline_R" if measure.startswith("R_") else "baseline"][0])

    def why(self, measure: str, at: Positions) -> tuple[str, str] | None:
        """Code and side of the first reason found why a measure is undefined; None where it is defined."""
        undefined = at[np.isnan(self[measure][at])]
        if not len(undefined):
            return None
        code = "no_match"
        if measure in TCAP_MEASURES:
            code = "certain_unmatched" if self["certain"][undefined[0]] else "nothing_certain"
        return code, self._side


def summary_frame(per_set: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Mean and standard deviations over key sets (see `CapResult.summary`)."""
    rows = []
    for side in dict.fromkeys(per_set["attacked"]):
        table = _Table(per_set, side)
        for label, at in table.by_size():
            for measure in [*measures, "mean_WEAP"]:
                values = table[measure][at]
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
                        "baseline": table.baseline(measure),
                        "reason": "" if len(defined) else sentence(*(table.why(measure, at) or ("never_both", ""))),
                    }
                )
    return pd.DataFrame(rows)


def family_rows(
    per_set: pd.DataFrame, measures: Sequence[str], target: str, means: RecordMeans, scores: Scores | None
) -> list[Row]:
    """A row for each measure and size of key sets, and for all together: means over the key sets.

    With a holdout the means are over the key sets where both sides are defined; `scores` are the jackknife's.
    """
    original, holdout = (_Table(per_set, side) for side in SIDES)
    rows = []
    for label, at in original.by_size():
        for measure in measures:
            row = Row(
                family="cap", measure=measure, size=label, target=target, baseline=original.baseline(measure),
                sets=len(at), n_original=original.n_records,
            )  # fmt: skip
            own = original[measure][at]
            if scores is None:
                rows.append(replace(row, original=_mean(own), defined=int((~np.isnan(own)).sum()), reason="no_holdout"))
                continue
            row = replace(row, n_holdout=holdout.n_records)
            other = holdout[measure][at]
            both = ~np.isnan(own - other)
            if not both.any():  # each side alone still says what it can
                reason, detail = original.why(measure, at) or holdout.why(measure, at) or ("never_both", "")
                rows.append(replace(row, original=_mean(own), holdout=_mean(other), reason=reason, detail=detail))
                continue
            if measure in TCAP_MEASURES:
                method, (low, high, reason) = JACKKNIFE, tcap_interval(some(scores, at), measure)
            else:
                sizes = sorted(set(original["size"][at].tolist()))
                method, (low, high), reason = AGRESTI_CAFFO, means.interval(measure, sizes), ""
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


def tcap_scores(
    coding: Coding, sets: Sequence[tuple[str, ...]], target: str, tau: float, groups: int, seed: int
) -> Scores | None:
    """Jackknife replicates of TCAP: of as many groups as asked for or as there are records; None without a holdout."""
    if HOLDOUT not in coding.lengths:
        return None
    possible = min(groups, *(coding.apart(side) for side in SIDES))
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


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan
