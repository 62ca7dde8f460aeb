"""Groups of one answer in tables that outputs tell together, whether any of them prints the table or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from outrisk.assess.look.finding import Found
from outrisk.assess.look.known import Array
from outrisk.assess.look.printed import Numbers
from outrisk.assess.look.same_answer import in_table
from outrisk.assess.look.told import Told, allowed, complete
from outrisk.microdata import Microdata
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.records.schema import WITH

_MOST_CELLS = 1_000_000
_WAY_OUT = "Merge groups until each holds more than one value, or leave one of these outputs out."


def tables_told(numbers: Numbers, data: Microdata, target: str, inside: bool) -> Iterator[Found]:
    """As a frequency table says of its variables, where printed numbers together tell which of its cells hold nobody:
    that all the ill are of one level of an exposure, say, or what totals leave of rounded and withheld counts.
    """
    for kind in numbers.closed:
        if kind.counts and not kind.lacks and not kind.also:
            for names in numbers.tables(kind):
                known = numbers.over(kind, names)
                if known is not None:
                    yield from one_answer(data, known.by, kind.where, known.high, known.outputs, target, inside)


def one_answer(
    data: Microdata,
    by: Sequence[str],
    where: str,
    most: Array,
    outputs: Sequence[str],
    target: str,
    inside: bool,
) -> Iterator[Found]:
    """The findings of a table by some variables of which a reader knows how many records are `most` in each cell, in
    its shape: groups all of whose other cells hold nobody. Cells that no output prints alone are named `inside` alone.
    """
    if most.size > _MOST_CELLS or not (most <= 0).any():
        return
    name = WITH.join(dict.fromkeys(outputs))
    whole = Told.whole(data, by, complete(data, where, name, ()))
    told = replace(whole, shown=(most <= 0) | (whole.counts > 0), exact=np.zeros(most.shape, np.bool_))
    table = Frequencies(data.codebook, name, tuple(by), where)
    names = [each for each in by if allowed(data.codebook, table, each).sum() > 1]
    for finding in in_table(told, name, names, where, _WAY_OUT, target):
        yield finding if inside or len(set(outputs)) == 1 else replace(finding, places="")
