"""A paper's table one in a file, as the entries of the outputs that it is made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from outrisk.codebook import MISSING, Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.smooth.compared import CORRECTED, OF_TABLES, Test
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.table_one import TableOneEntry
from outrisk.readers.cells_of_models import p_value
from outrisk.readers.pairs_of_columns import with_pairs_joined
from outrisk.readers.printed_number import as_given, read_printed
from outrisk.readers.remarks import remark
from outrisk.readers.source import Grid, Source
from outrisk.readers.table_one_counts import add_counts, add_missing, add_sizes
from outrisk.readers.table_one_numbers import add_numbers
from outrisk.readers.table_one_reading import Reading
from outrisk.readers.table_one_rows import PERCENT, Row, read_table_one, statistics_of

_TESTS = (  # words -> test, the first that fits
    (r"(?:wilcoxon|mann|rank.?sum).*\bexact", ""),  # which is not the one by the normal distribution
    (r"\bfisher|\bexact\b", "fisher"),
    (r"\bchi\b|\bchi.?sq|χ", "chi-square"),
    (r"\bkruskal|\bnonnorm", "kruskal-wallis"),
    (r"\bwilcoxon|\bmann\b|\brank.?sum", "rank-sum"),
    (r"\bwelch", "welch"),
    (r"\banova|\bone.?way|\blinear model", "anova"),
    (r"\bt.?test", "t"),
)
_OF_SEVERAL = {"t": "anova", "welch": "", "rank-sum": "kruskal-wallis"}  # what a test of two groups is of more
_HEAD_OF_PRINT = "Stratified by"  # above a table that R's tableone prints


def entries_of_table_one(
    source: Source, entry: TableOneEntry, codebook: Codebook, place: str, number: int | None = None
) -> list[Entry]:
    """The outputs of a table one in a file; OutputError where it cannot be read. `number`: which table of a web page,
    from 1. What is left out is told to the log.
    """
    entry.check_names(codebook, [])
    if said := next((name for name in ("variables", "medians", "counts") if getattr(entry, name)), ""):
        raise OutputError(f"{place}: the table says which variables it has; leave '{said}' out")
    table = read_table_one(with_pairs_joined(_grid(source, number, place)), entry.by, entry.rows, codebook, place)
    reading = Reading(
        table, entry, codebook, place, notes=[*table.notes], either=source.delimited and not source.by_commas
    )
    add_sizes(reading)
    told = [found for part in re.split(r";|\bor\b", " ".join(table.below)) if (found := statistics_of(part))]
    for name in dict.fromkeys(row.variable for row in table.rows):
        if name == entry.by:
            reading.notes.append(f"rows of '{name}', which makes the groups, are left out")
        else:
            _add(reading, name, told)
    for note in dict.fromkeys(reading.notes):
        remark(place, note)
    return reading.found


def _grid(source: Source, number: int | None, place: str) -> Grid:
    if source.tables:
        if not 1 <= (number or 1) <= len(source.tables):
            raise OutputError(f"{place}: it has {len(source.tables)} tables, and no table {number}")
        return source.tables[(number or 1) - 1]
    if source.chosen is not None:
        width = len(source.grid[0]) if source.grid else 0
        return [*source.grid, *([note, *[""] * (width - 1)] for note in source.chosen.notes)]
    printed = any(
        (_HEAD_OF_PRINT in line and not {'"', ","} & set(line)) or re.fullmatch(r"\s+Overall\s*", line)
        for line in source.lines[:5]
    )
    return _of_print(source.lines, place) if printed or not source.delimited else source.grid


def _of_print(lines: Sequence[str], place: str) -> Grid:
    """The cells of a printed page, such as one of R's tableone: columns begin where the words of the head do."""
    lines = [line.rstrip() for line in lines if line.strip() and _HEAD_OF_PRINT not in line]
    starts = [0, *(found.start() for found in re.finditer(r"(?<=\s)\S+(?: \S+)*", lines[0]))] if lines else []
    ends = [*starts[1:], None]
    for line in lines[1:]:
        if any(line[at - 1 : at].strip() and line[at : at + 1].strip() for at in starts[1:]):
            raise OutputError(f"{place}: {line.strip()[:40]!r} does not stand in the columns of its head; align them")
    return [[line[start:end].strip() for start, end in zip(starts, ends, strict=False)] for line in lines]


