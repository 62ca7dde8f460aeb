"""Released Cox models: log hazard ratios, or hazard ratios, with what is printed beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import get_args

import numpy as np
import pandas as pd

from outrisk.codebook import format_value
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, joint_for, places_in, record_counts, support_frame
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.regression.design import Side, quoted, read_formula
from outrisk.outputs.regression.hazards import Durations, Ties, fit_hazards, why_no_hazards
from outrisk.outputs.regression.newton import Newton
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import COUNTS
from outrisk.outputs.regression.response import NumberResponse, Response
from outrisk.outputs.regression.risk_sets import RiskSets
from outrisk.outputs.regression.totals import largest_of, spans_one
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Clock, Joint, Model, Tally, Term
from outrisk.problem.counts import Counts, middle
from outrisk.problem.released import ModelPart, Part, Released, TallyPart

MOST = 6_000_000  # totals times published numbers: what one search keeps of each takes 50 MB


@dataclass(frozen=True)
class Cox(Regression):
    """A Cox model of a formula, whose response is the time until the event or the end of follow-up.

    `status` is the variable that says who has the event, `event` its value that counts as one (1, the 2 of 1 and 2, or
    the last of two levels); without one nobody is censored. `strata` are variables: records that differ in these are
    not compared. `ties` between times are Efron's or Breslow's. Standard errors are model-based, from the information.
    There is no weight and no late entry.
    """

    status: str = ""
    strata: tuple[str, ...] = ()
    ties: Ties = "efron"

    def __post_init__(self) -> None:
        if self.ties not in get_args(Ties):
            raise OutputError(f"output '{self.name}': ties: {self.ties!r} is not one of {list(get_args(Ties))}")
        if self.event and not self.status:
            raise OutputError(f"output '{self.name}': 'event' is a level of 'status'; without one nobody is censored")
        for what, names in (("status", self._of_status), ("strata", self.strata)):
            unknown = next((each for each in names if each not in self.codebook), None)
            if unknown is not None:
                raise OutputError(
                    f"output '{self.name}': {what}: no variable '{unknown}'; variables are {self.codebook.names}"
                )
        super().__post_init__()

    def _prepare(self) -> None:
        self._check_time()
        size, numbers = self._model.size, len(self.labels)
        if size * numbers > MOST:
            raise OutputError(
                f"output '{self.name}': {len(self.columns):,} columns at {self._n_strata * len(self._times):,} times "
                f"make {size:,} totals for {numbers:,} published numbers, which are too many; band '{self._time}'"
            )

    def _check_time(self) -> None:
        """OutputError unless the response is a variable of times, which is nothing else in the model."""
        if self._time not in self.codebook or not self.codebook[self._time].numeric:
            raise OutputError(
                f"output '{self.name}': the response '{self._time}' is no numeric variable; it is the time until the "
                "event or the end of follow-up: derive one"
            )
        if self._times.min() < 0:
            raise OutputError(
                f"output '{self.name}': '{self._time}' takes the value {format_value(self._times.min())}; "
                "times are 0 or more"
            )
        design = self._sides[1].variables
        others = (self._time, *self._of_status, *self.strata)
        twice = [each for each in others if each in design or others.count(each) > 1]
        if twice:
            raise OutputError(
                f"output '{self.name}': '{twice[0]}' is in the model twice; time, status, strata and terms are "
                "different variables"
            )
        if not self.columns:
            raise OutputError(f"output '{self.name}': formula {self.formula!r} has no terms; a Cox model needs one")
        if any(spans_one(term.rows) for term in self._terms):
            raise OutputError(
                f"output '{self.name}': formula {self.formula!r} has a constant among its columns, and a Cox model has "
                "none; leave out '0 +' or '- 1'"
            )

    @property
    def _of_status(self) -> tuple[str, ...]:
        return (self.status,) if self.status else ()

    @cached_property
    def _sides(self) -> tuple[NumberResponse, Side]:
        left, right = read_formula(self.codebook, self.name, self.formula)
        return NumberResponse(left), replace(right, constant=False)

    @cached_property
    def _event(self) -> Response | None:
        """Who has the event; None: everybody."""
        if not self.status:
            return None
        one_and_two = self.codebook[self.status].values == (1, 2)  # as in R, where 2 is the event then
        event = self.event or ("2" if one_and_two else "")
        return Response(read_formula(self.codebook, self.name, f"{quoted(self.status)} ~ 1")[0], event)

    @cached_property
    def _event_table(self) -> tuple[Joint, Array]:
        """1 where a record has the event, over the support of the status."""
        return self._event.table() if self._event else (Joint((), (), 1), np.ones(1))

    @property
    def _time(self) -> str:
        return self._sides[0].side.name

    @cached_property
    def _times(self) -> Array:
        """Every time that can occur."""
        return np.array(self.codebook[self._time].values, dtype=np.float64)

    @cached_property
    def _n_strata(self) -> int:
        return math.prod(len(self.codebook[name].values) for name in self.strata)

    @cached_property
    def variables(self) -> list[str]:
        """Codebook variables of the analysis (without `where`), in codebook order."""
        used = {*self._sides[1].variables, self._time, *self._of_status, *self.strata}
        return [name for name in self.codebook.names if name in used]

    @property
    def notes(self) -> str:
        """The model in words."""
        parts = [
            super().notes,
            (self._event.notes or f"event {self.status} = 1") if self._event else "nobody censored",
            f"strata of {', '.join(self.strata)}" if self.strata else "",
            f"ties as {self.ties.title()}'s",
        ]
        return "; ".join(part for part in parts if part)

    @cached_property
    def _terms(self) -> tuple[Term, ...]:
        """Columns that are nowhere 0 are taken from the middle of their range, which
        changes no number, but keeps hazards in the range of numbers.
        """
        found = []
        for term in self._sides[1].terms():
            low, high = term.rows.min(axis=0), term.rows.max(axis=0)
            rows = term.rows - np.where(low * high > 0.0, (low + high) / 2.0, 0.0)
            found.append(replace(term, rows=rows))
        return tuple(found)

    @cached_property
    def _model(self) -> Model:
        """At coefficients of 0."""
        self._check_left_out(self._sides[1])
        joint = joint_for(self.codebook, [*self.strata, self._time], self.name)
        frame = support_frame(self.codebook, joint)
        cell = places_in(self.codebook, [*self.strata, self._time], frame)
        cell[frame.isna().any(axis=1).to_numpy()] = -1
        every = Term(Joint((), (), 1), np.zeros(1, np.int64), np.ones((1, 1)))
        return Model(
            "cox",
            np.zeros((1, len(self.columns))),
            *self._event_table,
            self._terms,
            extra=(every,),
            masks=self._subset.masks() + self._complete,
            clock=Clock(joint, cell, self._n_strata * len(self._times), self.ties == "efron"),
        )

    @cached_property
    def largest(self) -> Array:
        """The largest size of each column."""
        return largest_of(self._terms)

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """What makes the risk sets at its published coefficients, and the way back to its numbers."""
        published = np.asarray(values, dtype=float)
        return (self._part(published, self.release.coefficients(published, len(self.columns))),)

    def _part(self, published: Array, coefficients: Array) -> ModelPart:
        K = len(coefficients)
        n = K * (K + 3) // 2 + 1  # after score, information and log-likelihood
        extra = {"records": n, "events": n + 1}
        newton = Newton("cox", coefficients, published, self.release, self.largest, extra, True, True)
        way = RiskSets(newton, self._n_strata, len(self._times), self.ties == "efron")
        model, at = replace(self._model, coefficients=coefficients[None, :]), partial(self._at, published)
        errors, p_values = (self.release.places(part, K) for part in ("standard_errors", "p_values"))
        return ModelPart(model, way, len(published), errors, p_values, way, at)

    def _at(self, published: Array, coefficients: Array) -> ModelPart:
        """The same at coefficients (K,) that need not be those published."""
        return self._part(self.release.beside(coefficients, published), coefficients)

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """The number of records, and of those with the event where the status has two levels."""
        yield from record_counts(self.labels, "number of records", low, high)
        labels = ["number of records", "number of events"]
        if not all(label in self.labels for label in labels) or not self.status:
            return
        variable, (_, y) = self.codebook[self.status], self._event_table
        if len(variable.values) == 2:
            n, events = (self.labels.index(label) for label in labels)
            nobody = np.zeros(variable.size - 2)
            without = low[n] - high[events], high[n] - low[events]
            ends = (np.where(y[:2] == 1.0, each[events], rest) for each, rest in zip((low, high), without, strict=True))
            yield RecordCounts((self.status,), *(np.append(end, nobody) for end in ends))

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Its numbers of records and of events as counts in tables, and then the others; None where it has none."""
        layout = dict(self.release.layout(len(self.columns)))
        counts = [part for part in COUNTS if part in layout and np.isfinite(low[layout[part]]).all()]
        if not counts:
            return None
        joint, y = self._event_table
        everybody = Tally(Joint((), (), 1), 1, masks=self._model.masks)
        events = Tally(joint, 1, np.where(y == 1.0, 0, -1).astype(np.int32), masks=self._model.masks)
        blocks = tuple(everybody if part == "n" else events for part in counts)
        of = np.array([layout[part].start for part in counts])
        others = np.setdiff1d(np.arange(len(low)), of)
        rest = replace(self, release=self.release.without(counts))
        made: tuple[Part, ...] = (
            TallyPart(blocks, Counts(np.arange(len(of))), len(of)),
            *rest.parts(middle(low, high)[others]),
        )
        places = np.append(of, others)
        output = CountsFirst.of_whole(self, self, made, places, [self.labels[at] for at in places])
        return Released(output, output.at(low), output.at(high), made, places)

    def sample(self, data: Microdata) -> tuple[Durations, pd.DataFrame]:
        """Times, design, events and strata of the records that count, and these records."""
        frame = self._subset.select(data.frame())[self.variables].dropna()
        if frame.empty:
            raise self._no_records
        time, design = self._sides
        stratum = places_in(self.codebook, self.strata, frame)
        event = self._event.of(frame) if self._event else np.ones(len(frame))
        plain = (time.of(frame), design.matrix(frame), np.zeros(len(frame)))
        return Durations(*plain, event=event, stratum=stratum), frame

    def _numbers(self, sample: Durations, frame: pd.DataFrame, start: Array | None) -> Array:  # type: ignore[override]
        begin = self.release.begin(start, len(self.columns))
        fit = fit_hazards(sample, self.ties, begin)
        if fit is None:
            reason = why_no_hazards(sample, self._column_labels, self._groups(frame))
            raise OutputError(f"output '{self.name}': {reason}")
        return self.release.numbers(fit)

    def check(self, low: Array, high: Array) -> None:
        """OutputError for numbers that no Cox model has, such as more events than records."""
        super().check(low, high)
        places = {part: at.start for part, at in self.release.layout(len(self.columns))}
        if {"n", "events"} <= set(places) and low[places["events"]] > high[places["n"]]:
            raise OutputError(
                f"output '{self.name}': number of events is {low[places['events']]:g} among "
                f"{high[places['n']]:g} records; correct one of them"
            )
        if "log_likelihood" in places and low[places["log_likelihood"]] > 0.0:
            raise OutputError(
                f"output '{self.name}': log-likelihood is {low[places['log_likelihood']]:g}; a partial one is at most 0"
            )
