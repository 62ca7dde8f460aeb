"""Values of a few people that the printed numbers of their cell tell together: means, standard deviations, quantiles,
and shape. All sets of values that have these numbers are found; what they have in common is certain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.as_cells import known_of_cells
from outrisk.assess.look.contributions import Cell, cells_of
from outrisk.assess.look.finding import NOT_BOUNDED, Found, Rows, named, people, plural
from outrisk.assess.look.known import Kind
from outrisk.assess.look.once import refit
from outrisk.assess.look.printed import Numbers
from outrisk.assess.look.sets_of_values import FEW, Ends, Work, in_order, sets_that_fit
from outrisk.assess.look.top_codes import open_from
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.outputs.smooth.shape import Shape
from outrisk.outputs.tables.errors_of_means import ERROR
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.quantiles import Quantiles
from outrisk.problem.quantile_places import METHODS, places
from outrisk.problem.released import ROUNDING, half_digit
from outrisk.records.schema import WITH

_NUMBERS = 10  # values of a variable from which a set of them tells whose is which by their order
_SLACK = 1e-9
VALUES_OF_FEW = "values of few"
_ADVICE = "Withhold these cells (and the total, or a second cell of the row), or merge them with others."
Summary = Magnitudes | Quantiles | Shape


@dataclass(frozen=True, eq=False)
class Summaries:
    """Summaries of the same variable by the same cells, and from where to where the records of each cell, and the sum
    of their values, lie (cells,).
    """

    outputs: tuple[Summary, ...]
    kind: Kind  # of the sums
    data: Microdata
    records: tuple[Array, Array]
    total: tuple[Array, Array]

    @property
    def name(self) -> str:
        """Those that say what is told."""
        return WITH.join(each.name for each in self.outputs)

    @cached_property
    def support(self) -> Array:
        """The values that count, ascending."""
        return np.unique(self.outputs[0].support)

    @cached_property
    def cap(self) -> float:
        """The top code, where larger values count as it."""
        one = self.outputs[0]
        return open_from(one.codebook, one.value, one.protection.top_code, one.where)

    @cached_property
    def printed(self) -> list[Mapping[str | float, tuple[Array, Array]]]:
        """From where to where the numbers of each summary lie, by statistic, or by quantile (cells,)."""
        return [_printed(each, self.data) for each in self.outputs]

    def cells(self) -> list[tuple[int, Cell]]:
        """Those that hold somebody and that a summary prints, each with its place."""
        place = {label: at for at, label in enumerate(self.outputs[0].cells.labels)}
        found = {place[cell.label]: cell for each in self.outputs for cell in cells_of(each, self.data)}
        return sorted(found.items())

    def sets(self, at: int, n: int, work: Work) -> Array | None:
        """All sets of n values, each ascending (b, n), that have the printed numbers of a cell."""
        total = float(self.total[0][at]), float(self.total[1][at])
        sd, order = (0.0, np.inf), list[tuple[float, float, float]]()
        for output, numbers in zip(self.outputs, self.printed, strict=True):
            for name, (low, high) in numbers.items():
                ends = float(low[at]), float(high[at])
                if not np.isfinite(ends).all():
                    continue
                if name == "mean":
                    total = max(total[0], n * ends[0]), min(total[1], n * ends[1])
                elif isinstance(output, Quantiles):
                    order.append((float(places(np.array(n), float(name), output.of_type)), *ends))
                elif name == "cr1" and np.isfinite(total).all():
                    order.append((n - 1.0, ends[0] * max(total[0], 0.0), ends[1] * total[1]))
                elif n > 1:
                    more = sd_by(str(name), n, ends, total)
                    sd = max(sd[0], more[0]), min(sd[1], more[1])
        found = sets_that_fit(self.support, n, total, sd, in_order(n, order, self.support), work)
        for output, numbers in zip(self.outputs, self.printed, strict=True):
            if found is not None and len(found):
                work.values -= found.size * len(numbers)
                found = found[_have(output, numbers, at, found)]
        return found

    def may_be_others(self, at: int, n: int, work: Work) -> bool:
        """Whether other numbers of records than n may have the printed numbers of a cell."""
        least, most = int(max(self.records[0][at], 1.0)), int(self.records[1][at])
        some = (self.sets(at, each, work) for each in range(least, most + 1) if each != n)
        return any(sets is None or len(sets) for sets in some)


def _printed(output: Summary, data: Microdata) -> Mapping[str | float, tuple[Array, Array]]:
    shown: Sequence[str | float] = output.probabilities if isinstance(output, Quantiles) else output.shown
    own = slice(output.n_counts if isinstance(output, Shape) else 0, None)
    k = len(output.cells.labels) * len(shown)
    half = half_digit(output.decimals[own][:k]) * ROUNDING
    scale = output.scale[: len(shown)] if isinstance(output, Shape) else np.ones(len(shown))
    low, high = (
        (end[own][:k] + sign * half).reshape(-1, len(shown)) / scale
        for end, sign in zip(output.publish(refit(output, data)), (-1, 1), strict=True)
    )
    return {name: (low[:, at], high[:, at]) for at, name in enumerate(shown) if name not in ("count", "sum")}


def sd_by(name: str, n: int, ends: Ends, total: Ends) -> Ends:
    """From where to where the standard deviation of n values lies by a number that is one, or is one of values from 0
    beside their sum.
    """
    if name in ("sd", ERROR):
        times = 1.0 if name == "sd" else float(np.sqrt(n))
        return ends[0] * times, ends[1] * times
    if name not in ("cv", "hhi") or total[0] < 0.0 or not np.isfinite(total[1]):
        return 0.0, np.inf
    if name == "hhi":  # the sum of squares, as a share of the squared sum
        ends = tuple(np.sqrt(n * max(n * end - 1.0, 0.0) / (n - 1)) for end in ends)
    return ends[0] * total[0] / n, ends[1] * total[1] / n


def _have(
    output: Summary, numbers: Mapping[str | float, tuple[Array, Array]], at: int, sets: Array
) -> NDArray[np.bool_]:
    """Which sets of values (b, n) have the printed numbers of a cell; one that is printed as undefined is so."""
    fits = np.ones(len(sets), np.bool_)
    for name, value in _of_sets(output, sets):
        low, high = (float(end[at]) for end in numbers[name])
        if np.isfinite([low, high]).all():
            fits &= (value >= low - _SLACK * max(1.0, abs(low))) & (value <= high + _SLACK * max(1.0, abs(high)))
        elif isinstance(output, Shape) and not output.protection.hides(np.array([sets.shape[1]])).any():
            fits &= np.isnan(value)
    return fits


def _of_sets(output: Summary, sets: Array) -> Iterator[tuple[str | float, Array]]:
    """The numbers of a summary of sets of values, but counts and sums."""
    n = sets.shape[1]
    if isinstance(output, Quantiles):
        method: Any = METHODS[output.of_type]
        yield from ((each, np.quantile(sets, each, axis=1, method=method)) for each in output.probabilities)
    elif isinstance(output, Shape):
        yield from zip(output.shown, (output.of_many(sets) / output.scale).T, strict=True)
    else:
        mean, sd = sets.mean(axis=1), sets.std(axis=1, ddof=1) if n > 1 else np.full(len(sets), np.nan)
        error = sd / np.sqrt(n)
        apart = output.errors.quantile(n) * error
        every = {"mean": mean, "sd": sd, ERROR: error, ENDS[0]: mean - apart, ENDS[1]: mean + apart}
        yield from ((each, every[each]) for each in output.shown if each in every)


def summaries_of(outputs: Sequence[Output], numbers: Numbers, data: Microdata) -> Iterator[Summaries]:
    """All summaries without weights, those of the same variable and cells together; of shape first."""
    groups: dict[tuple[Any, ...], list[Summary]] = {}
    for each in sorted(outputs, key=lambda each: not isinstance(each, Shape)):
        if isinstance(each, Summary) and not (isinstance(each, Magnitudes) and each.weight):
            groups.setdefault((each.value, each.by, each.where, each.protection.top_code), []).append(each)
    for (value, by, where, top), same in groups.items():
        lacks = frozenset([value] if data.codebook[value].missing else [])
        counts, sums = Kind(where, lacks), Kind(where, lacks, value, top)
        (least, most), total = (known_of_cells(numbers, kind, by, data) for kind in (counts, sums))
        if lacks:
            most = np.minimum(most, known_of_cells(numbers, Kind(where), by, data)[1])
        yield Summaries(tuple(same), sums, data, (least, most), total)


@dataclass(eq=False)
class Told:
    """Cells and the records in them whose values are told: to anybody, or to who has one of them; near: or to within
    the share of the p % rule.
    """

    cells: list[Cell] = field(default_factory=list)
    rows: list[Rows] = field(default_factory=list)
    near: bool = False

    def add(self, cell: Cell, rows: Rows, near: bool) -> None:
        """A cell and those of its records that are told."""
        self.cells.append(cell)
        self.rows.append(rows)
        self.near |= near

    def places(self) -> str:
        """The cells in words, those of the fewest records first."""
        both = sorted(zip(self.cells, self.rows, strict=True), key=lambda each: len(each[0].rows))
        return named([f"{cell.label}: {len(rows)} of {plural(len(cell.rows), 'record')}" for cell, rows in both])


def few_values_told(
    outputs: Sequence[Output], numbers: Numbers, data: Microdata, appetite: Appetite
) -> Iterator[Found]:
    """Cells of two records to a dozen: values, from the least or the largest on, that all sets of values with the
    printed numbers share, or share to within the share of the p % rule; and those that all of these sets share which
    have the value of one person, who knows it. Of few values that a variable may have this is said of two people alone:
    how often each occurs does not tell whose it is.
    """
    work = Work()
    for group in summaries_of(outputs, numbers, data):
        anybody, one, work.left = Told(), Told(), 0
        for at, cell in sorted(group.cells(), key=lambda each: len(each[1].values)):
            n = len(cell.values)
            if not 2 <= n <= FEW or not group.records[1][at] <= FEW:
                continue
            if work.is_done():
                continue
            sets = group.sets(at, n, work)
            if sets is not None and not group.may_be_others(at, n, work):
                sort_told(cell, sets, group.support, group.cap, data, appetite, anybody, one)
        if anybody.cells:
            yield _found(group, anybody, data, "the printed numbers leave no other in", ", though not whose each is")
        if one.cells:
            yield _found(group, one, data, "the printed numbers leave no other beside it in", " to who has another")
        if work.left:
            yield not_asked(group.name, work.left)


def sort_told(
    cell: Cell, sets: Array, support: Array, cap: float, data: Microdata, appetite: Appetite, anybody: Told, one: Told
) -> None:
    """Add what all sets of values of a cell (b, n), each ascending, have in common, or all with one person's."""
    values, n = cell.values, len(cell.values)
    many, told, near = len(support) > _NUMBERS, np.zeros(n, np.bool_), False
    said = _from_the_ends(_pinned(sets, values, support, appetite)) & (values < cap)
    if (many or n == 1) and said.any():
        anybody.add(cell, cell.rows[said], _is_near(sets[:, said]))
        told |= said
    if n == 1 or (n > 2 and not many) or cell.people < n:
        return
    beside = np.zeros(n, np.bool_)
    for own in np.flatnonzero(np.r_[True, values[1:] != values[:-1]]):
        having = sets[(sets == values[own]).any(axis=1)]
        first, rest = (having == values[own]).argmax(axis=1), np.delete(np.arange(n), own)
        others = having[np.arange(n) != first[:, None]].reshape(-1, n - 1)
        if _pinned(others, values[rest], support, appetite).all():
            beside[rest] = True
            near |= _is_near(others)
    beside &= values < cap
    if (beside & ~told).any():
        one.add(cell, cell.rows[beside & ~told], near)


