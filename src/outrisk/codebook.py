"""The codebook: each variable with its finite support. It holds no records and is public knowledge."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from outrisk.errors import CodebookError

Kind = Literal["categorical", "integer", "numeric"]
MAX_SUPPORT = 65_535  # codes are 16-bit unsigned integers
_LARGEST_WHOLE = 2**53
MISSING = "Missing"  # how the missing level is written in labels; in data files it is an empty cell


OTHER = "Other"  # the level that levels of few people count as (`outrisk init`)


@dataclass(frozen=True)
class Variable:
    """One variable and its support.

    `values` are strings for a categorical variable and ascending numbers otherwise; code i stands for values[i].
    With `missing` there is one more code, the last, for a missing value.
    `descriptions` (may be empty) say in words what each value means.
    """

    name: str
    kind: Kind
    values: tuple[Any, ...]
    missing: bool = False
    label: str = ""
    descriptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.values:
            raise CodebookError(f"codebook: variable '{self.name}' has no values; list at least one")
        if len(self.values) + self.missing > MAX_SUPPORT:
            raise CodebookError(
                f"codebook: variable '{self.name}' has {len(self.values):,} values; at most {MAX_SUPPORT:,} are "
                "possible: band it, or give a coarser step"
            )
        repeated = sorted(str(value) for value, times in Counter(self.values).items() if times > 1)
        if repeated:
            raise CodebookError(f"codebook: variable '{self.name}' lists {repeated} twice or more; list each once")
        if self.missing and MISSING in self.values:
            raise CodebookError(f"codebook: variable '{self.name}' has a level '{MISSING}' and missing: true; keep one")
        if self.descriptions and len(self.descriptions) != len(self.values):
            raise CodebookError(
                f"codebook: variable '{self.name}' has {len(self.values)} values and {len(self.descriptions)} "
                "descriptions; give one each"
            )
        if self.kind != "categorical" and any(b <= a for a, b in zip(self.values, self.values[1:], strict=False)):
            raise CodebookError(f"codebook: the values of '{self.name}' do not ascend; list them in rising order")

    @property
    def size(self) -> int:
        """Number of codes, the missing level included."""
        return len(self.values) + self.missing

    @property
    def if_merged(self) -> str:
        """How to go on, as the end of a sentence, where a level may lack because it was merged; else empty."""
        if self.kind != "categorical" or OTHER not in self.values:
            return ""
        return f"; 'outrisk init --rare keep' gives levels of their own to what it counted as '{OTHER}'"

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers with an order (integer or numeric)."""
        return self.kind != "categorical"

    @cached_property
    def code_of(self) -> Mapping[Any, int]:
        """Code of each value."""
        return {value: code for code, value in enumerate(self.values)}

    @cached_property
    def labels(self) -> list[str]:
        """Every code written as text, the missing level last."""
        return [format_value(value) for value in self.values] + ([MISSING] if self.missing else [])


@dataclass(frozen=True)
class Codebook:
    """An ordered set of variables."""

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        if not self.variables:
            raise CodebookError("codebook: it has no variables; describe at least one")
        for name, times in Counter(self.names).items():
            if times > 1:
                raise CodebookError(f"codebook: variable '{name}' is described twice; keep one")

    @property
    def names(self) -> list[str]:
        """Names in order."""
        return [variable.name for variable in self.variables]

    @property
    def sizes(self) -> list[int]:
        """Support sizes in order, missing levels included."""
        return [variable.size for variable in self.variables]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Variable:
        return self.variables[self.index(name)]

    def index(self, name: str) -> int:
        """Position of a variable; CodebookError if there is none of that name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise CodebookError(f"no variable '{name}' in the codebook; known: {self.names}") from None


def format_value(value: object) -> str:
    """Write a value as a data file would: 2.0 as '2', 2.5 as '2.5', text as it is."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def grid(low: float, high: float, step: float) -> tuple[float, ...]:
    """Numbers from low to high (both included) by step, free of the drift that repeated addition brings."""
    steps = (high - low) / step + 1e-9
    if steps >= MAX_SUPPORT:
        raise CodebookError(f"codebook: min {low}, max {high}, step {step} make {steps:,.0f} values; widen the step")
    count = math.floor(steps) + 1
    return tuple(round(low + i * step, 12) for i in range(count))


def codebook_from_dict(document: object) -> Codebook:
    """Build a codebook from the YAML document's content (see docs/study-file.md); unknown keys are refused."""
    entries = document["variables"] if isinstance(document, Mapping) and set(document) == {"variables"} else None
    if not isinstance(entries, Mapping):
        raise CodebookError("codebook: expected one key 'variables' with a mapping of names to descriptions")
    for name in entries:
        if isinstance(name, bool) or name is None:
            raise CodebookError(f"codebook: the name of a variable reads as {name!r}; put it in quotes")
    return Codebook(tuple(_variable(str(name), entry) for name, entry in entries.items()))


def codebook_to_dict(codebook: Codebook) -> dict[str, Any]:
    """The YAML document of a codebook; `codebook_from_dict` gives the same codebook back."""
    return {"variables": {variable.name: _entry(variable) for variable in codebook.variables}}


