"""Bars of histograms as tables of the people whose values lie in them, which other breaks are subtracted from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from outrisk.outputs.base import Output, both
from outrisk.outputs.conditions.banded import written_name
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.histogram import Histogram, bars_of

_MOST = 60  # bars, of all histograms


def bars_as_tables(outputs: Sequence[Output]) -> list[Frequencies]:
    """A table by the variables `by` for each bar of counts, named as its histogram, where another output is of a
    histogram of the same variable, or of people by its values. None where there are too many.
    """
    found = [table for each in outputs if _is_cut_elsewhere(each, outputs) for table in _tables(each)]
    return found if len(found) <= _MOST else []


def _is_cut_elsewhere(output: Output, outputs: Sequence[Output]) -> bool:
    """Whether it is a histogram of counts by variables that are never missing, and others divide its people too."""
    if not isinstance(output, Histogram) or output.show != "counts" or output.weight or not output.by:
        return False
    if any(output.codebook[name].missing for name in output.by):
        return False
    named = re.compile(rf"(?<!\w){re.escape(output.value)}(?!\w)")
    return any(
        (isinstance(other, Histogram) and other.value == output.value) or named.search(other.where)
        for other in outputs
        if other is not output
    )


def _tables(output: Output) -> Iterator[Frequencies]:
    assert isinstance(output, Histogram)
    values = np.array(output.codebook[output.value].values, dtype=np.float64)
    bar, name = bars_of(values, output.breaks, output.closed), written_name(output.value)
    for at in np.unique(bar[bar >= 0]):
        inside = values[bar == at]
        where = both(output.where, f"{name} >= {inside[0]:.15g} and {name} <= {inside[-1]:.15g}")
        yield Frequencies(output.codebook, output.name, output.by, where, protection=output.protection)
