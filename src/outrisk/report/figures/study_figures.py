"""The report's figures: deterministic, small, with ids of their own, legible in grey."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import blended_transform_factory
from numpy.typing import NDArray

from outrisk.records.schema import Estimate, Extrapolation, Snapshot, Step
from outrisk.report import formats
from outrisk.report.contrasts import Contrast
from outrisk.report.drawing import COLOURS, INK, QUIET, RULE, Drawing

Floats = NDArray[np.float64]
Row = TypeVar("Row")

MARKERS = {"original": "o", "holdout": "s", "marginal": "D"}
NAMES = {"original": "people in the data", "holdout": "people not in the data (holdout)"}
WIDTH = 4.7  # inches: at 400 px a text of 9.5 points is no smaller than 10 px
_MOST_POINTS = 1500  # drawn in one figure, thinned evenly beyond
_MOST_LINE_POINTS = 8000
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # lays out; the style sheet sets the reader's own, narrower, sans-serif
    "font.size": 9.5,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
}


def error_figure(trajectory: Sequence[Step], snapshots: Sequence[Snapshot]) -> Drawing | None:
    """MAE by generation, a panel for each level, a line for each run, points where the error is by refit."""
    levels = sorted({row.level for row in (*trajectory, *snapshots)})
    values = np.array([*(row.mae for row in trajectory), *(row.mae for row in snapshots)])
    if not levels or not np.isfinite(values).any():
        return None
    floor = _floor(values)
    lines: dict[tuple[int, str, int], list[Step]] = {}
    for row in trajectory:
        lines.setdefault((row.level, row.fold, row.run), []).append(row)
    most = max(20, _MOST_LINE_POINTS // max(1, len(lines)))
    points = _thin(snapshots, _MOST_POINTS)
    with style("error"):
        figure = Figure(figsize=(WIDTH, 0.6 + 1.9 * len(levels)), layout="constrained")
        panels = figure.subplots(len(levels), 1, sharey=True, squeeze=False)[:, 0]
        for axes, level in zip(panels, levels, strict=True):
            name = formats.level_name(level)
            axes.set_title(name[0].upper() + name[1:])
            _log_scale(axes, "y", values, floor)
            for line in (rows for place, rows in lines.items() if place[0] == level):
                some = _thin(line, most)
                axes.plot(*_points(some, floor), color=QUIET, lw=0.9, alpha=0.75)
            own = [row for row in points if row.level == level]
            axes.plot(*_points(own, floor), ls="", marker="o", ms=2.6, mew=0, color=INK)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
            axes.set_ylabel("MAE (log scale)")
        panels[-1].set_xlabel("generation")
        handles = [
            Line2D([], [], color=QUIET, lw=0.9, label="one run"),
            Line2D([], [], ls="", marker="o", ms=3, color=INK, label="full refit"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2)
        return drawing_of(figure, "error", "Error of the released numbers by generation")


def contrast_figure(rows: Sequence[Contrast], name: str) -> Drawing | None:
    """Original and holdout with their intervals, and below them the difference with its interval, a row a fold."""
    shown = [row for row in rows if not math.isnan(row.original.value) or not math.isnan(row.holdout.value)]
    if not shown:
        return None
    with style(name):
        figure = Figure(figsize=(WIDTH, 1.6 + 0.5 * len(shown)), layout="constrained")
        left, right = figure.subplots(2, 1, sharey=True)
        for at, row in enumerate(shown):
            _interval(left, row.original, at - 0.14, "original", row.average)
            _interval(left, row.holdout, at + 0.14, "holdout", row.average)
            _interval(right, row.marginal, at, "marginal", row.average)
            if math.isnan(row.marginal.value):
                middle = blended_transform_factory(right.transAxes, right.transData)
                right.text(0.5, at, row.gap or formats.UNDEFINED, transform=middle, ha="center",
                           va="center", color=QUIET, clip_on=True, zorder=3,
                           bbox={"facecolor": "white", "edgecolor": "none", "pad": 2})  # fmt: skip
        left.set_yticks(range(len(shown)), [row.name for row in shown])
        left.set_ylim(len(shown) - 0.5, -0.5)
        for axes, title in ((left, "TCAP"), (right, "Difference (original less holdout)")):
            axes.set_title(title)
            axes.grid(visible=False, axis="y")
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        if all(math.isnan(row.marginal.value) for row in shown):
            right.set_xticks([])
        else:
            right.axvline(0, color=INK, lw=0.9)
        handles = [_handle(side, label) for side, label in NAMES.items()]
        figure.legend(handles=handles, loc="outside lower left")
        return drawing_of(figure, name, "Correct attribution of original and holdout, and their difference, by fold")


def extrapolation_figure(
    panels: Sequence[tuple[str, Sequence[Snapshot], Sequence[Extrapolation]]], measure: str, name: str
) -> Drawing | None:
    """Risk against error, two panels a fold: the fit on its own linear axis, the same points and line on a log axis."""
    panels = [panel for panel in panels if any(math.isfinite(row.mae) for row in panel[1])]
    if not panels:
        return None
    with style(name):
        figure = Figure(figsize=(WIDTH, 0.9 + 3.6 * len(panels)), layout="constrained")
        grid = figure.subplots(2 * len(panels), 1)
        for linear, log, (title, rows, fits) in zip(grid[::2], grid[1::2], panels, strict=True):
            log.sharey(linear)
            values = np.array([row.mae for row in rows])
            floor = _floor(values)
            _log_scale(log, "x", values, floor)
            linear.set_title(f"{title[0].upper()}{title[1:]}: as fitted")
            log.set_title("The same, log scale")
            linear.set_ylabel("TCAP")
            log.set_ylabel("TCAP")
            some = _thin(rows, _MOST_POINTS // len(panels) // 2)
            errors = np.array([row.mae for row in some])
            for side in NAMES:
                look = {"ls": "", "marker": MARKERS[side], "ms": 3, "mew": 0.7, "mec": COLOURS[side], "alpha": 0.6,
                        "mfc": COLOURS[side] if side == "original" else "white"}  # fmt: skip
                risks = [row.risk(measure, side) for row in some]
                linear.plot(errors, risks, **look)
                log.plot(_raised(errors, floor), risks, **look)
            for fit in fits:
                if fit.measure == measure and fit.side in NAMES and not math.isnan(fit.intercept):
                    _line(linear, log, fit, floor)
            linear.set_xlabel("MAE")
            linear.xaxis.set_major_locator(MaxNLocator(nbins=5))
            log.set_xlabel("MAE (log scale; 0 at the left edge)")
        handles = [_handle(side, label) for side, label in NAMES.items()]
        handles.append(Line2D([], [], color=QUIET, lw=1.4, label="fitted line, value at zero error"))
        figure.legend(handles=handles, loc="outside lower left")
        return drawing_of(figure, name, "Correct attribution against error of the released numbers")


def style(salt: str) -> AbstractContextManager[None]:
    """How figures look; the salt makes the ids of one figure always the same."""
    settings: Any = {**_STYLE, "svg.hashsalt": salt}
    return matplotlib.rc_context(settings)


def _line(linear: Axes, log: Axes, fit: Extrapolation, floor: float) -> None:
    """The fitted line within its range (dashed down to zero error) and the intercept with its interval."""
    colour, nudge = COLOURS[fit.side], -0.025 if fit.side == "original" else -0.05
    reach = fit.mae_to
    linear.plot(
        [0, fit.mae_from], [fit.intercept, fit.intercept + fit.slope * fit.mae_from], color=colour, lw=1.2, ls=":"
    )
    linear.plot(
        [fit.mae_from, reach], fit.intercept + fit.slope * np.array([fit.mae_from, reach]), color=colour, lw=1.4
    )
    lowest = max(fit.mae_from, floor)
    if reach > lowest:
        curve = np.geomspace(lowest, reach, 60)
        log.plot(curve, fit.intercept + fit.slope * curve, color=colour, lw=1.4)
    for axes, x in ((linear, nudge * reach), (log, floor * (1.25 if fit.side == "original" else 0.8))):
        size = [[fit.intercept - fit.low], [fit.high - fit.intercept]]
        known = not (math.isnan(fit.low) or math.isnan(fit.high))
        axes.errorbar(x, fit.intercept, yerr=size if known else None, fmt=MARKERS[fit.side], ms=4.5, color=colour,
                      mfc=colour if fit.side == "original" else "white", capsize=2.5, lw=1.3, zorder=4)  # fmt: skip


def _interval(axes: Axes, estimate: Estimate, y: float, side: str, average: bool) -> None:
    if math.isnan(estimate.value):
        return
    colour, width = COLOURS[side], 2.0 if average else 1.2
    if not (math.isnan(estimate.low) or math.isnan(estimate.high)):
        axes.plot([estimate.low, estimate.high], [y, y], color=colour, lw=width, solid_capstyle="butt")
    inside = colour if side != "holdout" else "white"
    axes.plot(estimate.value, y, marker=MARKERS[side], ms=6 if average else 4.5, color=colour, mfc=inside, mew=1.2)


def _handle(side: str, label: str) -> Line2D:
    colour = COLOURS[side]
    inside = colour if side == "original" else "white"
    return Line2D([], [], color=colour, lw=1.3, marker=MARKERS[side], ms=4.5, mfc=inside, label=label)


def _floor(values: Floats) -> float:
    """Where an error of exactly 0 is drawn on a log axis: a decade below the smallest other one."""
    positive = values[np.isfinite(values) & (values > 0)]
    return 10.0 ** (math.floor(math.log10(positive.min())) - 1) if len(positive) else 1e-3


def _raised(values: Floats, floor: float) -> Floats:
    return np.where(values <= floor, floor, values)


def _points(rows: Sequence[Step] | Sequence[Snapshot], floor: float) -> tuple[list[int], Floats]:
    """Generations, and errors as drawn."""
    return [row.generation for row in rows], _raised(np.array([row.mae for row in rows]), floor)


def _log_scale(axes: Axes, which: str, values: Floats, floor: float) -> None:
    """A log axis whose lowest tick stands for 0."""
    top = max(np.nanmax(np.where(np.isfinite(values), values, np.nan)), floor * 10)
    decades = np.arange(round(math.log10(floor)), math.ceil(math.log10(top)) + 1)
    step = max(1, math.ceil(len(decades) / 7))
    ticks = [floor, *(10.0**decade for decade in decades[1::step])]
    axis = axes.yaxis if which == "y" else axes.xaxis
    (axes.set_yscale if which == "y" else axes.set_xscale)("log")
    (axes.set_ylim if which == "y" else axes.set_xlim)(floor / 1.6, top * 1.8)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())  # they would be laid out, and are not drawn
    axis.set_major_formatter(FuncFormatter(lambda at, _: "0" if at <= floor * 1.01 else formats.error(at)))


def _thin(rows: Sequence[Row], most: int) -> Sequence[Row]:
    """At most so many rows, evenly spaced, first and last kept."""
    if len(rows) <= most:
        return rows
    return [rows[at] for at in np.unique(np.linspace(0, len(rows) - 1, most).round().astype(int))]


def drawing_of(figure: Figure, name: str, description: str, raster: bool = False) -> Drawing:
    """A figure of matplotlib as a figure of a page, without metadata; with a raster image where that is asked for."""
    stream, layout = io.StringIO(), figure.get_layout_engine()
    if layout is not None:  # once; saving would draw everything for it, and then again
        layout.execute(figure)
        figure.set_layout_engine(None)
    figure.savefig(stream, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    found = re.search(r'<svg[^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>(.*)</svg>', stream.getvalue(), flags=re.DOTALL)
    if found is None:
        raise RuntimeError("matplotlib wrote no <svg> element")
    width, height, body = found.groups()
    body = re.sub(
        r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1, flags=re.DOTALL
    )  # it would style the page
    image = io.BytesIO()
    if raster:
        figure.savefig(image, format="png", dpi=200)
    return Drawing(name, description, (float(width), float(height)), body, image.getvalue() or None)
