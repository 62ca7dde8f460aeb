"""Tables of models as journals print them, with a column for each statistic: heads by other names than gtsummary's."""

from __future__ import annotations

import re
from dataclasses import replace

from outrisk.readers import gtsummary
from outrisk.readers.cells_of_models import plain, whole
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.heads_of_columns import bare, beside, over_several
from outrisk.readers.level_of_limits import level_said
from outrisk.readers.named_models import as_said
from outrisk.readers.printed_tables import PrintedTable, is_number, without_span
from outrisk.readers.source import Grid, Source

_HEADS = (  # of a column, in small letters -> what gtsummary calls it, the first that fits
    (r"odds ratios?", "OR"),
    (r"hazards? ratios?", "HR"),
    (r"incidence[ -]rate ratios?", "IRR"),
    (r"(?:risk|rate) ratios?|relative risks?", "RR"),
    (r"prevalence ratios?", "PR"),
    (r"log[ -]?odds", "log(OR)"),
    (r"exp ?\(b\)|exp ?\(beta\)|exp ?\(coef\.?\)", "exp(Beta)"),
    (r"est\.?|(?:parameter )?estimates?|coeff?s?\.?|coefficients?|b|β|beta|unstandardi[sz]ed b", "estimate"),
)
_ADJUSTED = re.compile(
    r"^(?:adjusted|adj\.?|unadjusted|crude|univaria\w+|multivaria\w+|[ac](?=(?:or|hr|irr|rr|pr)\b))\s*"
)
_FITS = {
    "observations": "No. Obs.",
    "n": "No. Obs.",
    "no. of observations": "No. Obs.",
    "number of observations": "No. Obs.",
    "r2": "R²",
    "r-squared": "R²",
    "log likelihood": "Log-likelihood",
}
_MOST_HEADS = 6


def in_columns(grid: Grid) -> Grid | None:
    """The table with gtsummary's heads; None of one whose heads are no statistics of a regression."""
    grid = whole(grid)
    for number, row in enumerate(grid[:_MOST_HEADS]):
        if number and not row[0]:  # a second line of heads, below some of the first
            row = [cell or above for cell, above in zip(row, grid[number - 1], strict=True)]
        heads = _heads(row)
        for at in range(1, len(heads) - 1):
            if heads[at : at + 2] == ["upper", "lower"]:
                return in_columns([[*each[:at], each[at + 1], each[at], *each[at + 2 :]] for each in grid])
        pairs = [at for at in range(1, len(heads) - 1) if _are_limits(heads[at : at + 2], at, grid[number + 1 :])]
        if pairs:
            kept = [at for at in range(len(row)) if at - 1 not in pairs]
            above = {
                at: _limits_of([cell for each in grid[: number + 1] for cell in each[at : at + 2]]) for at in pairs
            }
            named = [above.get(at, row[at]) for at in kept]
            lines = [["" if _head(each[at]) else each[at] for at in kept] for each in grid[:number]]
            return in_columns([*lines, named, *(_joined(each, pairs) for each in grid[number + 1 :])])
        estimates = [head for head in heads[1:] if head and re.match(r"OR|HR|I?RR|PR|log|exp|estimate", head)]
        others = [head for head in heads[1:] if head and re.search(r"SE|ci|% CI|p-value|statistic", head)]
        if estimates and others and not over_several(grid, number):
            standard = any(
                re.fullmatch(r"beta|β|standardi[sz]ed .*", bare(cell)) and head != "estimate"
                for cell, head in zip(row[1:], heads[1:], strict=True)
            )
            if standard and "estimate" not in estimates:
                return None
            named = [
                "label" if any(head.startswith("estimate") for head in heads) else "Characteristic",
                *(c if h in ("", "statistic") else h for h, c in zip(heads[1:], row[1:], strict=True)),
            ]
            if standard:
                named = [f"({cell})" if re.fullmatch(r"(?i)beta|β", cell) else cell for cell in named]
            made = [*grid[:number], named, *map(_body, grid[number + 1 :])]
            return made if gtsummary.has_head(made) else None
    return None


