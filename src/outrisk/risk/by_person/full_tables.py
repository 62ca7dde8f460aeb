"""What limits have to allow for where a release follows its people, from the full tables of keys and target.

With d a person's score by the release they are in less that by the other one, the crossed marginal risk is a quadratic
form in how the two sides differ by chance: the same people are released and scored. Where a release follows its people,
its variance is therefore twice that of sampling the people with the releases as they are: with eigenvalues l of how
scores answer to people, 2 sum l^2 / n^2 against sum l^2 / n^2 (degenerate U-statistics: Serfling, Approximation
Theorems of Mathematical Statistics, 1980, 5.5.2). And at a key set of few cells the sides may chance to be alike: then
d is near 0 for everybody, and so is an error taken from it. Both are made good by what the full table of keys and
target has with people dealt to sides at random, times the share of that table's contrasts that are the release's, too;
all of it where that table happens to have none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from outrisk.risk.coding.classes import Equivalence, Positions

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
_DEALS, _LEAST_DEALS = 40, 10
_AT_ONCE = 400_000  # of patterns and deals: of more patterns there are fewer deals, and tables of many cells need few
_SCORES = 4  # those of `record_scores`, in their order; what is estimated of amounts has no table


class FullTables:
    """The contrasts d that full tables have, of the sides as they are and dealt anew: one key set after another."""

    def __init__(
        self, members: Floats, pattern: Positions, mine: int, group: csr_array | None, n_mean: int, tau: float
    ) -> None:
        """members: people of each side by pattern, (2, n_patterns); pattern: everybody's, the one side's first. group:
        records of each pattern (columns) that go together (rows), the first `mine` rows those of the one side; None:
        each is for itself. n_mean: how many of the sets are in the mean.
        """
        deals = int(np.clip(_AT_ONCE // members.shape[1], _LEAST_DEALS, _DEALS))
        self._sides = _dealt(members, pattern, mine, group, deals, np.random.default_rng(_DEALS))
        self._group, self._n_mean, self._tau = group, n_mean, tau
        self._over_sets = np.zeros((1 + deals, members.shape[1], _SCORES), dtype=np.float32)

    def least(self, equivalence: Equivalence, people: str, release: Singles, k: int) -> Floats:
        """Least variance of the marginal risk at the key set number k, (n_measures,); release (n_patterns, n_measures):
        the contrasts of its synthetic data.
        """
        table = self._contrasts(equivalence, equivalence.records[people])
        if k < self._n_mean:
            self._over_sets += table / np.float32(self._n_mean)
        return self._least(table, release)

    def of_mean(self, release: Singles) -> Floats:
        """The same of the mean over key sets, once all of them have been asked for."""
        return self._least(self._over_sets, release)

    def _contrasts(self, equivalence: Equivalence, at: Positions) -> Singles:
        """(1 + deals, n_patterns, _SCORES); at (n_patterns,): the cell of each."""
        of_class, of_target = equivalence.cell_class, equivalence.cell_target
        counts = _summed(self._sides, at, len(of_class))  # deals, sides, cells
        totals = _summed(counts, of_class)[..., of_class]
        met = totals > 0
        share = np.divide(counts, totals, out=np.zeros(counts.shape), where=met)
        by_target = _summed(counts, of_target)[..., of_target]
        existence = np.where(met, by_target / counts.sum(axis=-1, keepdims=True), 0.0)
        found = np.empty((len(counts), len(at), _SCORES), dtype=np.float32)
        for place, score in enumerate((share - existence, existence, share, 1.0 * (met & (share >= self._tau)))):
            found[..., place] = ((score[:, 0] - score[:, 1]) / 2)[:, at]
        return found

    def _least(self, table: Singles, release: Singles) -> Floats:
        weight = self._sides[0].sum(axis=0)
        own, theirs = (each - weight @ each / weight.sum() for each in (table[0], release[:, :_SCORES]))
        square = weight @ own.astype(float) ** 2
        share = np.divide(weight @ (own * theirs), square, out=np.ones(_SCORES), where=square > 0)
        found = np.zeros(release.shape[1])
        found[:_SCORES] = 2.0 * np.clip(share, 0.0, 1.0) * self._sampling(table[1:], weight)
        return found

    def _sampling(self, dealt: Singles, weight: Floats) -> Floats:
        """Variance of sampling the people with the tables as they are, mean over deals, (_SCORES,)."""
        n = weight.sum()
        if self._group is None:
            squares = weight @ np.square(dealt, dtype=float).mean(axis=0) - n * ((weight @ dealt / n) ** 2).mean(axis=0)
        else:
            apart = dealt - (weight @ dealt / n)[:, None]
            squares = np.mean([np.square(self._group @ each).sum(axis=0) for each in apart], axis=0)
        return np.asarray(squares / n * (1.0 / self._sides[0].sum(axis=1)).sum())


def _summed(numbers: Floats, of: Positions, many: int | None = None) -> Floats:
    """Sums over the last axis, of those that have the same number in `of`."""
    to = csr_array((np.ones(len(of)), (of, np.arange(len(of)))), shape=(many or int(of.max()) + 1, len(of)))
    return np.asarray((to @ numbers.reshape(-1, len(of)).T).T.reshape(*numbers.shape[:-1], -1))


def _dealt(
    members: Floats, pattern: Positions, mine: int, group: csr_array | None, deals: int, rng: np.random.Generator
) -> Floats:
    """People of each side by pattern as they are, then dealt to sides as large, (1 + deals, 2, n_patterns)."""
    everybody, found = members.sum(axis=0), [members]
    for _ in range(deals):
        if group is None:
            first = np.bincount(rng.permutation(pattern)[: int(members[0].sum())], minlength=len(everybody))
        else:
            first = np.asarray(group[rng.permutation(group.shape[0])[:mine]].sum(axis=0))
        found.append(np.stack([first, everybody - first]))
    return np.array(found, dtype=float)
