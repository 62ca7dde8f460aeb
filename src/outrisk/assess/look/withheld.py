"""Withheld sums, means and counts that follow from totals which other tables on the same records print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found, named, plural
from outrisk.assess.look.known import Known, shape
from outrisk.assess.look.of_sums import Sorted, cells_left, dominated_sums, found_in_cells, own_values
from outrisk.assess.look.printed import Numbers, cell_label, count_kind, places, sum_kind
from outrisk.assess.look.told import Flags
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.magnitudes import Magnitudes

RULE = "withheld cells recoverable"
ADVICE = "Withhold further cells (secondary suppression), or leave the totals out."


def sums_withheld(
    numbers: Numbers, outputs: Sequence[Output], data: Microdata, appetite: Appetite, inside: bool
) -> Iterator[Found]:
    """Withheld cells of tables of sums and means whose sum is what totals leave: a person's value, or a sum that one
    dominates; or that of several, which is no longer withheld.
    """
    for output in outputs:
        rule = output.protection if isinstance(output, Magnitudes) and not output.weight else None
        if not isinstance(output, Magnitudes) or rule is None or rule.threshold is None:
            continue
        kind, names = sum_kind(output), tuple(sorted(output.by, key=data.codebook.index))
        known = numbers.over(kind, names)
        if known is None:
            continue
        rows = numbers.records(kind, data)
        place = places(data, names, rows)
        hidden = rule.hides(np.bincount(place, minlength=known.low.size).astype(np.float64))
        of = Sorted.of(cells_left(data, kind, names, rows[hidden[place]], known), data, kind, appetite)
        of_all = f"of {plural(int(hidden.sum()), 'withheld cell')}"
        if of.own:
            how = f"{plural(len(of.own), 'cell')} {of_all} can be worked out by subtracting the others from totals"
            yield own_values(of, kind, output.name, how, data, inside, RULE, ADVICE)
        if of.dominated:
            how = f"{plural(len(of.dominated), 'cell')} {of_all}, by subtracting the others from totals (p % rule)"
            yield dominated_sums(of, kind, output.name, how, appetite, inside, ADVICE)
        near = [each for each in of.others if each.high - each.low <= appetite.safe_pratio_p * abs(each.high)]
        if near:
            what = f"{plural(len(near), 'sum')} {of_all} can be worked out by subtracting the others from totals."
            yield found_in_cells(RULE, False, output.name, near, what, "", inside, ADVICE)


def counts_withheld(numbers: Numbers, outputs: Sequence[Output], data: Microdata, inside: bool) -> Iterator[Found]:
    """Withheld or rounded counts of tables that follow from totals of other tables; without a programme."""
    printed = {output.name: output for output in outputs if _prints_counts(output)}
    for kind, tables in numbers.own.items():
        for own in tables if kind.counts else ():
            together = numbers.over(kind, own.by)
            output = printed.get(own.outputs[0])
            if output is None or together is None or count_kind(output) != kind or set(own.by) != set(_by(output)):
                continue
            found = (own.low < own.high) & (together.low == together.high)
            if found.any():
                yield _recovered(own, together, found, output, numbers, data, inside)


def _prints_counts(output: Output) -> bool:
    if isinstance(output, Magnitudes):
        return "count" in output.statistics and not output.weight
    return isinstance(output, Frequencies) and output.show == "counts" and not output.weight


def _by(output: Output) -> tuple[str, ...]:
    return output.by if isinstance(output, Frequencies | Magnitudes) else ()


def _recovered(
    own: Known, together: Known, cells: Flags, output: Output, numbers: Numbers, data: Microdata, inside: bool
) -> Found:
    number, flat = int(cells.sum()), cells.ravel()
    kind = count_kind(output)
    rows = numbers.records(kind, data)
    rows = rows[flat[places(data, own.by, rows)]]
    at = np.flatnonzero(flat)
    order = at[np.argsort(together.low.ravel()[at], kind="stable")]
    labels = [f"{cell_label(data.codebook, own.by, q)}: {together.low.ravel()[q]:,.0f}" for q in order.tolist()]
    open_ = int((own.low < own.high).sum())
    size = int(np.prod(shape(data.codebook, own.by)))
    return Found.of(
        RULE,
        False,
        output.name,
        number,
        rows,
        f"{plural(number, 'withheld or rounded cell')} of {open_:,} (in all {plural(size, 'cell')}) can be worked out "
        "by subtracting the others from totals of other outputs.",
        named(labels) if inside else "",
        ADVICE,
    )
