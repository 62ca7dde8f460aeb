"""Released means and proportions of a complex survey, with standard errors and limits by its design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import format_value
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Subset, joint_for, places_in, support_frame
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.survey_design import Drawn, OverCodebook, SurveyDesign
from outrisk.outputs.tables.checks import check_whole, check_within
from outrisk.outputs.tables.counted import counts_of
from outrisk.outputs.tables.errors_of_means import ERROR
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.survey_totals import SurveyLimits, SurveyTotals
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Joint, Mask, Model, Tally, Term
from outrisk.problem.counts import Counts, middle
from outrisk.problem.released import ModelPart, Part, Released, TallyPart, half_digit

SurveyKind = Literal["magnitudes", "proportions"]
OfDesign = Literal["n", "population", "psus", "strata"]
OF_GROUPS = ("n", "population")
OF_DESIGN = ("psus", "strata")
MOST_PSUS = 1_500  # up to which errors are sought
_MOST_NUMBERS = 4_000
_CALLED = {"psus": "number of PSUs", "strata": "number of strata"}
INSTEAD = {
    "weight": "write design: {weights: ...}",
    "protection": "leave groups of few out by 'subpop'",
}


@dataclass(frozen=True)
class SurveyMeans(Common):
    """Means of a numeric variable or, of the values that are `counted`, proportions `per` so many, in each group (`by`:
    every combination of the values of other variables; without, one of all records).

    Row by row, a group and a counted value each, the mean or proportion, its standard error and its limits, as far as
    the `statistics` have them; then the records of all groups, unweighted (`n`), the sums of their weights
    (`population`), and the numbers of PSUs and strata. where: the records that estimates are of; within: those of the
    design (see `SurveyDesign`). Limits at `level` on either side of the estimate or, `logit`, on the log odds; by
    Student's t or the normal `distribution`. Not defined (NaN): what is of no record, limits on the log odds of a share
    of 0 or of all.
    """

    value: str
    design: SurveyDesign
    by: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ("mean",)
    counted: tuple[Any, ...] = ()
    per: float = 1.0
    where: str = ""
    within: str = ""
    logit: bool = False
    level: float = 0.95
    distribution: Literal["t", "normal"] = "t"
    digits: Mapping[str, int] | None = None

    @property
    def kind(self) -> SurveyKind:
        """That of the same without a design."""
        return "proportions" if self.counted else "magnitudes"

    def __post_init__(self) -> None:
        smooth.check_names(self.codebook, [*self.by], self.name)
        smooth.check_names(self.codebook, [self.value], self.name, numeric=not self.counted)
        if len({*self.by, self.value}) <= len(self.by):
            raise self._error("by: it must name different variables, and not that of which the numbers are")
        main = self.main
        known = (main, ERROR, "limits", *OF_GROUPS, *OF_DESIGN)
        wrong = [each for each in self.statistics if each not in known]
        if wrong:
            raise self._error(f"statistics: {wrong[0]!r} is not known with a design; known are {', '.join(known)}")
        if main not in self.statistics:
            raise self._error(f"statistics: standard errors and limits are those of a {main}; add '{main}'")
        whole = (*OF_DESIGN, "n")
        never = [name for name, digits in (self.digits or {}).items() if digits and name in whole]
        if never := [*(name for name in self.digits or () if name not in self.statistics), *never]:
            raise self._error(
                f"decimals: '{never[0]}' is not released, or a whole number; known are "
                f"{', '.join(each for each in self.statistics if each not in whole)}"
            )
        if len(self.labels) > _MOST_NUMBERS:
            raise self._error(f"{len(self.labels):,} numbers are too many, at most {_MOST_NUMBERS:,} are possible; "
                              "release it in parts by 'where'")  # fmt: skip
        _ = self.over, self._subset.masks(), self.decimals

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.name}': {text}")

    @property
    def main(self) -> str:
        """What the estimates are."""
        return "proportion" if self.counted else "mean"

    @cached_property
    def over(self) -> OverCodebook:
        """The design over the codebook."""
        return OverCodebook(self.codebook, self.name, self.design)

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    @property
    def variables(self) -> list[str]:
        """Groups, and what is measured."""
        return [*self.by, self.value]

    @cached_property
    def groups(self) -> list[tuple[Any, ...]]:
        """Values of `by` in every group; one empty group without `by`."""
        return smooth.groups_of(self.codebook, self.by)

    @cached_property
    def group_names(self) -> list[str]:
        """What each group is called, such as 'sex=f'."""
        return [
            ", ".join(f"{n}={format_value(v)}" for n, v in zip(self.by, group, strict=True)) or "all"
            for group in self.groups
        ]

    @cached_property
    def rows(self) -> list[tuple[int, Any]]:
        """The group of each row, and the value that is counted in it (None: it is a mean)."""
        return [(group, value) for group in range(len(self.groups)) for value in self.counted or (None,)]

    @cached_property
    def row_names(self) -> list[str]:
        """What each row is called, with the value that is counted where there are several."""
        found = []
        for group, value in self.rows:
            name = self.group_names[group]
            if len(self.counted) > 1:
                name = f"{'' if name == 'all' else name + ', '}{self.value}={format_value(value)}"
            found.append(name)
        return found

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The numbers of each row."""
        own = [each for each in (self.main, ERROR, "limits") if each in self.statistics]
        return tuple(name for each in own for name in (ENDS if each == "limits" else (each,)))

    @property
    def of_groups(self) -> list[str]:
        """The numbers of each group, behind those of rows."""
        return [each for each in OF_GROUPS if each in self.statistics]

    @property
    def of_design(self) -> list[str]:
        """The numbers of the design, which stand last."""
        return [each for each in OF_DESIGN if each in self.statistics]

    @property
    def n_rows(self) -> int:
        """How many numbers rows have together."""
        return len(self.rows) * len(self.shown)

    @cached_property
    def labels(self) -> list[str]:
        """One label a number, such as 'sex=f: mean of age', 'sex=f: n', 'number of PSUs'."""
        of = "" if self.counted else f" of {self.value}"
        rows = [f"{row}: {each}{of}" for row in self.row_names for each in self.shown]
        groups = [f"{group}: {each}" for each in self.of_groups for group in self.group_names]
        return [*rows, *groups, *(_CALLED[each] for each in self.of_design)]

    @cached_property
    def places(self) -> dict[str, int]:
        """Digits after the point of each statistic."""
        usual = 2 if not self.counted else 3 if self.per <= 1.0 else 1
        given = self.digits or {}
        whole = (*OF_GROUPS, *OF_DESIGN)
        return {each: given.get(each, 0 if each in whole else usual) for each in (*self.statistics,)}

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each number."""
        own = [self.places["limits" if each in ENDS else each] for each in self.shown] * len(self.rows)
        groups = [self.places[each] for each in self.of_groups for _ in self.groups]
        return np.array([*own, *groups, *([0] * len(self.of_design))], dtype=np.int64)

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        what = f"{', '.join(self.statistics)} of {self.value}"
        if self.counted:
            what += f" = {', '.join(map(format_value, self.counted))} per {self.per:,g}"
        limits = f"{'logit ' * self.logit}limits at {100 * self.level:g} % by the {self.distribution} distribution"
        parts = [
            f"{what} by {', '.join(self.by)}" if self.by else what,
            limits if "limits" in self.statistics else "",
            self.design.notes,
            f"where {self.within}" if self.within else "",
        ]
        return "; ".join(part for part in parts if part)

    @property
    def limits(self) -> SurveyLimits:
        """How limits follow from standard errors."""
        return SurveyLimits(self.level, self.distribution == "normal", self.logit, self.per)

    @property
    def own_df(self) -> bool:
        """Whether degrees of freedom are those of each group: svyciprop of R's svyby, which takes each as a subset."""
        return bool(self.counted) and self.design.program == "r"

    def records(self, data: Microdata) -> tuple[pd.DataFrame, Drawn]:
        """The decoded records that estimates are of, and how they were drawn; OutputError where there are none."""
        frame, drawn = self.over.records(data, self.within, self.where, self.variables)
        if drawn is None:
            raise self._error("no records to compute it on; see 'where', 'subpop' and missing values")
        return frame, drawn

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers (k,) from the definitions, on the decoded records: linearised scores, summed by PSU."""
        frame, drawn = self.records(data)
        group = places_in(self.codebook, self.by, frame)
        weights = np.ones(len(frame))
        if self.design.weights:
            weights = frame[self.design.weights].to_numpy(dtype=np.float64)
        found = []
        for at, value in self.rows:
            y = frame[self.value].to_numpy(dtype=np.float64) if value is None else frame[self.value] == value
            found.append(self._row(np.asarray(y, dtype=np.float64) * self.per, weights, group == at, drawn))
        sizes = {"n": np.ones(len(frame)), "population": weights}
        groups = [np.bincount(group, sizes[each], minlength=len(self.groups)) for each in self.of_groups]
        sampled = {"psus": len(drawn.stratum), "strata": len(np.unique(drawn.stratum))}
        return np.concatenate([*found, *groups, np.array([sampled[each] for each in self.of_design], dtype=np.float64)])

    def _row(self, y: Array, weights: Array, here: NDArray[np.bool_], drawn: Drawn) -> Array:
        """The numbers of one row: a ratio of weighted sums, and its error."""
        mine = np.where(here, weights, 0.0)
        total = mine.sum()
        if total <= 0.0:
            return np.full(len(self.shown), np.nan)
        mean = float(mine @ y / total)
        scores = (mine * (y - mean) / total)[:, None]
        own = Drawn(drawn.psu[here], drawn.stratum, self.design)
        meat = own.meat(scores[here]) if self.design.program == "r" else drawn.meat(scores)
        error = float(np.sqrt(np.maximum(meat[0, 0], 0.0)))
        df = own.df if self.own_df else drawn.df
        ends = dict(zip(ENDS, self.limits.of(mean, error, df), strict=True))
        return np.array([ends[each] if each in ENDS else error if each == ERROR else mean for each in self.shown])

    @property
    def errors_follow(self) -> bool:
        """Whether totals tell standard errors: of PSUs, or of records in one stratum."""
        return self.over.joint.size <= MOST_PSUS if self.design.psu else not self.design.strata

    @property
    def sought(self) -> NDArray[np.bool_]:
        """All but errors that no totals tell, and the numbers of PSUs and strata."""
        errors = np.tile([each == self.main or self.errors_follow for each in self.shown], len(self.rows))
        groups = np.ones(len(self.of_groups) * len(self.groups), np.bool_)
        return np.concatenate([errors, groups, np.zeros(len(self.of_design), np.bool_)]).astype(np.bool_)

    def parts(self, values: Array) -> tuple[Part, ...]:
        """The scores of each row; then records and weights of groups, and PSUs and strata, which are not sought."""
        every = len(self.shown)
        made: list[Part] = [self._of_row(row, self.shown, float(values[row * every])) for row in range(len(self.rows))]
        return (*made, *self._tallies(self.of_groups), *self._untold())

    def _untold(self) -> list[Part]:
        joint, size = Joint((), (), 1), len(self.of_design)
        if not size:
            return []
        cell = np.full(1, -1, dtype=np.int32)
        return [TallyPart((Tally(joint, size, cell),), Counts(np.arange(size)), size)]

    def _tallies(self, which: list[str]) -> list[TallyPart]:
        """Records and weights of groups."""
        joint = self._joint(self.by)
        cell = np.full(joint.size, -1, dtype=np.int32)
        known = support_frame(self.codebook, joint).notna().all(axis=1).to_numpy(dtype=bool)
        cell[known] = np.arange(len(self.groups))
        masks = (*self._subset.masks(), *self._whole, *smooth.complete(self.codebook, self.variables, self.name))
        size, weight = len(self.groups), self.over.weight
        spread = 1.0 if weight is None else float((weight.by_code**2).sum() / weight.by_code.sum())
        found = []
        for each in which:
            mine = weight if each == "population" else None
            tally = Tally(joint, size, cell, None, masks, mine)
            found.append(TallyPart((tally,), Counts(np.arange(size), spread if mine else 1.0), size))
        return found

    def _joint(self, names: tuple[str, ...] | list[str]) -> Joint:
        return joint_for(self.codebook, list(names), self.name)

    @cached_property
    def _whole(self) -> tuple[Mask, ...]:
        """The records of the design: within its condition, with all of its variables."""
        subset = Subset(self.codebook, self.within, self.name)
        return (*subset.masks(), *smooth.complete(self.codebook, self.design.names, self.name))

    @cached_property
    def _estimated(self) -> tuple[Joint, NDArray[np.int64], tuple[Mask, ...]]:
        """Over the variables that say so: the group that a record counts to (-1: none), and which are no part of the
        design for want of a value.
        """
        gaps = [name for name in self.variables if self.codebook[name].missing]
        named = dict.fromkeys([*self.by, *gaps, *self._subset.variables])
        joint = self._joint([name for name in self.codebook.names if name in named])
        frame = support_frame(self.codebook, joint)
        inside = np.zeros(len(frame), np.bool_)
        inside[self._subset.select(frame).index] = True
        lacks = frame[gaps].isna().any(axis=1).to_numpy(dtype=bool) if gaps else np.zeros(len(frame), np.bool_)
        group = np.full(len(frame), -1, dtype=np.int64)
        some = inside & ~lacks
        group[some] = places_in(self.codebook, self.by, frame[some])
        masks = (Mask(joint, ~(inside & lacks)),) if gaps and self.design.program == "stata" else ()
        return joint, group, (*self._whole, *masks)

    def _of_row(self, row: int, shown: tuple[str, ...], published: float) -> ModelPart:
        """The score of a row at its published estimate: of a linear model whose one column says who is in its group."""
        at, value = self.rows[row]
        joint, group, masks = self._estimated
        variable = self.codebook[self.value]
        y = np.array(variable.values, dtype=np.float64) if value is None else self._is(value)
        y = self.per * np.concatenate([y, np.zeros(int(variable.missing))])
        start = float(np.clip(published, y.min(), y.max())) if np.isfinite(published) else float(y.mean())
        psu = self.over.joint if self.design.psu and self.errors_follow else None
        weight = self.over.weight
        count = Term(Joint((), (), 1), np.array([0]), np.ones((1, 1)))
        if psu is not None:
            count = Term(psu, np.arange(psu.size), np.eye(psu.size))
        elif weight is not None:
            inverse = np.divide(1.0, weight.by_code, out=np.zeros(len(weight.by_code)), where=weight.by_code > 0)
            count = Term(Joint((weight.variable,), (1,), len(inverse)), np.array([0]), inverse[:, None])
        model = Model(
            "ols",
            np.array([[start]]),
            self._joint([self.value]),
            y,
            (Term(joint, np.array([0]), (group == at).astype(np.float64)[:, None]),),
            information=True,
            robust=True,
            clusters=psu,
            extra=(count,),
            masks=masks,
            weight=weight,
        )
        digits = np.array([self.places["limits" if each in ENDS else each] for each in shown])
        stratum = self.over.stratum if psu is not None else None
        map_ = SurveyTotals(shown, start, self.limits, self.design, stratum, self.own_df, digits)
        return ModelPart(model, map_, len(shown))

    def _is(self, value: object) -> Array:
        return np.array([each == value for each in self.codebook[self.value].values], dtype=np.float64)

    def counts(self, low: Array, high: Array) -> Iterator[RecordCounts]:
        """The records of groups, where they are printed."""
        yield from counts_of(self.codebook, self.by, self.labels, low, high, ": n")

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Records and weights of groups first, and nothing that a search cannot bring nearer; for a proof the records
        of groups alone.
        """
        numbers = np.arange(self.n_rows)
        n_groups = len(self.groups)
        counted = {each: self.n_rows + at * n_groups + np.arange(n_groups) for at, each in enumerate(self.of_groups)}
        if proves:
            counted = {each: at for each, at in counted.items() if each == "n"}
        of = list(counted.values())
        made: list[Part] = [*self._tallies([*counted])]
        if not proves:
            shown = self.shown if self.errors_follow else (self.main,)
            every, values = len(self.shown), middle(low, high)
            of.append(numbers[self.sought[: self.n_rows]])
            made += [self._of_row(row, shown, float(values[row * every])) for row in range(len(self.rows))]
        which = np.concatenate([*of, np.zeros(0, np.int64)]).astype(np.int64)
        if not made and not proves:
            made = [TallyPart((), Counts(which), 0)]
        names = [self.labels[at] for at in which]
        whole = CountsFirst.of_whole(self, self, made, which, names)
        return Released(whole, low[which], high[which], tuple(made), which)

    def check(self, low: Array, high: Array) -> None:
        """OutputError for released values that no data can have: it names the first such number."""
        labels, kinds = np.array(self.labels), np.tile(self.shown, len(self.rows))
        half = half_digit(self.decimals)
        support = self._support
        for each, least, most, what in (
            (self.main, support[0], support[-1], f"a {self.main} of {self.value}"),
            (ERROR, 0.0, np.inf, "a standard error"),
        ):
            at = np.flatnonzero(kinds == each)
            check_within(self.name, list(labels[at]), low[at] - half[at], high[at] + half[at], least, most, what)
        for each in (": n", *(_CALLED[name] for name in self.of_design)):
            at = np.array([k for k, label in enumerate(self.labels) if label.endswith(each)], dtype=np.int64)
            check_whole(self.name, list(labels[at]), low[at], high[at])
            check_within(self.name, list(labels[at]), low[at], high[at], 0.0, np.inf, "a number of these")

    @property
    def _support(self) -> Array:
        if self.counted:
            return np.array([0.0, self.per])
        return np.array(self.codebook[self.value].values, dtype=np.float64)


def digits_of(given: int | Mapping[Any, int] | None, statistics: Sequence[str]) -> Mapping[str, int] | None:
    """Digits after the point of each statistic, where one number is that of all that are not counted."""
    if isinstance(given, int):
        return {each: given for each in statistics if each not in (*OF_GROUPS, *OF_DESIGN)}
    return given


def refuse_of_design(output: str, statistics: Sequence[str], known: Sequence[str] = ()) -> None:
    """OutputError for a number that only a design has."""
    wrong = [each for each in statistics if each in (*OF_GROUPS, *OF_DESIGN) and each not in known]
    if wrong:
        raise OutputError(
            f"output '{output}': statistics: '{wrong[0]}' is known with a design only; write design: {{weights: ...}}, "
            "or 'count' for the records"
        )
