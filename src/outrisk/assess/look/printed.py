"""What a reader has of numbers that add up, counts of records and sums of a variable: from where to where each may lie.

From all outputs on the same records together: a withheld cell is what a printed total leaves of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.finding import Rows
from outrisk.assess.look.told import complete
from outrisk.codebook import Codebook
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, Subset
from outrisk.outputs.of_one_table.described import in_subset
from outrisk.outputs.smooth.association import Association
from outrisk.outputs.smooth.proportions import Proportions
from outrisk.outputs.smooth.shape import Shape
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.problem.released import half_digit

Array = NDArray[np.float64]
_ROUNDS = 3  # of closing, each of which goes over all pairs of tables on the same records
_SCALE = {"proportions": 1.0, "row_percentages": 100.0, "column_percentages": 100.0}


@dataclass(frozen=True)
class Kind:
    """Numbers that add up: of records that are `where` and lack no value of some variables their number, the sum of
    `what`, of which values above `top` count as it, or the sum of their survey `weight`.
    """

    where: str
    lacks: frozenset[str] = frozenset()
    what: str = ""
    top: float | None = None
    weight: str = ""

    @property
    def counts(self) -> bool:
        """Whether they are numbers of records."""
        return not self.what and not self.weight


@dataclass(frozen=True, eq=False)
class Known:
    """From where to where each number of a table may lie, in the shape of its variables `by` (in codebook order)."""

    by: tuple[str, ...]
    low: Array
    high: Array
    outputs: tuple[str, ...]

    def over(self, names: Sequence[str]) -> Known:
        """The table by some of its variables."""
        axes = tuple(at for at, name in enumerate(self.by) if name not in names)
        by = tuple(name for name in self.by if name in names)
        return Known(by, self.low.sum(axis=axes), self.high.sum(axis=axes), self.outputs) if axes else self

    def within(self, other: Known) -> Known:
        """Both ranges of each number together; the other is by the same variables."""
        low, high = np.maximum(self.low, other.low), np.minimum(self.high, other.high)
        return Known(self.by, low, high, tuple(dict.fromkeys([*self.outputs, *other.outputs])))


@dataclass(eq=False)
class Numbers:
    """What outputs print of numbers that add up, of each kind: `own`, table by table as printed; `closed`, by sets of
    variables, all of the kind together.
    """

    codebook: Codebook
    own: dict[Kind, list[Known]] = field(default_factory=dict)
    closed: dict[Kind, dict[frozenset[str], Known]] = field(default_factory=dict)
    _inside: dict[str, Rows] = field(default_factory=dict)

    def records(self, kind: Kind, data: Microdata) -> Rows:
        """The records that numbers of a kind are of."""
        if kind.where not in self._inside:
            self._inside[kind.where] = complete(data, kind.where, "", ())
        rows = self._inside[kind.where]
        for name in sorted(kind.lacks):
            rows = rows[data.codes[rows, data.codebook.index(name)] < len(data.codebook[name].values)]
        return rows

    @classmethod
    def of(cls, outputs: Sequence[Output], data: Microdata) -> Numbers:
        """Of counts, shares, sums and means, as released from these records; sums and means without weights alone."""
        numbers = cls(data.codebook)
        tables = [output for output in outputs if isinstance(output, Frequencies)]
        sums = [output for output in outputs if isinstance(output, Magnitudes) and not output.weight]
        for one in outputs:
            if isinstance(one, Association | Proportions | Shape):
                numbers._add(_counts_told(one, data))
        for table in tables:
            numbers._add(_weighted(table, data) if table.weight else _counts(table, numbers._cell_counts(table, data)))
        of_cells = [(one, one.refit(data)) for one in sums]
        for one, values in of_cells:
            numbers._add(_counts_behind(one, values))
        numbers._close()
        for table in tables:
            if table.show != "counts" and not table.weight:
                numbers._add(_behind_shares(table, numbers._cell_counts(table, data), numbers))
        numbers._close()
        for one, values in of_cells:
            numbers._add(_sums(one, values, numbers))
        numbers._close()
        return numbers

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

    def tables(self, kind: Kind, without: str = "") -> list[tuple[str, ...]]:
        """Variables of the tables of a kind, but for one; the largest sets of them."""
        return self._largest({by - {without} for by in self.closed.get(kind, {})})

    def _largest(self, sets: set[frozenset[str]]) -> list[tuple[str, ...]]:
        largest = [each for each in sets if not any(each < other for other in sets)]
        return sorted(tuple(sorted(each, key=self.codebook.index)) for each in largest)

    def named(self, kind: Kind, names: Sequence[str]) -> str:
        """The output that prints a table by these variables, or the first that has them all."""
        having = [known for known in self.own[kind] if set(known.by) >= set(names)]
        return min(having, key=lambda known: len(known.by)).outputs[0]

    def _add(self, tables: Iterator[tuple[Kind, Known]]) -> None:
        for kind, known in tables:
            order = sorted(range(len(known.by)), key=lambda at: self.codebook.index(known.by[at]))
            by = tuple(known.by[at] for at in order)
            low, high = (np.transpose(each, order) for each in (known.low, known.high))
            self.own.setdefault(kind, []).append(Known(by, low, high, known.outputs))

    def _close(self) -> None:
        """What follows of each number from those that it is part of, and that are parts of it."""
        for kind, tables in self.own.items():
            merged: dict[frozenset[str], Known] = {}
            for known in tables:
                there = merged.get(frozenset(known.by))
                merged[frozenset(known.by)] = known if there is None else there.within(known)
            pairs = [(fine, coarse) for fine in merged for coarse in merged if coarse < fine]
            for _ in range(_ROUNDS):
                open_ = {by for by, known in merged.items() if not kind.counts or (known.low < known.high).any()}
                for fine, coarse in pairs:
                    if fine in open_ or coarse in open_:
                        merged[fine], merged[coarse] = _closer(merged[fine], merged[coarse])
            self.closed[kind] = merged


def _closer(fine: Known, coarse: Known) -> tuple[Known, Known]:
    """A table and one by fewer of its variables, each by what the other leaves of it."""
    axes = tuple(at for at, name in enumerate(fine.by) if name not in coarse.by)
    whole = coarse.within(fine.over(coarse.by))
    low, high = (np.expand_dims(each, axes) for each in (whole.low, whole.high))
    rest_low, rest_high = _others(fine.low, axes), _others(fine.high, axes)
    closer = Known(fine.by, low - rest_high, high - rest_low, coarse.outputs)
    if (closer.low <= fine.low).all() and (closer.high >= fine.high).all():
        return fine, Known(whole.by, whole.low, whole.high, coarse.outputs)
    return fine.within(closer), Known(whole.by, whole.low, whole.high, coarse.outputs)


def _others(ends: Array, axes: tuple[int, ...]) -> Array:
    """The sum of all other cells over some axes, of ends that may be infinite (all to one side)."""
    open_ = ~np.isfinite(ends)
    there = np.where(open_, 0.0, ends)
    rest = there.sum(axis=axes, keepdims=True) - there
    infinite = (open_.sum(axis=axes, keepdims=True) - open_) > 0
    side = np.sign(ends[open_][0]) if open_.any() else 1.0
    return np.asarray(np.where(infinite, side * np.inf, rest))


def places(data: Microdata, names: Sequence[str], rows: Rows) -> Rows:
    """The cell of each record in a table by some variables, (rows,); the last variable runs fastest."""
    codes = tuple(data.codes[rows, data.codebook.index(name)].astype(np.intp) for name in names)
    return np.ravel_multi_index(codes, shape(data.codebook, names)) if names else np.zeros(len(rows), dtype=np.intp)


def shape(codebook: Codebook, names: Sequence[str]) -> tuple[int, ...]:
    """The levels of some variables."""
    return tuple(codebook[name].size for name in names)


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


def _counts_told(output: Association | Proportions | Shape, data: Microdata) -> Iterator[tuple[Kind, Known]]:
    """The numbers of records, and of those with an event, that proportions, associations and shapes tell."""
    lacks = _lacks(output) if isinstance(output, Shape) else frozenset[str]()
    subset = Subset(output.codebook, output.where, output.name)
    for counts in output.counts(*output.publish(output.refit(data))):
        inside = in_subset(subset, counts.by)
        low, high = (np.where(inside, end, 0.0) for end in (counts.low, counts.high))
        yield Kind(output.where, lacks), Known(counts.by, low, high, (output.name,))


def _weighted(table: Frequencies, data: Microdata) -> Iterator[tuple[Kind, Known]]:
    """Weighted counts, and whether cells hold anybody, where every record has a weight above 0."""
    weight = table.codebook[table.weight]
    if table.show != "counts" or table.protection.threshold is not None:
        return
    low, high = table.publish(table.refit(data))
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
    """Whom printed shares show to be there; a printed zero nobody, where one record would be a last digit or more."""
    printed = np.round(values, int(table.decimals[0]))
    one = _SCALE[table.show] / max(float(counts.sum()), 1.0)  # at least
    told = (printed == 0) & (one >= 10.0 ** -int(table.decimals[0]))
    return np.where(printed > 0, 1.0, 0.0), np.where(told, 0.0, np.inf)


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
    """Of the numbers of records in the cells of a table."""
    return Kind(table.where, _lacks(table) if isinstance(table, Magnitudes) else frozenset())


def sum_kind(table: Magnitudes) -> Kind:
    """Of the sums in the cells of a table."""
    return Kind(table.where, _lacks(table), table.value, table.protection.top_code)


def _lacks(table: Magnitudes | Shape) -> frozenset[str]:
    return frozenset([table.value] if table.codebook[table.value].missing else [])


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
            each = _of_mean(low[:, at].reshape(sizes) - half, high[:, at].reshape(sizes) + half, least, most, ends)
        else:
            continue
        known = each if known is None else known.within(each)
    if known is not None:
        yield kind, Known(table.by, known.low, known.high, (table.name,))


def _of_mean(low: Array, high: Array, least: Array, most: Array, ends: tuple[float, float]) -> Known:
    """Sums that means (cells) of so many records have, each from where to where."""
    low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
    with np.errstate(invalid="ignore"):
        corners = np.stack([end * number for end in (low, high) for number in (least, most)])
    corners = np.where(np.isnan(corners), 0.0, corners)
    return Known((), corners.min(axis=0), corners.max(axis=0), ())
