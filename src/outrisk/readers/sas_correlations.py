"""Correlations that SAS's PROC CORR prints, as an entry of a study."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.smooth.correlations import CorrelationsEntry
from outrisk.readers.printed_number import as_given, decimals_of, read_printed
from outrisk.readers.remarks import remark
from outrisk.readers.sas_columns import columns_of, is_number
from outrisk.readers.sas_listing import Step, is_listing, said_elsewhere, steps_of
from outrisk.readers.sas_whom import hold_whom, named, same_group, say_unseen
from outrisk.readers.source import Source

_TITLE = re.compile(r"^\s*Pearson Correlation Coefficients(?:, N = (\d+))?\s*$")
_OTHER = re.compile(r"^\s*(?:Spearman|Kendall|Hoeffding|Pearson Partial|Partial|The \w+ Procedure|Cronbach)\b")
_OF_HEAD = re.compile(r"Prob > \|r\||Number of Observations\s*$")
_MOST = 5_000


@dataclass
class _Matrix:
    """A matrix by pairs of its variables, as printed: texts of correlations, p-values and numbers of records."""

    step: Step
    n: str = ""
    names: list[str] = field(default_factory=list)
    r: dict[tuple[str, str], str] = field(default_factory=dict)
    p: dict[tuple[str, str], str] = field(default_factory=dict)
    sizes: dict[tuple[str, str], str] = field(default_factory=dict)


def has_correlations(source: Source) -> bool:
    """Whether a text is a listing of SAS with Pearson's correlations."""
    return is_listing(source) and any(True for _ in _matrices(steps_of(source.text)))


def correlations_of_listing(
    source: Source, entry: CorrelationsEntry, codebook: Codebook, place: str, number: int | None
) -> CorrelationsEntry:
    """The entry with the correlations of a listing; OutputError where they are of other variables, or of pairs of
    records that differ.
    """
    steps = steps_of(source.text)
    found = list(_matrices(steps))
    if number is not None and not 1 <= number <= len(found):
        raise OutputError(f"{place}: it has {len(found)} tables of correlations, and no table {number}")
    some = found[number - 1 : number] if number is not None else found
    some = [each for each in some if _called(each, entry, codebook) and _may_be(each, entry, codebook)]
    if len({str((each.r, each.p, each.n, each.step.whom)) for each in some}) != 1:
        raise OutputError(
            f"{place}: it has {len(some) or 'no'} tables of correlations of {', '.join(entry.variables)}; say which "
            "behind the file's name, as in '...#2'"
        )
    matrix = some[0]
    weight = matrix.step.weight or ("a variable" if re.search(r"(?:Weight|Freq) Variable:", matrix.step.text) else "")
    if weight:
        raise OutputError(f"{place}: its correlations are weighted by {weight}, which no output has")
    if matrix.step.whom and not (not matrix.step.subset and same_group(matrix.step.groups, entry.where, codebook)):
        hold_whom(matrix.step.whom, entry.where, place)
    say_unseen(matrix.step, said_elsewhere(source.text, steps), entry.where, codebook, place)
    return _filled(matrix, _called(matrix, entry, codebook), entry, codebook, place)


def _may_be(matrix: _Matrix, entry: CorrelationsEntry, codebook: Codebook) -> bool:
    return same_group(matrix.step.groups, entry.where, codebook) is not False


def _called(matrix: _Matrix, entry: CorrelationsEntry, codebook: Codebook) -> dict[str, str]:
    """How the print calls each variable of the entry; {} where one is not in it."""
    known = {named(each, codebook): each for each in matrix.names}
    return {name: known[name] for name in entry.variables} if all(name in known for name in entry.variables) else {}


def _matrices(steps: Sequence[Step]) -> Iterator[_Matrix]:
    for step in steps:
        last: _Matrix | None = None
        for at, line in enumerate(step.lines):
            title = _TITLE.match(line) if step.procedure in ("CORR", "") else None
            if title:
                matrix = _Matrix(step, title[1] or "")
                _read(matrix, step.lines[at + 1 : at + _MOST])
                if last is not None and last.n == matrix.n and not last.r.keys() & matrix.r.keys():
                    for own, more in ((last.r, matrix.r), (last.p, matrix.p), (last.sizes, matrix.sizes)):
                        own.update(more)
                    last.names += [each for each in matrix.names if each not in last.names]
                elif matrix.r:
                    yield from [last] if last is not None else []
                    last = matrix
        yield from [last] if last is not None else []


