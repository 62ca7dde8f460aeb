"""Whether a chance is what it says: the share guessed rightly beside the chance, by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from outrisk.report.drawing import COLOURS, INK, QUIET, Drawing
from outrisk.report.figures.study_figures import MARKERS, NAMES, WIDTH, drawing_of, style

LEAST = 5  # people of a point: the share of fewer is chance
Bin = tuple[int, float, float]  # people, their mean chance, the share of them guessed rightly


def reliability_figure(bins: Sequence[Mapping[str, Bin]]) -> Drawing:
    """A point for each range of the chance and side, its area as the people in it; on the diagonal chances hold."""
    with style("reliability"):
        figure = Figure(figsize=(WIDTH, WIDTH * 0.92), layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=QUIET, lw=1, ls="--")
        axes.annotate("as often right as said", (0.03, 0.06), rotation=45, color=QUIET, fontsize=9.5, va="bottom")
        most = max(people for sides in bins for people, _, _ in sides.values())
        for side in ("original", "holdout"):
            points = [sides[side] for sides in bins if side in sides and sides[side][0] >= LEAST]
            if points:
                people, chance, right = zip(*points, strict=True)
                area = [18 + 160 * number / most for number in people]
                axes.plot(chance, right, color=COLOURS[side], lw=1.2)
                axes.scatter(
                    chance, right, s=area, marker=MARKERS[side], color=COLOURS[side], edgecolor=INK, lw=0.5, zorder=3
                )
                axes.plot([], [], MARKERS[side], ls="-", color=COLOURS[side], label=NAMES[side])
        axes.set_xlim(0, 1.04)
        axes.set_ylim(0, 1.04)
        axes.set_xlabel("mean chance of the likeliest value")
        axes.set_ylabel("share of people guessed rightly")
        axes.legend(loc="upper left")
        return drawing_of(figure, "reliability", "Share guessed rightly by the chance of the guess", raster=True)
