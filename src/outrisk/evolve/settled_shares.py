"""Shares of all records as counts: numbers of records that they can be shares of, in all tables of shares at once.

Row percentages with one decimal of groups of fewer than some hundred records are shares of few numbers of records; that
these add up to all records, and agree with other tables, often leaves one choice. Where it leaves more, a search that
has chosen cannot go over to another: every count of a group would have to change. So it is chosen before a start is
drawn, at random, table by table. Where the tables then contradict each other, they are chosen again, around counts of
which all agree (agreeing_shares.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from outrisk.evolve.agreeing_shares import TableOfShares, agree
from outrisk.evolve.problem import Problem
from outrisk.evolve.told_counts import Shared, SharedPart, Table, counting, tables_of
from outrisk.evolve.whole_numbers import UNKNOWNS
from outrisk.problem.blocks import Array, Tally
from outrisk.problem.released import Bounded, Margins, TallyPart

_DRAWS = 100  # of the numbers of records behind shares, one of which is taken
_FIRM = 5.0  # how much less probable, in logs, one is with each record by which it contradicts other tables
_INSIDE = 0.4, 0.8, 1.0  # of half a digit, within which shares lie where tables agree: the first that can be
_APART = 1e-3  # standard deviations of counts beyond which tables contradict each other
_AGAIN = 4  # times that all are drawn again before a search goes on with tables that contradict each other
_LOOSE = 60.0  # variance of a group's size for each record, around counts that agree (of 20 runs, 19 agree; 9: 18)

Expected = Callable[[Tally], tuple[Array, Array]]  # counts in the cells of a tally, and their covariance
Groups = tuple[tuple[int, ...], NDArray[np.int64]]  # variables that tell groups, and the group at each of their levels
Ranges = tuple[Array, Array]  # least and most of counts


class Drawn(NamedTuple):
    """How large the groups of a table of shares are (groups,), and the ranges of its counts (k,)."""

    sizes: Array
    ranges: Ranges


def open_shares(problem: Problem) -> int:
    """How many parts are shares whose counts `settled` chooses, if they tell any."""
    return sum(1 for _ in shares_of_all(problem))


def settled(
    problem: Problem, rng: np.random.Generator, expected: Expected | None = None, certain: bool = False
) -> Problem:
    """The problem with shares of all records as counts, drawn at random of those that they can be shares of: rather the
    ones that are expected, and that other tables do not contradict. Shares stay shares where they do not tell counts,
    or, if these are to be `certain`, where several of a number of draws differ.
    """
    problem = _agreeing(problem)
    found = _drawn(problem, rng, expected, certain)
    return _told(problem, found if certain else _mended(problem, found, rng, expected)[0])


def settled_to_agree(problem: Problem, rng: np.random.Generator) -> tuple[Problem, list[Array]]:
    """The problem as `settled` has it, with counts of which all tables agree, and how large the groups of each table of
    shares are then (groups,): none where there is one such table alone, some do not tell counts, or none agree.
    """
    problem = _agreeing(problem)
    drawn, counts = _mended(problem, _drawn(problem, rng), rng, again=_AGAIN)
    if not 1 < len(counts) == open_shares(problem):
        return _told(problem, drawn), []
    exact = dict[int, Drawn]()
    for at, (part, shares, _) in enumerate(shares_of_all(problem)):
        low, high = (each.copy() for each in drawn[at].ranges)
        number = shares.number[: part.blocks[0].size]
        low[number] = high[number] = np.round(counts[at])
        exact[at] = Drawn(drawn[at].sizes, (low, high))
    return _told(problem, exact), [drawn[at].sizes for at in sorted(drawn)]


def aiming(problem: Problem, parts: Iterable[SharedPart], sizes: Sequence[Array]) -> Problem:
    """The problem with groups of these tables of shares that are to be as large as here (groups,); those of which there
    are no sizes (0,), and the last ones, if there are more than sizes, stay as they are.
    """
    for (part, shares, _), of in zip(list(parts), sizes, strict=False):
        if len(of):
            problem = _with(problem, part, replace(part, map=shares.aiming(of)))
    return problem


def of_told_sizes(problem: Problem) -> Problem:
    """The problem with shares of groups whose sizes tables of counts tell: they are as large as that, not as the
    records come to be. Else a group that is one record too large takes its own cells out of their ranges, and to put
    this record in the group that lacks one would put as many cells out of theirs as right.
    """
    tables = tables_of(problem)
    for part, shares, _ in list(shares_of_all(problem)):
        about = _about(shares, _groups_of(part, shares, problem), tables, np.zeros(0), np.zeros((0, 0)))
        sizes = shares.sizes(about)
        if sizes is not None:
            problem = _with(problem, part, replace(part, map=shares.aiming(sizes)))
    return problem


def _mended(
    problem: Problem,
    drawn: dict[int, Drawn],
    rng: np.random.Generator,
    expected: Expected | None = None,
    again: int = 1,
) -> tuple[dict[int, Drawn], dict[int, Array]]:
    """What was drawn, so many times again where tables contradict each other, around counts of which all agree, if that
    is no worse; and whole counts (cells,) of which all agree in the end, none where they do not.
    """
    cells = [
        part.blocks[0].size for at, (part, _, _) in enumerate(shares_of_all(problem)) if at in drawn and _joint(part)
    ]
    if len(cells) < 2 or sum(cells) > UNKNOWNS:
        return drawn, {}
    counts, apart = _whole(problem, drawn)
    for _ in range(again):
        if apart <= _APART:
            break
        others = _drawn(problem, rng, expected, near=drawn)
        found, further = _whole(problem, others)
        if len(others) == len(drawn) and further <= apart:
            drawn, counts, apart = others, found, further
    return drawn, counts if apart <= _APART else {}


def _whole(problem: Problem, drawn: Mapping[int, Drawn]) -> tuple[dict[int, Array], float]:
    """Whole counts (cells,) of which all tables agree, of groups as large as drawn, and how far these are from those
    drawn (see `agree`).
    """
    return agree(_linear(problem, drawn, sized=True), problem.n_records, whole=True)


def _agreed(problem: Problem, drawn: Mapping[int, Drawn], firm: Collection[int]) -> dict[int, Array]:
    """Counts (cells,) of these tables of shares that agree, by their position, with shares well inside their digits;
    near to those drawn, rather to those that are `firm`. None where none agree.
    """
    for inside in _INSIDE:
        counts, _ = agree(_linear(problem, drawn, inside), problem.n_records, firm)
        if counts:
            return counts
    return {}


def _linear(
    problem: Problem, drawn: Mapping[int, Drawn], inside: float = 1.0, sized: bool = False
) -> dict[int, TableOfShares]:
    """Tables of shares, by their position, so far inside their digits; `sized`: of groups as large as drawn."""
    found, others, sizes = dict[int, TableOfShares](), tables_of(problem), problem.codebook.sizes
    for at, (part, shares, which) in enumerate(shares_of_all(problem)):
        block = part.blocks[0]
        if at not in drawn or not _joint(part):
            continue
        margins = _margins(block, others, sizes)
        if sized:
            ones = np.ones(block.size), (shares.base[: block.size], np.arange(block.size))
            groups = sparse.csr_matrix(ones)
            some = np.flatnonzero(np.diff(groups.indptr))  # those of totals are among these
            groups, bases = groups[some], drawn[at].sizes[some]
            margins = sparse.vstack([margins[0], groups]), *(np.append(each, bases) for each in margins[1:])
        found[at] = TableOfShares(
            block.place.variables,
            tuple(sizes[j] for j in block.place.variables),
            shares.conditions(*ends(problem, which, inside)),
            margins,
            _cells(shares, drawn[at].ranges, block),
        )
    return found


def _drawn(
    problem: Problem,
    rng: np.random.Generator,
    expected: Expected | None = None,
    certain: bool = False,
    near: Mapping[int, Drawn] | None = None,
) -> dict[int, Drawn]:
    """What is drawn for each table of shares, by its position; `near`: what was before, around which sizes of groups
    that agree are then looked for, where cells are smallest first.
    """
    parts, told, found = list(shares_of_all(problem)), list[Table](), dict[int, Drawn]()
    for at in sorted(near, key=lambda at: float(np.median(near[at].ranges[0]))) if near else range(len(parts)):
        part, shares, which = parts[at]
        block, groups = part.blocks[0], _groups_of(part, shares, problem)
        low, high = ends(problem, which)
        mean, covariance = expected(block) if expected else (np.zeros(0), np.zeros((0, 0)))
        tables = [*told, *tables_of(_told(problem, found))]
        about = _about(shares, groups, tables, mean, covariance)
        agreed = _agreed(problem, {**near, **found}, found) if near else {}
        if at in agreed:
            about = _about(shares, groups, tables, agreed[at], np.diag(_LOOSE * np.maximum(agreed[at], 1.0)))
            tables += [_around(*parts[other], agreed[other], problem) for other in agreed if other not in (at, *found)]
        margins = _margins(block, tables, problem.codebook.sizes)
        sizes, apart = shares.drawn(low, high, problem.n_records, about, margins, _DRAWS, rng)
        if not len(sizes) or (certain and len(sizes) > 1):
            continue
        ranges, scores = [shares.ranges(low, high, each) for each in sizes], _FIRM * apart
        if expected:
            scores += [_unexpected(shares.counts, *each, mean, covariance) for each in ranges]
        chosen = rng.choice(len(sizes), p=softmax(-scores))
        found[at] = Drawn(sizes[chosen], ranges[chosen])
        told.append(Table(groups[0], *3 * (sizes[chosen][groups[1]],)))
    return found


def _told(problem: Problem, drawn: Mapping[int, Drawn]) -> Problem:
    """The problem with counts, as drawn, in the place of shares."""
    for at, (part, shares, _) in enumerate(list(shares_of_all(problem))):
        if at in drawn:
            problem = _with(problem, part, replace(part, map=shares.counts), *drawn[at].ranges)
    return problem


def _around(part: TallyPart, shares: Shared, which: slice, counts: Array, problem: Problem) -> Table:
    """The table of shares of groups that are as large as these counts (cells,) say."""
    block = part.blocks[0]
    bases = np.bincount(shares.base[: block.size], counts, int(shares.base.max()) + 1).astype(np.float64)
    ranges = shares.ranges(*ends(problem, which), bases)
    shape = [problem.codebook.sizes[j] for j in block.place.variables]
    return Table(block.place.variables, *(each.reshape(shape) for each in (*_cells(shares, ranges, block), counts)))


def ends(problem: Problem, which: slice, inside: float = 1.0) -> Ranges:
    """From where to where numbers (k,) lie, so far inside their digits."""
    half = inside * problem.tolerance[which]
    return problem.low[which] - half, problem.high[which] + half


def _cells(shares: Shared, ranges: Ranges, block: Tally) -> Ranges:
    """Of ranges of counts (k,), those of the cells of the first tally (cells,)."""
    number = shares.number[: block.size]
    return ranges[0][number], ranges[1][number]


def _unexpected(counts_of: Bounded, low: Array, high: Array, mean: Array, covariance: Array) -> float:
    """How improbable, in logs, counts from low to high (k,) are where those of the first cells are expected to be so;
    a withheld share, whose count has no end, is left out.
    """
    bounds = counts_of.bounds(np.ones(len(low)), low, high)
    least, most = bounds.low[: len(mean)], bounds.high[: len(mean)]
    told = np.isfinite(most)
    away = 0.5 * (least + most)[told] - mean[told]
    return float(0.5 * away @ np.linalg.lstsq(covariance[np.ix_(told, told)], away, rcond=1e-9)[0])


def shares_of_all(problem: Problem) -> Iterator[SharedPart]:
    """Parts that are shares of groups of all records, and their numbers."""
    for part, which in counting(problem):
        if isinstance(part.map, Shared):
            yield part, part.map, which


def _joint(part: TallyPart) -> bool:
    """Whether the cells of its first tally are all combinations of some variables."""
    return part.blocks[0].cell is None


def _groups_of(part: TallyPart, shares: Shared, problem: Problem) -> Groups:
    block = part.blocks[0]
    base = shares.base[: block.size] if block.cell is None else shares.base[block.cell]
    groups = base.reshape([problem.codebook.sizes[j] for j in block.place.variables])
    used = [at for at in range(groups.ndim) if (groups != groups.take([0], at)).any()]
    first = tuple(slice(None) if at in used else 0 for at in range(groups.ndim))
    return tuple(block.place.variables[at] for at in used), groups[first]


def _agreeing(problem: Problem) -> Problem:
    """The problem with shares of the same groups in several tables being of groups that are equally large."""
    found = [(part, shares, *_groups_of(part, shares, problem)) for part, shares, _ in shares_of_all(problem)]
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
