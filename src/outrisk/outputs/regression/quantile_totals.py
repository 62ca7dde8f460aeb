"""From totals at the printed plane to the numbers of a quantile regression.

A plane is fitted where the records above and below it balance: sum x (tau - 1[y < x'b]) is 0, but for what the records
that lie on it make up for, as these may count as above or below in any part. At the printed coefficients, and so to
within their digits, that is linear in the records. How far a plane moves with what is left over is the density there,
which is taken to be that of a normal distribution with the same sum of deviations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import norm

from outrisk.outputs.base import Array
from outrisk.outputs.regression.release import Release, Summary
from outrisk.problem.algebra import symmetric
from outrisk.problem.formulas import Estimates, ModelSays

_RIDGE = 1e-9  # of the scaled cross-product of the design
_LEAST = 1e-9  # records


def summary_of(
    coefficients: Array,
    errors: Array | None,
    df: float | Array,
    n: float | Array,
    pseudo_r2: float | Array,
    deviations: float | Array,
    raw_deviations: float | Array,
    raw_quantile: float | Array,
) -> Summary:
    """What a quantile regression says, or the derivatives of that."""
    return Summary(
        coefficients,
        np.full_like(coefficients, np.nan) if errors is None else errors,
        df,
        n,
        np.nan,
        pseudo_r2,
        np.nan,
        np.nan,
        deviations=deviations,
        raw_deviations=raw_deviations,
        raw_quantile=raw_quantile,
    )


@dataclass(frozen=True, eq=False)
class AtPlane:
    """The map at coefficients (k,) of a model whose responses are in units of `unit`, within one of which a record lies
    on the plane. `ones` (k,): which combination of columns is 1. support (V,): values of the response, whose counts
    stand last where `raw` numbers are printed.
    """

    values: Array
    tau: float
    unit: float
    ones: Array
    release: Release
    published: Array
    support: Array
    raw: bool

    @property
    def _k(self) -> int:
        return len(self.values)

    @cached_property
    def _size(self) -> int:
        return self._k * (self._k + 1) // 2

    def _parts(self, totals: Array) -> tuple[Array, Array, Array, float, float]:
        """Half the difference of those above and below, and of all in favour of tau (k,); cross-products of those on
        the plane (k, k), and of all; the sum of deviations, and records.
        """
        k, size = self._k, self._size
        on, off = symmetric(totals[k : k + size], k), symmetric(totals[k + size : k + 2 * size], k)
        both = on + off
        sums = both @ self.ones
        score = totals[:k] / 2.0 + (self.tau - 0.5) * sums
        at = k + 2 * size
        residuals = float(totals[at + 1] - self.values @ sums)
        deviations = float(totals[at]) * self.unit / 2.0 + (self.tau - 0.5) * residuals
        return score, on, both, max(deviations, 0.0), float(self.ones @ sums)

    def _inverse(self, both: Array, deviations: float, n: float) -> Array:
        """How far the plane moves with the score (k, k)."""
        density = float(norm.pdf(norm.ppf(self.tau))) ** 2 * max(n, 1.0) / max(deviations, self.unit)
        scale = np.sqrt(np.maximum(np.diag(both), _LEAST))
        scaled = both / np.outer(scale, scale)
        values, vectors = np.linalg.eigh(scaled)
        inverse = (vectors / np.maximum(values, _RIDGE)) @ vectors.T
        return np.asarray(inverse / np.outer(scale, scale) / density)

    def _left(self, score: Array, on: Array, both: Array) -> Array:
        """What of the score (k,) those on the plane do not make up for: along each axis of theirs, as far as it is."""
        scale = np.sqrt(np.maximum(np.diag(both), _LEAST))
        values, vectors = np.linalg.eigh(on / np.outer(scale, scale))
        along = vectors.T @ (score / scale)
        records = max(float(self.ones @ on @ self.ones), 0.0)
        most = 0.5 * np.sqrt(np.maximum(values, 0.0) * records) / self._k
        left = np.sign(along) * np.maximum(np.abs(along) - most, 0.0)
        return np.asarray(scale * (vectors @ left))

    def numbers(self, totals: Array, information: Array) -> Array:
        """Published numbers (k,), to first order of the score."""
        return self.release.numbers(self._summary(totals)[0], self.published)

    def _summary(self, totals: Array) -> tuple[Summary, Array, Array]:
        """What the fit says, derivatives (k, k) of the coefficients in the score, and their step (k,)."""
        score, on, both, deviations, n = self._parts(totals)
        inverse = self._inverse(both, deviations, n)
        left = self._left(score, on, both)
        step = inverse @ left
        fitted = max(deviations - float(left @ step) / 2.0, 0.0)
        raw, quantile, _ = self._raw(totals)
        pseudo = 1.0 - fitted / raw if raw > 0.0 else np.nan
        return summary_of(self.values + step, None, np.inf, n, pseudo, fitted, raw, quantile), inverse, step

    def _raw(self, totals: Array) -> tuple[float, float, Array]:
        """The least sum of deviations from one number, that number, and the deviation of each value (V,) from it."""
        if not self.raw:
            return np.nan, np.nan, np.zeros(0)
        counts = np.maximum(totals[-len(self.support) :], 0.0)
        cumulated = np.cumsum(counts)
        at = min(int(np.searchsorted(cumulated, self.tau * cumulated[-1] - 1e-9)), len(counts) - 1)
        far = self.support - self.support[at]
        far = np.where(far > 0.0, self.tau, self.tau - 1.0) * far
        return float(counts @ far), float(self.support[at]), far

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m); the density is held."""
        fit, inverse, step = self._summary(totals)
        k, size, m = self._k, self._size, len(totals)
        rows, columns = np.tril_indices(k)
        # what each total adds to the sums of x, by the combination of columns that is 1
        sums = np.zeros((k, m))
        for at, (i, j) in enumerate(zip(rows, columns, strict=True)):
            for place in (k + at, k + size + at):
                sums[i, place] += self.ones[j]
                if i != j:
                    sums[j, place] += self.ones[i]
        score = (self.tau - 0.5) * sums
        score[:, :k] += np.eye(k) / 2.0
        n = self.ones @ sums
        deviations = -(self.tau - 0.5) * (self.values @ sums) - step @ score
        deviations[k + 2 * size] += self.unit / 2.0
        deviations[k + 2 * size + 1] += self.tau - 0.5
        raw = np.zeros(m)
        if self.raw:
            raw[-len(self.support) :] = self._raw(totals)[2]
        whole = float(fit.raw_deviations)
        pseudo = -(deviations - float(fit.deviations) / whole * raw) / whole if whole > 0.0 else np.zeros(m)
        slopes = summary_of(inverse @ score, None, np.zeros(m), n, pseudo, deviations, raw, np.zeros(m))
        return self.release.jacobian(fit, slopes, self.published)

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse covariance (k, k) of the published numbers, sampling and rounding together: coefficients as they vary
        with the score, each other number by itself.
        """
        _, _, both, deviations, n = self._parts(totals)
        inverse = self._inverse(both, deviations, n)
        k, count = self._k, max(n, 4.0)
        covariance = np.diag(np.maximum(self.release.noise(self._summary(totals)[0]), 1e-300))
        covariance[:k, :k] += self.tau * (1.0 - self.tau) * inverse @ both @ inverse
        sizes = {"n": count, "deviations": deviations**2 / count, "raw_deviations": deviations**2 / count}
        for part, place in self.release.layout(k):
            if part in ("n", "deviations", "raw_deviations", "pseudo_r2"):
                covariance[place, place] += max(sizes.get(part, 1.0 / count), 1e-12)
        scale = np.sqrt(np.diag(covariance))
        values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
        precision = (vectors / np.maximum(values, _RIDGE)) @ vectors.T
        return np.asarray((precision + precision.T) / 2.0 / np.outer(scale, scale))

    def says(self, low: Array, high: Array) -> None:
        """Nothing: it is no regression of a likelihood."""

    def told(self, low: Array, high: Array) -> ModelSays:
        """What numbers between `low` and `high` (k,) say of the coefficients."""
        ends, nothing = np.stack([low[: self._k], high[: self._k]], axis=1), np.array([-np.inf, np.inf])
        six = (nothing, nothing, nothing, nothing, nothing, nothing)
        return ModelSays(ends, np.tile(nothing, (self._k, 1)), *six, centred=True)

    def score(self, totals: Array, information: Array) -> tuple[Array, Array]:
        """What those on the plane leave of the score (k,), and how it changes with the coefficients (k, k)."""
        score, on, both, deviations, n = self._parts(totals)
        inverse = self._inverse(both, deviations, n)
        return self._left(score, on, both), np.asarray(np.linalg.pinv(inverse, hermitian=True), np.float64)

    def estimates(self, totals: Array, information: Array, low: Array, high: Array) -> Estimates:
        """The coefficients, and what numbers between low and high (k,) say of them."""
        k, says = self._k, self.told(low, high).coefficients
        values, jacobian = self._summary(totals)[0].coefficients, self.jacobian(totals, information)[:k]
        return Estimates(values, jacobian, says[:, 0], says[:, 1], range(k, k))
