"""The cells of a released table: its variables, subset and weight, and its records in pandas' terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata, decode
from outrisk.outputs.base import Array, Subset, joint_for
from outrisk.problem.blocks import Joint, Mask, Tally, Weight, joint_over

if TYPE_CHECKING:
    from pandas.core.groupby import SeriesGroupBy


@dataclass(frozen=True)
class Cells:
    """The combinations of the variables `by` in C order (the last runs fastest); one cell of all records without any.

    A missing value of `by` is a level of its own. Records outside `where`, and those whose `weight` or `value` (a
    variable that is summed up in each cell; may be empty) is missing, are in no cell. OutputError for a variable that
    does not exist, is named twice, or cannot serve.
    """

    codebook: Codebook
    output: str
    by: tuple[str, ...]
    where: str = ""
    weight: str = ""
    value: str = ""

    def __post_init__(self) -> None:
        for name in (*self.by, self.weight, self.value):
            if name and name not in self.codebook:
                raise self.error(f"no variable '{name}'; variables are {self.codebook.names}")
        if len(set(self.by)) < len(self.by):
            raise self.error(f"by: {list(self.by)} must name one or more different variables")
        if self.value in self.by:
            raise self.error(f"'{self.value}' is both in by: and the variable of each cell; keep one")
        if self.weight:
            weight = self.codebook[self.weight]
            if not weight.numeric or min(weight.values) < 0 or max(weight.values) <= 0:
                raise self.error(
                    f"weight: '{self.weight}' is not a numeric variable of values from 0; weigh by another, or by none"
                )
        joint_for(self.codebook, [*self.by, *([self.value] if self.value else [])], self.output)
        self.subset.masks()

    def error(self, text: str) -> OutputError:
        """An error that names the output."""
        return OutputError(f"output '{self.output}': {text}")

    def number_of(self, role: str) -> Variable:
        """The variable of each cell; OutputError unless it is numeric."""
        variable = self.codebook[self.value]
        if not variable.numeric:
            raise self.error(f"{role}: '{self.value}' is categorical; give a numeric variable")
        return variable

    @property
    def subset(self) -> Subset:
        """The records that the table was made of."""
        return Subset(self.codebook, self.where, self.output)

    @property
    def shape(self) -> tuple[int, ...]:
        """Levels of each variable."""
        return tuple(self.codebook[name].size for name in self.by)

    @cached_property
    def labels(self) -> list[str]:
        """One label a cell, such as 'religious=1, affair=0'."""
        levels = [[f"{name}={label}" for label in self.codebook[name].labels] for name in self.by]
        return [", ".join(cell) or "all" for cell in product(*levels)]

    @property
    def notes(self) -> str:
        """Variables, subset and weight, in words."""
        parts = [f"by {', '.join(self.by)}"] if self.by else []
        parts += [f"weighted by {self.weight}"] if self.weight else []
        parts += [f"where {self.where}"] if self.where else []
        return ", ".join(parts)

    def joint(self, names: Sequence[str]) -> Joint:
        """The joint of some variables, in this order."""
        return joint_over([self.codebook.index(name) for name in names], self.codebook.sizes)

    @cached_property
    def masks(self) -> tuple[Mask, ...]:
        """The subset, and no missing value or weight."""
        needed = [self.codebook[name] for name in dict.fromkeys((self.value, self.weight)) if name]
        gaps = [
            Mask(self.joint([variable.name]), np.arange(variable.size) < len(variable.values))
            for variable in needed
            if variable.missing
        ]
        return (*self.subset.masks(), *gaps)

    @cached_property
    def survey(self) -> Weight | None:
        """The weight of each record; None: each counts once."""
        if not self.weight:
            return None
        variable = self.codebook[self.weight]
        by_code = np.array([*variable.values, *([0.0] * variable.missing)], dtype=np.float64)
        return Weight(self.codebook.index(self.weight), by_code)

    @property
    def spread(self) -> float:
        """Variance of a weighted count, divided by the count: mean(w^2) / mean(w) over the weights that there are."""
        w = np.ones(1) if self.survey is None else self.survey.by_code
        return float(np.sum(w**2) / np.sum(w))

    @property
    def lightest(self) -> float:
        """The least weight above 0; 1 without weights."""
        return 1.0 if self.survey is None else float(min(w for w in self.survey.by_code if w > 0))

    def tally(
        self,
        names: Sequence[str],
        cell: NDArray[np.int32] | None = None,
        size: int = 0,
        value: Array | None = None,
        weighted: bool = True,
    ) -> Tally:
        """A tally over the joint of some variables; without `cell`, each level of the joint is a cell."""
        place = self.joint(names)
        return Tally(
            place, place.size if cell is None else size, cell, value, self.masks, self.survey if weighted else None
        )

    def frame(self, data: Microdata) -> pd.DataFrame:
        """The decoded records that are in a cell."""
        frame = self.subset.select(data.frame())
        needed = [name for name in (self.value, self.weight) if name]
        return frame.dropna(subset=needed) if needed else frame

    def groups(self, frame: pd.DataFrame) -> list[pd.Categorical]:
        """The variables of the cells as categories in codebook order, to group by."""
        groups = []
        for name in self.by:
            variable = self.codebook[name]
            values = decode(variable, np.arange(len(variable.values)))
            codes = pd.Categorical(frame[name], categories=values).codes.astype(np.int32)
            if variable.missing:
                codes[codes < 0] = len(variable.values)
            groups.append(pd.Categorical.from_codes(codes, categories=variable.labels))  # type: ignore[call-overload]
        return groups or [pd.Categorical.from_codes(np.zeros(len(frame), int), categories=["all"])]  # type: ignore[call-overload]

    def place(self, groups: list[pd.Categorical]) -> NDArray[np.intp]:
        """The cell of each record, shape (n,)."""
        return np.asarray(np.ravel_multi_index([np.asarray(group.codes) for group in groups], self.shape or (1,)))

    def weights(self, frame: pd.DataFrame) -> Array:
        """The weight of each record, 1 without one; shape (n,)."""
        return np.asarray(frame[self.weight], dtype=np.float64) if self.weight else np.ones(len(frame))

    def sums(self, groups: list[pd.Categorical], column: Array) -> Array:
        """Sum of a column (n,) in each cell by pandas, shape (cells,)."""
        return np.asarray(grouped(groups, column).sum(), dtype=np.float64)


def grouped(groups: list[pd.Categorical], column: Array) -> SeriesGroupBy[Any, Any]:
    """A column (n,) by every combination of categories, those without records too."""
    names = [f"by {at}" for at in range(len(groups))]  # by name: pandas takes a list of n keys for n records as one key
    frame = pd.DataFrame({**dict(zip(names, groups, strict=True)), "column": column})
    return frame.groupby(names, observed=False, sort=True)["column"]
