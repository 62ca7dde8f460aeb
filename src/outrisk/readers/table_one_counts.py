"""Rows of a table one that are of levels: how many people have each, or which share of them; how many lack it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from outrisk.codebook import MISSING
from outrisk.errors import OutputError
from outrisk.outputs.base import both
from outrisk.outputs.regression.design import quoted
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.protection import Protection
from outrisk.readers.arranged_cells import given_count
from outrisk.readers.printed_number import Printed, as_given
from outrisk.readers.table_one_reading import Reading, by_group, parts_of
from outrisk.readers.table_one_rows import Row

_ARITHMETIC = 1e-9
_NOT = re.compile(r"(?i)\b(?:no|not|non|never|without|absen\w*|negativ\w*|free)\b(?!\.)")
_YES = (("0", "1"), ("no", "yes"), ("false", "true"), ("n", "y"))

Cells = dict[tuple[str, str], Printed | None]  # by level and group


def add_counts(reading: Reading, name: str, rows: Sequence[Row], missing: Sequence[Row]) -> bool:
    """Add what rows print of a variable's levels, by group and of all. Returns whether they are all of its levels, or
    nobody has the others.
    """
    texts: dict[str, dict[tuple[str, str], str]] = {"count": {}, "share": {}}
    levels = list[str]()
    rows = [_levelled(reading, row) for row in rows]
    filled = {group for row in rows for group, cell in row.cells.items() if cell or group != TOTAL}
    for row in (*rows, *missing):
        levels.append(row.level)
        found = reading.split(row, row.statistics or _counted(reading, row))
        for each, cells in found.items():
            if each not in ("count", "share", "of"):
                raise OutputError(f"{reading.place}: {row.called!r} is of a level, which has no {each}")
            for group, text in cells.items():
                if texts.setdefault(each, {}).setdefault((row.level, group), text) != text:
                    raise OutputError(f"{reading.place}: {row.called!r} stands there twice; keep one")
        for group in filled:  # an empty cell beside others is not of nobody
            if not row.cells.get(group):
                texts["count" if "count" in found else "share"].setdefault((row.level, group), "")
    for (level, group), text in texts.get("of", {}).items():
        base = reading.count(text, f"N of {name}")
        if base is None or base.value != reading.size(group):
            reading.notes.append(f"of how many people {name} = {level} is told ({text}) is left out")
    counts = {key: reading.count(text, f"n of {name} = {key[0]}") for key, text in texts["count"].items()}
    shares = {key: reading.number(text.strip(" %"), f"% of {name} = {key[0]}") for key, text in texts["share"].items()}
    _no_fractions(reading, name, texts["share"], counts, shares)
    if missing and not reading.codebook[name].missing:
        _refuse_missing(reading, name, {key: one for key, one in counts.items() if key[0] == MISSING})
        counts, shares = ({key: one for key, one in each.items() if key[0] != MISSING} for each in (counts, shares))
        levels = [level for level in levels if level != MISSING]
    _check_sums(reading, name, counts)
    if shares and any(re.search(r"(?i)(?<!un)weighted", row.called) for row in rows):
        reading.notes.append(f"percentages of {name} are weighted and are left out")
        shares = {}
    for of_all in (False, True):
        _add(reading, name, levels, (counts, shares), of_all)
    return _are_all(reading, name, set(levels) - {MISSING}, counts)


def _no_fractions(
    reading: Reading, name: str, texts: Mapping[tuple[str, str], str], counts: Cells, shares: Cells
) -> None:
    """OutputError where percentages may be fractions (0.508 for 50.8 %): all are below 1, and no counts stand beside,
    nor percentages of other rows.
    """
    known = {key: one for key, one in shares.items() if one and not one.below}
    if (
        any(counts.values())
        or any(one.value > 1 for one in known.values())
        or any("%" in text for text in texts.values())
    ):
        return
    others = [row for row in reading.table.rows if row.variable != name and {*row.statistics} & {"share"}]
    if any(re.search(r"(?:[2-9]|\d\d)\d*(?:[.,]\d+)?\s*%?\W*$", cell) for row in others for cell in row.cells.values()):
        return
    open_ = next((key for key, one in known.items() if 0 < one.value < 1), None)
    if open_ is not None:
        raise OutputError(
            f"{reading.place}: % of {name} = {open_[0]} is {texts[open_].strip()!r}, a share or a percentage; write it "
            "as 50.8, or with its sign, as in '0.5%'"
        )


def _are_all(reading: Reading, name: str, levels: set[str], counts: Cells) -> bool:
    """Whether all levels of a variable are told, one of two among them, or nobody has those that are not."""
    values = len(reading.codebook[name].values)
    if values == 2 or len(levels) == values:
        return True
    sizes = [reading.size(group) for group in reading.groups]
    added = [sum(one.value for key, one in counts.items() if one and key[1] == group) for group in reading.groups]
    return all(map(_is_told, counts.values())) and sizes == added


def _levelled(reading: Reading, row: Row) -> Row:
    """A row without a level is of the second of no and yes."""
    variable = reading.codebook[row.variable]
    values = [each.casefold() for each in variable.descriptions or variable.labels][: len(variable.values)]
    if row.level:
        return row
    words = re.sub(rf"(?i){re.escape(variable.name)}|{re.escape(variable.label or variable.name)}", "", row.called)
    if tuple(values) in _YES and not _NOT.search(words):
        reading.notes.append(f"{row.called!r} does not say of which level it is; it is taken for {variable.labels[1]}")
        return Row(row.variable, variable.labels[1], row.statistics, row.cells, row.called)
    raise OutputError(
        f"{reading.place}: the row {row.called!r} does not say of which level of '{row.variable}' it is; say it in "
        f"'rows', as in {{{row.called!r}: {row.variable} = {variable.labels[0]}}}"
    )


def _counted(reading: Reading, row: Row) -> tuple[str, ...]:
    """What cells of counts have where nothing says it."""
    cells = [*filter(None, row.cells.values())]
    if any("/" in cell for cell in cells):
        return "count", "of", "share"
    if any(len(parts_of(cell, 2, reading.comma)) == 2 for cell in cells):
        return "count", "share"
    return ("share",) if any("%" in cell for cell in cells) else ("count",)


def _check_sums(reading: Reading, name: str, counts: Cells) -> None:
    """OutputError where counts of all, or of a column, cannot be those of the groups, or of its people."""
    if reading.entry.protection.round_to:
        return
    for (level, group), total in counts.items():
        inside = [one for (each, other), one in counts.items() if each == level and other != TOTAL]
        if group != TOTAL or total is None or total.below or len(inside) < len(reading.groups) or reading.within:
            continue
        if inside and all(map(_is_told, inside)):
            added = sum(one.value for one in inside if one)
            if added != total.value:
                raise OutputError(
                    f"{reading.place}: {name} = {level} is {total.value:g} of all, its groups add up to {added:g}; "
                    "correct it, or leave the column out"
                )
    for group in reading.table.groups:
        size = reading.size(group)
        added = sum(one.value for (_, each), one in counts.items() if each == group and one and not one.below)
        if size is not None and added > size:
            raise OutputError(f"{reading.place}: counts of '{name}' add up to {added:g} of {size} people; correct them")


def _add(reading: Reading, name: str, levels: Sequence[str], of: tuple[Cells, Cells], of_all: bool) -> None:
    """Add the counts of the groups, or of all, and the percentages where counts are not all told."""
    by, groups = reading.entry.by, [TOTAL] if of_all else reading.groups
    counts, shares = ({key: one for key, one in each.items() if key[1] in groups} for each in of)
    rounded = reading.entry.protection.round_to is not None
    if of_all and reading.groups and _are_whole(shares) and not _are_whole(of[1]):
        reading.notes.append(f"percentages of {name} of all are left out: all are 100, as they are of rows")
        shares = {}
    if of_all and reading.groups and _add_up(reading, counts, of[0]):
        return
    if not (counts or shares) or (people := reading.people(name, of_all)) is None:
        return
    called = f"{name}{' of all' * (of_all and bool(by))}"
    names = [name] if of_all else [name, by]
    shown = [level for level in levels if any(key[0] == level for key in (*counts, *shares))]
    ranges = dict[tuple[str, str], str]()
    if not any(_is_told(share) and not _is_told(counts.get(key)) for key, share in shares.items()) and not rounded:
        shares = {}  # they follow from the counts
    told = all(_is_told(shares.get((level, group))) for level in shown for group in groups)
    values, of_levels = len(reading.codebook[name].values), len({*shown} - {MISSING})
    if not told or of_levels < values - (values == 2):
        ranges, shares = _by_shares(reading, name, counts, shares), {}
    if counts or ranges:
        empty: Cells = {(level, group): None for level in shown for group in groups}
        counts = empty | counts
        cells, hidden = _with_the_rest(reading, name, counts, shown, groups)
        of_one = len(shown) == 1 and bool(hidden) and bool(by) and not of_all
        if of_one:
            cells = {("", group): one for (_, group), one in cells.items()}
            ranges = {("", group): each for (_, group), each in ranges.items()}
        _add_table(reading, [by] if of_one else names, cells, called, both(people, hidden), ranges)
    if shares:
        _add_shares(reading, names, shares, called, people)


def _is_told(one: Printed | None) -> bool:
    return one is not None and not one.below


def _are_whole(shares: Cells) -> bool:
    """Whether there are percentages, all 100."""
    return bool(shares) and all(one is not None and one.value == 100 for one in shares.values())


def _add_up(reading: Reading, totals: Cells, counts: Cells) -> bool:
    """Whether counts of all people are the sums of those of the groups, to the person, and so say nothing more."""
    for (level, _), total in totals.items():
        inside = [counts.get((level, group)) for group in reading.groups]
        if not all(map(_is_told, (total, *inside))) or reading.entry.protection.round_to:
            return False
        if total and total.value != sum(one.value for one in inside if one):
            return False
    return bool(totals)


def _with_the_rest(
    reading: Reading, name: str, counts: Cells, shown: Sequence[str], groups: Sequence[str]
) -> tuple[Cells, str]:
    """The counts with those of a level that is left to be subtracted; and of which levels they are, where others are
    not told.
    """
    variable = reading.codebook[name]
    others = [level for level in variable.labels if level not in shown]
    exact = all(map(_is_told, counts.values())) and bool(counts)
    sizes = {group: reading.size(group) for group in groups}
    if others and exact:
        added = {group: sum(one.value for key, one in counts.items() if one and key[1] == group) for group in groups}
        left = {group: size - added[group] for group, size in sizes.items() if size is not None}
        if len(left) == len(groups) and not any(left.values()):
            return counts, ""
        if len(left) == len(groups) and len(others) == 1:
            return counts | {(others[0], group): Printed(each) for group, each in left.items()}, ""
    if not others:
        return counts, ""
    return counts, f"{quoted(name)}.notna()" if others == [MISSING] else reading.one_of(name, shown)


def _by_shares(reading: Reading, name: str, counts: Cells, shares: Cells) -> dict[tuple[str, str], str]:
    """From where to where counts that are withheld, or not printed, lie by their percentages of so many people."""
    found = dict[tuple[str, str], str]()
    if not _are_of_columns(reading, counts, shares):
        reading.notes.append(f"percentages of {name} are left out: they are not of the people in a column")
        return found
    for key, share in shares.items():
        one, size = counts.get(key), reading.size(key[1])
        if (one and not one.below) or share is None or share.below:
            continue
        if size is None or reading.codebook[name].missing:
            reading.notes.append(
                f"percentages of {name} = {key[0]} are left out: of how many people they are is not told"
            )
            continue
        low = max(0, math.ceil((share.value - share.half) * size / 100.0 - _ARITHMETIC))
        high = math.floor((share.value + share.half) * size / 100.0 + _ARITHMETIC)
        high = min(high, one.threshold - 1) if one else high
        if low > high:
            raise OutputError(f"{reading.place}: {name} = {key[0]}: {share.value:g} % of {size} is no number of people")
        found[key] = f"{low} to {high}" if low < high else str(low)
    return found


def _are_of_columns(reading: Reading, counts: Cells, shares: Cells) -> bool:
    """Whether percentages may be of the people in a column: as they stand beside counts, and as rows add up to 100."""
    for key, share in shares.items():
        one, size = counts.get(key), reading.size(key[1])
        if not (share and one and size) or share.below or one.below:
            continue
        if abs(100.0 * one.value / size - share.value) > 1.1 * share.half + _ARITHMETIC:
            return False
    if any(_is_told(one) for one in counts.values()):
        return True
    rows = [[one for (other, _), one in shares.items() if other == level] for level in {key[0] for key in shares}]
    sums = [
        (sum(one.value for one in row if one), sum(one.half for one in row if one))
        for row in rows
        if len(row) > 1 and all(map(_is_told, row))
    ]
    return not sums or any(abs(added - 100.0) > half + _ARITHMETIC for added, half in sums)


def _add_table(
    reading: Reading,
    names: Sequence[str],
    cells: Mapping[tuple[str, str], Printed | None],
    called: str,
    where: str,
    ranges: Mapping[tuple[str, str], str] | None = None,
) -> None:
    """Add a table of counts by its levels; a combination that is not there holds nobody. `ranges`: counts of which the
    table tells from where to where they lie.
    """
    ranges, protection = ranges or {}, reading.entry.protection
    below = {one.threshold for one in cells.values() if one and one.below}
    least = min((one.value for one in cells.values() if one and not one.below and one.value), default=math.inf)
    one_rule = len(below) == 1 and least >= max(below) > 1 and not ranges and None not in cells.values()
    if one_rule and "protection" not in reading.entry.model_fields_set:
        protection = Protection(threshold=max(below))
    elif protection.threshold is None:  # each `<10` says what it may be
        ranges = {key: f"0 to {one.threshold - 1}" for key, one in cells.items() if one and one.below} | {**ranges}
    part = reading.entry.part(called, where, kind="frequencies", by=list(names), protection=protection)
    (output,) = part.build(reading.codebook, 1)
    base = protection.round_to
    values: dict[str, float | str] = {}
    of = {_label(names, key): key for key in {**cells, **ranges}}
    for label in output.labels:
        key = of.get(label)
        one = cells.get(key) if key else None
        told = ranges.get(key) if key else None
        values[label] = told or given_count(one, key is not None, 0, 1.0, base)
    reading.found.append(part.model_copy(update={"values": values}))


def _label(names: Sequence[str], key: tuple[str, str]) -> str:
    """What a table by these variables calls a cell of a level and a group."""
    levels = key if len(names) == 2 else [key[0] or key[1]]
    return ", ".join(f"{name}={level}" for name, level in zip(names, levels, strict=True))


def _add_shares(reading: Reading, names: Sequence[str], shares: Cells, called: str, people: str) -> None:
    """Add a table of percentages of the people in a column, or of those in a row."""
    variable = reading.codebook[names[0]]
    known = [one for one in shares.values() if one and not one.below]
    digits = max((max(0, one.decimals) for one in known), default=0)
    groups = list(dict.fromkeys(group for _, group in shares))
    of_missing = any(level == MISSING for level, _ in shares)
    labels = [label for label in variable.labels if label != MISSING or of_missing]
    of_rows = len(names) == 2 and _are_of_rows(shares, labels, groups)
    if variable.missing and not of_missing and any(all(level != each for level, _ in shares) for each in labels):
        reading.notes.append(f"percentages of {names[0]} are left out: of how many people they are is not told")
        return
    if of_rows and any(all(level != each for level, _ in shares) for each in labels):
        reading.notes.append(f"percentages of {names[0]} are left out: whether they are of rows is not told")
        return
    for hidden in [label for label in labels if all(level != label for level, _ in shares)]:
        for group in groups:  # two levels: what is left of 100
            one = None if len(labels) > 2 else shares.get((next(each for each in labels if each != hidden), group))
            shares = shares | {(hidden, group): one and Printed(round(100.0 - one.value, digits), digits)}
    where = both(people, f"{quoted(names[0])}.notna()" if variable.missing and not of_missing else "")
    show = "column_percentages" if len(names) == 2 and not of_rows else "row_percentages"
    part = reading.entry.part(
        f"{called} (percentages)", where, kind="frequencies", by=list(names), show=show, decimals=digits
    )
    (output,) = part.build(reading.codebook, 1)
    of = {_label(names, key): one for key, one in shares.items()}
    every = reading.codebook[names[-1]].labels if len(names) == 2 else [TOTAL]
    key_of = {_label(names, (level, group)): (level, group) for level in variable.labels for group in every}
    values: dict[str, float | str] = {}
    for label in output.labels:
        level, group = key_of[label]
        nobody = label not in of and (level not in labels if of_rows else group not in groups)
        one = of.get(label)
        values[label] = (
            as_given(one, digits, own=True)
            if one and not one.below
            else "undefined"
            if nobody
            else "withheld"
            if label in of
            else 0.0
        )
    reading.found.append(part.model_copy(update={"values": values}))


def _are_of_rows(shares: Cells, levels: Sequence[str], groups: Sequence[str]) -> bool:
    """Whether percentages add up to 100 in rows, and not in columns."""

    def all_whole(sums: Sequence[Sequence[Printed | None]]) -> bool:
        known = [[one for one in each if one and not one.below] for each in sums]
        full = [each for each, asked in zip(known, sums, strict=True) if len(each) == len(asked)]
        return bool(full) and all(
            abs(sum(one.value for one in each) - 100.0) <= sum(one.half for one in each) + _ARITHMETIC for each in full
        )

    rows = [[shares.get((level, group)) for group in groups] for level in levels]
    return all_whole(rows) and not all_whole(list(zip(*rows, strict=True)))


def add_missing(reading: Reading, name: str, texts: Mapping[str, str]) -> None:
    """Add how many records lack a variable, by group, or of all."""
    first = {group: parts_of(text, 1, reading.comma)[0] for group, text in texts.items() if text}
    if any("%" in text or re.search(r"\.\d", text) for text in first.values()):
        some = any(one and one.value for one in (reading.number(text.strip(" %"), "") for text in first.values()))
        if some or reading.codebook[name].missing:
            reading.notes.append(f"percentages of missing values of {name} are left out; give how many are missing")
        return None
    cells: Cells = {(MISSING, group): reading.count(text, f"missing of {name}") for group, text in first.items()}
    cells |= {(MISSING, group): None for group in reading.groups if group in texts and group not in first}
    if not reading.codebook[name].missing:
        return _refuse_missing(reading, name, cells)
    by, gone = reading.entry.by, f"{quoted(name)}.isna()"
    groups = {("", group): one for (_, group), one in cells.items() if group != TOTAL}
    if groups:
        _add_table(reading, [by], groups, f"{name} missing", both(reading.within, gone))
    elif cells and (people := reading.people(name, True)) is not None:
        _add_table(reading, [name], cells, f"{name} missing", both(people, gone))
    return None


def _refuse_missing(reading: Reading, name: str, cells: Cells) -> None:
    if any(one is not None and one.value for one in cells.values()):
        raise OutputError(f"{reading.place}: values of '{name}' are missing; its codebook needs missing: true")


def add_sizes(reading: Reading) -> None:
    """Add how many people are in each group."""
    by = reading.entry.by
    cells = {("", group): reading.sizes[group] for group in reading.groups if group in reading.sizes}
    if by and cells:
        people = reading.one_of(by, [*by_group(reading.table.sizes, reading.groups)])
        left = _in_no_group(reading)
        if left and people == f"{quoted(by)}.notna()":
            cells, people = cells | {("", MISSING): Printed(left)}, ""
        elif left or (left is None and TOTAL in reading.sizes):
            reading.notes.append("N of all is left out: it is not that of the groups")
        _add_table(reading, [by], cells, "numbers of people", people)
    elif by and TOTAL in reading.sizes:
        reading.notes.append("N of all is left out: N of the groups is not told")
    elif (everybody := reading.size(TOTAL)) is not None:
        reading.notes.append(
            f"N = {everybody} of all is no output; a study without data says it as records: {everybody}"
        )


def _in_no_group(reading: Reading) -> int | None:
    """How many people of all are in none of the groups; None where that is not told; OutputError where it cannot be."""
    everybody, sizes = reading.size(TOTAL), [reading.size(group) for group in reading.groups]
    if everybody is None or None in sizes:
        return None
    left = everybody - sum(each or 0 for each in sizes)
    if left < 0 or (left and not reading.within):
        raise OutputError(
            f"{reading.place}: N of all is {everybody}, those of the groups add up to {everybody - left}; correct it"
        )
    return left
