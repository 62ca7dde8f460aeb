"""Rows of a table one that are of a number: its means and sds, its quantiles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from outrisk.errors import OutputError
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.errors_of_means import ERROR
from outrisk.outputs.tables.person_time import ENDS
from outrisk.readers.printed_number import as_given, is_undefined
from outrisk.readers.remarks import OF_QUANTILES
from outrisk.readers.table_one_reading import Reading, parts_of
from outrisk.readers.table_one_rows import Row

_BY_SHAPE: Mapping[int, tuple[str, ...]] = {  # what numbers of a cell are where nothing says it
    1: ("mean",),
    2: ("mean", "sd"),
    3: ("median", "quantile 0.25", "quantile 0.75"),
}
_OF_MEANS = ("mean", "sd", ERROR, *ENDS)
_LEVEL = re.compile(r"(\d\d(?:\.\d+)?) ?%")
_QUANTILES = {"min": 0.0, "quantile 0.25": 0.25, "median": 0.5, "quantile 0.75": 0.75, "max": 1.0}
_MOST_DIGITS = 12
_OF_NUMBERS = ("threshold", "withhold_zeros", "known_threshold")  # what of a protection withholds them


def add_numbers(reading: Reading, name: str, rows: Sequence[Row], told: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Add what rows print of a number, by group and of all, and return the statistics. `told`: what notes below the
    table say of its cells.
    """
    texts: dict[str, dict[str, str]] = {}
    for row in rows:
        found = reading.split(row, row.statistics or _by_shape(reading, row, told))
        if twice := next((each for each in found if each in texts), None):
            raise OutputError(f"{reading.place}: the {twice} of '{name}' stands there twice; keep one")
        texts |= found
    if "other mean" in texts:
        raise OutputError(f"{reading.place}: the mean of '{name}' is not the plain one; leave it out by 'rows'")
    if gone := sorted(set(texts) - {*_OF_MEANS, *_QUANTILES}):
        raise OutputError(
            f"{reading.place}: a {gone[0]} of '{name}' is of no level of it; say in 'rows' of which, as in "
            f"{{{rows[0].called!r}: {name} = {reading.codebook[name].labels[0]}}}"
        )
    said = "program" in reading.entry.model_fields_set
    if any(each.startswith("quantile ") for each in texts) and not said and OF_QUANTILES not in reading.notes:
        reading.notes.append(OF_QUANTILES)
    if ENDS[0] in texts:
        reading.notes.append(f"{rows[0].called!r}: limits of means are taken for those of Student's t")
    level_said = next((each for row in rows if (each := _LEVEL.search(row.called)) and ENDS[0] in texts), None)
    level = float(level_said[1]) / 100.0 if level_said else 0.95
    for kind, names in (("magnitudes", _OF_MEANS), ("quantiles", tuple(_QUANTILES))):
        kept = {each: texts[each] for each in names if each in texts}
        for of_all in (False, True) if kept else ():
            _add(reading, name, kind, kept, of_all, level)
    return tuple(texts)


def _by_shape(reading: Reading, row: Row, told: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    some = [cell for cell in row.cells.values() if cell]
    cell = next((cell for cell in some if re.search(r"\d", cell)), some[0])
    n = max(len(parts_of(cell, wanted, reading.comma)) for wanted in _BY_SHAPE)
    if found := next((each for each in told if len(each) == n and {*each} <= {*_OF_MEANS, *_QUANTILES}), None):
        return found
    of_median = next((each for each in told if "median" in each), ())
    if n == 2 and of_median and not any("mean" in each for each in told):
        return of_median
    if n not in _BY_SHAPE or "%" in cell:
        raise OutputError(
            f"{reading.place}: {row.called!r} does not say what {cell[:40]!r} is; add it, as in 'mean (sd)'"
        )
    reading.notes.append(f"{row.called!r} does not say what {cell!r} is; it is taken for {', '.join(_BY_SHAPE[n])}")
    return _BY_SHAPE[n]


def _add(
    reading: Reading, name: str, kind: str, texts: Mapping[str, Mapping[str, str]], of_all: bool, level: float
) -> None:
    """Add one kind of statistics, of the groups or of all."""
    entry, groups = reading.entry, [TOTAL] if of_all else reading.groups
    read = {
        each: {group: reading.number(cells[group], f"{each} of {name}") for group in groups if group in cells}
        for each, cells in texts.items()
    }
    if not any(read.values()) or (people := reading.people(name, of_all)) is None:
        return
    digits = {
        each: min(_MOST_DIGITS, max((max(0, one.decimals) for one in cells.values() if one), default=0))
        for each, cells in read.items()
    }
    more: dict[str, Any] = {"kind": kind, "value": name, "by": [] if of_all else [entry.by]}
    if kind == "magnitudes":
        if ENDS[0] in digits:
            digits |= dict.fromkeys(ENDS, max(digits[end] for end in ENDS))
        names = tuple(dict.fromkeys("limits" if each in ENDS else each for each in texts))
        more |= {
            "statistics": names,
            "decimals": {each: digits[ENDS[0] if each == "limits" else each] for each in names},
        }
        more |= {"level": level} if ENDS[0] in digits else {}
    else:
        digits = dict.fromkeys(digits, max(digits.values()))
        more |= {"quantiles": tuple(_QUANTILES[each] for each in texts), "decimals": max(digits.values())}
        more |= {"program": entry.program}
    called = f"{name}{' (quantiles)' * (kind == 'quantiles')}{' of all' * (of_all and bool(entry.by))}"
    part = entry.part(called, people, **more)
    (output,) = part.build(reading.codebook, 1)
    values: dict[str, float | str] = {}
    for label in output.labels:
        each = next(each for each in texts if label.endswith(f": {each} of {name}"))
        group = TOTAL if of_all else label.removesuffix(f": {each} of {name}").removeprefix(f"{entry.by}=")
        one, text = read[each].get(group), texts[each].get(group, "")
        nobody = is_undefined(text) or group not in groups
        values[label] = as_given(one, digits[each], own=True) if one else "undefined" if nobody else "withheld"
    if "withheld" in values.values() and entry.protection.threshold:
        protection = {key: value for key, value in entry.protection if key in _OF_NUMBERS}
        part = entry.part(called, people, protection=protection, **more)
    reading.found.append(part.model_copy(update={"values": values}))
