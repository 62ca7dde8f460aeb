"""Differences with their intervals beside a margin, narrow enough for a telephone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from outrisk.report import formats
from outrisk.report.drawing import COLOURS, INK, QUIET, Drawing
from outrisk.report.figures.study_figures import MARKERS, WIDTH, drawing_of, style

_FONT = 9.5
_GROUND = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # of a row's name: no line goes through it


class Interval(Protocol):
    """What is drawn in a row."""

    @property
    def label(self) -> str: ...  # noqa: D102
    @property
    def value(self) -> float: ...  # noqa: D102
    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102


def margin_figure(rows: Sequence[Interval], margin: float) -> Drawing:
    """A row an interval, its name above it; the margin as a line, and what lies beyond it shaded (NaN: no margin)."""
    with style("margin"):
        figure = Figure(figsize=(WIDTH, 0.85 + 0.42 * len(rows)), layout="constrained")
        axes = figure.subplots()
        ends = [end for row in rows for end in (row.low, row.high, row.value) if math.isfinite(end)]
        low, high = min([0.0, *ends]), max([0.0, *ends, *([margin * 1.2] if math.isfinite(margin) else [])])
        room = max(high - low, 0.01) * 0.06
        axes.set_xlim(low - room, high + room)
        axes.set_ylim(len(rows) - 0.45, -0.75)
        for at, row in enumerate(rows):
            above = row.low > (margin if math.isfinite(margin) else 0)
            colour = COLOURS["holdout"] if above else COLOURS["marginal"]
            if math.isfinite(row.low) and math.isfinite(row.high):
                axes.plot([row.low, row.high], [at, at], color=colour, lw=1.8, solid_capstyle="butt")
            axes.plot(row.value, at, marker=MARKERS["marginal"], ms=5.5, color=colour)
            words = f"{row.label}: {formats.signed(row.value)}"
            axes.text(low - room, at - 0.3, words, fontsize=_FONT, color=INK, va="bottom", ha="left", bbox=_GROUND)
        axes.axvline(0, color=QUIET, lw=0.9)
        if math.isfinite(margin):
            axes.axvspan(margin, high + room, color=COLOURS["holdout"], alpha=0.12, lw=0)
            axes.axvline(margin, color=COLOURS["holdout"], lw=1.3, ls="--")
            words = f"margin {margin:g}"
            axes.set_title(words, loc="right", fontsize=_FONT, color=COLOURS["holdout"], fontweight="normal")
        axes.set_yticks([])
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="x", labelsize=_FONT)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.set_xlabel("difference (share of people)", fontsize=_FONT)
        return drawing_of(figure, "marginal-risk", "Marginal risk with its intervals beside the margin", raster=True)
