"""Standardised rates and ratios as functions of events and denominators by group and stratum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth

Method = Literal["direct", "indirect"]
IntervalOf = Literal["normal", "fay-feuer", "dobson-byar", "dobson-exact", "exact", "byar", "log"]
Variance = Literal["poisson", "binomial"]
_SHIFT = 1e-3  # of its argument, by which the slope of a gamma quantile is taken
_Numbers = NDArray[Any]  # real, or complex for derivatives


@dataclass(frozen=True, eq=False)
class StandardRates:
    """Standardised rates from totals: events, then denominators, both (groups, strata), then records by group where
    these are not the denominators and were asked for (`counted`).

    numbers (strata,): weights that add up to 1, or, indirectly, reference rates per 1. shown: the statistics of each
    group, in their order, limits as two. least: half the smallest denominator of a record, from which a stratum has
    one. spread: variance of a denominator divided by it.
    """

    method: Method
    strata: Array
    shown: tuple[str, ...]
    n_groups: int
    per: float
    interval: IntervalOf
    level: float
    variance: Variance
    counted: bool
    least: float
    spread: float
    decimals: NDArray[np.int64]

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,), exactly; NaN where they are undefined."""
        with np.errstate(all="ignore"):
            return np.asarray(self._of(self._by_group(totals)), dtype=float).ravel()

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m) by complex steps; 0 where a number is not defined. A number depends on its group."""
        own = self._by_group(totals)
        steps = 1j * smooth.STEP * np.eye(own.shape[1])
        with np.errstate(all="ignore"):
            slopes = self._of(own + steps[:, None, :]).imag / smooth.STEP  # (own totals, groups, statistics)
        found = np.zeros((self.n_groups, len(self.shown), len(totals)))
        groups = np.arange(self.n_groups)[:, None]
        found[groups, :, self._places] = np.where(np.isfinite(slopes), slopes, 0.0).transpose(1, 0, 2)
        return found.reshape(-1, len(totals))

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling variances by the delta method, on the diagonal, shape (k, k)."""
        size = self.n_groups * len(self.strata)
        spread = np.ones(len(totals))
        spread[size : 2 * size] = self.spread
        variance = spread * np.maximum(totals, spread)
        return smooth.precision_of(self.jacobian(totals, information), variance, self.decimals)

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Where the totals of each group are, (groups, own totals)."""
        size = self.n_groups * len(self.strata)
        of_events = np.arange(size).reshape(self.n_groups, -1)
        own = [of_events, size + of_events]
        own += [2 * size + np.arange(self.n_groups)[:, None]] if self.counted else []
        return np.hstack(own)

    def _by_group(self, totals: Array) -> Array:
        return totals[self._places]

    def _of(self, own: _Numbers) -> _Numbers:
        """Statistics (..., groups, statistics) from the totals of each group (..., groups, own totals)."""
        K = len(self.strata)
        events, denominators = own[..., :K], own[..., K : 2 * K]
        d, n = events.sum(axis=-1), denominators.sum(axis=-1)
        found = {
            "events": d,
            "person-time": n,
            "n": own[..., -1] if self.counted else n,
            "crude rate": self.per * np.where(n.real > self.least, d / n, np.nan),
        }
        found |= (self._direct if self.method == "direct" else self._indirect)(events, denominators, d)
        return np.stack([found[each] for each in self.shown], axis=-1)

    def _direct(self, events: _Numbers, denominators: _Numbers, d: _Numbers) -> dict[str, _Numbers]:
        some = np.asarray((denominators.real > self.least).all(axis=-1))
        share = self.strata / np.where(some[..., None], denominators, 1.0)
        rate = (share * events).sum(axis=-1)
        poisson = (share**2 * events).sum(axis=-1)
        variance = poisson
        if self.variance == "binomial":
            variance = poisson - (share**2 * events**2 / np.where(some[..., None], denominators, 1.0)).sum(axis=-1)
        error = np.sqrt(np.where(variance.real > 0.0, variance, 0.0))
        found = {"rate": rate, "standard error": error}
        if "lower limit" in self.shown:
            tail = (1.0 - self.level) / 2.0
            if self.interval == "normal":
                apart = special.ndtri(1.0 - tail) * error
                ends = rate - apart, rate + apart
            elif self.interval == "fay-feuer":
                widest = np.take_along_axis(share, share.real.argmax(axis=-1)[..., None], axis=-1)[..., 0]
                ends = _fay_feuer(rate, poisson, widest, tail)
            else:
                low, high = poisson_ends(d, "byar" if self.interval == "dobson-byar" else "exact", self.level)
                unit = np.where(d.real > 0.0, np.sqrt(poisson / d), np.nan)
                ends = rate + unit * (low - d), rate + unit * (high - d)
            found |= dict(zip(("lower limit", "upper limit"), ends, strict=True))
        return {name: np.where(some, self.per * each, np.nan) for name, each in found.items()}

    def _indirect(self, events: _Numbers, denominators: _Numbers, d: _Numbers) -> dict[str, _Numbers]:
        expected = (self.strata * denominators).sum(axis=-1)
        unit = np.where(expected.real > self.least * self.strata[self.strata > 0.0].min(), 1.0 / expected, np.nan)
        found = {
            "expected": expected,
            "ratio": unit * d,
            "standard error": unit * np.sqrt(np.where(d.real > 0.0, d, 0.0)),
        }
        if "lower limit" in self.shown:
            low, high = poisson_ends(d, self.interval, self.level)
            found |= {"lower limit": unit * low, "upper limit": unit * high}
        return found


def poisson_ends(d: _Numbers, interval: str, level: float) -> tuple[_Numbers, _Numbers]:
    """Limits of a number of events, by a Poisson variable's tails ('exact'), Byar's approximation ('byar') or a normal
    log rate ('log'), as `rates` have them; of complex numbers with slopes.
    """
    tail = (1.0 - level) / 2.0
    z = special.ndtri(1.0 - tail)
    some = d.real > 0.0
    if interval == "log":
        apart = np.exp(z / np.sqrt(np.where(some, d, 1.0)))
        return np.where(some, d / apart, np.nan), np.where(some, d * apart, np.nan)
    n = np.where(some, d, 1.0)
    more = np.where(some, d, 1j * d.imag if np.iscomplexobj(d) else 0.0) + 1.0
    if interval == "byar":
        low = n * (1.0 - 1.0 / (9.0 * n) - z / (3.0 * np.sqrt(n))) ** 3
        return (
            np.where(some & (low.real > 0.0), low, 0.0),
            more * (1.0 - 1.0 / (9.0 * more) + z / (3.0 * np.sqrt(more))) ** 3,
        )
    return np.where(some, _gamma_quantile(n, tail), 0.0), _gamma_quantile(more, 1.0 - tail)


def _fay_feuer(rate: _Numbers, variance: _Numbers, widest: _Numbers, tail: float) -> tuple[_Numbers, _Numbers]:
    """Limits by gamma variables with the mean and variance of the rate, the upper one with one event more in the
    stratum that counts most (Fay and Feuer, Statistics in Medicine 16, 1997).
    """
    some = variance.real > 0.0
    v = np.where(some, variance, 1.0)
    low = np.where(some, v / rate * _gamma_quantile(np.where(some, rate**2 / v, 1.0), tail), 0.0)
    mean, spread = rate + widest, variance + widest**2
    return low, spread / mean * _gamma_quantile(mean**2 / spread, 1.0 - tail)


def _gamma_quantile(shape: _Numbers, share: float) -> _Numbers:
    """The quantile of a gamma variable of scale 1. No such function takes complex numbers: the slope in the shape is by
    differences of fourth order, the imaginary part times that.
    """
    a = shape.real
    value = special.gammaincinv(a, share)
    if not np.iscomplexobj(shape):
        return np.asarray(value)
    step = _SHIFT * a
    near, far = (special.gammaincinv(a + m * step, share) - special.gammaincinv(a - m * step, share) for m in (1, 2))
    return np.asarray(value + 1j * shape.imag * (8.0 * near - far) / (12.0 * step))
