"""Released outputs as the evolution sees them: published numbers, and how totals become them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from outrisk.errors import OutputError
from outrisk.problem.analysis import Analysis
from outrisk.problem.blocks import Array, Block, Model, Tally
from outrisk.problem.formulas import Estimates, Formula, ModelSays

if TYPE_CHECKING:
    from outrisk.microdata import Microdata
    from outrisk.problem.refit import Refit

Margins = tuple[sparse.csr_matrix, Array, Array]  # which cells are summed up (q, cells); least and most of that (q,)
ROUNDING = 1 + 1e-9  # what rounding of a double may add to half a last digit


def half_digit(decimals: ArrayLike) -> Array:
    """Half a unit of the last printed digit, of numbers printed to so many decimals; of the shape of `decimals`."""
    return np.asarray(0.5 * 10.0 ** -np.asarray(decimals, dtype=np.float64))


def agrees(difference: ArrayLike, decimals: ArrayLike) -> NDArray[np.bool_]:
    """Which differences vanish in print: they are at most half a last digit. An undefined one (NaN) does not."""
    return np.asarray(np.abs(difference) <= half_digit(decimals) * ROUNDING)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Where the totals of tallies should lie for the published numbers to lie where they should.

    low, high (m,): the range of each total. unit (m,): how much its number changes with it, in published units; 0 for a
    total that carries none. number (m,): the position of its number in the part. variance (m,): sampling variance of
    the total, positive. drift (m,): how much the range of each total moves with each record more that adds to it.
    """

    low: Array
    high: Array
    unit: Array
    number: NDArray[np.int64]
    variance: Array
    drift: Array | float = 0.0


class Bounded(Protocol):
    """Published numbers that follow from tallies, each from a total of its own once the others are held fixed.

    `numbers` are the published numbers (k,) recomputed from totals (m,), exactly; NaN where they are undefined.
    `bounds` translates ranges of the published numbers (k,) into ranges of totals, at the present totals. `formulas`
    say of each of the k numbers how it follows from the totals. differentiable: whether numbers change little by
    little with their totals (a quantile does not: it jumps from value to value).
    """

    @property
    def differentiable(self) -> bool: ...  # noqa: D102

    def numbers(self, totals: Array) -> Array: ...  # noqa: D102
    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds: ...  # noqa: D102
    def formulas(self, n_numbers: int) -> list[Formula]: ...  # noqa: D102


class Smooth(Protocol):
    """Published numbers that are smooth functions of the totals of a model.

    `numbers` (k,) recomputes them, exactly where the score is 0, to first order near it. `jacobian` (k, m) are their
    derivatives. `precision` (k, k) is the inverse of their sampling covariance, or its diagonal part. `information`
    (K, K) is that of the model at its published coefficients on the present data, (0, 0) for a model without. `says`
    reads ranges of the published numbers (k,) as ranges of the estimates of a regression; None where it is none.
    """

    def numbers(self, totals: Array, information: Array) -> Array: ...  # noqa: D102
    def jacobian(self, totals: Array, information: Array) -> Array: ...  # noqa: D102
    def precision(self, totals: Array, information: Array) -> Array: ...  # noqa: D102
    def says(self, low: Array, high: Array) -> ModelSays | None: ...  # noqa: D102


class Fitted(Protocol):
    """What the map of a regression tells besides: what ranges of the published numbers (k,) say of its estimates, be
    its score linear in the records or not; score (K,) and information (K, K) at its coefficients; and the estimates, at
    totals and an information as `Smooth` takes them, with what numbers between low and high (k,) say of them.
    """

    def told(self, low: Array, high: Array) -> ModelSays: ...  # noqa: D102
    def score(self, totals: Array, information: Array) -> tuple[Array, Array]: ...  # noqa: D102
    def estimates(self, totals: Array, information: Array, low: Array, high: Array) -> Estimates: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class TallyPart:
    """Consecutive published numbers of an output that follow from tallies; their totals in the order of the blocks."""

    blocks: tuple[Tally, ...]
    map: Bounded
    n_numbers: int

    @cached_property
    def formulas(self) -> list[Formula]:
        """How each number follows from the totals."""
        return self.map.formulas(self.n_numbers)


