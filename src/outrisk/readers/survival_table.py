"""Survival tables in files: times with the survival, its standard error, records at risk, events; curves by group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.outputs.smooth.survival import SurvivalEntry
from outrisk.readers.printed_number import Printed, as_given, decimals_of, is_withheld, read_printed
from outrisk.readers.source import Source
from outrisk.readers.stata_curves import curves_of_stata
from outrisk.readers.survfit import Row, of_survival, printed_curves
from outrisk.readers.term_names import levels_of

_TIME = ("time", "times", "t")
_STRATA = ("strata", "stratum", "group")
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
_NOTHING = {"survival": "undefined", "standard error": "undefined", "at risk": 0.0, "events": 0.0}


def entry_of_survival_table(source: Source, entry: SurvivalEntry, codebook: Codebook, place: str) -> SurvivalEntry:
    """The entry with the times and numbers of the table; OutputError where it is none.

    Curves by group have a column of each variable, or one of strata (`sex=f, arm=2`) as R writes it. A time that a
    group has no row for is withheld there; a group without any row has nobody.
    """
    grid = printed_curves(source) or curves_of_stata(source, entry, place) or source.grid
    header = [cell.casefold() for cell in grid[0]]
    time = next((at for at, cell in enumerate(header) if cell in _TIME or cell == entry.time.casefold()), None)
    columns = {_COLUMNS[cell]: at for at, cell in reversed(list(enumerate(header))) if cell in _COLUMNS}
    if time is None or not columns:
        raise OutputError(f"{place}: a survival table has the columns time and survival; it has {grid[0]}")
    comma = source.comma and grid is source.grid
    wanted: list[str] = [each for each in ("survival", "standard error", "at risk", "events") if each in columns]
    if "statistics" in entry.model_fields_set:
        wanted = [str(each) for each in entry.statistics]
        absent = [each for each in wanted if each not in columns]
        if absent:
            raise OutputError(f"{place}: the table has no column for {', '.join(absent)}")
    rows: dict[tuple[tuple[str, ...], float], Row] = {}
    for row in grid[1:]:
        at = read_printed(row[time], comma)
        if at is None or at.below:
            raise OutputError(f"{place}: the time {row[time]!r} is not a number")
        key = _group(row, header, entry.by, codebook, place), at.value
        if key in rows:
            raise OutputError(
                f"{place}: time {format_value(at.value)} stands there twice{_of(entry.by, key[0])}; keep one"
            )
        rows[key] = {name: _number(row[columns[name]], comma, name, place) for name in columns}
    rows = of_survival(rows)
    digits = {
        name: decimals_of(each[name] for each in rows.values())
        for name in wanted
        if name in ("survival", "standard error")
    }
    changes: dict[str, Any] = {
        "times": sorted({value for _, value in rows}),
        "statistics": wanted,
        "values": None,
        "decimals": entry.decimals if "decimals" in entry.model_fields_set else digits,
    }
    changed = type(entry).model_validate({**entry.model_dump(), **changes})
    own = grid is not source.grid  # a page shows trailing zeros, a CSV loses them
    return changed.model_copy(update={"values": _values(changed, rows, wanted, digits, codebook, own)})


def _group(
    row: Sequence[str], header: Sequence[str], by: Sequence[str], codebook: Codebook, place: str
) -> tuple[str, ...]:
    """The levels of `by` that a row is of, as labels have them."""
    strata = next((at for at, cell in enumerate(header) if cell in _STRATA and cell not in by), None)
    if not by:
        if strata is not None and row[strata]:
            raise OutputError(
                f"{place}: the table has curves by {row[strata]!r} and others; say the variables with 'by'"
            )
        return ()
    found = []
    for name in by:
        text = row[header.index(name.casefold())] if name.casefold() in header else None
        if text is None and strata is not None:
            said = re.search(rf"(?:^|[,;]\s*){re.escape(name)}\s*=\s*([^,;]+)", row[strata])
            text = said[1] if said else row[strata] if len(by) == 1 else None
        if text is None:
            raise OutputError(f"{place}: the table does not say of which {name} a curve is; add a column '{name}'")
        levels = levels_of(codebook[name], text)
        if len(levels) != 1:
            known = ", ".join(codebook[name].labels[:20])
            raise OutputError(
                f"{place}: {text.strip()!r} is no level of '{name}'; levels are {known}{codebook[name].if_merged}"
            )
        found.append(levels[0])
    return tuple(found)


def _of(by: Sequence[str], group: Sequence[str]) -> str:
    return "".join(f", {name}={level}" for name, level in zip(by, group, strict=True))


def _number(text: str, comma: bool, name: str, place: str) -> Printed | None:
    found = read_printed(text, comma)
    if found is None and not is_withheld(text) and text.strip().casefold() not in ("nan", "na", "inf", "-inf"):
        raise OutputError(f"{place}: {name} is {text[:40]!r} at one time, which is not a number")
    return found


def _values(
    entry: SurvivalEntry,
    rows: dict[tuple[tuple[str, ...], float], Row],
    wanted: Sequence[str],
    digits: dict[str, int],
    codebook: Codebook,
    own: bool,
) -> dict[str, Any]:
    (output,) = entry.build(codebook, 1)
    here = {group for group, _ in rows}
    values: dict[str, Any] = {}
    for group in (tuple(format_value(value) for value in group) for group in output.groups):
        for at in output.at.tolist():
            row = rows.get((group, at))
            for name in wanted:
                number = None if row is None else row[name]
                absent = "undefined" if row is not None else "withheld" if group in here else _NOTHING[name]
                where = _of(entry.by, group).removeprefix(", ") + ", " * bool(entry.by)
                label = f"{where}{entry.time}={format_value(at)}: {name}"
                values[label] = absent if number is None else as_given(number, digits.get(name, 0), own=own)
    return values
