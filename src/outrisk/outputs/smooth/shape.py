"""Released shape of a distribution: skewness, kurtosis, coefficient of variation, and how concentrated a total is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Names, joint_for, listed
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.shape_by_records import Divisor, Moments, of_many
from outrisk.outputs.smooth.shape_checks import check
from outrisk.outputs.smooth.shape_of_totals import Bins, ShapeOfTotals
from outrisk.outputs.tables.as_given import Sheet
from outrisk.outputs.tables.cells import Cells
from outrisk.outputs.tables.counted import counts_of
from outrisk.outputs.tables.protection import UNPROTECTED, Protection, rounded, withheld
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Mask, Term
from outrisk.problem.counts import Counts
from outrisk.problem.released import ModelPart, Part, TallyPart

STATISTICS = ("count", "skewness", "kurtosis", "cv", "gini", "hhi")
_SHARE = re.compile(r"cr([1-9]\d{0,3})")  # of so many of the largest
_DECIMALS = 3
_SINGLE, _BINS, _FEWEST = 256, 128, 24  # values that are bins of their own; bins of more values, and of very many
_MAX_ENTRIES = 16_000_000  # what each value adds to the bins of each cell
_MAX_CELLS = 2_000


@dataclass(frozen=True)
class Shape(Common):
    """Shape and concentration of a numeric variable by the variables `by`, from records without a missing value.

    The counts of all cells first, where they are among the `statistics`; then cell by cell, in each the others in their
    order. skewness, kurtosis: of `moments` 'population' g1 and m4 / m2^2 (Stata's `summarize, detail`), 'sample' b1 and
    b2 - 3 (e1071's type 3), 'adjusted' G1 and G2 (SPSS, SAS, pandas); `excess` says whether 3 is taken off the
    kurtosis, by default not off that of the population. cv: sd (n - 1 below) over mean. gini: sum |xi - xj| / (2 n^2
    mean), with the `divisor` 'n - 1' times n / (n - 1). hhi: the sum of squared shares of the total. crK, as cr4: the
    share of the K largest, 1 of fewer records. `percent`: cv, gini and crK are times 100; `points`: hhi times 10,000.
    Not defined (NaN): of too few records (skewness, kurtosis and cv of one, G1 of two, G2 of three), skewness and
    kurtosis of equal values, the others where the total is 0. OutputError for gini, hhi and crK where values may be
    below 0. With a threshold, the numbers of records of the cells stand last (`: records`) unless they are among the
    statistics.
    """

    value: str
    by: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ("skewness", "kurtosis")
    moments: Moments = "population"
    excess: bool = False
    divisor: Divisor = "n"
    percent: bool = False
    points: bool = False
    where: str = ""
    places: int | Mapping[str, int] | None = None
    protection: Protection = UNPROTECTED
    kind = "shape"

    def __post_init__(self) -> None:
        self.cells.number_of("value")
        if not self.shown or len(set(self.statistics)) < len(self.statistics):
            raise self.cells.error(
                f"statistics: {list(self.statistics)} must name one or more different ones besides the count"
            )
        wrong = [each for each in self.statistics if each not in STATISTICS and not _SHARE.fullmatch(each)]
        if wrong:
            raise self.cells.error(
                f"statistics: '{wrong[0]}' is not known; known are {', '.join(STATISTICS)}, and the share of the "
                "largest, as cr4"
            )
        if len(self.cells.labels) > _MAX_CELLS:
            raise self.cells.error(
                f"by: {len(self.cells.labels):,} cells, at most {_MAX_CELLS:,} are possible; merge levels"
            )
        if self.protection.round_to and not self.counted:
            raise self.cells.error("round_to is of counts, and there are none among the statistics; set decimals")
        self._check_signs()
        _ = self.decimals

    def _check_signs(self) -> None:
        """A Gini coefficient, or shares of a total, are those of values from 0 on."""
        shares = [each for each in self.shown if each not in ("skewness", "kurtosis", "cv")]
        possible = self.cells.subset.levels(self.value) if self.where else None
        variable = self.codebook[self.value]
        least = [
            float(number)
            for number, label in zip(variable.values, variable.labels, strict=False)
            if possible is None or label in possible
        ]
        if shares and min(least, default=0.0) < 0.0:
            raise self.cells.error(
                f"statistics: '{shares[0]}' is one of values from 0, and {self.value} may be {min(least):g}; say which "
                f"records it is of, as in where: {self.value} >= 0"
            )

    @cached_property
    def cells(self) -> Cells:
        """The cells."""
        return Cells(self.codebook, self.name, self.by, self.where, value=self.value)

    @property
    def counted(self) -> bool:
        """Whether the numbers of records are printed."""
        return "count" in self.statistics

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The numbers of each cell but the count."""
        return tuple(each for each in self.statistics if each != "count")

    @property
    def _guarded(self) -> bool:
        return self.protection.threshold is not None and not self.counted

    @property
    def n_counts(self) -> int:
        """How many counts are printed."""
        return len(self.cells.labels) * self.counted

    @property
    def _k(self) -> int:
        return self.n_counts + len(self.cells.labels) * len(self.shown)

    @cached_property
    def labels(self) -> list[str]:
        """One label a number, such as 'sector=1: count', 'sector=1: gini of pay'."""
        cells = self.cells.labels
        counts = [f"{cell}: count" for cell in cells] if self.counted else []
        labels = [*counts, *(f"{cell}: {each} of {self.value}" for cell in cells for each in self.shown)]
        return [*labels, *(f"{cell}: records" for cell in cells)] if self._guarded else labels

    @cached_property
    def digits(self) -> dict[str, int]:
        """Digits after the point of each statistic."""
        usual = {each: 1 if self.percent and each not in ("skewness", "kurtosis") else _DECIMALS for each in self.shown}
        usual |= {"hhi": 0 if self.points else _DECIMALS} if "hhi" in usual else {}
        if self.places is None:
            return usual
        given = smooth.decimals_of(self.places, self.statistics, ("count",), _DECIMALS, self.name)
        return usual | ({each: given[each] for each in usual if isinstance(self.places, int) or each in self.places})

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each number."""
        cells = len(self.cells.labels)
        own = [self.digits[each] for each in self.shown] * cells
        return np.array([*([0] * self.n_counts), *own, *([0] * cells * self._guarded)], dtype=np.int64)

    @cached_property
    def scale(self) -> Array:
        """What each number of a cell is of its share."""
        percent = {"skewness": 1.0, "kurtosis": 1.0, "hhi": 10_000.0 if self.points else 1.0}
        return np.array([percent.get(each, 100.0 if self.percent else 1.0) for each in self.shown])

    @property
    def notes(self) -> str:
        """What was computed, and how it is protected, in words."""
        what = f"{', '.join(self.statistics)} of {self.value} {self.cells.notes}".strip()
        moments = {"skewness", "kurtosis"} & set(self.shown)
        parts = [
            what,
            f"{self.moments} moments" if moments else "",
            "kurtosis less 3" if "kurtosis" in self.shown and self.excess else "",
            f"gini over {self.divisor}" if "gini" in self.shown else "",
            "in percent" if self.percent else "",
            "hhi from 0 to 10,000" if self.points else "",
            self.protection.notes(of_counts=False),
        ]
        return "; ".join(part for part in parts if part)

    @cached_property
    def support(self) -> Array:
        """The values of the variable as they count, top-coded; ascending, without the missing one."""
        return self.protection.top_coded(np.array(self.codebook[self.value].values, dtype=np.float64))

    def of_many(self, values: Array) -> Array:
        """The numbers (b, k) of several cells with such values (b, n), each ascending; NaN where one is undefined."""
        found = [of_many(values, each, self.moments, self.excess, self.divisor) for each in self.shown]
        return np.stack(found, axis=1) * self.scale

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers from the definitions, of the decoded records of each cell, shape (k,)."""
        frame = self.cells.frame(data)
        groups = self.cells.groups(frame)
        value = np.minimum(np.asarray(frame[self.value], dtype=np.float64), self.support[-1])
        place = self.cells.place(groups)
        order = np.lexsort((value, place))
        records = np.bincount(place, minlength=len(self.cells.labels)).astype(np.float64)
        of_cell = np.split(value[order], np.cumsum(records[:-1]).astype(np.int64))
        numbers = [self.of_many(each[None, :])[0] for each in of_cell]
        counts = [records] if self.counted else []
        return np.concatenate([*counts, *numbers, *([records] if self._guarded else [])])

    @property
    def rule(self) -> Protection:
        """The protection as it bears on counts: the top code is one of values."""
        return self.protection.model_copy(update={"top_code": None})

    def publish(self, values: Array) -> tuple[Array, Array]:
        """What a reader knows of exact numbers (k,): low, high. Without ends: withheld, or not defined."""
        numbers = rounded(values, self.decimals)
        records = numbers[self._k :] if self._guarded else numbers[: self.n_counts]
        hidden = self.protection.hides(records) if len(records) else np.zeros(len(self.cells.labels), np.bool_)
        low, high = withheld(numbers[self.n_counts : self._k], np.repeat(hidden, len(self.shown)))
        if self.counted:
            least, most = self.rule.known(self.rule.printed(records, hidden, self.name))
            return np.concatenate([least, low]), np.concatenate([most, high])
        return self.protection.with_presence(low, high, records) if self._guarded else (low, high)

    @property
    def sheet(self) -> Sheet:
        """The numbers that are printed."""
        cells = np.arange(len(self.cells.labels))
        cell = np.concatenate([cells[: self.n_counts], np.repeat(cells, len(self.shown))])
        count = np.arange(self._k) < self.n_counts
        return Sheet(self.labels[: self._k], self.rule, cell, count, ~count, True, self._guarded)

    def counts(self, low: Array, high: Array) -> Iterator[RecordCounts]:
        """The counts among the statistics; the records behind the cells."""
        yield from counts_of(self.codebook, self.by, self.labels, low, high, ": count")
        if self._guarded:
            yield from counts_of(self.codebook, self.by, self.labels, low, high, ": records")

    def parts(self, values: Array) -> tuple[Part, ...]:
        """The counts; power sums and bins of each cell; the records behind the cells."""
        cells = len(self.cells.labels)
        counts = TallyPart((self.cells.tally(self.by),), Counts(np.arange(cells)), cells)
        shape = [self._part(cell) for cell in range(cells)]
        return (*([counts] if self.counted else []), *shape, *([counts] if self._guarded else []))

    @cached_property
    def map(self) -> ShapeOfTotals:
        """How the numbers of a cell follow from its totals."""
        support, needed = self.support, set(self.shown)
        power = 4 if "kurtosis" in needed else 3 if "skewness" in needed else 2 if needed & {"cv", "hhi"} else 1
        ranked = any(ShapeOfTotals.ranked(each) for each in needed)
        room = _MAX_ENTRIES // (len(self.cells.labels) * len(support))
        most = len(support) if len(support) <= min(_SINGLE, room) else max(min(_BINS, room // 2), _FEWEST)
        return ShapeOfTotals(
            self.shown,
            self.scale,
            np.array([self.digits[each] for each in self.shown]),
            centre=float(support[0] + support[-1]) / 2.0,
            unit=max(float(support[-1] - support[0]) / 2.0, 1e-9),
            power=power,
            bins=Bins.over(support, most) if ranked else None,
            moments=self.moments,
            excess=self.excess,
            divisor=self.divisor,
        )

    @cached_property
    def _rows(self) -> Array:
        """What a record of each value adds to the totals of its cell."""
        of, support, variable = self.map, self.support, self.codebook[self.value]
        powers = ((support - of.centre) / of.unit)[:, None] ** np.arange(of.power + 1)
        rows = np.hstack([powers, of.bins.rows(support)]) if of.bins is not None else powers
        return np.vstack([rows, np.zeros((variable.size - len(support), rows.shape[1]))])

    def _part(self, cell: int) -> ModelPart:
        joint = joint_for(self.codebook, [self.value], self.name)
        term, masks = Term(joint, np.arange(self._rows.shape[1]), self._rows), self.cells.masks
        if self.by:
            place = self.cells.joint(self.by)
            masks = (*masks, Mask(place, np.arange(place.size) == cell))
        return ModelPart(smooth.sums_of_terms([term], masks), self.map, len(self.shown))

    def check(self, low: Array, high: Array) -> None:
        """OutputError for released values that no data can have: it names the first such number."""
        check(self, low, high)


def _named(given: object) -> object:
    """Names in small letters, as statistics are known by: Gini, HHI, CR4."""
    return [each.casefold() if isinstance(each, str) else each for each in given] if isinstance(given, list) else given


def _listed(given: object) -> object:
    return _named(list(listed(given)) if isinstance(given, str | list | tuple) else given)  # type: ignore[call-overload]


class ShapeEntry(Entry):
    """Shape and concentration in a study file; `decimals` one number (counts have none), or one a statistic."""

    positional = ("value", "by")

    kind: Literal["shape"]
    value: str
    by: Names = ()
    statistics: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        default=("skewness", "kurtosis"), min_length=1
    )
    moments: Moments = "population"
    excess: bool | None = None
    divisor: Divisor = "n"
    percent: bool = False
    points: bool = False
    weight: str = ""
    decimals: smooth.Decimals | None = None
    protection: Protection = UNPROTECTED

    def build(self, codebook: Codebook, position: int) -> list[Shape]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        name = self.name or f"shape of {self.value}" + (f" by {' x '.join(self.by)}" if self.by else "")
        if self.weight:
            raise OutputError(
                f"output '{name}': weight: programs weigh shape and concentration in several ways, and none is known "
                "here; take it out, or use kind: custom"
            )
        found = Shape(
            codebook,
            name,
            self.value,
            self.by,
            self.statistics,
            self.moments,
            self.moments != "population" if self.excess is None else self.excess,
            self.divisor,
            self.percent,
            self.points,
            self.where,
            self.decimals,
            self.protection,
        )
        return [found]
