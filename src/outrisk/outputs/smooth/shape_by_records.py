"""Shape and concentration of some values, straight from their definitions: what refits print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from outrisk.outputs.base import Array

Moments = Literal["population", "sample", "adjusted"]
Divisor = Literal["n", "n - 1"]


def fewest_of(statistic: str, moments: Moments, divisor: Divisor) -> int:
    """How many records there must be at least for a number to be defined."""
    if statistic in ("skewness", "kurtosis"):
        return 2 if moments != "adjusted" else 3 + (statistic == "kurtosis")
    return 2 if statistic == "cv" or (statistic == "gini" and divisor == "n - 1") else 1


def from_moments(statistic: str, n: Any, g1: Any, b2: Any, moments: Moments, excess: bool) -> Any:
    """Skewness or kurtosis of n records from its population form (g1, b2 = m4 / m2^2), as Joanes and Gill (1998) have
    them: g1, b1 and G1; b2 or g2, b2 times (1 - 1 / n)^2, and G2. All of one shape, real or complex.
    """
    if statistic == "skewness":
        adjusted = (n * (n - 1.0)) ** 0.5 / (n - 2.0) if moments == "adjusted" else 1.0
        return g1 * ((1.0 - 1.0 / n) ** 1.5 if moments == "sample" else adjusted)
    if moments == "adjusted":
        return (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * (b2 - 3.0) + 6.0) + 3.0 * (not excess)
    return b2 * ((1.0 - 1.0 / n) ** 2 if moments == "sample" else 1.0) - 3.0 * excess


def _gini(x: Array, total: Array, divisor: Divisor) -> Array:
    n, ranks = x.shape[1], np.arange(1, x.shape[1] + 1)
    found = 2.0 * (x @ ranks) / (n * total) - (n + 1.0) / n
    return np.asarray(found * n / (n - 1.0) if divisor == "n - 1" else found)


def of_many(values: Array, statistic: str, moments: Moments, excess: bool, divisor: Divisor) -> Array:
    """One number of each of several sets of values (b, n), each ascending; as a share of 1, (b,). NaN where it is not
    defined.
    """
    b, n = values.shape
    if n < fewest_of(statistic, moments, divisor):
        return np.full(b, np.nan)
    alike, total = values[:, 0] == values[:, -1], values.sum(axis=1)
    with np.errstate(all="ignore"):
        if statistic in ("skewness", "kurtosis"):
            apart = values - values.mean(axis=1, keepdims=True)
            m2, m3, m4 = (np.mean(apart**power, axis=1) for power in (2, 3, 4))
            found = from_moments(statistic, float(n), m3 / m2**1.5, m4 / m2**2, moments, excess)
            return np.where(alike, np.nan, found)
        of: Mapping[str, Callable[[], Array]] = {
            "cv": lambda: np.where(alike, 0.0, values.std(axis=1, ddof=1)) / (total / n),
            "gini": lambda: _gini(values, total, divisor),
            "hhi": lambda: np.sum((values / total[:, None]) ** 2, axis=1),
        }
        found = of[statistic]() if statistic in of else values[:, -int(statistic[2:]) :].sum(axis=1) / total
        return np.where(total == 0.0, np.nan, found)
