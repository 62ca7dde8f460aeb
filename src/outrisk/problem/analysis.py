"""What the house asks of an analysis whose numbers are released, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from outrisk.problem.blocks import Array

if TYPE_CHECKING:
    import numpy as np

    from outrisk.errors import OutputError
    from outrisk.microdata import Microdata


@dataclass(frozen=True, eq=False)
class RecordCounts:
    """How many of an analysis's records lie where: low and high have an axis for each variable of `by`.

    An axis has the codes of its variable, the missing one last; without variables they are the number of records.
    """

    by: tuple[str, ...]
    low: Array
    high: Array


class Analysis(Protocol):
    """An analysis whose k numbers are released.

    What it is: `kind`, `name`, `notes` in words, `where` (the expression of its records, empty for all), `importance`
    (what its share of the fitness is multiplied by, above 0), `table` (the variables of its table of counts or shares;
    none for another kind), `explains` (whether its numbers relate a response to each other variable, as a regression's
    do, rather than all variables to each other).

    Its numbers: `labels` name them, `decimals` (k,) are the printed digits after the point. `refit` computes them (k,)
    from decoded records with statsmodels or pandas, independently of the totals: NaN where one is undefined,
    OutputError where all are; `start` (k,), published numbers, only sets where iterations begin. `refits` gives the
    same for several sets of records of one codebook, one after the other, and the error in its place. `check` raises
    OutputError where published ranges (k,) cannot come from it. `parts` recompute the numbers from totals, published at
    some values (k,). `counts` are all that they say about numbers of records. `counts_first`: the same as a `Released`
    whose parts have counts of records by themselves, as a search takes them or, if it `proves`, a proof; None where
    `parts` do. `implied`: what else holds of the records, as there are such numbers, for a search. `effort`: what a
    slow path has taken so far, by name; empty for most; `add_effort` adds to it what more it has taken in another
    process. `sought` (k,): which numbers a search can bring nearer.
    """

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def notes(self) -> str: ...  # noqa: D102
    @property
    def where(self) -> str: ...  # noqa: D102
    @property
    def importance(self) -> float: ...  # noqa: D102
    @property
    def table(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def explains(self) -> bool: ...  # noqa: D102
    @property
    def labels(self) -> list[str]: ...  # noqa: D102
    @property
    def decimals(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def effort(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def sought(self) -> NDArray[np.bool_]: ...  # noqa: D102
    def add_effort(self, more: Mapping[str, float]) -> None: ...  # noqa: D102
    def refit(self, data: Microdata, start: Array | None = None) -> Array: ...  # noqa: D102
    def refits(  # noqa: D102
        self, many: Sequence[Microdata], start: Array | None = None
    ) -> Iterator[Array | OutputError]: ...
    def check(self, low: Array, high: Array) -> None: ...  # noqa: D102
    def parts(self, values: Array) -> tuple[Any, ...]: ...  # noqa: D102
    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]: ...  # noqa: D102
    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Any: ...  # noqa: D102
    def implied(self, low: Array, high: Array) -> Sequence[Any]: ...  # noqa: D102