def _read(matrix: _Matrix, lines: Sequence[str]) -> None:
    """Read panels of columns and their rows, up to another table."""
    columns, row, below, tested = list[str](), "", 0, False
    for at, line in enumerate(lines):
        cells = line.split()
        if _TITLE.match(line) or _OTHER.match(line):
            return
        tested = tested or "Prob > |r|" in line
        if not cells or _OF_HEAD.search(line):
            continue
        numbers = [cell for cell in cells if is_number(cell)]
        if not numbers:
            later = next((each.split() for each in lines[at + 1 : at + 4] if each.strip()), [])
            is_head = len(later) == len(cells) + 1 and all(map(is_number, later[1:]))
            columns, row = (_heads(lines[: at + 1], cells), "") if is_head else (columns, row)
            continue
        is_row = len(cells) == len(columns) + 1 and all(is_number(each) and "." in each for each in cells[1:])
        is_below = tested and row and below == 0 and lines[at - 1].strip()  # p-values, maybe behind a label
        if columns and is_row and not is_below and not is_number(cells[0]):
            row, below = cells[0], 0
            matrix.names += [each for each in (row, *columns) if each not in matrix.names]
            matrix.r |= {(row, name): text for name, text in zip(columns, cells[1:], strict=True)}
            continue
        if not row:
            continue
        others = [name for name in columns if name != row]
        tail = _tail(cells)
        below += 1
        if tested and below == 1 and len(tail) >= len(others) and not _are_sizes(tail[-len(columns) :], columns):
            some = tail[len(tail) - len(others) :]
            matrix.p |= {(row, name): text for name, text in zip(others, some, strict=True)}
        elif not matrix.n and len(tail) >= len(columns):
            matrix.sizes |= {(row, name): text for name, text in zip(columns, tail[-len(columns) :], strict=True)}


def _heads(lines: Sequence[str], cells: list[str]) -> list[str]:
    """The names over columns by the last line of their head, with what long names have in the lines above it."""
    start = len(lines) - 1
    while start and lines[start - 1].strip() and not _OF_HEAD.search(lines[start - 1]):
        start -= 1
    whole = [each.words.replace(" ", "") for each in columns_of(lines[start:])]
    return whole if len(whole) == len(cells) else cells


def _tail(cells: Sequence[str]) -> list[str]:
    """The numbers at the end of a line, behind a label."""
    at = len(cells)
    while at and is_number(cells[at - 1]):
        at -= 1
    return list(cells[at:])


def _are_sizes(texts: Sequence[str], columns: Sequence[str]) -> bool:
    return len(texts) == len(columns) and all(text.isdecimal() and int(text) > 1 for text in texts)


def _filled(
    matrix: _Matrix, called: dict[str, str], entry: CorrelationsEntry, codebook: Codebook, place: str
) -> CorrelationsEntry:
    """The entry with the numbers of its pairs."""
    pairs = {pair: (called[pair[0]], called[pair[1]]) for pair in combinations(entry.variables, 2)}
    sizes = {text for pair in pairs.values() for text in (_of(matrix.sizes, pair),) if text} or {matrix.n}
    if len(sizes) > 1:
        raise OutputError(f"{place}: its pairs are of {', '.join(sorted(sizes))} records; print them with NOMISS")
    others = [each for each in matrix.names if each not in called.values()]
    if matrix.n and others and any(each.missing for each in codebook.variables if each.name not in entry.variables):
        remark(
            place,
            f"its correlations may be of who has values of {', '.join(others)} too (NOMISS); they are taken for those "
            "of who has the output's",
        )
    texts = {"n": next(iter(sizes))}
    for (one, other), pair in pairs.items():
        texts |= {f"correlation({one}, {other})": _of(matrix.r, pair), f"p({one}, {other})": _of(matrix.p, pair)}
    there = [
        each
        for each in ("correlation", "p", "n")
        if all(text for label, text in texts.items() if label == each or label.startswith(f"{each}("))
    ]
    statistics = list(entry.statistics) if "statistics" in entry.model_fields_set else there
    absent = [each for each in statistics if each not in there]
    if absent or "correlation" not in there:
        raise OutputError(f"{place}: the table has no {(absent or ['correlation'])[0]}; it has {', '.join(there)}")
    changes: dict[str, Any] = {"statistics": tuple(statistics)}
    if "decimals" not in entry.model_fields_set:
        shown = {
            each: decimals_of(read_printed(text) for label, text in texts.items() if label.startswith(f"{each}("))
            for each in statistics
            if each != "n"
        }
        changes["decimals"] = shown
    made = entry.model_copy(update=changes)
    (built,) = made.build(codebook, 1)
    values: dict[str, Any] = {}
    for label, decimals in zip(built.labels, built.decimals.tolist(), strict=True):
        number = read_printed(texts[label])
        if number is None:
            raise OutputError(f"{place}: {label} is {texts[label][:40]!r}, which is not a number")
        values[label] = as_given(number, int(decimals), own=True)
    return made.model_copy(update={"values": values})


def _of(found: dict[tuple[str, str], str], pair: tuple[str, str]) -> str:
    return found.get(pair, "") or found.get(pair[::-1], "")
