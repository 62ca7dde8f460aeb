"""Standard errors and confidence limits of a proportion as functions of the events and of all records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from outrisk.outputs.base import Array

ProportionInterval = Literal[
    "exact", "wilson", "wilson-continuity", "normal", "logit", "agresti-coull", "jeffreys"
]  # the first is the usual one
Divisor = Literal["n", "n-1"]
Distribution = Literal["normal", "t"]
BY_ERROR = ("normal", "logit")  # intervals that are made of the standard error


@dataclass(frozen=True)
class BinomialLimits:
    """Standard errors, and limits at `level`, of a proportion p = events / n.

    exact: by the tails of a binomial variable (Clopper and Pearson, Biometrika 26, 1934). wilson: by the score test
    (Wilson, JASA 22, 1927), as R's prop.test without correction; wilson-continuity: with Yates's, as there by default.
    normal: p plus or minus its standard error times a quantile (Wald's). logit: the same on the log odds, with none at
    0 and 1. agresti-coull: Wald's with z^2 / 2 more events of z^2 more records (American Statistician 52, 1998).
    jeffreys: quantiles of a beta variable, from 0 without events and to 1 where all are (Brown, Cai and DasGupta,
    Statistical Science 16, 2001). Limits lie from 0 to 1. divisor: of the variance p (1 - p), 'n', or 'n-1' as of a
    sample mean; distribution of quantiles, 't' with n - 1 degrees of freedom: of BY_ERROR.
    """

    interval: ProportionInterval
    level: float
    divisor: Divisor = "n"
    distribution: Distribution = "normal"

    @property
    def tail(self) -> float:
        """The share beyond either limit."""
        return (1.0 - self.level) / 2.0

    def error(self, events: ArrayLike, n: ArrayLike) -> Array:
        """Standard error (...) of events among n (...); NaN where nothing is divided by."""
        a, n = np.asarray(events, dtype=np.float64), np.asarray(n, dtype=np.float64)
        below = n - (self.divisor == "n-1")
        with np.errstate(all="ignore"):
            p = np.clip(a / n, 0.0, 1.0)
            return np.where((n > 0.0) & (below > 0.0), np.sqrt(p * (1.0 - p) / below), np.nan)

    def of(self, events: ArrayLike, n: ArrayLike) -> Array:
        """Lower and upper limits (..., 2) of events among n (...); NaN where there are none."""
        a, n = np.broadcast_arrays(np.asarray(events, dtype=np.float64), np.asarray(n, dtype=np.float64))
        with np.errstate(all="ignore"):
            found = np.stack([self._end(a, n, False), self._end(a, n, True)], axis=-1)
        return np.where((n > 0.0)[..., None], found, np.nan)

    def reaches(self, upper: bool, events: Array, n: Array, bound: Array | float) -> NDArray[np.bool_]:
        """Whether a limit of events among n (...) is `bound` (...) at least, some above 0; without its quantiles, where
        they are slow to find. False where there is none.
        """
        shapes = self._shapes(events, n, upper)
        with np.errstate(all="ignore"):
            if shapes is None:
                return np.asarray(self._end(events, n, upper) >= bound)
            at = np.clip(bound, 0.0, 1.0)
            below = special.betainc(*(np.maximum(each, 1e-300) for each in shapes), at)
            short = np.asarray(below <= (1.0 - self.tail if upper else self.tail))
            end = (events >= n) if upper else (events <= 0.0)
            return np.where(end, np.asarray((1.0 if upper else 0.0) >= bound), short & np.asarray(bound <= 1.0))

    def _shapes(self, a: Array, n: Array, upper: bool) -> tuple[Array, Array] | None:
        """Of the beta variable that a limit is a quantile of; None of other intervals."""
        if self.interval == "exact":
            return (a + 1.0, n - a) if upper else (a, n - a + 1.0)
        return (a + 0.5, n - a + 0.5) if self.interval == "jeffreys" else None

    def _end(self, a: Array, n: Array, upper: bool) -> Array:
        """One of the limits (...)."""
        sign = 1.0 if upper else -1.0
        shapes = self._shapes(a, n, upper)
        if shapes is not None:
            quantile = special.betaincinv(*(np.maximum(each, 1e-300) for each in shapes), 0.5 + sign * self.level / 2.0)
            return np.where((a >= n) if upper else (a <= 0.0), float(upper), quantile)
        z, p = -float(special.ndtri(self.tail)), a / n
        if self.interval in BY_ERROR:
            return self._by_error(p, self.error(a, n), sign * self.quantile(n))
        if self.interval == "agresti-coull":
            more = n + z**2
            middle = (a + z**2 / 2.0) / more
            return np.clip(middle + sign * z * np.sqrt(middle * (1.0 - middle) / more), 0.0, 1.0)
        moved = p
        if self.interval == "wilson-continuity":
            moved = p + sign * np.minimum(0.5, np.abs(a - 0.5 * n)) / n
        inside = np.clip(moved, 0.0, 1.0)
        half = z * np.sqrt(inside * (1.0 - inside) / n + z**2 / (4.0 * n**2))
        end = (inside + z**2 / (2.0 * n) + sign * half) / (1.0 + z**2 / n)
        beyond = (moved >= 1.0) if upper else (moved <= 0.0)
        return np.where(beyond, float(upper), end)

    def _by_error(self, p: Array, error: Array, away: Array | float) -> Array:
        if self.interval == "normal":
            return np.clip(p + away * error, 0.0, 1.0)
        odds = special.logit(p) + away * error / (p * (1.0 - p))
        return np.where((p > 0.0) & (p < 1.0), special.expit(odds), np.nan)

    def quantile(self, n: Array) -> Array | float:
        """How many standard errors limits lie away (...), of n records (...) by Student's t."""
        if self.distribution == "normal":
            return -float(special.ndtri(self.tail))
        return np.where(n > 1.0, special.stdtrit(np.maximum(n - 1.0, 0.1), 1.0 - self.tail), np.nan)
