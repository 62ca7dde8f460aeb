"""Numbers of records behind shares, changed two groups at a time until other tables do not contradict them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array

_SWEEPS = 60  # over all pairs of groups, at most
_PAIRS = 400  # of them in a sweep, at most
_HEATS = 10.0, 0.5  # first and last, in records by which tables are apart (0.1 and 20 sweeps: 6 of 8 mended)


@dataclass(frozen=True, eq=False)
class Mending:
    """The bases that each group may have, and how probable they are, in logs; of each of these, the least and the most
    that the counts of its cells add to margins (bases, q); and the least and the most that these are known to be (q,).
    """

    choices: list[NDArray[np.int64]]
    logs: list[Array]
    least: list[Array]
    most: list[Array]
    known: tuple[Array, Array]

    def apart(self, low: Array, high: Array) -> Array:
        """By how many records margins from low to high (..., q) are beyond what is known."""
        beyond = np.maximum(low - self.known[1], 0.0) + np.maximum(self.known[0] - high, 0.0)
        return np.asarray(beyond.sum(axis=-1))

    def of(self, bases: Array) -> float:
        """The same, of bases (groups,)."""
        return float(self.apart(*self._sums(self._places(bases))))

    def mended(self, bases: Array, rng: np.random.Generator) -> Array:
        """Other bases (groups,) that add up to the same: two at a time are drawn anew, as probable as they are, and
        with less and less left to chance the less the tables are apart (annealing).
        """
        at = self._places(bases)
        pairs = list(combinations(range(len(at)), 2))
        for heat in np.geomspace(*_HEATS, _SWEEPS):
            for one, other in (pairs[pair] for pair in rng.permutation(len(pairs))[:_PAIRS]):
                low, high = self._sums(at)
                if not self.apart(low, high):
                    return self._at(at)
                mine, theirs = self._together(one, other, self.choices[one][at[one]] + self.choices[other][at[other]])
                low = low + self._change(self.least, at, one, mine) + self._change(self.least, at, other, theirs)
                high = high + self._change(self.most, at, one, mine) + self._change(self.most, at, other, theirs)
                chance = self.logs[one][mine] + self.logs[other][theirs] - self.apart(low, high) / heat
                chosen = int((chance + rng.gumbel(size=len(chance))).argmax())
                at[one], at[other] = mine[chosen], theirs[chosen]
        return self._at(at)

    def _places(self, bases: Array) -> NDArray[np.int64]:
        return np.array([np.searchsorted(each, base) for each, base in zip(self.choices, bases, strict=True)])

    def _at(self, places: NDArray[np.int64]) -> Array:
        return np.array([each[at] for each, at in zip(self.choices, places, strict=True)], np.float64)

    def _sums(self, places: NDArray[np.int64]) -> tuple[Array, Array]:
        low = np.sum([each[at] for each, at in zip(self.least, places, strict=True)], axis=0)
        return low, np.sum([each[at] for each, at in zip(self.most, places, strict=True)], axis=0)

    def _together(self, one: int, other: int, total: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which choices of two groups add up to a total."""
        _, mine, theirs = np.intersect1d(
            self.choices[one], total - self.choices[other], assume_unique=True, return_indices=True
        )
        return mine, theirs

    @staticmethod
    def _change(of: list[Array], at: NDArray[np.int64], group: int, to: NDArray[np.int64]) -> Array:
        return np.asarray(of[group][to] - of[group][at[group]])
