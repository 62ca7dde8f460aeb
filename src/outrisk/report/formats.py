"""How numbers are written for readers; what is not defined is said in words and never as 0."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

UNDEFINED = "undefined"
CONVENTIONS = {"tcap_undefined": "non-matches undefined", "tcap_zero": "non-matches as zero"}
_MINUS = "\N{MINUS SIGN}"
_LONGEST = 300  # characters of one setting
_STOPS = {
    "matched": "all numbers at their digits",
    "near": "all numbers within 1 % of their sampling error, and no further progress",
    "budget": "budget used up",
    "stalled": "no further progress",
    "time": "time limit reached",
    "interrupted": "interrupted",
}


def fixed(value: float, decimals: int, sign: bool = False) -> str:
    """Fixed decimals. What rounds to nothing has no sign; a positive number without a sign then reads `<0.001`."""
    if math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    size = f"{abs(value):,.{decimals}f}"
    if not size.strip("0.,"):
        return f"<{10.0**-decimals:.{decimals}f}" if value > 0 and not sign else size
    mark = _MINUS if value < 0 else "+" if sign else ""
    return mark + size


def share(value: float) -> str:
    """A probability with three decimals."""
    return fixed(value, 3)


def signed(value: float) -> str:
    """A difference of probabilities with its sign."""
    return fixed(value, 3, sign=True)


def minus(text: str) -> str:
    """A sentence made for a terminal, its negative numbers of three decimals with the sign that tables have."""
    return re.sub(r"(?<![\w)])-(?=\d+\.\d{3}\b)", _MINUS, text)


def span(low: float, high: float, decimals: int) -> str:
    """A number, or the range that is known of it: `1 to 9`, `10 or more`."""
    if low == high:
        return fixed(low, decimals)
    if math.isinf(high) and not math.isinf(low):
        return f"{fixed(low, decimals)} or more"
    return f"{fixed(low, decimals)} to {fixed(high, decimals)}"


def points(value: float) -> str:
    """A share in percentage points, one decimal; what would round to nothing keeps its first digit."""
    if value and abs(value) < 0.0005:
        return f"{_MINUS if value < 0 else ''}{abs(100 * value):.1g}"
    return fixed(100 * value, 1)


def interval(low: float, high: float, sign: bool = False) -> str:
    """`low to high`, or `undefined`."""
    if math.isnan(low) or math.isnan(high):
        return UNDEFINED
    return f"{fixed(low, 3, sign)} to {fixed(high, 3, sign)}"


def error(value: float) -> str:
    """An error over many orders of magnitude, as R and Stata print it."""
    if math.isnan(value) or math.isinf(value) or value == 0:
        return fixed(value, 0)
    text = f"{abs(value):.3g}" if 0.001 <= abs(value) < 1000 else f"{abs(value):.1e}"
    return (_MINUS if value < 0 else "") + text


def count(value: float | None) -> str:
    """A whole number with thousands separated; a dash where there is none."""
    return "–" if value is None or math.isnan(value) else f"{value:,.0f}"


def seconds(value: float) -> str:
    """A duration in words."""
    if math.isnan(value):
        return UNDEFINED
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.1f} min" if value < 7200 else f"{value / 3600:.1f} h"


def spread(texts: Sequence[str]) -> str:
    """The ends of a sorted list of written numbers: `a`, or `a to b` where they differ."""
    if not texts:
        return "–"
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def names(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else "none"


def plural(number: int, noun: str) -> str:
    """`1 run`, `14 runs`, `2 people`."""
    many = "people" if noun == "person" else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


def whole(value: float) -> str:
    """A number of people with its sign where it is negative; what rounds to nothing has none."""
    return fixed(value, 0).replace("<1", "0")


def first_capital(text: str) -> str:
    """With a capital letter at the start, the rest as it is."""
    return text[:1].upper() + text[1:]


def cut(name: str, most: int) -> str:
    """The first words of a name, and an ellipsis where there are more."""
    words = name.split()
    return name if len(words) <= most else " ".join(words[:most]).rstrip(",;:.") + " …"


def sentences(text: str, most: int) -> str:
    """As many whole sentences of a text as have at most so many words together; '' where the first has more."""
    kept = ""
    for sentence in re.split(r"(?<=[.!?”]) (?=[A-Z“])", text):
        if len(f"{kept} {sentence}".split()) > most:
            break
        kept = f"{kept} {sentence}".strip()
    return kept


def brief(reason: str, most: int) -> str:
    """A reason of a clause or two; a longer one without what stands in brackets, else its last clause, or its first."""
    shorter = [reason, re.sub(r" \([^()]*\)", "", reason), reason.rpartition(": ")[2], reason.partition(": ")[0]]
    return next((each for each in shorter if len(each.split()) <= most), "")


def fold_name(level: int, fold: str) -> str:
    """`whole data`, `half 1`, `quarter 1.2`."""
    if fold == "whole":
        return "whole data"
    return f"{({2: 'half', 4: 'quarter'}).get(level, 'fold')} {fold}"


def level_name(level: int) -> str:
    """What the folds of a level are."""
    return {1: "the whole data", 2: "halves of the data", 4: "quarters of the data"}.get(level, f"{level} folds")


def file_name(name: str) -> str:
    """A file's name without the folders of the computer it lay on; other names as they are."""
    windows = PureWindowsPath(name)
    return windows.name if PurePosixPath(name).is_absolute() or windows.is_absolute() or windows.root else name


def value(item: object) -> str:
    """A value of a codebook: 2.0 as `2`, others as they are."""
    return f"{item:g}" if isinstance(item, float) else str(item)


def stop(reason: str) -> str:
    """Why a run ended, in words."""
    return _STOPS.get(reason, reason)


def anchor(measure: str) -> str:
    """A measure's name as part of an id."""
    return measure.removeprefix("tcap_")


def flat(section: Mapping[str, Any], skip: set[str]) -> list[str]:
    """`name: value` for what is set."""
    found = []
    for name, held in section.items():
        if name in skip or held is None or held in ("", [], {}):
            continue
        items = [value(item) for item in (held if isinstance(held, list) else [held])]
        text = ", ".join(file_name(item) for item in items)
        found.append(f"{name}: {text if len(text) <= _LONGEST else text[:_LONGEST] + ' …'}")
    return found
