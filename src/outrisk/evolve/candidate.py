"""A candidate: one synthetic data set, how it is drawn, and its fitness."""

from __future__ import annotations

from typing import Any

import numpy as np
from deap import base

from outrisk.errors import EvolveError
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.problem import Problem
from outrisk.evolve.start import Draw
from outrisk.problem.blocks import Array, breaks_rule

FEW = 8  # times the records changed that all are, beyond which totals follow from these
_REDRAWS = 1000  # rounds of drawing records again that break a rule


class Error(base.Fitness):  # type: ignore[misc]
    """Fitness of a candidate: its error, the smaller the better."""

    weights = (-1.0,)


class Candidate:
    """One synthetic data set: codes (n_records, n_variables), their totals (m,) and their fitness."""

    def __init__(self, codes: Codes, totals: Array) -> None:
        self.codes = codes
        self.totals = totals
        self.fitness = Error()

    def become(self, other: Candidate) -> None:
        """Take over another candidate's data, in this one's memory; the fitness is to be evaluated."""
        np.copyto(self.codes, other.codes)
        np.copyto(self.totals, other.totals)
        del self.fitness.values

    def changed_from(self, other: Candidate, problem: Problem) -> None:
        """Work out the totals of data that were changed from another candidate's: by the records changed alone, where
        these are few.
        """
        changed = (self.codes != other.codes).any(axis=1)
        if FEW * changed.sum() > len(changed):
            self.totals = problem.totals(self.codes)
        else:
            before, after = (problem.totals(each.codes[changed]) for each in (other, self))
            self.totals = other.totals + (after - before)

    def __deepcopy__(self, memo: dict[int, Any]) -> Candidate:
        twin = Candidate(self.codes.copy(), self.totals.copy())
        if self.fitness.valid:
            twin.fitness.values = self.fitness.values
        return twin


def draw_candidate(problem: Problem, draw: Draw, rng: np.random.Generator) -> Candidate:
    """A candidate as drawn; records that break a rule are drawn again. EvolveError if some still do in the end."""
    codes = problem.whole(draw(problem.n_records, rng))
    rows = np.flatnonzero(breaks_rule(problem.rules, codes))
    for _ in range(_REDRAWS):
        if not len(rows):
            return Candidate(codes, problem.totals(codes))
        codes[rows] = problem.whole(draw(len(rows), rng))
        rows = rows[breaks_rule(problem.rules, codes[rows])]
    raise EvolveError(
        f"{len(rows):,} of {problem.n_records:,} records still break a rule after being drawn {_REDRAWS} times: "
        "rules and released numbers hardly fit together; check both"
    )


def evaluate(candidate: Candidate, linear: Linear) -> tuple[float]:
    """DEAP's evaluation: the fitness as a tuple of one."""
    return (linear.fitness(candidate.totals),)
