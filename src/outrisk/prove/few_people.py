"""Few people: a search that finds every data set of released tables, and says when there is no other.

Kinds of records are put together in classes that count alike in every number but for how much (in what cells they are,
and on which side of each printed quantile). First a class is chosen for each person, then a kind within it; people are
in rising order, so that each data set is looked at once. Every number has its least and largest value over all that
is still open, and a branch ends where one of them cannot be as printed. Exact, where the search comes to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.codebook import Codebook
from outrisk.problem.blocks import Array, Mask, level_in, variables
from outrisk.problem.formulas import CURVED, Formula
from outrisk.problem.quantile_places import LINEAR
from outrisk.problem.released import ROUNDING, Released, TallyPart
from outrisk.prove.constraints import Columns, Rows, Seen, totals_of
from outrisk.prove.of_tallies import constrain_formulas
from outrisk.prove.people_search import Question, search

MOST_PEOPLE = 16
_MOST_KINDS = 20_000
MOST_NODES = 100_000_000  # branches that one question may take

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Statistic:
    """One released number: its output, position there, label with the printed value, and whom it is about.

    Numbers about the same people, such as their count, mean and median, have the same `about`.
    """

    output: str
    number: int
    words: str
    about: int


@dataclass(frozen=True, eq=False)
class FewPeople:
    """The numbers of a release as the search reads them.

    kinds (K, V): codes of each kind of record, of the variables `names`. statistics: the numbers that say something.
    matrix (K, R) with low, high (R,): linear constraints, each of the statistic `owner` (R,). member, value (Q, K): who
    is in the group of each quantile, with what; share (Q,), printed (Q, 2) ends, of the statistic `asks` (Q,).
    """

    n: int
    names: tuple[str, ...]
    kinds: NDArray[np.int64]
    statistics: tuple[Statistic, ...]
    matrix: Array
    low: Array
    high: Array
    owner: Positions
    member: NDArray[np.bool_]
    value: Array
    share: Array
    printed: Array
    asks: Positions

    def number_by_number(self) -> FewPeople:
        """The same, each number about people of its own: no two go together."""
        alone = tuple(replace(each, about=at) for at, each in enumerate(self.statistics))
        return replace(self, statistics=alone)

    def data_sets(
        self,
        active: NDArray[np.bool_],
        allowed: NDArray[np.bool_] | None = None,
        most: int = 1,
        nodes: int = MOST_NODES,
    ) -> tuple[NDArray[np.int64], bool]:
        """Data sets (d, n), kinds in rising order, that have the active statistics; whether there are no others.

        At most `most` are looked for; `allowed` (K,) are the kinds of records that there may be. Where one is enough,
        kinds that all active statistics count alike are tried once. `nodes`: branches that it may take.
        """
        rows, ranks = np.flatnonzero(active[self.owner]), np.flatnonzero(active[self.asks])
        kinds = np.arange(len(self.kinds)) if allowed is None else np.flatnonzero(allowed)
        matrix, member = self.matrix[np.ix_(kinds, rows)], self.member[np.ix_(ranks, kinds)].T
        value = np.where(member, self.value[np.ix_(ranks, kinds)].T, 0.0)
        if most == 1:
            _, first = np.unique(np.hstack([matrix, member, value]), axis=0, return_index=True)
            kinds, matrix, member, value = kinds[first], matrix[first], member[first], value[first]
        side = (value > self.printed[ranks, 1]).astype(np.int8) - (value < self.printed[ranks, 0])
        pattern = np.hstack([matrix != 0, member, np.where(member, side, 0)]).astype(np.int8)
        _, classes = np.unique(pattern, axis=0, return_inverse=True)
        order = np.argsort(classes.ravel(), kind="stable")
        _, start = np.unique(classes.ravel()[order], return_index=True)
        slack = 1e-7 * (1.0 + np.abs(matrix).max(axis=0, initial=0.0))
        question = Question(
            np.ascontiguousarray(matrix[order]),
            self.low[rows] - slack,
            self.high[rows] + slack,
            np.append(start, len(order)).astype(np.int64),
            np.ascontiguousarray(member[order]),
            np.ascontiguousarray(value[order]),
            self.share[ranks],
            self.printed[ranks] + np.array([-1e-9, 1e-9]),
        )
        found, ended = search(self.n, question, most, nodes)
        return np.sort(kinds[order][found], axis=1), bool(ended)

    def has(self, data: Positions) -> NDArray[np.bool_]:
        """Which statistics a data set (n,) has, (S,)."""
        good = np.ones(len(self.statistics), dtype=np.bool_)
        sums = self.matrix[data].sum(axis=0)
        slack = 1e-7 * (1.0 + np.abs(self.matrix).max(axis=0, initial=0.0))
        good[self.owner[(sums < self.low - slack) | (sums > self.high + slack)]] = False
        for q, statistic in enumerate(self.asks.tolist()):
            values = np.sort(self.value[q][data[self.member[q][data]]])
            found = np.quantile(values, self.share[q]) if len(values) else np.nan
            good[statistic] &= bool(self.printed[q, 0] - 1e-9 <= found <= self.printed[q, 1] + 1e-9)
        return good


def few_people(
    codebook: Codebook, released: Sequence[Released], n_records: int, rules: Sequence[Mask] = ()
) -> FewPeople | None:
    """The released numbers for the search; None where there are too many people or kinds, or other outputs."""
    released = [one.proving for one in released]
    used = sorted({j for one in released for block in one.blocks for j in variables(block)})
    size = float(np.prod([float(codebook.sizes[j]) for j in used]))
    parts = [part for one in released for part in one.parts]
    if n_records > MOST_PEOPLE or size > _MOST_KINDS or not all(isinstance(part, TallyPart) for part in parts):
        return None
    kinds = np.array(list(product(*(range(codebook.sizes[j]) for j in used))), dtype=np.int64)
    codes = np.full((len(kinds), len(codebook.variables)), -1, dtype=np.int64)
    codes[:, used] = kinds
    for rule in rules:
        if {*rule.joint.variables} <= set(used):
            inside = rule.include[level_in(rule.joint, codes)]
            kinds, codes = kinds[inside], codes[inside]
    columns = Columns(codes, np.zeros(len(codes), np.int64), np.full(len(codes), float(n_records)), len(codes))
    seen, rows, ranks = Seen(columns, np.arange(len(codes))), Rows(), list[_Rank]()
    about: dict[tuple[str, int], bytes] = {}
    for one in released:
        if not _take_up(one, rows, ranks, seen, about):
            return None
    names = tuple(codebook.variables[j].name for j in used)
    return _gathered(n_records, names, kinds, rows, ranks, released, about)


@dataclass(frozen=True, eq=False)
class _Rank:
    output: str
    number: int
    member: NDArray[np.bool_]
    value: Array
    share: float
    ends: tuple[float, float]


def _take_up(one: Released, rows: Rows, ranks: list[_Rank], seen: Seen, about: dict[tuple[str, int], bytes]) -> bool:
    """Add the numbers of one output; False where some cannot be."""
    first, half = 0, one.tolerance * ROUNDING
    for part in one.parts:
        assert isinstance(part, TallyPart)
        totals, formulas = totals_of(part.blocks, seen), part.formulas
        ends = slice(first, first + part.n_numbers)
        low, high = one.low[ends] - half[ends], one.high[ends] + half[ends]
        if any(each.kind in CURVED or (each.kind == "rank" and each.least != LINEAR) for each in formulas):
            return False
        constrain_formulas(rows, totals, formulas, low, high, one.values[ends], one.name, first)
        for k, formula in enumerate(formulas):
            whom = totals[formula.base if len(formula.base) else formula.totals].sum(axis=0) != 0
            about[one.name, first + k] = np.asarray(whom).tobytes()
            if formula.kind == "rank" and np.isfinite(one.values[first + k]):
                ranks.append(_rank(totals, formula, one.name, first + k, (float(low[k]), float(high[k]))))
                _halve(rows, ranks[-1])
        first += part.n_numbers
    return True


def _rank(totals: sparse.csr_array, formula: Formula, output: str, number: int, ends: tuple[float, float]) -> _Rank:
    counts = totals[formula.totals].toarray()
    return _Rank(output, number, counts.any(axis=0), formula.points @ counts, formula.scale, ends)


def _halve(rows: Rows, rank: _Rank) -> None:
    """What a quantile p of a group of unknown size s says in any case: at most p s + 1 - p of its values lie below what
    is printed, at most (1 - p) s + p above; of a median at most half.
    """
    p, member = rank.share, rank.member.astype(np.float64)
    for outside, part, more in (
        (rank.value < rank.ends[0], p, 1.0 - p),
        (rank.value > rank.ends[1], 1.0 - p, p),
    ):
        row = member * outside - part * member
        rows.add(sparse.csr_array(row[None, :]), -np.inf, 0.0 if p == 0.5 else more, rank.output, rank.number)
    rows.add(sparse.csr_array(member[None, :]), 1.0, np.inf, rank.output, rank.number)


def _gathered(
    n: int,
    names: tuple[str, ...],
    kinds: Positions,
    rows: Rows,
    ranks: list[_Rank],
    released: Sequence[Released],
    about: dict[tuple[str, int], bytes],
) -> FewPeople:
    matrix, low, high, origin, number = rows.stacked(len(kinds))
    keys = list(zip(origin, number.tolist(), strict=True))
    order = {one.name: at for at, one in enumerate(released)}
    found = sorted({*keys, *((rank.output, rank.number) for rank in ranks)}, key=lambda key: (order[key[0]], key[1]))
    place = {key: at for at, key in enumerate(found)}
    by_name = {one.name: one for one in released}
    Q, K = len(ranks), len(kinds)
    whom = {mask: at for at, mask in enumerate(dict.fromkeys(about[key] for key in found))}
    return FewPeople(
        n,
        names,
        kinds,
        tuple(Statistic(*key, _words(by_name[key[0]], key[1]), whom[about[key]]) for key in found),
        matrix.toarray().T,
        low,
        high,
        np.array([place[key] for key in keys], dtype=np.int64),
        np.array([rank.member for rank in ranks], dtype=np.bool_).reshape(Q, K),
        np.array([rank.value for rank in ranks], dtype=np.float64).reshape(Q, K),
        np.array([rank.share for rank in ranks], dtype=np.float64),
        np.array([rank.ends for rank in ranks], dtype=np.float64).reshape(Q, 2),
        np.array([place[rank.output, rank.number] for rank in ranks], dtype=np.int64),
    )


def _words(one: Released, number: int) -> str:
    label = one.labels[number]
    if one.low[number] == one.high[number]:
        return f"{label} = {one.low[number]:g}"
    return f"{label}: {one.low[number]:g} to {one.high[number]:g}"
