"""Coefficients out of R: `broom::tidy` and `coef(summary())` as CSV, of nnet::multinom and MASS::polr too; a summary of
lm, glm, glm.nb or polr; a coxph of the package survival, printed or summarised.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from outrisk.errors import OutputError
from outrisk.outputs.regression.surv import read_surv
from outrisk.readers import multinom, polr
from outrisk.readers.aligned_text import aligned
from outrisk.readers.cells_of_models import whole
from outrisk.readers.coefficients import BY_TERM, Coefficients
from outrisk.readers.level_of_limits import level_of_limits
from outrisk.readers.printed_by_r import rows_of_tibble, unwrapped, with_points
from outrisk.readers.printed_fixed_effects import Absorbed
from outrisk.readers.printed_instruments import of_ivreg
from outrisk.readers.printed_number import read_printed
from outrisk.readers.r_call import Call, call_of, hold
from outrisk.readers.r_model import OfModel, of_deviance, of_model
from outrisk.readers.scale_of_estimates import scale_of
from outrisk.readers.source import Grid, Source
from outrisk.readers.survey_designs import design_in

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
    "coef": "coefficients",
    "se(coef)": "standard_errors",
    "z": "statistic",
    "se": "standard_errors",
    "p": "p_values",
    "or": "coefficients",
    "hr": "coefficients",
    "irr": "coefficients",
    "rr": "coefficients",
}
_RATIOS = {"or", "hr", "irr", "rr"}  # columns of exp(b)
_PASSED = {"", "term", "y.level", "coef.type", "exp(coef)", "df", "df.residual", "robust.se", "robust se"}
_FROM_START = re.compile(r"^Surv\(\s*(?:rep\(0L?\s*,(?:[^()]|\([^()]*\))*\)|0L?)\s*,")  # intervals that begin at 0
_END = re.compile(r"(\d+(?:\.\d+)?) ?%")  # a column of confint
_PRINTED = re.compile(r"\s*Estimate\s+Std\. Error\s+([tz][ -]value)\s+(Pr\(>\|[zt]\|\))")
_HAZARDS = re.compile(r"\s*coef\s+exp\(coef\)\s+se\(coef\)\s+(robust se\s+)?z\s+(?:Pr\(>\|z\|\)|p)\s*$")
_OF_POLR = ("coefficients", "standard_errors", "statistic")
_MATRIX_OF_POLR = ("value", "std. error", "t value")
_SKEW = 0.002  # of a standard error, by which limits lie unevenly about their estimate where no rounding does it
_STD_ERRORS = re.compile(r"\bmultinom\(.*^Std\. Errors:", re.M | re.S)


def recognises(source: Source) -> bool:
    """Whether it has a header with an estimate and a standard error, or is a matrix of outcomes by terms."""
    source = _at_full_width(source)
    return (
        any(_HAZARDS.match(line) or polr.HEAD.match(line) for line in source.lines)
        or _printed(source) is not None
        or bool(_frame(source))
        or _is_matrix(source)
        or bool(_STD_ERRORS.search(source.text))
        or ("estimate" in {*(rows_of_tibble(source.text) or [[]])[0]})
    )


def read(source: Source, model: int | None = None) -> Coefficients:
    """Coefficients by term; estimates that are exp(b) are known by their statistics."""
    if model not in (None, 1):
        raise OutputError(f"{source.name}: it has 1 regression, and no regression {model}")
    source = _at_full_width(source)
    hazards = [number for number, line in enumerate(source.lines) if _HAZARDS.match(line)]
    if hazards:
        return _of_coxph(source, hazards)
    if _STD_ERRORS.search(source.text):
        return multinom.of_summary(source.text, source.name)
    ordered = [number for number, line in enumerate(source.lines) if polr.HEAD.match(line)]
    if ordered:
        rows = [row for head in ordered for row in _printed_rows(source.lines[head + 1 :], _OF_POLR)]
        table = Coefficients(tuple(rows), single=of_deviance(source.text), own_digits=True)
        return polr.of_summary(table, source.text, source.name)
    at = _printed(source)
    if at is None and _is_matrix(source):
        return _matrix(source)
    called = call_of(source.text) if at is not None else Call()
    comma = source.comma and at is None
    if at is None:
        tibble, frame = rows_of_tibble(source.text), _frame(source)
        printed = bool(tibble) or (bool(frame) and not source.delimited)
        columns = _columns(tibble or frame or source.grid, source.name, printed)
        rows, model_of = columns.rows, OfModel(unread=columns.unread)
    else:
        columns = _Columns()
        rows = _printed_rows(source.lines[at + 1 :])
        model_of = of_model(source.text, called, rows, source.name)
    outcomes, types = columns.outcomes, columns.types
    if not rows:
        raise OutputError(f"{source.name}: it has a header and no coefficients")
    scale = "ratios" if columns.ratios else scale_of(columns.robust or rows, comma)
    ratios = scale == "ratios"
    survey = _of_survey(source.text)
    other = re.search(r"^[tz] test of coefficients:", source.text, re.M) if at is not None else None
    kept = [(name, {part: text for part, text in texts.items() if part != "statistic"}) for name, texts in rows]
    if model_of.instrumental:
        return of_ivreg(source.text, called, rows, model_of, source.name)
    absorbed = model_of.absorbed or Absorbed("fixest")
    found = Coefficients(
        tuple(kept),
        single=model_of.single,
        exponentiated=ratios,
        exact=multinom.DECIMALS if outcomes else 6,
        level=columns.level or level_of_limits(rows, ratios, comma),
        open_scale=scale == "open",
        profiled=_are_profiled(rows, ratios, comma),
        perhaps_profiled=columns.ratios,
        own_digits=at is not None or columns.printed,
        comma=comma,
        response=absorbed.response or called.response,
        subset=called.subset or absorbed.subset,
        of_all=bool(called.function) and not (called.subset or absorbed.subset),
        unweighted=called.function in ("lm", "glm", "glm.nb") and not model_of.weighted,
        robust="design-based" if survey else "those of a coeftest" if other else model_of.robust,
        covariance="CR1" if survey and survey[0] else absorbed.covariance,
        clustered=bool(absorbed.cluster),
        cluster=absorbed.cluster,
        distribution="t" if survey else "",
        survey=design_in(source.text, source.name) if survey else None,
        weighted=survey is not None or model_of.weighted,
        weight=survey[1] if survey else model_of.weight,
        kind="mnlogit" if outcomes else columns.kind,
        kinds=model_of.kinds,
        outcomes=outcomes,
        expected=True,
        unread=tuple(model_of.unread),
        program=absorbed.program if model_of.absorbed else "",
        absorb=absorbed.names,
        levels=absorbed.levels,
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
    called = call_of(source.text)
    hold(called, ("coxph",), source.name)
    surv = read_surv(_FROM_START.sub("Surv(", called.formula, count=1)) if called.formula else None
    if called.formula and surv is None:
        raise OutputError(
            f"{source.name}: its response {called.response} is not Surv of a time and a status, as a Cox model here "
            "has it; release one of these (neither later starts nor a conditional logit, clogit, are known)"
        )
    if "weights" in called.arguments:
        raise OutputError(
            f"{source.name}: it is weighted, which is not known of a Cox model; release one without weights"
        )
    frail = re.search(r"\b(?:frailty|tt|pspline|ridge)\w*(?=[.(])", called.formula)
    if frail:
        raise OutputError(f"{source.name}: it has a term {frail[0]}(), which is not known; release one without")
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
        subset=called.subset,
        of_all=bool(called.function) and not called.subset,
        unstratified=surv is not None and "strata(" not in called.formula,
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


@dataclass(frozen=True)
class _Columns:
    """A table by columns: its rows; `outcomes` of a multinom, `types` of the rows of an ordered regression; `unread`:
    columns that are passed over. level: of the limits, where heads tell it; ratios: heads say that estimates are
    exp(b); printed: numbers show their own digits; robust: the rows with the robust errors that statistics are by,
    where there are two kinds of errors.
    """

    rows: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    outcomes: tuple[str, ...] = ()
    types: list[str] | None = None
    unread: list[str] = field(default_factory=list)
    level: float | None = None
    ratios: bool = False
    printed: bool = False
    kind: str = ""
    robust: list[tuple[str, dict[str, str]]] = field(default_factory=list)


def _columns(grid: Grid, place: str, printed: bool) -> _Columns:
    """The columns that `tidy`, `coef(summary())` and `confint` have, of a CSV file or a tibble."""
    header = [_plain(cell) for cell in grid[0]]
    if grid[0][-1] == "" and any(row[-1] for row in grid[1:]):
        header = ["", *header[:-1]]  # write.table gives row names no header
    named = {name: part for name, part in _COLUMNS.items() if name in header}
    ends = [(name, float(found[1])) for name in header if (found := _END.fullmatch(name))]
    level = None
    if len(ends) == 2 and ends[0][1] + ends[1][1] == 100.0 and ends[0][1] < 50.0:
        named |= {ends[0][0]: "lower", ends[1][0]: "upper"}
        level = round((ends[1][1] - ends[0][1]) / 100.0, 6)
    if len({*named.values()}) < len(named):
        raise OutputError(f"{place}: it has several columns of the same kind, {', '.join(named)}; keep one of each")
    unread = [f"the column '{name}'" for name in header if name not in named and name not in _PASSED]
    term = header.index("term") if "term" in header else 0

    def rows(named: Mapping[str, str]) -> list[tuple[str, dict[str, str]]]:
        pairs = [(row[term], zip(header, row, strict=True)) for row in grid[1:]]
        return [(name, {named[head]: cell for head, cell in cells if head in named}) for name, cells in pairs]

    by_robust = list[tuple[str, dict[str, str]]]()
    robust = next((name for name in ("robust.se", "robust se") if name in header), "")
    if robust:
        by_robust = rows({**{k: v for k, v in named.items() if v != "standard_errors"}, robust: "standard_errors"})
        unread.append(f"'{robust}' and what is by it, p-values and limits: robust, in a way not known")
        named = {name: part for name, part in named.items() if part in ("coefficients", "standard_errors")}
    types = None
    if "coef.type" in header:  # broom::tidy of an ordered regression
        types = [_plain(row[header.index("coef.type")]) for row in grid[1:]]
    elif "value" in header:  # coef(summary()) of a polr
        types = []
    return _Columns(
        rows(named),
        # broom::tidy of nnet::multinom
        tuple(row[header.index("y.level")] for row in grid[1:]) if "y.level" in header else (),
        types,
        unread,
        level,
        bool(_RATIOS & {*named}),
        printed,
        "cox" if "se(coef)" in header else "",
        by_robust,
    )


def _at_full_width(source: Source) -> Source:
    """A printed page as R prints it by default, of numbers with points, with room for all columns."""
    if _frame(source) or (source.delimited and source.grid and _is_matrix(source)):
        return source
    lines = unwrapped(with_points(source.text).splitlines())
    return source if lines == source.lines else Source(source.name, "\n".join(lines))


def _frame(source: Source) -> Grid:
    """The cells of a table by columns, of a delimited text, of Markdown or as a console shows them; [] of another."""
    found = whole(source.grid) if source.delimited else aligned(source.text) if not source.tables else None
    return found if found and _is_header(found[0]) else []


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
        exact=multinom.DECIMALS,
        comma=source.comma,
        kind="mnlogit",
        outcomes=tuple(outcome for outcome, _, _ in cells),
    )


def _plain(cell: str) -> str:
    return html.unescape(cell).strip().strip("\"'").casefold()


def _is_header(row: Sequence[str]) -> bool:
    cells = {_plain(cell) for cell in row}
    if ({"estimate"} | _RATIOS) & cells and sum(_END.fullmatch(cell) is not None for cell in cells) == 2:
        return True
    return (
        {"coef", "se(coef)"} <= cells
        or {"coef", "se"} <= cells
        or ("estimate" in cells and bool({"std.error", "std. error"} & cells))
        or {*_MATRIX_OF_POLR} <= cells
    )


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
