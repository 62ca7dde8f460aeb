"""Cross tables in files, wide or long, as entries of a study: levels, margins, withheld cells, printed digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.frequencies import FrequenciesEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.outputs.tables.mode import ModeEntry
from outrisk.outputs.tables.quantiles import QuantilesEntry
from outrisk.readers.arranged_cells import CLOSE, Arranged, Key, absent, arrange, given_count, number_of, within, words
from outrisk.readers.counts_with_shares import without_shares
from outrisk.readers.cross_statistics import magnitudes, modes, quantiles
from outrisk.readers.printed_number import Printed, decimals_of, with_their_digits
from outrisk.readers.remarks import remark
from outrisk.readers.source import Source
from outrisk.readers.spss_tables import plain_table
from outrisk.readers.table_layout import lay_out
from outrisk.readers.tidied_grid import cells_of, tidied


def entries_of_cross_table(
    source: Source, entry: Entry, codebook: Codebook, place: str, number: int | None = None
) -> list[Entry]:
    """The entry with the numbers of the table's cells; then its margins, where they are tables of their own.

    `number`: which table of an output of several, from 1. What is left out is told to the log.
    """
    makers: dict[type[Entry], Callable[..., tuple[list[Entry], tuple[str, ...]]]] = {
        FrequenciesEntry: counts,
        MagnitudesEntry: magnitudes,
        QuantilesEntry: quantiles,
        ModeEntry: modes,
    }
    maker = next((each for kind, each in makers.items() if isinstance(entry, kind)), None)
    if maker is None:
        raise OutputError(f"{place}: a table of kind {entry.kind} is not read from cells; give label and value")
    if getattr(entry, "ways", None) is not None or bool(getattr(entry, "weight", None)):
        raise OutputError(f"{place}: one file holds one table without weights; leave 'ways' and 'weight' out")
    by, show = tuple(getattr(entry, "by", ())), str(getattr(entry, "show", ""))
    called = {codebook[name].label: name for name in by if name in codebook and codebook[name].label}
    grid, number = cells_of(source, number, place)
    grid = without_shares(grid) if show == "counts" else grid
    value = entry.value if isinstance(entry, MagnitudesEntry) else ""
    grid = tidied(plain_table(grid, by, show, number, place, called), by, show == "counts", value, codebook, place)
    table = lay_out(grid, [*codebook.names, *called], None, place)
    of_people = ("", "count") if show == "counts" else ("count",)
    arranged = arrange(table, by, codebook, source.signs, place, of_people, _spread(entry, codebook))
    found, notes = maker(arranged, entry, codebook, place)
    left = f"columns {', '.join(table.left)} are left out: they are no statistics of such a table"
    for note in (
        *notes,
        *([left] if table.left else []),
        *absent(arranged, str(getattr(entry, "where", "")), codebook),
    ):
        remark(place, note)
    return found


def _spread(entry: Entry, codebook: Codebook) -> tuple[float, float] | None:
    """From where to where means or quantiles of an entry lie; None for other statistics."""
    means = isinstance(entry, MagnitudesEntry) and "mean" in entry.statistics
    if not (means or isinstance(entry, QuantilesEntry)) or (name := str(getattr(entry, "value", ""))) not in codebook:
        return None
    values = [float(each) for each in codebook[name].values] if codebook[name].numeric else []
    return (min(values), max(values)) if values else None


def _may_be_percentages(numbers: Mapping[Key, Printed | None]) -> bool:
    """Whether counts add up to 99 to 101 over the levels of one variable, for two or more levels of the others."""
    cells = {key: number.value for key, number in numbers.items() if number is not None and TOTAL not in key}
    for axis in range(min(map(len, cells), default=0)):
        sums = dict[Key, list[float]]()
        for key, value in cells.items():
            sums.setdefault((*key[:axis], *key[axis + 1 :]), []).append(value)
        if len(sums) > 1 and all(len(each) > 1 and 99 <= sum(each) <= 101 for each in sums.values()):
            return True
    return False


def counts(
    arranged: Arranged, entry: FrequenciesEntry, codebook: Codebook, place: str
) -> tuple[list[Entry], tuple[str, ...]]:
    """The entry with the counts or shares of a table, its margins, and notes on what was left out."""
    texts = dict(arranged.texts.get("", arranged.texts.get("count", {})))
    shares = entry.show != "counts"
    numbers = {
        key: number_of(text, arranged, words(arranged.by, key), place, not shares) for key, text in texts.items()
    }
    numbers = numbers if shares else with_their_digits(numbers, texts)
    if not shares and _may_be_percentages(numbers):
        remark(
            place,
            "its counts add up to about 100 over and over; if they are percentages, say show: row_percentages or "
            "column_percentages",
        )
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
        changes["decimals"] = max(0, digits - {100.0: 2, 0.01: -2}.get(scale, 0))
    below = {number.threshold for number in numbers.values() if number is not None and number.below and not shares}
    if below and "protection" not in entry.model_fields_set:
        changes["protection"] = {"threshold": max(below)} if max(below) > 1 else {}
    patterns = {tuple(level == TOTAL for level in key) for key in margins}
    changes["margins"] = len(patterns) == 2 ** len(arranged.by) - 1 if not shares else bool(patterns)
    changed = type(entry).model_validate({**entry.model_dump(), **changes, "values": None})
    (output,) = changed.build(codebook, 1)
    labels = output.sheet.labels
    keys = {words(arranged.by, key): key for key in numbers}
    base = changed.protection.round_to
    values = {
        label: given_count(numbers.get(keys.get(label, ())), label in keys, int(output.decimals[at]), scale, base)
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
    if entry.show == "proportions" and known and all(number.percent for number in known):
        return 0.01
    fractions = all(0 <= number.value <= 1 and not number.percent for number in known)
    return 100.0 if percent and fractions and any(number.decimals > 0 for number in known) else 1.0


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
        inside = [each for cell, each in cells.items() if within(cell, key)]
        total = sum(each.value for each in inside if each is not None and not each.below)
        gaps = sum(each is None or each.below for each in inside)
        if number is None:
            kept.add(key)
        elif abs(number.value - total) <= CLOSE:
            of_printed += bool(gaps) or rounded
            kept.add(key)
        else:
            kept.add(key)
            if not gaps and not rounded:
                wrong = wrong or f"{words(arranged.by, key)} is {number.value:g}, its cells add up to {total:g}"
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
            inside = [each for cell, each in cells.items() if within(cell, key)]
            total = sum(each.value for each in inside if each is not None and not each.below)
            if abs(number.value - total) > CLOSE:
                return False
    return True


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
        keys = {words(names, key): key for key in parts}
        values = {
            label: given_count(parts.get(keys.get(label, ())), label in keys, 0, 1.0, base)
            for label in output.sheet.labels
        }
        found.append(made.model_copy(update={"values": values}))
    return found
