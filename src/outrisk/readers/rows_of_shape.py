"""Rows of a table that are no coefficients of terms: thresholds of an ordered regression, the dispersion of counts."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from outrisk.codebook import Codebook, Variable, format_value
from outrisk.errors import OutputError
from outrisk.outputs.regression.release import ORDERED
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import MOST_DECIMALS, Printed, decimals_of, read_printed
from outrisk.readers.term_names import levels_of

Texts = Mapping[str, str]
_COUNTED = re.compile(r"[/_:]*cut(\d+)")  # of Stata
_ALPHA, _LOG_ALPHA = ("/alpha", "alpha"), ("/lnalpha", "lnalpha")
_STOPS = 0.005  # of a standard error: how far from the maximum polr and OrderedModel may stop
_ERROR = 2e-4  # of a standard error: what their derivatives by differences may make of it


def is_of_shape(name: str, kind: str) -> bool:
    """Whether a name is how programs call a threshold, or a dispersion, where a regression of the kind has one."""
    if kind in ORDERED:
        return bool(_COUNTED.fullmatch(name)) or "|" in name
    return kind == "negbin" and name in (*_ALPHA, *_LOG_ALPHA)


def apart(
    table: Coefficients, kind: str, response: str, codebook: Codebook, names: Collection[str], place: str
) -> Coefficients:
    """The table with the rows of coefficients alone, and its `shape`: the texts of each threshold, in the order of the
    codebook, or of the dispersion; none of one that is not there. `names`: variables of the model.

    OutputError where a name may be that of a variable as well, or the thresholds are not those of the response.
    """
    if kind not in (*ORDERED, "negbin"):
        return table
    some = [name for name, _ in table.rows if is_of_shape(name, kind) or (table.distances and _is_distance(name))]
    both = next((name for name in some if name in names), None)
    if both is not None:
        what = "a threshold" if kind in ORDERED else "the dispersion"
        raise OutputError(f"{place}: '{both}' may be {what} or the variable '{both}'; rename the variable")
    twice = next((name for name in some if some.count(name) > 1), None)
    if twice is not None:
        raise OutputError(f"{place}: the table has '{twice}' {some.count(twice)} times; keep one")
    of_shape = {name: texts for name, texts in table.rows if name in some}
    shape = _dispersion(of_shape) if kind == "negbin" else _thresholds(table, of_shape, kind, response, codebook, place)
    return replace(table, rows=tuple(row for row in table.rows if row[0] not in some), shape=shape)


def _is_distance(name: str) -> bool:
    """Whether a name is how statsmodels calls the parameters after the coefficients: low/high."""
    return "/" in name and "(" not in name


def _thresholds(
    table: Coefficients, found: Mapping[str, Texts], kind: str, response: str, codebook: Codebook, place: str
) -> tuple[Texts, ...]:
    name = response.strip("`")
    if name not in codebook:
        raise OutputError(f"{place}: the response '{response}' of an {kind} must be a variable; derive one")
    outcomes = [format_value(value) for value in codebook[name].values]
    known = f"'{name}' has {len(outcomes)} outcomes, in the order {', '.join(outcomes[:20])}"
    counted = sorted(int(match[1]) for match in map(_COUNTED.fullmatch, found) if match)
    if counted and (counted[0] < 1 or counted[-1] != len(outcomes) - 1 or len(set(counted)) < len(counted)):
        raise OutputError(
            f"{place}: the table has {len(counted)} thresholds, {', '.join(each for each in found)}, and {known}: "
            f"{len(outcomes) - 1} thresholds; correct the codebook or the table"
        )
    shape = [dict[str, str]() for _ in outcomes[1:]]
    for text, texts in found.items():
        match = _COUNTED.fullmatch(text)
        at = int(match[1]) - 1 if match else _between(text, codebook[name], outcomes)
        if at is None or shape[at]:
            raise OutputError(
                f"{place}: the table has the threshold '{text}', and {known}: thresholds lie between neighbours, each "
                "once; correct the order in the codebook, or the table"
            )
        if not (table.distances and at):
            shape[at] = dict(texts)
    return tuple(shape)


def _between(text: str, variable: Variable, outcomes: Sequence[str]) -> int | None:
    """Which threshold has this name, such as low|middle, of two neighbours; None if none has."""
    for sign in re.finditer(r"[|/]", text):
        low, high = levels_of(variable, text[: sign.start()]), levels_of(variable, text[sign.end() :])
        for at, neighbours in enumerate(pairwise(outcomes)):
            if (low, high) == ([neighbours[0]], [neighbours[1]]):
                return at
    return None


def _dispersion(found: Mapping[str, Texts]) -> tuple[Texts, ...]:
    """Texts of alpha, or what they are by those of its logarithm; none where neither is there."""
    alpha = next((texts for name, texts in found.items() if name in _ALPHA), None)
    if alpha is not None:
        return (alpha,)
    return (next((_exponential(texts) for name, texts in found.items() if name in _LOG_ALPHA), {}),)


def _exponential(texts: Texts) -> Texts:
    """The dispersion and its standard error by those of its logarithm; its limits do not follow from those."""
    log, error = (read_printed(texts.get(part, "")) for part in ("coefficients", "standard_errors"))
    if log is None or log.value > 100:
        return {}
    low, high = (math.exp(log.value + sign * log.half) for sign in (-1, 1))
    found = {"coefficients": f"{low:.9f} to {high:.9f}"}
    if error is not None:
        found["standard_errors"] = f"{low * (error.value - error.half):.9f} to {high * (error.value + error.half):.9f}"
    return found


def near_maximum(
    rows: Sequence[tuple[str, Texts]], ratios: bool = False, own: bool = True, comma: bool = False
) -> list[tuple[str, dict[str, str]]]:
    """The rows of a search that stops a little beside the maximum: their numbers from where to where those there lie.

    ratios: they are exp(b), where these of thresholds become plain. own: each number shows its own precision.
    """
    columns = {
        part: decimals_of(read_printed(texts.get(part, ""), comma) for _, texts in rows)
        for part in ("coefficients", "standard_errors")
    }
    found = []
    for name, texts in rows:
        b, error = (_ends(texts.get(part, ""), columns[part], own, comma) for part in columns)
        new = dict(texts)
        if b is not None and error is not None and not (ratios and b[0] <= 0.0):
            far = _STOPS * error[1]
            if ratios:
                b = math.log(b[0]), math.log(b[1])
            b = b[0] - far, b[1] + far
            if ratios and "|" not in name:
                b = math.exp(b[0]), math.exp(b[1])
            error = error[0] * (1.0 - _ERROR), error[1] * (1.0 + _ERROR)
            for part, ends in (("coefficients", b), ("standard_errors", error)):
                digits = min(columns[part] + 1, 7)
                new[part] = f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"
        found.append((name, new))
    return found


def _ends(text: str, decimals: int, own: bool, comma: bool) -> tuple[float, float] | None:
    """From where to where a printed number lies; at full precision, it itself."""
    number: Printed | None = read_printed(text, comma)
    if number is None or number.below:
        return None
    half = number.half if own or number.decimals > MOST_DECIMALS else 0.5 * 10.0**-decimals
    return number.value - half, number.value + half
