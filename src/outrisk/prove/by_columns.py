"""A linear programme of many columns, by column generation (Gilmore and Gomory 1961; Dantzig and Wolfe 1960).

A solution has no more kinds of records than there are constraints, of perhaps a hundred times as many. So a programme
of some columns is solved, and those whose prices by its duals say that they would improve it are added, until none
does: then the solution is one of the whole programme, and its duals prove it, as those of a programme solved at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import LinearConstraint, OptimizeResult, linprog

from outrisk.problem.blocks import Array
from outrisk.prove.budget import Budget

MANY, KINDS = 10_000, 100  # columns, and kinds of records, from which it is quicker (benchmarks/amounts.py --columns)
WIDE = 4  # columns for each constraint from which it is so with fewer kinds, too (benchmarks/certain.py few)
_AT_ONCE = 3  # columns added of each group
_FIRST = 5  # kinds of each group to begin with
_NOTHING = 1e-7  # what HiGHS takes for 0: gains, and what constraints are broken by

Positions = NDArray[np.int64]


class ByColumns:
    """Constraints of `rows`, and 0 <= x <= most, under many objectives; columns that were needed once are kept.

    The first groups * kinds columns are counts of records, group by group; then come those of people outside the
    register, up to `records` columns, and helpers. `known`: columns of records in a data set that fits, or None.
    """

    def __init__(
        self, rows: LinearConstraint, most: Array, groups: int, kinds: int, records: int, known: Positions | None
    ) -> None:
        self.by_column, self.most = sparse.csc_array(rows.A), most
        low, high = np.asarray(rows.lb), np.asarray(rows.ub)
        self.equal = low == high
        self.upper, self.lower = (np.isfinite(ends) & ~self.equal for ends in (high, low))
        self.ends = np.concatenate([high[self.upper], -low[self.lower]]), high[self.equal]
        self.shape = groups, kinds
        self.here = np.ones(len(most), np.bool_)
        counts = self.here[: groups * kinds].reshape(self.shape)
        counts[:] = False
        counts[:, np.unique(np.linspace(0, kinds - 1, _FIRST).astype(int))] = True
        if known is not None:
            self.here[groups * kinds : records] = False
            self.here[known] = True
        self.fits = known is not None  # whether the columns here have a solution

    def maximise(self, objective: Array, budget: Budget) -> OptimizeResult:
        """As `scipy.optimize.milp`: x of all columns and `status` 0; 2 where nothing fits; 1 where it gave up."""
        while not budget.over:
            some = np.flatnonzero(self.here)
            found, paid = self._solved(some, -objective[some], budget, elastic=not self.fits)
            if found.status != 0:
                break
            gains = (objective if self.fits else 0.0) - paid
            if not self.fits and found.fun <= _NOTHING:
                self.fits = True
            elif not self._widened(gains):
                if not self.fits:
                    return OptimizeResult(x=None, status=2)
                x = np.zeros(len(self.most))
                x[some] = found.x
                return OptimizeResult(x=x, status=0, fun=found.fun)
        return OptimizeResult(x=None, status=1)

    def _solved(self, some: Positions, cost: Array, budget: Budget, elastic: bool) -> tuple[OptimizeResult, Array]:
        """The programme of some columns, and what each column of the whole costs by its duals.

        elastic: constraints may be broken, at a price each, in the place of `cost`.
        """
        part = sparse.csr_array(self.by_column[:, some])
        under, even = sparse.vstack([part[self.upper], -part[self.lower]]), part[self.equal]
        most, (b_under, b_even) = self.most[some], self.ends
        if elastic:
            free = sparse.eye_array(under.shape[0]), sparse.eye_array(even.shape[0])
            under = sparse.hstack([under, -free[0], sparse.csr_array((under.shape[0], 2 * even.shape[0]))])
            even = sparse.hstack([even, sparse.csr_array((even.shape[0], free[0].shape[0])), -free[1], free[1]])
            price = 1.0 / (1.0 + np.abs(np.concatenate([b_under, b_even, b_even])))
            cost, most = np.concatenate([0.0 * cost, price]), np.concatenate([most, np.full(len(price), np.inf)])
        found = linprog(
            cost,
            *((under, b_under) if len(b_under) else (None, None)),
            *((even, b_even) if len(b_even) else (None, None)),
            bounds=np.column_stack([np.zeros(len(most)), most]),
            method="highs",
            options=budget.clock,
        )
        budget.work -= under.nnz + even.nnz
        paid = np.zeros(len(self.equal))
        if found.status == 0:
            ends = int(self.upper.sum())
            paid[self.upper] -= found.ineqlin.marginals[:ends]
            paid[self.lower] += found.ineqlin.marginals[ends:]
            paid[self.equal] -= found.eqlin.marginals
        return found, np.asarray(paid @ self.by_column)

    def _widened(self, gains: Array) -> bool:
        """Take in the columns of each group, and of the others, that gain most; whether there was any."""
        gains = np.where(self.here | (self.most <= 0), 0.0, gains)
        groups, kinds = self.shape
        counts, others = gains[: groups * kinds].reshape(self.shape), gains[groups * kinds :]
        best = np.argsort(-counts, axis=1)[:, :_AT_ONCE] + kinds * np.arange(groups)[:, None]
        more = groups * kinds + np.argsort(-others)[: _AT_ONCE * groups]
        chosen = np.concatenate([best.ravel(), more])
        chosen = chosen[gains[chosen] > _NOTHING]
        self.here[chosen] = True
        return len(chosen) > 0
