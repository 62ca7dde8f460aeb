"""The privacy metrics for synthetic data, as rows of a study's privacy.csv."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from outrisk.assess.folds import Fold
from outrisk.errors import RiskError
from outrisk.microdata import Microdata
from outrisk.risk.privacy import METRICS, privacy_metrics
from outrisk.risk.privacy.registry import DEFAULT, choose_metrics

UNTRAINED = tuple(name for name, metric in METRICS.items() if not metric.trained)
NOT_ASKED = "not asked"
ROW = [
    *["metric", "value", "low", "high", "holdout", "worst_case", "difference", "difference_low", "difference_high"],
    *["direction", "encoding", "n", "seconds", "status", "note"],
]
COLUMNS = ["level", "fold", "run", *ROW]


def chosen_metrics(names: Sequence[str]) -> tuple[str, ...]:
    """The metrics of these names as they are written; RiskError for one that is not known."""
    return tuple(metric.name for metric in choose_metrics(names)) if names else ()


def privacy_rows(
    synthetic: Microdata,
    fold: Fold,
    keys: tuple[str, ...],
    target: str,
    seed: int,
    metrics: Sequence[str] = UNTRAINED,
    sample: int | None = None,
    time_limit: float | None = None,
    worst_case: bool = True,
) -> list[dict[str, Any]]:
    """A row for every metric: measured where it is among `metrics`, else 'not asked' with the reason.

    Every run of a fold is asked about the same records of original and holdout.
    """
    found: dict[str, dict[str, Any]] = {}
    try:
        if metrics:
            frame = privacy_metrics(
                fold.original.frame(),
                synthetic.frame(),
                None if fold.holdout is None else fold.holdout.frame(),
                keys=keys,
                target=target,
                codebook=synthetic.codebook,
                metrics=metrics,
                sample=sample,
                time_limit=time_limit,
                seed=seed,
                threads=1,
                worst_case=worst_case,
            )
            found = {str(row["metric"]): {str(k): v for k, v in row.items()} for row in frame[ROW].to_dict("records")}
    except RiskError as error:
        found = {name: _row(name, "error", str(error)) for name in metrics}
    return [found.get(name) or _row(name, NOT_ASKED, _why_not(name)) for name in METRICS]


def _row(name: str, status: str, note: str) -> dict[str, Any]:
    return {
        "metric": name,
        "value": math.nan,
        "direction": METRICS[name].runs(DEFAULT),
        "status": status,
        "note": note,
    }


def _why_not(name: str) -> str:
    if METRICS[name].trained:
        return "trains classifiers, which takes seconds a run: 'privacy: {metrics: all}' in the study file asks for it"
    return "not among the privacy metrics that the study file asks for"
