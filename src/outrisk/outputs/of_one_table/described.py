"""What statistics of one table, such as a test, a risk ratio or a crude odds ratio, tell of the table that they were
computed from: of all tables that fit the printed counts, those that give the printed statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.outputs.base import Array, Subset, both, released
from outrisk.outputs.conditions.banded import written_name
from outrisk.outputs.of_one_table.tables_that_fit import Counts, Printed, Shares, tables_that_fit
from outrisk.outputs.regression.saturated import MOST_CELLS, Saturated, saturated
from outrisk.outputs.smooth.association import Association
from outrisk.outputs.smooth.association_told import OneTable, records_of_levels, single_tables
from outrisk.outputs.smooth.compared import OF_MEANS
from outrisk.outputs.smooth.fisher import TooMuchWorkError
from outrisk.outputs.smooth.hypothesis_test import HypothesisTest
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.problem.analysis import Analysis, RecordCounts
from outrisk.problem.released import ROUNDING, Released, half_digit

_CHUNK = 1_000_000  # cells that are held against a statistic at a time
_ROUNDS = 4  # in which what is told of one table is held against others
_EXACT = 1e-8  # share of a number that its computation may be off by


class Statistic(Protocol):
    """What makes numbers (b, k), printed to so many decimals (k,), of tables of counts (b, ...) with an axis for each
    of its `variables`; NaN or infinite where they are undefined. `counted`: at which cells, in that shape, records have
    all values that it takes.
    """

    @property
    def variables(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def decimals(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def counted(self) -> NDArray[np.bool_]: ...  # noqa: D102
    def of_counts(self, counts: Array) -> Array: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Described:
    """A table by the variables `by` (of the records `where`) that `statistics` are of, by name. `number`: how many
    tables fit what is printed of it, None where that was not asked; low, high: from where to where their cells lie, in
    its shape. `fitting` (b, *shape) are those that give the statistics; none, and `many`, where there are too many to
    try. crude, tested, compared, exact: one of the statistics is a regression, a test, of association, an exact
    test. complete: variables that may be missing, where the table is of the records of another subset, `within`, that
    lack none of them, as nothing bounds how many others there are.
    """

    statistics: tuple[str, ...]
    by: tuple[str, ...]
    where: str
    printed: Printed
    number: int | None
    low: Array
    high: Array
    fitting: Counts
    many: bool
    crude: bool
    tested: bool
    compared: bool
    exact: bool
    within: str = ""
    complete: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The outputs that say so."""
        return " with ".join(dict.fromkeys([*self.printed.outputs, *self.statistics]))

    def told(self, codebook: Codebook) -> Released | None:
        """What the statistics leave of the counts, as a table of its own; None where that is no less than is printed,
        or no table fits.
        """
        if not len(self.fitting):
            return None
        low, high = self.fitting.min(axis=0), self.fitting.max(axis=0)
        if not ((low > self.low).any() or (high < self.high).any()):
            return None
        table = Frequencies(codebook, self.name, self.by, self.where)
        return released(table, low.ravel().astype(np.float64), high.ravel().astype(np.float64))


def statistic(of: Analysis, low: Array | None = None, high: Array | None = None) -> Statistic | None:
    """A test of counts, measures of association, or a regression with a coefficient for each kind of record, as a
    function of one table, with numbers printed between `low` and `high` (k,), if any; None for another output.
    """
    if isinstance(of, HypothesisTest):
        return None if of.test in OF_MEANS else of
    if isinstance(of, Association):
        return of
    return saturated(of, low, high)


def statistics_of(one: Released) -> Iterator[tuple[Statistic, Released]]:
    """A released output as functions of one table each: measures of association have one of each stratum, and one of
    all strata as one; and, where pooled numbers are all there is of strata, one by these too.
    """
    if not isinstance(one.output, Association):
        if of := statistic(one.output, one.low, one.high):
            yield of, one
        return
    for each in single_tables(one.output, one.low, one.high):
        yield each.output, released(each.output, each.low, each.high)
    if "pooled" in one.output.tables and "strata" not in one.output.tables:
        yield one.output, one


def described_tables(codebook: Codebook, released: Sequence[Released]) -> list[Described]:
    """Tables of which statistics among some released outputs say something, be they released themselves or not. What is
    told of one counts for others as if it were printed. Counts of other variables, and of other records, are left
    aside, and so are tables of which too little is printed to tell how many may fit, or whose cells are too many.
    """
    groups: dict[tuple[frozenset[str], str], list[tuple[Statistic, Released]]] = {}
    for each in released:
        for of, own in statistics_of(each):
            groups.setdefault((frozenset(of.variables), own.output.where), []).append((of, own))
    found, told = dict[tuple[frozenset[str], str], Described](), dict[tuple[frozenset[str], str], Released]()
    for again in range(_ROUNDS):
        news = dict[tuple[frozenset[str], str], Released]()
        for key, statistics in groups.items():
            before = found.get(key)
            others = [one for other, one in told.items() if other != key and other[0] & key[0] and other[1] == key[1]]
            if again and (not others or (before and len(before.fitting) == 1)):
                continue
            if described := _of_all_or_complete(codebook, key[1], [*released, *others], statistics):
                if before:
                    described = replace(described, number=before.number, low=before.low, high=before.high)
                elif again:  # nothing that is printed bounds it
                    shape = described.low.shape
                    described = replace(described, number=None, low=np.zeros(shape), high=np.full(shape, np.inf))
                found[key] = described
                if one := described.told(codebook):
                    news[key] = one
        if all(key in told and _is_same(told[key], one) for key, one in news.items()):
            break
        told |= news
    return list(found.values())


