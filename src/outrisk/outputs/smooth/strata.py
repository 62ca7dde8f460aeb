"""The strata that rates are standardised over, and what a standard or a reference says of each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import format_value
from outrisk.errors import OutputError, did_you_mean
from outrisk.outputs.base import Array, Subset, joint_for, places_in, support_frame

_NAMED = 6  # strata that an error names


@dataclass(frozen=True)
class Strata:
    """Combinations of the values of the variables `over` that records of the subset may have, in codebook order.

    given: a number for each by its label, the level, or the levels of several variables as 'young, f'; what it is:
    `role` ('standard' or 'reference'), of `weights` above 0, or of rates from 0. OutputError where a stratum has none,
    for one that there is not, and for other numbers.
    """

    subset: Subset
    over: tuple[str, ...]
    given: Mapping[str, float]
    role: str
    weights: bool

    @cached_property
    def _possible(self) -> tuple[NDArray[np.int64], list[str]]:
        """Where the strata are among all combinations of the values of `over`, and their labels."""
        codebook = self.subset.codebook
        names = list(dict.fromkeys([*self.over, *self.subset.variables]))
        frame = self.subset.select(support_frame(codebook, joint_for(codebook, names, self.subset.output)))
        frame = frame[list(self.over)].dropna().drop_duplicates()
        place = places_in(codebook, self.over, frame)
        labels = [", ".join(map(format_value, row)) for row in frame.itertuples(index=False)]
        order = np.argsort(place)
        return place[order], [labels[at] for at in order]

    @property
    def labels(self) -> list[str]:
        """What each is called, (strata,)."""
        return self._possible[1]

    @property
    def places(self) -> NDArray[np.int64]:
        """Where each is among all combinations of the values of `over`, (strata,); the last variable runs fastest."""
        return self._possible[0]

    @cached_property
    def numbers(self) -> Array:
        """The number of each, (strata,)."""
        twice = next((label for label in self.labels if self.labels.count(label) > 1), None)
        if twice is not None:
            raise OutputError(
                f"output '{self.subset.output}': over: two strata of {', '.join(self.over)} are called {twice!r}, as "
                "their levels have commas; rename these"
            )
        if not self.given:
            what = "weight" if self.weights else "rate"
            raise self._error(f"is missing; give each stratum its {what}: {self._some(self.labels)}")
        unknown = [label for label in self.given if label not in self.labels]
        if unknown:
            where = f" where {self.subset.where}" if self.subset.where else ""
            raise self._error(
                f"there is no stratum {unknown[0]!r} of {', '.join(self.over)}{where}"
                f"{did_you_mean(unknown[0], self.labels)}; strata are {self._some(self.labels)}"
            )
        absent = [label for label in self.labels if label not in self.given]
        if absent:
            raise self._error(f"stratum {absent[0]!r} has no number; add one for {self._some(absent)}")
        numbers = np.array([float(self.given[label]) for label in self.labels])
        wrong = ~np.isfinite(numbers) | (numbers < 0.0) | (self.weights & (numbers == 0.0))
        if wrong.any():
            at = int(np.argmax(wrong))
            way_out = "weights are above 0: correct it, or leave its records out with 'where'"
            raise self._error(
                f"stratum {self.labels[at]!r} has {numbers[at]:g}; "
                f"{way_out if self.weights else 'rates are numbers from 0: correct it'}"
            )
        if not np.isfinite(numbers.sum()):
            raise self._error("its numbers are too large to add up; give them in another unit")
        if not numbers.any():
            raise self._error("all rates are 0, and nothing is expected; give those of a population with events")
        return numbers

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.subset.output}': {self.role}: {text}")

    @staticmethod
    def _some(labels: list[str]) -> str:
        return f"{', '.join(map(repr, labels[:_NAMED]))}{', ...' * (len(labels) > _NAMED)}"
