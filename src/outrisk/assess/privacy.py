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
from outrisk.risk.privacy.registry import choose_metrics
from outrisk.risk.privacy.run import BETWEEN

STUDY_METRICS = tuple(name for name in METRICS if name not in ("D-MLP", "MIR", "HiddR"))  # no training, no links
_STUDY_SAMPLE, _STUDY_SECONDS = 1_000, 20.0
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
    synthetic: Microdata, fold: Fold, keys: tuple[str, ...], target: str, seed: int
) -> list[dict[str, Any]]:
    """A row for each metric of STUDY_METRICS, of at most 1,000 records of each table against all of the other."""
    try:
        found = privacy_metrics(
            fold.original.frame(),
            synthetic.frame(),
            None if fold.holdout is None else fold.holdout.frame(),
            keys=keys,
            target=target,
            codebook=synthetic.codebook,
            metrics=STUDY_METRICS,
            sample=_STUDY_SAMPLE,
            time_limit=_STUDY_SECONDS,
            seed=seed,
            threads=1,
        )
    except RiskError as error:
        return [{"metric": name, "value": math.nan, "status": "error", "note": str(error)} for name in STUDY_METRICS]
    return [{str(name): value for name, value in row.items()} for row in found[ROW].to_dict("records")]
