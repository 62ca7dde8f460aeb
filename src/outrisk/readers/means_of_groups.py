"""Means of groups that a test prints beside its numbers, as a table of means."""

from __future__ import annotations

from collections.abc import Mapping

from outrisk.codebook import Codebook
from outrisk.outputs.smooth.hypothesis_test import HypothesisTestEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.readers.printed_number import as_given, read_printed
from outrisk.readers.term_names import levels_of

Described = Mapping[str, Mapping[str, str]]  # of each group as it is called, texts by statistic: count, mean, sd


def means_of_groups(described: Described, entry: HypothesisTestEntry, codebook: Codebook) -> MagnitudesEntry | None:
    """The table; None where there is none, or its groups are no levels of one variable."""
    if len(entry.by) != 1 or entry.by[0] not in codebook or not described:
        return None
    levels = {group: levels_of(codebook[entry.by[0]], group) for group in described}
    read = {
        (level[0], each): number
        for group, level in levels.items()
        for each, text in described[group].items()
        if len(level) == 1 and (number := read_printed(text)) is not None
    }
    statistics = [each for each in ("count", "mean", "sd") if any(each == of for _, of in read)]
    if len(read) != len(statistics) * len(described):
        return None
    digits = {each: max(0, *(number.decimals for (_, of), number in read.items() if of == each)) for each in statistics}
    digits.pop("count", None)
    table = MagnitudesEntry.model_validate(
        {
            "kind": "magnitudes",
            "name": f"means beside {entry.name}" if entry.name else "",
            "value": entry.variable,
            "by": entry.by,
            "statistics": statistics,
            "decimals": digits,
            "where": entry.where,
            "importance": entry.importance,
        }
    )
    (output,) = table.build(codebook, 1)
    values: dict[str, float | str] = {}
    for label in output.labels:
        ends = {each: ": count" if each == "count" else f": {each} of {entry.variable}" for each in statistics}
        each = next(each for each in statistics if label.endswith(ends[each]))
        level = label.removesuffix(ends[each]).removeprefix(f"{entry.by[0]}=")
        number = read.get((level, each))
        nobody: float | str = 0.0 if each == "count" else "undefined"
        values[label] = nobody if number is None else as_given(number, digits.get(each, 0), own=True)
    return table.model_copy(update={"values": values})
