"""Mending tables of counts: bringing the few cells that are out of their ranges back, so that swaps can keep them.

First by local search with all other numbers in view. Where that stands still, with no other number in view, but among
few records at a time, and what turns out to have been of no use is taken back: of two counts that are off, the way to
mend both may lead over a dozen records, each of which does harm elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.evolve import moves
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear, linearise
from outrisk.evolve.problem import Problem
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array, Tally
from outrisk.problem.influence import records_of_tally

GENTLY, MOST = 6, 12  # generations with all other numbers in view; in all, before sampling errors are looked at again
WORTH = 44_000  # visits in one of the former, at most
TURNS = 8  # in a generation, of mending tables alone
VISITS = 20  # of a record in each; and records of a cell that holds too many that are among them


def mend(candidate: Candidate, linear: Linear, already: int, rng: np.random.Generator) -> None:
    """One generation, in place; `already`: how many there have been, this one included."""
    problem = linear.problem
    if already % MOST <= GENTLY or problem.counts is None:
        moves.anneal(candidate, linear, 0.0, rng)
        moves.descend_with_swaps(candidate, linear, min(problem.n_records, WORTH), 0.0, rng)
    else:
        _alone(candidate.codes, problem.counts, rng)
    candidate.totals = problem.totals(candidate.codes)


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
