"""A metric's value with the counts behind it, its interval, and its reason where it is undefined.

Intervals (95 %) are for the sampling of records: the tables compared with are held fixed. A share of records has
Wilson's interval (1927), a mean Student's. Sums and differences of independent parts join the parts' intervals by
MOVER (Zou and Donner, 2008), of which Newcombe's (1998) for differences of shares is the best known case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from outrisk.result_row import NORMAL
from outrisk.risk.neighbours.exact import Floats

Interval = tuple[float, float]
UNKNOWN: Interval = (math.nan, math.nan)
_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Score:
    """One value of one metric."""

    value: float
    n: int  # records that the value is taken over
    interval: Interval = UNKNOWN
    counts: Mapping[str, float] = field(default_factory=dict)  # what the value is made of
    records: Mapping[str, Floats] = field(default_factory=dict)  # table -> score of each record, where there is one
    reason: str = ""  # why the value is NaN, else empty
    notes: tuple[str, ...] = ()


def undefined(reason: str, n: int = 0, **counts: float) -> Score:
    """No value, and why."""
    return Score(math.nan, n, counts=counts, reason=reason)


def share(hits: NDArray[np.bool_], table: str, **counts: float) -> Score:
    """Share of a table's records for which something holds."""
    n, found = len(hits), int(hits.sum())
    return Score(found / n, n, wilson(found, n), {"records": found, **counts}, {table: hits.astype(float)})


def mean(values: Floats, table: str, **counts: float) -> Score:
    """Mean of a score in [0, 1] over a table's records."""
    return Score(float(values.mean()), len(values), mean_interval(values), {**counts}, {table: values})


def wilson(hits: float, n: int) -> Interval:
    """Wilson's interval for a share of n."""
    p, z2 = hits / n, NORMAL**2
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    margin = NORMAL / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return max(0.0, min(middle - margin, p)), min(1.0, max(middle + margin, p))


def mean_interval(values: Floats, weights: Floats | None = None) -> Interval:
    """Student's interval for a (weighted) mean of scores in [0, 1], cut to that range.

    Where all scores are equal it is Wilson's: the variance of scores in [0, 1] is at most that of a share.
    """
    n = len(values)
    weight = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    value = float(weight @ values)
    if n < 2 or np.ptp(values) == 0:
        return wilson(min(max(value, 0.0), 1.0) * n, n)
    low, high = student(value, math.sqrt(n / (n - 1) * float(np.square(weight * (values - value)).sum())), n - 1)
    return max(0.0, low), min(1.0, high)


def student(value: float, error: float, degrees: float) -> Interval:
    """Value -+ t times its standard error."""
    margin = float(stdtrit(degrees, (1 + _LEVEL) / 2)) * error
    return value - margin, value + margin


def joined(values: tuple[float, float], intervals: tuple[Interval, Interval], sign: int) -> Interval:
    """Interval of a + b (sign 1) or a - b (sign -1) of two independent values (MOVER)."""
    (a, b), ((low_a, high_a), (low_b, high_b)) = values, intervals
    if sign < 0:
        low_b, high_b = high_b, low_b
    value = a + sign * b
    return value - math.hypot(a - low_a, b - low_b), value + math.hypot(high_a - a, high_b - b)
