"""Codes that look as if they meant a missing value: -9 and 99 among numbers, '?' and 'unknown' among texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from outrisk.microdata import as_text, numbers_of, reads_as_numbers

_WORDS = {
    "?", "??", ".", "-", "--", "*", "n/a", "na", "n.a.", "nan", "none", "null", "nil", "missing", "unknown",
    "not known",
    "unbekannt", "keine angabe", "k.a.", "refused", "don't know", "dont know", "not stated", "not applicable",
    "weiss nicht",
    "no answer", "fehlend",
}  # fmt: skip
_NEGATIVE = (
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
    -7,
    -8,
    -9,
    -66,
    -77,
    -88,
    -97,
    -98,
    -99,
    -666,
    -777,
    -888,
    -997,
    -998,
    -999,
    -9999,
)
_AMONG_TEXT = (*_NEGATIVE[8:], 99, 999, 9999)  # no text is one of these by chance
_MANY_NUMBERS, _FEW_WORDS = 20, 3  # different numbers among which so few words are no values
_NINES = (9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9997, 9998, 9999, 99999, 999999)


def suspected(column: pd.Series[Any]) -> list[str]:
    """Values of a column (without its gaps) that may mean missing, as text."""
    text = as_text(column).astype(str).str.strip()
    words = sorted({value for value in text.unique() if value.lower() in _WORDS} | _among_numbers(text))
    rest = column[~text.isin(words)]
    if rest.empty:
        return words
    if not reads_as_numbers(rest):
        written = numbers_of(rest.unique())
        codes = [f"{value:g}" for value in written if value in _AMONG_TEXT]
        return words + (sorted(codes) if np.isnan(written).mean() > 0.5 else [])
    numbers = np.unique(numbers_of(as_text(rest).unique()))
    return words + [f"{code:g}" for code in _numbers(numbers)]


def _among_numbers(text: pd.Series[str]) -> set[str]:
    """Words without a digit that stand among many different numbers, such as N for not in universe."""
    values = text.drop_duplicates()
    numbers = pd.to_numeric(values, errors="coerce")
    others = set(values[numbers.isna()])
    few = len(others) <= _FEW_WORDS and numbers.nunique() > _MANY_NUMBERS
    return others if few and not any(char.isdigit() for value in others for char in value) else set()


def _numbers(values: np.ndarray[Any, Any]) -> list[float]:
    """Negative codes where nothing else is below zero; nines and their kin that stand far above the rest."""
    negative = [float(value) for value in values if value < 0]
    found = (
        negative if negative and all(value in _NEGATIVE for value in negative) and len(negative) < len(values) else []
    )
    if found and len(found) == len(range(int(min(found)), 0)) and max(values) <= len(found) + 1:
        found = []  # as -2, -1, 0, 1, 2: a scale about zero
    rest = [float(value) for value in values if value not in found]
    while len(rest) > 2 and rest[-1] in _NINES and _stands_apart(rest):
        found.append(rest.pop())
    return sorted(found)


def _stands_apart(rest: list[float]) -> bool:
    """Whether the greatest number stands further from the others than half of what they span, and than 2."""
    others = [value for value in rest[:-1] if value not in _NINES or value < 66]
    if len(others) < 2:
        return False
    return rest[-1] - others[-1] > max(0.5 * (others[-1] - others[0]), 2)
