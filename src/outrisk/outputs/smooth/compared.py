"""Test statistics, p-values and what stands beside them as functions of counts, or of sums and squares by group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.agreement import Weights, bowker, kappa
from outrisk.outputs.smooth.associated import by_scores, kendall, of_r, pearson, spearman
from outrisk.outputs.smooth.fisher import MOST_WORK, TooMuchWorkError, fisher

Test = Literal[
    "chi-square",
    "t",
    "welch",
    "anova",
    "rank-sum",
    "kruskal-wallis",
    "fisher",
    "paired t",
    "signed-rank",
    "mcnemar",
    "exact mcnemar",
    "trend",
    "linear-by-linear",
    "pearson",
    "spearman",
    "kendall",
    "kappa",
]
OF_MEANS: tuple[Test, ...] = ("t", "welch", "anova", "paired t")  # what compares means; the others compare counts
OF_RANKS: tuple[Test, ...] = ("rank-sum", "signed-rank")
OF_NORMAL: tuple[Test, ...] = (*OF_RANKS, "kendall", "kappa")  # whose p is that of a standard normal z
OF_STUDENT: tuple[Test, ...] = ("t", "welch", "paired t")
OF_T: tuple[Test, ...] = (*OF_STUDENT, "pearson", "spearman")  # whose p is that of Student's t
CORRECTED: tuple[Test, ...] = ("chi-square", "rank-sum", "signed-rank", "mcnemar")  # with one for continuity
OF_TABLES: tuple[Test, ...] = ("chi-square", "fisher")  # what compares levels between groups, which need not be numbers
OF_SCORES: tuple[Test, ...] = ("trend", "linear-by-linear")  # what needs groups, and values, in an order
OF_CORRELATIONS: tuple[Test, ...] = ("pearson", "spearman", "kendall")  # of a pair
OF_CHANGES: tuple[Test, ...] = ("mcnemar", "exact mcnemar", "kappa")  # what compares levels with the same of a pair
OF_DIFFERENCES: tuple[Test, ...] = ("paired t", "signed-rank")  # what compares a number with that of a pair
OF_PAIRS: tuple[Test, ...] = (*OF_DIFFERENCES, *OF_CHANGES, *OF_CORRELATIONS)  # two variables of the same records
SLOPED: Mapping[Test, Test] = {"fisher": "chi-square", "exact mcnemar": "mcnemar"}  # of an exact test, one with slopes
_CONSTANT = 1e-14  # share of a group's mean square, about the centre, below which its variance is rounding
_WHOLE = 1e-6  # what a count may be off a whole number by
_MANY = 10  # tables of which each may take what one table may; more take no longer
_STEP = 1e-5  # of degrees of freedom, of which p has no derivative in closed form

Found = Mapping[str, NDArray[Any]]  # numbers by their statistic, each (b,); what is not there is undefined


@dataclass(frozen=True, eq=False)
class Compared:
    """A test from totals, flat: counts (values, groups), or for `OF_MEANS` of each group the records, the sum and the
    squares (3, groups) of a value about `centre`, in units of `scale`. Groups and values of no record are left out. Of
    pairs the values are `differences` (values,), those of one group; or the groups are the other level of a pair.
    Of Pearson's correlation the totals are six sums (`associated.moments`). `scores` are those of values and of groups;
    `weights` those of kappa. `statistics` (k,) are the published numbers.
    """

    test: Test
    n_groups: int
    statistics: tuple[str, ...]
    decimals: NDArray[np.int64]
    continuity: bool = False
    centre: float = 0.0
    scale: float = 1.0
    differences: Array | None = None
    scores: tuple[Array, Array] | None = None
    weights: Weights = "none"

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,), exactly; NaN where they are undefined. Between whole numbers, and where it is
        too much work, p of an exact test is that of a chi-square: a refit says which it is.
        """
        with np.errstate(all="ignore"):
            try:
                return np.asarray(self._numbers(totals[None, :])[0], dtype=float)
            except TooMuchWorkError:
                return replace(self, test=SLOPED[self.test]).numbers(totals, information)

    def of_many(self, totals: Array) -> Array:
        """The published numbers (b, k) of totals (b, m), of which each has groups and values of its own.
        TooMuchWorkError where there is too much of it.
        """
        counts = totals.reshape(len(totals), -1, self.n_groups) > 0.5
        some = np.hstack([counts.any(axis=1), counts.any(axis=2)])
        _, first, kind = np.unique(some, axis=0, return_index=True, return_inverse=True)
        found = np.empty((len(totals), len(self.statistics)))
        with np.errstate(all="ignore"):
            for each in range(len(first)):
                found[kind.ravel() == each] = self._numbers(totals[kind.ravel() == each])
        return found

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m); 0 where a number is not defined. Exact, but for Welch's p to some 1e-8,
        and for an exact test's, which has steps: those of the p of a chi-square.
        """
        return smooth.derivatives(self._numbers, totals)

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling variances for normal values, or of a chi-squared statistic that is not central, on the
        diagonal, shape (k, k). Of an exact test those of a chi-square.
        """
        if self.test in SLOPED:
            return replace(self, test=SLOPED[self.test]).precision(totals, information)
        with np.errstate(all="ignore"):
            found = {name: float(value[0].real) for name, value in self._found(totals[None, :]).items()}
            statistic, df, n = found.get("statistic", 1.0), found.get("df", 1.0), max(found["n"], 1.0)
            of = found.get("z", statistic) if self.test in OF_NORMAL else found.get("t", statistic)
            slope = _slope(self.test, of, df, found.get("df within", 1.0))
            spread = _spread(self.test, of if self.test in OF_CORRELATIONS else statistic, df)
            halves = {"rank-sum": n**3 / 48.0, "signed-rank": n**3 / 12.0, "spearman": n**5 / 36.0}
            left = max(1.0 - found.get("r", 0.0) ** 2, 1.0 / n)
            by_name = {
                "statistic": halves.get(self.test, spread),
                "z": 1.0,
                "df": max(df, 1.0),
                "p": slope**2 * (1.0 if self.test in OF_NORMAL else spread),
                **dict.fromkeys(("r", "lower limit", "upper limit", "kappa"), left**2 / n),
                **dict.fromkeys(("agreement", "expected agreement"), 0.25 / n),
                "null error": found.get("null error", 1.0) ** 2 / n,
                "n": n,
                "cramers v": 1.0 / n,
                "cohens d": (1.0 if self.test == "paired t" else 4.0) / n,  # groups of a half each
                "eta squared": 1.0 / n,
                "auc": 1.0 / (3.0 * n),
                "difference": found.get("standard error", 1.0) ** 2,
                "standard error": found.get("standard error", 1.0) ** 2 / max(2.0 * df, 1.0),
            }
        variance = np.array([by_name.get(name, 1.0) for name in self.statistics])
        variance = np.where(np.isfinite(variance), variance, 1.0)
        return np.diag(1.0 / (variance + 10.0 ** (-2.0 * self.decimals) / 12.0))

    def _numbers(self, totals: NDArray[Any]) -> NDArray[Any]:
        found = self._found(totals)
        none = np.full(len(totals), np.nan, dtype=totals.dtype)
        return np.stack([found.get(name, none) for name in self.statistics], axis=1)

    def _found(self, totals: NDArray[Any]) -> Found:
        """Numbers by their statistic, from totals (b, m), real or complex."""
        if self.test == "paired t":
            return _of_differences(totals, self.scale)
        if self.test == "pearson":
            return _with_p(self.test, pearson(totals))
        if self.test in OF_MEANS:
            sums = totals.reshape(len(totals), 3, self.n_groups)
            return _of_means(self.test, sums[:, :, sums[0, 0].real > 0.5], self.scale)
        if self.differences is not None:
            return _signed_rank(totals, self.differences, self.continuity)
        counts = totals.reshape(len(totals), -1, self.n_groups)
        if self.test == "kappa":
            return _with_p(self.test, kappa(counts, self.weights))
        if self.test == "mcnemar" and counts.shape[1] > 2:
            return _with_p(self.test, bowker(counts))
        if self.test in OF_CHANGES:
            return _of_changes(self.test, counts, self.continuity)
        some = counts[0].real > 0.5
        values, groups = some.any(axis=1), some.any(axis=0)
        counts = counts[:, values][:, :, groups]
        if self.test in (*OF_SCORES, *OF_CORRELATIONS):
            if min(counts.shape[1:]) < 2:
                return {"n": counts.sum(axis=(1, 2))}
            if self.scores is None:
                return _with_p(self.test, spearman(counts) if self.test == "spearman" else kendall(counts))
            less = 1.0 if self.test == "linear-by-linear" else 0.0
            return _with_p(self.test, by_scores(counts, self.scores[0][values], self.scores[1][groups], less))
        return _of_counts[self.test](counts, self.continuity)


