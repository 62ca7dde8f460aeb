"""One set of constraints under many objectives, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult

from outrisk.errors import ProveError
from outrisk.problem.blocks import Array
from outrisk.prove.budget import Budget
from outrisk.prove.by_columns import KINDS, MANY, WIDE, ByColumns
from outrisk.prove.contradiction import contradiction
from outrisk.prove.kinds_of_people import Further
from outrisk.prove.programme import Programme
from outrisk.quiet_milp import INFEASIBLE, milp

ONE = 1.0 - 1e-4  # a number of people below this is 0
_DIAGNOSIS = 60.0  # seconds in which to say which numbers contradict each other
_ROWS = 5_000  # constraints beyond which a programme counts as more work than its entries
_EXHAUSTED = 4  # of `milp`'s statuses: no branches are left to try
_FITS = 1e-7  # by how much of its ends a constraint may be broken by what is known to fit
_BRANCHED = 1_000_000  # entries of the constraints beyond which helpers are not whole either: one programme of an ACRO
# session of 37 outputs, 1.8 million entries and 72 helpers of quartiles, took longer than ten minutes, without 23 s
_MIXED = 600  # columns with counts as whole numbers where coefficients are not: means, percentages, regressions

State = Literal["complete", "stopped early"]
Extra = tuple[sparse.csr_array, Array, Array, int]  # rows, their ends, and how many 0/1 helpers they have behind


class Solver:
    """Constraints of a programme, or `rows` in their place, under many objectives.

    Counts are whole numbers in it up to the programme's `integer` columns, or, where the coefficients are not, up to
    600: beyond, it may take for ever. 0/1 helpers are, but in a large programme. `whole`: up to `integer` whatever the
    coefficients. `relaxes`: no longer once a programme found nothing in all its branches, as the next ones would not
    either.
    """

    def __init__(
        self,
        of: Programme,
        budget: Budget,
        rows: Extra | None = None,
        solved: int = 0,
        whole: bool = False,
        relaxes: bool = False,
    ) -> None:
        self.of, self.budget, self.solved = of, budget, solved
        self.state: State = "complete"
        self.relaxes = relaxes
        matrix, low, high, helpers = rows or (of.matrix, of.low, of.high, 0)
        self.rows = [LinearConstraint(matrix, low, high)]
        self.most = np.concatenate([of.most, np.ones(helpers)])
        self.width = len(self.most)
        self.integer = np.ones(self.width, dtype=np.int64)
        even = bool((of.matrix.data == np.round(of.matrix.data)).all())
        if len(self.most) > (of.integer if even or whole else min(of.integer, _MIXED)):
            self.integer[: of.n_columns if matrix.nnz <= _BRANCHED else None] = 0
        self.known: NDArray[np.int64] | None = None  # columns of a data set that is known to fit; they only save time

    @property
    def work(self) -> int:
        """What one programme takes of the budget: entries of the constraints, and with many of these in proportion
        more, as the simplex takes more steps.
        """
        entries = sum(int(each.A.nnz) for each in self.rows)
        return int(entries * max(1.0, sum(each.A.shape[0] for each in self.rows) / _ROWS))

    @property
    def whole(self) -> bool:
        """Whether counts are whole numbers in the programme itself."""
        return bool(self.integer[0])

    def maximise(self, objective: Array) -> OptimizeResult:
        """The programme with this objective (the first columns); ProveError where no data set fits at all."""
        self.solved += 1
        worth = np.zeros(len(self.most))
        worth[: len(objective)] = objective
        if self.by_columns is not None:
            found = self.by_columns.maximise(worth, self.budget)
            if found.status != 1 or self.budget.over:
                return self._fitting(found)
        found = self._milp(worth, self.budget.options(self.work))
        if found.status == INFEASIBLE and len(self.rows) > 1:  # which HiGHS may find where counts were ruled out
            found = self._milp(worth, self.budget.options(self.work) | {"presolve": False})
        exhausted = self.whole and found.status == _EXHAUSTED and found.x is None
        self.budget.charge(self.work, found, exhausted)
        if exhausted and self.relaxes:
            self.integer[:] = 0
            return self.maximise(objective)
        return self._fitting(found)

    def completed(self, counts: Array) -> Array | None:
        """All columns of a data set of which the first, the counts of the register's people, are known, which is then
        `known` to fit; None where it fits not.
        """
        n = len(counts)
        if (counts > self.most[:n]).any():
            return None
        if n < len(self.most):
            rest = np.concatenate([counts, np.zeros(len(self.most) - n)])
            most = np.concatenate([counts, self.most[n:]])
            found = self._milp(np.zeros(len(most)), self.budget.options(self.work), Bounds(rest, most))
            self.budget.charge(self.work, found)
            x = None if found.x is None else np.asarray(found.x)
        else:
            x = None if self.of.broken(counts, _FITS).any() else counts
        if x is not None:
            self.known = np.flatnonzero(x[: self.of.n_columns] > 0)
        return x

    def _milp(self, worth: Array, options: dict[str, float], bounds: Bounds | None = None) -> OptimizeResult:
        bounds = bounds or Bounds(0.0, self.most)
        return milp(-worth, constraints=self.rows, bounds=bounds, integrality=self.integer, options=options)

    @cached_property
    def by_columns(self) -> ByColumns | None:
        """For programmes of many columns, of many kinds of records or few constraints, in which nothing is whole."""
        of, many = self.of, len(self.most)
        wide = of.n_kinds >= KINDS or many >= WIDE * of.matrix.shape[0]
        if many < MANY or not wide or self.integer.any() or len(self.rows) > 1:
            return None
        return ByColumns(self.rows[0], self.most, len(of.sizes), of.n_kinds, of.n_columns, self.known)

    def _fitting(self, found: OptimizeResult) -> OptimizeResult:
        if found.status == INFEASIBLE:
            raise ProveError(contradiction(self.of, _DIAGNOSIS).sentence)
        return found

    def bound(self, found: OptimizeResult) -> float:
        """What no data set that fits exceeds; infinite where the budget did not do to find one."""
        if self.integer.any():
            dual = found.mip_dual_bound
            return -float(dual) if dual is not None and np.isfinite(dual) else np.inf
        return -float(found.fun) if found.status == 0 else np.inf

    def exclude(self, x: Array) -> None:
        """Rule out these counts: then another count is larger than here, and a helper says of which column."""
        n, width, columns = self.of.n_columns, len(self.most), np.flatnonzero(self.of.most > 0)
        columns = columns[columns < n]
        more = np.round(x[columns]) + 1.0
        columns, more = columns[more <= self.of.most[columns]], more[more <= self.of.most[columns]]
        k = len(columns)
        helper = width + np.arange(k)
        rows, at = np.arange(k), np.ones(k)
        above = sparse.csr_array(
            (np.concatenate([at, -more]), (np.tile(rows, 2), np.concatenate([columns, helper]))), shape=(k, width + k)
        )
        some = sparse.csr_array((at, (np.zeros(k, np.int64), helper)), shape=(1, width + k))
        self._widen(k)
        self.rows += [LinearConstraint(above, 0.0, np.inf), LinearConstraint(some, 1.0, np.inf)]

    @property
    def helpers(self) -> int:
        """Columns that ruling counts out has added."""
        return len(self.most) - self.width

    def take_back(self) -> None:
        """Let counts be found again that were ruled out: each makes all that follow slower."""
        self.rows, self.most, self.integer = self.rows[:1], self.most[: self.width], self.integer[: self.width]
        self._widen(0)

    def _widen(self, helpers: int) -> None:
        self.most = np.concatenate([self.most, np.ones(helpers)])
        self.integer = np.concatenate([self.integer, np.ones(helpers, np.int64)])
        for each in self.rows:
            each.A = sparse.csr_array(
                (each.A.data, each.A.indices, each.A.indptr), shape=(each.A.shape[0], len(self.most))
            )


def only(of: Programme, outputs: Sequence[str]) -> Programme:
    """The programme of some outputs, all else left as it is; nothing ties further tables that none of them is about."""
    kept = np.array([origin in {"", *outputs} for origin in of.origin], np.bool_)
    untied = np.zeros(of.matrix.shape[1])
    for each in idle(of, outputs):
        untied[each.columns] = 1.0
    return of.some(kept & (abs(of.matrix) @ untied == 0))


def idle(of: Programme, outputs: Sequence[str]) -> list[Further]:
    """Further tables that no output of these, and no rule, is about, nor a table behind them."""
    needed, found = set[int](), list[Further]()
    for each in reversed(of.further_tables):
        ruled = bool((of.most[each.columns] == 0).any())
        if ruled or each.columns.start in needed or not {*outputs}.isdisjoint(each.outputs):
            needed.add(each.parent.start)
        else:
            found.append(each)
    return found
