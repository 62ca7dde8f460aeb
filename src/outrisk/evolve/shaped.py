"""Values that no table counts, as what was published of them says: means, sums, standard deviations, quantiles.

Incomes from 0 to 500,000 of which a mean of 45,000 was published are drawn badly at random, all alike: of a pool of
20,000 a tenth would have to stand for all. So the shares of the values are those nearest to equal ones, in relative
entropy, that have the published numbers, in each cell for which there are some: of a mean alone an exponential
distribution over the codebook's values, of a mean and a standard deviation a normal one, cut off at its ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.asked import Asked, beyond, equations_of_tallies, nearest
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.evolve.told_counts import CELLS, Table
from outrisk.problem.blocks import Array, joint_over, level_in, variables
from outrisk.problem.influence import members_of
from outrisk.problem.released import TallyPart

GROUPS = 500  # of neighbouring values, taken to be equally frequent, beside those around quantiles
WITHIN = 0.1  # standard deviations over samples that a number may be off, be its digits coarser
TURNS = 3  # in which a mean that was not published is taken anew


@dataclass(frozen=True, eq=False)
class Shape:
    """A variable, those that it is drawn given, and for each combination of their levels the chances of groups of its
    values; value `edges[g]` is the first one of group g.
    """

    variable: int
    given: tuple[int, ...]
    chances: Array
    edges: NDArray[np.int64]


def shapes(problem: Problem, tables: list[Table], draw: Callable[[], Codes]) -> Iterator[Shape]:
    """Of each variable that is in none of the tables of counts, but of which something was published by those that are.
    draw: records (n, variables) that tables hold of, which are asked for only where there is such a variable.
    """
    counted = {j for table in tables for j in table.variables}
    published: dict[int, list[tuple[TallyPart, slice]]] = {}
    for part, _, which, _ in problem.slices:
        if isinstance(part, TallyPart) and not any(block.weight for block in part.blocks):
            if any(block.masks for block in part.blocks):  # what holds of some, is taken to hold of all
                if any(formula.kind == "total" for formula in part.formulas):
                    continue
                part = replace(part, blocks=tuple(replace(block, masks=()) for block in part.blocks))
            free = {j for block in part.blocks for j in variables(block)} - counted
            if len(free) == 1 and problem.codebook.variables[min(free)].kind != "categorical":
                published.setdefault(min(free), []).append((part, which))
    if not published:
        return
    sample = draw()
    for j in sorted(published):
        yield _shape(problem, j, published[j], tables, sample)


def _shape(
    problem: Problem, j: int, published: list[tuple[TallyPart, slice]], tables: list[Table], sample: Codes
) -> Shape:
    sizes, plan = problem.codebook.sizes, problem.plan
    marks = plan.marks[plan.mark_ptr[j] : plan.mark_ptr[j + 1]]  # groups of their own
    edges = np.linspace(0, sizes[j], min(sizes[j], GROUPS) + 1).astype(np.int64)
    edges = np.unique(np.concatenate([edges, marks, marks + 1]))
    given, used = tuple[int, ...](), list[tuple[TallyPart, slice]]()
    for part, which in published:
        more = tuple(sorted({*given, *(v for block in part.blocks for v in variables(block))} - {j}))
        if math.prod(sizes[v] for v in more) * (len(edges) - 1) <= CELLS:
            given, used = more, [*used, (part, which)]
    joint = joint_over(given, sizes)
    people = np.bincount(level_in(joint, sample), minlength=joint.size).astype(np.float64)
    for table in tables:
        if given and set(given) <= set(table.variables):
            people = table.over(given, table.counts).ravel()
    people *= problem.n_records / people.sum()
    cells, groups = np.flatnonzero(people), len(edges) - 1
    codes = np.zeros((len(cells) * groups, len(sizes)), np.uint16)
    for v, stride in zip(given, joint.strides, strict=True):
        codes[:, v] = np.repeat(cells // stride % sizes[v], groups)
    codes[:, j] = np.tile((edges[:-1] + edges[1:]) // 2, len(cells))
    weights = np.outer(people[cells], np.diff(edges) / sizes[j]).ravel()
    members = [members_of(part.blocks, codes) for part, _ in used]
    for part, which in used:
        weights[beyond(problem, part, which, codes)] = 0.0
    left = weights.reshape(len(cells), groups)
    left *= (people[cells] / np.maximum(left.sum(axis=1), 1e-300))[:, None]
    for _ in range(TURNS):
        thin = [
            equations_of_tallies(problem, part, which, member, weights)
            for (part, which), member in zip(used, members, strict=True)
        ]
        asked = Asked.of_all([], thin, weights, problem.n_records)
        asked = replace(asked, slack=np.minimum(asked.slack, WITHIN * asked.spread(weights)))
        found, _ = nearest(asked, weights)
        if not (np.isfinite(found).all() and found.any()):  # what was published cannot be
            break
        weights = found
    found = weights.reshape(len(cells), groups)
    sums = found.sum(axis=1, keepdims=True)
    chances = np.tile(found.sum(axis=0) / sums.sum(), (joint.size, 1))  # of cells without a record those of all
    chances[cells] = np.where(sums > 0.0, found / np.maximum(sums, 1e-300), chances[cells])
    return Shape(j, given, chances, edges)
