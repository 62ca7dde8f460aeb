"""Cox models in a study file."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import model_validator

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.outputs.base import Names
from outrisk.outputs.regression.cox import Cox
from outrisk.outputs.regression.hazards import Ties
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.outputs.regression.surv import read_surv


class CoxEntry(FormulaEntry):
    """A Cox model in a study file: a formula with the time as its response (or Surv(time, status)), or response and
    terms; who has the event; and what is released of it.
    """

    positional: ClassVar[tuple[str, ...]] = ("formula", "status")

    kind: Literal["cox"]
    status: str = ""
    strata: Names = ()
    ties: Ties = "efron"

    @model_validator(mode="before")
    @classmethod
    def _of_surv(cls, given: Any) -> Any:
        """Surv(time, status) and strata(...), as R writes them, are the time on the left, a status and strata."""
        formula = given.get("formula") if isinstance(given, dict) else None
        found = read_surv(formula) if isinstance(formula, str) else None
        if found is None:
            return given
        said = {name: each for name, each in found._asdict().items() if name in ("status", "event", "strata") and each}
        for name in said.keys() & given.keys():
            other = given[name]
            written = tuple([other] if isinstance(other, str) else other) if name == "strata" else format_value(other)
            if written != said[name]:
                raise ValueError(f"{name}: {other!r}, but the formula {formula!r} has {said[name]!r}; keep one")
        return given | said | {"formula": f"{found.time} ~ {found.terms}"}

    def _built(self, codebook: Codebook, name: str, formula: str) -> Cox:
        if "Surv(" in self.formula:
            raise OutputError(
                f"output '{name}': formula {self.formula!r} cannot be read; Surv has a time and a status, as in "
                "Surv(months, died == 1)"
            )
        if "status" not in self.model_fields_set:
            raise OutputError(
                f"output '{name}': say with 'status' which variable tells who had the event; '' if nobody is censored"
            )
        return Cox(
            codebook,
            name,
            "cox",
            formula,
            self._released,
            self.where,
            self.event,
            status=self.status,
            strata=self.strata,
            ties=self.ties,
        )
