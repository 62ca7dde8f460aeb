"""Whether a table's estimates are b or exp(b), as its other numbers tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from scipy import stats

from outrisk.readers.printed_number import Printed, read_printed

Scale = Literal["b", "ratios", "open"]
_CLOSE = 0.02  # of a statistic, beside what estimate and standard error give
_OF_P = 0.15  # the same of one that a p-value tells, whose degrees of freedom are not known
_UNEVEN = 0.01  # of their distance, by which limits about an estimate may be uneven where they are of it


def scale_of(rows: Sequence[tuple[str, Mapping[str, str]]], comma: bool) -> Scale:
    """The scale of estimates whose standard errors are those of b, as of broom::tidy.

    A statistic tells it, else a p-value, else limits, of which those of the scale are even. Nothing at or below 0 is a
    ratio; where nothing tells, 'open'.
    """
    known = [_numbers(texts, comma) for _, texts in rows]
    if any(each["coefficients"].value <= 0 for each in known if "coefficients" in each):
        return "b"
    for told in (_by_statistic, _by_p, _by_limits):
        votes = [told(each) for each in known if "coefficients" in each]
        if any(votes):
            return "ratios" if sum(votes) > 0 else "b" if sum(votes) < 0 else "open"
    return "open"


def _numbers(texts: Mapping[str, str], comma: bool) -> dict[str, Printed]:
    """What a row prints, as numbers; those that are only said to be below one left out."""
    found = {part: read_printed(text, comma) for part, text in texts.items()}
    return {part: number for part, number in found.items() if number is not None and not number.below}


def _by_statistic(row: Mapping[str, Printed]) -> int:
    if not {"standard_errors", "statistic"} <= {*row} or row["standard_errors"].value <= 0:
        return 0
    return _nearer(row, row["statistic"].value, _CLOSE, signed=True)


def _by_p(row: Mapping[str, Printed]) -> int:
    p = row["p_values"].value if "p_values" in row else 0.0
    if not 0.0 < p < 1.0 or "standard_errors" not in row or row["standard_errors"].value <= 0:
        return 0
    return _nearer(row, float(stats.norm.isf(p / 2.0)), _OF_P, signed=False)


def _nearer(row: Mapping[str, Printed], statistic: float, close: float, signed: bool) -> int:
    """1 where log(estimate) / standard error is as good as a statistic and estimate / standard error is not, -1 for the
    contrary, else 0.
    """
    b, error = row["coefficients"].value, row["standard_errors"].value
    slack = close * max(1.0, abs(statistic))
    sizes = [b / error, math.log(b) / error]
    plain, ratio = (abs((size if signed else abs(size)) - statistic) <= slack for size in sizes)
    return int(ratio) - int(plain)


def _by_limits(row: Mapping[str, Printed]) -> int:
    """By which scale limits are even about their estimate."""
    if not {"lower", "upper"} <= {*row}:
        return 0
    b, low, high = (row[part].value for part in ("coefficients", "lower", "upper"))
    if low <= 0:
        return -1
    if not low < b < high:
        return 0
    plain = abs((low + high) / 2.0 - b) / (high - low)
    ratio = abs(math.log(low * high) / 2.0 - math.log(b)) / math.log(high / low)
    return 0 if abs(plain - ratio) < _UNEVEN else 1 if ratio < plain else -1
