"""Fits of regressions by statsmodels, and why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from statsmodels.discrete.discrete_model import Logit, MNLogit, Poisson, Probit  # statsmodels.api imports all of it
from statsmodels.genmod import families
from statsmodels.genmod.generalized_linear_model import GLM
from statsmodels.regression.linear_model import OLS, WLS
from statsmodels.tools.sm_exceptions import PerfectSeparationError

from outrisk.outputs.base import Array
from outrisk.outputs.regression.release import ORDERED, Kind, Summary
from outrisk.outputs.regression.sandwich import OF_THE_MODEL, Covariance, meat_of
from outrisk.outputs.regression.weighted_mnlogit import WeightedMNLogit
from outrisk.outputs.survey_design import Drawn

_COLLINEAR = 1e-12  # least eigenvalue of the scaled cross-product of the design
_LARGEST = 2.0**1000  # size of a column whose squares are no numbers any more
_SEPARATED = 1e-8  # least information per record in any direction; one event in n records gives about 1/n


@dataclass(frozen=True, eq=False)
class Sample:
    """Complete records of a regression: response (n,), design (n, k), offset (n,), weights (n,) and the cluster of each
    (n,), or None for none; of a survey how they were drawn.
    """

    response: Array
    design: Array
    offset: Array
    weights: Array | None = None
    clusters: NDArray[np.int64] | Drawn | None = None

    def part(self, begin: int, end: int) -> Sample:
        """The records from one position to another."""
        weights = None if self.weights is None else self.weights[begin:end]
        assert not isinstance(self.clusters, Drawn)  # PSUs are counted over all of a sample
        clusters = None if self.clusters is None else self.clusters[begin:end]
        return Sample(self.response[begin:end], self.design[begin:end], self.offset[begin:end], weights, clusters)

    @property
    def counts(self) -> Array:
        """How often each record counts, (n,)."""
        return np.ones(len(self.response)) if self.weights is None else self.weights


def fit_ols(sample: Sample, has_constant: bool, covariance: Covariance) -> Summary | None:
    """A linear regression by statsmodels' OLS, or WLS with weights; None where the design is collinear."""
    weights = {} if sample.weights is None else {"weights": sample.weights}
    with of_one_size(sample.design) as (scaled, scale), np.errstate(all="ignore"):
        if not scale.all() or np.linalg.eigvalsh(scaled.T @ scaled / len(scaled))[0] < _COLLINEAR:
            return None
        fit = (WLS if weights else OLS)(sample.response, scaled, hasconst=has_constant, **weights).fit()
        df = float(fit.df_resid) if fit.df_resid > 0 else np.nan
        total = fit.centered_tss if has_constant else fit.uncentered_tss
        r2 = float(fit.rsquared) if total > 0 else np.nan
        error, s = (np.asarray(fit.bse), np.sqrt(fit.mse_resid)) if df > 0 else (np.full(len(scale), np.nan), np.nan)
        groups = None
        if covariance:
            scores = scaled * (sample.response - scaled @ fit.params)[:, None] * sample.counts[:, None]
            information = (scaled.T * sample.counts) @ scaled
            inverse = np.asarray(np.linalg.inv(information))
            error, groups = robust_errors(covariance, scores, inverse, sample.clusters)
        if covariance.distribution:
            df = covariance.df(fit.nobs, groups, len(scale))[0]
        return Summary(fit.params / scale, error / scale, df, fit.nobs, float(fit.llf), np.nan, r2, float(s))


def robust_errors(
    covariance: Covariance, scores: Array, inverse: Array, clusters: NDArray[np.int64] | Drawn | None
) -> tuple[Array, float | None]:
    """Robust standard errors (K,) from the scores (n, K) of records, times their weights, and the inverse of the
    information; and the number of clusters.
    """
    meat, groups = meat_of(scores, clusters)
    factor, _ = covariance.factor(float(len(scores)), groups, len(inverse))
    return np.sqrt(np.maximum(factor * np.diag(inverse @ meat @ inverse), 0.0)), groups


