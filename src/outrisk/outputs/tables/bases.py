"""The numbers of records that printed shares can come from (their bases), group by group and all groups together.

A share of 14.3 % is that of 1 record in 7, of 2 in 14, but of none in 8. Where every record is in one of the groups,
their bases add up to the number of records besides, so that they may be told exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import signal, sparse
from scipy.special import gammaln

from outrisk.outputs.base import Array
from outrisk.outputs.tables.mended_bases import Mending
from outrisk.problem.released import Margins

_MOST_BASE = 4_000  # bases that printed shares can come from are told up to here,
_MOST_WORK = 20_000_000  # or as far as this many comparisons go
_NEAREST = 16  # bases of each group among which those that add up are looked for
_WIDEST = 2_000  # records by which the bases of some groups may add up to less or more before the others are seen
_CHOICES = 5_000_000  # shares, or margins, times bases, and margins times cells, up to which bases are drawn
_FAR = 6.0  # standard deviations from what is expected, beyond which none is, where there is too much to choose from
_SUMS, _ROUNDED = 30_000_000, 1e-12  # additions up to which that is done exactly; what else is nothing but rounding
_VARY, _LEAST = 30.0, 0.01  # records that shares vary as much as those of from group to group; a mean share at least
_MENDED = 5  # draws that are mended, at most, where other tables contradict all
_TILT = 50.0  # of the chance of a base with each record, at most


class Cells(NamedTuple):
    """Least and most share of 1 (m,) and group of each total (m,); which of the first of them, the cells, each of the
    others is the sum of (m - cells, cells).
    """

    low: Array
    high: Array
    group: NDArray[np.int64]
    sums: sparse.csr_matrix


@dataclass(frozen=True, eq=False)
class Bases:
    """For each group and each base from 0, the nearest one that its printed shares can come from (groups, any); larger
    ones are all possible. cover (any,): groups of which every record is in one; none where that is not so. made
    (groups, any): which of these each group is made up of. shares (m,): of 1, and the group of each. width: of the
    range of a share.
    """

    nearest: NDArray[np.int64]
    cover: NDArray[np.int64]
    made: NDArray[np.bool_]
    shares: Array
    group: NDArray[np.int64]
    width: float

    @property
    def last(self) -> int:
        """The base from which on all are taken as possible."""
        return int(self.nearest.shape[1]) - 1

    def __len__(self) -> int:
        return len(self.nearest)

    def agreeing(self, other: Bases, pairs: NDArray[np.int64]) -> Bases:
        """These bases, of which those of groups are possible for others too that they are paired with (2, any)."""
        most = max(self.last, other.last) + 1
        own, others = (np.ones((len(each), most), np.bool_) for each in (self, other))
        for possible, each in ((own, self), (others, other)):
            possible[:, : each.last] = (each.nearest == np.arange(each.last + 1))[:, : each.last]
        own[pairs[0]] &= others[pairs[1]]
        return replace(self, nearest=_nearest(own))

    def near(self, sums: Array, empty: NDArray[np.bool_]) -> Array:
        """The possible bases (groups,) nearest to the present sums (groups,), which they stay where all are possible,
        and 0 of groups that are `empty` (groups,). Those of groups that cover all records add up to as many as these
        do, where any near by can.
        """
        at = np.clip(np.round(sums), 0, self.last).astype(np.int64)
        near = np.where(sums < self.last, self.nearest[np.arange(len(sums)), at], sums)
        near[empty] = 0.0
        if not len(self.cover):
            return near
        told = self.cover[(sums < self.last)[self.cover] & ~empty[self.cover]]
        off = round(float((sums - near)[self.cover].sum()))
        if not off:
            return np.asarray(self.made @ near[self.cover])
        spare = float(near[self.cover].sum() - near[told].sum())
        choices = [self._around(group, sums[group]) for group in told]
        moves = [each - int(near[group]) for group, each in zip(told, choices, strict=True)]
        width = min(_WIDEST, 2 * max([abs(off), *(int(np.abs(each).max()) for each in moves)]))
        costs = [(each - sums[group]) ** 2 / max(sums[group], 1.0) for group, each in zip(told, choices, strict=True)]
        found, picks = _least(moves, costs, width)
        if spare:
            found = found + (np.arange(-width, width + 1) - off) ** 2 / spare
        end = int(np.argmin(found)) if spare else width + off if abs(off) <= width else 0
        if not np.isfinite(found[end]):
            return near
        for group, move, pick in zip(told[::-1], moves[::-1], picks[::-1], strict=True):
            near[group] += move[pick[end]]
            end -= move[pick[end]]
        return np.asarray(self.made @ near[self.cover])

    @cached_property
    def _told(self) -> list[NDArray[np.int64]]:
        """The possible bases of each group, up to the last."""
        return [np.unique(each) for each in self.nearest]

    def _around(self, group: int, sum_: float) -> NDArray[np.int64]:
        possible = self._told[group]
        return possible[np.argsort(np.abs(possible - sum_), kind="stable")[:_NEAREST]]

    def drawn(
        self, n: int, about: Array, cells: Cells, margins: Margins, times: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Possible bases (some, groups) that add up to n, drawn so many times, those alike once; and by how many
        records their counts are beyond what is known of margins (some,): where all are, a few are mended. about
        (groups, 2): what a base is expected to be, and the standard deviation of that, 0 where it is known; NaN where
        nothing is. None (0, groups) where none add up, there is no cover, or there is too much to choose from.

        As probable as their counts are (see `_chances`), tilted for the bases to lie near n in the mean, which changes
        nothing given that they add up to it.
        """
        choices = [self._possible(group, n, *about[group]) for group in self.cover]
        many = len(margins[1]) + cells.sums.shape[0]
        a_choice = max(len(self.shares) // len(self), many)
        if sum(map(len, choices)) * a_choice > _CHOICES:
            choices = [_expected(of, *about[group]) for of, group in zip(choices, self.cover, strict=True)]
        work = max(sum(map(len, choices)) * a_choice, many * cells.sums.shape[1])
        if not choices or work > _CHOICES or not _reach(choices, n):
            return np.zeros((0, len(self))), np.zeros(0)
        logs = [self._chances(group, each, *about[group]) for group, each in zip(self.cover, choices, strict=True)]
        chances = _tilted(choices, logs, n)
        ways = _ways(choices, chances, n)
        draws = (_one(choices, chances, ways, n, rng) for _ in range(times if ways[-1][n] > 0.0 else 0))
        found = [each for each in draws if each.sum() == n]
        mending = self._mending(choices, logs, cells, margins)
        apart = [mending.of(each) for each in found]
        for each in found[: _MENDED if found and min(apart) > 0.0 else 0]:
            found.append(mending.mended(each, rng))
            apart.append(mending.of(found[-1]))
            if not apart[-1]:
                break
        drawn = np.array(found).reshape(len(found), len(choices))
        first = np.sort(np.unique(drawn, axis=0, return_index=True)[1])
        return drawn[first] @ self.made.T, np.array(apart)[first]

    def _mending(self, choices: list[NDArray[np.int64]], logs: list[Array], cells: Cells, margins: Margins) -> Mending:
        """What is known of margins from other tables, and of the table's own, whose shares are of bases too."""
        member, sums, many = margins[0].toarray(), cells.sums.toarray(), cells.sums.shape[1]

        def of(shares: Array, whole: Callable[[Array], Array], ends: Array) -> list[Array]:
            """What the counts of each choice add to margins, and to the table's own beyond their own shares."""
            found = []
            for at, (group, bases) in enumerate(zip(self.cover, choices, strict=True)):
                which = cells.group[:many] == group
                counts = whole(np.outer(bases, shares[:many][which]))
                own = np.outer(bases, ends[many:] * self.made[cells.group[many:], at])
                found.append(np.hstack([counts @ member[:, which].T, counts @ sums[:, which].T - own]))
            return found

        least = of(cells.low, lambda counts: np.ceil(counts - 1e-9), cells.high)
        most = of(cells.high, lambda counts: np.floor(counts + 1e-9), cells.low)
        nothing = np.zeros(len(sums))
        known = np.concatenate([margins[1], nothing]), np.concatenate([margins[2], nothing])
        return Mending(choices, logs, least, most, known)

    def _possible(self, group: int, n: int, mean: float, sd: float) -> NDArray[np.int64]:
        if sd == 0.0:
            return np.array([round(mean)])
        told = self._told[group]
        return np.concatenate([told[(told <= n) & (told < self.last)], np.arange(self.last, n + 1)])

    def _chances(self, group: int, bases: NDArray[np.int64], mean: float, sd: float) -> Array:
        """How probable bases of a group are, in logs: by what is expected, and by the counts that they would be of, as
        if those were drawn with the mean shares of all groups, which vary from group to group (Dirichlet-multinomial).
        """
        shares, alpha = self.shares[self.group == group], _VARY * np.maximum(self._typical, _LEAST)
        counts = bases[:, None] * shares
        alike = (len(shares) - 1.0) * np.log(np.maximum(self.width * bases, 1.0))  # counts that print so
        of_counts = (gammaln(alpha + counts) - gammaln(counts + 1.0)).sum(axis=1)
        of_base = gammaln(bases + 1.0) - gammaln(bases + alpha.sum())
        expected = 0.0 if np.isnan(mean) or sd == 0.0 else -0.5 * ((bases - mean) / sd) ** 2
        return np.asarray(alike + of_counts + of_base + expected)

    @cached_property
    def _typical(self) -> Array:
        """The mean shares of groups, in the order of each."""
        return np.asarray(np.mean([self.shares[self.group == group] for group in self.cover], axis=0))


def _one(
    choices: list[NDArray[np.int64]], chances: list[Array], ways: list[Array], n: int, rng: np.random.Generator
) -> Array:
    """One choice of each group that add up to n, drawn at random from the last to the first; or, where what seemed
    possible was rounding, to less.
    """
    found = np.zeros(len(choices))
    for at in range(len(choices))[::-1]:
        left = n - int(found.sum())
        weight = np.where(choices[at] <= left, chances[at] * ways[at][np.maximum(left - choices[at], 0)], 0.0)
        steps = np.cumsum(weight)
        if not steps[-1]:
            break
        found[at] = choices[at][np.searchsorted(steps, steps[-1] * rng.random(), side="right")]
    return found


def _expected(choices: NDArray[np.int64], mean: float, sd: float) -> NDArray[np.int64]:
    """Those of the choices that are not far from what is expected, if anything is."""
    return choices[np.abs(choices - mean) <= _FAR * sd] if sd > 0.0 else choices


def _reach(choices: list[NDArray[np.int64]], n: int) -> bool:
    """Whether n lies between the least and the most that choices add up to."""
    return all(map(len, choices)) and sum(map(min, choices)) <= n <= sum(map(max, choices))


def _tilted(choices: list[NDArray[np.int64]], logs: list[Array], n: int) -> list[Array]:
    """Chances of all choices, beside the most probable one of each group, which add up to n in the mean."""
    low, high = -_TILT, _TILT
    while True:
        tilt = (low + high) / 2.0
        exponents = [log + tilt * each for each, log in zip(choices, logs, strict=True)]
        chances = [np.exp(each - each.max()) for each in exponents]
        if high - low < 1e-9:
            return chances
        low, high = (tilt, high) if _mean(choices, chances) < n else (low, tilt)


def _mean(choices: list[NDArray[np.int64]], chances: list[Array]) -> float:
    """What the choices add up to in the mean."""
    return sum(float(chance @ each / chance.sum()) for each, chance in zip(choices, chances, strict=True))


def _ways(choices: list[NDArray[np.int64]], chances: list[Array], n: int) -> list[Array]:
    """How probable each sum of up to n is (n + 1,), of no group, the first, the first two and so on, in units of the
    most probable one.
    """
    ways = [np.eye(1, n + 1)[0]]
    exactly = n * sum(map(len, choices)) <= _SUMS
    for each, chance in zip(choices, chances, strict=True):
        more = np.zeros(n + 1)
        if exactly:
            for base, weight in zip(each, chance, strict=True):
                more[base:] += weight * ways[-1][: n + 1 - base]
        else:
            of_bases = np.bincount(each, chance, n + 1)
            more = signal.fftconvolve(ways[-1], of_bases)[: n + 1]
            more[more < _ROUNDED * more.max()] = 0.0
        ways.append(more / max(more.max(), 1e-300))
    return ways


def _least(moves: list[NDArray[np.int64]], costs: list[Array], width: int) -> tuple[Array, list[NDArray[np.int64]]]:
    """The least cost of one move of each group that add up to -width to width (2 width + 1,), and which move it was of
    each.
    """
    best = np.full(2 * width + 1, np.inf)
    best[width] = 0.0
    picks = []
    for move, cost in zip(moves, costs, strict=True):
        wide = int(np.abs(move).max())
        padded = np.concatenate([np.full(wide, np.inf), best, np.full(wide, np.inf)])
        rows = np.stack([padded[wide - by : wide - by + len(best)] + more for by, more in zip(move, cost, strict=True)])
        picks.append(rows.argmin(axis=0))
        best = rows.min(axis=0)
    return best, picks


def bases_of(
    shares: Array,
    tolerance: Array,
    counts: tuple[Array, Array],
    group: NDArray[np.int64],
    cover: NDArray[np.int64],
    made: NDArray[np.bool_],
) -> Bases:
    """The bases that printed shares (m,) of 1 can come from, each of one of the groups; `cover` and `made` as there.

    A base is possible where every share is that of a whole number, to within its `tolerance` (infinite: withheld), and
    from least to most what is known of the `counts`; and where these numbers can add up to it. Bases beyond the last
    one are all taken as possible.
    """
    hidden, n_groups = np.isinf(tolerance), len(made)
    finest = float(tolerance.min())
    most = int(min(_MOST_BASE, 1 + 2.0 / finest, 1 + _MOST_WORK // max(len(shares), 1)))
    low, high = np.maximum(shares - tolerance * (1 + 1e-9), 0.0), np.minimum(shares + tolerance * (1 + 1e-9), 1.0)
    possible = np.zeros((n_groups, most + 1), dtype=np.bool_)
    for base in range(most):
        least = np.maximum(np.ceil(low * base - 1e-9), counts[0])
        top = np.minimum(np.floor(high * base + 1e-9), counts[1])
        fits = np.bincount(group, least > top, n_groups) == 0
        fits &= np.bincount(group, least, n_groups) <= base
        possible[:, base] = fits & (np.bincount(group, top, n_groups) >= base)
    possible[:, 0] &= np.bincount(group, ~hidden, n_groups) == 0
    possible[:, most] = True
    return Bases(_nearest(possible), cover, made, shares, group, min(2.0 * finest, 1.0))


def _nearest(possible: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each group and each base the nearest one that is possible (groups, bases), the last being so."""
    bases, most = np.arange(possible.shape[1]), possible.shape[1] - 1
    below = np.maximum.accumulate(np.where(possible, bases, -1), axis=1)
    above = np.minimum.accumulate(np.where(possible, bases, most)[:, ::-1], axis=1)[:, ::-1]
    return np.where((below < 0) | (above - bases < bases - below), above, below)


def no_bases(n_groups: int) -> Bases:
    """Any sum of weights may be the base of weighted shares."""
    nothing = np.zeros(0, np.int64)
    made = np.zeros((n_groups, 0), np.bool_)
    return Bases(np.zeros((n_groups, 1), np.int64), nothing, made, np.zeros(0), nothing, 0.0)