@dataclass(frozen=True, eq=False)
class ModelPart:
    """Consecutive published numbers of an output that follow from a model; `errors`, `p_values`: those that are these.
    fitted: of a regression, its map once more. at: the part with the totals at other coefficients (K,) than those
    published. follow: whether all of its numbers follow from those of other parts.
    """

    model: Model
    map: Smooth
    n_numbers: int
    errors: tuple[int, ...] = ()
    p_values: tuple[int, ...] = ()
    fitted: Fitted | None = None
    at: Callable[[Array], ModelPart] | None = None
    follow: bool = False

    @property
    def blocks(self) -> tuple[Model, ...]:
        """The model."""
        return (self.model,)

    @property
    def estimates(self) -> Callable[[Array, Array, Array, Array], Estimates] | None:
        """See `Fitted`; None where it is no regression."""
        return self.fitted.estimates if self.fitted else None


Part = TallyPart | ModelPart


@dataclass(frozen=True, eq=False)
class Released:
    """One released output: the analysis, its k published numbers, and the parts that recompute them from totals.

    A number lies anywhere in [low, high] (k,): both are the printed value where one is printed, the known range where
    a cell is protected. It is matched when it lies there to within half a unit of its last printed digit.
    """

    output: Analysis
    low: Array
    high: Array
    parts: tuple[Part, ...]
    of: NDArray[np.int64] | None = None  # (k,): of which published number each is; None: all, in their order

    @property
    def name(self) -> str:
        """The output's name."""
        return self.output.name

    @property
    def kind(self) -> str:
        """The output's kind."""
        return self.output.kind

    @property
    def importance(self) -> float:
        """What the output's share of the fitness is multiplied by."""
        return self.output.importance

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each number is called, (k,)."""
        return tuple(self.output.labels)

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Printed digits after the point, (k,)."""
        return np.asarray(self.output.decimals, np.int64)

    @cached_property
    def tolerance(self) -> Array:
        """Half a unit of the last printed digit, (k,)."""
        return half_digit(self.decimals)

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

    @property
    def searched(self) -> Released:
        """The same as a search takes it, with counts of records in parts of their own, and so perhaps in another
        order, and without numbers that follow from these.
        """
        return self.output.counts_first(self.low, self.high) or self

    @property
    def implied(self) -> Sequence[Released]:
        """What a search is to hold to besides, none of it published."""
        return self.output.implied(self.low, self.high)

    @property
    def proving(self) -> Released:
        """The same as proofs take it, with counts of records in parts of their own, and those too that are implied: in
        whole numbers they say more, but in a search they are in its way. Without numbers that would make more kinds of
        records than they are of use: standard errors by clusters.
        """
        return self.output.counts_first(self.low, self.high, True) or self

    def distance(self, numbers: Array) -> Array:
        """Signed distance (k,) of recomputed numbers from where they should lie; NaN where they are undefined."""
        return np.asarray(np.where(self.known, numbers - np.clip(numbers, self.low, self.high), 0.0))

    def is_matched(self, numbers: Array) -> NDArray[np.bool_]:
        """Which recomputed numbers (k,) are right at their released precision."""
        return agrees(self.distance(numbers), self.decimals)

    def refit(self, data: Microdata) -> Array:
        """The numbers (k,) from decoded records by statsmodels or pandas; OutputError where they are undefined."""
        return self.output.refit(data, self.values)

    def recompute(self, data: Microdata) -> Refit:
        """The numbers from decoded records, beside the released ones; NaN, and why, where the refit fails."""
        return next(self.recompute_all([data]))

    def recompute_all(self, many: Sequence[Microdata]) -> Iterator[Refit]:
        """`recompute` for several sets of records, one after the other."""
        from outrisk.problem.refit import Refit  # which is made of what stands here

        for data, found in zip(many, self.output.refits(many, self.values), strict=True):
            if isinstance(found, OutputError):
                yield Refit(self, data.codes, np.full(len(self.low), np.nan), str(found))
            else:
                yield Refit(self, data.codes, found)
