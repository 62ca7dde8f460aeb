"""Released correlations and covariances of numeric variables, with their means, standard deviations and n."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field
from scipy import stats

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Subset, joint_for, listed, record_counts
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.comoments import Comoments
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Model, Term
from outrisk.problem.released import ModelPart, half_digit

Statistic = Literal["correlation", "p", "covariance", "mean", "sd", "n"]
_DECIMALS = 3


@dataclass(frozen=True)
class Correlations(Common):
    """Pearson correlations or covariances of numeric variables, listwise: records with a missing value are left out.

    Numbers in the order of `statistics`: correlations of every pair, their two-sided p by Student's t,
    covariances of every pair and of each variable with itself (its variance), means, standard deviations
    (all with n - 1), n. OutputError for a variable that is not a number, or for fewer than two.
    """

    variables: tuple[str, ...]
    statistics: tuple[Statistic, ...] = ("correlation",)
    places: int | Mapping[str, int] = _DECIMALS
    where: str = ""
    kind = "correlations"

    def __post_init__(self) -> None:
        smooth.check_names(self.codebook, self.variables, self.name, numeric=True)
        if len(self.variables) < 2 or len(set(self.variables)) < len(self.variables):
            raise OutputError(
                f"output '{self.name}': variables: {list(self.variables)} must name two or more different ones"
            )
        _ = self.decimals
        self._subset.masks()

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    @cached_property
    def numbers(self) -> list[tuple[Statistic, tuple[int, ...]]]:
        """What each published number is: its statistic, and the positions of its variables."""
        each = range(len(self.variables))
        kinds: dict[Statistic, list[tuple[int, ...]]] = {
            "correlation": list(combinations(each, 2)),
            "p": list(combinations(each, 2)),
            "covariance": list(combinations_with_replacement(each, 2)),
            "mean": [(i,) for i in each],
            "sd": [(i,) for i in each],
            "n": [()],
        }
        return [(statistic, where) for statistic in self.statistics for where in kinds[statistic]]

    @property
    def labels(self) -> list[str]:
        """One label a number: correlation(age, pay), mean(age), n."""
        names = [", ".join(self.variables[i] for i in where) for _, where in self.numbers]
        return [
            f"{statistic}({inside})" if inside else statistic
            for (statistic, _), inside in zip(self.numbers, names, strict=True)
        ]

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each published number, shape (k,)."""
        places = smooth.decimals_of(self.places, self.statistics, ["n"], _DECIMALS, self.name)
        return np.array([places[statistic] for statistic, _ in self.numbers], dtype=np.int64)

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        left_out = any(self.codebook[name].missing for name in self.variables)
        parts = [
            f"{', '.join(self.statistics)} of {', '.join(self.variables)}",
            "records with a missing value in any of them left out" if left_out else "",
            f"where {self.where}" if self.where else "",
        ]
        return "; ".join(part for part in parts if part)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas on the decoded records, shape (k,); NaN for what is not defined on them."""
        frame = self._subset.complete(data, self.variables).astype(float)
        constant = (frame.nunique() == 1).to_numpy()  # pandas can make a correlation of rounding errors
        correlation = frame.corr().to_numpy(copy=True)
        correlation[constant, :] = correlation[:, constant] = np.nan
        one = np.full((len(self.variables),) * 2, np.nan)  # one record has no covariance; pandas would warn
        covariance = frame.cov().to_numpy() if len(frame) > 1 else one
        found: dict[Statistic, Any] = {
            "correlation": correlation,
            "p": _p(frame.to_numpy(), constant) if "p" in self.statistics else None,
            "covariance": covariance,
            "mean": frame.mean().to_numpy(),
            "sd": frame.std().to_numpy(),
            "n": np.array(float(len(frame))),
        }
        return np.array([found[statistic][where] for statistic, where in self.numbers])

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """The number of records."""
        return record_counts(self.labels, "n", low, high)

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """n, sums and cross-products: the information of a linear model with the variables as its columns.

        A design column depends on one variable alone, so that variables of any support can be paired.
        """
        support = [np.array(self.codebook[name].values, dtype=float) for name in self.variables]
        centre = np.array([(numbers[0] + numbers[-1]) / 2 for numbers in support])
        for value, (statistic, where) in zip(values, self.numbers, strict=True):
            if statistic == "mean" and np.isfinite(value):
                centre[where[0]] = np.clip(value, support[where[0]][0], support[where[0]][-1])
        scale = np.array([max(1.0, numbers[-1] - numbers[0]) / 2 for numbers in support])
        terms = [Term(joint_for(self.codebook, [], self.name), np.array([0]), np.ones((1, 1)))]
        for i, name in enumerate(self.variables):
            rows = np.zeros((self.codebook[name].size, 1))
            rows[: len(support[i]), 0] = (support[i] - centre[i]) / scale[i]
            terms.append(Term(joint_for(self.codebook, [name], self.name), np.array([i + 1]), rows))
        place = terms[1].joint
        masks = self._subset.masks() + smooth.complete(self.codebook, self.variables, self.name)
        columns = len(terms)
        model = Model(
            "ols", np.zeros((1, columns)), place, np.zeros(place.size), tuple(terms), information=True, masks=masks
        )
        return (ModelPart(model, Comoments(tuple(self.numbers), centre, scale, self.decimals), len(self.numbers)),)

    def check(self, low: Array, high: Array) -> None:
        """OutputError for released values that no data can have: it names the first such number."""
        least, most = np.full(len(low), -np.inf), np.full(len(low), np.inf)
        for k, (statistic, where) in enumerate(self.numbers):
            if statistic == "correlation":
                least[k], most[k] = -1.0, 1.0
            elif statistic == "p":
                least[k], most[k] = 0.0, 1.0
            elif statistic == "mean":
                numbers = self.codebook[self.variables[where[0]]].values
                least[k], most[k] = numbers[0], numbers[-1]
            elif statistic in ("sd", "n") or where[0] == where[-1]:
                least[k] = 0.0
        margin = half_digit(self.decimals)
        why = "correlations lie in -1 to 1, p in 0 to 1, means within the support, all else above 0; correct it"
        smooth.check_range(self.name, self.labels, low, high, least - margin, most + margin, why)
        self._check_matrix(low, high)

    def _check_matrix(self, low: Array, high: Array) -> None:
        for statistic in ("correlation", "covariance"):
            at = [k for k, (found, _) in enumerate(self.numbers) if found == statistic]
            if not at or not np.isfinite([low[at], high[at]]).all():
                continue
            matrix, room = np.eye(len(self.variables)), np.zeros((len(self.variables),) * 2)
            for k in at:
                i, j = self.numbers[k][1]
                matrix[i, j] = matrix[j, i] = (low[k] + high[k]) / 2
                room[i, j] = room[j, i] = (high[k] - low[k]) / 2 + float(half_digit(self.decimals[k]))
            # Weyl: entries off by no more than `room` move an eigenvalue by no more than its norm.
            least = float(np.linalg.eigvalsh(matrix)[0])
            if least < -float(np.linalg.norm(room)):
                raise OutputError(
                    f"output '{self.name}': no data have these {statistic}s together: their matrix has the eigenvalue "
                    f"{least:.4g}, and none can be below 0; check {self.labels[at[0]]} to {self.labels[at[-1]]}"
                )


def _p(values: Array, constant: NDArray[np.bool_]) -> Array:
    """P of each pair of columns (n, k), as scipy has it; NaN where one of them is constant, and of two records."""
    p = np.full((len(constant),) * 2, np.nan)
    for i, j in combinations(np.flatnonzero(~constant) if len(values) > 2 else [], 2):
        p[i, j] = p[j, i] = stats.pearsonr(values[:, i], values[:, j]).pvalue
    return p


class CorrelationsEntry(Entry):
    """Correlations in a study file."""

    positional = ("variables",)

    kind: Literal["correlations"]
    variables: tuple[str, ...]
    statistics: Annotated[tuple[Statistic, ...], BeforeValidator(listed)] = Field(
        default=("correlation",), min_length=1
    )
    decimals: smooth.Decimals = _DECIMALS

    def build(self, codebook: Codebook, position: int) -> list[Correlations]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        name = self.name or f"correlations {position}"
        statistics = tuple(dict.fromkeys(self.statistics))
        return [Correlations(codebook, name, self.variables, statistics, self.decimals, self.where)]
