"""Fits of regressions with parameters beside the coefficients: ordered logit and probit, negative binomial counts.

statsmodels has no derivatives of the first two and no weights for either, so they are fitted here, by Newton's method
with halved steps; the tests compare them with statsmodels and R.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logit, ndtri, xlogy

from outrisk.outputs.base import Array
from outrisk.outputs.regression.fit import Sample, fit_likelihood, identified, of_one_size, robust_errors
from outrisk.outputs.regression.release import ORDERED, Kind, Summary
from outrisk.outputs.regression.sandwich import OF_THE_MODEL, Covariance
from outrisk.problem.blocks import is_shape
from outrisk.problem.influence import derivatives

_CHUNK = 20_000  # records whose derivatives are kept at once
_STEPS, _STILL = 100, 1e-9  # of Newton's method: how many at most, and the largest change that ends it
_SLIGHT = 1e-5  # dispersion below which there is none: its likelihood is then that of a Poisson regression
Sums = tuple[float, Array, Array]  # log-likelihood, score (K,), information (K, K)


def fit_with_shape(
    kind: Kind, sample: Sample, start: Array | None, null: bool = False, covariance: Covariance = OF_THE_MODEL
) -> Summary | None:
    """An ordered logit or probit (responses 0, 1, ...: all of them occur) or a negative binomial regression; None where
    it is undefined or not found. Parameters: coefficients, then thresholds or the dispersion. `start` (K,) only sets
    where the iterations begin; the pseudo-R2 is McFadden's, of an ordered model if `null`.
    """
    with of_one_size(sample.design) as (scaled, scale):
        if not scale.all():
            return None
        some = Sample(sample.response, scaled, sample.offset, sample.weights)
        scale = np.append(scale, np.ones(int(sample.response.max()) if kind in ORDERED else 1))
        for begin in [_begin(kind, some)] if start is None else [start * scale, _begin(kind, some)]:
            found = None if begin is None else _maximise(kind, some, begin)
            if found is None:
                continue
            parameters, (likelihood, _, information) = found
            if not identified(some, information, len(parameters) - len(some.design.T)):
                continue
            inverse, n, groups = np.asarray(np.linalg.inv(information)), float(len(scaled)), None
            error = np.sqrt(np.diag(inverse))
            if covariance:
                error, groups = robust_errors(covariance, _scores(kind, some, parameters), inverse, sample.clusters)
            df = covariance.df(n, groups, len(parameters))[0]
            pseudo = 1.0 - likelihood / _null(sample) if null else np.nan
            return Summary(parameters / scale, error / scale, df, n, likelihood, pseudo, np.nan, np.nan)
    return None


def _begin(kind: Kind, sample: Sample) -> Array | None:
    """Where the iterations begin: coefficients of 0 and the thresholds of these; those of a Poisson regression, and the
    dispersion of its moments. None where there is no such regression.
    """
    if kind in ORDERED:
        shares = np.bincount(sample.response.astype(int), sample.counts)
        below = np.cumsum(shares)[:-1] / shares.sum()
        return np.append(np.zeros(sample.design.shape[1]), logit(below) if kind == "ologit" else ndtri(below))
    poisson = fit_likelihood("poisson", sample)
    if poisson is None:
        return None
    mean = np.exp(np.minimum(sample.design @ poisson.coefficients + sample.offset, 700.0))
    above = (sample.counts * ((sample.response - mean) ** 2 - mean)).sum() / (sample.counts * mean**2).sum()
    return np.append(poisson.coefficients, max(float(above), 0.05))


def _maximise(kind: Kind, sample: Sample, begin: Array) -> tuple[Array, Sums] | None:
    """Parameters (K,) at which the log-likelihood is largest, and its sums there; None where none are found."""
    k, at = sample.design.shape[1], begin
    if not is_shape(kind, at[k:]):
        return None
    here = _sums(kind, sample, at)
    for _step in range(_STEPS):
        if not np.isfinite(here[0]) or not np.isfinite(here[2]).all():
            return None
        values, vectors = np.linalg.eigh(here[2])
        values = np.maximum(np.abs(values), 1e-12 * np.abs(values).max())  # uphill also where it is not concave
        step = vectors @ ((vectors.T @ here[1]) / values)
        if kind == "negbin":  # towards 0 by steps, which is passed from too far above
            step[-1] = max(step[-1], -0.9 * at[-1])
        while True:
            there = _sums(kind, sample, at + step) if is_shape(kind, (at + step)[k:]) else None
            if there is not None and there[0] >= here[0] - 1e-9 * abs(here[0]):
                break
            if np.abs(step).max() < 1e-12:
                return None
            step = step / 2.0
        at, here = at + step, there
        if np.abs(step).max() < _STILL * (1.0 + np.abs(at).max()):
            return at, here
        if kind == "negbin" and at[-1] < _SLIGHT:
            return None
    return None


def _parts(kind: Kind, sample: Sample, parameters: Array) -> list[tuple[slice, tuple[Array, Array, Array]]]:
    """Some records at a time, with their derivatives."""
    k = sample.design.shape[1]
    eta = sample.design @ parameters[:k] + sample.offset
    found = []
    for start in range(0, len(eta), _CHUNK):
        here = slice(start, start + _CHUNK)
        shape = np.broadcast_to(parameters[k:], (len(eta[here]), len(parameters) - k))
        with np.errstate(all="ignore"):
            found.append((here, derivatives(kind, sample.response[here], np.column_stack([eta[here], shape]))))
    return found


def _sums(kind: Kind, sample: Sample, parameters: Array) -> Sums:
    X, k, K = sample.design, sample.design.shape[1], len(parameters)
    value, score, information = 0.0, np.zeros(K), np.zeros((K, K))
    for here, (residual, curvature, likelihood) in _parts(kind, sample, parameters):
        weights, x = sample.counts[here], X[here]
        value += float(weights @ likelihood)
        score += np.append(x.T @ (weights * residual[:, 0]), weights @ residual[:, 1:])
        curvature = curvature * weights[:, None, None]
        information[:k, :k] += (x.T * curvature[:, 0, 0]) @ x
        information[:k, k:] += x.T @ curvature[:, 0, 1:]
        information[k:, k:] += curvature[:, 1:, 1:].sum(axis=0)
    information[k:, :k] = information[:k, k:].T
    return value, score, information


def _scores(kind: Kind, sample: Sample, parameters: Array) -> Array:
    """The scores (n, K) of the records, times their weights."""
    found = [
        np.hstack([sample.design[here] * residual[:, :1], residual[:, 1:]])
        for here, (residual, _, _) in _parts(kind, sample, parameters)
    ]
    return np.concatenate(found) * sample.counts[:, None]


def _null(sample: Sample) -> float:
    """Log-likelihood of an ordered model of thresholds alone."""
    counts = np.bincount(sample.response.astype(int), sample.counts)
    return float(xlogy(counts, counts / counts.sum()).sum())


def why_no_dispersion(sample: Sample) -> str:
    """Why counts have no negative binomial regression, where they have a Poisson one; '' else."""
    if sample.response.max() == 0 or fit_likelihood("poisson", sample) is None:
        return ""
    return (
        "the counts vary no more than those of a Poisson regression, so that there is no dispersion to estimate; "
        "release a poisson"
    )
