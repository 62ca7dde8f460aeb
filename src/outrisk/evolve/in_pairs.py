"""Changes of two records beside tables of counts that are kept: many of each pair, of which one may be made.

One of the two takes another value of a variable, or they exchange what they have in one or two. Most such changes break
a table, and are left out. Pairs are made of records that agree in some of what tables count, so that many do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.evolve.around import Equations
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.evolve.swaps import Edits, bound_by, changed_alone, coarse, effects_of, exchanged, leaving
from outrisk.problem.blocks import Array

TRIES, ALONE = 20, 0.4  # changes drawn of a pair; the share of them that are of one record
AGREE, HELD = 0.6, 0.25  # chance that pairs agree in a variable that tables count; that no count changes at all


def changed_in_pairs(
    problem: Problem, codes: Codes, equations: Equations, most: int, rng: np.random.Generator
) -> tuple[Edits, NDArray[np.int64]]:
    """Changes of so many pairs of records at most, and which pair each is of (count,). They leave kept totals as they
    are, and others within their room, whichever one of each pair is made.
    """
    pairs = _paired(problem, codes, equations, most, rng)
    pair_of = np.full(len(codes), -1)
    pair_of[pairs] = np.arange(len(pairs))[:, None]
    every = np.repeat(pairs, TRIES, axis=0)
    alone = rng.random(len(every)) < ALONE
    edits = changed_alone(problem, codes, rng.permuted(every[alone], axis=1)[:, 0], rng)
    edits = edits.beside(exchanged(problem, codes, every[~alone], rng))
    held = equations.kept | equations.loose if rng.random() < HELD else equations.kept
    edits = leaving(problem, codes, edits, held)
    pair, narrow = pair_of[_first(edits)], equations.loose & ~held
    effects = effects_of(problem, codes, edits, narrow)
    if effects is None:
        return edits, pair
    fits = _fits(effects, pair, equations.room[:, narrow], rng)
    return edits.some(fits), pair[fits]


def _first(edits: Edits) -> NDArray[np.int64]:
    """One record of each of the changes (count,)."""
    found = np.zeros(edits.count, np.int64)
    found[edits.of] = edits.record
    return found


def _paired(
    problem: Problem, codes: Codes, equations: Equations, most: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """At most so many pairs (M, 2) of records, no record twice: neighbours, sorted by some of what tables count."""
    some = equations.kept | equations.loose
    counted = bound_by(problem, some)[1] & ~coarse(problem, some)
    who = rng.permutation(len(codes))[: 2 * most]
    agree = np.flatnonzero(counted & (rng.random(len(counted)) < AGREE))
    who = who[np.lexsort((rng.random(len(who)), *codes[who][:, agree].T))]
    return who[: len(who) // 2 * 2].reshape(-1, 2)


def _fits(
    effects: sparse.csr_matrix, pair: NDArray[np.int64], room: Array, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which changes (count,) of pairs fit into the room (2, m) of what they change (count, m): pairs take what the
    largest of their changes needs, in random order, as long as there is any.
    """
    found = effects.tocoo()
    rises, groups = found.data > 0.0, int(pair.max(initial=-1)) + 1
    way = 2 * found.col.astype(np.int64) + rises
    turn = way * groups + rng.permutation(groups)[pair[found.row]]
    turns, of = np.unique(turn, return_inverse=True)
    needs = np.zeros(len(turns))
    np.maximum.at(needs, of, np.abs(found.data))
    taken, ways = np.cumsum(needs), turns // max(groups, 1)
    first = np.searchsorted(ways, ways)
    taken -= taken[first] - needs[first]
    wrong = taken > room.T.ravel()[ways]
    return np.asarray(np.bincount(found.row, wrong[of], effects.shape[0]) == 0)
