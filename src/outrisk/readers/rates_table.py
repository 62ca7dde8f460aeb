"""Tables of rates in files and printed pages as entries of a study: what a rate is per, which limits it has."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.rates import RatesEntry, Statistic
from outrisk.readers.arranged_cells import Arranged, Key, arrange
from outrisk.readers.cross_statistics import COUNTS, rates
from outrisk.readers.decimal_signs import Signs
from outrisk.readers.printed_number import is_withheld, read_printed
from outrisk.readers.printed_rates import Page, printed_rates
from outrisk.readers.rates_columns import STATISTICS, Columns, apart, read_head
from outrisk.readers.rates_numbers import RatesFound, around, interval_of, times, unit_of
from outrisk.readers.remarks import remark
from outrisk.readers.source import Grid, Source
from outrisk.readers.stata_data import hold_above
from outrisk.readers.table_layout import Cell, CellTable, index_line, lay_out


def entries_of_rates(
    source: Source, entry: RatesEntry, codebook: Codebook, place: str, number: int | None = None
) -> list[Entry]:
    """The entry with the rates of a table, then its totals; OutputError where it is none.

    `number`: which table of a page of several, from 1. What is left out is told to the log.
    """
    page = printed_rates(source, number, place) or Page(source.grid)
    if page.at is not None:
        hold_above(source.lines, page.at, entry.where, place, entry.denominator, entry.numerator)
    table, columns, notes = _cells(page, entry, codebook, place)
    signs = source.signs if page.grid is source.grid else Signs()
    arranged = arrange(table, entry.by, codebook, signs, place, COUNTS)
    arranged = replace(arranged, own=page.own, texts=_undefined(arranged))
    arranged, entry, searched, more = _as_defined(arranged, entry, page, columns, place)
    found, of_totals = rates(arranged, entry, codebook, place)
    for note in (*page.notes, *notes, *more, *of_totals):
        remark(place, note)
    return [around(each, codebook) for each in found if isinstance(each, RatesEntry)] if searched else found


def _cells(page: Page, entry: RatesEntry, codebook: Codebook, place: str) -> tuple[CellTable, Columns, list[str]]:
    """The table by cells, what its head says, and notes on columns that were left out."""
    grid = page.grid
    if len(grid) < 2:
        raise OutputError(f"{place}: no table of rates in it: it needs a header and rows")
    if not grid[0][-1] and any(row[-1] for row in grid[1:]):  # write.table gives row names no header
        grid = [["", *grid[0][:-1]], *grid[1:]]
    own = _own_names(entry, codebook)
    names = [name for name in (entry.by or codebook.names) if name not in own]
    if index_line(grid, names) is not None:
        heads = {cell.casefold(): read_head([cell], own, place).statistics[0] for row in grid[:6] for cell in row}
        known = {cell: statistic for cell, statistic in heads.items() if statistic}
        return lay_out(grid, names, None, place, known), Columns(()), []
    called = {name.casefold(): name for name in names}
    called |= {codebook[name].label.casefold(): name for name in names if codebook[name].label}
    head = [called.get(cell.casefold(), cell) for cell in grid[0]]
    columns = read_head(["" if cell in names else cell for cell in head], own, place)
    if not any(columns.statistics):
        if len(entry.statistics) > 1:
            raise OutputError(f"{place}: no column of a rate is known in it; columns are called {_some(STATISTICS)}")
        return lay_out(grid, names, None, place), columns, []
    grid, statistics = apart([head, *grid[1:]], columns.statistics, place)
    axes = _axes(grid, statistics, names, entry)
    _no_numbers_of_rows(grid, axes, entry, codebook, place)
    others = [cell for at, cell in enumerate(grid[0]) if at not in axes and not statistics[at] and cell]
    cells = [
        Cell(tuple(row[at] for at in axes), statistics[at], row[at])
        for row in grid[1:]
        for at in range(len(row))
        if statistics[at] and at not in axes
    ]
    notes = [f"columns that are no statistic of a rate are left out: {', '.join(others)}"] if others else []
    called_as = [grid[0][at] if grid[0][at] in codebook and grid[0][at] not in own else "" for at in axes]
    return CellTable(tuple(called_as), tuple(cells)), columns, notes


def _some(names: Mapping[str, str]) -> str:
    first = {statistic: name for name, statistic in reversed(list(names.items()))}
    return ", ".join(sorted(first.values()))


def _own_names(entry: RatesEntry, codebook: Codebook) -> dict[str, str]:
    """What columns called as the entry's variables are."""
    numerators = [name for name in codebook.names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", entry.numerator)]
    numerators = [name for name in numerators if name not in entry.by]
    own = {name: "numerator" for name in numerators if len(numerators) == 1}
    return own | ({} if entry.denominator in entry.by else {entry.denominator: "denominator"})


def _axes(grid: Grid, statistics: Sequence[str], names: Sequence[str], entry: RatesEntry) -> list[int]:
    """The columns with the levels of cells: those called as variables, else those before the first statistic."""
    named = [at for at, cell in enumerate(grid[0]) if cell in names]
    if named and len(named) >= len(entry.by):
        return named
    leading = list(range(next(at for at, each in enumerate(statistics) if each)))
    if not entry.by and len(grid) == 2:
        return []
    numbered = bool(leading) and [row[leading[0]] for row in grid[1:]] == [str(at) for at in range(1, len(grid))]
    return leading[1:] if numbered and len(leading) == len(entry.by) + 1 else leading


def _no_numbers_of_rows(grid: Grid, axes: Sequence[int], entry: RatesEntry, codebook: Codebook, place: str) -> None:
    """OutputError where what stands for levels may be numbers of rows, as R gives them to rows without names."""
    if len(axes) != 1 or len(entry.by) != 1 or grid[0][axes[0]]:
        return
    rows = [row[axes[0]] for row in grid[1:]]
    if rows == [str(at) for at in range(1, len(grid))] and set(rows) != set(codebook[entry.by[0]].labels):
        raise OutputError(
            f"{place}: rows are numbered from 1 to {len(rows)} and do not say their level of '{entry.by[0]}'; add a "
            f"column '{entry.by[0]}'"
        )


def _undefined(arranged: Arranged) -> dict[str, Mapping[Key, str]]:
    """Texts of a table; what is left blank beside no event is undefined rather than withheld."""
    texts = {name: dict(each) for name, each in arranged.texts.items()}
    for key, text in texts.get("numerator", {}).items():
        events = read_printed(text, arranged.comma)
        if events is None or events.below or events.value != 0:
            continue
        for name in ("rate", *ENDS):
            if is_withheld(texts.get(name, {}).get(key, "0")):
                texts[name][key] = "NaN"
    return dict(texts)


def _as_defined(
    arranged: Arranged, entry: RatesEntry, page: Page, columns: Columns, place: str
) -> tuple[Arranged, RatesEntry, bool, list[str]]:
    """The numbers and the entry as the kind defines them: denominators undivided, per, level, statistics, interval;
    whether limits were searched for; and notes on what was left out.
    """
    texts, found, notes = dict(arranged.texts), RatesFound.of(arranged), list[str]()
    said = _said("per", entry, {page.per, columns.per}, place)
    if said is None and any(cell == "_Y" for cell in page.grid[0]):
        raise OutputError(f"{place}: strate has divided its _Y by its per(); say which in the output, as in per: 1000")
    per, divided = unit_of(said, found, page.divided, place)
    if divided != 1.0 and "denominator" in texts:
        power = round(math.log10(divided))
        if math.isclose(divided, 10.0**power):
            texts["denominator"] = times(texts["denominator"], power, arranged.comma)
        else:
            del texts["denominator"]
            notes.append(f"denominators are divided by {divided:g}, which leaves them other digits; they are left out")
    levels = {_level(text, place) for text in texts.pop("level", {}).values()}
    level = _said("level", entry, {page.level, columns.level, *levels}, place) or entry.level
    statistics = _statistics(texts, entry, place)
    changes: dict[str, Any] = {"per": per, "level": level, "statistics": statistics}
    searched = False
    if "limits" in statistics:
        if "interval" not in entry.model_fields_set:
            changes["interval"] = interval_of(found, page.interval, level, per / divided, place)
        interval = changes.get("interval", entry.interval)
        searched = interval == "exact" and found.searched(level, per / divided)
    kept = {name: each for name, each in texts.items() if name in ("", *statistics, *ENDS)}
    return replace(arranged, texts=kept), entry.model_copy(update=changes), searched, notes


def _said(name: Literal["per", "level"], entry: RatesEntry, values: set[float | None], place: str) -> float | None:
    """What the table, or else the entry, says; None if neither does. OutputError where they differ."""
    own = float(getattr(entry, name)) if name in entry.model_fields_set else None
    said = sorted({each for each in values if each is not None})
    other = next((each for each in said if not math.isclose(each, own or said[0])), None)
    if other is not None:
        wanted = f"{said[0]:g}" if own is None else f"{own:g} in the study"
        raise OutputError(f"{place}: '{name}' is {wanted} and {other:g} in the table; correct one of them")
    return own if own is not None else said[0] if said else None


def _level(text: str, place: str) -> float | None:
    number = read_printed(text)
    if number is None:
        return None
    level = number.value / 100 if number.value > 1 else number.value
    if not 0 < level < 1:
        raise OutputError(f"{place}: {text[:40]!r} is no level of limits; write it as 0.95")
    return level


def _statistics(texts: Mapping[str, Any], entry: RatesEntry, place: str) -> tuple[Statistic, ...]:
    """The statistics of the table, or those of them that the entry says."""
    if set(texts) == {""}:
        return entry.statistics
    there = [end for end in ENDS if end in texts]
    known = [each for each in get_args(Statistic) if each in texts or (each == "limits" and len(there) == 2)]
    if "statistics" in entry.model_fields_set:
        absent = [each for each in entry.statistics if each not in known]
        if absent:
            raise OutputError(f"{place}: the table has no {absent[0]}; it has {', '.join(known) or 'no statistic'}")
        return entry.statistics
    if len(there) == 1:
        raise OutputError(f"{place}: the table has a {there[0]} alone; add the other, or say its 'statistics'")
    return tuple(known)
