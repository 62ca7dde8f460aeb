"""Published quantiles of classes that overlap, such as wages by sex and by education: values that have those of all.

Given the quantiles of one grouping, values of the other have theirs no more. But that a quantile lies at a value says
between which numbers those of a class lie that are below it, and above it; and how many records of each cell of both
groupings are below each such value is found for all classes at once, by integer programming (HiGHS), near to the
records' present values. Where a quantile lies between two records, these have one of some pairs of values: at first the
nearest, at last also pairs of which one is a value that a smaller class needs, as most records of few have to be
somewhere. Records then go as far as they must.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.order_statistics import Knot, OfClass, nearest_sorted, published_of
from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import Array, breaks_rule

_CHOICES = (1, 2, 4)  # of values of the records beside a quantile, in each turn
_HITS = 16  # choices of which one is a value that a smaller class needs, at most, in the last turn
_UNKNOWNS = 20_000  # at most
_NODES, _GAP = 200, 0.5  # of a search for whole numbers, at most; how far from the nearest it may end

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Chain:
    """Records of some ranks (ranks,) that quantiles between two of them tie to each other: where these quantiles lie, by
    the positions of these ranks; codes from which to which they may have; and some choices of these (choices, ranks).
    """

    ranks: Whole
    knots: list[Knot]
    within: tuple[int, int]
    choices: Whole


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is asked of a class: that records of some ranks have codes from there to there (any, 3), and those of each
    chain one of its choices.
    """

    of: OfClass
    ranges: Whole
    chains: list[_Chain]

    @property
    def needed(self) -> Whole:
        """Codes that one of its records may have to have, ascending."""
        return np.unique(np.concatenate([self.ranges[:, 1:].ravel(), *(each.choices.ravel() for each in self.chains)]))

    @property
    def cuts(self) -> Whole:
        """The codes of which it counts how many records are below, ascending."""
        exact = [each.choices.ravel() for each in self.chains]
        return np.unique(np.concatenate([self.ranges[:, 1], self.ranges[:, 2] + 1, *exact, *(each + 1 for each in exact)]))

    @property
    def fine(self) -> NDArray[np.bool_]:
        """Which codes (V,) a record of it may have."""
        found, n = np.zeros(len(self.of.points), np.bool_), len(self.of.there)
        ends = [(-1, 0, 0), (n, len(found) - 1, len(found) - 1)]
        for rank, least, most in self.ranges.tolist():
            ends.append((rank, least, most))
            found[least : most + 1] = True
        for chain in self.chains:
            ends += zip(chain.ranks.tolist(), chain.choices.min(axis=0).tolist(), chain.choices.max(axis=0).tolist())
            found[chain.choices.ravel()] = True
        ends.sort()
        for one, other in pairwise(ends):
            if other[0] > one[0] + 1:
                found[one[1] : other[2] + 1] = True
        return found


@dataclass(frozen=True, eq=False)
class _Kind:
    """Records (n,) that are in the same classes, sorted by their values; the codes that they may have, ascending, and
    which of these each has, or is next to (n,); up to which of these codes it is unknown how many records have them;
    and how many unknowns come before.
    """

    there: NDArray[np.intp]
    codes: Whole
    level: Whole
    keys: Whole
    first: int

    def below(self, cut: int) -> tuple[int, int]:
        """The unknown that says how many records have a code below this, and 0; or -1, and how many."""
        key = int(np.searchsorted(self.codes, cut))
        if key in (0, len(self.codes)):
            return -1, len(self.there) * (key > 0)
        return self.first + int(np.searchsorted(self.keys, key)), 0

    def apart(self, points: Array) -> Array:
        """How far records go that come to be on the other side of each key."""
        x = points[self.codes]
        ends = np.concatenate([x[:1], x[self.keys], x[-1:]])
        return np.asarray((ends[2:] - ends[:-2]) / 2.0)

    def dealt(self, below: Whole) -> Whole:
        """The codes of the records (n,), of which so many are below each key."""
        cell = np.searchsorted(np.maximum.accumulate(below), np.arange(len(self.there)), "right")
        ends = np.concatenate([[0], self.keys, [len(self.codes)]])
        return self.codes[np.clip(self.level, ends[cell], ends[cell + 1] - 1)]


@dataclass(eq=False)
class _Rows:
    """Rows of a linear programme, as they come."""

    entries: list[tuple[int, int, float]] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def add(self, columns: Sequence[int], values: Sequence[float], low: float, high: float) -> None:
        """One more: what is linear in some columns lies from low to high."""
        self.entries += [(len(self.low), at, by) for at, by in zip(columns, values, strict=True)]
        self.low.append(low)
        self.high.append(high)

    def matrix(self, n_columns: int) -> sparse.csr_matrix:
        """All of them, (rows, columns)."""
        row, column, value = zip(*self.entries, strict=True)
        return sparse.csr_matrix((value, (row, column)), (len(self.low), n_columns))


