"""Weights by the entropy of a column in the original, for the identifiability score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.risk.neighbours.exact import Floats, Space


@dataclass(frozen=True)
class Entropy:
    """How a column's entropy H enters a distance.

    'divide': differences are divided by H + epsilon; 'multiply': by 1 / (H + epsilon) + epsilon; 'pointwise': each
    value y is multiplied by its own -p log p, p its share in the original. A numeric column's H is that of its deciles
    (right-closed, equal ones dropped); capped: of as many quantiles as it has values, if that is fewer than ten.
    """

    kind: str = "divide"
    epsilon: float = 1e-8
    capped: bool = False


def factor(entropy: Entropy, values: NDArray[Any], numeric: bool) -> float:
    """By what the differences in a column are multiplied, from the original's values of it (n_records,)."""
    if numeric:
        bins = min(10, len(np.unique(values))) if entropy.capped else 10
        edges = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)))
        values = np.maximum(np.searchsorted(edges, values, side="left"), 1)
    shares = np.unique(values, return_counts=True)[1] / len(values)
    size = float(-shares @ np.log(shares))
    return 1 / (size + entropy.epsilon) if entropy.kind == "divide" else _inverse(size, entropy.epsilon)


def _inverse(size: float | Floats, epsilon: float) -> float:
    return 1 / (1 / (size + epsilon) + epsilon)  # type: ignore[return-value]


def pointwise(
    entropy: Entropy, coordinates: Floats, values: Sequence[NDArray[Any]], owners: list[int],
    original: NDArray[np.intp],
) -> Space:  # fmt: skip
    """The space of coordinates (n_records, m), each multiplied by what the record's value of its column weighs."""
    weights = np.empty((len(coordinates), len(values)))
    for j, column in enumerate(values):
        level, position = np.unique(column, return_inverse=True)
        shares = np.bincount(position[original], minlength=len(level)) / len(original)
        own = np.where(shares > 0, -shares * np.log(np.where(shares > 0, shares, 1.0)), 0.0)
        weights[:, j] = _inverse(own, entropy.epsilon)[position]  # type: ignore[index]
    return Space(coordinates * weights[:, owners], np.empty((len(coordinates), 0), dtype=np.int32), ())
