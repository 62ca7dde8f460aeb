"""Robust standard errors: the sandwich of Huber (1967) and White (1980), by clusters that of Liang and Zeger (1986),
and by the design of a survey that of Binder (1983).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import OutputError
from outrisk.outputs.base import Array
from outrisk.outputs.survey_design import Drawn, SurveyDesign, about_strata, df_of, psus_there
from outrisk.problem.algebra import symmetric

Estimator = Literal["", "robust", "HC0", "HC1", "CR0", "CR1", "CR1S"]
Distribution = Literal["", "t", "normal"]


@dataclass(frozen=True)
class Covariance:
    """How the covariance of the coefficients was estimated, where not by the model ('' for that).

    With S the sum over clusters (each record is one, without a `cluster`) of s s', s being the sum of the cluster's
    scores times their weights, and A the information, it is c A^-1 S A^-1. Of n records, G clusters and K coefficients:
    HC0, CR0: c = 1. CR1: G / (G - 1). CR1S, and HC1 of records: (n - 1) / (n - K) times that (the names are those of
    MacKinnon and White 1985 and of R's clubSandwich). robust: what Stata takes, HC1 or CR1S for ols and CR1 for others.
    `distribution` of p-values and limits: '' is t for ols and normal for others; t has n - K degrees of freedom, or
    G - 1 with a `cluster`. survey: the design that records were drawn by, in its place, of those where `within` holds.
    """

    estimator: Estimator = ""
    cluster: str = ""
    distribution: Distribution = ""
    survey: SurveyDesign | None = None
    within: str = ""

    def __bool__(self) -> bool:
        return bool(self.estimator or self.survey)

    def checked(self, output: str, ols: bool, inference: bool) -> Covariance:
        """Itself as it is meant, without 'robust'; OutputError for what contradicts itself, or goes with nothing."""
        given = "cluster" if self.cluster else "covariance" if self.estimator else "distribution"
        if self.survey and (self.estimator or self.cluster):
            raise OutputError(
                f"output '{output}': '{given}' does not go with design, which has its own errors; leave it out"
            )
        if self.survey and not self.distribution:
            return replace(self, distribution="t")
        if not (self.estimator or self.cluster or self.distribution):
            return self
        if not inference:
            raise OutputError(
                f"output '{output}': '{given}' goes with standard errors, limits or p-values, and none is released"
            )
        estimator = meant(self.estimator or ("robust" if self.cluster else ""), ols)
        if self.cluster and estimator.startswith("HC"):
            raise OutputError(
                f"output '{output}': covariance: {estimator} has no clusters; with 'cluster' it is CR0, CR1 or CR1S"
            )
        return Covariance(estimator, self.cluster, self.distribution or ("t" if ols else "normal"))

    @property
    def notes(self) -> str:
        """In words; nothing for the model's own."""
        parts = [
            f"robust standard errors ({self.estimator})" if self.estimator else "",
            f"clustered by {self.cluster}" if self.cluster else "",
            self.survey.notes if self.survey else "",
            f"{self.distribution} distribution" if self.distribution else "",
        ]
        return ", ".join(part for part in parts if part)

    def factor(self, n: float, groups: float | None, K: int) -> tuple[float, float]:
        """c for n records in so many clusters (None: each is one), and its derivative in n; NaN where undefined."""
        if self.estimator in ("HC0", "CR0") or (self.survey and groups is not None):
            return 1.0, 0.0
        both = self.estimator in ("HC1", "CR1S")
        if groups is None:
            left = n - (K if both else 1)
            return (n / left, -(n - left) / left**2) if left > 0 else (np.nan, 0.0)
        if groups < 2 or (both and n <= K):
            return np.nan, 0.0
        more = groups / (groups - 1.0)
        return (more * (n - 1.0) / (n - K), more * (1.0 - K) / (n - K) ** 2) if both else (more, 0.0)

    def df(self, n: float, groups: float | None, K: int) -> tuple[float, float]:
        """Degrees of freedom of p-values and limits, and their derivative in n; NaN where there are none. groups: of a
        survey the degrees of freedom of its design.
        """
        if self.distribution != "t":
            return np.inf, 0.0
        if self.survey:
            less = K - 1.0 if self.survey.program == "r" else 0.0
            found, slope = (n - 1.0 - less, 1.0) if groups is None else (groups - less, 0.0)
        else:
            found, slope = (n - K, 1.0) if groups is None else (groups - 1.0, 0.0)
        return (found, slope) if found > 0 else (np.nan, 0.0)


OF_THE_MODEL = Covariance()


@dataclass(frozen=True, eq=False)
class Sandwich:
    """The covariance of K coefficients from totals: of the meat from `first` on, the lower triangle by rows or, with
    `clusters`, the scores of each; whose numbers of records (weighted) are the totals from `counts` on. stratum
    (clusters,): that of each PSU of a survey.
    """

    covariance: Covariance
    K: int
    first: int
    clusters: int = 0
    counts: int = 0
    stratum: NDArray[np.int64] | None = None

    @cached_property
    def _triangle(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.tril_indices(self.K)

    @property
    def size(self) -> int:
        """Number of totals of the meat."""
        return self.clusters * self.K if self.clusters else len(self._triangle[0])

    @property
    def place(self) -> slice:
        """Where these stand among all totals."""
        return slice(self.first, self.first + self.size)

    def groups(self, totals: Array) -> float | None:
        """Number of clusters that have records, of a survey degrees of freedom; None where each record is one."""
        if not self.clusters:
            return None
        sizes = totals[self.counts : self.counts + self.clusters]
        survey = self.covariance.survey
        if survey and self.stratum is not None:
            return df_of(self.stratum, there := psus_there(sizes), there, survey.program)
        return float((sizes > 1e-9 * sizes.max(initial=0.0)).sum())

    def of(self, totals: Array, inverse: Array, n: float) -> Array:
        """The covariance (K, K), where the inverse of the information and the number of records are these."""
        return self.covariance.factor(n, self.groups(totals), self.K)[0] * (inverse @ self.meat(totals) @ inverse)

    def slopes(self, totals: Array, inverse: Array, n: float, along: Array | None = None) -> tuple[Array, Array, Array]:
        """Derivatives of its diagonal, or of the variances of combinations `along` (J, K) of the coefficients: in the
        information (J, r) and in the meat (J, p), of their totals each, and in the number of records (J,).
        """
        rows, columns = self._triangle
        twice = np.where(rows == columns, 1.0, 2.0)  # totals off the diagonal stand in the matrix twice
        factor, change = self.covariance.factor(n, self.groups(totals), self.K)
        plain = inverse @ self.meat(totals) @ inverse
        left, of = (inverse, plain) if along is None else (along @ inverse, along @ plain)
        of_information = -factor * twice * (left[:, rows] * of[:, columns] + left[:, columns] * of[:, rows])
        if self.clusters:
            scores = self.apart(totals) @ left.T
            of_meat = (2.0 * factor * scores.T[:, :, None] * left[:, None, :]).reshape(len(left), -1)
        else:
            of_meat = factor * twice * left[:, rows] * left[:, columns]
        variance = np.diag(plain) if along is None else np.einsum("jk,jk->j", of, along)
        return of_information, of_meat, change * variance

    def meat(self, totals: Array) -> Array:
        """The meat (K, K)."""
        found = totals[self.place]
        if self.clusters:
            return np.asarray(found.reshape(self.clusters, self.K).T @ self.apart(totals))
        return symmetric(found, self.K)

    def apart(self, totals: Array) -> Array:
        """What the scores of clusters are multiplied with to their meat: themselves, or what is apart in strata."""
        scores = totals[self.place].reshape(self.clusters, self.K)
        if self.covariance.survey is None or self.stratum is None:
            return scores
        there = psus_there(totals[self.counts : self.counts + self.clusters])
        return about_strata(scores, self.stratum, there, self.covariance.survey.lonely, there)


def meant(estimator: Estimator, ols: bool) -> Estimator:
    """The estimator that 'robust' is; any other as it is."""
    return estimator if estimator != "robust" else "CR1S" if ols else "CR1"


def meat_of(scores: Array, clusters: NDArray[np.int64] | Drawn | None) -> tuple[Array, float | None]:
    """The meat (K, K) of the scores (n, K) of records, times their weights, and how many clusters they are in; of a
    survey its degrees of freedom.
    """
    if isinstance(clusters, Drawn):
        return clusters.meat(scores), clusters.df
    if clusters is None:
        return np.asarray(scores.T @ scores), None
    _, cell = np.unique(clusters, return_inverse=True)
    sums = np.zeros((int(cell.max()) + 1, scores.shape[1]))
    np.add.at(sums, cell, scores)
    return np.asarray(sums.T @ sums), float(len(sums))
