"""What programs count as parameters where fixed effects are absorbed, and which of them print a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

Program = Literal["fixest", "areg", "xtreg", "reghdfe", "plm"]
Singletons = Literal["", "keep", "drop"]
PROGRAMS: tuple[Program, ...] = get_args(Program)
Groups = Sequence[NDArray[np.int64]]  # of each absorbed variable: the group (n,) of each record, from 0


@dataclass(frozen=True)
class Counted:
    """Parameters that are taken from the number of records: `whole` for the residual variance, R2 and errors by the
    model or of single records; `clustered` in the factor of errors by clusters.
    """

    whole: int
    clustered: int


def prints_constant(program: Program) -> bool:
    """Whether a program prints a constant: the mean of the response less that of the terms (Stata's do)."""
    return program in ("areg", "xtreg", "reghdfe")


def drops_singletons(program: Program, said: Singletons) -> bool:
    """Whether groups of one record are dropped first; where nothing is said as the program does: reghdfe alone."""
    return said == "drop" or (not said and program == "reghdfe")


def counted(program: Program, k: int, levels: Sequence[int], apart: int, nested: Sequence[bool]) -> Counted:
    """How many parameters k terms and absorbed variables of so many levels are.

    apart: connected parts of the first two (1 for one variable): reghdfe counts one redundant level for each, others
    one for each variable after the first. nested: which absorbed variables lie within the clusters; xtreg, reghdfe and
    fixest do not count these in the factor of errors by clusters, but one for the constant: reghdfe always, fixest
    where no other variable is left. Sources: the manuals of Stata's areg and xtreg, of reghdfe (Correia 2016) and of
    fixest's `ssc`.
    """
    redundant = [0, *([apart if program == "reghdfe" else 1] if len(levels) > 1 else []), *[1] * (len(levels) - 2)]
    own = [count - less for count, less in zip(levels, redundant, strict=True)]
    whole = k + sum(own)
    if program in ("areg", "plm") or not any(nested):
        return Counted(whole, whole)
    if program == "fixest":
        left = [each for each, inside in zip(levels, nested, strict=True) if not inside]
        return Counted(whole, k + (sum(left) - len(left) + 1))
    return Counted(whole, k + sum(each for each, inside in zip(own, nested, strict=True) if not inside) + 1)


def parts_of(groups: Groups) -> int:
    """Connected parts of the first two absorbed variables, whose groups are joined by the records they share."""
    if len(groups) < 2:
        return 1
    first, second = groups[0], groups[1]
    n, m = int(first.max()) + 1, int(second.max()) + 1
    graph = sparse.coo_matrix((np.ones(len(first)), (first, n + second)), shape=(n + m, n + m))
    return int(connected_components(graph, directed=False)[0])


def is_within(groups: NDArray[np.int64], clusters: NDArray[np.int64]) -> bool:
    """Whether the records of each group are of one cluster."""
    pairs = len(np.unique(np.stack([groups, clusters]), axis=1).T)
    return bool(pairs == len(np.unique(groups)))


def not_single(groups: Groups) -> NDArray[np.bool_]:
    """Records (n,) that are left where groups of one record are dropped, again and again until there are none."""
    left = np.ones(len(groups[0]), dtype=np.bool_)
    while True:
        single = np.zeros(len(left), dtype=np.bool_)
        for each in groups:
            single |= left & (np.bincount(each[left], minlength=int(each.max()) + 1)[each] == 1)
        if not single.any():
            return left
        left &= ~single
