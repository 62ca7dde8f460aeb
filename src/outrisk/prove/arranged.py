"""Which outputs a programme takes up, in which tables of kinds of records: one of all variables, or a junction tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from outrisk.codebook import Codebook
from outrisk.errors import ProveError
from outrisk.problem.blocks import Mask, variables
from outrisk.problem.released import Released
from outrisk.prove.constraints import Codes
from outrisk.prove.junction_tree import Set, Table, junction_tree

_TOO_MANY = "its variables make too many kinds of records"
_ALONE = "its numbers are used, but not that other outputs are about the same people"

Arrange = Callable[[Set, Sequence[Set]], tuple[Table, ...]]  # tables of the variables of a root and of sets


@dataclass(frozen=True, eq=False)
class Arranged:
    """The outputs that are `kept`, in the order published, and the `tables` of their variables.

    The first table has all variables that are asked about, and all that are known of those kept. columns: kinds of
    records that the tables have. left_out: outputs, by name, that are not kept, or not with all that they say, and why.
    """

    kept: tuple[Released, ...]
    tables: tuple[Table, ...]
    columns: float
    left_out: dict[str, str]


class Arranger:
    """Tables for outputs, where `known` (m,) is known of each person of a register and `wanted` is asked about."""

    def __init__(
        self, codebook: Codebook, known: Mapping[str, Codes], wanted: Sequence[str], most_columns: int
    ) -> None:
        self.codebook, self.known, self.most_columns = codebook, known, most_columns
        self.wanted = frozenset(codebook.index(name) for name in wanted)
        self.given = frozenset(codebook.index(name) for name in known)
        self._sizes: dict[Set, float] = {}

    def crossed(self, released: Sequence[Released], rules: Sequence[Mask]) -> Arranged:
        """All variables in one table. An output that makes it too large is left out."""
        return _Arranging(self, lambda root, sets: (Table(root.union(*sets)),), False).of(released, rules)

    def apart(self, released: Sequence[Released], rules: Sequence[Mask]) -> Arranged:
        """Variables that no outputs have together in different tables. An output that makes these too large has one of
        its own, beside what is known and asked about alone, which says less; or is left out, where that is too large.
        """
        return _Arranging(self, lambda root, sets: junction_tree(root, sets, self.size), True).of(released, rules)

    def size(self, names: Set) -> float:
        """Kinds of records, of people in the register, by some variables."""
        if names not in self._sizes:
            kinds = float(np.prod([float(self.codebook.sizes[j]) for j in names - self.given]))
            self._sizes[names] = kinds * self._groups(names & self.given)
        return self._sizes[names]

    def _groups(self, names: Set) -> float:
        """Combinations of what is known that somebody has."""
        if not names:
            return 1.0
        group = np.zeros(1, dtype=np.int64)
        for j in sorted(names):
            _, group = np.unique(
                group * self.codebook.sizes[j] + self.known[self.codebook.names[j]], return_inverse=True
            )
        return float(group.max(initial=0) + 1)


class _Arranging:
    """Outputs taken up one by one: `sets` of variables that a table has; `alone`, those with a table of their own."""

    def __init__(self, by: Arranger, arrange: Arrange, can_be_alone: bool) -> None:
        self.by, self.arrange, self.can_be_alone = by, arrange, can_be_alone
        self.sets, self.alone = list[Set](), list[Set]()

    def of(self, released: Sequence[Released], rules: Sequence[Mask]) -> Arranged:
        by, kept, left_out = self.by, list[Released](), dict[str, str]()
        for one in sorted(released, key=lambda one: len(named(one) - by.wanted)):
            if self._fits([*self.sets, named(one)], self.alone):
                self.sets.append(named(one))
            elif self.can_be_alone and self._fits(self.sets, [*self.alone, named(one)]):
                self.alone.append(named(one))
                left_out[one.name] = _ALONE
            else:
                left_out[one.name] = _TOO_MANY
                continue
            kept.append(one)
        for rule in rules:  # of what outputs have, and what is known
            its = frozenset(rule.joint.variables)
            if its - by.given <= by.wanted.union(*self.sets, *self.alone) and self._fits([*self.sets, its], self.alone):
                self.sets.append(its)
        tables = self._tables(self.sets, self.alone)
        columns = self._columns(tables)
        if columns > by.most_columns:
            names = sorted(by.codebook.names[j] for j in tables[0].variables - by.given)
            raise ProveError(
                f"{names} make too many kinds of records to be asked about together; give some of them as keys, or "
                "band them in the codebook"
            )
        kept.sort(key=released.index)
        return Arranged(tuple(kept), tables, columns, left_out)

    def _tables(self, sets: list[Set], alone: list[Set]) -> tuple[Table, ...]:
        root = self.by.wanted | (self.by.given & frozenset().union(*sets, *alone))
        tables = self.arrange(root, sets)
        return *tables, *(Table(each, 0, each & tables[0].variables) for each in alone)

    def _fits(self, sets: list[Set], alone: list[Set]) -> bool:
        return self._columns(self._tables(sets, alone)) <= self.by.most_columns

    def _columns(self, tables: Sequence[Table]) -> float:
        return sum(self.by.size(each.variables) for each in tables)


def named(released: Released) -> Set:
    """The variables of an output, by position."""
    return frozenset(j for block in released.blocks for j in variables(block))
