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
from outrisk.evolve.compiled import trades
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.tuning import CLOSING
from outrisk.problem.blocks import Array


@dataclass
class Closing:
    """How near the numbers are to be brought, in sampling errors; how much they may miss of that for the sake of few
    swaps; their sampling errors (total k,); rounds, and those of late without gain; the generation in which it began;
    the start that it follows; how often the numbers were let go again.
    """

    near: float = CLOSING.near[0]
    slack: float = CLOSING.slack[1]
    errors: Array | None = None
    rounds: int = 0
    idle: int = 0
    began: int = 0
    starts: int = 1
    loosened: int = 0

    def look(self, linear: Linear, candidate: Candidate, afresh: bool) -> Equations:
        """The equations around a data set; `afresh`: with its own sampling errors, now and then."""
        if self.errors is None or (afresh and self.rounds % CLOSING.again == 0):
            self.errors = np.nan_to_num(linear.problem.sampling_errors(candidate.codes))
        return equations_at(linear, candidate, self.errors)

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
    found = _drawn(candidate, equations, linear, asked, rng)
    rows = _changes(equations, candidate.codes, found) / scale
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
    made = np.zeros(len(found.variable), np.bool_)
    made[some[taken]] = True
    trades.make(linear.problem.plan, found, made, candidate.codes, candidate.totals)


def _drawn(
    candidate: Candidate, equations: Equations, linear: Linear, asked: Array, rng: np.random.Generator
) -> trades.Trades:
    """Swaps that leave the kept totals as they are: between any records, or between those that bear on a number that is
    off.
    """
    plan, codes, none = linear.problem.plan, candidate.codes, np.zeros(0)
    who = np.arange(len(codes))
    if len(codes) > CLOSING.few and asked.any() and rng.random() < CLOSING.focused:
        who = _around(equations, asked, codes, rng)
    found = trades.draw(plan, codes[who], *linear.ranges, none, none, 0, CLOSING.batch, True, rng)
    found = found._replace(records=np.where(found.records >= 0, who[found.records], -1))
    of = np.repeat(np.arange(len(found.variable)), np.diff(found.total_ptr))
    clean = np.ones(len(found.variable), np.bool_)
    clean[of[equations.kept[found.totals]]] = False
    kept: trades.Trades = found._replace(
        variable=found.variable[clean], records=found.records[clean], value=found.value[clean]
    )
    return kept


def _around(equations: Equations, asked: Array, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """Records that bear most on a number that is off, drawn at random, and others."""
    number = rng.choice(len(asked), p=asked**2 / (asked @ asked))
    seen = rng.permutation(len(codes))[: CLOSING.seen]
    weight = np.abs(equations.rows(codes[seen])[:, number])
    most = min(int((weight > 0.0).sum()), CLOSING.few)
    chosen = rng.choice(seen, most, replace=False, p=weight / weight.sum()) if most else seen
    return rng.permutation(np.unique(np.concatenate([chosen, seen[: CLOSING.few // 2]])))


def _changes(equations: Equations, codes: Codes, found: trades.Trades) -> Array:
    """What each of M swaps changes the numbers by, (M, q)."""
    i, k, i2, k2 = found.records.T
    j = found.variable
    changes = np.zeros((len(j), len(equations.missing)))
    values = (np.where(k >= 0, codes[k, j], found.value), codes[i, j], codes[k2, j], codes[i2, j])
    places = [np.flatnonzero(row >= 0) for row in (i, k, i2, k2)]
    before = np.concatenate([codes[row[at]] for row, at in zip((i, k, i2, k2), places, strict=True)])
    after, every = before.copy(), np.concatenate(places)
    after[np.arange(len(every)), j[every]] = np.concatenate([v[at] for v, at in zip(values, places, strict=True)])
    added = equations.rows(np.concatenate([before, after]))
    np.add.at(changes, every, added[len(every) :] - added[: len(every)])
    return changes
