"""Survival tables in files: times with the survival, its standard error, records at risk, events."""

from __future__ import annotations

from typing import Any

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.outputs.smooth.survival import SurvivalEntry
from outrisk.readers.printed_number import as_given, decimals_of, read_printed
from outrisk.readers.source import Source

_TIME = ("time", "times", "t")
_COLUMNS = {
    "surv prob": "survival",
    "survival": "survival",
    "surv": "survival",
    "estimate": "survival",
    "surv prob se": "standard error",
    "std.err": "standard error",
    "std.error": "standard error",
    "std err": "standard error",
    "num at risk": "at risk",
    "n.risk": "at risk",
    "at risk": "at risk",
    "num events": "events",
    "n.event": "events",
    "events": "events",
}


def entry_of_survival_table(source: Source, entry: SurvivalEntry, codebook: Codebook, place: str) -> SurvivalEntry:
    """The entry with the times and numbers of the table, for one curve; OutputError where it is none."""
    header = [cell.casefold() for cell in source.grid[0]]
    time = next((at for at, cell in enumerate(header) if cell in _TIME or cell == entry.time.casefold()), None)
    columns = {_COLUMNS[cell]: at for at, cell in reversed(list(enumerate(header))) if cell in _COLUMNS}
    if time is None or not columns:
        raise OutputError(f"{place}: a survival table has the columns time and survival; it has {source.grid[0]}")
    if entry.by:
        raise OutputError(f"{place}: a table of one curve is read; give the curves by {list(entry.by)} by their labels")
    wanted: list[str] = [each for each in ("survival", "standard error", "at risk", "events") if each in columns]
    if "statistics" in entry.model_fields_set:
        wanted = [str(each) for each in entry.statistics]
        absent = [each for each in wanted if each not in columns]
        if absent:
            raise OutputError(f"{place}: the table has no column for {', '.join(absent)}")
    numbers: dict[str, list[Any]] = {
        name: [read_printed(row[columns[name]], source.comma) for row in source.grid[1:]] for name in wanted
    }
    times = [read_printed(row[time], source.comma) for row in source.grid[1:]]
    for row, at in zip(source.grid[1:], times, strict=True):
        if at is None:
            raise OutputError(f"{place}: the time {row[time]!r} is not a number")
    digits = {name: decimals_of(each) for name, each in numbers.items() if name in ("survival", "standard error")}
    given = "decimals" in entry.model_fields_set
    values: dict[str, float | str] = {}
    for number, at in enumerate(times):
        assert at is not None
        for name in wanted:
            found = numbers[name][number]
            label = f"{entry.time}={format_value(at.value)}: {name}"
            decimals = digits.get(name, 0)
            values[label] = "undefined" if found is None else as_given(found, decimals)
    changes: dict[str, Any] = {
        "times": [at.value for at in times if at is not None],
        "statistics": wanted,
        "values": values,
        "decimals": entry.decimals if given else digits,
    }
    return type(entry).model_validate({**entry.model_dump(), **changes})
