"""A table by Stata's `esttab` as CSV: a column a model, and what stands in brackets below."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from outrisk.errors import OutputError
from outrisk.readers.cells_of_models import ends_of, with_brackets
from outrisk.readers.coefficients import Coefficients, unread
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Source

_SINGLE = {
    "n": "n",
    "observations": "n",
    "ll": "log_likelihood",
    "log likelihood": "log_likelihood",
    "r2": "r2",
    "r-squared": "r2",
    "r-sq": "r2",
    "r2_p": "pseudo_r2",
    "pseudo r-squared": "pseudo_r2",
    "pseudo r-sq": "pseudo_r2",
    "pseudo r2": "pseudo_r2",
}
_SECOND = {  # what a note says of the numbers in brackets -> the part; a statistic tells the standard error
    "standard errors in": "standard_errors",
    "p-values in": "p_values",
    "t statistics in": "statistic",
    "z statistics in": "statistic",
    "t-statistics in": "statistic",
    "z-statistics in": "statistic",
    "confidence intervals in": "limits",
}
_WITHHELD = "withheld"
_SHAPE = re.compile(r"cut\d+|lnalpha")
_OTHERS = {"aic", "bic", "chi2", "f", "r2_a", "adj. r-squared", "adj. r-sq", "df_m", "p", "rank", "rmse"}


def recognises(source: Source) -> bool:
    """Whether it has cells under model numbers such as (1)."""
    if not source.delimited or not any(re.fullmatch(r"\(\d+\)", _bare(cell)) for cell in source.grid[0][1:]):
        return False
    return not any(with_brackets(_bare(cell))[1] for row in source.grid[1:] for cell in row[1:])


def _bare(cell: str) -> str:
    """A cell without what esttab wraps it in: =\"...\"."""
    return cell.strip().removeprefix("=").strip().strip('"').strip()


def read(source: Source, model: int | None = None) -> Coefficients:
    """The regression; `model` is its number where there are several."""
    grid = [[_bare(cell) for cell in row] for row in source.grid]
    models = [number for number, cell in enumerate(grid[0]) if re.fullmatch(r"\(\d+\)", cell)]
    if model is None and len(models) > 1:
        raise OutputError(
            f"{source.name}: it has {len(models)} models; say which one behind the file's name, as in "
            f"'{source.first_model}' for {grid[0][models[0]]}"
        )
    if model is not None and not 1 <= model <= len(models):
        raise OutputError(f"{source.name}: no model {model}; it has {len(models)}")
    at = models[(model or 1) - 1]
    lines = () if source.chosen is None else source.chosen.notes
    notes = " ".join((*(" ".join(row) for row in grid if _is_note(row)), *lines)).casefold()
    second = next((part for words, part in _SECOND.items() if words in notes), "")
    other = re.search(r"standardized beta|marginal effects|elasticities", notes)
    if other:
        raise OutputError(f"{source.name}: its estimates are {other[0]} coefficients, which no output has; write b")
    body = [row for row in grid[1:] if not _is_note(row)]
    if not body:
        raise OutputError(f"{source.name}: it has a header and no coefficients")
    head = body[0][0].casefold() in ("", "variables") and not _brackets(body[0][at])  # outreg2 names that row
    response = body[0][at] if head else ""
    body = body[1:] if head and body[0][0] else body
    columns = _columns(body, models, at)
    wide = len(columns) == 1 and at + 1 < min([each for each in models if each > at], default=len(grid[0]))
    ratios = "exponentiated" in notes
    found = _Equations(second, len(columns) > 1, ratios)
    for place, outcome in columns:
        found.outcome = outcome
        for row, after in zip(body, [*body[1:], [""] * len(grid[0])], strict=True):
            below = after[place] if not after[0] and _brackets(after[place]) else ""
            found.take(row, place, row[place + 1] if wide and _brackets(row[place + 1]) else below)
    if not found.rows:
        raise OutputError(f"{source.name}: it has no coefficients")
    of_shape = next((name for _, name, _ in found.rows if name.startswith("/")), "")
    if ratios and of_shape:
        raise OutputError(
            f"{source.name}: whether '{of_shape}' is exponentiated as well, it does not say; write the table without "
            "eform, or take it and its like out"
        )
    numbers = [read_printed(texts["coefficients"], source.comma) for _, _, texts in found.rows]
    above = not ratios and all(number is not None and number.value > 0 for number in numbers)
    unread_too = ["what stands in brackets, as no note says what it is"] if found.passed else []
    level = re.search(r"(\d+(?:\.\d+)?)% confidence", notes)
    outcomes, base = found.outcomes_and_base()
    return Coefficients(
        tuple((name, texts) for _, name, texts in found.rows),
        found.reference_levels(base),
        found.single,
        exponentiated=ratios,
        errors_of_ratios=(ratios or above) and second == "standard_errors",
        open_scale=above,
        level=float(level[1]) / 100 if level else 0.95,
        response="" if " " in response else response,
        own_digits=True,
        robust="robust" if "robust standard errors in" in notes else "",
        comma=source.comma,
        ordered=of_shape.startswith("/cut"),
        outcomes=outcomes,
        base=base,
        unread=(*unread(found.others, found.single), *unread_too),
    )


