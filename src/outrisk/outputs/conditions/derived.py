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
from outrisk.problem.blocks import Mask, joint_over

_LARGEST = 1 << 26  # combinations of values that a rule may be of, of a byte each
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
        codebook, own = self.codebook, self.codebook.index(self.name)
        of = [name for name in codebook.names if name in self._of]
        code, gaps = self._values(support_frame(codebook, joint_for(codebook, of, self.place)))
        code = np.where(gaps, len(codebook[self.name].values), code)  # the missing level, if there is one
        joint = joint_over(sorted([*map(codebook.index, of), own]), codebook.sizes)
        if joint.size > _LARGEST:
            raise OutputError(f"{self.place}: the values of {[*of, self.name]} multiply to {joint.size:,}")
        allowed = code[:, None] == np.arange(codebook.sizes[own])
        table = allowed.reshape([*(codebook.sizes[codebook.index(name)] for name in of), -1])
        return Mask(joint, np.moveaxis(table, -1, joint.variables.index(own)).ravel())

    @cached_property
    def _of(self) -> set[str]:
        return set(read_expression(self.text).columns.values())

    def _values(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """The code that each decoded record has by the expression, -1 for what is not in the codebook, and whether it
        is missing; (n,) each.
        """
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
        return coded(self.codebook[self.name], value, self.missing_values)

    def _plain(self, column: pd.Series) -> pd.Series:
        if not isinstance(column.dtype, pd.CategoricalDtype):
            return column
        plain = column.astype(object)
        return pd.to_numeric(plain) if column.name in self.coded else plain

    def broken(self, data: Microdata) -> int:
        """How many records have another value."""
        code, gaps = self._values(data.frame())
        own = data.codes[:, self.codebook.index(self.name)]
        return int((np.where(gaps, len(self.codebook[self.name].values), code) != own).sum())


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
