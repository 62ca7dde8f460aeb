"""The report's section on the disclosure suite, from disclosure.csv of a run directory."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from outrisk.errors import ConfigError
from outrisk.report import formats
from outrisk.report.tables import NO_HOLDOUT

FILE = "disclosure.csv"
_NUMBERS = ["original", "holdout", "marginal", "low", "high", "baseline", "synthetic"]


def read_disclosure(directory: Path) -> pd.DataFrame | None:
    """The file's rows; None where a run was made before there was such a file."""
    path = directory / FILE
    if not path.is_file():
        return None
    try:
        frame = pd.read_csv(path, dtype={"fold": str, "measure": str, "reason": str}, keep_default_na=False)
        frame = frame.assign(**{name: pd.to_numeric(frame[name]) for name in _NUMBERS})
        return frame.astype({"level": "int64", "run": "int64"})
    except (ValueError, KeyError, OSError) as error:
        raise ConfigError(f"{path} cannot be read: {' '.join(str(error).split())}; see docs/files.md") from error


def disclosure_rows(frame: pd.DataFrame, level: int) -> list[dict[str, Any]]:
    """A row for each measure of a level: means over its runs, written for readers.

    The difference has its range over the runs, and in how many of them its 95 % interval leaves 0 out.
    """
    own = frame[frame["level"] == level]
    return [_row(str(measure), group) for measure, group in own.groupby("measure", sort=False)]


def _row(measure: str, group: pd.DataFrame) -> dict[str, Any]:
    difference = group["marginal"].dropna()
    known = group.dropna(subset=["low", "high"])
    apart = ((known["low"] > 0) | (known["high"] < 0)).sum()
    reasons = [reason for reason in dict.fromkeys(group["reason"]) if reason and reason != NO_HOLDOUT]
    absent = _absent(group)
    return {
        "measure": measure,
        **{name: _mean(group[name], name in absent) for name in ("synthetic", "original", "holdout", "baseline")},
        "marginal": _mean(difference, "marginal" in absent, sign=True),
        "range": formats.spread([formats.fixed(value, 2, sign=True) for value in sorted(difference)]),
        "apart": f"{apart} of {len(known)}" if len(known) else "–",
        "reasons": [f"{measure}: {reason}" for reason in reasons],
    }


def _mean(values: pd.Series[float], absent: bool, sign: bool = False) -> str:
    """The mean where defined; a dash for what the measure does not have."""
    mean = float(values.mean())
    return "–" if math.isnan(mean) and absent else formats.fixed(mean, 2, sign)


def _absent(group: pd.DataFrame) -> set[str]:
    """Columns that the measure does not have, rather than that are undefined."""
    if group["synthetic"].notna().any():
        return {"original", "holdout", "marginal", "baseline"}
    gone = {"holdout", "marginal"} if (group["reason"] == NO_HOLDOUT).all() else set()
    return {"synthetic", "baseline", *gone}


def disclosure_context(directory: Path, levels: list[int], lead: int | None) -> dict[str, Any] | None:
    """What disclosure.html shows: the level of the report's answer, else the largest folds; None if nothing."""
    frame = read_disclosure(directory)
    if frame is None or frame.empty or not levels:
        return None
    level = lead if lead is not None else min(levels)
    rows = disclosure_rows(frame, level)
    runs = len(frame[frame["level"] == level][["fold", "run"]].drop_duplicates())
    return {"level": level, "rows": rows, "runs": runs} if rows else None