def _with_p(test: Test, found: Found) -> Found:
    """The numbers with p: of z, of t, or else of a chi-squared statistic."""
    at = found["z"] if test in OF_NORMAL else found["t"] if test in OF_T else found["statistic"]
    df = found.get("df", np.ones(1))
    return {**found, "p": np.where(df.real > 0.5, p_value(test, at, df), np.nan)}


def p_value(test: Test, statistic: NDArray[Any], df: Any = 1.0, within: Any = 1.0) -> NDArray[Any]:
    """P of a statistic, two-sided, to first order in imaginary parts: of t at `df`, of F at `df` and `within`, of
    chi-squared at `df`; of ranks the statistic is the standard normal one.
    """
    at = [np.asarray(each).real.astype(float) for each in (df, within)]
    p = _tail(test, statistic.real, *at)
    if not np.iscomplexobj(statistic):
        return p
    moved = _slope(test, statistic.real, *at) * statistic.imag
    for which, each in enumerate((df, within)):
        if np.iscomplexobj(each):
            up, down = ([x * (1.0 + way * _STEP * (k == which)) for k, x in enumerate(at)] for way in (1.0, -1.0))
            change = _tail(test, statistic.real, *up) - _tail(test, statistic.real, *down)
            moved = moved + change / (2.0 * _STEP * at[which]) * np.imag(each)
    return np.asarray(p + 1j * moved)


