"""A paper's table one in a file, as the entries of its outputs: counts, means and sds, quantiles, tests by variable."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from outrisk.codebook import MISSING, Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.regression.design import quoted
from outrisk.outputs.smooth.compared import Test
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.table_one import TableOneEntry
from outrisk.readers.cells_of_models import ends_of, p_value
from outrisk.readers.printed_number import Printed, as_given, is_undefined, is_withheld, read_printed
from outrisk.readers.source import Grid, Source
from outrisk.readers.table_one_rows import Row, TableOne, read_table_one, statistics_of

_LOG = logging.getLogger(__name__)
_BRACKETS = re.compile(r"(.*?)\s*[(\[{]\s*(.*?)\s*[)\]}]\s*%?")
_PLUS_MINUS = re.compile(r"(.+?)\s*(?:±|\+/-|\+-)\s*(.+)")
_YES = (("0", "1"), ("no", "yes"), ("false", "true"), ("n", "y"))
_BY_SHAPE: Mapping[int, tuple[str, ...]] = {
    1: ("mean",),
    2: ("mean", "sd"),
    3: ("median", "quantile 0.25", "quantile 0.75"),
}
_QUANTILES = {"min": 0.0, "quantile 0.25": 0.25, "median": 0.5, "quantile 0.75": 0.75, "max": 1.0}
_TESTS: tuple[tuple[str, str], ...] = (  # words -> test, the first that fits
    ("fisher|exact", "fisher"),
    ("chi", "chi-square"),
    ("kruskal|nonnorm", "kruskal-wallis"),
    ("wilcoxon|mann|rank.?sum", "rank-sum"),
    ("welch", "welch"),
    ("anova|one.?way|linear model", "anova"),
    ("t.?test", "t"),
)
_MOST_DIGITS = 12


def entries_of_table_one(
    source: Source, entry: TableOneEntry, codebook: Codebook, place: str, number: int | None = None
) -> list[Entry]:
    """The outputs of a table one in a file; OutputError where it cannot be read. `number`: which table of a web page,
    from 1. What is left out is told to the log.
    """
    entry.check_names(codebook, [])
    for name in ("variables", "medians", "counts"):
        if getattr(entry, name):
            raise OutputError(f"{place}: the table says which variables it has; leave '{name}' out")
    table = read_table_one(_grid(source, number, place), entry.by, entry.rows, codebook, place)
    made = _Made(table, entry, codebook, source.comma, place)
    for name in dict.fromkeys(row.variable for row in table.rows):
        made.add(name, [row for row in table.rows if row.variable == name])
    for note in dict.fromkeys(made.notes):
        _LOG.info("%s: %s", place, note)
    return made.found


def _grid(source: Source, number: int | None, place: str) -> Grid:
    if source.tables:
        if not 1 <= (number or 1) <= len(source.tables):
            raise OutputError(f"{place}: it has {len(source.tables)} tables, and no table {number}")
        return source.tables[(number or 1) - 1]
    if source.delimited and not _is_printed(source):
        return source.grid
    return _of_print(source.lines)


def _is_printed(source: Source) -> bool:
    return any("Stratified by" in line for line in source.lines[:5]) and not any('"' in line for line in source.lines)


def _of_print(lines: Sequence[str]) -> Grid:
    """The cells of a printed page, such as one of R's tableone: columns begin where the words of the head do."""
    lines = [line.rstrip() for line in lines if line.strip() and "Stratified by" not in line]
    starts = [0, *(found.start() for found in re.finditer(r"(?<=\s)\S+(?: \S+)*", lines[0]))] if lines else []
    ends = [*starts[1:], None]
    return [[line[start:end].strip() for start, end in zip(starts, ends, strict=True)] for line in lines]


