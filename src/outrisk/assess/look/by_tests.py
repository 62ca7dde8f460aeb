"""Counts that a table rounds or withholds, or that no table prints, and that tests of the same variables give back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import NOT_BOUNDED, Found, counted, named, plural
from outrisk.assess.look.not_printed import tables_of
from outrisk.assess.look.told import Told, complete
from outrisk.assess.told_by_tests import Tested, tested_tables
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, release
from outrisk.outputs.smooth.hypothesis_test import HypothesisTest


def given_back(
    outputs: Sequence[Output], data: Microdata, appetite: Appetite, target: str, inside: bool = False
) -> Iterator[Found]:
    """Cells that are protected, or small and not printed, and that only one number fits, or two, given what tests of
    counts say of them.
    """
    tests = [output for output in outputs if isinstance(output, HypothesisTest)]
    if not tests:
        return
    for each in tested_tables(data.codebook, [release(output, data) for output in (*tables_of(outputs), *tests)]):
        if len(each.fitting):
            yield from _told(each, data, appetite, inside)
        elif each.many and (each.printed.low < each.printed.high).any():
            what = (
                f"Too many tables fit the printed counts of {' x '.join(each.by)} to ask which of them the test fits."
            )
            yield Found(NOT_BOUNDED, False, named(list(each.tests)), 0, 0, what)


def _told(each: Tested, data: Microdata, appetite: Appetite, inside: bool) -> Iterator[Found]:
    """The finding, if there is one."""
    told = Told.whole(data, each.by, complete(data, each.where, each.tests[0], ()))
    tables, fitting, printed = each.tables, each.fitting, each.printed
    open_ = tables.min(axis=0) < tables.max(axis=0)
    low, high = fitting.min(axis=0), fitting.max(axis=0)
    of_two = (low < high) & ((fitting == low) | (fitting == high)).all(axis=0)
    of_two &= tables.max(axis=0) - tables.min(axis=0) > 2  # one of more before
    recovered = open_ & (low == high)
    if not printed.whole:
        few = (told.people > 0) & (told.people < appetite.safe_threshold)
        recovered, of_two = recovered & few, of_two & few
    alone = len(printed.outputs) == 1
    number, more = int(recovered.sum()), int(of_two.sum())
    if not number and not more:
        return
    tests_print = "what the test prints" if len(each.tests) == 1 else "what the tests print"
    gives = f"{plural(len(fitting), 'table')} of the {len(tables):,} that fit the printed counts"
    gives += f" {'gives' if len(fitting) == 1 else 'give'} {tests_print}"
    if printed.whole:
        what = f"{plural(number, 'withheld or rounded cell')} of {recovered.size:,} can be worked out"
    else:
        what = f"The table {' x '.join(each.by)} was not released; {plural(number, 'cell')} of fewer than "
        what += f"{appetite.safe_threshold} {counted(data)} {'follows' if number == 1 else 'follow'} exactly"
    also = f", and {more:,} more {'is' if more == 1 else 'are'} known to be one of two numbers" if more else ""
    yield Found.of(
        "withheld cells recoverable" if printed.whole else "table not released",
        False,
        each.name,
        number,
        told.who(recovered),
        f"{what}{also}: {gives}.",
        named(told.labels(recovered)) if inside or (printed.whole and alone) else "",
        "Compute the test from the counts as they are printed, or leave its statistic and p out.",
    )
