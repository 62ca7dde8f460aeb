"""That a quantile regression has coefficients at all says that records lie on its plane: as many as it has columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common
from outrisk.problem.blocks import Model
from outrisk.problem.influence import records_of_model
from outrisk.problem.released import ModelPart


@dataclass(frozen=True, eq=False)
class Held:
    """The map of a 'sign' model to squares of its columns, summed over the records on the plane, in units of the least
    that one record has, (k,); and to the number of these records. ones (k,): which combination of columns is 1.
    """

    least: Array
    ones: Array

    def numbers(self, totals: Array, information: Array) -> Array:
        """Squares (k,), and records."""
        return self._rows(len(totals)) @ totals

    def jacobian(self, totals: Array, information: Array) -> Array:
        """They are linear."""
        return self._rows(len(totals))

    def _rows(self, m: int) -> Array:
        k = len(self.least)
        rows, columns = np.tril_indices(k)
        found = np.zeros((k + 1, m))
        for at, (i, j) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True), k):
            if i == j:
                found[i, at] = 1.0 / self.least[i]
            found[k, at] = self.ones[i] * self.ones[j] * (1.0 if i == j else 2.0)
        return found

    def precision(self, totals: Array, information: Array) -> Array:
        """As of counts of one."""
        return np.eye(len(self.least) + 1)

    def says(self, low: Array, high: Array) -> None:
        """Nothing of estimates."""


@dataclass(frozen=True)
class OnPlane(Common):
    """Records on a printed plane, none of them published: at least one for each column, and as many as columns."""

    made: ModelPart

    @property
    def kind(self) -> str:
        """They are records."""
        return "existence"

    @property
    def labels(self) -> list[str]:
        """They have no names."""
        return [f"records on the plane {at}" for at in range(self.made.n_numbers)]

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The same of records."""
        return self.made.map.numbers(*records_of_model(self.made.model, data.codes).summed(np.ones(len(data))))

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """The model."""
        return (self.made,)


def held_by(model: Model, least: Array, ones: Array) -> ModelPart:
    """The part of a plane's model; least (k,): the least square of each column that is not 0."""
    return ModelPart(model, Held(least, ones), len(least) + 1)
