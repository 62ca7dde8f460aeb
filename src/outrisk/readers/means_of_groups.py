"""Means of groups that a test prints beside its numbers, as a table of means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from outrisk.codebook import Codebook, Variable
from outrisk.outputs.base import both
from outrisk.outputs.smooth.hypothesis_test import HypothesisTestEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.readers.printed_number import as_given, read_printed
from outrisk.readers.term_names import levels_of

Described = Mapping[str, Mapping[str, str]]  # of each group as it is called, texts by statistic: count, mean, sd


def means_of_groups(described: Described, entry: HypothesisTestEntry, codebook: Codebook) -> list[MagnitudesEntry]:
    """The table; none where there is none, or its groups are no levels of one variable."""
    if len(entry.by) != 1 or entry.by[0] not in codebook or not described:
        return []
    levels = {group: levels_of(codebook[entry.by[0]], group) for group in described}
    read = {
        (level[0], each): number
        for group, level in levels.items()
        for each, text in described[group].items()
        if len(level) == 1 and (number := read_printed(text)) is not None
    }
    statistics = [each for each in ("count", "mean", "sd") if any(each == of for _, of in read)]
    if not read or len(read) != len(statistics) * len(described):
        return []
    digits = {each: max(0, *(number.decimals for (_, of), number in read.items() if of == each)) for each in statistics}
    digits.pop("count", None)
    shown, variable = {level for level, _ in read}, codebook[entry.by[0]]
    table = _table(entry, entry.variable, entry.by, statistics, digits)
    if variable.missing or len(shown) < len(variable.values):  # of whom nothing is said
        some = only(variable, [label for label in variable.labels if label in shown])
        table = table.model_copy(update={"where": both(entry.where, some)})
    (output,) = table.build(codebook, 1)
    values: dict[str, float | str] = {}
    for label in output.labels:
        ends = {each: ": count" if each == "count" else f": {each} of {entry.variable}" for each in statistics}
        each = next(each for each in statistics if label.endswith(ends[each]))
        level = label.removesuffix(ends[each]).removeprefix(f"{entry.by[0]}=")
        number = read.get((level, each))
        nobody: float | str = 0.0 if each == "count" else "undefined"
        values[label] = nobody if number is None else as_given(number, digits.get(each, 0), own=True)
    return [table.model_copy(update={"values": values})]


def only(variable: Variable, levels: Sequence[str]) -> str:
    """The records with one of these levels of a variable, as a study's `where`."""
    name = variable.name if variable.name.isidentifier() else f"`{variable.name}`"
    return " or ".join(f"{name} == {level if variable.numeric else repr(level)}" for level in levels)


def means_of_pair(described: Described, entry: HypothesisTestEntry, codebook: Codebook) -> list[MagnitudesEntry]:
    """A table of either variable; none where records of complete pairs are not all, or a name is not theirs."""
    names = (entry.variable, entry.paired)
    if any(name not in codebook or codebook[name].missing or name not in described for name in names):
        return []
    found = []
    for name in names:
        read = {each: number for each, text in described[name].items() if (number := read_printed(text)) is not None}
        digits = {each: max(0, number.decimals) for each, number in read.items() if each != "count"}
        if len(read) < len(described[name]):
            return []
        values = [as_given(number, digits.get(each, 0), own=True) for each, number in read.items()]
        found.append(_table(entry, name, (), list(read), digits).model_copy(update={"values": values}))
    return found


def _table(
    entry: HypothesisTestEntry, of: str, by: Sequence[str], statistics: Sequence[str], digits: Mapping[str, int]
) -> MagnitudesEntry:
    """A table of means of one variable beside a test."""
    of_pair = f" of {of}" if entry.paired else ""
    return MagnitudesEntry.model_validate(
        {
            "kind": "magnitudes",
            "name": f"means{of_pair} beside {entry.name}" if entry.name else "",
            "value": of,
            "by": by,
            "statistics": statistics,
            "decimals": digits,
            "where": entry.where,
            "importance": entry.importance,
        }
    )