@dataclass
class _Equations:
    """Rows of a table by esttab, (outcome, name, texts), as they are met.

    `second`: what is in brackets; `apart`: each equation has a column of its own; `ratios`: estimates are exp(b).
    passed: whether brackets were met that nothing explains.
    """

    second: str
    apart: bool
    ratios: bool = False
    passed: bool = False
    outcome: str = ""
    rows: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    bases: list[tuple[str, str]] = field(default_factory=list)
    single: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)

    def take(self, row: Sequence[str], at: int, below: str) -> None:
        """Take a row with its cell in the column `at`, and what stands below it in brackets."""
        name, cell = row[0], row[at]
        if name and not any(row[1:]) and not self.apart:
            self.outcome = name  # an equation's name stands alone in its row
        name = self.of_shape(name)
        if name.casefold() in _OTHERS and cell:
            self.others.append(name)
            return
        if not name or not cell:
            return
        if name.casefold() in _SINGLE:
            self.single[_SINGLE[name.casefold()]] = cell
            return
        value = read_printed(cell)
        if re.match(r"\d+b", name) or (value is not None and value.value == 0 and below.strip("()[] ") in (".", "")):
            self.bases.append((self.outcome, name))
        else:
            self.passed |= bool(below) and not self.second
            self.rows.append((self.outcome, name, {"coefficients": cell} | self.in_brackets(cell, below)))

    def in_brackets(self, cell: str, below: str) -> dict[str, str]:
        """Texts by part of what is in brackets; a statistic as the standard error that it tells."""
        if not below or not self.second:
            return {}
        if self.second == "statistic":
            return {"standard_errors": _error_of(cell, below, self.ratios)}
        if self.second == "limits":
            ends = ends_of(below) or tuple(below.strip("[]() ").split(","))
            return {"lower": ends[0], "upper": ends[1]} if len(ends) == 2 else {}
        return {self.second: below}

    def of_shape(self, name: str) -> str:
        """The name of a row; of a threshold or a dispersion, which have equations of their own, as a log has it."""
        if self.outcome == "/" and _SHAPE.fullmatch(name):
            return f"/{name}"
        return f"/{self.outcome}" if _SHAPE.fullmatch(self.outcome) and name == "_cons" else name

    def reference_levels(self, base: str) -> tuple[str, ...]:
        """Levels whose coefficient is 0, outside the equation of the base."""
        kept = [name for outcome, name in self.bases if not base or outcome != base]
        return tuple(dict.fromkeys(name for name in kept if not re.match(r"\d*o\.", name)))

    def outcomes_and_base(self) -> tuple[tuple[str, ...], str]:
        """The outcome of each row, where there are several; the base is one whose equation is nothing but zeros."""
        outcomes = [outcome for outcome, _, _ in self.rows]
        if len({outcome for outcome, name, _ in self.rows if not name.startswith("/")}) < 2:
            return (), ""
        empty = [outcome for outcome, _ in self.bases if outcome not in outcomes]
        return tuple(outcomes), empty[0] if empty else ""


def _error_of(cell: str, below: str, ratios: bool) -> str:
    """The standard error of b that an estimate and its statistic tell, as a range; withheld where both may be 0."""
    estimate, statistic = read_printed(cell), read_printed(below)
    if estimate is None or statistic is None or abs(statistic.value) <= statistic.half:
        return _WITHHELD
    ends = [estimate.value - estimate.half, estimate.value + estimate.half]
    if ratios:
        if ends[0] <= 0:
            return _WITHHELD
        ends = [math.log(end) for end in ends]
    least = 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends))
    low = least / (abs(statistic.value) + statistic.half)
    high = max(map(abs, ends)) / (abs(statistic.value) - statistic.half)
    return f"{low:.8f} to {high + 1e-8:.8f}"


def _columns(body: Sequence[Sequence[str]], models: Sequence[int], at: int) -> list[tuple[int, str]]:
    """The columns of a model, with the outcome where each is an equation (esttab, unstack)."""
    end = next((each for each in models if each > at), len(body[0]))
    named = body[1] if len(body) > 1 and not body[1][0] and not any(map(_brackets, body[1][1:])) else []
    if end - at > 1 and named and all(named[at:end]):
        return [(column, named[column]) for column in range(at, end)]
    return [(at, "")]


def _brackets(cell: str) -> bool:
    return bool(re.fullmatch(r"[\[(].*[\])]", cell))


def _is_note(row: Sequence[str]) -> bool:
    """Whether a row is text below the table."""
    text = row[0].casefold()
    return not any(row[1:]) and bool(
        re.search(r"in (parentheses|brackets)|\bp\s*<|exponentiated|standardized beta|marginal effects", text)
    )
