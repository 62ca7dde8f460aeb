"""Claims refuted near a data set that fits: some groups of people are let go at a time, all others stay as they are.

A programme of all groups may take minutes, and says of a claim about few people no more than one of few groups that has
room for it (large neighbourhood search: Shaw, CP 1998). What is found is a data set that fits; where nothing is found,
nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint

from outrisk.problem.blocks import Array
from outrisk.prove.budget import Budget
from outrisk.prove.programme import Programme
from outrisk.quiet_milp import milp

ENTRIES = 80_000  # entries of the constraints on counts that are let go at a time
_SEEDS, _STEPS = 10, 2  # claims that groups are chosen around; steps from group to group over constraints
_IDLE = 10  # times in a row without a claim refuted after which it is given up
_QUICKER = 4  # an entry takes so much less time than in a programme of all groups

Positions = NDArray[np.int64]
Claims = NDArray[np.bool_]  # (G, levels): values of groups


class Nearby:
    """Around a data set that fits, x (columns,), of a programme in which no count need be whole; code (kinds,): values.

    What is let go, or stays, is a place: a group of the register, or a kind of people outside it.
    """

    def __init__(self, of: Programme, x: Array, code: Positions, budget: Budget, seed: int) -> None:
        self.of, self.x, self.code, self.budget = of, x, code, budget
        self.by_column, self.sums = sparse.csc_array(of.matrix), of.matrix @ x
        self.rng = np.random.default_rng(seed)
        self.groups, outside = len(of.sizes), of.n_columns - of.n_counts
        place = np.concatenate([np.repeat(np.arange(self.groups), of.n_kinds), self.groups + np.arange(outside)])
        self.entries = np.bincount(place, np.diff(self.by_column.indptr)[: of.n_columns])  # of each place
        counts = sparse.csr_array(self.by_column[:, : of.n_columns])
        each = (np.ones(counts.nnz), place[counts.indices], counts.indptr)
        self.about = sparse.csr_array(each, shape=(counts.shape[0], len(self.entries)))  # which constraints meet which
        self.about.sum_duplicates()
        self.about.data[:] = 1.0
        self.small = 1.0 / np.maximum(np.diff(self.about.indptr), 1)

    def refute(self, open_: Callable[[], Claims], see: Callable[[Array, Positions], None]) -> None:
        """Show data sets as long as they refute claims: `see` takes the counts of some groups, and these.

        `open_` says which claims are left, given what was seen.
        """
        idle, left = 0, int(open_().sum())
        while left and idle < _IDLE and not self.budget.over:
            places = self._around(np.flatnonzero(open_().any(axis=1)))
            free = places[places < self.groups]
            counts = self._most_claims(free, places[len(free) :], open_()[free])
            if counts is not None:
                see(counts, free)
            before, left = left, int(open_().sum())
            idle = 0 if left < before else idle + 1

    def _around(self, groups: Positions) -> Positions:
        """Places to let go: half near some of these groups, in most small constraints with them, half any others."""
        near, seeds = np.zeros(len(self.entries)), self.rng.choice(groups, min(_SEEDS, len(groups)), replace=False)
        near[seeds] = 1.0
        for _ in range(_STEPS):
            near = self.about.T @ (self.small * (self.about @ near))
        near[seeds] = np.inf
        order = np.argsort(-near * (1.0 + 1e-3 * self.rng.random(len(near))), kind="stable")
        inside = order < self.groups
        parts = [part for part in (order[inside], order[~inside]) if len(part)]
        return np.concatenate([self._some(part, ENTRIES / len(parts)) for part in parts])

    def _some(self, order: Positions, entries: float) -> Positions:
        """Places with so many entries: half the first of them, half any others."""
        first = self._within(order, entries / 2)
        return np.sort(np.append(first, self._within(self.rng.permutation(order[len(first) :]), entries / 2)))

    def _within(self, order: Positions, entries: float) -> Positions:
        return order[: max(int(np.searchsorted(np.cumsum(self.entries[order]), entries, side="right")), 1)]

    def _most_claims(self, free: Positions, outside: Positions, claims: Claims) -> Array | None:
        """Counts (free * kinds,) by which as many claims as can be are refuted by one person each."""
        of_groups = (free[:, None] * self.of.n_kinds + np.arange(self.of.n_kinds)).ravel()
        columns = np.concatenate([of_groups, outside - self.groups + self.of.n_counts])
        part = sparse.csr_array(self.by_column[:, columns])
        rows = np.flatnonzero(np.diff(part.indptr))
        part, rest = part[rows], (self.sums - part @ self.x[columns])[rows]
        number = np.where(claims, np.cumsum(claims).reshape(claims.shape) - 1, -1)[:, self.code].ravel()  # of a count
        k, against = int(claims.sum()), np.flatnonzero(number >= 0)
        refuting = sparse.csr_array((np.ones(len(against)), (number[against], against)), shape=(k, len(columns)))
        matrix = sparse.block_array([[part, None], [-refuting, sparse.eye_array(k)]], format="csr")
        found = milp(
            np.concatenate([np.zeros(len(columns)), -np.ones(k)]),
            constraints=LinearConstraint(
                matrix,
                np.concatenate([self.of.low[rows] - rest, np.full(k, -np.inf)]),
                np.concatenate([self.of.high[rows] - rest, np.zeros(k)]),
            ),
            bounds=Bounds(0.0, np.concatenate([self.of.most[columns], np.ones(k)])),
            options=self.budget.clock,
        )
        self.budget.charge(matrix.nnz // _QUICKER, found)
        return None if found.x is None else np.asarray(found.x[: len(of_groups)])
