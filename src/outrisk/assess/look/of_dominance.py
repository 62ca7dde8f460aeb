"""Sums that outputs other than tables tell beside numbers of records, and that one person dominates."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import DOMINANCE
from outrisk.assess.look.finding import Found
from outrisk.assess.look.of_sums import Sorted, cells_left, dominated_sums
from outrisk.assess.look.printed import Numbers
from outrisk.microdata import Microdata

_ADVICE = "Merge these groups with others, or leave out how many people they have."


def sums_dominated(
    numbers: Numbers, others: Collection[str], data: Microdata, appetite: Appetite, inside: bool
) -> Iterator[Found]:
    """Cells of sums, as the means of a saturated regression or beside correlations times records that any output says,
    that give the second largest contributor the largest to within the share of the p % rule. others: the names of
    outputs that are no tables, whose sums these are.
    """
    for kind, tables in numbers.own.items():
        for own in tables if kind.what and not kind.weight else ():
            known = numbers.over(kind, own.by) if own.outputs[0] in others else None
            if known is None:
                continue
            of = Sorted.of(cells_left(data, kind, own.by, numbers.records(kind, data), known), data, kind, appetite)
            if of.dominated:
                how = f"means times numbers of records tell sums that it dominates (by {', '.join(own.by)}; p % rule)"
                how = how if own.by else "its mean times the number of records is a sum that it dominates (p % rule)"
                yield dominated_sums(of, kind, own.outputs[0], how, appetite, inside, _ADVICE)


def instead(found: Sequence[Found], certain: Sequence[Found]) -> list[Found]:
    """Findings with those that are certain in place of what may be so of the same people of the same output."""
    kept = [
        each
        for each in found
        if each.certain
        or each.rule != DOMINANCE
        or not any(each.output == one.output and np.isin(each.who, one.who).all() for one in certain)
    ]
    return [*kept, *certain]
