"""A linear model with a random intercept, from sums over groups: REML, maximum likelihood, or GLS of Swamy and Arora.

With z = (1, terms, response), s the sum of z over the n records of a group and W the products of what is left within
groups, the products of generalised least squares at a ratio q of the variance between groups to that of the residuals
are M(q) = W + sum of s s' / (n (1 + q n)). All else follows from M(q), so that one number is searched for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from outrisk.outputs.base import Array

Method = Literal["reml", "ml", "gls"]
METHODS: tuple[Method, ...] = get_args(Method)
CONSTANT_WITHIN = 1e-10  # share of a column's sum of squares below which what is left within groups is rounding
_COLLINEAR = 1e-12  # least eigenvalue of the scaled products of the columns
_GRID = np.concatenate([[0.0], np.logspace(-7.0, 7.0, 43)])  # of the ratio times the mean size of a group
_LEFT = 1e-13  # of the squares of the response: a fit that leaves no more is exact


@dataclass(frozen=True, eq=False)
class Products:
    """Those of generalised least squares at a ratio: inverse (d, d) of those of the columns, coefficients (d,), r =
    (-b, 1), and the residual sum of squares.
    """

    inverse: Array
    b: Array
    r: Array
    rss: float

    @classmethod
    def of(cls, products: Array) -> Products:
        """From M (d + 1, d + 1)."""
        d = len(products) - 1
        scale = np.sqrt(np.maximum(np.diag(products)[:d], 1e-300))
        values, vectors = np.linalg.eigh(products[:d, :d] / np.outer(scale, scale))
        half = vectors / np.sqrt(np.maximum(values, _COLLINEAR)) / scale[:, None]
        inverse = half @ half.T
        b = inverse @ products[:d, d]
        r = np.append(-b, 1.0)
        return cls(inverse, b, r, float(r @ products @ r))


@dataclass(frozen=True, eq=False)
class Moments:
    """What records of some groups are to such a model. n (G,): their records, all positive; sums (G, p) of z; within
    (p, p): W.
    """

    n: Array
    sums: Array
    within: Array

    @cached_property
    def records(self) -> float:
        """Their number."""
        return float(self.n.sum())

    @property
    def d(self) -> int:
        """Number of columns, the constant among them."""
        return len(self.within) - 1

    @cached_property
    def _by_size(self) -> tuple[Array, Array, Array]:
        """Sizes (S,) of groups, how many have each, and sums of s s' over these, (S, p p)."""
        sizes, at, counts = np.unique(np.round(self.n, 6), return_inverse=True, return_counts=True)
        order = np.argsort(at, kind="stable")
        ends = np.cumsum(counts)
        p = len(self.within)
        found = np.empty((len(sizes), p * p))
        for place, (end, count) in enumerate(zip(ends, counts, strict=True)):
            some = self.sums[order[end - count : end]]
            found[place] = (some.T @ some).ravel()
        return sizes, counts.astype(np.float64), found

    def _sum(self, factors: Array) -> Array:
        """The sum of factors (S,) times s s', (p, p); or of several, (L, S)."""
        p = len(self.within)
        return np.asarray((factors @ self._by_size[2]).reshape(*factors.shape[:-1], p, p))

    def products(self, ratio: float) -> Array:
        """M (p, p)."""
        sizes = self._by_size[0]
        return self.within + self._sum(1.0 / (sizes * (1.0 + ratio * sizes)))

    def slope(self, ratio: float) -> Array:
        """Its derivative in the ratio."""
        return -self._sum((1.0 + ratio * self._by_size[0]) ** -2.0)

    def curve(self, ratio: float) -> Array:
        """Its second derivative."""
        sizes = self._by_size[0]
        return self._sum(2.0 * sizes * (1.0 + ratio * sizes) ** -3.0)

    def spread(self, ratio: float) -> tuple[float, float, float]:
        """The logarithm of the determinant of the covariance over that of the residuals, and its derivatives."""
        sizes, counts, _ = self._by_size
        part = sizes / (1.0 + ratio * sizes)
        return float(counts @ np.log1p(ratio * sizes)), float(counts @ part), -float(counts @ part**2)

    def between(self, power: float) -> Array:
        """Sums over groups of s s' / n^power, (p, p)."""
        return self._sum(self._by_size[0] ** -power)

    def degrees(self, method: Method) -> float:
        """What the variance of the residuals is taken over."""
        return self.records - (self.d if method == "reml" else 0)

    def score(self, ratio: float, method: Method) -> float:
        """The derivative of -2 log-likelihoods in the ratio, at the best coefficients and residual variance."""
        slope, fit = self.slope(ratio), Products.of(self.products(ratio))
        found = self.degrees(method) * (fit.r @ slope @ fit.r) / fit.rss + self.spread(ratio)[1]
        if method == "reml":
            found += float((fit.inverse * slope[:-1, :-1]).sum())
        return float(found)

    def bend(self, ratio: float, method: Method) -> float:
        """The derivative of that."""
        slope, curve, fit = self.slope(ratio), self.curve(ratio), Products.of(self.products(ratio))
        first, beside = fit.r @ slope @ fit.r, (slope @ fit.r)[:-1]
        second = fit.r @ curve @ fit.r - 2.0 * beside @ fit.inverse @ beside
        found = self.degrees(method) * (second / fit.rss - (first / fit.rss) ** 2) + self.spread(ratio)[2]
        if method == "reml":
            along = fit.inverse @ slope[:-1, :-1]
            found += float((fit.inverse * curve[:-1, :-1]).sum() - (along * along.T).sum())
        return float(found)

    def _criterion(self, ratios: Array, method: Method) -> Array:
        """-2 log-likelihoods (L,) but for a constant, at several ratios."""
        sizes, counts, _ = self._by_size
        many = self.within + self._sum(1.0 / (sizes * (1.0 + ratios[:, None] * sizes)))
        d = self.d
        scale = np.sqrt(np.maximum(np.diagonal(many, axis1=1, axis2=2)[:, :d], 1e-300))
        own = many[:, :d, :d] / (scale[:, :, None] * scale[:, None, :])
        b = np.linalg.solve(own, (many[:, :d, d] / scale)[..., None])[..., 0] / scale
        rss = np.maximum(many[:, d, d] - (b * many[:, :d, d]).sum(axis=1), 1e-300)
        found = self.degrees(method) * np.log(rss) + np.log1p(ratios[:, None] * sizes) @ counts
        if method == "reml":
            found += np.linalg.slogdet(own)[1] + 2.0 * np.log(scale).sum(axis=1)
        return np.asarray(found)

    def likeliest(self, method: Method) -> float:
        """The ratio of the largest likelihood; 0 where the groups vary no more than their records make them, NaN where
        the restricted one is the same at all.
        """
        if method == "reml" and self.flat:
            return np.nan
        grid = _GRID * len(self.n) / self.records
        at = int(np.argmin(self._criterion(grid, method)))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
        if at == 0 and self.score(0.0, method) >= 0.0:
            return 0.0
        return self._root(float(low), float(high), method)

    def _root(self, low: float, high: float, method: Method) -> float:
        """Where the score is 0, between two ratios; the end that is nearer to it where it has one sign."""
        ends = self.score(low, method), self.score(high, method)
        if ends[0] * ends[1] > 0.0:
            return low if abs(ends[0]) < abs(ends[1]) else high
        return float(brentq(lambda ratio: self.score(ratio, method), low, high, xtol=1e-300, rtol=1e-13))

    def below(self, method: Method) -> float:
        """Where it is 0 at the boundary: the ratio below 0 that the likelihood would take, a distance from there."""
        least = -(1.0 - 1e-6) / float(self.n.max())
        return self._root(least, 0.0, method) if self.score(least, method) < 0.0 else least

    @property
    def collinear(self) -> bool:
        """Whether the columns are, or some sum of products is no number."""
        own = self.products(0.0)[:-1, :-1]
        diagonal = np.diag(own)
        if not np.isfinite(own).all() or (diagonal <= 0.0).any():
            return True
        scale = np.sqrt(diagonal)
        return bool(np.linalg.eigvalsh(own / np.outer(scale, scale))[0] < _COLLINEAR)

    @property
    def flat(self) -> bool:
        """Whether columns that do not vary within groups are as many as groups, so that none is left between these."""
        scale = np.sqrt(np.maximum(np.diag(self.products(0.0))[:-1], 1e-300))
        inside = self.within[:-1, :-1] / np.outer(scale, scale)
        return len(self.n) <= self.d - int((np.linalg.eigvalsh(inside) > CONSTANT_WITHIN).sum())

    @property
    def exact(self) -> bool:
        """Whether the columns and the groups leave nothing of the response."""
        total = self.products(0.0)[-1, -1]
        some = self.varies
        inside = np.append(some, True)
        return bool(Products.of(self.within[np.ix_(inside, inside)]).rss <= _LEFT * total)

    @cached_property
    def varies(self) -> NDArray[np.bool_]:
        """Which columns (d,) vary within groups; the constant does not."""
        own, whole = np.diag(self.within)[:-1], np.diag(self.products(0.0))[:-1]
        return np.asarray(own > CONSTANT_WITHIN * np.maximum(whole, 1e-300))