def _joined(row: list[str], pairs: list[int]) -> list[str]:
    """A row whose lower and upper limits stand in one cell."""
    found = list[str]()
    for at, cell in enumerate(row):
        if at in pairs:
            found.append(f"{cell} to {row[at + 1]}" if cell or row[at + 1] else "")
        elif at - 1 not in pairs:
            found.append(cell)
    return found


def read_columns(source: Source, table: PrintedTable, grid: Grid, model: int | None) -> Coefficients:
    """The regression of a table whose heads are gtsummary's."""
    found = gtsummary.read(replace(source, chosen=replace(table, grid=grid)), model)
    heads = (cell for row in table.grid[:_MOST_HEADS] for cell in row if _head(cell))
    return in_document(as_said(found, table.caption, " . ".join((_said(table), *heads)), source.name), table)


def in_document(found: Coefficients, table: PrintedTable) -> Coefficients:
    """A regression with the level of limits that the words about its table say, without standard errors beside ratios,
    which may be of b or of exp(b).
    """
    if found.level is None:
        found = replace(found, level=level_said(_said(table)))
    parts = {part for _, texts in found.rows for part in texts}
    if found.exponentiated and "standard_errors" in parts:
        rows = tuple((name, {k: v for k, v in texts.items() if k != "standard_errors"}) for name, texts in found.rows)
        return replace(found, rows=rows, unread=(*found.unread, "standard errors beside ratios, of b or of exp(b)"))
    return found


def _said(table: PrintedTable) -> str:
    return " ".join((table.caption, *table.notes))


def _heads(row: list[str]) -> list[str]:
    """What gtsummary calls columns: β is an estimate where no other column is."""
    heads = [(_head(cell), bare(cell).startswith(("β", "beta"))) for cell in row]
    other = any(head.startswith("estimate") and not beta for head, beta in heads)
    return ["" if beta and other else head for head, beta in heads]


def _limits_of(heads: list[str]) -> str:
    """The head of a column that both limits get, with the level that one of the heads above says."""
    level = re.search(r"(\d\d(?:[.,]\d+)?) ?%", " ".join(heads))
    return f"{level[1]}% CI" if level else "CI"


def _of_limits(head: str) -> bool:
    return head == "ci" or head.endswith("% CI")


def _are_limits(heads: list[str], at: int, rows: Grid) -> bool:
    """Whether a column and the next one have lower and upper limits: by their heads, or below one head of limits."""
    if heads == ["lower", "upper"]:
        return True
    both = [row[at : at + 2] for row in rows if row[at] and row[at + 1]]
    return (
        _of_limits(heads[0]) and not heads[1] and bool(both) and all(map(is_number, (c for pair in both for c in pair)))
    )


def _head(cell: str) -> str:
    """What gtsummary calls a column; '' of one that is not known."""
    text = _ADJUSTED.sub("", bare(cell)) or bare(cell)
    if name := beside(text):
        return name
    if both := re.fullmatch(r"(.+?)\s*([(\[][^()\[\]]+[)\]])", text):
        outer, inner = _one(both[1]), beside(both[2])
        if outer and (inner in ("SE", "ci") or inner.endswith("% CI")):
            return f"{outer} ({inner})"
    return _one(text)


def _one(text: str) -> str:
    text = _ADJUSTED.sub("", text) or text
    if text in ("or", "hr", "irr", "rr", "pr"):
        return text.upper()
    return next((name for words, name in _HEADS if re.fullmatch(words, text)), "")


def _body(row: list[str]) -> list[str]:
    called = plain(row[0]).casefold().rstrip(":")
    if called == "r² / r² adjusted":  # of sjPlot, whose second is told by the first and n
        return ["R²", *(without_span(cell).partition(" / ")[0] for cell in row[1:])]
    name = _FITS.get(called, "")
    if not name:
        return row
    return [name, *(without_span(cell) for cell in row[1:])]
