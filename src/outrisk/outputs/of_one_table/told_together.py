"""What several outputs tell together of counts that none of them prints, for a search."""

from __future__ import annotations

from collections.abc import Sequence

from outrisk.codebook import Codebook
from outrisk.outputs.of_one_table.curves_beside import events_told
from outrisk.outputs.of_one_table.described import described_tables
from outrisk.problem.released import Released


def tables_told(codebook: Codebook, released: Sequence[Released]) -> tuple[Released, ...]:
    """What regressions that follow from one table leave of its counts, for a search: coefficients that are not printed
    then are; what exact tests leave, whose p moves in steps; tables that other tests leave alone; and events that
    survival curves leave one number of. Where these leave several, the range of a cell holds others too, and would only
    be in its way.
    """
    tables = described_tables(codebook, released)
    found = (
        each.told(codebook) for each in tables if each.crude or each.exact or each.compared or len(each.fitting) == 1
    )
    return (*(each for each in found if each), *events_told(codebook, released))
