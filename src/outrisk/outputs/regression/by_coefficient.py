"""What all regressions print alike: numbers of each coefficient, of which some may be left out, and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array, Common
from outrisk.outputs.regression.release import OF_EACH, Release


class ByCoefficient(Common):
    """An output that prints parts of a `release`, those of each of its K coefficients as far as these are `kept`."""

    if TYPE_CHECKING:  # its kind says

        @property
        def release(self) -> Release: ...  # noqa: D102
        @property
        def coefficients(self) -> list[str]: ...  # noqa: D102
        @property
        def kept(self) -> NDArray[np.bool_]: ...  # noqa: D102
        @property
        def keep(self) -> tuple[str, ...]: ...  # noqa: D102
        @property
        def where(self) -> str: ...  # noqa: D102

    def in_words(self, first: Sequence[str], references: Mapping[str, str], then: Sequence[str] = ()) -> str:
        """The model in words, '' for what it does not have: the reference levels of categories between what comes
        `first` and `then`, and last which records and terms.
        """
        reference = ", ".join(f"{name} = {level}" for name, level in references.items() if level)
        parts = [
            *first,
            f"reference {reference}" if reference else "",
            *then,
            f"where {self.where}" if self.where else "",
            f"printed are {', '.join(self.keep)}" if self.keep else "",
        ]
        return "; ".join(part for part in parts if part)

    @cached_property
    def printed(self) -> NDArray[np.bool_]:
        """Which of the numbers (k,) are printed: those of coefficients that are, and of the whole model."""
        return np.concatenate(
            [
                np.resize(self.kept, at.stop - at.start) if part in OF_EACH else np.ones(at.stop - at.start, np.bool_)
                for part, at in self.release.layout(len(self.kept))
            ]
        )

    def publish(self, values: Array) -> tuple[Array, Array]:
        """Plainly rounded; nothing of what is not printed."""
        low, high = super().publish(values)
        return np.where(self.printed, low, -np.inf), np.where(self.printed, high, np.inf)

    @property
    def labels(self) -> list[str]:
        """One label a published number: those of the coefficients first."""
        return self.release.labels(self.coefficients)

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Printed digits after the point of each number, shape (k,)."""
        return self.release.digits(len(self.coefficients))

    @property
    def explains(self) -> bool:
        """It has a response."""
        return True

    def check(self, low: Array, high: Array) -> None:
        """OutputError for numbers that no such model has, such as a standard error of 0."""
        self.release.check(self.name, self.coefficients, low, high)
