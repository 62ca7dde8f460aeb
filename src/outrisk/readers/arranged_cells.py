"""Cells of a table by the levels of the codebook's variables, in whatever order and spelling; their numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from outrisk.codebook import MISSING, Codebook
from outrisk.errors import OutputError
from outrisk.outputs.tables.counted import TOTAL
from outrisk.readers.decimal_signs import Signs
from outrisk.readers.printed_number import Printed, as_given, is_undefined, is_withheld, read_printed
from outrisk.readers.table_layout import MARGINS, Cell, CellTable
from outrisk.readers.term_names import levels_of

_NAMED = re.compile(r"(.+?)\s*[=:]\s*(.+)")  # a level with the name of its variable
CLOSE = 0.6  # of a last digit, by which a printed total may miss the sum of printed cells, a cell

Key = tuple[str, ...]  # a level an axis, TOTAL for a margin


@dataclass(frozen=True)
class Arranged:
    """Texts of a table by statistic and levels, in the order of `by`; notes: what was left out, and why.

    own: each number shows all of its digits, as no program has cut off trailing zeros.
    """

    by: tuple[str, ...]
    texts: Mapping[str, Mapping[Key, str]]
    comma: bool
    notes: tuple[str, ...] = ()
    own: bool = False


def arrange(
    table: CellTable,
    by: Sequence[str],
    codebook: Codebook,
    signs: Signs,
    place: str,
    counts: Sequence[str] = (),
    spread: tuple[float, float] | None = None,
) -> Arranged:
    """The cells by the levels of variables; OutputError where the table's axes or levels are not the codebook's.

    `counts`: which of its statistics are numbers of people; `spread`: from where to where means and quantiles lie.
    """
    if not by:
        unnamed = [axis for axis in table.axes if axis not in codebook]
        if unnamed:
            raise OutputError(f"{place}: the table does not name all of its variables; say them with 'by'")
        by = table.axes
    if len(by) != len(table.axes):
        raise OutputError(
            f"{place}: the table has {len(table.axes)} variables ({', '.join(axis or '?' for axis in table.axes)}), "
            f"'by' names {len(by)}: {list(by)}"
        )
    table = _without_names(_by_names(table, by, codebook), by, codebook)
    order = _order(table, by, codebook, place)
    texts: dict[str, dict[Key, str]] = {}
    for cell in table.cells:
        key = tuple(_level(cell, at, name, codebook, place) for at, name in zip(order, by, strict=True))
        found = texts.setdefault(cell.statistic, {})
        if key in found:
            raise OutputError(f"{place}: {words(by, key)} stands there twice; keep one")
        found[key] = cell.text
    cells = {name: {words(by, key): text for key, text in each.items()} for name, each in texts.items()}
    return Arranged(tuple(by), texts, signs.comma(cells, counts, place, spread))


def of_all(table: CellTable, signs: Signs, place: str, counts: Sequence[str] = ()) -> Arranged:
    """The cells of a table of one row, of all records; OutputError where it has several."""
    texts: dict[str, dict[Key, str]] = {}
    for cell in table.cells:
        if () in texts.setdefault(cell.statistic, {}):
            raise OutputError(
                f"{place}: the table has several rows; say with 'by' which variables they are by, or keep that of all"
            )
        texts[cell.statistic][()] = cell.text
    cells = {name: {f"the {name}": each[()]} for name, each in texts.items()}
    return Arranged((), texts, signs.comma(cells, counts, place))


def _by_names(table: CellTable, by: Sequence[str], codebook: Codebook) -> CellTable:
    """The table whose axes are called as the variables of `by` that have their label."""
    called = {codebook[name].label.casefold(): name for name in by if name in codebook and codebook[name].label}
    return replace(table, axes=tuple(called.get(axis.casefold(), axis) for axis in table.axes))


def _without_names(table: CellTable, by: Sequence[str], codebook: Codebook) -> CellTable:
    """The table whose levels are without the name, or label, of their variable, which all of an axis begin with as in
    `affair = 1`.
    """
    known = [name for name in by if name in codebook]
    called = {text.casefold(): name for name in known for text in (name, codebook[name].label) if text}
    axes, levels = list(table.axes), [list(cell.levels) for cell in table.cells]
    for at, axis in enumerate(axes):
        parts = [_NAMED.fullmatch(each[at]) for each in levels if each[at].casefold() not in MARGINS]
        names = {called.get(part[1].casefold(), "") if part else "" for part in parts}
        name = names.pop() if len(names) == 1 else ""
        if name and axis in ("", name) and not any(levels_of(codebook[name], each[at]) for each in levels):
            axes[at] = name
            for each in levels:
                each[at] = part[2] if (part := _NAMED.fullmatch(each[at])) else each[at]
    cells = tuple(replace(cell, levels=tuple(each)) for cell, each in zip(table.cells, levels, strict=True))
    return replace(table, axes=tuple(axes), cells=cells)


def _order(table: CellTable, by: Sequence[str], codebook: Codebook, place: str) -> list[int]:
    """Which axis of the table each variable of `by` is: by name, else by levels; OutputError if two orders fit."""
    seen = [{cell.levels[at] for cell in table.cells} for at in range(len(table.axes))]
    fitting = []
    for order in permutations(range(len(by))):
        pairs = list(zip(order, by, strict=True))
        if all(table.axes[at] in ("", name) or table.axes[at] not in codebook for at, name in pairs) and all(
            _fits(seen[at], name, codebook) for at, name in pairs
        ):
            fitting.append(list(order))
    if not fitting:
        at = next((at for at, axis in enumerate(table.axes) if axis in codebook and axis not in by), None)
        if at is not None:
            raise OutputError(f"{place}: the table is by {table.axes[at]}, 'by' says {list(by)}")
        return list(range(len(by)))  # whose levels then show what does not fit
    known = [
        order
        for order in fitting
        if all(_are_known(seen[at], name, codebook) for at, name in zip(order, by, strict=True))
    ]
    fitting = known or fitting
    own = list(range(len(by)))
    best = own if own in fitting else fitting[0]
    for other in fitting:
        if other != best and not _are_alike(table, best, other, by, codebook):
            names = [name for name, one, two in zip(by, best, other, strict=True) if one != two]
            raise OutputError(
                f"{place}: the table does not say which of {' and '.join(map(repr, names))} is in its rows, and both "
                f"have its levels; name them, as in a first cell '{names[0]} \\ {names[1]}' (rows \\ columns)"
            )
    return best


def _are_alike(
    table: CellTable, one: Sequence[int], other: Sequence[int], by: Sequence[str], codebook: Codebook
) -> bool:
    """Whether the cells are the same in both orders of the axes."""

    def cells(order: Sequence[int]) -> set[tuple[object, ...]]:
        return {
            (
                cell.statistic,
                cell.text,
                *(
                    tuple(levels_of(codebook[name], cell.levels[at])) or cell.levels[at]
                    for at, name in zip(order, by, strict=True)
                ),
            )
            for cell in table.cells
        }

    return cells(one) == cells(other)


def _fits(levels: set[str], name: str, codebook: Codebook) -> bool:
    known = sum(bool(levels_of(codebook[name], level)) or _is_missing(level) for level in levels)
    return known >= max(1, len(levels) - 1)


def _are_known(levels: set[str], name: str, codebook: Codebook) -> bool:
    """Whether all are levels of a variable, margins or missing."""
    return all(levels_of(codebook[name], each) or each.casefold() in MARGINS or _is_missing(each) for each in levels)


def _is_missing(level: str) -> bool:
    return level.casefold() in ("", "na", "nan", "<na>", "missing", ".")


def _level(cell: Cell, at: int, name: str, codebook: Codebook, place: str) -> str:
    text, variable = cell.levels[at], codebook[name]
    found = levels_of(variable, text)
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        raise OutputError(f"{place}: {text!r} may be {' or '.join(found)} of '{name}'")
    if text.casefold() in MARGINS:
        return TOTAL
    if variable.missing and _is_missing(text):
        return MISSING
    raise OutputError(
        f"{place}: {text!r} is no level of '{name}'; levels are {', '.join(variable.labels[:20])} (a margin is called "
        f"All, Total or Sum){variable.if_merged}"
    )


def absent(arranged: Arranged, where: str, codebook: Codebook) -> list[str]:
    """Notes of levels that a table has no row or column for, but for variables that it is restricted by (`where`), and
    of other combinations that it has no cell for: nobody has them.
    """
    keys = {key for each in arranged.texts.values() for key in each if TOTAL not in key}
    gone, there = list[str](), 1
    for at, name in enumerate(arranged.by):
        seen = {key[at] for key in keys}
        there *= len(seen)
        if keys and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", where):
            gone += [f"{name} = {level}" for level in codebook[name].labels if level not in seen]
    notes = []
    if gone:
        some = f"{', '.join(gone[:8])}{', ...' if len(gone) > 8 else ''}"
        notes.append(f"the table has no row or column of {some}: nobody is taken to have it; write * if it is withheld")
    if len(keys) < there:
        notes.append(f"{there - len(keys)} combinations that the table has no cell for are taken to be of nobody")
    return notes


def words(by: Sequence[str], key: Key) -> str:
    """A cell as labels and messages name it."""
    return ", ".join(f"{name}={level}" for name, level in zip(by, key, strict=True)) or "the cell"


def number_of(text: str, arranged: Arranged, where: str, place: str, count: bool = False) -> Printed | None:
    """The number of a cell; None for one without; OutputError for what is neither, for a `count` that is no number of
    people, and for what may be another number.
    """
    found = read_printed(text, arranged.comma)
    if found is not None and found.bracketed:
        raise OutputError(
            f"{place}: the value of {where} is {text[:40]!r}, which may be negative, as in accounts, or a number with "
            "a remark; write it with a minus, or without brackets"
        )
    if found is not None and found.above:
        raise OutputError(
            f"{place}: the value of {where} is {text[:40]!r}, so much or more; write * for it, which withholds it, or "
            "the number alone, if + is but a mark"
        )
    if (
        found is not None
        and count
        and not found.below
        and (found.percent or found.value != int(found.value) or found.value < 0)
    ):
        way = (
            "percentages are read with show: row_percentages, column_percentages or proportions"
            if found.percent
            else "means are read by kind: magnitudes, shares with show: proportions, row_percentages or "
            "column_percentages, weighted counts with their weight by label and value"
        )
        raise OutputError(f"{place}: the value of {where} is {text[:40]!r}, which is no number of people; {way}")
    if found is None and not is_withheld(text) and not is_undefined(text):
        raise OutputError(
            f"{place}: the value of {where} is {text[:40]!r}, which is not a number; a withheld cell is empty, * or <10"
        )
    return found


def given_count(number: Printed | None, there: bool, decimals: int, scale: float, base: int | None) -> float | str:
    """What a study file holds of a count or share, rounded to `base`; `there`: the table has such a cell."""
    if number is None:
        return "withheld" if there else 0.0
    if number.below:
        return "withheld"
    if scale != 1.0:
        return float(f"{number.value * scale:.{decimals}f}")
    if base and base % 2 == 0:  # a half may have gone up or down
        return f"{max(0.0, number.value - base / 2):g} to {number.value + base / 2:g}"
    return as_given(number, decimals)


def within(cell: Key, margin: Key) -> bool:
    """Whether a cell is one of those that a margin sums."""
    return all(there in (TOTAL, level) for level, there in zip(cell, margin, strict=True))
