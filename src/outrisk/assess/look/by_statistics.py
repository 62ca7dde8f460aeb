"""Counts that a table rounds or withholds, or that no table prints, and that statistics of the same variables give
back: tests, measures of association, and regressions with a coefficient for each kind of record, such as a crude odds
ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import NOT_BOUNDED, Found, counted, named, plural
from outrisk.assess.look.not_printed import tables_of
from outrisk.assess.look.of_tables_together import one_answer
from outrisk.assess.look.once import release
from outrisk.assess.look.told import Told, complete
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.of_one_table.described import Described, described_tables, statistic
from outrisk.problem.released import Released

_ADVICE = (
    "Merge levels of few people, or print the regression to fewer digits, without limits and standard errors.",
    "Compute the test from the counts as they are printed, or leave its statistic and p out.",
    "Merge levels of few people, or print risks and ratios to fewer digits, without limits.",
)


def given_back(
    outputs: Sequence[Output], data: Microdata, appetite: Appetite, target: str, inside: bool = False
) -> Iterator[Found]:
    """Cells that are protected, or small and not printed, and that only one number fits, or two, given what statistics
    say of them; and groups in which all tables that fit leave one answer.
    """
    statistics = list(released_of([output for output in outputs if statistic(output)], data))
    if not statistics:
        return
    for each in described_tables(data.codebook, [*(release(one, data) for one in tables_of(outputs)), *statistics]):
        told = Told.whole(data, each.by, complete(data, each.where, each.statistics[0], ()))
        if len(each.fitting):
            yield from _told(each, told, data, appetite, inside)
            names = [*each.printed.outputs, *each.statistics]
            yield from one_answer(data, each.by, each.where, each.fitting.max(axis=0), names, target, inside)
        elif (
            each.many
            and (each.low < each.high).any()
            and (each.printed.whole or ((each.crude or each.compared) and _few(each, told, appetite).any()))
        ):
            which = "the test fits" if len(each.statistics) == 1 and each.tested else "what they print fits"
            called = _called(each.by, each.where)
            what = f"Too many tables fit the printed counts of {called} to ask which of them {which}."
            yield Found(NOT_BOUNDED, False, named(list(each.statistics)), 0, 0, what)


def _called(by: Sequence[str], where: str) -> str:
    """The table in words."""
    return " x ".join(by) + (f" (where {where})" if where else "")


def small_cells_follow(by: Sequence[str], where: str, number: int, data: Microdata, appetite: Appetite) -> str:
    """What is said of so many small cells of a table that was not released."""
    return (
        f"The table {_called(by, where)} was not released; {plural(number, 'cell')} of fewer than "
        f"{appetite.safe_threshold} {counted(data)} {'follows' if number == 1 else 'follow'} exactly"
    )


def released_of(outputs: Sequence[Output], data: Microdata) -> Iterator[Released]:
    """Those that can be computed."""
    for output in outputs:
        try:
            yield release(output, data)
        except OutputError:
            continue


def _few(each: Described, told: Told, appetite: Appetite) -> NDArray[np.bool_]:
    """Which cells hold few people, and are not printed."""
    return (each.low < each.high) & (told.people > 0) & (told.people < appetite.safe_threshold)


def _told(each: Described, told: Told, data: Microdata, appetite: Appetite, inside: bool) -> Iterator[Found]:
    """The finding, if there is one."""
    fitting, printed = each.fitting, each.printed
    low, high = fitting.min(axis=0), fitting.max(axis=0)
    of_two = (low < high) & ((fitting == low) | (fitting == high)).all(axis=0)
    of_two &= each.high - each.low > 2  # one of more before
    recovered = (each.low < each.high) & (low == high)
    if not printed.whole:
        few = _few(each, told, appetite)
        recovered, of_two = recovered & few, of_two & few
    alone = len(printed.outputs) == 1
    number, more = int(recovered.sum()), int(of_two.sum())
    if not number and not more:
        return
    kind = "regression" if each.crude else "test" if each.tested else "association"
    prints = f"what the {kind} prints" if len(each.statistics) == 1 else f"what {len(each.statistics)} outputs print"
    one = len(fitting) == 1
    if each.number is None:
        gives = f"{plural(len(fitting), 'table')} {'fits' if one else 'fit'} the printed counts and {prints}"
    else:
        gives = f"{plural(len(fitting), 'table')} of the {each.number:,} that fit the printed counts"
        gives += f" {'gives' if one else 'give'} {prints}"
    if printed.whole:
        what = f"{plural(number, 'withheld or rounded cell')} of {recovered.size:,} can be worked out"
    else:
        what = small_cells_follow(each.by, each.where, number, data, appetite)
    also = f", and {more:,} more {'is' if more == 1 else 'are'} known to be one of two numbers" if more else ""
    yield Found.of(
        "withheld cells recoverable" if printed.whole else "table not released",
        False,
        each.name,
        number,
        told.who(recovered),
        f"{what}{also}: {gives}.",
        named(told.labels(recovered)) if inside or (printed.whole and alone) else "",
        " ".join(
            advice for advice, about in zip(_ADVICE, (each.crude, each.tested, each.compared), strict=True) if about
        ),
    )
