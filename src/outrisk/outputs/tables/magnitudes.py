"""Released tables of a numeric variable: its mean, sum, standard deviation and count in each cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from outrisk.codebook import Codebook
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Names
from outrisk.outputs.tables.as_given import Sheet
from outrisk.outputs.tables.cells import Cells, grouped
from outrisk.outputs.tables.checks import check_sum, check_whole, check_within
from outrisk.outputs.tables.counted import counts_of
from outrisk.outputs.tables.moments import Moments
from outrisk.outputs.tables.protection import UNPROTECTED, Protection, rounded, withheld
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Tally
from outrisk.problem.counts import Counts
from outrisk.problem.released import TallyPart, half_digit

Statistic = Literal["mean", "sum", "sd", "count"]
_DIGITS: dict[Statistic, int] = {"mean": 2, "sum": 2, "sd": 2, "count": 0}
_PANDAS: dict[Statistic, str] = {"mean": "mean", "sum": "sum", "sd": "std", "count": "count"}


@dataclass(frozen=True)
class Magnitudes(Common):
    """Statistics of a numeric variable by the variables `by`; cell by cell, in each the `statistics` in their order.

    Records with a missing value are left out. The sd has n - 1 below (weighted: the sum of the weights - 1, as
    statsmodels' DescrStatsW). Not defined (NaN): the mean of no record, the sd of fewer than two. With a threshold,
    the numbers of records of the cells stand last (`: records`) unless they are among the statistics: not printed, but
    a reader knows from what is withheld whether they reach it.
    """

    value: str
    by: tuple[str, ...] = ()
    statistics: tuple[Statistic, ...] = ("mean",)
    where: str = ""
    weight: str = ""
    digits: tuple[int, ...] = ()  # of each statistic; () for 2, and none for the count
    protection: Protection = UNPROTECTED
    kind = "magnitudes"

    def __post_init__(self) -> None:
        self.cells.number_of("value")
        if not self.statistics or len(set(self.statistics)) < len(self.statistics):
            raise self.cells.error(f"statistics: {list(self.statistics)} must name one or more different ones")
        if self.protection.round_to and not {"count", "sum"} & set(self.statistics):
            raise self.cells.error(
                "round_to is of counts and sums, and there are none among the statistics; set decimals"
            )

    @cached_property
    def cells(self) -> Cells:
        """The cells."""
        return Cells(self.codebook, self.name, self.by, self.where, self.weight, self.value)

    @property
    def _guarded(self) -> bool:
        return self.protection.threshold is not None and (bool(self.weight) or "count" not in self.statistics)

    @property
    def _k(self) -> int:
        return len(self.cells.labels) * len(self.statistics)

    @cached_property
    def labels(self) -> list[str]:
        """One label a number, such as 'religious=1: mean of age'."""
        cells = self.cells.labels
        what = [each if each == "count" else f"{each} of {self.value}" for each in self.statistics]
        labels = [f"{cell}: {each}" for cell in cells for each in what]
        return [*labels, *(f"{cell}: records" for cell in cells)] if self._guarded else labels

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each number."""
        cells = len(self.cells.labels)
        return np.array([*self._digits] * cells + [0] * (cells * self._guarded), dtype=np.int64)

    @property
    def _digits(self) -> tuple[int, ...]:
        return self.digits or tuple(_DIGITS[each] for each in self.statistics)

    @property
    def _half(self) -> dict[Statistic, float]:
        """Half a last digit of each statistic."""
        return {each: float(half_digit(digits)) for each, digits in zip(self.statistics, self._digits, strict=True)}

    @property
    def notes(self) -> str:
        """What the table holds and how it is protected, in words."""
        what = f"{', '.join(self.statistics)} of {self.value} {self.cells.notes}".strip()
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
            found: dict[Statistic, Array] = self._weighted(groups, value, weights)
        else:
            table = grouped(groups, value)
            found = {each: np.asarray(table.agg(_PANDAS[each]), dtype=np.float64) for each in self.statistics}
        numbers = np.stack([found[each] for each in self.statistics], axis=1).ravel()
        records = [self.cells.sums(groups, np.ones(len(frame)))] if self._guarded else []
        return np.concatenate([numbers, *records])

    def _weighted(self, groups: list[pd.Categorical], value: Array, weights: Array) -> dict[Statistic, Array]:
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
        table = rounded(values, self.decimals)[: self._k].reshape(-1, len(self.statistics))
        at = self.statistics.index("count") if "count" in self.statistics else -1
        records = np.asarray(values[self._k :] if self._guarded else table[:, at])
        hidden = self.protection.hides(records)
        low, high = withheld(table, hidden[:, None])
        if at >= 0:
            rule = self._rule
            low[:, at], high[:, at] = rule.known(rule.printed(table[:, at], hidden, self.name), not self.weight)
        if "sum" in self.statistics and self.protection.round_to:
            at = self.statistics.index("sum")
            low[:, at], high[:, at] = self.protection.rounded_sums(table[:, at], hidden, self.name)
        if not self._guarded:
            return low.ravel(), high.ravel()
        return self.protection.with_presence(low.ravel(), high.ravel(), records)

    @property
    def sheet(self) -> Sheet:
        """The numbers that are printed."""
        kinds = np.tile(np.array(self.statistics), len(self.cells.labels))
        return Sheet(
            self.labels[: self._k],
            self._rule,
            np.arange(self._k) // len(self.statistics),
            kinds == "count",
            (kinds == "mean") | (kinds == "sd"),
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

    def parts(self, values: Array) -> tuple[TallyPart, ...]:
        """The tallies of n, x and x^2, centred on the published means; and those of the records behind them."""
        table = values[: self._k].reshape(-1, len(self.statistics))
        published = {each: table[:, at] for at, each in enumerate(self.statistics)}
        support = self.support
        width = support[-1] - support[0]  # an unknown mean reads 0, an unknown sd too
        centre = np.clip(published.get("mean", np.full(len(table), support.mean())), support[0], support[-1])
        sd = published.get("sd", np.zeros(len(table)))
        moments = Moments(
            self.statistics,
            centre,
            np.where(sd > 0, sd, max(width / 4, 1e-9)),
            (float(support[0]), float(support[-1])),
            self._half.get("sd", min(self._half.values())),
            self.protection.threshold is not None,
            self.cells.spread,
            self.cells.lightest,
        )
        main = TallyPart(self._tallies(centre, moments), moments, self._k)
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

    def check(self, low: Array, high: Array) -> None:
        """OutputError unless ranges (k,), both ends the number where it is known, can be those of this table."""
        support, half = self.support, self._half
        widest = (support[-1] - support[0]) / np.sqrt(2)
        rows, low, high = len(self.statistics), low[: self._k], high[: self._k]
        parts = {
            each: (self.labels[at : self._k : rows], low[at::rows], high[at::rows])
            for at, each in enumerate(self.statistics)
        }
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

    def _check_sums(self, parts: dict[Statistic, tuple[list[str], Array, Array]]) -> None:
        """A sum is mean times count, where the three are printed."""
        (labels, total, _), (_, mean, most), (_, count, top) = (parts[each] for each in ("sum", "mean", "count"))
        known = np.isfinite(total) & (mean == most) & (count == top)
        at = np.flatnonzero(known)
        product = mean[at] * count[at]
        half = self._half
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
    statistics: tuple[Statistic, ...] = ("mean",)
    weight: str = ""
    decimals: Digits | dict[Statistic, Digits] = Field(default_factory=dict)
    protection: Protection = UNPROTECTED

    def build(self, codebook: Codebook, position: int) -> list[Magnitudes]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        given = self.decimals
        digits = tuple(
            given.get(each, _DIGITS[each]) if isinstance(given, dict) else given * (each != "count")
            for each in self.statistics
        )
        name = self.name or " by ".join(part for part in (self.value, " x ".join(self.by)) if part)
        return [
            Magnitudes(
                codebook,
                name,
                self.value,
                self.by,
                self.statistics,
                self.where,
                self.weight,
                digits,
                self.protection,
            )
        ]
