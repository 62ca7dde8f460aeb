"""How far a data set is from the released numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import Array
from outrisk.problem.released import TallyPart

FAR = 1e9  # half last digits that an undefined number counts for
GAIN = 0.95  # of what is missed: a fall to less is one, which another may follow


@dataclass(frozen=True)
class Errors:
    """Distance between recomputed and published numbers, over all outputs.

    mse, mae: mean squared and mean absolute error in published units. chi2: in sampling units. digits: mean absolute
    error in half last digits. off: mean of log(1 + error in half last digits), each number by its output's importance:
    no single number matters much to it. missed: the same, where numbers that are matched count as without error.
    matched: how many of the `numbers` are right at their released precision. Undefined numbers (a mean of nobody) make
    mse, mae, chi2 and digits infinite.
    """

    mse: float
    mae: float
    chi2: float
    digits: float
    off: float
    missed: float
    matched: int
    numbers: int

    @property
    def share(self) -> float:
        """Share of the published numbers that are right at their released precision; 1 where there are none."""
        return self.matched / self.numbers if self.numbers else 1.0

    @property
    def all_matched(self) -> bool:
        """Whether every published number is right at its released precision."""
        return self.matched == self.numbers


def errors_of(problem: Problem, distances: Array, totals: Array, informations: tuple[Array, ...]) -> Errors:
    """All errors of a data set with these totals (m,) and informations of its models, whose numbers lie as far from
    where they should (total k,).
    """
    distance = np.abs(distances)[problem.known]
    tolerance, weight = problem.tolerance[problem.known], problem.importance[problem.known]

    def mean_log(half_digits: Array) -> float:
        logs = np.log1p(np.minimum(half_digits, FAR))
        return float(np.sum(weight * logs) / np.sum(weight)) if len(logs) else 0.0

    return Errors(
        mse=float(np.mean(distance**2)) if len(distance) else 0.0,
        mae=float(distance.mean()) if len(distance) else 0.0,
        chi2=_chi2(problem, distances, totals, informations),
        digits=float(np.mean(distance / tolerance)) if len(distance) else 0.0,
        off=mean_log(distance / tolerance),
        missed=mean_log(np.where(distance <= tolerance, 0.0, distance / tolerance)),
        matched=int((distance <= tolerance).sum()),
        numbers=len(distance),
    )


def _chi2(problem: Problem, distances: Array, totals: Array, informations: tuple[Array, ...]) -> float:
    chi2 = 0.0
    for (part, where, which, _), information in zip(problem.slices, informations, strict=True):
        if isinstance(part, TallyPart):
            bounds = part.map.bounds(totals[where], problem.low[which], problem.high[which])
            outside = totals[where] - np.clip(totals[where], bounds.low, bounds.high)
            chi2 += float(np.sum(np.where(bounds.unit != 0.0, outside**2 / bounds.variance, 0.0)))
            continue
        far = distances[which]
        chi2 += float(far @ part.map.precision(totals[where], information) @ far) if np.isfinite(far).all() else np.inf
    return chi2