def p_of_r(r: NDArray[Any], n: NDArray[Any]) -> NDArray[Any]:
    """P (b,) of Pearson's correlations of n records (b,); NaN of two records and fewer."""
    return np.asarray(p_value("pearson", of_r(r, n), n - 2.0))


def p_slope(r: float, n: float) -> float:
    """The derivative of that p in t, at a correlation of n records."""
    return float(_slope("pearson", r * np.sqrt(n / max(1.0 - r * r, 1.0 / n)), n - 2.0, 1.0))


def _tail(test: Test, statistic: Any, df: Any, within: Any) -> NDArray[Any]:
    if test in OF_T:
        return np.asarray(2.0 * special.stdtr(df, -np.abs(statistic)))
    if test == "anova":
        return np.asarray(special.fdtrc(df, within, statistic))
    if test in OF_NORMAL:
        return np.asarray(2.0 * special.ndtr(-np.abs(statistic)))
    return np.asarray(special.chdtrc(df, statistic))


def _slope(test: Test, statistic: Any, df: Any, within: Any) -> Any:
    """The derivative of p in its statistic."""
    if test in OF_T:
        return -2.0 * np.sign(statistic) * stats.t.pdf(statistic, df)
    if test == "anova":
        return -stats.f.pdf(statistic, df, within)
    if test in OF_NORMAL:
        return -2.0 * np.sign(statistic) * stats.norm.pdf(statistic)
    return -stats.chi2.pdf(statistic, df)


def _spread(test: Test, statistic: float, df: float) -> float:
    """A sampling variance of the statistic."""
    if test in OF_T:
        return 1.0 + statistic**2 / (2.0 * max(df, 1.0))
    excess = max(statistic - (1.0 if test == "anova" else df), 0.0)
    return (2.0 * df + 4.0 * df * excess) / df**2 if test == "anova" else 2.0 * df + 4.0 * excess


