"""Tables of statistics (means, sums, quantiles, modes, rates) in files, as entries of a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.outputs.tables.mode import ModeEntry
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.protection import Protection
from outrisk.outputs.tables.quantiles import QuantilesEntry
from outrisk.outputs.tables.rates import RatesEntry
from outrisk.readers.arranged_cells import CLOSE, Arranged, Key, given_count, number_of, within, words
from outrisk.readers.printed_number import as_given, decimals_of, is_undefined, read_printed
from outrisk.readers.remarks import OF_QUANTILES

_MOST_DIGITS = 12
_OF_NOBODY = ("sum", "count", "numerator", "denominator")  # which are 0 in a cell of nobody
COUNTS = ("count", "numerator")  # of people
_OF_MEANS = ("mean", "sd", "sum", "count", "standard error")
_QUANTILES = {0.5: "median", 0.0: "min", 1.0: "max"}


def _with_threshold(entry: Any, texts: Mapping[str, Mapping[Key, str]], arranged: Arranged) -> Any:
    """The entry with the threshold that cells such as `<10` tell, if it says no protection."""
    marks = [read_printed(text, arranged.comma) for each in texts.values() for text in each.values()]
    below = max((mark.threshold for mark in marks if mark is not None and mark.below), default=0)
    if below < 2 or "protection" in entry.model_fields_set:
        return entry
    return entry.model_copy(update={"protection": Protection(threshold=below)})


def _no_percentages(texts: Mapping[str, Mapping[Key, str]], arranged: Arranged, place: str) -> None:
    """OutputError for a percentage among numbers of a variable, whose unit it does not say."""
    for each in texts.values():
        for key, text in each.items():
            number = read_printed(text, arranged.comma)
            if number is not None and number.percent:
                raise OutputError(
                    f"{place}: the value of {words(arranged.by, key)} is {text[:40]!r}; write it in the "
                    "variable's unit, as in 0.254 or 25.4"
                )


def _add_up(texts: Mapping[str, Mapping[Key, str]], pattern: Sequence[bool], arranged: Arranged) -> bool:
    """Whether the totals of a pattern are the sums of the cells as they are printed."""
    for each in texts.values():
        numbers = {key: read_printed(text, arranged.comma) for key, text in each.items()}
        for key, total in numbers.items():
            if tuple(level == TOTAL for level in key) == tuple(pattern) and total is not None:
                inside = [cell for cell in numbers if TOTAL not in cell and within(cell, key)]
                printed = sum(found.value for cell in inside if (found := numbers[cell]) is not None)
                if abs(total.value - printed) > CLOSE:
                    return False
    return True


def _blank(text: str | None, statistic: str, protected: bool) -> str | float:
    """What a cell without a number says: withheld, or of nobody."""
    if text is not None and (protected or (text.strip() and not is_undefined(text))):
        return "withheld"
    return 0.0 if statistic in _OF_NOBODY else "undefined"


def decimals_shown(texts: Mapping[Key, str], arranged: Arranged, place: str, count: bool = False) -> int:
    """Digits after the point of a column, all of them where numbers show their own; OutputError for a cell that is no
    number, or, of a `count`, no number of people.
    """
    numbers = [number_of(text, arranged, words(arranged.by, key), place, count) for key, text in texts.items()]
    shown = [number.decimals for number in numbers if number is not None and not number.below]
    return decimals_of(numbers, min(_MOST_DIGITS, max(shown, default=0))) if arranged.own else decimals_of(numbers)


def _digits(entry: Entry, digits: Mapping[str, int]) -> int | dict[str, int]:
    """The `decimals` of an entry whose statistics show so many digits."""
    if isinstance(entry, MagnitudesEntry | RatesEntry):
        ends = [digits[end] for end in ENDS if end in digits]
        return {str(each): max(ends) if each == "limits" else digits[str(each)] for each in entry.statistics}
    return max(digits.values())


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
    if isinstance(entry, MagnitudesEntry | QuantilesEntry):
        _no_percentages(texts, arranged, place)
    entry = _with_threshold(entry, texts, arranged)
    protected = entry.protection.threshold is not None
    keys = {key for each in texts.values() for key in each}
    patterns = sorted({tuple(level == TOTAL for level in key) for key in keys})
    notes: list[str] = []
    found: list[Entry] = []
    digits = {name: decimals_shown(each, arranged, place, name in COUNTS) for name, each in texts.items()}
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
            changes["decimals"] = _digits(entry, digits)
        made = type(entry).model_validate({**entry.model_dump(), **changes})
        (output,) = made.build(codebook, 1)
        values: dict[str, float | str] = {}
        by_cell = {words(names, key) if names else "all": key for key in {k for each in part.values() for k in each}}
        for cell in output.cells.labels:
            key = by_cell.get(cell)
            for name in statistics:
                text = None if key is None else part[name].get(key)
                number = None if text is None else number_of(text, arranged, cell, place)
                where = label(cell, name)
                at = output.labels.index(where)
                values[where] = (
                    _blank(text, name, protected)
                    if number is None or number.below
                    else given_count(number, True, 0, 1.0, entry.protection.round_to)
                    if name == "count"
                    else as_given(number, int(output.decimals[at]), own=arranged.own)
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


def magnitudes(
    arranged: Arranged, entry: MagnitudesEntry, codebook: Codebook, place: str
) -> tuple[list[Entry], tuple[str, ...]]:
    """The entry with the statistics of a table, those of its margins, and notes on what was left out. Where the entry
    names none, those that the table has.
    """
    there = [name for name in arranged.texts if name]
    if "statistics" not in entry.model_fields_set and "mean" in there:
        limits = ["limits"] if {*ENDS} <= set(there) else []
        named = [each for each in _OF_MEANS if each in there]
        entry = entry.model_copy(update={"statistics": (*named, *limits)})
    shown = _shown(entry)
    found, notes = _of_statistics(
        arranged,
        entry,
        codebook,
        {name: name for name in shown},
        lambda cell, name: f"{cell}: {name}" if name == "count" else f"{cell}: {name} of {entry.value}",
        place,
    )
    gone = [name for name in there if name not in shown]
    more = (f"columns of {', '.join(gone)} are none of its statistics and are left out",) if gone else ()
    return found, (*notes, *more)


def quantiles(
    arranged: Arranged, entry: QuantilesEntry, codebook: Codebook, place: str
) -> tuple[list[Entry], tuple[str, ...]]:
    """The entry with the quantiles of a table, those of its margins, and notes on what was left out."""
    names = {_QUANTILES.get(each, f"quantile {each:g}"): "" for each in entry.quantiles}
    made, notes = _of_statistics(
        arranged, entry, codebook, names, lambda cell, name: f"{cell}: {name} of {entry.value}", place
    )
    unsaid = "program" not in entry.model_fields_set and set(entry.quantiles) - set(_QUANTILES)
    return made, (*notes, *([OF_QUANTILES] if unsaid else []))


def modes(arranged: Arranged, entry: ModeEntry, codebook: Codebook, place: str) -> tuple[list[Entry], tuple[str, ...]]:
    """The entry with the modes of a table, those of its margins, and notes on what was left out."""
    return _of_statistics(
        arranged, entry, codebook, {"mode": ""}, lambda cell, name: f"{cell}: mode of {entry.variable}", place
    )


def rates(arranged: Arranged, entry: RatesEntry, codebook: Codebook, place: str) -> tuple[list[Entry], tuple[str, ...]]:
    """The entry with the rates of a table, those of its margins, and notes on what was left out."""
    return _of_statistics(
        arranged, entry, codebook, {name: name for name in _shown(entry)}, lambda cell, name: f"{cell}: {name}", place
    )


def _shown(entry: MagnitudesEntry | RatesEntry) -> list[str]:
    """The numbers of a cell."""
    return [name for each in entry.statistics for name in (ENDS if each == "limits" else (str(each),))]
