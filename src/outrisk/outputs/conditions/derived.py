"""Columns that a study derives from others, as an age band from an age: everybody who reads of a band knows of what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from outrisk.codebook import Codebook
from outrisk.errors import ExpressionError, OutputError
from outrisk.expressions import read_expression
from outrisk.microdata import MISSING_VALUES, Microdata, coded
from outrisk.outputs.base import joint_for, support_frame
from outrisk.outputs.conditions.rules import Rule
from outrisk.problem.blocks import Mask


@dataclass(frozen=True)
class Derived(Rule):
    """A rule that a column, `name`, has the value that an expression of others, `text`, gives; `position` is among
    the derived columns (from 1). coded: categories whose levels are numbers, as '2', are numbers in it, as they are in
    files of Stata. OutputError where the expression gives no value for each record, or tables of it are too large.
    """

    name: str
    missing_values: Sequence[str] = MISSING_VALUES
    coded: bool = False

    @property
    def place(self) -> str:
        """How messages call it."""
        return f"[data] derive {self.name}"

    @cached_property
    def mask(self) -> Mask:
        """The combinations that it allows: of others, one value each, or none where the codebook has not the value."""
        used = {*self._of, self.name}
        names = [name for name in self.codebook.names if name in used]
        joint = joint_for(self.codebook, names, self.place)
        frame = support_frame(self.codebook, joint)
        return Mask(joint, self._holds(frame))

    @property
    def _of(self) -> set[str]:
        return set(read_expression(self.text).columns.values())

    def _holds(self, frame: pd.DataFrame) -> np.ndarray:
        """Whether each decoded record has the value, (n,)."""
        try:
            value = read_expression(self.text).evaluate(
                pd.DataFrame({name: self._plain(frame[name]) for name in self._of})
            )
        except ExpressionError as error:
            raise OutputError(f"{self.place}: {self.text!r} {error}") from None
        if not isinstance(value, pd.Series) or len(value) != len(frame):
            raise OutputError(f"{self.place}: {self.text!r} does not give a value for each record")
        value = value.astype("int64") if value.dtype == bool else value
        variable = self.codebook[self.name]
        codes, gaps = coded(variable, value, self.missing_values)
        own, own_gaps = coded(variable, frame[self.name], self.missing_values)
        return np.asarray(np.where(gaps, own_gaps, (codes >= 0) & (codes == own)), dtype=bool)

    def _plain(self, column: pd.Series) -> pd.Series:
        if not isinstance(column.dtype, pd.CategoricalDtype):
            return column
        numbers = pd.to_numeric(column.cat.categories.to_series(), errors="coerce")
        if self.coded and numbers.notna().all():
            return column.astype(object).map(dict(numbers.items())).astype(float)
        return column.astype(object)

    def broken(self, data: Microdata) -> int:
        """How many records have another value."""
        return int((~self._holds(data.frame())).sum())


def derived_in(
    codebook: Codebook, derive: Mapping[str, str], missing_values: Sequence[str] = MISSING_VALUES
) -> dict[str, list[Derived]]:
    """The derived columns of a study that are of other variables of its codebook, each as its expression may be read:
    no way at all where it cannot be, or tables of it are too large.
    """
    found = dict[str, list[Derived]]()
    for position, (name, text) in enumerate(derive.items(), start=1):
        of = set(read_expression(text).columns.values())
        if not of or name in of or not {name, *of} <= set(codebook.names):
            continue
        found[name] = []
        for as_numbers in (False, True) if any(not codebook[each].numeric for each in of) else (False,):
            with suppress(OutputError):
                found[name].append(Derived(codebook, text, position, name, missing_values, as_numbers))
    return found
