"""Kaplan-Meier curves and the log-rank test as functions of counts."""

from __future__ import annotations

from dataclasses import dataclass
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
        """Their derivatives (k, m), exactly; 0 where a number is not defined."""
        events, censored = totals.reshape(2, self.n_groups, len(self.support))
        risk = np.cumsum((events + censored)[:, ::-1], axis=1)[:, ::-1]
        with np.errstate(all="ignore"):
            of_curves, of_test = self._slopes_of_curves(events, risk), []
            if self.test:
                of_test.append(_slopes_of_test(events, risk).reshape(2, -1))
        found = np.concatenate([of_curves.reshape(-1, len(totals)), *of_test])
        return np.where(np.isfinite(found), found, 0.0)

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling variances by the delta method, on the diagonal, shape (k, k)."""
        return smooth.precision_of(self.jacobian(totals, information), np.maximum(totals, 1.0), self.decimals)

    def _slopes_of_curves(self, events: Array, risk: Array) -> Array:
        """By group, time and statistic, in events and censored records of each group and time, (groups, times,
        statistics, 2, groups, support).

        A record more at a time is at risk then and before: f = 1 - events / risk of each of these times, of which the
        survival is the product, rises by events / risk^2, but falls by left / risk^2 where the record has the event.
        So it is with the terms of Greenwood's sum, events / (risk left).
        """
        some = risk > 0.5
        risk = np.where(some, risk, 1.0)
        left, events = np.where(some, risk - events, 1.0), np.where(some, events, 0.0)
        over = some & (left < 0.5)
        product = np.cumprod(np.where(over, 1.0, left / risk), axis=1)  # of a curve that comes to 0, but for that
        ended = np.logical_or.accumulate(over, axis=1)
        terms = np.where(over, 0.0, events / (risk * left))  # of Greenwood's sum, and what f rises by, in shares of it
        grows = np.where(over, 0.0, -events * (risk + left) / (risk * left) ** 2)
        last = np.searchsorted(self.support, self.at, side="right") - 1
        upto, before = product[:, last][:, :, None], (last >= 0)[:, None]

        def summed(other: Array, own: Array) -> Array:
            """Sums up to each time of what a record changes at those up to its own, (groups, times, 2, support)."""
            sums, every = np.cumsum(other, axis=1), np.arange(len(self.support))
            common = sums[:, np.minimum(last[:, None], every)]
            more = np.where(every <= last[:, None], (own - other)[:, None], 0.0)
            return np.where(before[:, None], np.stack([common + more, common], axis=2), 0.0)

        falls = summed(terms, np.where(some & ~over, -1.0 / risk, 0.0))
        to_0 = summed(np.where(over, events / risk**2, 0.0), np.where(over, -left / risk**2, 0.0))
        survival = upto[..., None] * np.where(ended[:, last][:, :, None, None], to_0, falls)
        root = np.sqrt(np.cumsum(terms, axis=1)[:, last])[:, :, None, None]
        of_spread = summed(grows, np.where(some, 1.0 / risk**2, 0.0))
        error = survival * root + np.where(root > 0.0, upto[..., None] * of_spread / (2.0 * root), 0.0)
        error[ended[:, last] & (last >= 0)] = 0.0
        both, every = np.ones((self.n_groups, 1, 2, 1)), np.arange(len(self.support))
        since = np.concatenate([[-1], last[:-1]])
        during = (every > since[:, None]) & (every <= last[:, None])
        by_name = {
            "survival": survival,
            "standard error": error,
            "at risk": both * (every >= np.searchsorted(self.support, self.at)[:, None])[:, None],
            "events": both * np.stack([during, np.zeros_like(during)], axis=1),
        }
        shape = (self.n_groups, len(self.at), len(self.columns), 2, self.n_groups, len(self.support))
        found = np.zeros(shape)
        for group in range(self.n_groups):
            for column, name in enumerate(self.columns):
                if name in ("at risk", "events") or some[group, 0]:  # a group without records has no curve
                    found[group, :, column, :, group] = by_name[name][group]
        return found

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


def _slopes_of_test(events: Array, risk: Array) -> Array:
    """Of chi2 and p of the log-rank test, in events and censored records of each group and time, (2, 2, groups, times).

    Where d is O - E, C its covariance and y = C^-1 d, d'y changes by 2 y'dd - y'dC y: a sum over times, each of which
    changes with what is there (by complex steps, see derivatives.py).
    """
    found = np.zeros((2, 2, *events.shape))
    compared = _compared(events[None], risk[None])
    if compared is None:
        return found
    present, difference, solved = compared
    own_events, own_risk, pull = events[present], risk[present], np.append(0.0, solved)[:, None]

    def along(events: NDArray[Any], risk: NDArray[Any]) -> NDArray[Any]:
        died, share, factor = _shares_of_times(events[None], risk[None])
        weighed = (pull**2 * share[0]).sum(axis=0) - (pull * share[0]).sum(axis=0) ** 2
        return np.asarray(2.0 * (pull * (events - share[0] * died[0])).sum(axis=0) - factor[0] * weighed)

    for at, group in enumerate(present):
        step = 1j * smooth.STEP * (np.arange(len(present)) == at)[:, None]
        of_risk = np.cumsum(along(own_events + 0j, own_risk + step).imag) / smooth.STEP
        of_events = along(own_events + step, own_risk + 0j).imag / smooth.STEP
        found[0, :, group] = of_events + of_risk, of_risk
    found[1] = -chi2.pdf(float((difference * solved).sum()), len(present) - 1) * found[0]
    return found


def _test(events: NDArray[Any], risk: NDArray[Any]) -> NDArray[Any]:
    """Chi2 and p of the log-rank test, shape (b, 2): O - E and its hypergeometric covariance (Mantel)."""
    compared = _compared(events, risk)
    if compared is None:
        return np.full((len(events), 2), np.nan, dtype=events.dtype)
    present, difference, solved = compared
    statistic = (difference * solved).sum(axis=1)
    return np.stack([statistic, chi2.sf(statistic.real, len(present) - 1)], axis=1)


def _compared(events: NDArray[Any], risk: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[Any]] | None:
    """Which groups have records (g,); of each but the first O - E, and the inverse of its covariance times that, (b, g
    - 1); None where there is no test.
    """
    present = np.flatnonzero(risk[0, :, 0].real > 0.5)
    events, risk = events[:, present], risk[:, present]
    at_event = np.flatnonzero(events[0].real.sum(axis=0) > 0.5)
    if len(present) < 2 or not len(at_event):
        return None
    first = at_event[0]
    survivors = (risk - events)[0, :, first].real.sum()
    if (risk[0, :, first].real < 0.5).any() or survivors < 0.5:
        return None
    died, share, factor = _shares_of_times(events, risk)
    difference = (events - share * died[:, None]).sum(axis=2)[:, 1:]
    weighted = share * factor[:, None]
    covariance = -np.einsum("bgt,bht->bgh", weighted, share)
    groups = np.arange(len(present))
    covariance[:, groups, groups] += weighted.sum(axis=2)
    return present, difference, np.linalg.solve(covariance[:, 1:, 1:], difference[:, :, None])[:, :, 0]


def _shares_of_times(events: NDArray[Any], risk: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Events of all groups at each time (b, times), the share of those at risk that each group has (b, groups, times),
    and the variance of events where all groups are alike, over share (1 - share) (b, times).
    """
    everybody, died = risk.sum(axis=1), events.sum(axis=1)
    share = risk / np.where(everybody.real > 0.5, everybody, 1.0)[:, None]
    others = np.where(everybody.real > 1.5, everybody - 1, 1)
    return died, share, np.where(everybody.real > 1.5, died * (everybody - died) / others, 0)
