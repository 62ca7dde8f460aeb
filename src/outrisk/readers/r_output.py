"""Coefficients out of R: `broom::tidy` and `coef(summary())` as CSV, of nnet::multinom and MASS::polr too; a summary of
lm, glm, glm.nb or polr; a coxph of the package survival, printed or summarised.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from outrisk.errors import OutputError
from outrisk.outputs.regression.surv import read_surv
from outrisk.readers import polr
from outrisk.readers.coefficients import BY_TERM, Coefficients
from outrisk.readers.level_of_limits import level_of_limits
from outrisk.readers.printed_number import read_printed
from outrisk.readers.r_model import OfModel, of_deviance, of_model
from outrisk.readers.source import Source

BROOM = {  # names that broom has for statistics
    "estimate": "coefficients",
    "std.error": "standard_errors",
    "p.value": "p_values",
    "conf.low": "lower",
    "conf.high": "upper",
}
_COLUMNS = BROOM | {
    "value": "coefficients",
    "std. error": "standard_errors",
    "statistic": "statistic",
    "z value": "statistic",
    "t value": "statistic",
    "pr(>|z|)": "p_values",
    "pr(>|t|)": "p_values",
}
_PRINTED = re.compile(r"\s*Estimate\s+Std\. Error\s+(z value|t value)\s+(Pr\(>\|[zt]\|\))")
_HAZARDS = re.compile(r"\s*coef\s+exp\(coef\)\s+se\(coef\)\s+(robust se\s+)?z\s+(?:Pr\(>\|z\|\)|p)\s*$")
_OF_POLR = ("coefficients", "standard_errors", "statistic")
_MATRIX_OF_POLR = ("value", "std. error", "t value")
_CLOSE = 0.02  # of a statistic, beside what estimate and standard error give
_SKEW = 0.002  # of a standard error, by which limits lie unevenly about their estimate where no rounding does it
_OF_MULTINOM = 3  # decimals: nnet stops its search within about 2e-4 of the maximum


def recognises(source: Source) -> bool:
    """Whether it has a header with an estimate and a standard error, or is a matrix of outcomes by terms."""
    return (
        any(_HAZARDS.match(line) or polr.HEAD.match(line) for line in source.lines)
        or _printed(source) is not None
        or (bool(source.grid) and _is_header(source.grid[0]))
        or _is_matrix(source)
    )


def read(source: Source, model: int | None = None) -> Coefficients:
    """Coefficients by term; estimates that are exp(b) are known by their statistics."""
    hazards = [number for number, line in enumerate(source.lines) if _HAZARDS.match(line)]
    if hazards:
        return _of_coxph(source, hazards)
    ordered = [number for number, line in enumerate(source.lines) if polr.HEAD.match(line)]
    if ordered:
        rows = [row for head in ordered for row in _printed_rows(source.lines[head + 1 :], _OF_POLR)]
        table = Coefficients(tuple(rows), single=of_deviance(source.text), own_digits=True)
        return polr.of_summary(table, source.text, source.name)
    at = _printed(source)
    if at is None and _is_matrix(source):
        return _matrix(source)
    outcomes: tuple[str, ...] = ()
    types: list[str] | None = None
    if at is None:
        header = [_plain(cell) for cell in source.grid[0]]
        if source.grid[0][-1] == "" and any(row[-1] for row in source.grid[1:]):
            # write.table gives row names no header
            header = ["", *header[:-1]]
        term = header.index("term") if "term" in header else 0
        rows = [
            (row[term], {_COLUMNS[name]: cell for name, cell in zip(header, row, strict=True) if name in _COLUMNS})
            for row in source.grid[1:]
        ]
        model_of = OfModel()
        if "y.level" in header:  # broom::tidy of nnet::multinom
            outcomes = tuple(row[header.index("y.level")] for row in source.grid[1:])
        if "coef.type" in header:  # broom::tidy of an ordered regression
            types = [_plain(row[header.index("coef.type")]) for row in source.grid[1:]]
        elif "value" in header:  # coef(summary()) of a polr
            types = []
    else:
        rows = _printed_rows(source.lines[at + 1 :])
        model_of = of_model(source.text, rows, source.name)
    if not rows:
        raise OutputError(f"{source.name}: it has a header and no coefficients")
    ratios = _are_ratios(rows, source.comma and at is None)
    survey = _of_survey(source.text)
    other = re.search(r"^[tz] test of coefficients:", source.text, re.M) if at is not None else None
    kept = [(name, {part: text for part, text in texts.items() if part != "statistic"}) for name, texts in rows]
    found = Coefficients(
        tuple(kept),
        single=model_of.single,
        exponentiated=ratios,
        exact=_OF_MULTINOM if outcomes else 6,
        profiled=_are_profiled(rows, ratios, source.comma and at is None),
        level=level_of_limits(rows, ratios, source.comma and at is None),
        own_digits=at is not None,
        comma=source.comma and at is None,
        robust="design-based" if survey else "those of a coeftest" if other else model_of.robust,
        covariance="CR1" if survey and survey[0] else "",
        distribution="t" if survey else "",
        weighted=survey is not None or model_of.weighted,
        weight=survey[1] if survey else model_of.weight,
        kind="mnlogit" if outcomes else "",
        kinds=model_of.kinds,
        outcomes=outcomes,
        expected=True,
        unread=tuple(model_of.unread),
    )
    return found if types is None else polr.as_ordered(found, types, source.name)


def _of_coxph(source: Source, heads: Sequence[int]) -> Coefficients:
    """A coxph as R prints it; hazard ratios and their limits, which follow from the coefficients, are passed over."""
    if len(heads) > 1:
        raise OutputError(f"{source.name}: it has {len(heads)} tables of coefficients; give each output its own text")
    head = _HAZARDS.match(source.lines[heads[0]])
    assert head is not None
    parts = ("coefficients", "exp", "standard_errors", *(("robust",) if head[1] else ()), "statistic", "p_values")
    rows = [
        (name, {part: text for part, text in texts.items() if part in BY_TERM})
        for name, texts in _printed_rows(source.lines[heads[0] + 1 :], parts)
    ]
    if not rows:
        raise OutputError(f"{source.name}: it has a header and no coefficients")
    counts = re.search(r"\bn=\s*(\d+)(?:\s*,\s*number of events=\s*(\d+))?", source.text)
    call = re.search(
        r"coxph\((?:formula\s*=\s*)?(.+?~.+?)(?:,\s*(?:data|weights|subset|ties|method|\w+)\s*=|\)\s*\n\s*\n)",
        source.text,
        re.S,
    )
    surv = read_surv(" ".join(call[1].split())) if call else None
    if re.search(r"\bweights\s*=", source.text[: source.text.find("coef")]):
        raise OutputError(
            f"{source.name}: it is weighted, which is not known of a Cox model; release one without weights"
        )
    ties = re.search(r"\b(?:ties|method)\s*=\s*[\"'](efron|breslow|exact)", source.text)
    if ties and ties[1] == "exact":
        raise OutputError(f"{source.name}: ties are taken exactly, which is not known; fit it by ties = 'efron'")
    return Coefficients(
        tuple(rows),
        single={part: text for part, text in zip(("n", "events"), counts.groups(), strict=True) if text}
        if counts
        else {},
        own_digits=True,
        kind="cox",
        response=surv.time.strip("`") if surv else "",
        robust="robust" if head[1] else "",
        status=surv.status if surv else "",
        event=surv.event if surv else "",
        strata=surv.strata if surv else (),
        ties=ties[1] if ties else "efron",
        unread=("concordance and the tests of all coefficients",) if "Concordance=" in source.text else (),
    )


def _of_survey(text: str) -> tuple[bool, str] | None:
    """Of a svyglm of the package survey, whether its design has weights alone, and the variable that weighs ('' where
    it is not told simply); None for another fit.
    """
    if "Survey design:" not in text and not re.search(r"\bsvyglm\(", text):
        return None
    call = re.search(r"Survey design:\s*(?:survey::)?svydesign\(((?:[^()]|\([^()]*\))*)\)\s*\n", text)
    arguments = re.split(r",\s*(?![^()]*\))", call[1]) if call else []
    said = {name.strip(): value.strip() for name, _, value in (each.partition("=") for each in arguments)}
    weight = re.fullmatch(r"~\s*([A-Za-z_.][\w.]*)", said.get("weights", ""))
    alone = {said.get("ids"), said.get("id")} <= {None, "~1", "~0"} and set(said) <= {"ids", "id", "weights", "data"}
    return (bool(said) and alone, weight[1] if weight else "")


def _is_matrix(source: Source) -> bool:
    """Whether it is the matrix that `coef(summary())` of nnet::multinom is: outcomes by terms."""
    header = source.grid[0] if source.delimited and source.grid else []
    return (
        len(header) > 1
        and _plain(header[1]) == "(intercept)"
        and len(source.grid) > 2
        and all(read_printed(cell, source.comma) is not None for row in source.grid[1:] for cell in row[1:])
    )


def _matrix(source: Source) -> Coefficients:
    header = [cell.strip("\"'") for cell in source.grid[0]]
    cells = [(row[0], name, cell) for row in source.grid[1:] for name, cell in zip(header[1:], row[1:], strict=True)]
    return Coefficients(
        tuple((name, {"coefficients": cell}) for _, name, cell in cells),
        exact=_OF_MULTINOM,
        comma=source.comma,
        kind="mnlogit",
        outcomes=tuple(outcome for outcome, _, _ in cells),
    )


def _plain(cell: str) -> str:
    return cell.strip().strip("\"'").casefold()


def _is_header(row: Sequence[str]) -> bool:
    cells = {_plain(cell) for cell in row}
    return ("estimate" in cells and bool({"std.error", "std. error"} & cells)) or {*_MATRIX_OF_POLR} <= cells


def _printed(source: Source) -> int | None:
    """The line of the header of a printed summary."""
    return next((number for number, line in enumerate(source.lines) if _PRINTED.match(line)), None)


def _printed_rows(
    lines: Sequence[str], parts: Sequence[str] = ("coefficients", "standard_errors", "statistic", "p_values")
) -> list[tuple[str, dict[str, str]]]:
    """Name and texts by part of the rows below a header."""
    rows = []
    for line in lines:
        text = re.sub(r"<\s+", "<", line).rstrip()
        if not text.strip() or text.startswith("---"):
            break
        text = re.sub(r"\s+(\*{1,3}|\.)$", "", text)
        name, *cells = text.rsplit(None, len(parts))
        if len(cells) < len(parts):
            break
        rows.append((name.strip(), dict(zip(parts, cells, strict=True))))
    return rows


def _are_ratios(rows: Sequence[tuple[str, dict[str, str]]], comma: bool) -> bool:
    """Whether log(estimate) / standard error is the statistic, and estimate / standard error is not."""
    plain = ratio = 0
    for _, texts in rows:
        numbers = [
            read_printed(texts.get(part, ""), comma) for part in ("coefficients", "standard_errors", "statistic")
        ]
        if any(number is None or number.below for number in numbers):
            continue
        b, error, statistic = (number.value for number in numbers if number is not None)
        if error <= 0:
            continue
        slack = _CLOSE * max(1.0, abs(statistic))
        plain += abs(b / error - statistic) <= slack
        ratio += b > 0 and abs(math.log(b) / error - statistic) <= slack
    return ratio > plain


def _are_profiled(rows: Sequence[tuple[str, dict[str, str]]], ratios: bool, comma: bool) -> bool:
    """Whether limits lie less evenly about their estimates than limits made of the standard error, rounding apart."""
    for _, texts in rows:
        numbers = [
            read_printed(texts.get(part, ""), comma) for part in ("coefficients", "lower", "upper", "standard_errors")
        ]
        if any(number is None or number.below for number in numbers):
            continue
        b, low, high, error = (number for number in numbers if number is not None)
        values = [each.value for each in (b, low, high)]
        slack = max(each.half for each in (b, low, high)) * 2
        if ratios:
            if min(values) <= 0:
                continue
            slack /= min(values)
            values = [math.log(value) for value in values]
        if abs(values[1] + values[2] - 2 * values[0]) / 2 > slack + _SKEW * error.value:
            return True
    return False
