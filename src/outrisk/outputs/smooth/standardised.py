"""Released standardised rates: by age or other strata, directly or indirectly, with standard errors and limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Level, Names, Subset, joint_for, listed, places_in, support_frame
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth import standardised_told as told
from outrisk.outputs.smooth.by_stratum import by_stratum
from outrisk.outputs.smooth.standard_rates import IntervalOf, Method, StandardRates, Variance
from outrisk.outputs.smooth.standardised_checks import check
from outrisk.outputs.smooth.strata import Strata
from outrisk.outputs.tables.person_time import ENDS
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Joint, Mask, Term
from outrisk.problem.released import ModelPart, Released

Statistic = Literal["rate", "ratio", "expected", "standard error", "limits", "crude rate", "events", "person-time", "n"]
OF_BOTH: tuple[Statistic, ...] = ("standard error", "limits", "crude rate", "events", "person-time", "n")
OF_METHOD: Mapping[Method, tuple[Statistic, ...]] = {
    "direct": ("rate", *OF_BOTH),
    "indirect": ("ratio", "expected", *OF_BOTH),
}
INTERVALS: Mapping[Method, tuple[IntervalOf, ...]] = {  # the first is the usual one
    "direct": ("normal", "fay-feuer", "dobson-byar", "dobson-exact"),
    "indirect": ("exact", "byar", "log"),
}
COUNTS = ("events", "n")
_DECIMALS = 2
MAX_TOTALS = 4_000  # two or three for every stratum of every group
_MAX_ENTRIES = 16_000_000  # what each combination of the variables adds to each of them


@dataclass(frozen=True)
class Standardised(Common):
    """Rates of `event` `per` so much `time`, or without it per so many records, in each group (`by`: every combination
    of their values), standardised over strata (`over`: every combination of theirs, such as age bands).

    'direct': the mean of the rates of the strata, weighted by `standard` (a weight for each stratum). 'indirect': the
    ratio of the events to those expected at the rates of a `reference` (a rate for each stratum, `per` as much), as in
    a standardised mortality ratio. Limits at `level` by an `interval` (see INTERVALS and `StandardRates`). `variance`
    of the events of a stratum: 'poisson', or 'binomial' (of records alone; without `time` the usual one of standard
    errors and normal limits). Records with a missing value in any of the variables are left out. Not defined (NaN): a
    direct rate of a group with a stratum without denominator, a ratio without expected events, a crude rate of nothing,
    limits by Dobson's method or on the log scale without events. `event_value`: the value of `event` that counts as
    one; 1, or the last of two levels.
    """

    event: str
    over: tuple[str, ...]
    standard: Mapping[str, float]
    by: tuple[str, ...] = ()
    time: str = ""
    method: Method = "direct"
    reference: Mapping[str, float] | None = None
    statistics: tuple[Statistic, ...] = ()
    per: float = 1.0
    interval: IntervalOf | None = None
    level: float = 0.95
    variance: Variance | None = None
    event_value: str = ""
    places: int | Mapping[str, int] = _DECIMALS
    where: str = ""
    kind = "standardised"

    def __post_init__(self) -> None:
        smooth.check_names(self.codebook, [self.event, *self.over, *self.by], self.name)
        if not self.over:
            raise self._error("over: name one or more variables whose values are the strata, such as an age band")
        if len(set(self.variables)) < len(self.variables):
            raise self._error("event, time, over and by must be different variables")
        if self.time:
            smooth.check_names(self.codebook, [self.time], self.name, numeric=True)
            least, most = min(self.codebook[self.time].values), max(self.codebook[self.time].values)
            if float(least) < 0.0 or float(most) <= 0.0:
                raise self._error(
                    f"time: '{self.time}' has values from {format_value(least)} to {format_value(most)}; person-time "
                    "is from 0 on: correct the codebook, or name another"
                )
        self._check_method()
        _ = self.decimals, self.happened, self.masks, self.strata.numbers
        totals = 2 * len(self.groups) * len(self.strata.labels)
        entries = max(joint.size for joint in self._joints) * totals // 2
        if totals > MAX_TOTALS or entries > _MAX_ENTRIES:
            raise self._error(
                f"{len(self.strata.labels):,} strata in {len(self.groups):,} groups are too many: {totals:,} totals, "
                f"at most {MAX_TOTALS:,} are possible, and {entries:,} entries, at most {_MAX_ENTRIES:,}; band one of "
                "the variables, or release it in parts by 'where'"
            )

    def _check_method(self) -> None:
        other = {"direct": ("reference", self.reference), "indirect": ("standard", self.standard)}[self.method]
        if other[1]:
            needed = {"direct": "standard", "indirect": "reference"}[self.method]
            raise self._error(
                f"{other[0]}: {self.method} standardisation takes '{needed}'; give that, or change 'method'"
            )
        unknown = [each for each in self.statistics if each not in OF_METHOD[self.method]]
        if unknown:
            raise self._error(
                f"statistics: {self.method} standardisation has no '{unknown[0]}'; "
                f"it has {list(OF_METHOD[self.method])}"
            )
        if "person-time" in self.statistics and not self.time:
            raise self._error("statistics: there is no person-time without 'time'; give it, or release 'n'")
        if self.interval not in (None, *INTERVALS[self.method]):
            raise self._error(
                f"interval: {self.method} standardisation has no '{self.interval}' limits; "
                f"it has {list(INTERVALS[self.method])}"
            )
        largest = max((self.reference or {}).values(), default=0.0)
        if self.method == "indirect" and not self.time and largest > self.per:
            raise self._error(
                f"reference: {largest:g} events per {self.per:g} records are more than one a record; give 'per' as of "
                "the reference"
            )
        if self.variance == "binomial" and (self.time or self.method == "indirect" or self._limits_by != "normal"):
            raise self._error(
                "variance: 'binomial' is that of events among records, of direct rates with normal limits; "
                "leave it out, or 'time', or the other 'interval'"
            )

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.name}': {text}")

    @cached_property
    def subset(self) -> Subset:
        """The records it was computed on."""
        return Subset(self.codebook, self.where, self.name)

    @property
    def variables(self) -> list[str]:
        """Groups, strata, event and time."""
        return [*self.by, *self.over, self.event, *([self.time] if self.time else [])]

    @cached_property
    def strata(self) -> Strata:
        """The strata, with their weights or reference rates."""
        direct = self.method == "direct"
        given = self.standard if direct else self.reference or {}
        return Strata(self.subset, self.over, given, "standard" if direct else "reference", direct)

    @cached_property
    def groups(self) -> list[tuple[Any, ...]]:
        """Values of `by` in every group; one empty group without `by`."""
        return smooth.groups_of(self.codebook, self.by)

    @cached_property
    def happened(self) -> object:
        """The value of `event` that counts as one."""
        return smooth.value_of_event(self.codebook, self.event, self.event_value, self.name)

    @property
    def columns(self) -> tuple[Statistic, ...]:
        """The statistics that are released."""
        return self.statistics or OF_METHOD[self.method][:1]

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The numbers of each group."""
        return tuple(name for each in self.columns for name in (ENDS if each == "limits" else (each,)))

    @property
    def _limits_by(self) -> IntervalOf:
        return self.interval or INTERVALS[self.method][0]

    @property
    def of_events(self) -> Variance:
        """By which distribution the events of a stratum vary."""
        binomial = self.method == "direct" and not self.time and self._limits_by == "normal"
        return self.variance or ("binomial" if binomial else "poisson")

    @cached_property
    def names(self) -> list[str]:
        """What each group is called, such as 'sex=f'."""
        words = ([f"{n}={format_value(v)}" for n, v in zip(self.by, group, strict=True)] for group in self.groups)
        return [", ".join(each) or "all" for each in words]

    @property
    def labels(self) -> list[str]:
        """By group and statistic, such as 'sex=f: rate'."""
        return [f"{group}: {each}" for group in self.names for each in self.shown]

    @cached_property
    def digits(self) -> dict[str, int]:
        """Digits after the point of each number of a group."""
        found = smooth.decimals_of(self.places, self.columns, COUNTS, _DECIMALS, self.name)
        return {name: found["limits" if name in ENDS else name] for name in self.shown}

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each published number, shape (k,)."""
        return np.array([self.digits[each] for each in self.shown] * len(self.groups), dtype=np.int64)

    def at(self, statistic: str) -> NDArray[np.int64]:
        """Where a number of each group is among all, (groups,); (0,) where it is not released."""
        places = [at for at, each in enumerate(self.shown) if each == statistic]
        return np.array([at + len(self.shown) * g for g in range(len(self.groups)) for at in places], dtype=np.int64)

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        per = f"{self.per:,g} of {self.time}" if self.time else f"{self.per:,g} records"
        what = f"{self.event} = {format_value(self.happened)} per {per}, {self.method}ly standardised over"
        limits = f"{self._limits_by} limits at {100 * self.level:g} %" if "limits" in self.columns else ""
        errors = f"{self.of_events} standard errors" if "standard error" in self.columns else ""
        by = f"by {', '.join(self.by)}" if self.by else ""
        where = f"where {self.where}" if self.where else ""
        return "; ".join(part for part in (f"{what} {', '.join(self.over)}", by, errors, limits, where) if part)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas and scipy on the decoded records, shape (k,)."""
        frame = self.subset.complete(data, self.variables)
        weights = dict(zip(self.strata.labels, self.strata.numbers, strict=True))
        found = [by_stratum(part, self.settings, weights) for part in self._by_group(frame)]
        return np.array([each[name] for each in found for name in self.shown], dtype=float)

    def _by_group(self, frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
        """Of each group its records: the stratum of each, whether it has the event, and its time."""
        levels = [frame[name].map(format_value).astype(str) for name in self.over]
        records = pd.DataFrame(
            {
                "stratum": reduce(lambda one, other: one + ", " + other, levels),
                "event": (frame[self.event] == self.happened).astype(float),
                "time": frame[self.time].astype(float) if self.time else 1.0,
            }
        )
        for group in self.groups:
            inside = np.all(
                [frame[n] == v for n, v in zip(self.by, group, strict=True)] or [[True] * len(frame)], axis=0
            )
            yield records[inside]

    @property
    def settings(self) -> dict[str, Any]:
        """How numbers are made of events and denominators."""
        return {
            "method": self.method,
            "per": self.per,
            "interval": self._limits_by,
            "level": self.level,
            "variance": self.of_events,
        }

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Events and denominators, totals (2, groups, strata), flat; then records (groups,), where these are others."""
        return (self.of_shown(self.shown, self.decimals),)

    def of_shown(self, shown: Sequence[str], decimals: NDArray[np.int64]) -> ModelPart:
        """The part of some numbers of each group, which are printed to so many `decimals` (k,)."""
        counted = "n" in shown and bool(self.time)
        model = smooth.sums_of_terms(self._terms[: 2 + counted], self.masks)
        time = self.times
        map_ = StandardRates(
            strata=self.strata.numbers / (self.strata.numbers.sum() if self.method == "direct" else self.per),
            shown=tuple(shown),
            n_groups=len(self.groups),
            counted=counted,
            least=0.5 * float(time[time > 0.0].min()),
            spread=float((time**2).sum() / time.sum()),
            decimals=decimals,
            **self.settings,
        )
        return ModelPart(model, map_, len(decimals))

    @cached_property
    def times(self) -> Array:
        """What a record adds to the denominator, by the value of `time`; 1 without it."""
        return np.array(self.codebook[self.time].values, dtype=float) if self.time else np.ones(1)

    @cached_property
    def masks(self) -> tuple[Mask, ...]:
        """The records that it is computed on: of its subset, without a missing value."""
        return self.subset.masks() + smooth.complete(self.codebook, self.variables, self.name)

    @cached_property
    def _joints(self) -> list[Joint]:
        of_time = [self.time] if self.time else []
        names = [*self.by, *self.over]
        several = ([*names, self.event], [*names, *of_time], self.by)
        return [joint_for(self.codebook, each, self.name) for each in several]

    @cached_property
    def _terms(self) -> list[Term]:
        """What each combination of their variables adds to events, denominators and records."""
        size, found = len(self.groups) * len(self.strata.labels), list[Term]()
        for at, joint in enumerate(self._joints):
            frame = support_frame(self.codebook, joint)
            known = frame.notna().all(axis=1).to_numpy(dtype=bool)
            place, add = places_in(self.codebook, self.by, frame), np.ones(len(frame))
            if at < 2:
                among = self.stratum_of(frame, known)
                place = np.where(among < 0, -1, place * len(self.strata.labels) + among)
            if at == 0:
                add = np.asarray(frame[self.event] == self.happened, dtype=float)
            elif at == 1 and self.time:
                add = frame[self.time].to_numpy(dtype=float)
            known = known & (place >= 0)
            columns = size if at < 2 else len(self.groups)
            rows = np.zeros((joint.size, columns))
            rows[known, place[known]] = add[known]
            found.append(Term(joint, at * size + np.arange(columns), rows))
        return found

    def stratum_of(self, frame: pd.DataFrame, known: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The stratum of each decoded record (n,), -1 of one that is in none or not `known`."""
        own = np.full(math.prod(len(self.codebook[name].values) for name in self.over), -1)
        own[self.strata.places] = np.arange(len(self.strata.places))
        return np.where(known, own[np.where(known, places_in(self.codebook, self.over, frame), 0)], -1)

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """Records, and those with the event, by group."""
        return told.record_counts_of(self, low, high)

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Events, records and person-time of groups in tables, and then the others (see standardised_told.py)."""
        return told.counts_first(self, low, high, proves)

    def implied(self, low: Array, high: Array) -> tuple[Released, ...]:
        """That each stratum has somebody where there is a direct rate, and events that limits or a crude rate tell."""
        return told.implied(self, low, high)

    def check(self, low: Array, high: Array) -> None:
        """OutputError for released values that no data can have: it names the first such number."""
        check(self, low, high)


def _numbers(value: object) -> object:
    """A mapping of strata to numbers, where a study file has 40 for the level '40'."""
    if isinstance(value, Mapping):
        found = {format_value(label): number for label, number in value.items()}
        wrong = next((label for label, number in found.items() if isinstance(number, bool | str)), None)
        if wrong is not None:
            raise ValueError(f"stratum {wrong!r} has {found[wrong]!r}; write a number")
        if len(found) < len(value):
            raise ValueError("a stratum stands there twice, as a number and as text; keep one")
        return found
    raise ValueError("write a mapping of each stratum to its number, as in {40: 7000, 45: 7000}")


ByStratum = Annotated[dict[str, float], BeforeValidator(_numbers)]


class StandardisedEntry(Entry):
    """Standardised rates in a study file; `decimals` one number (events and n have none), or one a statistic."""

    positional = ("event", "over", "by")

    kind: Literal["standardised"]
    event: str
    event_value: Level = ""
    over: Annotated[Names, Field(min_length=1)]
    by: Names = ()
    time: str = ""
    method: Method = "direct"
    standard: ByStratum = Field(default_factory=dict)
    reference: ByStratum = Field(default_factory=dict)
    statistics: Annotated[tuple[Statistic, ...], BeforeValidator(listed)] = ()
    per: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    interval: IntervalOf | None = None
    level: float = Field(default=0.95, gt=0, lt=1)
    variance: Variance | None = None
    decimals: smooth.Decimals = _DECIMALS

    def build(self, codebook: Codebook, position: int) -> list[Standardised]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        by = f" by {' x '.join(self.by)}" if self.by else ""
        how = "standardised" if self.method == "direct" else "indirectly standardised"
        return [
            Standardised(
                codebook,
                self.name or f"{self.event} {how} over {' x '.join(self.over)}{by}",
                self.event,
                self.over,
                self.standard,
                self.by,
                self.time,
                self.method,
                self.reference,
                tuple(dict.fromkeys(self.statistics)),
                self.per,
                self.interval,
                self.level,
                self.variance,
                self.event_value,
                self.decimals,
                self.where,
            )
        ]
