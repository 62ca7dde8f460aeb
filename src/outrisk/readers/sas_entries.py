"""Tables in a listing of SAS as entries of a study: which of them an output is of, whom they are of, their digits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry, both
from outrisk.outputs.regression.design import quoted
from outrisk.outputs.smooth.shape import ShapeEntry
from outrisk.outputs.tables.frequencies import FrequenciesEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.outputs.tables.quantiles import QuantilesEntry
from outrisk.problem.quantile_places import TYPES
from outrisk.readers.described_cells import entries_of_cells
from outrisk.readers.remarks import remark
from outrisk.readers.sas_freq import FreqTable, tables_of_counts
from outrisk.readers.sas_listing import Step, is_listing, said_elsewhere, steps_of
from outrisk.readers.sas_means import tables_of_means
from outrisk.readers.sas_whom import hold_whom, named, own_level, same_group, say_unseen
from outrisk.readers.source import Source
from outrisk.readers.stata_choice import OF_RANKS, TURNED, DescribedEntry, asked_of, has_some, percent_of
from outrisk.readers.stata_rows import Levels

_OTHERWISE = re.compile(r"(?i)\b(?:vardef\s*=\s*(?!df\b)\w+|(?:qntl|pctl)def\s*=\s*(?!5\b)\d|qmethod\s*=\s*p2)")


@dataclass(frozen=True)
class SasTable:
    """A table with the variables of the codebook that it is of, '' for one that it does not name; texts of cells by
    statistic and levels. groups: of whom it is. left: what else is printed of it, in words. level: of limits.
    """

    step: Step
    by: tuple[str, ...]
    cells: Mapping[str, Mapping[Levels, str]]
    words: str
    value: str = ""
    groups: tuple[tuple[str, str], ...] = ()
    refused: str = ""
    left: tuple[str, ...] = ()
    level: float | None = None
    missing: str = ""


def has_tables(source: Source) -> bool:
    """Whether a text is a listing of SAS with tables that are read here."""
    if not is_listing(source):
        return False
    steps = steps_of(source.text)
    return bool(tables_of_counts(steps)) or bool(tables_of_means(steps))


def entries_of_listing(
    source: Source, entry: DescribedEntry, codebook: Codebook, place: str, number: int | None = None
) -> list[Entry]:
    """The entry with the numbers of its table of a listing, then its totals; OutputError where none, or several, are.

    `number`: which of the tables of its kind, from 1. What is left out is remarked.
    """
    steps = steps_of(source.text)
    if isinstance(entry, FrequenciesEntry):
        tables = list(_counted(tables_of_counts(steps), codebook, entry))
    else:
        tables = [each for each in _described(steps, codebook) if has_some(each.cells, each.refused, entry)]
    found = _chosen(tables, entry, codebook, number, place)
    if found.refused:
        raise OutputError(f"{place}: the table of {found.words}: {found.refused}; give it as SAS prints it")
    entry = _of_whom(found, entry, codebook, said_elsewhere(source.text, steps), place)
    return entries_of_cells(
        found.cells,
        found.by,
        entry,
        lambda name, text: own_level(codebook[name], text, place),
        codebook,
        place,
        [f"{each} are left out" for each in found.left],
    )


def _counted(tables: Sequence[FreqTable], codebook: Codebook, entry: FrequenciesEntry) -> Iterator[SasTable]:
    """The tables of counts, each with what of its cells is wanted; then layers of one table together."""
    for table in tables:
        yield _of_counts(table, codebook, entry, table.refused)
    layers: dict[tuple[object, ...], list[FreqTable]] = {}
    for table in tables:
        if table.layer:
            key = (id(table.step), table.by, tuple(name for name, _ in table.groups))
            layers.setdefault(key, []).append(table)
    for some in layers.values():
        cells: dict[str, dict[Levels, str]] = {}
        for table in some:
            before = tuple(level for _, level in table.groups)
            for what, of in table.cells.items():
                inner = {(*before, *levels): text for levels, text in of.items() if "Total" not in levels}
                cells.setdefault(what, {}).update(inner)
        refused = next((each.refused for each in some if each.refused), "")
        if not refused and entry.show not in ("counts", "row_percentages"):
            refused = "its percentages are those of each layer"
        by = (*(name for name, _ in some[0].groups), *some[0].by)
        yield _of_counts(FreqTable(some[0].step, by, cells), codebook, entry, refused)


def _of_counts(table: FreqTable, codebook: Codebook, entry: FrequenciesEntry, refused: str) -> SasTable:
    by = tuple(named(each, codebook) for each in table.by)
    show: str = entry.show
    if len(by) > 1 and by[-1:] != tuple(entry.by[-1:]) and show in TURNED:
        turned = by[-2:-1] == tuple(entry.by[-1:])  # rows of the table are columns of the output
        show = TURNED[show] if turned else show
        if not turned:
            refused = refused or f"its percentages are not those by {', '.join(entry.by)} in this order"
    if not refused and show not in table.cells:
        there = [each for each in table.cells if not each.startswith("cumulative")]
        refused = f"it has {', '.join(there)}, the output says show: {entry.show}"
    percent = "%" if show == "proportions" else ""
    cells = {
        levels: text + percent
        for levels, text in table.cells.get(show, {}).items()
        if show == "counts" or "Total" not in levels  # most are 100 by definition
    }
    groups = (*table.step.groups, *table.groups)
    return SasTable(table.step, by, {"": cells}, table.words, groups=groups, refused=refused, missing=table.missing)


def _described(steps: Sequence[Step], codebook: Codebook) -> Iterator[SasTable]:
    """The tables of statistics, with the variables of the codebook that they are of."""
    for table in tables_of_means(steps):
        by = tuple(named(each, codebook) for each in table.by)
        value = named(table.value, codebook)
        yield SasTable(
            table.step, by, table.cells, table.words, value or f"?{table.value}", table.step.groups, table.refused,
            tuple(table.left), table.level,
        )  # fmt: skip


def _chosen(
    tables: Sequence[SasTable], entry: DescribedEntry, codebook: Codebook, number: int | None, place: str
) -> SasTable:
    """The table of an entry's variables and group; OutputError where there is none, or more than one with other
    numbers.
    """
    value = str(getattr(entry, "value", ""))
    listed = "; ".join(f"{at}: {each.words}" for at, each in enumerate(tables[:20], 1))
    if number is not None and not 1 <= number <= len(tables):
        raise OutputError(f"{place}: it has {len(tables)} such tables, and no table {number} ({listed})")
    some = tables[number - 1 : number] if number is not None else tables
    of = [each for each in some if each.value == value and sorted(each.by) == sorted(entry.by)]
    whose = {id(each): same_group(each.groups, entry.where, codebook) for each in of}
    same = [each for each in of if whose[id(each)] is True and (each.groups or not any(other.groups for other in of))]
    found = same or [each for each in of if whose[id(each)] is not False and (entry.where or not each.groups)]
    if entry.where and not same:
        found = [each for each in found if each.groups] or found
    what = f"{value or 'counts'} by {', '.join(entry.by)}" if entry.by else value or "counts"
    if of and not found:
        raise OutputError(
            f"{place}: its tables of {what} are of groups ({'; '.join(each.words for each in of[:6])}), the output is "
            f"of {entry.where or 'all records'}; give the output the group's 'where'"
        )
    wanted, _ = asked_of(entry)
    seen = [
        (
            {name: texts for name, texts in each.cells.items() if name in wanted},
            each.groups,
            each.step.subset,
            each.refused,
        )
        for each in found
    ]
    different = [each for at, each in enumerate(found) if seen[at] not in seen[:at]]
    if len(different) != 1:
        raise OutputError(
            f"{place}: it has {len(different) or 'no'} tables of {what}; say which of them behind the file's name, as "
            f"in '...#2' ({listed or 'none is known'})"
        )
    return different[0]


def _of_whom(found: SasTable, entry: DescribedEntry, codebook: Codebook, elsewhere: str, place: str) -> DescribedEntry:
    """The entry with the records that a table is of; OutputError where it is of a subset, or weighted, and the entry
    says nothing of it.
    """
    step, where = found.step, entry.where
    if step.weight:
        raise OutputError(f"{place}: the table of {found.words} is weighted by {step.weight}, which is not read")
    other = _OTHERWISE.search(step.options)
    if other:
        raise OutputError(f"{place}: the table of {found.words} is by {other[0]}, which is not read; leave it out")
    whom = " and ".join(
        [*([step.subset] if step.subset else []), *(f"{name} = {level}" for name, level in found.groups)]
    )
    if whom and not (found.groups and not step.subset and same_group(found.groups, where, codebook)):
        hold_whom(whom, where, place)
    say_unseen(replace(step, groups=found.groups), elsewhere, where, codebook, place)
    gone = [
        name
        for at, name in enumerate(found.by)
        if codebook[name].missing and not any(levels[at] == "." for of in found.cells.values() for levels in of)
    ]
    changes: dict[str, Any] = {"where": both(where, *(f"{quoted(name)}.notna()" for name in gone))}
    if found.missing and not gone:
        remark(place, f"the table leaves out {found.missing} records without a value, and the codebook knows of none")
    if gone:
        remark(place, f"SAS leaves out who has no {' or no '.join(gone)}, and so does the output")
    if isinstance(entry, MagnitudesEntry):
        if found.level is not None and "level" in entry.model_fields_set and entry.level != found.level:
            raise OutputError(
                f"{place}: 'level' is {entry.level:g} in the study and {found.level:g} in the table; correct one"
            )
        changes |= {"level": found.level} if found.level is not None else {}
        if entry.distribution != "t":
            raise OutputError(f"{place}: SAS's limits of means are by Student's t, the output says normal; correct it")
    if isinstance(entry, ShapeEntry):
        if "moments" in entry.model_fields_set and (entry.moments != "adjusted" or not entry.excess):
            raise OutputError(
                f"{place}: SAS's skewness and kurtosis are 'moments: adjusted' with 'excess: true'; correct the output"
            )
        changes |= {"moments": "adjusted", "excess": True}
    if isinstance(entry, QuantilesEntry):
        changes |= _ranks(found, entry, place)
    return entry.model_copy(update=changes)


def _ranks(found: SasTable, entry: QuantilesEntry, place: str) -> dict[str, Any]:
    """Which quantiles an output has of a table, as SAS has them; OutputError where it says another program's."""
    there = {share for share, name in OF_RANKS.items() if name in found.cells}
    there |= {percent / 100.0 for name in found.cells if (percent := percent_of(name)) is not None}
    asked = entry.quantiles if "quantiles" in entry.model_fields_set else tuple(sorted(there))
    said = entry.program if "program" in entry.model_fields_set else "sas"
    others = [each for each in asked if each not in (0.0, 1.0)]
    if others and TYPES[said] != TYPES["sas"]:
        raise OutputError(
            f"{place}: percentile {100 * others[0]:g} is SAS's (definition 5), which lies halfway between two records "
            f"where n times it is whole, and else on one; the output says 'program: {said}'; say sas"
        )
    return {"quantiles": asked, "program": said}
