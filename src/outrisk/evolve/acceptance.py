"""Which data set goes on, which one is kept as the nearest so far, and when a search stands still."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np

from outrisk.evolve.by_refit import by_refit
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.number_errors import GAIN, Errors
from outrisk.evolve.problem import Problem
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array
from outrisk.problem.refit import NEAR

STILL = 1e-3  # relative fall of the error below which a generation is without gain


@dataclass
class Standstill:
    """The least error so far, and the generation that reached it; whether another start is to follow."""

    least: float = np.inf
    since: int = 0
    over: bool = False

    def see(self, number: int, error: float) -> int:
        """Take note of a generation's error; returns for how many generations there has been no gain."""
        if error < self.least * (1.0 - STILL):
            self.least, self.since = error, number
        return number - self.since


@dataclass
class Settled:
    """The nearest data set so far of which every number is within 1 % of its sampling error to first order, if there is
    one; the nearest that a refit agreed with; whether the former has had none yet, and in which generation one was
    asked for last; and what numbers are beyond first order (total k,), once first order was not enough. problem: with
    the coefficients that were not published where the run has taken them (`told`, of each part, where it has any);
    given: where it began with them.
    """

    problem: Problem
    given: Problem
    allowed: Array | None = None  # (total k,)
    looked: int = 0
    candidate: Candidate | None = None
    errors: Errors | None = None
    sure: Candidate | None = None
    sure_errors: Errors | None = None
    unasked: bool = False
    asked: int = 0
    beyond: Array | None = None
    told: list[Array] = field(default_factory=list)

    def far(self, number: int, candidate: Candidate, distances: Array) -> int:
        """How many numbers of the data set of a generation, off by `distances` (total k,), are neither that near nor at
        their digits.
        """
        if self.allowed is None or number - self.looked >= 8 * TUNING.stuck:  # they hardly change
            near = NEAR * np.nan_to_num(self.problem.sampling_errors(candidate.codes))
            self.allowed, self.looked = np.maximum(near, self.problem.tolerance), number
        return int((np.abs(distances) > self.allowed)[self.problem.known].sum())

    def see(self, candidate: Candidate, errors: Errors) -> None:
        """Take note of a data set of which every number is."""
        if self.errors is None or errors.missed < self.errors.missed:
            self.candidate, self.errors, self.unasked = deepcopy(candidate), errors, True

    def due(self, number: int) -> bool:
        """Whether a refit is due in this generation: of the first such data set, and of later ones now and then."""
        return self.unasked and (self.sure is None or number - self.asked >= 2 * TUNING.stuck)

    def stands(self) -> bool:
        """Whether a refit agrees, or did with another data set before, which it is then; else there is none from now
        on. Where it finds other numbers at their digits, they are taken as it had them. Asked once of each data set.
        """
        if not self.unasked:
            return self.candidate is not None
        assert self.candidate is not None
        assert self.errors is not None
        found, self.unasked = by_refit(self.problem, self.candidate), False
        if not found.near or found.errors.matched != self.errors.matched:
            self.beyond = found.beyond
        if found.near and (self.sure_errors is None or found.errors.missed < self.sure_errors.missed):
            self.sure, self.sure_errors = self.candidate, found.errors
        self.candidate, self.errors = self.sure, self.sure_errors
        return self.candidate is not None


@dataclass
class Standing:
    """How many numbers are far of the nearest data set since a start, what it misses, and generations since then."""

    far: int = 0
    missed: float = np.inf
    waited: int = 0

    def see(self, errors: Errors, far: int) -> None:
        """Take note of a data set, as `Nearest` does."""
        if np.isinf(self.missed) or (far, errors.missed) < (self.far, self.missed):
            self.far, self.missed, self.waited = far, errors.missed, 0
        else:
            self.waited += 1


@dataclass
class Nearest:
    """The data set nearest to the released numbers so far: where weights change, the search may go back. far: how many
    of its numbers are neither at their digits nor within 1 % of their sampling error. waited: generations since; where
    none is, since so much less was missed that it was worth that another is waited for. missed: what was by then.
    """

    candidate: Candidate | None = None
    errors: Errors | None = None
    far: int = 0
    waited: int = 0
    missed: float = np.inf

    def see(self, candidate: Candidate, errors: Errors, far: int) -> None:
        """Become this data set if fewer of its numbers are far, or as many and it misses less."""
        self.waited += 1
        if self.candidate is None or self.errors is None or (far, errors.missed) < (self.far, self.errors.missed):
            if far or self.far or errors.missed < GAIN * self.missed:
                self.missed, self.waited = errors.missed, 0
            self.candidate, self.errors, self.far = deepcopy(candidate), errors, far
