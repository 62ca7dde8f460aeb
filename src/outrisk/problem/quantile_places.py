"""Where a quantile lies among sorted records, as programs define it (Hyndman and Fan, Sample Quantiles in Statistical
Packages, The American Statistician 50, 1996)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outrisk.problem.blocks import Array

QuantileProgram = Literal["r", "stata", "sas", "spss"]
TYPES: dict[QuantileProgram, int] = {"r": 7, "stata": 2, "sas": 2, "spss": 6}  # each program's default
METHODS = {7: "linear", 2: "averaged_inverted_cdf", 6: "weibull"}  # of numpy.quantile
LINEAR, HALVES, WEIGHTED = 7, 2, 6


def places(n: Array, probability: Array | float, of_type: int = LINEAR) -> Array:
    """The place, from 0 to n - 1, of a quantile among n sorted records (shapes broadcast): 1.5 is halfway between the
    second and the third. Type 7: (n - 1) p. Type 2: the record after n p, halfway to it where n p is whole. Type 6:
    (n + 1) p - 1. Of no record 0.
    """
    n = np.maximum(np.asarray(n, np.float64), 1.0)
    if of_type == HALVES:
        before = np.round(n * probability, 9)
        found = np.where(before == np.floor(before), before - 0.5, np.floor(before))
    else:
        found = (n + 1.0) * probability - 1.0 if of_type == WEIGHTED else (n - 1.0) * probability
    return np.asarray(np.round(np.clip(found, 0.0, n - 1.0), 9))


def rank_of(n: Array, probability: Array | float, of_type: int = LINEAR) -> tuple[Array, Array]:
    """Rank (from 0) of the record at or before a quantile of n records, and the weight of the next one."""
    place = places(n, probability, of_type)
    return np.floor(place), place - np.floor(place)


def fractions(probability: float, of_type: int, most: int) -> NDArray[np.float64]:
    """Weights between 0 and 1 that the later of two records may have, of numbers of records up to `most`."""
    _, weight = rank_of(np.arange(1.0, most + 1.0), probability, of_type)
    found = np.unique(np.round(weight, 9))
    return np.asarray(found[(found > 0.0) & (found < 1.0)])
