"""Which weights the released numbers have, generation by generation.

A search that weighed every number by its last digit from the start would get stuck at once. So it is a continuation
(homotopy: Allgower and Georg 1990): a series of fitness functions, the first easy to lower, the last zero where every
number is right, each begun where the one before ended. The phases:

approach: by sampling errors (chi2), until numbers are near. counts: tables of counts alone, where a model stands beside
them. closing, instead of both after a calibrated start: all numbers by what they miss (see closing.py). together: all
other numbers tighten from their sampling errors to their digits, while swaps are annealed. apart: numbers at their
digits and by their sampling errors in turn, and those that are still off gain weight (penalty weights that are raised
where a constraint is not met: Morris 1993, "breakout"). Where one of the last two phases stands still, the other takes
over.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from outrisk.evolve.calibrated import applies
from outrisk.evolve.number_errors import Errors
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import LocalSearchSettings
from outrisk.evolve.tuning import CLOSING, TUNING
from outrisk.evolve.weights import Fitness
from outrisk.problem.blocks import Array
from outrisk.problem.released import ModelPart

Phase = Literal["approach", "counts", "closing", "together", "apart"]


def tightens(problem: Problem, settings: LocalSearchSettings) -> bool:
    """Whether numbers may have to tighten together, swaps being annealed in batches: those of a model beside another
    output, or beside its own coefficients. Coefficients alone are met without (benchmarks/engine.py).
    """
    models = [part.model for part in problem.parts if isinstance(part, ModelPart)]
    more = len(problem.parts) > 1 or any(model.size > model.n_score for model in models)
    return bool(models) and settings.tighten > 0.0 and more


class Schedule:
    """The phase of a run, and the weights in it."""

    def __init__(self, problem: Problem, settings: LocalSearchSettings) -> None:
        models = sum(isinstance(part, ModelPart) for part in problem.parts)
        self.step = settings.tighten if tightens(problem, settings) else 0.0
        self.crowded = self.step > 0.0 and len(problem.parts) > 1  # outputs stand in each other's way
        self.near = settings.near if models else np.inf
        near_at_once = self.crowded and settings.start == "calibrated" and applies(problem)
        self.phase: Phase = "closing" if near_at_once else "approach"
        self.fitness: Fitness = "tightening" if near_at_once else settings.fitness
        self.tightness, self.cooling = CLOSING.tightness if near_at_once else 0.0, 1.0
        self.emphasis = np.ones(len(problem.tolerance))
        self.waits, self.left = True, np.inf
        self.turned = 0

    @property
    def closing(self) -> bool:
        """Whether numbers still close in, so that standing still means nothing yet."""
        return self.phase in ("counts", "closing", "together") and self.cooling > TUNING.coldest

    def approached(self, problem: Problem, errors: Errors, waited: int) -> bool:
        """End the approach, if numbers are near or come no nearer; returns whether it has ended."""
        if self.phase == "approach" and (errors.off < self.near or waited >= TUNING.stuck):
            counts = self.crowded and problem.counts is not None
            self.phase = "counts" if counts else "together" if self.crowded else "apart"
        return self.phase != "approach"

    def advance(self, number: int, since: int, far: Array, left: float) -> None:
        """Weigh the numbers for the next generation: after generation `number`, where the last gain was made in
        generation `since`, the numbers are off by `far` (total k,) half digits and by the fitness `left` a number.
        """
        if self._turns(number - max(since, self.turned)):
            self.phase = "apart" if self.phase == "together" else "together"
            self.turned, self.tightness, self.cooling = number, TUNING.again, 1.0
            self.emphasis[:] = 1.0
        if self.phase == "together":
            self._tighten(left)
        else:
            self.fitness = "sampling" if self.fitness == "precision" else "precision"
            self.emphasis = 1.0 + (self.emphasis - 1.0) / np.sqrt(TUNING.emphasis)  # lets go half as fast as it grows
            self.emphasis[far > 1.0] *= TUNING.emphasis

    def closed(self, number: int) -> None:
        """End closing in, after generation `number`."""
        self.phase, self.turned, self.tightness = "together", number, CLOSING.after

    def _turns(self, waited: int) -> bool:
        """Whether the other way of weighing takes over, after so many generations without gain in this one."""
        return self.step > 0.0 and not self.closing and waited >= 2 * TUNING.stuck

    def _tighten(self, left: float) -> None:
        """Tighten the numbers a step, a smaller one where they have not settled; then let the temperature fall."""
        if self.fitness == "tightening" and self.tightness < 1.0:
            self.waits, self.left = TUNING.far < left < TUNING.falling * self.left, left
            if self.waits:
                return
            settled = left < TUNING.settled
            self.tightness = min(1.0, self.tightness + self.step * (1.0 if settled else TUNING.slowly))
        elif self.fitness == "tightening":
            self.cooling = max(TUNING.coldest, self.cooling * TUNING.cooling)
        self.fitness = "tightening"
