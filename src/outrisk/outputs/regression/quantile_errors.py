"""Standard errors of a quantile regression, as the programs make them.

tau (1 - tau) times a sandwich: with X'X in the middle, and on both sides the inverse of sum f x x', f the density of
the response at the plane, which each program estimates in its own way from a bandwidth h in probabilities (Hall and
Sheather 1988, or Bofinger 1975).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.stats import norm

from outrisk.outputs.base import Array
from outrisk.outputs.regression.quantile_fit import fitted_plane

QuantileProgram = Literal["quantreg", "statsmodels", "stata"]
Errors = Literal["iid", "nid", "ker", "robust"]
Bandwidth = Literal["hsheather", "bofinger"]
PROGRAMS: tuple[QuantileProgram, ...] = get_args(QuantileProgram)
ERRORS: dict[QuantileProgram, tuple[Errors, ...]] = {  # the default first
    "quantreg": ("nid", "iid", "ker"),
    "statsmodels": ("robust", "iid"),
    "stata": ("iid", "robust"),
}
_ALPHA, _NORMAL_IQR = 0.05, 1.34
_EPS = float(np.finfo(float).eps) ** 0.5  # what R's quantreg counts as 0


def bandwidth_of(n: int, tau: float, bandwidth: Bandwidth, program: QuantileProgram) -> float:
    """Half the width, in probabilities, over which the density at a quantile is estimated from n records."""
    z = float(norm.ppf(tau))
    below = 2.0 * z**2 + 1.0
    if bandwidth == "hsheather":
        return float((norm.isf(_ALPHA / 2.0) ** 2 * 1.5 * norm.pdf(z) ** 2 / below / n) ** (1.0 / 3.0))
    at = 2.0 * z if program == "statsmodels" else z  # its own formula
    return float((4.5 * norm.pdf(at) ** 4 / below**2 / n) ** 0.2)


def errors_of(
    design: Array,
    response: Array,
    residuals: Array,
    tau: float,
    program: QuantileProgram,
    errors: Errors,
    bandwidth: Bandwidth,
) -> Array:
    """Standard errors (k,) at a fitted plane, of records (n, k), (n,) and residuals (n,); NaN where there are none."""
    n, k = design.shape
    nothing = np.full(k, np.nan)
    h = bandwidth_of(n, tau, bandwidth, program)
    if n <= k:
        return nothing
    with np.errstate(all="ignore"):
        if program == "statsmodels":
            found = _by_kernel(design, response, residuals, tau, errors, h)
        elif errors == "ker":
            h = _within(h, tau)
            width = (norm.ppf(tau + h) - norm.ppf(tau - h)) * min(residuals.std(ddof=1), _iqr(residuals) / _NORMAL_IQR)
            found = _sandwich(design, norm.pdf(residuals / width) / width, tau)
        elif program == "quantreg" and errors == "iid":
            found = _by_order(design, residuals, tau, h)
        else:
            found = _by_planes(design, response, tau, program, errors, h)
        root = np.sqrt(np.diag(found)) if found is not None else nothing
    return np.where(np.isfinite(root), root, np.nan)


def _within(h: float, tau: float) -> float:
    """The bandwidth halved until it leaves no end of (0, 1), as R has it."""
    while tau - h < 0.0 or tau + h > 1.0:
        h /= 2.0
    return h


def _iqr(values: Array) -> float:
    return float(np.subtract(*np.quantile(values, [0.75, 0.25])))


def _inverse(matrix: Array) -> Array | None:
    try:
        scale = np.sqrt(np.diag(matrix))
        return np.asarray(np.linalg.inv(matrix / np.outer(scale, scale)) / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None


def _sandwich(design: Array, density: Array, tau: float) -> Array | None:
    inverse = _inverse((design.T * density) @ design)
    return None if inverse is None else np.asarray(tau * (1.0 - tau) * inverse @ (design.T @ design) @ inverse)


def _iid(design: Array, sparsity: float, tau: float) -> Array | None:
    inverse = _inverse(design.T @ design)
    return None if inverse is None else np.asarray(tau * (1.0 - tau) * sparsity**2 * inverse)


def _by_kernel(design: Array, response: Array, residuals: Array, tau: float, errors: Errors, h: float) -> Array | None:
    """As statsmodels has it: one density at 0 by Epanechnikov's kernel; robust: scores squared in the middle. Its
    iterations end a little above or below the records on the plane, by which side makes up for the others.
    """
    width = min(response.std(), _iqr(residuals) / _NORMAL_IQR) * (norm.ppf(tau + h) - norm.ppf(tau - h))
    u = residuals / width
    density = float(np.where(np.abs(u) <= 1.0, 0.75 * (1.0 - u**2), 0.0).sum() / (len(u) * width))
    if errors == "iid":
        return _iid(design, 1.0 / density, tau)
    inverse = _inverse(design.T @ design)
    on = residuals == 0.0
    rest = np.where(residuals[~on] > 0.0, tau, tau - 1.0) @ design[~on]
    above = residuals > 0.0
    above[on] = np.linalg.lstsq(design[on].T, -rest, rcond=None)[0] > _EPS
    squares = np.where(above, tau, 1.0 - tau) ** 2 / density**2
    return None if inverse is None else inverse @ ((design.T * squares) @ design) @ inverse


def _by_order(design: Array, residuals: Array, tau: float, h: float) -> Array | None:
    """As R's `se = "iid"`: the slope of the median line through the residuals nearest to 0, in order."""
    n, k = design.shape
    on = int((np.abs(residuals) < _EPS).sum())
    many = max(k + 1, int(np.ceil(n * h)))
    if on + many + 1 > n:
        return None
    at = np.arange(on, on + many + 1)
    nearest = np.sort(residuals[np.argsort(np.abs(residuals), kind="stable")[at]])
    line = fitted_plane(np.column_stack([np.ones(len(at)), (at + 1.0) / (n - k)]), nearest, 0.5, unique=False)
    return None if line is None else _iid(design, float(line.coefficients[1]), tau)


def _by_planes(
    design: Array, response: Array, tau: float, program: QuantileProgram, errors: Errors, h: float
) -> Array | None:
    """By how far the planes of tau - h and tau + h are apart: at each record (R's nid, Stata's robust), or at their
    mean (Stata's iid).
    """
    h = _within(h, tau)
    planes = [fitted_plane(design, response, each, unique=False) for each in (tau + h, tau - h)]
    if planes[0] is None or planes[1] is None:
        return None
    apart = planes[0].coefficients - planes[1].coefficients
    if errors == "iid":
        return _iid(design, float(design.mean(axis=0) @ apart) / (2.0 * h), tau)
    width = design @ apart
    density = np.maximum(2.0 * h / (width - _EPS if program == "quantreg" else width), 0.0)
    return _sandwich(design, density, tau)
