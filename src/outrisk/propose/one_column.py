"""What a column is: a category, a number on a grid, a date that becomes a year, or nothing for a codebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from outrisk.codebook import OTHER, Variable, format_value
from outrisk.microdata import MISSING_VALUES, as_numbers, as_text, gaps_of, numbers_of, reads_as_numbers
from outrisk.propose.gap_codes import suspected
from outrisk.propose.grids import grid_of
from outrisk.propose.words import names_identifier
from outrisk.tabular.recoded import year_of

_FEW_CODES = 10  # different small integers that are taken as codes of categories
_LARGEST_CODE = 20
_OF_FEW = 0.1  # share of records with values of few people, from which what is called an identifier is one
_FEW_VALUES = 20  # different numbers that may be listed as they are, if each is of enough people
Use = Literal["", "number", "category"]  # how a formula takes a column


@dataclass(frozen=True)
class Column:
    """What is proposed for a column; `variable` is None for one that is left out.

    `why` says in words what was guessed and holds no value of fewer people than the threshold; `rare` has the levels
    held by fewer, with how many, for the terminal alone. `missing` are codes taken as missing, `doubtful` ones that
    may be; `unlisted` says what becomes of values that the codebook does not list.
    """

    name: str
    variable: Variable | None
    why: str
    missing: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    year: bool = False
    derive: str = ""
    rare: Mapping[str, int] = field(default_factory=dict)
    unlisted: Literal["", "merge", "drop"] = ""
    other: str = ""


@dataclass(frozen=True)
class Rules:
    """What the user said: how many people a level needs, and what becomes of rarer ones ('' = asked, else merged)."""

    threshold: int
    rare: Literal["", "keep", "merge", "drop"] = ""


def look_at(
    column: pd.Series[Any],
    rules: Rules,
    missing: tuple[str, ...] | None,
    levels: Mapping[str, str],
    label: str,
    use: Use,
) -> Column:
    """A proposal for one column; `missing`: codes that mean missing (None: those that look so), `levels`: labels."""
    name = str(column.name)
    present = column[~gaps_of(column, MISSING_VALUES)]
    codes = suspected(present) if missing is None else [code for code in missing if _holds(present, code)]
    taken = codes if missing is not None else _plainly(present, codes, levels)
    doubtful = [code for code in codes if code not in taken]
    gone = _are(present, taken)
    left = present[~gone]
    base = Column(name, None, "", tuple(taken), tuple(doubtful))
    if left.empty:
        return replace(base, why="no values at all")
    gaps = len(left) < len(column)
    if left.nunique() == 1:
        return replace(base, why="one value only")
    found = _dates(base, left, rules, gaps, label)
    if found is None and (pd.api.types.is_datetime64_any_dtype(left.dtype) or _has_time(left)):
        found = replace(base, why="dates and times")
    if found is None and reads_as_numbers(left) and not isinstance(left.dtype, pd.CategoricalDtype):
        found = _numbers(base, left, len(column), rules, gaps, levels, label, use)
    return found or _category(base, left, rules, gaps, levels, label)


def points_at_people(column: pd.Series[Any], threshold: int = _FEW_CODES) -> bool:
    """Whether most values of a column are of fewer than `threshold` people: an identifier, free text, exact dates.

    Of fewer than 20 records that cannot be told.
    """
    if len(column) < _FEW_VALUES:
        return False
    found = look_at(column, Rules(threshold, "keep"), (), {}, "", "")
    return found.year or "identifier" in found.why or "dates" in found.why


def _has_time(column: pd.Series[Any]) -> bool:
    return type(column.iloc[0]).__name__ in ("date", "datetime", "time", "Timestamp", "timedelta")


def _plainly(present: pd.Series[Any], codes: list[str], levels: Mapping[str, str]) -> list[str]:
    """Codes that are plainly no values: text among numbers, numbers out of place or among text."""
    rest = present[~_are(present, codes)]
    if rest.empty:
        return []
    numbers = reads_as_numbers(rest)
    return [code for code in codes if code not in levels and (numbers or _is_number(code))]


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _holds(column: pd.Series[Any], code: str) -> bool:
    return bool(_are(column, [code]).any())


def _are(column: pd.Series[Any], codes: list[str]) -> pd.Series[bool]:
    """Which values are one of these codes, numbers by their value."""
    text = as_text(column).astype(str).str.strip()
    found, wanted = pd.unique(text), numbers_of(codes)
    same = np.isin(numbers_of(found), wanted[~np.isnan(wanted)])
    return text.isin([*codes, *found[same]])


def _dates(base: Column, left: pd.Series[Any], rules: Rules, gaps: bool, label: str) -> Column | None:
    values = left.unique().tolist()
    if year_of(values[0]) is None:
        return None
    found = {value: year_of(value) for value in values}
    if None in found.values():
        return None
    years = left.map(found).to_numpy(dtype=float)
    if len(np.unique(years)) == 1:
        return replace(base, why="dates of one year")
    variable = grid_of(years, rules.threshold).variable(base.name, gaps, label)
    return replace(base, variable=variable, why="dates, of which only the year is kept", year=True)


def _numbers(
    base: Column,
    left: pd.Series[Any],
    n: int,
    rules: Rules,
    gaps: bool,
    levels: Mapping[str, str],
    label: str,
    use: Use,
) -> Column | None:
    """A number; None where the numbers are codes of categories."""
    numbers = as_numbers(left, np.zeros(len(left), dtype=bool))
    values, counts = np.unique(numbers, return_counts=True)
    whole = bool(np.all(values == np.round(values)))
    of_few = counts[counts < rules.threshold].sum() > _OF_FEW * len(numbers)
    if whole and names_identifier(base.name) and (len(values) > n / 2 or of_few):
        return replace(base, why=f"an identifier by its name: {len(values):,} different values in {n:,} records")
    if use == "category" or (use != "number" and whole and not _counts_or_measures(values, levels)):
        return None
    if whole and len(values) == len(numbers) >= 20 and _numbered(values):
        return replace(base, why=f"a number of its own for each of {n:,} records: an identifier")
    if len(values) <= _FEW_VALUES and counts.min() >= rules.threshold:
        support = tuple(int(value) for value in values) if whole else tuple(float(value) for value in values)
        kind: Literal["integer", "numeric"] = "integer" if whole else "numeric"
        why = f"a number of {len(values)} values, each of {rules.threshold} people or more"
        return replace(base, variable=Variable(base.name, kind, support, gaps, label), why=why)
    grid = grid_of(numbers, rules.threshold)
    if grid.expression(base.name) and "`" in base.name:
        return replace(base, why="a number to be rounded whose name has a backtick; rename it")
    variable = grid.variable(base.name, gaps, label)
    said = f"a number, on a grid of {len(variable.values):,} values with round ends"
    said += ", to which the data are rounded" if grid.rounded else ""
    said += "; a few numbers far out are cut off at its end" if grid.topped else ""
    return replace(base, variable=variable, why=said, derive=grid.expression(base.name))


def _counts_or_measures(values: np.ndarray[Any, Any], levels: Mapping[str, str]) -> bool:
    """Whether whole numbers are numbers: neither labelled one by one nor a few small codes."""
    if levels and np.mean([format_value(float(value)) in levels for value in values]) > 0.5:
        return False
    return len(values) > _FEW_CODES or bool(np.abs(values).max() > _LARGEST_CODE)


def _numbered(values: np.ndarray[Any, Any]) -> bool:
    """Whether different numbers follow each other, or have six digits and more, each as many."""
    digits = {len(f"{abs(value):.0f}") for value in values[[0, -1]]}
    return bool(values[-1] - values[0] < 2 * len(values)) or (len(digits) == 1 and digits.pop() >= 6)


def _category(
    base: Column, left: pd.Series[Any], rules: Rules, gaps: bool, labels: Mapping[str, str], label: str
) -> Column:
    counts = as_text(left).astype(str).value_counts()
    order = _order(left, [str(level) for level in counts.index])
    rare = {level: int(counts[level]) for level in order if counts[level] < rules.threshold}
    common = [level for level in order if level not in rare]
    share = sum(rare.values()) / len(left)
    if len(order) > len(left) / 2 or share > 0.5:
        what = "an identifier" if names_identifier(base.name) else "an identifier, or free text"
        if len(order) <= len(left) / 2 and not names_identifier(base.name):
            what += f", or too few records for {rules.threshold} people a level (--threshold)"
        return replace(base, why=f"{len(order):,} different values in {len(left):,} records: {what}")
    if names_identifier(base.name) and share > _OF_FEW:
        return replace(base, why="an identifier by its name, with values of few people")
    listed, unlisted, other = common, "", ""
    if rare:
        unlisted = {"keep": "", "drop": "drop"}.get(rules.rare, "merge")
        listed = order if rules.rare == "keep" else common
        other = OTHER if unlisted == "merge" else ""
        listed = [*listed, OTHER] if other and OTHER not in listed else listed
        if len(listed) < 2:
            return replace(base, why=f"all levels but one are held by fewer than {rules.threshold} people", rare=rare)
    meaning = tuple(labels.get(level, "") for level in listed)
    variable = Variable(base.name, "categorical", tuple(listed), gaps, label, meaning if any(meaning) else ())
    why = f"a category of {len(listed)} levels"
    if rare:
        done = {"": "written all the same", "merge": f"merged into '{other}'", "drop": "their records are left out"}[
            unlisted
        ]
        held = f"{len(rare)} more held by" if unlisted else f"{len(rare)} of them held by"
        why += f"; {held} fewer than {rules.threshold} people, {done}"
    return replace(base, variable=variable, why=why, rare=rare, unlisted=unlisted, other=other)  # type: ignore[arg-type]


def _order(left: pd.Series[Any], levels: list[str]) -> list[str]:
    """Levels in the order that the data declare, or by their value, or alphabetically."""
    if isinstance(left.dtype, pd.CategoricalDtype):
        known = [text for text in as_text(pd.Series(left.cat.categories, dtype=object)) if text in set(levels)]
        return [str(level) for level in known]
    numbers = pd.to_numeric(pd.Series(levels), errors="coerce")
    return sorted(levels) if numbers.isna().any() else [levels[at] for at in numbers.argsort()]