def _add(reading: Reading, name: str, told: Sequence[tuple[str, ...]]) -> None:
    """The outputs of the rows of a variable."""
    rows = [row for row in reading.table.rows if row.variable == name]
    missing = [row for row in rows if row.level == MISSING]
    if len(missing) > 1:
        raise OutputError(f"{reading.place}: missing values of '{name}' stand there twice; keep one row of them")
    numbers = [row for row in rows if not row.level and reading.codebook[name].numeric and not _counts(reading, row)]
    counts = [row for row in rows if row not in missing and row not in numbers]
    if numbers and counts:
        raise OutputError(f"{reading.place}: rows of '{name}' are of its values and of all of them; leave out one kind")
    statistics: tuple[str, ...] = ("count",) if counts else ()
    whole = True
    if counts:
        whole = add_counts(reading, name, counts, missing)
    elif numbers:
        statistics = add_numbers(reading, name, numbers, told)
    if missing and not counts:
        add_missing(reading, name, missing[0].cells)
    elif not missing and (text := reading.table.beside[name].get("missing", "")):
        add_missing(reading, name, {TOTAL: text})
    if not whole and reading.table.beside[name].get("p"):
        reading.notes.append(
            f"p of {name} is left out: whether levels that are not printed are in its test is not told"
        )
    elif statistics:
        _add_test(reading, name, statistics)


def _counts(reading: Reading, row: Row) -> bool:
    """Whether a row of a number counts its 1, as it has no other value than 0 and 1 and says counts or percentages."""
    if tuple(reading.codebook[row.variable].values) != (0, 1):
        return False
    of_numbers = set(row.statistics) - {*PERCENT, "count", "of"}
    return not of_numbers and bool(row.statistics or any("%" in cell for cell in row.cells.values()))


def _add_test(reading: Reading, name: str, statistics: Sequence[str]) -> None:
    """The p of a test between groups."""
    text = reading.table.beside[name].get("p", "")
    if not text or not reading.entry.by:
        return
    test, continuity = _test(reading, name, statistics)
    if text == "several" or not test:
        why = "several stand there" if test else "which test it is of is not told; say it in 'tests'"
        reading.notes.append(f"p of {name} is left out: {why}")
        return
    known = p_value(text)
    one = read_printed(known.partition(" to ")[0], "," in known)
    if one is None:
        reading.notes.append(f"p of {name} is left out: {text[:20]!r} is no number")
        return
    value = known if " to " in known else as_given(one, max(0, one.decimals), own=True)
    part = reading.entry.test(
        name, test, statistics=("p",), decimals=max(0, one.decimals), where=reading.within, continuity=continuity
    )
    try:
        part.build(reading.codebook, 1)
    except OutputError as error:  # such as of too many values
        reading.notes.append(f"p of {name} is left out: {str(error).partition(': ')[2]}")
        return
    reading.found.append(part.model_copy(update={"values": [value]}))


def _test(reading: Reading, name: str, statistics: Sequence[str]) -> tuple[Test | None, bool]:
    """The test of a p-value, None where it is not told; and whether it is corrected for continuity."""
    entry, beside = reading.entry, reading.table.beside[name]
    sort = "counts" if "count" in statistics else "medians" if "median" in statistics else "means"
    if said := entry.test_of(name, sort):
        return said, entry.continuity and said in CORRECTED
    words, several = beside.get("test", "").casefold(), len(reading.groups) > 2
    texts = {row["test"] for row in reading.table.beside.values() if "test" in row}
    of_tableone = reading.table.with_tests and texts <= {"nonnorm", "exact"}  # R's, which names no other
    suited = [each for each in get_args(Test) if (each in OF_TABLES) == (sort == "counts")]
    if of_tableone and not words:
        return ("chi-square", True) if sort == "counts" else ("anova", False)
    by_note = {each for part in re.split(r";|,", " ".join(reading.table.below)) if (each := _named(part)) in suited}
    found = _named(words) or (by_note.pop() if len(by_note) == 1 else "")
    found = _OF_SEVERAL.get(found, found) if several else found
    known = next((test for test in suited if test == found), None)
    if known == "rank-sum":  # a program's name of it; R's and scipy's default
        return known, not words or "wilcoxon" not in words
    return known, known == "chi-square" and words.startswith("chi-squared")  # Python's tableone takes scipy's default


def _named(text: str) -> str:
    return next((test for words, test in _TESTS if re.search(words, text.casefold())), "")
