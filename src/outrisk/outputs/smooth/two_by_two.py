"""Measures of association as functions of the 2 x 2 tables that they are computed from, stratum by stratum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth

Variance = Literal["greenland-robins", "sato"]
MEASURES = ("risk ratio", "risk difference", "odds ratio")
_SOMEBODY = 0.5  # half a record, from which a cell has one
_NOTHING = 1e-9  # of sums over strata that are 0
_Numbers = NDArray[Any]  # real, or complex for derivatives


def limits_of(measure: str) -> tuple[str, str]:
    """What the limits of a measure are called."""
    return f"{measure} lower limit", f"{measure} upper limit"


@dataclass(frozen=True, eq=False)
class TwoByTwo:
    """Published numbers from totals: records (strata, levels of the exposure, 2), the last axis without and with event.

    shown: of each number the table (stratum 0, 1, ...; then all strata as one, the crude table; then the pooled
    numbers), the level, and what it is. reference: the level that others are compared with.
    """

    shape: tuple[int, int]
    reference: int
    shown: tuple[tuple[int, int, str], ...]
    per: float
    level: float
    variance: Variance
    continuity: bool
    decimals: NDArray[np.int64]

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,), exactly; NaN where they are undefined."""
        return np.asarray(self.of_many(totals[None])[0], dtype=float)

    def of_many(self, totals: _Numbers) -> _Numbers:
        """The same of many totals (b, m), real or complex: (b, k)."""
        with np.errstate(all="ignore"):
            return self._of(totals.reshape(len(totals), *self.shape, 2))

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m) by complex steps; 0 where a number is not defined."""
        return smooth.derivatives(self.of_many, totals)

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling variances by the delta method, on the diagonal, shape (k, k)."""
        return smooth.precision_of(self.jacobian(totals, information), np.maximum(totals, 1.0), self.decimals)

    def _of(self, tables: _Numbers) -> _Numbers:
        whole = np.concatenate([tables, tables.sum(axis=1, keepdims=True)], axis=1)
        z = float(special.ndtri((1.0 + self.level) / 2.0))
        single, pooled = dict[str, _Numbers](), dict[str, _Numbers]()
        if any(table <= self.shape[0] for table, _, _ in self.shown):
            single = _of_tables(whole, self.reference, z, self.per)
        if any(table > self.shape[0] for table, _, _ in self.shown):
            pooled = _pooled(tables, self.reference, z, self.per, self.variance, self.continuity)
        found = np.full((len(tables), len(self.shown)), np.nan, dtype=tables.dtype)
        for at, (table, level, name) in enumerate(self.shown):
            found[:, at] = pooled[name][:, level] if table > self.shape[0] else single[name][:, table, level]
        return found


def _where(condition: _Numbers, numbers: _Numbers) -> _Numbers:
    return np.where(condition, numbers, np.nan)


def _root(variance: _Numbers) -> _Numbers:
    """Of a variance that may end below 0 by rounding."""
    return np.sqrt(np.where(variance.real > 0.0, variance, 0.0))


def _of_tables(cells: _Numbers, reference: int, z: float, per: float) -> dict[str, _Numbers]:
    """The numbers (..., levels) of tables (..., levels, 2): each level beside the reference. Limits by the normal
    distribution: of a risk ratio on the log scale (Katz and others, Biometrics 34, 1978), of a risk difference as it is
    (Wald), of an odds ratio on the log scale (Woolf, Annals of Human Genetics 19, 1955).
    """
    b, a = cells[..., 0], cells[..., 1]
    d, c = b[..., [reference]], a[..., [reference]]
    n1, n0 = a + b, c + d
    some = {name: each.real > _SOMEBODY for name, each in zip("abcdnm", (a, b, c, d, n1, n0), strict=True)}
    p1, p0 = a / n1, c / n0
    ratio, difference = _where(some["c"] & some["n"], p1 / p0), _where(some["n"] & some["m"], p1 - p0)
    odds = _where(some["b"] & some["c"], a * d / (b * c))
    apart = _root(_where(some["a"] & some["c"], b / (a * n1) + d / (c * n0)))
    of_odds = np.sqrt(1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d)
    error = _root(p1 * (1.0 - p1) / n1 + p0 * (1.0 - p0) / n0)
    found = {
        "n": n1,
        "cases": a,
        "risk": per * _where(some["n"], p1),
        "risk ratio": ratio,
        "risk difference": per * difference,
        "odds ratio": odds,
        "attributable fraction": _where(some["a"] & some["c"], 1.0 - p0 / p1),
    }
    ratio, odds = _where(some["a"], ratio), _where(some["a"] & some["d"], odds)
    return found | _ends(z, ratio, apart, per * difference, per * error, odds, of_odds)


