"""Proportions, their standard errors and limits as functions of events and records by group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.binomial_limits import BinomialLimits
from outrisk.outputs.tables.person_time import ENDS
from outrisk.problem.formulas import Formula
from outrisk.problem.released import Bounds

_STEP = 0.01  # events or records by which slopes are taken
_LEAST = 0.5  # records, from which a group has some


@dataclass(frozen=True, eq=False)
class ProportionsOfTotals:
    """Published numbers row by row, in each those `shown`, from totals: events (all rows,), then records (groups,).

    rows (r,): those that are published; group (r,): the group of each.
    """

    limits: BinomialLimits
    shown: tuple[str, ...]
    per: float
    rows: NDArray[np.int64]
    group: NDArray[np.int64]
    n_rows: int
    decimals: NDArray[np.int64]

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,), exactly; NaN where they are undefined."""
        return self._of(*self._split(totals)).ravel()

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m) by differences; 0 where a number is not defined. A number depends on its row."""
        a, n = self._split(totals)
        found = np.zeros((len(self.rows), len(self.shown), len(totals)))
        each = np.arange(len(self.rows))
        ends = np.maximum(a - _STEP, 0.0), np.minimum(a + _STEP, n)
        for column, less, more, apart in (
            (self.rows, (ends[0], n), (ends[1], n), ends[1] - ends[0]),
            (self.n_rows + self.group, (a, np.maximum(n - _STEP, a)), (a, n + _STEP), np.minimum(_STEP, n - a) + _STEP),
        ):
            with np.errstate(all="ignore"):
                slope = (self._of(*more) - self._of(*less)) / apart[:, None]
            found[each, :, column] = np.where(np.isfinite(slope), slope, 0.0)
        return found.reshape(-1, len(totals))

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling variances by the delta method, on the diagonal, shape (k, k)."""
        return smooth.precision_of(self.jacobian(totals, information), np.maximum(totals, 1.0), self.decimals)

    def _split(self, totals: Array) -> tuple[Array, Array]:
        return totals[self.rows], totals[self.n_rows + self.group]

    def _of(self, a: Array, n: Array) -> Array:
        """Statistics (r, statistics) of events among n (r,)."""
        some = n > _LEAST
        n = np.where(some, n, 1.0)
        found = {"events": a, "n": np.where(some, n, 0.0)}
        found["proportion"] = np.where(some, self.per * a / n, np.nan)
        if "standard error" in self.shown:
            found["standard error"] = np.where(some, self.per * self.limits.error(a, n), np.nan)
        if ENDS[0] in self.shown:
            ends = np.where(some[:, None], self.per * self.limits.of(np.clip(a, 0.0, n), n), np.nan)
            found |= dict(zip(ENDS, ends.T, strict=True))
        return np.stack([found[each] for each in self.shown], axis=1)


@dataclass(frozen=True, eq=False)
class Quotients:
    """Published numbers that are `per` times events over the records of their group.

    Totals: events (rows,), then records (groups,). group (rows,): that of each.
    """

    per: float
    group: NDArray[np.int64]
    differentiable = True

    def _split(self, totals: Array) -> tuple[Array, Array]:
        return totals[: len(self.group)], totals[len(self.group) :]

    def numbers(self, totals: Array) -> Array:
        """The quotients (rows,); NaN of nothing."""
        a, n = self._split(totals)
        below = n[self.group]
        return np.asarray(self.per * np.divide(a, below, out=np.full(len(a), np.nan), where=below > _LEAST))

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """Ranges of the events while the records stay as they are; of records one at least where a number is known."""
        a, n = self._split(totals)
        some = np.zeros(len(n), np.bool_)
        some[self.group[np.isfinite(low) | np.isfinite(high)]] = True
        unit = self.per / np.maximum(n, 1.0)[self.group]
        of = np.zeros(len(n), np.int64)
        of[self.group] = np.arange(len(a))
        return Bounds(
            np.concatenate([low / unit, np.where(some, 1.0, -np.inf)]),
            np.concatenate([high / unit, np.full(len(n), np.inf)]),
            np.concatenate([unit, np.zeros(len(n))]),
            np.concatenate([np.arange(len(a)), of]),
            np.maximum(totals, 1.0),
        )

    def formulas(self, n_numbers: int) -> list[Formula]:
        """Each the ratio of two totals."""
        return [
            Formula("ratio", np.array([at]), np.array([n_numbers + group]), scale=self.per, least=_LEAST)
            for at, group in enumerate(self.group)
        ]
