"""Released rates: events per time at risk, or any sum per another, with confidence limits, in each cell of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Names, Subset, joint_for, listed
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.tables.as_given import Flags, Sheet
from outrisk.outputs.tables.cells import Cells
from outrisk.outputs.tables.checks import check_sum, check_whole, check_within
from outrisk.outputs.tables.person_time import (
    MOST_EVENTS,
    Interval,
    Limits,
    LimitsOfRates,
    RatesOfTotals,
    events_behind,
)
from outrisk.outputs.tables.protection import UNPROTECTED, Protection, rounded, withheld
from outrisk.problem.blocks import Mask, Model, Tally, Term
from outrisk.problem.counts import Counts
from outrisk.problem.released import ModelPart, TallyPart, half_digit

Statistic = Literal["numerator", "denominator", "rate", "limits"]
_DECIMALS = 2
_ENDS = ("lower limit", "upper limit")
_MAX_ENTRIES = 16_000_000  # what each level of the variables adds to each total of the limits


@dataclass(frozen=True)
class Rates(Common):
    """Rates `per` so much of a denominator, such as deaths per 1,000 person-years, in each cell of `by`.

    numerator: a numeric variable that is summed up, or an expression: the records where it holds are counted.
    denominator: a numeric variable from 0. Numbers cell by cell, in each the `statistics` in their order; the limits
    (lower, upper: `interval`, see `Limits`, at `level`) of all cells stand behind all others. Records that lack the
    numerator, the denominator or the weight are left out. Not defined (NaN): a rate where the denominator is 0. With
    limits or a threshold and no numerators printed, these stand last all the same (`: numerator`), as a reader can
    tell something of them: limits give the number of events away.
    """

    numerator: str
    denominator: str
    by: tuple[str, ...] = ()
    statistics: tuple[Statistic, ...] = ("rate",)
    per: float = 1.0
    interval: Interval = "exact"
    level: float = 0.95
    where: str = ""
    weight: str = ""
    places: int | Mapping[str, int] = _DECIMALS
    protection: Protection = UNPROTECTED
    kind = "rates"

    def __post_init__(self) -> None:
        time = self.cells.number_of("denominator")
        if min(time.values) < 0 or max(time.values) <= 0:
            raise self.cells.error(f"denominator: '{self.denominator}' is not a variable of values from 0; give one")
        if not self.statistics or len(set(self.statistics)) < len(self.statistics):
            raise self.cells.error(f"statistics: {list(self.statistics)} must name one or more different ones")
        if self.statistics == ("limits",):
            raise self.cells.error("statistics: limits alone are not released; add the rate")
        if np.nanmin(self._adds) < 0 or np.nanmax(self._adds) <= 0:
            raise self.cells.error(f"numerator: '{self.numerator}' is nowhere above 0, or below 0; give another")
        if "limits" in self.statistics and (self.weight or not self.whole):
            raise self.cells.error(
                "limits are those of a number of events: give a numerator of whole numbers and no weight"
            )
        if self.protection.round_to or self.protection.top_code:
            raise self.cells.error(
                "protection: rates can be withheld (threshold); give rounded ones as ranges of values"
            )
        if self.protection.threshold and (self.weight or not self.whole):
            raise self.cells.error("protection: a threshold is one of events; give a numerator of whole numbers")
        _ = self._digits
        if "limits" in self.statistics:
            entries = self._n_cells * (self._place.size + self.cells.joint([*self.by, self.denominator]).size)
            if entries > _MAX_ENTRIES:
                raise self.cells.error(
                    f"{self._n_cells:,} cells are too many for limits; merge levels, or leave them out"
                )

    @cached_property
    def cells(self) -> Cells:
        """The cells; their value is the denominator."""
        return Cells(self.codebook, self.name, self.by, self.where, self.weight, self.denominator)

    @property
    def _n_cells(self) -> int:
        return len(self.cells.labels)

    @cached_property
    def _counted(self) -> Subset | None:
        """The records that the numerator counts; None where it is a variable."""
        return None if self.numerator in self.codebook else Subset(self.codebook, self.numerator, self.name)

    @cached_property
    def _of_numerator(self) -> list[str]:
        if self._counted is None:
            if not self.codebook[self.numerator].numeric:
                raise self.cells.error(
                    f"numerator: '{self.numerator}' is categorical; write which level counts, as in "
                    f"{self.numerator} == {self.codebook[self.numerator].labels[-1]!r}"
                )
            return [self.numerator]
        try:
            names = self._counted.variables
        except OutputError as error:
            raise OutputError(str(error).replace("where:", "numerator:", 1)) from None
        if not names:
            raise self.cells.error("numerator: name a numeric variable, or write an expression such as died == 1")
        return names

    @cached_property
    def _adds(self) -> Array:
        """What a record at each level of the numerator's variables adds; NaN where one of them is missing."""
        joint = joint_for(self.codebook, self._of_numerator, self.name)
        if self._counted is None:
            variable = self.codebook[self.numerator]
            return np.array([*variable.values, *([np.nan] * variable.missing)], dtype=np.float64)
        (mask,) = self._counted.masks()
        levels = np.indices([self.codebook[name].size for name in self._of_numerator]).reshape(-1, joint.size)
        known = [
            level < len(self.codebook[name].values) for name, level in zip(self._of_numerator, levels, strict=True)
        ]
        return np.where(np.all(known, axis=0), mask.include.astype(float), np.nan)

    @cached_property
    def whole(self) -> bool:
        """Whether the numerator is a number of events."""
        known = self._adds[np.isfinite(self._adds)]
        return bool((known == np.round(known)).all())

    @property
    def _main(self) -> tuple[str, ...]:
        return tuple(each for each in self.statistics if each != "limits")

    @property
    def _guarded(self) -> bool:
        told = self.protection.threshold is not None or "limits" in self.statistics
        return told and "numerator" not in self.statistics

    @property
    def _k(self) -> int:
        """Numbers that are printed."""
        return self._n_cells * (len(self._main) + 2 * ("limits" in self.statistics))

    @cached_property
    def labels(self) -> list[str]:
        """One label a number, such as 'SEX=1: rate'."""
        cells = self.cells.labels
        labels = [f"{cell}: {each}" for cell in cells for each in self._main]
        labels += [f"{cell}: {end}" for cell in cells for end in _ENDS if "limits" in self.statistics]
        return labels + [f"{cell}: numerator" for cell in cells if self._guarded]

    @cached_property
    def _digits(self) -> dict[str, int]:
        counts = ["numerator"] if self.whole and not self.weight else []
        return smooth.decimals_of(self.places, self.statistics, counts, _DECIMALS, self.name)

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each number."""
        digits, cells = self._digits, self._n_cells
        ends = [digits["limits"]] * (2 * cells) if "limits" in digits else []
        return np.array(
            [*[digits[each] for each in self._main] * cells, *ends, *[0] * (cells * self._guarded)], np.int64
        )

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        what = f"{self.numerator} per {self.per:,g} of {self.denominator} {self.cells.notes}".strip()
        limits = f"{self.interval} limits at {100 * self.level:g} %" if "limits" in self.statistics else ""
        return "; ".join(part for part in (what, limits, self.protection.notes(of_counts=True)) if part)

    @property
    def limits(self) -> Limits:
        """How limits follow from events."""
        return Limits(self.interval, self.level)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas on the decoded records, shape (k,)."""
        frame = self.cells.frame(data).dropna(subset=self._of_numerator)
        groups, weights = self.cells.groups(frame), self.cells.weights(frame)
        if self._counted is None:
            adds = np.asarray(frame[self.numerator], dtype=np.float64)
        else:
            adds = frame.index.isin(self._counted.select(frame).index).astype(np.float64)
        numerator = self.cells.sums(groups, weights * adds)
        denominator = self.cells.sums(groups, weights * np.asarray(frame[self.denominator], dtype=np.float64))
        with np.errstate(invalid="ignore", divide="ignore"):
            unit = np.where(denominator > 0, self.per / denominator, np.nan)
            found = {"numerator": numerator, "denominator": denominator, "rate": numerator * unit}
            ends = self.limits.of(numerator) * unit[:, None] if "limits" in self.statistics else np.zeros(0)
        main = np.stack([found[each] for each in self._main], axis=1)
        return np.concatenate([main.ravel(), ends.ravel(), numerator[: self._n_cells * self._guarded]])

    def publish(self, values: Array) -> tuple[Array, Array]:
        """What a reader knows of exact numbers (k,): low, high. Without ends: withheld, or not defined."""
        numerator = self._of(values)["numerator"] if self.protection.threshold or self._guarded else np.zeros(0)
        hidden = self.protection.hides(numerator) if self.protection.threshold else np.zeros(self._n_cells, np.bool_)
        low, high = withheld(rounded(values, self.decimals)[: self._k], hidden[self._cell])
        return self._known(low, high, hidden)

    @property
    def _cell(self) -> NDArray[np.int64]:
        """The cell of each number that is printed (k,)."""
        cells, ends = np.arange(self._n_cells), 2 * ("limits" in self.statistics)
        return np.concatenate([np.repeat(cells, len(self._main)), np.repeat(cells, ends)])

    def _of(self, values: Array) -> dict[str, Array]:
        """Numbers (k, or without those that are not printed) by their statistic, each (cells,)."""
        cells, main = self._n_cells, len(self._main)
        found = {each: values[at : cells * main : main] for at, each in enumerate(self._main)}
        if "limits" in self.statistics:
            found |= {end: values[cells * main + at : self._k : 2] for at, end in enumerate(_ENDS)}
        return found | ({"numerator": values[self._k :]} if len(values) > self._k else {})

    def _known(self, low: Array, high: Array, hidden: Flags) -> tuple[Array, Array]:
        """Ranges of what is printed (k,), of a table with a threshold those of numerators withheld; and of numerators
        that are not printed what the others tell.
        """
        rule = self.protection
        if "numerator" in self.statistics and rule.threshold is not None:
            at = np.arange(self._main.index("numerator"), self._n_cells * len(self._main), len(self._main))
            low[at], high[at] = (
                np.where(hidden, rule.withheld[0], low[at]),
                np.where(hidden, rule.withheld[1], high[at]),
            )
        if not self._guarded:
            return low, high
        fewest, most = self._behind(low, high)
        fewest, most = np.nan_to_num(fewest, nan=0.0), np.nan_to_num(most, nan=np.inf, posinf=np.inf)
        fewest, most = np.where(hidden, rule.withheld[0], fewest), np.where(hidden, rule.withheld[1], most)
        return np.concatenate([low, fewest]), np.concatenate([high, most])

    def _behind(self, low: Array, high: Array) -> tuple[Array, Array]:
        """What printed numbers between low and high (k,) tell of the events; NaN where none give them."""
        half = half_digit(self.decimals[: self._k])
        least, most = self._of(low[: self._k] - half), self._of(high[: self._k] + half)
        free = np.full(self._n_cells, np.inf)
        time = least.get("denominator", -free), most.get("denominator", free)
        ends = {each: (least[each], most[each]) for each in ("rate", *_ENDS) if each in least}
        shown = self.protection.threshold if self.protection.known_threshold else None
        return events_behind(self.limits, self.per, time, ends, shown or 0)

    @property
    def sheet(self) -> Sheet:
        """The numbers that are printed."""
        is_count = np.array([each == "numerator" for each in self._main] * self._n_cells, dtype=np.bool_)
        counted = np.concatenate([is_count, np.zeros(self._k - len(is_count), np.bool_)])
        whole = self.whole and not self.weight
        labels = self.labels[: self._k]
        return _Sheet(
            labels, self.protection, self._cell, counted & whole, ~counted, whole, self._guarded, known_of=self._known
        )

    def parts(self, values: Array) -> tuple[TallyPart | ModelPart, ...]:
        """Tallies of records, denominators and numerators; sums of the last two for limits; numerators behind them."""
        cells, names = self._n_cells, (*self.by, self.denominator)
        support = np.array(self.codebook[self.denominator].values, dtype=np.float64)
        time = np.array([*support, *([0.0] * self.codebook[self.denominator].missing)])
        of_time = self._tally(self.cells.tally(names, _cell_of(cells, len(time)), cells, np.tile(time, cells)))
        numerators = self._numerators
        map_ = RatesOfTotals(
            self._main,
            self.per,
            self.protection.threshold is not None,
            float(support[support > 0].min()) * self.cells.lightest,
            float(half_digit(self._digits.get("rate", 0))),
            self.whole and not self.weight,
            self.cells.spread,
        )
        each = {"records": self._tally(self.cells.tally(self.by)), "denominator": of_time}
        blocks = tuple(each.get(name, numerators) for name in map_.order)
        parts: list[TallyPart | ModelPart] = [TallyPart(blocks, map_, cells * len(self._main))]
        if "limits" in self.statistics:
            parts.append(self._of_limits(time))
        if self._guarded:
            parts.append(TallyPart((numerators,), Counts(np.arange(cells)), cells))
        return tuple(parts)

    def _tally(self, tally: Tally) -> Tally:
        """A tally of records that do not lack the numerator."""
        return replace(tally, masks=self._masks)

    @cached_property
    def _masks(self) -> tuple[Mask, ...]:
        joint = joint_for(self.codebook, self._of_numerator, self.name)
        known = np.isfinite(self._adds)
        return (*self.cells.masks, *([] if known.all() else [Mask(joint, known)]))

    @cached_property
    def _place(self) -> Any:
        """The joint of the cells and the numerator."""
        return self.cells.joint([*self.by, *(name for name in self._of_numerator if name not in self.by)])

    @cached_property
    def _levels(self) -> tuple[NDArray[np.int32], Array]:
        """Of each level of that joint the cell, and what a record adds to the numerator (0 where it is missing)."""
        names = [self.codebook.names[j] for j in self._place.variables]
        sizes = [self.codebook[name].size for name in names]
        levels = np.indices(sizes).reshape(len(sizes), -1)
        cell = np.ravel_multi_index(tuple(levels[: len(self.by)]), self.cells.shape) if self.by else 0 * levels[0]
        own = np.ravel_multi_index(
            tuple(levels[names.index(name)] for name in self._of_numerator),
            tuple(self.codebook[name].size for name in self._of_numerator),
        )
        return cell.astype(np.int32), np.nan_to_num(self._adds[own])

    @property
    def _numerators(self) -> Tally:
        cell, adds = self._levels
        counts = bool(np.isin(adds, (0.0, 1.0)).all())
        weight = self.cells.survey
        where = np.where(adds > 0, cell, -1).astype(np.int32)
        return Tally(self._place, self._n_cells, where, None if counts else adds, self._masks, weight)

    def _of_limits(self, time: Array) -> ModelPart:
        """The limits from sums of numerators and denominators; they follow from the rates and what these tell."""
        cells = self._n_cells
        cell, adds = self._levels
        of_events = np.zeros((self._place.size, cells))
        of_events[np.arange(self._place.size), cell] = adds
        joint = self.cells.joint([*self.by, self.denominator])
        of_time = np.zeros((joint.size, cells))
        of_time[np.arange(joint.size), _cell_of(cells, len(time))] = np.tile(time, cells)
        model = Model(
            family="none",
            coefficients=np.zeros((0, 0)),
            place=self._place,
            response=np.zeros(self._place.size),
            extra=(
                Term(self._place, np.arange(cells), of_events),
                Term(joint, np.arange(cells, 2 * cells), of_time),
            ),
            masks=self._masks,
        )
        digits = np.full(2 * cells, self._digits["limits"], np.int64)
        return ModelPart(
            model, LimitsOfRates(self.limits, self.per, digits), 2 * cells, follow="rate" in self.statistics
        )

    def check(self, low: Array, high: Array) -> None:
        """OutputError unless ranges (k,), both ends the number where it is known, can be those of this table."""
        half = half_digit(self.decimals)
        least, most, halves, names = (self._of(each) for each in (low, high, half, np.array(self.labels)))
        for each in least:
            check_within(self.name, names[each].tolist(), least[each], most[each], 0.0, np.inf, f"a {each}")
        if "numerator" in self.statistics and self.whole and not self.weight:
            check_whole(self.name, names["numerator"].tolist(), least["numerator"], most["numerator"])
        if {"numerator", "denominator", "rate"} <= set(self.statistics):
            self._check_rates(least, most, halves, names["rate"].tolist())
        if "limits" in self.statistics:
            self._check_limits(low, high, least, most, names)

    def _check_rates(
        self, least: dict[str, Array], most: dict[str, Array], half: dict[str, Array], labels: list[str]
    ) -> None:
        """A numerator is rate times denominator, where the three are printed."""
        three = ("numerator", "denominator", "rate")
        at = np.flatnonzero(np.all([np.isfinite(least[each]) & (least[each] == most[each]) for each in three], axis=0))
        numerator, denominator, rate = (least[each][at] for each in three)
        product = rate * denominator / self.per
        slack = (half["rate"][at] * denominator + half["denominator"][at] * rate) / self.per + half["numerator"][at] * (
            not self.whole
        )
        of = [f"rate times denominator in '{labels[each]}'" for each in at]
        check_sum(self.name, of, product, product, numerator, numerator, slack * (1 + 1e-6))

    def _check_limits(
        self, low: Array, high: Array, least: dict[str, Array], most: dict[str, Array], names: dict[str, Any]
    ) -> None:
        """Some number of events has these limits, where they are so far apart that there are not too many to try."""
        fewest, _ = self._behind(low, high)
        apart = self.limits.of(float(MOST_EVENTS))
        lower, upper = most["lower limit"], least["upper limit"]
        wide = (least["lower limit"] > 0) & np.isfinite(lower) & (upper > lower * float(apart[1] / apart[0]) * 1.01)
        wrong = np.isnan(fewest) & wide
        if wrong.any():
            at = int(np.argmax(wrong))
            raise OutputError(
                f"output '{self.name}': {names['lower limit'][at]} is {lower[at]:g} and {names['upper limit'][at]} "
                f"{upper[at]:g}; no number of events has these {self.interval} limits at {100 * self.level:g} % "
                f"beside the other numbers; correct them, 'interval' ('exact', 'byar' or 'log'), 'level' or 'per'"
            )


