"""Published quantiles of a start, exactly: values of the records of a class that have them, nearest to those drawn.

A quartile of five people lies on one of them, or between two that may be far apart: changes of one record each, which
a search tries, do not find such pairs. But the quantiles of n records are linear in two neighbours each of their sorted
values, so that these are found along the ranks, from the last to the first, by dynamic programming (Bellman 1957).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import Array, Tally, variables
from outrisk.problem.counts import made_of_counts
from outrisk.problem.formulas import Formula
from outrisk.problem.influence import records_of_tally
from outrisk.problem.quantile_places import places
from outrisk.problem.released import ROUNDING, Part, TallyPart

WORK, EACH = 4_000_000, 1_000  # records of a class times values, and so many more, up to which they are looked for

Knot = tuple[int, float, float, float]  # rank of a record, weight of the next one, and where the two lie together


@dataclass(frozen=True, eq=False)
class OfClass:
    """What was published of the records of a class: the variable; which part's number and total are the first of it;
    its records (n,), sorted by their values; what each code counts as, ascending (V,); and where quantiles lie.
    """

    variable: int
    name: tuple[int, int]
    there: NDArray[np.int64]
    points: Array
    knots: list[Knot]

    def missed(self, values: Array) -> int:
        """How many quantiles of sorted values (n,) lie elsewhere."""
        found = 0
        for rank, weight, low, high in self.knots if len(values) else ():
            quantile = (1.0 - weight) * values[rank] + weight * values[rank + (weight > 0.0)]
            found += not low <= quantile <= high
        return found


def published_of(problem: Problem, codes: Codes) -> Iterator[OfClass]:
    """Each class of records (n, variables) of which quantiles were published, of values that no table counts; sorted by
    the values that its records have as it is asked for.
    """
    counted = {j for part in problem.parts if _counts(part) for block in part.blocks for j in variables(block)}
    for number, (part, _, which, _) in enumerate(problem.slices):
        if not isinstance(part, TallyPart):
            continue
        half = problem.tolerance[which] * ROUNDING
        low, high = problem.low[which] - half, problem.high[which] + half
        for j, block, start, numbers in _classes(part):
            formulas = [part.formulas[at] for at in numbers]
            first, points = int(formulas[0].totals[0]), formulas[0].points
            if j not in counted:
                there, _ = _sorted(codes, j, block, first - start, len(points))
                knots = list(_knots(formulas, low[numbers], high[numbers], len(there)))
                if knots:
                    yield OfClass(j, (number, first - start), there, points, knots)


def with_quantiles(problem: Problem, codes: Codes) -> dict[tuple[int, int], int]:
    """Give the records of each class the nearest values that have its published quantiles, in place, output by output.
    Returns how many records those classes have of which so many cannot have them, by output and class: these stay, as
    do classes that are large, and values that tables count.
    """
    failed = dict[tuple[int, int], int]()
    for each in published_of(problem, codes):
        there, points = each.there, each.points
        if len(there) * (len(points) + EACH) > WORK:
            continue
        values = points[codes[there, each.variable]]
        found = nearest_sorted(points, values, each.knots) if len(there) else None
        if found is None:
            failed[each.name] = len(there)
        else:
            other = points[found] != values  # those above a top code are alike
            codes[there[other], each.variable] = found[other]
    return failed


def within_quantiles(problem: Problem, codes: Codes, j: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """From which code to which the variable of each record (n,) may go while all published quantiles stay as they are;
    None where tables tell more of how often it has a value.
    """
    least, most = np.zeros(len(codes), np.int64), np.full(len(codes), problem.codebook.sizes[j] - 1)
    for part, _, which, _ in problem.slices:
        if not isinstance(part, TallyPart):
            continue
        if not any(j in variables(block) and (block.value is None or block.weight) for block in part.blocks):
            continue
        classes = [each for each in _classes(part) if each[0] == j]
        of_values = sum(formula.kind in ("rank", "mode") for formula in part.formulas)
        if made_of_counts(part) or sum(len(numbers) for *_, numbers in classes) != of_values:
            return None
        for _, block, start, numbers in classes:
            formulas = [part.formulas[at] for at in numbers]
            there, _ = _sorted(codes, j, block, formulas[0].totals[0] - start, len(formulas[0].points))
            ranks = {
                rank + more
                for rank, weight, *_ in _knots(
                    formulas, problem.low[which][numbers], problem.high[which][numbers], len(there)
                )
                for more in range(1 + (weight > 0.0))
            }
            if len(there) and ranks:
                held, values = np.array(sorted(ranks)), codes[there, j].astype(np.int64)
                after = np.searchsorted(held, np.arange(len(there)))
                before = np.searchsorted(held, np.arange(len(there)), side="right") - 1
                low = np.where(before >= 0, values[held[np.maximum(before, 0)]], 0)
                high = np.where(after < len(held), values[held[np.minimum(after, len(held) - 1)]], most[there])
                least[there], most[there] = np.maximum(least[there], low), np.minimum(most[there], high)
    return least, most


def _sorted(codes: Codes, j: int, block: Tally, first: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The records of a class whose values a tally counts in so many totals from the first on, sorted by their values of
    a variable; and in which of these totals each is counted.
    """
    cell = records_of_tally(block, codes).cell
    there = np.flatnonzero((cell >= first) & (cell < first + size))
    there = there[np.argsort(codes[there, j], kind="stable")]
    return there, cell[there] - first


