"""Interval of the difference of two shares of the same people."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from outrisk.result_row import NORMAL


def paired_interval(
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
    together: NDArray[np.intp] | None = None,
    sampled: bool = True,
) -> tuple[float, float]:
    """95 % interval of the share of `first` less that of `second`, both (n,) of the same records; within [-1, 1].

    Agresti and Min (Statistics in Medicine 24, 2005, 729-740): half a person is added to each of the four cells of the
    table of pairs, and Wald's interval taken, so that it has a width where all pairs are alike. together (n,): records
    of one number are sampled together, as they are of one person or household; their deviations are added up first, and
    what is added is half of one of them, as large as they are on average. Not `sampled`: they only share their fate,
    and half a record is added as ever.
    """
    size = 1.0 if together is None or not sampled else len(together) / len(np.unique(together))
    n = len(first) + 2 * size
    only_first, only_second = (int((a & ~b).sum()) + size / 2 for a, b in ((first, second), (second, first)))
    difference = (only_first - only_second) / n
    if together is None:
        squares = only_first + only_second - (only_first - only_second) ** 2 / n
    else:
        deviations = first.astype(float) - second - difference
        squares = float(np.square(np.bincount(together, weights=deviations)).sum())
        squares += size**2 * (1 + 2 * difference**2)
    margin = NORMAL * math.sqrt(squares) / n
    return max(difference - margin, -1.0), min(difference + margin, 1.0)
