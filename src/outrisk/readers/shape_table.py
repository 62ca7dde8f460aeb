"""Tables of shape and concentration in files, by the heads of their columns, as entries of a study: Gini, HHI, CR4."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.smooth.shape import ShapeEntry
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.protection import Protection
from outrisk.readers.arranged_cells import Arranged, Key, arrange, given_count, number_of, of_all, words
from outrisk.readers.cross_statistics import decimals_shown
from outrisk.readers.printed_number import Printed, as_given, is_undefined
from outrisk.readers.remarks import remark
from outrisk.readers.source import Grid, Source
from outrisk.readers.table_layout import Cell, CellTable

_CALLED = {
    "count": "count; n; obs; number of obs; observations; records; size; firms; number of firms",
    "skewness": "skewness; skew; g1",
    "kurtosis": "kurtosis; kurt; kurtosi; excess kurtosis; b2; g2",
    "cv": "cv; coefficient of variation; coef of variation; coeff of variation; variation coefficient; rsd",
    "gini": "gini; gini coefficient; gini index; gini coeff; g",
    "hhi": "hhi; herfindahl; herfindahl index; herfindahl hirschman; herfindahl hirschman index",
}
_NAMES = {name: statistic for statistic, names in _CALLED.items() for name in names.split("; ")}
_SHARE = re.compile(r"(?:cr|c|top|share of (?:the )?(?:top|largest)|concentration ratio) ?([1-9]\d{0,3})(?: share)?")
_PERCENT = re.compile(r"%|\bpercent|\bpct\b")
_OF_PEOPLE = re.compile(r"\b(?:top|largest)[ _]?\d+ ?(?:%|percent|pct)")  # of a tenth of all, and not of ten of them
_WHOLE = 1.0 + 1e-9
_MOST_CV = 5.0  # a coefficient of variation from which it may be a percentage
_COUNTS = ("count",)
_Numbers = Mapping[str, Mapping[Key, Printed | None]]


def entries_of_shape(source: Source, entry: ShapeEntry, codebook: Codebook, place: str) -> list[Entry]:
    """The entry with the numbers of a table, then one for its totals; OutputError where it is none. What is left out is
    told to the log.
    """
    by = tuple(entry.by)
    table, heads = _cells(source.grid, by, codebook, place)
    arranged = (
        arrange(table, by, codebook, source.signs, place, _COUNTS)
        if by
        else of_all(table, source.signs, place, _COUNTS)
    )
    return entries_of_numbers(arranged, heads, entry, codebook, place)


def entries_of_numbers(
    arranged: Arranged, heads: Mapping[str, str], entry: ShapeEntry, codebook: Codebook, place: str
) -> list[Entry]:
    """The entry with the numbers of cells, then one for their totals; `heads`: what stands above each statistic."""
    by = arranged.by
    numbers = {
        name: {key: number_of(text, arranged, words(by, key), place, name in _COUNTS) for key, text in texts.items()}
        for name, texts in arranged.texts.items()
    }
    statistics = _statistics(numbers, entry, place)
    _check_moments(statistics, heads, entry, place)
    changes: dict[str, Any] = {"values": None, "statistics": statistics} | _scales(numbers, heads, entry, place)
    if heads.get("kurtosis", "").startswith("excess") and "excess" not in entry.model_fields_set:
        changes["excess"] = True
    if "decimals" not in entry.model_fields_set:
        own = [each for each in statistics if each != "count"]
        changes["decimals"] = {each: decimals_shown(arranged.texts[each], arranged, place) for each in own}
    below = [
        int(each.value) for texts in numbers.values() for each in texts.values() if each is not None and each.below
    ]
    if below and max(below) > 1 and "protection" not in entry.model_fields_set:
        changes["protection"] = Protection(threshold=max(below)).model_dump()
    made = type(entry).model_validate({**entry.model_dump(exclude_unset=True), **changes})
    return _filled(made, arranged, numbers, codebook, place)


def _statistic(cell: str) -> str:
    if _OF_PEOPLE.search(cell.casefold()):
        return ""
    text = _PERCENT.sub(" ", cell.casefold())
    text = " ".join(re.sub(r"[_\-\s.()\[\],:]+", " ", text).split())
    share = _SHARE.fullmatch(text)
    return f"cr{share[1]}" if share else _NAMES.get(text, "")


def _cells(grid: Grid, by: Sequence[str], codebook: Codebook, place: str) -> tuple[CellTable, dict[str, str]]:
    """The table by cells, and the heads of its statistics in small letters."""
    if len(grid) < 2:
        raise OutputError(f"{place}: no table of shape or concentration in it: it needs a header and rows")
    labels = {codebook[name].label.casefold(): name for name in by if codebook[name].label}
    head = [labels.get(cell.casefold(), cell) for cell in grid[0]]
    statistics = ["" if cell in by else _statistic(cell) for cell in head]
    for each in set(statistics) - {""}:
        if statistics.count(each) > 1:
            raise OutputError(f"{place}: several columns are of a {each}; keep one")
    if not set(statistics) - {"", "count"}:
        raise OutputError(
            f"{place}: no column of shape or concentration is known in it; columns are called skewness, kurtosis, cv, "
            "gini, hhi, cr4, n"
        )
    absent = [name for name in by if name not in head]
    if absent:
        raise OutputError(f"{place}: the table has no column {', '.join(map(repr, absent))}; add it, or correct 'by'")
    axes = [head.index(name) for name in by]
    others = [cell for at, cell in enumerate(head) if at not in axes and not statistics[at] and cell]
    if others:
        remark(place, f"columns {', '.join(map(repr, others))} are no shape or concentration and are left out")
    cells = [
        Cell(tuple(row[at] for at in axes), statistic, row[at])
        for row in grid[1:]
        for at, statistic in enumerate(statistics)
        if statistic and at < len(row)
    ]
    heads = {each: cell.casefold() for cell, each in zip(head, statistics, strict=True) if each}
    return CellTable(tuple(by), tuple(cells)), heads


def _statistics(numbers: _Numbers, entry: ShapeEntry, place: str) -> tuple[str, ...]:
    """The statistics of the table, or those of them that the entry says."""
    if "statistics" not in entry.model_fields_set:
        return tuple(numbers)
    absent = [each for each in entry.statistics if each not in numbers]
    if absent:
        raise OutputError(f"{place}: the table has no {absent[0]}; it has {', '.join(numbers)}")
    gone = [each for each in numbers if each not in entry.statistics]
    if gone:
        remark(place, f"columns of {', '.join(gone)} are none of its statistics and are left out")
    return entry.statistics


def _check_moments(statistics: Sequence[str], heads: Mapping[str, str], entry: ShapeEntry, place: str) -> None:
    """OutputError where the study does not say which skewness and kurtosis they are, or contradicts a head."""
    some = [each for each in ("skewness", "kurtosis") if each in statistics]
    if some and "moments" not in entry.model_fields_set:
        raise OutputError(
            f"{place}: programs compute {' and '.join(some)} in three ways; say with 'moments' which: population "
            "(Stata, scipy), sample (R's e1071 and psych, Minitab) or adjusted (SPSS, SAS, pandas, Excel)"
        )
    if "kurtosis" in some and heads["kurtosis"].startswith("excess") and entry.excess is False:
        raise OutputError(f"{place}: its kurtosis is called {heads['kurtosis']}, 'excess' is false; correct it")


def _scales(numbers: _Numbers, heads: Mapping[str, str], entry: ShapeEntry, place: str) -> dict[str, bool]:
    """Whether shares are percentages, and an HHI one of 10,000: as the study says, else as heads and numbers do."""
    found = dict[str, bool]()
    shares = [each for each in numbers if each in ("cv", "gini") or each.startswith("cr")]
    largest = {name: max((n.value for n in numbers[name].values() if n is not None), default=0.0) for name in numbers}
    if shares and "percent" not in entry.model_fields_set:
        signed = {
            each: bool(_PERCENT.search(heads[each]))
            or (each != "cv" and largest[each] > _WHOLE)
            or any(n is not None and n.percent for n in numbers[each].values())
            for each in shares
        }
        bounded = [each for each in shares if each != "cv" or signed[each]]
        if len({signed[each] for each in bounded}) > 1:
            raise OutputError(
                f"{place}: some of {', '.join(bounded)} are percentages and some are not; make two outputs of them"
            )
        if bounded and signed[bounded[0]]:
            found["percent"] = True
        if "cv" in shares and not signed["cv"] and ("percent" in found or largest["cv"] > _MOST_CV):
            raise OutputError(f"{place}: its cv may be a share of the mean or a percentage; say 'percent', or CV (%)")
    if "hhi" in numbers and "points" not in entry.model_fields_set and largest["hhi"] > _WHOLE:
        found["points"] = True
    return found


def _filled(made: ShapeEntry, arranged: Arranged, numbers: _Numbers, codebook: Codebook, place: str) -> list[Entry]:
    """An entry for the cells, and one for each kind of totals over them."""
    by, keys = arranged.by, {key for each in numbers.values() for key in each}
    found = list[Entry]()
    for pattern in sorted({tuple(level == TOTAL for level in key) for key in keys}):
        names = [name for name, total in zip(by, pattern, strict=True) if not total]
        (whole,) = made.build(codebook, 1)
        changes: dict[str, Any] = {"by": tuple(names)}
        if any(pattern):
            changes["name"] = f"{whole.name}: totals" + (f" by {', '.join(names)}" if names else "")
        one = made.model_copy(update=changes)
        (built,) = one.build(codebook, 1)
        cells = {
            words(names, tuple(level for level in key if level != TOTAL)) if names else "all": key
            for key in keys
            if tuple(level == TOTAL for level in key) == pattern
        }
        values = dict[str, float | str]()
        for at, label in enumerate(built.sheet.labels):
            cell, _, named = label.rpartition(": ")
            statistic, key = named.removesuffix(f" of {one.value}"), cells.get(cell)
            number = None if key is None else numbers[statistic].get(key)
            text = "" if key is None else arranged.texts[statistic].get(key, "")
            if number is not None and not number.below:
                count = statistic == "count"
                base = one.protection.round_to
                values[label] = (
                    given_count(number, True, 0, 1.0, base)
                    if count
                    else as_given(number, int(built.decimals[at]), own=arranged.own)
                )
            elif key is None:
                values[label] = 0.0 if statistic == "count" else "undefined"
            else:
                values[label] = "undefined" if is_undefined(text) and statistic != "count" else "withheld"
        found.append(one.model_copy(update={"values": values}))
    return found
