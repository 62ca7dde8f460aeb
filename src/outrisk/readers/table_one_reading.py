"""What the readers of a table one share: its people, the texts of its cells, the entries made so far."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from outrisk.codebook import MISSING, Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.regression.design import quoted
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.table_one import TableOneEntry
from outrisk.readers.cells_of_models import ends_of
from outrisk.readers.printed_number import Printed, is_undefined, is_withheld, read_printed
from outrisk.readers.table_one_rows import PERCENT, Row, TableOne

_BRACKETS = re.compile(r"(.*?)\s*[(\[{]\s*(.*?)\s*[)\]}]\s*%?")
_PLUS_MINUS = re.compile(r"(.+?)\s*(?:±|\+/-|\+-)\s*(.+)")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(?:(?:\d+|\d{1,3}(?:[ .]\d{3})+),(?:\d{1,2}|\d{4,})(?!\d)(?!\s*,)|0,\d|\d{4,},\d)")
_EITHER = re.compile(r"[1-9]\d{0,2},\d{3}(?![\d,.])")
_RATIO = re.compile(r"(\d[\d,]*)\s*/\s*(\d[\d,]*)")


@dataclass
class Reading:
    """A table one that is being read; `found` are the entries of its outputs, `notes` what was left out."""

    table: TableOne
    entry: TableOneEntry
    codebook: Codebook
    place: str
    found: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    either: bool = False  # whether 1,234 may be either number: commas stand between no cells

    @cached_property
    def comma(self) -> bool:
        """Whether numbers have a decimal comma: some that begin a cell, or are the percentage of a level, have digits
        behind it that are no thousands.
        """
        cells = [cell for row in self.table.rows for cell in row.cells.values()]
        commas = [cell for cell in cells if _DECIMAL_COMMA.match(cell)]
        commas += [each["p"] for each in self.table.beside.values() if re.search(r"(?<!\d)0,\d", each.get("p", ""))]
        of_levels = [row for row in self.table.rows if row.level or not self.codebook[row.variable].numeric]
        commas += [
            cell
            for row in of_levels
            for cell in row.cells.values()
            if re.search(r"[(\[]\s*<?\s*\d{1,3},\d{1,2}\s*%?\s*[)\]]\s*%?$", cell)
        ]
        if not commas and not (self.point or self.either) and self._of_values:
            return True
        return bool(commas) and not any(re.search(r"\d\.\d(?!\d\d\b)", cell) for cell in cells)

    @cached_property
    def _of_values(self) -> bool | None:
        """Whether commas of numbers such as 11,525 are decimal ones, as means and medians lie within their variable;
        None where both are possible, or there are none.
        """
        found = set[tuple[bool, bool]]()
        for row in self.table.rows:
            variable = self.codebook[row.variable]
            for cell in row.cells.values() if variable.numeric and not row.level else ():
                if text := _EITHER.match(cell):
                    low, high = (float(end(map(float, variable.values))) for end in (min, max))
                    number = float(text[0].replace(",", ""))
                    found.add((low <= number / 1000.0 <= high, low <= number <= high))
        decimal, thousands = (all(each[at] for each in found) for at in (0, 1))
        return decimal if found and decimal != thousands else None

    @cached_property
    def point(self) -> bool:
        """Whether some number has a decimal point."""
        cells = [cell for row in self.table.rows for cell in row.cells.values()]
        return any(re.search(r"\d\.\d", cell) for cell in cells)

    @cached_property
    def groups(self) -> list[str]:
        """The levels that columns are of."""
        return [each for each in self.table.groups if each != TOTAL]

    @cached_property
    def sizes(self) -> dict[str, Printed | None]:
        """How many people the columns are of, where the table says so."""
        return {group: self.count(text, f"N of {group}") for group, text in self.table.sizes.items()}

    @cached_property
    def within(self) -> str:
        """The people that the columns are of, as an expression; '' for all."""
        return self.one_of(self.entry.by, self.groups) if self.entry.by else ""

    def number(self, text: str, where: str, count: bool = False) -> Printed | None:
        """The number of a text; None for what is withheld; OutputError for what is neither."""
        found = read_printed(text, self.comma)
        open_ = self.either or (not count and self._of_values is None)
        if open_ and not (self.comma or self.point) and re.fullmatch(r"[+-]?\d{1,3},\d{3}", text):
            raise OutputError(
                f"{self.place}: {where} is {text!r}, a decimal comma or one of thousands; write it with a point, or "
                "without a sign for thousands"
            )
        if found is not None and found.above:
            raise OutputError(
                f"{self.place}: {where} is {text[:40]!r}, so much or more; write * for it, or the number alone"
            )
        if found is None and not is_withheld(text) and not is_undefined(text):
            raise OutputError(
                f"{self.place}: {where} is {text[:40]!r}, which is not a number; a withheld one is *, c or <10"
            )
        return found

    def count(self, text: str, where: str) -> Printed | None:
        """A number of people; OutputError for what cannot be one, such as 1.234 or 12 %."""
        found = self.number(text, where, True)
        if found and (found.percent or found.value != int(found.value) or found.value < 0 or found.decimals > 2):
            raise OutputError(
                f"{self.place}: {where} is {text[:40]!r}, which is no number of people; write it without a sign for "
                "thousands, and say of percentages that they are ('%')"
            )
        return found

    def size(self, group: str) -> int | None:
        """How many people a column is of, to the person; None where that is not told."""
        number = self.sizes.get(group)
        return None if number is None or number.below or self.entry.protection.round_to else int(number.value)

    def people(self, name: str, of_all: bool) -> str | None:
        """The people that the columns of the groups, or that of all, are of; None, with a note, where that is not
        known.
        """
        sizes = [self.size(group) for group in self.groups]
        everybody = self.size(TOTAL)
        if not (of_all and self.within and self.groups) or everybody == sum(each or 0 for each in sizes):
            return self.within
        if everybody is not None and None not in sizes:
            return ""  # more than those in the groups
        self.notes.append(
            f"{name}: whether people in no group are among all is not told; the column of all is left out"
        )
        return None

    def one_of(self, name: str, levels: Sequence[str]) -> str:
        """The condition that a variable has one of some levels; '' where it must have."""
        variable = self.codebook[name]
        values = [value for value, label in zip(variable.values, variable.labels, strict=False) if label in levels]
        if MISSING in levels and variable.missing:
            raise OutputError(f"{self.place}: missing values of '{name}' beside some of its levels are not read")
        if len(values) == len(variable.values):
            return f"{quoted(name)}.notna()" if variable.missing else ""
        return f"{quoted(name)} in {values!r}"

    def split(self, row: Row, statistics: Sequence[str]) -> dict[str, dict[str, str]]:
        """The texts of a row's cells by statistic and group."""
        texts: dict[str, dict[str, str]] = {}
        statistics = self._counts_or_shares(row) if tuple(statistics) == PERCENT else statistics
        for group, cell in row.cells.items():
            if not cell:
                continue
            names, parts = tuple(statistics), parts_of(cell, len(statistics), self.comma)
            if is_withheld(cell) or is_undefined(cell):
                parts = parts * len(names)
            elif len(parts) == 1 and names in (("count", "share"), ("share", "count")):
                names = ("share",) if cell.endswith("%") else ("count",)
            elif len(parts) == 2 and names == ("count", "of", "share") and _RATIO.fullmatch(cell):
                names = ("count", "of")
            elif names == ("count", "share") and len(parts) == 2 and parts[0].endswith("%"):
                names = ("share", "count")
            elif len(parts) == 1 and names[0] == "median":
                names = ("median",)
            elif names == ("other mean",):  # which is refused
                parts = parts[:1]
            elif len(parts) > 1 and (names == ("mean",) or (len(parts) == 2 and names[0] == "median")):
                names, parts = names[:1], parts[:1]
                self.notes.append(f"{row.called!r}: what stands behind the {names[0]} is no output and is left out")
            if names == ("mean",) and len(parts) == 1 and cell.startswith("("):
                raise OutputError(
                    f"{self.place}: the mean of {row.called!r} under {group!r} is {cell[:40]!r}, which may be "
                    "negative, as in accounts, or a number with a remark; write it with a minus, or without brackets"
                )
            if len(parts) != len(names):
                raise OutputError(
                    f"{self.place}: the cell of {row.called!r} under {group!r} is {cell[:40]!r}, where "
                    f"{', '.join(names)} should stand; write them as in 'mean (sd)', 'median (q1, q3)', 'n (%)'"
                )
            for name, part in zip(names, parts, strict=True):
                texts.setdefault(name, {})[group] = part
        return texts

    def _counts_or_shares(self, row: Row) -> tuple[str, ...]:
        """What a row has that is only said to be of `%`: counts and percentages, or these alone."""
        cells = [cell for cell in row.cells.values() if cell and not is_withheld(cell)]
        alone = cells and all(len(parts_of(cell, 2, self.comma)) == 1 and not _is_below(cell) for cell in cells)
        return ("share",) if alone else ("count", "share")


