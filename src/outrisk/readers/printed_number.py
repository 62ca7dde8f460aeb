"""Numbers as programs print them: each is an interval, as wide as its last printed digit; stars and brackets go."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

MOST_DECIMALS = 8  # that a program prints; a number with more is written at full precision
OF_EXACT = 6  # taken of numbers at full precision: no refit gives back all of their digits
OF_SMALL = 4  # significant digits kept of small ones, as p-values are
MOST_OF_OUTPUT = 12  # decimals that an output has
_TIE = 0.499  # of a last digit: what was rounded before is not rounded again
_NEAR_TIES = {True: 0.45, False: 0.0}  # the same at full precision, by whether they are good to 6 decimals
_Cell = TypeVar("_Cell")
_MARKS = re.compile(r'^[=\'"\s]+|["\'\s]+$')
_STARS = re.compile(r"[*†‡+]+$")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?")
_BLANKS = "\u00a0\u2009\u202f '\u2019"  # that stand between thousands
_GROUPS = re.compile(rf"[+-]?\d{{1,3}}(?:[,{_BLANKS}]\d{{3}})+(?:\.\d+)?")
_BELOW = re.compile(r"(<=?|\u2264)\s*(.+)")
_WITHHELD = frozenset({"", "*", "**", "***", "c", "x", "s", "-", "–", "—", "..", "...", ".", "withheld", "[c]", "[x]"})
_UNDEFINED = frozenset({"na", "nan", "n/a", "null", "none", "undefined", "#n/a", "inf", "-inf"})


@dataclass(frozen=True)
class Printed:
    """One printed number: from `low` to `high`, `decimals` digits after the point (negative: tens, hundreds).

    value: as printed, NaN where there is none. below: it is only said to be less than `high` (`<10`, `<0.001`), or with
    at_most not to be more (`<=10`). bracketed: it stands in brackets, as errors do, and in accounts negative numbers.
    above: `75+`, which may be a mark of significance, or say that it is so much or more.
    """

    value: float
    decimals: int = 0
    below: bool = False
    percent: bool = False
    at_most: bool = False
    bracketed: bool = False
    above: bool = False

    @property
    def threshold(self) -> int:
        """The least whole number that a number of people which is said to be `below` is not."""
        return math.floor(self.value) + 1 if self.at_most else math.ceil(self.value)

    @property
    def half(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0**-self.decimals


def read_printed(text: str, comma: bool = False) -> Printed | None:
    """A printed number; None for text that is none. `comma`: the decimal sign is a comma."""
    text = _MARKS.sub("", text.strip()).replace("\N{MINUS SIGN}", "-").strip()
    text = re.sub(r"^–(?=[\d.])", "-", text)
    bracketed = text[:1] in "([" and text[-1:] in ")]" and len(text) > 2
    if bracketed:
        text = text[1:-1].strip()
    below = _BELOW.fullmatch(text)
    if below:
        inner = read_printed(below[2], comma)
        return None if inner is None else replace(inner, below=True, percent=False, at_most=below[1] != "<")
    marks = _STARS.search(text)
    text = _STARS.sub("", text).strip()
    percent = text.endswith("%")
    text = text.rstrip("%").strip()
    if comma:
        text = re.sub(rf"(?<=\d)[{_BLANKS}](?=\d{{3}}(?!\d))", "", text.replace(".", "")).replace(",", ".")
    elif _GROUPS.fullmatch(text):
        text = re.sub(r"[^\d.+-]", "", text)
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    value = float(text)
    decimals = len(found[1] or found[2] or "") - int(found[3] or 0)
    number = Printed(value, decimals, percent=percent, bracketed=bracketed, above=marks is not None and "+" in marks[0])
    return number if math.isfinite(value) else None


def with_their_digits(
    numbers: Mapping[_Cell, Printed | None], texts: Mapping[_Cell, str]
) -> dict[_Cell, Printed | None]:
    """Counts of a table, those that R writes in powers of ten (`1e+05`) since it is shorter with the digits that the
    longest of the others shows: as 123456 beside it has six, it is no rounded number.
    """
    shown = max((len(text) for text in map(_of_digits, texts.values()) if text), default=1)
    found = dict(numbers)
    for cell, number in numbers.items():
        if number is not None and number.decimals < 0 and re.fullmatch(r"[1-9]e\+0\d", texts[cell].strip()):
            found[cell] = replace(number, decimals=min(0, number.decimals + shown - 1))
    return found


def _of_digits(text: str) -> str:
    """The significant digits of a whole number; '' of another text."""
    return text.strip().rstrip("0") if text.strip().isdecimal() else ""


def is_withheld(text: str) -> bool:
    """Whether a cell says that its number is not published."""
    return _MARKS.sub("", text.strip()).strip().casefold() in _WITHHELD


def is_undefined(text: str) -> bool:
    """Whether a cell says that there is no such number."""
    return text.strip().casefold() in _UNDEFINED


def decimals_of(column: Iterable[Printed | None], exact: int = OF_EXACT) -> int:
    """Digits after the point of a column: the most that one of its numbers shows, as trailing zeros get lost.

    Numbers at full precision count as rounded to `exact`; where all are small ones in powers of ten (5.76e-06), as
    p-values may be, to the fewest digits that one shows, four significant ones at most; where all are only said to be
    below one, to the digits of that.
    """
    known = [each for each in column if each is not None]
    there = [each for each in known if not each.below]
    shown = [each.decimals for each in there if not _scientific(each)]
    if known and not shown:
        small = [min(each.decimals, OF_SMALL - 1 - math.floor(math.log10(abs(each.value)))) for each in there]
        return max(0, min(MOST_OF_OUTPUT, min(small) if small else max(each.decimals for each in known)))
    most = max(shown, default=0)
    return max(0, most if most <= MOST_DECIMALS else exact)


def _scientific(number: Printed) -> bool:
    """Whether it shows so many decimals only since it is written in powers of ten."""
    return number.decimals > OF_EXACT and 0 < abs(number.value) < 10.0**-4


def as_given(number: Printed, decimals: int, significant: int = 0, own: bool = False) -> float | str:
    """What a study file holds of a number in a column of so many decimals: the number, or 'LOW to HIGH'.

    A number that shows fewer digits than its column for its size is a range: one in powers of ten (1.234e+05), or
    one of at least 10,000 of which a program prints so many `significant` digits; with `own`, where no program has
    cut off trailing zeros, each that shows fewer than the column.
    """
    if number.below:
        return f"0 to {round(number.value, 12):.12g}"
    half = 0.0
    if number.decimals < 0 or own:
        half = number.half
    elif significant and abs(number.value) >= 10_000:
        half = 0.5 * 10.0 ** (math.floor(math.log10(abs(number.value))) + 1 - significant)
    tie = _TIE if number.decimals <= MOST_DECIMALS else _NEAR_TIES[decimals >= OF_EXACT]
    if abs(round(number.value, decimals) - number.value) > tie * 10.0**-decimals:
        half = 0.5 * 10.0**-decimals
        return f"{number.value - half:.12g} to {number.value + half:.12g}"
    if half > 0.5 * 10.0**-decimals:
        return f"{number.value - half:.12g} to {number.value + half:.12g}"
    return float(f"{number.value:.{decimals}f}")
