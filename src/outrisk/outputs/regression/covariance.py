"""The covariance of all coefficients of a fit, of which a regression prints the diagonal."""

from __future__ import annotations

import numpy as np

from outrisk.outputs.base import Array
from outrisk.outputs.regression.fit import Sample, of_one_size
from outrisk.outputs.regression.release import Kind, Summary
from outrisk.outputs.regression.sandwich import Covariance, meat_of
from outrisk.problem.influence import derivatives


def covariance_of(kind: Kind, sample: Sample, fit: Summary, covariance: Covariance) -> Array:
    """The covariance (K, K) of the parameters of a fit: coefficients, and of a negative binomial one its dispersion."""
    k, parameters = sample.design.shape[1], fit.coefficients
    with of_one_size(sample.design) as (X, scale), np.errstate(all="ignore"):
        eta = X @ (parameters[:k] * scale) + sample.offset
        shape = np.broadcast_to(parameters[k:], (len(eta), len(parameters) - k))
        residual, curvature, _ = derivatives(kind, sample.response, np.column_stack([eta, shape]))
        weights = sample.counts
        curvature = curvature * weights[:, None, None]
        information = np.zeros((len(parameters), len(parameters)))
        information[:k, :k] = (X.T * curvature[:, 0, 0]) @ X
        information[:k, k:] = X.T @ curvature[:, 0, 1:]
        information[k:, :k] = information[:k, k:].T
        information[k:, k:] = curvature[:, 1:, 1:].sum(axis=0)
        found = np.linalg.inv(information)
        if covariance:
            scores = np.hstack([X * residual[:, :1], residual[:, 1:]]) * weights[:, None]
            meat, groups = meat_of(scores, sample.clusters)
            found = covariance.factor(float(len(X)), groups, len(found))[0] * (found @ meat @ found)
        elif kind == "ols":
            found = found * fit.residual_sd**2
        units = np.append(1.0 / scale, np.ones(len(parameters) - k))
        return np.asarray(found * np.outer(units, units))
