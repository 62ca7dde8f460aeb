"""How counts and shares follow from tallies: the maps that frequency tables and histograms have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from outrisk.codebook import Codebook
from outrisk.outputs.base import Array, support_frame
from outrisk.outputs.tables.bases import Bases, Cells
from outrisk.outputs.tables.checks import unknown
from outrisk.problem.blocks import Tally, joint_of
from outrisk.problem.counts import Counts, middle
from outrisk.problem.formulas import Formula
from outrisk.problem.released import Bounds, Margins, TallyPart


def counting(
    codebook: Codebook, names: Sequence[str], holds: Callable[[pd.DataFrame], Sequence[ArrayLike]]
) -> tuple[TallyPart, ...]:
    """The parts of an output whose numbers each say for how many records a condition on some variables holds.

    `holds` gives, of decoded records with these variables, whether each condition holds, one array (n,) for a number.
    """
    place = joint_of(codebook, names)
    cells = [np.where(each, 0, -1).astype(np.int32) for each in holds(support_frame(codebook, place))]
    return (TallyPart(tuple(Tally(place, 1, cell) for cell in cells), Counts(np.arange(len(cells))), len(cells)),)


@dataclass(frozen=True, eq=False)
class Shares:
    """Published numbers that are totals divided by the sum of a group of them.

    number, base (m,): position of each total's number, and the group whose sum it is divided by; member (m,): whether
    it is part of that sum; scale (m,): what the share is multiplied by (100: a percentage). bases: what these sums may
    be; sums: which of the first totals each of the others adds up (see `Cells`). A number that is not defined (range
    without ends) says that its group is empty, unless the table `withholds` numbers: then it says nothing here. spread,
    lightest: variance of a weighted count over the count, and the least weight. aim (groups,): what the sums are to be,
    if that is settled.
    """

    number: NDArray[np.int64]
    base: NDArray[np.int64]
    member: NDArray[np.bool_]
    scale: Array
    bases: Bases
    sums: sparse.csr_matrix
    withholds: bool
    spread: float = 1.0
    lightest: float = 1.0
    aim: Array | None = None
    differentiable = True

    @cached_property
    def _summed(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.member)

    def _sums(self, totals: Array) -> Array:
        sums = np.bincount(self.base[self._summed], totals[self._summed], minlength=len(self.bases))
        return np.asarray(sums, dtype=np.float64)

    def numbers(self, totals: Array) -> Array:
        """Shares of the groups; NaN in a group without records."""
        sums = self._sums(totals)[self.base]
        numbers = np.empty(len(totals))
        numbers[self.number] = np.divide(
            self.scale * totals, sums, out=np.full(len(sums), np.nan), where=sums > 0.5 * self.lightest
        )
        return numbers

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """Ranges of the totals while their group's sum stays as it is, comes to the nearest possible one, or is the one
        aimed at.
        """
        low, high = low[self.number], high[self.number]
        known = ~unknown(low, high)
        sums, empty = self._sums(totals), ~known & (not self.withholds)
        few = (sums < self.bases.last) | (self.aim is not None)
        sums = np.maximum(self.bases.near(sums, self._any(empty)) if self.aim is None else self.aim, self.lightest)
        unit = self.scale / sums[self.base]
        low, high = np.where(empty, 0.0, low / unit), np.where(empty, 0.0, high / unit)
        low, high = self._made_up(totals, known, low, high, np.where(few, sums, np.nan))
        low, high = self._filled(totals, known, low, high)
        variance = np.maximum(self.spread * np.maximum(middle(low, high), 1.0), self.spread**2)
        return Bounds(low, high, unit, self.number, variance)

    def _any(self, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether it holds for any total of each group."""
        return np.bincount(self.base[which], minlength=len(self.bases)) > 0

    @property
    def counts(self) -> Counts:
        """The map of the counts that the numbers are shares of."""
        return Counts(self.number, self.spread)

    def agreeing(self, other: Shares, pairs: NDArray[np.int64]) -> Shares:
        """These shares, whose groups are as large as those of others that they are paired with (2, any)."""
        return replace(self, bases=self.bases.agreeing(other.bases, pairs))

    def aiming(self, sizes: Array | None) -> Shares:
        """These shares, whose groups are to be of these sizes (groups,), or of any."""
        return replace(self, aim=sizes)

    def sizes(self, about: Array) -> Array | None:
        """How large all groups are (groups,), totals too, where `about` (groups, 2) says it of those that cover all
        records, with a standard deviation of 0; None where it does not, or none cover these.
        """
        cover = self.bases.cover
        if not len(cover) or not (about[cover, 1] == 0.0).all():
            return None
        return np.asarray(self.bases.made @ about[cover, 0])

    def drawn(
        self, low: Array, high: Array, n: int, about: Array, margins: Margins, times: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Bases (some, groups) of n records whose shares lie from low to high (k,), and by how many records they are
        beyond what is known of `margins` (see `Bases.drawn`); a group whose shares are not defined is empty.
        """
        unsaid, least, most = self._of_one(low, high)
        if not self.withholds:
            about = np.where(self._any(unsaid)[:, None], 0.0, about)
        return self.bases.drawn(n, about, Cells(least, most, self.base, self.sums), margins, times, rng)

    def ranges(self, low: Array, high: Array, bases: Array) -> tuple[Array, Array]:
        """Ranges of the counts (k,) of shares from low to high (k,) with these bases (groups,): in whole numbers, 0 to
        infinity where a share says nothing.
        """
        low, high = low[self.number], high[self.number]
        unsaid, unit = unknown(low, high), bases[self.base] / self.scale
        ends = np.where(unsaid, 0.0, np.maximum(low, 0.0)) * unit, np.where(unsaid, 0.0, high) * unit
        least, most, nearest = np.ceil(ends[0] - 1e-9), np.floor(ends[1] + 1e-9), np.round(np.mean(ends, axis=0))
        least, most = np.where(least > most, nearest, least), np.where(least > most, nearest, most)
        order = np.argsort(self.number)
        return least[order], np.where(unsaid, np.inf, most)[order]

    def conditions(self, low: Array, high: Array) -> sparse.csr_matrix:
        """What is linear in the counts of the cells (any, cells), and at most 0 where shares lie from low to high (k,),
        whatever the sizes of their groups.
        """
        of_cells, of_groups, sums = self.conditions_by_group(low, high)
        return of_cells + of_groups @ sums

    def conditions_by_group(
        self, low: Array, high: Array
    ) -> tuple[sparse.csr_matrix, sparse.csr_matrix, sparse.csr_matrix]:
        """The same, in the counts of the cells (any, cells) and the sizes of groups (any, groups), which are these sums
        of cells (groups, cells).
        """
        unsaid, least, most = self._of_one(low, high)
        most = np.where(unsaid & (not self.withholds), 0.0, most)
        totals = sparse.vstack([sparse.eye(self.sums.shape[1]), self.sums], format="csr")
        every = np.arange(len(self.base))
        members = self.member.astype(float), (self.base, every)
        sums = sparse.csr_matrix(members, shape=(len(self.bases), len(every))) @ totals
        shape = len(every), len(self.bases)
        shares = [sparse.csr_matrix((end, (every, self.base)), shape=shape) for end in (least, -most)]
        return sparse.vstack([-totals, totals], format="csr"), sparse.vstack(shares, format="csr"), sums

    def _of_one(self, low: Array, high: Array) -> tuple[NDArray[np.bool_], Array, Array]:
        """Of each total (m,) whether nothing was said, and its least and most share of 1; numbers are from low to high
        (k,).
        """
        low, high = low[self.number], high[self.number]
        unsaid = unknown(low, high)
        least = np.where(unsaid, 0.0, np.maximum(low / self.scale, 0.0))
        return unsaid, least, np.where(unsaid, 1.0, np.minimum(high / self.scale, 1.0))

    def formulas(self, n_numbers: int) -> list[Formula]:
        """Each the total over the sum of its group."""
        groups = [np.flatnonzero(self.member & (self.base == group)) for group in range(len(self.bases))]
        least = 0.5 * self.lightest
        return [
            Formula("ratio", np.array([at]), groups[self.base[at]], scale=float(self.scale[at]), least=least)
            for at in np.argsort(self.number)
        ]

    def _made_up(
        self, totals: Array, known: NDArray[np.bool_], low: Array, high: Array, sums: Array
    ) -> tuple[Array, Array]:
        """Ranges of totals (m,) with what a withheld one has to change by for its group to have a possible sum.

        sums (groups,): the nearest possible ones, which the known shares then have their totals from; NaN where any
        sum will do. Known shares alone would not move the sum: it is the withheld records that are too many or too few.
        """
        target = np.where(known, np.round(np.clip(totals, low, high)), totals)
        some = np.bincount(self.base[known], minlength=len(sums)) > 0
        shift = np.where(some, np.nan_to_num(np.round(sums - self._sums(target))), 0.0)[self.base]
        may = np.flatnonzero(self.member & ~known & (shift != 0) & self.withholds)
        order = may[np.lexsort((np.sign(shift[may]) * totals[may], self.base[may]))]  # least to raise, most to lower
        pick = order[np.unique(self.base[order], return_index=True)[1]]
        moved, up = np.maximum(totals[pick] + shift[pick], 0.0), shift[pick] > 0
        low, high = low.copy(), high.copy()
        low[pick[up]], high[pick[~up]] = moved[up], moved[~up]
        return low, high

    def _filled(self, totals: Array, known: NDArray[np.bool_], low: Array, high: Array) -> tuple[Array, Array]:
        """Ranges of totals (m,) with weight in each group that a share is known of: without any no share is defined.

        Shares of 0 do not say so where the others are withheld or round to 0. The weight goes where most may be.
        """
        barren = (self._sums(totals) < 0.5 * self.lightest) & self._any(known)
        most = np.full(len(self.bases), -np.inf)
        np.maximum.at(most, self.base[self._summed], high[self._summed])
        place = self.member & barren[self.base] & (high == most[self.base])
        low = np.where(place, np.maximum(low, self.lightest), low)
        return low, np.maximum(low, high)
