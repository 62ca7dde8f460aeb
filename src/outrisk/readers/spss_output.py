"""Regressions out of SPSS and PSPP as CSV: variables in the equation (B, S.E., Wald, Sig., Exp(B)), coefficients, and
the parameter estimates of a multinomial logit; alone or among the other tables of an output."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from outrisk.errors import OutputError
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Grid, Source
from outrisk.readers.spss_tables import titled_tables
from outrisk.readers.term_names import CONSTANTS

_COLUMNS = {
    "b": "coefficients",
    "s.e.": "standard_errors",
    "se": "standard_errors",
    "std. error": "standard_errors",
    "standardfehler": "standard_errors",
    "sig.": "p_values",
    "sig": "p_values",
    **dict.fromkeys(("p", "p-value", "p value", "p.value"), "p_values"),
}
_FOLLOWING = {"", "df", "wald", "t", "exp(b)", "lower", "upper", "lower bound", "upper bound"}
_LIMITS = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*% (?:c\.i\.|confidence interval|konfidenzintervall) ?(?:for|für) ?(exp\(b\)|b)"
)
_UNREAD = {  # tables beside coefficients, by their title
    "model summary": "the model summary",
    "anova": "the analysis of variance",
    "classification table": "the classification table",
    "omnibus tests of model coefficients": "omnibus tests",
    "hosmer and lemeshow test": "the test of Hosmer and Lemeshow",
    "model fitting information": "the model fitting information",
    "pseudo r-square": "pseudo R-squares",
    "descriptive statistics": "descriptive statistics",
}
_LEVEL = re.compile(r"\[([^\[\]=]+)=([^\[\]]*)\]")  # of a factor, as NOMREG names it
_BASE = re.compile(r"(?i)(?:reference category is|Referenzkategorie (?:lautet|ist)):?\s*(.+?)\.?")


def recognises(source: Source) -> bool:
    """Whether it has a header with B and its standard error."""
    return source.delimited and any(_header(grid) is not None for _, grid in titled_tables(source.grid))


def read(source: Source, model: int | None = None) -> Coefficients:
    """Coefficients by name; contrasts such as sex(1) are counted, the last level being the reference."""
    tables = titled_tables(source.grid)
    found = [grid for _, grid in tables if _header(grid) is not None]
    if model is None and len(found) > 1:
        raise OutputError(
            f"{source.name}: it has {len(found)} models; say which one behind the file's name, as in '...#1'"
        )
    if not 1 <= (model or 1) <= len(found):
        raise OutputError(f"{source.name}: it has {len(found)} models, and no model {model}")
    table = _read(found[(model or 1) - 1], source)
    beside = [what for title, _ in tables for name, what in _UNREAD.items() if title.casefold().startswith(name)]
    return replace(table, unread=(*table.unread, *dict.fromkeys(beside)))


def _read(grid: Grid, source: Source) -> Coefficients:
    at = _header(grid)
    assert at is not None
    header = [cell.casefold() for cell in grid[at]]
    if at:  # where headers stand over each other, the lower may have none for t and Sig.
        header = [cell or above.casefold() for cell, above in zip(header, grid[at - 1], strict=True)]
    places = {part: number for number, cell in enumerate(header) for part in [_COLUMNS.get(cell)] if part}
    if any(_LEVEL.search(cell) or cell.casefold() == "intercept" for row in grid[at + 1 :] for cell in row[:2]):
        return _several(grid, at, places, source)
    rows, limits = [], _places_of_limits(grid, at)
    for row in grid[at + 1 :]:
        names = [
            cell for cell in row[: places["coefficients"]] if cell and not re.match(r"(?i)(step|schritt) ?\d", cell)
        ]
        if not names or read_printed(row[places["coefficients"]], source.comma) is None:
            continue  # the test of a whole category, or a footnote
        name = re.sub(r"^\d+$", "", names[-1]) or names[0]
        texts = {part: row[number] for part, number in places.items()}
        rows.append((name, texts | _limits(row, limits, source.comma)))
    if not rows:
        raise OutputError(f"{source.name}: it has a header and no coefficients")
    ratios = "wald" in header and any(cell.startswith("exp(b") for cell in header)
    constant = any(name.casefold() in {*CONSTANTS, "konstante"} for name, _ in rows)
    # without a constant it may be of COXREG, whose table has the same columns, and which takes ties as Breslow does
    kind, ties = ("logit", "") if ratios and constant else ("", "breslow" if ratios else "")
    return Coefficients(
        tuple(rows),
        kind=kind,
        comma=source.comma,
        ties=ties,
        level=limits.level if limits else 0.95,
        unread=_passed(grid, at),
    )


class _Limits(NamedTuple):
    """Columns of both limits, of B or of exp(B), and their level."""

    lower: int
    upper: int
    ratios: bool
    level: float


def _places_of_limits(grid: Grid, at: int) -> _Limits | None:
    """Where the confidence limits of a table are, whose head spans two columns, the sides below it."""
    for row in grid[max(at - 1, 0) : at + 1]:
        for place, cell in enumerate(row[:-1]):
            found = _LIMITS.match(" ".join(cell.casefold().split()))
            if found:
                return _Limits(place, place + 1, found[2] != "b", float(found[1].replace(",", ".")) / 100)
    return None


def _limits(row: Sequence[str], limits: _Limits | None, comma: bool) -> dict[str, str]:
    """Texts of both limits of b; of those of exp(b) their logarithms, as ranges."""
    if limits is None:
        return {}
    cells = {"lower": row[limits.lower], "upper": row[limits.upper]}
    if not limits.ratios:
        return {side: cell or "withheld" for side, cell in cells.items()}
    found = {side: read_printed(cell, comma) for side, cell in cells.items()}
    return {
        side: "withheld"
        if each is None or each.value <= each.half
        else f"{math.log(each.value - each.half):.9g} to {math.log(each.value + each.half):.9g}"
        for side, each in found.items()
    }


def _passed(grid: Grid, at: int) -> tuple[str, ...]:
    """Columns that are passed over and tell more than what is read, in words."""
    head = {" ".join(cell.casefold().split()) for row in grid[max(at - 1, 0) : at + 1] for cell in row}
    of_ratio = ("Exp(B), which may show more digits of B than B",) if "exp(b)" in head else ()
    known = {*_COLUMNS, *_FOLLOWING, "unstandardized coefficients", "standardized coefficients"}
    others = sorted(cell for cell in head - known if not _LIMITS.match(cell))
    return (*of_ratio, *(f"the column '{cell}'" for cell in others))


def _several(grid: Grid, at: int, places: dict[str, int], source: Source) -> Coefficients:
    """Equations below each other, as NOMREG has them: an outcome, then its terms; those set to zero are the bases."""
    rows, outcomes, bases = list[tuple[str, dict[str, str]]](), list[str](), dict[str, None]()
    outcome = ""
    for row in grid[at + 1 :]:
        outcome = row[0] if row[1] and row[0] else outcome
        name = _LEVEL.sub(r"\1=\2", row[1])
        if not outcome or not name:
            continue
        if re.fullmatch(r"0\s*[a-z]?", row[places["coefficients"]]):
            bases.setdefault(name)
        elif read_printed(row[places["coefficients"]], source.comma) is not None:
            rows.append((name, {part: row[number] for part, number in places.items()}))
            outcomes.append(outcome)
    if not rows:
        raise OutputError(f"{source.name}: it has a header and no coefficients")
    said = next((found for row in grid for cell in row if (found := _BASE.search(cell))), None)
    return Coefficients(
        tuple(rows),
        bases=tuple(bases),
        comma=source.comma,
        kind="mnlogit",
        outcomes=tuple(outcomes),
        base="" if said is None else said.string[said.start(1) :].rstrip(". "),
    )


def _header(grid: Grid) -> int | None:
    def is_header(row: Sequence[str]) -> bool:
        cells = {cell.casefold() for cell in row}
        return "b" in cells and any(_COLUMNS.get(cell) == "standard_errors" for cell in cells)

    return next((number for number, row in enumerate(grid[:10]) if is_header(row)), None)
