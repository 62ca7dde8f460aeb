"""Published quantiles of classes that overlap, such as wages by sex and by education: values that have those of all.

Given the quantiles of one grouping, values of the other have theirs no more. But that a quantile lies at a value says
between which numbers those of a class lie that are below it, and above it; and how many records of each cell of both
groupings are below each such value is found for all classes at once, by integer programming (HiGHS), near to the
records' present values. Records then go as far as they must.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint

from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.order_statistics import OfClass, published_of
from outrisk.evolve.problem import Problem
from outrisk.evolve.quantile_choices import TURNS, Asked, Whole, asked_of
from outrisk.evolve.whole_numbers import GAP, NODES, UNKNOWNS
from outrisk.problem.blocks import Array, breaks_rule
from outrisk.quiet_milp import milp


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
        row, column, value = np.array(self.entries, np.float64).reshape(-1, 3).T
        at = row.astype(np.int64), column.astype(np.int64)
        return sparse.csr_matrix((value, at), (len(self.low), n_columns))


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
        for turn in range(TURNS if before else 0):
            asked = asked_of(of, own, turn)
            found = _found(asked, own) if asked else None
            if found is not None and _missed(of, found) < before:
                new = codes.copy()
                new[:, j] = found
                if not (breaks_rule(problem.rules, new) & ~breaks_rule(problem.rules, codes)).any():
                    codes[:, j] = found
                break


def _missed(classes: list[OfClass], own: Whole) -> int:
    return sum(each.missed(each.points[np.sort(own[each.there])]) for each in classes)


def _found(asked: list[Asked], own: Whole) -> Whole | None:
    """Codes (n,) near to their own that have what is asked; None where none are found."""
    key, weights = np.zeros(len(own)), np.random.default_rng(0).random(len(asked))  # the sum tells which classes
    for each, weight in zip(asked, weights, strict=True):
        key[each.of.there] += weight
    _, some, kind = np.unique(key, return_index=True, return_inverse=True)
    of = np.stack([np.isin(some, each.of.there) for each in asked])
    kinds, first = list[_Kind](), 0
    for at in np.flatnonzero(of.any(axis=0)).tolist():
        mine = [each for each, inside in zip(asked, of[:, at], strict=True) if inside]
        there = np.flatnonzero(kind == at)
        there = there[np.argsort(own[there], kind="stable")]
        codes = np.flatnonzero(np.logical_and.reduce([each.fine for each in mine]))
        if not len(codes):
            return None
        keys = np.unique(np.concatenate([np.searchsorted(codes, each.cuts) for each in mine]))
        keys = keys[(keys > 0) & (keys < len(codes))]
        middle = (codes[1:] + codes[:-1]) / 2.0
        kinds.append(_Kind(there, codes, np.searchsorted(middle, own[there]), keys, first))
        first += len(keys)
    of = of[:, of.any(axis=0)]
    below = _solved(asked, kinds, of, first)
    if below is None:
        return None
    new = own.copy()
    for one in kinds:
        new[one.there] = one.dealt(below[one.first :][: len(one.keys)])
    return new


def _solved(asked: list[Asked], kinds: list[_Kind], of: NDArray[np.bool_], k: int) -> Whole | None:
    """How many records of each kind are below each of its keys (k,), one kind after the other; None where none are."""
    now = np.concatenate([np.searchsorted(each.level, each.keys) for each in kinds]).astype(np.float64)
    size = np.concatenate([np.full(len(each.keys), float(len(each.there))) for each in kinds])
    apart = np.concatenate([each.apart(asked[0].of.points) for each in kinds])
    rows, width = _Rows(), k
    for each in kinds:
        for at in range(each.first, each.first + len(each.keys) - 1):
            rows.add([at, at + 1], [-1.0, 1.0], 0.0, np.inf)
    for asks, mine in zip(asked, of, strict=True):
        width = _add_rows(rows, asks, [kind for kind, inside in zip(kinds, mine, strict=True) if inside], width)
    if width > UNKNOWNS:
        return None
    if not width:
        return np.zeros(0, np.int64) if max(rows.low) <= 0.0 <= min(rows.high) else None
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
        options={"node_limit": NODES, "mip_rel_gap": GAP},
    )
    return None if solved.x is None else np.rint(now + solved.x[:k] - solved.x[k : 2 * k]).astype(np.int64)


def _add_rows(rows: _Rows, asked: Asked, kinds: list[_Kind], width: int) -> int:
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
