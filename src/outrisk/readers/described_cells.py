"""Cells that a program has printed of statistics or counts, as the entries of a study that they are the numbers of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from outrisk.codebook import Codebook
from outrisk.outputs.base import Entry
from outrisk.outputs.smooth.shape import ShapeEntry
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.frequencies import FrequenciesEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.outputs.tables.quantiles import QuantilesEntry
from outrisk.readers.arranged_cells import absent, arrange, of_all
from outrisk.readers.cross_statistics import magnitudes, quantiles
from outrisk.readers.cross_table import counts
from outrisk.readers.decimal_signs import Signs
from outrisk.readers.remarks import remark
from outrisk.readers.shape_table import entries_of_numbers
from outrisk.readers.stata_choice import OF_SHAPE, DescribedEntry, percent_of
from outrisk.readers.stata_rows import Levels
from outrisk.readers.table_layout import Cell, CellTable

_PEOPLE = ("", "count")


def entries_of_cells(
    printed: Mapping[str, Mapping[Levels, str]],
    axes: Sequence[str],
    entry: DescribedEntry,
    level: Callable[[str, str], str],
    codebook: Codebook,
    place: str,
    left: Sequence[str],
) -> list[Entry]:
    """The entry with the texts of cells by statistic and levels, then its totals.

    axes: variables of the table, '' for one that it does not name. level: a level as the codebook has it, from the name
    of its variable and what is printed. What is `left` out, in words, has a line. OutputError where it does not fit.
    """
    by = tuple(name or said for name, said in zip(axes, entry.by, strict=True)) if entry.by else ()

    def level_of(name: str, text: str) -> str:
        if text == "Total":
            return TOTAL if "Total" not in codebook[name].labels else text
        return level(name, text)

    cells = [
        Cell(
            tuple(level_of(name, each) for name, each in zip(by, levels, strict=True)),
            _called(statistic) if isinstance(entry, QuantilesEntry) else statistic,
            text,
        )
        for statistic, of in printed.items()
        for levels, text in of.items()
    ]
    table = CellTable(by, tuple(cells))
    if entry.by:
        arranged = arrange(table, entry.by, codebook, Signs(), place, _PEOPLE)
    else:
        arranged = of_all(table, Signs(), place, _PEOPLE)
    arranged = replace(arranged, own=True)
    if isinstance(entry, ShapeEntry):
        some = {name: texts for name, texts in arranged.texts.items() if name in (*OF_SHAPE, "count")}
        return entries_of_numbers(replace(arranged, texts=some), dict.fromkeys(some, ""), entry, codebook, place)
    if isinstance(entry, FrequenciesEntry):
        made, notes = counts(arranged, entry, codebook, place)
    elif isinstance(entry, MagnitudesEntry):
        made, notes = magnitudes(arranged, entry, codebook, place)
    else:
        made, notes = quantiles(arranged, entry, codebook, place)
    for note in (*notes, *left, *absent(arranged, entry.where, codebook)):
        remark(place, note)
    return made


def _called(statistic: str) -> str:
    percent = percent_of(statistic)
    return statistic if percent is None else f"quantile {percent / 100.0:g}"