def _of_means(test: Test, sums: NDArray[Any], scale: float) -> Found:
    """Tests between means, from records, sums and squares (b, 3, groups) of groups that have records."""
    n, total, squares = sums[:, 0], sums[:, 1], sums[:, 2]
    whole, groups = n.sum(axis=1), n.shape[1]
    mean, inside = total / n, squares - total**2 / n
    inside = np.where((inside.real <= _CONSTANT * squares.real) | (n.real < 1.5), 0.0, inside)
    found = {"n": whole}
    within = inside.sum(axis=1)
    if test == "anova":
        if groups < 2 or whole[0].real < groups + 0.5 or within[0].real == 0.0:
            return found
        between = (n * (mean - (total.sum(axis=1) / whole)[:, None]) ** 2).sum(axis=1)
        df, left = groups - 1.0, whole - groups
        f = (between / df) / (within / left)
        return found | {
            "statistic": f,
            "df": np.full(len(n), df),
            "df within": left,
            "p": p_value(test, f, df, left),
            "eta squared": between / (between + within),
        }
    if groups != 2 or n[0].real.min() < 1.5:
        return found
    difference = (mean[:, 0] - mean[:, 1]) * scale
    if within[0].real == 0.0:
        return found | {"difference": difference}
    if test == "t":
        df = whole - 2.0
        error = np.sqrt(within / df * (1.0 / n).sum(axis=1))
    else:
        parts = inside / (n - 1.0) / n
        error = np.sqrt(parts.sum(axis=1))
        df = parts.sum(axis=1) ** 2 / (parts**2 / (n - 1.0)).sum(axis=1)
    t = difference / (error * scale)
    return found | {
        "statistic": t,
        "df": df,
        "p": p_value(test, t, df),
        "difference": difference,
        "standard error": error * scale,
        "cohens d": difference / (np.sqrt(within / (whole - 2.0)) * scale),
    }


def _of_differences(sums: NDArray[Any], scale: float) -> Found:
    """Student's t of differences in pairs, from their number, sum and squares (b, 3)."""
    n, total, squares = sums.T
    found = {"n": n}
    if n[0].real < 0.5:
        return found
    mean, inside = total / n, squares - total**2 / n
    found["difference"] = mean * scale
    if n[0].real < 1.5 or inside[0].real <= _CONSTANT * squares[0].real:
        return found
    sd, df = np.sqrt(inside / (n - 1.0)), n - 1.0
    t = mean / (sd / np.sqrt(n))
    return found | {
        "statistic": t,
        "df": df,
        "p": p_value("paired t", t, df),
        "standard error": sd / np.sqrt(n) * scale,
        "cohens d": mean / sd,
    }


def _signed_rank(counts: NDArray[Any], differences: Array, continuity: bool) -> Found:
    """Wilcoxon's of pairs: V, the ranks of differences above 0 among the sizes of all that are not 0, and p by the
    normal distribution with ties; from counts (b, values) of the differences (values,).
    """
    found = {"n": counts.sum(axis=1)}
    size, place = np.unique(np.abs(differences), return_inverse=True)
    each, above = (np.zeros((len(counts), len(size)), counts.dtype) for _ in range(2))
    moved, rises = differences != 0.0, differences > 0.0
    np.add.at(each.T, place[moved], counts.T[moved])
    np.add.at(above.T, place[rises], counts.T[rises])
    n = each.sum(axis=1)
    rank = np.cumsum(each, axis=1) - (each - 1.0) / 2.0
    found["statistic"] = (above * rank).sum(axis=1)
    gap = found["statistic"] - n * (n + 1.0) / 4.0
    if continuity:
        gap = gap - 0.5 * np.sign(gap.real)
    z = gap / np.sqrt(n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - (each**3 - each).sum(axis=1) / 48.0)
    return found | {"z": z, "p": p_value("signed-rank", z)}


def _of_changes(test: Test, counts: NDArray[Any], continuity: bool) -> Found:
    """McNemar's, of counts (b, 2, 2) by the two levels of a pair; exact: by the binomial distribution of whole numbers,
    else its p is near that of the chi-squared statistic.
    """
    found = {"n": counts.sum(axis=(1, 2))}
    one, other = counts[:, 0, 1], counts[:, 1, 0]
    changed = one + other
    if test == "exact mcnemar":
        whole = np.rint(changed.real)
        if not np.iscomplexobj(counts) and (np.abs(changed - whole) <= _WHOLE).all():
            fewer = np.rint(np.minimum(one, other))
            p = np.minimum(2.0 * special.bdtr(fewer, whole.astype(np.int64), 0.5), 1.0)
            return found | {"p": np.where(whole > 0.0, p, np.nan)}
        continuity = True  # which is nearer
    gap = (one - other) * np.sign((one - other).real)
    if continuity:
        gap = np.where(gap.real > 1.0, gap - 1.0, 0.0)
    statistic, df = gap**2 / changed, np.where(changed.real > 0.0, 1.0, np.nan)
    p = p_value("mcnemar", statistic, df)
    return found | ({"p": p} if test == "exact mcnemar" else {"statistic": statistic, "df": df, "p": p})


