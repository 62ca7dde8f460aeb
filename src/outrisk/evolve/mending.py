"""Mending tables of counts: bringing the few cells that are out of their ranges back, so that swaps can keep them.

First record by record, or by two that exchange values: of changes that bring counts nearer, the one of which all other
numbers suffer least. Where there is none, or more counts are off, by local search with all other numbers in view. Where
that stands still, with no other number in view, but among few records at a time, and what turns out to have been of no
use is taken back: of two counts that are off, the way to mend both may lead over a dozen records, each of which does
harm elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve import moves
from outrisk.evolve.around import Equations
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear, linearise
from outrisk.evolve.problem import Problem
from outrisk.evolve.swaps import Edits, changes_by, effects_of, exchanged
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array, Tally, breaks_rule, variables
from outrisk.problem.influence import members_of, records_of_tally

GENTLY, MOST = 6, 12  # generations with all other numbers in view; in all, before sampling errors are looked at again
TURNS = 8  # in a generation, of mending tables alone
VISITS = 20  # of a record in each; and records of a cell that holds too many that are among them
NEEDED = 10.0  # how much more it counts that a cell lacks a record that other numbers of it need to be defined
FIRST = 2  # generations that go record by record, where no more counts are off than this makes changes
EDITS, CHANGES, FROM, WEIGHED = 30, 20_000, 400, 300  # which it makes; looked at for each; records of a cell, and of
# all, that these are of; changes that are weighed by what all other numbers suffer


def mend(
    candidate: Candidate, linear: Linear, equations: Equations, scale: Array, already: int, rng: np.random.Generator
) -> None:
    """One generation, in place; `already`: how many there have been, this one included. scale (q,): what each of the
    equations is to be brought to.
    """
    problem = linear.problem
    out = equations.counts & ((candidate.totals < linear.low) | (candidate.totals > linear.high))
    turn = already % MOST
    again = turn > GENTLY and turn % 2 == 0 and not problem.large
    if out.sum() <= EDITS and (again or 0 < turn <= FIRST):
        cells = list(_cells(candidate.codes, problem, out, rng))
        _by_record(candidate, linear, equations, scale, cells, rng)
    elif turn <= GENTLY or problem.counts is None:
        moves.anneal(candidate, linear, 0.0, rng)
        moves.descend_with_swaps(candidate, linear, min(problem.n_records, round(TUNING.beside)), 0.0, rng)
    else:
        _alone(candidate.codes, problem.counts, rng)
    candidate.totals = problem.totals(candidate.codes)


def _by_record(
    candidate: Candidate,
    linear: Linear,
    equations: Equations,
    scale: Array,
    cells: list[_Cell],
    rng: np.random.Generator,
) -> None:
    """Change records one after the other, in place, each so that counts come nearer to their ranges, of which these
    `cells` are out, and of all changes tried that bring them nearest the one that all other numbers suffer least from.
    """
    problem, codes, missing = linear.problem, candidate.codes, equations.missing / scale
    low, high, totals = (each[equations.counts] for each in (linear.low, linear.high, candidate.totals))
    places = np.cumsum(equations.counts) - 1

    needed = np.where(np.isinf(high), NEEDED, 1.0)

    def off(totals: Array, at: NDArray[np.int64]) -> Array:
        return needed[at] * np.maximum(low[at] - totals, 0.0) + np.maximum(totals - high[at], 0.0)

    for _ in range(EDITS):
        before = off(totals, np.arange(len(totals)))
        if not before.any():
            return
        few = [cell for cell in cells if (totals < low)[places[cell.total]]]
        many = [cell for cell in cells if (totals > high)[places[cell.total]]]
        edits = _towards(problem, codes, few, many, rng)
        edits = edits.beside(_between(problem, codes, many, rng))
        change = effects_of(problem, codes, edits, equations.counts)
        if change is None:
            return
        gain = change.copy()
        gain.data = off(totals[change.indices] + change.data, change.indices) - before[change.indices]
        sums = np.asarray(gain.sum(axis=1)).ravel()
        if not len(sums) or sums.min() >= 0.0:
            return
        best = np.zeros(len(sums), np.bool_)
        best[rng.permutation(np.flatnonzero(sums == sums.min()))[:WEIGHED]] = True
        edits, change = edits.some(best), change[np.flatnonzero(best)]
        rows = changes_by(equations, codes, edits) / scale
        least = int(np.argmin(((missing - rows) ** 2).sum(axis=1)))
        missing = missing - rows[least]
        totals = totals + change[least].toarray()[0]
        codes[edits.record[edits.of == least]] = edits.after[edits.of == least]


@dataclass(frozen=True, eq=False)
class _Cell:
    """A cell of a table: which of all totals it is, the variables of the table, the records in it (n,), values of these
    variables that a record has there, and some of the records that the table counts nowhere (any,).
    """

    total: int
    variables: list[int]
    there: NDArray[np.int64]
    values: NDArray[np.integer]
    nowhere: NDArray[np.int64]


def _towards(problem: Problem, codes: Codes, few: list[_Cell], many: list[_Cell], rng: np.random.Generator) -> Edits:
    """Changes of one record each: of a cell that holds too `many`, to another value of one variable of its table; of
    these records and others, those that its table counts nowhere too, to the values that a cell that holds too `few`
    has in its table.
    """
    records, after = [np.zeros(0, np.int64)], [codes[:0]]

    def take(who: NDArray[np.int64], those: list[int], values: NDArray[np.integer]) -> None:
        new = codes[who]
        new[:, those] = values
        differ = (new != codes[who]).any(axis=1)
        records.append(who[differ])
        after.append(new[differ])

    anyone = [rng.permutation(len(codes))[:FROM], *(cell.nowhere for cell in few)]
    for cell in many:
        some = rng.permutation(cell.there)[:FROM]
        anyone.append(some)
        for j in cell.variables:
            values = rng.permutation(problem.codebook.sizes[j])[: VISITS * max(1, FROM // max(1, len(some)))]
            values = np.union1d(values, problem.plan.marks[problem.plan.mark_ptr[j] : problem.plan.mark_ptr[j + 1]])
            take(np.tile(some, len(values)), [j], np.repeat(values, len(some))[:, None])
    every = np.unique(np.concatenate(anyone))
    for cell in few:
        take(every, cell.variables, cell.values)
    found, new = np.concatenate(records), np.concatenate(after)
    some = rng.permutation(len(found))[:CHANGES]
    found, new = found[some], new[some]
    fine = ~breaks_rule(problem.rules, new) if problem.rules else np.ones(len(found), np.bool_)
    return Edits.of_one(found[fine], new[fine])


def _between(problem: Problem, codes: Codes, many: list[_Cell], rng: np.random.Generator) -> Edits:
    """Exchanges between two records, of one variable or two, the first of a cell that holds too `many`, the second of
    another one or any: where each of the two alone would put as much out of its range as it puts right.
    """
    there = np.unique(np.concatenate([np.zeros(0, np.int64), *(cell.there for cell in many)]))
    if not len(there):
        return Edits.of_one(there, codes[there])
    one, other = rng.choice(there, CHANGES // 2), rng.choice(there, CHANGES // 2)
    other = np.where(rng.random(len(other)) < 0.5, other, rng.integers(0, len(codes), len(other)))
    return exchanged(problem, codes, np.column_stack([one, other])[one != other], rng)


def _cells(codes: Codes, problem: Problem, which: NDArray[np.bool_], rng: np.random.Generator) -> Iterator[_Cell]:
    """Those of all totals (m,) that are cells of tables."""
    for block, where in problem.tallies:
        some = np.flatnonzero(which[where])
        if len(some):
            cell_of = records_of_tally(block, codes).cell
            nowhere = _some_of(np.flatnonzero(cell_of < 0), FROM, rng)
            for cell in some:
                there, used = np.flatnonzero(cell_of == cell), sorted(variables(block))
                if len(there):
                    yield _Cell(where.start + int(cell), used, there, codes[there[0], used], nowhere)
                else:
                    values = _values(block, int(cell), problem.codebook.sizes)
                    yield _Cell(where.start + int(cell), list(block.place.variables), there, values, there)


def _some_of(records: NDArray[np.int64], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Some of the records (any,), at most so many, no record twice."""
    return np.unique(records[rng.integers(0, len(records), most)]) if len(records) > most else records


