"""The two sums that a rate is made of, its numerator and its denominator, as tallies over the cells of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Subset, joint_for
from outrisk.outputs.tables.cells import Cells
from outrisk.problem.blocks import Joint, Mask, Tally, level_in

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class TwoSums:
    """Numerator and denominator in each of the cells, whose value is the denominator.

    numerator: a numeric variable that is summed up, or an expression: the records where it holds are counted.
    OutputError where it is neither, or is below 0 or nowhere above.
    """

    cells: Cells
    numerator: str

    def __post_init__(self) -> None:
        time = self.cells.number_of("denominator")
        if min(time.values) < 0 or max(time.values) <= 0:
            raise self.cells.error(f"denominator: '{time.name}' is not a variable of values from 0; give one")
        if np.nanmin(self._adds) < 0 or np.nanmax(self._adds) <= 0:
            raise self.cells.error(f"numerator: '{self.numerator}' is nowhere above 0, or below 0; give another")

    @property
    def _codebook(self) -> Codebook:
        return self.cells.codebook

    @cached_property
    def _counted(self) -> Subset | None:
        """The records that the numerator counts; None where it is a variable."""
        return None if self.numerator in self._codebook else Subset(self._codebook, self.numerator, self.cells.output)

    @cached_property
    def names(self) -> list[str]:
        """The variables that the numerator follows from."""
        if self._counted is None:
            if not self._codebook[self.numerator].numeric:
                raise self.cells.error(
                    f"numerator: '{self.numerator}' is categorical; write which level counts, as in "
                    f"{self.numerator} == {self._codebook[self.numerator].labels[-1]!r}"
                )
            return [self.numerator]
        if not self.numerator:
            raise self.cells.error("numerator: name a numeric variable, or write an expression such as died == 1")
        try:
            self._counted.masks()
        except OutputError as error:
            raise OutputError(str(error).replace("where:", "numerator:", 1)) from None
        return self._counted.variables

    @cached_property
    def _adds(self) -> Array:
        """What a record at each level of the numerator's variables adds; NaN where one of them is missing."""
        joint = joint_for(self._codebook, self.names, self.cells.output)
        if self._counted is None:
            variable = self._codebook[self.numerator]
            return np.array([*variable.values, *([np.nan] * variable.missing)], dtype=np.float64)
        (mask,) = self._counted.masks()
        levels = np.indices([self._codebook[name].size for name in self.names]).reshape(-1, joint.size)
        known = [level < len(self._codebook[name].values) for name, level in zip(self.names, levels, strict=True)]
        return np.where(np.all(known, axis=0), mask.include.astype(float), np.nan)

    def adds(self, data: Microdata) -> Array:
        """What each record adds to the numerator, (n,); NaN where it lacks it."""
        joint = joint_for(self._codebook, self.names, self.cells.output)
        return np.asarray(self._adds[level_in(joint, data.codes)])

    @cached_property
    def whole(self) -> bool:
        """Whether the numerator is a number of events."""
        known = self._adds[np.isfinite(self._adds)]
        return bool((known == np.round(known)).all())

    def of(self, frame: pd.DataFrame) -> tuple[Array, Array]:
        """Numerators and denominators (cells,) of decoded records that are in a cell, by pandas."""
        frame = frame.dropna(subset=self.names)
        groups, weights = self.cells.groups(frame), self.cells.weights(frame)
        if self._counted is None:
            adds = np.asarray(frame[self.numerator], dtype=np.float64)
        else:
            adds = frame.index.isin(self._counted.select(frame).index).astype(np.float64)
        time = np.asarray(frame[self.cells.value], dtype=np.float64)
        return self.cells.sums(groups, weights * adds), self.cells.sums(groups, weights * time)

    @property
    def records(self) -> Tally:
        """The records of each cell."""
        return replace(self.cells.tally(self.cells.by), masks=self.masks)

    @cached_property
    def denominators(self) -> Tally:
        """The denominators."""
        return self.tally([self.cells.value], lambda cell, codes: self.time[codes[-1]])

    def beyond(self, rate: Array) -> Tally:
        """What numerators have beyond those of a rate per 1 in each cell (cells,)."""
        return self.tally(
            [*self.names, self.cells.value],
            lambda cell, codes: self.adds_at(codes) - rate[cell] * self.time[codes[-1]],
        )

    @cached_property
    def time(self) -> Array:
        """The denominator of each code of its variable, 0 where it is missing."""
        variable = self._codebook[self.cells.value]
        return np.array([*variable.values, *([0.0] * variable.missing)], dtype=np.float64)

    @cached_property
    def masks(self) -> tuple[Mask, ...]:
        """The records that lack neither numerator nor denominator, of the subset."""
        joint, known = joint_for(self._codebook, self.names, self.cells.output), np.isfinite(self._adds)
        return (*self.cells.masks, *([] if known.all() else [Mask(joint, known)]))

    def _levels(self, names: Sequence[str]) -> tuple[Joint, NDArray[np.int32], Codes]:
        """The joint of the cells and other variables; the cell of each of its levels, and their codes (names, levels)
        of these.
        """
        by = self.cells.by
        every = [*by, *(name for name in dict.fromkeys(names) if name not in by)]
        joint = joint_for(self._codebook, every, self.cells.output)
        codes = np.indices([self._codebook[name].size for name in every]).reshape(len(every), -1)
        cell = np.ravel_multi_index(tuple(codes[: len(by)]), self.cells.shape) if by else 0 * codes[0]
        return joint, cell.astype(np.int32), codes[[every.index(name) for name in names]]

    def adds_at(self, codes: Codes) -> Array:
        """What records add to the numerator, by the codes (names, levels) of its variables first; 0 of missing ones."""
        sizes = [self._codebook[name].size for name in self.names]
        return np.asarray(np.nan_to_num(self._adds[np.ravel_multi_index(tuple(codes[: len(sizes)]), sizes)]))

    def tally(self, names: Sequence[str], value: Callable[[NDArray[np.int32], Codes], Array]) -> Tally:
        """Sums in each cell of what follows from the cell and the codes of other variables."""
        joint, cell, codes = self._levels(names)
        return Tally(joint, len(self.cells.labels), cell, value(cell, codes), self.masks, self.cells.survey)

    @cached_property
    def numerators(self) -> Tally:
        """The numerators; a count of records where each adds 0 or 1."""
        tally = self.tally(self.names, lambda cell, codes: self.adds_at(codes))
        adds, cell = tally.value, tally.cell
        assert adds is not None
        assert cell is not None
        if not np.isin(adds, (0.0, 1.0)).all():
            return tally
        return replace(tally, cell=np.where(adds > 0, cell, -1).astype(np.int32), value=None)  # a count of records
