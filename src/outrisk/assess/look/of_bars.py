"""Histograms read as the tables that they are: of the variables of their cells, by the bars of a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.finding import Rows
from outrisk.assess.look.told import Flags, Told, allowed, cell_rows
from outrisk.codebook import Codebook, Variable, format_value
from outrisk.microdata import Microdata
from outrisk.outputs.tables.histogram import Histogram, bars_of
from outrisk.problem.released import ROUNDING, half_digit


@dataclass(frozen=True, eq=False)
class Bars:
    """What a histogram tells: a table whose last variable is the bar, with values in no bar as a last bar that is not
    printed, where there can be such.

    possible, single (bars,): which bars hold a value that records of the histogram may have, and which of them one.
    """

    told: Told
    possible: Flags
    single: Flags

    @property
    def all_printed(self) -> bool:
        """Whether every value that records may have is in a bar."""
        return bool(len(self.possible) == self.told.counts.shape[-1])

    @property
    def of_printed(self) -> Told:
        """The same without records in no bar."""
        told, size = self.told, len(self.possible)
        inside = told.place % told.counts.shape[-1] < size
        place = told.place[inside]
        return replace(
            told,
            counts=told.counts[..., :size],
            shown=told.shown[..., :size],
            exact=told.exact[..., :size],
            rows=told.rows[inside],
            place=place // told.counts.shape[-1] * size + place % told.counts.shape[-1],
            owner=None if told.owner is None else told.owner[inside],
        )


def bars_told(output: Histogram, data: Microdata) -> Bars:
    """What a released histogram tells about these records. A bar is known to be empty where one record in it would be
    printed as another number.
    """
    variable, n_bars = data.codebook[output.value], len(output.breaks) - 1
    bar = bars_of(np.array(variable.values, dtype=np.float64), output.breaks, output.closed)
    may = allowed(data.codebook, output, output.value)[: len(variable.values)]
    outside = bool((bar[may] < 0).any())
    of_value = np.where(bar < 0, n_bars, bar)
    rows = cell_rows(output.cells, data)
    place = of_value[data.codes[rows, data.codebook.index(output.value)]]
    if not outside:
        rows, place = rows[place < n_bars], place[place < n_bars]
    labels = [*_labels(output, variable, bar, may), *["in no bar"] * outside]
    codebook = Codebook(
        (
            *(each for each in data.codebook.variables if each.name != output.value),
            Variable(output.value, "categorical", tuple(labels)),
        )
    )
    whole = Told.whole(data, output.by, rows)
    shape = (*whole.counts.shape, len(labels))
    place = whole.place * len(labels) + place
    counts = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)
    shown, exact = np.zeros((2, *shape), dtype=np.bool_)
    shown[..., :n_bars], exact[..., :n_bars] = _printed(output, data, rows, place, counts)
    told = Told(codebook, (*output.by, output.value), counts, shown, exact, rows, place, whole.owner)
    values = np.bincount(bar[may & (bar >= 0)], minlength=n_bars)
    return Bars(told, values > 0, values == 1)


def _labels(output: Histogram, variable: Variable, bar: NDArray[np.int64], may: Flags) -> Iterator[str]:
    """A bar in words: its only value, or its ends."""
    for at, (low, high) in enumerate(zip(output.breaks[:-1], output.breaks[1:], strict=True)):
        inside = np.flatnonzero((bar == at) & may)
        if len(inside) == 1:
            yield format_value(variable.values[inside[0]])
        else:
            yield f"{format_value(float(low))} to {format_value(float(high))}"


def _printed(
    output: Histogram, data: Microdata, rows: Rows, place: Rows, counts: NDArray[np.int64]
) -> tuple[Flags, Flags]:
    """Which bars a reader knows to hold somebody, or nobody, and of which the count itself is printed."""
    n_bars = len(output.breaks) - 1
    bars = counts[..., :n_bars]
    rule, flat = output.protection, bars.ravel().astype(np.float64)
    hidden = rule.hides(flat)
    if output.show == "counts" and not output.weight:
        low, high = rule.known(rule.printed(flat, hidden, output.name))
        shown, exact = (low > 0) | (high <= 0), low == high
        return shown.reshape(bars.shape), exact.reshape(bars.shape)
    weight = np.ones(len(rows))
    if output.weight:
        variable = data.codebook[output.weight]
        by_code = np.array([*variable.values, *[0.0] * variable.missing], dtype=np.float64)
        weight = by_code[data.codes[rows, data.codebook.index(output.weight)]]
    least = float(min(data.codebook[output.weight].values)) if output.weight else 1.0
    more = np.full(bars.shape, least)
    sums = np.bincount(place, weight, counts.size).reshape(counts.shape)[..., :n_bars]
    if output.show != "counts":
        width = np.diff(output.breaks) if output.show == "density" else np.ones(n_bars)
        with np.errstate(divide="ignore", invalid="ignore"):
            more, sums = (each / sums.sum(axis=-1, keepdims=True) / width for each in (more, sums))
    half = max(float(half_digit(output.decimals[0])), rule.half_of_sums) * ROUNDING
    shown = ~hidden.reshape(bars.shape) & np.where(bars > 0, sums > half, more > half)
    return shown, np.zeros_like(shown)
