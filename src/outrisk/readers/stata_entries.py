"""Tables in a log of Stata as entries of a study: which of them an output is of, whom they are of, their digits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry, both
from outrisk.outputs.regression.design import quoted
from outrisk.outputs.smooth.shape import ShapeEntry
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.frequencies import FrequenciesEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.quantiles import QuantilesEntry
from outrisk.readers.arranged_cells import Arranged, absent, arrange, of_all
from outrisk.readers.cross_statistics import magnitudes, quantiles
from outrisk.readers.cross_table import counts
from outrisk.readers.decimal_signs import Signs
from outrisk.readers.remarks import remark
from outrisk.readers.shape_table import entries_of_numbers
from outrisk.readers.source import Source
from outrisk.readers.stata_session import Command, chosen_before, commands_of
from outrisk.readers.stata_tables import Levels, StataTable, described_in, with_zeros
from outrisk.readers.stata_twoway import crossed_in
from outrisk.readers.table_layout import Cell, CellTable
from outrisk.readers.term_names import is_short_for, levels_of

DescribedEntry = MagnitudesEntry | QuantilesEntry | ShapeEntry | FrequenciesEntry
_CUT = 8  # letters from which a label may be one that is cut off
_OF_MEANS = ("count", "mean", "sd", "sum", "standard error", *ENDS)
_OF_RANKS = {0.0: "min", 0.5: "median", 1.0: "max"}
_OF_SHAPE = ("skewness", "kurtosis", "cv")
_OWN_FORMAT = re.compile(r"\b(?:format|cformat|fo|for|form|forma)\b")
_WITHOUT_FORMAT = re.compile(r"su\w*|tabstat|ta\w*|tab\w*")
_NAME = re.compile(r"[A-Za-z_][\w~]*")


@dataclass(frozen=True)
class _Found:
    """A table, with the variables of the codebook that it is of; '' for one that it does not name."""

    command: Command
    by: tuple[str, ...]
    cells: Mapping[str, Mapping[Levels, str]]
    words: str
    value: str = ""
    called: str = ""
    refused: str = ""
    table: StataTable | None = None


def is_log(source: Source) -> bool:
    """Whether a text has tables that are read here."""
    if source.sheets or source.tables or not re.search(r"\||Percentiles", source.text):
        return False
    commands = commands_of(source.text)
    return bool(described_in(commands)) or any(True for _ in _crossed(commands))


def entries_of_log(
    source: Source, entry: DescribedEntry, codebook: Codebook, place: str, number: int | None = None
) -> list[Entry]:
    """The entry with the numbers of its table of a log, then its totals; OutputError where none, or several, are it.

    `number`: which of the tables of its kind, from 1. What is left out is told to the log.
    """
    commands = commands_of(source.text)
    if isinstance(entry, FrequenciesEntry):
        tables = list(_counted(commands, codebook, entry.show))
    else:
        tables = [each for each in _described(commands, codebook) if _has_some(each, entry)]
    found = _chosen(tables, entry, number, place)
    refused = found.refused
    if any(len(levels) != len(found.by) for of in found.cells.values() for levels in of):
        refused = refused or "some of its rows are of groups, and some are not"
    if refused:
        raise OutputError(f"{place}: the table {_called(found)}: {refused}; give it as Stata prints it")
    entry = _of_whom(found, entry, commands, codebook, place)
    by = tuple(name or said for name, said in zip(found.by, entry.by, strict=True)) if entry.by else ()
    cells = [
        Cell(tuple(_level(codebook[name], each, place) for name, each in zip(by, levels, strict=True)), statistic, text)
        for statistic, of in _with_digits(found).items()
        for levels, text in of.items()
    ]
    table = CellTable(by, tuple(cells))
    if entry.by:
        arranged = arrange(table, entry.by, codebook, Signs(), place, ("", "count"))
    else:
        arranged = of_all(table, Signs(), place, ("", "count"))
    return _made(replace(arranged, own=True), found, entry, codebook, place)


def _made(arranged: Arranged, found: _Found, entry: DescribedEntry, codebook: Codebook, place: str) -> list[Entry]:
    if isinstance(entry, ShapeEntry):
        some = {name: texts for name, texts in arranged.texts.items() if name in (*_OF_SHAPE, "count")}
        return entries_of_numbers(replace(arranged, texts=some), dict.fromkeys(some, ""), entry, codebook, place)
    if isinstance(entry, FrequenciesEntry):
        made, notes = counts(arranged, entry, codebook, place)
    elif isinstance(entry, MagnitudesEntry):
        made, notes = magnitudes(arranged, entry, codebook, place)
    else:
        made, notes = quantiles(arranged, entry, codebook, place)
    left = found.table.left if found.table else ()
    for note in (*notes, *(f"{each}, are left out" for each in left), *absent(arranged, entry.where, codebook)):
        remark(place, note)
    return made


def _called(found: _Found) -> str:
    said = found.command.said.splitlines()[:1]
    return f"of `{said[0][:60]}`" if said else f"of {found.words}"


def _described(commands: Sequence[Command], codebook: Codebook) -> Iterator[_Found]:
    for table in described_in(commands):
        names = table.command.arguments
        labels = table.labels or ("",) * len(table.by)
        by = tuple(
            _named(each, codebook) or _named(more, codebook) for each, more in zip(table.by, labels, strict=True)
        )
        if len(table.by) == 1 and not by[0] and table.command.name.startswith("ta") and names:
            by = (_named(names[0], codebook),)
        elif len(table.by) == 2 and table.command.name.startswith("ta") and len(names) == 2:
            by = tuple(each or _named(name, codebook) for each, name in zip(by, names, strict=True))
        yield _Found(
            table.command, by, table.cells, table.words, _value(table, codebook), table.value, table.refused, table
        )


def _value(table: StataTable, codebook: Codebook) -> str:
    """The variable that a table is of; the one of the command, where it prints a label and the command has one."""
    found = _named(table.value, codebook)
    option = re.search(r"\bsu\w*\((\w+)\)", table.command.options)
    said = [option[1]] if option else list(table.command.arguments) if table.command.name.startswith("su") else []
    return found or (_named(said[0], codebook) if len(said) == 1 else "")


def _crossed(commands: Sequence[Command]) -> Iterator[tuple[Command, Any]]:
    return ((command, each) for command in commands for each in crossed_in(command.lines) if not each.summaries[0])


def _counted(commands: Sequence[Command], codebook: Codebook, show: str) -> Iterator[_Found]:
    """The tables of counts, each with what of its cells is wanted."""
    for command, table in _crossed(commands):
        printed = [table.row, *([table.column] if table.column else [])]
        names = table.named or (command.arguments if command.name.startswith("ta") else ())
        names = names if len(names) == len(printed) else [""] * len(printed)
        by = tuple(_named(each, codebook) or _named(name, codebook) for each, name in zip(printed, names, strict=True))
        refused = table.refused
        if not refused and any(re.match(r"^\s*-> \w+ = ", line) for line in command.lines):
            refused = "it is one of several groups (by), which tables of counts are not read of"
        if not refused and show not in table.shows:
            refused = f"it has {', '.join(table.shows)}, the output says show: {show}"
        at = table.shows.index(show) if show in table.shows else 0
        percent = "%" if show == "proportions" else ""
        cells = {
            levels: text if text.endswith(percent) else text + percent
            for (levels, number), text in table.cells.items()
            if number == at and (show == "counts" or not _is_whole(levels, show))
        }
        yield _Found(command, by, {"": cells}, " x ".join(printed), refused=refused)


def _is_whole(levels: Levels, show: str) -> bool:
    """Whether a cell of percentages is a margin, most of which are 100 by definition."""
    return "Total" in levels


def _wanted(entry: DescribedEntry) -> tuple[list[str], bool]:
    """Statistics that an entry may have, by what tables call them; whether it asks for all of these."""
    if isinstance(entry, QuantilesEntry):
        said = "quantiles" in entry.model_fields_set
        asked = entry.quantiles if said else tuple(_OF_RANKS)
        return [_OF_RANKS.get(each, f"p{100 * each:g}") for each in asked], said
    if isinstance(entry, FrequenciesEntry):
        return [""], True
    own: Sequence[str] = _OF_SHAPE if isinstance(entry, ShapeEntry) else _OF_MEANS
    said = "statistics" in entry.model_fields_set
    asked_ = [str(each) for each in entry.statistics] if said else list(own)
    return [end for each in asked_ for end in (ENDS if each == "limits" else (each,))], said


def _has_some(found: _Found, entry: DescribedEntry) -> bool:
    """Whether a table has statistics of an output: those that it asks for, or some of its kind."""
    wanted, all_ = _wanted(entry)
    return bool(found.refused) or (all if all_ else any)(each in found.cells for each in wanted)


def _chosen(tables: Sequence[_Found], entry: DescribedEntry, number: int | None, place: str) -> _Found:
    """The table of an entry's variables; OutputError where there is none, or more than one with other numbers."""
    value = str(getattr(entry, "value", ""))
    listed = "; ".join(f"{at}: {each.words}" for at, each in enumerate(tables[:20], 1))
    if number is not None:
        if not 1 <= number <= len(tables):
            raise OutputError(
                f"{place}: it has {len(tables)} tables of such statistics, and no table {number} ({listed})"
            )
        tables = tables[number - 1 : number]
    known = [each for each in tables if _is_of(each, value, entry.by, certain=True)]
    found = known or [each for each in tables if _is_of(each, value, entry.by, certain=False)]
    if not known and (len(tables) > 1 or (number is None and any(_says_another(each) for each in found))):
        found = []
    wanted, _ = _wanted(entry)
    seen = [
        ({name: of for name, of in each.cells.items() if name in wanted}, each.command.subset, each.refused)
        for each in found
    ]
    different = [each for at, each in enumerate(found) if seen[at] not in seen[:at]]
    what = f"{value or 'counts'} by {', '.join(entry.by)}" if entry.by else value or "counts"
    if len(different) != 1:
        raise OutputError(
            f"{place}: it has {len(different) or 'no'} tables of {what}; say which of its tables behind the file's "
            f"name, as in '...#2' ({listed})"
        )
    (one,) = different
    unsaid = [each for each in ([one.called] if value and not one.value else []) if each]
    if unsaid or "" in one.by:
        remark(
            place,
            f"the table of {one.words[:80]} does not name variables of the codebook, and is taken for that of {what}",
        )
    return one