def _is_same(one: Released, other: Released) -> bool:
    return np.array_equal(one.low, other.low) and np.array_equal(one.high, other.high)


def _of_all_or_complete(
    codebook: Codebook, where: str, released: Sequence[Released], statistics: Sequence[tuple[Statistic, Released]]
) -> Described | None:
    """What statistics of the same variables and records say of their table; where cells of who lacks a value may hold
    any number, of the table of complete cases.
    """
    if found := _described(codebook, where, released, statistics):
        return replace(found, within=where)
    gaps = tuple(name for name in statistics[0][0].variables if codebook[name].missing)
    if not gaps:
        return None
    complete = both(where, *(f"{written_name(name)}.notna()" for name in gaps))
    found = _described(codebook, complete, released, statistics)
    return found and replace(found, within=where, complete=gaps)


def _described(
    codebook: Codebook, where: str, released: Sequence[Released], statistics: Sequence[tuple[Statistic, Released]]
) -> Described | None:
    """What statistics of the same variables and records say of their table."""
    by = tuple(statistics[0][0].variables)
    printed = _printed(codebook, by, released, where, statistics)
    if printed is None:
        return None
    number, (low, high), tables = None, printed.ranges(), None
    shares = [each for of, one in statistics for each in _shares(of, one, by)]
    if printed.low.size <= MOST_CELLS:
        tables = tables_that_fit(printed, shares)
        tables = tables_that_fit(printed) if tables is None and shares else tables
    if tables is not None and not shares:
        number = len(tables)
        low, high = (tables.min(axis=0), tables.max(axis=0)) if number else (low, high)
    many = tables is None
    fitting = np.zeros((0, *printed.low.shape), dtype=np.int32) if tables is None else tables
    try:
        for of, each in sorted(statistics, key=_is_exact):  # last
            fitting = fitting[_gives(of, each, by, fitting)]
    except TooMuchWorkError:
        fitting, many = fitting[:0], True
    kinds = (Saturated, HypothesisTest, Association)
    crude, tested, compared = (any(isinstance(of, kind) for of, _ in statistics) for kind in kinds)
    names, exact = tuple(each.name for _, each in statistics), any(map(_is_exact, statistics))
    return Described(names, by, where, printed, number, low, high, fitting, many, crude, tested, compared, exact)


def _is_exact(of: tuple[Statistic, Released]) -> bool:
    """Whether a statistic is an exact test, which takes longest and has no slope."""
    return isinstance(of[0], HypothesisTest) and of[0].test == "fisher"


def _shares(of: Statistic, one: Released, by: Sequence[str]) -> Iterator[Shares]:
    """What printed coefficients, or measures of association, say of shares with an outcome."""
    if isinstance(of, Association):
        table = OneTable(of, one.low, one.high)
        if not of.over and len(cells := table.pairs(by)):
            first = sorted(range(len(cells)), key=lambda level: level != of.reference_at)  # others are beside it
            yield Shares(
                cells[first],
                lambda group, others: table.between(first[group], {first[at]: each for at, each in others.items()}),
                lambda group, others, share: table.number(
                    first[group], {first[at]: each for at, each in others.items()}, share
                ),
            )
        return
    if not isinstance(of, Saturated) or not len(pairs := of.pairs(by)):
        return
    first = of.first.tolist()
    yield Shares(
        pairs[first],
        lambda group, others: of.means(first[group], {first[each]: share for each, share in others.items()}),
    )


