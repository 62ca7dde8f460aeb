"""Closing in where people are few: by the size of changes, the largest first.

A change of a category then moves many numbers of regressions by dozens of times what they may miss, and one of an age
by a year by about as much as they may. A search that counts all that a change leaves soon keeps the categories it
happens to have: any other breaks what the ages have been fitted to. So what smaller changes can put right counts for
little here: numbers are measured in (I + S)^-1, where S sums the squares of the changes below a size, which falls. So
are long vectors settled before short ones, in what is beyond the span of these, by Babai (On Lovasz' lattice reduction
and the nearest lattice point problem, Combinatorica 6, 1986).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.around import Equations
from outrisk.evolve.calibrated import COARSE, MANY, alone, of_models
from outrisk.evolve.closing import BRIEF, Closing, make
from outrisk.evolve.compiled.choices import choose
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.freely import Freely
from outrisk.evolve.in_pairs import changed_in_pairs
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.problem import Problem
from outrisk.evolve.swaps import Edits, aimed, changed_alone
from outrisk.evolve.tilted import INSIDE
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array
from outrisk.problem.refit import NEAR

SIZES, SMALLER = (50.0, 4.0), 0.8  # first and last, in what a number may miss; by which factor they fall
IDLE = 2  # rounds without gain, after which they do
PATIENT = 3, 2  # times STILL without a nearer data set; beside tables
TURNS = 8, 4  # rounds in a generation; beside tables, where they take longer
TRIES, SEEN = 15, 250  # changes drawn of a record; records of which changes are summed up
PROPOSALS, HEATS = 30_000, (1.0, 0.02)  # of annealing in a round; first and last, of the mean square of what is missed
PEOPLE = 4, 8  # times TUNING.anew: records up to which it is done so; beside tables
EACH = 60  # times the numbers: the same
PACE, LEAST = (0.7, 1.3), 10  # records of the next round, after one without gain and one with; at least


@dataclass
class BySize(Freely):
    """The state: what brings numbers to their digits beside tables, once all have been near; the size, in what a number
    may miss, below which changes are left for later; how many records, or pairs of them, a round looks at; and while S
    stands, which equations it is for (q,), what each may miss (q,), and the root of (I + S)^-1, (q, q).
    """

    after: Closing | None = None
    size: float = SIZES[0]
    some: float = float(TUNING.anew)
    keys: NDArray[np.int64] | None = None
    unit: Array | None = None
    root: Array | None = None

    @property
    def beside(self) -> bool:
        """Whether tables are beside."""
        return self.after is not None

    def now(self, near: bool) -> Closing:
        """This one, or the other one once all numbers have been `near`."""
        return self.after if near and self.after is not None else self

    @property
    def alone(self) -> bool:
        """Whether regressions stand without a table."""
        return not self.beside

    @property
    def resizes(self) -> bool:
        """Whether classes change their sizes within rounded counts: one person more or fewer shows in what is printed
        of a class of few, and where all counts are kept as they came about, nothing puts that right.
        """
        return self.beside

    @property
    def turns(self) -> int:
        """Rounds in a generation, at most, as they are brief."""
        return TURNS[self.beside]

    @property
    def patient(self) -> int:
        """For how many times STILL it goes on, with no nearer data set, until it begins from another start."""
        return PATIENT[self.beside]

    @property
    def last(self) -> bool:
        """Whether a run has done its work where it ends: beside tables as that says which it ends with."""
        return self.after is None or self.after.last

    def ended(self, waited: int, near: bool) -> bool:
        """Beside tables a start has its time whatever those before came to; without, another one is soon made."""
        return super().ended(self.standing.waited if self.beside else waited, near)

    def merit(self, equations: Equations) -> float:
        """Sum of squares of what is missed and smaller changes cannot put right; of what S does not stand for, as a
        count that has left its range since, of all that is missed.
        """
        if self.keys is None or self.unit is None or self.root is None:
            return np.inf
        _, here, there = np.intersect1d(self.keys, equations.keys, return_indices=True)
        beyond, missed = _beyond(equations), np.zeros(len(self.keys))
        missed[here] = beyond[there]
        left, others = (missed / self.unit) @ self.root, np.delete(beyond / _unit(equations), there)
        return float(left @ left + others @ others)

    def _left(self, equations: Equations) -> Array | None:
        """What is missed, so measured, (q,); None where S stands for other numbers."""
        if self.keys is None or self.unit is None or self.root is None:
            return None
        if not np.array_equal(self.keys, equations.keys):
            return None
        return np.asarray((_beyond(equations) / self.unit) @ self.root)

    def tighten(self, equations: Equations) -> None:
        """Go on to smaller changes once numbers are met but for these, or come no nearer; from the smallest to the
        largest again.
        """
        left = self._left(equations)
        if left is not None and (self.idle >= IDLE or left @ left < TUNING.settled * len(left)):
            smaller = SMALLER * self.size
            self.size, self.idle, self.root = smaller if smaller >= SIZES[1] else SIZES[0], 0, None

    def learn(self, gained: bool, near: bool, rng: np.random.Generator) -> bool:
        """Whether what a round came to goes on: where it gained. The next one looks at more records then, else at
        fewer: of many that change at once, the numbers are no longer what they are to first order.
        """
        self.rounds += 1
        self.idle = 0 if gained else self.idle + 1
        self.some = float(np.clip(self.some * PACE[gained], LEAST, TUNING.anew))
        return gained

    def round(self, codes: Codes, equations: Equations, linear: Linear, rng: np.random.Generator) -> bool:
        """One round, in place: of changes of each of some records, none or one. Returns whether there was any."""
        left = self._left(equations)
        if left is None:
            left = self._measure(equations, codes, rng)
        assert self.unit is not None
        assert self.root is not None
        edits, owner = self._owned(codes, equations, self.some, rng)
        if not edits.count or not len(left):
            return False
        order = np.argsort(owner, kind="stable")
        first = np.flatnonzero(np.diff(owner[order], prepend=-1, append=-1))
        hot, cold = np.array(HEATS) * float(left @ left) / len(left)
        rows = np.ascontiguousarray((_rows(equations, codes, edits) / self.unit)[order] @ self.root)
        make(codes, edits, order[choose(rows, first, left, hot, cold, PROPOSALS, rng)])
        return True

    def _owned(
        self, codes: Codes, equations: Equations, some: float, rng: np.random.Generator
    ) -> tuple[Edits, NDArray[np.int64]]:
        """Changes of so many records at most, drawn at random, or of pairs beside tables; and which of these each is
        of, (count,). Beside tables also of those that alone would make up for what a sum of values misses.
        """
        if self.beside:
            edits, pair = changed_in_pairs(equations.problem, codes, equations, int(some), rng)
            sums = aimed(equations, codes, rng)
            owner = len(codes) + np.arange(len(codes))
            owner[edits.record] = pair[edits.of]
            return edits.beside(sums), np.concatenate([pair, owner[sums.record]])
        who = np.repeat(np.sort(rng.permutation(len(codes))[: int(some)]), TRIES)
        edits = changed_alone(equations.problem, codes, who, rng)
        return edits, edits.record

    def _measure(self, equations: Equations, codes: Codes, rng: np.random.Generator) -> Array:
        """Sum up the changes below the size, and return what is missed beyond them, (q,)."""
        self.keys, self.unit = equations.keys, _unit(equations)
        edits, _ = self._owned(codes, equations, SEEN, rng)
        rows = _rows(equations, codes, edits) / self.unit
        rows = rows[(rows**2).sum(axis=1) < self.size**2]
        times = len(codes) / (1 + self.beside) / max(edits.count, 1)
        values, vectors = np.linalg.eigh(np.eye(len(self.unit)) + times * (rows.T @ rows))
        self.root = vectors / np.sqrt(values)
        return np.asarray((_beyond(equations) / self.unit) @ self.root)


def _coarse(equations: Equations) -> NDArray[np.bool_]:
    """Which numbers (q,) are printed so coarsely that anywhere within their digits they are as good as met."""
    return np.asarray(equations.half > COARSE * equations.error)


def _unit(equations: Equations) -> Array:
    """What each number may miss (q,), the less the more important its output is."""
    half = np.where(_coarse(equations), 1.0 - INSIDE, INSIDE) * equations.half
    weight = np.sqrt(equations.problem.importance[equations.number])
    return np.asarray(np.maximum(half, INSIDE * NEAR * equations.error) / weight)


def _beyond(equations: Equations) -> Array:
    """What numbers miss (q,), beyond their digits where these are coarse."""
    inside = np.where(_coarse(equations), INSIDE * equations.half, 0.0)
    return equations.missing - np.clip(equations.missing, -inside, inside)


def _rows(equations: Equations, codes: Codes, edits: Edits) -> Array:
    """What changes change the numbers by, (count, q): as `changes_by`, but what a record adds now, of which there are
    many changes, is worked out once.
    """
    records, of = np.unique(edits.record, return_inverse=True)
    return np.asarray(edits.sums @ (equations.rows(edits.after) - equations.rows(codes[records])[of]))


def closing_of(problem: Problem) -> Closing:
    """The state of closing in, at its beginning."""
    few, numbers = problem.n_records <= TUNING.anew, int(problem.known.sum())
    beside, models = not alone(problem), of_models(problem)
    # of many numbers a start takes long, and they come near slowly, but surely
    brief = models > BRIEF and problem.large
    swaps = Closing(brief=brief, few=few, again=few or numbers <= MANY) if beside else None
    if problem.n_records <= min(PEOPLE[beside] * TUNING.anew, EACH * numbers) and (not beside or 0 < models <= BRIEF):
        return BySize(few=True, after=swaps)
    return swaps or Freely(few=few)
