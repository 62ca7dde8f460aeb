"""Quantile regressions as R has them: printed summaries of quantreg's rq, and broom's table of them."""

from __future__ import annotations

import re

from outrisk.errors import OutputError
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Source

_CALL = re.compile(r"^\s*(?:Call:\s*)?rq\(", re.M)
_TAU = re.compile(r"^tau:\s*\[1\]\s*([\d.]+(?:e-?\d+)?)\s*$", re.M)
_HEAD = re.compile(r"Value|coefficients|Std\. Error|lower bd|upper bd|t value|Pr\(>\|t\|\)")
_COLUMNS = {
    "Value": "coefficients",
    "coefficients": "coefficients",
    "Std. Error": "standard_errors",
    "Pr(>|t|)": "p_values",
    "estimate": "coefficients",
    "std.error": "standard_errors",
    "p.value": "p_values",
    "conf.low": "lower",
    "conf.high": "upper",
}
_BY_RANK = "limits by rank inversion"


def recognises(source: Source) -> bool:
    """Whether it is one of these."""
    return _is_tidy(source) or _CALL.search(source.text) is not None


def read(source: Source, model: int | None = None) -> Coefficients:
    """The regression of one quantile, of several the `model`-th; OutputError where it is not said which."""
    if _is_tidy(source):
        return _tidy(source, model)
    text, place = source.text, source.name
    taus = [(each.start(), each.end(), each[1]) for each in _TAU.finditer(text)]
    if not taus:
        raise OutputError(f"{place}: it has no standard errors and no tau; give summary(model, se = 'nid')")
    _, end, tau = taus[_which(len(taus), model, place)]
    call = " ".join(text.partition("rq(")[2].partition("tau:")[0].split())
    if _argument(call, "weights"):
        raise OutputError(f"{place}: it is a fit by rq with weights, which are not known")
    method = re.search(r"method\s*=\s*\"(\w+)\"", call)
    if method and method[1] in ("lasso", "scad", "fnc"):
        raise OutputError(f"{place}: it is a fit by rq's method {method[1]}, which is penalised or restricted")
    rows, by_rank = _rows(text[end:], place)
    return Coefficients(
        tuple(rows),
        own_digits=True,
        kind="quantreg",
        response=_argument(call, "formula").partition("~")[0].strip(),
        subset=_argument(call, "subset"),
        unread=(_BY_RANK,) if by_rank else (),
        by="quantreg",
        tau=tau,
    )


def _argument(call: str, name: str) -> str:
    """What an argument of a call is, up to the comma or the bracket that ends it; '' for none."""
    rest = re.split(rf"\b{name}\s*=(?!=)", call, maxsplit=1)
    depth = 0
    for at, sign in enumerate(rest[1] if len(rest) > 1 else ""):
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0 or (sign == "," and not depth):
            return rest[1][:at].strip()
    return rest[1].strip() if len(rest) > 1 else ""


def _which(many: int, model: int | None, place: str) -> int:
    if many == 1 and (model or 1) != 1:
        raise OutputError(f"{place}: it has one quantile, and #{model} asks for another; leave out #{model}")
    if many > 1 and (model is None or not 1 <= model <= many):
        raise OutputError(f"{place}: it has {many} quantiles; say which, as in #2 behind the name of the file")
    return 0 if many == 1 else int(model or 1) - 1


def _rows(text: str, place: str) -> tuple[list[tuple[str, dict[str, str]]], bool]:
    """Names and texts by part of the coefficients of one quantile, and whether limits are by rank inversion."""
    lines = text.splitlines()
    at = next((number for number, line in enumerate(lines) if len(_HEAD.findall(line)) > 1), None)
    if at is None:
        raise OutputError(f"{place}: it has no table of coefficients; give the summary() of the model")
    columns, found = _HEAD.findall(lines[at]), []
    for line in lines[at + 1 :]:
        cells = line.split()
        if len(cells) <= len(columns) or read_printed(cells[-1]) is None:
            break
        texts = dict(zip(columns, cells[-len(columns) :], strict=True))
        parts = {_COLUMNS[each]: value for each, value in texts.items() if each in _COLUMNS}
        found.append((" ".join(cells[: -len(columns)]), parts))
    return found, "lower bd" in columns


def _is_tidy(source: Source) -> bool:
    """Whether it is a table as broom's tidy() makes it of rq."""
    header = {cell.strip().casefold() for cell in source.grid[0]} if source.delimited and source.grid else set()
    return {"term", "estimate", "tau"} <= header


def _tidy(source: Source, model: int | None) -> Coefficients:
    header = [cell.strip().casefold() for cell in source.grid[0]]
    table = [dict(zip(header, (cell.strip() for cell in cells), strict=False)) for cells in source.grid[1:]]
    taus = list(dict.fromkeys(row["tau"] for row in table if row.get("tau")))
    tau = taus[_which(len(taus), model, source.name)] if taus else ""
    by_rank = "std.error" not in header  # the default, whose limits are these
    keys = [key for key in header if key in _COLUMNS and not (by_rank and key in ("conf.low", "conf.high"))]
    rows = [
        (row["term"], {_COLUMNS[key]: row[key] for key in keys if row.get(key)})
        for row in table
        if row.get("tau") == tau
    ]
    return Coefficients(
        tuple(rows),
        own_digits=True,
        kind="quantreg",
        unread=(_BY_RANK,) if by_rank and "conf.low" in header else (),
        by="quantreg",
        tau=tau,
    )
