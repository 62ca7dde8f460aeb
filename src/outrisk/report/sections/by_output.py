"""Which output does it: what each adds, and which variables each is about."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import Contribution
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_MEANING = {
    "together": "all outputs together",
    "emerges": "what emerges: all together less the sum of each alone",
    "new outputs add": "all new outputs, added to what is already released",
}
_COLUMNS = {"alone": "Alone", "adds": "Adds to the others", "share": "Shapley share"}
_MOST = 40


def content(results: Results) -> dict[str, Any] | None:
    """Tables by measure and place, and the matrix of outputs by variables; None where there is neither."""
    rows = results.contributions
    matrix = [output for output in results.risk.outputs if output.variables]
    if not rows and len(matrix) < 2:
        return None
    names = dict.fromkeys(name for output in matrix for name in output.variables)
    return {
        "tables": [_table(rows, place) for place in dict.fromkeys((r.measure, r.over, r.keys) for r in rows)],
        "columns": [name for what, name in _COLUMNS.items() if any(row.what == what for row in rows)],
        "marked": not all(row.reproduced for row in rows if row.what in {*_COLUMNS, *_MEANING}),
        "variables": sorted(names),
        "matrix": matrix[:_MOST],
        "left_out": len(matrix) - _MOST,
        "roles": {"keys": set(results.risk.keys), "target": results.risk.target},
    }


def _table(rows: list[Contribution], place: tuple[str, str, str]) -> dict[str, Any]:
    here = [row for row in rows if (row.measure, row.over, row.keys) == place]
    measure, over, keys = place
    outputs = dict.fromkeys(row.output for row in here if row.output)
    at = {(row.output, row.what): row for row in here}
    return {
        "caption": f"{formats.first_capital(measure)}, {over}" + (f" ({', '.join(keys.split('+'))})" if keys else ""),
        "all": [(_MEANING[row.what], row) for row in here if not row.output],
        "rows": [(name, [at[name, what] for what in _COLUMNS if (name, what) in at]) for name in outputs],
    }


SECTION = Section("contributions", "Which output does it", content, asset("study/by_output.html"))
