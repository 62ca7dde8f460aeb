"""Survival curves with the numbers of records that they print as counts in tables.

How many records are at risk and how many had the event are counts, which a search keeps once it has them, while
survival, standard errors and the log-rank test change little by little with the records behind them. Numbers at risk
are counts of all records from a time on. Where they are known exactly, what lies between two of them says the same and
is a cell of a table; in which group a record is, when its time was, and whether it had the event are axes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array, joint_for
from outrisk.outputs.counts_first import CountsFirst
from outrisk.problem.blocks import Tally
from outrisk.problem.counts import Counts
from outrisk.problem.released import ROUNDING, Part, Released, TallyPart, half_digit

if TYPE_CHECKING:
    from outrisk.outputs.smooth.survival import Statistic, Survival

Counted = tuple[
    Tally, NDArray[np.int64], NDArray[np.int64]
]  # of each cell the number, and the one it is less by, or -1
_COUNTS = ("at risk", "events")


def counts_first(curves: Survival, low: Array, high: Array, proves: bool) -> Released | None:
    """What was released from low to high (k,) with numbers of records first, in parts of their own; None where there
    are none, or one at risk was rounded. Of proofs (`proves`) each number at risk is one, as it was printed, and events
    are told that survival implies; for a search they are what lies between two numbers at risk, and others are left out
    that follow from these.
    """
    printed, released = np.arange(len(low)), curves
    if proves:
        curves, low, high, printed = with_events(curves, low, high)
    at_risk, events = (places_of(curves, statistic) for statistic in _COUNTS)
    exact, unknown = low == high, np.isinf(low) & np.isinf(high)
    told = exact[at_risk].any()
    if not (told or events.size) or not (exact | unknown)[at_risk].all():
        return None
    tables = [*(_from_each if proves else _between)(curves, at_risk, exact)] if told else []
    tables += [_events(curves, events)] if events.size else []
    blocks, of, less = zip(*tables, strict=True)
    n_counts = sum(block.size for block in blocks)
    parts: tuple[Part, ...] = (TallyPart(blocks, Counts(np.arange(n_counts)), n_counts),)
    others = np.setdiff1d(np.arange(len(low)), np.concatenate([at_risk.ravel(), events.ravel()]))
    follow = curves is released and _follow(curves, exact)
    if len(others) and (proves or not follow):
        columns = tuple(name for name in curves.columns if name not in _COUNTS)
        parts = (*parts, replace(released.of_columns(columns, curves.decimals[others]), follow=follow))
        of, less = (*of, others), (*less, np.full(len(others), -1))
    places = np.concatenate(of), np.concatenate(less)
    names = _names(curves, curves is not released, *places)
    output = CountsFirst(curves.codebook, curves.name, curves, parts, *places, names, importance=curves.importance)
    return Released(output, output.at(low), output.at(high), parts, printed[output.of])


def _names(curves: Survival, implied: bool, of: NDArray[np.int64], less: NDArray[np.int64]) -> tuple[str, ...]:
    """What each number is called; whether events were implied and not released."""
    names = curves.labels
    if implied:
        names = [f"{name} by survival and at risk" if name.endswith("events") else name for name in names]
    return tuple(
        names[at] if without < 0 else f"{names[at]}, but for those of {names[without]}"
        for at, without in zip(of, less, strict=True)
    )


def determined(curves: Survival, low: Array, high: Array) -> Array | None:
    """All numbers (k,) as events and numbers at risk at every time have them, released from low to high (k,); None
    where these were not all released.
    """
    if not _follow(curves, low == high):
        return None
    at_risk, events = (low[places_of(curves, statistic)] for statistic in _COUNTS)
    left = at_risk - np.column_stack([at_risk[:, 1:], np.zeros(len(at_risk))])
    (part,) = curves.parts(low)
    return np.asarray(part.map.numbers(np.stack([events, left - events]).ravel(), np.zeros((0, 0))))


def _follow(curves: Survival, exact: NDArray[np.bool_]) -> bool:
    """Whether all numbers follow from events and numbers at risk at every time, as those are `exact` (k,)."""
    at_risk, events = (places_of(curves, statistic) for statistic in _COUNTS)
    every = at_risk.size and events.size and np.array_equal(curves.at, curves.support)
    return bool(every and exact[at_risk].all() and exact[events].all())


def told_apart(curves: Survival, low: Array, high: Array) -> NDArray[np.bool_]:
    """Of which groups and times of the support (groups, times) numbers released from low to high (k,) tell how many
    records had the event just then, and how many had a time without it.
    """
    curves, low, high, _ = with_events(curves, low, high)
    at_risk, events = (places_of(curves, statistic) for statistic in _COUNTS)
    if not at_risk.size or not events.size:
        return np.zeros((len(curves.groups), len(curves.support)), np.bool_)
    at = np.minimum(np.searchsorted(curves.at, curves.support), len(curves.at) - 1)
    published, exact = curves.at[at] == curves.support, low == high
    at_risk, events = exact[at_risk][:, at] & published, exact[events][:, at] & published
    after = np.column_stack([at_risk[:, 1:], np.ones(len(at_risk), np.bool_)])
    return np.asarray(at_risk & after & events & np.append(True, published[:-1]))


def one_answer(curves: Survival, low: Array, high: Array, in_all: Array | None = None) -> NDArray[np.bool_]:
    """At which groups and times of the support (groups, times) numbers released from low to high (k,) tell that
    whoever has such a time had the event, or that nobody had: between two published times as many had it as have such
    a time at most, or none. in_all (groups,): at most so many are in a group.
    """
    curves, low, high, _ = with_events(curves, low, high, in_all)
    at_risk, events = (places_of(curves, statistic) for statistic in _COUNTS)
    told = np.zeros((len(curves.groups), len(curves.support)), np.bool_)
    if not events.size:
        return told
    fewest, most = np.clip(low[events], 0.0, None), high[events]
    least, largest = (low[at_risk], high[at_risk]) if at_risk.size else (0.0 * fewest, np.full_like(most, np.inf))
    at, support = curves.at, curves.support
    after = np.zeros((len(fewest), len(at) + 1))  # at least so many have a time after each published one
    for time in range(len(at) - 2, -1, -1):
        after[:, time] = np.maximum(least[:, time + 1], after[:, time + 1] + fewest[:, time + 1])
    up_to, before = np.searchsorted(support, at, side="right"), np.searchsorted(support, at)
    left = np.full(len(fewest), np.inf) if in_all is None else in_all
    for time in range(len(at)):  # at most `left` have a time after the one before
        if before[time] == (up_to[time - 1] if time else 0):  # no time lies between
            left = np.minimum(left, largest[:, time])
        everybody = (fewest[:, time] > 0) & (fewest[:, time] >= left - after[:, time])
        inside = slice(up_to[time - 1] if time else 0, up_to[time])
        told[:, inside] = (everybody | (most[:, time] == 0))[:, None]
        left = np.minimum(left - fewest[:, time], largest[:, time])
    return told


def with_events(
    curves: Survival, low: Array, high: Array, in_all: Array | None = None
) -> tuple[Survival, Array, Array, NDArray[np.int64]]:
    """Curves with events too, in the ranges that survival and numbers at risk leave them, where these were released and
    events were not; and from which of the numbers that were each follows. in_all (groups,): as of `one_answer`.
    """
    if "events" in curves.columns or not {"survival", "at risk"} <= set(curves.columns):
        return curves, low, high, np.arange(len(low))
    survival, at_risk = (places_of(curves, statistic) for statistic in ("survival", "at risk"))
    half = half_digit(curves.decimals[survival]) * ROUNDING
    begun = np.full(len(survival), np.inf) if in_all is None else in_all
    ends = [
        _events_between(curves.support, curves.at, low[own], high[own], low[risk], high[risk], within, n)
        for own, risk, within, n in zip(survival, at_risk, half, begun.tolist(), strict=True)
    ]
    least, most = (np.array([each[end] for each in ends]) for end in (0, 1))
    return (*beside(curves, low, high, "events", least, most), _with_column(curves, np.arange(len(low)), survival))


def beside(
    curves: Survival, low: Array, high: Array, statistic: Statistic, least: Array, most: Array
) -> tuple[Survival, Array, Array]:
    """Curves released from low to high (k,) with one statistic more, from least to most (groups, times)."""
    test = tuple(name for name in curves.statistics if name == "log-rank")
    more = replace(curves, statistics=(*curves.columns, statistic, *test))
    return more, _with_column(curves, low, least), _with_column(curves, high, most)


def _with_column(curves: Survival, numbers: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Numbers (k,) of curves, and one more for each group and time, as a last statistic."""
    n_curve = more.size * len(curves.columns)
    cells = np.column_stack([numbers[:n_curve].reshape(-1, len(curves.columns)), np.ravel(more)])
    return np.concatenate([cells.ravel(), numbers[n_curve:]])


