"""Risk at zero error: the line of risk on error along the runs, and when not to draw it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from outrisk.records.schema import Extrapolation
from outrisk.risk.intervals.jackknife import within

Array = NDArray[np.float64]
MIN_POINTS, MIN_RUNS, MIN_SPAN = 4, 3, 3.0


def extrapolate(points: Sequence[tuple[Array, Array]]) -> Extrapolation:
    """Fit a line to each run's (errors (s,), risks (s,)) and average the lines over runs.

    Points of one run resemble each other, so the run is the unit: the intercept is the mean of the runs' intercepts,
    and its interval is Student's t over runs. Points whose error or risk is undefined are left out. Refused with fewer
    than 4 points in a run, fewer than 3 such runs, or errors that span less than a factor of 3.
    """
    runs = []
    for errors, risks in points:
        defined = np.isfinite(errors) & np.isfinite(risks)
        runs.append((np.asarray(errors)[defined], np.asarray(risks)[defined]))
    last = [risks[-1] for _, risks in runs if len(risks)]
    measured = float(np.mean(last)) if last else math.nan
    used = [(errors, risks) for errors, risks in runs if len(errors) >= MIN_POINTS]
    every_error = np.concatenate([errors for errors, _ in used]) if used else np.empty(0)
    every_risk = np.concatenate([risks for _, risks in used]) if used else np.empty(0)
    low, high = (float(every_error.min()), float(every_error.max())) if used else (math.nan, math.nan)
    reason = ""
    if len(used) < MIN_RUNS:
        reason = (
            f"{len(used)} of {len(points)} runs have {MIN_POINTS} or more points; at least {MIN_RUNS} runs are needed"
        )
    elif high < MIN_SPAN * low:
        reason = f"errors run from {low:.2g} to {high:.2g} only; they must span a factor of {MIN_SPAN:g}"
    elif any(np.ptp(errors) == 0 for errors, _ in used):
        reason = "the error does not change along a run"
    if reason:
        nan = math.nan
        return Extrapolation(nan, nan, nan, nan, nan, nan, len(every_error), len(used), low, high, measured, reason)
    lines = np.array([np.polynomial.polynomial.polyfit(errors, risks, 1) for errors, risks in used])
    intercept, slope = lines.mean(axis=0)
    margin = stats.t.ppf(0.975, len(lines) - 1) * lines[:, 0].std(ddof=1) / math.sqrt(len(lines))
    correlation = math.nan
    if np.ptp(every_risk) > 0:
        correlation = float(np.corrcoef(every_error, every_risk)[0, 1])
    return Extrapolation(
        intercept=float(intercept),
        low=float(intercept - margin),
        high=float(intercept + margin),
        slope=float(slope),
        correlation=correlation,
        r_squared=correlation**2,
        n_points=len(every_error),
        n_runs=len(used),
        mae_from=low,
        mae_to=high,
        measured=measured,
        reason="" if not math.isnan(correlation) else "the risk does not change along the runs: no correlation",
    )


def possible(found: Extrapolation, side: str) -> Extrapolation:
    """With an interval of what a share (of side 'marginal': a difference of two) can be; refused where the line ends
    beyond it: risk then bends near zero error, and no straight line says where it ends.
    """
    low, high = within(found.low, found.high, side)
    value = found.intercept
    if math.isnan(value) or within(value, value, side) == (value, value):
        return replace(found, low=low, high=high)
    nan = math.nan
    return replace(
        found,
        intercept=nan,
        low=nan,
        high=nan,
        slope=nan,
        correlation=nan,
        r_squared=nan,
        reason=f"the line ends at {value:.3f}, which no such measure can be: near zero error risk is no straight line",
    )
