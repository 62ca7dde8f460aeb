"""Figures of measured disclosure, each drawn from one table of a section's plain document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from outrisk.report.drawing import COLOURS, QUIET, Drawing
from outrisk.report.figures.study_figures import MARKERS, WIDTH, drawing_of, style

_ROW = 0.32
_LONGEST = 24  # characters of a name on an axis
Row = dict[str, Any]


def targets_figure(table: Mapping[str, Any], name: str) -> Drawing | None:
    """The targets by rising risk: what the original discloses by itself, and what the synthetic data disclose.

    After Figure 1 of Raab, Nowok and Dibben (2024); a holdout, where there is one, stands beside the synthetic data.
    """
    rows = [row for row in _rows(table) if row["synthetic"] is not None]
    if not rows:
        return None
    with style(name):
        figure = Figure(figsize=(WIDTH, 1.4 + _ROW * len(rows)), layout="constrained")
        axes = figure.subplots()
        for at, row in enumerate(rows):
            axes.plot([row["synthetic"], row["original"]], [at, at], color=QUIET, lw=0.9, zorder=1)
            axes.plot(row["original"], at, marker="|", ms=9, mew=1.6, color=QUIET)
            axes.plot(row["synthetic"], at, marker=MARKERS["original"], ms=6, color=COLOURS["original"])
            if row.get("holdout") is not None:
                axes.plot(
                    row["holdout"], at, marker=MARKERS["holdout"], ms=5, color=COLOURS["holdout"], mfc="white", mew=1.2
                )
        _name_rows(axes, [_target_name(row) for row in rows])
        axes.set_xlim(left=-0.01)
        axes.set_xlabel(table["caption"])
        handles = [
            Line2D([], [], ls="", marker="|", ms=9, mew=1.6, color=QUIET, label="original by itself"),
            Line2D([], [], ls="", marker=MARKERS["original"], color=COLOURS["original"], label="by the synthetic data"),
        ]
        if any(row.get("holdout") is not None for row in rows):
            handles.append(
                Line2D([], [], ls="", marker=MARKERS["holdout"], color=COLOURS["holdout"], mfc="white", label="holdout")
            )
        figure.legend(handles=handles, loc="outside lower left")
        return drawing_of(figure, name, "Attribute disclosure by target, in rising order")


def against_figure(table: Mapping[str, Any], name: str) -> Drawing | None:
    """Each measure of original and holdout, and below them the difference with its interval."""
    rows = [row for row in _rows(table) if row["original"] is not None or row["holdout"] is not None]
    rows = [row for row in rows if row.get("synthesis") in (None, "mean")]  # of several synthetic tables the mean
    if not rows:
        return None
    with style(name):
        figure = Figure(figsize=(WIDTH, 1.8 + 2 * _ROW * len(rows)), layout="constrained")
        left, right = figure.subplots(2, 1, sharey=True)
        for at, row in enumerate(rows):
            for side, shift in (("original", -0.14), ("holdout", 0.14)):
                if row[side] is not None:
                    inside = COLOURS[side] if side == "original" else "white"
                    left.plot(row[side], at + shift, marker=MARKERS[side], ms=4.5, color=COLOURS[side], mfc=inside)
            if row.get("low") is not None and row.get("high") is not None:
                right.plot([row["low"], row["high"]], [at, at], color=COLOURS["marginal"], lw=1.2)
            if row["difference"] is not None:
                right.plot(row["difference"], at, marker=MARKERS["marginal"], ms=4.5, color=COLOURS["marginal"])
        _name_rows(left, [str(row["measure"]) for row in rows])
        right.tick_params(axis="y", length=0)
        right.axvline(0, color=COLOURS["marginal"], lw=0.9)
        for axes, title in ((left, table["unit"].capitalize()), (right, "Difference")):
            axes.set_title(title)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        handles = [
            Line2D([], [], ls="", marker=MARKERS[side], color=COLOURS[side], label=label,
                   mfc=COLOURS[side] if side == "original" else "white")
            for side, label in (("original", "people in the data"), ("holdout", "people not in the data (holdout)"))
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside lower left")
        return drawing_of(figure, name, "Measures of original and holdout, and their difference")


def worst_figure(table: Mapping[str, Any], name: str) -> Drawing | None:
    """Each measure of the original with its interval, and its value in the worst case."""
    rows = [row for row in _rows(table) if row["original"] is not None and row.get("synthesis") in (None, "mean")]
    if not rows:
        return None
    with style(name):
        figure = Figure(figsize=(WIDTH, 1.4 + _ROW * len(rows)), layout="constrained")
        axes = figure.subplots()
        for at, row in enumerate(rows):
            if row.get("original_low") is not None and row.get("original_high") is not None:
                axes.plot([row["original_low"], row["original_high"]], [at, at], color=COLOURS["original"], lw=1.2)
            axes.plot(row["original"], at, marker=MARKERS["original"], ms=4.5, color=COLOURS["original"])
            if row["worst_case"] is not None:
                axes.plot(row["worst_case"], at, marker="|", ms=9, mew=1.6, color=QUIET)
        _name_rows(axes, [str(row["measure"]) for row in rows])
        axes.set_title(table["unit"].capitalize())
        handles = [
            Line2D([], [], marker=MARKERS["original"], color=COLOURS["original"], label="original"),
            Line2D([], [], ls="", marker="|", ms=9, mew=1.6, color=QUIET, label="worst case: a resample released"),
        ]
        figure.legend(handles=handles, loc="outside lower left")
        return drawing_of(figure, name, "Measures of the original, and their value in the worst case")


FIGURES: dict[str, Callable[[Mapping[str, Any], str], Drawing | None]] = {
    "targets": targets_figure,
    "against": against_figure,
    "worst": worst_figure,
}


def _rows(table: Mapping[str, Any]) -> list[Row]:
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def _target_name(row: Row) -> str:
    """The target, and which checks flag it."""
    name = str(row["target"])
    name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    flags = ["1-way"] * bool(row["check_1way"]) + ["2-way"] * bool(row["check_2way"])
    return f"{name}\n(check {' and '.join(flags)})" if flags else name


def _name_rows(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
