"""The fit of a logit by statsmodels, and why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.special import expit
from statsmodels.tools.sm_exceptions import PerfectSeparationError

from outrisk.outputs.base import Array

_COLLINEAR = 1e-12  # least eigenvalue of the scaled cross-product of the design
_SEPARATED = 1e-8  # least information per record in any direction; one event in n records gives about 1/n


def fit_logit(response: Array, design: Array, start: Array | None = None) -> Array | None:
    """Coefficients (k,) of a 0/1 response (n,) on a design (n, k); None where they are not defined or not found.

    `start` (k,) only sets where the iterations begin.
    """
    scale = np.sqrt(np.mean(design**2, axis=0))
    if not scale.all():
        return None
    scaled = design / scale  # statsmodels' stopping rule and ridge take columns to be of one size
    for begin in [None] if start is None else [start * scale, None]:
        try:
            with np.errstate(all="ignore"):
                model = sm.Logit(response, scaled, check_rank=False)
                model.raise_on_perfect_prediction = (
                    True  # an error that can be told, in place of a warning at every step
                )
                fit = model.fit(disp=0, maxiter=100, start_params=begin, skip_hessian=True, warn_convergence=False)
        except (np.linalg.LinAlgError, PerfectSeparationError):
            continue
        parameters = np.asarray(fit.params, dtype=float)
        if fit.mle_retvals["converged"] and np.isfinite(parameters).all() and _identified(scaled, parameters):
            return np.asarray(parameters / scale)
    return None


def _identified(scaled: Array, parameters: Array) -> bool:
    """Whether the records determine every coefficient: collinear or separated ones can pass for converged."""
    probability = expit(scaled @ parameters)
    values, vectors = np.linalg.eigh(scaled.T @ scaled / len(scaled))
    if values[0] < _COLLINEAR:
        return False
    information = (scaled.T * (probability * (1 - probability))) @ scaled / len(scaled)
    white = vectors / np.sqrt(values)
    return bool(np.linalg.eigvalsh(white.T @ information @ white)[0] > _SEPARATED)


def why_not(response: Array, design: Array, labels: Sequence[str], groups: Mapping[str, NDArray[np.bool_]]) -> str:
    """Why `fit_logit` finds nothing, and the way out. `groups` are the records (n,) of each level of each category."""
    if response.min() == response.max():
        return f"the response is constant ({response[0]:g}) on these records; a logit needs both values"
    for column, label in zip(design.T, labels, strict=True):
        if np.isin(column, (0.0, 1.0)).all() and not (column == 1).all():
            groups = {**groups, label: column == 1, f"the reference of {label}": column == 0}
    for label, rows in groups.items():
        if not rows.any():
            return f"{label} has no records; merge it with another level, or leave it out of the codebook"
    for label, rows in groups.items():
        if response[rows].min() == response[rows].max():
            return (
                f"{label} is separated: the response is {response[rows][0]:g} in all {rows.sum():,} of its records; "
                "merge it with another level"
            )
    rank = int(np.linalg.matrix_rank(design))
    if rank < design.shape[1]:
        return f"its {design.shape[1]} columns are collinear (rank {rank}); drop a term"
    return "the fit does not converge (some combination of terms separates the response); drop or merge a term"
