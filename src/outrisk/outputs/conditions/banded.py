"""Columns that follow from another, as the age groups beside the ages that many files have, and the regions beside
areas; and rules that say so.

Everybody knows of which ages an age group is, but data cannot say what everybody knows: a person states rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Variable, format_value
from outrisk.microdata import Microdata

FEWEST = 5  # records, of more than one value of the number, that two bands at least have
RECORDS = 5  # on average of each value of what another variable follows from
BY_CHANCE = -25.0  # logarithm of the chance at which it is not taken for one
_SHOWN = 20  # values that are named
SOME = 1_000  # records that are looked at first
ROUND = (100, 50, 20, 10, 5, 2)  # a limit between two bands is a multiple of the first of these that lies between them


@dataclass(frozen=True)
class Banded:
    """A variable that is, in all records, the band of a number, and the rules that would say so; ends that nobody has
    are round numbers. rest: its values of which they say nothing, as nobody has them. Or one that follows from another
    of any kind; rest: values of the other that nobody has.
    """

    name: str
    of: str
    rules: tuple[str, ...]
    rest: tuple[str, ...]
    band: bool = True

    @property
    def said(self) -> str:
        """What holds in all records, in words."""
        return f"'{self.name}' {'is the band of' if self.band else 'follows from'} '{self.of}'"

    @property
    def left(self) -> str:
        """What the rules do not say, as a request; empty where they say all."""
        if not self.rest:
            return ""
        values = ", ".join(self.rest[:_SHOWN]) + ", ..." * (len(self.rest) > _SHOWN)
        return f"say likewise of which '{self.of if self.band else self.name}' {values} are"


def banded_in(data: Microdata) -> Iterator[Banded]:
    """The variables that are bands of the values of another, or else follow from it, in all records, of the fewest
    values first. Of people with several records one counts.
    """
    if data.person is not None:
        data = data.take(np.unique(data.person, return_index=True)[1])
    sizes, variables = data.codebook.sizes, range(len(data.codebook.variables))
    numbers = [j for j in variables if data.codebook.variables[j].numeric]
    for j in sorted(variables, key=lambda j: sizes[j]):
        bands = (_band_of(data, j, of) for of in sorted(numbers, key=lambda of: -sizes[of]) if of != j)
        finer = [of for of in variables if (sizes[of], -of) > (sizes[j], -j)]  # as `determined` chooses
        nests = (_nest_of(data, j, of) for of in sorted(finer, key=lambda of: -sizes[of]))
        yield from islice(filter(None, chain(bands, nests)), 1)


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


def _nest_of(data: Microdata, j: int, of: int) -> Banded | None:
    """Variable j where it follows from another of as many values or more, and not by chance: if each record had its
    value for itself, all with one value of the other would agree as often as the commonest value alone is drawn.
    """
    name, other = data.codebook.variables[j], data.codebook.variables[of]
    if not _follows(data.codes[:SOME, j], data.codes[:SOME, of]):
        return None
    codes, values = data.codes[:, j].astype(np.int64), data.codes[:, of].astype(np.int64)
    gone, lacking = codes == len(name.values), values == len(other.values)
    if not np.array_equal(gone, lacking) or not _follows(codes, values):
        return None
    codes, values = codes[~gone], values[~gone]
    seen, common = np.unique(values), np.bincount(codes, minlength=1).max(initial=0)
    if len(np.unique(codes)) < 2 or len(values) < RECORDS * len(seen):
        return None
    if (len(values) - len(seen)) * np.log(common / len(values)) > BY_CHANCE:
        return None
    own, of_name = written_name(name.name), written_name(other.name)
    rules = []
    for code in np.unique(codes).tolist():
        held = ", ".join(written_level(other, each) for each in np.unique(values[codes == code]).tolist())
        rules.append(f"{own} == {written_level(name, code)} implies {of_name} in [{held}]")
    rest = np.setdiff1d(np.arange(len(other.values)), seen).tolist()
    unseen = tuple(format_value(other.values[each]) for each in rest)
    return Banded(name.name, other.name, (*rules, *_of_gaps(name, other)), unseen, band=False)


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
    name, of = written_name(band.name), written_name(number.name)
    for code, low, high in zip(sequence, ["", *limits], [*limits, ""], strict=True):
        implied = " and ".join([*([f"{of} >= {low}"] if low else []), *([f"{of} < {high}"] if high else [])])
        yield f"{name} == {written_level(band, code)} implies {implied}"
    if _ordered(sequence):  # of which the number has no values
        yield from (
            f"{name} != {written_level(band, code)}" for code in range(len(band.values)) if code not in sequence
        )


def written_level(variable: Variable, code: int) -> str:
    """A level as conditions have it: a number, or text in quotes."""
    value = format_value(variable.values[code])
    return value if variable.numeric else f'"{value}"' if "'" in value else f"'{value}'"


def _of_gaps(band: Variable, number: Variable) -> Iterator[str]:
    name, of = written_name(band.name), written_name(number.name)
    if band.missing:
        yield f"isna({name}) implies isna({of})"
    if number.missing:
        yield f"isna({of}) implies isna({name})"


def written_name(name: str) -> str:
    """A variable as conditions have it."""
    return name if name.isidentifier() else f"`{name}`"
