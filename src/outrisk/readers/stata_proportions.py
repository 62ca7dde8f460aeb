"""Proportions of a log of Stata, by ci proportions and proportion, as a table by the heads of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.smooth.binomial_limits import ProportionInterval
from outrisk.outputs.smooth.proportions import ProportionsEntry
from outrisk.readers.remarks import remark
from outrisk.readers.source import Source
from outrisk.readers.stata_data import hold_records
from outrisk.readers.stata_rows import with_zeros
from outrisk.readers.stata_session import Command, commands_of
from outrisk.readers.term_names import is_short_for, levels_of

_OF_CI = re.compile(
    r"^\s*Variable \|\s*Obs\s+Proportion\s+Std\. [Ee]rr\.\s+\[(\d+(?:\.\d+)?)% [Cc]onf\. [Ii]nterval\]\s*$"
)
_OF_PROPORTION = re.compile(r"^\s*\|\s*Proportion\s+Std\. [Ee]rr\.\s+\[(\d+(?:\.\d+)?)% [Cc]onf\. [Ii]nterval\]\s*$")
_KINDS: dict[str, ProportionInterval] = {
    "exact": "exact", "wilson": "wilson", "agresti": "agresti-coull", "jeffreys": "jeffreys", "wald": "normal",
}  # fmt: skip
_DIGITS = 7
_ZERO = "0.0000000"  # of seven decimals
Found = tuple[Command, str, ProportionInterval, list[list[str]]]  # variable, kind of limits, cells with their heads


def has_proportions(source: Source) -> bool:
    """Whether a text has a table of proportions as Stata prints it."""
    return any(_OF_CI.match(line) or _OF_PROPORTION.match(line) for line in source.lines)


def table_of_log(
    source: Source, entry: ProportionsEntry, codebook: Codebook, place: str, number: int | None
) -> tuple[Source, ProportionsEntry]:
    """The table of an entry as delimited text, and the entry with the kind of its limits; OutputError where none, or
    several, are of its event.
    """
    if entry.by:
        raise OutputError(f"{place}: of Stata's log proportions of all are read; give those by groups as a table")
    commands = commands_of(source.text)
    found = [each for command in commands for each in _tables(command, place)]
    if number is not None and not 1 <= number <= len(found):
        raise OutputError(f"{place}: it has {len(found)} tables of proportions, and no table {number}")
    some = found[number - 1 : number] if number is not None else found
    some = [each for each in some if each[1] == entry.event or is_short_for(each[1], entry.event)]
    if len({str(each[1:]) for each in some}) != 1:
        raise OutputError(
            f"{place}: it has {len(some) or 'no'} tables of proportions of '{entry.event}'; say which behind the "
            f"file's name, as in '...#2' ({'; '.join(f'{at}: {each[1]}' for at, each in enumerate(found, 1))})"
        )
    command, _, interval, grid = some[0]
    if command.weight:
        raise OutputError(f"{place}: its proportions are weighted ({command.weight}), which no output has")
    hold_records(commands, command, entry.where, place)
    if "interval" in entry.model_fields_set and entry.interval != interval:
        raise OutputError(
            f"{place}: its limits are {interval} ones, the output says interval: {entry.interval}; correct it"
        )
    grid = _of_event(grid, entry, codebook, place)
    entry = entry if grid[0][:1] == ["proportion"] else entry.model_copy(update={"interval": interval})
    return replace(source, text="\n".join(",".join(row) for row in grid) + "\n"), entry


def _tables(command: Command, place: str) -> Iterator[Found]:
    for at, line in enumerate(command.lines):
        head = _OF_CI.match(line) or _OF_PROPORTION.match(line)
        if not head:
            continue
        rows = list(_rows(command.lines[at + 1 :]))
        above = next(
            (each.partition("|")[2] or each for each in reversed(command.lines[:at]) if each.strip("- \t")), ""
        )
        limits = [f"lower {head[1]}%", f"upper {head[1]}%"]
        if _OF_CI.match(line):
            kind = next((each for word, each in _KINDS.items() if word in above.casefold()), None)
            for _, name, cells in rows:
                if kind is None or len(cells) != 5:
                    raise OutputError(f"{place}: {name}: its limits are '{above.strip()[:40]}', or a cell is not there")
                texts = [cells[0].replace(",", ""), *_padded(cells[1:])]
                yield command, name, kind, [["n", "proportion", "standard error", *limits], texts]
            continue
        if any(len(cells) != 4 for *_, cells in rows) or re.search(
            r"adjusted for|Replications|Multiple-imputation", "\n".join(command.lines)
        ):
            raise OutputError(
                f"{place}: a proportion of its {line.strip()[:30]!r} has other cells, or errors of a design"
            )
        for name in dict.fromkeys(heading for heading, *_ in rows):
            levels = [[level, *_padded(cells)] for heading, level, cells in rows if heading == name]
            yield command, name, "logit", [["", "proportion", "standard error", *limits], *levels]


def _rows(below: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """The heading above a row, its own name, and its cells."""
    heading = ""
    for line in below:
        left, bar, right = line.partition("|")
        if re.match(r"^\s*-{3,}\+-{3,}\s*$", line):
            continue
        if not bar:
            return
        if not right.split():
            heading = left.strip()
        else:
            yield heading, left.strip(), right.split()


def _padded(cells: Sequence[str]) -> list[str]:
    """Shares with all of their digits; a 0 as it is, without them."""
    return [_ZERO if each == "0" else each for each in with_zeros(cells, _DIGITS, evident=True)]


def _of_event(grid: list[list[str]], entry: ProportionsEntry, codebook: Codebook, place: str) -> list[list[str]]:
    """The row of the event, or of each level where the output has each; limits of proportion, which go by Student's t
    on the log odds, are left to be recognised.
    """
    variable = codebook[entry.event]
    built = entry.model_copy(update={"values": None}).build(codebook, 1)[0]
    counted = [str(each) for each in built.counted]
    if grid[0][0] == "n":
        if levels_of(variable, counted[0] if len(counted) == 1 else "") != levels_of(variable, "1"):
            raise OutputError(f"{place}: ci proportions counts who has 1, the output {', '.join(counted)}; correct one")
        return grid
    keep = {level: levels_of(variable, row[0]) for row in grid[1:] for level in [row[0]]}
    unknown = next((level for level, found in keep.items() if len(found) != 1), None)
    if unknown is not None:
        raise OutputError(
            f"{place}: {unknown!r} is no level of '{entry.event}'; levels are {', '.join(variable.labels[:20])}"
            f"{variable.if_merged}"
        )
    remark(place, "limits of proportion, by Student's t of all records, are left out; its errors are read")
    if len(counted) > 1:
        return [[entry.event, *grid[0][1:3]], *([keep[row[0]][0], *row[1:3]] for row in grid[1:])]
    rows = [row[1:3] for row in grid[1:] if keep[row[0]] == levels_of(variable, counted[0])]
    if len(rows) != 1:
        raise OutputError(f"{place}: it has no row of {entry.event} = {counted[0]}; give it as Stata prints it")
    return [grid[0][1:3], *rows]
