"""What the release proves to somebody who knows everybody's keys: counts of people, from certain.json."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report.compose import Section, asset

_ROWS = 12


def content(results: Results) -> dict[str, Any] | None:
    """The claims that are proved, by value and by the outputs that prove them; None for a run without the file."""
    found = results.certain
    if found is None:
        return None
    proofs = found.proofs[:_ROWS]
    return {
        "certain": found,
        "proved": found.proved > 0,
        "untold": found.state in ("skipped", "no data set fits"),
        "proofs": proofs,
        "left_out": len(found.proofs) - len(proofs),
        "not_told": found.proved - sum(each.people for each in found.proofs),
    }


SECTION = Section("certain", "What the release proves", content, asset("study/certain_values.html"))