def _counts(part: Part) -> bool:
    return isinstance(part, TallyPart) and made_of_counts(part)


def _classes(part: TallyPart) -> Iterator[tuple[int, Tally, int, list[int]]]:
    """Each class of records with quantiles of a variable: the variable, the tally that counts its values, which of the
    part's totals is the first of that, and which of the part's numbers they are; none where a subset is of some values.
    """
    numbers: dict[int, list[int]] = {}
    for at, formula in enumerate(part.formulas):
        if formula.kind == "rank":
            numbers.setdefault(int(formula.totals[0]), []).append(at)
    start = 0
    for block in part.blocks:
        own = {first: of for first, of in numbers.items() if start <= first < start + block.size}
        value = set(block.place.variables) - set(part.blocks[0].place.variables)
        for of in own.values() if len(value) == 1 else ():
            j, every = min(value), len(part.formulas[of[0]].points)
            masks = [mask for mask in block.masks if j in mask.joint.variables]
            if all(len(mask.joint.variables) == 1 and mask.include[:every].all() for mask in masks):
                yield j, block, start, of
        start += block.size


def _knots(formulas: list[Formula], low: Array, high: Array, n: int) -> Iterator[Knot]:
    """What quantiles from low to high (k,) say of n sorted values."""
    for formula, least, most in zip(formulas, low, high, strict=True):
        if np.isfinite(least) or np.isfinite(most):
            place = float(places(np.array(n), formula.scale, int(formula.least)))
            yield int(place), place - int(place), float(least), float(most)


def nearest_sorted(points: Array, values: Array, knots: list[Knot]) -> NDArray[np.int64] | None:
    """Sorted values out of ascending points (V,) that lie as the knots say, by their positions (n,): those nearest to
    sorted values (n,), by the sum of absolute differences; None where there are none.
    """
    n, along = len(values), np.arange(len(points))
    left, best, ahead = np.zeros(len(points)), along, list[NDArray[np.int64]]()
    for rank in range(n - 1, -1, -1):
        between, least, most = False, along, np.full(len(points), len(points))
        fine = np.ones(len(points), np.bool_)
        for at, weight, low, high in knots:
            if at == rank and weight == 0.0:
                fine &= (points >= low) & (points <= high)
            elif at == rank:
                first = np.searchsorted(points, (low - (1.0 - weight) * points) / weight, "left")
                last = np.searchsorted(points, (high - (1.0 - weight) * points) / weight, "right")
                between, least, most = True, np.maximum(least, first), np.minimum(most, last)
        if rank < n - 1:
            left, best = _least(left, least, most) if between else _least_after(left)
        left = np.where(fine, left + np.abs(points - values[rank]), np.inf)
        ahead.append(best)
    if not np.isfinite(left.min()):
        return None
    found = [int(left.argmin())]
    for best in ahead[:0:-1]:
        found.append(int(best[found[-1]]))
    return np.array(found)


def _least_after(cost: Array) -> tuple[Array, NDArray[np.int64]]:
    """The least cost from each position on (V,), and where that is."""
    least = np.minimum.accumulate(cost[::-1])
    at = np.maximum.accumulate(np.where(cost[::-1] == least, np.arange(len(cost)), 0))
    return least[::-1], len(cost) - 1 - at[::-1]


def _least(cost: Array, first: NDArray[np.int64], last: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """The least cost (V,) in each range from `first` up to but without `last` (V,), infinite in an empty one, and where
    that is: of ranges twice as long each time, two that overlap cover any (sparse table).
    """
    tables, width = [np.arange(len(cost))], 1
    while 2 * width <= len(cost):
        one, other = tables[-1][:-width], tables[-1][width:]
        tables.append(np.where(cost[other] < cost[one], other, one))
        width *= 2
    long = last - first
    level = np.log2(np.maximum(long, 1)).astype(np.int64)
    found, at = np.full(len(cost), np.inf), np.zeros(len(cost), np.int64)
    for depth, table in enumerate(tables):
        some = np.flatnonzero((level == depth) & (long > 0))
        one, other = table[first[some]], table[last[some] - 2**depth]
        at[some] = np.where(cost[other] < cost[one], other, one)
        found[some] = cost[at[some]]
    return found, at
