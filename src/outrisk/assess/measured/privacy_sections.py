"""The privacy metrics for synthetic data, as a section of `outrisk measure`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from outrisk.assess.measured.families import each_and_mean
from outrisk.assess.measured.sections import Request, Section, Table
from outrisk.risk.privacy import privacy_metrics
from outrisk.risk.privacy.metrics import BETWEEN


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
                each_and_mean(shown, columns),
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
