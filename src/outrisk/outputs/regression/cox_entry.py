"""Cox models in a study file."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.regression.cox import Cox
from outrisk.outputs.regression.hazards import Ties
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.outputs.smooth import derivatives as smooth

_SURV = re.compile(r"\s*Surv\(\s*(`[^`]+`|[\w.]+)\s*,\s*([\w.]+)\s*\)\s*~\s*(.+)", re.DOTALL)


class CoxEntry(FormulaEntry):
    """A Cox model in a study file: a formula with the time as its response (or Surv(time, status)), or response and
    terms; who has the event; and what is released of it.
    """

    positional: ClassVar[tuple[str, ...]] = ("formula", "status")

    kind: Literal["cox"]
    status: str = ""
    strata: smooth.Names = ()
    ties: Ties = "efron"

    @model_validator(mode="before")
    @classmethod
    def _of_surv(cls, given: Any) -> Any:
        """Surv(time, status) on the left, as R writes it, is the time on the left and a status."""
        formula = given.get("formula") if isinstance(given, dict) else None
        found = _SURV.fullmatch(formula) if isinstance(formula, str) else None
        if found is None:
            return given
        time, status, rest = found.groups()
        if given.get("status", status) != status:
            raise ValueError(f"status: {given['status']!r}, but the formula has Surv({time}, {status}); keep one")
        return given | {"formula": f"{time} ~ {rest}", "status": status}

    def _built(self, codebook: Codebook, name: str, formula: str) -> Cox:
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
