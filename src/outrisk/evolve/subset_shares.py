"""Percentages of some of the records, such as of home owners: how large their groups are taken to be.

A search makes each group of a percentage as large as the nearest size that it can be of. Of a subset, which may have
any number of records, these contradict other tables soon, and no change of one record puts that right. So sizes are
found before a search, of which all tables agree. Of the table that crosses all variables which percentages of subsets
have, counts are found that are nearest to those of the records drawn, in absolute distance, such that tables have what
was released of them, and percentages lie within their digits, whole numbers being behind these (mixed integer linear
programming). Levels of a variable that are alike to all tables are one. Records are then changed to have these counts,
in as few variables as it goes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint

from outrisk.evolve.agreeing_sums import EXACT
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.evolve.settled_shares import ends, shares_of_all
from outrisk.evolve.told_counts import CELLS, Counted, Shared, SharedPart, counted, in_subset, summing
from outrisk.evolve.whole_numbers import GAP, NODES
from outrisk.problem.blocks import Array, Joint, Tally, breaks_rule, joint_over, variables
from outrisk.problem.influence import members_of
from outrisk.problem.released import TallyPart
from outrisk.quiet_milp import INFEASIBLE, milp

_CELLS = 7_000, 20_000  # of those that are looked at, and of shares, at most; once a search has stood still without
_KEPT = 500  # sets of variables that are kept as records change, at most


def shares_of_subsets(problem: Problem) -> Iterator[SharedPart]:
    """Parts that are shares of groups of the records of a subset, by all combinations of some variables, and their
    numbers.
    """
    for part, _, which, _ in problem.slices:
        if not isinstance(part, TallyPart) or not isinstance(part.map, Shared) or not in_subset(part):
            continue
        if part.blocks[0].cell is None:
            yield part, part.map, which


def agreed_in_subsets(
    problem: Problem, codes: Codes, rng: np.random.Generator, again: bool = False
) -> tuple[list[Array], Codes]:
    """How large the groups (groups,) of each of these parts are to be, near to what they are of these records (n,
    variables), and records that have them, nearly; no sizes, and the same records, where there are no such parts,
    tables contradict each other, or it would take long: longer than a search without, unless it is done `again`, there
    being no sums. The same records also where sums or regressions were drawn with them.
    """
    parts, most = list(shares_of_subsets(problem)), _CELLS[again and not problem.sums]
    if not parts:
        return [], codes
    among = sorted({j for part, _, _ in parts for block in part.blocks for j in variables(block)})
    shared = parts + [each for each in shares_of_all(problem) if variables(each[0].blocks[0]) <= set(among)]
    tables = [each for one in counted(problem, True) if (each := _over(one, among, problem))]
    blocks = [*(part.blocks[0] for part, _, _ in shared), *(each.block for each in tables)]
    alike = {j: _alike(j, blocks, problem) for j in among}
    shape = [int(alike[j].max()) + 1 for j in among]
    if math.prod(shape) > CELLS or sum(part.blocks[0].size for part, _, _ in shared) > most:
        return [], codes
    kinds, levels = np.zeros((math.prod(shape), codes.shape[1]), codes.dtype), np.indices(shape).reshape(len(shape), -1)
    for j, level in zip(among, levels, strict=True):
        kinds[:, j] = np.unique(alike[j], return_index=True)[1][level]
    classes = np.column_stack([alike[j][codes[:, j]] for j in among])
    kind = np.ravel_multi_index(list(classes.T), shape)
    counts = np.bincount(kind, minlength=len(kinds)).astype(np.float64)
    more, sizes = np.zeros(len(counts)), list[Array]()
    for some in (counts > 0.0, np.ones(len(counts), np.bool_)):  # those there are soon tell, if records are many
        if not sizes and some.sum() <= most:
            more[some], *sizes = _agreed(counts[some], kinds[some], tables, shared, problem)
    if not sizes or problem.sums:
        return sizes[: len(parts)], codes
    found, like = codes.copy(), dict[tuple[int, int], NDArray[np.integer]]()
    for one, other, rows in _changes(_whole(more), levels.T, kind, rng):
        for at in np.flatnonzero(levels[:, one] != levels[:, other]).tolist():
            j, wanted = among[at], int(levels[at, other])
            if (at, wanted) not in like:
                there = codes[classes[:, at] == wanted, j]
                like[at, wanted] = there if len(there) else np.flatnonzero(alike[j] == wanted)
            found[rows, j] = rng.choice(like[at, wanted], len(rows))
    breaks = breaks_rule(problem.rules, found)
    found[breaks] = codes[breaks]
    return sizes[: len(parts)], found


def _whole(more: Array) -> NDArray[np.int64]:
    """Whole numbers near to these (kinds,), that add up to nothing as these do."""
    found = np.floor(more + EXACT).astype(np.int64)
    found[np.argsort(found - more, kind="stable")[: -int(found.sum())]] += 1
    return found


def _changes(
    more: NDArray[np.int64], levels: NDArray[np.intp], kind: NDArray[np.intp], rng: np.random.Generator
) -> Iterator[tuple[int, int, NDArray[np.intp]]]:
    """Which records (n,) go from one kind to another, by a random draw, for there to be so many more of each kind
    (kinds,): as few variables as it goes change their level (kinds, variables).
    """
    left, taken, k = more.copy(), dict[int, NDArray[np.intp]](), levels.shape[1]
    every = chain.from_iterable(combinations(range(k), n_kept) for n_kept in range(k - 1, 0, -1))
    for kept in chain(islice(every, _KEPT), [()]):
        here = np.flatnonzero(left)
        alike = np.unique(levels[here][:, kept], axis=0, return_inverse=True)[1].ravel() if kept else 0 * here
        for group in np.intersect1d(alike[left[here] < 0], alike[left[here] > 0]):
            fewer, wanted = (here[(alike == group) & (sign * left[here] > 0)] for sign in (-1, 1))
            ends = [np.cumsum(np.abs(left[each])) for each in (fewer, wanted)]
            steps = np.unique(np.concatenate(ends))
            steps = np.concatenate([[0], steps[steps <= min(ends[0][-1], ends[1][-1])]])
            for start, end in pairwise(steps.tolist()):
                one, other = (
                    int(each[np.searchsorted(ended, start, side="right")])
                    for each, ended in zip((fewer, wanted), ends, strict=True)
                )
                rows = taken.setdefault(one, rng.permutation(np.flatnonzero(kind == one)))
                yield one, other, rows[: end - start]
                taken[one] = rows[end - start :]
                left[one] += end - start
                left[other] -= end - start
        if not left.any():
            break


def _over(one: Counted, among: Sequence[int], problem: Problem) -> Counted | None:
    """What a table of counts tells by these variables; None where it has none of them."""
    own = one.block.place.variables
    if one.block.masks:
        return one if variables(one.block) <= set(among) else None
    kept, sizes = [j for j in own if j in among], problem.codebook.sizes
    if len(kept) == len(own) or not kept or one.block.cell is not None:
        return one if len(kept) == len(own) else None
    joint, cells = joint_over(kept, sizes), summing(own, [sizes[j] for j in own], kept)
    return Counted(Tally(joint, joint.size), cells @ one.least, cells @ one.most)


def _alike(j: int, blocks: Sequence[Tally], problem: Problem) -> NDArray[np.int64]:
    """Which levels of a variable are alike to all tallies: the number of the class of each (levels,)."""
    told, sizes = list[NDArray[np.integer]](), problem.codebook.sizes
    for block in blocks:
        tables: list[tuple[Joint, NDArray[Any] | None]] = [(block.place, block.cell)]
        for joint, table in (*tables, *((mask.joint, mask.include) for mask in block.masks)):
            if j not in joint.variables:
                continue
            if table is None:  # all levels are cells of their own
                return np.arange(sizes[j])
            by_level = np.moveaxis(table.reshape([sizes[of] for of in joint.variables]), joint.variables.index(j), 0)
            told.append(by_level.reshape(sizes[j], -1).astype(np.int64))
    return np.unique(np.hstack(told), axis=0, return_inverse=True)[1].ravel()


def _agreed(
    counts: Array, kinds: Codes, tables: Sequence[Counted], shared: Sequence[SharedPart], problem: Problem
) -> list[Array]:
    """How many more records of each kind (kinds, variables) there are than `counts` (kinds,), and sizes of the groups
    (groups,) of shares, of which all tables agree: those nearest to these counts. No sizes where none agree, or none
    are found soon.
    """
    behind = [part.blocks[0].size for part, _, _ in shared]
    widths = [len(counts), len(counts), *behind, *(int(shares.base.max()) + 1 for _, shares, _ in shared)]
    rows, least_of = list[LinearConstraint](), [np.zeros(width) for width in widths]

    def add(low: Array, high: Array, of_kinds: sparse.spmatrix | None, own: Mapping[int, sparse.spmatrix]) -> None:
        """What numbers of kinds, counts behind parts and sizes of groups add up to lies from low to high."""
        if of_kinds is not None:  # as many more, and fewer, than there are
            own, here = {0: of_kinds, 1: -of_kinds, **own}, of_kinds @ counts
            low, high = low - here, high - here
        blocks = [own.get(at, sparse.csr_matrix((len(low), width))) for at, width in enumerate(widths)]
        rows.append(LinearConstraint(sparse.hstack(blocks, format="csr"), low, high))

    every = np.full(1, float(problem.n_records))
    add(every, every, sparse.csr_matrix(np.ones((1, len(counts)))), {})
    for block, least, most in tables:
        add(least, most, members_of((block,), kinds).T, {})
    for at, (part, shares, which) in enumerate(shared, 2):
        of_cells, of_groups, sums = shares.conditions_by_group(*ends(problem, which))
        none, nothing, empty = (np.zeros(n) for n in (widths[at], of_cells.shape[0], sums.shape[0]))
        add(none, none, members_of(part.blocks[:1], kinds).T, {at: -sparse.eye(widths[at])})
        add(empty, empty, None, {at: sums, at + len(shared): -sparse.eye(len(empty))})
        add(nothing - np.inf, nothing, None, {at: of_cells, at + len(shared): of_groups})
        known = (np.isfinite(problem.low) & np.isfinite(problem.high))[which][shares.number]  # a share of somebody
        least_of[at + len(shared)] = np.minimum(np.bincount(shares.base, known, len(empty)), 1.0)
    most_of = np.full(sum(widths), np.inf)
    most_of[len(counts) : 2 * len(counts)] = counts
    found = None
    for cost in (np.ones(len(counts)), 1.0 / np.sqrt(counts + 1.0)):  # where the one finds nothing soon, the other may
        found = milp(
            np.concatenate([np.tile(cost, 2), np.zeros(sum(widths[2:]))]),
            constraints=rows,
            bounds=Bounds(np.concatenate(least_of), most_of),
            integrality=np.repeat([0.0, 1.0, 0.0], [2 * len(counts), sum(behind), sum(widths[2 + len(shared) :])]),
            options={"node_limit": NODES, "mip_rel_gap": GAP},
        )
        if found.x is not None or found.status == INFEASIBLE:
            break
    if found is None or found.x is None:
        return [np.zeros(len(counts))]
    more, fewer, *others = np.split(found.x, np.cumsum(widths)[:-1])
    return [more - fewer, *(np.round(each) for each in others[len(shared) :])]
