"""Which weights the released numbers have, generation by generation.

A search that weighed every number by its last digit from the start would get stuck at once. So it is a continuation
(homotopy: Allgower and Georg 1990): a series of fitness functions, the first easy to lower, the last zero where every
number is right, each begun where the one before ended. The phases:

approach: by sampling errors (chi2), until numbers are near. counts: tables of counts alone, where a model stands beside
them. closing, instead of both after a calibrated start, else once the next stands still: all numbers by what they miss
(see closing.py). together: all other numbers tighten from their sampling errors to their digits, while swaps are
annealed; they are held where all would be within 1 % of their sampling errors, those that are not gaining weight, and
let go now and then, each time further, until all have been, or nothing is gained. apart: numbers at their digits and by
their sampling errors in turn, and those that are still off gain weight (penalty weights that are raised where a
constraint is not met: Morris 1993, "breakout"); the last phase of tables without models, and of coefficients alone, as
"together" is that of all else.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from outrisk.evolve.acceptance import Standstill
from outrisk.evolve.calibrated import applies, closes, pull_apart
from outrisk.evolve.number_errors import Errors
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import LocalSearchSettings
from outrisk.evolve.tuning import TUNING
from outrisk.evolve.weights import Fitness, pressed
from outrisk.problem.blocks import Array
from outrisk.problem.refit import NEAR
from outrisk.problem.released import ModelPart

STILL = 4  # times as long as elsewhere is waited before closing in late

Phase = Literal["approach", "counts", "closing", "together", "apart"]


def tightens(problem: Problem, settings: LocalSearchSettings) -> bool:
    """Whether numbers may have to tighten together, swaps being annealed in batches: those of a model, or sums of
    values, beside another output, or a model's beside its own coefficients. Coefficients alone are met without
    (benchmarks/engine.py).
    """
    beside = pull_apart(problem) or any(len(part.blocks) > 1 for part in problem.parts)
    return problem.sums and settings.tighten > 0.0 and beside


class Schedule:
    """The phase of a run, and the weights in it."""

    def __init__(self, problem: Problem, settings: LocalSearchSettings) -> None:
        models = sum(isinstance(part, ModelPart) for part in problem.parts)
        self.step = settings.tighten if tightens(problem, settings) else 0.0
        self.near = settings.near if models else np.inf
        near_at_once = self.step > 0.0 and settings.start == "calibrated" and applies(problem)
        self.phase: Phase = "closing" if near_at_once else "approach"
        self.closes = self.step > 0.0 and closes(problem) and not near_at_once
        self.fitness: Fitness = "tightening" if near_at_once else settings.fitness
        self.tightness = TUNING.tightness[0] if near_at_once else 0.0
        self.emphasis = np.ones(len(problem.tolerance))
        self.counting = Standstill()

    @property
    def closing(self) -> bool:
        """Whether numbers still close in, so that standing still means nothing yet."""
        return self.phase in ("counts", "closing") or (self.phase == "together" and self.tightness < 1.0)

    def approached(self, problem: Problem, errors: Errors, waited: int) -> bool:
        """End the approach, if numbers are near or come no nearer; returns whether it has ended."""
        if self.phase == "approach" and (errors.off < self.near or waited >= TUNING.stuck):
            crowded = self.step > 0.0
            self.phase = "counts" if crowded and problem.counts is not None else "together" if crowded else "apart"
        return self.phase != "approach"

    def closes_now(self, far: int, waited: int) -> bool:
        """Close in, once, where all numbers together stand still: so many generations after the nearest data set, of
        which so many numbers are far. Where none is, they go on to their digits together (logits of 1,000 people).
        """
        if self.phase != "together" or not self.closes or not far or waited < STILL * TUNING.stuck:
            return False
        self.phase, self.fitness, self.tightness, self.closes = "closing", "tightening", TUNING.tightness[0], False
        return True

    def advance(self, far: Array, waited: int, reached: bool) -> None:
        """Weigh the numbers for the next generation, being off by `far` (total k,) of what they may be, so many
        generations after the nearest data set. While some are far they tighten no further than till all would be near;
        unless all have been near once (`reached`), they are let go where none comes nearer, each time further, to
        tighten again.
        """
        if self.phase != "together":
            self.fitness = "sampling" if self.fitness == "precision" else "precision"
            self.emphasis = pressed(self.emphasis, far > 1.0)
            return
        near = np.log(0.5 * NEAR) / np.log(TUNING.narrowest)
        self.fitness = "tightening"
        held = bool((far > 1.0).any()) and waited < (STILL if reached else 4 * STILL) * TUNING.stuck
        if not held or self.tightness < near:
            self.tightness = min(1.0, self.tightness + self.step)
        if self.tightness >= near:
            self.emphasis = pressed(self.emphasis, far > 1.0)
            if held and not reached and waited and waited % (2 * TUNING.stuck) == 0:
                self.tightness = max(0.0, near - waited / 2 * self.step)

    def closed(self) -> None:
        """End closing in."""
        self.phase, self.tightness = "together", TUNING.tightness[1]
