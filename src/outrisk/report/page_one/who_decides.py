"""Who decides, what the page does not say, and what stands beside it."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_FILES = ("decision.md", "decision.json", "findings.csv", "people.csv", "marginal.csv", "contributions.csv")
_TABLES = ("matched.csv", "risk.csv", "differencing.csv", "over_runs.csv")
_INTRUDERS, _WORDS = 2, 40  # sentences on other intruders, and words of each
_KNOWS = {"codebook": "the released numbers and the codebook", "register": "also everybody's keys"}


def content(results: Results) -> dict[str, Any]:
    """The files that are there, and what was assumed of an intruder."""
    intruders = results.decision.intruders if results.decision else ()
    held = results.decision.held_against if results.decision else None
    return {
        "risk": results.risk,
        "held": held,
        "knows": _KNOWS.get(held.intruder, held.intruder) if held else "",
        "intruders": [said for each in intruders[:_INTRUDERS] if (said := formats.sentences(each, _WORDS))],
        "files": [name for name in (*_FILES, *_TABLES) if (results.directory / name).exists()],
    }


SECTION = Section("decision", "Who decides", content, asset("one/decides.html"))