@dataclass(frozen=True)
class Components:
    """The variances of Swamy and Arora (1972): of the residuals, and between groups over it, which may be below 0.

    The first is what fixed effects leave, over records less groups and columns that vary within them. The other comes
    from the regression of the means of groups: `xtreg` has each mean once, `plm` as often as its group has records.
    """

    residual: float
    ratio: float
    rank: float  # of the columns of means


def swamy_arora(moments: Moments, weighted: bool) -> Components:
    """These of some records; NaN where there are too few records or groups. weighted: as plm has it."""
    n, groups = moments.n, float(len(moments.n))
    inside = np.append(moments.varies, True)
    left = moments.records - groups - moments.varies.sum()
    between = moments.between(1.0 if weighted else 2.0)
    rank = float(np.linalg.matrix_rank(between[:-1, :-1], hermitian=True, tol=1e-9 * np.trace(between[:-1, :-1])))
    if left <= 0.0 or groups <= rank:
        return Components(np.nan, np.nan, rank)
    residual = Products.of(moments.within[np.ix_(inside, inside)]).rss / left
    fit = Products.of(between)
    if weighted:
        traced = float((fit.inverse * moments.between(0.0)[:-1, :-1]).sum())
        found = (fit.rss - (groups - rank) * residual) / (moments.records - traced)
    else:
        found = fit.rss / (groups - rank) - residual * float((1.0 / n).mean())
    return Components(residual, found / residual if residual > 0.0 else np.nan, rank)


