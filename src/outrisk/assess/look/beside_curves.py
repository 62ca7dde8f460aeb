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
from outrisk.assess.look.told import Told, complete
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.of_one_table.curves_beside import events_told
from outrisk.outputs.smooth.survival import Survival
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.magnitudes import Magnitudes

_WAY_OUT = "Publish the curve at fewer times or to fewer digits, or leave the numbers of people by time out."


def beside_curves(outputs: Sequence[Output], data: Microdata, appetite: Appetite, inside: bool) -> Iterator[Found]:
    """What curves and tables tell together of who had the event, of times at which they leave one number of events."""
    if not any(isinstance(output, Survival) for output in outputs):
        return
    counts = [output for output in outputs if isinstance(output, Survival | Frequencies | Magnitudes)]
    for table in events_told(data.codebook, list(released_of(counts, data))):
        by, where = table.output.table, table.output.where
        whole = Told.whole(data, by, complete(data, where, table.name, by))
        known = (table.low == table.high).reshape(whole.counts.shape)
        told = replace(whole, shown=known, exact=known)
        if len(data.codebook[by[-1]].values) == 2:
            yield from in_table(told, table.name, [by[-1]], where, _WAY_OUT)
        few = known & (told.people > 0) & (told.people < appetite.safe_threshold)
        if few.any():
            number = int(few.sum())
            what = (
                f"{small_cells_follow(by, where, number, data, appetite)}: the curve falls by the share of those at "
                "risk who had the event, and it is known how many these are."
            )
            labels = named(told.labels(few)) if inside else ""
            yield Found.of("table not released", False, table.name, number, told.who(few), what, labels, _WAY_OUT)
