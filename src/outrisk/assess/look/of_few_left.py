"""Values of a few people that means and standard deviations of two nested subsets leave, one taken from the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.apart import are_apart, nearly_whole
from outrisk.assess.look.contributions import Cell
from outrisk.assess.look.differences import group_in_words, left_in_words
from outrisk.assess.look.finding import Found, people, plural
from outrisk.assess.look.known import Kind, Known, shape
from outrisk.assess.look.nested import nested
from outrisk.assess.look.of_few_values import Summaries, Told, not_asked, sd_by, sort_told, summaries_of
from outrisk.assess.look.of_fitted import cells_by
from outrisk.assess.look.of_sums import cells_left, values_of
from outrisk.assess.look.printed import Numbers, places
from outrisk.assess.look.sets_of_values import FEW, Ends, Work, sets_that_fit
from outrisk.assess.look.withheld import ADVICE as WITHHOLD
from outrisk.assess.look.withheld import RULE
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.outputs.tables.errors_of_means import ERROR
from outrisk.records.schema import MINUS, WITH

_ARITHMETIC = 1e-9  # of a sum of squares
_MOST_PAIRS = 1_000
_ADVICE = "Release only one of the two, or compute both on the same records."
_SPREAD = ("sd", ERROR, "cv", "hhi")


def few_left(
    outputs: Sequence[Output], numbers: Numbers, data: Microdata, appetite: Appetite, inside: bool
) -> Iterator[Found]:
    """Cells of one record to a dozen that are left of a cell of a larger subset, or of all cells but withheld ones, of
    which one set of values alone has the sum and the sum of squares that are left; of several people, as far as these
    tell some of them.
    """
    groups = [each for each in summaries_of(outputs, numbers, data) if any(_spread(each))]
    work = Work()
    of = _Asked(numbers, data, appetite, inside, work)
    alike = ((one, other) for one, other in permutations(groups, 2) if _are_alike(one, other))
    for (larger, smaller), _ in zip(alike, range(_MOST_PAIRS), strict=False):
        if (pair := nested(numbers, larger.kind.where, smaller.kind.where)) is not None:
            group = group_in_words(data.codebook, pair, larger.kind.where, smaller.kind.where)
            yield from of.left(larger, [smaller], group)
    for larger, parts in _in_parts(groups, numbers, data, appetite):
        wheres = [each.kind.where for each in parts]
        yield from of.left(larger, parts, left_in_words(data.codebook, larger.kind.where, wheres))
    margins = ((one, other) for one, other in permutations(groups, 2) if _is_margin(one, other))
    for (total, table), _ in zip(margins, range(_MOST_PAIRS), strict=False):
        yield from of.withheld(total, table)
    if work.left:
        yield not_asked(WITH.join(dict.fromkeys(each.name for each in groups)), work.left)


def _in_parts(
    groups: Sequence[Summaries], numbers: Numbers, data: Microdata, appetite: Appetite
) -> Iterator[tuple[Summaries, list[Summaries]]]:
    """Summaries of a subset, each with those of two or more apart from each other within it, which leave few."""
    families: dict[tuple[tuple[str, ...], Kind], dict[str, Summaries]] = {}
    for each in groups:
        families.setdefault((each.outputs[0].by, replace(each.kind, where="")), {})[each.kind.where] = each
    for alike in filter(lambda each: len(each) > 2, families.values()):
        held = {where: np.zeros(len(data), np.bool_) for where in alike}
        for where, flags in held.items():
            flags[numbers.records(alike[where].kind, data)] = True
        for where, others in nearly_whole(held, data, appetite.safe_threshold):
            if are_apart(data.codebook, others) and all(nested(numbers, where, each) is not None for each in others):
                yield alike[where], [alike[each] for each in others]


def _are_alike(one: Summaries, other: Summaries) -> bool:
    same = one.outputs[0].by == other.outputs[0].by and one.kind.what == other.kind.what
    return same and one.kind.top == other.kind.top


def _is_margin(total: Summaries, table: Summaries) -> bool:
    """Whether the one has the totals of cells of the other, some of which are withheld."""
    by, finer = total.outputs[0].by, table.outputs[0].by
    return total.kind == table.kind and {*by} < {*finer} and any(each.protection.threshold for each in table.outputs)


def _spread(group: Summaries) -> Iterator[tuple[str, tuple[Array, Array]]]:
    """Its standard deviations and errors, and what is made of these and of means, by cell."""
    return ((str(name), ends) for numbers in group.printed for name, ends in numbers.items() if name in _SPREAD)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is asked of summaries, and the work that it may take."""

    numbers: Numbers
    data: Microdata
    appetite: Appetite
    inside: bool
    work: Work

    def left(self, larger: Summaries, parts: Sequence[Summaries], group: str) -> Iterator[Found]:
        """What is left of cells of a subset without those of others within it."""
        by, kind, told, one = larger.outputs[0].by, larger.kind, Told(), Told()
        rows = self.numbers.left(kind, [part.kind for part in parts], self.data)
        sizes = shape(self.data.codebook, by)
        low, high = (larger.total[end] - sum(each.total[1 - end] for each in parts) for end in (0, 1))
        known = Known(by, low.reshape(sizes), high.reshape(sizes), ())
        for left in cells_left(self.data, kind, by, rows, known) if len(rows) else ():
            at = int(places(self.data, by, left.cell.rows[:1])[0])
            there = [(each, at) for each in parts if each.records[1][at] > 0]
            self._sort(left.cell, larger, at, there, told, one)
        name = MINUS.join([larger.name, *(each.name for each in parts)])
        taken = ", ".join(f"“{each.name}”" for each in parts)
        how = f"subtracting {taken} from “{larger.name}” leaves ({group})"
        yield from self._found("difference of outputs", name, kind.what, how, told, one, _ADVICE)

    def withheld(self, total: Summaries, table: Summaries) -> Iterator[Found]:
        """What the cells of a table that are not withheld leave of their total: the values of all others together."""
        by, kind, codebook, told, one = table.outputs[0].by, table.kind, self.data.codebook, Told(), Told()
        cells = np.unravel_index(np.arange(len(table.total[0])), shape(codebook, by))
        coarse, of = total.outputs[0].by, np.zeros(len(table.total[0]), np.intp)
        if coarse:
            of = np.ravel_multi_index([cells[by.index(name)] for name in coarse], shape(codebook, coarse))
        rows, values = self.numbers.records(kind, self.data), values_of(self.data, kind)
        place = places(self.data, by, rows)
        printed = np.array([_is_printed(table, at) for at in range(len(of))])
        for at in np.unique(of[place]).tolist():
            here = np.flatnonzero(of == at)
            open_ = [each for each in here if not printed[each] and table.records[1][each] > 0]
            some = rows[np.isin(place, open_)]
            if not len(some) or (len(some) == 1 and len(open_) > 1):
                continue
            label = " or ".join(table.outputs[0].cells.labels[each] for each in open_)
            (cell,) = cells_by(
                np.zeros(len(some), np.intp),
                [label],
                values[self.data.codes[some, codebook.index(kind.what)]],
                some,
                self.data,
            )
            parts = [(table, int(each)) for each in here if printed[each] and table.records[1][each] > 0]
            self._sort(cell, total, at, parts, told, one)
        how = f"the cells of “{table.name}” that are not withheld leave of “{total.name}”"
        name = WITH.join(dict.fromkeys([total.name, table.name]))
        yield from self._found(RULE, name, kind.what, how, told, one, WITHHOLD)

    def _sort(
        self,
        cell: Cell,
        larger: Summaries,
        at: int,
        parts: Sequence[tuple[Summaries, int]],
        told: Told,
        one: Told,
    ) -> None:
        """Add what is told of the records of a cell that parts leave of another."""
        if len(cell.rows) <= FEW and not self.work.is_done():
            sets = _sets(larger, at, parts, len(cell.rows), self.work)
            if sets is not None:
                sort_told(cell, sets, larger.support, larger.cap, self.data, self.appetite, told, one)

    def _found(self, rule: str, name: str, value: str, how: str, told: Told, one: Told, advice: str) -> Iterator[Found]:
        for each, whom in ((told, ", though not whose each is"), (one, " to who has another")):
            if each.cells:
                who = np.concatenate(each.rows)
                near = ", or to within the share of the p % rule," * each.near
                whom = whom if any(len(cell.rows) > 1 for cell in each.cells) else ""
                what = (
                    f"{value} of {people(self.data.people(who))} is told{near} for certain{whom}: their mean and "
                    f"standard deviation that {how} have no other values in {plural(len(each.cells), 'cell')}."
                )
                named_ = each.places() if self.inside else ""
                yield Found.of(rule, True, name, len(each.cells), who, what, named_, advice, value)


