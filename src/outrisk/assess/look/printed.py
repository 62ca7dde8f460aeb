"""What a reader has of numbers that add up, counts of records and sums of a variable: from where to where each may lie.

From all outputs on the same records together: a withheld cell is what a printed total leaves of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.counts_told import counts_told, means_told, sums_told
from outrisk.assess.look.finding import Rows
from outrisk.assess.look.known import Array, Kind, Known, close, moved, of_mean, shape
from outrisk.assess.look.nested import within_larger
from outrisk.assess.look.once import once, refit
from outrisk.assess.look.told import complete
from outrisk.codebook import Codebook
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, both
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.problem.released import half_digit

_TIMES = 2  # that means of groups are asked, the second beside what the first say
_SCALE = {"proportions": 1.0, "row_percentages": 100.0, "column_percentages": 100.0}


@dataclass(eq=False)
class Numbers:
    """What outputs print of numbers that add up, of each kind: `own`, table by table as printed; `carried`, what those
    of complete cases say of others, and `within`, what those of a larger subset say; `closed`, by sets of variables,
    all of the kind together.
    """

    codebook: Codebook
    own: dict[Kind, list[Known]] = field(default_factory=dict)
    carried: dict[Kind, list[Known]] = field(default_factory=dict)
    within: dict[Kind, list[Known]] = field(default_factory=dict)
    closed: dict[Kind, dict[frozenset[str], Known]] = field(default_factory=dict)
    of_cells: dict[tuple[Kind, tuple[str, ...]], tuple[Array, Array]] = field(default_factory=dict)  # see as_cells.py

    def records(self, kind: Kind, data: Microdata) -> Rows:
        """The records that numbers of a kind are of, ascending."""
        of = both(kind.where, kind.also), tuple(sorted(kind.lacks))
        return once(data, ("complete", *of), lambda: complete(data, of[0], "", of[1]))

    def inside(self, kind: Kind, data: Microdata) -> NDArray[np.bool_]:
        """Which records numbers of a kind are of, (n_records,)."""
        flags = np.zeros(len(data), np.bool_)
        flags[self.records(kind, data)] = True
        return flags

    def left(self, larger: Kind, parts: Sequence[Kind], data: Microdata) -> Rows:
        """The records that numbers of a kind are of, and those of others are not, ascending."""
        rows = self.records(larger, data)
        for part in parts:
            rows = rows[~self.inside(part, data)[rows]]
        return rows

    @classmethod
    def of(cls, outputs: Sequence[Output], data: Microdata) -> Numbers:
        """Of counts, shares, sums and means, as released from these records; weighted ones where no cells are withheld
        or rounded. Of other kinds what they print of numbers of records, person-time, and the means of groups.
        """
        numbers = cls(data.codebook)
        tables = [output for output in outputs if isinstance(output, Frequencies)]
        sums = [output for output in outputs if isinstance(output, Magnitudes) and not _is_guarded(output)]
        for one in outputs:
            numbers._add(counts_told(one, data))
        for table in tables:
            numbers._add(_weighted(table, data) if table.weight else _counts(table, numbers._cell_counts(table, data)))
        of_cells = [(one, refit(one, data)) for one in sums]
        for one, values in of_cells:
            numbers._add(_weights_behind(one, values) if one.weight else _counts_behind(one, values))
        numbers._close()
        for table in tables:
            if table.show != "counts" and not table.weight:
                numbers._add(_behind_shares(table, numbers._cell_counts(table, data), numbers))
        numbers._close()
        numbers._carry()
        numbers._nest()
        for one, values in of_cells:
            numbers._add(_sums(one, values, numbers))
        for one in outputs:
            numbers._add(sums_told(one, data))
        for _ in range(_TIMES):
            numbers._close()
            numbers._carry()
            for one in outputs:
                numbers._add(means_told(one, data, numbers))
        numbers._close()
        numbers._carry()
        numbers._nest()
        return numbers

    def beside(self, told: Iterable[tuple[Kind, Known]]) -> Numbers:
        """The same with more tables."""
        more = Numbers(self.codebook, {kind: list(tables) for kind, tables in self.own.items()})
        more._add(told)
        more._close()
        more._carry()
        more._nest()
        return more

    def _nest(self) -> None:
        """What tables of larger subsets say of those of smaller ones."""
        found = list(within_larger(self))
        for kind, known in found:
            self.within.setdefault(kind, []).append(known)
        if found:
            self._close()

    def first(self, kind: Kind) -> tuple[str, ...]:
        """The first output that prints numbers of a kind."""
        return next(each for tables in (self.own, self.carried) if (each := tables.get(kind)))[0].outputs

    def _carry(self) -> None:
        """What numbers of complete cases say of other records, and these of them."""
        of: dict[Kind, set[frozenset[str]]] = {}
        for kind in self.closed:
            alike = replace(kind, where="", lacks=frozenset(), also="")
            of.setdefault(alike, {frozenset()} if kind.counts else set()).add(kind.lacks)
        self.carried = {}
        for kind, tables in self.closed.items():
            for lacks in of[replace(kind, where="", lacks=frozenset(), also="")] - {kind.lacks}:
                found = [moved(kind, each, lacks) for each in tables.values()]
                self.carried.setdefault(replace(kind, lacks=lacks), []).extend(each for each in found if each)
        self._close()

    def _cell_counts(self, table: Frequencies, data: Microdata) -> Array:
        place = places(data, table.by, self.records(Kind(table.where), data))
        return np.bincount(place, minlength=int(np.prod(table.cells.shape))).astype(np.float64)

    def over(self, kind: Kind, names: Sequence[str]) -> Known | None:
        """What all tables of a kind say of that by some variables; None where none is by all of these."""
        found = None
        for by, known in self.closed.get(kind, {}).items():
            if by >= set(names):
                found = known.over(names) if found is None else known.over(names).within(found)
        return found

    def common(self, first: Kind, second: Kind, without: str = "") -> list[tuple[str, ...]]:
        """Variables of a table of the one that one of the other has too, but for one; the largest sets of them."""
        one, other = self.closed.get(first, {}), self.closed.get(second, {})
        return self._largest({(a & b) - {without} for a in one for b in other})

    def common_of(self, kinds: Sequence[Kind]) -> list[tuple[str, ...]]:
        """Variables of a table of each of some kinds; the largest sets of them."""
        sets = set(self.closed.get(kinds[0], {}))
        for kind in kinds[1:]:
            sets = {one & other for one in sets for other in self.closed.get(kind, {})}
        return self._largest(sets)

    def tables(self, kind: Kind, without: str = "", largest: bool = True) -> list[tuple[str, ...]]:
        """Variables of the tables of a kind, but for one; the largest sets of them, or these first and then all others,
        of which each may be told what the larger ones leave open.
        """
        sets = {by - {without} for by in self.closed.get(kind, {})}
        first = self._largest(sets)
        if largest:
            return first
        every = sorted(tuple(sorted(each, key=self.codebook.index)) for each in sets)
        return [*first, *(each for each in every if each not in first)]

    def _largest(self, sets: set[frozenset[str]]) -> list[tuple[str, ...]]:
        largest = [each for each in sets if not any(each < other for other in sets)]
        return sorted(tuple(sorted(each, key=self.codebook.index)) for each in largest)

    def named(self, kind: Kind, names: Sequence[str]) -> str:
        """The output that prints a table by these variables, or the first that has them all."""
        for tables in (self.own, self.carried, self.within):
            having = [known for known in tables.get(kind, ()) if set(known.by) >= set(names)]
            if having:
                return min(having, key=lambda known: len(known.by)).outputs[0]
        raise KeyError(kind)

    def _add(self, tables: Iterable[tuple[Kind, Known]]) -> None:
        for kind, known in tables:
            order = sorted(range(len(known.by)), key=lambda at: self.codebook.index(known.by[at]))
            by = tuple(known.by[at] for at in order)
            low, high = (np.transpose(each, order) for each in (known.low, known.high))
            self.own.setdefault(kind, []).append(Known(by, low, high, known.outputs))

    def _close(self) -> None:
        """What follows of each number from those that it is part of, and that are parts of it."""
        kinds = [*self.own, *(kind for kind, tables in self.carried.items() if kind not in self.own and tables)]
        parts = self.own, self.carried, self.within
        self.closed = {
            kind: close([one for part in parts for one in part.get(kind, ())], kind.counts) for kind in kinds
        }


def places(data: Microdata, names: Sequence[str], rows: Rows) -> Rows:
    """The cell of each record in a table by some variables, (rows,); the last variable runs fastest."""
    codes = tuple(data.codes[rows, data.codebook.index(name)].astype(np.intp) for name in names)
    return np.ravel_multi_index(codes, shape(data.codebook, names)) if names else np.zeros(len(rows), dtype=np.intp)


def cell_label(codebook: Codebook, names: Sequence[str], place: int) -> str:
    """A cell of a table by some variables in words."""
    at = np.unravel_index(place, shape(codebook, names)) if names else ()
    return ", ".join(f"{name}={codebook[name].labels[level]}" for name, level in zip(names, at, strict=True)) or "all"


def _counts(table: Frequencies, counts: Array) -> Iterator[tuple[Kind, Known]]:
    """The cells and margins of a table of counts; of one of shares whether they hold anybody."""
    values = table.of_counts(counts)
    low, high = table.publish(values)
    k = sum(len(number) for _, number in table.printed_by)
    if len(values) > k:  # numbers of records stand behind shares
        low, high = low[k:], high[k:]
    elif table.show != "counts":
        low, high = _presence(table, values, counts)
    for names, number in table.printed_by:
        sizes = shape(table.codebook, names)
        yield Kind(table.where), Known(names, low[number].reshape(sizes), high[number].reshape(sizes), (table.name,))


def _weighted(table: Frequencies, data: Microdata) -> Iterator[tuple[Kind, Known]]:
    """Weighted counts, and whether cells hold anybody, where every record has a weight above 0."""
    weight = table.codebook[table.weight]
    if table.show != "counts" or table.protection.threshold is not None:
        return
    low, high = table.publish(refit(table, data))
    half, least = float(half_digit(table.decimals[0])), float(min(weight.values))
    there, empty = low - half > 0, (high + half < least) & (not weight.missing)
    lacks = frozenset([table.weight] if weight.missing else [])
    for names, number in table.printed_by:
        sizes, of = shape(table.codebook, names), (table.name,)
        ends = (np.maximum(low - half, 0.0), high + half)
        yield (
            Kind(table.where, lacks, weight=table.weight),
            Known(names, ends[0][number].reshape(sizes), ends[1][number].reshape(sizes), of),
        )
        known = np.where(there, 1.0, 0.0)[number], np.where(empty, 0.0, np.inf)[number]
        yield Kind(table.where), Known(names, known[0].reshape(sizes), known[1].reshape(sizes), of)


def _presence(table: Frequencies, values: Array, counts: Array) -> tuple[Array, Array]:
    """Whom printed shares show to be there; a printed zero nobody, where one record would be a last digit or more, and
    an undefined one nobody at all, as it is of no record.
    """
    printed = np.round(values, int(table.decimals[0]))
    one = _SCALE[table.show] / max(float(counts.sum()), 1.0)  # at least
    told = (printed == 0) & (one >= 10.0 ** -int(table.decimals[0]))
    return np.where(printed > 0, 1.0, 0.0), np.where(told | np.isnan(values), 0.0, np.inf)


def _behind_shares(table: Frequencies, counts: Array, numbers: Numbers) -> Iterator[tuple[Kind, Known]]:
    """The cells of a table of shares whose bases another table prints."""
    bases = {"proportions": (), "row_percentages": table.by[:-1], "column_percentages": table.by[-1:]}[table.show]
    kind, (names, number) = Kind(table.where), table.printed_by[0]
    base = numbers.over(kind, sorted(bases, key=table.codebook.index))
    if base is None or (base.low < base.high).any():
        return
    axes = [table.by.index(name) for name in base.by]
    of = np.transpose(base.low, np.argsort(np.argsort(axes)))
    whole = np.expand_dims(of, tuple(at for at in range(len(names)) if at not in axes))
    low, high = table.publish(table.of_counts(counts))
    low, high = (each[number].reshape(table.cells.shape) for each in (low, high))
    half = float(half_digit(table.decimals[0]))
    with np.errstate(invalid="ignore"):
        least = np.ceil((low - half) / _SCALE[table.show] * whole - 1e-9)
        most = np.floor((high + half) / _SCALE[table.show] * whole + 1e-9)
    least, most = np.where(whole == 0, 0.0, least), np.where(whole == 0, 0.0, most)
    yield kind, Known(names, np.maximum(least, 0.0), np.minimum(most, whole), (table.name,))


def count_kind(table: Output) -> Kind:
    """Of the numbers of records in the cells of a table, or the sums of their weights behind weighted means."""
    if not isinstance(table, Magnitudes):
        return Kind(table.where)
    return Kind(table.where, _lacks(table), weight=table.weight)


def sum_kind(table: Magnitudes) -> Kind:
    """Of the sums in the cells of a table."""
    return Kind(table.where, _lacks(table), table.value, table.protection.top_code, table.weight)


def _lacks(table: Magnitudes) -> frozenset[str]:
    return frozenset(name for name in (table.value, table.weight) if name and table.codebook[name].missing)


def _is_guarded(table: Magnitudes) -> bool:
    """Whether weighted numbers are withheld or rounded to multiples."""
    rule = table.protection
    return bool(table.weight) and (rule.threshold is not None or rule.round_to is not None)


def _weights_behind(table: Magnitudes, values: Array) -> Iterator[tuple[Kind, Known]]:
    """The sum of the weights in each cell, where it is printed."""
    if "count" in table.shown:
        at = table.shown.index("count")
        low, high = (each.reshape(-1, len(table.shown))[:, at] for each in table.publish(values))
        half, sizes = float(half_digit(table.decimals[at])), shape(table.codebook, table.by)
        ends = np.maximum(low - half, 0.0).reshape(sizes), (high + half).reshape(sizes)
        yield count_kind(table), Known(table.by, *ends, (table.name,))


def _counts_behind(table: Magnitudes, values: Array) -> Iterator[tuple[Kind, Known]]:
    """The records of each cell of a table of sums and means: counted, or whether there are any."""
    sizes, n = shape(table.codebook, table.by), len(table.cells.labels)
    low, high = table.publish(values)
    k = n * len(table.shown)
    if "count" in table.shown:
        at = slice(table.shown.index("count"), k, len(table.shown))
        low, high = low[at], high[at]
    elif len(values) > k:
        low, high = low[k:], high[k:]
    elif "mean" in table.statistics:
        defined = np.isfinite(values[table.shown.index("mean") : k : len(table.shown)])
        low, high = np.where(defined, 1.0, 0.0), np.where(defined, np.inf, 0.0)
    else:
        return
    yield count_kind(table), Known(table.by, low.reshape(sizes), high.reshape(sizes), (table.name,))


def _sums(table: Magnitudes, values: Array, numbers: Numbers) -> Iterator[tuple[Kind, Known]]:
    """The sum of each cell, printed or as its mean times its records."""
    sizes, rows = shape(table.codebook, table.by), len(table.shown)
    kind = sum_kind(table)
    ends = float(table.support[0]), float(table.support[-1])
    counted = numbers.over(count_kind(table), sorted(table.by, key=table.codebook.index))
    low, high = (each[: len(table.cells.labels) * rows].reshape(-1, rows) for each in table.publish(values))
    known = None
    for at, (statistic, digits) in enumerate(zip(table.shown, table.decimals[:rows], strict=True)):
        half = float(half_digit(digits))
        if statistic == "sum":
            slack = 0.0 if table.protection.round_to else half
            each = Known(table.by, (low[:, at] - slack).reshape(sizes), (high[:, at] + slack).reshape(sizes), ())
        elif statistic == "mean" and counted is not None:
            order = [counted.by.index(name) for name in table.by]
            least, most = (np.transpose(end, order) for end in (counted.low, counted.high))
            each = of_mean(low[:, at].reshape(sizes) - half, high[:, at].reshape(sizes) + half, least, most, ends)
        else:
            continue
        known = each if known is None else known.within(each)
    if known is not None:
        yield kind, Known(table.by, known.low, known.high, (table.name,))
