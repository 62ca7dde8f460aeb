"""From totals of a regression with instrumental variables to its published numbers.

The totals are those of a linear model of the response less x'b* on all columns w, regressors and instruments: W'r,
M = W'W and r'r. With Pi = (Z'Z)^-1 Z'X the first stages and N = X'Z Pi, two-stage least squares has
b = b* + N^-1 Pi'Z'r (Theil 1953; Basmann 1957): all is exact in the totals but robust errors, whose meat is
that at b*.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.regression.newton import Newton, inverse_of
from outrisk.outputs.regression.release import Release, Summary
from outrisk.outputs.regression.sandwich import Covariance
from outrisk.problem.algebra import invert, symmetric

_RIDGE = 1e-11  # least eigenvalue of scaled products that is told from 0
_SINGLE = tuple(
    each.name
    for each in fields(Summary)
    if each.name not in ("coefficients", "standard_errors", "first_stage_f", "levels")
)
Columns = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Roles:
    """Where columns stand among all W: the regressors x (K,), the instruments z (L,) and the exogenous regressors that
    are among both, and the endogenous. tested: which of the K coefficients F is of.
    """

    x: Columns
    z: Columns
    exogenous: Columns
    endogenous: Columns
    tested: Columns

    @property
    def excluded(self) -> int:
        """The number of instruments that are no regressors."""
        return len(self.z) - len(self.exogenous)


@dataclass(frozen=True)
class Way:
    """How a program counts: by_n: the residual variance is divided by n, not by n - K. by_clusters: with clusters t has
    one degree of freedom less than there are, not n - K.
    """

    by_n: bool
    by_clusters: bool


@dataclass(frozen=True, eq=False)
class _Step:
    """Two-stage least squares at some totals, over all W columns: X the regressors' unit columns (W, K), Pi (W, K), A
    the inverse of Z'Z (W, W), d the step (W,), a = A Z'u (W,), u the residuals. N: the inverse of X'Z Pi (K, K).
    """

    M: Array
    g: Array
    X: Array
    Pi: Array
    A: Array
    N: Array
    d: Array
    a: Array
    rss: float


@dataclass(frozen=True, eq=False)
class _Change:
    """The derivative of a number in W'W (W, W), in W'r (W,) and in r'r."""

    M: Array
    g: Array
    rr: float = 0.0


