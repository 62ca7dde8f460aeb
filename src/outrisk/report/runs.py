"""Runs and folds as rows: how each ended, and how well it met the released numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from outrisk.records.results import Results
from outrisk.records.schema import Run
from outrisk.report import formats


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
            "held_out": formats.count(fold.n_holdout or None),
            "runs": f"{len(fold.runs):,}",
            "stop": "; ".join(dict.fromkeys(formats.stop(run.stop) for run in fold.runs)),
            "generations": formats.spread([formats.count(x) for x in sorted(run.generations for run in fold.runs)]),
            "seconds": formats.spread([formats.seconds(x) for x in _ordered([run.seconds for run in fold.runs])]),
            "mae": formats.spread([formats.error(x) for x in _ordered([run.mae for run in fold.runs])]),
            "largest": formats.spread([formats.error(x) for x in _ordered([r.largest_difference for r in fold.runs])]),
            "matched": matched_range(fold.runs),
            "near": near_range(fold.runs),
        }
        for fold in results.risk.folds
        if fold.runs
    ]


def matched_range(runs: Sequence[Run]) -> str:
    """`9 of 9`, or `7 to 9 of 9`, over the runs of a fold."""
    return f"{formats.spread([f'{x:,}' for x in sorted(run.matched for run in runs)])} of {runs[0].numbers:,}"


def near_range(runs: Sequence[Run]) -> str:
    """The same of the numbers within 1 % of their sampling error."""
    return f"{formats.spread([f'{x:,}' for x in sorted(run.near for run in runs)])} of {runs[0].numbers:,}"


def _ordered(values: Sequence[float]) -> list[float]:
    """Ascending, what is undefined last."""
    return sorted(values, key=lambda value: (math.isnan(value), value))
