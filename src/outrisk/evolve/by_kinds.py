"""Exchanges that bring a number nearer of which few kinds of records tell all, such as one of a survival curve.

Where nobody was censored until two years, a curve prints at two years what counts of events and of people at risk allow
at most, and a data set with a few who were has less: only exchanges of times between these and people with the event at
two years raise it, and leave all counts as they are. Of all pairs of records they are one in a hundred thousand. So
pairs of kinds are looked at in place of records, and drawn by how much they bring the number nearer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.around import Equations
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.compiled.plan import kinds_of
from outrisk.evolve.swaps import NUMERIC, Edits, leaving
from outrisk.problem.blocks import Array, Model, breaks_rule, joint_over, level_in, variables
from outrisk.problem.influence import records_of_tally
from outrisk.problem.released import ModelPart

EXCHANGES = 500  # drawn at most
RESTS, PAIRS = 300, 6_000_000  # pairs of kinds but for the value, and with it, that are looked at in a round, at most


def exchanged_by_kinds(equations: Equations, asked: Array, codes: Codes, rng: np.random.Generator) -> Edits | None:
    """Exchanges of one value between two records each, no record twice, which leave kept totals as they are and bring
    one of the numbers nearer that are `asked` to change by so much (q,); None where there is no such number.
    """
    problem, sizes = equations.problem, equations.problem.codebook.sizes
    found = list(_models(equations, asked))
    if not found:
        return None
    share = np.array([float(asked[which] @ asked[which]) for _, _, which in found])
    model, records, which = found[int(rng.choice(len(found), p=share / share.sum()))]
    number = which.start + int(
        rng.choice(which.stop - which.start, p=asked[which] ** 2 / float(asked[which] @ asked[which]))
    )
    together = sorted(variables(model))
    numeric = [v for v in together if problem.plan.numeric[v] and sizes[v] >= NUMERIC]
    if not numeric:
        return None
    j = int(rng.choice(numeric))
    shape, axis = [sizes[v] for v in together], together.index(j)
    level = level_in(joint_over(together, sizes), codes)
    cells = np.moveaxis(np.arange(len(records)).reshape(shape), axis, -1).reshape(-1, sizes[j])
    gain = equations.column(records, number) * np.sign(asked[number])
    chosen = _pairs(
        cells, gain, _tags(equations, records, set(together), rng), np.bincount(level, minlength=len(records)), rng
    )
    return _made(equations, codes, level, chosen, j, rng)


def _models(equations: Equations, asked: Array) -> Iterator[tuple[Model, Codes, slice]]:
    """Models without coefficients that tell few kinds of records apart and of which some number is asked to change: a
    record of each kind, and their numbers.
    """
    problem, end = equations.problem, 0
    parts = ((part, block) for part, _, _, block in problem.slices if isinstance(part, ModelPart))
    for (part, block), slopes in zip(parts, equations.slopes, strict=True):
        which, end = slice(end, end + len(slopes)), end + len(slopes)
        if part.model.family != "none" or not asked[which].any():
            continue
        records = kinds_of(problem.plan, problem.plan.blocks[block])
        if records is not None:
            yield part.model, records, which


def _tags(equations: Equations, records: Codes, known: set[int], rng: np.random.Generator) -> Array:
    """A number for each kind (kinds,), of which those of two records add up to the same after an exchange where kept
    totals are the same, of tables by the kinds' variables.
    """
    tags = np.zeros(len(records))
    for block, where in equations.problem.tallies:
        kept = equations.kept[where]
        if kept.any() and variables(block) <= known:
            seen = records_of_tally(block, records)
            of_cell = np.append(np.where(kept, rng.random(len(kept)), 0.0), 0.0)
            tags += of_cell[seen.cell] * seen.value
    return tags


def _pairs(
    cells: NDArray[np.int64], gain: Array, tags: Array, number: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Pairs of kinds (m, 2) whose records exchange their values, drawn by what that gains; cells (rest, values): the
    kind with each rest and value.
    """
    values = cells.shape[1]
    rests = np.flatnonzero(number[cells].any(axis=1))
    pairs, weights = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
    most = min(RESTS, PAIRS // values**2)
    if len(rests) * (len(rests) - 1) // 2 <= most:
        two = np.array(list(combinations(rests, 2)), np.int64).reshape(-1, 2)
    else:
        two = rng.choice(rests, (most, 2))
    for one, other in two[two[:, 0] != two[:, 1]]:
        of_one, of_other = (gain[cells[rest]] for rest in (one, other))
        tag_one, tag_other = (tags[cells[rest]] for rest in (one, other))
        gains = (of_one[None, :] - of_one[:, None]) - (of_other[None, :] - of_other[:, None])
        alike = np.abs((tag_one[None, :] - tag_one[:, None]) - (tag_other[None, :] - tag_other[:, None])) < 1e-9
        there = np.minimum(number[cells[one]][:, None], number[cells[other]][None, :])
        weight = np.where(alike, np.maximum(gains, 0.0) * there, 0.0)
        at = np.nonzero(weight)
        pairs.append(np.stack([cells[one][at[0]], cells[other][at[1]]], axis=1))
        weights.append(weight[at])
    every, weight = np.concatenate(pairs), np.concatenate(weights)
    if not len(every):
        return every
    return every[rng.choice(len(every), EXCHANGES, p=weight / weight.sum())]


def _made(
    equations: Equations,
    codes: Codes,
    level: NDArray[np.int64],
    pairs: NDArray[np.int64],
    j: int,
    rng: np.random.Generator,
) -> Edits:
    """Exchanges of variable j between records of pairs of kinds (m, 2), each record once."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(level[order], kind="stable")]
    starts = np.searchsorted(level[order], np.arange(int(level.max()) + 2))
    taken: dict[int, int] = {}
    found = list[tuple[int, int]]()
    for one, other in pairs.tolist():
        places = [int(starts[kind]) + taken.get(kind, 0) for kind in (one, other)]
        if all(place < starts[kind + 1] for place, kind in zip(places, (one, other), strict=True)):
            taken[one], taken[other] = taken.get(one, 0) + 1, taken.get(other, 0) + 1
            found.append((int(order[places[0]]), int(order[places[1]])))
    two = np.array(found, np.int64).reshape(-1, 2)
    record = two.T.ravel()
    after = codes[record].copy()
    after[:, j] = codes[two[:, ::-1].T.ravel(), j]
    of = np.tile(np.arange(len(two)), 2)
    edits = Edits(record, after, of, len(two))
    if equations.problem.rules:
        edits = edits.some(np.bincount(of, breaks_rule(equations.problem.rules, after), len(two)) == 0)
    return leaving(equations.problem, codes, edits, equations.kept)
