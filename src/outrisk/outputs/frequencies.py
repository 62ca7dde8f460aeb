"""Released frequency tables: counts in the cells of any number of variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.evolve.plan import CountBlock
from outrisk.microdata import Microdata, decode
from outrisk.outputs.base import Array, Entry, Subset, joint_for


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
    decimals = 0

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

    def block(self, values: Array) -> CountBlock:
        """Totals of the table: its cell counts."""
        return CountBlock(joint_for(self.codebook, self.by, self.name), self._subset.masks())


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