_KNOWN = {
    "categorical": {"kind", "levels", "missing", "label"},
    "integer": {"kind", "min", "max", "values", "missing", "label"},
    "numeric": {"kind", "min", "max", "step", "values", "missing", "label"},
}


def _variable(name: str, entry: object) -> Variable:
    if not isinstance(entry, Mapping) or str(entry.get("kind")) not in _KNOWN:
        raise CodebookError(f"codebook: variable '{name}' needs a kind, one of {sorted(_KNOWN)}")
    kind: Kind = entry["kind"]
    unknown = sorted(set(map(str, entry)) - _KNOWN[kind])
    if unknown:
        raise CodebookError(
            f"codebook: {kind} variable '{name}' has unknown keys {unknown}; known: {sorted(_KNOWN[kind])}"
        )
    missing, label = entry.get("missing", False), str(entry.get("label") or "")
    if not isinstance(missing, bool):
        raise CodebookError(f"codebook: 'missing' of '{name}' is {missing!r}; write true or false")
    if kind == "categorical":
        levels = entry.get("levels")
        if isinstance(levels, Mapping):
            descriptions = tuple("" if text is None else str(text) for text in levels.values())
        elif isinstance(levels, Sequence) and not isinstance(levels, str):
            descriptions = ()
        else:
            raise CodebookError(
                f"codebook: categorical variable '{name}' needs 'levels', a list or a mapping level: meaning"
            )
        return Variable(name, kind, tuple(_level(name, level) for level in levels), missing, label, descriptions)
    return Variable(name, kind, _numbers(name, kind, entry), missing, label)


def _level(name: str, level: object) -> str:
    if isinstance(level, bool) or level is None:
        raise CodebookError(f"codebook: a level of '{name}' reads as {level!r}; put it in quotes")
    if isinstance(level, Mapping | list):
        raise CodebookError(f"codebook: a level of '{name}' is {level!r}; write text or a number")
    if level == "":
        raise CodebookError(f"codebook: a level of '{name}' is empty; that means missing: write 'missing: true'")
    return format_value(level)


def _numbers(name: str, kind: Kind, entry: Mapping[str, Any]) -> tuple[Any, ...]:
    if "values" in entry:
        if {"min", "max", "step"} & set(entry):
            raise CodebookError(f"codebook: variable '{name}' gives both 'values' and a range; keep one")
        numbers: Iterable[Any] = entry["values"] if isinstance(entry["values"], list | tuple) else [entry["values"]]
    else:
        required = ["min", "max"] + (["step"] if kind == "numeric" else [])
        absent = [key for key in required if key not in entry]
        if absent:
            raise CodebookError(f"codebook: variable '{name}' lacks {absent}; give a range, or list 'values'")
        low, high, step = entry["min"], entry["max"], entry.get("step", 1)
        for number in (low, high, step):
            _check_number(name, number)
        if step <= 0 or high < low:
            raise CodebookError(
                f"codebook: range of '{name}' is min {low}, max {high}, step {step}; no value lies in it"
            )
        numbers = grid(low, high, step)
    return tuple(_check_number(name, number, whole=kind == "integer") for number in numbers)


def _check_number(name: str, number: object, whole: bool = False) -> float | int:
    if (
        isinstance(number, bool)
        or not isinstance(number, int | float)
        or (isinstance(number, float) and not math.isfinite(number))
    ):
        raise CodebookError(f"codebook: {number!r} among the values of '{name}' is not a number")
    if (whole or isinstance(number, int)) and abs(number) > _LARGEST_WHOLE:
        raise CodebookError(
            f"codebook: a value of '{name}' is above 2**53, beyond which whole numbers are not told apart; "
            "use a larger unit, or kind categorical"
        )
    if whole:
        if number != int(number):
            raise CodebookError(
                f"codebook: {number} among the values of integer '{name}' is not whole; use kind numeric"
            )
        return int(number)
    return float(number)


def _entry(variable: Variable) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": variable.kind}
    if variable.label:
        entry["label"] = variable.label
    if variable.kind == "categorical":
        entry["levels"] = (
            dict(zip(variable.values, variable.descriptions, strict=True))
            if variable.descriptions
            else list(variable.values)
        )
    elif variable.kind == "integer" and len(variable.values) == variable.values[-1] - variable.values[0] + 1:
        entry["min"], entry["max"] = variable.values[0], variable.values[-1]
    elif _step(variable.values):
        entry["min"], entry["max"], entry["step"] = variable.values[0], variable.values[-1], _step(variable.values)
    else:
        entry["values"] = list(variable.values)
    if variable.missing:
        entry["missing"] = True
    return entry


def _step(values: tuple[float, ...]) -> float:
    """The step of a grid of more than a few values; 0 for other values."""
    if len(values) < 6 or isinstance(values[0], int):
        return 0.0
    step = round((values[-1] - values[0]) / (len(values) - 1), 12)
    return step if step > 0 and grid(values[0], values[-1], step) == values else 0.0