def fit_likelihood(
    kind: Kind,
    sample: Sample,
    start: Array | None = None,
    null: bool = False,
    covariance: Covariance = OF_THE_MODEL,
) -> Summary | None:
    """A logit, probit, Poisson or multinomial logit by statsmodels; None where it is undefined or not found.

    Coefficients are those of all equations, one equation after the other, shape (K,); standard errors come from the
    observed information, or as `covariance` says. `start` (K,) only sets where the iterations begin. The pseudo-R2
    (McFadden's) is that of the same model with a constant alone, fitted if `null`.
    """
    with of_one_size(sample.design) as (scaled, scale):
        if not scale.all():
            return None
        scaled_sample = Sample(sample.response, scaled, sample.offset, sample.weights)
        equations = int(sample.response.max()) if kind == "mnlogit" else 1
        scale = np.tile(scale, equations)
        for begin in [None] if start is None else [start * scale, None]:
            try:
                with np.errstate(all="ignore"):
                    model, parameters = _maximise(kind, scaled_sample, begin)
            except (ValueError, PerfectSeparationError):  # as of singular matrices, and of weights that run off
                continue
            if parameters is None or not np.isfinite(parameters).all():
                continue
            with np.errstate(all="ignore"):
                information = _information(model, parameters)
            if identified(scaled_sample, information):
                inverse = np.asarray(np.linalg.inv(information))
                likelihood = _log_likelihood(model, parameters)
                pseudo = 1.0 - likelihood / null_log_likelihood(kind, sample) if null else np.nan
                error, groups, n = np.sqrt(np.diag(inverse)), None, float(len(scaled))
                if covariance:
                    scores = _scores(kind, scaled_sample, parameters)
                    error, groups = robust_errors(covariance, scores, inverse, sample.clusters)
                df = covariance.df(n, groups, len(parameters))[0]
                return Summary(parameters / scale, error / scale, df, n, likelihood, pseudo, np.nan, np.nan)
    return None


def null_log_likelihood(kind: Kind, sample: Sample) -> float:
    """Log-likelihood of the model with a constant alone."""
    constant = Sample(sample.response, np.ones((len(sample.response), 1)), sample.offset, sample.weights)
    fit = fit_likelihood(kind, constant)
    return np.nan if fit is None else float(fit.log_likelihood)


@contextmanager
def of_one_size(design: Array) -> Iterator[tuple[Array, Array]]:
    """Columns of about one size, as statsmodels' stopping rule and ridge take them to be, and what they are divided by:
    0 for a column of zeros. In place, as a copy takes as much memory again; by powers of two, so that they are to the
    bit what they were in the end.
    """
    size = np.minimum(np.sqrt(np.einsum("nk,nk->k", design, design) / len(design)), _LARGEST)
    scale = np.where(size > 0.0, 2.0 ** np.round(np.log2(np.where(size > 0.0, size, 1.0))), 1.0)
    design /= scale
    try:
        yield design, np.where(size > 0.0, scale, 0.0)
    finally:
        design *= scale


def _maximise(kind: Kind, sample: Sample, begin: Array | None) -> tuple[Any, Array | None]:
    """A statsmodels model and its parameters (K,), None where the iterations do not converge."""
    y, X, weights = sample.response, sample.design, sample.weights
    if weights is not None and kind != "mnlogit":
        family = {
            "logit": families.Binomial(),
            "probit": families.Binomial(families.links.Probit()),
            "poisson": families.Poisson(),
        }[kind]
        model = GLM(y, X, family=family, freq_weights=weights, offset=sample.offset)
        fit = model.fit(start_params=begin, maxiter=200, tol=1e-10, tol_criterion="params")
        return model, np.asarray(fit.params) if fit.converged else None
    if kind == "mnlogit":
        model = MNLogit(y, X, check_rank=False) if weights is None else WeightedMNLogit(y, X, weights)
    elif kind == "poisson":
        model = Poisson(y, X, offset=sample.offset, check_rank=False)
    else:
        model = {"logit": Logit, "probit": Probit}[kind](y, X, check_rank=False)
    model.raise_on_perfect_prediction = True  # an error that can be told, in place of a warning at every step
    fit = model.fit(disp=0, maxiter=100, start_params=begin, skip_hessian=True, warn_convergence=False)
    parameters = np.asarray(fit.params, dtype=float).ravel(order="F")
    return model, parameters if fit.mle_retvals["converged"] else None


