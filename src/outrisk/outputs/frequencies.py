"""Released frequency tables: counts in the cells of any number of variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.evolve.blocks import Tally
from outrisk.evolve.released import Bounds, TallyPart
from outrisk.microdata import Microdata, decode
from outrisk.outputs.base import Array, Entry, Subset, joint_for, printed


@dataclass(frozen=True)
class Frequencies:
    """Counts of records by the variables `by`; a missing value is a level of its own.

    Cells are in C order: the last variable runs fastest. Every combination of the codebook's values is a cell, so a
    published zero is a published number too.
    """

    codebook: Codebook
    name: str
    by: tuple[str, ...]
    where: str = ""
    kind = "frequencies"

    def __post_init__(self) -> None:
        unknown = [name for name in self.by if name not in self.codebook]
        if unknown:
            raise OutputError(f"output '{self.name}': no variable '{unknown[0]}'; variables are {self.codebook.names}")
        if not self.by or len(set(self.by)) < len(self.by):
            raise OutputError(f"output '{self.name}': by: {list(self.by)} must name one or more different variables")
        joint_for(self.codebook, self.by, self.name)
        self._subset.masks()

    @property
    def labels(self) -> list[str]:
        """One label a cell, such as 'religious=1, affair=0'."""
        levels = [[f"{name}={label}" for label in self.codebook[name].labels] for name in self.by]
        return [", ".join(cell) for cell in product(*levels)]

    @property
    def notes(self) -> str:
        """What the table counts, in words."""
        return f"counts by {', '.join(self.by)}" + (f", where {self.where}" if self.where else "")

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """Counts by pandas on the decoded records, shape (cells,)."""
        frame = self._subset.select(data.frame())
        levels = {}
        for name in self.by:
            variable = self.codebook[name]
            values = decode(variable, np.arange(len(variable.values)))
            codes = pd.Categorical(frame[name], categories=values).codes.astype(np.int32)
            if variable.missing:
                codes[codes < 0] = len(variable.values)
            levels[name] = pd.Categorical.from_codes(codes, categories=variable.labels)  # type: ignore[call-overload]
        counts = pd.DataFrame(levels).groupby(list(self.by), observed=False, sort=True).size()
        return np.asarray(counts, dtype=np.float64)

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Counts have none."""
        return np.zeros(len(self.labels), dtype=np.int64)

    def publish(self, values: Array) -> tuple[Array, Array]:
        """Counts are printed as they are."""
        return printed(values, self.decimals)

    def check(self, low: Array, high: Array) -> None:
        """OutputError for a negative count."""
        if (high < 0).any():
            at = int(np.argmax(high < 0))
            raise OutputError(
                f"output '{self.name}': the count of {self.labels[at]} is {high[at]:g}; counts are 0 or more"
            )

    def parts(self, values: Array) -> tuple[TallyPart, ...]:
        """The cell counts are the totals."""
        joint = joint_for(self.codebook, self.by, self.name)
        return (TallyPart((Tally(joint, joint.size, masks=self._subset.masks()),), Counts(values), joint.size),)


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts: each total is the published number; `values` (k,) are those published."""

    values: Array

    def numbers(self, totals: Array) -> Array:
        """The totals."""
        return totals

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """The ranges as they are; the sampling variance of a count is taken as the count."""
        k = len(totals)
        return Bounds(low, high, np.ones(k), np.arange(k), np.maximum(self.values, 1.0))


class FrequenciesEntry(Entry):
    """A frequency table in a study file; with `ways: k`, every table of k of the variables `by`."""

    kind: Literal["frequencies"]
    by: tuple[str, ...]
    ways: int | None = Field(default=None, ge=1)

    def build(self, codebook: Codebook, position: int) -> list[Frequencies]:
        """The outputs of this entry, the `position`-th (from 1) of its study."""
        if self.ways is None:
            return [Frequencies(codebook, self.name or f"table {' x '.join(self.by)}", self.by, self.where)]
        if self.ways > len(self.by):
            raise OutputError(f"output {position} (frequencies): ways: {self.ways} but by: {list(self.by)}")
        label = self.name or "table"
        return [
            Frequencies(codebook, f"{label} {' x '.join(by)}", by, self.where)
            for by in combinations(self.by, self.ways)
        ]
