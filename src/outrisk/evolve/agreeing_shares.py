"""Counts behind the shares of several tables that agree with each other: by linear programming.

Counts that a table's shares can be of, chosen for that table alone, contradict those of another one that has a
variable in common by a few records, more as there are more people. That shares lie within their digits, that counts of
a variable are the same in every table, and that all records add up to their number is linear in the counts, whatever
the sizes of groups. In real numbers it says where sizes are to be looked for; once these are settled, whole numbers are
found at once, as where tables have one variable in common they are flows through a network.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint

from outrisk.evolve.told_counts import summing
from outrisk.evolve.whole_numbers import NODES
from outrisk.problem.blocks import Array
from outrisk.problem.released import Margins
from outrisk.quiet_milp import milp

_FIRM = 1_000.0  # how much more it counts to leave the range of a count that is settled


@dataclass(frozen=True, eq=False)
class TableOfShares:
    """A table of shares: its variables and how many levels each has; what is linear in the counts of its cells and at
    most 0; what is known of sums of its cells; and the ranges that these were to be in (cells,).
    """

    variables: tuple[int, ...]
    shape: tuple[int, ...]
    conditions: sparse.csr_matrix
    margins: Margins
    ranges: tuple[Array, Array]

    @property
    def size(self) -> int:
        """Its cells."""
        return int(np.prod(self.shape))


def agree(
    tables: Mapping[int, TableOfShares], n_records: int, firm: Collection[int] = (), whole: bool = False
) -> tuple[dict[int, Array], float]:
    """Counts (cells,) of tables that agree, in `whole` numbers or in real ones, and by how much they are beyond their
    ranges, in standard deviations: as little as can be, least for tables that are `firm`. Nothing, and infinity, where
    none agree, or none are found soon.
    """
    starts = dict(zip(tables, np.cumsum([0, *(each.size for each in tables.values())]), strict=False))
    least, most = (np.concatenate([each.ranges[end] for each in tables.values()]) for end in (0, 1))
    known, n = np.isfinite(most), len(most)
    weight = np.concatenate([np.full(each.size, _FIRM if at in firm else 1.0) for at, each in tables.items()])
    cost = weight / np.sqrt(np.maximum(np.where(known, (least + most) / 2.0, least), 1.0))
    rows, low, high = _linear(tables, starts, n, n_records)
    beyond = sparse.eye(n, format="csr")
    found = milp(
        np.concatenate([np.zeros(n), cost]),
        constraints=[
            LinearConstraint(sparse.hstack([rows, sparse.csr_matrix(rows.shape)], format="csr"), low, high),
            LinearConstraint(sparse.hstack([beyond, beyond], format="csr"), least, np.inf),
            LinearConstraint(sparse.hstack([beyond, -beyond], format="csr"), -np.inf, most),
        ],
        integrality=np.repeat([float(whole), 0.0], n),
        options={"node_limit": NODES},
    )
    if found.status:
        return {}, np.inf
    return {at: found.x[starts[at] :][: table.size] for at, table in tables.items()}, float(found.fun)


def _linear(
    tables: Mapping[int, TableOfShares], starts: Mapping[int, int], n: int, n_records: int
) -> tuple[sparse.csr_matrix, Array, Array]:
    """What is linear in all cells (rows, all cells), and from where to where that lies (rows,): shares lie within their
    digits, sums are as known, all records add up, and tables agree with each other where they have variables in common.
    """
    found = list[tuple[sparse.csr_matrix, Array, Array]]()

    def placed(rows: sparse.csr_matrix, at: int) -> sparse.csr_matrix:
        return sparse.csr_matrix((rows.data, rows.indices + starts[at], rows.indptr), shape=(rows.shape[0], n))

    for at, table in tables.items():
        every, nothing = np.full(1, float(n_records)), np.zeros(table.conditions.shape[0])
        found.append((placed(sparse.csr_matrix(np.ones((1, table.size))), at), every, every))
        found.append((placed(table.conditions, at), nothing - np.inf, nothing))
        found.append((placed(table.margins[0], at), *table.margins[1:]))
        for before, other in tables.items():
            common = sorted(set(table.variables) & set(other.variables))
            if before < at and common:
                own, theirs = (summing(each.variables, each.shape, common) for each in (table, other))
                apart = placed(own, at) - placed(theirs, before)
                found.append((apart, *2 * (np.zeros(apart.shape[0]),)))
    rows, low, high = zip(*found, strict=True)
    return sparse.vstack(rows, format="csr"), np.concatenate(low), np.concatenate(high)
