"""The marginal risk as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from outrisk.records.results import Results, marginal
from outrisk.report import formats
from outrisk.report.compose import Section, asset
from outrisk.report.drawing import Drawing


@dataclass(frozen=True)
class Shown:
    """A difference between people in the data and people who are not, with its 95 % interval."""

    label: str
    value: float
    low: float
    high: float


def content(results: Results) -> dict[str, Any]:
    """The picture, and why there is none."""
    lead = results.lead
    if lead is None:
        return {"drawing": None, "why": "there is no holdout to compare with"}
    rows = []
    for measure, convention in formats.CONVENTIONS.items():
        found = marginal(lead, measure)
        if not math.isnan(found.value):
            rows.append(Shown(f"TCAP, {convention}", found.value, found.low, found.high))
    return {"drawing": _drawing(rows) if rows else None, "why": marginal(lead).reason or "nothing is defined"}


def _drawing(rows: Sequence[Shown]) -> Drawing:
    from outrisk.report.figures import margin_figure  # matplotlib takes a second to import: only here

    return margin_figure.margin_figure(rows, math.nan)


SECTION = Section("margin", "Marginal risk", content, asset("one/margin.html"))
