"""How quantiles follow from tallies: the distribution in each cell, and the records below and above each quantile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.tables.checks import unknown
from outrisk.problem.formulas import Formula
from outrisk.problem.quantile_places import LINEAR, fractions, rank_of
from outrisk.problem.released import Bounds

_MOST_PAIRS = 4  # pairs of neighbouring records that one published quantile is looked for between
_NEAR = 30  # support points on each side of a quantile that such a pair may take
_MOST_RECORDS = 200  # sizes of a cell that fractions are taken from
_YIELDS = 100  # how much less the size of a cell counts here than where it is published
_FEW, _LARGE = 40, 500  # records that quantiles are tried for; support points from which on that takes long
_KEPT = 0.8  # of the records of a cell that it keeps at least
_OFF = 10  # how far a cell's size may be off one that a quantile can come from


@dataclass(frozen=True, eq=False)
class Cut:
    """Where the records of each cell must lie for one quantile to be as published.

    below, above (pairs, cells): no more records below and above these values than the quantile allows. straddled
    (cells,): the quantile lies between two support points, so it is interpolated between two records, at `below` and
    `above`, with weight `fraction` (pairs, cells) on the upper one; NaN where there is no such pair. under (cells,):
    the last support point below it; -inf where it is not straddled.
    """

    below: Array
    above: Array
    fraction: Array
    straddled: NDArray[np.bool_]
    under: Array


def cut_at(published: Array, half: float, support: Array, probability: float, of_type: int = LINEAR) -> Cut:
    """The cut for one quantile published as (cells,), to within half a last digit."""
    half *= 1 + 1e-9
    fraction = fractions(probability, of_type, _MOST_RECORDS)
    pairs = [_pairs(value, half, support, fraction) for value in published]
    most = max(len(pair) for pair in pairs)
    table = np.array([pair + [(-np.inf, np.inf, np.nan)] * (most - len(pair)) for pair in pairs])
    straddled = np.array([bool(support[0] < v - half and not (np.abs(support - v) <= half).any()) for v in published])
    straddled &= published < support[-1]
    under = np.array(
        [support[support < v].max() if on else -np.inf for v, on in zip(published, straddled, strict=True)]
    )
    return Cut(table[:, :, 0].T, table[:, :, 1].T, table[:, :, 2].T, straddled, under)


def _pairs(value: float, half: float, support: Array, fraction: Array) -> list[tuple[float, float, float]]:
    """The values that the records around a quantile can take, with one of the fractions; the narrowest pair first."""
    if not np.isfinite(value):
        return [(-np.inf, np.inf, np.nan)]
    near = support[np.abs(support - value) <= half]
    if len(near):
        return [(float(near[0]), float(near[-1]), np.nan)]
    lower, upper = support[support < value][-_NEAR:], support[support > value][:_NEAR]
    if not len(lower) or not len(upper):
        at = float(np.clip(value, support[0], support[-1]))
        return [(at, at, np.nan)]
    a, b, f = (part.ravel() for part in np.meshgrid(lower, upper, fraction))
    fits = np.flatnonzero(np.abs(a + (b - a) * f - value) <= half)
    found: dict[float, tuple[float, float, float]] = {}
    for at in fits[np.argsort(b[fits] - a[fits], kind="stable")]:
        found.setdefault(float(f[at]), (float(a[at]), float(b[at]), float(f[at])))
    return list(found.values())[:_MOST_PAIRS] or [(float(lower[-1]), float(upper[0]), np.nan)]


def fewest_records(
    published: Array, half: float, support: Array, probabilities: Sequence[float], of_type: int = LINEAR
) -> Array:
    """The least number of records that can have these quantiles (cells, probabilities), to within half a last digit;
    1 where it is more than some dozens, or the support is large.
    """
    sizes = range(1, (_FEW if len(support) <= _LARGE else 0) + 1)
    ways = {n: rank_of(np.array(float(n)), np.array(probabilities), of_type) for n in sizes}
    found = [next((n for n in sizes if _can_have(n, each, half, support, ways[n])), 1) for each in published]
    return np.array(found, np.float64)


def _can_have(n: int, quantiles: Array, half: float, support: Array, ways: tuple[Array, Array]) -> bool:
    """Whether n records on the support can: which values the first may take, then the second given the first, ..."""
    rank, weight = ways
    half *= 1 + 1e-9
    reached = np.ones(len(support), np.bool_)
    for at in range(n):
        together = None
        for quantile, fraction in zip(quantiles[rank == at], weight[rank == at], strict=True):
            if fraction == 0.0:
                reached = reached & (np.abs(support - quantile) <= half)
                continue
            fits = np.abs((1.0 - fraction) * support[:, None] + fraction * support - quantile) <= half
            together = fits if together is None else together & fits
        if together is None:
            reached = np.maximum.accumulate(reached)
        else:
            reached = (reached[:, None] & together & (support[:, None] <= support)).any(axis=0)
    return bool(reached.any())


@dataclass(frozen=True, eq=False)
class Ranks:
    """Published quantiles, cell by cell, in each the `probabilities`.

    Totals: n of each cell; the counts of each cell at each support point; then for every cut and pair the records
    below, between and above in each cell; and, for a cut with straddled cells, the records up to `under`. A quantile
    that is not defined (range without ends) says that its cell is empty, unless the table `withholds` numbers. fewest
    (cells,): records that a cell holds at least. of_type: of Hyndman and Fan.
    """

    probabilities: Sequence[float]
    support: Array  # (s,)
    size: int  # levels of the variable, its missing one included
    cuts: Sequence[Cut]
    fewest: Array
    half: float
    withholds: bool
    of_type: int = LINEAR
    differentiable = False

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.cuts[0].under)

    def _counts(self, totals: Array) -> Array:
        start = self.n_cells
        return totals[start : start + self.n_cells * self.size].reshape(self.n_cells, self.size)[:, : len(self.support)]

    def numbers(self, totals: Array) -> Array:
        """Quantiles of each cell, interpolated between records; NaN in an empty cell."""
        cumulated = np.cumsum(self._counts(totals), axis=1)
        n = np.round(cumulated[:, -1])
        found = []
        for probability in self.probabilities:
            rank, fraction = rank_of(n, probability, self.of_type)
            lower, upper = (self._record(cumulated, each) for each in (rank, rank + (fraction > 0)))
            found.append(np.where(n > 0, lower + (upper - lower) * fraction, np.nan))
        return np.stack(found, axis=1).ravel()

    def formulas(self, n_numbers: int) -> list[Formula]:
        """Each from the counts of its cell along the support."""
        along = np.arange(len(self.support))
        return [
            Formula(
                "rank",
                self.n_cells + cell * self.size + along,
                np.array([cell]),
                self.support,
                scale=probability,
                least=self.of_type,
            )
            for cell in range(self.n_cells)
            for probability in self.probabilities
        ]

    def _record(self, cumulated: Array, rank: Array) -> Array:
        """Value of the record of this rank (from 0) in each cell."""
        level = (cumulated < rank[:, None] + 0.5).sum(axis=1)
        return np.asarray(self.support[np.minimum(level, len(self.support) - 1)])

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """Ranges of the records on either side of each quantile, for cells of the present sizes."""
        n, numbers = np.maximum(np.round(totals[: self.n_cells]), self.fewest), self.numbers(totals)
        columns = len(self.probabilities)
        off = ~((numbers >= low) & (numbers <= high) | unknown(low, high))
        unit = np.maximum((self.support[-1] - self.support[0]) / n, 2 * self.half)
        nothing = unknown(low, high).reshape(-1, columns)
        sizes, at = self._size_range(n, off, nothing), self.n_cells * (1 + self.size)
        n_histogram = self.n_cells * self.size
        parts = [
            (*sizes, np.where(unknown(*sizes), 0.0, 2 * self.half), _YIELDS * n, np.arange(self.n_cells) * columns),
            (*_free(n_histogram), np.zeros(n_histogram), np.ones(n_histogram), np.zeros(n_histogram, np.int64)),
        ]
        for column, (probability, cut) in enumerate(zip(self.probabilities, self.cuts, strict=True)):
            number = np.arange(self.n_cells) * columns + column
            variance = np.maximum(n * probability * (1 - probability), 1.0)
            for least, most in self._cut_ranges(cut, n, probability, nothing[:, column]):
                present = totals[at : at + len(least)]
                every = len(least) // self.n_cells
                kept = ~np.repeat(off[number], every)  # as published: leave it as it is, whichever way it came about
                least, most = (
                    np.where(kept, np.minimum(least, present), least),
                    np.where(kept, np.maximum(most, present), most),
                )
                parts.append(
                    (least, most, np.repeat(unit, every), np.repeat(variance, every), np.repeat(number, every))
                )
                at += len(least)
        lows, highs, units, variances, of = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Bounds(lows, highs, units, of.astype(np.int64), variances)

    def _size_range(self, n: Array, off: NDArray[np.bool_], nothing: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Cells with a quantile hold as many records as it takes to have it, and not many fewer than they do; no fewer
        where one is off: as records leave, fewer may lie beyond a quantile, so that those that do are still too many.
        Others hold none.

        A cell with a straddled quantile keeps its size, or moves to the nearest one that a pair allows: how many
        records lie below the quantile depends on it.
        """
        some = ~nothing.all(axis=1)
        out = (off.reshape(-1, len(self.probabilities)) & ~nothing).any(axis=1)
        least = np.where(some, np.maximum(self.fewest, np.where(out, n, np.floor(_KEPT * n))), -np.inf)
        most = np.where(some | self.withholds, np.inf, 0.0)
        for column, (probability, cut) in enumerate(zip(self.probabilities, self.cuts, strict=True)):
            matched = ~off[column :: len(self.probabilities)]
            wrong = cut.straddled & ~nothing[:, column]
            for step in sorted(range(-_OFF, _OFF + 1), key=abs):
                if not wrong.any():
                    break
                at = wrong & (_fits(cut, n + step, probability, self.of_type) | matched) & (n + step >= 1)
                least, most = np.where(at, n + step, least), np.where(at, n + step, most)
                wrong &= ~at
        return least, most

    def _cut_ranges(
        self, cut: Cut, n: Array, probability: float, nothing: NDArray[np.bool_]
    ) -> list[tuple[Array, Array]]:
        """Ranges of the tallies of one cut: below, between and above (cells, 3) for every pair; up to `under`."""
        rank, fraction = rank_of(n, probability, self.of_type)
        beyond = n - 1 - rank - ((fraction > 0) | cut.straddled)
        apart = np.abs(np.where(np.isnan(cut.fraction), 2.0, cut.fraction) - fraction)
        best = np.argmin(apart, axis=0)
        ranges = []
        for pair in range(len(cut.below)):
            most = np.stack([rank, np.zeros(len(n)), np.maximum(beyond, 0.0)], axis=1)
            most[nothing | (best != pair)] = np.inf
            ranges.append((np.full(3 * len(n), -np.inf), most.ravel()))
        if cut.straddled.any():
            free = nothing | ~cut.straddled
            ranges.append((np.where(free, -np.inf, rank + 1), np.where(free, np.inf, rank + 1)))
        return ranges


def _fits(cut: Cut, n: Array, probability: float, of_type: int) -> NDArray[np.bool_]:
    """Whether a cell of n records has a quantile at one of the fractions of the cut."""
    _, fraction = rank_of(n, probability, of_type)
    return np.asarray((np.abs(cut.fraction - fraction) < 1e-6).any(axis=0))


def _free(size: int) -> tuple[Array, Array]:
    return np.full(size, -np.inf), np.full(size, np.inf)
