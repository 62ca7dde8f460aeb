"""Released rates: events per time at risk, or any sum per another, with confidence limits, in each cell of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Names, listed
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.tables.as_given import Flags, Sheet
from outrisk.outputs.tables.cells import Cells
from outrisk.outputs.tables.checks import check_sum, check_whole, check_within
from outrisk.outputs.tables.numerators import TwoSums
from outrisk.outputs.tables.person_time import (
    ENDS,
    MOST_EVENTS,
    Interval,
    Limits,
    RatesOfTotals,
    behind_rates,
)
from outrisk.outputs.tables.protection import UNPROTECTED, Protection, rounded, withheld
from outrisk.problem.released import ROUNDING, TallyPart, half_digit

Statistic = Literal["numerator", "denominator", "rate", "limits"]
_DECIMALS = 2
_EXACTLY = 6  # digits of denominators that are not printed, whose ranges are known


@dataclass(frozen=True)
class Rates(Common):
    """Rates `per` so much of a denominator, such as deaths per 1,000 person-years, in each cell of `by`.

    numerator: a numeric variable that is summed up, or an expression: the records where it holds are counted.
    denominator: a numeric variable from 0. Numbers cell by cell, in each the `statistics` in their order; 'limits' are
    two, lower and upper (`interval`, see `Limits`, at `level`). Records that lack the numerator, the denominator or the
    weight are left out. Not defined (NaN): a rate where the denominator is 0. Numerators and denominators that are not
    printed stand last all the same where a reader can tell something of them: by a threshold, and by limits, which give
    the number of events away.
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
        _ = self.sums
        if not self.statistics or len(set(self.statistics)) < len(self.statistics):
            raise self.cells.error(f"statistics: {list(self.statistics)} must name one or more different ones")
        if self.statistics == ("limits",):
            raise self.cells.error("statistics: limits alone are not released; add the rate")
        if "limits" in self.statistics and not self.whole:
            raise self.cells.error(
                "limits are those of a number of events: give a numerator of whole numbers and no weight"
            )
        if self.protection.round_to or self.protection.top_code:
            raise self.cells.error(
                "protection: rates can be withheld (threshold); give rounded ones as ranges of values"
            )
        if self.protection.threshold and not self.whole:
            raise self.cells.error("protection: a threshold is one of events; give a numerator of whole numbers")
        _ = self.digits

    @cached_property
    def cells(self) -> Cells:
        """The cells; their value is the denominator."""
        return Cells(self.codebook, self.name, self.by, self.where, self.weight, self.denominator)

    @cached_property
    def sums(self) -> TwoSums:
        """Its numerators and denominators."""
        return TwoSums(self.cells, self.numerator)

    @property
    def _n_cells(self) -> int:
        return len(self.cells.labels)

    @property
    def whole(self) -> bool:
        """Whether the numerator is a number of events, unweighted."""
        return self.sums.whole and not self.weight

    @cached_property
    def _printed(self) -> tuple[str, ...]:
        """The numbers of a cell that are printed."""
        return tuple(name for each in self.statistics for name in (ENDS if each == "limits" else (each,)))

    @cached_property
    def _behind(self) -> tuple[str, ...]:
        """What is not printed and yet known in part."""
        told = {"numerator": self.protection.threshold is not None, "denominator": False}
        return tuple(each for each in told if (told[each] or "limits" in self.statistics) and each not in self._printed)

    @property
    def _k(self) -> int:
        """Numbers that are printed."""
        return self._n_cells * len(self._printed)

    @cached_property
    def labels(self) -> list[str]:
        """One label a number, such as 'SEX=1: rate'."""
        cells = self.cells.labels
        labels = [f"{cell}: {each}" for cell in cells for each in self._printed]
        return labels + [f"{cell}: {each}" for each in self._behind for cell in cells]

    @cached_property
    def digits(self) -> dict[str, int]:
        """Digits after the point of each statistic."""
        counts = ["numerator"] if self.whole else []
        return smooth.decimals_of(self.places, self.statistics, counts, _DECIMALS, self.name)

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each number."""
        each = [self.digits["limits" if name in ENDS else name] for name in self._printed]
        behind = [_EXACTLY * (name == "denominator") for name in self._behind for _ in range(self._n_cells)]
        return np.array([*each * self._n_cells, *behind], np.int64)

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        what = f"{self.numerator} per {self.per:,g} of {self.denominator} {self.cells.notes}".strip()
        limits = f"{self.interval} limits at {100 * self.level:g} %" if "limits" in self.statistics else ""
        return "; ".join(part for part in (what, limits, self.protection.notes(of_counts=True)) if part)

    @cached_property
    def limits(self) -> Limits:
        """How limits follow from events."""
        return Limits(self.interval, self.level)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas on the decoded records, shape (k,)."""
        numerator, denominator = self.sums.of(self.cells.frame(data))
        with np.errstate(invalid="ignore", divide="ignore"):
            unit = np.where(denominator > 0, self.per / denominator, np.nan)
            found = {"numerator": numerator, "denominator": denominator, "rate": numerator * unit}
        if "limits" in self.statistics:
            found |= {end: unit * each for end, each in zip(ENDS, self.limits.of(numerator).T, strict=True)}
        printed = np.stack([found[each] for each in self._printed], axis=1).ravel()
        return np.concatenate([printed, *(found[each] for each in self._behind)])

    def publish(self, values: Array) -> tuple[Array, Array]:
        """What a reader knows of exact numbers (k,): low, high. Without ends: withheld, or not defined."""
        rule = self.protection
        hidden = (
            np.zeros(self._n_cells, np.bool_) if rule.threshold is None else rule.hides(self._of(values)["numerator"])
        )
        low, high = withheld(rounded(values, self.decimals)[: self._k], hidden[self._cell])
        return self._known(low, high, hidden, np.isnan(values[: self._k]) & ~hidden[self._cell])

    @property
    def _cell(self) -> NDArray[np.int64]:
        """The cell of each number that is printed (k,)."""
        return np.arange(self._k) // len(self._printed)

    def _of(self, values: Array) -> dict[str, Array]:
        """Numbers (k, or without those that are not printed) by their statistic, each (cells,)."""
        every, behind = len(self._printed), values[self._k :].reshape(-1, self._n_cells)
        found = {each: values[at : self._k : every] for at, each in enumerate(self._printed)}
        return found | dict(zip(self._behind, behind, strict=False))

    def _known(self, low: Array, high: Array, hidden: Flags, undefined: Flags) -> tuple[Array, Array]:
        """Ranges of what is printed (k,), of a table with a threshold those of numerators withheld (cells,); and of
        what is not printed what the others tell, those that are not defined (k,) too.
        """
        rule = self.protection
        if "numerator" in self.statistics and rule.threshold is not None:
            at = np.arange(self._printed.index("numerator"), self._k, len(self._printed))
            low[at], high[at] = (
                np.where(hidden, rule.withheld[0], low[at]),
                np.where(hidden, rule.withheld[1], high[at]),
            )
        if not self._behind:
            return low, high
        fewest, most = self._told(low, high, undefined)
        fewest, most = np.maximum(np.nan_to_num(fewest, nan=0.0), 0.0), np.where(np.isnan(most), np.inf, most)
        fewest[:, hidden], most[:, hidden] = (
            np.array([[rule.withheld[0]], [0.0]]),
            np.array([[rule.withheld[1]], [np.inf]]),
        )
        which = [("numerator", "denominator").index(each) for each in self._behind]
        return np.concatenate([low, *fewest[which]]), np.concatenate([high, *most[which]])

    def _told(self, low: Array, high: Array, undefined: Flags | None = None) -> tuple[Array, Array]:
        """What printed numbers between low and high (k,) tell of events and denominators (see `behind_rates`).

        undefined (k,): rates and limits that there are none of, as of nothing in the denominator; log limits neither of
        no event.
        """
        half = half_digit(self.decimals[: self._k])
        least, most = self._of(low[: self._k] - half), self._of(high[: self._k] + half)
        none, free = np.zeros(self._n_cells), np.full(self._n_cells, np.inf)
        events, time = ((least.get(each, none), most.get(each, free)) for each in ("numerator", "denominator"))
        absent = {} if undefined is None else self._of(undefined.astype(float))
        of_nothing = np.asarray(absent.get("rate", none) > 0)
        if ENDS[0] in absent and self.interval == "log":
            some_time = np.asarray(time[0] > 0) | ("rate" in absent)
            events = events[0], np.where((absent[ENDS[0]] > 0) & some_time & ~of_nothing, 0.0, events[1])
        elif ENDS[0] in absent:
            of_nothing = of_nothing | (absent[ENDS[0]] > 0)
        ends = {each: (least[each], most[each]) for each in ("rate", *ENDS) if each in least}
        rule = self.protection
        shown = int(rule.threshold or 0) if rule.known_threshold else 0
        if rule.withhold_zeros and rule.known_threshold:
            events = np.maximum(events[0], shown), events[1]
        fewest, greatest = behind_rates(self.limits, self.per, events, time, ends, shown)
        fewest[1], greatest[1] = np.where(of_nothing, 0.0, fewest[1]), np.where(of_nothing, 0.0, greatest[1])
        return fewest, greatest

    @property
    def sheet(self) -> Sheet:
        """The numbers that are printed."""
        counted = np.array([each == "numerator" for each in self._printed] * self._n_cells, dtype=np.bool_)
        return _Sheet(
            self.labels[: self._k],
            self.protection,
            self._cell,
            counted & self.whole,
            ~counted,
            self.whole,
            bool(self._behind),
            known_of=self._known,
            fault_of=self._fault,
        )

    @property
    def _denominators_are_exact(self) -> bool:
        """Whether denominators are printed with all of their digits."""
        if "denominator" not in self.digits or self.weight:
            return False
        time = self.sums.time
        return bool(np.allclose(np.round(time, self.digits["denominator"]), time, 0, 1e-12))

    def parts(self, values: Array) -> tuple[TallyPart, ...]:
        """The tallies that the numbers follow from (see `RatesOfTotals`)."""
        centre = self._of(values).get("rate", np.zeros(self._n_cells))
        positive = self.sums.time[self.sums.time > 0]
        map_ = RatesOfTotals(
            self._printed,
            self._behind,
            centre,
            self.per,
            self.protection.threshold is not None,
            float(positive.min()) * self.cells.lightest,
            float(half_digit(self.digits.get("rate", 0))),
            self.limits,
            self.whole,
            "denominator" in self._behind or self._denominators_are_exact,
            self.cells.spread,
        )
        sums = self.sums
        blocks = {"numerator": sums.numerators, "records": sums.records}
        blocks |= dict.fromkeys(("denominator", *ENDS), sums.denominators)
        if "rate" in self._printed:
            blocks["rate"] = sums.beyond(centre / self.per)
        return (TallyPart(tuple(blocks[each] for each in map_.order), map_, len(self.labels)),)

    def check(self, low: Array, high: Array) -> None:
        """OutputError unless ranges (k,), both ends the number where it is known, can be those of this table."""
        half = half_digit(self.decimals)
        least, most, halves, names = (self._of(each) for each in (low, high, half, np.array(self.labels)))
        for each in least:
            check_within(self.name, names[each].tolist(), least[each], most[each], 0.0, np.inf, f"a {each}")
        if "numerator" in self.statistics and self.whole:
            check_whole(self.name, names["numerator"].tolist(), least["numerator"], most["numerator"])
        if "rate" in self.statistics:
            self._check_nothing(least, most, halves, names)
        if {"numerator", "denominator", "rate"} <= set(self.statistics):
            self._check_rates(least, most, halves, names["rate"].tolist())
        if "limits" in self.statistics:
            self._check_limits(low, high, least, most, names)

    def _check_nothing(
        self, least: dict[str, Array], most: dict[str, Array], half: dict[str, Array], names: dict[str, Any]
    ) -> None:
        """A rate of no event is 0, and there is none of nothing."""
        none = np.full(self._n_cells, np.inf)
        of_sums = half.get("numerator", 0.0) if not self.whole else 0.0
        no_event = most.get("numerator", none) + of_sums <= 0.0
        wrong = no_event & (least["rate"] > half["rate"] * ROUNDING)
        if "denominator" in self.statistics:
            shortest = float(self.sums.time[self.sums.time > 0].min()) * self.cells.lightest
            nothing = most["denominator"] + half["denominator"] * ROUNDING < shortest
            wrong |= nothing & (np.isfinite(least["rate"]) | np.isfinite(most["rate"]))
        if wrong.any():
            at = int(np.argmax(wrong))
            of = "numerator" if no_event[at] else "denominator"
            raise OutputError(
                f"output '{self.name}': {names['rate'][at]} is {least['rate'][at]:g} beside a {of} of 0; "
                "correct one of them, or write 'undefined' for a rate of nothing"
            )

    def _fault(self, values: Array, withheld: Flags, undefined: Flags) -> str:
        """What is undefined (k,) beside numbers (k,) that are defined, in words; empty if nothing is."""
        absent, there = (self._of(each.astype(float)) for each in (undefined, ~(withheld | undefined)))
        none, found = np.zeros(self._n_cells), self._of(values)
        lacks = {each: absent[each] > 0 for each in ("rate", *ENDS) if each in absent}
        beside = {each: there[each] > 0 for each in lacks}
        no_rate, no_limit = (np.any([lacks[e] for e in of if e in lacks], axis=0) & True for of in (("rate",), ENDS))
        rate, limit = (np.any([beside[e] for e in of if e in lacks], axis=0) & True for of in (("rate",), ENDS))
        above = found.get("rate", none) > half_digit(self.digits.get("rate", 0)) * ROUNDING
        without = no_limit & (limit | (rate & (above if self.interval == "log" else True)))
        time = found.get("denominator", none) > half_digit(self.digits.get("denominator", 0)) * ROUNDING
        wrong = without | (no_rate & (limit | time)) | (no_limit & time & (self.interval != "log"))
        if not wrong.any():
            return ""
        at = int(np.argmax(wrong))
        label = next(self.labels[k] for k in np.flatnonzero(undefined) if self._cell[k] == at)
        return f"{label} is undefined, and other numbers of its cell are not; correct one of them"

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
        (fewest, _), (greatest, _) = self._told(low, high)
        apart = self.limits.of(float(MOST_EVENTS))
        lower, upper = most["lower limit"], least["upper limit"]
        wide = (least["lower limit"] > 0) & np.isfinite(lower) & (upper > lower * float(apart[1] / apart[0]) * 1.01)
        wrong = (np.isnan(fewest) & wide) | (least["lower limit"] > most["upper limit"])
        if "numerator" in most:
            printed = np.isfinite(lower) | np.isfinite(upper)
            wrong |= printed & ((most["numerator"] < fewest) | (least["numerator"] > greatest))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise OutputError(
                f"output '{self.name}': {names['lower limit'][at]} is {lower[at]:g} and {names['upper limit'][at]} "
                f"{upper[at]:g}; no number of events has these {self.interval} limits at {100 * self.level:g} % "
                f"beside the other numbers; correct them, 'interval' ('exact', 'byar' or 'log'), 'level' or 'per'"
            )


@dataclass(frozen=True, eq=False)
class _Sheet(Sheet):
    """The numbers of a table of rates. known_of: what is known beside, of ranges (k,), hidden cells (cells,) and
    numbers that are not defined (k,).
    """

    known_of: Callable[[Array, Array, Flags, Flags], tuple[Array, Array]] = lambda low, high, *_: (low, high)
    fault_of: Callable[[Array, Flags, Flags], str] = lambda *_: ""

    def fault(self, values: Array, withheld: Flags, undefined: Flags) -> str:
        """What contradicts the protection, or the other numbers of the cell, in words; empty if nothing does."""
        return Sheet.fault(self, values, withheld, undefined) or self.fault_of(values, withheld, undefined)

    def known(self, values: Array, withheld: Flags, undefined: Flags) -> tuple[Array, Array]:
        """What a reader knows: low, high of the numbers (k,), and of numerators that are not printed, if guarded."""
        low, high = np.where(np.isnan(values), -np.inf, values), np.where(np.isnan(values), np.inf, values)
        return self.known_of(low, high, self._in_cell(withheld), undefined)


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
