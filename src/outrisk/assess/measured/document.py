"""Disclosure measures of any original and synthetic data, as sections of tables: what `outrisk measure` shows.

A family of measures is one function of FAMILIES: it takes what was asked for and returns its sections. The sections
become a plain document, which is what JSON, terminal and HTML report are made from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from outrisk.assess.measured.families import (
    attack_sections,
    cap_sections,
    disclosure_sections,
    registered_sections,
    target_sections,
)
from outrisk.assess.measured.in_short import copies_of, copies_section, in_short
from outrisk.assess.measured.privacy_sections import privacy_sections
from outrisk.assess.measured.sections import Request, Section
from outrisk.errors import RiskError
from outrisk.risk.synthpop.options import RiskWarning

FAMILIES: tuple[Callable[[Request], Iterator[Section]], ...] = (
    disclosure_sections,
    target_sections,
    cap_sections,
    attack_sections,
    privacy_sections,
    registered_sections,
)


def sections(request: Request) -> list[Section]:
    """All sections asked for; RiskError where keys, target or data allow no measure."""
    if request.target in request.targets or len(set(request.targets)) < len(request.targets):
        raise RiskError(f"targets {[request.target, *request.targets]}: name each target once")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWarning)  # the notes say it
        return [section for family in FAMILIES for section in family(request)]


def complete(request: Request) -> dict[str, Any]:
    """What is to be told first and all sections, exact copies among them, as plain values."""
    copies, found = copies_of(request), sections(request)
    rows = [row for section in found for row in section.rows]
    told = {"in_short": in_short(request, copies, rows)}
    return told | document(request, [found[0], copies_section(request, copies), *found[1:]])


def document(request: Request, found: Sequence[Section]) -> dict[str, Any]:
    """The sections as plain values: tables as columns and rows; NaN stays NaN."""
    return {
        "keys": list(request.keys),
        "target": request.target,
        "targets": list(request.targets),
        "records": {
            "original": len(request.original),
            "synthetic": [len(table) for table in request.synthetic],
            "holdout": 0 if request.holdout is None else len(request.holdout),
        },
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "tables": [
                    {
                        "caption": table.caption,
                        "unit": table.unit,
                        "details": table.details,
                        "columns": [str(column) for column in table.frame.columns],
                        "rows": table.frame.to_numpy(dtype=object).tolist(),
                    }
                    for table in section.tables
                ],
                "notes": list(section.notes),
                "figure": section.figure,
                "details": section.details,
            }
            for section in found
        ],
    }
