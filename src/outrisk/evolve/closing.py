"""Closing in on all numbers at once, by batches of swaps that add up to what is missing.

Around a data set that is near, every number changes by a sum over records (around.py). A batch of swaps that leave
tables of counts as they are is drawn, and those of them are made whose changes of all other numbers add up to what
these miss (balance.py). What is left is due to the few swaps that are whole for no other reason than that they must be,
so it is of the size of a swap: as numbers come nearer, smaller ones are used, between records that are nearly alike. A
search that makes a swap where it alone does good has to go along a narrow valley, in which nearly every swap makes some
number worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.around import Equations, equations_at
from outrisk.evolve.balance import balanced, shares_to
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.swaps import Edits, draw_swaps, drawn_alike
from outrisk.evolve.tuning import CLOSING, MENDING, SWAPS
from outrisk.problem.blocks import Array


@dataclass
class Closing:
    """How near the numbers are to be brought, in sampling errors; how much they may miss of that for the sake of few
    swaps; their sampling errors (total k,); rounds, and those of late without gain; the generation in which it began;
    the start that it follows; how often the numbers were let go again; generations in which
    tables of counts were mended.
    """

    near: float = CLOSING.near[0]
    slack: float = CLOSING.slack[1]
    errors: Array | None = None
    rounds: int = 0
    idle: int = 0
    began: int = 0
    starts: int = 1
    loosened: int = 0
    mended: int = 0

    def look(self, linear: Linear, candidate: Candidate, afresh: bool) -> Equations:
        """The equations around a data set; `afresh`: with its own sampling errors, now and then."""
        if self.errors is None or (afresh and self.rounds % CLOSING.again == 0):
            self.errors = np.nan_to_num(linear.problem.sampling_errors(candidate.codes))
        return equations_at(linear, candidate, self.errors)

    def mends(self, out: int) -> bool:
        """Whether tables of counts are mended in this generation, so many counts being out of their ranges."""
        most = MENDING.most * (1 + self.rounds // CLOSING.again)
        self.mended += out > 0 and self.mended < most
        return out > 0 and self.mended < most

    def scale(self, equations: Equations) -> Array:
        """What each number (q,) is to be brought to."""
        return np.maximum(CLOSING.half * equations.half, self.near * equations.error)

    def merit(self, equations: Equations) -> float:
        """Sum of squares of what numbers miss, in what they are to be brought to."""
        far = equations.off / self.scale(equations)
        return float(far @ far)

    def tighten(self, equations: Equations) -> None:
        """Bring the numbers nearer, once they are as near as they were to be."""
        while self.near > CLOSING.near[1] and self.merit(equations) < CLOSING.settled * len(equations.missing):
            self.near = max(CLOSING.near[1], CLOSING.nearer * self.near)

    def learn(self, gained: bool) -> None:
        """Make more swaps after a round that gained, fewer after another; let go a little where it stands still."""
        self.rounds += 1
        self.idle = 0 if gained else self.idle + 1
        low, _, high = CLOSING.slack
        self.slack = float(np.clip(self.slack * CLOSING.paces[0 if gained else 1], low, high))
        if self.idle >= CLOSING.idle and not self.ended:
            self.near = min(CLOSING.near[0], CLOSING.loosen * self.near)
            self.idle, self.loosened = 0, self.loosened + 1

    @property
    def ended(self) -> bool:
        """Whether it stands still for good."""
        return self.idle >= CLOSING.idle and self.loosened >= CLOSING.loosenings


def close_in(
    candidate: Candidate, equations: Equations, linear: Linear, closing: Closing, rng: np.random.Generator
) -> None:
    """One round, in place."""
    scale = closing.scale(equations)
    asked = np.where(np.abs(equations.missing) <= CLOSING.inside * equations.half, 0.0, equations.missing / scale)
    edits = _drawn(candidate.codes, equations, linear, asked, rng)
    rows = _changes(equations, candidate.codes, edits) / scale
    size = np.sqrt((rows**2).sum(axis=1))
    limit = CLOSING.reach * float(np.sqrt(asked @ asked))
    enough = CLOSING.least * len(asked)
    if enough < len(size):
        limit = max(limit, float(np.partition(size, enough)[enough]))
    some = np.flatnonzero((size <= limit) & (size > 0.0))
    if len(some) < 2:
        return
    rows = np.ascontiguousarray(rows[some])
    shares = shares_to(rows, asked, CLOSING.share, closing.slack)
    taken, _ = balanced(rows, shares, asked, np.argsort(-size[some]), CLOSING.polish, rng)
    made = np.zeros(edits.count, np.bool_)
    made[some[taken]] = True
    which = made[edits.of]
    candidate.codes[edits.record[which]] = edits.after[which]
    candidate.totals = linear.problem.totals(candidate.codes)


def _drawn(codes: Codes, equations: Equations, linear: Linear, asked: Array, rng: np.random.Generator) -> Edits:
    """Swaps that leave the kept totals as they are, drawn in one of two ways: among any records, or among those that
    bear on a number that is off.
    """
    who: NDArray[np.int64] = rng.permutation(len(codes))
    if len(codes) > SWAPS.few and asked.any() and rng.random() < SWAPS.focused:
        who = _around(equations, asked, codes, rng)
    if rng.random() < SWAPS.nearby:
        return drawn_alike(linear.problem, codes, who, equations.kept, linear.ranges, rng)
    return draw_swaps(linear.problem, codes, who, equations.kept, rng)


def _around(equations: Equations, asked: Array, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """Records that bear most on a number that is off, drawn at random, and others."""
    number = rng.choice(len(asked), p=asked**2 / (asked @ asked))
    seen = rng.permutation(len(codes))[: SWAPS.seen]
    weight = np.abs(equations.rows(codes[seen])[:, number])
    most = min(int((weight > 0.0).sum()), SWAPS.few)
    chosen = rng.choice(seen, most, replace=False, p=weight / weight.sum()) if most else seen
    return rng.permutation(np.unique(np.concatenate([chosen, seen[: SWAPS.few // 2]])))


def _changes(equations: Equations, codes: Codes, edits: Edits) -> Array:
    """What each of M swaps changes the numbers by, (M, q)."""
    changes = np.zeros((edits.count, len(equations.missing)))
    added = equations.rows(np.concatenate([codes[edits.record], edits.after]))
    np.add.at(changes, edits.of, added[len(edits.record) :] - added[: len(edits.record)])
    return changes