def _ends(
    z: float, ratio: _Numbers, of_ratio: _Numbers, difference: _Numbers, of_difference: _Numbers, odds: _Numbers,
    of_odds: _Numbers,
) -> dict[str, _Numbers]:  # fmt: skip
    """Limits from standard errors, of ratios from those of their logarithms."""
    found = dict[str, _Numbers]()
    for sign, end in zip((-z, z), (0, 1), strict=True):
        found[limits_of("risk ratio")[end]] = ratio * np.exp(sign * of_ratio)
        found[limits_of("risk difference")[end]] = difference + sign * of_difference
        found[limits_of("odds ratio")[end]] = odds * np.exp(sign * of_odds)
    return found


def _pooled(
    cells: _Numbers, reference: int, z: float, per: float, variance: Variance, continuity: bool
) -> dict[str, _Numbers]:
    """Mantel and Haenszel's pooled numbers (..., levels) of tables (..., strata, levels, 2), and their test.

    Limits of the ratio of risks, and of their difference, by Greenland and Robins (Biometrics 41, 1985), of the latter
    also by Sato (Biometrics 45, 1989); of the odds ratio by Robins, Breslow and Greenland (Biometrics 42, 1986).
    """
    b, a = cells[..., 0], cells[..., 1]
    d, c = b[..., [reference]], a[..., [reference]]
    n1, n0, cases = a + b, c + d, a + c
    number = n1 + n0
    n = np.where(number.real > _SOMEBODY, number, 1.0)
    both = (n1.real > _SOMEBODY) & (n0.real > _SOMEBODY)

    def over(each: _Numbers) -> _Numbers:
        return np.asarray(each.sum(axis=-2))

    exposed, others, weight = over(a * n0 / n), over(c * n1 / n), over(n1 * n0 / n)
    r, s = over(a * d / n), over(b * c / n)
    some = {name: each.real > _NOTHING for name, each in zip("eowrs", (exposed, others, weight, r, s), strict=True)}
    ratio, odds = _where(some["o"], exposed / others), _where(some["s"], r / s)
    difference = _where(some["w"], (exposed - others) / weight)
    of_ratio = _root(over((cases * n1 * n0 - a * c * n) / n**2) / (exposed * others))
    if variance == "sato":
        p = over((n1**2 * c - n0**2 * a + n1 * n0 * (n0 - n1) / 2.0) / n**2)
        q = over((a * (n0 - c) + c * (n1 - a)) / (2.0 * n))
        of_difference = _root(difference * p + q) / weight
    else:
        of_difference = _root(over(np.where(both, (a * b * n0**3 + c * d * n1**3) / (n1 * n0 * n**2), 0.0))) / weight
    p, q = (a + d) / n, (b + c) / n
    of_odds = over(p * a * d / n) / (2.0 * r**2) + over(q * b * c / n) / (2.0 * s**2)
    of_odds = np.sqrt(of_odds + over((p * b * c + q * a * d) / n) / (2.0 * r * s))
    chi2 = _chi_square(over, a, n1, n0, cases, number, continuity)
    found = {
        "risk ratio": ratio,
        "risk difference": per * difference,
        "odds ratio": odds,
        "chi-square": chi2,
        "p": _p(chi2),
    }
    ratio, odds = _where(some["e"], ratio), _where(some["r"], odds)
    return found | _ends(z, ratio, of_ratio, per * difference, per * of_difference, odds, of_odds)


def _chi_square(
    over: Any, a: _Numbers, n1: _Numbers, n0: _Numbers, cases: _Numbers, n: _Numbers, continuity: bool
) -> _Numbers:
    """Mantel and Haenszel's (Journal of the National Cancer Institute 22, 1959), of strata of two records or more; the
    correction, half a record, is left out where it would be more than the difference is, as R does.
    """
    enough = n.real > 1.0 + _SOMEBODY
    n = np.where(enough, n, 2.0)
    apart = over(np.where(enough, a - n1 * cases / n, 0.0))
    spread = over(np.where(enough, n1 * n0 * cases * (n - cases) / (n**2 * (n - 1.0)), 0.0))
    if continuity:
        apart = np.where(apart.real < 0.0, -apart, apart)
        apart = apart - np.where(apart.real >= 0.5, 0.5, 0.0)
    return _where(spread.real > _NOTHING, apart**2 / spread)


def _p(chi2: _Numbers) -> _Numbers:
    """Of a chi-square variable of one degree of freedom; of complex numbers by its density."""
    value = special.erfc(np.sqrt(chi2.real / 2.0))
    if not np.iscomplexobj(chi2):
        return np.asarray(value)
    return np.asarray(value - 1j * chi2.imag * np.exp(-chi2.real / 2.0) / np.sqrt(2.0 * np.pi * chi2.real))


def decimals_by_name(found: dict[str, int], names: Sequence[str]) -> dict[str, int]:
    """Digits of each number: limits have those of their measure."""
    more = {end: found[each] for each in MEASURES if each in found for end in limits_of(each)}
    return {name: (found | more)[name] for name in names}
