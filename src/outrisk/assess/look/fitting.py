"""Tables that tests, crude ratios and saturated regressions of nested subsets leave, beside what tables print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from outrisk.assess.look.by_statistics import released_of
from outrisk.assess.look.known import Kind, Known
from outrisk.assess.look.not_printed import tables_of
from outrisk.assess.look.once import release
from outrisk.assess.look.printed import Numbers
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, released
from outrisk.outputs.of_one_table.described import described_tables, statistic, statistics_of
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.problem.released import Released

_TIMES = 2  # the second beside what the first leave of larger subsets


def beside_statistics(numbers: Numbers, outputs: Sequence[Output], data: Microdata) -> Numbers:
    """The numbers with the counts that statistics leave, where outputs are of several subsets: of all tables that fit
    what is printed, those that give the statistics, each cell from the least to the most that it has in them.
    """
    some = [output for output in outputs if statistic(output)]
    if not some or len({output.where for output in outputs}) < 2:
        return numbers
    statistics = list(released_of(some, data))
    tables = [release(one, data) for one in tables_of(outputs)]
    for _ in range(_TIMES):
        more = list(_as_tables(numbers, statistics))
        described = described_tables(data.codebook, [*tables, *more, *statistics])
        told = [
            (Kind(each.within, frozenset(each.complete)), Known(each.by, *_ends(each.fitting), each.statistics))
            for each in described
            if len(each.fitting)
        ]
        if not told:
            break
        numbers = numbers.beside(told)
    return numbers


def _ends(fitting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return fitting.min(axis=0).astype(np.float64), fitting.max(axis=0).astype(np.float64)


def _as_tables(numbers: Numbers, statistics: Sequence[Released]) -> Iterator[Released]:
    """What is known of the table behind each statistic, as if it was printed in ranges."""
    of = dict.fromkeys(
        (frozenset(each.variables), one.output.where) for whole in statistics for each, one in statistics_of(whole)
    )
    for variables, where in of:
        names = tuple(sorted(variables, key=numbers.codebook.index))
        known = numbers.over(Kind(where), names)
        if known is None or not np.isfinite(known.high).all():
            continue
        table = Frequencies(numbers.codebook, known.outputs[0], names, where)
        try:
            yield released(table, known.low.ravel(), known.high.ravel())
        except OutputError:
            continue