def _is_printed(group: Summaries, at: int) -> bool:
    """Whether a cell's records, sum and sum of squares are told."""
    n = group.records[0][at]
    return bool(n == group.records[1][at] and n > 0) and _squares(group, at, int(n), 0.0) is not None


def _sets(larger: Summaries, at: int, parts: Sequence[tuple[Summaries, int]], n: int, work: Work) -> Array | None:
    """All sets of n values (b, n) with the sum and the sum of squares that parts leave of a cell; None without any."""
    of = [(larger, at), *parts]
    if any(each.records[0][cell] != each.records[1][cell] or not each.records[0][cell] for each, cell in of):
        return None
    first, *rest = (int(each.records[0][cell]) for each, cell in of)
    if first - sum(rest) != n or not rest:
        return None
    sums = [(float(each.total[0][cell]), float(each.total[1][cell])) for each, cell in of]
    total = sums[0][0] - sum(high for _, high in sums[1:]), sums[0][1] - sum(low for low, _ in sums[1:])
    middle = sum(sums[0]) / 2.0 / first
    squares = [_squares(each, cell, m, middle) for (each, cell), m in zip(of, (first, *rest), strict=True)]
    told = [each for each in squares if each is not None]
    if len(told) < len(of) or not np.isfinite(total).all():
        return None
    whole, *others = told
    slack = _ARITHMETIC * max(1.0, whole[1])
    low = whole[0] - sum(high for _, high in others) - slack
    high = whole[1] - sum(least for least, _ in others) + slack
    sd = (0.0, np.inf)
    if n > 1:
        near, far = _squared(total[0] / n - middle, total[1] / n - middle)
        sd = _root((low - n * far) / (n - 1)), _root((high - n * near) / (n - 1))
    sets = sets_that_fit(larger.support, n, total, sd, work=work)
    if sets is None:
        return None
    found = ((sets - middle) ** 2).sum(axis=1)
    return np.asarray(sets[(found >= low) & (found <= high)])


def _squares(group: Summaries, at: int, n: int, middle: float) -> Ends | None:
    """From where to where the squares of n values, each less some number, sum to; None where nothing tells it."""
    sd, total = (0.0, np.inf if n > 1 else 0.0), (float(group.total[0][at]), float(group.total[1][at]))
    for name, (low, high) in _spread(group) if n > 1 else ():
        if np.isfinite([low[at], high[at]]).all():
            ends = sd_by(name, n, (float(low[at]), float(high[at])), total)
            sd = max(sd[0], ends[0]), min(sd[1], ends[1])
    mean = total[0] / n, total[1] / n
    if not np.isfinite([sd[1], *mean]).all():
        return None
    near, far = _squared(mean[0] - middle, mean[1] - middle)
    return (n - 1) * sd[0] ** 2 + n * near, (n - 1) * sd[1] ** 2 + n * far


def _squared(low: float, high: float) -> Ends:
    """From where to where the square of a number lies."""
    return (0.0 if low <= 0.0 <= high else min(low**2, high**2)), max(low**2, high**2)


def _root(number: float) -> float:
    return float(np.sqrt(max(number, 0.0)))