def _from_the_ends(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those of the flagged of sorted values that no other stands before, from the least or the largest on: of one in
    the middle, such as a median, nobody knows whose it is.
    """
    return np.logical_and.accumulate(flags) | np.logical_and.accumulate(flags[::-1])[::-1]


def _pinned(sets: Array, values: Array, support: Array, appetite: Appetite) -> NDArray[np.bool_]:
    """Which of the values in order (n,) all sets (b, n) have, or have to within the share of the p % rule, as what the
    value can be does not say already.
    """
    share = appetite.safe_pratio_p * np.abs(values)
    exact = (sets == values).all(axis=0) & (len(support) > 1)
    near = np.abs(sets - values).max(axis=0) < share
    before = np.maximum(support[-1] - values, values - support[0]) < share
    return np.asarray(exact | (near & ~before))


def _is_near(sets: Array) -> bool:
    return bool((sets != sets[:1]).any())


def not_asked(name: str, cells: int) -> Found:
    """The finding of so many cells of some outputs that are left when the work is done."""
    what = f"Too many sets of values fit to ask which {plural(cells, 'cell')} of few records may have."
    return Found(NOT_BOUNDED, False, name, 0, 0, what)


def _found(group: Summaries, told: Told, data: Microdata, why: str, whom: str) -> Found:
    who, value = np.concatenate(told.rows), group.outputs[0].value
    near = ", or to within the share of the p % rule," * told.near
    what = f"{value} of {people(data.people(who))} is told{near} for certain{whom}: {why} "
    what += f"{plural(len(told.cells), 'cell')} of few records."
    return Found.of(VALUES_OF_FEW, True, group.name, len(told.cells), who, what, told.places(), _ADVICE, value)
