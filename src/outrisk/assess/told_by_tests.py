"""What tests of counts tell of the tables that they were computed from: of all that fit the printed counts, those that
give the printed statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import ProveError
from outrisk.outputs.base import Array, Subset, released
from outrisk.outputs.smooth.compared import OF_MEANS
from outrisk.outputs.smooth.hypothesis_test import HypothesisTest
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Mask
from outrisk.problem.released import ROUNDING, Released, half_digit
from outrisk.prove.programme import Programme, programme

MOST_TABLES = 1_000_000  # tables that fit the printed counts, of which each is held against the tests
_MOST_NUMBERS = 30_000_000  # their cells
_CHUNK = 1_000_000  # cells that are held against a test at a time
_MOST_CELLS = 400
_EXACT = 1e-8  # share of a number that its computation may be off by

Counts = NDArray[np.int32]


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


@dataclass(frozen=True, eq=False)
class Tested:
    """A table by the variables `by` (of the records `where`) that tests of counts are of: the `tables` (b, *shape) that
    fit what is printed of it (none, and `many`, where these are too many to try), and of these the `fitting` ones,
    which give the tests' numbers.
    """

    tests: tuple[str, ...]
    by: tuple[str, ...]
    where: str
    printed: Printed
    tables: Counts
    fitting: Counts
    many: bool

    @property
    def name(self) -> str:
        """The outputs that say so."""
        return " with ".join([*self.printed.outputs, *self.tests])


def tested_tables(codebook: Codebook, released: Sequence[Released]) -> Iterator[Tested]:
    """Tables of which tests among some released outputs say something, be they released themselves or not. Counts of
    other variables, and of other records, are left aside, and so are tables of which too little is printed to tell how
    many may fit, or whose cells are too many.
    """
    groups: dict[tuple[frozenset[str], str], list[tuple[HypothesisTest, Released]]] = {}
    for each in released:
        test = each.output
        if isinstance(test, HypothesisTest) and test.test not in OF_MEANS:
            groups.setdefault((frozenset(test.variables), test.where), []).append((test, each))
    for (_, where), tests in groups.items():
        by = tuple(tests[0][0].variables)
        printed = _printed(codebook, by, where, [each for each in released if each.output.where == where])
        if printed is None:
            continue
        found = tables_that_fit(printed) if printed.low.size <= _MOST_CELLS else None
        tables = np.zeros((0, *printed.low.shape), dtype=np.int32) if found is None else found
        fits = np.ones(len(tables), dtype=np.bool_)
        for test, each in tests:
            fits[fits] = _gives(test, each, by, tables[fits])
        yield Tested(tuple(each.name for _, each in tests), by, where, printed, tables, tables[fits], found is None)


def told_by_tests(
    codebook: Codebook, outputs: Sequence[Released], printed: bool = False
) -> tuple[list[Released], dict[str, str]]:
    """What tests leave of the counts of their tables, as tables of their own, where that is less than is printed (with
    `printed`, of tables that are printed themselves); and by the name of each such test, what is left out of it.
    ProveError where no table that fits the printed counts gives the numbers of the tests.
    """
    found, left_out = list[Released](), dict[str, str]()
    for each in tested_tables(codebook, outputs):
        if each.many or (printed and not each.printed.whole):
            continue
        if not len(each.fitting):
            said = "; ".join(each.printed.outputs)
            raise ProveError(
                f"no data set fits all the released numbers: what {'; '.join(each.tests)} and {said} print"
            )
        low, high = each.fitting.min(axis=0), each.fitting.max(axis=0)
        if (low > each.tables.min(axis=0)).any() or (high < each.tables.max(axis=0)).any():
            table = Frequencies(codebook, each.name, each.by, each.where)
            found.append(released(table, low.ravel().astype(np.float64), high.ravel().astype(np.float64)))
            left_out |= dict.fromkeys(each.tests, "the range that it leaves each count of its table is used")
    return found, left_out


def programme_with_tests(
    codebook: Codebook,
    outputs: Sequence[Released],
    n_records: int,
    known: Mapping[str, NDArray[np.int64]] | None = None,
    wanted: Sequence[str] = (),
    rules: Sequence[Mask] = (),
    crossed: bool = False,
) -> Programme:
    """The `programme` of some outputs and of what tests among them leave of counts; arguments as there."""
    told, left_out = told_by_tests(codebook, outputs)
    of = programme(codebook, [*outputs, *told], n_records, known, wanted, rules, crossed=crossed)
    return replace(of, left_out={**of.left_out, **left_out})


def _gives(test: HypothesisTest, released: Released, by: Sequence[str], tables: Counts) -> NDArray[np.bool_]:
    """Which of the tables (b, *shape), by the variables of `by`, give the printed numbers of a test."""
    size = np.where(np.isfinite(released.low), np.abs(released.low), 0.0)
    half = np.maximum(half_digit(test.decimals) * ROUNDING, _EXACT * np.maximum(size, 1.0))
    order = [0, *(1 + list(by).index(name) for name in test.variables)]
    found = np.zeros(len(tables), dtype=np.bool_)
    some = max(1, _CHUNK // max(1, tables[:1].size))
    for at in range(0, len(tables), some):
        numbers = test.of_counts(tables[at : at + some].transpose(order).astype(np.float64))
        within = (numbers >= released.low - half) & (numbers <= released.high + half)
        found[at : at + some] = (within | np.isinf(released.low)).all(axis=1)
    return found


def _printed(codebook: Codebook, by: Sequence[str], where: str, beside: Sequence[Released]) -> Printed | None:
    """What outputs of the same records print of a table by some variables; None where cells may hold any number."""
    shape = tuple(codebook[name].size for name in by)
    low, high = np.zeros(shape), np.full(shape, np.inf)
    high[~_in_subset(codebook, by, where)] = 0.0
    sums, outputs, whole = [], [], False
    for one in filter(_of_all_records, beside):
        for counts in one.output.counts(one.low, one.high):
            if not set(counts.by) <= set(by):
                continue
            kept = tuple(sorted(list(by).index(name) for name in counts.by))
            least, most = _in_order(counts, [by[axis] for axis in kept])
            if len(kept) == len(by):
                low, high, whole = np.maximum(low, least), np.minimum(high, most), True
            else:
                sums.append((kept, least, most))
            outputs.append(one.name)
    for kept, _, most in sums:
        high = np.minimum(high, np.expand_dims(most, [axis for axis in range(len(by)) if axis not in kept]))
    if not np.isfinite(high).all():
        return None
    return Printed(low, high, tuple(sums), tuple(dict.fromkeys(outputs)), whole)


def _in_subset(codebook: Codebook, by: Sequence[str], where: str) -> NDArray[np.bool_]:
    """Which cells of a table by some variables can hold records of a subset, in its shape."""
    found = np.ones(tuple(codebook[name].size for name in by), dtype=np.bool_)
    for mask in Subset(codebook, where, "").masks():
        names = [codebook.names[j] for j in mask.joint.variables]
        include = mask.include.reshape([codebook[name].size for name in names])
        include = np.asarray(include.any(axis=tuple(axis for axis, name in enumerate(names) if name not in by)))
        common = [name for name in names if name in by]
        include = include.transpose([common.index(name) for name in by if name in common])
        found &= np.expand_dims(include, [axis for axis, name in enumerate(by) if name not in common])
    return found


def _of_all_records(released: Released) -> bool:
    """Whether an output counts every record of its subset, those with a missing value too."""
    of = released.output
    if isinstance(of, Magnitudes):
        return not of.weight and not of.codebook[of.value].missing
    return isinstance(of, Frequencies) and not of.weight


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
    order = np.argsort(least < greatest, kind="stable")  # what is known first
    known, open_ = np.split(order, [int((least >= greatest).sum())])
    sums = np.zeros((1, len(sums_low)))
    rest_low, rest_high = np.zeros(len(sums_low)), np.zeros(len(sums_low))  # of the cells to come, in each sum
    for at in places:
        np.add.at(sums[0], at[known], least[known])
        np.add.at(rest_low, at[open_], least[open_])
        np.add.at(rest_high, at[open_], greatest[open_])
    fits = (least <= greatest).all() and (sums + rest_low <= sums_high).all() and (sums + rest_high >= sums_low).all()
    tables: Counts = np.zeros((int(fits), 0), dtype=np.int32)
    sums = sums[: len(tables)]
    for cell in open_.tolist():
        of = [int(at[cell]) for at in places]
        rest_low[of] -= least[cell]
        rest_high[of] -= greatest[cell]
        fewest = np.maximum(least[cell], (sums_low[of] - sums[:, of] - rest_high[of]).max(axis=1, initial=-np.inf))
        largest = np.minimum(greatest[cell], (sums_high[of] - sums[:, of] - rest_low[of]).min(axis=1, initial=np.inf))
        width = np.maximum(largest - fewest + 1, 0).astype(np.int64)
        if width.sum() > most or width.sum() * len(least) > _MOST_NUMBERS:
            return None
        row = np.repeat(np.arange(len(tables)), width)
        value = np.arange(len(row)) - np.repeat(np.cumsum(width) - width, width) + fewest[row]
        tables = np.column_stack([tables[row], value.astype(np.int32)])
        sums = sums[row]
        sums[:, of] += value[:, None]
    found = np.tile(least.astype(np.int32), (len(tables), 1))
    found[:, open_] = tables
    return found.reshape(-1, *shape)