def with_crossed(problem: Problem, codes: Codes) -> None:
    """Give records values that have the published quantiles of classes that overlap, near to those that they have, in
    place, where some are missed and such values are found.
    """
    classes: dict[int, list[OfClass]] = {}
    for each in published_of(problem, codes):
        if len(each.there):
            classes.setdefault(each.variable, []).append(each)
    for j, of in classes.items():
        own = codes[:, j].astype(np.int64)
        before = _missed(of, own)
        for turn in range(len(_CHOICES) if before else 0):
            asked = list(_asked(of, own, turn))
            found = _found(asked, own)
            if found is not None and _missed(of, found) < before:
                new = codes.copy()
                new[:, j] = found
                if not (breaks_rule(problem.rules, new) & ~breaks_rule(problem.rules, codes)).any():
                    codes[:, j] = found
                break


def _missed(classes: list[OfClass], own: Whole) -> int:
    return sum(each.missed(each.points[np.sort(own[each.there])]) for each in classes)


def _asked(classes: list[OfClass], own: Whole, turn: int) -> Iterator[_Asked]:
    """What is asked of all classes but those whose records, being as many as they are, cannot have their quantiles."""
    asked = [one for each in classes if (one := _of_class(each, own, _CHOICES[turn]))]
    needed = [each.needed for each in asked]
    for each in asked:
        if turn < len(_CHOICES) - 1:
            yield each
            continue
        smaller = [
            codes
            for other, codes in zip(asked, needed, strict=True)
            if len(other.of.there) < len(each.of.there) and np.isin(other.of.there, each.of.there).any()
        ]
        codes = np.unique(np.concatenate([np.zeros(0, np.int64), *smaller]))
        yield replace(each, chains=[_hitting(each.of, chain, own, codes) for chain in each.chains])


def _of_class(of: OfClass, own: Whole, n_choices: int) -> _Asked | None:
    chains = [_chain(of, ranks, own, n_choices) for ranks in _tied(of.knots)]
    tied = {rank for chain in chains if chain for rank in chain.ranks.tolist()}
    ranges = [
        (rank, np.searchsorted(of.points, low, "left"), np.searchsorted(of.points, high, "right") - 1)
        for rank, _, low, high in of.knots
        if rank not in tied
    ]
    found = np.array(ranges, np.int64).reshape(-1, 3)
    if (found[:, 1] > found[:, 2]).any() or not all(chains):
        return None
    return _Asked(of, found, [chain for chain in chains if chain])


def _tied(knots: list[Knot]) -> list[Whole]:
    """Ranks of the records beside quantiles; those in one that quantiles tie to each other."""
    found = list[list[int]]()
    for rank in sorted({rank for rank, weight, *_ in knots if weight}):
        if found and found[-1][-1] == rank:
            found[-1].append(rank + 1)
        else:
            found.append([rank, rank + 1])
    return [np.array(each, np.int64) for each in found]


def _chain(of: OfClass, ranks: Whole, own: Whole, n_choices: int) -> _Chain | None:
    """Choices for the records of these ranks: nearest to those that they have, near to their quantiles, and others; None
    where there are none.
    """
    knots = [(int(np.searchsorted(ranks, rank)), *rest) for rank, *rest in of.knots if rank in ranks]
    least = max((low for rank, weight, low, _ in of.knots if rank + (weight > 0.0) <= ranks[0]), default=-np.inf)
    most = min((high for rank, _, _, high in of.knots if rank >= ranks[-1]), default=np.inf)
    within = int(np.searchsorted(of.points, least, "left")), int(np.searchsorted(of.points, most, "right"))
    points, values = of.points[slice(*within)], of.points[own[of.there]][ranks]
    middle = values.copy()
    for rank, weight, low, high in knots:
        middle[[rank, rank + (weight > 0)]] = np.clip(values[rank], low, high)
    rng, spread = np.random.default_rng(0), float(np.ptp(points)) if len(points) else 0.0
    choices = set[tuple[int, ...]]()
    for turn in range(n_choices):
        aim = values if turn == 0 else middle
        if turn > 1:
            aim = np.sort(middle + rng.normal(0.0, spread / 2.0**turn, len(ranks)))
        one = nearest_sorted(points, aim, knots) if len(points) else None
        if one is None:
            return None
        choices.add(tuple((one + within[0]).tolist()))
    return _Chain(ranks, knots, within, np.array(sorted(choices), np.int64))


def _hitting(of: OfClass, chain: _Chain, own: Whole, needed: Whole) -> _Chain:
    """With more choices, in which one record has a code that a smaller class needs; first of all those in which others
    have, too.
    """
    points, values = of.points[slice(*chain.within)], of.points[own[of.there]][chain.ranks]
    needed = needed[(needed >= chain.within[0]) & (needed < chain.within[1])]
    found = set[tuple[int, ...]]()
    for rank in range(len(chain.ranks)):
        for value in of.points[needed].tolist():
            one = nearest_sorted(points, values, [*chain.knots, (rank, 0.0, value, value)])
            if one is not None:
                found.add(tuple((one + chain.within[0]).tolist()))
    more = np.array(sorted(found), np.int64).reshape(-1, len(chain.ranks))
    far = np.abs(of.points[more] - values).sum(axis=1)
    more = more[np.lexsort([far, -np.isin(more, needed).sum(axis=1)])[:_HITS]]
    return replace(chain, choices=np.unique(np.concatenate([chain.choices, more]), axis=0))


