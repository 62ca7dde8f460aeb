"""Survival curves with the numbers of records that they print as counts in tables.

How many records are at risk and how many had the event are counts, which a search keeps once it has them, while
survival, standard errors and the log-rank test change little by little with the records behind them. Numbers at risk
are counts of all records from a time on. Where they are known exactly, what lies between two of them says the same and
is a cell of a table; in which group a record is, when its time was, and whether it had the event are axes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, joint_for, support_frame
from outrisk.problem.blocks import Tally
from outrisk.problem.counts import Counts
from outrisk.problem.released import Part, Released, TallyPart

if TYPE_CHECKING:
    from outrisk.outputs.smooth.survival import Survival

_COUNTS = ("at risk", "events")


@dataclass(frozen=True)
class CountsFirst(Common):
    """Survival curves with numbers of records first, `made` of these parts: each number is the one at `of` (k,), less
    the one at `less` (k,) where that is not -1.
    """

    curves: Survival
    made: tuple[Part, ...]
    of: NDArray[np.int64]
    less: NDArray[np.int64]
    kind = "survival"

    @property
    def labels(self) -> list[str]:
        """What each number is of."""
        names = self.curves.labels
        return [
            names[of] if less < 0 else f"{names[of]}, but for those of {names[less]}"
            for of, less in zip(self.of, self.less, strict=True)
        ]

    @property
    def decimals(self) -> NDArray[np.int64]:
        """As they were printed."""
        return self.curves.decimals[self.of]

    @property
    def where(self) -> str:
        """The records it was computed on."""
        return self.curves.where

    def parts(self, values: Array) -> tuple[Part, ...]:
        """Those of all values."""
        return self.made

    def at(self, numbers: Array) -> Array:
        """These numbers (k,) of those of the curves."""
        return np.asarray(numbers[self.of] - np.where(self.less < 0, 0.0, numbers[self.less]))

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """As the refit of the curves has them."""
        return self.at(self.curves.refit(data))


def counts_first(curves: Survival, low: Array, high: Array) -> Released | None:
    """What was released from low to high (k,) with numbers of records first, in a part of their own; the others are
    left out where numbers at every time determine them. None where there are no numbers of records, or one at risk was
    rounded.
    """
    at_risk, events = (_places(curves, statistic) for statistic in _COUNTS)
    exact, unknown = low == high, np.isinf(low) & np.isinf(high)
    if not at_risk.size + events.size or not (exact | unknown)[at_risk].all():
        return None
    tables = [_between(curves, at_risk, exact)] if at_risk.size else []
    tables += [_events(curves, events)] if events.size else []
    blocks, of, less = zip(*tables, strict=True)
    n_counts = sum(block.size for block in blocks)
    parts: tuple[Part, ...] = (TallyPart(blocks, Counts(np.arange(n_counts)), n_counts),)
    others = np.setdiff1d(np.arange(len(low)), np.concatenate([at_risk.ravel(), events.ravel()]))
    every = at_risk.size and events.size and np.isin(curves.support, curves.at).all()
    if len(others) and not (every and exact[at_risk].all() and exact[events].all()):
        columns = tuple(name for name in curves.columns if name not in _COUNTS)
        parts = (*parts, curves.of_columns(columns, curves.decimals[others]))
        of, less = (*of, others), (*less, np.full(len(others), -1))
    places = np.concatenate(of), np.concatenate(less)
    output = CountsFirst(curves.codebook, curves.name, curves, parts, *places, importance=curves.importance)
    return Released(output, output.at(low), output.at(high), parts, output.of)


def _places(curves: Survival, statistic: str) -> NDArray[np.int64]:
    """Where a statistic is among the numbers, (groups, times); (groups, 0) where it was not released."""
    shape = len(curves.groups), len(curves.at), len(curves.columns)
    at = [column for column, each in enumerate(curves.columns) if each == statistic]
    places = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)[:, :, at]
    return places.reshape(len(curves.groups), -1)


def _between(
    curves: Survival, places: NDArray[np.int64], exact: NDArray[np.bool_]
) -> tuple[Tally, NDArray[np.int64], NDArray[np.int64]]:
    """Records between the times at which it is known how many are at risk: the table, and of which numbers each of its
    cells is the difference.
    """
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
    return _table(curves, cell, cell, size), np.concatenate(of), np.concatenate(less)


def _events(curves: Survival, places: NDArray[np.int64]) -> tuple[Tally, NDArray[np.int64], NDArray[np.int64]]:
    """The same of events up to each time."""
    upto = np.searchsorted(curves.at, curves.support)
    cell = np.arange(places.size).reshape(places.shape)[:, np.minimum(upto, places.shape[1] - 1)]
    cell = np.where(upto < places.shape[1], cell, -1)
    return _table(curves, cell, np.full_like(cell, -1), places.size), places.ravel(), np.full(places.size, -1)


def _table(curves: Survival, of_events: NDArray[np.int64], of_others: NDArray[np.int64], size: int) -> Tally:
    """A table of records with the cells (groups, times) of those that had the event, and of the others."""
    codebook = curves.codebook
    alike = not codebook[curves.event].missing and np.array_equal(of_events, of_others)
    joint = joint_for(codebook, curves.variables[: -1 if alike else None], curves.name)
    frame = support_frame(codebook, joint)
    known = np.flatnonzero(frame.notna().all(axis=1))
    group = np.zeros(len(known), np.int64)
    for name in curves.by:
        values = pd.Index(codebook[name].values)
        group = group * len(values) + values.get_indexer(pd.Index(frame[name].iloc[known]))
    time = pd.Index(codebook[curves.time].values).get_indexer(pd.Index(frame[curves.time].iloc[known]))
    found = np.full(joint.size, -1, np.int32)
    happened = True if alike else (frame[curves.event].iloc[known] == curves.happened).to_numpy()
    found[known] = np.where(happened, of_events[group, time], of_others[group, time])
    return Tally(joint, size, found, masks=curves.subset.masks())
