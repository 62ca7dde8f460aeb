"""A codebook for records that come without one: it counts as public, and names no value that one person alone has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from outrisk.codebook import Codebook, Variable
from outrisk.errors import DataError
from outrisk.grammar import named_in
from outrisk.microdata import FEW, MISSING_VALUES, as_numbers, as_text, gaps_of, infer_variable
from outrisk.propose.grids import grid_of
from outrisk.propose.one_column import points_at_people

_THRESHOLD = 10  # people that an end of a grid needs, as in what `outrisk init` writes
_LISTED = 20  # different numbers that may be listed as they are
_FINE = 20_000  # points of a grid on which numbers stay as they are
_COARSE = 20_000  # about so many where they must be rounded: released numbers rest on them
_WAY_OUT = (
    "a codebook counts as public, and the study names none; name one: 'outrisk init' (in Python outrisk.init) writes "
    "one that points at nobody, and brings the data to it"
)


@dataclass(frozen=True)
class Inferred:
    """A codebook, what was guessed of each variable, the columns that it lacks, and the numbers that it rounds."""

    codebook: Codebook
    guesses: dict[str, str]
    left_out: tuple[str, ...]
    rounded: tuple[str, ...]

    def fitted(self, frame: pd.DataFrame, missing_values: Sequence[str]) -> pd.DataFrame:
        """Records with numbers on their grids, without the columns that were left out."""
        changed = {name: self._on_grid(frame[name], missing_values) for name in self.rounded if name in frame}
        return frame.drop(columns=list(self.left_out), errors="ignore").assign(**changed)

    def _on_grid(self, column: pd.Series[Any], missing_values: Sequence[str]) -> pd.Series[Any]:
        gaps = gaps_of(column, missing_values)
        support = np.array(self.codebook[str(column.name)].values, dtype=float)
        numbers = np.where(gaps, support[0], as_numbers(column, gaps))
        nearest = support[np.searchsorted((support[1:] + support[:-1]) / 2, numbers)]
        return pd.Series(np.where(gaps, np.nan, nearest), index=column.index)


class _TellsError(Exception):
    """A column tells of single people; the text says how, without a value."""


def infer(
    frame: pd.DataFrame, named: str, missing_values: Sequence[str] = MISSING_VALUES, source: str = "data"
) -> Inferred:
    """A codebook of the columns that tell of nobody.

    `named` is the text of a study: a column that it names cannot be left out, and DataError says the way out.
    """
    guesses: dict[str, str] = {}
    variables, left_out, rounded = [], [], []
    for name in map(str, frame.columns):
        wanted = bool(named_in(named, [name]))
        if not wanted and gaps_of(frame[name], missing_values).all():
            left_out.append(name)
            continue
        coded = re.search(rf"\bC\(\s*`?{re.escape(name)}(?!\w)", named) is not None
        try:
            variable, guess, on_grid = _public(frame[name], missing_values, source, coded, 2 if wanted else _THRESHOLD)
        except _TellsError as error:
            if wanted:
                raise DataError(f"{source}: column '{name}' {error}; {_WAY_OUT}") from None
            left_out.append(name)
            continue
        variables.append(variable)
        guesses[name] = guess
        rounded += [name] if on_grid else []
    return Inferred(Codebook(tuple(variables)), guesses, tuple(left_out), tuple(rounded))


def _public(
    column: pd.Series[Any], missing_values: Sequence[str], source: str, coded: bool, threshold: int
) -> tuple[Variable, str, bool]:
    """A variable that lists nothing of one person, what was guessed, and whether numbers are rounded to it."""
    if points_at_people(column, threshold):
        raise _TellsError(
            "points at single people, as an identifier, free text or exact dates do: a table by it would be a list of "
            "people, which is not to be released"
        )
    variable, guess = infer_variable(str(column.name), column, missing_values, source, FEW)
    gaps = gaps_of(column, missing_values)
    if not variable.numeric:
        alone = int((as_text(column[~gaps]).value_counts() == 1).sum())
        if alone:
            raise _TellsError(f"has {alone} of {len(variable.values)} levels that one person alone has")
        return variable, guess, False
    numbers = as_numbers(column, gaps)[~gaps]
    values, counts = np.unique(numbers, return_counts=True)
    ends = counts[[0, -1]].min() > 1 or set(values) <= {0.0, 1.0}
    listed = counts.min() > 1 and len(values) <= _LISTED
    whole = variable.kind == "integer" and len(variable.values) == values[-1] - values[0] + 1
    if listed or (whole and ends):
        return variable, guess, False
    if coded:
        raise _TellsError("is a category in a formula (C), and has levels that one person alone has")
    return _gridded(variable, numbers)


def _gridded(variable: Variable, numbers: np.ndarray[Any, Any]) -> tuple[Variable, str, bool]:
    found = grid_of(numbers, _THRESHOLD, _FINE, _COARSE)
    if found.topped:
        raise _TellsError("has a few numbers far out, to which no grid reaches")
    if found.low == 0 and numbers.min() > 0:  # else a logarithm of positive numbers has no value
        found = replace(found, low=found.step)
    public = found.variable(variable.name, variable.missing, "")
    said = f"a number, on a grid of {len(public.values):,} values with round ends"
    return public, said + (", to which the data are rounded" if found.rounded else ""), found.rounded
