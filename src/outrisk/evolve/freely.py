"""Closing in where regressions stand without a table: any value of any record may change.

As in closing.py, changes are chosen by shares that add up to what numbers miss, and made whole. But a number counts as
met anywhere within its printed digits: of a release of regressions most numbers are printed far more coarsely than
their sampling errors, and to hold these to the middle of their digits takes from the few that are not what they need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from outrisk.evolve.around import Equations
from outrisk.evolve.closing import KICK, NEARER, Closing, drawn_from
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.swaps import Edits, changed_alone
from outrisk.evolve.tilted import INSIDE, LEAST
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array
from outrisk.problem.refit import NEAR

PATIENT = 10  # times STILL that it goes on, kicked again and again, until all numbers have been near


@dataclass
class Freely(Closing):
    """The state of closing in where no table is kept; nothing is in vain before it has ended."""

    again: bool = False

    @property
    def alone(self) -> bool:
        """It is for these."""
        return True

    @property
    def patient(self) -> int:
        """For how many times STILL it goes on, with no nearer data set, until all numbers have been near."""
        return PATIENT

    def _wanted(self, equations: Equations) -> Array:
        return np.maximum(LEAST * equations.half, self.near * equations.error)

    def _free(self, equations: Equations) -> Array:
        """By how much each number (q,) may be off for nothing: within its digits, always."""
        return np.asarray(INSIDE * equations.half)

    def _missing(self, equations: Equations) -> Array:
        return equations.missing

    def _beyond(self, equations: Equations, missing: Array) -> Array:
        return np.maximum(np.abs(missing) - self._free(equations), 0.0)

    def tighten(self, equations: Equations) -> None:
        """Lay more emphasis on the numbers that are far, or, where none is, off their digits (Morris 1993); bring all
        nearer, once they are as near as they were to be.
        """
        off = np.abs(equations.off)
        far = off > NEAR * equations.error
        self.emphasis = self.pressed(equations, far if far.any() else off > 0.0)
        beyond = self._beyond(equations, equations.missing)
        while self.near > TUNING.near[1] and np.mean((beyond / self._wanted(equations)) ** 2) < TUNING.settled:
            self.near = max(TUNING.near[1], TUNING.nearer * self.near)

    def learn(self, gained: bool, near: bool, rng: np.random.Generator) -> bool:
        """Leave to chance how many changes the next round makes. What this one came to goes on if it gained; until all
        numbers have been near, also where the rounds before did not either, with no emphasis then (iterated local
        search).
        """
        self.rounds += 1
        self.idle = 0 if gained else self.idle + 1
        self.slack = float(np.exp(rng.uniform(*np.log(TUNING.slack))))
        kicked = self.idle >= KICK and not near
        if kicked:
            self.kicks, self.idle, self.emphasis, self.near = self.kicks + 1, 0, None, TUNING.near[0]
        return gained or kicked

    def ended(self, waited: int, near: bool) -> bool:
        """Whether it has come no nearer for so many generations that it may end."""
        return self.stood(waited, NEARER if near else self.patient)

    def _drawn(
        self, codes: Codes, equations: Equations, linear: Linear, asked: Array, rng: np.random.Generator
    ) -> Edits:
        """Of any records, or those that bear on a number that is off: changes of one each, and swaps, of which what
        numbers change by is smaller.
        """
        kept = self.kept(codes)
        who = drawn_from(equations, asked, codes, kept, 0, rng)[: 3 * TUNING.swaps]
        alone, alike, sorted_ = np.split(who, [4 * len(who) // 6, 5 * len(who) // 6])
        edits = changed_alone(linear.problem, codes, alone, rng)
        edits = edits.beside(self._swaps(codes, equations, linear, alike, sorted_, rng))
        return kept.beside(edits) if kept is not None else edits
