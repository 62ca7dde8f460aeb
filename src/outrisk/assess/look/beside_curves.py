"""Survival curves beside tables that say how many are at risk: at which times everybody had the event, or nobody, and
how many of few had it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from outrisk.appetite import Appetite
from outrisk.assess.look.by_statistics import released_of, small_cells_follow
from outrisk.assess.look.finding import Found, named
from outrisk.assess.look.same_answer import in_table
from outrisk.assess.look.told import Told, complete, told_at
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.of_one_table.curves_beside import events_told, with_at_risk
from outrisk.outputs.smooth.survival import Survival
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.problem.released import Released

_WAY_OUT = "Publish the curve at fewer times or to fewer digits, or leave the numbers of people out."


def beside_curves(outputs: Sequence[Output], data: Microdata, appetite: Appetite, inside: bool) -> Iterator[Found]:
    """What curves and tables tell together of who had the event, of times at which they leave one number of events."""
    if not any(isinstance(output, Survival) for output in outputs):
        return
    counts = [output for output in outputs if isinstance(output, Survival | Frequencies | Magnitudes)]
    released = list(released_of(counts, data))
    for one in released:
        yield from _one_answer(one, released, data)
    for table in events_told(data.codebook, released):
        by, where = table.output.table, table.output.where
        whole = Told.whole(data, by, complete(data, where, table.name, by))
        known = (table.low == table.high).reshape(whole.counts.shape)
        told = replace(whole, shown=known, exact=known)
        few = known & (told.people > 0) & (told.people < appetite.safe_threshold)
        if few.any():
            number = int(few.sum())
            what = (
                f"{small_cells_follow(by, where, number, data, appetite)}: the curve falls by the share of those at "
                "risk who had the event, and it is known how many these are."
            )
            labels = named(told.labels(few)) if inside else ""
            yield Found.of("table not released", False, table.name, number, told.who(few), what, labels, _WAY_OUT)


def _one_answer(one: Released, others: Sequence[Released], data: Microdata) -> Iterator[Found]:
    """Times at which everybody had the event, or nobody, by a curve and numbers of people that others print."""
    found = with_at_risk(one, others)
    if found is None or len(data.codebook[found[0].event].values) != 2:
        return
    curves, low, high, in_all, names = found
    told = told_at(curves, curves.told_apart(low, high) | curves.one_answer(low, high, in_all), data)
    yield from in_table(told, " with ".join([one.name, *names]), [curves.event], curves.where, _WAY_OUT)
