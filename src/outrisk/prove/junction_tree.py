"""Tables of few variables in the place of one of all: a junction tree.

Where no output has two variables together, nothing is said of how they go together, and their product need not be
counted. Counts of records by all variables exist, also whole ones, if and only if there are counts for each table of
the tree such that neighbours agree on what they share (Lauritzen and Spiegelhalter, JRSS B 50, 1988; Vorob'ev, Theory
of Probability 7, 1962).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

Set = frozenset[int]


@dataclass(frozen=True)
class Table:
    """A table of the tree: its variables, the position of its `parent` (-1: the first), and what it shares with it."""

    variables: Set
    parent: int = -1
    shared: Set = frozenset()


def junction_tree(root: Set, sets: Iterable[Set], size: Callable[[Set], float]) -> tuple[Table, ...]:
    """Tables of which one has all variables of each set; the first has those of the `root`, parents come before others.

    Variables are eliminated by the `size` of the table that this takes, the smallest first.
    """
    beside: dict[int, set[int]] = {}
    for each in sets:
        for one in each - root:
            beside.setdefault(one, set()).update(each - {one})
    order: list[tuple[int, Set]] = []
    while beside:
        one = min(beside, key=lambda each: (size(frozenset(beside[each] | {each})), each))
        around = frozenset(beside.pop(one))
        order.append((one, around))
        for other in around & beside.keys():
            beside[other] = (beside[other] | around) - {one, other}
    turn = {one: at for at, (one, _) in enumerate(order)}
    tables, place = [Table(root)], dict[int, int]()
    for one, around in reversed(order):
        parent = place[min(around - root, key=turn.__getitem__)] if around - root else 0
        if around == tables[parent].variables:
            tables[parent] = replace(tables[parent], variables=around | {one})
            place[one] = parent
        else:
            place[one] = len(tables)
            tables.append(Table(around | {one}, parent, around))
    return tuple(tables)