def _says_another(found: _Found) -> bool:
    """Whether a table names a variable, rather than a label, that is none of the codebook's."""
    some = [found.called] if found.called and not found.value else []
    if found.table is not None and not found.command.name.startswith("ta"):
        some += [said for said, name in zip(found.table.by, found.by, strict=True) if not name]
    return any(_NAME.fullmatch(each) for each in some)


def _is_of(found: _Found, value: str, by: Sequence[str], certain: bool) -> bool:
    """Whether a table is of these variables; if not `certain`, whether it may be."""
    if len(found.by) != len(by):
        return False
    if certain:
        return found.value == value and sorted(found.by) == sorted(by) and "" not in found.by
    return found.value in (value, "") and all(each in by for each in found.by if each)


def _named(text: str, codebook: Codebook) -> str:
    """The variable that is called so, by name (also shortened or wrapped) or label; '' for none, or several."""
    plain = re.sub(r"\s+", "", text).removeprefix("i.")
    if plain in codebook:
        return plain
    found = [
        each.name
        for each in codebook.variables
        if is_short_for(plain, each.name)
        or (each.label and plain.casefold() == re.sub(r"\s+", "", each.label).casefold())
    ]
    return found[0] if len(found) == 1 else ""


def _level(variable: Variable, text: str, place: str) -> str:
    """A level as the codebook has it: also one that is cut off at the width of a column."""
    if text == "Total":
        return TOTAL if "Total" not in variable.labels else text
    if levels_of(variable, text) or len(text) < _CUT:
        return text
    long = [
        (label, meaning)
        for label, meaning in zip(variable.labels, variable.descriptions or variable.labels, strict=False)
    ]
    found = [
        label
        for label, meaning in long
        if any(len(each) > len(text) and each.startswith(text) for each in (label, meaning))
    ]
    if len(found) > 1:
        raise OutputError(
            f"{place}: {text!r} may be {' or '.join(found)} of '{variable.name}', which it is cut off from"
        )
    return found[0] if found else text


