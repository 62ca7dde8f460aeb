"""Tables of counts of all records, as released numbers tell them: counts as they are; shares, of numbers of records
that they can be shares of.

Row percentages with one decimal of groups of fewer than some hundred records are shares of few numbers of records; that
these add up to all records, and agree with other tables, often leaves one choice. Where it leaves more, a search that
has chosen cannot go over to another: every count of a group would have to change. So it is chosen before a start is
drawn, at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import Array, Tally
from outrisk.problem.counts import counts_in
from outrisk.problem.released import Bounded, Margins, TallyPart

_UNKNOWN = 0.5  # records at least taken to be in a cell of which nothing was released
_DRAWS = 100  # of the numbers of records behind shares, one of which is taken
_FIRM = 5.0  # how much less probable, in logs, one is with each record by which it contradicts other tables

Expected = Callable[[Tally], tuple[Array, Array]]  # counts in the cells of a tally, and their covariance
Groups = tuple[tuple[int, ...], NDArray[np.int64]]  # variables that tell groups, and the group at each of their levels


@runtime_checkable
class Shared(Bounded, Protocol):
    """Published numbers (k,) that are shares of groups of records, `base` (m,) being the group of each total, those of
    the first tally first.
    """

    base: NDArray[np.int64]

    @property
    def counts(self) -> Bounded:
        """The map of the counts that the numbers are shares of."""

    def agreeing(self, other: Any, pairs: NDArray[np.int64]) -> Any:
        """These shares, whose groups are as large as those of others of the same kind that they are paired with (2,
        any).
        """

    def ranges(self, low: Array, high: Array, sizes: Array) -> tuple[Array, Array]:
        """Ranges of the counts (k,) of shares from `low` to `high` (k,) of groups of these sizes (groups,)."""

    def drawn(
        self, low: Array, high: Array, n: int, about: Array, margins: Margins, times: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """How large groups of n records are (some, groups), drawn so many times, and by how many records the counts in
        the cells of the first tally are then beyond what is known of their `margins`. about (groups, 2): how large they
        are expected to be, and the standard deviation of that, 0 where it is known; NaN where nothing is. None (0,
        groups) where these are not told.
        """


@dataclass(frozen=True, eq=False)
class Table:
    """Counts of all records by some variables, an axis each: the least and the most that they may be, and in between
    what they are taken to be.
    """

    variables: tuple[int, ...]
    least: Array
    most: Array
    counts: Array

    def over(self, variables: Sequence[int], counts: Array) -> Array:
        """The margin of counts (as the table) over some of its variables, in this order."""
        kept = counts.sum(axis=tuple(at for at, j in enumerate(self.variables) if j not in variables))
        order = [j for j in self.variables if j in variables]
        return np.asarray(kept.transpose([order.index(j) for j in variables]))

    def known(self, block: Tally, sizes: Sequence[int]) -> Margins:
        """What it says of the cells of a tally of all combinations of some variables: the margins in common."""
        common = [j for j in block.place.variables if j in self.variables]
        levels = np.indices([sizes[j] for j in block.place.variables]).reshape(-1, block.size)
        of = [levels[at] for at, j in enumerate(block.place.variables) if j in common]
        margin = np.ravel_multi_index(of, [sizes[j] for j in common]) if common else np.zeros(block.size, np.int64)
        least, most = (self.over(common, each).ravel() for each in (self.least, self.most))
        ones = np.ones(block.size), (margin, np.arange(block.size))
        return sparse.csr_matrix(ones, shape=(len(least), block.size)), least, most


def open_shares(problem: Problem) -> int:
    """How many parts are shares whose counts `settled` chooses, if they tell any."""
    return sum(1 for _ in _shares(problem))


def settled(
    problem: Problem, rng: np.random.Generator, expected: Expected | None = None, certain: bool = False
) -> Problem:
    """The problem with shares of all records as counts, drawn at random of those that they can be shares of: rather the
    ones that are expected, and that other tables do not contradict. Shares stay shares where they do not tell counts,
    or, if these are to be `certain`, where several of a number of draws differ.
    """
    told, problem = list[Table](), _agreeing(problem)
    for part, shares, which in _shares(problem):
        block, groups = part.blocks[0], _groups_of(part, shares, problem)
        low, high = problem.low[which] - problem.tolerance[which], problem.high[which] + problem.tolerance[which]
        mean, covariance = expected(block) if expected else (np.zeros(0), np.zeros((0, 0)))
        tables = [*told, *tables_of(problem)]
        about = _about(shares, groups, tables, mean, covariance)
        margins = _margins(block, tables, problem.codebook.sizes)
        sizes, apart = shares.drawn(low, high, problem.n_records, about, margins, _DRAWS, rng)
        if not len(sizes) or (certain and len(sizes) > 1):
            continue
        ranges, scores = [shares.ranges(low, high, each) for each in sizes], _FIRM * apart
        if expected:
            scores += [_unexpected(shares.counts, *each, mean, covariance) for each in ranges]
        chosen = rng.choice(len(sizes), p=softmax(-scores))
        problem = _with(problem, part, replace(part, map=shares.counts), *ranges[chosen])
        told.append(Table(groups[0], *3 * (sizes[chosen][groups[1]],)))
    return problem


def _unexpected(counts_of: Bounded, low: Array, high: Array, mean: Array, covariance: Array) -> float:
    """How improbable, in logs, counts from low to high (k,) are where those of the first cells are expected to be so;
    a withheld share, whose count has no end, is left out.
    """
    bounds = counts_of.bounds(np.ones(len(low)), low, high)
    least, most = bounds.low[: len(mean)], bounds.high[: len(mean)]
    told = np.isfinite(most)
    away = 0.5 * (least + most)[told] - mean[told]
    return float(0.5 * away @ np.linalg.lstsq(covariance[np.ix_(told, told)], away, rcond=1e-9)[0])


def _shares(problem: Problem) -> Iterator[tuple[TallyPart, Shared, slice]]:
    """Parts that are shares of groups of all records, and their numbers."""
    for part, which in _counting(problem):
        if isinstance(part.map, Shared):
            yield part, part.map, which


def _groups_of(part: TallyPart, shares: Shared, problem: Problem) -> Groups:
    block = part.blocks[0]
    base = shares.base[: block.size] if block.cell is None else shares.base[block.cell]
    groups = base.reshape([problem.codebook.sizes[j] for j in block.place.variables])
    used = [at for at in range(groups.ndim) if (groups != groups.take([0], at)).any()]
    first = tuple(slice(None) if at in used else 0 for at in range(groups.ndim))
    return tuple(block.place.variables[at] for at in used), groups[first]


def _agreeing(problem: Problem) -> Problem:
    """The problem with shares of the same groups in several tables being of groups that are equally large."""
    found = [(part, shares, *_groups_of(part, shares, problem)) for part, shares, _ in _shares(problem)]
    for part, shares, variables, own in found:
        agreeing = shares
        for other, of_other, others, theirs in found:
            if other is not part and set(others) == set(variables):
                order = theirs.transpose([others.index(j) for j in variables])
                agreeing = agreeing.agreeing(of_other, np.stack([own.ravel(), order.ravel()]))
        if agreeing is not shares:
            problem = _with(problem, part, replace(part, map=agreeing))
    return problem


def _about(shares: Shared, groups: Groups, tables: list[Table], mean: Array, covariance: Array) -> Array:
    """How large the groups (any, 2) are expected to be, and to within what, cells being as expected; 0 as exact tables
    tell.
    """
    about = np.full((int(shares.base.max()) + 1, 2), np.nan)
    if len(mean):
        member = np.eye(len(about))[shares.base[: len(mean)]]
        about = np.column_stack([mean @ member, np.sqrt(np.diag(member.T @ covariance @ member))])
    variables, at = groups
    for table in tables:
        if set(variables) <= set(table.variables) and (table.least == table.most).all():
            about[at] = np.stack([table.over(variables, table.most), np.zeros(at.shape)], axis=-1)
    return about


def _margins(block: Tally, tables: list[Table], sizes: Sequence[int]) -> Margins:
    """What tables say of the cells of a tally."""
    known = [table.known(block, sizes) for table in tables] if block.cell is None else []
    nothing = sparse.csr_matrix((0, block.size)), np.zeros(0), np.zeros(0)
    cells, least, most = zip(nothing, *known, strict=True)
    return sparse.vstack(cells, format="csr"), np.concatenate(least), np.concatenate(most)


def _with(
    problem: Problem, part: TallyPart, other: TallyPart, low: Array | None = None, high: Array | None = None
) -> Problem:
    """The problem with another part in the place of one, whose numbers (k,) lie from low to high, or where they did."""
    found = []
    for each in problem.released:
        sizes = [0, *np.cumsum([one.n_numbers for one in each.parts])]
        for at, one in enumerate(each.parts):
            if one is part:
                lows, highs = each.low.copy(), each.high.copy()
                if low is not None and high is not None:
                    lows[sizes[at] : sizes[at + 1]], highs[sizes[at] : sizes[at + 1]] = low, high
                each = replace(each, low=lows, high=highs, parts=(*each.parts[:at], other, *each.parts[at + 1 :]))
        found.append(each)
    return replace(problem, released=tuple(found))


def tables_of(problem: Problem) -> list[Table]:
    """The tables of counts that were released."""
    found = list[Table]()
    for part, _, which, _ in problem.slices:
        one = counts_in(part) if isinstance(part, TallyPart) else None
        if one is None or isinstance(one[0].map, Shared) or not _counts_each(one[0]):
            continue
        low, high = problem.low[which][one[1]], problem.high[which][one[1]]
        if (one[0].map.bounds(np.ones(len(low)), low, high).unit == 1.0).all():
            found += _split(one[0], one[0].map, low, high, problem)
    return [table for table in found if table.counts.sum() > 0]


def _counting(problem: Problem) -> Iterator[tuple[TallyPart, slice]]:
    """Parts of which each number has a total of its own, which counts records among all; and their numbers."""
    for part, _, which, _ in problem.slices:
        if isinstance(part, TallyPart) and _counts_each(part):
            yield part, which


def _counts_each(part: TallyPart) -> bool:
    """Whether each number of a part has a total of its own, which counts records among all."""
    plain = not any(block.masks or block.weight or block.value is not None for block in part.blocks)
    return plain and sum(block.size for block in part.blocks) == part.n_numbers


def _split(part: TallyPart, counts_of: Bounded, low: Array, high: Array, problem: Problem) -> list[Table]:
    """The tables of counts from low to high (k,), their cells being all combinations of variables; where that has no
    end before all records, they are taken to be what is left of these, evenly.
    """
    found, at = [], 0
    bounds = counts_of.bounds(np.ones(len(low)), low, high)
    for block in part.blocks:
        least, most = np.maximum(bounds.low[at : at + block.size], 0.0), bounds.high[at : at + block.size]
        at += block.size
        if block.cell is not None:
            continue
        known = most < problem.n_records
        middle = np.where(known, (least + np.where(known, most, 0.0)) / 2.0, least)
        spare = max(0.0, problem.n_records - middle.sum()) / max(1, (~known).sum())
        counts = np.where(known, middle, np.maximum(least, spare + _UNKNOWN))
        shape = [problem.codebook.sizes[j] for j in block.place.variables]
        found.append(Table(block.place.variables, least.reshape(shape), most.reshape(shape), counts.reshape(shape)))
    return found
