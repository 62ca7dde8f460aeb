"""The 0/1 response of a regression: a two-valued variable, or one of its values against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from outrisk.codebook import format_value
from outrisk.errors import OutputError
from outrisk.evolve.blocks import Joint
from outrisk.outputs.base import Array, joint_for
from outrisk.outputs.design import Side


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
        return str(next(iter(self.side.formula)))

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
