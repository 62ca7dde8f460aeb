"""Columns that are bands of a number, as the age groups beside the ages that many files have; and rules that say so.

Everybody knows of which ages an age group is, but data cannot say what everybody knows: a person states rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Variable, format_value
from outrisk.microdata import Microdata

FEWEST = 5  # records, of more than one value of the number, that two bands at least have
SOME = 1_000  # records that are looked at first
ROUND = (100, 50, 20, 10, 5, 2)  # a limit between two bands is a multiple of the first of these that lies between them


@dataclass(frozen=True)
class Banded:
    """A variable that is, in all records, the band of a number, and the rules that would say so; ends that nobody has
    are round numbers. rest: its values of which they say nothing, as nobody has them.
    """

    name: str
    of: str
    rules: tuple[str, ...]
    rest: tuple[str, ...]


def banded_in(data: Microdata) -> Iterator[Banded]:
    """The variables that are bands of the values of another in all records, of the fewest values first."""
    codebook = data.codebook
    numbers = [j for j, variable in enumerate(codebook.variables) if variable.numeric]
    for j in sorted(range(len(codebook.variables)), key=lambda j: codebook.sizes[j]):
        for of in sorted(numbers, key=lambda of: -codebook.sizes[of]):
            if of != j and (found := _band_of(data, j, of)):
                yield found
                break


def _band_of(data: Microdata, j: int, of: int) -> Banded | None:
    """Variable j as the band of a number; None where it is not, or is no coarser."""
    band, number = data.codebook.variables[j], data.codebook.variables[of]
    if not _follows(data.codes[:SOME, j], data.codes[:SOME, of]):
        return None
    codes, values = data.codes[:, j].astype(np.int64), data.codes[:, of].astype(np.int64)
    gone = (codes == len(band.values)) if band.missing else np.zeros(len(codes), np.bool_)
    if not np.array_equal(gone, (values == len(number.values)) if number.missing else np.zeros(len(codes), np.bool_)):
        return None
    if not _follows(codes, values):
        return None
    pairs, times = np.unique(np.column_stack([values, codes])[~gone], axis=0, return_counts=True)
    if len(pairs) < 4:
        return None
    at = np.flatnonzero(np.diff(pairs[:, 1])) + 1
    bands = pairs[np.concatenate([[0], at]), 1]
    if len(np.unique(bands)) < max(2, len(bands)) or len(bands) == len(pairs):  # a band that comes twice
        return None
    parts = zip(np.split(pairs, at), np.split(times, at), strict=True)
    if sum(len(part) > 1 and people.sum() >= FEWEST for part, people in parts) < 2:
        return None
    lasts = [int(pairs[each - 1, 0]) for each in [*at, len(pairs)]]
    firsts = [int(pairs[each, 0]) for each in [0, *at]]
    sequence, limits = _in_order(band, number, bands.tolist(), firsts, lasts)
    rules = (*_of_bands(band, number, sequence, limits), *_of_gaps(band, number))
    rest = [] if _ordered(sequence) else sorted(set(range(len(band.values))) - set(sequence))
    return Banded(band.name, number.name, rules, tuple(format_value(band.values[code]) for code in rest))


def _follows(codes: NDArray[Any], values: NDArray[Any]) -> bool:
    """Whether no value is in two bands."""
    first = np.zeros(int(values.max()) + 1, codes.dtype)
    first[values] = codes
    return np.array_equal(first[values], codes)


def _in_order(
    band: Variable, number: Variable, bands: list[int], firsts: list[int], lasts: list[int]
) -> tuple[list[int], list[str]]:
    """Codes of bands in the order of the number, and the limits between them. bands: those that somebody is in, each
    with the codes of its first and its last value. What nobody is in lies between, where these are in the order of the
    codebook.
    """
    falling, size, between = bands[0] > bands[-1], len(band.values), _ordered(bands)
    ends = [(-1 if not falling else size), *bands, (size if not falling else -1)]
    sequence, limits = list[int](), list[str]()
    for at, (one, other) in enumerate(pairwise(ends)):
        step = -1 if falling else 1
        more = list(range(one + step, other, step)) if between else []
        last = lasts[at - 1] if at else 0
        first = firsts[at] if at < len(firsts) else len(number.values) - 1
        inner = 0 < at < len(bands)
        found = _limits(number, last, first, len(more) + inner)
        room = more[: max(0, len(found) - inner)] if at else more[len(more) - len(found) :]
        sequence += [*room, *([other] if at < len(bands) else [])]
        limits += found
    return sequence, limits


def _ordered(bands: list[int]) -> bool:
    """Whether bands are in the order of the codebook, up or down."""
    return bands in (sorted(bands), sorted(bands, reverse=True))


def _limits(number: Variable, last: int, first: int, wanted: int) -> list[str]:
    """So many values after the one at code `last`, up to that at `first`, as round as can be; fewer, if there are."""
    values = list(number.values[last + 1 : first + 1])
    if wanted >= len(values):
        return [format_value(each) for each in values]
    for unit in ROUND:
        found = [each for each in values if each % unit == 0]
        if len(found) >= wanted:
            return [format_value(each) for each in found[:wanted]]
    return [format_value(each) for each in values[len(values) - wanted :]]


def _of_bands(band: Variable, number: Variable, sequence: list[int], limits: list[str]) -> Iterator[str]:
    name, of = _name(band.name), _name(number.name)
    for code, low, high in zip(sequence, ["", *limits], [*limits, ""], strict=True):
        implied = " and ".join([*([f"{of} >= {low}"] if low else []), *([f"{of} < {high}"] if high else [])])
        yield f"{name} == {_written(band, code)} implies {implied}"
    if _ordered(sequence):  # of which the number has no values
        yield from (f"{name} != {_written(band, code)}" for code in range(len(band.values)) if code not in sequence)


def _written(variable: Variable, code: int) -> str:
    value = format_value(variable.values[code])
    return value if variable.numeric else f'"{value}"' if "'" in value else f"'{value}'"


def _of_gaps(band: Variable, number: Variable) -> Iterator[str]:
    name, of = _name(band.name), _name(number.name)
    if band.missing:
        yield f"isna({name}) implies isna({of})"
    if number.missing:
        yield f"isna({of}) implies isna({name})"


def _name(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"
