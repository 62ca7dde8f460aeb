"""Closing in on all numbers at once, by batches of swaps that add up to what is missing.

Around a data set that is near, every number changes by a sum over records (around.py). A batch of swaps that leave
tables of counts as they are is drawn, and those of them are made whose changes of all other numbers add up to what
these miss (balance.py). What is left is due to the few swaps that are whole for no other reason than that they must be,
so it is of the size of a swap: as numbers come nearer, smaller ones are used, between records that are nearly alike. A
search that makes a swap where it alone does good has to go along a narrow valley, in which nearly every swap makes some
number worse. Of many numbers, which have few rounds, those that are near count as met until all have been.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.acceptance import Standing
from outrisk.evolve.around import Equations, equations_at
from outrisk.evolve.balance import SWEEPS, balanced, shares_to
from outrisk.evolve.by_kinds import exchanged_by_kinds
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled import cube
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.mending import MOST
from outrisk.evolve.schedule import STILL
from outrisk.evolve.swaps import Edits, aimed, changes_by, draw_swaps, drawn_alike, within
from outrisk.evolve.tilted import INSIDE
from outrisk.evolve.tuning import TUNING
from outrisk.evolve.weights import pressed
from outrisk.problem.blocks import Array
from outrisk.problem.refit import NEAR

SEEN = 40_000  # records of which it is asked how they bear on a number, or that swaps of either kind are drawn among
KICK = 3  # rounds without gain, the last of which goes on all the same
KICKS = 30, 8  # such rounds, at most; of few people
PATIENT = 3, 5  # times STILL that it goes on with no nearer data set; of few people
NEARER = 2  # the same, once all numbers have been near
EARLY, LATE = 30, 300  # rounds that it has at least; times the numbers that are far, after which it does not go on
FAR, HEAVY = 20, 30.0  # numbers far, up to which there is emphasis on them; what it grows to at most
BRIEF, FEW = 250, 2  # numbers of regressions beyond which rounds are few of a large problem (mixed); how many
EACH = 8  # records for each swap that is kept, at least
LESS = 0.9  # of how far inside its digits a number was to be brought, each round that it is far
OTHERS = 3  # times the numbers, of the swaps not made by their shares that may be made after all
HEAT = 0.1  # of the mean square of what is missed, that annealing begins with where numbers may be off


@dataclass
class Closing:
    """How near the numbers are to be brought, in sampling errors; how much they may miss of that for the sake of few
    swaps; their sampling errors (total k,); rounds, those of late without gain, and those that went on all the same;
    generations in which tables of counts were mended, and how many there had been when sums of values were last met;
    whether rounds are few, as they take long; whether people are so few that it begins from another start wherever it
    stands still; whether numbers are so few that it does where it is in vain; swaps that change little, drawn in
    earlier rounds, and what their records were; what emphasis is on each number (total k,), None at first; how far
    inside coarse digits each is to be brought, in sampling errors, None: one; whether all numbers have been near; and
    how its own nearest data set stands.
    """

    near: float = TUNING.near[0]
    slack: float = TUNING.slack[1]
    errors: Array | None = None
    rounds: int = 0
    idle: int = 0
    kicks: int = 0
    mended: int = 0
    summed: int = -1
    brief: bool = False
    few: bool = False
    again: bool = True
    small: list[NDArray[Any]] = field(default_factory=list)
    emphasis: Array | None = None
    inside: Array | None = None
    arrived: bool = False
    standing: Standing = field(default_factory=Standing)

    @property
    def turns(self) -> int:
        """Rounds in a generation, at most."""
        return 1

    @property
    def alone(self) -> bool:
        """Whether regressions stand without a table."""
        return False

    @property
    def resizes(self) -> bool:
        """Whether classes change their sizes within rounded counts: of more than few people, swaps do as well."""
        return False

    @property
    def last(self) -> bool:
        """Whether a run has done its work where it ends and all numbers are near: unless it is brief, what follows
        brings no more numbers to their digits, but of few people.
        """
        return self.alone or not (self.brief or self.few)

    def now(self, near: bool) -> Closing:
        """The state of what closes in, whether or not all numbers have been `near`."""
        return self

    def look(self, linear: Linear, candidate: Candidate, afresh: bool) -> Equations:
        """The equations around a data set; `afresh`: with its own sampling errors, now and then."""
        if self.errors is None or (afresh and (self.rounds + self.mended) % (2 * TUNING.stuck) == 0):
            self.errors = np.nan_to_num(linear.problem.sampling_errors(candidate.codes))
        return equations_at(linear, candidate, self.errors, self.resizes)

    def kept(self, codes: Codes) -> Edits | None:
        """Those of the swaps kept whose records are as they were."""
        if not self.small:
            return None
        record, after, of, before = self.small
        edits = Edits(record, after, of, int(of.max(initial=-1)) + 1)
        changed = (codes[edits.record] != before).any(axis=1)
        return edits.some(np.bincount(edits.of, changed, edits.count) == 0)

    def keep(self, codes: Codes, edits: Edits, size: Array) -> None:
        """Keep those of the swaps that change numbers least, but do, of which `size` (count,) says how much."""
        least = np.argsort(np.where(size > 0.0, size, np.inf))[: min(TUNING.swaps // 4, len(codes) // EACH)]
        some = np.zeros(edits.count, np.bool_)
        some[least] = size[least] > 0.0
        edits = edits.some(some)
        self.small = [edits.record, edits.after, edits.of, codes[edits.record]]

    def mends(self, out: int) -> bool:
        """Whether tables of counts are mended in this generation, so many counts being out of their ranges."""
        most = MOST * (1 + self.rounds // (2 * TUNING.stuck))
        self.mended += out > 0 and self.mended < most
        return out > 0 and self.mended < most

    def sums_are_due(self) -> bool:
        """Whether sums of values are to be met now: once after each time that counts, their ground, were mended."""
        due, self.summed = self.summed != self.mended, self.mended
        return due

    def _wanted(self, equations: Equations) -> Array:
        """What each number (q,) is to be brought to."""
        held = np.minimum(TUNING.half * equations.half, self._within(equations))
        return np.maximum(held, self.near * equations.error)

    def scale(self, equations: Equations) -> Array:
        """The same, as emphasis is on them, and as important as their outputs are."""
        wanted = self._wanted(equations) / np.sqrt(equations.problem.importance[equations.number])
        return wanted if self.emphasis is None else np.asarray(wanted / self.emphasis[equations.number])

    def _free(self, equations: Equations) -> Array:
        """By how much each number (q,) may be off for nothing: of many numbers by most of what makes it near, until all
        have been.
        """
        near = np.maximum(NEAR * equations.error, self._digits(equations))
        return np.asarray(INSIDE * near) if self.brief and not self.arrived else np.zeros(len(near))

    def _missing(self, equations: Equations) -> Array:
        """What numbers (q,) miss of the middle of their digits or, where half of these is more than a sampling error,
        of where they are so far inside: the way to the middle may be longer than any swaps go that leave tables as
        they are, and they may be truly near an end of their digits.
        """
        near = equations.half - self._digits(equations)
        return equations.missing - np.clip(equations.missing, -near, near)

    def _digits(self, equations: Equations) -> Array:
        """By how much numbers (q,) may miss that and be at their digits."""
        return np.minimum(equations.half, self._within(equations))

    def _within(self, equations: Equations) -> Array:
        """How far inside their digits numbers (q,) are to be brought, where these are coarse."""
        return equations.error * (1.0 if self.inside is None else self.inside[equations.number])

    def _beyond(self, equations: Equations, missing: Array) -> Array:
        """What numbers that miss so much (q,) are beyond what they may."""
        beyond = np.maximum(np.abs(missing) - self._free(equations), 0.0)
        return np.where(np.abs(missing) <= self._digits(equations), 0.0, beyond)

    def merit(self, equations: Equations) -> float:
        """Sum of squares of what numbers miss beyond what they may, in what they are to be brought to."""
        return _squares(self._beyond(equations, self._missing(equations)) / self.scale(equations))

    def tighten(self, equations: Equations) -> None:
        """Lay more emphasis on the last few numbers that are far (Morris 1993). Bring all nearer, once they are as near
        as they were to be: beyond a point, once all are near.
        """
        off = np.abs(equations.off)
        far = off > NEAR * equations.error
        self.arrived |= not far.any()
        if 0 < far.sum() <= FAR:
            self.emphasis = np.minimum(self.pressed(equations, far), HEAVY)
            self._bring_less_far(equations, far)
        least = TUNING.near[1] if (off <= 0.5 * NEAR * equations.error).all() else 0.5 * NEAR
        while self.near > least and _squares(off / self._wanted(equations)) < TUNING.settled * len(off):
            self.near = max(least, TUNING.nearer * self.near)

    def _bring_less_far(self, equations: Equations, far: NDArray[np.bool_]) -> None:
        """Ask numbers (q,) that are far to come less far inside coarse digits than before: they may truly be near an
        end of these, where other numbers tell more.
        """
        if self.inside is None:
            self.inside = np.ones(len(equations.problem.tolerance))
        at = equations.number[far]
        self.inside[at] = np.maximum(LESS * self.inside[at], NEAR)

    def pressed(self, equations: Equations, some: NDArray[np.bool_]) -> Array:
        """The emphasis (total k,) once there is more on some of the equations (q,)."""
        which = np.zeros(len(equations.problem.tolerance), np.bool_)
        which[equations.number[some]] = True
        return pressed(np.ones(len(which)) if self.emphasis is None else self.emphasis, which)

    def learn(self, gained: bool, near: bool, rng: np.random.Generator) -> bool:
        """Leave to chance how many swaps the next round makes. Returns whether what this one came to goes on: without
        gain now and then, and then with no emphasis, to get out of where it stands still (iterated local search),
        whether or not all have been `near`; less often of few people.
        """
        self.rounds += 1
        self.idle = 0 if gained else self.idle + 1
        self.slack = float(np.exp(rng.uniform(*np.log(TUNING.slack))))
        if self.idle == KICK and self.kicks < KICKS[self.few]:
            self.kicks, self.idle, self.emphasis = self.kicks + 1, 0, None
        return self.idle == 0

    def round(self, codes: Codes, equations: Equations, linear: Linear, rng: np.random.Generator) -> bool:
        """One round, in place. Returns whether, to first order, it gains."""
        scale = self.scale(equations)
        missing, free = self._missing(equations) / scale, self._free(equations) / scale
        asked, wide = self._asked(equations, missing, free)
        loose = bool(free.any())
        edits = self._drawn(codes, equations, linear, asked, rng)
        rows = changes_by(equations, codes, edits) / scale
        size = np.sqrt(((rows / wide) ** 2).sum(axis=1))
        self.keep(codes, edits, size)
        some = self.short(size, asked, rng)
        if len(some) < 2:
            return False
        rows = np.ascontiguousarray(rows[some])
        narrow = np.ascontiguousarray(rows / wide)
        shares = shares_to(narrow, asked, TUNING.share, self.slack)
        polish, others = 0 if loose else SWEEPS, OTHERS * len(asked) if linear.problem.bends else None
        taken, off = balanced(narrow, shares, asked, np.argsort(-size[some]), polish, rng, others)
        if loose:
            off = taken @ rows - missing
            left = np.maximum(np.abs(off) - free, 0.0)
            cube.settle(rows, taken, off, free, HEAT * _squares(left) / len(off), SWEEPS, rng)
        make(codes, edits, some[taken])
        return _squares(self._beyond(equations, off * scale) / scale) < self.merit(equations)

    def _asked(self, equations: Equations, missing: Array, free: Array) -> tuple[Array, Array]:
        """What a round's swaps are to add up to, and what each number is measured in for that, (q,) both: nothing for
        numbers that are met, and where they may be off, these count for little.
        """
        if not free.any():
            met = np.abs(equations.missing) <= 2.0 * TUNING.half * equations.half
            return np.where(met, 0.0, missing), np.ones(len(missing))
        beyond = missing - np.clip(missing, -free, free)
        inside = beyond == 0.0
        wide = np.where(inside, np.maximum(0.5 * free, 1.0), 1.0)
        return np.where(inside, 0.0, beyond + np.sign(missing) * np.minimum(0.5 * free, 1.0)) / wide, wide

    def _drawn(
        self, codes: Codes, equations: Equations, linear: Linear, asked: Array, rng: np.random.Generator
    ) -> Edits:
        """Swaps that leave the kept totals as they are, among any records, or those that bear on a number that is off:
        half of them between records that are alike in most, half by sorting.
        """
        kept, sums = self.kept(codes), aimed(equations, codes, rng)
        if sums.count:
            kept = sums if kept is None else sums.beside(kept.without(sums.record))
        who = drawn_from(equations, asked, codes, kept, TUNING.swaps // 3, rng)
        alike, sorted_ = np.array_split(who, 2)
        found = self._swaps(codes, equations, linear, alike[:SEEN], sorted_[:SEEN], rng)
        more = exchanged_by_kinds(equations, asked, codes, rng)
        if more is not None:
            free = more if kept is None else more.without(kept.record)
            found = free.beside(found.without(free.record))
        return within(linear.problem, codes, kept.beside(found) if kept is not None else found, equations.room, rng)

    def _swaps(
        self,
        codes: Codes,
        equations: Equations,
        linear: Linear,
        alike: NDArray[np.int64],
        sorted_: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Edits:
        """Swaps among some records between those that are alike in most, and among others by sorting."""
        found = drawn_alike(linear.problem, codes, alike, equations.kept, linear.ranges, rng)
        return found.beside(draw_swaps(linear.problem, codes, sorted_, equations.kept, equations.loose, rng))

    def reach(self, rng: np.random.Generator) -> float:
        """The longest swap of a round, of what is missed: as numbers come nearer, left to chance, as to move one of
        them alone may take swaps that move many others much.
        """
        least, most = TUNING.reach
        return least if self.near == TUNING.near[0] else float(np.exp(rng.uniform(np.log(least), np.log(most))))

    def short(self, size: Array, asked: Array, rng: np.random.Generator) -> NDArray[np.int64]:
        """Which of the swaps, of sizes (count,), change anything and are no longer than this round's; as many as there
        are numbers asked for (q,) at least.
        """
        limit = self.reach(rng) * float(np.sqrt(asked @ asked))
        if len(asked) < len(size):
            limit = max(limit, float(np.partition(size, len(asked))[len(asked)]))
        return np.flatnonzero((size <= limit) & (size > 0.0))

    def ended(self, waited: int, near: bool) -> bool:
        """Whether it stands still for good, or has had its few rounds; or, once all numbers have been `near`, what it
        gains has brought no nearer data set for long.
        """
        done = near and self.stood(waited, NEARER)
        return done or self.idle >= 2 * TUNING.stuck or (self.brief and self.rounds >= FEW)

    def in_vain(self, waited: int, far: int) -> bool:
        """Whether another start promises more, as long as not all numbers have been near: where what it gains has
        brought no nearer data set for long, or it is late for so many numbers to be far (multistart).
        """
        late = self.standing.waited >= TUNING.stuck and self.rounds >= EARLY and self.rounds * far >= LATE
        return self.again and (late or self.stood(waited, PATIENT[self.few]))

    def stood(self, waited: int, times: int) -> bool:
        """Whether the nearest data set has stood so many times STILL, since it began."""
        return min(self.rounds, waited) >= times * STILL * TUNING.stuck


def _squares(values: Array) -> float:
    return float(values @ values)


def make(codes: Codes, edits: Edits, some: NDArray[np.int64]) -> None:
    """Make some of the swaps, in place."""
    made = np.zeros(edits.count, np.bool_)
    made[some] = True
    which = made[edits.of]
    codes[edits.record[which]] = edits.after[which]


def drawn_from(
    equations: Equations, asked: Array, codes: Codes, kept: Edits | None, few: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Records in random order, but those of swaps kept: all, or, if they are more than `few`, half of the time those
    that bear on a number that is off.
    """
    who: NDArray[np.int64] = rng.permutation(len(codes))
    if len(codes) > few and asked.any() and rng.random() < 0.5:
        who = _around_off(equations, asked, codes, rng)
    return who if kept is None else who[~np.isin(who, kept.record)]


def _around_off(equations: Equations, asked: Array, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """Records that bear most on a number that is off, drawn at random, and half as many others."""
    few = TUNING.swaps // 3
    number = rng.choice(len(asked), p=asked**2 / (asked @ asked))
    seen = rng.permutation(len(codes))[:SEEN]
    weight = np.abs(equations.column(codes[seen], number))
    most = min(int((weight > 0.0).sum()), few)
    chosen = rng.choice(seen, most, replace=False, p=weight / weight.sum()) if most else seen
    return rng.permutation(np.unique(np.concatenate([chosen, seen[: few // 2]])))
