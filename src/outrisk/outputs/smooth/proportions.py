"""Released proportions of an event, or of each level of a variable, by group, with standard errors and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field
from statsmodels.stats.proportion import proportion_confint

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Level, Names, Subset, joint_for, listed, places_in, support_frame
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth import proportions_told as told
from outrisk.outputs.smooth.binomial_limits import (
    BY_ERROR,
    BinomialLimits,
    Distribution,
    Divisor,
    ProportionInterval,
)
from outrisk.outputs.smooth.proportions_checks import check
from outrisk.outputs.smooth.proportions_of_totals import ProportionsOfTotals
from outrisk.outputs.survey_design import SurveyDesign
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.survey_means import OfDesign, SurveyMeans, digits_of, refuse_of_design
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Joint, Mask, Term
from outrisk.problem.released import ModelPart, Released

Statistic = Literal["proportion", "standard error", "limits", "events", "n"]
COUNTS = ("events", "n")
_DECIMALS = 3
_OF_PERCENT = 1
MAX_NUMBERS = 8_000
_MOST_LEVELS = 20  # of an event, of each of which the share is given
_MAX_ENTRIES = 16_000_000  # what each combination of the variables adds to each total
_BY_STATSMODELS = {
    "exact": "beta",
    "wilson": "wilson",
    "normal": "normal",
    "agresti-coull": "agresti_coull",
    "jeffreys": "jeffreys",
}


@dataclass(frozen=True)
class Proportions(Common):
    """Proportions `per` so many of the records with the `event`, in each group (`by`: every combination of the values
    of other variables; without, one of all records).

    event_value: the value of `event` that counts as one; 1, or the last of two levels. Without it, of a variable with
    three levels or more, up to 20, the share of each. Limits at `level` by an `interval`, standard errors by a
    `divisor` (see `BinomialLimits`). Records with a missing value in any of the variables are left out. Not defined
    (NaN): what is of no record, a standard error of one with the divisor n - 1, limits on the log odds where nobody has
    the event or all.
    """

    event: str
    by: tuple[str, ...] = ()
    statistics: tuple[Statistic, ...] = ("proportion",)
    per: float = 1.0
    interval: ProportionInterval = "exact"
    level: float = 0.95
    divisor: Divisor = "n"
    distribution: Distribution = "normal"
    event_value: str = ""
    places: int | Mapping[str, int] | None = None
    where: str = ""
    kind = "proportions"

    def __post_init__(self) -> None:
        smooth.check_names(self.codebook, self.variables, self.name)
        if len(set(self.variables)) < len(self.variables):
            raise self._error("event and by must be different variables")
        if not self.statistics or len(set(self.statistics)) < len(self.statistics):
            raise self._error(f"statistics: {list(self.statistics)} must name one or more different ones")
        if self.statistics == ("limits",):
            raise self._error("statistics: limits alone are not released; add the proportion, or the events")
        by_error = self.interval in BY_ERROR
        if self.distribution == "t" and not by_error:
            raise self._error(
                f"distribution: {self.interval} limits have no t; leave it out, or take 'logit' or 'normal'"
            )
        if self.divisor == "n-1" and not by_error and "standard error" not in self.statistics:
            raise self._error(
                f"divisor: nothing here is divided by it, as {self.interval} limits have no standard error; "
                "leave it out"
            )
        _ = self.decimals, self.masks
        entries = joint_for(self.codebook, self.variables, self.name).size * len(self.names)
        if len(self.labels) > MAX_NUMBERS or entries > _MAX_ENTRIES:
            raise self._error(
                f"{len(self.labels):,} numbers are too many, at most {MAX_NUMBERS:,} are possible"
                f"{f', and {entries:,} entries, at most {_MAX_ENTRIES:,}' * (entries > _MAX_ENTRIES)}; "
                "release it in parts by 'where', or with fewer variables in 'by'"
            )

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.name}': {text}")

    @cached_property
    def subset(self) -> Subset:
        """The records it was computed on."""
        return Subset(self.codebook, self.where, self.name)

    @property
    def variables(self) -> list[str]:
        """Groups and event."""
        return [*self.by, self.event]

    @cached_property
    def groups(self) -> list[tuple[Any, ...]]:
        """Values of `by` in every group; one empty group without `by`."""
        return smooth.groups_of(self.codebook, self.by)

    @cached_property
    def counted(self) -> tuple[Any, ...]:
        """The values of `event` whose proportions these are: one, or each of three or more."""
        variable = self.codebook[self.event]
        if not self.event_value and 2 < len(variable.values) <= _MOST_LEVELS:
            return tuple(variable.values)
        return (smooth.value_of_event(self.codebook, self.event, self.event_value, self.name),)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The numbers of each group and value that is counted."""
        return tuple(name for each in self.statistics for name in (ENDS if each == "limits" else (each,)))

    @cached_property
    def names(self) -> list[str]:
        """What each group is called, with the value that is counted where there are several, such as 'sex=f'."""
        several = len(self.counted) > 1
        found = list[str]()
        for group in self.groups:
            words = [f"{n}={format_value(v)}" for n, v in zip(self.by, group, strict=True)]
            for value in self.counted:
                found.append(", ".join([*words, *([f"{self.event}={format_value(value)}"] * several)]) or "all")
        return found

    @cached_property
    def labels(self) -> list[str]:
        """By group, value that is counted and statistic, such as 'sex=f: proportion'."""
        return [f"{row}: {each}" for row in self.names for each in self.shown]

    @cached_property
    def digits(self) -> dict[str, int]:
        """Digits after the point of each number of a group."""
        places = self.places
        if places is None:
            places = _DECIMALS if self.per <= 1.0 else _OF_PERCENT
        usual = _DECIMALS if self.per <= 1.0 else _OF_PERCENT
        found = smooth.decimals_of(places, self.statistics, COUNTS, usual, self.name)
        return {name: found["limits" if name in ENDS else name] for name in self.shown}

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each published number, shape (k,)."""
        return np.array([self.digits[each] for each in self.shown] * len(self.names), dtype=np.int64)

    def at(self, statistic: str) -> NDArray[np.int64]:
        """Where a number of each group and counted value is among all, (rows,); (0,) where it is not released."""
        places = [at for at, each in enumerate(self.shown) if each == statistic]
        return np.array([at + len(self.shown) * r for r in range(len(self.names)) for at in places], dtype=np.int64)

    @property
    def group(self) -> NDArray[np.int64]:
        """The group of each row, (rows,)."""
        return np.arange(len(self.names)) // len(self.counted)

    @property
    def limits(self) -> BinomialLimits:
        """How standard errors and limits follow from events and records."""
        return BinomialLimits(self.interval, self.level, self.divisor, self.distribution)

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        what = f"{self.event} = {', '.join(map(format_value, self.counted))} per {self.per:,g} records"
        limits = f"{self.interval} limits at {100 * self.level:g} %" if "limits" in self.statistics else ""
        by_error = "limits" in self.statistics and self.interval in BY_ERROR
        errors = f"variances by {self.divisor}" if by_error or "standard error" in self.statistics else ""
        t = "Student's t" if by_error and self.distribution == "t" else ""
        by = f"by {', '.join(self.by)}" if self.by else ""
        where = f"where {self.where}" if self.where else ""
        return "; ".join(part for part in (what, by, errors, limits, t, where) if part)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas, with limits of statsmodels where it has these, on the decoded records, shape (k,)."""
        frame = self.subset.complete(data, self.variables)
        group = places_in(self.codebook, self.by, frame)
        n = np.bincount(group, minlength=len(self.groups)).astype(float)
        events = np.stack(
            [np.bincount(group[frame[self.event] == each], minlength=len(self.groups)) for each in self.counted], axis=1
        ).astype(float)
        n = np.broadcast_to(n[:, None], events.shape)
        with np.errstate(all="ignore"):
            p = np.where(n > 0, events / n, np.nan)
            error = np.sqrt(np.where(n > (self.divisor == "n-1"), p * (1 - p) / (n - (self.divisor == "n-1")), np.nan))
        found = {"proportion": self.per * p, "standard error": self.per * error, "events": events, "n": n}
        if "limits" in self.statistics:
            found |= {end: self.per * each for end, each in zip(ENDS, self._limits_of(events, n), strict=True)}
        return np.stack([found[each].ravel() for each in self.shown], axis=1).ravel()

    def _limits_of(self, events: Array, n: Array) -> tuple[Array, Array]:
        """Lower and upper limits by statsmodels, those that it lacks by the totals' own formulas."""
        method = _BY_STATSMODELS.get(self.interval)
        if method is None or (self.divisor, self.distribution) != ("n", "normal"):
            ends = self.limits.of(events, n)
            return ends[..., 0], ends[..., 1]
        some = n > 0
        low, high = np.full(n.shape, np.nan), np.full(n.shape, np.nan)
        low[some], high[some] = proportion_confint(events[some], n[some], 1.0 - self.level, method)
        if self.interval == "jeffreys":
            low, high = np.where(some & (events == 0), 0.0, low), np.where(some & (events == n), 1.0, high)
        return low, high

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Events (rows,), then records (groups,)."""
        return (self.of_shown(self.shown, np.arange(len(self.names))),)

    def of_shown(self, shown: Sequence[str], rows: NDArray[np.int64], follow: bool = False) -> ModelPart:
        """The part of some numbers of some rows; `follow`: whether these follow from others."""
        digits = np.array([self.digits[each] for each in shown] * len(rows), dtype=np.int64)
        map_ = ProportionsOfTotals(self.limits, tuple(shown), self.per, rows, self.group[rows], len(self.names), digits)
        return ModelPart(smooth.sums_of_terms(self._terms, self.masks), map_, len(digits), follow=follow)

    @cached_property
    def masks(self) -> tuple[Mask, ...]:
        """The records that it is computed on: of its subset, without a missing value."""
        return self.subset.masks() + smooth.complete(self.codebook, self.variables, self.name)

    def cells(self, statistic: str) -> tuple[Joint, NDArray[np.int32]]:
        """Where records of each level of a joint count, among the rows' events or the groups' records; -1: nowhere."""
        joint = joint_for(self.codebook, self.variables if statistic == "events" else self.by, self.name)
        frame = support_frame(self.codebook, joint)
        known = frame.notna().all(axis=1).to_numpy(dtype=bool)
        place = np.where(known, places_in(self.codebook, self.by, frame), -1)
        if statistic == "events":
            level = np.full(len(frame), -1)
            for at, value in enumerate(self.counted):
                level[np.asarray(frame[self.event] == value, dtype=bool)] = at
            place = np.where((place < 0) | (level < 0), -1, place * len(self.counted) + level)
        return joint, place.astype(np.int32)

    @cached_property
    def _terms(self) -> list[Term]:
        """What each combination of their variables adds to events and records."""
        found, first = list[Term](), 0
        for statistic, size in (("events", len(self.names)), ("n", len(self.groups))):
            joint, cell = self.cells(statistic)
            rows = np.zeros((joint.size, size))
            inside = np.flatnonzero(cell >= 0)
            rows[inside, cell[inside]] = 1.0
            found.append(Term(joint, first + np.arange(size), rows))
            first += size
        return found

    @property
    def crossed(self) -> tuple[str, ...]:
        """The variables of the table behind them."""
        return (*self.by, self.event)

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """Records, and those with the event, by group, as far as printed numbers tell them."""
        return told.record_counts_of(self, low, high)

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Events and records of groups in tables, and then the others (see proportions_told.py)."""
        return told.counts_first(self, low, high, proves)

    def implied(self, low: Array, high: Array) -> tuple[Released, ...]:
        """From where to where events and records lie that are not known exactly."""
        return told.implied(self, low, high)

    def check(self, low: Array, high: Array) -> None:
        """OutputError for released values that no data can have: it names the first such number."""
        check(self, low, high)


