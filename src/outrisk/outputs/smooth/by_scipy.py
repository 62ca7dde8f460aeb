"""Tests of hypotheses by scipy and statsmodels, from the values of records: what refits of released tests give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.stats import contingency
from statsmodels.stats.contingency_tables import SquareTable

from outrisk.errors import OutputError
from outrisk.outputs.base import Array
from outrisk.outputs.smooth.agreement import Weights
from outrisk.outputs.smooth.associated import PERFECT
from outrisk.outputs.smooth.compared import OF_CORRELATIONS, OF_MEANS, Test
from outrisk.outputs.smooth.fisher import TooMuchWorkError, fisher

OF_TWO: tuple[Test, ...] = ("t", "welch", "rank-sum")  # groups


def between_groups(
    test: Test, values: pd.Series, place: NDArray[np.int64], continuity: bool, output: str
) -> dict[str, float]:
    """Numbers of a test between groups by their statistic, from the values (n,) of records and the group (n,) of each;
    what is not there is undefined. OutputError where an exact test is too much work.
    """
    if test == "chi-square":
        return _chi_square(pd.crosstab(values, place).to_numpy(), continuity)
    if test == "fisher":
        return _fisher(pd.crosstab(values, place).to_numpy(), output)
    numbers = values.to_numpy(dtype=float)
    groups = [numbers[place == each] for each in np.unique(place)]
    if len(groups) < 2 or (test in OF_TWO and len(groups) > 2):
        return {}
    if test in OF_MEANS:
        return _between_means(test, groups)
    alike = bool(np.ptp(numbers) == 0.0)
    if test == "kruskal-wallis":
        if alike:
            return {}
        found = stats.kruskal(*groups)
        return {"statistic": float(found.statistic), "p": float(found.pvalue), "df": len(groups) - 1.0}
    found = stats.mannwhitneyu(*groups, use_continuity=continuity, method="asymptotic")
    auc = found.statistic / (len(groups[0]) * len(groups[1]))
    of_ranks = {} if alike else {"p": float(found.pvalue), "z": _z(groups, continuity)}
    return {"statistic": float(found.statistic), "auc": float(auc), **of_ranks}


def of_pairs(
    test: Test, own: NDArray[Any], paired: NDArray[Any], continuity: bool, weights: Weights = "none", levels: int = 2
) -> dict[str, float]:
    """Numbers of a test of pairs by their statistic, from both values (n,) of records, or the places of both among so
    many levels; what is not there is undefined.
    """
    if test in OF_CORRELATIONS:
        return _correlation(test, own, paired)
    if test == "kappa":
        return _kappa(_square(own, paired, levels), weights)
    if test == "mcnemar" and levels > 2:
        return _symmetry(_square(own, paired, levels))
    if test == "paired t":
        return _paired_t(own - paired)
    return _signed_rank(own - paired, continuity) if test == "signed-rank" else _changes(test, own, paired, continuity)


def _z(groups: Sequence[Array], continuity: bool) -> float:
    """The standardised rank sum; scipy's ranksums has neither ties nor a correction."""
    ranks = stats.rankdata(np.concatenate(groups))
    first, second = (len(group) for group in groups)
    gap = ranks[:first].sum() - first * (first + second + 1) / 2.0
    if continuity:
        gap = np.sign(gap) * max(abs(gap) - 0.5, 0.0)
    return float(gap / np.sqrt(first * second / (first + second) * np.var(ranks, ddof=1)))


def _chi_square(table: NDArray[Any], continuity: bool) -> dict[str, float]:
    if min(table.shape) < 2:
        return {}
    found = stats.chi2_contingency(table, correction=continuity)
    return {
        "statistic": float(found.statistic),
        "df": float(found.dof),
        "p": float(found.pvalue),
        "cramers v": float(contingency.association(table, method="cramer")),
    }


def _fisher(table: NDArray[Any], output: str) -> dict[str, float]:
    """Of 2 x 2 by the hypergeometric distribution; scipy's own fisher_exact has no room for rounding between tables
    that are as likely, and of larger ones only draws some.
    """
    if min(table.shape) < 2:
        return {}
    if table.shape == (2, 2):
        n, of_row, of_column = int(table.sum()), int(table[0].sum()), int(table[:, 0].sum())
        chance = stats.hypergeom.pmf(np.arange(min(of_row, of_column) + 1), n, of_row, of_column)
        return {"p": float(min(chance[chance <= chance[table[0, 0]] * (1.0 + 1e-7)].sum(), 1.0))}
    try:
        return {"p": float(fisher(table[None])[0])}
    except TooMuchWorkError:
        raise OutputError(
            f"output '{output}': p: {table.sum():,} records in a table of {' x '.join(map(str, table.shape))} are too "
            "many for Fisher's exact test; give the p of a chi-square instead, or merge levels"
        ) from None


