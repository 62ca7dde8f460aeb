"""Variance of means of records of which some go together, as they are of one person or household."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def variance_of_mean(values: Floats, together: NDArray[np.intp] | None) -> Floats:
    """Sampling variance of the means, (columns,), of values (n, columns) of records.

    together (n,): the deviations of records of one number are added up first, as these are sampled together (a
    clustered variance, with the factor G / (G - 1) of G groups); None: each record is for itself.
    """
    n = len(values)
    if together is None:
        return np.asarray(values.var(axis=0, ddof=1) / n)
    number = np.unique(together, return_inverse=True)[1]
    deviations = values - values.mean(axis=0)
    sums = np.array([np.bincount(number, weights=column) for column in deviations.T])
    apart = sums.shape[1]
    return np.asarray(np.square(sums).sum(axis=1) * apart / (apart - 1) / n**2)
