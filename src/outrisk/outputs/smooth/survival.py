"""Released survival curves: Kaplan-Meier with Greenwood's standard errors, and the log-rank test between groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Level, Names, Subset, joint_for, listed, places_in, support_frame
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.curve_counts import counts_first, determined, one_answer, told_apart
from outrisk.outputs.smooth.kaplan_meier import Curves
from outrisk.problem.blocks import Joint, Mask
from outrisk.problem.released import ROUNDING, ModelPart, Released, half_digit

Statistic = Literal["survival", "standard error", "at risk", "events", "log-rank"]
_COUNTS = ("at risk", "events")
_TEST = ("log-rank chi2", "log-rank p")
_DECIMALS = 3
MAX_TOTALS = 4_000  # two (event, censored) for every time of every group


@dataclass(frozen=True)
class Survival(Common):
    """Kaplan-Meier curves by group (`by`: every combination of their values), read off at `times`.

    For each group and time: survival just after the time, its standard error (Greenwood), records at risk just before
    it, events since the time before (up to and with this one). Beyond the last record of a group the curve goes on as
    it was. A group without records has no survival, and a curve that has come to 0 no standard error (NaN). `log-rank`
    adds chi2 and p of the test between the groups that have records. Records with a missing value in any of the
    variables are left out. `event_value`: the value of `event` that counts as one; 1, or the last of two levels.
    `times` defaults to every value of the support.
    """

    time: str
    event: str
    by: tuple[str, ...] = ()
    times: tuple[float, ...] = ()
    statistics: tuple[Statistic, ...] = ("survival",)
    event_value: str = ""
    places: int | Mapping[str, int] = _DECIMALS
    where: str = ""
    kind = "survival"

    def __post_init__(self) -> None:
        smooth.check_names(self.codebook, [self.time], self.name, numeric=True)
        smooth.check_names(self.codebook, [self.event, *self.by], self.name)
        if len(set(self.variables)) < len(self.variables):
            raise OutputError(f"output '{self.name}': time, event and by must be different variables")
        if any(after <= before for before, after in zip(self.times, self.times[1:], strict=False)):
            raise OutputError(f"output '{self.name}': times: {list(self.times)} must rise")
        if "log-rank" in self.statistics and len(self.groups) < 2:
            raise OutputError(f"output '{self.name}': log-rank compares groups; give 'by'")
        n_totals = 2 * len(self.support) * len(self.groups)
        if n_totals > MAX_TOTALS:
            raise OutputError(
                f"output '{self.name}': {len(self.support):,} values of '{self.time}' in {len(self.groups):,} groups "
                f"make {n_totals:,} totals; at most {MAX_TOTALS:,} are possible: band '{self.time}'"
            )
        _ = self.happened, self.decimals
        _ = self.masks

    @cached_property
    def subset(self) -> Subset:
        """The records it was computed on."""
        return Subset(self.codebook, self.where, self.name)

    @property
    def variables(self) -> list[str]:
        """Groups, time and event."""
        return [*self.by, self.time, self.event]

    @cached_property
    def support(self) -> Array:
        """Every time that can occur."""
        return np.array(self.codebook[self.time].values, dtype=float)

    @cached_property
    def at(self) -> Array:
        """The published times."""
        return np.array(self.times, dtype=float) if self.times else self.support

    @cached_property
    def groups(self) -> list[tuple[Any, ...]]:
        """Values of `by` in every group; one empty group without `by`."""
        return smooth.groups_of(self.codebook, self.by)

    @cached_property
    def happened(self) -> object:
        """The value of `event` that counts as one."""
        return smooth.value_of_event(self.codebook, self.event, self.event_value, self.name)

    @cached_property
    def columns(self) -> list[Statistic]:
        """Statistics of the curve: all but the test."""
        return [statistic for statistic in self.statistics if statistic != "log-rank"]

    @property
    def labels(self) -> list[str]:
        """By group, time and statistic, such as 'sex=f, time=12: survival'; then the test."""
        found = []
        for group in self.groups:
            place = [f"{name}={format_value(value)}" for name, value in zip(self.by, group, strict=True)]
            for time in self.at:
                where = ", ".join([*place, f"{self.time}={format_value(float(time))}"])
                found += [f"{where}: {statistic}" for statistic in self.columns]
        return found + list(_TEST) * ("log-rank" in self.statistics)

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each published number, shape (k,)."""
        places = smooth.decimals_of(self.places, self.statistics, _COUNTS, _DECIMALS, self.name)
        curve = [places[statistic] for statistic in self.columns] * (len(self.groups) * len(self.at))
        return np.array(curve + [places.get("log-rank", 0)] * (len(self.labels) - len(curve)), dtype=np.int64)

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        parts = [
            f"Kaplan-Meier of {self.time}, event {self.event} = {format_value(self.happened)}: "
            f"{', '.join(self.statistics)}",
            f"by {', '.join(self.by)}" if self.by else "",
            f"where {self.where}" if self.where else "",
        ]
        return "; ".join(part for part in parts if part)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by statsmodels' SurvfuncRight and survdiff on the decoded records, shape (k,)."""
        frame = self.subset.complete(data, self.variables)
        time = frame[self.time].to_numpy(dtype=float)
        status = np.asarray(frame[self.event] == self.happened, dtype=np.float64)
        member: NDArray[np.int_] = np.full(len(frame), -1)
        for g, group in enumerate(self.groups):
            member[np.all([frame[n] == v for n, v in zip(self.by, group, strict=True)] or [member < 0], axis=0)] = g
        curves = [self._curve(time[member == g], status[member == g]) for g in range(len(self.groups))]
        found = np.concatenate(curves)
        return np.append(found, _log_rank(time, status, member)) if "log-rank" in self.statistics else found

    def _curve(self, time: Array, status: Array) -> Array:
        risk = np.array([(time >= at).sum() for at in self.at], dtype=float)
        events = np.diff([float(status[time <= at].sum()) for at in self.at], prepend=0.0)
        survival = error = np.full(len(self.at), np.nan)
        if len(time):
            with np.errstate(all="ignore"):
                fit = SurvfuncRight(time, status)
            last = np.searchsorted(fit.surv_times, self.at, side="right")
            survival = np.append(1.0, fit.surv_prob)[last]
            error = np.append(0.0, fit.surv_prob_se)[last]
        by_name = {"survival": survival, "standard error": error, "at risk": risk, "events": events}
        return np.ravel([by_name[statistic] for statistic in self.columns], order="F")

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Events and censored records at every time of every group: totals (2, groups, times), flat."""
        return (self.of_columns(tuple(self.columns), self.decimals),)

    def of_columns(self, columns: tuple[Statistic, ...], decimals: NDArray[np.int64]) -> ModelPart:
        """The part of some statistics of the curves, and of the test, which are printed to so many `decimals` (k,)."""
        joint, rows = self._rows
        model = smooth.sums_of(joint, rows, self.masks)
        test = "log-rank" in self.statistics
        return ModelPart(model, Curves(len(self.groups), self.support, self.at, columns, test, decimals), len(decimals))

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Its numbers of records as counts in tables, and then the others (see curve_counts.py)."""
        return counts_first(self, low, high, proves)

    def told_apart(self, low: Array, high: Array) -> NDArray[np.bool_]:
        """Groups and times (groups, times) at which released numbers (k,) tell who had the event by group and time."""
        return told_apart(self, low, high)

    def one_answer(self, low: Array, high: Array, in_all: Array | None = None) -> NDArray[np.bool_]:
        """Groups and times (groups, times) at which they tell that everybody had the event, or that nobody had; in_all
        (groups,): how many people there are at most.
        """
        return one_answer(self, low, high, in_all)

    @cached_property
    def masks(self) -> tuple[Mask, ...]:
        """The records it was computed on, over the supports of their variables."""
        return self.subset.masks()

    @cached_property
    def of_levels(self) -> tuple[Joint, NDArray[np.int64]]:
        """Where each combination of the variables counts, of the totals (2, groups, times), flat: with the event, and
        without; -1 for one with a missing value.
        """
        joint = joint_for(self.codebook, self.variables, self.name)
        frame = support_frame(self.codebook, joint)
        place = places_in(self.codebook, [*self.by, self.time], frame)
        place += np.where(frame[self.event] == self.happened, 0, len(self.groups) * len(self.support))
        return joint, np.where(frame.notna().all(axis=1), place, -1)

    @cached_property
    def _rows(self) -> tuple[Joint, Array]:
        """What each combination of the variables adds to each total."""
        joint, place = self.of_levels
        rows = np.zeros((joint.size, 2 * len(self.groups) * len(self.support)))
        known = np.flatnonzero(place >= 0)
        rows[known, place[known]] = 1.0
        return joint, rows

    def check(self, low: Array, high: Array) -> None:
        """OutputError for released values that no data can have: it names the first such number."""
        most = np.full(len(low), np.inf)
        curve = np.arange(len(low) - 2 * ("log-rank" in self.statistics))
        shares = [self.columns[k % len(self.columns)] == "survival" for k in curve]
        most[curve[np.array(shares, dtype=bool)]] = 1.0
        if "log-rank" in self.statistics:
            most[-1] = 1.0
        why = "survival and p lie in 0 to 1, nothing here below 0; correct it"
        smooth.check_range(self.name, self.labels, low, high, np.zeros(len(low)), most, why)
        shape = (len(self.groups), len(self.at), len(self.columns))
        for s, statistic in enumerate(self.columns):
            if statistic not in ("survival", "at risk"):
                continue
            at = curve.reshape(shape)[:, :, s]
            ceiling = np.minimum.accumulate(high[at], axis=1)
            least, bound = np.zeros(len(low)), np.full(len(low), np.inf)
            bound[at] = ceiling
            smooth.check_range(
                self.name, self.labels, low, high, least, bound, f"{statistic} never rises with time; correct it"
            )
        made = determined(self, low, high)
        if made is not None:
            within = half_digit(self.decimals) * ROUNDING
            least, most = (np.where(np.isfinite(made), made + way * within, way * np.inf) for way in (-1.0, 1.0))
            why = "events and numbers at risk make it another number; correct it, or these"
            smooth.check_range(self.name, self.labels, low, high, least, most, why)