def _found(asked: list[_Asked], own: Whole) -> Whole | None:
    """Codes (n,) near to their own that have what is asked; None where none are found."""
    member = np.zeros((len(asked), len(own)), np.bool_)
    for at, each in enumerate(asked):
        member[at, each.of.there] = True
    of, kind = np.unique(member, axis=1, return_inverse=True)
    kinds, first = list[_Kind](), 0
    for at in range(of.shape[1]):
        mine = [each for each, inside in zip(asked, of[:, at], strict=True) if inside]
        there = np.flatnonzero(kind.ravel() == at) if mine else np.zeros(0, np.intp)
        there = there[np.argsort(own[there], kind="stable")]
        codes = np.flatnonzero(np.logical_and.reduce([each.fine for each in mine])) if mine else np.arange(1)
        if not len(codes):
            return None
        keys = np.unique(np.concatenate([np.searchsorted(codes, each.cuts) for each in mine] or [[0]]))
        keys = keys[(keys > 0) & (keys < len(codes))]
        middle = (codes[1:] + codes[:-1]) / 2.0
        kinds.append(_Kind(there, codes, np.searchsorted(middle, own[there]), keys, first))
        first += len(keys)
    below = _solved(asked, kinds, of, first) if first <= _UNKNOWNS else None
    if below is None:
        return None
    new = own.copy()
    for each in kinds:
        new[each.there] = each.dealt(below[each.first :][: len(each.keys)])
    return new


def _solved(asked: list[_Asked], kinds: list[_Kind], of: NDArray[np.bool_], k: int) -> Whole | None:
    """How many records of each kind are below each of its keys (k,), one kind after the other; None where none are."""
    now = np.concatenate([np.searchsorted(each.level, each.keys) for each in kinds]).astype(np.float64)
    size = np.concatenate([np.full(len(each.keys), float(len(each.there))) for each in kinds])
    apart = np.concatenate([each.apart(asked[0].of.points) for each in kinds])
    rows, width = _Rows(), k
    for each in kinds:
        for at in range(each.first, each.first + len(each.keys) - 1):
            rows.add([at, at + 1], [-1.0, 1.0], 0.0, np.inf)
    for each, mine in zip(asked, of, strict=True):
        width = _add_rows(rows, each, [kind for kind, inside in zip(kinds, mine, strict=True) if inside], width)
    matrix = rows.matrix(width)
    here = matrix[:, :k] @ now
    solved = milp(  # by how many more, how many fewer, and which choices
        np.concatenate([apart, apart, np.zeros(width - k)]),
        constraints=LinearConstraint(
            sparse.hstack([matrix[:, :k], -matrix[:, :k], matrix[:, k:]], format="csr"),
            np.array(rows.low) - here,
            np.array(rows.high) - here,
        ),
        integrality=np.ones(k + width),
        bounds=Bounds(0.0, np.concatenate([size - now, now, np.ones(width - k)])),
        options={"node_limit": _NODES, "mip_rel_gap": _GAP},
    )
    return None if solved.x is None else np.rint(now + solved.x[:k] - solved.x[k : 2 * k]).astype(np.int64)


def _add_rows(rows: _Rows, asked: _Asked, kinds: list[_Kind], width: int) -> int:
    """Add what a class asks of how many records of its kinds are below its cuts; its choices are columns from `width`
    on. Returns how many columns there are then.
    """
    n = len(asked.of.there)

    def add(cut: int, choices: Sequence[int], by: float, low: float, high: float) -> None:
        seen = [each.below(cut) for each in kinds]
        columns, known = [at for at, _ in seen if at >= 0], sum(many for _, many in seen)
        rows.add([*columns, *choices], [1.0] * len(columns) + [by] * len(choices), low - known, high - known)

    for rank, least, most in asked.ranges.tolist():
        add(least, [], 0.0, 0.0, rank)
        add(most + 1, [], 0.0, rank + 1, n)
    for chain in asked.chains:
        choice = width + np.arange(len(chain.choices))
        rows.add(choice.tolist(), [1.0] * len(choice), 1.0, 1.0)
        for rank, codes in zip(chain.ranks.tolist(), chain.choices.T, strict=True):
            for code in np.unique(codes).tolist():
                add(code, choice[codes < code].tolist(), float(rank - n), -np.inf, rank)
                add(code + 1, choice[codes <= code].tolist(), -(rank + 1.0), 0.0, np.inf)
        width += len(choice)
    return width