def _events_between(
    support: Array, at: Array, low: Array, high: Array, least: Array, most: Array, half: Array, n: float
) -> tuple[Array, Array]:
    """Fewest and most events of one group, of `n` people at most, up to each time (times,), since the one before, where
    survival prints from low to high (times,), to within `half`, and from `least` to `most` (times,) are at risk.

    Survival falls from time to time by factors 1 - d / n of d events among n at risk. All of these n are at least as
    many as are at risk at the end, and at most as many as were at the beginning; after d_1 of n_1 no more than n_1 -
    d_1 are at risk, so that the product of the factors is at most 1 - d / n_1. At a time that alone lies in between, n
    is the number at risk. Who had the event is not at risk at the next time.
    """
    fewest = np.maximum.accumulate(np.where(np.isfinite(least), least, 0.0)[::-1])[::-1]
    before = np.concatenate([[n], np.minimum.accumulate(most)[:-1]])
    possible = np.diff(np.searchsorted(support, at, side="right"), prepend=0)
    one = (possible == 1) & np.isin(at, support)
    upper, lower = np.clip(high + half, 0.0, 1.0), np.clip(low - half, 0.0, 1.0)
    start_upper, start_lower = (np.concatenate([[1.0], each[:-1]]) for each in (upper, lower))
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = np.where(start_lower > 0.0, np.minimum(upper / start_lower, 1.0), 1.0)
        smallest = np.where(start_upper > 0.0, lower / start_upper, 0.0)
    among = np.where(one, np.minimum(most, before), before)
    with np.errstate(invalid="ignore"):
        bound = np.where(np.isfinite(among), np.floor(among * (1.0 - smallest) + 1e-9), np.inf)
        bound = np.minimum(bound, among - np.append(fewest[1:], 0.0))
    return np.maximum(np.ceil(fewest * (1.0 - largest) - 1e-9), 0.0), np.where(possible == 0, 0.0, bound)


