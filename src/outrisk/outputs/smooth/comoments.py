"""Correlations, covariances, means and standard deviations as functions of n, sums and cross-products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.compared import p_of_r, p_slope

_CONSTANT = 1e-14  # share of a variable's mean square, about its centre, below which its variance is rounding


@dataclass(frozen=True, eq=False)
class Comoments:
    """Correlations from n, sums and cross-products of centred and scaled variables (centre, scale: (p,))."""

    released: tuple[tuple[str, tuple[int, ...]], ...]  # of each number its statistic and its variables
    centre: Array
    scale: Array
    decimals: NDArray[np.int64]

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,), exactly; NaN where they are undefined."""
        with np.errstate(all="ignore"):
            return np.asarray(self._numbers(totals[None, :])[0], dtype=float)

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m), exactly."""
        return smooth.derivatives(self._numbers, totals)

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling variances for normal variables, on the diagonal, shape (k, k)."""
        with np.errstate(all="ignore"):
            n, _, covariance = (part[0] for part in self._moments(totals[None, :]))
        covariance = np.where(np.isfinite(covariance), covariance, 0.0)
        variance = np.maximum(np.diag(covariance), 1e-3 * self.scale**2)
        n = max(float(n), 4.0)
        rounding = 10.0 ** (-2.0 * self.decimals) / 12.0
        found = np.empty(len(self.released))
        for k, (statistic, where) in enumerate(self.released):
            i, j = (where[0], where[-1]) if where else (0, 0)
            if statistic == "correlation":
                found[k] = (1 - covariance[i, j] ** 2 / (variance[i] * variance[j])) ** 2 / n
            elif statistic == "p":
                r = np.clip(covariance[i, j] / np.sqrt(variance[i] * variance[j]), -1.0, 1.0)
                found[k] = p_slope(float(r), n) ** 2
            elif statistic == "covariance":
                found[k] = (variance[i] * variance[j] + covariance[i, j] ** 2) / n
            else:
                found[k] = {"mean": variance[i] / n, "sd": variance[i] / (2 * n), "n": n}[statistic]
        return np.diag(1.0 / (found + rounding))

    def _moments(self, totals: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """N (b,), means (b, p) and covariances (b, p, p) in published units."""
        columns = len(self.centre) + 1
        products = np.zeros((len(totals), columns, columns), dtype=totals.dtype)
        rows, others = np.tril_indices(columns)
        products[:, rows, others] = products[:, others, rows] = totals[:, columns:]
        n = products[:, 0, 0]
        sums, squares = products[:, 1:, 0], products[:, 1:, 1:]
        spread = squares - sums[:, :, None] * sums[:, None, :] / n[:, None, None]
        p = np.arange(columns - 1)
        rounding = spread[:, p, p].real <= _CONSTANT * squares[:, p, p].real
        spread[:, p, p] = np.where(rounding, 0.0, spread[:, p, p])
        covariance = spread * self.scale[:, None] * self.scale / (n - 1)[:, None, None]
        few = n.real < 1.5  # one record has no covariance
        covariance[few] = np.nan
        mean = self.centre + self.scale * sums / n[:, None]
        mean[n.real < 0.5] = np.nan
        return n, mean, covariance

    def _numbers(self, totals: NDArray[Any]) -> NDArray[Any]:
        n, mean, covariance = self._moments(totals)
        sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        found = np.empty((len(totals), len(self.released)), dtype=totals.dtype)
        for k, (statistic, where) in enumerate(self.released):
            i, j = (where[0], where[-1]) if where else (0, 0)
            if statistic in ("correlation", "p"):
                r = covariance[:, i, j] / (sd[:, i] * sd[:, j])
                r[(sd[:, i] == 0) | (sd[:, j] == 0)] = np.nan
                found[:, k] = r if statistic == "correlation" else p_of_r(r, n)
            elif statistic == "covariance":
                found[:, k] = covariance[:, i, j]
            else:
                found[:, k] = {"mean": mean[:, i], "sd": sd[:, i], "n": n}[statistic]
        return found
