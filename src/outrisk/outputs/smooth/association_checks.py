"""What released measures of association can be, and what of them contradicts each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from outrisk.errors import OutputError
from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.two_by_two import MEASURES, limits_of
from outrisk.outputs.tables.checks import check_whole
from outrisk.problem.released import ROUNDING, half_digit

if TYPE_CHECKING:
    from outrisk.outputs.smooth.association import Association

_WHOLE = ("n", "cases")


def check(output: Association, low: Array, high: Array) -> None:
    """OutputError that names the first number, or two, that no data can have."""
    names, labels = [name for _, _, name in output.shown], output.labels
    half = half_digit(output.decimals) * ROUNDING
    half[[each in _WHOLE for each in names]] = 0.0
    per = output.per
    least = np.array([-per if each.startswith("risk difference") else 0.0 for each in names])
    least[["attributable" in each or "difference l" in each or "difference u" in each for each in names]] = -np.inf
    most = np.array([{"risk": per, "risk difference": per, "p": 1.0}.get(each, np.inf) for each in names])
    most[["attributable" in each for each in names]] = 1.0
    why = f"risks and their differences are at most {per:g}, shares and p 1, and nothing else is below 0; correct it, "
    smooth.check_range(output.name, labels, low, high, least - half, most + half, f"{why}or 'per'")
    for at, each in enumerate(names):
        if each in _WHOLE:
            check_whole(output.name, [labels[at]], low[[at]], high[[at]])
    _check_order(output, low - half, high + half)
    _check_quotients(output, low, high, half)
    _check_limits(output, low, high, half)


def _places(output: Association) -> Iterator[tuple[tuple[int, int], dict[str, int]]]:
    """Of each row, a table and a level, where its numbers are."""
    found = dict[tuple[int, int], dict[str, int]]()
    for at, (table, level, name) in enumerate(output.shown):
        found.setdefault((table, level), {})[name] = at
    yield from found.items()


def _check_order(output: Association, least: Array, most: Array) -> None:
    """Lower limits lie below, upper ones above; nobody is a case who is no record."""
    pairs = [("cases", "n")]
    pairs += [pair for each in MEASURES for ends in [limits_of(each)] for pair in ((ends[0], each), (each, ends[1]))]
    for _, at in _places(output):
        for small, large in pairs:
            if small in at and large in at and least[at[small]] > most[at[large]]:
                raise OutputError(
                    f"output '{output.name}': {output.labels[at[small]]} is above {output.labels[at[large]]}; the "
                    "first is never above the other: correct one of them"
                )


def _check_quotients(output: Association, low: Array, high: Array, half: Array) -> None:
    """A risk is cases over records, and measures are those of the risks, where these are printed."""
    rows = dict(_places(output))
    least, most = np.full(len(low), -np.inf), np.full(len(low), np.inf)
    for (table, _), at in rows.items():
        beside = rows.get((table, output.reference_at), {})
        if {"risk", "cases", "n"} <= set(at) and low[at["n"]] > 0.0:
            ends = output.per * low[at["cases"]] / high[at["n"]], output.per * high[at["cases"]] / low[at["n"]]
            least[at["risk"]], most[at["risk"]] = ends[0] - half[at["risk"]], ends[1] + half[at["risk"]]
        if "risk" in at and "risk" in beside:
            p1, p0 = (
                (max(low[k] - half[k], 0.0) / output.per, min(high[k] + half[k], output.per) / output.per)
                for k in (at["risk"], beside["risk"])
            )
            for name, ends in _of_risks(p1, p0, output.per).items():
                if name in at:
                    least[at[name]], most[at[name]] = ends[0] - half[at[name]], ends[1] + half[at[name]]
    least, most = np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)
    why = "the risks, or cases and records, make it another number; correct it, or these"
    smooth.check_range(output.name, output.labels, low, high, least, most, why)


def _of_risks(p1: tuple[float, float], p0: tuple[float, float], per: float) -> dict[str, tuple[float, float]]:
    """From where to where measures lie, given the risk of the exposed and that of the others."""
    slack = 1e-9

    def ratio(above: tuple[float, float], below: tuple[float, float]) -> tuple[float, float]:
        least = above[0] / below[1] if below[1] > 0.0 else np.inf
        return least * (1.0 - slack), (above[1] / below[0] if below[0] > 0.0 else np.inf) * (1.0 + slack)

    odds = [tuple(p / (1.0 - p) if p < 1.0 else np.inf for p in ends) for ends in (p1, p0)]
    return {
        "risk ratio": ratio(p1, p0),
        "risk difference": (per * (p1[0] - p0[1]) - slack, per * (p1[1] - p0[0]) + slack),
        "odds ratio": ratio(*((each[0], each[1]) for each in odds)),
    }


def _check_limits(output: Association, low: Array, high: Array, half: Array) -> None:
    """Limits are as far from their measure on both sides, those of ratios on the log scale."""
    for _, at in _places(output):
        for name in MEASURES:
            ends = limits_of(name)
            if not {name, *ends} <= set(at):
                continue
            value, lower, upper = ((low[at[k]] - half[at[k]], high[at[k]] + half[at[k]]) for k in (name, *ends))
            if not np.isfinite([value, lower, upper]).all():
                continue
            if name == "risk difference":
                wrong = lower[0] + upper[0] > 2 * value[1] or lower[1] + upper[1] < 2 * value[0]
            elif min(lower[0], value[0]) <= 0.0:
                continue
            else:
                slack = 1.0 + 1e-9
                wrong = lower[0] * upper[0] > value[1] ** 2 * slack or lower[1] * upper[1] * slack < value[0] ** 2
            if wrong:
                scale = "" if name == "risk difference" else " on the log scale"
                raise OutputError(
                    f"output '{output.name}': limits of {output.labels[at[name]]} are {low[at[ends[0]]]:g} and "
                    f"{high[at[ends[1]]]:g} about {low[at[name]]:g}; they are as far from it on both sides{scale}, "
                    "which exact, Cornfield's and score limits are not: correct them, print normal ones (Stata: cc, "
                    "woolf), or withhold them"
                )
