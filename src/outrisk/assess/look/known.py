"""From where to where numbers that add up may lie, and what of them follows from those that they are part of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook

Array = NDArray[np.float64]
ROUNDS = 3  # of closing, each of which goes over all pairs of tables on the same records


@dataclass(frozen=True)
class Kind:
    """Numbers that add up: of records that are `where` and lack no value of some variables their number, the sum of
    `what`, of which values above `top` count as it, or the sum of their survey `weight`. also: a condition of what is
    counted, as that an event was before a time; of others nothing is said.
    """

    where: str
    lacks: frozenset[str] = frozenset()
    what: str = ""
    top: float | None = None
    weight: str = ""
    also: str = ""

    @property
    def counts(self) -> bool:
        """Whether they are numbers of records."""
        return not self.what and not self.weight


@dataclass(frozen=True, eq=False)
class Known:
    """From where to where each number of a table may lie, in the shape of its variables `by` (in codebook order)."""

    by: tuple[str, ...]
    low: Array
    high: Array
    outputs: tuple[str, ...]

    def over(self, names: Sequence[str]) -> Known:
        """The table by some of its variables."""
        axes = tuple(at for at, name in enumerate(self.by) if name not in names)
        by = tuple(name for name in self.by if name in names)
        return Known(by, self.low.sum(axis=axes), self.high.sum(axis=axes), self.outputs) if axes else self

    def within(self, other: Known) -> Known:
        """Both ranges of each number together; the other is by the same variables."""
        low, high = np.maximum(self.low, other.low), np.minimum(self.high, other.high)
        return Known(self.by, low, high, tuple(dict.fromkeys([*self.outputs, *other.outputs])))


def moved(kind: Kind, known: Known, lacks: frozenset[str]) -> Known | None:
    """A table of a kind as one of records that lack no value of others; None where it says nothing of these.

    Where a variable is of the table, complete cases are all records but in its missing level; where it is not, there
    may be more records.
    """
    more, fewer = lacks - kind.lacks, kind.lacks - lacks
    if not more <= {*known.by} or not (kind.counts or fewer <= {*known.by}):
        return None
    low, high = np.array(known.low, dtype=np.float64), np.array(known.high, dtype=np.float64)
    for name in more:
        gone = _missing(known, name)
        low[gone] = high[gone] = 0.0
    for name in fewer & {*known.by}:
        gone = _missing(known, name)
        low[gone], high[gone] = -np.inf if kind.what else 0.0, np.inf
    if not fewer <= {*known.by}:
        high[...] = np.inf
    return Known(known.by, low, high, known.outputs)


def _missing(known: Known, name: str) -> tuple[slice | int, ...]:
    """The cells in which a variable is missing."""
    return (*(slice(None) for _ in range(known.by.index(name))), -1)


def close(tables: Iterable[Known], whole: bool) -> dict[frozenset[str], Known]:
    """Tables of the same numbers by sets of variables, each number by those that it is part of, and that are parts of
    it; whole: tables of numbers that are all told stay as they are.
    """
    merged: dict[frozenset[str], Known] = {}
    for known in tables:
        there = merged.get(frozenset(known.by))
        merged[frozenset(known.by)] = known if there is None else there.within(known)
    pairs = [(fine, coarse) for fine in merged for coarse in merged if coarse < fine]
    for _ in range(ROUNDS):
        open_ = {by for by, known in merged.items() if not whole or (known.low < known.high).any()}
        for fine, coarse in pairs:
            if fine in open_ or coarse in open_:
                merged[fine], merged[coarse] = _closer(merged[fine], merged[coarse])
    return merged


def _closer(fine: Known, coarse: Known) -> tuple[Known, Known]:
    """A table and one by fewer of its variables, each by what the other leaves of it."""
    axes = tuple(at for at, name in enumerate(fine.by) if name not in coarse.by)
    whole = coarse.within(fine.over(coarse.by))
    low, high = (np.expand_dims(each, axes) for each in (whole.low, whole.high))
    rest_low, rest_high = _others(fine.low, axes), _others(fine.high, axes)
    closer = Known(fine.by, low - rest_high, high - rest_low, coarse.outputs)
    if (closer.low <= fine.low).all() and (closer.high >= fine.high).all():
        return fine, Known(whole.by, whole.low, whole.high, coarse.outputs)
    return fine.within(closer), Known(whole.by, whole.low, whole.high, coarse.outputs)


def _others(ends: Array, axes: tuple[int, ...]) -> Array:
    """The sum of all other cells over some axes, of ends that may be infinite (all to one side)."""
    open_ = ~np.isfinite(ends)
    there = np.where(open_, 0.0, ends)
    rest = there.sum(axis=axes, keepdims=True) - there
    infinite = (open_.sum(axis=axes, keepdims=True) - open_) > 0
    side = np.sign(ends[open_][0]) if open_.any() else 1.0
    return np.asarray(np.where(infinite, side * np.inf, rest))


def shape(codebook: Codebook, names: Sequence[str]) -> tuple[int, ...]:
    """The levels of some variables."""
    return tuple(codebook[name].size for name in names)


def of_mean(low: Array, high: Array, least: Array, most: Array, ends: tuple[float, float]) -> Known:
    """Sums that means (cells) of so many records have, each from where to where."""
    low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
    with np.errstate(invalid="ignore"):
        corners = np.stack([end * number for end in (low, high) for number in (least, most)])
    corners = np.where(np.isnan(corners), 0.0, corners)
    return Known((), corners.min(axis=0), corners.max(axis=0), ())
