"""From the totals of a regression to its published numbers: one Newton step from the published coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from outrisk.outputs.base import Array
from outrisk.outputs.regression.release import Kind, Release, Summary
from outrisk.outputs.regression.sandwich import OF_THE_MODEL, Covariance, Sandwich
from outrisk.problem.algebra import invert, symmetric
from outrisk.problem.formulas import Estimates, ModelSays

_EMPTY = 1e-3  # a column with less information than this share of one record's counts as without records
_SINGLE = ("n", "log_likelihood", "residual_sd", "r2", "pseudo_r2", "events")  # of the model, not of a coefficient
_STUDENT = Covariance(distribution="t")
_RIDGE = 1e-11  # least eigenvalue of the scaled information that is told from 0


@dataclass(frozen=True, eq=False)
class Newton:
    """The map of a regression with `values` (K,) as its coefficients and `published` (k,) as all numbers printed of it.

    `largest` (K,) is the largest size of each design column. `extra` gives the position of named extra totals among all
    totals: 'records', 'weight' (the sum of weights), and what the kind's R2 needs (see `Regression._extras`). `centred`
    says whether R2 is about the mean, `shift` what was taken off the response in 'y' and 'yy'. `information` and
    `likelihood` say whether the model carries them, `covariance` how that of the coefficients was estimated, by a
    `sandwich` where not by the model.
    """

    kind: Kind
    values: Array
    published: Array
    release: Release
    largest: Array
    extra: Mapping[str, int]
    information: bool
    likelihood: bool
    centred: bool = True
    shift: float = 0.0
    covariance: Covariance = OF_THE_MODEL
    sandwich: Sandwich | None = None

    def numbers(self, totals: Array, information: Array) -> Array:
        """Published numbers (k,)."""
        return self.release.numbers(self.summary(totals, self.inverse(totals, information)), self.published)

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m) in the totals; see `Release.jacobian`."""
        inverse = self.inverse(totals, information)
        return self.release.jacobian(self.summary(totals, inverse), self.slopes(totals, inverse), self.published)

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse covariance (k, k) of the published numbers, sampling and rounding together.

        Coefficients alone: the information. Else by the delta method from a large-sample covariance of estimates (see
        `estimates_of`), so that numbers which say the same (limits, standard errors) count once.
        """
        if self.release.parts == ("coefficients",) and not self.release.exponentiate:
            matrix = self._matrix(totals, information)
            variance = float(self.summary(totals, self.inverse(totals, information)).residual_sd) ** 2
            return matrix / max(variance, 1e-12) if np.isfinite(variance) else matrix
        inverse = self.inverse(totals, information)
        fit = self.summary(totals, inverse)
        if self.sandwich is None:
            covariance, slopes = estimates_of(self.kind, fit, inverse)
        else:
            # the sandwich of few clusters is singular: correlations are those of the model
            with np.errstate(all="ignore"):
                scale = fit.standard_errors / np.sqrt(np.maximum(np.diag(inverse), 1e-300))
            scale = np.where(np.isfinite(scale) & (scale > 0.0), scale, 1.0)
            groups = float(np.nan_to_num(self.sandwich.groups(totals) or 0.0)) or max(float(np.nan_to_num(fit.n)), 1.0)
            covariance, slopes = estimates_of(self.kind, fit, inverse * np.outer(scale, scale), groups)
        change = self.release.jacobian(fit, slopes, self.published)
        found = change @ covariance @ change.T
        found[np.diag_indices_from(found)] += self.release.noise(fit)
        scale = np.sqrt(np.diag(found))
        values, vectors = np.linalg.eigh(found / np.outer(scale, scale))
        precision = (vectors / np.maximum(values, _RIDGE)) @ vectors.T
        return np.asarray((precision + precision.T) / 2.0 / np.outer(scale, scale))

    def says(self, low: Array, high: Array) -> ModelSays:
        """What numbers between `low` and `high` (k,) say of the estimates as the model has them, that is, of standard
        errors by the information alone; limits narrow coefficients.
        """
        K, sandwich = self._n_coefficients, self.sandwich
        says = self.release.says(low, high, K, self.centred)
        own = says.standard_errors
        if sandwich is not None:
            says = replace(says, standard_errors=np.tile([-np.inf, np.inf], (K, 1)))
            if sandwich.clusters:
                return says
            says = replace(says, robust=lambda n: sandwich.covariance.factor(n, None, K)[0])
        return replace(says, errors=lambda n: self._errors(own, low, high, self._df(None, n)[0]))

    def _errors(self, errors: Array, low: Array, high: Array, df: float) -> Array:
        """What is said of standard errors (K, 2), as limits between `low` and `high` (k,) of so many degrees of freedom
        narrow it.
        """
        of_limits = self.release.of_limits(low, high, self._n_coefficients, df)
        return np.stack([np.fmax(errors[:, 0], of_limits[:, 0]), np.fmin(errors[:, 1], of_limits[:, 1])], axis=1)

    def told(self, low: Array, high: Array) -> ModelSays:
        """What numbers between `low` and `high` (k,) say of the estimates."""
        return self.says(low, high)

    def _variance(self, totals: Array, inverse: Array) -> Array:
        """That of the coefficients (K,): by the sandwich or, of ols in residual variances, by the information."""
        if self.sandwich is None:
            return np.diag(inverse)
        return np.diag(self.sandwich.of(totals, inverse, self.get(totals, "records")))

    def score(self, totals: Array, information: Array) -> tuple[Array, Array]:
        """Score (K,) and information (K, K) at the coefficients."""
        return totals[: self._n_coefficients], self._matrix(totals, information)

    def estimates(self, totals: Array, information: Array, low: Array, high: Array) -> Estimates:
        """The estimates, and what numbers between `low` and `high` (k,) say of them; limits narrow errors too."""
        K, inverse = self._n_coefficients, self.inverse(totals, information)
        fit, slopes = self.summary(totals, inverse), self.slopes(totals, inverse)
        says = self.release.says(low, high, K, self.centred)
        ranges = [
            says.coefficients,
            self._errors(says.standard_errors, low, high, float(fit.df)),
            *(getattr(says, name)[None] for name in _SINGLE),
        ]
        values, jacobian = (
            np.concatenate([of.coefficients, of.standard_errors, np.stack([getattr(of, name) for name in _SINGLE])])
            for of in (fit, slopes)
        )
        low, high = np.concatenate(ranges).T
        return Estimates(values, jacobian, low, high, range(K, 2 * K))

    @property
    def _n_coefficients(self) -> int:
        return len(self.values)

    @cached_property
    def _triangle(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.tril_indices(self._n_coefficients)

    def _matrix(self, totals: Array, information: Array) -> Array:
        """The information (K, K), of the totals where the model carries it."""
        if not self.information:
            return information
        K = self._n_coefficients
        return symmetric(totals[K : K + len(self._triangle[0])], K)

    def inverse(self, totals: Array, information: Array) -> Array:
        """The inverse (K, K) of the information."""
        return inverse_of(self._matrix(totals, information), self.largest)

    @property
    def likelihood_at(self) -> int:
        """Where the log-likelihood, or of ols the residual sum of squares, stands among all totals."""
        meat = self.sandwich.size if self.sandwich else 0
        return self._n_coefficients + (len(self._triangle[0]) if self.information else 0) + meat

    def get(self, totals: Array, name: str) -> float:
        """A further total by its name; NaN where it is not carried."""
        return float(totals[self.extra[name]]) if name in self.extra else np.nan

    def _residual(self, totals: Array, gain: float) -> np.float64:
        """The residual sum of squares after the step, which lowers it by `gain`."""
        return np.float64(max(totals[self.likelihood_at] - gain, 0.0))

    def summary(self, totals: Array, inverse: Array) -> Summary:
        """What the fit says after the step."""
        step = inverse @ totals[: self._n_coefficients]
        gain = float(totals[: self._n_coefficients] @ step)
        value = float(totals[self.likelihood_at]) if self.likelihood else np.nan
        n = self.get(totals, "records")
        error = np.sqrt(np.maximum(self._variance(totals, inverse), 0.0))
        b = self.values + step
        if self.kind != "ols":
            likelihood = value + gain / 2.0
            null, _ = self._null(totals)
            pseudo = 1.0 - likelihood / null if null != 0.0 else np.nan
            events = self.get(totals, "events")
            return Summary(b, error, self._df(totals, n)[0], n, likelihood, pseudo, np.nan, np.nan, events)
        rss, df = self._residual(totals, gain), n - self._n_coefficients
        total, _ = self.total(totals)
        with np.errstate(all="ignore"):
            s = np.sqrt(rss / df) if df > 0 else np.nan
            likelihood = -n / 2 * (np.log(2 * np.pi * rss / n) + 1) if rss > 0 and n > 0 else np.nan
        likelihood += self.get(totals, "log_weight") if "log_weight" in self.extra else 0.0
        r2 = 1.0 - rss / total if total > 0 else np.nan
        error = error * s if self.sandwich is None else error
        return Summary(b, error, self._df(totals, n)[0], n, likelihood, np.nan, r2, s)

    def _df(self, totals: Array | None, n: float) -> tuple[float, float]:
        """Degrees of freedom of p-values and limits, and their derivative in the number of records; without totals
        where there are no clusters.
        """
        covariance = self.covariance
        groups = None if self.sandwich is None or totals is None else self.sandwich.groups(totals)
        if self.kind == "ols" and not covariance.distribution:
            covariance = _STUDENT
        return covariance.df(n, groups, self._n_coefficients)

    def slopes(self, totals: Array, inverse: Array) -> Summary:
        """Derivatives of the summary in all totals."""
        K, m = self._n_coefficients, len(totals)
        fit = self.summary(totals, inverse)
        step = inverse @ totals[:K]
        coefficients, diagonal, gain, value = np.zeros((K, m)), np.zeros((K, m)), np.zeros(m), np.zeros(m)
        coefficients[:, :K] = inverse
        gain[:K] = 2.0 * step
        if self.information:
            rows, columns = self._triangle
            where = slice(K, K + len(rows))
            twice = np.where(rows == columns, 1.0, 2.0)  # totals off the diagonal stand in the matrix twice
            left, right = inverse[:, rows], inverse[:, columns]
            coefficients[:, where] = -(left * step[columns] + right * step[rows]) * (twice / 2.0)
            diagonal[:, where] = -left * right * twice
            gain[where] = -step[rows] * step[columns] * twice
        if self.likelihood:
            value[self.likelihood_at] = 1.0
        n = self.unit("records", m)
        zero = np.zeros(m)
        if self.sandwich is not None:
            of_information, of_meat, of_n = self.sandwich.slopes(totals, inverse, self.get(totals, "records"))
            diagonal[:, K : K + of_information.shape[1]] = of_information
            diagonal[:, self.sandwich.place] = of_meat
            diagonal += np.outer(of_n, n)
        root = np.sqrt(np.maximum(self._variance(totals, inverse), 1e-300))
        error = diagonal / (2.0 * root[:, None])
        with np.errstate(all="ignore"):
            if self.kind != "ols":
                likelihood = value + gain / 2.0
                null, change = self._null(totals)
                pseudo = -(likelihood - fit.log_likelihood / np.float64(null) * change) / np.float64(null)
                events = self.unit("events", m)
                of_df = self._df(totals, float(fit.n))[1] * n
                return Summary(coefficients, error, of_df, n, likelihood, pseudo, zero, zero, events)
            rss, of_rss = self._residual(totals, float(totals[:K] @ step)), value - gain
            s, count = np.float64(fit.residual_sd), np.float64(fit.n)
            df = count - K
            of_s = (of_rss / df - rss / df**2 * n) / (2.0 * s)
            likelihood = -n / 2 * (np.log(2 * np.pi * rss / count) + 1) - count / 2 * (of_rss / rss - n / count)
            likelihood = likelihood + self.unit("log_weight", m)
            total, of_total = self.total(totals)
            r2 = -(of_rss - rss / np.float64(total) * of_total) / np.float64(total)
            error = error * s + np.outer(root, of_s) if self.sandwich is None else error
            of_df = self._df(totals, float(count))[1] * n
            return Summary(coefficients, error, of_df, n, likelihood, zero, r2, of_s, zero)

    def unit(self, name: str, m: int) -> Array:
        """Its derivatives in all totals (m,)."""
        unit = np.zeros(m)
        if name in self.extra:
            unit[self.extra[name]] = 1.0
        return unit

    def _null(self, totals: Array) -> tuple[float, Array]:
        """Log-likelihood of the model with a constant alone, and its derivatives (m,); NaN where it is not carried."""
        change = np.zeros(len(totals))
        if self.kind == "poisson" and "y" in self.extra:
            y, exposure = self.get(totals, "y"), self.get(totals, "exposure")
            if y <= 0.0 or exposure <= 0.0:
                return np.nan, change
            change[self.extra["y"]] = np.log(y / exposure)
            change[self.extra["exposure"]] = -y / exposure
            change[self.extra["fixed"]] = 1.0
            return y * np.log(y / exposure) - y + self.get(totals, "fixed"), change
        outcomes = [at for name, at in self.extra.items() if name.startswith("outcome")]
        if not outcomes:
            return np.nan, change
        weight, shares = self.get(totals, "weight"), totals[outcomes]
        rest = weight - shares.sum()
        if weight <= 0.0 or rest < 0.0 or (shares < 0.0).any():
            return np.nan, change
        logs = np.log(np.maximum([*shares, rest, weight], 0.5))  # finite also where an outcome is absent
        change[outcomes] = logs[:-2] - logs[-2]
        change[self.extra["weight"]] += logs[-2] - logs[-1]
        return float(xlogy(shares, shares).sum() + xlogy(rest, rest) - xlogy(weight, weight)), change

    def total(self, totals: Array) -> tuple[float, Array]:
        """Sum of squares of the response that R2 refers to, and its derivatives (m,); NaN where it is not carried."""
        change = np.zeros(len(totals))
        if "yy" not in self.extra:
            return np.nan, change
        weight, y, yy = (self.get(totals, name) for name in ("weight", "y", "yy"))
        change[self.extra["yy"]] = 1.0
        if not self.centred:
            change[self.extra["y"]] = 2.0 * self.shift
            change[self.extra["weight"]] += self.shift**2
            return yy + 2.0 * self.shift * y + self.shift**2 * weight, change
        if weight <= 0.0:
            return np.nan, change
        change[self.extra["y"]] = -2.0 * y / weight
        change[self.extra["weight"]] += (y / weight) ** 2
        return yy - y**2 / weight, change


def estimates_of(kind: Kind, fit: Summary, inverse: Array, groups: float = 0.0) -> tuple[Array, Summary]:
    """Large-sample covariance of estimates, and the derivatives in them of all that a fit says. `inverse` (K, K): that
    of the information or, of robust standard errors, the covariance of the coefficients, of so many `groups`.

    The estimates: K coefficients, K standard errors (for ols those of the design alone, free of s), n, then the
    log-likelihood and pseudo-R2 (of a Cox model the number of events), or for ols s and R2. Standard errors a and b
    covary as if the design were normal: se_a se_b r_ab^2 / 2n with r_ab the correlation of their coefficients (inverse
    Wishart distribution). n and the number of events vary as counts, the log-likelihood by its own size.
    """
    K = len(fit.coefficients)
    n = max(float(np.nan_to_num(fit.n)), 1.0)
    s, r2, pseudo, value = (
        float(np.nan_to_num(number)) for number in (fit.residual_sd, fit.r2, fit.pseudo_r2, fit.log_likelihood)
    )
    root = np.sqrt(np.maximum(np.diag(inverse), 1e-300))
    dispersion = s if kind == "ols" and not groups else 1.0
    covariance = np.zeros((2 * K + 3, 2 * K + 3))
    covariance[:K, :K] = inverse * dispersion**2
    covariance[K : 2 * K, K : 2 * K] = inverse**2 / np.outer(root, root) / (2.0 * (groups or n))
    varies = (
        [s**2 / (2.0 * n), 4.0 * abs(r2) * (1.0 - r2) ** 2 / n]
        if kind == "ols"
        else [abs(value), max(float(fit.events), 1.0) if kind == "cox" else (1.0 - pseudo) ** 2 / n]
    )
    covariance[range(2 * K, 2 * K + 3), range(2 * K, 2 * K + 3)] = [n, *varies]
    unit, zero = np.eye(2 * K + 3), np.zeros(2 * K + 3)
    of_b, of_se, of_n, first, second = unit[:K], unit[K : 2 * K], unit[2 * K], unit[2 * K + 1], unit[2 * K + 2]
    if kind != "ols":
        last = (zero, zero, zero, second) if kind == "cox" else (second, zero, zero, zero)
        return covariance, Summary(of_b, of_se, zero, of_n, first, *last)
    of_se = of_se if groups else s * of_se + np.outer(root, first)
    likelihood = -n / s * first if s > 0 else zero
    return covariance, Summary(of_b, of_se, zero, of_n, likelihood, zero, second, first, zero)


def inverse_of(information: Array, largest: Array) -> Array:
    """Inverse (K, K) of an information matrix; `largest` (K,) is the largest size of each design column.

    A column without records counts as one with the information of a record, and a direction in which columns are
    collinear gets a ridge: coefficients are undefined there, but climbing must be able to leave.
    """
    with np.errstate(all="ignore"):
        information = np.nan_to_num(information, nan=0.0, posinf=0.0, neginf=0.0)
    diagonal = np.diag(information)
    scale = np.sqrt(np.where(diagonal < _EMPTY * largest**2, largest**2 / 4.0, diagonal))
    information[np.diag_indices_from(information)] = scale * scale
    return invert(information, scale, _RIDGE)