@dataclass
class _Made:
    """Makes the entries, variable by variable."""

    table: TableOne
    entry: TableOneEntry
    codebook: Codebook
    comma: bool
    place: str
    found: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        by, groups = self.entry.by, [each for each in self.table.groups if each != TOTAL]
        self.sizes = {group: self._number(text, f"N of {group}") for group, text in self.table.sizes.items()}
        self.within = self._one_of(by, groups) if by else ""  # the people that the columns are of
        known = [self._whole(self.sizes.get(group)) for group in groups]
        everybody = self._whole(self.sizes.get(TOTAL))
        self.all_sum = None not in known and everybody in (None, sum(each or 0 for each in known))
        if by and any(group in self.sizes for group in groups):
            self._table([by], {(group,): self.sizes.get(group) for group in groups}, "numbers of people", self.within)
        elif everybody is not None:
            self.notes.append(f"N = {everybody} of all people is taken as the sum of the counts of each variable")
        text = " ".join(self.table.below)
        self.told = [found for part in re.split(r";|\bor\b", text) if (found := statistics_of(part))]
        self.tests = {test for part in re.split(r";|,", text) if (test := _test_of(part))}

    def _whole(self, number: Printed | None) -> int | None:
        return None if number is None or number.below or self.entry.protection.round_to else int(number.value)

    def _number(self, text: str, where: str) -> Printed | None:
        """The number of a text; None for what is withheld; OutputError for what is neither."""
        found = read_printed(text, self.comma)
        if found is None and not is_withheld(text) and not is_undefined(text):
            raise OutputError(f"{self.place}: {where} is {text[:40]!r}, which is not a number; a withheld one is * or <10")
        return found

    def add(self, name: str, rows: Sequence[Row]) -> None:
        """The outputs of the rows of a variable."""
        missing = [row for row in rows if row.level == MISSING]
        numbers = [row for row in rows if not row.level and self.codebook[name].numeric]
        counts = [row for row in rows if row.level != MISSING and row not in numbers]
        if numbers and counts:
            raise OutputError(f"{self.place}: rows of '{name}' are of its values, and of all of them; leave out one kind")
        if numbers:
            self._numbers(name, numbers)
        elif counts:
            self._counts(name, [self._levelled(row) for row in counts], missing)
        if missing and not counts:
            self._missing(name, missing[0].cells)
        elif "missing" in self.table.beside.get(name, {}) and not missing:
            self._missing(name, {TOTAL: self.table.beside[name]["missing"]})
        self._test(name)

    def _levelled(self, row: Row) -> Row:
        """A row of a variable without a level is of the second of no and yes."""
        labels = self.codebook[row.variable].labels
        values = [each.casefold() for each in (self.codebook[row.variable].descriptions or labels)[:2]]
        if row.level:
            return row
        if len(self.codebook[row.variable].values) == 2 and tuple(values) in _YES:
            return Row(row.variable, labels[1], row.statistics, row.cells, row.called)
        raise OutputError(
            f"{self.place}: the row {row.called!r} does not say of which level of '{row.variable}' it is; say it in "
            f"'rows', as in {{{row.called!r}: {row.variable} = {labels[0]}}}"
        )

    def _split(self, row: Row, statistics: Sequence[str]) -> dict[str, dict[str, str]]:
        """The texts of a row's cells by statistic and group."""
        texts: dict[str, dict[str, str]] = {}
        for group, cell in row.cells.items():
            if not cell:
                continue
            parts = parts_of(cell, len(statistics))
            names = tuple(statistics)
            if len(parts) < len(names) and (len(parts) == 1 or is_withheld(cell)):
                parts = parts * len(names) if is_withheld(cell) else parts
                names = ("share",) if names == ("count", "share") and cell.endswith("%") else names[: len(parts)]
            if len(parts) != len(names):
                raise OutputError(
                    f"{self.place}: the cell of {row.called!r} under {group!r} is {cell[:40]!r}, where "
                    f"{' and '.join(names)} are expected; write them as in 'mean (sd)', 'median (q1, q3)', 'n (%)'"
                )
            for name, part in zip(names, parts, strict=True):
                texts.setdefault(name, {})[group] = part
        return texts

    def _numbers(self, name: str, rows: Sequence[Row]) -> None:
        """Means, sds and quantiles of a number."""
        texts: dict[str, dict[str, str]] = {}
        for row in rows:
            found = self._split(row, row.statistics or self._shape_of(row))
            if twice := next((each for each in found if each in texts), None):
                raise OutputError(f"{self.place}: the {twice} of '{name}' stands there twice; keep one")
            texts |= found
        if gone := sorted(set(texts) - {"mean", "sd", *_QUANTILES}):
            raise OutputError(f"{self.place}: {gone[0]} of the number '{name}' has no levels; 'counts' have: say its values")
        for kind, names in (("magnitudes", ("mean", "sd")), ("quantiles", tuple(_QUANTILES))):
            if kept := [each for each in names if each in texts]:
                for of_all in (False, True):
                    self._of_number(name, kind, {each: texts[each] for each in kept}, of_all)

    def _shape_of(self, row: Row) -> tuple[str, ...]:
        cell = next(cell for cell in row.cells.values() if cell)
        n = max(len(parts_of(cell, wanted)) for wanted in (1, 2, 3))
        told = next((each for each in self.told if len(each) == n and "count" not in each), None)
        if told is None:
            self.notes.append(f"{row.called!r} does not say what {cell!r} is; it is taken for {' and '.join(_BY_SHAPE[n])}")
        return told or _BY_SHAPE[n]

    def _of_number(self, name: str, kind: str, texts: Mapping[str, Mapping[str, str]], of_all: bool) -> None:
        groups = [each for each in self.table.groups if (each == TOTAL) == of_all]
        if not any(group in each for each in texts.values() for group in groups):
            return
        where = self._of_all(name) if of_all and self.entry.by else self.within
        if where is None:
            return
        by = [] if of_all else [self.entry.by]
        read = {
            each: {group: self._number(found[group], f"the {each} of {name}") for group in groups if group in found}
            for each, found in texts.items()
        }
        digits = {
            each: min(_MOST_DIGITS, max((max(0, one.decimals) for one in found.values() if one), default=0))
            for each, found in read.items()
        }
        more: dict[str, Any] = {"kind": kind, "value": name, "by": by}
        if kind == "magnitudes":
            more |= {"statistics": tuple(texts), "decimals": digits}
        else:
            more |= {"quantiles": tuple(_QUANTILES[each] for each in texts), "decimals": max(digits.values())}
        called = f"{name}{'' if kind == 'magnitudes' else ' (quantiles)'}{' of all' if of_all and self.entry.by else ''}"
        part = self.entry.part(called, where, **more)
        (output,) = part.build(self.codebook, 1)
        values: dict[str, object] = {}
        for cell, level in zip(output.cells.labels, [""] if of_all else self.codebook[self.entry.by].labels, strict=True):
            for each, found in read.items():
                one = found.get(TOTAL if of_all else level)
                at = digits[each] if kind == "magnitudes" else max(digits.values())
                text = texts[each].get(TOTAL if of_all else level, "")
                nobody = is_undefined(text) or (not of_all and level not in groups)
                values[f"{cell}: {each} of {name}"] = (
                    as_given(one, at, own=True) if one else "undefined" if nobody else "withheld"
                )
        self.found.append(part.model_copy(update={"values": values}))

    def _of_all(self, name: str) -> str | None:
        """The people that the column of all is of; None, with a note, where that is not known."""
        if self.all_sum or not self.within:
            return self.within
        everybody, groups = self.sizes.get(TOTAL), [self.sizes.get(group) for group in self.table.groups if group != TOTAL]
        if everybody is not None and all(each is not None for each in groups):
            return ""  # of more people than those in the groups
        self.notes.append(f"{name}: whether people in no group are among all is not known; the column of all is left out")
        return None

    def _counts(self, name: str, rows: Sequence[Row], missing: Sequence[Row]) -> None:
        """Counts and percentages of levels."""
        by = self.entry.by
        texts: dict[str, dict[tuple[str, ...], str]] = {"count": {}, "share": {}}
        for row in (*rows, *missing):
            for each, cells in self._split(row, row.statistics or self._counted(row)).items():
                for group, text in cells.items():
                    if each != "of" and texts.setdefault(each, {}).setdefault((row.level, group), text) != text:
                        raise OutputError(f"{self.place}: {row.called!r} stands there twice; keep one")
        if gone := next((each for each in texts if each not in ("count", "share")), ""):
            raise OutputError(f"{self.place}: '{name}' has levels, and no {gone}; see the row {rows[0].called!r}")
        counts = {key: self._number(text, f"n of {name} = {key[0]}") for key, text in texts["count"].items()}
        levels = [row.level for row in rows] + [MISSING] * bool(missing and self.codebook[name].missing)
        for of_all in (False, True):
            groups = [each for each in self.table.groups if (each == TOTAL) == of_all]
            part = {key: one for key, one in counts.items() if key[1] in groups}
            shares = {key: text for key, text in texts["share"].items() if key[1] in groups}
            exact = bool(part) and all(one is not None and not one.below for one in part.values())
            if not (part or shares) or (of_all and by and exact and self._add_up(counts)):
                continue
            people = self._of_all(name) if of_all and by else self.within
            if people is None:
                continue
            names = [name] if of_all or not by else [name, by]
            called = f"{name}{' of all' if of_all and by else ''}"
            keep = [level for level in levels if any((level, group) in part for group in groups)]
            whole, hidden = self._whole_table(name, part, keep, groups, exact)
            if whole:
                cells = {key if len(names) > 1 else key[:1]: one for key, one in whole.items()}
                self._table(names, cells, called, _both(people, hidden))
            if shares and (not exact or self.entry.protection.round_to):
                self._shares(name, names, shares, called, people, bool(missing))

    def _counted(self, row: Row) -> tuple[str, ...]:
        """What cells of counts have where nothing says it."""
        cell = next(cell for cell in row.cells.values() if cell)
        parts = parts_of(cell, 2)
        return ("count", "share") if len(parts) == 2 else ("share",) if "%" in cell else ("count",)

    def _add_up(self, counts: Mapping[tuple[str, ...], Printed | None]) -> bool:
        """Whether the counts of all people are printed as the sums of those of the groups, and so say nothing more."""
        for (level, group), total in counts.items():
            inside = [one for (each, other), one in counts.items() if each == level and other != TOTAL]
            if group == TOTAL:
                if self.entry.protection.round_to or any(one is None or one.below for one in inside):
                    return False
                if total is None or total.value != sum(one.value for one in inside if one):
                    if self.within or not inside:
                        return False
                    raise OutputError(
                        f"{self.place}: {level}, {group} is {total.value if total else 'withheld'}, its groups add up to "
                        f"{sum(one.value for one in inside if one):g}; correct it, or leave the column out"
                    )
        return True

    def _whole_table(
        self,
        name: str,
        part: dict[tuple[str, str], Printed | None],
        levels: Sequence[str],
        groups: Sequence[str],
        exact: bool,
    ) -> tuple[dict[tuple[str, str], Printed | None], str]:
        """The counts with those of a level that is left to be subtracted; and of which levels they are, where others
        are not told.
        """
        variable = self.codebook[name]
        others = [level for level in variable.labels if level not in levels]
        if not part or not others:
            return part, ""
        sizes = {group: self._whole(self.sizes.get(group)) for group in groups}
        if exact and None not in sizes.values():
            left = {
                group: (sizes[group] or 0) - sum(int(one.value) for key, one in part.items() if one and key[1] == group)
                for group in groups
            }
            if below := next((group for group, each in left.items() if each < 0), None):
                raise OutputError(
                    f"{self.place}: the counts of '{name}' under {below!r} add up to {sizes[below] - left[below]}, of "  # type: ignore[operator]
                    f"{sizes[below]} people; correct them"
                )
            if not any(left.values()):
                return part, ""
            if len(others) == 1:
                return part | {(others[0], group): Printed(float(each)) for group, each in left.items()}, ""
        if others == [MISSING]:
            return part, f"{quoted(name)}.notna()"
        return part, self._one_of(name, levels)

    def _one_of(self, name: str, levels: Sequence[str]) -> str:
        """The condition that a variable has one of some levels; '' where it must have."""
        variable = self.codebook[name]
        values = [value for value, label in zip(variable.values, variable.labels, strict=False) if label in levels]
        if MISSING in levels and variable.missing:
            raise OutputError(f"{self.place}: a column of missing values of '{name}' is not read; leave it out")
        if len(values) == len(variable.values):
            return f"{quoted(name)}.notna()" if variable.missing else ""
        return f"{quoted(name)} in {values!r}"

    def _table(self, names: Sequence[str], cells: Mapping[Any, Printed | None], called: str, where: str) -> None:
        """A table of counts by its levels; a combination that is not there holds nobody."""
        changes: dict[str, Any] = {"protection": self.entry.protection}
        below = {int(one.value) for one in cells.values() if one is not None and one.below}
        if below and "protection" not in self.entry.model_fields_set:
            changes["protection"] = {"threshold": max(below)} if max(below) > 1 else {}
        part = self.entry.part(called, where, kind="frequencies", by=list(names), **changes)
        (output,) = part.build(self.codebook, 1)
        known = {", ".join(f"{n}={level}" for n, level in zip(names, key, strict=True)): one for key, one in cells.items()}
        base = self.entry.protection.round_to
        values = {label: _count(known[label], base) if label in known else 0.0 for label in output.labels}
        self.found.append(part.model_copy(update={"values": values}))

    def _shares(
        self,
        name: str,
        names: Sequence[str],
        texts: Mapping[tuple[str, ...], str],
        called: str,
        people: str,
        with_missing: bool,
    ) -> None:
        """A table of percentages within groups, where the counts are not all printed."""
        variable = self.codebook[name]
        read = {key: self._number(text.strip(" %"), f"% of {name} = {key[0]}") for key, text in texts.items()}
        known = [one for one in read.values() if one is not None and not one.below]
        digits = max((max(0, one.decimals) for one in known), default=0)
        of_missing = with_missing and any(key[0] == MISSING for key in read)
        labels = [label for label in variable.labels if label != MISSING or of_missing]
        hidden = [label for label in labels if all(key[0] != label for key in read)]
        groups = sorted({key[1] for key in read})
        if len(hidden) == 1 and all(one is not None for one in read.values()):
            for group in groups:
                left = 100.0 - sum(one.value for key, one in read.items() if one and key[1] == group)
                read[hidden[0], group] = Printed(round(left, digits), digits)
            if len(labels) > 2:  # a sum of rounded numbers
                read |= {(hidden[0], group): None for group in groups}
        elif hidden:
            self.notes.append(f"percentages of {name}: {', '.join(hidden[:5])} have none; they are left out")
            return
        where = _both(people, f"{quoted(name)}.notna()" if variable.missing and not of_missing else "")
        show = "column_percentages" if len(names) > 1 else "row_percentages"
        part = self.entry.part(
            f"{called} (percentages)", where, kind="frequencies", by=list(names), show=show, decimals=digits
        )
        (output,) = part.build(self.codebook, 1)
        values = {}
        for label in output.labels:
            key = tuple(each.partition("=")[2] for each in label.split(", "))
            one = read.get((key[0], key[1] if len(key) > 1 else groups[0]))
            nobody = len(key) > 1 and key[1] not in groups
            gone = key[0] not in labels
            values[label] = (
                as_given(one, digits) if one and not one.below else "undefined" if nobody else 0.0 if gone else "withheld"
            )
        self.found.append(part.model_copy(update={"values": values}))

    def _missing(self, name: str, cells: Mapping[str, str]) -> None:
        """How many records lack a variable, by group, or of all."""
        numbers = {group: self._number(parts_of(text, 1)[0], f"missing of {name}") for group, text in cells.items() if text}
        if not self.codebook[name].missing:
            if any(one is not None and one.value for one in numbers.values()):
                raise OutputError(f"{self.place}: values of '{name}' are missing, and its codebook has no missing: true")
            return
        by, gone = self.entry.by, f"{quoted(name)}.isna()"
        groups = {group: one for group, one in numbers.items() if group != TOTAL}
        if by and groups:
            self._table([by], {(group,): one for group, one in groups.items()}, f"{name} missing", _both(self.within, gone))
        elif numbers and (people := self._of_all(name) if by else "") is not None:
            self._table([name], {(MISSING,): numbers[TOTAL]}, f"{name} missing", _both(people, gone))

    def _test(self, name: str) -> None:
        """The p of a test between groups."""
        beside = self.table.beside.get(name, {})
        text = beside.get("p", "")
        if not text or not self.entry.by:
            return
        test, continuity = self._which(name, beside)
        if text == "several" or not test:
            why = "several p-values stand there" if test else "which test it is of is not told: say it in 'tests'"
            self.notes.append(f"p of {name} is left out: {why}")
            return
        one = read_printed(p_value(text).partition(" to ")[0], self.comma)
        if one is None:
            raise OutputError(f"{self.place}: p of {name} is {text!r}, which is not a number")
        value = as_given(one, one.decimals, own=True) if text == p_value(text) else p_value(text)
        more = {"continuity": True} if continuity else {}
        digits = max(0, one.decimals)
        part = self.entry.test(name, test, statistics=("p",), decimals=digits, where=self.within, **more)
        self.found.append(part.model_copy(update={"values": [value]}))

    def _which(self, name: str, beside: Mapping[str, str]) -> tuple[Any, bool]:
        """The test of a p-value, '' where it is not told; and whether it is corrected for continuity."""
        if name in self.entry.tests:
            return self.entry.tests[name], False
        numeric = all(not row.level for row in self.table.rows if row.variable == name and row.level != MISSING)
        suited = ("t", "welch", "anova", "rank-sum", "kruskal-wallis") if numeric else ("chi-square", "fisher")
        test = _test_of(beside.get("test", ""))
        several = len([each for each in self.table.groups if each != TOTAL]) > 2
        if test and several:
            test = {"t": "anova", "welch": "", "rank-sum": "kruskal-wallis"}.get(test, test)
        by_note = [each for each in self.tests if each in suited]
        if not test and len(by_note) == 1:
            test = by_note[0]
        corrected = beside.get("test", "").casefold().startswith("chi-squared")  # Python's tableone, as scipy does
        return (test if test in suited and test in get_args(Test) else ""), corrected and test == "chi-square"


