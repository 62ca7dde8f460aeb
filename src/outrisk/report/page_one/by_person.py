"""People: of how many the target is inferred rightly run after run, in the data and out of it."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import PeopleCount
from outrisk.report.compose import Section, asset

_ROWS = 5


def content(results: Results) -> dict[str, Any] | None:
    """Counts at the level that the verdict rests on; None for a run directory without them."""
    rows = people_shown(results)
    if not rows:
        return None
    counted = "Records" if results.risk.whose else "People"
    held = bool(rows[0].people_holdout)
    return {"rows": rows[:_ROWS], "held": held, "target": results.risk.wanted, "counted": counted}


def people_shown(results: Results) -> list[PeopleCount]:
    """Whom the synthetic data leave no doubt about, group by group."""
    basis = results.decision.basis if results.decision else None
    level = basis.level if basis else results.shown_level
    return [row for row in results.people if row.level == level and row.inference == "certain" and row.people_original]


SECTION = Section("people", "People", content, asset("one/people.html"))
