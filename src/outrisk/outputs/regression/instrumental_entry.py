"""Regressions with instrumental variables in a study file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Names
from outrisk.outputs.regression.instrumental import built
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.outputs.regression.sandwich import Covariance, Estimator
from outrisk.outputs.regression.two_stage_fit import IvProgram

_WITHOUT = ("response", "terms", "reference", "event")


class InstrumentalEntry(FormulaEntry):
    """A regression with instrumental variables in a study file: a formula, which of its terms are endogenous and what
    the instruments are (or all of this in the formula, with a bar), by which program; and what is released of it.
    """

    positional: ClassVar[tuple[str, ...]] = ("formula", "endogenous", "instruments")

    kind: Literal["iv"]
    endogenous: Names = ()
    instruments: str = ""
    weight: str = ""
    covariance: Estimator = ""
    cluster: str = ""
    program: IvProgram = "ivreg"
    small: bool = False

    def build(self, codebook: Codebook, position: int) -> Sequence[Any]:
        """The output of this entry."""
        name = self.name or f"{self.kind} {position}"
        unused = next((key for key in _WITHOUT if getattr(self, key)), "")
        if unused or not self.formula:
            said = f"'{unused}' does not go with instruments; " if unused else ""
            raise OutputError(f"output '{name}': {said}write a formula, as in wage ~ exper + school")
        options = {"release": self._released, "where": self.where, "weight": self.weight, "keep": self.keep}
        how = {"covariance": Covariance(self.covariance, self.cluster), "program": self.program, "small": self.small}
        return [built(codebook, name, self.formula, self.endogenous, self.instruments, **options, **how)]
