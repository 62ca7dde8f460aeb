"""Tables of proportions in files, by the heads of their columns, as entries of a study: percentages, limits, n."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, cast, get_args

import numpy as np

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.smooth.binomial_limits import BY_ERROR, Distribution, Divisor, ProportionInterval
from outrisk.outputs.smooth.proportions import Proportions, ProportionsEntry, Statistic
from outrisk.outputs.smooth.proportions_told import by_group
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.person_time import ENDS
from outrisk.readers.arranged_cells import Arranged, Key, arrange, number_of, of_all, words
from outrisk.readers.cross_statistics import decimals_shown
from outrisk.readers.printed_number import Printed, as_given, is_undefined
from outrisk.readers.rates_columns import STATISTICS, apart
from outrisk.readers.remarks import remark
from outrisk.readers.source import Grid, Source
from outrisk.readers.table_layout import Cell, CellTable

_CALLED = {
    "proportion": "proportion; prop; p; share; prevalence; estimate; percent; percentage; pct; %",
    "standard error": "standard error; std error; std err; se; std err of proportion",
    "events": "events; event; cases; count; x; number with event",
    "n": "n; total; obs; number of obs; records; denominator; base",
}
_NAMES = {name: statistic for statistic, names in _CALLED.items() for name in names.split("; ")}
_NAMES |= {name: each for name, each in STATISTICS.items() if each in (*ENDS, "limits")}
_COUNTS = ("events", "n")
_PERCENT = re.compile(r"%|\bpercent|\bpct\b")
_LEVEL = re.compile(r"(\d\d(?:\.\d+)?) ?%")


def entries_of_proportions(source: Source, entry: ProportionsEntry, codebook: Codebook, place: str) -> list[Entry]:
    """The entry with the numbers of a table, then one for its totals; OutputError where it is none. What is left out is
    told to the log.
    """
    output = cast(Proportions, entry.model_copy(update={"values": None}).build(codebook, 1)[0])
    by = (*entry.by, entry.event) if len(output.counted) > 1 else tuple(entry.by)
    table, said = _cells(source.grid, by, codebook, place)
    arranged = (
        arrange(table, by, codebook, source.signs, place, _COUNTS)
        if by
        else of_all(table, source.signs, place, _COUNTS)
    )
    numbers = {
        name: {key: number_of(text, arranged, words(by, key), place, name in _COUNTS) for key, text in texts.items()}
        for name, texts in arranged.texts.items()
    }
    changes: dict[str, Any] = {"values": None, "statistics": _statistics(numbers, entry, place)}
    changes |= _per(numbers, entry, said["percent"], place)
    if said["level"] is not None:
        if "level" in entry.model_fields_set and entry.level != said["level"]:
            raise OutputError(
                f"{place}: 'level' is {entry.level:g} in the study and {said['level']:g} in the table; correct one"
            )
        changes["level"] = said["level"]
    if "decimals" not in entry.model_fields_set:
        changes["decimals"] = _digits(arranged, changes["statistics"], place)
    made = type(entry).model_validate({**entry.model_dump(exclude_unset=True), **changes})
    found = _filled(made, output, arranged, numbers, by, codebook)
    return _with_interval(found, entry, codebook, place)


def _cells(grid: Grid, by: Sequence[str], codebook: Codebook, place: str) -> tuple[CellTable, dict[str, Any]]:
    """The table by cells, and what its heads say: whether numbers are percentages, the level of limits."""
    if len(grid) < 2:
        raise OutputError(f"{place}: no table of proportions in it: it needs a header and rows")
    labels = {codebook[name].label.casefold(): name for name in by if codebook[name].label}
    head = [labels.get(cell.casefold(), cell) for cell in grid[0]]
    statistics = ["" if cell in by else _statistic(cell) for cell in head]
    for each in set(statistics) - {""}:
        if statistics.count(each) > 1:
            raise OutputError(f"{place}: several columns are of a {each}; keep one")
    if not {"proportion", "events", "limits", *ENDS} & set(statistics):
        raise OutputError(
            f"{place}: no column of a proportion is known in it; columns are called proportion, %, percent, standard "
            "error, lower, upper, 95% CI, events, n"
        )
    heads = {each: cell for cell, each in zip(head, statistics, strict=True) if each}
    levels = [_LEVEL.search(heads[each]) for each in ("proportion", "limits", *ENDS) if each in heads]
    said = {
        "percent": bool(_PERCENT.search(_LEVEL.sub("", heads.get("proportion", "").casefold()))),
        "level": next((float(each[1]) / 100 for each in levels if each), None),
    }
    rows, split = apart([head, *grid[1:]], ["rate" if each == "proportion" else each for each in statistics], place)
    statistics = ["proportion" if each == "rate" else each for each in split]
    axes = [at for at, cell in enumerate(rows[0]) if cell in by]
    if len(axes) != len(by):
        absent = [name for name in by if name not in rows[0]]
        raise OutputError(f"{place}: the table has no column {', '.join(map(repr, absent))}; add it, or correct 'by'")
    others = [cell for at, cell in enumerate(rows[0]) if at not in axes and not statistics[at] and cell]
    if others:
        remark(place, f"columns that are no statistic of a proportion are left out: {', '.join(others)}")
    cells = [
        Cell(tuple(row[at] for at in axes), statistics[at], row[at])
        for row in rows[1:]
        for at in range(len(row))
        if statistics[at] and at not in axes
    ]
    return CellTable(tuple(rows[0][at] for at in axes), tuple(cells)), said


def _statistic(cell: str) -> str:
    """What a column is of; '' for one that is no statistic."""
    text = " ".join(re.sub(r"[_\-\s.]+", " ", cell.casefold()).split())
    if text in _NAMES:
        return _NAMES[text]
    text = " ".join(re.sub(r"[()\[\],:]", " ", _LEVEL.sub("", cell.casefold().replace("_", " "))).split())
    text = " ".join(re.sub(r"[.\-]", " ", text).split())
    bare = " ".join(text.replace("%", " ").split())
    with_limits = bare.removeprefix("prevalence ").removeprefix("percent ").removeprefix("proportion ")
    if with_limits != bare and _NAMES.get(with_limits) == "limits":
        return "proportion"
    if text.startswith("%") and _NAMES.get(bare) == "limits":  # a percentage with its limits behind
        return "proportion"
    return _NAMES.get(text, _NAMES.get(bare, ""))


def _statistics(texts: Mapping[str, Any], entry: ProportionsEntry, place: str) -> tuple[Statistic, ...]:
    """The statistics of the table, or those of them that the entry says."""
    there = [each for each in get_args(Statistic) if each in texts or (each == "limits" and set(ENDS) <= set(texts))]
    if "statistics" in entry.model_fields_set:
        absent = [each for each in entry.statistics if each not in there]
        if absent:
            raise OutputError(f"{place}: the table has no {absent[0]}; it has {', '.join(there)}")
        return cast("tuple[Statistic, ...]", entry.statistics)
    return tuple(there)


def _per(
    numbers: Mapping[str, Mapping[Key, Printed | None]], entry: ProportionsEntry, percent: bool, place: str
) -> dict[str, float]:
    """What shares are per: as the study says, or 100 where the table shows percentages."""
    values = [each for name in ("proportion", *ENDS) for each in numbers.get(name, {}).values() if each is not None]
    signed = percent or any(each.percent for each in values)
    if "per" in entry.model_fields_set:
        if signed and entry.per != 100.0:
            raise OutputError(f"{place}: 'per' is {entry.per:g} in the study, and the table has percentages; say 100")
        return {}
    if not signed and any(each.value > 1.0 + each.half for each in values):
        raise OutputError(f"{place}: its proportions are above 1, and no head says percent; say what they are 'per'")
    return {"per": 100.0} if signed else {}


def _digits(arranged: Arranged, statistics: Sequence[Statistic], place: str) -> dict[str, int]:
    """Decimals of the statistics that are no counts."""
    found = {}
    for each in statistics:
        if each not in _COUNTS:
            names = ENDS if each == "limits" else (each,)
            found[str(each)] = max(decimals_shown(arranged.texts[name], arranged, place) for name in names)
    return found


def _filled(
    made: ProportionsEntry,
    output: Proportions,
    arranged: Arranged,
    numbers: Mapping[str, Mapping[Key, Printed | None]],
    by: Sequence[str],
    codebook: Codebook,
) -> list[ProportionsEntry]:
    """An entry for the groups, and one for each kind of totals over them."""
    keys = {key for each in numbers.values() for key in each}
    found = list[ProportionsEntry]()
    for pattern in sorted({tuple(level == TOTAL for level in key) for key in keys}):
        if by and len(by) > len(made.by) and pattern[-1]:
            continue  # all levels together are 100 %
        names = [name for name, total in zip(by, pattern, strict=True) if not total]
        groups = [name for name in names if name in made.by]
        changes: dict[str, Any] = {"by": groups}
        if any(pattern):
            changes["name"] = f"{output.name}: totals" + (f" by {', '.join(groups)}" if groups else "")
        one = made.model_copy(update=changes)
        (built,) = one.build(codebook, 1)
        by_cell = {
            words(names, tuple(level for level in key if level != TOTAL)) if names else "all": key
            for key in keys
            if tuple(level == TOTAL for level in key) == pattern
        }
        values: dict[str, float | str] = {}
        for at, label in enumerate(built.labels):
            cell, _, statistic = label.rpartition(": ")
            key = by_cell.get(cell)
            number = None if key is None else numbers[statistic].get(key)
            if number is not None and not number.below:
                values[label] = as_given(number, int(built.decimals[at]))
            elif key is None:
                values[label] = 0.0 if statistic in ("events", "n") else "undefined"
            else:
                text = arranged.texts[statistic].get(key, "")
                values[label] = "undefined" if is_undefined(text) else "withheld"
        found.append(one.model_copy(update={"values": values}))
    return found


def _with_interval(
    found: Sequence[ProportionsEntry], entry: ProportionsEntry, codebook: Codebook, place: str
) -> list[Entry]:
    """The entries with the kind of limits that their numbers have, where the study does not say it. OutputError where
    they may be of several.
    """
    keys = ("interval", "divisor", "distribution")
    if "limits" not in found[0].statistics or set(keys) & entry.model_fields_set:
        return list(found)
    fitting = []
    for interval, divisor, distribution in product(*map(get_args, (ProportionInterval, Divisor, Distribution))):
        error = "standard error" in found[0].statistics
        if interval in BY_ERROR or (distribution == "normal" and (divisor == "n" or error)):
            changes = dict(zip(keys, (interval, divisor, distribution), strict=True))
            made = [each.model_copy(update=changes) for each in found]
            if all(_possible(each, codebook) for each in made):
                fitting.append((changes, made))
    if not fitting:
        return list(found)  # which the check of its numbers says
    if len(fitting) > 1:
        named = " or ".join(dict.fromkeys(changes["interval"] for changes, _ in fitting))
        raise OutputError(
            f"{place}: its limits may be {named} ones; say which, as in interval: {fitting[0][0]['interval']}"
        )
    changes, made = fitting[0]
    remark(place, f"limits are {changes['interval']} ones, as no others have these numbers")
    return list(made)


def _possible(entry: ProportionsEntry, codebook: Codebook) -> bool:
    """Whether some events and records have all numbers of an entry."""
    output = cast(Proportions, entry.build(codebook, 1)[0])
    low, high = (np.full(len(output.labels), end) for end in (-np.inf, np.inf))
    for at, label in enumerate(output.labels):
        value = entry.values[label]
        if value not in ("withheld", "undefined"):
            ends = [float(each) for each in str(value).split(" to ")]
            low[at], high[at] = ends[0], ends[-1]
    return not any(row.impossible for group in by_group(output, low, high) for row in group)
