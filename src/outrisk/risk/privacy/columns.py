"""The columns of several tables as an encoding meets them, and the scales that the original gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.risk.neighbours.exact import Floats
from outrisk.risk.privacy.entropy import Entropy


@dataclass(frozen=True)
class Encoding:
    """Name of an encoding (see ENCODINGS), and its parameters.

    k: dimensions that pca and famd keep; by default as many as there are columns.
    weights: by what a column's part of the sum of squares (of the sum, in Gower's distance) is multiplied; 1 if absent.
    """

    name: str = "onehot"
    k: int | None = None
    columns: tuple[str, ...] | None = None  # None: all
    weights: tuple[tuple[str, float], ...] = ()
    entropy: Entropy | None = None

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}, k = {self.k}"


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that an encoding works on, for all tables together."""

    numbers: Mapping[str, Floats]
    codes: Mapping[str, NDArray[np.int32]]
    n_levels: Mapping[str, int]
    original: NDArray[np.intp]
    synthetic: NDArray[np.intp]

    @property
    def all(self) -> tuple[NDArray[Any], ...]:
        """Every column: numbers, then codes."""
        return (*self.numbers.values(), *self.codes.values())


def z_scores(values: Floats, original: NDArray[np.intp]) -> Floats:
    """Centred and divided by the original's standard deviation (ddof 0), 1 in place of 0."""
    reference = values[original]
    return np.asarray((values - reference.mean()) / (deviation(reference) or 1.0))


def deviation(values: Floats) -> float:
    """Standard deviation (ddof 0); of a constant column exactly 0, whatever the rounding."""
    return 0.0 if np.ptp(values) == 0 else float(values.std())


def value_range(values: Floats) -> float:
    """Largest less smallest value, 1 in place of 0."""
    return float(np.ptp(values)) or 1.0


def shares(columns: Columns, name: str) -> Floats:
    """Share of each level of a category in the original, (n_levels,)."""
    counts = np.bincount(columns.codes[name][columns.original], minlength=columns.n_levels[name])
    return np.asarray(counts / len(columns.original))


def indicator_costs(shares: Floats) -> Floats:
    """What a mismatch costs for each of its two levels, with indicators scaled by their deviation, (n_levels,)."""
    variances = shares * (1 - shares)
    return np.asarray(1 / np.where(variances > 0, variances, 1.0))
