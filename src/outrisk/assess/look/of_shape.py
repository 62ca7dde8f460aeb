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
from outrisk.assess.look.as_printed import at_the_top
from outrisk.assess.look.contributions import DOMINANCE, Cell, all_alike, cells_of, dominated
from outrisk.assess.look.finding import Found, Rows, named, people, plural
from outrisk.assess.look.known import Kind
from outrisk.assess.look.once import refit
from outrisk.assess.look.printed import Numbers
from outrisk.assess.look.top_codes import open_from
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.outputs.smooth.shape import Shape
from outrisk.outputs.smooth.shape_by_records import fewest_of
from outrisk.outputs.smooth.shape_checks import of_cells

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
            yield from _alike(output, cells, data)
            yield from _of_nothing(output, cells, data)
            if any(each not in ("skewness", "kurtosis", "cv") for each in output.shown):
                told = list(_largest(output, cells, data, appetite))
                yield from (found for found, _ in told)
                done = {at for _, places in told for at in places}
                rest = [each.cell for each in cells if each.at not in done and each.cell.values[-1] > 0.0]
                yield from dominated(output.name, output.value, rest, [np.inf] * len(rest), appetite)


def _cells(output: Shape, numbers: Numbers, data: Microdata) -> Iterator[ToldCell]:
    """The cells that are printed."""
    exact = refit(output, data)
    low, high = output.publish(exact)
    ranges, own = of_cells(output, low, high)
    lacks = frozenset([output.value] if data.codebook[output.value].missing else [])
    records = known_of_cells(numbers, Kind(output.where, lacks), output.by, data)
    total = known_of_cells(
        numbers, Kind(output.where, lacks, output.value, output.protection.top_code), output.by, data
    )
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
    exact, near, cap = list[ToldCell](), list[ToldCell](), _cap(output)
    for each in cells:
        largest = each.cell.values[-1]
        if largest <= 0.0 or len(each.cell.values) < 2 or largest >= cap:
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


def _cap(output: Shape) -> float:
    """The top code, where larger values count as it."""
    return open_from(output.codebook, output.value, output.protection.top_code, output.where)


def _known_by_one(output: Shape, cells: Sequence[ToldCell], who: Rows, data: Microdata, why: str) -> Found:
    return Found.of(
        "same answer",
        True,
        output.name,
        len(cells),
        who,
        f"{output.value} of {people(data.people(who))} is told for certain: {why} {plural(len(cells), 'cell')}, "
        "and who knows one of them knows the others.",
        named([f"{each.cell.label}: {plural(len(each.cell.values), 'record')}" for each in cells]),
        _ADVICE,
        output.value,
    )


def _alike(output: Shape, cells: Sequence[ToldCell], data: Microdata) -> Iterator[Found]:
    """Cells whose records all have one value, which the numbers show; where it is not known which, to who knows one."""
    support, cap = np.unique(output.support), _cap(output)
    found = [each for each in cells if _shows_alike(output, each, support)]
    which = [each for each in found if _is_one_value(each, support)]
    capped = [each for each in found if each.cell.values[0] >= cap]
    if told := [each.cell for each in which if each not in capped]:
        yield all_alike(output.name, output.value, told, data)
    if at_top := [each.cell for each in which if each in capped]:
        yield at_the_top(output.name, output.value, cap, at_top, data)
    if open_ := [each.cell for each in capped if each not in which]:
        yield all_alike(output.name, output.value, open_, data, certain=False)
    of_one = [each for each in found if each not in which and each not in capped]
    if of_one:
        who = np.concatenate([each.cell.rows for each in of_one])
        yield _known_by_one(output, of_one, who, data, "the printed numbers show that all have the same in")


def _is_one_value(told: ToldCell, support: Array) -> bool:
    """Whether what is known of the total leaves one value that all records of a cell may have."""
    n = len(told.cell.values)
    fits = (n * support >= told.total[0] - _SLACK) & (n * support <= told.total[1] + _SLACK)
    return int(fits.sum()) == 1 or _is_nothing(told, support)


def _is_nothing(told: ToldCell, support: Array) -> bool:
    """Whether a share of the total is printed as undefined, as it is where values from 0 on are all 0."""
    n = told.records[0]
    return support[0] >= 0.0 and any(
        np.isnan(low) and (name == "hhi" or name.startswith("cr") or (name in ("gini", "cv") and n >= 2))
        for name, (low, _) in told.shares.items()
    )


def _shows_alike(output: Shape, told: ToldCell, support: Array) -> bool:
    """Whether a number shows that all values are one: that of any others is further off, be they but two, next to each
    other, and the total as large as it may be.
    """
    values, n = told.cell.values, len(told.cell.values)
    if values[0] != values[-1] or len(support) < 2:
        return False
    if _is_nothing(told, support):
        return True
    if n < 2 or told.records[0] != told.records[1]:
        return False
    step, total = float(np.diff(support).min()), min(told.total[1], n * float(support[-1]))
    for name, (low, high) in told.shares.items():
        if np.isnan(low):
            if name in ("skewness", "kurtosis") and n >= fewest_of(name, output.moments, output.divisor):
                return True
        elif support[0] >= 0.0 and total > 0.0 and high + _SLACK < _next_to_equal(output, name, n, step / total):
            return True
    return False


def _next_to_equal(output: Shape, name: str, n: int, step: float) -> float:
    """The least that a number of n values that are not all one can be, which are a share `step` of their total apart
    where they are; minus infinity for a number that says
    nothing of it.
    """
    if name == "gini":
        return step * (1.0 if output.divisor == "n - 1" else (n - 1) / n)
    if name == "cv":
        return step * float(np.sqrt(n))
    if name == "hhi":
        return 1.0 / n + step**2 * (n - 1) / n
    if name.startswith("cr") and int(name[2:]) < n:
        k = int(name[2:])
        return k / n + step * min(k, n - k) / n
    return -np.inf


def _of_nothing(output: Shape, cells: Sequence[ToldCell], data: Microdata) -> Iterator[Found]:
    """Cells of which the largest make up so nearly all that the others have nothing."""
    support = np.unique(output.support)
    found = [(each, n) for each in cells if (n := _without(each, support))]
    if data.person is not None or not found:
        return
    who = np.concatenate([each.cell.rows[:n] for each, n in found])
    yield Found.of(
        "same answer",
        True,
        output.name,
        len(found),
        who,
        f"{output.value} of {people(len(who))} is told for certain: the largest of {plural(len(found), 'cell')} make "
        "up so nearly all of it that each other record has 0.",
        named([f"{each.cell.label}: {n:,} of {plural(len(each.cell.values), 'record')}" for each, n in found]),
        _ADVICE,
        output.value,
    )


def _without(told: ToldCell, support: Array) -> int:
    """How many records of a cell are shown to have 0, in its order."""
    if support[0] != 0.0 or len(support) < 2 or told.cell.values[-1] <= 0.0:
        return 0
    total = min(told.total[1], told.records[1] * float(support[-1]))
    largest = [
        1 if name == "hhi" else int(name[2:])
        for name, (low, _) in told.shares.items()
        if (name == "hhi" or name.startswith("cr")) and (1.0 - low) * total < support[1] * (1.0 - _SLACK)
    ]
    some = int((told.cell.values > 0.0).sum())  # of fewer than K with a value, anybody may be the next
    return len(told.cell.values) - some if some in largest else 0
