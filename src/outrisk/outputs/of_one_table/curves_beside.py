"""Survival curves beside tables that say how many were at risk, such as one of ages beside survival by age.

A curve falls at each time by the share of those at risk who had the event. Where another output prints how many records
there are at each time, by the same groups, it says how many are at risk, and so the digits of the curve may leave one
number of events, where it does not print this: a table by time, group and event that nobody printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.outputs.base import Array, released
from outrisk.outputs.of_one_table.described import of_all_records, of_subset, over
from outrisk.outputs.smooth.curve_counts import beside, places_of, told_apart, with_events
from outrisk.outputs.smooth.survival import Survival
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.problem.released import Released


def events_told(codebook: Codebook, outputs: Sequence[Released]) -> Iterator[Released]:
    """The tables by group, time and event that survival curves imply together with other outputs: a cell is known where
    these leave one number of events at its time, and any number else.
    """
    for one in outputs:
        found = with_at_risk(one, outputs) if isinstance(one.output, Survival) else None
        if found is None:
            continue
        curves, low, high, in_all, names = found
        curves, low, high, _ = with_events(curves, low, high, in_all)
        known = told_apart(curves, low, high)
        if not known.any():
            continue
        at = np.minimum(np.searchsorted(curves.at, curves.support), len(curves.at) - 1)
        at_risk, had = (low[places_of(curves, statistic)][:, at] for statistic in ("at risk", "events"))
        there = at_risk - np.column_stack([at_risk[:, 1:], np.zeros(len(at_risk))])
        table = Frequencies(codebook, " with ".join([one.name, *names]), tuple(curves.variables), curves.where)
        yield _as_table(table, curves, known, had, there)


def _as_table(table: Frequencies, curves: Survival, known: NDArray[np.bool_], had: Array, there: Array) -> Released:
    """A table of those who had the event and of the others, of whom it is known (groups, times) how many had it."""
    shape = [table.codebook[name].size for name in table.by]
    values = [len(table.codebook[name].values) for name in table.by]
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    inside = np.ix_(*(np.arange(size) for size in values))
    event = list(table.codebook[curves.event].values).index(curves.happened)
    at = np.zeros((*known.shape, values[-1]), np.bool_)
    at[:, :, [event] if values[-1] != 2 else [0, 1]] = known[:, :, None]
    number = np.where(np.arange(values[-1]) == event, had[:, :, None], (there - had)[:, :, None])
    low[inside], high[inside] = (np.where(at, number, end).reshape(values) for end in (-np.inf, np.inf))
    return released(table, low.ravel(), high.ravel())


def with_at_risk(one: Released, others: Sequence[Released]) -> tuple[Survival, Array, Array, Array, list[str]] | None:
    """Released survival curves with numbers at risk, which were not released, as others tell them: the curves, from
    where to where their numbers lie, how many are in each group at most, and the names of the others. None where no
    other one does.
    """
    curves = one.output
    if (
        not isinstance(curves, Survival)
        or "at risk" in curves.columns
        or not {"survival", "events"} & {*curves.columns}
    ):
        return None
    if curves.codebook[curves.event].missing:  # who has none is in no curve
        return None
    by = curves.variables[:-1]
    shape = tuple(curves.codebook[name].size for name in by)
    least, most, names = np.zeros(shape), np.full(shape, np.inf), list[str]()
    in_all = np.full(shape[:-1], np.inf)  # at most so many are in a group
    for other in filter(of_all_records, others):
        for counts in of_subset(curves.subset, other):
            if set(by) <= set(counts.by):
                low, high = over(counts, by)
                if (low > least).any() or (high < most).any():
                    least, most = np.maximum(least, low), np.minimum(most, high)
                    names.append(other.name)
            elif set(by[:-1]) <= set(counts.by) and ((high := over(counts, by[:-1])[1]) < in_all).any():
                in_all = np.minimum(in_all, high)
                names.append(other.name)
    if not names:
        return None
    inside = tuple(slice(len(curves.codebook[name].values)) for name in by)
    ends = [each[inside].reshape(len(curves.groups), -1) for each in (least, most)]
    at = np.searchsorted(curves.support, curves.at)
    low, high = (np.column_stack([each[:, ::-1].cumsum(axis=1)[:, ::-1], np.zeros(len(each))])[:, at] for each in ends)
    in_groups = np.minimum(in_all[inside[:-1]].ravel(), ends[1].sum(axis=1))
    high = np.minimum(high, in_groups[:, None])
    return *beside(curves, one.low, one.high, "at risk", low, high), in_groups, list(dict.fromkeys(names))
