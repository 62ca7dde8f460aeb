"""Counts that a release does not print and that follow from it: withheld cells, and tables that were not released."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import NOT_BOUNDED, Found, Rows, counted, named, plural
from outrisk.assess.look.once import release
from outrisk.assess.look.small_cells import secondary
from outrisk.assess.look.told import rows_in, told_by
from outrisk.errors import ProveError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.prove.cell_bounds import NARROW, CellBounds, audit
from outrisk.records.schema import WITH

_NAMED = 4  # outputs that a finding names


def not_printed(
    outputs: Sequence[Output], data: Microdata, appetite: Appetite, target: str, inside: bool = False
) -> Iterator[Found]:
    """Withheld cells that can be worked out, small cells of tables not released that follow, and what was not asked.

    The number of all records is taken as known only where a table prints it. Cells that only several outputs together
    tell are named with `inside` alone.
    """
    tables = tables_of(outputs)
    if not tables:
        return
    threshold = appetite.safe_threshold
    records = threshold if data.person is None else threshold * int(np.bincount(data.person).max())
    try:
        found = audit(data.codebook, [release(one, data) for one in tables], None, (), target, small=records)
    except ProveError as error:
        yield Found(NOT_BOUNDED, False, "all tables", 0, 0, f"Cells were not bounded: {error}.")
        return
    by_name = {output.name: output for output in tables}
    for each in found.tables:
        bounds = each if data.person is None or each.table.output else _of_few(each, data, threshold)
        if bounds.recovered.any() or bounds.narrowed.any():
            if bounds.table.output:
                yield _withheld(bounds, by_name[bounds.table.output], data, inside)
            else:
                yield _not_released(bounds, data, threshold, inside)
    for reason in dict.fromkeys(found.not_asked.values()):
        names = [name for name, why in found.not_asked.items() if why == reason]
        what = f"Cells of {plural(len(names), 'table')} withheld or not released were not bounded: {reason}."
        yield Found(NOT_BOUNDED, False, "tables together", 0, 0, what, named(names))


def _of_few(bounds: CellBounds, data: Microdata, threshold: int) -> CellBounds:
    """The same of cells that hold fewer people than the threshold: of fewer records than so many people can have."""
    only = np.zeros(len(bounds.low), dtype=np.bool_)
    for cell in np.flatnonzero(bounds.recovered | bounds.narrowed).tolist():
        only[cell] = data.people(rows_in(bounds.table.blocks[0], bounds.table.total[[cell]], data)) < threshold
    return replace(bounds, only=only)


def tables_of(outputs: Sequence[Output]) -> list[Output]:
    """Outputs that are tables of counts, shares, sums, means or rates."""
    return [output for output in outputs if output.table or output.kind in ("magnitudes", "rates")]


def _withheld(bounds: CellBounds, output: Output, data: Microdata, inside: bool) -> Found:
    number, alone = int(bounds.recovered.sum()), bounds.outputs == (output.name,)
    cell = "withheld or rounded cell"
    by = "by subtracting its other cells from printed totals" if alone else f"from {_listed(bounds.outputs)}"
    exactly = f"{plural(number, cell)} of {len(bounds.low):,} can be worked out {by}" if number else ""
    advice = ""
    if number:
        advice = _secondary_advice(output, data) if alone else "Withhold the same cells in all outputs that tell them."
    return Found.of(
        "withheld cells recoverable",
        False,
        output.name,
        number,
        _who(bounds, data),
        f"{_and_narrowed(exactly, bounds, cell)}.",
        _places(bounds) if alone or inside else "",
        advice,
    )


def _secondary_advice(output: Output, data: Microdata) -> str:
    """Which further cells must go so that the totals of a table do not give the withheld ones back."""
    cells = "further cells"
    if isinstance(output, Frequencies) and output.protection.threshold is not None:
        told = told_by(output, data)
        hidden = output.protection.hides(told.counts.ravel().astype(np.float64)).reshape(told.counts.shape)
        more = secondary(told.counts, hidden)
        cells = f"{plural(int(more.sum()), 'further cell')} ({told.places(more)})"
    return f"Withhold {cells} (secondary suppression), or leave the totals out."


def _not_released(bounds: CellBounds, data: Microdata, threshold: int, inside: bool) -> Found:
    number, name = int(bounds.recovered.sum()), bounds.table.name
    follow = "follows" if number == 1 else "follow"
    what = f"{plural(number, 'cell')} of fewer than {threshold} {counted(data)} {follow} exactly" if number else ""
    return Found.of(
        "table not released",
        False,
        WITH.join(bounds.outputs) if number else name,
        number,
        _who(bounds, data),
        f"The table {name} was not released; {_and_narrowed(what, bounds, 'small cell')}.",
        _places(bounds) if inside else "",
        f"Leave out one of them, or merge levels of {', '.join(bounds.table.variables)}." if number else "",
    )


def _who(bounds: CellBounds, data: Microdata) -> Rows:
    """The records in recovered cells, totals left aside."""
    return rows_in(bounds.table.blocks[0], bounds.table.total[bounds.recovered], data)


def _and_narrowed(what: str, bounds: CellBounds, word: str) -> str:
    more = int(bounds.narrowed.sum())
    if not more:
        return what
    few = f"{plural(more, word)} {'is' if more == 1 else 'are'} known to within {NARROW:.0%} of the most that fits"
    return f"{what}; {few}" if what else few


def _listed(outputs: Sequence[str]) -> str:
    more = f" and {len(outputs) - _NAMED} more" if len(outputs) > _NAMED else ""
    return ", ".join(outputs[:_NAMED]) + more


def _places(bounds: CellBounds) -> str:
    at = np.flatnonzero(bounds.recovered)
    order = at[np.argsort(bounds.low[at], kind="stable")]
    return named([f"{bounds.table.labels[q]}: {bounds.low[q]:,.0f}" for q in order.tolist()])
