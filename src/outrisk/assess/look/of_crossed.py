"""Groups of one answer in the tables behind proportions and associations, of other variables than the event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from outrisk.assess.look.finding import Found
from outrisk.assess.look.known import Kind
from outrisk.assess.look.printed import Numbers
from outrisk.assess.look.same_answer import in_table
from outrisk.assess.look.told import Told, allowed, complete
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.smooth.association import Association
from outrisk.outputs.smooth.proportions import Proportions


def crossed_told(outputs: Sequence[Output], numbers: Numbers, data: Microdata, target: str) -> Iterator[Found]:
    """As a frequency table says of its variables, where what is printed tells which cells of the table hold nobody:
    that all the ill are of one level of the exposure, say.
    """
    for output in outputs:
        if not isinstance(output, Association | Proportions):
            continue
        order = sorted(output.crossed, key=data.codebook.index)
        known = numbers.over(Kind(output.where), order)
        if known is None:
            continue
        shown = (known.low > 0) | (known.high <= 0)
        rows = complete(data, output.where, output.name, ())
        told = replace(Told.whole(data, order, rows), shown=shown, exact=known.low == known.high)
        others = [name for name in order if name != output.event and allowed(data.codebook, output, name).sum() > 1]
        yield from in_table(told, output.name, others, output.where, target=target)