def _chi_square(counts: NDArray[Any], continuity: bool) -> Found:
    """Pearson's, of counts (b, values, groups) without empty rows or columns; `continuity`: Yates's, of a 2 x 2."""
    n = counts.sum(axis=(1, 2))
    rows, columns = (size - 1 for size in counts.shape[1:])
    if min(rows, columns) < 1:
        return {"n": n}
    expected = counts.sum(axis=2)[:, :, None] * counts.sum(axis=1)[:, None] / n[:, None, None]
    gap = counts - expected
    plain = (gap**2 / expected).sum(axis=(1, 2))
    statistic = plain
    if continuity and rows == columns == 1:
        gap = gap * np.sign(gap.real)
        statistic = (np.where(gap.real > 0.5, gap - 0.5, 0.0) ** 2 / expected).sum(axis=(1, 2))
    df = np.full(len(n), float(rows * columns))
    return {
        "n": n,
        "statistic": statistic,
        "df": df,
        "p": p_value("chi-square", statistic, df),
        "cramers v": np.sqrt(plain / (n * min(rows, columns))),
    }


def _ranked(counts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Of counts (b, values, groups): records of each group and the sum of their ranks (b, groups), and what ties leave
    of the variance of ranks, from 0 to 1 (b,).
    """
    each = counts.sum(axis=2)
    n = each.sum(axis=1)
    rank = np.cumsum(each, axis=1) - (each - 1.0) / 2.0
    left = 1.0 - (each**3 - each).sum(axis=1) / (n**3 - n)
    return counts.sum(axis=1), (counts * rank[:, :, None]).sum(axis=1), left


def _rank_sum(counts: NDArray[Any], continuity: bool) -> Found:
    """Wilcoxon's and Mann and Whitney's: U of the first group, and p by the normal distribution."""
    size, ranks, left = _ranked(counts)
    n = size.sum(axis=1)
    if size.shape[1] != 2:
        return {"n": n}
    pairs = size[:, 0] * size[:, 1]
    u = ranks[:, 0] - size[:, 0] * (size[:, 0] + 1.0) / 2.0
    found = {"n": n, "statistic": u, "auc": u / pairs}
    if counts.shape[1] < 2:
        return found
    gap = u - pairs / 2.0
    if continuity:
        gap = np.where(np.abs(gap.real) > 0.5, gap - 0.5 * np.sign(gap.real), 0.0)
    z = gap / np.sqrt(pairs * (n + 1.0) * left / 12.0)
    return found | {"z": z, "p": p_value("rank-sum", z)}


def _kruskal_wallis(counts: NDArray[Any], continuity: bool) -> Found:
    """Kruskal and Wallis's H, with ties."""
    size, ranks, left = _ranked(counts)
    n = size.sum(axis=1)
    if min(counts.shape[1:]) < 2:
        return {"n": n}
    statistic = (12.0 / (n * (n + 1.0)) * (ranks**2 / size).sum(axis=1) - 3.0 * (n + 1.0)) / left
    df = np.full(len(n), size.shape[1] - 1.0)
    return {"n": n, "statistic": statistic, "df": df, "p": p_value("kruskal-wallis", statistic, df)}


def _exact(counts: NDArray[Any], continuity: bool) -> Found:
    """Fisher's, exact of whole numbers; else its p is near that of a chi-square, which has derivatives."""
    found = {"n": counts.sum(axis=(1, 2))}
    if min(counts.shape[1:]) < 2:
        return found
    whole = np.rint(counts.real)
    if np.iscomplexobj(counts) or (np.abs(counts - whole) > _WHOLE).any():
        return found | {"p": _chi_square(counts, continuity)["p"]}
    return found | {"p": fisher(whole.astype(np.int64), MOST_WORK * min(len(counts), _MANY))}


_of_counts: Mapping[str, Callable[[NDArray[Any], bool], Found]] = {
    "chi-square": _chi_square,
    "rank-sum": _rank_sum,
    "kruskal-wallis": _kruskal_wallis,
    "fisher": _exact,
}
