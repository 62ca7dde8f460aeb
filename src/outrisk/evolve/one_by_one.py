"""Closing in one change after the other: of many around a number that is far off, the one that does most good.

A batch of swaps is drawn with no number in view. Where a number rests on two or three records (the mean of a small
cell), hardly any of them bears on it. So all pairs of these records and others are looked at, and what they may
exchange; of the changes that bring the number nearer the best one is made, as all numbers see it, then the next.
"""

from __future__ import annotations

import numpy as np

from outrisk.evolve.around import Equations
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.swaps import Edits, changed_alone, changes_by, exchanged, leaving
from outrisk.problem.blocks import Array

TURNS, RECORDS = 8, 30  # numbers looked at in a round; records that bear on each, at most
PAIRS, ALONE = 6_000, 20  # pairs with others; changes of each record alone
WEIGHED = 300  # changes that are weighed by all numbers
MADE = 5  # changes made for each, at most


def one_by_one(
    codes: Codes, equations: Equations, missing: Array, scale: Array, free: Array, rng: np.random.Generator
) -> Array:
    """Make changes, in place, that lower the sum of squares of what numbers miss (q,) beyond what they are `free` to
    (q,), both in `scale` (q,). Returns what they miss then.
    """
    for _ in range(TURNS):
        beyond = np.maximum(np.abs(missing) - free, 0.0)
        if not beyond.any():
            break
        number = int(rng.choice(len(beyond), p=beyond**2 / (beyond @ beyond)))
        edits = _around(codes, equations, number, float(missing[number] * scale[number]), rng)
        rows = changes_by(equations, codes, edits) / scale
        used = np.zeros(len(codes), np.bool_)
        least = float(beyond @ beyond)
        for _ in range(min(MADE, len(rows))):
            left = (np.maximum(np.abs(missing - rows) - free, 0.0) ** 2).sum(axis=1)
            left[edits.of[used[edits.record]]] = np.inf
            best = int(np.argmin(left))
            if left[best] >= least:
                break
            least, missing = float(left[best]), missing - rows[best]
            mine = edits.of == best
            codes[edits.record[mine]] = edits.after[mine]
            used[edits.record[mine]] = True
    return missing


def _around(codes: Codes, equations: Equations, number: int, missing: float, rng: np.random.Generator) -> Edits:
    """Changes of records that bear on one of the equations, that bring it nearest; all leave counts as they are."""
    problem = equations.problem
    bearing = rng.permutation(np.flatnonzero(equations.column(codes, number)))[:RECORDS]
    each = min(len(codes), PAIRS // max(len(bearing), 1))
    other = np.concatenate([rng.permutation(len(codes))[:each] for _ in bearing] or [np.zeros(0, np.int64)])
    pairs = np.column_stack([np.repeat(bearing, each), other])
    edits = exchanged(problem, codes, pairs[pairs[:, 0] != pairs[:, 1]], rng)
    edits = edits.beside(changed_alone(problem, codes, np.repeat(bearing, ALONE), rng))
    edits = leaving(problem, codes, edits, equations.kept | equations.loose)
    change = edits.sums @ (equations.column(edits.after, number) - equations.column(codes[edits.record], number))
    nearest = np.argsort(np.abs(missing - change))[:WEIGHED]
    some = np.zeros(edits.count, np.bool_)
    some[nearest] = np.abs(missing - change[nearest]) < np.abs(missing)
    return edits.some(some)
