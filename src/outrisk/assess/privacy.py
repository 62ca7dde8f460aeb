"""The privacy metrics for synthetic data, as a section of `outrisk measure` and as rows of a study's privacy.csv."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from outrisk.assess.families import _each_and_mean
from outrisk.assess.folds import Fold
from outrisk.assess.sections import Request, Section, Table
from outrisk.errors import RiskError
from outrisk.microdata import Microdata
from outrisk.risk.privacy import METRICS, privacy_metrics
from outrisk.risk.privacy.metrics import BETWEEN
from outrisk.risk.privacy.registry import DEFAULT, choose_metrics

TRAINED = ("D-MLP", "MIR")
UNTRAINED = tuple(name for name in METRICS if name not in TRAINED)
NOT_ASKED = "not asked"
ROW = [
    *["metric", "value", "low", "high", "holdout", "worst_case", "difference", "difference_low", "difference_high"],
    *["direction", "encoding", "n", "seconds", "status", "note"],
]
COLUMNS = ["level", "fold", "run", *ROW]


def chosen_metrics(names: Sequence[str]) -> tuple[str, ...]:
    """The metrics of these names as they are written; RiskError for one that is not known."""
    return tuple(metric.name for metric in choose_metrics(names)) if names else ()


def privacy_sections(request: Request) -> Iterator[Section]:
    """The metrics asked for, each beside the holdout or, without one, a resample of the original as worst case."""
    asked = request.privacy
    if asked is None:
        return
    frames = [
        privacy_metrics(
            request.original,
            synthetic,
            request.holdout,
            keys=request.keys,
            target=request.target,
            codebook=request.codebook,
            metrics=asked.metrics or None,
            sample=asked.sample,
            time_limit=asked.time_limit,
            progress=asked.progress,
        )
        for synthetic in request.synthetic
    ]
    against = request.holdout is not None
    shown = [_shown(frame, against) for frame in frames]
    columns = list(shown[0].columns)
    caption = "Each metric with its 95 % interval, beside a resample of the original in place of the synthetic data"
    yield Section(
        "privacy",
        "Privacy metrics for synthetic data",
        (
            Table(
                "Original against holdout; the difference with its 95 % interval" if against else caption,
                _each_and_mean(shown, columns),
                "share",
            ),
            Table("What each metric measures", _legend(frames[0]), "share"),
        ),
        tuple(_notes(frames, against)),
        "against" if against else "worst",
    )


def _shown(frame: pd.DataFrame, against: bool) -> pd.DataFrame:
    """The columns of the first table, by the names that its figure knows."""
    table = frame.rename(columns={"metric": "measure"}).assign(status=frame["status"].replace("ok", ""))
    if against:
        renamed = {"value": "original", "difference": "marginal", "difference_low": "low", "difference_high": "high"}
        kept = table.drop(columns=["low", "high"]).rename(columns=renamed)
        return kept[["measure", "original", "holdout", "marginal", "low", "high", "direction", "seconds", "status"]]
    renamed = {"value": "original", "low": "from", "high": "to"}
    kept = table.rename(columns=renamed)
    return kept[["measure", "original", "from", "to", "worst_case", "direction", "seconds", "status"]]


def _legend(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["metric", "measures", "encoding", "n", "counts"]].rename(columns={"n": "records"})


def _notes(frames: Sequence[pd.DataFrame], against: bool) -> Iterator[str]:
    beside = "its holdout" if against else "the worst case, and give a holdout to see what is the release's doing"
    yield (
        "Synthetic data that hold nobody of the original do not score 0 on most of these metrics: read each beside "
        f"{beside}."
    )
    by_note: dict[str, list[str]] = {}
    for i, frame in enumerate(frames, start=1):
        for metric, notes in zip(frame["metric"], frame["note"], strict=True):
            for note in filter(None, str(notes).split(BETWEEN)):
                by_note.setdefault(note, []).append(str(metric) if len(frames) == 1 else f"{metric} ({i})")
    for note, metrics in by_note.items():
        everywhere = len(frames) == 1 and len(metrics) == len(frames[0])
        yield note if everywhere else f"{', '.join(metrics)}: {note}"


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
    if name in TRAINED:
        return "trains classifiers, which takes seconds a run: 'privacy: {metrics: all}' in the study file asks for it"
    return "not among the privacy metrics that the study file asks for"
