"""Grouping of a numeric variable into intervals, as R's synthpop does it before it measures disclosure.

The breaks come from one pool of values, those of the original and of every synthetic table. The intervals are closed on
the left, the last one on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError

Floats = NDArray[np.float64]
_DIGITS = range(8, 13)  # significant digits tried for the labels of the intervals


def breaks_of(name: str, values: Floats, counts: NDArray[np.int64], n_groups: int, n_kept: int) -> Floats:
    """Ascending breaks, one more than there are intervals, for about `n_groups` groups of a variable.

    values: distinct values of the pool, ascending, shape (n_values,); counts: how often each occurs; n_kept: number of
    values kept apart as levels of their own, which are not in `values`. With at least as many groups as values, each
    value has an interval of its own; else the breaks are quantiles (type 7), and several that coincide are one. Where
    fewer than 3 levels result, the intervals are of equal width instead.
    """
    if len(values) < 2:
        found = f"only the value {values[0]:.15g}" if len(values) else "no value"
        raise RiskError(f"{name!r} cannot be grouped: it has {found} to group; leave it ungrouped")
    if not np.isfinite(values[[0, -1]]).all():
        raise RiskError(f"{name!r} cannot be grouped: it has infinite values; make them missing, or leave it ungrouped")
    n_groups = min(n_groups, len(values))
    if n_groups == len(values):
        gaps = np.diff(values)
        ends = values[0] - gaps.mean() / 2, values[-1] + gaps.mean() / 2
        breaks = np.concatenate([ends[:1], values[:-1] + gaps / 2, ends[1:]])
    else:
        breaks = np.unique(quantiles(values, counts, np.linspace(0, 1, n_groups + 1)))
    if len(breaks) - 1 + n_kept < 3:
        breaks = np.linspace(values[0], values[-1], n_groups + 1)
    return breaks


def quantiles(values: Floats, counts: NDArray[np.int64], shares: Floats) -> Floats:
    """Type-7 quantiles (Hyndman and Fan, 1996) of a sample given as ascending distinct values and their counts."""
    upto = np.cumsum(counts)
    at = (upto[-1] - 1) * shares
    low, high = (values[np.searchsorted(upto, end, side="right")] for end in (np.floor(at), np.ceil(at)))
    between = at - np.floor(at)
    return np.asarray(np.where(high > low, (1 - between) * low + between * high, low))


def interval_of(breaks: Floats, values: Floats) -> NDArray[np.intp]:
    """Which interval each value falls into, from 0; a value beyond the breaks falls into the first or last interval."""
    return np.clip(np.searchsorted(breaks, values, side="right") - 1, 0, len(breaks) - 2)


def interval_labels(breaks: Sequence[float] | Floats) -> list[str]:
    """`[a,b)` for each interval, `[a,b]` for the last, with the fewest digits that keep the breaks distinct."""
    for digits in _DIGITS:
        texts = [f"{limit:.{digits}g}" for limit in breaks]
        if len(set(texts)) == len(texts):
            break
    last = len(texts) - 2
    return [f"[{low},{high}{']' if i == last else ')'}" for i, (low, high) in enumerate(pairwise(texts))]
