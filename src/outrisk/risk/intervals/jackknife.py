"""Delete-a-group jackknife: intervals for the sampling of the records attacked.

The synthetic table is held fixed; the interval says how far a measure would move with another sample of records to
attack. Its variance is the delete-a-group jackknife's (Kott, Journal of Official Statistics 17, 2001, 521-526).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from outrisk.errors import RiskError
from outrisk.reasons import sentence
from outrisk.risk.coding.classes import SIDES, Positions

Floats = NDArray[np.float64]
_LEVEL = 0.95
NO_REPLICATES: Floats = np.empty(0)


@dataclass(frozen=True, eq=False)
class Estimate:
    """A risk with its 95 % interval; larger = riskier. Undefined is NaN with a reason, never 0."""

    value: float
    standard_error: float
    low: float
    high: float
    n_key_sets: int  # key sets the mean is taken over
    n_undefined: int  # key sets left out because the measure is undefined there
    replicates_original: Floats  # (groups,), or empty where this side has no part in the value
    replicates_holdout: Floats
    reason: str  # why value or interval is NaN, or which runs were left out; else empty
    code: str = ""  # of `outrisk.reasons`: why value or interval is NaN


def deal(n_records: int, groups: int, seed: int, side: str, together: Positions | None = None) -> list[Positions]:
    """Records of each jackknife group: a random permutation cut into groups whose sizes differ by at most one.

    together (n_records,): records of one number are in one group, as they are of one person or household; the groups
    are then of as many people or households (or one more).
    """
    if together is not None:
        numbers, together = np.unique(together, return_inverse=True)
    n, what = (n_records, "records") if together is None else (len(numbers), "people or households")
    if groups < 0 or groups == 1 or groups > n:
        raise RiskError(f"{groups} jackknife groups on the {n:,} {what} of {side}: give 2 to {n:,}, or 0 for none")
    rng = np.random.default_rng([seed, SIDES.index(side)])
    dealt = np.array_split(rng.permutation(n), groups) if groups else []
    if together is None:
        return dealt
    group_of = np.empty(n, dtype=np.intp)
    for group, numbers in enumerate(dealt):
        group_of[numbers] = group
    return [np.flatnonzero(group_of[together] == group) for group in range(groups)]


def combine(estimates: Sequence[Estimate]) -> Estimate:
    """Mean over runs: several synthetic tables scored on the same records with the same groups.

    Variance = jackknife variance of the replicates averaged over runs + between-run variance / number of runs.
    Runs whose value is NaN are left out and counted in `reason`; counts of key sets are summed over the runs used.
    """
    if not estimates:
        raise RiskError("no runs to combine; give at least one estimate")
    used = [estimate for estimate in estimates if not math.isnan(estimate.value)]
    if not used:
        reason = f"undefined in all {len(estimates)} runs: {estimates[0].reason}"
        return undefined(sum(estimate.n_undefined for estimate in estimates), reason, estimates[0].code)
    if len({(len(run.replicates_original), len(run.replicates_holdout)) for run in used}) > 1:
        raise RiskError("runs to combine have different sides or jackknife groups; score them alike")
    left_out = [estimate for estimate in estimates if math.isnan(estimate.value)]
    return estimate(
        [run.value for run in used],
        sum(run.n_key_sets for run in used),
        sum(run.n_undefined for run in used),
        mean_defined(np.array([run.replicates_original for run in used])),
        mean_defined(np.array([run.replicates_holdout for run in used])),
        f"{len(left_out)} of {len(estimates)} runs left out: {left_out[0].reason}" if left_out else "",
    )


def mean_defined(replicates: Floats) -> Floats:
    """Mean over rows where defined, column by column: each replicate follows the estimator's own rule of leaving out
    what is undefined.

    NaN only where a replicate is undefined in every row.
    """
    defined = ~np.isnan(replicates)
    return np.asarray(
        np.where(defined, replicates, 0.0).sum(axis=0) / np.where(defined.any(axis=0), defined.sum(axis=0), math.nan)
    )


def jackknife_variance(replicates: Floats) -> float:
    """(G - 1) / G times the sum of squared deviations of G replicates from their mean (Kott, 2001)."""
    groups = len(replicates)
    return (groups - 1) / groups * float(np.square(replicates - replicates.mean()).sum())


def estimate(
    runs: Sequence[float],
    n_key_sets: int,
    n_undefined: int,
    original: Floats,
    holdout: Floats,
    reason: str = "",
    least: float = 0.0,
) -> Estimate:
    """A risk from its values in one or several runs and the jackknife replicates of each side; empty = no part in it.

    least: the least variance of the sampling of records, as that of replicates is 0 where all records score the same.
    Degrees of freedom: groups - 1, or Satterthwaite's where the runs add a variance of their own.
    """
    sides = [replicates for replicates in (original, holdout) if len(replicates)]
    sampling = max(sum(jackknife_variance(replicates) for replicates in sides), least) if sides else math.nan
    between = float(np.var(runs, ddof=1)) / len(runs) if len(runs) > 1 else 0.0
    variance, value, code = sampling + between, float(np.mean(runs)), ""
    if math.isnan(variance):
        code = "group_undefined" if sides else "no_groups"
        reason = f"{reason}; {sentence(code)}" if reason else sentence(code)
        margin = math.nan
    else:
        degrees = float(len(sides[0]) - 1)
        if between > 0:  # Satterthwaite (1946): two variances of unlike degrees of freedom
            degrees = variance**2 / (sampling**2 / degrees + between**2 / (len(runs) - 1))
        margin = float(stdtrit(degrees, (1 + _LEVEL) / 2)) * math.sqrt(variance)
    return Estimate(
        value=value,
        standard_error=math.sqrt(variance),
        low=value - margin,
        high=value + margin,
        n_key_sets=n_key_sets,
        n_undefined=n_undefined,
        replicates_original=original,
        replicates_holdout=holdout,
        reason=reason,
        code=code,
    )


def within(low: float, high: float, side: str) -> tuple[float, float]:
    """An interval without what no value can be: a share lies in [0, 1], a difference of two ('marginal') in [-1, 1].

    What is cut off has no part in what the interval covers. NaN stays NaN.
    """
    least = -1.0 if side == "marginal" else 0.0
    return float(np.clip(low, least, 1.0)), float(np.clip(high, least, 1.0))


def undefined(n_undefined: int, reason: str, code: str = "") -> Estimate:
    """No value, and why."""
    nan = math.nan
    return Estimate(nan, nan, nan, nan, 0, n_undefined, NO_REPLICATES, NO_REPLICATES, reason, code)
