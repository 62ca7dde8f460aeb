"""Closing in where regressions stand without a table: any change of any record may be used.

As in closing.py, changes are chosen by shares that add up to what numbers miss, and made whole. But a number counts as
met anywhere within its printed digits: of a release of regressions most numbers are printed far more coarsely than
their sampling errors, and to hold these to the middle of their digits takes from the few that are not what they need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.around import Equations
from outrisk.evolve.balance import balanced, shares_to
from outrisk.evolve.calibrated import alone, of_models
from outrisk.evolve.candidate import Candidate, breaks_rule
from outrisk.evolve.closing import BRIEF, SWEEPS, Closing, changes_by, drawn_from, make
from outrisk.evolve.compiled import cube
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.problem import Problem
from outrisk.evolve.swaps import Edits
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array

SINGLE, ALSO = 0.4, 0.3  # share of the records that change by themselves; of these, that change in two variables
TURNS, EACH = 6, 0.1  # of pairing the others, for some variables each; share of them that is paired in one
LEAST = 0.02  # of half a last digit: what a number beyond its digits is brought to, at least
REACH = 0.5, 2.0  # longest change, of what is missed: while far, nearer


@dataclass
class Freely(Closing):
    """The state of closing in where no table is kept."""

    def merit(self, equations: Equations) -> float:
        """Sum of squares of what numbers are beyond their digits, in what they are to be brought to."""
        beyond = np.maximum(np.abs(equations.missing) - _band(equations), 0.0) / self._unit(equations)
        return float(beyond @ beyond)

    def _unit(self, equations: Equations) -> Array:
        return np.maximum(LEAST * equations.half, self.near * equations.error)

    def reach(self, rng: np.random.Generator) -> float:
        """The longest change of a round, of what is missed."""
        return REACH[self.near < TUNING.near[0]]

    def round(self, candidate: Candidate, equations: Equations, linear: Linear, rng: np.random.Generator) -> None:
        """One round, in place."""
        unit = self._unit(equations)
        band, missing = _band(equations) / unit, equations.missing / unit
        beyond = np.sign(missing) * np.maximum(np.abs(missing) - band, 0.0)
        inside = beyond == 0.0
        wide = np.where(inside, np.maximum(0.5 * band, 1.0), 1.0)
        asked = np.where(inside, 0.0, beyond + np.sign(missing) * np.minimum(0.5 * band, 1.0)) / wide
        edits = self._drawn(candidate.codes, equations, linear.problem, asked, rng)
        rows = changes_by(equations, candidate.codes, edits) / unit
        size = np.sqrt(((rows / wide) ** 2).sum(axis=1))
        self.keep(candidate.codes, edits, size)
        some = self.short(size, asked, rng)
        if len(some) < 2:
            return
        rows = np.ascontiguousarray(rows[some])
        narrow = np.ascontiguousarray(rows / wide)
        shares = shares_to(narrow, asked, TUNING.share, self.slack)
        taken, _ = balanced(narrow, shares, asked, np.argsort(-size[some]), 0, rng)
        off = taken @ rows - missing
        left = np.maximum(np.abs(off) - band, 0.0)
        cube.settle(rows, taken, off, band, float(left @ left) / len(off), SWEEPS, rng)
        make(candidate, linear.problem, edits, some[taken])

    def _drawn(
        self, codes: Codes, equations: Equations, problem: Problem, asked: Array, rng: np.random.Generator
    ) -> Edits:
        """Changes of single records and of pairs, of all or of those that bear on a number that is off; no record in
        more than one.
        """
        kept = self.kept(codes)
        who = drawn_from(equations, asked, codes, kept, 0, rng)
        single, other = np.split(who[: 2 * TUNING.swaps], [round(SINGLE * min(len(who), 2 * TUNING.swaps))])
        changed = changed_alone(problem, codes, single, rng).beside(exchanged(problem, codes, other, rng))
        return kept.beside(changed) if kept is not None else changed


def closing_of(problem: Problem) -> Closing:
    """The state of closing in, at its beginning."""
    return Freely() if alone(problem) else Closing(brief=of_models(problem) > BRIEF)


def _band(equations: Equations) -> Array:
    """How far a number may be off (q,)."""
    return 2.0 * TUNING.half * equations.half


def changed_alone(problem: Problem, codes: Codes, who: NDArray[np.int64], rng: np.random.Generator) -> Edits:
    """Records that take another value of one variable, or of two; half of the time the next one."""
    sizes = np.asarray(problem.codebook.sizes)
    after = codes[who]
    every = np.arange(len(who))
    for share in (1.0, ALSO):
        variable = rng.integers(0, len(sizes), len(who))
        size, near = sizes[variable], rng.random(len(who)) < 0.5
        by = np.where(near, rng.choice([-1, 1], len(who)), rng.integers(1, np.maximum(size, 2)))
        new = (after[every, variable].astype(np.int64) + by) % size
        after[every, variable] = np.where(rng.random(len(who)) < share, new, after[every, variable])
    fine = (after != codes[who]).any(axis=1) & ~breaks_rule(problem.rules, after)
    return Edits(who[fine], after[fine], np.arange(fine.sum()), int(fine.sum()))


def exchanged(problem: Problem, codes: Codes, who: NDArray[np.int64], rng: np.random.Generator) -> Edits:
    """Pairs of records that exchange what they have in one variable or two, alike in as many others as may be."""
    p, free = codes.shape[1], who
    pairs, after = [np.zeros((0, 2), np.int64)], [codes[:0].reshape(0, 2, p)]
    for _ in range(TURNS):
        moved = np.zeros(p, np.bool_)
        moved[rng.choice(p, min(int(rng.integers(1, 3)), p), replace=False)] = True
        order = np.lexsort([rng.random(len(free)), *(codes[free, j] for j in rng.permutation(np.flatnonzero(~moved)))])
        both = free[order][: len(free) // 2 * 2].reshape(-1, 2)
        new = codes[both]
        new[:, :, moved] = new[:, ::-1][:, :, moved]
        differ = codes[both[:, 0]] != codes[both[:, 1]]
        fine = differ[:, moved].any(axis=1) & differ[:, ~moved].any(axis=1)
        fine &= ~breaks_rule(problem.rules, new.reshape(-1, p)).reshape(-1, 2).any(axis=1)
        some = rng.permutation(np.flatnonzero(fine))[: max(1, round(EACH * len(who)))]
        pairs.append(both[some])
        after.append(new[some])
        free = np.setdiff1d(free, both[some])
    found = np.concatenate(pairs)
    return Edits(found.ravel(), np.concatenate(after).reshape(-1, p), np.repeat(np.arange(len(found)), 2), len(found))
