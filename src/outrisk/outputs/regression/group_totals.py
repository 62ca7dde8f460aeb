"""From totals by group to the numbers of a linear model with a random intercept, and their derivatives.

Totals are those of a `Model` of all columns behind a constant, the response last: p sums, their products, and the sums
of each group. Each quantity follows from products a sum z z' - sum over groups of c(n) s s', and from n; the ratio is
where the score of the likelihood is 0, so that its derivatives are those of an implicit function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.regression.random_intercept import Moments, Products, swamy_arora
from outrisk.outputs.regression.release import Number, Release, Summary
from outrisk.outputs.regression.variance_numbers import OF_MODEL, Numbers
from outrisk.problem.released import half_digit

_BESIDE = 4.0  # widths of what printed numbers leave open, to either side, in which the ratio is that of the data
_HALF = 0.5  # of a record: groups with fewer have none
OF_GROUPS: tuple[Number, ...] = ("variance_u", "sigma_u", "rho")  # parts that are 0 where the groups do not vary
_RIDGE = 1e-11  # least eigenvalue of the scaled covariance of the numbers that is told from 0


@dataclass
class Slopes:
    """Derivatives of some quantity in the products of all records (p, p), and in the sums of groups (G, p)."""

    all: Array
    groups: Array

    @classmethod
    def of(cls, Q: Array, sums: Array, a: float, c: Array, dc: Array) -> Slopes:
        """Those of a quantity whose derivatives in a sum z z' - sum c(n) s s' are Q (p, p); c (G,), dc (G,) its
        derivatives in n.
        """
        Q = (Q + Q.T) / 2.0
        along = sums @ Q
        found = -2.0 * c[:, None] * along
        found[:, 0] -= dc * (along * sums).sum(axis=1)
        return cls(a * Q, found)

    def __add__(self, other: Slopes) -> Slopes:
        return Slopes(self.all + other.all, self.groups + other.groups)

    def times(self, factor: float) -> Slopes:
        """The derivatives of so many times it."""
        return Slopes(factor * self.all, factor * self.groups)


@dataclass(frozen=True, eq=False)
class RandomIntercept:
    """The map of such a model of p columns, the constant first and the response last; `groups`: of how many levels."""

    p: int
    groups: int
    made: Numbers
    release: Release
    published: Array

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,), exactly; beside published ones a variance that the data would have below 0 is
        negative, so that a search is told how far it is off.
        """
        return self.release.numbers(self._summary(self._moments(totals)[0])[0], self.published)

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m); those of the degrees of freedom, which hardly move, are taken to be 0."""
        moments, some = self._moments(totals)
        fit, u = self._summary(moments)
        slopes = np.zeros((len(u), len(totals)))
        for at, each in enumerate(self._slopes(moments, u)):
            slopes[at] = self._spread(each, some, len(totals))
        vector = self._steps(u) @ slopes
        changes = self.made.summary(vector, np.zeros(len(totals)), np.zeros((1, len(totals))))
        told = self._told("sigma_u")
        if told is not None:  # by the chord to the published one: of a root, whose slope at 0 has no end
            towards = max(float(np.nan_to_num(fit.sigma_u)), 0.0) + told
            changes = replace(changes, sigma_u=changes.variance_u / max(towards, 1e-3 * self.made.units.scale))
        if u[-2] < 0.0:  # where 0 is published, and is what the data have
            at_0 = {part: np.zeros(len(totals)) for part in OF_GROUPS if not self._told(part)}
            changes = replace(changes, **at_0)
        return self.release.jacobian(fit, changes, self.published)

    def says(self, low: Array, high: Array) -> None:
        """Nothing: the estimates that are not printed are as many as groups."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse covariance (k, k) of the published numbers, sampling and rounding together, by the delta method:
        coefficients vary as the model has it, each other number by itself.
        """
        moments, _ = self._moments(totals)
        fit, u = self._summary(moments)
        if not np.isfinite(u).all():
            return np.diag(half_digit(self.release.digits(self.p - 1)) ** -2.0)
        K = len(fit.coefficients)
        n, groups = max(float(np.nan_to_num(fit.n)), 4.0), max(float(len(moments.n)), 2.0)
        error = np.nan_to_num(fit.standard_errors, nan=1.0)
        back = self.made.units.back
        inverse = back @ Products.of(moments.products(float(np.clip(u[-2], *self._near)))).inverse @ back.T
        root = np.sqrt(np.maximum(np.diag(inverse), 1e-300))
        covariance = np.zeros((2 * K + len(OF_MODEL),) * 2)
        covariance[:K, :K] = np.outer(error, error) * inverse / np.outer(root, root)
        covariance[range(K, 2 * K), range(K, 2 * K)] = np.maximum(error**2 / (2.0 * groups), 1e-30)
        spread = self._variances(fit, n, groups)
        covariance[range(2 * K, len(covariance)), range(2 * K, len(covariance))] = spread
        m = len(covariance)
        changes = self.made.summary(np.eye(m), np.zeros(m), np.zeros((1, m)))
        change = self.release.jacobian(fit, changes, self.published)
        found = change @ covariance @ change.T
        found[np.diag_indices_from(found)] += self.release.noise(fit) + 1e-300
        scale = np.sqrt(np.diag(found))
        values, vectors = np.linalg.eigh(found / np.outer(scale, scale))
        precision = (vectors / np.maximum(values, _RIDGE)) @ vectors.T
        return np.asarray((precision + precision.T) / 2.0 / np.outer(scale, scale))

    def _variances(self, fit: Summary, n: float, groups: float) -> Array:
        """Sampling variances of the numbers of the whole model, about, in the order of `OF_MODEL`."""
        of_variance = float(np.nan_to_num(fit.variance_e)), abs(float(np.nan_to_num(fit.variance_u)))
        mean = of_variance[1] + of_variance[0] * groups / n
        squares = {"variance_e": 2.0 * of_variance[0] ** 2 / n, "variance_u": 2.0 * mean**2 / groups}
        for root, whole in (("residual_sd", "variance_e"), ("sigma_u", "variance_u")):
            value = float(np.nan_to_num(getattr(fit, whole)))
            squares[root] = squares[whole] / (4.0 * max(value, np.sqrt(squares[whole]), 1e-300))
        total = max(sum(of_variance), 1e-100)
        squares["rho"] = squares["variance_u"] / total**2
        squares |= {"n": n, "log_likelihood": n / 2.0, "aic": 2.0 * n, "bic": 2.0 * n}
        return np.asarray(np.maximum([squares[name] for name in OF_MODEL], 1e-12))

    @cached_property
    def _triangle(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.tril_indices(self.p)

    def _moments(self, totals: Array) -> tuple[Moments, NDArray[np.bool_]]:
        """What totals say of the groups that have records, and which these are."""
        p = self.p
        products = np.zeros((p, p))
        rows, columns = self._triangle
        products[rows, columns] = products[columns, rows] = totals[p : p + len(rows)]
        sums = totals[self._first : self._first + self.groups * p].reshape(self.groups, p)
        some = sums[:, 0] > _HALF
        means = sums[some] / np.sqrt(sums[some, :1])
        left = products - means.T @ means
        left[0] = left[:, 0] = 0.0  # the constant, but for rounding
        return Moments(sums[some, 0], sums[some], left), some

    @property
    def _first(self) -> int:
        """Where the sums of groups begin."""
        return self.p + len(self._triangle[0])

    def _told(self, part: Number) -> float | None:
        """A single published number; None where there is none."""
        place = dict(self.release.layout(self.p - 1)).get(part)
        value = np.nan if place is None else float(self.published[place][0])
        return value if np.isfinite(value) else None

    @cached_property
    def _near(self) -> tuple[float, float]:
        """Between which ratios those lie that the published numbers may be of, and a little further: there all numbers
        are taken at the ratio that the data have, elsewhere at the nearest end, where they are closer to linear in the
        totals. All from 0 on where none tells it.
        """
        found = {part: self._ends(part) for part in (*OF_GROUPS, "residual_sd", "variance_e")}
        told = {part: ends for part, ends in found.items() if ends is not None}
        squares = [
            told[square] if square in told else told[root] ** 2 if root in told else None
            for square, root in (("variance_u", "sigma_u"), ("variance_e", "residual_sd"))
        ]
        if squares[0] is not None and squares[1] is not None and squares[1][0] > 0.0:
            low, high = squares[0][0] / squares[1][1], squares[0][1] / squares[1][0]
        elif "rho" in told and told["rho"][1] < 1.0:
            low, high = told["rho"] / (1.0 - told["rho"])
        else:
            return 0.0, np.inf
        more = _BESIDE * (high - low)
        return max(float(low - more), 0.0), float(high + more)

    def _ends(self, part: Number) -> Array | None:
        """From where to where a printed number may lie, (2,); None where it is not printed."""
        value = self._told(part)
        if value is None:
            return None
        half = float(half_digit(self.release.digits(self.p - 1))[self.release.places(part, self.p - 1)[0]])
        return np.array([max(value - half, 0.0), value + half])

    def _summary(self, moments: Moments) -> tuple[Summary, Array]:
        """The fit, and what its numbers are of; the ratio there is below 0 where the likelihood, or the variances of
        Swamy and Arora, would have it there.
        """
        K = self.p - 1
        groups = np.array([float(len(moments.n))])
        enough = len(moments.n) > 1 and moments.records > max(K, len(moments.n))
        ratio, residual = self.made.ratio(moments) if enough else (np.nan, np.nan)
        if not np.isfinite(ratio):
            u = np.full(2 * K + 6, np.nan)
            u[2 * K + 1] = moments.records
            return self.made.summary(self.made.vector(u), np.inf, groups), u
        at = float(np.clip(ratio, *self._near))
        u = self.made.fit(moments, at, residual)
        if ratio == 0.0 and self.made.method != "gls":
            ratio = moments.below(self.made.method)
        u[-2] = ratio
        fit = self.made.summary(self.made.vector(u), self.made.df(moments, at), groups)
        if ratio < 0.0:
            fit = self._below(fit)
        return fit, u

    def _below(self, fit: Summary) -> Summary:
        """Where the variance between groups is below 0: 0, but where one is published that is not."""
        told = [self._told(part) for part in OF_GROUPS]
        variance, sigma, rho = (bool(each) for each in told)
        return replace(
            fit,
            variance_u=fit.variance_u if variance else 0.0,
            sigma_u=fit.variance_u / float(told[1] or 1.0) if sigma else 0.0,
            rho=fit.rho if rho else 0.0,
        )

    def _steps(self, u: Array) -> Array:
        """Derivatives (v, u) of the numbers of a fit, by a complex step (Squire and Trapp 1998)."""
        found = []
        for at, value in enumerate(u):
            moved = u.astype(complex)
            step = 1e-20 * max(abs(float(value)), 1e-6)
            moved[at] += 1j * step
            found.append(np.nan_to_num(self.made.vector(moved).imag / step, posinf=0.0, neginf=0.0))
        return np.stack(found, axis=1)

    def _slopes(self, moments: Moments, u: Array) -> list[Slopes]:
        """Those of each of `u`; none where there is no fit."""
        if not np.isfinite(u).all():
            return []
        method, ratio = self.made.method, float(u[-2])
        least, most = self._near
        at = float(np.clip(ratio, least, most))
        found = self._at(moments, at)
        if method == "gls":
            of_ratio, residual = self._of_components(moments)
        else:
            residual = Slopes(np.zeros((self.p, self.p)), np.zeros_like(moments.sums))
            bend = moments.bend(ratio, method)
            of_ratio = self._of_score(moments, ratio).times(-1.0 / bend if bend > 0.0 else 0.0)
        if least < ratio < most:
            by_ratio = self._by_ratio(moments, at)
            found = [each + of_ratio.times(change) for each, change in zip(found, by_ratio, strict=True)]
        return [*found, of_ratio, residual]

    def _at(self, moments: Moments, ratio: float) -> list[Slopes]:
        """Those at a fixed ratio of all but the ratio and what comes behind it."""
        n, sums, p = moments.n, moments.sums, self.p
        fit = Products.of(moments.products(ratio))
        back = self.made.units.back
        c = ratio / (1.0 + ratio * n)
        whole = np.zeros((p, p))
        whole[:-1, :-1] = fit.inverse
        rows = np.hstack([back @ fit.inverse, np.zeros((p - 1, 1))])
        of = [np.outer(row, fit.r) for row in rows] + [-np.outer(row, row) for row in rows] + [np.outer(fit.r, fit.r)]
        found = [Slopes.of(Q, sums, 1.0, c, -(c**2)) for Q in of]
        one, by_size = np.zeros((p, p)), np.zeros_like(sums)
        one[0, 0] = 1.0
        by_size[:, 0] = c
        found += [Slopes(one, np.zeros_like(sums)), Slopes(np.zeros((p, p)), by_size)]
        return [*found, Slopes.of(whole, sums, 1.0, c, -(c**2))]

    def _by_ratio(self, moments: Moments, ratio: float) -> Array:
        """Derivatives of the same in the ratio."""
        slope, fit = moments.slope(ratio), Products.of(moments.products(ratio))
        rows = self.made.units.back @ fit.inverse
        own = slope[:-1, :-1]
        return np.array(
            [
                *(rows @ (slope @ fit.r)[:-1]),
                *(-((rows @ own) * rows).sum(axis=1)),
                fit.r @ slope @ fit.r,
                0.0,
                moments.spread(ratio)[1],
                (fit.inverse * own).sum(),
            ]
        )

    def _of_score(self, moments: Moments, ratio: float) -> Slopes:
        """Those of the score of the likelihood at a fixed ratio."""
        n, sums = moments.n, moments.sums
        fit, slope = Products.of(moments.products(ratio)), moments.slope(ratio)
        one = 1.0 + ratio * n
        c, w, dw = ratio / one, one**-2.0, -2.0 * ratio * one**-3.0
        of, restricted = moments.degrees(self.made.method), self.made.method == "reml"
        first, beside = float(fit.r @ slope @ fit.r), np.append(fit.inverse @ (slope @ fit.r)[:-1], 0.0)
        square = np.outer(fit.r, fit.r)
        in_products = of * (-2.0 * np.outer(beside, fit.r) / fit.rss - first / fit.rss**2 * square)
        in_slope = of * square / fit.rss
        if restricted:
            in_products[:-1, :-1] -= fit.inverse @ slope[:-1, :-1] @ fit.inverse
            in_slope[:-1, :-1] += fit.inverse
        found = Slopes.of(in_products, sums, 1.0, c, -(c**2)) + Slopes.of(in_slope, sums, 0.0, w, dw)
        found.groups[:, 0] += w
        found.all[0, 0] += first / fit.rss
        return found

    def _of_components(self, moments: Moments) -> tuple[Slopes, Slopes]:
        """Those of the ratio and the residual variance of Swamy and Arora."""
        n, sums, p = moments.n, moments.sums, self.p
        groups, weighted = float(len(n)), self.made.program == "plm"
        made = swamy_arora(moments, weighted)
        inside = np.append(moments.varies, True)
        fit = Products.of(moments.within[np.ix_(inside, inside)])
        r = np.zeros(p)
        r[inside] = fit.r
        left = moments.records - groups - moments.varies.sum()
        of_residual = Slopes.of(np.outer(r, r) / left, sums, 1.0, 1.0 / n, -(n**-2.0))
        of_residual.all[0, 0] -= made.residual / left
        power = 1.0 if weighted else 2.0
        other = Products.of(moments.between(power))
        of_rss = Slopes.of(np.outer(other.r, other.r), sums, 0.0, -(n**-power), power * n ** -(power + 1.0))
        if weighted:
            squares, Q = moments.between(0.0)[:-1, :-1], np.zeros((2, p, p))
            Q[0, :-1, :-1] = -other.inverse @ squares @ other.inverse
            Q[1, :-1, :-1] = other.inverse
            traced = Slopes.of(Q[0], sums, 0.0, -1.0 / n, n**-2.0)
            traced += Slopes.of(Q[1], sums, 0.0, -np.ones_like(n), np.zeros_like(n))
            below = moments.records - float((other.inverse * squares).sum())
            traced.all[0, 0] -= 1.0
            value = made.ratio * made.residual
            of_value = (of_rss + of_residual.times(made.rank - groups)).times(1.0 / below) + traced.times(value / below)
        else:
            by_size = np.zeros_like(sums)
            by_size[:, 0] = made.residual * n**-2.0 / groups
            mean = float((1.0 / n).mean())
            of_value = of_rss.times(1.0 / (groups - made.rank)) + of_residual.times(-mean)
            of_value.groups += by_size
        return of_value.times(1.0 / made.residual) + of_residual.times(-made.ratio / made.residual), of_residual

    def _spread(self, slopes: Slopes, some: NDArray[np.bool_], m: int) -> Array:
        """Over all totals, (m,)."""
        rows, columns = self._triangle
        found, wide = np.zeros(m), np.zeros((self.groups, self.p))
        found[self.p : self.p + len(rows)] = slopes.all[rows, columns] * np.where(rows == columns, 1.0, 2.0)
        wide[some] = slopes.groups
        found[self._first : self._first + wide.size] = wide.ravel()
        return found