def _between_means(test: Test, groups: list[Array]) -> dict[str, float]:
    alike = all(np.ptp(group) == 0.0 for group in groups)
    if test == "anova":
        left = sum(len(group) for group in groups) - len(groups)
        if alike or not left:
            return {}
        found = stats.f_oneway(*groups)
        every = np.concatenate(groups)
        inside = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
        share = 1.0 - inside / float(((every - every.mean()) ** 2).sum())
        between = {"df": len(groups) - 1.0, "df within": float(left), "eta squared": share}
        return between | {"statistic": float(found.statistic), "p": float(found.pvalue)}
    if min(len(group) for group in groups) < 2:
        return {}
    difference = float(groups[0].mean() - groups[1].mean())
    if alike:
        return {"difference": difference}
    found = stats.ttest_ind(*groups, equal_var=test == "t")
    return {
        "statistic": float(found.statistic),
        "df": float(found.df),
        "p": float(found.pvalue),
        "difference": difference,
        "standard error": _standard_error(test, groups),
        "cohens d": difference / (_standard_error("t", groups) / math.sqrt(sum(1.0 / len(group) for group in groups))),
    }


def _paired_t(differences: Array) -> dict[str, float]:
    n = len(differences)
    if not n:
        return {}
    mean = float(differences.mean())
    if n < 2 or np.ptp(differences) == 0.0:
        return {"difference": mean}
    found, sd = stats.ttest_1samp(differences, 0.0), float(differences.std(ddof=1))
    return {
        "statistic": float(found.statistic),
        "df": n - 1.0,
        "p": float(found.pvalue),
        "difference": mean,
        "standard error": sd / math.sqrt(n),
        "cohens d": mean / sd,
    }


def _signed_rank(differences: Array, continuity: bool) -> dict[str, float]:
    """By scipy's wilcoxon, whose statistic and z of a two-sided test are those of the smaller of two sums of ranks."""
    moved = differences[differences != 0.0]
    ranks = stats.rankdata(np.abs(moved))
    above = float(ranks[moved > 0.0].sum())
    if not len(moved):
        return {"statistic": above}
    found = stats.wilcoxon(moved, correction=continuity, method="asymptotic")
    way = -1.0 if above > ranks.sum() / 2.0 else 1.0
    return {"statistic": above, "z": way * float(found.zstatistic), "p": float(found.pvalue)}


def _changes(test: Test, own: NDArray[Any], paired: NDArray[Any], continuity: bool) -> dict[str, float]:
    """McNemar's, of records of which some changed their level."""
    from_level = paired[own != paired]
    n, first = len(from_level), int((from_level == from_level[0]).sum()) if len(from_level) else 0
    gap = abs(2 * first - n)
    if not n:
        return {}
    if test == "exact mcnemar":
        return {"p": float(stats.binomtest(first, n, 0.5).pvalue)}
    statistic = (max(gap - 1, 0) if continuity else gap) ** 2 / n
    return {"statistic": statistic, "df": 1.0, "p": float(stats.chi2.sf(statistic, 1))}


def _standard_error(test: Test, groups: list[Array]) -> float:
    """Of the difference of two means."""
    each = [group.var(ddof=1) for group in groups]
    sizes = [len(group) for group in groups]
    if test == "t":
        pooled = sum(v * (n - 1) for v, n in zip(each, sizes, strict=True)) / (sum(sizes) - 2)
        each = [pooled, pooled]
    return math.sqrt(sum(v / n for v, n in zip(each, sizes, strict=True)))


def of_scores(test: Test, groups: Array, own: Array) -> dict[str, float]:
    """Numbers of a test for trend by their statistic, from scores (n,) of the group and the value of each record."""
    if len(own) < 2 or np.ptp(own) == 0.0 or np.ptp(groups) == 0.0:
        return {}
    r, free = float(stats.pearsonr(own, groups).statistic), len(own) - (test == "linear-by-linear")
    statistic = free * r**2
    p = float(stats.chi2.sf(statistic, 1))
    return {"r": r, "z": math.sqrt(free) * r, "statistic": statistic, "df": 1.0, "p": p}


