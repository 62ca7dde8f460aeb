"""Trends and correlations of pairs as functions of a cross table, or of sums: of scores, of ranks, of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from outrisk.outputs.base import Array

PERFECT = 1e-10  # what 1 - r^2 is above, of a correlation that is not one of 1
NORMAL = float(special.ndtri(0.975))  # of limits at 95 %
_CONSTANT = 1e-14  # share of squares below which a variance is rounding

Found = Mapping[str, NDArray[Any]]


def moments(own: Array, paired: Array) -> Array:
    """What a record of each pair of values (m,) adds to the sums (m, 6) that Pearson's correlation needs."""
    return np.stack([np.ones(len(own)), own, paired, own**2, paired**2, own * paired], axis=1)


def by_scores(counts: NDArray[Any], own: Array, groups: Array, less: float) -> Found:
    """The chi-squared statistic (n - less) r^2 of one degree of freedom, and its root with the sign of r: of counts
    (b, values, groups) whose values and groups have these scores.

    less = 0: Cochran's and Armitage's of a trend (Armitage, Biometrics 11, 1955), as R's prop.trend.test; 1: Mantel's
    (JASA 58, 1963), which SPSS calls linear-by-linear association.
    """
    n = counts.sum(axis=(1, 2))
    r = _product_moment(counts, *(np.tile(each - each.mean(), (len(counts), 1)) for each in (own, groups)))
    free = n - less
    return {"n": n, "r": r, "z": np.sqrt(free) * r, "statistic": free * r**2, "df": np.where(_defined(r), 1.0, np.nan)}


def spearman(counts: NDArray[Any]) -> Found:
    """The correlation of ranks, ties at their mean rank, of counts (b, values, groups); S as R prints it; t, by which
    its p is.
    """
    n = counts.sum(axis=(1, 2))
    r = _product_moment(counts, _ranks(counts.sum(axis=2)), _ranks(counts.sum(axis=1)))
    return {"n": n, "r": r, "statistic": (n**3 - n) * (1.0 - r) / 6.0, "t": of_r(r, n), "df": n - 2.0}


def kendall(counts: NDArray[Any]) -> Found:
    """Tau-b of counts (b, values, groups), and z by the variance with ties (Kendall, Rank Correlation Methods)."""
    n, margins = counts.sum(axis=(1, 2)), (counts.sum(axis=2), counts.sum(axis=1))
    behind = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1] - counts  # of larger values
    before = np.cumsum(behind, axis=2) - behind
    after = np.cumsum(behind[:, :, ::-1], axis=2)[:, :, ::-1] - behind
    s, pairs = (counts * (after - before)).sum(axis=(1, 2)), n * (n - 1.0)
    two = [(each * (each - 1.0)).sum(axis=1) for each in margins]
    three = [(each * (each - 1.0) * (each - 2.0)).sum(axis=1) for each in margins]
    five = [(each * (each - 1.0) * (2.0 * each + 5.0)).sum(axis=1) for each in margins]
    untied = (pairs - two[0]) * (pairs - two[1])
    variance = (pairs * (2.0 * n + 5.0) - five[0] - five[1]) / 18.0 + two[0] * two[1] / (2.0 * pairs)
    variance = variance + three[0] * three[1] / (9.0 * pairs * (n - 2.0))
    return {"n": n, "r": s * 2.0 / np.sqrt(untied), "z": s / np.sqrt(variance)}


def pearson(sums: NDArray[Any]) -> Found:
    """Pearson's r of sums (b, 6), with t, and limits at 95 % by Fisher's z (of four records or more)."""
    n, own, paired, of_own, of_paired, of_both = sums.T
    squares = [square - total**2 / n for square, total in ((of_own, own), (of_paired, paired))]
    varies = (
        (n.real > 1.5) & (squares[0].real > _CONSTANT * of_own.real) & (squares[1].real > _CONSTANT * of_paired.real)
    )
    r = np.where(varies, (of_both - own * paired / n) / np.sqrt(squares[0] * squares[1]), np.nan)
    t = of_r(r, n)
    away = NORMAL / np.sqrt(n - 3.0)
    ends = {}
    for name, way in (("lower limit", -1.0), ("upper limit", 1.0)):
        end = np.tanh(np.arctanh(r) + way * away)
        end = np.where(np.isinf(t.real), np.sign(r.real), end)
        ends[name] = np.where(_defined(r) & (n.real > 3.5), end, np.nan)
    df = np.where(_defined(t), n - 2.0, np.nan)
    return {"n": n, "r": r, "t": t, "df": df, "statistic": np.where(np.isinf(t.real), np.nan, t)} | ends


def _ranks(each: NDArray[Any]) -> NDArray[Any]:
    """The mean ranks of values (b, values) that so many records have, about the middle one."""
    n = each.sum(axis=1)
    return np.asarray(np.cumsum(each, axis=1) - (each - 1.0) / 2.0 - ((n + 1.0) / 2.0)[:, None])


def _product_moment(counts: NDArray[Any], own: NDArray[Any], groups: NDArray[Any]) -> NDArray[Any]:
    """The correlation (b,) of the scores (b, values) and (b, groups); NaN where one of them does not vary."""
    n, gaps, squares = counts.sum(axis=(1, 2)), list[Any](), list[Any]()
    for each, score in ((counts.sum(axis=2), own), (counts.sum(axis=1), groups)):
        gap = score - ((each * score).sum(axis=1) / n)[:, None]
        square = (each * gap**2).sum(axis=1)
        varies = square.real > _CONSTANT * n.real * np.abs(score).max(axis=1, initial=0.0) ** 2
        gaps.append(gap)
        squares.append(np.where(varies, square, np.nan))
    together = ((counts * gaps[1][:, None, :]).sum(axis=2) * gaps[0]).sum(axis=1)
    return np.asarray(together / np.sqrt(squares[0] * squares[1]))


def of_r(r: NDArray[Any], n: NDArray[Any]) -> NDArray[Any]:
    """Student's t (b,) of correlations of n records (b,); infinite of one of 1."""
    rest = 1.0 - r**2
    t = np.where(rest.real > PERFECT, r * np.sqrt((n - 2.0) / rest), np.sign(r.real) * np.inf)
    return np.where(_defined(r) & (n.real > 2.5), t, np.nan)


def _defined(number: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(number.real))
