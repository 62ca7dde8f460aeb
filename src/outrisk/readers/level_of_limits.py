"""The level of confidence limits that a table does not say, by the standard errors and p-values beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from scipy import stats
from scipy.optimize import brentq

from outrisk.readers.printed_number import Printed, read_printed

_PERCENT = r"(\d\d(?:[.,]\d+)?) ?(?:%|-?per ?cent\b)"
_SAID = re.compile(
    rf"{_PERCENT}[ -]?(?:c\.?i|conf|(?:credible |uncertainty )?(?:intervals?|limits?))|"
    rf"(?:confidence|intervals?|limits?)\b[^.;\d%]{{,40}}?{_PERCENT}(?! of\b)",
    re.I,
)
_ALPHA = re.compile(r"(?<!cronbach )(?<!cronbach's )(?<!cronbach’s )(?<!cronbachs )\b(?:alpha|α) ?= ?(0?[.,]\d+)", re.I)
_OF_SIGNS = re.compile(
    r"(?i)\b(?:significan(?:t|ce)|reject\w*|stars?)\b[^.;]*$"
)  # before an alpha that is not of limits
_LEAST = 0.5  # a level that is said
_LEVELS = (0.95, 0.9, 0.99, 0.999, 0.8)
_EXACT = 1e-6  # relative, of numbers at full precision
_MOST_DF = 1e7
_PARTS = ("coefficients", "standard_errors", "lower", "upper")


def level_said(text: str) -> float | None:
    """The level of limits that words say: '90% CI', 'Confidence level: 90 percent', 'alpha = 0.1'; else None."""
    shares = [float((found[1] or found[2]).replace(",", ".")) / 100 for found in _SAID.finditer(text)]
    shares += [
        1 - float(found[1].replace(",", "."))
        for found in _ALPHA.finditer(text)
        if not _OF_SIGNS.search(text[max(0, found.start() - 60) : found.start()])
    ]
    return next((round(share, 6) for share in shares if share >= _LEAST), None)


def level_of_limits(rows: Sequence[tuple[str, Mapping[str, str]]], ratios: bool, comma: bool) -> float | None:
    """The level of limits that are estimates +- a multiple of their standard errors, by the normal distribution or
    Student's; the first of the usual ones, from 95 % on, that has this multiple. None where none has, or no errors
    stand beside limits.
    """
    low, high, tests = 0.0, math.inf, list[tuple[float, Printed]]()
    for _, texts in rows:
        read = [read_printed(texts.get(part, ""), comma) for part in _PARTS]
        found = [each for each in read if each is not None and not each.below]
        if len(found) < len(_PARTS) or found[1].value <= 0 or (ratios and min(each.value for each in found) <= 0):
            continue
        b, error, lower, upper = found
        ends, slack = (lower.value, upper.value), lower.half + upper.half
        if ratios:
            ends, slack = (math.log(ends[0]), math.log(ends[1])), lower.half / ends[0] + upper.half / ends[1]
        multiple = (ends[1] - ends[0]) / (2 * error.value)
        slack = slack / (2 * error.value) + multiple * (error.half / error.value + _EXACT)
        low, high = max(low, multiple - slack), min(high, multiple + slack)
        p = read_printed(texts.get("p_values", ""), comma)
        if p is not None and not p.below and p.value > 0:
            tests.append(((math.log(b.value) if ratios else b.value) / error.value, p))
    if low > high or not math.isfinite(high):
        return None
    return next((level for level in _LEVELS if _has(level, low, high, tests)), None)


def _df(q: float, multiple: float) -> float:
    """The degrees of freedom whose quantile is this multiple."""
    return float(brentq(lambda df: stats.t.ppf(q, df) - multiple, 1, _MOST_DF))


def _has(level: float, low: float, high: float, tests: Sequence[tuple[float, Printed]]) -> bool:
    """Whether some distribution has a quantile from `low` to `high` at this level, and the p of these statistics."""
    q = 0.5 + level / 2
    if low <= stats.norm.ppf(q) <= high:
        return True
    if high < stats.norm.ppf(q) or low > stats.t.ppf(q, 1):
        return False
    least = 1.0 if high >= stats.t.ppf(q, 1) else _df(q, high)
    most = _MOST_DF if low <= stats.t.ppf(q, _MOST_DF) else _df(q, low)
    if math.floor(most) < math.ceil(least):  # degrees of freedom are whole
        return False
    return all(
        2 * stats.t.sf(abs(t), most) * 0.9 - p.half <= p.value <= 2 * stats.t.sf(abs(t), least) * 1.1 + p.half
        for t, p in tests
    )
