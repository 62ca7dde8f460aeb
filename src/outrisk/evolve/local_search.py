"""Preset `fast`: local search on one synthetic data set.

Each generation a copy of the data set is changed by moves (moves.py), under weights that a schedule draws from sampling
errors to last digits (schedule.py), and goes on if it is no worse (acceptance.py). The fitness is linear-quadratic in
totals, so that a move costs a few additions (problem.py); its linear map is taken afresh at each generation.

It began as a memetic algorithm: a genetic algorithm whose children are improved by local search (Moscato 1989).
Measured, crossover and mutation brought nothing beside it (benchmarks/ablation.py; docs/ablation.md),
and with them went the population.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial

import numpy as np

from outrisk.evolve import moves
from outrisk.evolve.acceptance import Nearest, Settled, Standstill
from outrisk.evolve.amounts import moved
from outrisk.evolve.by_refit import by_refit
from outrisk.evolve.by_size import closing_of
from outrisk.evolve.candidate import Candidate, draw_candidate
from outrisk.evolve.closing import FAR, Closing
from outrisk.evolve.exact_moments import are_fine, with_moments
from outrisk.evolve.generation import Generation, Stop
from outrisk.evolve.linear_map import Linear, linearise
from outrisk.evolve.mending import mend
from outrisk.evolve.number_errors import Errors
from outrisk.evolve.problem import Problem
from outrisk.evolve.resolved import once_resolved, told_again, with_coefficients
from outrisk.evolve.schedule import Schedule
from outrisk.evolve.settings import LocalSearchSettings
from outrisk.evolve.settled_shares import aiming, open_shares, settled_to_agree, shares_of_all
from outrisk.evolve.start import STARTS, from_released
from outrisk.evolve.state import State, restore, state_of
from outrisk.evolve.subset_shares import agreed_in_subsets, shares_of_subsets
from outrisk.evolve.ties import agreeing
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array
from outrisk.problem.released import ModelPart

TOLD = 3  # generations after which coefficients that were not published are taken where the data set has them
UNSURE = 20  # generations after which a refit is asked about the last few numbers that are far, as long as any is
LEAST_VISITS, MOST_VISITS = 5_000, 400_000  # in a generation, however few or many the records


def search(
    problem: Problem, settings: LocalSearchSettings, rng: np.random.Generator, state: State | None = None
) -> Iterator[Generation]:
    """Yield every generation, 0 being the start, or those after the one that `state` is of; the last has a `stop`."""
    if settings.start == "calibrated":
        problem = once_resolved(problem, from_released(problem))
    return _Search(problem, settings, rng, state).run(state.number + 1 if state else 0)


class _Search:
    """One run: its data set, the linear map there, and the weights of the numbers."""

    FOLLOWS = ("spare", "linear")  # from the other attributes, when a generation has ended

    def __init__(
        self, problem: Problem, settings: LocalSearchSettings, rng: np.random.Generator, state: State | None = None
    ) -> None:
        self.problem, self.settings, self.rng = problem, settings, rng
        self.sizes: list[Array] = []
        self.candidate = state.candidate if state else self._drawn()
        self.spare = deepcopy(self.candidate)
        searched = problem.tied
        self.schedule = Schedule(searched, settings)
        self.standstill, self.nearest = Standstill(), Nearest()
        self.settled = Settled(searched, problem)
        self.closing: Closing = closing_of(searched)
        if state:
            restore(self, state)
        if self.settled.told:
            told = {at: b for at, b in enumerate(self.settled.told) if len(b)}
            self.settled.problem = with_coefficients(problem.free, told).tied
        self.problem = self._aimed(self.settled.problem)
        self.linear: Linear = self._linearise()

    @property
    def polish(self) -> int:
        """Visits in a generation after the approach."""
        parts = self.problem.parts
        models = sum(isinstance(part, ModelPart) for part in parts)
        share = TUNING.shares[0 if not models else 1 if models < len(parts) else 2 if models > 1 else 3]
        visits = round(share * self.settings.polish * self.problem.n_records)
        return min(MOST_VISITS, max(LEAST_VISITS, visits))

    def run(self, first: int) -> Iterator[Generation]:
        """The generations from `first` on, each yielded when all is ready for the next, so that its state is whole."""
        for number in range(first, self.settings.generations + 1):
            if number:
                self._step(number)
            if not self._stands:  # what is said of a data set rests on its own information
                self.linear = replace(self.linear, informations=self.problem.informations(self.candidate.codes))
            stop, errors = self._judge(number)
            best, of_best = self.candidate, errors
            if stop != "matched" and self.settled.sure is not None:
                assert self.settled.sure_errors is not None
                best, of_best = self.settled.sure, self.settled.sure_errors
            elif stop != "matched" and self.schedule.phase != "approach":
                assert self.nearest.candidate is not None
                assert self.nearest.errors is not None
                best, of_best = self.nearest.candidate, self.nearest.errors
            if stop and stop != "matched" and (done := self._with_sums_at_last(best, of_best, stop == "near")):
                best, of_best = done
                stop = "matched" if of_best.all_matched else stop
            fitness = {"best": self.linear.fitness(self.candidate.totals)}
            if not stop and self.schedule.approached(self.problem, errors, number - self.standstill.since):
                self._advance()
            if not stop and self.schedule.phase != "counts" and not (self.schedule.phase == "closing" and self._stands):
                self.linear = self._linearise()
            near = stop == "matched" or self.settled.sure is not None
            state, determined = partial(state_of, self, number), self.problem.determined
            yield Generation(number, best, of_best, 0.0, fitness, stop, state, near, determined)
            if stop:
                return

    def _drawn(self, again: bool = False) -> Candidate:
        """A start, the first one or `again`; and how large the groups of shares are to be, of tables alone several of
        which are of shares, and of percentages of subsets.
        """
        problem, self.sizes = self.problem.free, []
        told = self.settings.start in ("released", "calibrated")
        if told and not problem.sums and open_shares(problem) > 1:
            problem, self.sizes = settled_to_agree(problem, self.rng)
        drawn = draw_candidate(problem, STARTS[self.settings.start](problem), self.rng)
        agreed = problem if self.sizes else self.problem.free
        if not told:
            return drawn
        of_subsets, codes = agreed_in_subsets(agreed, drawn.codes, self.rng, again)
        if of_subsets:
            self.sizes = [*(self.sizes or open_shares(agreed) * [np.zeros(0)]), *of_subsets]
        if codes is drawn.codes:
            return drawn
        codes = agreeing(problem, codes, self.rng)
        return Candidate(codes, problem.totals(codes))

    def _aimed(self, problem: Problem) -> Problem:
        """What is searched: the problem with groups of shares that are to be as large as drawn."""
        problem = problem.free
        return aiming(problem, [*shares_of_all(problem), *shares_of_subsets(problem)], self.sizes).tied

    @property
    def _stands(self) -> bool:
        """Whether the linear map is around the present data set."""
        return np.array_equal(self.linear.origin, self.candidate.totals)

    def _begin_anew(self, number: int) -> None:
        """Another start, after generation `number`; the nearest data set so far is kept (multistart)."""
        self.candidate = self._drawn(again=True)
        if self.settled.told:
            self.settled.told = []
            self._take(self.settled.given.free)
        else:
            self.problem = self._aimed(self.settled.problem)
        self.schedule = Schedule(self.problem, self.settings)
        self.closing = closing_of(self.problem)
        self.standstill, self.settled.beyond = Standstill(since=number), None
        self.linear = self._linearise()

    def _tell_again(self) -> None:
        """Take coefficients that were not published where the present data set has them."""
        problem = self.settled.problem.free
        if found := told_again(problem, self.problem.whole(self.candidate.codes)):
            self.settled.told = [found.get(at, np.zeros(0)) for at in range(len(problem.parts))]
            self._take(with_coefficients(problem, found))
            self.linear = self._linearise()

    def _take(self, problem: Problem) -> None:
        """Go on with the problem with its models at other coefficients."""
        self.settled.problem, self.settled.beyond = problem.tied, None
        self.problem = self._aimed(problem)
        for each in (self.candidate, self.spare, self.nearest.candidate, self.settled.candidate, self.settled.sure):
            if each is not None:
                each.totals = self.problem.totals(each.codes)

    def _advance(self) -> None:
        if self.schedule.phase in ("counts", "closing"):
            return
        if self.nearest.candidate is not None and self.schedule.closes_now(self.nearest.far, self.nearest.waited):
            self.candidate = deepcopy(self.nearest.candidate)
            self.linear = self._linearise()
            return
        together, allowed = self.schedule.phase == "together", self.settled.allowed
        off = np.abs(self.linear.distances(self.candidate.totals))
        far = off / (allowed if together and allowed is not None else self.problem.tolerance)
        self.schedule.advance(far, self.nearest.waited, self.settled.candidate is not None)

    def _step(self, number: int) -> None:
        """One generation: another start, or a copy is changed, which goes on if it is no worse."""
        if self.standstill.over:
            self._begin_anew(number)
            return
        if number % TOLD == 0:
            self._tell_again()
        if self.schedule.phase == "counts":
            self._count(number)
            return
        if self.schedule.phase == "closing":
            self._close(number)
            for _ in range(1, self.closing.turns):
                distances = self.linear.distances(self.candidate.totals)
                if self.schedule.phase != "closing" or not self.settled.far(number, self.candidate, distances):
                    break
                self._close(number)
            return
        temperature = self.settings.temperature if self.schedule.closing else 0.0
        child = self.spare
        child.become(self.candidate)
        self._move(child, number, temperature)
        if self.linear.fitness(child.totals) <= self.linear.fitness(self.candidate.totals):
            self.candidate, self.spare = child, self.candidate

    def _move(self, child: Candidate, number: int, temperature: float) -> None:
        problem, schedule, linear, rng = self.problem, self.schedule, self.linear, self.rng
        if schedule.phase == "approach":
            visits = min(MOST_VISITS, round(self.settings.visits * problem.n_records))
            moves.descend(child, linear, visits, 0.0, rng)
            return
        if schedule.phase == "together":
            moves.anneal(child, linear, temperature, rng)
        if schedule.phase != "together" or number % max(1, self.polish // TUNING.beside) == 0:
            moves.descend_with_swaps(child, linear, self.polish, temperature, rng)

    def _count(self, number: int) -> None:
        """One generation of counts alone; they are done when they stand still."""
        counts = self.problem.counts
        assert counts is not None
        alone = Candidate(self.candidate.codes, counts.totals(self.candidate.codes))
        for fitness in ("precision", "sampling"):
            linear = linearise(counts, alone.codes, alone.totals, fitness)
            moves.descend_with_swaps(alone, linear, self.polish, 0.0, self.rng)
        self.candidate.totals = self.problem.totals(self.candidate.codes)
        errors = linear.errors(alone.totals)
        waited = self.schedule.counting.see(number, errors.off)
        if errors.all_matched or waited >= TUNING.stuck:
            self.schedule.phase, self.schedule.fitness = "together", "tightening"
        self.linear = self._linearise()

    def _close(self, number: int) -> None:
        """One generation of closing in: tables of counts are mended first, then all else is balanced."""
        near = self.settled.candidate is not None
        at, child, closing = self.candidate, self.spare, self.closing.now(near)
        child.become(at)
        equations = closing.look(self.linear, at, True)
        out = (at.totals < self.linear.low) | (at.totals > self.linear.high)
        if closing.mends(int((out & equations.counts).sum())):
            mend(child, self.linear, equations, closing.scale(equations), closing.mended, self.rng)
            self.candidate, self.spare, self.linear = child, at, self._linearise(child)
            return
        if closing.sums_are_due() and (linear := self._with_sums(child)):
            self.candidate, self.spare, self.linear = child, at, linear
            return
        assert closing.errors is not None
        if found := moved(at, self.linear, self._linearise, closing.errors, self.rng):
            (at, self.linear), self.candidate = found, found[0]
            child.become(at)
            equations = closing.look(self.linear, at, False)
        closing.tighten(equations)
        linear = None
        gained = closing.round(child.codes, equations, self.linear, self.rng)
        if gained:
            linear = self._around(child)
            gained = closing.merit(closing.look(linear, child, False)) < closing.merit(equations)
        if closing.learn(gained, near, self.rng):
            self.candidate, self.spare, self.linear = child, at, linear or self._around(child)
        ended = closing.ended(self.nearest.waited, near)
        if not near and ((ended and closing.few) or closing.in_vain(self.nearest.waited, self.nearest.far)):
            self._begin_anew(number)
        elif ended and not (near and closing.last):
            self.schedule.closed()

    def _with_sums(self, child: Candidate) -> Linear | None:
        """Change values so that published sums of them are met, where they must be to be near, and return the linear
        map there, if that does good.
        """
        if are_fine(self.problem, child.codes):
            with_moments(self.problem, child.codes, self.rng)
        if np.array_equal(child.codes, self.candidate.codes):
            return None
        linear = self._around(child)
        if linear.errors(child.totals).matched > self.linear.errors(self.candidate.totals).matched:
            return linear
        child.become(self.candidate)
        return None

    def _with_sums_at_last(self, best: Candidate, errors: Errors, near: bool) -> tuple[Candidate, Errors] | None:
        """The data set that a run ends with, with values changed so that published sums are met; None where that brings
        no more numbers to their digits, or takes more away from where they are near.
        """
        child = deepcopy(best)
        with_moments(self.problem, child.codes, self.rng)
        if np.array_equal(child.codes, best.codes):
            return None
        child.totals = self.problem.totals(child.codes)
        found, far = by_refit(self.problem, child), 0 if near else by_refit(self.problem, best).far
        return (child, found.errors) if found.errors.matched > errors.matched and found.far <= far else None

    def _around(self, child: Candidate) -> Linear:
        """The linear map around a data set whose records have been changed from the present one's."""
        child.changed_from(self.candidate, self.problem)
        return self._linearise(child)

    def _linearise(self, candidate: Candidate | None = None) -> Linear:
        schedule, at = self.schedule, candidate or self.candidate
        weights = schedule.fitness, schedule.emphasis, schedule.tightness
        return linearise(self.problem, at.codes, at.totals, *weights, self.settled.beyond)

    def _judge(self, number: int) -> tuple[Stop, Errors]:
        """Whether and why the run stops here, and the errors of the data set, noted if it is the nearest so far."""
        errors = self.linear.errors(self.candidate.totals)
        if errors.all_matched:
            self.candidate.totals = self.problem.totals(self.candidate.codes)
            self.linear = self._linearise()
            errors = self.linear.errors(self.candidate.totals)
        if errors.all_matched:
            found = by_refit(self.problem, self.candidate)
            errors, self.settled.beyond = found.errors, found.beyond
            if errors.all_matched:
                return "matched", errors
            self.linear = self._linearise()
        waited = self.standstill.see(number, errors.off)
        far = self._far(number, errors)
        settling = self.schedule.phase not in ("approach", "counts")
        unsure = self.settled.sure is None and not self.closing.alone and number - self.settled.asked >= UNSURE
        if settling and unsure and self._asked(number):
            errors = self.linear.errors(self.candidate.totals)
            far = self._far(number, errors)
        if settling and not far:
            far, errors = self._settles(number, errors)
        if self.schedule.phase != "approach":
            self.nearest.see(self.candidate, errors, far)
            self.closing.standing.see(errors, far)
        near = settling and self.settled.candidate is not None
        last = number == self.settings.generations
        patience = self.settings.patience / (2.0 if near else 1.0)
        stalled = 0 < patience <= waited and not self.schedule.closing
        ended = self.closing.now(near).ended(self.nearest.waited, near)
        stalled |= patience > 0 and near and self.closing.last and ended
        if near and (last or stalled) and not self.settled.stands():
            near, stalled, self.standstill = False, False, Standstill(since=number)
        if stalled and not near and not last and self._may_choose_otherwise():
            stalled, self.standstill.over = False, True
        return ("near" if near else "budget" if last else "stalled") if last or stalled else "", errors

    def _may_choose_otherwise(self) -> bool:
        """Whether counts behind shares, or sums behind rates, may be chosen wrongly, or, of few people without a model,
        sizes of classes: another start chooses anew, unless two have brought no nearer data set.
        """
        problem, waited = self.problem, self.nearest.waited
        few = problem.n_records <= TUNING.anew and not any(isinstance(part, ModelPart) for part in problem.parts)
        return waited <= 2 * self.settings.patience and (
            few or problem.rates or open_shares(problem) > 0 or any(shares_of_subsets(problem))
        )

    def _settles(self, number: int, errors: Errors) -> tuple[int, Errors]:
        """Take note of a data set whose numbers are all within 1 % of their sampling errors, to first order; of the
        first, and now and then of a later one, whether a refit agrees. Where it finds them otherwise, numbers are taken
        as it had them. Returns how many are far then, and the errors.
        """
        settled, before = self.settled, self.settled.beyond
        settled.see(self.candidate, errors)
        if not settled.due(number):
            return 0, errors
        settled.asked, stands = number, settled.stands()
        if settled.beyond is before:
            return 0, errors
        self.linear = self._linearise()
        was, self.nearest = self.nearest, Nearest()
        if stands and settled.errors is not None:
            waited, missed = (0, 0.0) if was.candidate is None or was.far else (was.waited, was.missed)
            self.nearest = Nearest(settled.candidate, settled.errors, 0, waited, max(missed, settled.errors.missed))
        if not stands:
            return 1, errors
        errors = self.linear.errors(self.candidate.totals)
        return self._far(number, errors), errors

    def _asked(self, number: int) -> bool:
        """Ask a refit whether the last few numbers of the nearest data set are far at all: where coefficients are
        printed coarsely, first order may have an intercept off by a dozen half digits. Returns whether numbers are
        taken as it had them from now on, as it found other ones at their digits.
        """
        nearest = self.nearest
        if nearest.candidate is None or nearest.errors is None or not 0 < nearest.far <= FAR:
            return False
        found, self.settled.asked = by_refit(self.problem, nearest.candidate), number
        if found.errors.matched == nearest.errors.matched:
            return False
        self.settled.beyond, nearest.errors = found.beyond, found.errors
        distances = self._linearise(nearest.candidate).distances(nearest.candidate.totals)
        nearest.far = self.settled.far(number, nearest.candidate, distances)
        self.linear = self._linearise()
        return True

    def _far(self, number: int, errors: Errors) -> int:
        """How many numbers are neither at their digits nor within 1 % of their sampling error; early, of many, all."""
        phase = self.schedule.phase
        if phase == "approach" or (phase != "closing" and 2 * errors.matched < errors.numbers):
            return errors.numbers
        return self.settled.far(number, self.candidate, self.linear.distances(self.candidate.totals))
