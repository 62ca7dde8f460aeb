"""The report's section on the privacy metrics, from privacy.csv of a run directory."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from outrisk.errors import ConfigError
from outrisk.report import disclosure, formats

FILE = "privacy.csv"
_NUMBERS = [
    *["value", "low", "high", "holdout", "worst_case", "difference", "difference_low", "difference_high"],
]
_BETWEEN, _SAMPLE = " · ", "asked about a sample"  # between notes; a note that the caption makes needless
_TEXTS = ["fold", "metric", "direction", "status", "note"]


def read_privacy(directory: Path) -> pd.DataFrame | None:
    """The file's rows; None where a run was made before there was such a file."""
    path = directory / FILE
    if not path.is_file():
        return None
    try:
        frame = pd.read_csv(path, dtype=dict.fromkeys(_TEXTS, str), keep_default_na=False)
        frame = frame.assign(**{name: pd.to_numeric(frame[name]) for name in _NUMBERS})
        return frame.astype({"level": "int64"})[["level", *_TEXTS, *_NUMBERS]]
    except (ValueError, KeyError, OSError) as error:
        raise ConfigError(f"{path} cannot be read: {' '.join(str(error).split())}; see docs/files.md") from error


def privacy_context(directory: Path, levels: list[int], lead: int | None) -> dict[str, Any] | None:
    """What privacy.html shows: the level of the report's answer, else the largest folds; None if nothing."""
    frame = read_privacy(directory)
    if frame is None or frame.empty or not levels:
        return None
    level = lead if lead is not None else min(levels)
    own = frame[frame["level"] == level]
    if own.empty:
        return None
    notes: dict[str, list[str]] = {}
    for row in own[own["note"] != ""].to_dict("records"):
        for note in str(row["note"]).split(_BETWEEN):
            if not note.startswith(_SAMPLE):
                notes.setdefault(note, []).append(f"{row['metric']} (fold {row['fold']})")
    shared = len(own)
    return {
        "level": level,
        "folds": own["fold"].nunique(),
        "against": bool(own["holdout"].notna().any()),
        "number": 9 + (disclosure.read_disclosure(directory) is not None),
        "rows": [_row(str(metric), group) for metric, group in own.groupby("metric", sort=False)],
        "notes": [note if len(at) == shared else f"{', '.join(at)}: {note}" for note, at in notes.items()],
    }


def _row(metric: str, group: pd.DataFrame) -> dict[str, str]:
    known = group.dropna(subset=["difference_low", "difference_high"])
    apart = ((known["difference_low"] > 0) | (known["difference_high"] < 0)).sum()
    status = [status for status in dict.fromkeys(group["status"]) if status != "ok"]
    one = len(group) == 1
    return {
        "metric": metric,
        "direction": str(group["direction"].iloc[0]),
        "value": ", ".join(status) if status else formats.fixed(float(group["value"].mean()), 3),
        **{name: _mean(group[name]) for name in ("holdout", "worst_case")},
        "difference": _mean(group["difference"], sign=True),
        "apart": f"{apart} of {len(known)}" if len(known) else "–",
        "interval": f"{_mean(group['low'])} to {_mean(group['high'])}" if one and not status else "–",
    }


def _mean(values: pd.Series[float], sign: bool = False) -> str:
    mean = float(values.mean())
    return "–" if math.isnan(mean) else formats.fixed(mean, 3, sign)
