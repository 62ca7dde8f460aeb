"""Quantile regressions in a study file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.regression.quantile_errors import Bandwidth, Errors, QuantileProgram
from outrisk.outputs.regression.quantile_regression import QuantileRegression
from outrisk.outputs.regression.regression_entry import FormulaEntry

_WITHOUT = ("response", "terms", "reference", "event")


class QuantileRegressionEntry(FormulaEntry):
    """A quantile regression in a study file: a formula, the quantile, or several; and what is released of each."""

    positional: ClassVar[tuple[str, ...]] = ("formula", "tau")

    kind: Literal["quantreg"]
    tau: float | tuple[float, ...] = 0.5
    program: QuantileProgram = "quantreg"
    errors: Errors | Literal[""] = ""
    bandwidth: Bandwidth = "hsheather"

    def build(self, codebook: Codebook, position: int) -> Sequence[Any]:
        """An output for each quantile."""
        name = self.name or f"{self.kind} {position}"
        unused = next((key for key in _WITHOUT if getattr(self, key)), "")
        if unused or not self.formula:
            said = f"'{unused}' does not go with a quantile regression; " if unused else ""
            raise OutputError(f"output '{name}': {said}write a formula, as in income ~ age + C(area)")
        taus = self.tau if isinstance(self.tau, tuple) else (self.tau,)
        if not taus or len(set(taus)) < len(taus):
            raise OutputError(f"output '{name}': tau: {list(taus)} must be one or more different numbers")
        how = {"program": self.program, "errors": self.errors, "bandwidth": self.bandwidth, "keep": self.keep}
        return [
            QuantileRegression(
                codebook,
                name if len(taus) == 1 else f"{name}, quantile {tau:g}",
                self.formula,
                tau,
                self._released,
                self.where,
                **how,  # type: ignore[arg-type]
            )
            for tau in taus
        ]
