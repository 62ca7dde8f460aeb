"""How single published numbers follow from totals, exactly: what a search that does not linearise reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outrisk.problem.blocks import Array

FormulaKind = Literal["total", "ratio", "deviation", "rank", "mode", "limit", "error"]
CURVED: tuple[FormulaKind, ...] = ("deviation", "limit", "error")  # that no linear constraint says whole


def _no_positions() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Formula:
    """One published number as a function of totals, whose positions are those among the totals of its part.

    total: the one of `totals`. ratio: shift + scale * totals[0] / sum of `base`; undefined up to `least` in the base.
    deviation: sd from n, first and second moment (`totals`, in this order). rank: the quantile `scale` of the `base`
    records with values `points`, each counted by its one of `totals`, between records by Hyndman and Fan's type
    `least` (quantile_places.py). mode: of `points` the first with the largest one of `totals`. limit: scale *
    points[totals[0]] / sum of `base`, totals[0] being a count; undefined up to `least` in the base, and where the point
    is. error: of n records with a standard deviation as above,
    scale * q * sd / sqrt(n), beyond shift + totals[1] / n where there is a `base`: q is points[n], beyond these what
    comes near to `least` as 1 / n does.
    """

    kind: FormulaKind
    totals: NDArray[np.int64]
    base: NDArray[np.int64] = field(default_factory=_no_positions)
    points: Array = field(default_factory=lambda: np.zeros(0))
    shift: float = 0.0
    scale: float = 1.0
    least: float = 0.0

    def times(self, n: float) -> float:
        """How many times the standard deviation of n records an error is."""
        last = len(self.points) - 1
        whole = int(n + 0.5)
        q = self.points[whole] if whole <= last else self.least + (self.points[-1] - self.least) * last / n
        return float(self.scale * q / np.sqrt(n))

    def linear(self, totals: Array) -> tuple[float, Array]:
        """A mean, standard deviation, standard error or limit at these totals (m,), and its derivatives in its own
        `totals` (3,): records, first and second moment. NaN where it is undefined.
        """
        n, first, second = (float(totals[at]) for at in self.totals)
        if n <= 1.5:
            return float("nan"), np.full(3, np.nan)
        mean, variance = first / n, max(second - first**2 / n, 0.0) / (n - 1.0)
        sd = max(float(np.sqrt(variance)), 1e-12)
        slopes = np.array([(mean**2 - variance) / (n - 1.0), -2.0 * mean / (n - 1.0), 1.0 / (n - 1.0)]) / (2.0 * sd)
        if self.kind == "deviation":
            return float(np.sqrt(variance)), slopes
        unit = self.times(n)
        value, slopes = unit * float(np.sqrt(variance)), unit * slopes
        slopes[0] -= 0.5 * unit * sd / n  # a quantile changes far less with the number of records
        if len(self.base):
            value += self.shift + mean
            slopes += np.array([-mean / n, 1.0 / n, 0.0])
        return value, slopes


@dataclass(frozen=True, eq=False)
class ModelSays:
    """What printed numbers say about the estimates of a regression, each from a low to a high end.

    coefficients (K, 2), standard_errors (K, 2). The others (2,): n records, events (of a Cox model), log-likelihood,
    residual sd, R2 and pseudo-R2 (McFadden's). An end is infinite where nothing is said. centred: R2 is about the mean.
    errors: the standard errors (K, 2) at so many records, which limits narrow; `robust` ones of single records (not by
    clusters), where these are multiplied, squared, by the factor at so many records.
    """

    coefficients: Array
    standard_errors: Array
    n: Array
    events: Array
    log_likelihood: Array
    residual_sd: Array
    r2: Array
    pseudo_r2: Array
    centred: bool
    errors: Callable[[float], Array] | None = None
    robust: Callable[[float], float] | None = None


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of a regression at some totals (m,), and what printed numbers say of them.

    values (e,), jacobian (e, m): their derivatives in the totals. low, high (e,): an end is infinite where nothing is
    said. errors: which are standard errors.
    """

    values: Array
    jacobian: Array
    low: Array
    high: Array
    errors: range
