"""Correlations that Stata's correlate and pwcorr print, as an entry of a study."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.smooth.correlations import CorrelationsEntry
from outrisk.readers.printed_number import as_given, read_printed
from outrisk.readers.remarks import remark
from outrisk.readers.source import Source
from outrisk.readers.stata_data import hold_records
from outrisk.readers.stata_session import Command, commands_of
from outrisk.readers.term_names import is_short_for

_RULE = re.compile(r"^-{5,}\+-{5,}\s*$")
_OBS = re.compile(r"^\s*\(obs=([\d,]+)\)\s*$")
Pair = tuple[int, int]  # row and column


@dataclass
class _Matrix:
    """A triangle of pairs: texts of their correlations, p-values and records; `n` of all, where it stands above."""

    command: Command
    names: list[str] = field(default_factory=list)
    blocks: dict[Pair, list[str]] = field(default_factory=dict)
    n: str = ""
    columns: int = 0  # that are read
    refused: str = ""


def is_matrix(source: Source) -> bool:
    """Whether a text has correlations as Stata prints them."""
    return any(_head(source.lines, at) for at in range(len(source.lines)))


def entry_of_matrix(
    source: Source, entry: CorrelationsEntry, codebook: Codebook, place: str, number: int | None
) -> CorrelationsEntry:
    """The entry with the correlations of a log; OutputError where they are of other variables, or of pairs of records
    that differ.
    """
    commands = commands_of(source.text)
    found = [each for command in commands for each in _matrices(command)]
    if number is not None and not 1 <= number <= len(found):
        raise OutputError(f"{place}: it has {len(found)} tables of correlations, and no table {number}")
    some = found[number - 1 : number] if number is not None else [each for each in found if _places(each, entry)]
    if len({str((each.blocks, each.n)) for each in some}) != 1:
        raise OutputError(
            f"{place}: it has {len(some) or 'no'} tables of correlations of {', '.join(entry.variables)}; say which "
            "behind the file's name, as in '...#2'"
        )
    matrix = some[0]
    at = _places(matrix, entry)
    if at is None or matrix.refused:
        of = ", ".join(matrix.names)
        raise OutputError(f"{place}: {matrix.refused or 'its correlations are of ' + of}; give it as Stata prints it")
    _hold(matrix, entry, codebook, commands, place)
    return _filled(matrix, at, entry, codebook, place)


def _head(lines: Sequence[str], at: int) -> list[str]:
    """The names of the columns, where a line heads a triangle."""
    if at + 2 >= len(lines) or not _RULE.match(lines[at + 1]):
        return []
    left, bar, right = lines[at].partition("|")
    first = lines[at + 2].partition("|")
    names = right.split()
    triangle = len(first[2].split()) == 1 and bool(re.match(r"^\s*[\w~.]+$", first[0].rstrip()))
    return (
        names if bar and not left.strip() and triangle and all(re.fullmatch(r"[\w~.]+", each) for each in names) else []
    )


def _matrices(command: Command) -> Iterator[_Matrix]:
    matrix, n = _Matrix(command), ""
    for at, line in enumerate(command.lines):
        if found := _OBS.match(line):
            n = found[1]
        if columns := _head(command.lines, at):
            _read_panel(matrix, columns, command.lines[at + 2 :])
    if matrix.names or matrix.refused:
        matrix.n = n
        yield matrix


def _read_panel(matrix: _Matrix, columns: Sequence[str], below: Sequence[str]) -> None:
    """A panel of some columns, whose rows begin with the first of them."""
    start, at = matrix.columns, matrix.columns - 1
    matrix.columns += len(columns)
    for line in below:
        left, bar, right = line.partition("|")
        if not bar or _RULE.match(line):
            break
        cells, name = re.sub(r"\s+\*", "*", right).split(), left.strip()
        if name:
            at += 1
            if start == 0:
                matrix.names.append(name)
            elif matrix.names[at : at + 1] != [name]:
                matrix.refused = f"its row of {name} is not the one that the panel above has there"
                return
        whole = min(at - start + 1, len(columns))
        if cells and len(cells) not in (whole, min(at - start, len(columns))):
            matrix.refused = f"its row of {matrix.names[at]} has {len(cells)} numbers in {whole} columns"
            return
        for k, cell in enumerate(cells):
            matrix.blocks.setdefault((at, start + k), []).append(cell)


def _places(matrix: _Matrix, entry: CorrelationsEntry) -> list[int] | None:
    """Where each variable of the entry stands in the triangle; None where one does not, or may be several."""
    found = list[int]()
    for name in entry.variables:
        at = [k for k, each in enumerate(matrix.names) if each == name or is_short_for(each, name)]
        if len(at) != 1:
            return None
        found += at
    return found


def _hold(
    matrix: _Matrix, entry: CorrelationsEntry, codebook: Codebook, commands: Sequence[Command], place: str
) -> None:
    """OutputError where the triangle is of other records than the entry."""
    command = matrix.command
    if command.weight:
        raise OutputError(f"{place}: its correlations are weighted ({command.weight}), which no output has")
    hold_records(commands, command, entry.where, place)
    gaps = [name for name in entry.variables if codebook[name].missing]
    listwise = bool(matrix.n) or command.has(r"listwise|casewise")
    if gaps and not listwise and len(entry.variables) > 2:
        raise OutputError(
            f"{place}: pwcorr takes for each pair who has both values, the output who has all; print correlate, or "
            "give an output of each pair"
        )
    others = [
        each for each in matrix.names if not any(each == name or is_short_for(each, name) for name in entry.variables)
    ]
    if others and listwise and any(each.missing for each in codebook.variables if each.name not in entry.variables):
        raise OutputError(
            f"{place}: correlate leaves out who has no {', '.join(others)} either; name them in 'variables', or print "
            "the output's alone"
        )


def _filled(
    matrix: _Matrix, at: Sequence[int], entry: CorrelationsEntry, codebook: Codebook, place: str
) -> CorrelationsEntry:
    command = matrix.command
    diagonal = {text for k in range(len(matrix.names)) for text in matrix.blocks.get((k, k), ["none"])[:1]}
    if not all((number := read_printed(each)) is not None and number.value == 1.0 for each in diagonal):
        raise OutputError(f"{place}: its diagonal is not 1: covariances are not read; print correlations")
    pairs = {(one, other): _block(matrix, at[one], at[other]) for one, other in combinations(range(len(at)), 2)}
    depth = {len(each) for each in pairs.values()}
    sizes = {texts[-1] for texts in pairs.values() if texts}
    obs = command.has("obs|o|ob") or (depth != {1} and all(each.replace(",", "").isdecimal() for each in sizes))
    said = ["correlation", *(["p"] if len(depth) == 1 and next(iter(depth)) > 1 + obs else [])]
    if len(depth) != 1 or next(iter(depth)) != len(said) + obs or not next(iter(depth)):
        raise OutputError(f"{place}: some of its correlations are not there; print them without print() and star alone")
    if "p" in said and command.has(r"b|bon\w*|sid\w*"):
        said.remove("p")
        remark(place, "its p-values are corrected for several tests, which the output's are not, and are left out")
    n = matrix.n or (next(iter(sizes)) if obs and len(sizes) == 1 else "")
    if obs and len(sizes) > 1:
        raise OutputError(f"{place}: its pairs are of {', '.join(sorted(sizes))} records; print them with listwise")
    there = [*said, *(["n"] if n else [])]
    statistics = list(entry.statistics) if "statistics" in entry.model_fields_set else there
    absent = [each for each in statistics if each not in there]
    if absent:
        raise OutputError(f"{place}: the table has no {absent[0]}; it has {', '.join(there)}")
    texts: dict[str, str] = {"n": n}
    for (one, other), block in pairs.items():
        inside = f"({entry.variables[one]}, {entry.variables[other]})"
        texts |= {f"{each}{inside}": text for each, text in zip(("correlation", "p"), block, strict=False)}
    changes: dict[str, Any] = {"statistics": tuple(statistics)}
    if "decimals" not in entry.model_fields_set:
        changes["decimals"] = {each: 4 for each in statistics if each != "n"}
    made = entry.model_copy(update=changes)
    values: dict[str, Any] = {}
    for label in made.build(codebook, 1)[0].labels:
        number = read_printed(texts[label])
        if number is None or number.decimals != (0 if label == "n" else 4):
            raise OutputError(f"{place}: {label} is {texts[label][:40]!r}, and Stata prints four decimals")
        values[label] = as_given(number, number.decimals)
    return made.model_copy(update={"values": values})


def _block(matrix: _Matrix, one: int, other: int) -> list[str]:
    """Texts of a pair: those in the row of the one further down."""
    low, high = sorted((one, other))
    return matrix.blocks.get((high, low), [])
