"""Numbers of a test that R prints: how many digits are sure, and what limits of a difference say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from scipy import stats

from outrisk.errors import OutputError
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.found_tests import Number
from outrisk.readers.printed_number import MOST_OF_OUTPUT, Printed, read_printed

_SURE = 5  # significant digits of a statistic that R prints, and of p one less; all its releases at the least
_PLACES = {"statistic": 4, "df": 3, "df within": 3}  # at which R 2 rounded, whatever the size
_QUANTILE = 1e-9  # relative, by which quantiles of t may differ between programs


def numbers_of_r(printed: dict[Statistic, tuple[str, str]], limit_digits: int) -> dict[Statistic, Number]:
    """The numbers, each as wide as R's rule for its digits leaves it.

    R prints a statistic and its degrees of freedom to as many significant digits (five, unless its options say
    otherwise), p to one less but one at least, limits to two more, and cuts off trailing zeros. What one of them
    shows is therefore true of all, up to the usual five; R 2 rounded to decimals instead, so that small ones have no
    more than those.
    """
    found: dict[Statistic, Printed] = {}
    for name, (sign, text) in printed.items():
        number = read_printed(("<" if sign == "<" else "") + text)
        if number is None and not (text == "NA" and name == "df"):
            raise OutputError(f"{name} is {text[:40]!r}, which is not a number; give the page as R prints it")
        if number is not None:
            found[name] = number
    shown = [significant(printed[name][1]) for name, each in found.items() if not each.below and name != "p"]
    if "p" in found and not found["p"].below and (of_p := significant(printed["p"][1])) > 1:  # one may be the least
        shown.append(of_p + 1)
    sure = min(max([*shown, limit_digits - 2]), _SURE)
    numbers: dict[Statistic, Number] = {}
    for name, each in found.items():
        decimals = each.decimals if each.below else _decimals(name, each, sure)
        numbers[name] = Number.of(replace(each, decimals=decimals), decimals)
    return numbers


def _decimals(name: Statistic, number: Printed, sure: int) -> int:
    """The decimals that a number is good to, where as many significant digits are sure of a statistic."""
    if not number.value:
        return max(number.decimals, _PLACES.get(name, number.decimals))
    size = math.floor(math.log10(abs(number.value)))
    least = number.decimals
    if name == "p" and number.value == 1.0:  # rounded up from below
        size, least = -1, max(1, least)
    if least == 0 and (name == "statistic" or size >= _SURE):  # whole ones, to which R 3 gave no more digits either
        digits = f"{abs(number.value):.0f}"
        least = len(digits.rstrip("0")) - len(digits)
    decimals = (max(1, sure - 1) if name == "p" else sure) - 1 - size
    return max(least, min(decimals, _PLACES.get(name, decimals)))


def digits_of_limits(body: Sequence[str]) -> int:
    """How many significant digits both limits show at the least; 0 without limits."""
    at = next((at for at, line in enumerate(body[:-1]) if line.endswith("percent confidence interval:")), None)
    return 0 if at is None else min(map(significant, body[at + 1].split()), default=0)


def significant(text: str) -> int:
    """How many significant digits a text shows; 0 of a whole number, whose digits are all printed."""
    mantissa = text.casefold().partition("e")[0].lstrip("+-")
    return len(mantissa.replace(".", "").lstrip("0")) if "." in mantissa else 0


def of_limits(body: Sequence[str], numbers: dict[Statistic, Number]) -> dict[Statistic, Number]:
    """The difference of two means and its standard error, as far as their printed limits tell; {} without both."""
    at = next((at for at, line in enumerate(body[:-1]) if line.endswith("percent confidence interval:")), None)
    level = read_printed(body[at].split()[0]) if at is not None else None
    ends = [read_printed(text) for text in body[at + 1].split()] if at is not None else []
    if level is None or not 0.0 < level.value < 100.0 or "df" not in numbers or len(ends) != 2:
        return {}
    lower, upper = ends
    if lower is None or upper is None or lower.value > upper.value:
        return {}
    half, df = max(lower.half, upper.half), numbers["df"]
    middle, width = (lower.value + upper.value) / 2.0, (upper.value - lower.value) / 2.0
    of_df = 0.5 * 10.0**-df.decimals
    quantiles = [stats.t.ppf(0.5 + level.value / 200.0, end) for end in (df.low - of_df, df.high + of_df)]
    digits = max(0, min(MOST_OF_OUTPUT, 1 + max(lower.decimals, upper.decimals)))
    if not all(quantile > 0.0 for quantile in quantiles):
        return {}
    return {
        "difference": Number(middle - half, middle + half, digits),
        "standard error": Number(
            max(width - half, 0.0) / quantiles[0] * (1.0 - _QUANTILE),
            (width + half) / quantiles[1] * (1.0 + _QUANTILE),
            digits,
        ),
    }