def _is_below(cell: str) -> bool:
    return cell.startswith("<") and "%" not in cell


def parts_of(cell: str, wanted: int, comma: bool) -> list[str]:
    """The numbers of a cell: `12 (3.4%)`, `1.2 ± 0.3`, `6.0 [2.5, 13.0]`, `0.5 - 23.0`, `12/98 (12%)`.

    comma: a comma between two digits is that of a decimal.
    """
    if found := _BRACKETS.fullmatch(cell):
        outer, inner = found.groups()
        first = _pair(outer, wanted > 2, comma) if outer else []
        return [*first, *(_pair(inner, wanted > 2, comma or not outer, bool(outer)) if inner else [])] or [cell]
    if found := _PLUS_MINUS.fullmatch(cell):
        return list(found.groups())
    return _pair(cell, wanted > 1, comma)


def _pair(text: str, wanted: bool, comma: bool, within: bool = False) -> list[str]:
    """Both numbers of a text, where there are two. `within`: brackets hold it, so that `122,132` is no thousands."""
    if found := _RATIO.fullmatch(text):
        return list(found.groups())
    if not wanted:
        return [text]
    if ends := ends_of(text):
        return list(ends)
    if text.count(",") == 1 and all(is_undefined(side) for side in text.split(",")):
        return [side.strip() for side in text.split(",")]
    if _THOUSANDS.fullmatch(text) and ("." in text or not within):
        return [text]
    if text.count(";") == 1 and all(read_printed(side, comma) for side in text.split(";")):
        return [side.strip() for side in text.split(";")]
    sides = text.split(",")
    two = len(sides) == 2 and all(map(read_printed, sides)) and not comma
    return [side.strip() for side in sides] if two and (within or re.search(r"[.%]", text)) else [text]


def by_group(texts: Mapping[str, str], groups: Sequence[str]) -> dict[str, str]:
    """Those of some groups."""
    return {group: texts[group] for group in groups if group in texts}
