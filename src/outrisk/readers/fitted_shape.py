"""Fitted models of statsmodels with parameters beside the coefficients: OrderedModel and NegativeBinomial."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from outrisk.errors import OutputError
from outrisk.outputs.base import Array

_DISTRIBUTIONS = {"logistic": "ologit", "norm": "oprobit"}


def is_ordered(model: Any) -> bool:
    """Whether a model is of an ordered response."""
    return type(model).__name__ == "OrderedModel"


def kind_of_shape(model: Any, place: str) -> str:
    """The kind of such a model, '' of another; OutputError for a form of it that is not known."""
    if is_ordered(model):
        name = str(getattr(model.distr, "name", model.distr))
        if name not in _DISTRIBUTIONS:
            raise OutputError(
                f"{place}: an OrderedModel of the distribution {name} is not known; known are logit and probit"
            )
        if model.exog is None:
            raise OutputError(
                f"{place}: an OrderedModel without columns has thresholds alone, which count its outcomes"
            )
        if getattr(model, "offset", None) is not None:
            raise OutputError(f"{place}: an OrderedModel with an offset is not known; write it as an outrisk.Custom")
        return _DISTRIBUTIONS[name]
    if type(model).__name__ != "NegativeBinomial":
        return ""
    if model.loglike_method != "nb2":
        raise OutputError(
            f"{place}: a NegativeBinomial of the form {model.loglike_method} is not known; fit it by nb2, in which the "
            "variance is mean + alpha mean^2"
        )
    return "negbin"


def estimates_of(fit: Any) -> dict[str, Array]:
    """Coefficients, standard errors and p-values of a fit; of an ordered one, those of the thresholds last, of which
    the fit has the first and the logarithms of the distances of the others.
    """
    if not is_ordered(fit.model):
        return {"coefficients": fit.params, "standard_errors": fit.bse, "p_values": fit.pvalues}
    parameters, k = np.asarray(fit.params, dtype=float), fit.model.exog.shape[1]
    slopes = np.eye(len(parameters))
    steps = np.append(1.0, np.exp(parameters[k + 1 :]))
    slopes[k:, k:] = np.tril(np.tile(steps, (len(steps), 1)))
    values = np.append(parameters[:k], fit.model.transform_threshold_params(parameters)[1:-1])
    error = np.sqrt(np.diag(slopes @ np.asarray(fit.cov_params(), dtype=float) @ slopes.T))
    with np.errstate(all="ignore"):
        return {
            "coefficients": values,
            "standard_errors": error,
            "p_values": np.asarray(2.0 * norm.sf(np.abs(values / error))),
        }
