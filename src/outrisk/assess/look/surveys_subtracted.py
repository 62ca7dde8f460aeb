"""Weighted means and shares of groups that differ by one person, with the sums of weights behind them: what is left is
the weight of that person, and their value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.finding import Found, Rows, named, people, plural
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output, places_in
from outrisk.outputs.tables.survey_means import SurveyMeans
from outrisk.problem.released import ROUNDING, half_digit

_MOST_GROUPS = 200_000  # pairs of groups that are compared


@dataclass(frozen=True, eq=False)
class _Printed:
    """An output on these records: who is in each group, and the numbers."""

    output: SurveyMeans
    data: Microdata
    rows: Rows
    group: NDArray[np.intp]

    @classmethod
    def of(cls, output: SurveyMeans, data: Microdata) -> _Printed | None:
        try:
            frame, _ = output.records(data)
        except OutputError:
            return None
        return cls(output, data, frame.index.to_numpy(), places_in(data.codebook, output.by, frame))

    @cached_property
    def groups(self) -> list[Rows]:
        """The records of each group, ascending."""
        order = np.argsort(self.group, kind="stable")
        ends = np.cumsum(np.bincount(self.group, minlength=len(self.output.groups)))[:-1]
        return list(np.split(self.rows[order], ends))

    @cached_property
    def weights(self) -> Array:
        """The weight of each record of the data, (n,)."""
        weight = self.output.over.weight
        assert weight is not None
        return np.asarray(weight.by_code[self.data.codes[:, weight.variable]])

    def contributions(self, at: int) -> Array:
        """What each record of the data adds to the mean, or the share of the counted value at a place, (n,)."""
        output, codes = self.output, self.data.codes[:, self.data.codebook.index(self.output.value)]
        variable = self.data.codebook[output.value]
        each: list[float] = [*variable.values] if not output.counted else [
            output.per * (value == output.counted[at]) for value in variable.values
        ]  # fmt: skip
        return np.array([*each, *([0.0] * variable.missing)], dtype=np.float64)[codes]

    def half_of_weights(self) -> float:
        """How far a printed sum of weights may be from it: not at all where all weights have no more digits."""
        weight, digits = self.output.over.weight, self.output.places["population"]
        assert weight is not None
        scaled = weight.by_code * 10.0**digits
        return 0.0 if np.allclose(scaled, np.round(scaled), atol=1e-9, rtol=0.0) else float(half_digit(digits))


def surveys_subtracted(outputs: Sequence[Output], data: Microdata) -> Iterator[Found]:
    """People who are alone in what a group of one survey's estimate has more than a group of another, both with their
    sums of weights: for certain where printed digits leave no other value of the codebook.
    """
    with_weights = [
        each for each in outputs
        if isinstance(each, SurveyMeans) and each.design.weights and "population" in each.statistics
    ]  # fmt: skip
    printed = [found for each in with_weights if (found := _Printed.of(each, data))]
    for one, other in combinations(printed, 2):
        if one.output.design.weights == other.output.design.weights:
            yield from _between(one, other, data)


def _between(one: _Printed, other: _Printed, data: Microdata) -> Iterator[Found]:
    if len(one.groups) * len(other.groups) > _MOST_GROUPS:
        return
    weighed, valued = list[tuple[int, str]](), list[tuple[int, str]]()
    for first, rows in enumerate(one.groups):
        for second, others in enumerate(other.groups):
            for larger, more, smaller, fewer in ((one, rows, other, others), (other, others, one, rows)):
                if len(more) != len(fewer) + 1 or not len(fewer) or not np.isin(fewer, more).all():
                    continue
                (who,) = np.setdiff1d(more, fewer).tolist()
                name = larger.output.group_names[first if larger is one else second]
                weight, told = _told(larger, more, smaller, fewer, who)
                weighed += [(who, name)] * weight
                valued += [(who, name)] * told
    pair = f"{one.output.name} minus {other.output.name}"
    for found, about, what in (
        (valued, one.output.value, "subtracting one weighted mean from the other, times their sums of weights"),
        (weighed, one.output.design.weights, "subtracting one sum of weights from the other"),
    ):
        if found:
            who = np.unique([each for each, _ in found])
            yield Found.of(
                "difference of outputs",
                True,
                pair,
                len(found),
                who,
                f"{about} of {people(data.people(who))} is told for certain: {what} leaves "
                f"{plural(len(found), 'record')} alone.",
                named([name for _, name in found]),
                "Release one of the two, or make the groups differ by more people.",
                about,
            )


def _told(larger: _Printed, more: Rows, smaller: _Printed, fewer: Rows, who: int) -> tuple[bool, bool]:
    """Whether the weight of the one who is left is told, and whether the value is."""
    weights = larger.weights
    w, blur = float(weights[who]), ROUNDING * (larger.half_of_weights() + smaller.half_of_weights())
    support = np.unique(weights[weights > 0.0])
    weight = blur == 0.0 or bool((np.abs(support[support != w] - w) > 2.0 * blur).all())
    first, second = larger.output, smaller.output
    same = (
        first.value == second.value and first.counted == second.counted and bool(first.counted) == bool(second.counted)
    )
    if not same or w <= blur:
        return weight, False
    told = []
    for at in range(max(len(first.counted), 1)):
        y = larger.contributions(at) / (first.per if first.counted else 1.0)
        slack = 0.0
        for each, rows in ((larger, more), (smaller, fewer)):
            total = float(weights[rows].sum())
            mean = float(weights[rows] @ y[rows]) / total
            half = ROUNDING * float(half_digit(each.output.places[each.output.main]))
            half /= each.output.per if each.output.counted else 1.0
            slack += (total + each.half_of_weights()) * half + each.half_of_weights() * abs(mean - y[who])
        values = (
            np.array([0.0, 1.0]) if first.counted else np.array(larger.data.codebook[first.value].values, np.float64)
        )
        gap = np.abs(values - y[who])
        told.append(bool(gap[gap > 0.0].min(initial=np.inf) > 2.0 * slack / (w - blur)))
    several = len(first.counted) > 1
    return weight, all(told) or (several and told[first.counted.index(_value_of(larger, who))])


def _value_of(printed: _Printed, who: int) -> object:
    variable = printed.data.codebook[printed.output.value]
    return variable.values[printed.data.codes[who, printed.data.codebook.index(printed.output.value)]]