def _values(block: Tally, cell: int, sizes: Sequence[int]) -> NDArray[np.integer]:
    """Values of a tally's variables, the first ones, that it counts in a cell."""
    level = cell if block.cell is None else int(np.flatnonzero(block.cell == cell)[0])
    return np.array(np.unravel_index(level, [sizes[j] for j in block.place.variables]), np.uint16)


def _alone(codes: Codes, counts: Problem, rng: np.random.Generator) -> None:
    """Mend tables of counts with no other number in view, in place: among a few records at a time, so that all others
    stay as they are; those in cells that hold too many are among them.
    """
    for turn in range(TURNS):
        totals = counts.totals(codes)
        linear = linearise(counts, codes, totals, "sampling" if turn % 2 else "precision")
        if ((totals >= linear.low) & (totals <= linear.high) | (linear.weight == 0.0)).all():
            return
        some = np.union1d(rng.permutation(len(codes))[: TUNING.mended], _too_many(codes, counts, linear, totals, rng))
        few, before = codes[some], codes[some]
        own = counts.totals(few)
        there = replace(linear, low=linear.low - totals + own, high=linear.high - totals + own)
        moves.descend_with_swaps(Candidate(few, own), there, VISITS * len(few), 0.0, rng)
        _undo(before, few, counts, there)
        codes[some] = few


def _undo(before: Codes, after: Codes, counts: Problem, linear: Linear) -> None:
    """Take back, in place, changes of one record or of two that put no count further out of its range."""
    changed = np.flatnonzero((before != after).any(axis=1))
    counted = np.flatnonzero(linear.weight > 0.0)
    blocks = [block for block, _ in counts.tallies]
    was, now = (members_of(blocks, each[changed])[:, counted] for each in (before, after))
    effect, totals = (was - now).toarray(), counts.totals(after)[counted]
    low, high = np.minimum(linear.low[counted], totals), np.maximum(linear.high[counted], totals)
    left = np.ones(len(changed), np.bool_)
    for at in (*range(len(changed)), *range(len(changed))):
        if not left[at]:
            continue
        others = np.flatnonzero(left)
        further = totals + effect[at] + np.where((others == at)[:, None], 0.0, effect[others])
        fine = others[((further >= low) & (further <= high)).all(axis=1)]
        if len(fine):
            those = [at] if at in fine else [at, fine[0]]
            totals = totals + effect[those].sum(axis=0)
            left[those] = False
    back = changed[~left]
    after[back] = before[back]


def _too_many(
    codes: Codes, counts: Problem, linear: Linear, totals: Array, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A few records of each cell that holds too many, and of those that a table with a cell that lacks some counts
    nowhere; of all of these no more than tables are mended among.
    """
    found = [rng.permutation(cell.there)[:VISITS] for cell in _cells(codes, counts, totals > linear.high, rng)]
    for block, where in counts.tallies:
        if (totals < linear.low)[where].any():
            found.append(_some_of(np.flatnonzero(records_of_tally(block, codes).cell < 0), VISITS, rng))
    return rng.permutation(np.concatenate([np.zeros(0, np.int64), *found]))[: TUNING.mended]
