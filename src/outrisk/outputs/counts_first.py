"""An output of another kind than a table with the numbers of records that it prints as counts, as tables have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Output
from outrisk.problem.released import Part


@dataclass(frozen=True)
class CountsFirst(Common):
    """An output, the `whole`, with numbers of records first, `made` of these parts: each number is the one at `of` (k,)
    of the whole, less the one at `less` (k,) where that is not -1; names (k,): what it is called.
    """

    whole: Output
    made: tuple[Part, ...]
    of: NDArray[np.int64]
    less: NDArray[np.int64]
    names: tuple[str, ...]

    @classmethod
    def of_whole(
        cls, output: Common, whole: Output, made: Sequence[Part], of: NDArray[np.int64], names: Sequence[str]
    ) -> CountsFirst:
        """An output's numbers in this order, each one of the `whole`: the output itself, or the same with more."""
        nothing = np.full(len(of), -1)
        importance = output.importance
        return cls(output.codebook, output.name, whole, tuple(made), of, nothing, tuple(names), importance=importance)

    @property
    def kind(self) -> str:
        """That of the whole."""
        return self.whole.kind

    @property
    def labels(self) -> list[str]:
        """What each number is of."""
        return list(self.names)

    @property
    def decimals(self) -> NDArray[np.int64]:
        """As they were printed."""
        return self.whole.decimals[self.of]

    @property
    def where(self) -> str:
        """The records it was computed on."""
        return self.whole.where

    def parts(self, values: Array) -> tuple[Part, ...]:
        """Those of all values."""
        return self.made

    def at(self, numbers: Array) -> Array:
        """These numbers (k,) of those of the whole."""
        return np.asarray(numbers[self.of] - np.where(self.less < 0, 0.0, numbers[self.less]))

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """As the refit of the whole has them."""
        begin = None
        if start is not None:
            begin, plain = np.full(len(self.whole.labels), np.nan), self.less < 0
            begin[self.of[plain]] = start[plain]
        return self.at(self.whole.refit(data, begin))