def _log_rank(time: Array, status: Array, member: NDArray[np.int_]) -> Array:
    """Chi2 and p; NaN unless two or more groups are at risk at the first event, and one record outlives it."""
    present = np.unique(member)
    first = time[status == 1].min() if status.any() else np.inf
    at_risk = np.unique(member[time >= first])
    if (
        len(present) < 2
        or len(at_risk) < len(present)
        or not ((time > first) | ((time == first) & (status == 0))).any()
    ):
        return np.full(2, np.nan)
    return np.array(survdiff(time, status, member), dtype=float)


class SurvivalEntry(Entry):
    """Survival curves in a study file."""

    positional = ("time", "event")

    kind: Literal["survival"]
    time: str
    event: str
    event_value: Level = ""
    by: Names = ()
    times: tuple[float, ...] = ()
    statistics: Annotated[tuple[Statistic, ...], BeforeValidator(listed)] = Field(default=("survival",), min_length=1)
    decimals: smooth.Decimals = _DECIMALS

    def build(self, codebook: Codebook, position: int) -> list[Survival]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        return [
            Survival(
                codebook,
                self.name or f"survival {position}",
                self.time,
                self.event,
                self.by,
                self.times,
                tuple(dict.fromkeys(self.statistics)),
                self.event_value,
                self.decimals,
                self.where,
            )
        ]
