"""Interval of the difference of two shares of the same people."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from outrisk.result_row import NORMAL


def paired_interval(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> tuple[float, float]:
    """95 % interval of the share of `first` less that of `second`, both (n,) of the same people; within [-1, 1].

    Agresti and Min (Statistics in Medicine 24, 2005, 729-740): half a person is added to each of the four cells of the
    table of pairs, and Wald's interval taken, so that it has a width where all pairs are alike.
    """
    n = len(first) + 2
    only_first, only_second = (int((a & ~b).sum()) + 0.5 for a, b in ((first, second), (second, first)))
    difference = (only_first - only_second) / n
    margin = NORMAL * math.sqrt(only_first + only_second - (only_first - only_second) ** 2 / n) / n
    return max(difference - margin, -1.0), min(difference + margin, 1.0)
