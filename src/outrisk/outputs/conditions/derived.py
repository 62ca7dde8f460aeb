"""Columns that a study derives from others, as an age band from an age: everybody who reads of a band knows of what."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from outrisk.codebook import Codebook
from outrisk.errors import ExpressionError, OutputError
from outrisk.expressions import read_expression
from outrisk.microdata import MISSING_VALUES, Microdata, coded, numbers_of
from outrisk.outputs.base import joint_for, support_frame
from outrisk.outputs.conditions.rules import Rule
from outrisk.problem.blocks import Mask

_MOST = 4  # columns of an expression that are each tried as text and as numbers


@dataclass(frozen=True)
class Derived(Rule):
    """A rule that a column, `name`, has the value that an expression of others, `text`, gives; `position` is among
    the derived columns (from 1). coded: categories that are numbers in it, as they are in files of Stata, and where
    they are derived themselves. OutputError where the expression gives no value for each record, or tables of it are
    too large.
    """

    name: str
    missing_values: Sequence[str] = MISSING_VALUES
    coded: frozenset[str] = frozenset()

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
        read = read_expression(self.text)
        numbers = {name for name in self._of if self.codebook[name].numeric or name in self.coded}
        if stray := read.stray(lambda name, value: isinstance(value, str) != (name in numbers), numbers):
            raise OutputError(f"{self.place}: {self.text!r} compares '{stray[0]}' with {stray[1]}")
        try:
            value = read.evaluate(pd.DataFrame({name: self._plain(frame[name]) for name in self._of}))
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
        plain = column.astype(object)
        return pd.to_numeric(plain) if column.name in self.coded else plain

    def broken(self, data: Microdata) -> int:
        """How many records have another value."""
        return int((~self._holds(data.frame())).sum())


def derived_in(
    codebook: Codebook, derive: Mapping[str, str], missing_values: Sequence[str] = MISSING_VALUES
) -> dict[str, Derived | None]:
    """The derived columns of a study that are of other variables of its codebook; None where an expression cannot be
    read, or in ways that give other values, or tables of it are too large.
    """
    found = dict[str, Derived | None]()
    for position, (name, text) in enumerate(derive.items(), start=1):
        of = set(read_expression(text).columns.values())
        if not of or name in of or not {name, *of} <= set(codebook.names):
            continue
        ways = list[Derived]()
        for coded_so in _readings(codebook, of):
            with suppress(OutputError):
                ways.append(Derived(codebook, text, position, name, missing_values, coded_so))
        same = all(np.array_equal(each.mask.include, ways[0].mask.include) for each in ways)
        found[name] = ways[0] if ways and same else None
    return found


def _readings(codebook: Codebook, names: Collection[str]) -> list[frozenset[str]]:
    """Which of these may be numbers in an expression: categories whose levels all are."""
    categories = [name for name in sorted(names) if not codebook[name].numeric]
    may_be = [name for name in categories if np.isfinite(numbers_of(codebook[name].values)).all()]
    if len(may_be) > _MOST:
        return [frozenset(), frozenset(may_be)]
    return [frozenset(some) for n in range(len(may_be) + 1) for some in combinations(may_be, n)]
