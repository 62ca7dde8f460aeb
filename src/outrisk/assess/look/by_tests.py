"""Counts that a table rounds or withholds, or that no table prints, and that tests of the same variables give back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import NOT_BOUNDED, Found, counted, named, plural
from outrisk.assess.look.not_printed import tables_of
from outrisk.assess.look.told import Told, complete
from outrisk.codebook import Codebook
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output, release
from outrisk.outputs.smooth.compared import OF_MEANS
from outrisk.outputs.smooth.hypothesis_test import HypothesisTest
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.released import ROUNDING, Released, half_digit

MOST_TABLES = 1_000_000  # tables that fit the printed counts, of which each is held against the tests
_CHUNK = 1 << 16  # of them at a time
_MOST_CELLS = 400

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Printed:
    """What outputs print of the cells of a table, in its shape: ranges of them, and of sums over some of its axes
    (`kept` are the others). `outputs` say so; `whole`: one of them prints the table itself.
    """

    low: Array
    high: Array
    sums: tuple[tuple[tuple[int, ...], Array, Array], ...]
    outputs: tuple[str, ...]
    whole: bool


def given_back(
    outputs: Sequence[Output], data: Microdata, appetite: Appetite, target: str, inside: bool = False
) -> Iterator[Found]:
    """Cells that are protected, or small and not printed, and that only one number fits, given what tests of counts say
    of them: of all tables that fit the printed counts, those that give the printed statistics. Counts of other
    variables, and of other records, are left aside.
    """
    tests: dict[tuple[frozenset[str], str], list[HypothesisTest]] = {}
    for output in outputs:
        if isinstance(output, HypothesisTest) and output.test not in OF_MEANS:
            tests.setdefault((frozenset(output.variables), output.where), []).append(output)
    for (_, where), group in tests.items():
        by = group[0].variables
        beside = [release(output, data) for output in [*tables_of(outputs), *group] if output.where == where]
        printed = _printed(data.codebook, by, beside)
        if printed is None:
            continue
        tables = tables_that_fit(printed)
        if tables is None:
            if printed.whole and (printed.low < printed.high).any():
                names = named([test.name for test in group])
                what = f"More than {MOST_TABLES:,} tables fit the printed counts of {' x '.join(by)}; which of them "
                yield Found(NOT_BOUNDED, False, names, 0, 0, f"{what}the test fits was not asked.")
            continue
        fitting = tables[np.all([_gives(test, by, tables, data) for test in group], axis=0)]
        yield from _told(group, printed, tables, fitting, data, appetite, inside)


def _told(
    tests: Sequence[HypothesisTest],
    printed: Printed,
    tables: Counts,
    fitting: Counts,
    data: Microdata,
    appetite: Appetite,
    inside: bool,
) -> Iterator[Found]:
    """The finding, if there is one, of tables (b, *shape) that fit the printed counts and those that fit the tests."""
    told = Told.whole(data, tests[0].variables, complete(data, tests[0].where, tests[0].name, ()))
    open_ = tables.min(axis=0) < tables.max(axis=0)
    low, high = fitting.min(axis=0), fitting.max(axis=0)
    of_two = (low < high) & ((fitting == low) | (fitting == high)).all(axis=0)
    of_two &= tables.max(axis=0) - tables.min(axis=0) > 2  # one of more before
    recovered = open_ & (low == high)
    if not printed.whole:
        few = (told.people > 0) & (told.people < appetite.safe_threshold)
        recovered, of_two = recovered & few, of_two & few
    number, more = int(recovered.sum()), int(of_two.sum())
    if not number and not more:
        return
    tests_print = f"what {named([test.name for test in tests])} {'prints' if len(tests) == 1 else 'print'}"
    gives = f"{plural(len(fitting), 'table')} of the {len(tables):,} that fit the printed counts"
    gives += f" {'gives' if len(fitting) == 1 else 'give'} {tests_print}"
    if printed.whole:
        what = f"{plural(number, 'withheld or rounded cell')} of {recovered.size:,} can be worked out"
    else:
        what = f"The table {' x '.join(tests[0].variables)} was not released; {plural(number, 'cell')} of fewer than "
        what += f"{appetite.safe_threshold} {counted(data)} {'follows' if number == 1 else 'follow'} exactly"
    also = f", and {more:,} more {'is' if more == 1 else 'are'} known to be one of two numbers" if more else ""
    yield Found.of(
        "withheld cells recoverable" if printed.whole else "table not released",
        False,
        " with ".join([*printed.outputs, *(test.name for test in tests)]),
        number,
        told.who(recovered),
        f"{what}{also}: {gives}.",
        named(told.labels(recovered)) if inside or (printed.whole and len(printed.outputs) == 1) else "",
        "Compute the test from the counts as they are printed, or leave its statistic and p out.",
    )


def _gives(test: HypothesisTest, by: Sequence[str], tables: Counts, data: Microdata) -> Flags:
    """Which of the tables (b, *shape), by the variables of `by`, give the printed numbers of a test."""
    released = release(test, data)
    half = half_digit(test.decimals) * ROUNDING
    order = [0, *(1 + list(by).index(name) for name in test.variables)]
    found = np.zeros(len(tables), dtype=np.bool_)
    for at in range(0, len(tables), _CHUNK):
        numbers = test.of_counts(tables[at : at + _CHUNK].transpose(order).astype(np.float64))
        within = (numbers >= released.low - half) & (numbers <= released.high + half)
        found[at : at + _CHUNK] = (within | np.isinf(released.low)).all(axis=1)
    return found


def _printed(codebook: Codebook, by: Sequence[str], beside: Iterable[Released]) -> Printed | None:
    """What outputs of the same records print of a table by some variables; None if nothing, or of one too large."""
    shape = tuple(codebook[name].size for name in by)
    low, high = np.zeros(shape), np.full(shape, np.inf)
    if low.size > _MOST_CELLS:
        return None
    sums, outputs, whole = [], [], False
    for released in beside:
        for counts in released.output.counts(released.low, released.high):
            if not set(counts.by) <= set(by):
                continue
            kept = tuple(sorted(list(by).index(name) for name in counts.by))
            least, most = _in_order(counts, [by[axis] for axis in kept])
            if len(kept) == len(by):
                low, high, whole = np.maximum(low, least), np.minimum(high, most), True
            else:
                sums.append((kept, least, most))
            outputs.append(released.name)
    for kept, _, most in sums:
        high = np.minimum(high, np.expand_dims(most, [axis for axis in range(len(by)) if axis not in kept]))
    if not np.isfinite(high).all():
        return None
    return Printed(low, high, tuple(sums), tuple(dict.fromkeys(outputs)), whole)


def _in_order(counts: RecordCounts, by: Sequence[str]) -> tuple[Array, Array]:
    order = [counts.by.index(name) for name in by]
    return np.transpose(counts.low, order), np.transpose(counts.high, order)


def tables_that_fit(printed: Printed, most: int = MOST_TABLES) -> Counts | None:
    """All tables of whole numbers (b, *shape) in these ranges; None where there are more than `most`.

    Cell by cell, each with every number that leaves each sum within its range, whatever the cells after it are.
    """
    shape = printed.low.shape
    cells = np.indices(shape).reshape(len(shape), -1)
    sums_low = np.concatenate([np.zeros(0), *(low.ravel() for _, low, _ in printed.sums)])
    sums_high = np.concatenate([np.zeros(0), *(high.ravel() for _, _, high in printed.sums)])
    places, first = [], 0
    for kept, low, _ in printed.sums:
        at = np.ravel_multi_index(tuple(cells[list(kept)]), low.shape) if kept else np.zeros(cells.shape[1], np.intp)
        places.append(first + at)
        first += low.size
    least, greatest = np.ceil(printed.low.ravel()), np.floor(printed.high.ravel())
    rest_low, rest_high = np.zeros(len(sums_low)), np.zeros(len(sums_low))  # of the cells to come, in each sum
    for at in places:
        np.add.at(rest_low, at, least)
        np.add.at(rest_high, at, greatest)
    tables: Counts = np.zeros((1, 0), dtype=np.int64)
    sums = np.zeros((1, len(sums_low)))
    for cell in range(len(least)):
        of = [int(at[cell]) for at in places]
        rest_low[of] -= least[cell]
        rest_high[of] -= greatest[cell]
        fewest = np.maximum(least[cell], (sums_low[of] - sums[:, of] - rest_high[of]).max(axis=1, initial=-np.inf))
        largest = np.minimum(greatest[cell], (sums_high[of] - sums[:, of] - rest_low[of]).min(axis=1, initial=np.inf))
        width = np.maximum(largest - fewest + 1, 0).astype(np.int64)
        if width.sum() > most:
            return None
        row = np.repeat(np.arange(len(tables)), width)
        value = np.arange(len(row)) - np.repeat(np.cumsum(width) - width, width) + fewest[row]
        tables = np.column_stack([tables[row], value.astype(np.int64)])
        sums = sums[row]
        sums[:, of] += value[:, None]
    return tables.reshape(-1, *shape)
