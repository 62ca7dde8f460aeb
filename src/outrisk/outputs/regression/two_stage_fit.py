"""A regression with instrumental variables from its records, by two-stage least squares (Theil 1953; Basmann 1957)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.regression.fit import Sample
from outrisk.outputs.regression.release import Summary
from outrisk.outputs.regression.sandwich import Covariance, meat_of
from outrisk.outputs.regression.two_stage_totals import Roles, Way

IvProgram = Literal["ivreg", "statsmodels", "ivregress", "ivreg2", "linearmodels"]
IV_PROGRAMS: tuple[IvProgram, ...] = get_args(IvProgram)
STATA: tuple[IvProgram, ...] = ("ivregress", "ivreg2")  # whose t has as many degrees of freedom as clusters, less one
LARGE_SAMPLE: tuple[IvProgram, ...] = ("ivregress", "ivreg2", "linearmodels")  # n below, and the normal distribution
COLLINEAR = 1e-6  # least singular value of columns of size one that is told from 0


def collinear(columns: Array) -> bool:
    """Whether columns (n, k) are collinear, or one of them is 0."""
    size = np.sqrt((columns**2).sum(axis=0))
    if not columns.shape[1]:
        return False
    if len(columns) < columns.shape[1] or not size.all():
        return True
    return bool(np.linalg.svd(columns / size, compute_uv=False)[-1] < COLLINEAR)


def projected(onto: Array, columns: Array) -> Array:
    """The fit (n, k) of columns by least squares on others (n, l)."""
    size = np.sqrt((onto**2).sum(axis=0))
    basis = np.linalg.qr(onto / np.where(size > 0.0, size, 1.0))[0]
    return np.asarray(basis @ (basis.T @ columns))


def fit_two_stage(sample: Sample, roles: Roles, covariance: Covariance, way: Way, centred: bool) -> Summary | str:
    """What a fit says, the records' design having all columns; or in words why there is none."""
    root = np.sqrt(sample.counts)
    w, y = sample.design * root[:, None], sample.response * root
    x, z = w[:, roles.x], w[:, roles.z]
    if collinear(z):
        return f"its {len(roles.z)} instruments, exogenous terms among them, are collinear; drop one, or centre a power"
    if collinear(x):
        return f"its {len(roles.x)} columns are collinear; drop a term, or centre a power"
    fitted, size = projected(z, x), np.sqrt((x**2).sum(axis=0))
    if collinear_beside(fitted, size):
        return "the instruments do not tell its endogenous terms apart (the rank condition fails); give others"
    b = np.linalg.lstsq(fitted / size, y)[0] / size
    n, K = len(y), len(b)
    residual = y - x @ b
    rss, total = float(residual @ residual), _about(sample, centred)
    left = float(n - K) if n > K else np.nan
    inverse = np.linalg.inv((fitted / size).T @ (fitted / size)) / np.outer(size, size)
    groups = None
    variance = rss / (n if way.by_n else left)
    V = inverse * variance
    if covariance.estimator:
        meat, groups = meat_of(fitted * residual[:, None], sample.clusters)  # times the weight: of each the root
        V = covariance.factor(float(n), groups, K)[0] * (inverse @ meat @ inverse)
    with np.errstate(all="ignore"):
        r2 = 1.0 - rss / total if total > 0.0 else np.nan
        wald = _wald(b, V, roles.tested)
        return Summary(
            b,
            np.sqrt(np.diag(V)),
            covariance.df(float(n), groups if way.by_clusters else None, K)[0],
            float(n),
            np.nan,
            np.nan,
            r2,
            float(np.sqrt(variance)),
            r2_adjusted=1.0 - (1.0 - r2) * (n - centred) / left,
            f=wald / max(len(roles.tested), 1),
            wald=wald,
            wu_hausman=_hausman(x, y, fitted[:, np.isin(roles.x, roles.endogenous)]),
            sargan=_sargan(z, residual, roles),
            first_stage_f=_first_stages(w, roles),
        )


def collinear_beside(fitted: Array, size: Array) -> bool:
    """Whether fitted columns (n, k) are collinear, beside the size (k,) of what they fit."""
    return bool(np.linalg.svd(fitted / size, compute_uv=False)[-1] < COLLINEAR)


def _about(sample: Sample, centred: bool) -> float:
    """The total sum of squares of the response, about its mean or 0."""
    y, weights = sample.response, sample.counts
    about = y - (y @ weights / weights.sum() if centred else 0.0)
    found = float(weights @ about**2)
    return found if found > 1e-20 * float(weights @ y**2) else 0.0


def _wald(b: Array, V: Array, tested: NDArray[np.intp]) -> float:
    if not len(tested):
        return np.nan
    some = V[np.ix_(tested, tested)]
    if not np.isfinite(some).all() or np.linalg.matrix_rank(some, hermitian=True) < len(tested):
        return np.nan
    return float(b[tested] @ np.linalg.solve(some, b[tested]))


def _rss(onto: Array, y: Array) -> float:
    left = y - projected(onto, y[:, None])[:, 0] if onto.shape[1] else y
    return float(left @ left)


def _hausman(x: Array, y: Array, fitted: Array) -> float:
    """F of the fitted endogenous columns beside the regressors (Wu 1973; Hausman 1978)."""
    n, K, e = len(y), x.shape[1], fitted.shape[1]
    both = np.column_stack([x, fitted])
    if n <= K + e or collinear(both):
        return np.nan
    own = _rss(both, y)
    return float((_rss(x, y) - own) / e / np.float64(own / (n - K - e)))


def _sargan(z: Array, residual: Array, roles: Roles) -> float:
    """N times the share of the residuals that the instruments fit (Sargan 1958); NaN where there are no more of them
    than endogenous columns.
    """
    if roles.excluded <= len(roles.endogenous):
        return np.nan
    fitted = projected(z, residual[:, None])[:, 0]
    return float(fitted @ fitted) * len(residual) / np.float64(residual @ residual)


def _first_stages(w: Array, roles: Roles) -> Array:
    """F of the instruments that are no regressors, in the regression of each endogenous column on all instruments."""
    n, L = len(w), len(roles.z)
    if n <= L:
        return np.full(len(roles.endogenous), np.nan)
    found = []
    for at in roles.endogenous.tolist():
        own = np.float64(_rss(w[:, roles.z], w[:, at]))
        found.append((_rss(w[:, roles.exogenous], w[:, at]) - own) / roles.excluded / (own / (n - L)))
    return np.array(found)
