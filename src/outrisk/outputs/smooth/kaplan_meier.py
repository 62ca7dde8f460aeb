"""Kaplan-Meier curves and the log-rank test as functions of counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth


@dataclass(frozen=True, eq=False)
class Curves:
    """Kaplan-Meier and log-rank from totals (2, groups, times), flat: events, and censored records, at every time.

    Numbers by group, time (`at`, of those in `support`) and statistic (`columns`); chi2 and p of the `test` last.
    """

    n_groups: int
    support: Array
    at: Array
    columns: tuple[str, ...]
    test: bool
    decimals: NDArray[np.int64]

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,), exactly; NaN where they are undefined."""
        with np.errstate(all="ignore"):
            return np.asarray(self._numbers(totals[None, :])[0], dtype=float)

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m), exactly; 0 for numbers that follow from others, which are drawn to instead."""
        slopes = smooth.derivatives(self._numbers, totals)
        slopes[self._follow] = 0.0
        return slopes

    @cached_property
    def _follow(self) -> NDArray[np.bool_]:
        """Numbers (k,) that events and numbers at risk at every time determine, where these are published.

        They are printed to more digits than the counts, so they would be met first, by counts that are not the
        published ones.
        """
        whole = {"at risk", "events"} <= set(self.columns) and np.isin(self.support, self.at).all()
        follow = [whole and column not in ("at risk", "events") for column in self.columns]
        return np.array(follow * (self.n_groups * len(self.at)) + [whole] * (2 * self.test))

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling variances by the delta method, on the diagonal, shape (k, k)."""
        slopes = smooth.derivatives(self._numbers, totals)
        return smooth.precision_of(slopes, np.maximum(totals, 1.0), self.decimals)

    def _numbers(self, totals: NDArray[Any]) -> NDArray[Any]:
        shape = (len(totals), 2, self.n_groups, len(self.support))
        events, censored = np.moveaxis(totals.reshape(shape), 1, 0)
        risk = np.cumsum((events + censored)[:, :, ::-1], axis=2)[:, :, ::-1]
        found = self._curves(events, risk).reshape(len(totals), -1)
        return np.hstack([found, _test(events, risk)]) if self.test else found

    def _curves(self, events: NDArray[Any], risk: NDArray[Any]) -> NDArray[Any]:
        """By group, time and statistic, shape (b, groups, times, statistics)."""
        some = risk.real > 0.5
        left = np.where(some, risk - events, 1.0)
        over = some & (left.real < 0.5)  # everybody at risk had the event
        survival = np.cumprod(np.where(some, left / np.where(some, risk, 1.0), 1.0), axis=2)
        terms = np.where(some & ~over, events / (np.where(some, risk, 1.0) * np.where(over, 1.0, left)), 0.0)
        spread = np.cumsum(terms, axis=2)
        error = survival * np.sqrt(np.where(spread.real > 0, spread, 0.0))
        error = np.where(np.logical_or.accumulate(over, axis=2), np.nan, error)
        empty = ~some[:, :, :1]
        at, support = self.at, self.support
        last = np.searchsorted(support, at, side="right")  # 0: before the first time
        gone = np.cumsum(events, axis=2)
        by_name = {
            "survival": np.where(empty, np.nan, _from(1.0, survival)[:, :, last]),
            "standard error": np.where(empty, np.nan, _from(0.0, error)[:, :, last]),
            "at risk": _from(0.0, risk[:, :, ::-1])[:, :, ::-1][:, :, np.searchsorted(support, at)],
            "events": np.diff(_from(0.0, gone)[:, :, last], axis=2, prepend=0.0),
        }
        columns = [by_name[statistic] for statistic in self.columns]
        return np.stack(columns, axis=3) if columns else np.zeros((len(events), 0))


def _from(start: float, curve: NDArray[Any]) -> NDArray[Any]:
    """A curve (b, groups, times) with its value before the first time in front."""
    return np.concatenate([np.full((*curve.shape[:2], 1), start, dtype=curve.dtype), curve], axis=2)


def _test(events: NDArray[Any], risk: NDArray[Any]) -> NDArray[Any]:
    """Chi2 and p of the log-rank test, shape (b, 2): O - E and its hypergeometric covariance (Mantel)."""
    nothing = np.full((len(events), 2), np.nan, dtype=events.dtype)
    present = risk[0, :, 0].real > 0.5
    events, risk = events[:, present], risk[:, present]
    at_event = np.flatnonzero(events[0].real.sum(axis=0) > 0.5)
    if present.sum() < 2 or not len(at_event):
        return nothing
    first = at_event[0]
    survivors = (risk - events)[0, :, first].real.sum()
    if (risk[0, :, first].real < 0.5).any() or survivors < 0.5:
        return nothing
    everybody, died = risk.sum(axis=1), events.sum(axis=1)
    share = risk / np.where(everybody.real > 0.5, everybody, 1.0)[:, None]
    factor = np.where(
        everybody.real > 1.5, died * (everybody - died) / np.where(everybody.real > 1.5, everybody - 1, 1), 0
    )
    difference = (events - share * died[:, None]).sum(axis=2)[:, 1:]
    weighted = share * factor[:, None]
    covariance = -np.einsum("bgt,bht->bgh", weighted, share)
    groups = np.arange(len(share[0]))
    covariance[:, groups, groups] += weighted.sum(axis=2)
    solved = np.linalg.solve(covariance[:, 1:, 1:], difference[:, :, None])[:, :, 0]
    statistic = (difference * solved).sum(axis=1)
    freedom = len(groups) - 1
    p = chi2.sf(statistic.real, freedom).astype(events.dtype)
    if np.iscomplexobj(p):
        p.imag = -chi2.pdf(statistic.real, freedom) * statistic.imag
    return np.stack([statistic, p], axis=1)
