"""Which whole numbers of events and records a printed proportion, its standard error and its limits can be of.

All of these are functions of two whole numbers, and digits leave few pairs of them: 12.2 (6.5-20.4), percentages with
exact limits, is 12 of 98 alone. Up to SMALL records all pairs are tried whose quotient prints so. Beyond, a limit at a
given proportion comes nearer to it with every record more, so that bisection says between how many records it can be,
for each of CELLS parts of the range of the proportion; all pairs in there are tried, unless they are too many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.smooth.binomial_limits import BinomialLimits

MOST_RECORDS = 5_000_000  # that are counted back from limits
SMALL = 500
CELLS = 64
_MOST_PAIRS = 100_000  # that are tried one by one
_STEPS = 40  # of a bisection
_HAIR = 1e-12  # what rounding of doubles may do to a limit
_NO_PAIRS = np.zeros((0, 2))

Ends = tuple[float, float]


@dataclass(frozen=True)
class Printed:
    """From where to where the numbers of one group may lie, as shares of 1; from minus infinity to infinity where one
    was not printed.
    """

    proportion: Ends
    error: Ends
    lower: Ends
    upper: Ends
    events: Ends
    n: Ends


@dataclass(frozen=True, eq=False)
class Behind:
    """The fewest and the most events and records that numbers leave, NaN where no pair has them, and the pairs (m, 2)
    of events and records themselves; None where they are too many to try, or without end.
    """

    events: Ends
    n: Ends
    pairs: Array | None

    @property
    def impossible(self) -> bool:
        """Whether there are none."""
        return bool(np.isnan(self.n[0]))

    @property
    def certain(self) -> bool:
        """Whether there is one pair alone."""
        return self.pairs is not None and len(self.pairs) == 1

    def among(self, n: NDArray[np.float64]) -> Behind:
        """The same where the records are one of these numbers (any,)."""
        return self if self.pairs is None else _of_pairs(self.pairs[np.isin(self.pairs[:, 1], n)])


@lru_cache(maxsize=16_384)
def behind(limits: BinomialLimits, printed: Printed) -> Behind:
    """The pairs that give these numbers."""
    if not any(map(_said, (printed.proportion, printed.error, printed.lower, printed.upper))):
        return _of_counts(printed.events, printed.n)
    least = max(np.ceil(printed.n[0]), 1.0)
    most = min(np.floor(printed.n[1]), MOST_RECORDS)
    few = _tried(limits, printed, least, min(most, SMALL))
    if most <= SMALL:
        return _of_pairs(few)
    ends = max(printed.proportion[0], 0.0), min(printed.proportion[1], 1.0)
    if ends[0] > ends[1]:
        return _of_pairs(_NO_PAIRS)
    edges = np.linspace(*ends, CELLS + 1)
    start, stop = _between(limits, printed, edges[:-1], edges[1:], max(least, SMALL + 1.0), most)
    possible = start <= stop
    if not possible.any():
        return _of_pairs(few)
    start, stop, low, high = (each[possible] for each in (start, stop, edges[:-1], edges[1:]))
    each = np.minimum((high - low) * (start + stop) / 2.0 + 1.0, printed.events[1] - printed.events[0] + 1.0)
    if ((stop - start + 1.0) * each).sum() > _MOST_PAIRS:
        return _from_to(few, start, stop, low, high, printed, bool(stop.max() >= MOST_RECORDS))
    many = _tried(limits, printed, start.min(), stop.max(), (start, stop, low, high))
    return _of_pairs(np.concatenate([few, many]))


def _of_counts(events: Ends, n: Ends) -> Behind:
    """What events and records say where nothing else was printed."""
    fewest, shortest = max(np.ceil(events[0]), 0.0), max(np.ceil(n[0]), np.ceil(events[0]), 0.0)
    most, longest = min(np.floor(events[1]), np.floor(n[1])), np.floor(n[1])
    if fewest > most or shortest > longest:
        return _of_pairs(_NO_PAIRS)
    one = fewest == most and shortest == longest
    return Behind((fewest, most), (shortest, longest), np.array([[fewest, shortest]]) if one else None)


def _of_pairs(pairs: Array) -> Behind:
    if not len(pairs):
        return Behind((np.nan, np.nan), (np.nan, np.nan), pairs)
    (a, n), (most, longest) = pairs.min(axis=0), pairs.max(axis=0)
    return Behind((float(a), float(most)), (float(n), float(longest)), pairs)


def _from_to(few: Array, start: Array, stop: Array, low: Array, high: Array, printed: Printed, endless: bool) -> Behind:
    """What holds of all pairs in some cells, and of a `few` others."""
    events = float(np.ceil((start * low).min() - 1e-9)), float(np.floor((stop * high).max() + 1e-9))
    n = float(start.min()), float(stop.max())
    if len(few):
        events = min(events[0], few[:, 0].min()), max(events[1], few[:, 0].max())
        n = few[:, 1].min(), n[1]
    most = np.inf if endless and high.max() > 0.0 else events[1]
    events = max(events[0], np.ceil(printed.events[0])), min(most, np.floor(printed.events[1]))
    return Behind(events, (n[0], np.inf if endless else n[1]), None)


def _tried(
    limits: BinomialLimits,
    printed: Printed,
    least: float,
    most: float,
    cells: tuple[Array, Array, Array, Array] | None = None,
) -> Array:
    """All pairs (m, 2) of `least` to `most` records that give the numbers; of proportions in some `cells` alone, each
    with so many records.
    """
    if least > most:
        return _NO_PAIRS
    if cells is None:
        n = np.arange(least, most + 1.0)
        low = np.full(len(n), max(printed.proportion[0], 0.0))
        high = np.full(len(n), min(printed.proportion[1], 1.0))
    else:
        sizes = (cells[1] - cells[0] + 1.0).astype(np.int64)
        n = np.repeat(cells[0], sizes) + _counted(sizes)
        low, high = np.repeat(cells[2], sizes), np.repeat(cells[3], sizes)
    first = np.maximum(np.ceil(n * low - 1e-9), np.ceil(printed.events[0]))
    last = np.minimum(np.minimum(np.floor(n * high + 1e-9), n), np.floor(printed.events[1]))
    several = np.maximum(last - first + 1.0, 0.0).astype(np.int64)
    n, a = np.repeat(n, several), np.repeat(first, several) + _counted(several)
    for fits in _conditions(limits, printed):
        keep = fits(a, n)
        a, n = a[keep], n[keep]
    pairs = np.column_stack([a, n])
    return np.unique(pairs, axis=0) if cells is not None else pairs


def _counted(sizes: NDArray[np.int64]) -> Array:
    """0, 1, ... for each of some sizes, one after the other."""
    return (np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)).astype(np.float64)


def _conditions(limits: BinomialLimits, printed: Printed) -> list[Callable[[Array, Array], NDArray[np.bool_]]]:
    """What must hold of events and records (m,) for each printed number."""
    found: list[Callable[[Array, Array], NDArray[np.bool_]]] = []
    if _said(printed.proportion):
        found.append(lambda a, n: _inside(a / n, printed.proportion))
    if _said(printed.error):
        found.append(lambda a, n: _inside(limits.error(a, n), printed.error))
    for upper, ends in ((False, printed.lower), (True, printed.upper)):
        if not _said(ends):
            continue
        if limits.interval in ("exact", "jeffreys"):
            found.append(lambda a, n, upper=upper, ends=ends: limits.reaches(upper, a, n, ends[0]))  # type: ignore[misc]
            found.append(lambda a, n, upper=upper, ends=ends: _below(limits, upper, a, n, ends[1]))  # type: ignore[misc]
        else:
            found.append(lambda a, n, upper=upper, ends=ends: _inside(limits.of(a, n)[:, int(upper)], ends))  # type: ignore[misc]
    return found


def _below(limits: BinomialLimits, upper: bool, a: Array, n: Array, bound: float) -> NDArray[np.bool_]:
    """Whether a limit is at most `bound`: of one just above, it is no longer `bound` at least."""
    return ~limits.reaches(upper, a, n, np.nextafter(bound, np.inf))


def _said(ends: Ends) -> bool:
    return bool(np.isfinite(ends[0]) or np.isfinite(ends[1]))


def _inside(values: Array, ends: Ends) -> NDArray[np.bool_]:
    return (values >= ends[0]) & (values <= ends[1])


def _between(
    limits: BinomialLimits, printed: Printed, low: Array, high: Array, least: float, most: float
) -> tuple[Array, Array]:
    """The fewest and the most records (cells,), from `least` to `most`, that proportions from low to high (cells,) can
    be of; the fewest are more than the most where none can.
    """
    start, stop = np.full(len(low), least), np.full(len(low), most)
    with np.errstate(all="ignore"):
        too_many = _too_many(limits, printed, low, high)
        if too_many and np.any([more(start) for more in too_many], axis=0).all():
            return start, start - 1.0
        for enough in _enough(limits, printed, low, high):
            start = np.maximum(start, _first(enough, least, most, len(low)))
        for more in too_many:
            stop = np.minimum(stop, _first(more, least, most, len(low)) - 1.0)
        if np.isfinite(printed.events[1]):
            stop = np.minimum(stop, np.where(low > 0.0, np.floor(printed.events[1] / low + 1e-6), stop))
        if np.isfinite(printed.events[0]):
            start = np.maximum(start, np.where(high > 0.0, np.ceil(printed.events[0] / high - 1e-6), np.inf))
    return start, stop


def _enough(
    limits: BinomialLimits, printed: Printed, low: Array, high: Array
) -> list[Callable[[Array], NDArray[np.bool_]]]:
    """What holds (cells,) from some number of records (cells,) on: numbers are near enough to the proportion."""
    found: list[Callable[[Array], NDArray[np.bool_]]] = []
    if np.isfinite(printed.lower[0]):
        found.append(lambda n: ~_short(limits, False, low, high, n, printed.lower[0]))
    if np.isfinite(printed.upper[1]):
        found.append(lambda n: ~_over(limits, True, low, high, n, printed.upper[1]))
    if np.isfinite(printed.error[1]):
        least = np.minimum(low * (1.0 - low), high * (1.0 - high))
        found.append(lambda n: least <= printed.error[1] ** 2 * n * (1.0 + 1e-9))
    return found


def _too_many(
    limits: BinomialLimits, printed: Printed, low: Array, high: Array
) -> list[Callable[[Array], NDArray[np.bool_]]]:
    """What holds (cells,) from some number of records (cells,) on: numbers are too near to the proportion."""
    found: list[Callable[[Array], NDArray[np.bool_]]] = []
    if np.isfinite(printed.lower[1]):
        found.append(lambda n: _over(limits, False, low, high, n, printed.lower[1]))
    if np.isfinite(printed.upper[0]):
        found.append(lambda n: _short(limits, True, low, high, n, printed.upper[0]))
    if printed.error[0] > 0.0:
        middle = np.clip(0.5, low, high)
        found.append(lambda n: middle * (1.0 - middle) < printed.error[0] ** 2 * (n - 1.0) * (1.0 - 1e-9))
    return found


def _short(limits: BinomialLimits, upper: bool, low: Array, high: Array, n: Array, bound: float) -> NDArray[np.bool_]:
    """Whether limits of proportions from low to high (cells,) of n records (cells,) all lie below `bound`."""
    if limits.interval == "logit":
        values, slack = _of_logit(limits, upper, low, high, n)
        return np.asarray(values.max(axis=0) + slack < bound)
    return ~limits.reaches(upper, high * n, n, bound - _HAIR)


def _over(limits: BinomialLimits, upper: bool, low: Array, high: Array, n: Array, bound: float) -> NDArray[np.bool_]:
    """Whether limits of proportions from low to high (cells,) of n records (cells,) all lie above `bound`."""
    if limits.interval == "logit":
        values, slack = _of_logit(limits, upper, low, high, n)
        return np.asarray(values.min(axis=0) - slack > bound)
    return limits.reaches(upper, low * n, n, bound + _HAIR)


def _of_logit(limits: BinomialLimits, upper: bool, low: Array, high: Array, n: Array) -> tuple[Array, Array]:
    """Limits (3, cells) on the log odds of the fewest and most events, and near those between of which they are least
    or most: the upper one of one event lies above that of two; and how far beyond these others may be (cells,). Of
    fewer events than one upper limits rise without end, and there are none: so of records without it.
    """
    fewest, most = (1.0, n * (1.0 - _HAIR)) if upper else (n * _HAIR, np.maximum(n - 1.0, 0.5))
    ends = [np.clip(each * n, fewest, most) for each in (low, high)]
    turn = limits.quantile(n) ** 2 / 4.0
    turn = np.clip(turn if upper else n - turn, *ends)
    values = limits.of(np.stack([*ends, turn]), n)[..., int(upper)]
    between = (turn > ends[0]) & (turn < ends[1])
    return values, np.where(between, 0.02 * values[2] * (1.0 - values[2]), _HAIR)


def _first(holds: Callable[[Array], NDArray[np.bool_]], least: float, most: float, size: int) -> Array:
    """The first whole number from `least` to `most` for which it holds (size,), as from one on it does; one more than
    the most where it never does.
    """
    no, yes = np.full(size, least - 1.0), np.full(size, most + 1.0)
    for _ in range(_STEPS):
        middle = np.floor((no + yes) / 2.0)
        open_ = (yes - no) > 1.0
        if not open_.any():
            break
        found = holds(np.maximum(middle, least))
        yes, no = np.where(open_ & found, middle, yes), np.where(open_ & ~found, middle, no)
    return yes
