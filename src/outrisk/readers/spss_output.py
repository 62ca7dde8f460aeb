"""Regressions out of SPSS as CSV: variables in the equation (B, S.E., Wald, Sig., Exp(B)), or coefficients."""

from __future__ import annotations

import re
from collections.abc import Sequence

from outrisk.errors import OutputError
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Source

_COLUMNS = {
    "b": "coefficients",
    "s.e.": "standard_errors",
    "std. error": "standard_errors",
    "standardfehler": "standard_errors",
    "sig.": "p_values",
    "sig": "p_values",
}


def recognises(source: Source) -> bool:
    """Whether it has a header with B and its standard error."""
    return source.delimited and _header(source) is not None


def read(source: Source, model: int | None = None) -> Coefficients:
    """Coefficients by name; contrasts such as sex(1) are counted, the last level being the reference."""
    at = _header(source)
    assert at is not None
    header = [cell.casefold() for cell in source.grid[at]]
    places = {part: number for number, cell in enumerate(header) for part in [_COLUMNS.get(cell)] if part}
    rows = []
    for row in source.grid[at + 1 :]:
        names = [
            cell for cell in row[: places["coefficients"]] if cell and not re.match(r"(?i)(step|schritt) ?\d", cell)
        ]
        if not names or read_printed(row[places["coefficients"]], source.comma) is None:
            continue  # the test of a whole category, or a footnote
        name = re.sub(r"^\d+$", "", names[-1]) or names[0]
        rows.append((name, {part: row[number] for part, number in places.items()}))
    if not rows:
        raise OutputError(f"{source.name}: it has a header and no coefficients")
    kind = "logit" if "wald" in header and any(cell.startswith("exp(b") for cell in header) else ""
    return Coefficients(tuple(rows), kind=kind, comma=source.comma)


def _header(source: Source) -> int | None:
    def is_header(row: Sequence[str]) -> bool:
        cells = {cell.casefold() for cell in row}
        return "b" in cells and bool({"s.e.", "std. error", "standardfehler"} & cells)

    return next((number for number, row in enumerate(source.grid[:10]) if is_header(row)), None)
