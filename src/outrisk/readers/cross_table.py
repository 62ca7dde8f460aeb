"""Cross tables in files, wide or long, as entries of a study: levels, margins, withheld cells, printed digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from outrisk.codebook import MISSING, Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.frequencies import FrequenciesEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.outputs.tables.mode import ModeEntry
from outrisk.outputs.tables.protection import Protection
from outrisk.outputs.tables.quantiles import QuantilesEntry
from outrisk.readers.printed_number import Printed, as_given, decimals_of, is_undefined, is_withheld, read_printed
from outrisk.readers.source import MARGINS, Source
from outrisk.readers.spss_tables import plain_table
from outrisk.readers.table_layout import Cell, CellTable, lay_out
from outrisk.readers.term_names import levels_of

_QUANTILES = {0.5: "median", 0.0: "min", 1.0: "max"}
_CLOSE = 0.6  # of a last digit, by which a printed total may miss the sum of printed cells, a cell

Key = tuple[str, ...]  # a level an axis, TOTAL for a margin


@dataclass(frozen=True)
class Arranged:
    """Texts of a table by statistic and levels, in the order of `by`; notes: what was left out, and why."""

    by: tuple[str, ...]
    texts: Mapping[str, Mapping[Key, str]]
    comma: bool
    notes: tuple[str, ...] = ()


def entries_of_cross_table(
    source: Source, entry: Entry, codebook: Codebook, place: str, number: int | None = None
) -> list[Entry]:
    """The entry with the numbers of the table's cells; then its margins, where they are tables of their own.

    `number`: which table of an output of several, from 1.
    """
    return read_cross_table(source, entry, codebook, place, number)[0]


def read_cross_table(
    source: Source, entry: Entry, codebook: Codebook, place: str, number: int | None = None
) -> tuple[list[Entry], tuple[str, ...]]:
    """As `entries_of_cross_table`, with notes on what was left out."""
    makers: dict[type[Entry], Callable[..., tuple[list[Entry], tuple[str, ...]]]] = {
        FrequenciesEntry: _counts,
        MagnitudesEntry: _magnitudes,
        QuantilesEntry: _quantiles,
        ModeEntry: _modes,
    }
    maker = next((each for kind, each in makers.items() if isinstance(entry, kind)), None)
    if maker is None:
        raise OutputError(f"{place}: a table of kind {entry.kind} is not read from cells; give label and value")
    if getattr(entry, "ways", None) is not None or bool(getattr(entry, "weight", None)):
        raise OutputError(f"{place}: one file holds one table without weights; leave 'ways' and 'weight' out")
    by, show = tuple(getattr(entry, "by", ())), str(getattr(entry, "show", ""))
    called = {codebook[name].label: name for name in by if name in codebook and codebook[name].label}
    grid = plain_table(source.grid, by, show, number, place, called)
    table = lay_out(grid, codebook.names, None, place)
    arranged = arrange(table, by, codebook, source.comma, place)
    return maker(arranged, entry, codebook, place)


# ---------------------------------------------------------------- axes and levels


def arrange(table: CellTable, by: Sequence[str], codebook: Codebook, comma: bool, place: str) -> Arranged:
    """The cells by the levels of variables; OutputError where the table's axes or levels are not the codebook's."""
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
    order = _order(table, by, codebook, place)
    texts: dict[str, dict[Key, str]] = {}
    for cell in table.cells:
        key = tuple(_level(cell, at, name, codebook, place) for at, name in zip(order, by, strict=True))
        found = texts.setdefault(cell.statistic, {})
        if key in found:
            raise OutputError(f"{place}: {_words(by, key)} stands there twice; keep one")
        found[key] = cell.text
    return Arranged(tuple(by), texts, comma)


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
    if len(fitting) > 1:
        named = [order for order in fitting if order == list(range(len(by)))]
        return named[0] if named else fitting[0]
    return fitting[0]


def _fits(levels: set[str], name: str, codebook: Codebook) -> bool:
    known = sum(bool(levels_of(codebook[name], level)) or _is_missing(level) for level in levels)
    return known >= max(1, len(levels) - 1)


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
        "All, Total or Sum)"
    )


def _words(by: Sequence[str], key: Key) -> str:
    return ", ".join(f"{name}={level}" for name, level in zip(by, key, strict=True)) or "the cell"


# ---------------------------------------------------------------- numbers


def _number(text: str, arranged: Arranged, where: str, place: str) -> Printed | None:
    """The number of a cell; None for one without; OutputError for what is neither."""
    found = read_printed(text, arranged.comma)
    if found is None and not is_withheld(text) and not is_undefined(text):
        raise OutputError(
            f"{place}: the value of {where} is {text[:40]!r}, which is not a number; a withheld cell is empty, * or <10"
        )
    return found


def _counts(
    arranged: Arranged, entry: FrequenciesEntry, codebook: Codebook, place: str
) -> tuple[list[Entry], tuple[str, ...]]:
    texts = dict(arranged.texts.get("", arranged.texts.get("count", {})))
    numbers = {key: _number(text, arranged, _words(arranged.by, key), place) for key, text in texts.items()}
    shares = entry.show != "counts"
    margins = {key for key in texts if TOTAL in key}
    notes: list[str] = []
    if margins and not shares:
        kept, notes = _true_margins(numbers, arranged, entry, place)
        numbers = {key: number for key, number in numbers.items() if key not in margins or key in kept}
        margins = kept
    changes: dict[str, Any] = {"by": list(arranged.by)}
    scale = _scale(entry, numbers)
    if shares and "decimals" not in entry.model_fields_set:
        digits = decimals_of(number for number in numbers.values())
        changes["decimals"] = max(0, digits - (2 if scale == 100 else 0))
    below = {int(number.value) for number in numbers.values() if number is not None and number.below and not shares}
    if below and "protection" not in entry.model_fields_set:
        changes["protection"] = {"threshold": max(below)} if max(below) > 1 else {}
    patterns = {tuple(level == TOTAL for level in key) for key in margins}
    changes["margins"] = len(patterns) == 2 ** len(arranged.by) - 1 if not shares else bool(patterns)
    changed = type(entry).model_validate({**entry.model_dump(), **changes, "values": None})
    (output,) = changed.build(codebook, 1)
    labels = output.sheet.labels
    keys = {_words(arranged.by, key): key for key in numbers}
    base = changed.protection.round_to
    values = {
        label: _count(numbers.get(keys.get(label, ())), label in keys, int(output.decimals[at]), scale, base)
        for at, label in enumerate(labels)
    }
    found: list[Entry] = [changed.model_copy(update={"values": values})]
    if not changed.margins and margins and not shares:
        found += _one_sided(changed, numbers, margins, arranged, codebook)
    return found, tuple(notes)


def _scale(entry: FrequenciesEntry, numbers: Mapping[Key, Printed | None]) -> float:
    """100 where shares are printed and percentages are meant."""
    known = [number for number in numbers.values() if number is not None]
    percent = entry.show in ("row_percentages", "column_percentages")
    fractions = all(0 <= number.value <= 1 and not number.percent for number in known)
    return 100.0 if percent and fractions and any(number.decimals > 0 for number in known) else 1.0


def _count(number: Printed | None, there: bool, decimals: int, scale: float, base: int | None) -> float | str:
    if number is None:
        return "withheld" if there else 0.0
    if number.below:
        return "withheld"
    if scale != 1.0:
        return float(f"{number.value * scale:.{decimals}f}")
    if base and base % 2 == 0:  # a half may have gone up or down
        return f"{max(0.0, number.value - base / 2):g} to {number.value + base / 2:g}"
    return as_given(number, decimals)


def _true_margins(
    numbers: Mapping[Key, Printed | None], arranged: Arranged, entry: FrequenciesEntry, place: str
) -> tuple[set[Key], list[str]]:
    """Margins that say something beyond the printed cells.

    Where cells are withheld or rounded, totals of what is printed are no margins of the records: they are left out,
    with a note. OutputError for a total that is not the sum of its cells where nothing is withheld or rounded.
    """
    cells = {key: number for key, number in numbers.items() if TOTAL not in key}
    hidden = any(number is None or number.below for number in cells.values())
    rounded = entry.protection.round_to is not None
    kept, of_printed, wrong = set[Key](), 0, ""
    for key in (key for key in numbers if TOTAL in key):
        number = numbers[key]
        inside = [each for cell, each in cells.items() if _within(cell, key)]
        total = sum(each.value for each in inside if each is not None and not each.below)
        gaps = sum(each is None or each.below for each in inside)
        if number is None:
            kept.add(key)
        elif abs(number.value - total) <= _CLOSE:
            of_printed += bool(gaps) or rounded
            kept.add(key)
        else:
            kept.add(key)
            if not gaps and not rounded:
                wrong = wrong or f"{_words(arranged.by, key)} is {number.value:g}, its cells add up to {total:g}"
    n = len(kept)
    if wrong:
        raise OutputError(f"{place}: {wrong}; correct it, or leave the margin out")
    if (hidden or rounded) and of_printed and _all_additive(numbers, cells, rounded):
        return set(), [f"{n} totals are of the printed cells alone and say nothing more; they are left out"]
    return kept, []


def _all_additive(numbers: Mapping[Key, Printed | None], cells: Mapping[Key, Printed | None], rounded: bool) -> bool:
    """Whether every total is that of the printed cells."""
    for key, number in numbers.items():
        if TOTAL in key and number is not None:
            inside = [each for cell, each in cells.items() if _within(cell, key)]
            total = sum(each.value for each in inside if each is not None and not each.below)
            if abs(number.value - total) > _CLOSE:
                return False
    return True


def _within(cell: Key, margin: Key) -> bool:
    return all(there in (TOTAL, level) for level, there in zip(cell, margin, strict=True))


def _one_sided(
    entry: FrequenciesEntry,
    numbers: Mapping[Key, Printed | None],
    margins: set[Key],
    arranged: Arranged,
    codebook: Codebook,
) -> list[Entry]:
    """Margins of some axes alone, as tables of their own."""
    found: list[Entry] = []
    for pattern in sorted({tuple(level == TOTAL for level in key) for key in margins}):
        names = [name for name, total in zip(arranged.by, pattern, strict=True) if not total]
        if not names:
            continue
        parts = {
            tuple(level for level in key if level != TOTAL): numbers[key]
            for key in margins
            if tuple(level == TOTAL for level in key) == pattern
        }
        base = entry.protection.round_to
        (first,) = entry.build(codebook, 1)
        made = entry.model_copy(update={"by": tuple(names), "name": f"{first.name}: totals by {', '.join(names)}"})
        (output,) = made.build(codebook, 1)
        keys = {_words(names, key): key for key in parts}
        values = {
            label: _count(parts.get(keys.get(label, ())), label in keys, 0, 1.0, base) for label in output.sheet.labels
        }
        found.append(made.model_copy(update={"values": values}))
    return found


# ---------------------------------------------------------------- statistics of a variable


def _with_threshold(entry: Any, texts: Mapping[str, Mapping[Key, str]], arranged: Arranged) -> Any:
    """The entry with the threshold that cells such as `<10` tell, if it says no protection."""
    marks = [read_printed(text, arranged.comma) for each in texts.values() for text in each.values()]
    below = max((int(mark.value) for mark in marks if mark is not None and mark.below), default=0)
    if below < 2 or "protection" in entry.model_fields_set:
        return entry
    return entry.model_copy(update={"protection": Protection(threshold=below)})


def _add_up(texts: Mapping[str, Mapping[Key, str]], pattern: Sequence[bool], arranged: Arranged) -> bool:
    """Whether the totals of a pattern are the sums of the cells as they are printed."""
    for each in texts.values():
        numbers = {key: read_printed(text, arranged.comma) for key, text in each.items()}
        for key, total in numbers.items():
            if tuple(level == TOTAL for level in key) == tuple(pattern) and total is not None:
                inside = [cell for cell in numbers if TOTAL not in cell and _within(cell, key)]
                printed = sum(found.value for cell in inside if (found := numbers[cell]) is not None)
                if abs(total.value - printed) > _CLOSE:
                    return False
    return True


def _blank(text: str | None, statistic: str, protected: bool) -> str | float:
    """What a cell without a number says: withheld, or of nobody."""
    if text is not None and (protected or (text.strip() and not is_undefined(text))):
        return "withheld"
    return 0.0 if statistic in ("sum", "count") else "undefined"


def _of_statistics(
    arranged: Arranged,
    entry: Any,
    codebook: Codebook,
    statistics: Mapping[str, str],
    label: Callable[[str, str], str],
    place: str,
) -> tuple[list[Entry], tuple[str, ...]]:
    """An entry for the cells and one for each margin, of statistics by name in the file -> decimals changes inside."""
    texts = {name: _texts(arranged, statistics, name, place) for name in statistics}
    entry = _with_threshold(entry, texts, arranged)
    protected = entry.protection.threshold is not None
    keys = {key for each in texts.values() for key in each}
    patterns = sorted({tuple(level == TOTAL for level in key) for key in keys})
    notes: list[str] = []
    found: list[Entry] = []
    digits = {
        name: decimals_of(_number(text, arranged, _words(arranged.by, key), place) for key, text in each.items())
        for name, each in texts.items()
    }
    (first,) = entry.model_copy(update={"values": None}).build(codebook, 1)
    for pattern in patterns:
        if any(pattern) and protected:
            notes.append("totals beside withheld cells are of the printed records alone; they are left out")
            continue
        if any(pattern) and entry.protection.round_to and _add_up(texts, pattern, arranged):
            notes.append("totals that add up rounded cells say nothing more; they are left out")
            continue
        names = [name for name, total in zip(arranged.by, pattern, strict=True) if not total]
        part = {
            name: {
                tuple(level for level in key if level != TOTAL): text
                for key, text in each.items()
                if tuple(level == TOTAL for level in key) == pattern
            }
            for name, each in texts.items()
        }
        changes: dict[str, Any] = {"by": names, "values": None}
        if any(pattern):
            changes["name"] = f"{first.name}: totals" + (f" by {', '.join(names)}" if names else "")
        if "decimals" in type(entry).model_fields and "decimals" not in entry.model_fields_set:
            changes["decimals"] = digits if isinstance(entry, MagnitudesEntry) else max(digits.values())
        made = type(entry).model_validate({**entry.model_dump(), **changes})
        (output,) = made.build(codebook, 1)
        values: dict[str, float | str] = {}
        by_cell = {_words(names, key) if names else "all": key for key in {k for each in part.values() for k in each}}
        for cell in output.cells.labels:
            key = by_cell.get(cell)
            for name in statistics:
                text = None if key is None else part[name].get(key)
                number = None if text is None else _number(text, arranged, cell, place)
                where = label(cell, name)
                at = output.labels.index(where)
                values[where] = (
                    _blank(text, name, protected)
                    if number is None or number.below
                    else _count(number, True, 0, 1.0, entry.protection.round_to)
                    if name == "count"
                    else as_given(number, int(output.decimals[at]))
                )
        found.append(made.model_copy(update={"values": values}))
    return found, tuple(dict.fromkeys(notes))


def _texts(arranged: Arranged, statistics: Mapping[str, str], name: str, place: str) -> Mapping[Key, str]:
    if name in arranged.texts:
        return arranged.texts[name]
    if len(statistics) == 1 and set(arranged.texts) == {""}:
        return arranged.texts[""]
    raise OutputError(
        f"{place}: the table has no {name}; it has {', '.join(each or 'one number' for each in arranged.texts)}"
    )


def _magnitudes(
    arranged: Arranged, entry: MagnitudesEntry, codebook: Codebook, place: str
) -> tuple[list[Entry], tuple[str, ...]]:
    statistics = {str(each): str(each) for each in entry.statistics}
    return _of_statistics(
        arranged,
        entry,
        codebook,
        statistics,
        lambda cell, name: f"{cell}: {name}" if name == "count" else f"{cell}: {name} of {entry.value}",
        place,
    )


def _quantiles(
    arranged: Arranged, entry: QuantilesEntry, codebook: Codebook, place: str
) -> tuple[list[Entry], tuple[str, ...]]:
    names = {_QUANTILES.get(each, f"quantile {each:g}"): "" for each in entry.quantiles}
    return _of_statistics(
        arranged, entry, codebook, names, lambda cell, name: f"{cell}: {name} of {entry.value}", place
    )


def _modes(arranged: Arranged, entry: ModeEntry, codebook: Codebook, place: str) -> tuple[list[Entry], tuple[str, ...]]:
    return _of_statistics(
        arranged, entry, codebook, {"mode": ""}, lambda cell, name: f"{cell}: mode of {entry.variable}", place
    )
