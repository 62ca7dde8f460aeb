"""The privacy metrics for synthetic data, as a section of `outrisk measure`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from outrisk.assess.measured.families import row_table
from outrisk.assess.measured.sections import Request, Section, Table
from outrisk.risk.coding.classes import HOLDOUT
from outrisk.risk.privacy import privacy_metrics
from outrisk.risk.privacy.metrics import BETWEEN, metric_rows


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
    lengths = {HOLDOUT: len(request.holdout)} if request.holdout is not None else {}
    rows = [metric_rows(frame, request.keys, request.target, lengths) for frame in frames]
    if against:  # the interval that counts is that of the difference
        rows = [[replace(row, original_low=math.nan, original_high=math.nan) for row in each] for each in rows]
    caption = "Each metric with its 95 % interval, beside a resample of the original in place of the synthetic data"
    yield Section(
        "privacy",
        "Privacy metrics for synthetic data",
        (
            row_table("Original against holdout; the difference with its 95 % interval" if against else caption, rows),
            Table("What each metric measures", _legend(frames[0])),
        ),
        tuple(_notes(frames, against)),
        "against" if against else "worst",
    )


def _legend(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["metric", "measures", "encoding", "n", "counts", "seconds"]].rename(columns={"n": "records"})


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