def _with_digits(found: _Found) -> dict[str, dict[Levels, str]]:
    """The texts of statistics with the zeros that Stata's general format cuts off."""
    table = found.table
    if table is None:
        return {name: dict(of) for name, of in found.cells.items()}
    own = {name: of for name, of in found.cells.items() if name != "count"}
    name, options = found.command.name, found.command.options
    evident = bool(_WITHOUT_FORMAT.fullmatch(name)) and not _OWN_FORMAT.search(options)
    texts = [text for of in own.values() for text in of.values()]
    padded = iter(with_zeros(texts, table.digits, evident))
    filled = {name: {levels: next(padded) for levels in of} for name, of in own.items()}
    counts_ = {name: dict(of) for name, of in found.cells.items() if name == "count"}
    return {name: counts_.get(name) or filled[name] for name in found.cells}


def _of_whom(
    found: _Found, entry: DescribedEntry, commands: Sequence[Command], codebook: Codebook, place: str
) -> DescribedEntry:
    """The entry with the records that a table is of; OutputError where it is of a subset, or weighted, and the entry
    says nothing of it.
    """
    command, where = found.command, entry.where
    if command.weight:
        raise OutputError(f"{place}: the table {_called(found)} is weighted ({command.weight}), which is not read")
    if command.subset and not where:
        raise OutputError(
            f"{place}: the table is of a subset, {command.subset[:80]}, the output is of all records; give the output "
            "its 'where'"
        )
    if command.subset:
        remark(place, f"the table is of a subset, {command.subset[:80]}; it is taken for the output's where: {where}")
    above = chosen_before(commands, command)
    if above and not where:
        remark(place, f"above the table the log has `{above[-1][:80]}`: the data are taken to be those of the table")
    left_out = _left_out(found, entry, codebook)
    changes: dict[str, Any] = {"where": both(where, *(f"{quoted(name)}.notna()" for name in left_out))}
    if left_out:
        remark(place, f"Stata leaves out who has no {' or no '.join(left_out)}, and so does the output")
    if isinstance(entry, MagnitudesEntry):
        level = found.table.level if found.table else None
        if level is not None and "level" in entry.model_fields_set and entry.level != level:
            raise OutputError(f"{place}: 'level' is {entry.level:g} in the study and {level:g} in the log; correct one")
        changes |= {"level": level} if level is not None else {}
        if entry.distribution != "t":
            raise OutputError(
                f"{place}: Stata's limits of means are by Student's t, the output says normal; correct it"
            )
    if isinstance(entry, ShapeEntry):
        if entry.moments != "population" or entry.excess:
            raise OutputError(
                f"{place}: Stata's skewness and kurtosis are 'moments: population', 3 not taken off; say so"
            )
        changes |= {"moments": "population"}
    if isinstance(entry, QuantilesEntry):
        changes |= {"quantiles": _ranks(found, entry, place)}
    return entry.model_copy(update=changes)