def _test_of(text: str) -> str:
    return next((test for words, test in _TESTS if re.search(words, text.casefold())), "")


def _both(*conditions: str) -> str:
    some = [each for each in conditions if each]
    return " and ".join(f"({each})" for each in some) if len(some) > 1 else "".join(some)


def _count(number: Printed | None, base: int | None) -> float | str:
    if number is None or number.below:
        return "withheld"
    if base and base % 2 == 0:  # a half may have gone up or down
        return f"{max(0.0, number.value - base / 2):g} to {number.value + base / 2:g}"
    return as_given(number, 0)


def parts_of(cell: str, wanted: int) -> list[str]:
    """The numbers of a cell: `12 (3.4%)`, `1.2 ± 0.3`, `6.0 [2.5, 13.0]`, `0.5 - 23.0`, `12/98 (12%)`."""
    if found := _BRACKETS.fullmatch(cell):
        return [part for each in found.groups() if each for part in _pair(each, wanted > 2)]
    if found := _PLUS_MINUS.fullmatch(cell):
        return list(found.groups())
    return _pair(cell, wanted > 1)


def _pair(text: str, wanted: bool) -> list[str]:
    """Both numbers of a text, where there are two."""
    if found := re.fullmatch(r"(\d[\d,]*)\s*/\s*(\d[\d,]*)", text):
        return list(found.groups())
    if not wanted:
        return [text]
    if found := ends_of(text):
        return list(found)
    sides = text.split(",")
    return [side.strip() for side in sides] if len(sides) == 2 and all(map(read_printed, sides)) else [text]
