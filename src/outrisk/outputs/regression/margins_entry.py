"""Margins of a regression in a study file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry, Level, Names, listed
from outrisk.outputs.regression.design import read_formula
from outrisk.outputs.regression.margin_quantities import Factors
from outrisk.outputs.regression.marginal_effects import Margins
from outrisk.outputs.regression.release import DECIMALS, Number, Release
from outrisk.outputs.regression.sandwich import Covariance, Distribution, Estimator

MarginNumber = Literal["margins", "standard_errors", "confidence_limits", "p_values", "n"]
Model = Literal["logit", "probit", "poisson", "negbin", "ols"]
Digits = Annotated[int, Field(ge=0, le=12)]


def _number(part: MarginNumber) -> Number:
    """What it is called where a regression has coefficients."""
    return "coefficients" if part == "margins" else part


class MarginsEntry(Entry):
    """Margins in a study file: a regression as another entry has it, what is asked of it, and what is released."""

    positional: ClassVar[tuple[str, ...]] = ("formula",)

    kind: Literal["margins"]
    model: Model = "logit"
    formula: str
    event: Level = ""
    offset: str = ""
    weight: str = ""
    covariance: Estimator = ""
    cluster: str = ""
    distribution: Distribution = ""
    dydx: Names = ()
    predictions: Names = ()
    factors: Factors = "levels"
    at_means: bool = False
    release: Annotated[tuple[MarginNumber, ...], BeforeValidator(listed)] = Field(default=("margins",), min_length=1)
    decimals: Digits | dict[MarginNumber, Digits] = DECIMALS
    level: float = Field(default=0.95, gt=0, lt=1)

    def build(self, codebook: Codebook, position: int) -> Sequence[Any]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        name = self.name or f"margins {position}"
        if "margins" not in self.release:
            raise OutputError(
                f"output '{name}': release: {list(self.release)} lacks margins; the other parts are theirs"
            )
        dydx = self.dydx
        if not dydx and not self.predictions:
            dydx = ("*",)
        if dydx == ("*",):
            dydx = tuple(read_formula(codebook, name, self.formula)[1].variables)
        decimals: Any = self.decimals
        if isinstance(decimals, dict):
            unknown = sorted(set(decimals) - set(self.release))
            if unknown:
                raise OutputError(
                    f"output '{name}': decimals for '{unknown[0]}', which is not released; parts are "
                    f"{list(self.release)}"
                )
            decimals = {_number(part): digits for part, digits in decimals.items()}
        return [
            Margins(
                codebook,
                name,
                self.model,
                self.formula,
                dydx,
                tuple("" if each == "*" else each for each in self.predictions),
                self.factors,
                self.at_means,
                Release(tuple(_number(part) for part in self.release), decimals, self.level),
                self.where,
                self.event,
                self.offset,
                self.weight,
                Covariance(self.covariance, self.cluster, self.distribution),
            )
        ]
