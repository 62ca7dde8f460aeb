"""Families of measures: each gives the same result rows for tables under one coding. A new family: a file, a line."""

from __future__ import annotations

from collections.abc import Callable

from outrisk.errors import RiskError
from outrisk.risk.coding.classes import Coding
from outrisk.risk.families import of_attacks, of_attribution, of_cap, of_privacy, of_synthpop
from outrisk.risk.families.question import Family, Question
from outrisk.risk.rows import Row

__all__ = ["BUILT_IN", "FAMILIES", "Family", "Question", "measure", "register", "rows_of"]

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (of_attribution.FAMILY, of_synthpop.FAMILY, of_cap.FAMILY, of_attacks.FAMILY, of_privacy.FAMILY)
}
BUILT_IN = tuple(FAMILIES)


def register(family: Family) -> None:
    """Add a family of your own: studies and `outrisk measure` show it from then on; RiskError for a taken name."""
    if family.name in FAMILIES:
        raise RiskError(f"family {family.name!r} is there already; known: {list(FAMILIES)}")
    FAMILIES[family.name] = family


def measure(coding: Coding, question: Question, halted: Callable[[], bool] = lambda: False) -> list[Row]:
    """Rows of all families, in their order; of fewer where `halted` says so."""
    return [row for family in list(FAMILIES.values()) if not halted() for row in rows_of(family, coding, question)]


def rows_of(family: Family, coding: Coding, question: Question) -> list[Row]:
    """Rows of one family; where it is not defined on the data, each of its measures with the reason."""
    try:
        return list(family.rows(coding, question))
    except RiskError as error:
        return [
            Row(family=family.name, measure=name, target=question.target, reason="failed", detail=str(error))
            for name in family.measures(question)
        ]
