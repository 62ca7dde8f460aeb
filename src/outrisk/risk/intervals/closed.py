"""Interval of original minus holdout for measures that are means of scores of the records attacked.

Each record scores in [0, 1]; the two samples of records are independent, the synthetic data fixed. Agresti and Caffo
(The American Statistician 54, 2000, 280-288) add one success and one failure to each sample and take Wald's interval:
for scores of 0 and 1 it is theirs; it is as near a closed form of the bootstrap over records as there is, and it keeps
a width where every record scores the same. Where records go together, as of one person or household, these are what is
sampled: their influences are added up first, as a clustered (sandwich) variance does, and as much is added as one of
them has on average; records that are each there twice say no more than once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]
LEVEL = 0.95
_ADDED = np.array([0.0, 1.0])  # scores of the two records added to a sample
Members = tuple[Positions, Positions]


@dataclass(frozen=True, eq=False)
class Sample:
    """One side: each record's influence on a mean, and that mean with the two added records; or m such means.

    members: the row of each record, and the number of those that it goes together with; None: each is for itself.
    """

    center: Floats  # () or (m,)
    influence: Floats  # (n_rows + 2,) or (m, n_rows + 2)
    weights: Floats  # (n_rows + 2,) records that each row stands for
    members: Members | None = None

    @property
    def variance(self) -> float:
        """Sampling variance of the one mean."""
        squares = self.weights @ np.square(self.influence)
        if self.members is not None:
            row, together = self.members
            squares = np.square(np.bincount(together, weights=self.influence[row])).sum()
            squares += np.square(self.weights * self.influence)[-len(_ADDED) :].sum()
        return float(squares) / float(self.weights.sum()) ** 2


def sample(scores: Floats, weights: Floats, counted: Floats | None = None, members: Members | None = None) -> Sample:
    """Mean score over the records that count; scores (n_rows,), or (m, n_rows) for m means at once.

    `counted`, of the shape of the scores, is 1 for records that count; by default all do.
    """
    counted = np.ones(scores.shape) if counted is None else counted
    added = np.broadcast_to(_ADDED, (*scores.shape[:-1], 2))
    scores, counted = np.concatenate([scores, added], -1), np.concatenate([counted, np.ones(added.shape)], -1)
    size = 1.0 if members is None else len(members[0]) / len(np.unique(members[1]))
    weights = np.append(weights, [size, size])
    total = counted @ weights
    center = (scores * counted) @ weights / total
    influence = (scores - center[..., None]) * counted * (weights.sum() / total)[..., None]
    return Sample(center, influence, weights, members)


class RunningMeans:
    """Plain means of m means over the same records, one of each added at a time; how they vary together is kept."""

    def __init__(self) -> None:
        self._n, self._center, self._influence, self._weights = (np.zeros(1) for _ in range(4))
        self._members: Members | None = None

    def add(self, one: Sample, used: NDArray[np.bool_]) -> None:
        """Take one of each mean in, of those that are `used` (m,)."""
        self._n = self._n + used
        self._center = self._center + used * one.center
        self._influence = self._influence + used[:, None] * one.influence
        self._weights, self._members = one.weights, one.members

    @staticmethod
    def mean(parts: Sequence[RunningMeans], at: int) -> Sample | None:
        """The mean of what was added to the mean at this position of all parts; None if nothing was."""
        n = sum(part._n[at] for part in parts)
        if not n:
            return None
        center, influence = sum(part._center[at] for part in parts), sum(part._influence[at] for part in parts)
        return Sample(np.asarray(center / n), np.asarray(influence / n), parts[0]._weights, parts[0]._members)


def interval(original: Sample, holdout: Sample) -> tuple[float, float]:
    """95 % interval of original minus holdout, within [-1, 1]."""
    center = float(original.center - holdout.center)
    margin = float(ndtri((1 + LEVEL) / 2)) * math.sqrt(original.variance + holdout.variance)
    return max(center - margin, -1.0), min(center + margin, 1.0)
