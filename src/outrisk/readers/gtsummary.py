"""Tables of models by R's `gtsummary`: a column of estimates, limits in one cell, levels below their variable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from outrisk.errors import OutputError
from outrisk.outputs.regression.release import Kind
from outrisk.readers.cells_of_models import (
    REFERENCE,
    are_uneven,
    comma_of,
    ends_of,
    p_value,
    plain,
    whole,
    with_brackets,
)
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.heads_of_columns import bare, beside, name_of_row, over_several
from outrisk.readers.named_models import response_named
from outrisk.readers.printed_number import read_printed
from outrisk.readers.remarks import remark
from outrisk.readers.source import Grid, Source

_COUNTS: tuple[Kind, ...] = ("poisson", "negbin")
_KINDS: dict[str, tuple[Kind, ...]] = {  # of which models an estimate is, by its header; () where that is open
    "or": ("logit", "ologit", "mnlogit"),
    "hr": ("cox",),
    "irr": _COUNTS,
    "rr": _COUNTS,
    "pr": _COUNTS,
    "beta": (),
}
_OPEN = "estimate"  # the name of the column where tables have no labels
_HEADS = {
    "n": "n",
    "stat_n": "n",
    "event n": "events",
    "stat_nevent": "events",
    "n_event": "events",
    "se": "standard_errors",
    "std.error": "standard_errors",
    "p-value": "p_values",
    "p.value": "p_values",
    "p": "p_values",
    "conf.low": "limits",
    "ci": "limits",
}
_LIMITS = re.compile(r"(\d\d(?:\.\d+)?) ?% ?(?![lu]c?l$)[a-z]{2,3}")
_BOTH = re.compile(r"(.+?) ?\((.+)\)")
_ADJUSTED = re.compile(r"(?:adjusted|adj\.?|unadjusted|crude|univariable|multivariable|[ac](?=(?:or|hr|irr|rr|pr)$)) ?")
_SINGLE = {"no. obs.": "n", "r²": "r2", "log-likelihood": "log_likelihood"}  # rows by add_glance_table
_OTHERS = {"adjusted r²", "aic", "bic", "σ", "deviance", "null deviance", "residual df", "null df", "df", "c-index"}


@dataclass(frozen=True)
class _Column:
    """What a column has: a part, its scale and models if it is of estimates, its level if it is of limits."""

    part: str
    behind: str = ""  # what stands in brackets in the same cell
    name: str = ""
    ratio: bool = False
    level: float | None = None


def recognises(source: Source) -> bool:
    """Whether a line of it heads estimates by OR, Beta and the like, beside limits or p-values."""
    if source.tables or source.chosen is not None:  # whose limits may have two columns, see `journal_columns`
        heads = [{beside(bare(cell)) for cell in row} for grid in _grids(source) for row in grid[:6]]
        if any({"lower", "upper"} <= row for row in heads):
            return False
    return any(_header(grid) is not None for grid in _grids(source))


def has_head(grid: Grid) -> bool:
    """Whether a line of a table heads estimates, and none above it heads several columns at once."""
    return _header(whole(grid)) is not None


def read(source: Source, model: int | None = None) -> Coefficients:
    """The regression; `model` is its number in a table by `tbl_merge`."""
    grid = next(grid for grid in _grids(source) if _header(grid) is not None)
    at = _header(grid)
    assert at is not None
    head = [_column(cell) for cell in grid[at]]
    if at + 1 == len(grid):
        raise OutputError(f"{source.name}: it has a header and no coefficients")
    _refuse_groups(grid[at], source.name)
    models = _models(head)
    if not models:
        raise OutputError(
            f"{source.name}: it has no column of estimates that is known; known are OR, HR, IRR, RR, PR, Beta, log(OR) "
            "and the like, exp(Beta); rename its header if it is one of these"
        )
    if model is None and len(models) > 1:
        named = (
            "the file's name, as in 'table.csv#1'"
            if source.chosen is None
            else f"the table, as in '{source.first_model}'"
        )
        say = f"say which one behind {named}"
        if source.name.endswith(("xlsx", "xlsm")):
            say = "save them as a CSV and say which one, as in 'table.csv#1'"
        raise OutputError(f"{source.name}: it has {len(models)} models; {say}")
    if not 1 <= (model or 1) <= len(models):
        raise OutputError(f"{source.name}: no model {model}; it has {len(models)}")
    columns = models[(model or 1) - 1]
    unknown = {
        place: plain(grid[at][place]) for place in range(1, len(head)) if head[place] is None and grid[at][place]
    }
    for place, cell in unknown.items():
        if any(ends_of(with_brackets(plain(row[place]))[1]) for row in grid[at + 1 :]):
            raise OutputError(
                f"{source.name}: the column '{cell}' has estimates with limits, and which it does not say; call it as "
                "in 'Adjusted OR (95% CI)'"
            )
    if unknown:
        remark(
            source.name,
            f"columns that are no part of a regression are passed over: {', '.join(dict.fromkeys(unknown.values()))}",
        )
    body = [[plain(cell) for cell in row] for row in grid[at + 1 :]]
    rows = [_row(row, columns, source.name) for row in body]
    heads = _above(grid[:at], next(place for place, each in columns.items() if each.part == "coefficients"))
    return replace(_coefficients(rows, columns, source.name), response=response_named(heads))


def _above(lines: Grid, at: int) -> list[str]:
    """What stands above the head of a column, also over several."""
    return [next((line[left] for left in range(at, 0, -1) if line[left]), "") for line in lines]


def _grids(source: Source) -> list[Grid]:
    return [whole(grid) for grid in (source.tables or [source.grid]) if grid]


def _header(grid: Grid) -> int | None:
    """The line that heads the columns, which others may span."""
    for number, row in enumerate(grid[:6]):
        if {"b", "beta"} <= {bare(cell) for cell in row}:
            return None  # where Beta is the standardized one
        parts = [column for cell in row[1:] if (column := _column(cell)) is not None]
        labelled = any(column.part == "coefficients" and column.name != _OPEN for column in parts)
        named = bare(row[0]) == "label" and any(column.name == _OPEN for column in parts)
        others = any(column.part in ("limits", "p_values", "standard_errors") or column.behind for column in parts)
        unknown = bare(row[0]) == "characteristic" and any(column.part == "limits" for column in parts)
        if (labelled and others) or named or unknown:
            return None if over_several(grid, number) else number
    return None


def _column(cell: str) -> _Column | None:
    """What a header says; None of one that is not known."""
    text = bare(cell)
    name = beside(text).casefold()
    limits = _LIMITS.fullmatch(text) or _LIMITS.fullmatch(name)
    if limits:
        return _Column("limits", level=float(limits[1]) / 100)
    if part := _HEADS.get(text) or _HEADS.get(name):
        return _Column(part)
    both = _BOTH.fullmatch(text)
    inner = _column(both[2]) if both and not text.startswith(("log(", "exp(")) else None
    if both and inner and inner.part in ("limits", "standard_errors"):
        outer = _column(both[1])
        if outer is not None and outer.part == "coefficients":
            return _Column("coefficients", inner.part, outer.name, outer.ratio, inner.level)
    name = _ADJUSTED.sub("", text) or text
    if name == _OPEN:
        return _Column("coefficients", name=_OPEN)
    found = re.fullmatch(r"(log|exp)\((.+)\)", name)
    name, ratio = (found[2], found[1] == "exp") if found else (name, name in _KINDS and name != "beta")
    return _Column("coefficients", name=name, ratio=ratio) if name in _KINDS else None


def _refuse_groups(head: Sequence[str], name: str) -> None:
    """OutputError of models below each other, or of equations."""
    if any(bare(cell) in ("group", "outcome", "groupname_col") for cell in head):
        raise OutputError(
            f"{name}: it has several tables below each other (tbl_stack, or the outcomes of a multinomial model); give "
            "each output its own file, and of a multinomial model what broom::tidy gives"
        )


def _models(head: Sequence[_Column | None]) -> list[dict[int, _Column]]:
    """Columns of each model by place: numbers of people stand before the estimates, all else behind them."""
    found: list[dict[int, _Column]] = [{}]
    for at, column in enumerate(head[1:], 1):
        if column is None:
            continue
        there = {each.part for each in found[-1].values()}
        if "coefficients" in there and column.part in ("n", "events", "coefficients"):
            found.append({})
        found[-1][at] = column
    return [columns for columns in found if any(each.part == "coefficients" for each in columns.values())]


def _row(row: Sequence[str], columns: Mapping[int, _Column], place: str) -> tuple[str, dict[str, str]]:
    """The label of a row, and its texts by part."""
    texts = dict[str, str]()
    for at, column in columns.items():
        cell = row[at]
        if column.behind and cell and not REFERENCE.fullmatch(cell):
            cell, behind = with_brackets(cell)
            _put(texts, column.behind, behind.strip("()[]") if behind else "", row[0], place)
        _put(texts, column.part, cell, row[0], place)
    if any(cell for at, cell in enumerate(row[1:], 1) if at not in columns):
        texts["elsewhere"] = "yes"
    return name_of_row(row[0]), texts


def _put(texts: dict[str, str], part: str, cell: str, label: str, place: str) -> None:
    """Take a cell into the texts of its row."""
    if not cell:
        return
    if part in ("coefficients", "limits") and REFERENCE.fullmatch(cell):
        texts["reference"] = cell
    elif part == "limits":
        ends = ends_of(cell)
        if ends is None:
            raise OutputError(f"{place}: the limits of '{label}' are {cell[:40]!r}, which are not two numbers")
        texts["lower"], texts["upper"] = ends
    elif not REFERENCE.fullmatch(cell):
        texts[part] = p_value(cell) if part == "p_values" else cell


def _coefficients(
    rows: Sequence[tuple[str, dict[str, str]]], columns: Mapping[int, _Column], place: str
) -> Coefficients:
    column = next(each for each in columns.values() if each.part == "coefficients")
    rows, single = _apart(rows)
    comma = comma_of([texts for _, texts in rows], column.ratio, place)
    single |= _people(rows, column.name, place)
    parts = {each.part for each in columns.values()} | {column.behind}
    kept = [(name, _one(texts, parts, column, comma)) for name, texts in rows]
    if any("p_values" in texts and "coefficients" not in texts for _, texts in kept):
        remark(place, "p values are not assessed: they are of whole variables (add_global_p)")
        kept = [(name, {part: text for part, text in texts.items() if part != "p_values"}) for name, texts in kept]
    filled = [texts for _, texts in kept if "coefficients" in texts]
    above = all(_value(texts["coefficients"], comma) > 0 for texts in filled)
    level = next((each.level for each in columns.values() if each.level), None)
    return Coefficients(
        tuple(kept),
        single=single,
        exponentiated=column.ratio,
        level=level,
        own_digits=True,
        profiled=column.name != _OPEN and are_uneven(filled, column.ratio, comma),
        perhaps_profiled=True,
        kinds=_KINDS.get(column.name, ()),
        comma=comma,
        expected=True,
        headed=True,
        open_scale=column.name == _OPEN and above,
    )


def _apart(rows: Sequence[tuple[str, dict[str, str]]]) -> tuple[list[tuple[str, dict[str, str]]], dict[str, str]]:
    """Rows of terms, and numbers of the model in the rows below them."""
    kept, single = list[tuple[str, dict[str, str]]](), dict[str, str]()
    for name, texts in rows:
        alone = "coefficients" in texts and not {"lower", "p_values", "standard_errors"} & set(texts)
        if alone and name.casefold() in _SINGLE:
            single[_SINGLE[name.casefold()]] = texts["coefficients"]
        elif name and not (alone and name.casefold() in _OTHERS):
            kept.append((name, texts))
    return kept, single


def _people(rows: Sequence[tuple[str, dict[str, str]]], name: str, place: str) -> dict[str, str]:
    """Numbers of records and events, where they are those of the model and not of its levels."""
    found = dict[str, str]()
    for part in ("n", "events"):
        there = list(dict.fromkeys(texts[part] for _, texts in rows if part in texts))
        empty = any("coefficients" not in texts for _, texts in rows)
        by_level = empty and all(part in texts for _, texts in rows if "coefficients" in texts)
        by_level = by_level or any({part, "reference"} <= {*texts} for _, texts in rows)
        if len(there) > 1 and not by_level:
            raise OutputError(
                f"{place}: its rows are of {', '.join(there[:5])} people ({part}), so of a model each "
                "(tbl_uvregression); give each variable an output with its rows in a file of their own"
            )
        if len(there) > 1:
            remark(place, f"numbers of people by level ({part}) are not assessed; give them as a table")
        elif there and part == "events" and name != "hr":
            remark(place, "the number of events is not assessed, as the model is none of times")
        elif there:
            found[part] = there[0]
    return found


def _one(texts: Mapping[str, str], parts: set[str], column: _Column, comma: bool) -> dict[str, str]:
    """The texts of a row; of an estimate of nothing beside no limits and no p-value, a reference level."""
    new = {part: text for part, text in texts.items() if part not in ("n", "events")}
    there = {"lower", "p_values", "standard_errors"} & set(new)
    if "coefficients" in new and {"limits", "p_values"} & parts and not there:
        nothing = {0.0, 1.0} if column.name == _OPEN else {1.0 if column.ratio else 0.0}
        if _value(new["coefficients"], comma) in nothing:
            new["reference"] = new.pop("coefficients")
    if "reference" in new:
        new.pop("coefficients", None)
    return new


def _value(text: str, comma: bool) -> float:
    number = read_printed(text, comma)
    return float("nan") if number is None else number.value
