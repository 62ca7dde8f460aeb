"""Proofs from statistics of one table, such as a test or a crude odds ratio, and from survival curves beside tables:
what they leave of its counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import ProveError
from outrisk.outputs.of_one_table.curves_beside import events_told
from outrisk.outputs.of_one_table.described import described_tables
from outrisk.problem.blocks import Mask
from outrisk.problem.released import Released
from outrisk.prove.programme import Programme, programme


def told_by_statistics(codebook: Codebook, outputs: Sequence[Released]) -> tuple[list[Released], dict[str, str]]:
    """What statistics leave of the counts of their tables, as tables of their own, where that is less than is printed,
    and what survival curves leave of those by time and event; and by the name of each such statistic, what is left out
    of it. ProveError where no table that fits the printed counts gives the numbers of the statistics.
    """
    found, left_out = list[Released](), dict[str, str]()
    for each in described_tables(codebook, outputs):
        if not each.many and not len(each.fitting):
            names = [*each.statistics, *each.printed.outputs]
            said = f"{'; '.join(names)} print{'s' * (len(names) == 1)}"
            raise ProveError(f"no data set fits all the released numbers: what {said}")
        if told := each.told(codebook):
            found.append(told)
            left_out |= dict.fromkeys(each.statistics, "the range that it leaves each count of its table is used")
    return [*found, *events_told(codebook, outputs)], left_out


def programme_with_statistics(
    codebook: Codebook,
    outputs: Sequence[Released],
    n_records: int,
    known: Mapping[str, NDArray[np.int64]] | None = None,
    wanted: Sequence[str] = (),
    rules: Sequence[Mask] = (),
    crossed: bool = False,
) -> Programme:
    """The `programme` of some outputs and of what statistics among them leave of counts; arguments as there."""
    told, left_out = told_by_statistics(codebook, outputs)
    of = programme(codebook, [*outputs, *told], n_records, known, wanted, rules, crossed=crossed)
    for name, reason in left_out.items():
        before = of.left_out.get(name, "")
        left_out[name] = f"{before}; {reason}" if before.startswith("coefficients are used") else reason
    return replace(of, left_out={**of.left_out, **left_out})
