"""Released tables of a numeric variable: its mean, with standard error and limits, sum, sd and count in each cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Names, listed
from outrisk.outputs.survey_design import SurveyDesign
from outrisk.outputs.tables.as_given import Sheet
from outrisk.outputs.tables.cells import Cells, grouped
from outrisk.outputs.tables.checks import check_sum, check_whole, check_within
from outrisk.outputs.tables.counted import counts_of
from outrisk.outputs.tables.errors_of_means import ERROR, Distribution, ErrorsOfMeans, MeansWithErrors
from outrisk.outputs.tables.moments import Moments
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.protection import UNPROTECTED, Protection, rounded, withheld
from outrisk.outputs.tables.survey_means import INSTEAD, OfDesign, SurveyMeans, digits_of, refuse_of_design
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Tally
from outrisk.problem.counts import Counts
from outrisk.problem.released import Released, TallyPart, half_digit

Statistic = Literal["mean", "sum", "sd", "count", "standard error", "limits"]
_DIGITS: dict[Statistic, int] = {"mean": 2, "sum": 2, "sd": 2, "count": 0, "standard error": 2, "limits": 2}
_EXACTLY = 12  # digits of what follows from printed numbers, whose ranges are known
_MANY = 1e9  # records, where any number is possible
_PANDAS = {"mean": "mean", "sum": "sum", "sd": "std", "count": "count"}


@dataclass(frozen=True)
class Magnitudes(Common):
    """Statistics of a numeric variable by the variables `by`; cell by cell, in each the `statistics` in their order.

    Records with a missing value are left out. The sd has n - 1 below (weighted: the sum of the weights - 1, as
    statsmodels' DescrStatsW). The standard error of a mean is the sd over the root of the count; 'limits' are two,
    lower and upper, at a `level` by a `distribution` (see `ErrorsOfMeans`). Not defined (NaN): the mean of no record,
    the sd, error and limits of fewer than two. With a threshold, the numbers of records of the cells stand last
    (`: records`) unless they are among the statistics: not printed, but a reader knows from what is withheld whether
    they reach it.
    """

    value: str
    by: tuple[str, ...] = ()
    statistics: tuple[Statistic, ...] = ("mean",)
    where: str = ""
    weight: str = ""
    digits: tuple[int, ...] = ()  # of each statistic; () for 2, and none for the count
    protection: Protection = UNPROTECTED
    level: float = 0.95
    distribution: Distribution = "t"
    kind = "magnitudes"

    def __post_init__(self) -> None:
        self.cells.number_of("value")
        if not self.statistics or len(set(self.statistics)) < len(self.statistics):
            raise self.cells.error(f"statistics: {list(self.statistics)} must name one or more different ones")
        if self.protection.round_to and not {"count", "sum"} & set(self.statistics):
            raise self.cells.error(
                "round_to is of counts and sums, and there are none among the statistics; set decimals"
            )
        if self._errs and "mean" not in self.statistics:
            raise self.cells.error("statistics: a standard error and limits are those of a mean; add 'mean'")
        if self._errs and self.weight:
            raise self.cells.error(
                "statistics: standard errors and limits of weighted means follow from how the records were drawn; "
                f"write design: {{weights: {self.weight}}}, with its strata and psu, instead of weight"
            )

    @property
    def _errs(self) -> bool:
        return bool({ERROR, "limits"} & set(self.statistics))

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The numbers of each cell."""
        return tuple(name for each in self.statistics for name in (ENDS if each == "limits" else (each,)))

    @cached_property
    def errors(self) -> ErrorsOfMeans:
        """How standard errors and limits follow from sds."""
        return ErrorsOfMeans(self.level, self.distribution)

    @cached_property
    def cells(self) -> Cells:
        """The cells."""
        return Cells(self.codebook, self.name, self.by, self.where, self.weight, self.value)

    @property
    def _guarded(self) -> bool:
        return self.protection.threshold is not None and (bool(self.weight) or "count" not in self.statistics)

    @property
    def _k(self) -> int:
        return len(self.cells.labels) * len(self.shown)

    @cached_property
    def labels(self) -> list[str]:
        """One label a number, such as 'religious=1: mean of age'."""
        cells = self.cells.labels
        what = [each if each == "count" else f"{each} of {self.value}" for each in self.shown]
        labels = [f"{cell}: {each}" for cell in cells for each in what]
        return [*labels, *(f"{cell}: records" for cell in cells)] if self._guarded else labels

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each number."""
        cells = len(self.cells.labels)
        return np.array([*self._digits] * cells + [0] * (cells * self._guarded), dtype=np.int64)

    @property
    def _digits(self) -> tuple[int, ...]:
        digits = self.digits or tuple(_DIGITS[each] for each in self.statistics)
        found = dict(zip(self.statistics, digits, strict=True))
        return tuple(found["limits"] if each in ENDS else found[each] for each in self.shown)  # type: ignore[index]

    @property
    def half(self) -> dict[str, float]:
        """Half a last digit of each number of a cell."""
        return {each: float(half_digit(digits)) for each, digits in zip(self.shown, self._digits, strict=True)}

    @property
    def notes(self) -> str:
        """What the table holds and how it is protected, in words."""
        what = f"{', '.join(self.statistics)} of {self.value} {self.cells.notes}".strip()
        if "limits" in self.statistics:
            what = f"{what}; limits at {100 * self.level:g} % by the {self.distribution} distribution"
        return "; ".join(part for part in (what, self.protection.notes(of_counts=False)) if part)

    @cached_property
    def support(self) -> Array:
        """The values of the variable as they count, top-coded; ascending, without the missing one."""
        return self.protection.top_coded(np.array(self.codebook[self.value].values, dtype=np.float64))

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas on the decoded records, shape (k,)."""
        frame = self.cells.frame(data)
        groups, weights = self.cells.groups(frame), self.cells.weights(frame)
        value = np.minimum(np.asarray(frame[self.value], dtype=np.float64), self.support[-1])
        if self.weight:
            found: dict[str, Array] = self._weighted(groups, value, weights)
        else:
            table = grouped(groups, value)
            found = {each: np.asarray(table.agg(how), dtype=np.float64) for each, how in _PANDAS.items()}
            found |= self.errors.of(found["mean"], found["sd"], found["count"])
        numbers = np.stack([found[each] for each in self.shown], axis=1).ravel()
        records = [self.cells.sums(groups, np.ones(len(frame)))] if self._guarded else []
        return np.concatenate([numbers, *records])

    def _weighted(self, groups: list[pd.Categorical], value: Array, weights: Array) -> dict[str, Array]:
        count, total = self.cells.sums(groups, weights), self.cells.sums(groups, weights * value)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / count
            squares = self.cells.sums(groups, weights * (value - mean[self.cells.place(groups)]) ** 2)
            sd = np.where(count > 1, np.sqrt(squares / (count - 1)), np.nan)
        return {"mean": mean, "sum": total, "sd": sd, "count": count}

    @property
    def _rule(self) -> Protection:
        """The protection as it bears on counts: the top code is one of values."""
        return self.protection.model_copy(update={"top_code": None})

    def publish(self, values: Array) -> tuple[Array, Array]:
        """What a reader knows of exact numbers (k,): low, high. Without ends: withheld, or not defined."""
        table = rounded(values, self.decimals)[: self._k].reshape(-1, len(self.shown))
        at = self.shown.index("count") if "count" in self.shown else -1
        records = np.asarray(values[self._k :] if self._guarded else table[:, at])
        hidden = self.protection.hides(records)
        low, high = withheld(table, hidden[:, None])
        if at >= 0:
            rule = self._rule
            low[:, at], high[:, at] = rule.known(rule.printed(table[:, at], hidden, self.name), not self.weight)
        if "sum" in self.statistics and self.protection.round_to:
            at = self.shown.index("sum")
            low[:, at], high[:, at] = self.protection.rounded_sums(table[:, at], hidden, self.name)
        if not self._guarded:
            return low.ravel(), high.ravel()
        return self.protection.with_presence(low.ravel(), high.ravel(), records)

    @property
    def sheet(self) -> Sheet:
        """The numbers that are printed."""
        kinds = np.tile(np.array(self.shown), len(self.cells.labels))
        return Sheet(
            self.labels[: self._k],
            self._rule,
            np.arange(self._k) // len(self.shown),
            kinds == "count",
            (kinds != "count") & (kinds != "sum"),
            not self.weight,
            self._guarded,
            kinds == "sum",
        )

    def counts(self, low: Array, high: Array) -> Iterator[RecordCounts]:
        """The counts among the statistics; the records behind the cells."""
        if not self.weight:
            yield from counts_of(self.codebook, self.by, self.labels, low, high, ": count")
        if self._guarded:
            yield from counts_of(self.codebook, self.by, self.labels, low, high, ": records")
        if (told := self._records_told(low, high)) is not None:
            yield RecordCounts(self.by, *(end.reshape(self.cells.shape) for end in told))

    def parts(self, values: Array) -> tuple[TallyPart, ...]:
        """The tallies of n, x and x^2, centred on the published means; and those of the records behind them."""
        table = values[: self._k].reshape(-1, len(self.shown))
        published = {each: table[:, at] for at, each in enumerate(self.shown)}
        support = self.support
        width = support[-1] - support[0]  # an unknown mean reads 0, an unknown sd too
        centre = np.clip(published.get("mean", np.full(len(table), support.mean())), support[0], support[-1])
        sd = published.get("sd", np.zeros(len(table)))
        inner = (*dict.fromkeys(("mean", "sd", *(each for each in self.statistics if each in _PANDAS))),)
        moments = Moments(
            inner if self._errs else self.statistics,
            centre,
            np.where(sd > 0, sd, max(width / 4, 1e-9)),
            (float(support[0]), float(support[-1])),
            self.half.get("sd", min(self.half.values())),
            self.protection.threshold is not None,
            self.cells.spread,
            self.cells.lightest,
        )
        map_ = MeansWithErrors(self.shown, moments, self.errors, self.half) if self._errs else moments
        main = TallyPart(self._tallies(centre, moments), map_, self._k)
        if not self._guarded:
            return (main,)
        n_cells = len(table)
        return main, TallyPart((self.cells.tally(self.by, weighted=False),), Counts(np.arange(n_cells)), n_cells)

    def _tallies(self, centre: Array, moments: Moments) -> tuple[Tally, ...]:
        """Tallies of the moments that are needed: n, x - centre, x, (x - centre)^2."""
        n_cells, missing = len(centre), self.codebook[self.value].missing
        x = np.tile([*self.support, *([self.support[0]] * missing)], n_cells)
        cell = np.repeat(np.arange(n_cells, dtype=np.int32), len(x) // n_cells)
        apart = x - np.repeat(centre, len(x) // n_cells)
        values = {"first": apart, "sum": x, "second": apart**2}
        names = (*self.by, self.value)
        sums = [self.cells.tally(names, cell, n_cells, values[each]) for each in moments.order[1:]]
        return (self.cells.tally(self.by), *sums)

    def implied(self, low: Array, high: Array) -> tuple[Released, ...]:
        """The numbers of records that sds, errors and limits tell."""
        told = self._records_told(low, high)
        if told is None:
            return ()
        count = replace(self, statistics=("count",), digits=(0,), protection=UNPROTECTED)
        return (Released(count, *told, count.parts(told[0])),)

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """For proofs, what errors and limits say of means, sds and counts (see `ErrorsOfMeans`)."""
        if not (proves and self._errs):
            return None
        wide, cells = self._wide(low, high), len(self.cells.labels)
        at = self._k + np.arange(cells)
        n = (low[at], high[at]) if self._guarded else (np.zeros(cells), np.full(cells, np.inf))
        n = self._by_statistic(low, high)["count"][1:] if "count" in wide else n
        told = self.errors.records(wide)
        least, most = np.maximum(np.maximum(n[0], told[0]), 0.0), np.minimum(n[1], told[1])
        some = np.any([np.isfinite(wide[each][1]) for each in (ERROR, *ENDS) if each in wide], axis=0)
        ends = [self.errors.deviations(wide, np.maximum(size, 2.0)) for size in (least, np.minimum(most, _MANY))]
        sd = ends[0][0].max(axis=0), np.where(np.isfinite(most) | ~some, ends[1][1].min(axis=0), np.inf)
        if "sd" in wide:
            sd = np.maximum(sd[0], wide["sd"][0]), np.minimum(sd[1], wide["sd"][1])
        mean = wide["mean"]
        if ENDS[0] in wide:
            middle = [(one + other) / 2.0 for one, other in zip(*(wide[each] for each in ENDS), strict=True)]
            mean = np.maximum(mean[0], middle[0]), np.minimum(mean[1], middle[1])
        ranges = {"mean": mean, "sd": sd, "count": (np.where(some, np.maximum(least, 2.0), least), most)}
        statistics: tuple[Statistic, ...] = ("mean", "sd", "count")
        digits: tuple[int, ...] = (_EXACTLY, _EXACTLY, 0)
        if "sum" in wide:
            statistics, digits = (*statistics, "sum"), (*digits, self._digits[self.shown.index("sum")])
            ranges["sum"] = self._by_statistic(low, high)["sum"][1:]
        whole = replace(self, statistics=statistics, digits=digits)
        lows, highs = (np.stack([ranges[each][end] for each in statistics], axis=1).ravel() for end in (0, 1))
        error = next(each for each in ("sd", ERROR, ENDS[0]) if each in self.shown)
        names = ("mean", error, "count" if "count" in self.shown else error, *statistics[3:])
        of = [self.shown.index(each) for each in names]
        places = (len(self.shown) * np.arange(cells)[:, None] + of).ravel()
        return Released(whole, lows, highs, whole.parts(lows), places)

    def check(self, low: Array, high: Array) -> None:
        """OutputError unless ranges (k,), both ends the number where it is known, can be those of this table."""
        support, half = self.support, self.half
        widest = (support[-1] - support[0]) / np.sqrt(2)
        parts = self._by_statistic(low, high)
        if "count" in parts:
            check_within(self.name, *parts["count"], 0.0, np.inf, "a count")
            if not self.weight:
                check_whole(self.name, *parts["count"])
        if "mean" in parts:
            least, most = support[0] - half["mean"], support[-1] + half["mean"]
            check_within(self.name, *parts["mean"], least, most, f"the mean of {self.value}")
        if "sd" in parts and not self.weight:
            check_within(self.name, *parts["sd"], 0.0, widest + half["sd"], f"the sd of {self.value}")
        if {"mean", "sum", "count"} <= set(parts):
            self._check_sums(parts)
        if self._errs:
            self._check_errors(parts, widest)

    def _by_statistic(self, low: Array, high: Array) -> dict[str, tuple[list[str], Array, Array]]:
        """Labels and ranges of the numbers of all cells by their statistic."""
        rows, low, high = len(self.shown), low[: self._k], high[: self._k]
        return {
            each: (self.labels[at : self._k : rows], low[at::rows], high[at::rows])
            for at, each in enumerate(self.shown)
        }

    def _wide(self, low: Array, high: Array) -> dict[str, tuple[Array, Array]]:
        """Where the exact numbers lie, by their statistic: half a last digit further."""
        parts = self._by_statistic(low, high)
        return {each: (ends[0] - self.half[each], ends[1] + self.half[each]) for each, (_, *ends) in parts.items()}

    def _records_told(self, low: Array, high: Array) -> tuple[Array, Array] | None:
        """The least and the most records of each cell that sds, errors and limits tell; None where they tell nothing
        that is not printed.
        """
        if not self._errs:
            return None
        least, most = self.errors.records(self._wide(low, high))
        fewest, greatest = np.zeros(len(least)), np.full(len(most), np.inf)
        if "count" in self.statistics:
            fewest, greatest = self._by_statistic(low, high)["count"][1:]
        least, most = np.maximum(least, fewest), np.minimum(most, greatest)
        more = (np.maximum(fewest, 0.0) < least) | (most < greatest)
        return (least, most) if more.any() else None

    def _check_errors(self, parts: dict[str, tuple[list[str], Array, Array]], widest: float) -> None:
        """Limits enclose their mean, and some number of records has what is printed beside each other."""
        labels, mean, _ = parts["mean"]
        if ERROR in parts:
            check_within(self.name, *parts[ERROR], 0.0, widest / np.sqrt(2) + self.half[ERROR], f"a {ERROR}")
        if ENDS[0] in parts:
            (_, *lower), (names, *upper), means = parts[ENDS[0]], parts[ENDS[1]], parts["mean"][1:]
            half = (self.half[ENDS[0]] + self.half["mean"]) * (1 + 1e-9)
            with np.errstate(invalid="ignore"):  # of those that are not known
                middle = [(one + other) / 2.0 for one, other in zip(lower, upper, strict=True)]
                off = (middle[0] > means[1] + half) | (middle[1] < means[0] - half)
                off |= lower[0] > upper[1] + 2.0 * self.half[ENDS[0]]
            if off.any():
                at = int(np.argmax(off))
                raise OutputError(
                    f"output '{self.name}': {labels[at]} is {mean[at]:g}, which is not in the middle of "
                    f"{lower[0][at]:g} and {upper[0][at]:g} ({names[at]}); correct them, or leave the limits out if "
                    "they are not symmetric"
                )
        wide = self._wide(*(np.stack([parts[each][end] for each in self.shown], axis=1).ravel() for end in (1, 2)))
        least, most = self.errors.records(wide)
        if "count" in parts:
            least, most = np.maximum(least, parts["count"][1]), np.minimum(most, parts["count"][2])
        printed = np.any([np.isfinite(parts[each][2]) for each in (ERROR, *ENDS) if each in parts], axis=0)
        if (wrong := printed & (least > most)).any():
            at = int(np.argmax(wrong))
            beside = ", ".join(
                f"{parts[each][1][at]:g} ({each})" for each in self.shown if np.isfinite(parts[each][1][at])
            )
            raise OutputError(
                f"output '{self.name}': {labels[at]}: no number of records has these beside each other: {beside}; "
                "correct them, 'level' or 'distribution' (t or normal)"
            )

    def _check_sums(self, parts: dict[str, tuple[list[str], Array, Array]]) -> None:
        """A sum is mean times count, where the three are printed."""
        (labels, total, end), (_, mean, most), (_, count, top) = (parts[each] for each in ("sum", "mean", "count"))
        known = (total == end) & (mean == most) & (count == top)
        at = np.flatnonzero(known)
        product = mean[at] * count[at]
        half = self.half
        slack = half["mean"] * count[at] + half["sum"]
        slack += np.abs(mean[at]) * half["count"] if self.weight else 0.0
        of = [f"mean times count in '{labels[each]}'" for each in at]
        check_sum(self.name, of, product, product, total[at], total[at], slack * (1 + 1e-9))


Digits = Annotated[int, Field(ge=0, le=12)]


class MagnitudesEntry(Entry):
    """A table of a numeric variable in a study file; `decimals` one number (counts have none), or one a statistic."""

    positional = ("value", "by")

    kind: Literal["magnitudes"]
    value: str
    by: Names = ()
    statistics: Annotated[tuple[Statistic | OfDesign, ...], BeforeValidator(listed)] = ("mean",)
    level: float = Field(default=0.95, gt=0, lt=1)
    distribution: Distribution = "t"
    weight: str = ""
    decimals: Digits | dict[Statistic | OfDesign, Digits] = Field(default_factory=dict)
    protection: Protection = UNPROTECTED
    design: SurveyDesign | None = None

    def build(self, codebook: Codebook, position: int) -> list[Magnitudes] | list[SurveyMeans]:
        """The output of this entry, the `position`-th (from 1) of its study; with a design, one by it."""
        if self.design is not None:
            return [self._by_design(codebook, self.design)]
        refuse_of_design(self.name or self.value, self.statistics)
        given = self.decimals
        digits = tuple(
            given.get(each, _DIGITS[each]) if isinstance(given, dict) else given * (each != "count")
            for each in cast("tuple[Statistic, ...]", self.statistics)
        )
        return [
            Magnitudes(
                codebook,
                self._name,
                self.value,
                self.by,
                cast("tuple[Statistic, ...]", self.statistics),
                self.where,
                self.weight,
                digits,
                self.protection,
                self.level,
                self.distribution,
            )
        ]

    @property
    def _name(self) -> str:
        return self.name or " by ".join(part for part in (self.value, " x ".join(self.by)) if part)

    def _by_design(self, codebook: Codebook, design: SurveyDesign) -> SurveyMeans:
        name = self._name
        for key in ("weight", "protection"):
            if getattr(self, key) not in ("", UNPROTECTED):
                raise OutputError(f"output '{name}': {key} does not go with design; {INSTEAD[key]}")
        distribution = self.distribution
        if "distribution" not in self.model_fields_set and design.program == "r":
            distribution = "normal"
        return SurveyMeans(
            codebook,
            name,
            self.value,
            design,
            self.by,
            tuple(dict.fromkeys(self.statistics)),
            where=design.subset(self.where),
            within=self.where,
            level=self.level,
            distribution=distribution,
            digits=digits_of(self.decimals, self.statistics),
        )
