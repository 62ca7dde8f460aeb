"""Subsets apart from each other that together hold all but a few records of a larger one, as regions of a country."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Subset
from outrisk.outputs.conditions.pairs import compare

Flags = NDArray[np.bool_]
_MOST_SUBSETS = 40  # within one, of which sums of two or three are tried, or all whatever their variables
_MOST_PARTS = 1_000  # within one, whose conditions name the same variables


def nearly_whole(held: Mapping[str, Flags], data: Microdata, threshold: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A subset (where: its records), and others apart from each other that hold all but a few of its records: two or
    three of them, or as many as there are, the largest first, of all and of those by the same variables.
    """
    for larger, whole in held.items():
        inside = [
            where
            for where, some in held.items()
            if where and some.any() and not (some & ~whole).any() and (whole & ~some).any()
        ][:_MOST_PARTS]
        few = [some for number in (2, 3) for some in combinations(inside[:_MOST_SUBSETS], number)]
        size = {where: int(held[where].sum()) for where in (*inside, larger)}
        for parts in dict.fromkeys([*few, *_apart(data.codebook, {where: held[where] for where in inside})]):
            left = size[larger] - sum(size[where] for where in parts)
            if left <= 0 or (data.person is None and left >= threshold):
                continue
            times = np.sum([held[where] for where in parts], axis=0)
            if times.max() == 1 and 0 < data.people(whole & (times == 0)) < threshold:
                yield larger, parts


def _apart(codebook: Codebook, held: Mapping[str, Flags]) -> Iterator[tuple[str, ...]]:
    """Four subsets or more that no record can be in two of, the largest first: of all, and of those whose conditions
    name the same variables.
    """
    if len(held) < 4:
        return
    of: dict[tuple[str, ...], list[str]] = {(): list(held)[:_MOST_SUBSETS]}
    for where in held:
        of.setdefault(tuple(Subset(codebook, where, "").variables), []).append(where)
    for names, some in of.items():
        taken: list[str] = []
        records, values = np.zeros_like(held[some[0]]), np.zeros(1, np.bool_)
        for where in sorted(some, key=lambda each: -int(held[each].sum())):
            if (records & held[where]).any():
                continue
            own = Subset(codebook, where, "").masks()[0].include if names else values
            if (values & own).any() if names else not all(_disjoint(codebook, where, each) for each in taken):
                continue
            taken.append(where)
            records, values = records | held[where], values | own
        if len(taken) > 3:
            yield tuple(sorted(taken, key=list(held).index))


def are_apart(codebook: Codebook, parts: Sequence[str]) -> bool:
    """Whether no record of any data can be in two of some subsets."""
    if len(parts) < 2:
        return True
    if len({tuple(Subset(codebook, where, "").variables) for where in parts}) == 1:
        return bool(np.sum([Subset(codebook, where, "").masks()[0].include for where in parts], axis=0).max() <= 1)
    return all(_disjoint(codebook, *pair) for pair in combinations(parts, 2))


def _disjoint(codebook: Codebook, one: str, other: str) -> bool:
    try:
        pair = compare(codebook, one, other, "a subset")
    except OutputError:  # too many combinations of values to go through
        return False
    return pair.apart