def _left_out(found: _Found, entry: DescribedEntry, codebook: Codebook) -> list[str]:
    """Variables whose missing values a table leaves out and the output does not."""
    names, said = [], found.command.has(r"m|mi|mis|miss|missi|missin|missing")
    for at, name in enumerate(found.by):
        there = any(levels[at] == "." for of in found.cells.values() for levels in of)
        if codebook[name or entry.by[at]].missing and not there and not said:
            names.append(name or entry.by[at])
    together = found.table.together if found.table else ()
    others = [name for each in together if (name := _named(each, codebook)) and name != getattr(entry, "value", "")]
    return [*names, *(name for name in others if codebook[name].missing and name not in names)]


def _ranks(found: _Found, entry: QuantilesEntry, place: str) -> tuple[float, ...]:
    """The quantiles of a table that are those of the output: the median, the least and the greatest value."""
    there = [probability for probability, name in _OF_RANKS.items() if name in found.cells]
    asked = entry.quantiles if "quantiles" in entry.model_fields_set else tuple(there)
    others = [each for each in asked if each not in _OF_RANKS]
    if others:
        raise OutputError(
            f"{place}: Stata's percentile {100 * others[0]:g} lies halfway between two records where n times it is "
            "whole, and else on one: another number than the output's, which lies linearly between records; give "
            "min, median and max of it"
        )
    gone = [each for each in found.cells if re.fullmatch(r"p\d\d?|iqr|range", each)]
    if gone:
        remark(place, f"{', '.join(gone)} are other numbers than the output's quantiles, and are left out")
    return tuple(asked)
