"""Cells of few records in frequency tables, and what withholding them takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found, counted, named, plural
from outrisk.assess.look.told import Counts, Flags, Told, told_by
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.tables.frequencies import Frequencies

_PERCENT = {"proportions": 1.0, "row_percentages": 100.0, "column_percentages": 100.0}


def small_cells(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Cells that hold somebody, but fewer than `safe_threshold` records (or people), and are printed."""
    if not isinstance(output, Frequencies):
        return
    told = told_by(output, data)
    printed = told.exact if output.show == "counts" and not output.weight else told.shown
    small = (told.people > 0) & (told.people < appetite.safe_threshold) & printed
    if not small.any():
        return
    alone = int((told.people[small] == 1).sum())
    one = f", {plural(alone, 'cell')} a single person" if alone else ""
    yield Found.of(
        "small cells",
        False,
        output.name,
        int(small.sum()),
        told.who(small),
        f"{plural(int(small.sum()), 'cell')} of {told.counts.size:,} hold{'s' * (int(small.sum()) == 1)} fewer than "
        f"{appetite.safe_threshold} {counted(data)}{one}{_as_shares(output, told)}.",
        named(told.labels(small)),
        _advice(told, small, appetite.safe_threshold, output.margins),
    )


def _as_shares(table: Frequencies, told: Told) -> str:
    """Whether shares give the counts behind them away, in words; '' for counts."""
    if table.show == "counts":
        return " (weighted: the records behind them are meant)" if table.weight else ""
    if table.weight:
        return " (behind weighted shares)"
    axis = {"row_percentages": -1, "column_percentages": 0}.get(table.show)
    whole = told.counts.sum() if axis is None else told.counts.sum(axis=axis).max()
    digits = int(table.decimals[0])
    if _PERCENT[table.show] / max(int(whole), 1) > 10.0**-digits:
        return f"; {plural(digits, 'decimal')} of a share of at most {int(whole):,} records tell every count exactly"
    return " behind the printed shares"


def _advice(told: Told, small: Flags, threshold: int, margins: bool) -> str:
    """What the table would be without one variable, and what withholding these cells takes."""
    parts = []
    if len(told.by) > 1:
        left = []
        for axis, name in enumerate(told.by):
            merged = told.people_over(axis)
            left.append((int(((merged > 0) & (merged < threshold)).sum()), name))
        fewest, name = min(left)
        of_small = f"{plural(fewest, 'small cell')} remain" + "s" * (fewest == 1)
        parts.append(f"without {name} {of_small if fewest else 'no small cell remains'}")
    parts.append(f"withhold {plural(int(small.sum()), 'cell')}")
    if margins and len(told.by) > 1:
        more = secondary(told.counts, small)
        also = f" ({told.places(more)})" if more.any() else ""
        parts[-1] += f" and {int(more.sum()):,} more{also}, or the totals give them back"
    text = "; or ".join(["merge levels", *parts])
    return text[0].upper() + text[1:] + "."


def secondary(counts: Counts, hidden: Flags) -> Flags:
    """Further cells to withhold until no line with a total has a single unknown: the smallest of each line in turn."""
    chosen = hidden.copy()
    while True:
        before = int(chosen.sum())
        for axis in range(counts.ndim):
            alone = chosen.sum(axis=axis, keepdims=True) == 1
            free = np.where(chosen | (counts == 0), np.iinfo(np.int64).max, counts)
            at = np.expand_dims(free.argmin(axis=axis), axis)
            possible = np.take_along_axis(free, at, axis) < np.iinfo(np.int64).max
            more = np.zeros_like(chosen)
            np.put_along_axis(more, at, alone & possible, axis)
            chosen |= more
        if int(chosen.sum()) == before:
            return chosen & ~hidden
