"""What a printed test of a hypothesis says: its numbers, which test it is, which group comes first."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from outrisk.errors import OutputError
from outrisk.outputs.smooth.agreement import Weights
from outrisk.outputs.smooth.compared import Test
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.printed_number import MOST_OF_OUTPUT, OF_EXACT, OF_SMALL, Printed

_LARGEST = 300  # of an exponent
_TIE = 0.499  # of a last digit: what lies as near to the next may be rounded to either
EXACT_P = "the exact p-value is not that of the normal distribution, which the output has; it is left out"
DRAWN_P = "it is drawn (simulate.p.value) or approximated (hybrid), which no refit gives back"
SQUARES = "sums and means of squares are no number of a test; they are left out"
SIGNED: tuple[Statistic, ...] = ("statistic", "difference", "z")  # which turn with the order of groups, or of a pair


@dataclass(frozen=True)
class Number:
    """A number between `low` and `high`, where these differ; printed to so many decimals."""

    low: float
    high: float
    decimals: int

    @classmethod
    def of(cls, printed: Printed, decimals: int | None = None) -> Number:
        """A printed number; of so many decimals, where a program has cut off trailing zeros."""
        if printed.below:
            return cls(0.0, printed.value, MOST_OF_OUTPUT)
        shown = printed.decimals if decimals is None else max(decimals, printed.decimals)
        shown = max(-_LARGEST, min(shown, _LARGEST))
        if 0 <= shown <= MOST_OF_OUTPUT:
            return cls(round(printed.value, shown), round(printed.value, shown), shown)
        half = 0.5 * 10.0**-shown
        return cls(printed.value - half, printed.value + half, max(0, min(shown, MOST_OF_OUTPUT)))

    @classmethod
    def exact(cls, printed: Printed) -> Number:
        """A number at full precision: to six decimals as those of regressions, small ones to four digits."""
        value = printed.value
        size = math.floor(math.log10(abs(value))) if value else 0
        decimals = min(MOST_OF_OUTPUT, max(OF_EXACT, OF_SMALL - 1 - size))
        near = round(value, decimals)
        half = 0.5 * 10.0**-decimals
        if abs(near - value) > 2.0 * _TIE * half:
            return cls(value - half, value + half, decimals)
        return cls(near, near, decimals)

    @property
    def negative(self) -> Number:
        """The number with the other sign."""
        return Number(-self.high, -self.low, self.decimals)

    def given(self, decimals: int) -> float | str:
        """What a study file holds of it in an output of so many decimals: the number, or 'LOW to HIGH'."""
        low, high = self.low, self.high
        if low == high and decimals != self.decimals:
            half = 0.5 * 10.0**-self.decimals
            if decimals > self.decimals:
                low, high = low - half, high + half
        return low if low == high else f"{low:.12g} to {high:.12g}"


@dataclass(frozen=True)
class FoundTest:
    """One printed test. may_be: the tests that it may be; the one there is, where the text says it. also: what it may
    be besides, unless the output says its test.

    numbers: in the order of its own groups. continuity: None where the text does not say it. groups: levels of the two
    groups as printed, in the order of the test; `order`: what says the order where they are not named: R's first level,
    or nothing. sizes: records of each of them. variable, by: as the text calls what is compared, '' where it does not.
    slope: whether it is one on numbers where `by` has numbers. doubtful: why a number cannot be told for certain;
    unsaid: the same, unless the output says its continuity. notes: what is left out. refused: why it is not read.
    described: of each group as it is called, or of each variable of a pair, texts of its count, mean and sd. pair: what
    differences are of, the first less the second, as the text calls them. scores: of its groups, in their order.
    weights: those of kappa. at: its line in a log of Stata. aside: it stands beside another test, and is taken where
    the output says its test. note_of: what is said where it is one of these. whom: of
    whom it is, as a listing of SAS says it, '' where these are all; layer: the levels of its BY group.
    """

    may_be: tuple[Test, ...]
    numbers: Mapping[Statistic, Number]
    continuity: bool | None = None
    groups: tuple[str, ...] = ()
    order: Literal["first level", "unknown"] = "unknown"
    sizes: tuple[int, ...] = ()
    variable: str = ""
    by: str = ""
    also: str = ""
    slope: bool = False
    doubtful: Mapping[Statistic, str] = field(default_factory=dict)
    unsaid: Mapping[Statistic, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refused: str = ""
    described: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    pair: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    weights: Weights | None = None
    aside: bool = False
    at: int | None = None
    note_of: Mapping[Test, str] = field(default_factory=dict)
    whom: str = ""
    layer: tuple[tuple[str, str], ...] = ()


def or_refused(read: Callable[..., FoundTest], *given: Any) -> FoundTest:
    """The test that is read; or why it is not, which matters if it is the one that is asked for."""
    try:
        return read(*given)
    except OutputError as error:
        return FoundTest((), {}, refused=str(error))


def bare_name(text: str) -> str:
    """A variable as it is called inside an expression: `factor(d$arm)` is of arm."""
    inner = re.fullmatch(r"(?:as\.)?(?:factor|ordered|numeric|integer|character)\((.+)\)", text.strip())
    text = (inner[1] if inner else text).strip()
    column = re.fullmatch(r"[\w.]+(?:\$|\[\[[\"'])([\w.]+)(?:[\"']\]\])?", text)
    return (column[1] if column else text).strip("`")


def levels_compared(text: str) -> tuple[str, tuple[str, ...]]:
    """The variable and the two of its levels that an expression takes one by one: x[arm == "a"], x[arm == "b"]."""
    found = re.findall(r"([\w.$]+)\s*==\s*(?:'([^']*)'|\"([^\"]*)\"|([\w.]+))", text)
    names = {bare_name(each[0]) for each in found}
    levels = tuple(next((part for part in each[1:] if part), "") for each in found)
    return (names.pop(), levels) if len(names) == 1 and len(levels) == 2 and levels[0] != levels[1] else ("", ())