def _correlation(test: Test, own: Array, paired: Array) -> dict[str, float]:
    n = len(own)
    if n < 2 or np.ptp(own) == 0 or np.ptp(paired) == 0:
        return {}
    if test == "kendall":
        found = stats.kendalltau(own, paired, method="asymptotic" if n > 2 else "exact")
        return {"r": float(found.statistic)} | (_z_of_kendall(own, paired) if n > 2 else {})
    r = float((stats.spearmanr if test == "spearman" else stats.pearsonr)(own, paired).statistic)
    perfect, of_t = 1.0 - r**2 <= PERFECT, dict[str, float]()
    t = math.copysign(math.inf, r) if perfect else r * math.sqrt((n - 2) / (1.0 - r**2))
    if n > 2:
        of_t = {"p": float(2.0 * stats.t.sf(abs(t), n - 2)), **({} if perfect else {"statistic": t})}
    if test == "spearman":
        return {"r": r, **of_t, "statistic": (n**3 - n) * (1.0 - r) / 6.0}
    if n > 3:
        away = stats.norm.ppf(0.975) / math.sqrt(n - 3)
        ends = [math.copysign(1.0, r) if perfect else math.tanh(math.atanh(r) + way * away) for way in (-1.0, 1.0)]
        of_t |= {"lower limit": ends[0], "upper limit": ends[1]}
    return {"r": r, **of_t, **({"df": n - 2.0} if n > 2 else {})}


def _z_of_kendall(own: Array, paired: Array) -> dict[str, float]:
    """By the sign of all pairs of different values, weighted by their records; scipy has its p alone."""
    table = pd.crosstab(own, paired).to_numpy()
    n, s = int(table.sum()), 0
    for i, j in zip(*np.nonzero(table), strict=True):
        s += int(table[i, j]) * int(table[i + 1 :, j + 1 :].sum() - table[i + 1 :, :j].sum())
    v0 = n * (n - 1) * (2 * n + 5)
    ties = [[int(t) for t in table.sum(axis=axis)] for axis in (1, 0)]
    vt, vu = (sum(t * (t - 1) * (2 * t + 5) for t in each) for each in ties)
    v1 = math.prod(sum(t * (t - 1) for t in each) for each in ties) / (2 * n * (n - 1))
    v2 = math.prod(sum(t * (t - 1) * (t - 2) for t in each) for each in ties) / (9 * n * (n - 1) * (n - 2))
    z = s / math.sqrt((v0 - vt - vu) / 18 + v1 + v2)
    return {"z": z, "p": float(2.0 * stats.norm.sf(abs(z)))}


def _square(own: NDArray[Any], paired: NDArray[Any], levels: int) -> NDArray[np.int64]:
    """The table of both places."""
    table = np.zeros((levels, levels), dtype=np.int64)
    np.add.at(table, (own, paired), 1)
    return table


def _kappa(table: NDArray[np.int64], weights: Weights) -> dict[str, float]:
    """As Fleiss, Cohen and Everitt (1969) write it, in fractions: statsmodels' errors are some 1e-7 off near 0."""
    n, last, places = int(table.sum()), max(len(table) - 1, 1), range(len(table))
    if not n:
        return {}
    p = [[Fraction(int(each), n) for each in row] for row in table]
    own, other = [sum(row) for row in p], [sum(column) for column in zip(*p, strict=True)]
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]
    w = [
        [Fraction(int(i == j)) if not power else 1 - Fraction(abs(i - j), last) ** power for j in places]
        for i in places
    ]
    cells = [(i, j) for i in places for j in places]
    agreed, expected = sum(w[i][j] * p[i][j] for i, j in cells), sum(w[i][j] * own[i] * other[j] for i, j in cells)
    shares = {"agreement": float(agreed), "expected agreement": float(expected)}
    if expected == 1:
        return shares
    k = (agreed - expected) / (1 - expected)
    of_own = [sum(w[i][j] * other[j] for j in places) for i in places]
    of_other = [sum(w[i][j] * own[i] for i in places) for j in places]
    squares = sum(p[i][j] * (w[i][j] - (of_own[i] + of_other[j]) * (1 - k)) ** 2 for i, j in cells)
    null_squares = sum(own[i] * other[j] * (w[i][j] - of_own[i] - of_other[j]) ** 2 for i, j in cells)
    scale = n * (1 - expected) ** 2
    error, null = (
        math.sqrt(each / scale) for each in (squares - (k - expected * (1 - k)) ** 2, null_squares - expected**2)
    )
    away, numbers = float(stats.norm.ppf(0.975)) * error, {"kappa": float(k), "standard error": error}
    if null > 0.0:
        numbers |= {"z": float(k) / null, "p": float(2.0 * stats.norm.sf(abs(float(k) / null)))}
    return {**shares, **numbers, "null error": null, "lower limit": float(k) - away, "upper limit": float(k) + away}


def _symmetry(table: NDArray[np.int64]) -> dict[str, float]:
    """By statsmodels, of the levels that somebody has."""
    some = (table + table.T).sum(axis=0) > 0
    table = table[some][:, some]
    if len(table) < 2 or ((table + table.T)[np.triu_indices(len(table), 1)] == 0).any():
        return {}
    found = SquareTable(table, shift_zeros=False).symmetry()
    return {"statistic": float(found.statistic), "df": float(found.df), "p": float(found.pvalue)}
