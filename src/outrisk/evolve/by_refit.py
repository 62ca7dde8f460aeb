"""A data set's released numbers by refit, where to first order the search would be done.

First order is exact for tallies alone. Of few records, or of few digits, what lies beyond it can tip a last digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from outrisk.evolve.candidate import Candidate
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.number_errors import Errors, errors_of
from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import Array
from outrisk.problem.refit import refit_all
from outrisk.problem.released import ModelPart


@dataclass(frozen=True, eq=False)
class ByRefit:
    """All errors of a data set by refit; how many numbers are neither right at their digits nor within 1 % of their
    sampling error; and what numbers of models are beyond first order (total k,), 0 where a refit has none.
    """

    errors: Errors
    far: int
    beyond: Array

    @property
    def near(self) -> bool:
        """Whether none is far."""
        return not self.far


def by_refit(problem: Problem, candidate: Candidate) -> ByRefit:
    """Refit all outputs on a candidate."""
    refits = refit_all(problem.released, problem.codebook, problem.whole(candidate.codes))
    numbers = np.concatenate([refit.numbers for refit in refits])
    far = np.concatenate([refit.released.distance(refit.numbers) for refit in refits])
    linear = linearise(problem, candidate.codes, candidate.totals, "precision")
    of_model = np.concatenate([np.full(part.n_numbers, isinstance(part, ModelPart)) for part in problem.parts])
    beyond = numbers - linear.numbers(candidate.totals)
    errors = errors_of(problem, np.where(np.isfinite(far), far, np.inf), candidate.totals, linear.informations)
    if all(refit.matched.all() for refit in refits):  # in print, if by less than first order is sure of
        errors = replace(errors, missed=0.0, matched=errors.numbers)
    return ByRefit(
        errors,
        sum(int((~refit.near).sum()) for refit in refits),
        np.where(of_model & np.isfinite(beyond), beyond, 0.0),
    )
