"""A linear regression with fixed effects, by what is left within groups (Frisch and Waugh 1933; Lovell 1963)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsmr

from outrisk.outputs.base import Array
from outrisk.outputs.regression.programs import Groups, Program, counted, is_within, parts_of, prints_constant
from outrisk.outputs.regression.release import Summary
from outrisk.outputs.regression.sandwich import Covariance

NOTHING = 1e-12  # share of a column's sum of squares about its mean below which what is left of it is rounding
_EXACT = 1e-15  # of the least squares by which two or more variables are absorbed
_ROUNDS = 3  # of these, each on what the one before has left


@dataclass(frozen=True, eq=False)
class Grouped:
    """Records of a regression with fixed effects: response (n,), terms (n, k), the group (n,) of each by each absorbed
    variable, and the cluster of each (n,) or None.
    """

    response: Array
    terms: Array
    groups: Groups
    clusters: NDArray[np.int64] | None = None


def within(columns: Array, groups: Groups) -> Array:
    """What is left of columns (n, p) where the means of groups are taken off: residuals on the dummies of all groups.

    One variable: at once. More: by LSMR (Fong and Saunders 2011) on their dummies, sparse, each scaled to size one.
    """
    sizes = [np.bincount(each) for each in groups]
    if len(groups) == 1:
        return np.stack([column - _means(column, groups[0], sizes[0])[groups[0]] for column in columns.T], axis=1)
    n, at = len(columns), np.arange(len(columns))
    dummies = sparse.hstack(
        [
            sparse.csr_matrix((1.0 / np.sqrt(size[each]), (at, each)), shape=(n, len(size)))
            for each, size in zip(groups, sizes, strict=True)
        ],
        format="csr",
    )
    found: Array = columns - columns.mean(axis=0)
    for column in found.T:
        for _ in range(_ROUNDS):
            for each, size in zip(groups, sizes, strict=True):
                column -= _means(column, each, size)[each]
            column -= dummies @ lsmr(dummies, column, atol=_EXACT, btol=_EXACT, conlim=0.0, maxiter=5_000)[0]
    return found


def _means(column: Array, groups: NDArray[np.int64], sizes: NDArray[np.int64]) -> Array:
    return np.asarray(np.bincount(groups, column) / np.maximum(sizes, 1), dtype=np.float64)


def without_variation(records: Grouped, left: Array) -> NDArray[np.bool_]:
    """Which terms (k,) do not vary within groups, but by rounding; left (n, k): what is left of them."""
    about = records.terms - records.terms.mean(axis=0)
    return np.asarray((left**2).sum(axis=0) <= NOTHING * np.maximum((about**2).sum(axis=0), np.finfo(float).tiny))


def fit_within(records: Grouped, program: Program, covariance: Covariance) -> Summary | None:
    """The fit; None where terms are collinear within groups. The constant, where the program prints one, is first."""
    X, y = records.terms, records.response
    n, k = X.shape
    left = within(np.column_stack([X, y]), records.groups)
    x, y_left = left[:, :k], left[:, k]
    about = float(((y - y.mean()) ** 2).sum())
    if y_left @ y_left <= NOTHING * max(about, NOTHING * float(y @ y)):
        y_left = np.zeros(n)  # all of a group have one response: what is left is rounding
    if without_variation(records, x).any():
        return None
    scale = np.sqrt((x**2).sum(axis=0))
    if k and np.linalg.eigvalsh((x / scale).T @ (x / scale))[0] < NOTHING:
        return None
    inverse = np.linalg.inv((x / scale).T @ (x / scale)) / np.outer(scale, scale)
    b = inverse @ (x.T @ y_left)
    residual = y_left - x @ b
    levels = np.array([len(np.unique(each)) for each in records.groups])
    nested = [records.clusters is not None and is_within(each, records.clusters) for each in records.groups]
    count = counted(program, k, levels.tolist(), parts_of(records.groups), nested)
    df, rss = n - count.whole, float(residual @ residual)
    s2 = rss / df if df > 0 else np.nan
    mean = X.mean(axis=0)
    influence = (x @ inverse) * residual[:, None]  # of each record on the coefficients
    variance, of_constant = s2 * inverse, s2 * (1.0 / n + mean @ inverse @ mean)
    t_df = float(df) if df > 0 else np.nan
    if covariance:
        influence = np.column_stack([influence, residual / n - influence @ mean])
        clusters = records.clusters if records.clusters is not None else np.arange(n)
        sums = np.stack([np.bincount(clusters, column) for column in influence.T], axis=1)
        groups = float(len(np.unique(clusters))) if records.clusters is not None else None
        clustered = count.whole if groups is None else count.clustered
        both = covariance.factor(float(n), groups, clustered)[0] * (sums.T @ sums)
        variance, of_constant = both[:k, :k], both[k, k]
        t_df = covariance.df(float(n), groups, count.whole)[0]
    elif covariance.distribution == "normal":
        t_df = np.inf
    tested, finite = float(y_left @ y_left), bool(np.isfinite(variance).all())
    sigma = _between(records, b)
    with np.errstate(all="ignore"):
        coefficients, errors = b, np.sqrt(np.diag(variance))
        if prints_constant(program):
            coefficients = np.append(y.mean() - mean @ b, b)
            errors = np.append(np.sqrt(of_constant), errors)
        r2, within_r2 = (1.0 - rss / total if total > 0 else np.nan for total in (about, tested))
        return Summary(
            coefficients,
            errors if df > 0 else np.full(len(errors), np.nan),
            t_df,
            float(n),
            np.nan,
            np.nan,
            r2,
            np.sqrt(s2),
            r2_within=within_r2,
            r2_adjusted=1.0 - (1.0 - (within_r2 if program == "plm" else r2)) * (n - 1.0) / df if df > 0 else np.nan,
            rmse=np.sqrt(rss / n),
            f=float(b @ np.linalg.pinv(variance) @ b) / k if k and df > 0 and rss > 0 and finite else np.nan,
            sigma_u=sigma,
            rho=sigma**2 / (sigma**2 + s2),
            levels=levels.astype(float),
        )


def _between(records: Grouped, b: Array) -> float:
    """The standard deviation of the fixed effects of one variable over its groups, as xtreg's sigma_u; NaN of more."""
    if len(records.groups) > 1:
        return np.nan
    size = np.bincount(records.groups[0])
    effects = _means(records.response - records.terms @ b, records.groups[0], size)[size > 0]
    return float(effects.std(ddof=1)) if len(effects) > 1 else np.nan