class ProportionsEntry(Entry):
    """Proportions in a study file; `decimals` one number (events and n have none), or one a statistic."""

    positional = ("event", "by")

    kind: Literal["proportions"]
    event: str
    event_value: Level = ""
    by: Names = ()
    statistics: Annotated[tuple[Statistic | OfDesign, ...], BeforeValidator(listed)] = ("proportion",)
    per: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    interval: ProportionInterval = "exact"
    level: float = Field(default=0.95, gt=0, lt=1)
    divisor: Divisor = "n"
    distribution: Distribution = "normal"
    decimals: smooth.Decimals | None = None
    design: SurveyDesign | None = None

    @property
    def _name(self) -> str:
        value = f" = {self.event_value}" if self.event_value else ""
        by = f" by {' x '.join(self.by)}" if self.by else ""
        return self.name or f"proportions of {self.event}{value}{by}"

    def build(self, codebook: Codebook, position: int) -> list[Proportions] | list[SurveyMeans]:
        """The output of this entry, the `position`-th (from 1) of its study; with a design, one by it."""
        if self.design is not None:
            return [self._by_design(codebook, self.design)]
        refuse_of_design(self._name, self.statistics, ["n"])
        return [
            Proportions(
                codebook,
                self._name,
                self.event,
                self.by,
                cast("tuple[Statistic, ...]", tuple(dict.fromkeys(self.statistics))),
                self.per,
                self.interval,
                self.level,
                self.divisor,
                self.distribution,
                self.event_value,
                self.decimals,
                self.where,
            )
        ]

    def _by_design(self, codebook: Codebook, design: SurveyDesign) -> SurveyMeans:
        name, given = self._name, self.model_fields_set
        if "interval" in given and self.interval not in BY_ERROR:
            raise OutputError(
                f"output '{name}': interval: {self.interval} limits are not known with a design; write logit or normal"
            )
        if "divisor" in given:
            raise OutputError(f"output '{name}': divisor does not go with design, which has its own; leave it out")
        plain = Proportions(codebook, name, self.event, self.by, event_value=self.event_value)
        return SurveyMeans(
            codebook,
            name,
            self.event,
            design,
            self.by,
            tuple(dict.fromkeys(self.statistics)),
            plain.counted,
            self.per,
            where=design.subset(self.where),
            within=self.where,
            logit=not ("interval" in given and self.interval == "normal"),
            level=self.level,
            distribution=self.distribution if "distribution" in given else "t",
            digits=digits_of(self.decimals, self.statistics),
        )