@dataclass(frozen=True, eq=False)
class TwoStage:
    """The map of a regression with instruments. `linear`: that of the linear model of all columns, at b* and 0 for what
    is no regressor, which says where totals are.
    covariance: of the standard errors, and their distribution.
    """

    roles: Roles
    linear: Newton
    release: Release
    published: Array
    covariance: Covariance
    way: Way

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,)."""
        step = self._step(totals)
        return self.release.numbers(self._summary(totals, step), self.published)

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m)."""
        step = self._step(totals)
        with np.errstate(all="ignore"):
            fit = self._summary(totals, step)
            return self.release.jacobian(fit, self._slopes(totals, step, fit), self.published)

    def says(self, low: Array, high: Array) -> None:
        """Nothing: its scores are not those of a regression on all columns."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse covariance (k, k) of the published numbers, sampling and rounding together, by the delta method:
        coefficients vary as the model has it, each other number by itself.
        """
        step = self._step(totals)
        fit = self._summary(totals, step)
        K, first = self._many, len(fit.first_stage_f)
        n = max(float(np.nan_to_num(fit.n)), 4.0)
        groups = self.linear.sandwich.groups(totals) if self.linear.sandwich else None
        error = np.nan_to_num(fit.standard_errors, nan=1.0, posinf=1e12)
        root = np.sqrt(np.maximum(np.diag(step.N), 1e-300))
        size = 2 * K + len(_SINGLE) + first
        covariance = np.zeros((size, size))
        covariance[:K, :K] = np.outer(error, error) * step.N / np.outer(root, root)
        covariance[range(K, 2 * K), range(K, 2 * K)] = np.maximum(error**2 / (2.0 * max(groups or n, 2.0)), 1e-30)
        covariance[range(2 * K, size), range(2 * K, size)] = [*self._variances(fit, n), *self._of_first(fit)]
        change = self.release.jacobian(fit, self._as_slopes(np.eye(size)), self.published)
        found = change @ covariance @ change.T
        found[np.diag_indices_from(found)] += self.release.noise(fit) + 1e-300
        scale = np.sqrt(np.diag(found))
        values, vectors = np.linalg.eigh(found / np.outer(scale, scale))
        precision = (vectors / np.maximum(values, _RIDGE)) @ vectors.T
        return np.asarray((precision + precision.T) / 2.0 / np.outer(scale, scale))

    @property
    def _many(self) -> int:
        return len(self.roles.x)

    def _variances(self, fit: Summary, n: float) -> Iterator[float]:
        """Sampling variances of the numbers of the whole model, about, in the order of `_SINGLE`: of a test with q
        degrees of freedom as of a chi2 or F that is as far from its mean.
        """
        K, over = max(len(self.roles.tested), 1), self.roles.excluded - len(self.roles.endogenous)
        tests = {"f": (2.0 / K, 4.0 / K), "wald": (2.0 * K, 4.0), "sargan": (2.0 * over, 4.0)}
        tests["wu_hausman"] = (2.0 / len(self.roles.endogenous), 4.0 / len(self.roles.endogenous))
        for name in _SINGLE:
            value = abs(float(np.nan_to_num(getattr(fit, name), posinf=0.0)))
            if name in tests:
                yield max(tests[name][0] + tests[name][1] * value, 1e-12)
            elif name.startswith("r2"):
                yield 4.0 * (1.0 + value) ** 2 / n
            else:
                yield max(n if name in ("n", "df") else value**2 / (2.0 * n), 1e-12)

    def _of_first(self, fit: Summary) -> Array:
        """Those of the F of first stages."""
        return np.asarray((2.0 + 4.0 * np.abs(np.nan_to_num(fit.first_stage_f))) / self.roles.excluded)

    def _step(self, totals: Array) -> _Step:
        roles, linear = self.roles, self.linear
        W = len(linear.values)
        g, M = totals[:W], symmetric(totals[W : W + W * (W + 1) // 2], W)
        A = np.zeros((W, W))
        A[np.ix_(roles.z, roles.z)] = inverse_of(M[np.ix_(roles.z, roles.z)], linear.largest[roles.z])
        X = np.eye(W)[:, roles.x]
        Pi = A @ M @ X
        N = invert(np.asarray(Pi.T @ M @ Pi), None, _RIDGE)
        d = np.zeros(W)
        d[roles.x] = N @ (Pi.T @ g)
        rss = totals[linear.likelihood_at] - 2.0 * float(d @ g) + float(d @ M @ d)
        return _Step(M, g, X, Pi, A, N, d, A @ (g - M @ d), max(rss, 0.0))

    def _summary(self, totals: Array, step: _Step) -> Summary:
        roles, linear, K = self.roles, self.linear, self._many
        n, total = linear.get(totals, "records"), linear.total(totals)[0]
        rss, b = step.rss, linear.values[roles.x] + step.d[roles.x]
        left = n - K
        df, _ = self._df(totals, n)
        with np.errstate(all="ignore"):
            variance = np.float64(rss) / (n if self.way.by_n else (left if left > 0 else np.nan))
            errors = np.sqrt(np.maximum(self._scale(totals, variance, n) * self._spread(totals, step, np.eye(K)), 0.0))
            r2 = 1.0 - np.float64(rss) / total if total > 0 else np.nan
            t = self._direction(totals, step, b, variance, n)
            wald = float(t @ b) if len(roles.tested) else np.nan
            nested = self._nested(totals, step)
            excluded, behind = roles.excluded, len(roles.endogenous)
            L = len(roles.z)
            first = np.array([((whole - own) / excluded) / (own / (n - L)) for whole, own in nested[1]])
            whole, own = nested[0]
            hausman = ((whole - own) / behind) / (own / (n - K - behind)) if n - K > behind else np.nan
            over = excluded - behind
            sargan = float(step.a @ (step.g - step.M @ step.d)) * n / np.float64(rss) if over > 0 else np.nan
            return Summary(
                b,
                errors,
                df,
                n,
                np.nan,
                np.nan,
                r2,
                float(np.sqrt(variance)),
                r2_adjusted=1.0 - (1.0 - r2) * (n - linear.centred) / left if left > 0 else np.nan,
                f=wald / max(len(roles.tested), 1),
                wald=wald,
                wu_hausman=hausman,
                sargan=sargan,
                first_stage_f=first if n > L else np.full(len(first), np.nan),
            )

    def _df(self, totals: Array, n: float) -> tuple[float, float]:
        """Degrees of freedom of p-values and limits, and their derivative in n."""
        return self.covariance.df(n, self._groups(totals) if self.way.by_clusters else None, self._many)

    def _groups(self, totals: Array) -> float | None:
        return self.linear.sandwich.groups(totals) if self.linear.sandwich else None

    def _scale(self, totals: Array, variance: float, n: float) -> float:
        """What the spread of coefficients is multiplied by to their variance."""
        if self.linear.sandwich is None:
            return float(variance)
        return self.covariance.factor(n, self._groups(totals), self._many)[0]

    def _spread(self, totals: Array, step: _Step, t: Array) -> Array:
        """The variance of combinations t (J, K) of the coefficients, but for its scale, (J,)."""
        if self.linear.sandwich is None:
            return np.asarray(np.einsum("jk,kl,jl->j", t, step.N, t))
        along = step.Pi @ step.N @ t.T
        return np.asarray(np.einsum("wj,wv,vj->j", along, self.linear.sandwich.meat(totals), along))

    def _direction(self, totals: Array, step: _Step, b: Array, variance: float, n: float) -> Array:
        """V^-1 b of the tested coefficients, 0 for the others, (K,)."""
        found, tested = np.zeros(self._many), self.roles.tested
        if not len(tested):
            return found
        half = step.N if self.linear.sandwich is None else step.N @ step.Pi.T
        middle = step.M if self.linear.sandwich is None else self.linear.sandwich.meat(totals)
        V = self._scale(totals, variance, n) * (half if self.linear.sandwich is None else half @ middle @ half.T)
        try:
            found[tested] = np.linalg.solve(V[np.ix_(tested, tested)], b[tested])
        except np.linalg.LinAlgError:
            found[tested] = np.nan
        return found

    def _nested(self, totals: Array, step: _Step) -> tuple[tuple[float, float], list[tuple[float, float]]]:
        """Residual sums of squares without and with what a test adds: of Wu and Hausman's, and of each first stage."""
        rr = totals[self.linear.likelihood_at]
        plain, more, _ = self._added(step)
        of_test = tuple(rr - 2.0 * c @ step.g + c @ step.M @ c for c in (plain, more))
        return (of_test[0], of_test[1]), [
            (float(c0 @ step.M @ c0), float(c1 @ step.M @ c1)) for c0, c1 in self._first_stages(step)
        ]

    def _first_stages(self, step: _Step) -> Iterator[tuple[Array, Array]]:
        """What the exogenous alone, and all instruments, leave of each endogenous column, as combinations (W,)."""
        some = self.roles.exogenous
        inverse = inverse_of(step.M[np.ix_(some, some)], self.linear.largest[some]) if len(some) else None
        for at in self.roles.endogenous.tolist():
            c0 = np.zeros(len(step.g))
            if inverse is not None:
                c0[some] = -inverse @ step.M[some, at]
            c0[at] = 1.0
            yield c0, step.X[:, self.roles.x == at][:, 0] - step.Pi[:, self.roles.x == at][:, 0]

    def _added(self, step: _Step) -> tuple[Array, Array, Array]:
        """The fit of r by least squares on the regressors, and on these and the fitted endogenous ones, as combinations
        of columns (W,); and the coefficients of the latter (K,), 0 of the exogenous.
        """
        plain = np.zeros(len(step.g))
        x, endogenous = self.roles.x, np.isin(self.roles.x, self.roles.endogenous)
        plain[x] = inverse_of(step.M[np.ix_(x, x)], self.linear.largest[x]) @ step.g[x]
        basis = np.hstack([step.X, step.Pi[:, endogenous]])
        of_all = invert(np.asarray(basis.T @ step.M @ basis), None, _RIDGE) @ (basis.T @ step.g)
        added = np.zeros(self._many)
        added[endogenous] = of_all[self._many :]
        return plain, basis @ of_all, added

    def _slopes(self, totals: Array, step: _Step, fit: Summary) -> Summary:
        """Derivatives of the summary in all totals."""
        linear, K, m = self.linear, self._many, len(totals)
        n, of_n = linear.get(totals, "records"), linear.unit("records", m)
        total, of_total = linear.total(totals)
        rss = np.float64(step.rss)
        of_b = np.array([self._row(each, m) for each in self._of_coefficients(step)])
        along = -2.0 * step.g + 2.0 * step.M @ step.d
        of_rss = self._row(_Change(np.outer(step.d, step.d), -2.0 * step.d, 1.0), m) + along[self.roles.x] @ of_b
        left = n - K
        divisor = n if self.way.by_n else left
        variance, of_variance = rss / divisor, of_rss / divisor - rss / divisor**2 * of_n
        scale, of_scale = float(variance), of_variance
        if linear.sandwich is not None:
            scale, change = self.covariance.factor(n, self._groups(totals), K)
            of_scale = change * of_n
        spread = self._spread(totals, step, np.eye(K))
        of_spread = np.array([self._of_spread(totals, step, t, m) for t in np.eye(K)])
        error = (scale * of_spread + np.outer(spread, of_scale)) / (2.0 * fit.standard_errors[:, None])
        r2 = -(of_rss - rss / np.float64(total) * of_total) / np.float64(total)
        share = (n - linear.centred) / left
        adjusted = share * r2 - (1.0 - np.float64(fit.r2)) * (1.0 / left - share / left) * of_n
        t = self._direction(totals, step, fit.coefficients, variance, n)
        of_square = scale * self._of_spread(totals, step, t, m) + self._spread(totals, step, t[None])[0] * of_scale
        wald = 2.0 * t @ of_b - of_square
        _, of_df = self._df(totals, n)
        zero = np.zeros(m)
        hausman, first = self._of_tests(totals, step, m)
        return Summary(
            of_b,
            error,
            of_df * of_n,
            of_n,
            zero,
            zero,
            r2,
            of_variance / (2.0 * np.float64(fit.residual_sd)),
            r2_adjusted=adjusted,
            f=wald / max(len(self.roles.tested), 1),
            wald=wald,
            wu_hausman=hausman,
            sargan=self._of_sargan(step, fit, of_rss, n, of_n),
            first_stage_f=first,
        )

    def _of_sargan(self, step: _Step, fit: Summary, of_rss: Array, n: float, of_n: Array) -> Array:
        value, rss = np.float64(fit.sargan), np.float64(step.rss)
        own = self._row(_Change(-np.outer(step.a, 2.0 * step.d + step.a), 2.0 * step.a), len(of_n))
        return np.asarray(own * n / rss + value / n * of_n - value / rss * of_rss)

    def _of_tests(self, totals: Array, step: _Step, m: int) -> tuple[Array, Array]:
        """Derivatives of Wu and Hausman's F (m,), and of those of first stages (e, m)."""
        roles, of_n = self.roles, self.linear.unit("records", m)
        n = self.linear.get(totals, "records")
        (whole, own), firsts = self._nested(totals, step)
        plain, more, added = self._added(step)
        fitted = np.outer(-2.0 * step.A @ (step.g - step.M @ more), (step.X - step.Pi) @ added)
        of_whole = self._row(_Change(np.outer(plain, plain), -2.0 * plain, 1.0), m)
        of_own = self._row(_Change(np.outer(more, more) + fitted, -2.0 * more, 1.0), m)
        e, K, L = len(roles.endogenous), self._many, len(roles.z)
        hausman = _of_f((whole, of_whole), (own, of_own), (n - K - e, of_n), e)
        none = np.zeros(len(step.g))
        found = []
        for (c0, c1), (before, after) in zip(self._first_stages(step), firsts, strict=True):
            of_before, of_after = (self._row(_Change(np.outer(c, c), none), m) for c in (c0, c1))
            found.append(_of_f((before, of_before), (after, of_after), (n - L, of_n), roles.excluded))
        return hausman, np.array(found)

    def _of_coefficients(self, step: _Step) -> Iterator[_Change]:
        """N dd = (X - Pi)' dM a - Pi' dM d + Pi' dg."""
        for apart, fitted in zip(step.N @ (step.X - step.Pi).T, step.N @ step.Pi.T, strict=True):
            yield _Change(np.outer(apart, step.a) - np.outer(fitted, step.d), fitted)

    def _of_spread(self, totals: Array, step: _Step, t: Array, m: int) -> Array:
        """Derivatives (m,) of the spread of a combination t (K,) of the coefficients.

        With v = N t it is t'v, and its change -v' dN^-1 v with dN^-1 = X' dM Pi + Pi' dM X - Pi' dM Pi; with a meat S
        it is h'S h, h = Pi v, which changes with Pi, by A dM (X - Pi), and with v.
        """
        sandwich, v = self.linear.sandwich, step.N @ t
        x, p = step.X @ v, step.Pi @ v
        none = np.zeros(len(step.g))
        if sandwich is None:
            return self._row(_Change(-2.0 * np.outer(x, p) + np.outer(p, p), none), m)
        meat = sandwich.meat(totals) @ p
        q = step.N @ (step.Pi.T @ meat)
        xq, pq = step.X @ q, step.Pi @ q
        of_M = np.outer(step.A @ meat, x - p) - np.outer(xq, p) - np.outer(pq, x) + np.outer(pq, p)
        found = self._row(_Change(2.0 * of_M, none), m)
        if sandwich.clusters:
            found[sandwich.place] = (2.0 * (sandwich.apart(totals) @ p)[:, None] * p).ravel()
        else:
            rows, columns = self._triangle
            found[sandwich.place] = p[rows] * p[columns] * np.where(rows == columns, 1.0, 2.0)
        return found

    @cached_property
    def _triangle(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.tril_indices(len(self.linear.values))

    def _row(self, change: _Change, m: int) -> Array:
        """Derivatives in all totals (m,)."""
        found, W = np.zeros(m), len(change.g)
        rows, columns = self._triangle
        found[:W] = change.g
        both = np.where(rows == columns, 0.5, 1.0)  # totals off the diagonal stand in the matrix twice
        found[W : W + len(rows)] = (change.M[rows, columns] + change.M[columns, rows]) * both
        found[self.linear.likelihood_at] = change.rr
        return found

    def _as_slopes(self, rows: Array) -> Summary:
        """A summary of derivatives (v, m) of coefficients, standard errors, numbers of the whole and first stages."""
        K = self._many
        named = dict(zip(_SINGLE, rows[2 * K :], strict=False))
        return Summary(rows[:K], rows[K : 2 * K], first_stage_f=rows[2 * K + len(_SINGLE) :], **named)


def _of_f(whole: tuple[float, Array], own: tuple[float, Array], df: tuple[float, Array], q: int) -> Array:
    """Derivatives of ((whole - own) / q) / (own / df)."""
    rest = np.float64(own[0])
    ratio = (whole[0] - rest) / rest
    return np.asarray(((whole[1] - own[1]) / rest - ratio / rest * own[1]) * df[0] / q + ratio / q * df[1])