def places_of(curves: Survival, statistic: str) -> NDArray[np.int64]:
    """Where a statistic is among the numbers, (groups, times); (groups, 0) where it was not released."""
    shape = len(curves.groups), len(curves.at), len(curves.columns)
    at = [column for column, each in enumerate(curves.columns) if each == statistic]
    places = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)[:, :, at]
    return places.reshape(len(curves.groups), -1)


def _between(curves: Survival, places: NDArray[np.int64], exact: NDArray[np.bool_]) -> Iterator[Counted]:
    """Records between the times at which it is known how many are at risk, in one table."""
    cell = np.full((len(curves.groups), len(curves.support)), -1)
    of, less = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
    size = 0
    for group, own in enumerate(places):
        known = np.flatnonzero(exact[own])
        last = np.searchsorted(curves.at[known], curves.support, side="right") - 1
        cell[group] = np.where(last < 0, -1, size + last)
        of.append(own[known])
        less.append(np.append(own[known][1:], -1)[: len(known)])
        size += len(known)
    yield _table(curves, cell, cell, size), np.concatenate(of), np.concatenate(less)


def _from_each(curves: Survival, places: NDArray[np.int64], exact: NDArray[np.bool_]) -> Iterator[Counted]:
    """Records from each time on at which it is known how many are at risk, each in a table of its own."""
    for own, time in zip(places.T, curves.at, strict=True):
        known = exact[own]
        cell = np.where(known, np.cumsum(known) - 1, -1)[:, None]
        cell = np.where(curves.support >= time, cell, -1)
        if known.any():
            yield _table(curves, cell, cell, int(known.sum())), own[known], np.full(known.sum(), -1)


def _events(curves: Survival, places: NDArray[np.int64]) -> Counted:
    """Events up to each time."""
    upto = np.searchsorted(curves.at, curves.support)
    cell = np.arange(places.size).reshape(places.shape)[:, np.minimum(upto, places.shape[1] - 1)]
    cell = np.where(upto < places.shape[1], cell, -1)
    return _table(curves, cell, np.full_like(cell, -1), places.size), places.ravel(), np.full(places.size, -1)


def _table(curves: Survival, of_events: NDArray[np.int64], of_others: NDArray[np.int64], size: int) -> Tally:
    """A table of records with the cells (groups, times) of those that had the event, and of the others."""
    joint, place = curves.of_levels
    cell = np.where(place < 0, -1, np.append(of_events, of_others)[place]).astype(np.int32)
    event = curves.codebook[curves.event]
    if not event.missing and np.array_equal(of_events, of_others):  # whoever had it
        joint = joint_for(curves.codebook, curves.variables[:-1], curves.name)
        cell = cell[:: event.size]
    return Tally(joint, size, cell, masks=curves.masks)
