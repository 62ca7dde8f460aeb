"""Cells of tables that R's gtsummary and modelsummary make of models: both limits in one, p-values, bold text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from outrisk.errors import OutputError
from outrisk.readers.printed_number import Printed, read_printed
from outrisk.readers.source import Grid

_NONE = frozenset({"", "na", "<na>", "nan"})  # what a cell without a number says, as CSV files are written
_NUMBER = r"[+-]?(?:\d(?:[\d.,]*\d)?|[.,]\d+)(?:[eE][+-]?\d+)?|[+-]?Inf"
_TO = r"(?:,\s+|;\s*|,(?=[+-])|\s+to\s+|\s*[–—]\s*|\s+-\s+|(?<=\d)-(?=\d))"
_ENDS = re.compile(rf"[(\[]?\s*({_NUMBER}){_TO}({_NUMBER})\s*[)\]]?")
_POINTS = re.compile(r"[(\[]?\s*([+-]?\d*\.\d+),([+-]?\d*\.\d+)\s*[)\]]?")  # `1.05,1.06`
_BOTH = re.compile(rf"({_NUMBER})\s*([*†‡+]*)\s*([(\[].*[)\]])\s*([*†‡+]*)")
_REF = r"ref(?:\.|erence|erent)?(?: ?(?:group|category|level))?"
REFERENCE = re.compile(  # what a cell of the reference level says
    rf"(?i)[—–-]{{1,3}}|[(\[]*(?:[10](?:[.,]0+)? ?[(\[]?)?{_REF}[)\]]*|base(?:line)?|"
    r"1(?:[.,]0+)? ?[(\[](?:NA|[—–-]{1,3})[)\]]"
)
REFERENCE_NAME = re.compile(rf"(?i)\s*[(\[,:]\s*{_REF}\s*[)\]]?\s*$")
_RULE = re.compile(r":?[-=]{2,}:?")
_DASH = re.compile(r"(?:^|(?<=[(\[])|(?<=[,;] )|(?<=\bto ))–(?=[\d.])")  # a minus, as word processors make it
_P = re.compile(r"p\s*(?==|<|>)=?\s*")


def plain(cell: str) -> str:
    """A cell without the signs of bold and italic text, with a point for a raised one; '' for one that says nothing."""
    text = cell.replace("\N{MINUS SIGN}", "-").replace("·", ".").replace("\N{NO-BREAK SPACE}", " ").strip()
    text = _DASH.sub("-", text)
    text = re.sub(r"<br\s*/?>|\*\*(?=\S)|(?<=\S)\*\*(?=\s|$)|`", " " if "<br" in text else "", text).strip()
    for sign in ("__", "_"):
        if len(text) > 2 * len(sign) and text.startswith(sign) and text.endswith(sign):
            text = text[len(sign) : -len(sign)].strip()
    return "" if text.casefold() in _NONE else text


def whole(grid: Grid) -> Grid:
    """A table without the lines of Markdown, empty columns and the numbers that R's write.csv gives rows."""
    rows = [row for row in grid if not all(_RULE.fullmatch(cell) for cell in row if cell)]
    if not rows:
        return []
    some = [at for at in range(len(rows[0])) if any(row[at] for row in rows)]
    rows = [[row[at] for at in some] for row in rows]
    if len(some) > 2 and not rows[0][0] and [row[0] for row in rows[1:]] == [str(at) for at in range(1, len(rows))]:
        return [row[1:] for row in rows]
    return rows


def ends_of(text: str) -> tuple[str, str] | None:
    """Both limits of a cell such as `1.12, 2.07`, `0.99 to 1.02` or `[-1.2, 0.3]`; None where there are not two."""
    found = _POINTS.fullmatch(text.strip()) or _ENDS.fullmatch(text.strip())
    return (found[1], found[2]) if found else None


def with_brackets(text: str) -> tuple[str, str]:
    """An estimate, and what stands behind it in brackets, '' if nothing does: `1.01 (0.99 to 1.02)`."""
    found = _BOTH.fullmatch(text.strip())
    return (found[1], found[3]) if found else (text, "")


def p_value(text: str) -> str:
    """A p-value as other readers have it: what is greater than a number is from there to 1."""
    text = _P.sub("", text.strip().strip("()[]"))
    above = re.fullmatch(r">=?\s*(.+)", text)
    number = read_printed(above[1], "," in above[1]) if above else None
    return text if number is None else f"{number.value:.12g} to 1"


def has_comma(texts: Sequence[str]) -> bool:
    """Whether numbers have a decimal comma: behind it some have digits that are no thousands, and none has a point."""
    commas = [text for text in texts if re.fullmatch(r"[<>]?\s*[+-]?(?:\d+,(?:\d\d?|\d{4,})|0,\d+)", text)]
    return bool(commas) and not any(re.search(r"\d\.\d", text) for text in texts)


def comma_of(rows: Sequence[Mapping[str, str]], ratios: bool, place: str) -> bool:
    """Whether the numbers of rows have a decimal comma; OutputError where each may as well have one of thousands
    (`1,058`), which ratios have not.
    """
    texts = [text for row in rows for text in row.values()]
    if has_comma(texts):
        return True
    numbers = [
        row[part] for row in rows for part in ("coefficients", "standard_errors", "lower", "upper") if part in row
    ]
    either = [text for text in numbers if re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}[*†‡+]*", text)]
    if not either or len(either) < len(numbers) or any(re.search(r"\d?\.\d", text) for text in texts):
        return False
    if not ratios:
        raise OutputError(
            f"{place}: {either[0]!r} has a decimal comma or one of thousands, and no other number tells; write its "
            "numbers with a point, or without a sign for thousands"
        )
    return True


def are_uneven(rows: Sequence[Mapping[str, str]], ratios: bool, comma: bool) -> bool:
    """Whether limits of a row lie otherwise about their estimate, or its logarithm, than rounding lets them.

    Then they are not the estimate +- a multiple of its standard error.
    """
    for texts in rows:
        numbers = [read_printed(texts.get(part, ""), comma) for part in ("coefficients", "lower", "upper")]
        if any(number is None or number.below for number in numbers):
            continue
        (low_b, high_b), *limits = (_ends(number, ratios) for number in numbers if number is not None)
        low, high = (sum(each[side] for each in limits) / 2 for side in (0, 1))
        if high < low_b or low > high_b:
            return True
    return False


def _ends(number: Printed, ratio: bool) -> tuple[float, float]:
    """From where to where a printed number may lie, rounding twice in mind; its logarithm, of a ratio."""
    low, high = number.value - 1.1 * number.half, number.value + 1.1 * number.half
    if not ratio:
        return low, high
    return (math.log(low) if low > 0 else -math.inf), (math.log(high) if high > 0 else -math.inf)
