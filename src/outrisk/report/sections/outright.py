"""What the release says outright: findings of the direct look, from a run directory's findings.csv."""

from __future__ import annotations

from typing import Any

import pandas as pd

from outrisk.errors import ConfigError, first_line
from outrisk.report.compose import Section, asset
from outrisk.report.results import Results

_TEXT = ["rule", "output", "what", "places", "advice", "about"]
_ROWS = 30


def content(results: Results) -> dict[str, Any] | None:
    """The findings, worst first; None for a run directory without the file."""
    path = results.directory / "findings.csv"
    if not path.is_file():
        return None
    types = {**dict.fromkeys(_TEXT, "str"), "certain": "str", "cells": "int64", "people": "int64"}
    try:
        frame = pd.read_csv(path, usecols=list(types), dtype=types, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} is broken: {first_line(error)}; run `outrisk assess` again to complete the directory"
        ) from error
    rows = [{**row, "certain": row["certain"] == "True"} for row in frame.to_dict("records")]
    return {
        "sentence": results.risk.outright,
        "rows": rows[:_ROWS],
        "left_out": len(rows) - _ROWS,
        "certain": any(row["certain"] for row in rows),
        "appetite": {name: f"{value:g}" for name, value in (results.study.get("appetite") or {}).items()},
    }


SECTION = Section("outright", "What the release says outright", content, asset("study/outright.html"))
