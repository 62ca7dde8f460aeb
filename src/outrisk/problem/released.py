"""Released outputs as the evolution sees them: published numbers, and how totals become them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from outrisk.problem.blocks import Array, Block, Model, Tally


@dataclass(frozen=True, eq=False)
class Bounds:
    """Where the totals of tallies should lie for the published numbers to lie where they should.

    low, high (m,): the range of each total. unit (m,): how much its number changes with it, in published units; 0 for a
    total that carries none. number (m,): the position of its number in the part. variance (m,): sampling variance of
    the total, positive.
    """

    low: Array
    high: Array
    unit: Array
    number: NDArray[np.int64]
    variance: Array


class Bounded(Protocol):
    """Published numbers that follow from tallies, each from a total of its own once the others are held fixed.

    `numbers` are the published numbers (k,) recomputed from totals (m,), exactly; NaN where they are undefined.
    `bounds` translates ranges of the published numbers (k,) into ranges of totals, at the present totals.
    """

    def numbers(self, totals: Array) -> Array: ...  # noqa: D102
    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds: ...  # noqa: D102


class Smooth(Protocol):
    """Published numbers that are smooth functions of the totals of a model.

    `numbers` (k,) recomputes them, exactly where the score is 0, to first order near it. `jacobian` (k, m) are their
    derivatives. `precision` (k, k) is the inverse of their sampling covariance, or its diagonal part. `information`
    (K, K) is that of the model at its published coefficients on the present data, (0, 0) for a model without.
    """

    def numbers(self, totals: Array, information: Array) -> Array: ...  # noqa: D102
    def jacobian(self, totals: Array, information: Array) -> Array: ...  # noqa: D102
    def precision(self, totals: Array, information: Array) -> Array: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class TallyPart:
    """Consecutive published numbers of an output that follow from tallies; their totals in the order of the blocks."""

    blocks: tuple[Tally, ...]
    map: Bounded
    n_numbers: int


@dataclass(frozen=True, eq=False)
class ModelPart:
    """Consecutive published numbers of an output that follow from a model."""

    model: Model
    map: Smooth
    n_numbers: int

    @property
    def blocks(self) -> tuple[Model, ...]:
        """The model."""
        return (self.model,)


Part = TallyPart | ModelPart


@dataclass(frozen=True, eq=False)
class Released:
    """One released output: its k published numbers and the parts that recompute them.

    A number lies anywhere in [low, high] (k,): both are the printed value where one is printed, the known range where
    a cell is protected. It is matched when it lies there to within half a unit of its last printed digit. importance:
    what the output's share of the fitness is multiplied by, above 0.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    low: Array
    high: Array
    decimals: NDArray[np.int64]
    parts: tuple[Part, ...]
    importance: float = 1.0

    @cached_property
    def tolerance(self) -> Array:
        """Half a unit of the last printed digit, (k,)."""
        return 0.5 * 10.0 ** -self.decimals.astype(np.float64)

    @cached_property
    def values(self) -> Array:
        """The printed values (k,); NaN for a number of which only a range is known."""
        return np.where(self.low == self.high, self.low, np.nan)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of all parts."""
        return tuple(block for part in self.parts for block in part.blocks)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Numbers (k,) of which more was released than whether they are 0: no suppressed cell, no undefined mean."""
        return np.isfinite(self.high) | (np.isfinite(self.low) & (self.low > 1))

    def distance(self, numbers: Array) -> Array:
        """Signed distance (k,) of recomputed numbers from where they should lie; NaN where they are undefined."""
        return np.asarray(np.where(self.known, numbers - np.clip(numbers, self.low, self.high), 0.0))

    def beside(self, numbers: Array) -> Iterator[dict[str, Any]]:
        """A row for every number of which something was released, beside the recomputed one; `numbers` (k,)."""
        differences, matched = self.distance(numbers), self.is_matched(numbers)
        for k in np.flatnonzero(self.known):
            yield {
                "output": self.name,
                "label": self.labels[k],
                "released": float(self.values[k]),
                "low": float(self.low[k]),
                "high": float(self.high[k]),
                "refit": float(numbers[k]),
                "difference": float(differences[k]),
                "decimals": int(self.decimals[k]),
                "matched": str(bool(matched[k])).lower(),
            }

    def is_matched(self, numbers: Array) -> NDArray[np.bool_]:
        """Which recomputed numbers (k,) are right at their released precision."""
        return np.asarray(np.abs(self.distance(numbers)) <= self.tolerance * (1 + 1e-9))
