"""Parts of outputs as tables of some of the people: bars of histograms, and bands, from which others are subtracted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Output, both
from outrisk.outputs.conditions.banded import written_name
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.histogram import Histogram, bars_of
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.problem.blocks import Array, Mask

_MOST = 60  # of such tables; where there are more, none
_Bands = dict[tuple[str, str], list[str]]  # of a variable and the number that it is a band of, its levels as conditions


def as_subsets(outputs: Sequence[Output], codebook: Codebook, rules: Sequence[Mask]) -> list[Frequencies]:
    """Tables named as the outputs that they are parts of. A bar of counts is one by the variables `by` of people whose
    values lie in it, where another output is of a histogram of the same variable, or of people by its values; a band,
    of which rules say what it is of, likewise where another output is of people by the number.
    """
    bands = _bands(codebook, rules)
    found = [table for each in outputs for table in (*_bars(each, outputs), *_levels(each, outputs, bands))]
    return found if len(found) <= _MOST else []


def sums_as_subsets(outputs: Sequence[Output], codebook: Codebook, rules: Sequence[Mask]) -> list[Magnitudes]:
    """Likewise bands of tables of sums and means, where another output is of people by the number that they are of."""
    bands = _bands(codebook, rules)
    found = [part for each in outputs for part in _summed(each, outputs, bands)]
    return found if len(found) <= _MOST else []


def _summed(output: Output, outputs: Sequence[Output], bands: _Bands) -> Iterator[Magnitudes]:
    if not isinstance(output, Magnitudes) or output.protection.random:  # which is drawn for a table as it is
        return
    others = [each for each in outputs if each is not output]
    for (band, number), levels in bands.items():
        by = tuple(name for name in output.by if name != band)
        if len(by) < len(output.by) and number not in by and _divided(others, number):
            for condition in levels:
                with suppress(OutputError):
                    yield replace(output, by=by, where=both(output.where, condition))


def _bars(output: Output, outputs: Sequence[Output]) -> Iterator[Frequencies]:
    if not isinstance(output, Histogram) or output.show != "counts" or output.weight or not output.by:
        return
    others = [each for each in outputs if each is not output]
    alike = any(isinstance(each, Histogram) and each.value == output.value for each in others)
    if any(output.codebook[name].missing for name in output.by) or not (alike or _divided(others, output.value)):
        return
    values = np.array(output.codebook[output.value].values, dtype=np.float64)
    bar = bars_of(values, output.breaks, output.closed)
    for at in np.unique(bar[bar >= 0]):
        yield from _part(output, output.by, _between(output.value, values[bar == at]))


def _levels(output: Output, outputs: Sequence[Output], bands: _Bands) -> Iterator[Frequencies]:
    if not isinstance(output, Frequencies) or output.show != "counts" or output.weight:
        return
    others = [each for each in outputs if each is not output]
    for (band, number), levels in bands.items():
        by = tuple(name for name in output.by if name != band)
        if not by or len(by) == len(output.by) or number in by or not _divided(others, number):
            continue
        for condition in levels:
            yield from _part(output, by, condition)


def _part(output: Frequencies | Histogram, by: tuple[str, ...], condition: str) -> Iterator[Frequencies]:
    """The table of those of an output's people of whom a condition holds; none where it can hold of nobody."""
    where = both(output.where, condition)
    with suppress(OutputError):
        yield Frequencies(output.codebook, output.name, by, where, protection=output.protection)


def _divided(outputs: Sequence[Output], name: str) -> bool:
    """Whether some are of people by their values of a variable."""
    named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return any(named.search(each.where) for each in outputs)


def _between(name: str, values: Array) -> str:
    written = written_name(name)
    return f"{written} >= {values[0]:.15g} and {written} <= {values[-1]:.15g}"


def _bands(codebook: Codebook, rules: Sequence[Mask]) -> _Bands:
    """Variables that rules say are bands of a number, neither of which is ever missing."""
    allowed: dict[tuple[str, str], np.ndarray] = {}
    for mask in rules:
        if len(mask.joint.variables) != 2:
            continue
        names = tuple(codebook.names[j] for j in mask.joint.variables)
        table = mask.include.reshape([codebook[name].size for name in names])
        for pair, flags in (((names[0], names[1]), table), ((names[1], names[0]), table.T)):
            allowed[pair] = allowed[pair] & flags if pair in allowed else flags
    found: _Bands = {}
    for (band, number), flags in allowed.items():
        plain = codebook[number].numeric and not (codebook[band].missing or codebook[number].missing)
        held = [np.flatnonzero(row) for row in flags if row.any()]
        if plain and (flags.sum(axis=0) == 1).all() and all(np.ptp(each) == len(each) - 1 for each in held):
            values = np.array(codebook[number].values, dtype=np.float64)
            found[band, number] = [_between(number, values[each]) for each in held]
    return found