def _gives(of: Statistic, released: Released, by: Sequence[str], tables: Counts) -> NDArray[np.bool_]:
    """Which of the tables (b, *shape), by the variables of `by`, give the printed numbers of a statistic."""
    size = np.where(np.isfinite(released.low), np.abs(released.low), 0.0)
    half = np.maximum(half_digit(of.decimals) * ROUNDING, _EXACT * np.maximum(size, 1.0))
    order = [0, *(1 + list(by).index(name) for name in of.variables)]
    found = np.zeros(len(tables), dtype=np.bool_)
    some = max(1, _CHUNK // max(1, tables[:1].size))
    for at in range(0, len(tables), some):
        numbers = of.of_counts(tables[at : at + some].transpose(order).astype(np.float64))
        within = (numbers >= released.low - half) & (numbers <= released.high + half)
        untold = np.isinf(released.low) & np.isinf(released.high)
        found[at : at + some] = (within | untold).all(axis=1)
    return found


def _printed(
    codebook: Codebook,
    by: Sequence[str],
    beside: Sequence[Released],
    where: str,
    statistics: Sequence[tuple[Statistic, Released]],
) -> Printed | None:
    """What outputs of the same records, and numbers of records of statistics, print of a table by some variables; None
    where cells may hold any number.
    """
    shape = tuple(codebook[name].size for name in by)
    low, high, subset = np.zeros(shape), np.full(shape, np.inf), Subset(codebook, where, "")
    high[~in_subset(subset, by)] = 0.0
    sums, outputs, whole = dict[tuple[int, ...], tuple[Array, Array]](), list[str](), False
    found = [
        (one.name, counts, kept)
        for one in filter(of_all_records, beside)
        for counts in of_subset(subset, one)
        if (kept := tuple(at for at, name in enumerate(by) if name in counts.by))
        or not counts.by
        or one.output.where != where  # tells the size of the subset
    ]
    for name, counts, kept in sorted(found, key=_not_narrow):
        least, most = over(counts, [by[axis] for axis in kept])
        if len(kept) == len(by) == len(counts.by):
            low, high, whole = np.maximum(low, least), np.minimum(high, most), True
        else:
            lower, upper = sums.get(kept, (np.zeros_like(least), np.full_like(most, np.inf)))
            if len(kept) < len(counts.by) and (lower >= least).all() and (upper <= most).all():
                continue
            sums[kept] = np.maximum(lower, least), np.minimum(upper, most)
        outputs.append(name)
    for kept, (_, most) in sums.items():
        high = np.minimum(high, np.expand_dims(most, [axis for axis in range(len(by)) if axis not in kept]))
    some = []
    all_low = max((float(least.sum()) for least, _ in sums.values()), default=0.0)
    all_high = min((float(most.sum()) for _, most in sums.values()), default=np.inf)
    for of, each in statistics:
        order = [list(of.variables).index(name) for name in by]
        if isinstance(of, Association):
            some += [(cells.transpose(order), *ends) for cells, ends in records_of_levels(of, each.low, each.high)]
            continue
        for counts in each.output.counts(each.low, each.high):
            counted = of.counted.transpose(order)
            some.append((counted, float(counts.low), float(counts.high)))
            some.append((~counted, all_low - float(counts.high), all_high - float(counts.low)))
    for cells, _, largest in some:
        high[cells] = np.minimum(high[cells], largest)
    if not np.isfinite(high).all():
        return None
    of_sums = tuple((kept, *ends) for kept, ends in sums.items())
    return Printed(low, high, of_sums, tuple(dict.fromkeys(outputs)), whole, tuple(some))


def of_subset(subset: Subset, released: Released) -> Iterator[RecordCounts]:
    """What an output says of numbers of records of a subset: as it is of these itself, or by tables of all records that
    cross what makes the subset.
    """
    if released.output.where not in ("", subset.where):
        return
    for counts in released.output.counts(released.low, released.high):
        if released.output.where == subset.where:
            yield counts
        elif set(subset.variables) <= set(counts.by):
            inside = in_subset(subset, counts.by)
            yield replace(counts, low=np.where(inside, counts.low, 0.0), high=np.where(inside, counts.high, 0.0))


def in_subset(subset: Subset, by: Sequence[str]) -> NDArray[np.bool_]:
    """Which cells of a table by some variables can hold records of a subset, in its shape."""
    codebook = subset.codebook
    found = np.ones(tuple(codebook[name].size for name in by), dtype=np.bool_)
    for mask in subset.masks():
        names = [codebook.names[j] for j in mask.joint.variables]
        include = mask.include.reshape([codebook[name].size for name in names])
        include = np.asarray(include.any(axis=tuple(axis for axis, name in enumerate(names) if name not in by)))
        common = [name for name in names if name in by]
        include = include.transpose([common.index(name) for name in by if name in common])
        found &= np.expand_dims(include, [axis for axis, name in enumerate(by) if name not in common])
    return found


def of_all_records(released: Released) -> bool:
    """Whether an output counts every record of its subset, those with a missing value too."""
    of = released.output
    if isinstance(of, Magnitudes):
        return not of.weight and not of.codebook[of.value].missing
    return isinstance(of, Frequencies) and not of.weight


def _not_narrow(found: tuple[str, RecordCounts, tuple[int, ...]]) -> tuple[bool, float]:
    """Sums that are not printed last, and of these the narrowest first."""
    _, counts, kept = found
    return len(counts.by) > len(kept), float((counts.high - counts.low).sum())


def over(counts: RecordCounts, by: Sequence[str]) -> tuple[Array, Array]:
    """The counts by these variables, summed over the others."""
    order = [counts.by.index(name) for name in by]
    order += [axis for axis in range(len(counts.by)) if axis not in order]
    rest = tuple(range(len(by), len(order)))
    return np.transpose(counts.low, order).sum(axis=rest), np.transpose(counts.high, order).sum(axis=rest)
