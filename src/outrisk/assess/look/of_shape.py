"""What shape and concentration tell: the value of the largest contributor, values of few people, values that are alike.

The share of the largest times a total is the value of the largest; a Herfindahl-Hirschman index (HHI) bounds it, as it
lies between the square of that share and the share. Whoever comes second knows more: what the others have at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.as_cells import known_of_cells
from outrisk.assess.look.contributions import DOMINANCE, Cell, all_alike, cells_of, dominated
from outrisk.assess.look.finding import Found, named, people, plural
from outrisk.assess.look.known import Kind
from outrisk.assess.look.printed import Numbers
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.outputs.smooth.shape import Shape
from outrisk.outputs.smooth.shape_checks import of_cells
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.outputs.tables.quantiles import Quantiles
from outrisk.problem.released import ROUNDING, half_digit

_MOST = 4_000_000  # values of all but one record of a cell that are tried
_FEW = 12  # records of a cell whose sets of values are tried at most
_SLACK = 1e-9
_ADVICE = "Withhold these cells (and the total, or a second cell of the row), or merge them with others."
Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class ToldCell:
    """A cell with what a reader has of it: the printed numbers as shares by statistic, the records and their sum, each
    from where to where; NaN to NaN for a number that is printed as undefined.
    """

    cell: Cell
    at: int
    shares: dict[str, Ends]
    records: Ends
    total: Ends


def shapes_told(outputs: Sequence[Output], numbers: Numbers, data: Microdata, appetite: Appetite) -> Iterator[Found]:
    """Cells whose largest contributor is told or nearly so, cells of few records whose values are, and cells in which
    all values are shown to be alike; then cells that few people make up most of, of which no total is known.

    Certain is what the printed numbers leave one answer of, or answers within the share of the p % rule.
    """
    for output in outputs:
        if isinstance(output, Shape):
            cells = list(_cells(output, numbers, data))
            yield from _few(output, cells, outputs, data)
            yield from _alike(output, cells, data)
            if any(each not in ("skewness", "kurtosis", "cv") for each in output.shown):
                told = list(_largest(output, cells, data, appetite))
                yield from (found for found, _ in told)
                done = {at for _, places in told for at in places}
                rest = [each.cell for each in cells if each.at not in done and each.cell.values[-1] > 0.0]
                yield from dominated(output.name, output.value, rest, [np.inf] * len(rest), appetite)


def _cells(output: Shape, numbers: Numbers, data: Microdata) -> Iterator[ToldCell]:
    """The cells that are printed."""
    exact = output.refit(data)
    low, high = output.publish(exact)
    ranges, own = of_cells(output, low, high)
    lacks = frozenset([output.value] if data.codebook[output.value].missing else [])
    records = known_of_cells(numbers, Kind(output.where, lacks), output.by)
    total = known_of_cells(numbers, Kind(output.where, lacks, output.value, output.protection.top_code), output.by)
    place = {label: at for at, label in enumerate(output.cells.labels)}
    for cell in cells_of(output, data):
        at = place[cell.label]
        shares = {name: (float(ends[0][at]), float(ends[1][at])) for name, ends in ranges.items()}
        shares = {name: ends if np.isfinite(ends).all() else (np.nan, np.nan) for name, ends in shares.items()}
        n = max(1.0, float(own[0][at]), records[0][at]), min(float(own[1][at]), records[1][at])
        yield ToldCell(cell, at, shares, n, (float(total[0][at]), float(total[1][at])))


def _largest(
    output: Shape, cells: Sequence[ToldCell], data: Microdata, appetite: Appetite
) -> Iterator[tuple[Found, list[int]]]:
    """Cells whose largest value is told for certain; or to within the share of the p % rule, to anybody, or to who has
    the second largest.
    """
    support = np.unique(output.support)
    if data.person is not None or support[0] < 0:
        return  # shares are those of records
    exact, near = list[ToldCell](), list[ToldCell]()
    for each in cells:
        largest = each.cell.values[-1]
        if largest <= 0.0 or len(each.cell.values) < 2:
            continue
        left = largest_left(each, support, None)
        if len(left) == 1 and len(support) > 1:
            exact.append(each)
            continue
        second = float(each.cell.values[-2])
        left, before = (
            (left, support)
            if _within(left, largest, appetite)
            else (
                largest_left(each, support, second),
                support[support >= second],
            )
        )
        if _within(left, largest, appetite) and not _within(before, largest, appetite):  # nor without the numbers
            near.append(each)
    if exact:
        what = (
            f"{output.value} of {people(len(exact))} is told for certain: the largest value of "
            f"{plural(len(exact), 'cell')} is its share of a total that is known."
        )
        yield _of_largest(output, exact, what), [each.at for each in exact]
    if near:
        what = (
            f"{output.value} of {people(len(near))} can be worked out to within {100 * appetite.safe_pratio_p:g} % "
            f"by the second largest contributor of the cell, or by anybody ({plural(len(near), 'cell')}; p % rule)."
        )
        yield _of_largest(output, near, what), [each.at for each in near]


def _of_largest(output: Shape, cells: Sequence[ToldCell], what: str) -> Found:
    cells = sorted(cells, key=lambda each: len(each.cell.values))
    who = np.concatenate([each.cell.rows[-1:] for each in cells])
    places = named([f"{each.cell.label}: {plural(len(each.cell.values), 'record')}" for each in cells])
    return Found.of(DOMINANCE, True, output.name, len(cells), who, what, places, _ADVICE, output.value)


def _within(left: Array, largest: float, appetite: Appetite) -> bool:
    return bool(len(left)) and bool(np.abs(left[[0, -1]] - largest).max() < appetite.safe_pratio_p * largest)


def largest_left(told: ToldCell, support: Array, second: float | None) -> Array:
    """The values of the support (V,), ascending from 0 or more, that the largest of a cell may have: necessary
    conditions alone. second: the value of the second largest, for who has it.
    """
    v, (a, b) = support, (max(told.total[0], 0.0), told.total[1])
    known = {name: ends for name, ends in told.shares.items() if np.isfinite(ends[0])}
    if second is not None:
        a, b = _total_told(known, second, (a, b))
    if not np.isfinite(b):
        return v
    slack = _SLACK * max(1.0, b)
    fits = (v <= b + slack) & (v >= a / told.records[1] - slack)
    if second is not None:
        fits &= (v >= second) & (v + second <= b + slack)
    for name, (low, high) in known.items():
        if name == "hhi":
            rest = 0.0 if second is None else second**2
            fits &= (v**2 + rest <= high * b**2 + slack * b) & (v * b >= low * a**2 - slack * b)
            if second is not None:
                fits &= v**2 + rest + second * np.maximum(b - v - second, 0.0) >= low * a**2 - slack * b
        elif name.startswith("cr"):
            k = int(name[2:])
            sure = v + (second if second is not None and k > 1 else 0.0)
            most = v if k == 1 else k * v if second is None else v + (k - 1) * second
            fits &= (sure <= high * b + slack) & (most >= low * a - slack)
    return np.asarray(v[fits])


def _total_told(known: dict[str, Ends], second: float, total: Ends) -> Ends:
    """The total by the share of the second largest, whose value is known."""
    if "cr1" not in known or "cr2" not in known:
        return total
    low, high = known["cr2"][0] - known["cr1"][1], known["cr2"][1] - known["cr1"][0]
    least = second / high if high > 0.0 else 0.0
    most = second / low if low > 0.0 else np.inf
    return max(total[0], least), min(total[1], most)


def _few(output: Shape, cells: Sequence[ToldCell], outputs: Sequence[Output], data: Microdata) -> Iterator[Found]:
    """Cells of few records of which the printed numbers leave one set of values."""
    beside = [_beside(other, data) for other in outputs if _is_beside(other, output)]
    told = [each for each in cells if len(each.cell.values) > 1 and _one_answer(output, each, beside)]
    if not told:
        return
    who = np.concatenate([each.cell.rows for each in told])
    number = data.people(who)
    yield Found.of(
        "same answer",
        True,
        output.name,
        len(told),
        who,
        f"{output.value} of {people(number)} is told for certain: only one set of values has the printed numbers of "
        f"{plural(len(told), 'cell')} of few records, and who knows one of them knows the others.",
        named([f"{each.cell.label}: {plural(len(each.cell.values), 'record')}" for each in told]),
        _ADVICE,
        output.value,
    )


@dataclass(frozen=True, eq=False)
class Beside:
    """Another summary of the same cells: its statistics by name, or quantiles, each from where to where by cell."""

    names: tuple[str | float, ...]
    low: Array  # (cells, statistics)
    high: Array

    def fits(self, at: int, sets: Array) -> Array:
        """Which sets of values (b, n), each ascending, its numbers of a cell allow."""
        fits = np.ones(len(sets), np.bool_)
        for column, name in enumerate(self.names):
            low, high = self.low[at, column], self.high[at, column]
            if np.isfinite(low) and np.isfinite(high):
                value = sets.std(axis=1, ddof=1) if name == "sd" else np.quantile(sets, float(name), axis=1)
                fits &= (value >= low - _SLACK * max(1.0, abs(low))) & (value <= high + _SLACK * max(1.0, abs(high)))
        return fits  # type: ignore[return-value]


def _is_beside(other: Output, output: Shape) -> bool:
    if not isinstance(other, Magnitudes | Quantiles) or (isinstance(other, Magnitudes) and other.weight):
        return False
    same = (other.value, other.by, other.where) == (output.value, output.by, output.where)
    return same and other.protection.top_code == output.protection.top_code


def _beside(other: Output, data: Microdata) -> Beside:
    assert isinstance(other, Magnitudes | Quantiles)
    low, high = other.publish(other.refit(data))
    shown = other.shown if isinstance(other, Magnitudes) else other.probabilities
    own = len(other.cells.labels) * len(shown)
    half = half_digit(other.decimals[:own]) * ROUNDING
    ends = [(end[:own] + sign * half).reshape(-1, len(shown)) for end, sign in ((low, -1), (high, 1))]
    use = [at for at, each in enumerate(shown) if each == "sd" or not isinstance(each, str)]
    return Beside(tuple(shown[at] for at in use), ends[0][:, use], ends[1][:, use])


def _one_answer(output: Shape, told: ToldCell, beside: Sequence[Beside]) -> bool:
    """Whether one set of values of the support alone has all printed numbers of a cell."""
    n = len(told.cell.values)
    if told.records[0] != told.records[1] or not np.isfinite(told.total).all():
        return False
    sets = sets_with_sum(np.unique(output.support), n, told.total)
    if sets is None:
        return False
    for other in beside:
        sets = sets[other.fits(told.at, sets)]
    numbers = output.of_many(sets) / output.scale
    for column, name in enumerate(output.shown):
        low, high = told.shares[name]
        value = numbers[:, column]
        fits = np.isnan(value) if np.isnan(low) else (value >= low - _SLACK) & (value <= high + _SLACK)
        sets, numbers = sets[fits], numbers[fits]
    return len(sets) == 1


def sets_with_sum(support: Array, n: int, total: Ends) -> Array | None:
    """All sets of n values of a support (V,), each ascending, whose sum lies from a low to a high end, (b, n); None
    where they are too many to be tried.
    """
    if n > _FEW or len(support) ** (n - 1) > _MOST:
        return None
    first = np.zeros((1, 0))
    for _ in range(n - 1):
        grid = np.hstack([np.repeat(first, len(support), axis=0), np.tile(support, len(first))[:, None]])
        first = grid[grid[:, -2] <= grid[:, -1]] if grid.shape[1] > 1 else grid
    done, last = first.sum(axis=1), first[:, -1] if n > 1 else np.full(1, -np.inf)
    slack = _SLACK * max(1.0, abs(total[0]), abs(total[1]))
    start = np.searchsorted(support, np.maximum(total[0] - done - slack, last))
    size = np.maximum(np.searchsorted(support, total[1] - done + slack, side="right") - start, 0)
    if size.sum() > _MOST:
        return None
    which = np.repeat(np.arange(len(first)), size)
    place = np.arange(len(which)) - np.repeat(np.cumsum(size) - size, size) + start[which]
    return np.hstack([first[which], support[place][:, None]])


def _alike(output: Shape, cells: Sequence[ToldCell], data: Microdata) -> Iterator[Found]:
    """Cells whose records all have one value, which the numbers show, and whose total tells which."""
    support = np.unique(output.support)
    found = [each for each in cells if _shows_alike(output, each, support)]
    if found:
        yield all_alike(output.name, output.value, [each.cell for each in found], data)


def _shows_alike(output: Shape, told: ToldCell, support: Array) -> bool:
    values, n = told.cell.values, len(told.cell.values)
    if n < 2 or values[0] != values[-1] or told.records[0] != told.records[1] or not np.isfinite(told.total).all():
        return False
    left = support[(n * support >= told.total[0] - _SLACK) & (n * support <= told.total[1] + _SLACK)]
    if len(left) != 1 or len(support) < 2:
        return False
    step = float(np.diff(support).min())
    one = np.tile(values, (2, 1))  # the least that values can differ, which changes each number the least
    one[0, 0], one[1, -1] = values[0] - step, values[0] + step
    numbers = output.of_many(one) / output.scale
    for column, name in enumerate(output.shown):
        low, high = told.shares[name]
        if name in ("skewness", "kurtosis") and np.isnan(low) and np.isfinite(numbers[:, column]).all():
            return True
        if name in ("cv", "gini") and not np.isnan(low) and (np.abs(numbers[:, column]) > high + _SLACK).all():
            return True
    return False