@dataclass(frozen=True, eq=False)
class _Sheet(Sheet):
    """The numbers of a table of rates. known_of: what is known beside, of ranges (k,) and hidden cells (cells,)."""

    known_of: Callable[[Array, Array, Flags], tuple[Array, Array]] = lambda low, high, hidden: (low, high)

    def known(self, values: Array, withheld: Flags, undefined: Flags) -> tuple[Array, Array]:
        """What a reader knows: low, high of the numbers (k,), and of numerators that are not printed, if guarded."""
        low, high = np.where(np.isnan(values), -np.inf, values), np.where(np.isnan(values), np.inf, values)
        return self.known_of(low, high, self._in_cell(withheld))


def _cell_of(cells: int, levels: int) -> NDArray[np.int32]:
    return np.repeat(np.arange(cells, dtype=np.int32), levels)


class RatesEntry(Entry):
    """A table of rates in a study file; `decimals` one number (numbers of events have none), or one a statistic."""

    positional = ("numerator", "denominator", "by")

    kind: Literal["rates"]
    numerator: str
    denominator: str
    by: Names = ()
    statistics: Annotated[tuple[Statistic, ...], BeforeValidator(listed)] = ("rate",)
    per: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    interval: Interval = "exact"
    level: float = Field(default=0.95, gt=0, lt=1)
    weight: str = ""
    decimals: smooth.Decimals = _DECIMALS
    protection: Protection = UNPROTECTED

    def build(self, codebook: Codebook, position: int) -> list[Rates]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        what = f"{self.numerator} per {self.denominator}"
        return [
            Rates(
                codebook,
                self.name or " by ".join(part for part in (what, " x ".join(self.by)) if part),
                self.numerator,
                self.denominator,
                self.by,
                self.statistics,
                self.per,
                self.interval,
                self.level,
                self.where,
                self.weight,
                self.decimals,
                self.protection,
            )
        ]
