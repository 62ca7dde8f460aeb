"""Percentages of some of the records, such as of home owners: how large their groups are taken to be.

A search makes each group of a percentage as large as the nearest size that it can be of. Of a subset, which may have any
number of records, these contradict other tables soon, and no change of one record puts that right. So sizes are found
before a search, of which all tables agree: the counts of the table that crosses all variables which percentages of
subsets have are nearest to those of the records drawn, in absolute distance, such that tables of counts have what was
released of them and percentages lie within their digits, whole numbers being behind these (mixed integer programming).
Levels of a variable that are alike to all tables are one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import LinearConstraint, milp

from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.evolve.settled_shares import shares_of_all
from outrisk.evolve.told_counts import Counted, Shared, counted, in_subset
from outrisk.problem.blocks import Array, Tally, joint_over, variables
from outrisk.problem.influence import members_of
from outrisk.problem.released import TallyPart

_CELLS = 5_000  # of the table that crosses all variables, at most
_NODES, _GAP = 200, 0.05  # of a search for whole numbers, at most; how far from the nearest it may end

SharedPart = tuple[TallyPart, Shared, slice]


def shares_of_subsets(problem: Problem) -> Iterator[SharedPart]:
    """Parts that are shares of groups of the records of a subset, by all combinations of some variables, and their
    numbers.
    """
    for part, _, which, _ in problem.slices:
        if isinstance(part, TallyPart) and isinstance(part.map, Shared) and in_subset(part):
            if part.blocks[0].cell is None:
                yield part, part.map, which


def sizes_in_subsets(problem: Problem, codes: Codes) -> list[Array]:
    """How large the groups (groups,) of each of these parts are to be, near to what they are of these records (n,
    variables); none at all where there are no such parts, tables contradict each other, or it would take long.
    """
    parts = list(shares_of_subsets(problem))
    among = sorted({j for part, _, _ in parts for block in part.blocks for j in variables(block)})
    tables = [each for one in counted(problem, True) if (each := _over(one, among, problem))]
    shared = parts + [each for each in shares_of_all(problem) if variables(each[0].blocks[0]) <= set(among)]
    alike = {j: _alike(j, [*(part.blocks[0] for part, _, _ in shared), *(each.block for each in tables)], problem) for j in among}
    shape = [int(alike[j].max()) + 1 for j in among]
    if not parts or math.prod(shape) > _CELLS:
        return []
    crossed, kinds = np.zeros(len(codes), np.int64), np.zeros((math.prod(shape), codes.shape[1]), codes.dtype)
    for at, (j, own) in enumerate(zip(among, np.indices(shape).reshape(len(shape), -1), strict=True)):
        crossed += alike[j][codes[:, j]] * math.prod(shape[at + 1 :])
        kinds[:, j] = np.unique(alike[j], return_index=True)[1][own]
    counts = np.bincount(crossed, minlength=len(kinds)).astype(np.float64)
    found = _nearest(counts, kinds, tables, shared, problem)
    sizes = list[Array]()
    for (part, shares, _), own in zip(parts, found, strict=False):
        of = np.bincount(shares.base[: part.blocks[0].size], own, int(shares.base.max()) + 1)
        sizes.append(shares.sizes(np.column_stack([of, np.zeros(len(of))])))
    return sizes


def _over(one: Counted, among: Sequence[int], problem: Problem) -> Counted | None:
    """What a table of counts tells by these variables; None where it has none of them."""
    own = one.block.place.variables
    if one.block.masks:
        return one if variables(one.block) <= set(among) else None
    kept, sizes = [j for j in own if j in among], problem.codebook.sizes
    if len(kept) == len(own) or not kept or one.block.cell is not None:
        return one if len(kept) == len(own) else None
    gone, joint = tuple(at for at, j in enumerate(own) if j not in kept), joint_over(kept, sizes)
    least, most = (each.reshape([sizes[j] for j in own]).sum(axis=gone).ravel() for each in one[1:])
    return Counted(Tally(joint, joint.size), least, most)


def _alike(j: int, blocks: Sequence[Tally], problem: Problem) -> NDArray[np.int64]:
    """Which levels of a variable are alike to all tallies: the number of the class of each (levels,)."""
    told = list[NDArray[np.int64]]()
    for block in blocks:
        cell = np.arange(block.place.size) if block.cell is None else block.cell
        for joint, each in [(block.place, cell), *((mask.joint, mask.include) for mask in block.masks)]:
            if j in joint.variables:
                table = each.reshape([problem.codebook.sizes[other] for other in joint.variables])
                told.append(np.moveaxis(table, joint.variables.index(j), 0).reshape(problem.codebook.sizes[j], -1))
    return np.unique(np.hstack(told), axis=0, return_inverse=True)[1].ravel()


def _nearest(
    counts: Array, kinds: Codes, tables: Sequence[Counted], shared: Sequence[SharedPart], problem: Problem
) -> list[Array]:
    """Whole counts (cells,) behind shares of which all tables agree: those of counts of so many kinds of records (kinds,
    variables) that are nearest to these (kinds,), in what they vary by from sample to sample. Nothing where none agree.
    """
    n, cells = len(counts), [part.blocks[0].size for part, _, _ in shared]
    starts = np.cumsum([2 * n, *cells])
    rows, low, high = list[sparse.csr_matrix](), list[Array](), list[Array]()

    def add(of_kinds: sparse.csr_matrix | None, of_cells: tuple[int, sparse.csr_matrix] | None, *ends: Array) -> None:
        height = len(ends[0])
        row = sparse.lil_matrix((height, int(starts[-1])))
        if of_kinds is not None:
            row[:, :n] = of_kinds
        if of_cells is not None:
            row[:, starts[of_cells[0]] : starts[of_cells[0] + 1]] = of_cells[1]
        rows.append(row.tocsr())
        low.append(ends[0])
        high.append(ends[1])

    every = np.full(1, float(problem.n_records))
    add(sparse.csr_matrix(np.ones((1, n))), None, every, every)
    for block, least, most in tables:
        add(members_of((block,), kinds).T, None, least, most)
    for at, (part, shares, which) in enumerate(shared):
        half, nothing = problem.tolerance[which], np.zeros(cells[at])
        add(-members_of(part.blocks[:1], kinds).T, (at, sparse.eye(cells[at])), nothing, nothing)
        conditions = shares.conditions(problem.low[which] - half, problem.high[which] + half)
        none = np.zeros(conditions.shape[0])
        add(None, (at, conditions), none - np.inf, none)
        known = (np.isfinite(problem.low) & np.isfinite(problem.high))[which][shares.number[: cells[at]]]
        base = shares.base[: cells[at]]
        groups = sparse.csr_matrix((np.ones(cells[at]), (base, np.arange(cells[at]))))
        some = np.bincount(base, known, groups.shape[0]) > 0  # a share is that of somebody
        add(None, (at, groups), some.astype(np.float64), np.full(len(some), np.inf))
    apart = sparse.hstack([sparse.eye(n), -sparse.eye(n), sparse.csr_matrix((n, sum(cells)))], format="csr")
    beyond = sparse.hstack([sparse.eye(n), sparse.eye(n), sparse.csr_matrix((n, sum(cells)))], format="csr")
    found = milp(
        np.concatenate([np.zeros(n), 1.0 / np.sqrt(counts + 1.0), np.zeros(sum(cells))]),
        constraints=[
            LinearConstraint(sparse.vstack(rows, format="csr"), np.concatenate(low), np.concatenate(high)),
            LinearConstraint(apart, -np.inf, counts),
            LinearConstraint(beyond, counts, np.inf),
        ],
        integrality=np.repeat([0.0, 1.0], [2 * n, sum(cells)]),
        options={"node_limit": _NODES, "mip_rel_gap": _GAP},
    )
    return [] if found.x is None else [np.round(found.x[a:b]) for a, b in zip(starts[:-1], starts[1:], strict=True)]
