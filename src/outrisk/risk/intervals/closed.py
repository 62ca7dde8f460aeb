"""Interval of original minus holdout for measures that are means of scores of the records attacked.

Each record scores in [0, 1]; the two samples of records are independent, the synthetic data fixed. Agresti and Caffo
(The American Statistician 54, 2000, 280-288) add one success and one failure to each sample and take Wald's interval:
for scores of 0 and 1 it is theirs; it is as near a closed form of the bootstrap over records as there is, and it keeps
a width where every record scores the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from outrisk.errors import RiskError

Floats = NDArray[np.float64]
LEVEL = 0.95
_ADDED = np.array([0.0, 1.0])  # scores of the two records added to a sample


@dataclass(frozen=True, eq=False)
class Sample:
    """One side: each record's influence on the mean, and that mean with the two added records."""

    center: float
    influence: Floats  # (n_rows + 2,)
    weights: Floats  # (n_rows + 2,) records that each row stands for

    @property
    def variance(self) -> float:
        """Sampling variance of the mean."""
        return float(self.weights @ np.square(self.influence)) / float(self.weights.sum()) ** 2


def sample(scores: Floats, weights: Floats, counted: Floats | None = None) -> Sample:
    """Mean score over the records that count; `counted` (n_rows,) is 1 for these, by default for all of them."""
    weights, scores = np.append(weights, [1.0, 1.0]), np.append(scores, _ADDED)
    counted = np.ones(len(scores)) if counted is None else np.append(counted, [1.0, 1.0])
    total = float(weights @ counted)
    center = float(weights @ (scores * counted)) / total
    return Sample(center, (scores - center) * counted * (float(weights.sum()) / total), weights)


class RunningMean:
    """Plain mean of means over the same records, one added at a time; how they vary together is kept."""

    def __init__(self) -> None:
        self.n, self._center, self._influence, self._weights = 0, 0.0, np.zeros(1), np.zeros(1)

    def add(self, one: Sample, times: int = 1) -> None:
        """Take one mean in, with the weight of `times` means."""
        self.n += times
        self._center += times * one.center
        self._influence = self._influence + times * one.influence
        self._weights = one.weights

    def mean(self) -> Sample:
        """The mean of what was added; RiskError if nothing was."""
        if not self.n:
            raise RiskError("no key sets to average")
        return Sample(self._center / self.n, self._influence / self.n, self._weights)


def interval(original: Sample, holdout: Sample) -> tuple[float, float]:
    """95 % interval of original minus holdout, within [-1, 1]."""
    center = original.center - holdout.center
    margin = float(ndtri((1 + LEVEL) / 2)) * math.sqrt(original.variance + holdout.variance)
    return max(center - margin, -1.0), min(center + margin, 1.0)