def _scores(kind: Kind, sample: Sample, parameters: Array) -> Array:
    """The scores (n, K) of the records, times their weights, one equation after the other."""
    model = {"logit": Logit, "probit": Probit, "mnlogit": MNLogit, "poisson": Poisson}[kind]
    offset = {"offset": sample.offset} if kind == "poisson" else {}
    scores = model(sample.response, sample.design, check_rank=False, **offset).score_obs(parameters)
    return np.asarray(scores) * sample.counts[:, None]


def _information(model: Any, parameters: Array) -> Array:
    """The observed information (K, K)."""
    fixed = {"scale": 1.0, "observed": True} if isinstance(model, GLM) else {}
    return -np.asarray(model.hessian(parameters, **fixed))


def _log_likelihood(model: Any, parameters: Array) -> float:
    return float(model.loglike(parameters, **({"scale": 1.0} if isinstance(model, GLM) else {})))


def identified(sample: Sample, information: Array, shape: int = 0) -> bool:
    """Whether the records determine every coefficient, and the parameters of a shape after them: collinear or separated
    ones can pass for converged.
    """
    if not np.isfinite(information).all():  # of a separated model with weights
        return False
    weights, X = sample.counts, sample.design
    values, vectors = np.linalg.eigh((X.T * weights) @ X / weights.sum())
    if values[0] < _COLLINEAR:
        return False
    equations = np.eye((len(information) - shape) // X.shape[1])
    white = block_diag(np.kron(equations, vectors / np.sqrt(values)), np.eye(shape))
    return bool(np.linalg.eigvalsh(white.T @ information @ white / weights.sum())[0] > _SEPARATED)


def why_not(
    kind: Kind, sample: Sample, labels: Sequence[str], groups: Mapping[str, NDArray[np.bool_]], outcomes: Sequence[str]
) -> str:
    """Why a fit finds nothing, and the way out.

    `groups` are the records (n,) of each level of each category, `labels` those of the design columns, `outcomes`
    those of a multinomial logit.
    """
    y, design = sample.response, sample.design
    if kind in ("logit", "probit") and y.min() == y.max():
        return f"the response is constant ({y[0]:g}) on these records; a {kind} needs both values"
    if kind in ("poisson", "negbin") and y.max() == 0:
        return "the response is 0 in all of these records; a regression of counts needs events"
    for column, label in zip(design.T, labels, strict=True):
        if np.isin(column, (0.0, 1.0)).all() and not (column == 1).all():
            groups = {**groups, label: column == 1, f"the reference of {label}": column == 0}
    for label, rows in groups.items():
        if not rows.any():
            return f"{label} has no records; merge it with another level, or leave it out of the codebook"
    ends = (0.0, 1.0 if kind in ("logit", "probit") else len(outcomes) - 1.0)  # of the responses; counts have one
    for label, rows in {"the response": np.ones(len(y), bool), **groups}.items():
        found = set(y[rows].astype(int).tolist())
        needed = outcomes if kind == "mnlogit" or label == "the response" else []
        absent = [outcome for at, outcome in enumerate(needed) if at not in found]
        if absent and label == "the response":
            return f"no record has the outcome {absent[0]}; merge it with another"
        if absent:
            return f"{label} is separated: none of its {rows.sum():,} records has the outcome {absent[0]}; merge it"
        if kind not in ("ols", "mnlogit") and y[rows].min() == y[rows].max() and y[rows][0] in ends:
            value = outcomes[int(y[rows][0])] if outcomes else f"{y[rows][0]:g}"
            return (
                f"{label} is separated: the response is {value} in all {rows.sum():,} of its records; "
                "merge it with another level"
            )
    if kind in ORDERED:  # one of its thresholds is its constant
        design = np.column_stack([np.ones(len(y)), design])
    with of_one_size(design) as (scaled, _):
        rank = int((np.linalg.eigvalsh(scaled.T @ scaled / len(scaled)) > _COLLINEAR).sum())
    if rank < design.shape[1]:
        return f"its {design.shape[1]} columns are collinear (rank {rank}); drop a term, or centre a power of a number"
    return "the fit does not converge (some combination of terms separates the response); drop or merge a term"
