"""Released tests of hypotheses between groups: chi-squared, exact, t, analysis of variance, ranks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator
from scipy import stats
from scipy.stats import contingency

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import (
    Array,
    Common,
    Entry,
    Names,
    Subset,
    joint_for,
    listed,
    places_in,
    record_counts,
    support_frame,
)
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.compared import CORRECTED, OF_MEANS, OF_TABLES, Compared, Test, p_value
from outrisk.outputs.smooth.fisher import TooMuchWorkError, fisher
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Mask
from outrisk.problem.released import ROUNDING, ModelPart, half_digit

Statistic = Literal["statistic", "z", "df", "df within", "p", "n", "difference", "standard error", "cramers v"]
OF_TEST: Mapping[Test, tuple[Statistic, ...]] = {  # what each test has
    "chi-square": ("statistic", "df", "p", "n", "cramers v"),
    "t": ("statistic", "df", "p", "n", "difference", "standard error"),
    "welch": ("statistic", "df", "p", "n", "difference", "standard error"),
    "anova": ("statistic", "df", "df within", "p", "n"),
    "rank-sum": ("statistic", "z", "p", "n"),
    "kruskal-wallis": ("statistic", "df", "p", "n"),
    "fisher": ("p", "n"),
}
_USUAL: tuple[Statistic, ...] = ("statistic", "p")
_SYMBOL: Mapping[Test, str] = {
    "chi-square": "chi2",
    "t": "t",
    "welch": "t",
    "anova": "F",
    "rank-sum": "U",
    "kruskal-wallis": "H",
}
OF_TWO: tuple[Test, ...] = ("t", "welch", "rank-sum")
_DECIMALS = 3
MAX_TOTALS = 2_000  # one for every value in every group
_MAX_ENTRIES = 16_000_000  # what each combination of the variables adds to each of them


@dataclass(frozen=True)
class HypothesisTest(Common):
    """A test whether `variable` differs between groups (`by`: every combination of their values).

    'chi-square' (Pearson's, of the table of both), 't' (Student's, of equal variances), 'welch', 'anova' (one-way),
    'rank-sum' (Wilcoxon's, also Mann and Whitney's: U of the first group in codebook order, p by the normal
    distribution with ties), 'kruskal-wallis' and 'fisher' (the exact test of the table of both, of any size: Freeman
    and Halton's). All p-values are two-sided. `continuity`: Yates's correction of a 2 x 2 table, or that of the
    rank-sum test. Differences are the first group less the second. Records with a missing value in any of the
    variables, and groups and values without records, are left out. NaN where there is no test: a single group, more
    than two where two are compared, no variance, a single value.
    """

    test: Test
    variable: str
    by: tuple[str, ...]
    statistics: tuple[Statistic, ...] = _USUAL
    continuity: bool = False
    places: int | Mapping[str, int] = _DECIMALS
    where: str = ""
    kind = "test"

    def __post_init__(self) -> None:
        smooth.check_names(self.codebook, [self.variable], self.name, numeric=self.test not in OF_TABLES)
        smooth.check_names(self.codebook, self.by, self.name)
        if len(set(self.variables)) < len(self.variables):
            raise OutputError(f"output '{self.name}': variable and by must be different variables")
        unknown = [each for each in self.statistics if each not in OF_TEST[self.test]]
        if unknown:
            raise OutputError(
                f"output '{self.name}': statistics: a test '{self.test}' has no '{unknown[0]}'; "
                f"it has {list(OF_TEST[self.test])}"
            )
        if self.continuity and self.test not in CORRECTED:
            raise OutputError(f"output '{self.name}': continuity: a test '{self.test}' has no such correction; omit it")
        values = len(self.codebook[self.variable].values)
        totals = (3 if self.test in OF_MEANS else values) * self.n_groups
        entries = totals * math.prod(self.codebook[name].size for name in self.variables)
        if totals > MAX_TOTALS or entries > _MAX_ENTRIES:
            raise OutputError(
                f"output '{self.name}': {values:,} values of '{self.variable}' in {self.n_groups:,} groups are too "
                f"many for a test: {totals:,} totals, at most {MAX_TOTALS:,} are possible, and {entries:,} entries, at "
                f"most {_MAX_ENTRIES:,}; band one of the variables"
            )
        _ = self.decimals, self._of_levels, self._masks

    @property
    def variables(self) -> list[str]:
        """Groups and what is compared."""
        return [*self.by, self.variable]

    @cached_property
    def n_groups(self) -> int:
        """Combinations of the groups' values."""
        return math.prod(len(self.codebook[name].values) for name in self.by)

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    @property
    def labels(self) -> list[str]:
        """One label a number: chi2, df, p."""
        return [_SYMBOL[self.test] if each == "statistic" else each for each in self.statistics]

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each published number, shape (k,)."""
        places = smooth.decimals_of(self.places, self.statistics, self._whole, _DECIMALS, self.name)
        if self.test == "rank-sum" and "statistic" in places:
            places["statistic"] = min(places["statistic"], 1)  # U is a multiple of a half
        return np.array([places[each] for each in self.statistics], dtype=np.int64)

    @property
    def _whole(self) -> list[str]:
        """Statistics that are whole numbers."""
        return ["n", "df within", *(["df"] if self.test != "welch" else [])]

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        parts = [
            f"test '{self.test}' of {self.variable} by {', '.join(self.by)}: {', '.join(self.statistics)}",
            "with continuity correction" if self.continuity else "",
            f"where {self.where}" if self.where else "",
        ]
        return "; ".join(part for part in parts if part)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by scipy on the decoded records, shape (k,); NaN for what is not defined on them.
        OutputError where an exact test is too much work.
        """
        frame = self._subset.complete(data, self.variables)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # scipy warns of what is undefined, and gives NaN
            found = {"n": float(len(frame)), **self._by_scipy(frame)}
        numbers = np.array([found.get(each, np.nan) for each in self.statistics])
        return np.where(np.isfinite(numbers), numbers, np.nan)

    def _by_scipy(self, frame: pd.DataFrame) -> dict[str, float]:
        place = places_in(self.codebook, self.by, frame)
        present = np.unique(place)
        if self.test == "chi-square":
            return _chi_square(pd.crosstab(frame[self.variable], place).to_numpy(), self.continuity)
        if self.test == "fisher":
            return _fisher(pd.crosstab(frame[self.variable], place).to_numpy(), self.name)
        values = frame[self.variable].to_numpy(dtype=float)
        groups = [values[place == each] for each in present]
        if len(groups) < 2 or (self.test in OF_TWO and len(groups) > 2):
            return {}
        if self.test in OF_MEANS:
            return _between_means(self.test, groups)
        alike = bool(np.ptp(values) == 0.0)
        if self.test == "kruskal-wallis":
            if alike:
                return {}
            found = stats.kruskal(*groups)
            return {"statistic": float(found.statistic), "p": float(found.pvalue), "df": len(groups) - 1.0}
        found = stats.mannwhitneyu(*groups, use_continuity=self.continuity, method="asymptotic")
        of_ranks = {} if alike else {"p": float(found.pvalue), "z": self._z(groups)}
        return {"statistic": float(found.statistic), **of_ranks}

    def _z(self, groups: list[Array]) -> float:
        """The standardised rank sum; scipy's ranksums has neither ties nor a correction."""
        ranks = stats.rankdata(np.concatenate(groups))
        first, second = (len(group) for group in groups)
        gap = ranks[:first].sum() - first * (first + second + 1) / 2.0
        if self.continuity:
            gap = np.sign(gap) * max(abs(gap) - 0.5, 0.0)
        return float(gap / np.sqrt(first * second / (first + second) * np.var(ranks, ddof=1)))

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """The number of records."""
        return record_counts(self.labels, "n", low, high)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """At which cells of a table by the `variables` (their missing levels last) records have all values."""
        sizes = [self.codebook[name].size for name in self.variables]
        values = [len(self.codebook[name].values) for name in self.variables]
        known = [at < most for at, most in zip(np.indices(sizes), values, strict=True)]
        return np.asarray(np.logical_and.reduce(known), np.bool_)

    def of_counts(self, counts: Array) -> Array:
        """The numbers (b, k) of a test that compares counts, from tables of them (b, ...) with an axis for each of the
        `variables`, whose missing level is the last.
        """
        levels = [slice(len(self.codebook[name].values)) for name in self.variables]
        known = counts[:, *levels].reshape(len(counts), self.n_groups, -1)
        return self._compared.of_many(known.transpose(0, 2, 1).reshape(len(counts), -1))

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Counts (values, groups), flat; for means of each group the records, the sum and the squares, (3, groups)."""
        joint, place, level = self._of_levels
        known, compared = np.flatnonzero(place >= 0), self._compared
        if self.test in OF_MEANS:
            rows = np.zeros((joint.size, 3 * self.n_groups))
            value = (np.array(self.codebook[self.variable].values)[level[known]] - compared.centre) / compared.scale
            for power in range(3):
                rows[known, power * self.n_groups + place[known]] = value**power
        else:
            rows = np.zeros((joint.size, len(self.codebook[self.variable].values) * self.n_groups))
            rows[known, level[known] * self.n_groups + place[known]] = 1.0
        return (ModelPart(smooth.sums_of(joint, rows, self._masks), compared, len(self.statistics)),)

    @cached_property
    def _compared(self) -> Compared:
        centre, scale = 0.0, 1.0
        if self.test in OF_MEANS:
            least, most = (float(self.codebook[self.variable].values[at]) for at in (0, -1))
            centre, scale = (least + most) / 2.0, max(1.0, most - least) / 2.0
        return Compared(self.test, self.n_groups, self.statistics, self.decimals, self.continuity, centre, scale)

    @cached_property
    def _masks(self) -> tuple[Mask, ...]:
        return self._subset.masks()

    @cached_property
    def _of_levels(self) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        """The joint of the variables, and of each of its levels the group (-1 where a value is missing) and the value's
        position.
        """
        joint = joint_for(self.codebook, self.variables, self.name)
        frame = support_frame(self.codebook, joint)
        known = frame.notna().all(axis=1).to_numpy()
        group = np.where(known, places_in(self.codebook, self.by, frame), -1)
        return joint, group, np.where(known, places_in(self.codebook, [self.variable], frame), 0)

    def check(self, low: Array, high: Array) -> None:
        """OutputError for released values that no data can have, or a p that is not that of its statistic."""
        least, most = np.full(len(low), -np.inf), np.full(len(low), np.inf)
        for k, each in enumerate(self.statistics):
            if each not in ("z", "difference") and (each, self.test in ("t", "welch")) != ("statistic", True):
                least[k] = 0.0
            if each in ("p", "cramers v"):
                most[k] = 1.0
        why = "p and V lie in 0 to 1, and of all else but t, z and a difference nothing is below 0; correct it"
        smooth.check_range(self.name, self.labels, low, high, least, most, why)
        self._check_p(low, high)

    def _check_p(self, low: Array, high: Array) -> None:
        at: dict[str, int] = {each: k for k, each in enumerate(self.statistics)}
        needed = {"rank-sum": ["z"], "anova": ["statistic", "df", "df within"]}.get(self.test, ["statistic", "df"])
        if "p" not in at or any(each not in at for each in needed):
            return
        half = half_digit(self.decimals) * ROUNDING
        half[[k for k, each in enumerate(self.statistics) if each in self._whole]] = 0.0
        ends = [(low[at[each]] - half[at[each]], high[at[each]] + half[at[each]]) for each in needed]
        if not np.isfinite(ends).all() or any(end[0] <= 0.0 for end in ends[1:]):
            return
        wide = np.abs(ends[0])
        near = 0.0 if ends[0][0] < 0.0 < ends[0][1] else float(wide.min())
        corners = [
            float(p_value(self.test, np.array(statistic), *rest))
            for statistic in (near, float(wide.max()))
            for rest in product(*ends[1:])
        ]
        least, most = np.full(len(low), -np.inf), np.full(len(low), np.inf)
        least[at["p"]], most[at["p"]] = min(corners) - half[at["p"]], max(corners) + half[at["p"]]
        why = f"{' and '.join(self.labels[at[each]] for each in needed)} make it another number; correct it, or these"
        smooth.check_range(self.name, self.labels, low, high, least, most, why)


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
        between = {"df": len(groups) - 1.0, "df within": float(left)}
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
    }


def _standard_error(test: Test, groups: list[Array]) -> float:
    """Of the difference of two means."""
    each = [group.var(ddof=1) for group in groups]
    sizes = [len(group) for group in groups]
    if test == "t":
        pooled = sum(v * (n - 1) for v, n in zip(each, sizes, strict=True)) / (sum(sizes) - 2)
        each = [pooled, pooled]
    return math.sqrt(sum(v / n for v, n in zip(each, sizes, strict=True)))


class HypothesisTestEntry(Entry):
    """A test between groups in a study file. Without `test` the values are a text or a file that says which it is."""

    positional = ("test", "variable", "by")

    kind: Literal["test"]
    test: Test | None = None
    variable: str
    by: Annotated[Names, Field(min_length=1)]
    statistics: Annotated[tuple[Statistic, ...], BeforeValidator(listed)] = Field(default=_USUAL, min_length=1)
    continuity: bool = False
    decimals: smooth.Decimals = _DECIMALS

    @model_validator(mode="before")
    @classmethod
    def _has_the_usual(cls, given: object) -> object:
        """What the test has of the usual statistics, where none are asked for."""
        if not isinstance(given, Mapping) or given.get("test") != "fisher" or "statistics" in given:
            return given
        return {**given, "statistics": [each for each in _USUAL if each in OF_TEST["fisher"]]}

    @model_validator(mode="after")
    def _says_its_test(self) -> HypothesisTestEntry:
        if self.test is None and not isinstance(self.values, str):
            raise ValueError(f"'test' is missing; say which of {list(OF_TEST)}")
        return self

    def build(self, codebook: Codebook, position: int) -> list[HypothesisTest]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        if self.test is None:
            raise OutputError(
                f"output '{self.name or f'test {position}'}': 'test' is missing, and values by label do not say it; "
                f"say which of {list(OF_TEST)}"
            )
        return [
            HypothesisTest(
                codebook,
                self.name or f"{self.test} test of {self.variable} by {' x '.join(self.by)}",
                self.test,
                self.variable,
                self.by,
                tuple(dict.fromkeys(self.statistics)),
                self.continuity,
                self.decimals,
                self.where,
            )
        ]
