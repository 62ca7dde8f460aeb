"""Which of the tables in a log of Stata is that of an output: by the variables that it names, or by its number."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.smooth.shape import ShapeEntry
from outrisk.outputs.tables.frequencies import FrequenciesEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.quantiles import QuantilesEntry
from outrisk.readers.remarks import remark
from outrisk.readers.stata_rows import Levels, StataTable
from outrisk.readers.stata_session import Command
from outrisk.readers.stata_tables import described_in
from outrisk.readers.stata_twoway import Crossed, crossed_in
from outrisk.readers.term_names import is_short_for

DescribedEntry = MagnitudesEntry | QuantilesEntry | ShapeEntry | FrequenciesEntry
_OF_MEANS = ("count", "mean", "sd", "sum", "standard error", *ENDS)
OF_RANKS = {0.0: "min", 0.5: "median", 1.0: "max"}
OF_SHAPE = ("skewness", "kurtosis", "cv")
TURNED = {"row_percentages": "column_percentages", "column_percentages": "row_percentages"}
_NAME = re.compile(r"[A-Za-z_][\w~]*")


@dataclass(frozen=True)
class Candidate:
    """A table, with the variables of the codebook that it is of; '' for one that it does not name."""

    command: Command
    by: tuple[str, ...]
    cells: Mapping[str, Mapping[Levels, str]]
    words: str
    value: str = ""
    called: str = ""
    refused: str = ""
    table: StataTable | None = None


def described(commands: Sequence[Command], codebook: Codebook) -> Iterator[Candidate]:
    """The tables of statistics of a session, with the variables that they are of."""
    for table in described_in(commands):
        names = table.command.arguments
        labels = table.labels or ("",) * len(table.by)
        by = tuple(named(each, codebook) or named(more, codebook) for each, more in zip(table.by, labels, strict=True))
        if len(table.by) == 1 and not by[0] and table.command.name.startswith("ta") and names:
            by = (named(names[0], codebook),)
        elif len(table.by) == 2 and table.command.name.startswith("ta") and len(names) == 2:
            by = tuple(each or named(name, codebook) for each, name in zip(by, names, strict=True))
        yield Candidate(
            table.command, by, table.cells, table.words, _value(table, codebook), table.value, table.refused, table
        )


def _value(table: StataTable, codebook: Codebook) -> str:
    """The variable that a table is of; the one of the command, where it prints a label and the command has one."""
    found = named(table.value, codebook)
    option = re.search(r"\bsu\w*\((\w+)\)", table.command.options)
    said = [option[1]] if option else list(table.command.arguments) if table.command.name.startswith("su") else []
    return found or (named(said[0], codebook) if len(said) == 1 else "")


def crossed(commands: Sequence[Command]) -> Iterator[tuple[Command, Crossed]]:
    """The tables of counts of a session, each with its command."""
    return ((command, each) for command in commands for each in crossed_in(command.lines) if not each.summaries[0])


def counted(commands: Sequence[Command], codebook: Codebook, entry: FrequenciesEntry) -> Iterator[Candidate]:
    """The tables of counts, each with what of its cells is wanted: of one whose rows are the columns of the output,
    percentages by its columns are those by the output's rows.
    """
    for command, table in crossed(commands):
        printed = [table.row, *([table.column] if table.column else [])]
        names = table.named or (command.arguments if command.name.startswith("ta") else ())
        names = names if len(names) == len(printed) else ("",) * len(printed)
        by = tuple(named(each, codebook) or named(name, codebook) for each, name in zip(printed, names, strict=True))
        turned = len(by) == 2 and by != tuple(entry.by) and (by[0] == entry.by[-1] or by[1] == entry.by[0])
        show = TURNED.get(entry.show, entry.show) if turned else str(entry.show)
        refused = table.refused
        if not refused and any(re.match(r"^\s*-> \w+ = ", line) for line in command.lines):
            refused = "it is one of several groups (by), which tables of counts are not read of"
        if not refused and show not in table.shows:
            refused = f"it has {', '.join(table.shows)}, the output says show: {entry.show}"
        at = table.shows.index(show) if show in table.shows else 0
        percent = "%" if show == "proportions" else ""
        cells = {
            levels: text if text.endswith(percent) else text + percent
            for (levels, number), text in table.cells.items()
            if number == at and (show == "counts" or "Total" not in levels)  # most are 100 by definition
        }
        yield Candidate(command, by, {"": cells}, " x ".join(printed), refused=refused)


def percent_of(name: str) -> float | None:
    """Which percentile Stata calls so, 25 of 'p25'; None of another statistic."""
    return float(name[1:]) if re.fullmatch(r"p\d\d?", name) else None


def asked_of(entry: DescribedEntry) -> tuple[list[str], bool]:
    """Statistics that an entry may have, by what tables call them; whether it asks for all of these."""
    if isinstance(entry, QuantilesEntry):
        said = "quantiles" in entry.model_fields_set
        asked = entry.quantiles if said else tuple(OF_RANKS)
        return [OF_RANKS.get(each, f"p{100 * each:g}") for each in asked], said
    if isinstance(entry, FrequenciesEntry):
        return [""], True
    own: Sequence[str] = OF_SHAPE if isinstance(entry, ShapeEntry) else _OF_MEANS
    said = "statistics" in entry.model_fields_set
    asked_ = [str(each) for each in entry.statistics] if said else list(own)
    return [end for each in asked_ for end in (ENDS if each == "limits" else (each,))], said


def has_some(statistics: Collection[str], refused: str, entry: DescribedEntry) -> bool:
    """Whether a table of these, or one that is refused, may be an output's: those that it asks for, or some of its
    kind.
    """
    wanted, all_ = asked_of(entry)
    return bool(refused) or (all if all_ else any)(each in statistics for each in wanted)


def chosen(tables: Sequence[Candidate], entry: DescribedEntry, number: int | None, place: str) -> Candidate:
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
    wanted, _ = asked_of(entry)
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


def _says_another(found: Candidate) -> bool:
    """Whether a table names a variable, rather than a label, that is none of the codebook's."""
    some = [found.called] if found.called and not found.value else []
    if found.table is not None and not found.command.name.startswith("ta"):
        some += [said for said, name in zip(found.table.by, found.by, strict=True) if not name]
    return any(_NAME.fullmatch(each) for each in some)


def _is_of(found: Candidate, value: str, by: Sequence[str], certain: bool) -> bool:
    """Whether a table is of these variables; if not `certain`, whether it may be."""
    if len(found.by) != len(by):
        return False
    if certain:
        return found.value == value and sorted(found.by) == sorted(by) and "" not in found.by
    return found.value in (value, "") and all(each in by for each in found.by if each)


def named(text: str, codebook: Codebook) -> str:
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
