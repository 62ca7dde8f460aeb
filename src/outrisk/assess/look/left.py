"""What is known of the records that outputs on a subset leave of a larger one: numbers of the one less those of the
other, none below 0, held against each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from outrisk.assess.look.finding import Rows
from outrisk.assess.look.known import Kind, Known
from outrisk.assess.look.nested import less
from outrisk.assess.look.printed import Numbers
from outrisk.assess.look.told import Flags, Told
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.conditions.pairs import compare


@dataclass(frozen=True, eq=False)
class Left:
    """Numbers of records of a subset without those of others apart from each other, by kind and sets of variables."""

    numbers: Numbers
    tables: dict[Kind, dict[frozenset[str], Known]]

    @classmethod
    def of(cls, numbers: Numbers, larger: str, parts: Sequence[str]) -> Left:
        """Of all kinds of counts that are printed of all of them."""
        found = {}
        for kind in numbers.closed:
            smaller = [replace(kind, where=where) for where in parts]
            if kind.where == larger and not kind.what and all(each in numbers.closed for each in smaller):
                found[kind] = less(numbers, kind, smaller)
        for plain, known in list(_together(numbers, found)):
            tables = found.setdefault(plain, {})
            there = tables.get(frozenset(known.by))
            tables[frozenset(known.by)] = known if there is None else there.within(known)
        return cls(numbers, found)

    def sets(self, target: str) -> list[tuple[str, ...]]:
        """The largest sets of variables, a target among them, by which something is left."""
        every = {by for tables in self.tables.values() for by in tables if target in by}
        order = self.numbers.codebook.index
        return sorted(tuple(sorted(by, key=order)) for by in every if not any(by < more for more in every))

    def told(self, variables: Sequence[str]) -> tuple[Flags, Flags] | None:
        """Cells of a table that hold somebody, and that hold nobody, as a reader knows (in the order of `variables`);
        None where nothing is left by these.
        """
        codebook = self.numbers.codebook
        order, some, none = sorted(variables, key=codebook.index), None, None
        for of, tables in self.tables.items():
            for known in (each.over(order) for by, each in tables.items() if by >= {*variables}):
                least = float(min(codebook[of.weight].values)) / 2 if of.weight and not of.lacks else 0.0
                somebody, nobody = known.low > 0, (known.high <= least) & (not of.lacks and not of.also)
                some = somebody if some is None else some | somebody
                none = nobody if none is None else none | nobody
        if some is None or none is None:
            return None
        axes = [order.index(name) for name in variables]
        return np.transpose(some, axes), np.transpose(none, axes)

    def alike(self, data: Microdata, rows: Rows, variables: Sequence[str], target: str) -> Rows:
        """The records left whose value of the target is told to whoever knows the other variables: nobody of their
        group has another, or one person makes it up and somebody has it. Not those of groups in which it is missing.
        """
        found = self.told(variables) if target in variables else None
        if found is None:
            return np.zeros(0, np.intp)
        some, none = found
        told, axis = Told.whole(data, variables, rows), list(variables).index(target)
        missing = (slice(None),) * axis + (slice(len(data.codebook[target].values), None),)
        others = ~none  # a value that may be missing is not told, however few have another
        alone = others.sum(axis=axis, keepdims=True) - others == 0
        alone |= some & (np.expand_dims(told.people_over(axis), axis) == 1)
        alone &= (told.counts > 0) & (told.counts == told.counts.sum(axis=axis, keepdims=True))
        alone[missing] = False
        return told.who(alone)


def _together(numbers: Numbers, found: Mapping[Kind, Mapping[frozenset[str], Known]]) -> Iterator[tuple[Kind, Known]]:
    """Numbers of records of which two conditions hold, one of which holds of each record: of all there are no more than
    of both together, as of those with an event up to a time and those still at risk at it.
    """
    for one, other in permutations([kind for kind in found if kind.also and kind.counts], 2):
        plain = replace(one, also="")
        if plain != replace(other, also="") or not _cover(numbers, one.also, other.also):
            continue
        for known in found[one].values():
            for more in found[other].values():
                common = [name for name in known.by if name in more.by]
                rest = more.over(common).high
                axes = tuple(at for at, name in enumerate(known.by) if name not in common)
                yield plain, Known(known.by, known.low, known.high + np.expand_dims(rest, axes), known.outputs)


def _cover(numbers: Numbers, one: str, other: str) -> bool:
    """Whether one of two conditions holds of each record, in any data."""
    try:
        return compare(numbers.codebook, f"({one}) or ({other})", "", "a subset").contains
    except OutputError:  # too many combinations of values to go through
        return False
