"""Linear mixed models in a study file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.regression.mixed import built
from outrisk.outputs.regression.random_intercept import Method
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.outputs.regression.variance_numbers import MixedProgram

_WITHOUT = ("response", "terms", "reference", "event")


class MixedEntry(FormulaEntry):
    """A linear model with a random intercept in a study file: a formula, whose groups are behind a bar in it or beside
    it, how it was fitted and by which program; and what is released of it.
    """

    positional: ClassVar[tuple[str, ...]] = ("formula", "groups")

    kind: Literal["mixed"]
    groups: str = ""
    method: Method | Literal[""] = ""
    program: MixedProgram = "lme4"

    def build(self, codebook: Codebook, position: int) -> Sequence[Any]:
        """The output of this entry."""
        name = self.name or f"{self.kind} {position}"
        unused = next((key for key in _WITHOUT if getattr(self, key)), "")
        if unused or not self.formula:
            said = f"'{unused}' does not go with a mixed model; " if unused else ""
            raise OutputError(f"output '{name}': {said}write a formula, as in score ~ age + (1 | school)")
        options = {"release": self._released, "where": self.where, "method": self.method, "program": self.program}
        return [built(codebook, name, self.formula, self.groups, **options, keep=self.keep)]
