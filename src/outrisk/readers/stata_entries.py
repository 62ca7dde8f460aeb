"""Tables in a log of Stata as entries of a study: which of them an output is of, whom they are of, their digits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from outrisk.codebook import Codebook, Variable
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
from outrisk.readers.source import Source
from outrisk.readers.stata_choice import (
    OF_RANKS,
    Candidate,
    DescribedEntry,
    chosen,
    counted,
    crossed,
    described,
    has_some,
    named,
    percent_of,
)
from outrisk.readers.stata_data import say_whose
from outrisk.readers.stata_rows import Levels, with_zeros
from outrisk.readers.stata_session import Command, commands_of
from outrisk.readers.stata_tables import described_in
from outrisk.readers.term_names import levels_of

_CUT = 8  # letters from which a label may be one that is cut off
_OWN_FORMAT = re.compile(r"\b(?:format|cformat|fo|for|form|forma)\b")
_WITHOUT_FORMAT = re.compile(r"su\w*|tabstat|ta\w*|tab\w*")


def is_log(source: Source) -> bool:
    """Whether a text has tables that are read here."""
    if source.sheets or source.tables or not re.search(r"\||Percentiles", source.text):
        return False
    commands = commands_of(source.text)
    return bool(described_in(commands)) or any(True for _ in crossed(commands))


def entries_of_log(
    source: Source, entry: DescribedEntry, codebook: Codebook, place: str, number: int | None = None
) -> list[Entry]:
    """The entry with the numbers of its table of a log, then its totals; OutputError where none, or several, are it.

    `number`: which of the tables of its kind, from 1. What is left out is told to the log.
    """
    commands = commands_of(source.text)
    if isinstance(entry, FrequenciesEntry):
        tables = list(counted(commands, codebook, entry))
    else:
        tables = [each for each in described(commands, codebook) if has_some(each.cells, each.refused, entry)]
    found = chosen(tables, entry, number, place)
    refused = found.refused
    if any(len(levels) != len(found.by) for of in found.cells.values() for levels in of):
        refused = refused or "some of its rows are of groups, and some are not"
    if refused:
        raise OutputError(f"{place}: the table {_called(found)}: {refused}; give it as Stata prints it")
    entry = _of_whom(found, entry, commands, codebook, place)
    return entries_of_cells(
        _with_digits(found),
        found.by,
        entry,
        lambda name, text: _level(codebook[name], text, place),
        codebook,
        place,
        [f"{each}, are left out" for each in (found.table.left if found.table else ())],
    )


def _called(found: Candidate) -> str:
    said = found.command.said.splitlines()[:1]
    return f"of `{said[0][:60]}`" if said else f"of {found.words}"


def _level(variable: Variable, text: str, place: str) -> str:
    """A level as the codebook has it: also one that is cut off at the width of a column."""
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


def _with_digits(found: Candidate) -> dict[str, dict[Levels, str]]:
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
    found: Candidate, entry: DescribedEntry, commands: Sequence[Command], codebook: Codebook, place: str
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
    say_whose(commands, command, place)
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
        changes |= _ranks(found, entry, place)
    return entry.model_copy(update=changes)


def _left_out(found: Candidate, entry: DescribedEntry, codebook: Codebook) -> list[str]:
    """Variables whose missing values a table leaves out and the output does not."""
    names, said = [], found.command.has(r"m|mi|mis|miss|missi|missin|missing")
    for at, name in enumerate(found.by):
        there = any(levels[at] == "." for of in found.cells.values() for levels in of)
        if codebook[name or entry.by[at]].missing and not there and not said:
            names.append(name or entry.by[at])
    together = found.table.together if found.table else ()
    others = [name for each in together if (name := named(each, codebook)) and name != getattr(entry, "value", "")]
    return [*names, *(name for name in others if codebook[name].missing and name not in names)]


def _ranks(found: Candidate, entry: QuantilesEntry, place: str) -> dict[str, Any]:
    """Which quantiles an output has of a table, as Stata has them; OutputError where it says another program's."""
    there = {*OF_RANKS} & {each for each, name in OF_RANKS.items() if name in found.cells}
    there |= {percent / 100.0 for name in found.cells if (percent := percent_of(name)) is not None}
    asked = entry.quantiles if "quantiles" in entry.model_fields_set else tuple(sorted(there))
    said = entry.program if "program" in entry.model_fields_set else "stata"
    others = [each for each in asked if each not in OF_RANKS]
    if others and TYPES[said] != TYPES["stata"]:
        raise OutputError(
            f"{place}: percentile {100 * others[0]:g} is Stata's, which lies halfway between two records where n times "
            f"it is whole, and else on one; the output says 'program: {said}'; say stata"
        )
    gone = [each for each in found.cells if re.fullmatch(r"iqr|range", each)]
    if gone:
        remark(place, f"{', '.join(gone)} are differences of quantiles, and are left out")
    return {"quantiles": asked, "program": said}
