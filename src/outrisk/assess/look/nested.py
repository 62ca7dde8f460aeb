"""Numbers of a subset and of a larger one, each held against the other: what is left between them is not below 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from outrisk.assess.look.known import Array, Kind, Known, close
from outrisk.errors import OutputError
from outrisk.outputs.conditions.pairs import Pair, compare

if TYPE_CHECKING:
    from outrisk.assess.look.printed import Numbers

_MOST_SETS = 60  # of variables of tables that are left
_MOST_PAIRS = 1_000  # of subsets
_FEW = 50  # numbers of records of a cell that are tried
_SLACK = 1e-6  # of a sum


def nested(numbers: Numbers, larger: str, smaller: str) -> Pair | None:
    """Two subsets, where the second is within the first in any data, and not the same."""
    try:
        pair = compare(numbers.codebook, larger, smaller, "a subset")
    except OutputError:  # too many combinations of values to go through
        return None
    return pair if pair.contains and not pair.equal else None


def pairs(numbers: Numbers) -> list[tuple[Kind, Kind]]:
    """Kinds of counts of a subset, each with the same of a smaller one; the first of them, where there are many."""
    of = [kind for kind in numbers.closed if kind.counts]
    found = ((one, other) for one, other in permutations(of, 2) if replace(one, where=other.where) == other)
    some = [each for each, _ in zip(found, range(_MOST_PAIRS), strict=False)]
    return [each for each in some if nested(numbers, each[0].where, each[1].where) is not None]


def within_larger(numbers: Numbers) -> Iterator[tuple[Kind, Known]]:
    """What tables of a larger subset, and how many records more it has, say of those of a smaller one."""
    for whole, part in pairs(numbers):
        for known in less(numbers, whole, [part]).values():
            of_whole, there = numbers.over(whole, known.by), numbers.over(part, known.by)
            if of_whole is None:
                continue
            with np.errstate(invalid="ignore"):
                low, high = np.fmax(of_whole.low - known.high, 0.0), of_whole.high - known.low
            found = Known(known.by, low, high, there.outputs if there else numbers.first(part))
            if there is None or (low > there.low).any() or (high < there.high).any():
                yield part, found


def less(numbers: Numbers, whole: Kind, parts: Sequence[Kind]) -> dict[frozenset[str], Known]:
    """Tables by the variables of the larger, and by those that it has in common with the others."""
    sets = set(numbers.closed[whole])
    for part in parts:
        sets |= {one & other for one in list(sets)[:_MOST_SETS] for other in numbers.closed[part]}
    found = []
    for by in sets:
        names = sorted(by, key=numbers.codebook.index)
        known = numbers.over(whole, names)
        less = [numbers.over(part, names) for part in parts]
        if known is None:
            continue
        there = [each for each in less if each is not None]
        low = np.zeros_like(known.low)
        with np.errstate(invalid="ignore"):
            if len(there) == len(parts):
                low = np.fmax(known.low - sum((each.high for each in there), np.zeros_like(low)), 0.0)
            high = known.high - sum((each.low for each in there), np.zeros_like(low))
        found.append(Known(known.by, low, high, known.outputs))
    return close(found, not whole.weight)


def fitting_counts(
    numbers: Numbers, kind: Kind, counted: Known, means: tuple[Array, Array], ends: tuple[float, float]
) -> Known:
    """The records (cells) that means (cells), each from where to where, leave: so many that their sum, taken from that
    of a larger subset, leaves what the records between them may have.
    """
    low, high = np.array(counted.low, dtype=np.float64), np.array(counted.high, dtype=np.float64)
    for larger in [each for each in numbers.closed if replace(each, where=kind.where) == kind and each != kind]:
        sums, records = numbers.over(larger, counted.by), numbers.over(replace(larger, what=""), counted.by)
        if sums is None or records is None or nested(numbers, larger.where, kind.where) is None:
            continue
        for at in np.argwhere((low < high) & (high - low <= _FEW)).tolist():
            cell = tuple(at)
            fit = [
                n
                for n in np.arange(low[cell], high[cell] + 1.0)
                if _can_be(n, [each[cell] for each in (*means, sums.low, sums.high, records.low, records.high)], ends)
            ]
            if fit:
                low[cell], high[cell] = fit[0], fit[-1]
    return Known(counted.by, low, high, counted.outputs)


def _can_be(n: float, known: Sequence[float], ends: tuple[float, float]) -> bool:
    """Whether so many records with a mean may be of some with a sum and a number, each from where to where."""
    low, high, least, most, fewest, number = known
    own = sorted((low * n, high * n))
    fewer, more = max(fewest - n, 0.0), number - n
    rest = [each * end for each in (fewer, more) for end in ends]
    return more >= 0.0 and least - own[1] <= max(rest) + _SLACK and most - own[0] >= min(rest) - _SLACK