def moments_of(columns: Array, groups: NDArray[np.int64]) -> Moments:
    """Those of records: z (n, p) and the group (n,) of each."""
    sizes = np.bincount(groups).astype(np.float64)
    sums = np.stack([np.bincount(groups, column) for column in columns.T], axis=1)
    means = sums / np.maximum(sizes, 1)[:, None]
    left: Array = columns - means[groups]
    some = sizes > 0
    return Moments(sizes[some], np.asarray(sums[some], dtype=np.float64), left.T @ left)


def satterthwaite(moments: Moments, ratio: float, method: Method, rows: Sequence[Array]) -> Array:
    """Degrees of freedom (K,) of combinations of the coefficients, 2 v^2 / var(v), as lmerTest takes them: v from the
    second derivatives of the likelihood in both variances; `rows` are combinations times the inverse, (K, d).

    At a ratio of 0 the root of the variance between groups does not move v, and they are those of the residuals.
    """
    of = moments.degrees(method)
    if ratio <= 0.0:
        return np.full(len(rows), of)
    slope, curve, fit = moments.slope(ratio), moments.curve(ratio), Products.of(moments.products(ratio))
    sigma2 = fit.rss / of
    first, beside = fit.r @ slope @ fit.r, (slope @ fit.r)[:-1]
    second = fit.r @ curve @ fit.r - 2.0 * beside @ fit.inverse @ beside
    own = second / sigma2 + moments.spread(ratio)[2]
    if method == "reml":
        along = fit.inverse @ slope[:-1, :-1]
        own += float((fit.inverse * curve[:-1, :-1]).sum() - (along * along.T).sum())
    hessian = np.array([[own, -first / sigma2], [-first / sigma2, of]])
    covariance = 2.0 * np.linalg.inv(hessian)
    found = []
    matrix = np.linalg.inv(fit.inverse)
    for row in rows:
        inside = row @ matrix @ row
        change = np.array([-row @ slope[:-1, :-1] @ row, inside])
        found.append(2.0 * inside**2 / float(change @ covariance @ change))
    return np.array(found)
