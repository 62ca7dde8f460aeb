"""The response of a regression: 0 and 1, a number, or one of several outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from outrisk.codebook import format_value
from outrisk.errors import OutputError
from outrisk.outputs.base import Array, joint_for
from outrisk.outputs.regression.design import Side
from outrisk.problem.blocks import Joint

MAX_OUTCOMES = 20


@dataclass(frozen=True)
class Response:
    """The left side of a formula as 0 and 1.

    `event` is the value that counts as 1: needed for a categorical variable of more than two levels; of two, the last
    is the default. A numeric response without an event must take no other values than 0 and 1.
    """

    side: Side
    event: str

    @cached_property
    def name(self) -> str:
        """The left side as written; a plain variable without its backticks."""
        return self.side.name

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """Levels of a categorical response; none for a numeric one."""
        codebook = self.side.codebook
        return codebook[self.name].values if self.name in codebook and not codebook[self.name].numeric else ()

    @cached_property
    def level(self) -> str:
        """The level of a categorical response that counts as 1."""
        if len(self.levels) != 2 and not self.event:
            raise self._error(
                f"the response '{self.name}' has {len(self.levels)} levels; say which counts with 'event'"
            )
        level = self.event or self.levels[-1]
        if level not in self.levels:
            raise self._error(f"event {level!r} is not a level of '{self.name}'; levels are {list(self.levels)}")
        return level

    @property
    def notes(self) -> str:
        """What counts as 1, in words; nothing where that is 1 itself."""
        event = self.level if self.levels else self.event
        return f"event {self.name} = {event}" if event else ""

    def of(self, frame: pd.DataFrame) -> Array:
        """0 or 1 for each of some decoded records without missing values, shape (n,)."""
        return (
            np.asarray(frame[self.name] == self.level, dtype=np.float64)
            if self.levels
            else self._binary(self.side.matrix(frame))
        )

    def table(self) -> tuple[Joint, Array]:
        """0 or 1 at every combination of its variables, shape (joint.size,); a missing level reads as another value."""
        if self.levels:
            variable = self.side.codebook[self.name]
            joint = joint_for(self.side.codebook, [self.name], self.side.output)
            return joint, np.array([float(label == self.level) for label in variable.labels])
        joint, values = self.side.table(self.side.variables)
        return joint, self._binary(values)

    def _binary(self, values: Array) -> Array:
        if self.event and values.shape[1] == 1:
            return np.asarray(values[:, 0] == self._number, dtype=np.float64)
        if values.shape[1] != 1 or not np.isin(values, (0.0, 1.0)).all():
            raise self._error(
                f"the response '{self.name}' takes other values than 0 and 1; derive a 0/1 variable or give 'event'"
            )
        return np.asarray(values[:, 0], dtype=np.float64)

    @cached_property
    def _number(self) -> float:
        try:
            number = float(self.event)
        except ValueError:
            raise self._error(f"event {self.event!r} is not a number, and the response '{self.name}' is one") from None
        codebook = self.side.codebook
        if self.name in codebook and number not in codebook[self.name].values:
            known = [format_value(value) for value in codebook[self.name].values]
            raise self._error(
                f"event {self.event!r} is not a value of '{self.name}'; values are {', '.join(known[:20])}"
            )
        return number

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.side.output}': {text}")


@dataclass(frozen=True)
class NumberResponse:
    """The left side of a formula as one number; with `counts`, whole and not negative. A category whose levels are all
    numbers, as 0 and 1 of a linear probability model, is these.
    """

    side: Side
    counts: bool = False
    notes = ""

    @cached_property
    def _levels(self) -> dict[str, float] | None:
        """The numbers that the levels of a category are; None for another response, or where some level is none."""
        codebook = self.side.codebook
        if self.side.name not in codebook or codebook[self.side.name].numeric:
            return None
        try:
            found = {level: float(level) for level in codebook[self.side.name].values}
        except ValueError:
            return None
        return found if np.isfinite(list(found.values())).all() else None

    def of(self, frame: pd.DataFrame) -> Array:
        """The number for each of some decoded records without missing values, shape (n,)."""
        if self._levels is not None:
            numbers = [self._levels[level] for level in frame[self.side.name]]
            return self._number(np.array(numbers, dtype=np.float64).reshape(-1, 1))
        return self._number(self.side.matrix(frame))

    def table(self) -> tuple[Joint, Array]:
        """The number at every combination of its variables, shape (joint.size,); a missing level reads as another."""
        if self._levels is not None:
            joint = joint_for(self.side.codebook, [self.side.name], self.side.output)
            numbers = list(self._levels.values())
            numbers += numbers[:1] * (joint.size - len(numbers))
            return joint, self._number(np.array(numbers, dtype=np.float64)[:, None])
        joint, values = self.side.table(self.side.variables)
        return joint, self._number(values)

    def _number(self, values: Array) -> Array:
        name, output, codebook = self.side.name, self.side.output, self.side.codebook
        if values.shape[1] != 1 or (self._levels is None and name in codebook and not codebook[name].numeric):
            raise OutputError(
                f"output '{output}': the response '{name}' is a category, not a number; derive a numeric variable"
            )
        wrong = (values[:, 0] < 0) | (values[:, 0] % 1 != 0)
        if self.counts and wrong.any():
            raise OutputError(
                f"output '{output}': the response '{name}' takes the value {format_value(values[wrong][0, 0])}; "
                "a regression of counts needs whole numbers from 0"
            )
        return np.asarray(values[:, 0], dtype=np.float64)


@dataclass(frozen=True)
class OutcomeResponse:
    """The left side of a formula, a variable of the codebook, as one of several outcomes: 0 for `base` (default: the
    first of its values), 1, 2, ... for the others in the order of the codebook (of an ordered model, theirs).
    """

    side: Side
    base: str = ""
    kind: str = "mnlogit"

    @cached_property
    def name(self) -> str:
        """The variable."""
        name = self.side.name
        if name not in self.side.codebook:
            raise OutputError(
                f"output '{self.side.output}': the response '{name}' of {self._model} must be a variable; derive one"
            )
        return name

    @cached_property
    def outcomes(self) -> list[str]:
        """All outcomes, the base first."""
        levels = [format_value(value) for value in self.side.codebook[self.name].values]
        base = self.base or levels[0]
        if base not in levels:
            raise OutputError(
                f"output '{self.side.output}': base {base!r} is not a value of '{self.name}'; "
                f"values are {', '.join(levels[:20])}"
            )
        if not 3 <= len(levels) <= MAX_OUTCOMES:
            two = "probit" if self.kind == "oprobit" else "logit"
            raise OutputError(
                f"output '{self.side.output}': the response '{self.name}' has {len(levels)} outcomes; {self._model} "
                f"needs 3 to {MAX_OUTCOMES} (two: {two}; many: band them)"
            )
        return [base, *(level for level in levels if level != base)]

    @property
    def _model(self) -> str:
        return f"an {self.kind}" if self.kind.startswith("o") else f"a {self.kind}"

    @property
    def notes(self) -> str:
        """The base, or the order, in words."""
        if self.kind != "mnlogit":
            return f"outcomes of {self.name} in the order {', '.join(self.outcomes)}"
        return f"outcomes of {self.name} against {self.outcomes[0]}"

    def of(self, frame: pd.DataFrame) -> Array:
        """The outcome's number for each of some decoded records without missing values, shape (n,)."""
        position = {outcome: float(at) for at, outcome in enumerate(self.outcomes)}
        return np.array([position[format_value(value)] for value in frame[self.name]])

    def table(self) -> tuple[Joint, Array]:
        """The outcome's number at every level of the variable, shape (size,); a missing level reads as the base."""
        variable = self.side.codebook[self.name]
        joint = joint_for(self.side.codebook, [self.name], self.side.output)
        numbers = [float(self.outcomes.index(format_value(value))) for value in variable.values]
        return joint, np.array(numbers + [0.0] * (variable.size - len(numbers)))
