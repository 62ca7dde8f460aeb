"""Released tests of hypotheses: between groups chi-squared, exact, t, analysis of variance, ranks, trends; and of
pairs, with correlations and agreement.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator
from scipy import sparse

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
from outrisk.outputs.smooth.agreement import Weights
from outrisk.outputs.smooth.associated import moments
from outrisk.outputs.smooth.by_scipy import between_groups, of_pairs, of_scores
from outrisk.outputs.smooth.compared import (
    CORRECTED,
    OF_CHANGES,
    OF_CORRELATIONS,
    OF_DIFFERENCES,
    OF_MEANS,
    OF_NORMAL,
    OF_PAIRS,
    OF_RANKS,
    OF_SCORES,
    OF_STUDENT,
    OF_TABLES,
    SLOPED,
    Compared,
    Test,
    p_value,
)
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Mask
from outrisk.problem.released import ROUNDING, ModelPart, half_digit

Statistic = Literal[
    "statistic",
    "z",
    "df",
    "df within",
    "p",
    "n",
    "difference",
    "standard error",
    "cramers v",
    "cohens d",
    "eta squared",
    "auc",
    "r",
    "kappa",
    "agreement",
    "expected agreement",
    "null error",
    "lower limit",
    "upper limit",
]
_OF_T: tuple[Statistic, ...] = ("statistic", "df", "p", "n", "difference", "standard error", "cohens d")
OF_TEST: Mapping[Test, tuple[Statistic, ...]] = {  # what each test has
    "chi-square": ("statistic", "df", "p", "n", "cramers v"),
    "t": _OF_T,
    "welch": _OF_T,
    "anova": ("statistic", "df", "df within", "p", "n", "eta squared"),
    "rank-sum": ("statistic", "z", "p", "n", "auc"),
    "kruskal-wallis": ("statistic", "df", "p", "n"),
    "fisher": ("p", "n"),
    "paired t": _OF_T,
    "signed-rank": ("statistic", "z", "p", "n"),
    "mcnemar": ("statistic", "df", "p", "n"),
    "exact mcnemar": ("p", "n"),
    "trend": ("statistic", "df", "p", "n", "z", "r"),
    "linear-by-linear": ("statistic", "df", "p", "n", "z", "r"),
    "pearson": ("r", "statistic", "df", "p", "n", "lower limit", "upper limit"),
    "spearman": ("r", "statistic", "p", "n"),
    "kendall": ("r", "z", "p", "n"),
    "kappa": (
        *("kappa", "standard error", "lower limit", "upper limit", "null error", "z", "p", "n"),
        *("agreement", "expected agreement"),
    ),
}
_USUAL: tuple[Statistic, ...] = ("statistic", "p")
_OF_ITS_OWN: Mapping[Test, tuple[Statistic, ...]] = {
    **dict.fromkeys(SLOPED, ("p",)),
    **dict.fromkeys(OF_CORRELATIONS, ("r", "p")),
    "kappa": ("kappa", "p"),
}
_SIGNED = ("z", "difference", "cohens d", "r", "kappa", "lower limit", "upper limit")
_SHARES = ("p", "cramers v", "eta squared", "auc", "agreement", "expected agreement")
_LABELS = {"lower limit": "lower 95 %", "upper limit": "upper 95 %"}
_CORRELATION: Mapping[Test, str] = {"spearman": "rho", "kendall": "tau-b"}
_SYMBOL: Mapping[Test, str] = {
    "chi-square": "chi2",
    "t": "t",
    "welch": "t",
    "anova": "F",
    "rank-sum": "U",
    "kruskal-wallis": "H",
    "paired t": "t",
    "signed-rank": "V",
    "mcnemar": "chi2",
    "trend": "chi2",
    "linear-by-linear": "chi2",
    "pearson": "t",
    "spearman": "S",
}
_DECIMALS = 3
MAX_TOTALS = 2_000  # one for every value in every group
_MAX_ENTRIES = 16_000_000  # what each combination of the variables adds to each of them


@dataclass(frozen=True)
class HypothesisTest(Common):
    """A test whether `variable` differs between groups (`by`: every combination of their values), or from `paired`.

    'chi-square' (Pearson's, of the table of both), 't' (Student's, of equal variances), 'welch', 'anova' (one-way),
    'rank-sum' (Wilcoxon's, also Mann and Whitney's: U of the first group in codebook order, p by the normal
    distribution with ties), 'kruskal-wallis' and 'fisher' (the exact test of the table of both, of any size: Freeman
    and Halton's). All p-values are two-sided. Differences are the first group less the second. Of pairs: 'paired t'
    (Student's, of the differences `variable` less `paired`), 'signed-rank' (Wilcoxon's: V, the ranks of differences
    above 0, those of 0 left out; p by the normal distribution with ties, which 1.1 - 0.8 and 0.5 - 0.2 are not, as
    programs compute them), 'mcnemar' and 'exact mcnemar' (of two variables with the same two levels; exact by the
    binomial distribution; without that of more levels, Bowker's), the correlations 'pearson', 'spearman' and 'kendall'
    (tau-b), and Cohen's 'kappa' (of two variables with the same levels), for which `associated` and `agreement` have
    the sources. 'trend' is Cochran and Armitage's, of a variable of two levels over groups with scores, and
    'linear-by-linear' Mantel's, of two variables with scores: `scores` by variable, one for each of its values in the
    order of the codebook; without, a number's values, and 1, 2, ... of levels. `weights` of kappa are by the places of
    levels there. `continuity`: Yates's correction of a 2 x 2 table, or that of a test of ranks or McNemar's.
    'cohens d' is the difference over the standard deviation inside groups, pooled, or over that of the differences;
    'eta squared' the share of squares between groups; 'auc' the share of pairs of records in which that of the first
    group has the larger value, ties counted half. Records with a missing value in any of the variables, and groups and
    values without records, are left out. NaN where there is no test: a single group, more than two where two are
    compared, no variance, a single value, no pair that differs.
    """

    test: Test
    variable: str
    by: tuple[str, ...] = ()
    statistics: tuple[Statistic, ...] = _USUAL
    continuity: bool = False
    places: int | Mapping[str, int] = _DECIMALS
    where: str = ""
    paired: str = ""
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    weights: Weights = "none"
    kind = "test"

    def __post_init__(self) -> None:
        self._check_variables()
        unknown = [each for each in self.statistics if each not in OF_TEST[self.test]]
        if unknown:
            raise OutputError(
                f"output '{self.name}': statistics: a test '{self.test}' has no '{unknown[0]}'; "
                f"it has {list(OF_TEST[self.test])}"
            )
        if self.continuity and self.test not in CORRECTED:
            raise OutputError(f"output '{self.name}': continuity: a test '{self.test}' has no such correction; omit it")
        if self.weights != "none" and self.test != "kappa":
            raise OutputError(f"output '{self.name}': weights: a test '{self.test}' has none; omit them")
        self._check_scores()
        self._check_size()
        _ = self.decimals, self._of_levels, self._masks

    def _check_variables(self) -> None:
        """OutputError where the variables are not those of such a test."""
        pairs = self.test in OF_PAIRS
        wrong = ("by", self.by, "paired") if pairs else ("paired", self.paired, "by")
        if wrong[1] or not (self.paired if pairs else self.by):
            raise OutputError(f"output '{self.name}': a test '{self.test}' needs '{wrong[2]}' and has no '{wrong[0]}'")
        numeric = self.test not in (*OF_TABLES, *OF_CHANGES, *OF_SCORES, "spearman", "kendall")
        smooth.check_names(self.codebook, [self.variable], self.name, numeric=numeric)
        smooth.check_names(self.codebook, [self.paired] if pairs else self.by, self.name, numeric=numeric and pairs)
        if len(set(self.variables)) < len(self.variables):
            raise OutputError(f"output '{self.name}': variable and {wrong[2]} must be different variables")
        changed = (self.variable, self.paired) if self.test in OF_CHANGES else ()
        labels = [self.codebook[name].labels[: len(self.codebook[name].values)] for name in changed]
        two = self.test == "exact mcnemar" or self.continuity
        if labels and (labels[0] != labels[1] or (two and len(labels[0]) != 2)):
            which = ("the same two levels", "two") if two else ("the same levels", "these")
            raise OutputError(
                f"output '{self.name}': a test '{self.test}'{' with continuity' if self.continuity else ''} compares "
                f"{which[0]}; those of '{self.variable}' are {labels[0][:20]} and those of '{self.paired}' "
                f"{labels[1][:20]}; derive variables with {which[1]}"
            )

    def _check_scores(self) -> None:
        """OutputError where scores are not those of the variables, or groups have none."""
        if self.test not in OF_SCORES:
            if self.scores:
                raise OutputError(f"output '{self.name}': scores: a test '{self.test}' has none; omit them")
            return
        if len(self.by) != 1:
            raise OutputError(
                f"output '{self.name}': a test '{self.test}' is by one variable, whose groups have scores, and "
                f"{len(self.by)} are given; derive one"
            )
        values = self.codebook[self.variable].values
        if self.test == "trend" and len(values) != 2:
            raise OutputError(
                f"output '{self.name}': a test 'trend' is of a variable with two values, and '{self.variable}' has "
                f"{len(values)}; derive one with two, or take 'linear-by-linear'"
            )
        for name, scores in self.scores.items():
            if name not in (self.variable, *self.by):
                raise OutputError(
                    f"output '{self.name}': scores of '{name}', which is none of {self.variables}; correct it"
                )
            number = len(self.codebook[name].values)
            if len(scores) != number or not np.isfinite(scores).all() or len(set(scores)) < 2:
                raise OutputError(
                    f"output '{self.name}': scores of '{name}' are {list(scores)[:20]}; give {number} numbers, one for "
                    "each of its values in the order of the codebook, that are not all the same"
                )

    def _scores_of(self, name: str) -> Array:
        """The scores of a variable's values."""
        variable = self.codebook[name]
        if name in self.scores:
            return np.array(self.scores[name], dtype=float)
        if variable.numeric:
            return np.array(variable.values, dtype=float)
        return np.arange(1.0, len(variable.values) + 1.0)

    def _check_size(self) -> None:
        """OutputError where totals are too many."""
        values = len(self.codebook[self.variable].values)
        levels = math.prod(self.codebook[name].size for name in self.variables)
        totals = (3 if self.test in OF_MEANS else values) * self.n_groups
        if self.test == "signed-rank" and levels <= _MAX_ENTRIES:
            totals = len(self._differences[0])
        elif self.test == "pearson":
            totals = 6
        if totals > MAX_TOTALS or totals * levels > _MAX_ENTRIES:
            of = f"'{self.paired}'" if self.paired else f"{self.n_groups:,} groups"
            raise OutputError(
                f"output '{self.name}': {values:,} values of '{self.variable}' in {of} are too many for a test: "
                f"{totals:,} totals, at most {MAX_TOTALS:,} are possible, and {totals * levels:,} entries, at most "
                f"{_MAX_ENTRIES:,}; band one of the variables"
            )

    @property
    def variables(self) -> list[str]:
        """Groups, or what is paired, and what is compared."""
        return [*([self.paired] if self.paired else self.by), self.variable]

    @property
    def _groups(self) -> tuple[str, ...]:
        """The variables whose combinations are groups: the other of a pair, where both are crossed."""
        return (self.paired,) if self.test in (*OF_CHANGES, *OF_CORRELATIONS) else self.by

    @cached_property
    def n_groups(self) -> int:
        """Combinations of the groups' values."""
        return math.prod(len(self.codebook[name].values) for name in self._groups)

    @cached_property
    def _differences(self) -> tuple[Array, NDArray[np.int64]]:
        """The differences that pairs may have, and the place among them of each pair of values (paired, variable)."""
        paired, own = (np.array(self.codebook[name].values, dtype=float) for name in (self.paired, self.variable))
        found, place = np.unique(own - paired[:, None], return_inverse=True)
        return found, place.reshape(len(paired), len(own))

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    @property
    def labels(self) -> list[str]:
        """One label a number: chi2, df, p."""
        own = {"statistic": _SYMBOL.get(self.test, ""), "r": _CORRELATION.get(self.test, "r"), **_LABELS}
        return [own.get(each, each) for each in self.statistics]

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each published number, shape (k,)."""
        places = smooth.decimals_of(self.places, self.statistics, self._whole, _DECIMALS, self.name)
        if self.test in OF_RANKS and "statistic" in places:
            places["statistic"] = min(places["statistic"], 1)  # U and V are multiples of a half
        return np.array([places[each] for each in self.statistics], dtype=np.int64)

    @property
    def _whole(self) -> list[str]:
        """Statistics that are whole numbers."""
        return ["n", "df within", *(["df"] if self.test != "welch" else [])]

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        parts = [
            f"test '{self.test}' of {self.compared}: {', '.join(self.statistics)}",
            "with continuity correction" if self.continuity else "",
            f"with {self.weights} weights" if self.weights != "none" else "",
            *(f"scores of {name} {', '.join(f'{each:g}' for each in of)}" for name, of in self.scores.items()),
            f"where {self.where}" if self.where else "",
        ]
        return "; ".join(part for part in parts if part)

    @property
    def compared(self) -> str:
        """What is compared, in words."""
        return compared(self.variable, self.by, self.paired)

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
        if self.paired:
            names = (self.variable, self.paired)
            if self.test in (*OF_CHANGES, "spearman", "kendall"):
                own, other = (places_in(self.codebook, [name], frame) for name in names)
            else:
                own, other = (frame[name].to_numpy(dtype=float) for name in names)
            return of_pairs(self.test, own, other, self.continuity, self.weights, self.n_groups)
        if self.test in OF_SCORES:
            scores = [self._scores_of(name)[places_in(self.codebook, [name], frame)] for name in self.variables]
            return of_scores(self.test, *scores)
        place = places_in(self.codebook, self.by, frame)
        return between_groups(self.test, frame[self.variable], place, self.continuity, self.name)

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
        if self.test == "signed-rank":
            place = self._differences[1].ravel()
            differs = sparse.csr_matrix((np.ones(len(place)), (np.arange(len(place)), place)))
            return self._compared.of_many(np.asarray(counts[:, *levels].reshape(len(counts), -1) @ differs))
        if self.test == "pearson":
            paired, own = (each.ravel() for each in np.meshgrid(*self._centred[::-1], indexing="ij"))
            return self._compared.of_many(counts[:, *levels].reshape(len(counts), -1) @ moments(own, paired))
        known = counts[:, *levels].reshape(len(counts), self.n_groups, -1)
        return self._compared.of_many(known.transpose(0, 2, 1).reshape(len(counts), -1))

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Counts (values, groups), flat; for means of each group the records, the sum and the squares, (3, groups); for
        Pearson's correlation six sums.
        """
        joint, place, level, values = self._of_levels
        known, compared = np.flatnonzero(place >= 0), self._compared
        if self.test == "pearson":
            rows, (own, paired) = np.zeros((joint.size, 6)), self._centred
            rows[known] = moments(own[level[known]], paired[place[known]])
        elif self.test in OF_MEANS:
            rows = np.zeros((joint.size, 3 * self.n_groups))
            value = (values[level[known]] - compared.centre) / compared.scale
            for power in range(3):
                rows[known, power * self.n_groups + place[known]] = value**power
        else:
            rows = np.zeros((joint.size, len(values) * self.n_groups))
            rows[known, level[known] * self.n_groups + place[known]] = 1.0
        return (ModelPart(smooth.sums_of(joint, rows, self._masks), compared, len(self.statistics)),)

    @cached_property
    def _compared(self) -> Compared:
        centre, scale, differences = 0.0, 1.0, None
        if self.test in OF_DIFFERENCES:
            differences = self._differences[0]
            scale = max(1.0, float(np.abs(differences).max())) if self.test == "paired t" else 1.0
        elif self.test in OF_MEANS:
            least, most = (float(self.codebook[self.variable].values[at]) for at in (0, -1))
            centre, scale = (least + most) / 2.0, max(1.0, most - least) / 2.0
        scores = None
        if self.test in OF_SCORES:
            scores = self._scores_of(self.variable), self._scores_of(self.by[0])
        groups = 1 if self.test == "pearson" else self.n_groups
        return Compared(
            *(self.test, groups, self.statistics, self.decimals, self.continuity, centre, scale, differences, scores),
            self.weights,
        )

    @cached_property
    def _centred(self) -> tuple[Array, Array]:
        """The values of both of a pair, about the middle of each and from -1 to 1."""
        both = (np.array(self.codebook[name].values, dtype=float) for name in (self.variable, self.paired))
        own, paired = ((each - (each[0] + each[-1]) / 2.0) / max(np.ptp(each) / 2.0, 1e-300) for each in both)
        return own, paired

    @cached_property
    def _masks(self) -> tuple[Mask, ...]:
        return self._subset.masks()

    @cached_property
    def _of_levels(self) -> tuple[Any, NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        """The joint of the variables, of each of its levels the group (-1 where a value is missing) and the value's
        position, and the values: of a pair, the differences.
        """
        joint = joint_for(self.codebook, self.variables, self.name)
        frame = support_frame(self.codebook, joint)
        known = frame.notna().all(axis=1).to_numpy()
        group = np.where(known, places_in(self.codebook, self._groups, frame) if self._groups else 0, -1)
        level = np.where(known, places_in(self.codebook, [self.variable], frame), 0)
        if self.test not in OF_DIFFERENCES:
            return joint, group, level, np.array(self.codebook[self.variable].values)
        other = np.where(known, places_in(self.codebook, [self.paired], frame), 0)
        return joint, group, self._differences[1][other, level], self._differences[0]

    def check(self, low: Array, high: Array) -> None:
        """OutputError for released values that no data can have, or a p that is not that of its statistic."""
        least, most = np.full(len(low), -np.inf), np.full(len(low), np.inf)
        for k, each in enumerate(self.statistics):
            of_t = each == "statistic" and self.test in (*OF_STUDENT, "pearson")
            if each not in _SIGNED and not of_t:
                least[k] = 0.0
            if each in _SHARES:
                most[k] = 1.0
            if each in ("r", "kappa") or (self.test == "pearson" and each in _LABELS):
                least[k], most[k] = -1.0, 1.0
        why = (
            "p and shares lie in 0 to 1, correlations and kappa in -1 to 1, and of all else but t, z, d, limits and a "
            "difference nothing is below 0; correct it"
        )
        smooth.check_range(self.name, self.labels, low, high, least, most, why)
        self._check_p(low, high)

    def _check_p(self, low: Array, high: Array) -> None:
        at: dict[str, int] = {each: k for k, each in enumerate(self.statistics)}
        needed = ["z"] if self.test in OF_NORMAL else ["statistic", "df"]
        if self.test == "anova":
            needed = [*needed, "df within"]
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


def compared(variable: str, by: Sequence[str], paired: str) -> str:
    """What a test compares, in words."""
    return f"{variable} paired with {paired}" if paired else f"{variable} by {', '.join(by)}"


class HypothesisTestEntry(Entry):
    """A test between groups, or of pairs, in a study file. Without `test` the values are a text or a file that says
    which it is.
    """

    positional = ("test", "variable", "by")

    kind: Literal["test"]
    test: Test | None = None
    variable: str
    by: Names = ()
    paired: str = ""
    statistics: Annotated[tuple[Statistic, ...], BeforeValidator(listed)] = Field(default=_USUAL, min_length=1)
    continuity: bool = False
    decimals: smooth.Decimals = _DECIMALS
    scores: dict[str, list[float]] = Field(default={})
    weights: Weights = "none"

    @model_validator(mode="before")
    @classmethod
    def _has_the_usual(cls, given: object) -> object:
        """What the test has of the usual statistics, where none are asked for."""
        if not isinstance(given, Mapping) or given.get("test") not in _OF_ITS_OWN or "statistics" in given:
            return given
        if isinstance(given.get("values"), str):  # which says what it has
            return given
        return {**given, "statistics": list(_OF_ITS_OWN[given["test"]])}

    @model_validator(mode="after")
    def _says_its_test(self) -> HypothesisTestEntry:
        if self.test is None and not isinstance(self.values, str):
            raise ValueError(f"'test' is missing; say which of {list(OF_TEST)}")
        if bool(self.by) == bool(self.paired):
            raise ValueError("give either 'by', groups of records, or 'paired', the other variable of the same records")
        return self

    @property
    def compared(self) -> str:
        """What is compared, in words."""
        return compared(self.variable, self.by, self.paired)

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
                self.name or f"{self.test} test of {self.compared.replace(', ', ' x ')}",
                self.test,
                self.variable,
                self.by,
                tuple(dict.fromkeys(self.statistics)),
                self.continuity,
                self.decimals,
                self.where,
                self.paired,
                {name: tuple(each) for name, each in self.scores.items()},
                self.weights,
            )
        ]
