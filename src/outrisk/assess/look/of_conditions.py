"""What tables of a subset tell of its condition: groups of whom everybody is in the subset, or nobody.

A table of the ill beside one of everybody is a table by illness, of which one column is printed and one is left to be
subtracted: where both are the same all are ill, and where nobody is among the ill none is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import NOBODY, Found, Rows, named, people, plural
from outrisk.assess.look.known import Kind, shape
from outrisk.assess.look.nested import nested
from outrisk.assess.look.printed import Numbers, cell_label, places
from outrisk.assess.look.told import Flags
from outrisk.microdata import Microdata
from outrisk.outputs.base import Subset
from outrisk.outputs.conditions.pairs import Pair
from outrisk.records.schema import WITH


@dataclass(frozen=True, eq=False)
class _Told:
    """Records whose value of `name` follows, or of whom a value is excluded: they are all in the subset, or none is."""

    larger: str
    smaller: str
    inside: bool
    name: str
    table: tuple[str, ...]
    rows: Rows
    excluded: Rows


def conditions_told(numbers: Numbers, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Variables of `where` that tables of the subset, alone or beside those of a larger one, tell of whole groups.

    What another finding here says of the same people is left out.
    """
    found = sorted(_all(numbers, data), key=lambda each: -len(each.rows))
    covered: dict[str, Rows] = {}
    for each in found:
        there = covered.get(each.name, NOBODY)
        if len(np.setdiff1d(each.rows, there)):
            covered[each.name] = np.union1d(there, each.rows)
            yield _finding(each, numbers, data)
    told = covered.get(target, NOBODY)
    for each in sorted(found, key=lambda each: -len(each.excluded)):
        if each.name == target and appetite.zeros_are_disclosive and len(np.setdiff1d(each.excluded, told)):
            told = np.union1d(told, each.excluded)
            yield _excluding(each, numbers, data)


def _all(numbers: Numbers, data: Microdata) -> Iterator[_Told]:
    subsets = [kind for kind in numbers.closed if kind.counts and not kind.lacks and not kind.also]
    for smaller in filter(lambda kind: kind.where, subsets):
        for larger in (Kind(""), *(kind for kind in subsets if kind.where)):
            if (pair := nested(numbers, larger.where, smaller.where)) is not None:
                for name in Subset(numbers.codebook, smaller.where, "").variables:
                    yield from _by_cells(numbers, data, larger, smaller, pair, name)


def _by_cells(numbers: Numbers, data: Microdata, larger: Kind, smaller: Kind, pair: Pair, name: str) -> Iterator[_Told]:
    """By each table, without the variable itself: cells of nobody in the subset, and of nobody outside it."""
    rows = numbers.records(larger, data)
    if not larger.where:
        for table in numbers.tables(smaller, name, largest=False):
            known = numbers.over(smaller, table)
            if known is not None and (known.high <= 0).any():
                yield _told(data, rows, pair, name, table, known.high <= 0, "", smaller.where, False)
    for table in numbers.common(larger, smaller, name):
        whole, part = numbers.over(larger, table), numbers.over(smaller, table)
        if whole is None or part is None:
            continue
        if ((full := whole.high <= part.low) & (part.low > 0)).any():
            yield _told(data, rows, pair, name, table, full, larger.where, smaller.where, True)
        if larger.where and ((empty := part.high <= 0) & (whole.high > 0)).any():
            yield _told(data, rows, pair, name, table, empty, larger.where, smaller.where, False)


def _told(
    data: Microdata,
    rows: Rows,
    pair: Pair,
    name: str,
    table: tuple[str, ...],
    cells: Flags,
    larger: str,
    smaller: str,
    inside: bool,
) -> _Told:
    """Whose value of a variable follows where all records of some cells are in the second subset of a pair, or none."""
    rows = rows[cells.ravel()[places(data, table, rows)]]
    codebook = data.codebook
    names = [codebook.names[j] for j in pair.joint.variables]
    axis, sizes = names.index(name), shape(codebook, names)
    can_be = (pair.first & (pair.second if inside else ~pair.second)).reshape(sizes)
    before = pair.first.reshape(sizes)
    if codebook[name].missing:  # no answer
        can_be, before = (np.delete(each, -1, axis=axis) for each in (can_be, before))
        rows = rows[data.codes[rows, codebook.index(name)] < len(codebook[name].values)]
    left, possible = can_be.sum(axis=axis), before.sum(axis=axis)
    at = places(data, [each for each in names if each != name], rows)
    told = ((left == 1) & (possible > 1)).ravel()[at]
    fewer = ((left > 1) & (left < possible)).ravel()[at]
    return _Told(larger, smaller, inside, name, table, rows[told], rows[fewer])


def _outputs(each: _Told, numbers: Numbers) -> str:
    smaller = numbers.named(Kind(each.smaller), each.table)
    if not each.inside:
        return smaller
    return f"{smaller}{WITH}{numbers.named(Kind(each.larger), each.table)}"


def _who_knows(each: _Told, data: Microdata) -> str:
    """What a reader has to know of a person: the cell, and whatever else the condition names."""
    named_in = Subset(data.codebook, each.smaller, "").variables
    known = [*each.table, *(one for one in named_in if one != each.name and one not in each.table)]
    return " and ".join(", ".join(known).rsplit(", ", 1))


def _cells(data: Microdata, table: Sequence[str], rows: Rows) -> list[tuple[str, Rows]]:
    """The cells that some records are in, in words, those of the fewest first."""
    place = places(data, table, rows)
    found = [(cell_label(data.codebook, table, at), rows[place == at]) for at in np.unique(place).tolist()]
    return sorted(found, key=lambda cell: len(cell[1]))


def _finding(each: _Told, numbers: Numbers, data: Microdata) -> Found:
    name, variable = each.name, data.codebook[each.name]
    cells = _cells(data, each.table, each.rows)
    codes = data.codes[:, data.codebook.index(name)]
    answers = {label: [variable.labels[code] for code in np.unique(codes[rows])] for label, rows in cells}
    known = _who_knows(each, data)
    whose = "everybody" if each.inside else "nobody"
    of = f" of those where {each.larger}" * bool(each.larger)
    some = f"{name} of {people(data.people(each.rows))} is told for certain"
    to_whom = f" to anybody who knows {known}" if known else ""
    which = plural(len(cells), "group") if each.table else "all together"
    also = f", where it is known (a missing {name} is no answer)" * variable.missing
    return Found.of(
        "same answer",
        True,
        _outputs(each, numbers),
        len(cells),
        each.rows,
        f"{some}{to_whom}: {which}{of} of which {whose} is in the table where {each.smaller}{also}.",
        named([f"{label}: all {name}={' or '.join(answers[label])}" for label, _ in cells]),
        f"Merge groups until each has people in the table where {each.smaller} and others, or release "
        f"{'only one of the two' if each.inside else f'a table by {name} with merged groups'}.",
        name,
    )


def _excluding(each: _Told, numbers: Numbers, data: Microdata) -> Found:
    cells = _cells(data, each.table, each.excluded)
    whose = "everybody" if each.inside else "nobody"
    return Found.of(
        "values excluded",
        False,
        _outputs(each, numbers),
        len(cells),
        each.excluded,
        f"{plural(len(cells), 'group')} of which {whose} is in the table where {each.smaller} exclude"
        f"{'s' * (len(cells) == 1)} a value of {each.name} for {people(data.people(each.excluded))}.",
        named([label for label, _ in cells]),
        "Merge levels, unless these values cannot occur in such a group.",
    )
