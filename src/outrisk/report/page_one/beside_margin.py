"""The marginal risk beside the margin, as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from outrisk.records.results import Results, marginal
from outrisk.records.schema import Limit
from outrisk.report import formats
from outrisk.report.compose import Section, asset
from outrisk.report.drawing import Drawing

_LONGEST = 44  # characters of a row's name
_MEANING = {
    "attribution": "what the people of the same keys in the synthetic data tell of the target, beyond how common each "
    "value is",
    "existence": "what it is worth to see whether the synthetic data have anybody with a person's keys",
    "dcap": "the chance of guessing the target rightly from the synthetic people with the same keys (differential "
    "correct attribution probability)",
    "right": "whether all synthetic people with the same keys have the person's value of the target",
    "estimate_mean": "whether the mean of the synthetic people with the same keys is near the person's value, beyond "
    "what the mean of all is",
    "estimate_median": "the same of medians",
}

_NAMES = {"estimate_mean": "mean as estimate", "estimate_median": "median as estimate"}


@dataclass(frozen=True)
class Shown:
    """A difference between people in the data and people who are not, with its 95 % interval."""

    label: str
    value: float
    low: float
    high: float


def content(results: Results) -> dict[str, Any]:
    """The picture, or why there is none."""
    if results.decision is None:
        return _before(results)
    limits = _shown(results.decision.limits)
    margin = results.decision.held_against.margin
    basis = results.decision.basis
    rows = [Shown(_label(limit), limit.difference, limit.low, limit.high) for limit in limits]
    measures = {limit.measure for limit in limits}
    return {
        "drawing": _drawing(rows, margin) if rows else None,
        "why": "" if basis else "there is no holdout to compare with, no people of the same population left out",
        "basis": basis,
        "margin": margin,
        "meanings": [(_NAMES.get(name, name), _MEANING[name]) for name in _MEANING if name in measures],
    }


def _shown(limits: Sequence[Limit]) -> list[Limit]:
    """Those that are defined; all keys are left out where they are the worst key set."""
    worst = {(limit.measure, limit.keys) for limit in limits if limit.over == "worst key set"}
    return [
        limit
        for limit in limits
        if math.isfinite(limit.difference) and not (limit.over == "all keys" and (limit.measure, limit.keys) in worst)
    ]


def _label(limit: Limit) -> str:
    over = {"people": "people inferred rightly"}.get(
        limit.over, f"{_NAMES.get(limit.measure, limit.measure)}, {limit.over}"
    )
    if not limit.keys or limit.over != "worst key set":
        return over
    names = limit.keys.split("+")
    tries = [names, *([*names[:some], f"{len(names) - some} more"] for some in range(len(names) - 1, 0, -1))]
    tries.append([f"{len(names)} keys"])
    labels = [f"{over} ({', '.join(each)})" for each in tries]
    return next((label for label in labels if len(label) <= _LONGEST), over)


def _before(results: Results) -> dict[str, Any]:
    """Of a run directory without a decision: the paper's measure, and no margin."""
    lead = results.lead
    found = {} if lead is None else {name: marginal(lead, name) for name in formats.CONVENTIONS}
    rows = [
        Shown(f"TCAP, {formats.CONVENTIONS[name]}", each.value, each.low, each.high)
        for name, each in found.items()
        if math.isfinite(each.value)
    ]
    tcap = "targeted correct attribution probability: how often a synthetic record without doubt is right"
    return {
        "drawing": _drawing(rows, math.nan) if rows else None,
        "why": "there is no holdout to compare with" if lead is None else "nothing is defined",
        "basis": None,
        "margin": math.nan,
        "meanings": [("TCAP", tcap)] if rows else [],
    }


def _drawing(rows: Sequence[Shown], margin: float) -> Drawing:
    from outrisk.report.figures import margin_figure  # matplotlib takes a second to import: only here

    return margin_figure.margin_figure(rows, margin)


SECTION = Section("margin", "Marginal risk beside the margin", content, asset("one/margin.html"))
