"""Mending tables of counts: bringing the few cells that are out of their ranges back, so that swaps can keep them.

First record by record: of changes that bring counts nearer, the one of which all other numbers suffer least. Where
there is none, or more counts are off, by local search with all other numbers in view. Where that stands still, with no
other number in view, but among few records at a time, and what turns out to have been of no use is taken back: of two
counts that are off, the way to mend both may lead over a dozen records, each of which does harm elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.evolve import moves
from outrisk.evolve.around import Equations
from outrisk.evolve.candidate import Candidate, breaks_rule
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear, linearise
from outrisk.evolve.problem import Problem
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array, Tally, variables
from outrisk.problem.influence import records_of_tally

GENTLY, MOST = 6, 12  # generations with all other numbers in view; in all, before sampling errors are looked at again
WORTH = 44_000  # visits in one of the former, at most
TURNS = 8  # in a generation, of mending tables alone
VISITS = 20  # of a record in each; and records of a cell that holds too many that are among them
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
    beyond = (candidate.totals < linear.low) | (candidate.totals > linear.high)
    if 0 < already % MOST <= FIRST and (beyond & equations.counts).sum() <= EDITS:
        _by_record(candidate.codes, linear, equations, scale, rng)
    elif already % MOST <= GENTLY or problem.counts is None:
        moves.anneal(candidate, linear, 0.0, rng)
        moves.descend_with_swaps(candidate, linear, min(problem.n_records, WORTH), 0.0, rng)
    else:
        _alone(candidate.codes, problem.counts, rng)
    candidate.totals = problem.totals(candidate.codes)


def _by_record(codes: Codes, linear: Linear, equations: Equations, scale: Array, rng: np.random.Generator) -> None:
    """Change records one after the other, in place, each so that counts (`equations.counts`) come nearer to their
    ranges, and of all changes tried that bring them nearest the one that all other numbers suffer least from.
    """
    problem, missing, tables = linear.problem, equations.missing / scale, _tables(linear.problem)
    of_counts = np.flatnonzero(equations.counts)
    low, high = linear.low[of_counts], linear.high[of_counts]
    members = _members(problem, codes)[:, of_counts].tocsc()
    totals = np.asarray(members.sum(axis=0)).ravel()
    cells = {
        cell: _Cell(tables[of_counts[cell]], there, codes[there[:1]])
        for cell in np.flatnonzero((totals < low) | (totals > high))
        for there in [members[:, cell].indices]
    }

    def beyond(totals: Array, at: NDArray[np.int64]) -> Array:
        return np.maximum(low[at] - totals, 0.0) + np.maximum(totals - high[at], 0.0)

    for _ in range(EDITS):
        off = beyond(totals, np.arange(len(totals)))
        if not off.any():
            return
        few = [cell for at, cell in cells.items() if totals[at] < low[at]]
        many = [cell for at, cell in cells.items() if totals[at] > high[at]]
        who, after = _towards(problem, codes, few, many, rng)
        change = (_members(problem, after)[:, of_counts] - _members(problem, codes[who])[:, of_counts]).tocsr()
        gain = change.copy()
        gain.data = beyond(totals[change.indices] + change.data, change.indices) - off[change.indices]
        sums = np.asarray(gain.sum(axis=1)).ravel()
        if not len(sums) or sums.min() >= 0.0:
            return
        best = rng.permutation(np.flatnonzero(sums == sums.min()))[:WEIGHED]
        rows = (equations.rows(after[best]) - equations.rows(codes[who[best]])) / scale
        least = int(np.argmin(((missing - rows) ** 2).sum(axis=1)))
        missing = missing - rows[least]
        totals = totals + change[best[least]].toarray()[0]
        codes[who[best[least]]] = after[best[least]]


@dataclass(frozen=True, eq=False)
class _Cell:
    """A cell of a table: the variables of the table, the records in it (n,), and one of these, if any, as it was."""

    variables: list[int]
    there: NDArray[np.int64]
    one: Codes


def _towards(
    problem: Problem, codes: Codes, few: list[_Cell], many: list[_Cell], rng: np.random.Generator
) -> tuple[NDArray[np.int64], Codes]:
    """Changes of one record each: which (M,), and what they become (M, variables). Records of a cell that holds too
    `many` take another value of one variable of its table. They, and any others, take the values that a cell that holds
    too `few` has in its table.
    """
    records, after = [np.zeros(0, np.int64)], [codes[:0]]

    def take(who: NDArray[np.int64], those: list[int], values: NDArray[np.integer]) -> None:
        new = codes[who]
        new[:, those] = values
        differ = (new != codes[who]).any(axis=1)
        records.append(who[differ])
        after.append(new[differ])

    anyone = [rng.permutation(len(codes))[:FROM]]
    for cell in many:
        some = rng.permutation(cell.there)[:FROM]
        anyone.append(some)
        for j in cell.variables:
            for value in rng.permutation(problem.codebook.sizes[j])[:VISITS]:
                take(some, [j], np.array([value]))
    every = np.unique(np.concatenate(anyone))
    for cell in few:
        if len(cell.one):
            take(every, cell.variables, cell.one[0, cell.variables])
    found, new = np.concatenate(records), np.concatenate(after)
    some = rng.permutation(len(found))[:CHANGES]
    found, new = found[some], new[some]
    fine = ~breaks_rule(problem.rules, new) if problem.rules else np.ones(len(found), np.bool_)
    return found[fine], new[fine]


def _tables(problem: Problem) -> list[list[int]]:
    """The variables of the table that each of all totals (m) is of; none for those of a model."""
    return [
        sorted(variables(block)) if isinstance(block, Tally) else []
        for part in problem.parts
        for block in part.blocks
        for _ in range(block.size)
    ]


def _members(problem: Problem, codes: Codes) -> sparse.csr_matrix:
    """What each record (n, variables) adds to all totals (m), 0 for those of a model."""
    return sparse.hstack(
        [
            records_of_tally(block, codes).members
            if isinstance(block, Tally)
            else sparse.csr_matrix((len(codes), block.size))
            for part in problem.parts
            for block in part.blocks
        ],
        format="csr",
    )


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
    blocks = [block for part in counts.parts for block in part.blocks if isinstance(block, Tally)]
    was, now = (
        sparse.hstack([records_of_tally(block, each[changed]).members for block in blocks], format="csc")[:, counted]
        for each in (before, after)
    )
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
    """A few records of each cell that holds too many."""
    over, at, found = totals > linear.high, 0, [np.zeros(0, np.int64)]
    for block in (block for part in counts.parts for block in part.blocks if isinstance(block, Tally)):
        for cell in np.flatnonzero(over[at : at + block.size]):
            there = np.flatnonzero(records_of_tally(block, codes).cell == cell)
            found.append(rng.permutation(there)[:VISITS])
        at += block.size
    return np.concatenate(found)
