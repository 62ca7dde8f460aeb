"""The evolution: which algorithm it is, and the memetic one, its DEAP toolbox and the loop over generations."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace

import numpy as np
from deap import base, tools

from outrisk.evolve import genetic, operators, start
from outrisk.evolve.generation import Generation, Stop
from outrisk.evolve.operators import Candidate
from outrisk.evolve.problem import Errors, Fitness, Linear, Problem
from outrisk.evolve.settings import GeneticSettings, MemeticSettings, Settings
from outrisk.problem.released import ModelPart

__all__ = ["Generation", "evolve", "make_toolbox"]

_EMPHASIS, _FADE = 1.1, 0.95  # how numbers that are off gain weight at each refresh, and how the gain fades
_STUCK = 5  # generations without gain after which numbers are taken to be as near as coarse steps bring them
_SETTLED, _SLOWLY = 0.5, 0.4  # fitness a number above which numbers have not settled, and the share they then tighten
_FAR, _FALLING = 10.0, 0.9  # fitness a number above which numbers wait and climb, as long as it falls to this share
_AGAIN = 0.8  # tightness with which numbers begin the next time
_COOLER, _COLDEST = 0.9, 0.02  # how the heat falls once numbers are at their digits, and to which share
_FEW = 0.02  # trades a record, below which climbing goes on
_CLIMB = 8  # generations between those that climb too, where trades alone do not reach all
_COUNTING = 0.25  # share of the generations in which counts may come first
_TURN = 10  # generations without gain after which fine work turns to its other way
_MOST_VISITS = 400_000  # in a generation, however many the records: errors are looked at in between
_LEAST_POLISH = 20_000  # visits, however few the records
_SHARES = (1.0, 2.0, 0.5, 0.15)  # of the visits: tables alone, with models, several models, one, which cost more
_GAIN = 1e-3  # relative fall of the error below which a generation counts as standing still


def evolve(problem: Problem, settings: Settings, rng: np.random.Generator, workers: int = 1) -> Iterator[Generation]:
    """Evolve synthetic data that reproduce the released numbers; yields every generation, 0 being the start: by the
    genetic algorithm of the paper (genetic.py) or the memetic one below, as the settings say.

    The last generation yielded has a `stop`. Errors are first-order around the published numbers: exact for counts,
    exact in the limit for a regression; 'matched' is said only after exact totals and a fresh linear map agree. The
    same generator gives the same run for any number of workers, which are threads that breed pairs of candidates.
    """
    if isinstance(settings, GeneticSettings):
        yield from genetic.evolve(problem, settings, rng, workers)
        return
    if workers < 2 or settings.population < 4:
        yield from _Evolution(problem, settings, rng, map).run()
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from _Evolution(problem, settings, rng, pool.map).run()


def make_toolbox(problem: Problem, settings: MemeticSettings, rng: np.random.Generator) -> base.Toolbox:
    """Register the operators of an evolution in a DEAP toolbox."""
    draw = start.STARTS[settings.start](problem)
    toolbox = base.Toolbox()
    toolbox.register("candidate", operators.draw_candidate, problem, draw, rng)
    toolbox.register("population", tools.initRepeat, list, toolbox.candidate)
    toolbox.register("mate", operators.mate, problem)
    toolbox.register("mutate", operators.mutate, problem, creep=settings.creep)
    toolbox.register("climb", operators.climb, problem)
    toolbox.register("trade", operators.trade, problem)
    toolbox.register("evaluate", operators.evaluate, problem)
    toolbox.register("select", operators.survive)
    return toolbox


class _Evolution:
    """One run: its population, its linear map and the best so far."""

    def __init__(
        self,
        problem: Problem,
        settings: MemeticSettings,
        rng: np.random.Generator,
        mapper: Callable[..., Iterable[None]],
    ) -> None:
        self.problem, self.settings, self.rng = problem, settings, rng
        self.rngs = rng.spawn(settings.population // 2)  # one a pair, so that pairs may breed in any order
        self.toolbox = make_toolbox(problem, settings, rng)
        self.toolbox.register("map", mapper)
        self.spare: list[Candidate] = []
        self.population: list[Candidate] = self.toolbox.population(n=settings.population)
        self.hall = tools.HallOfFame(1, similar=operator.is_)
        self.statistics = tools.Statistics(key=lambda candidate: candidate.fitness.values[0])
        self.statistics.register("best", np.min)
        self.statistics.register("mean", np.mean)
        self.fitness: Fitness = settings.fitness
        self.linear: Linear
        models = sum(isinstance(part, ModelPart) for part in problem.parts)
        self.without_models = models == 0
        self.modelled = models > 0 and settings.tighten > 0
        self.tightens = self.modelled and len(problem.parts) > 1  # outputs stand in each other's way
        self.turned, self.tightness, self.warmth = 0, 0.0, 1.0
        share = _SHARES[0 if not models else 1 if models < len(problem.parts) else 2 if models > 1 else 3]
        self.polish = min(_MOST_VISITS, max(_LEAST_POLISH, round(share * settings.polish * problem.n_records)))
        self.counts = problem.counts if self.tightens else None  # these first, the models then
        self.counted, self.standing = np.inf, 0
        self.far, self.left = True, np.inf
        self.near = False  # whether the released numbers are within reach, so that fine steps pay
        self.emphasis = np.ones(len(problem.tolerance))
        self._refresh(self.population[0])
        self.champion: Candidate | None = None  # the nearest so far: where weights change, the fittest may go back
        self.nearest = self._errors(self.best)
        self.least, self.since = np.inf, 0  # least error so far and the generation that reached it

    def run(self) -> Iterator[Generation]:
        for number in range(self.settings.generations + 1):
            if number:
                self._step(number - 1)
            due = self.near or number % self.settings.refresh == 0
            if due:  # what is said of the best rests on its own information
                self.linear = replace(self.linear, informations=self.problem.informations(self.best.codes))
            stop, errors = self._stop(number)
            if self.near and errors.missed < self.nearest.missed:
                self.champion, self.nearest = deepcopy(self.best), errors
            best = self.best
            if stop != "matched" and self.champion is not None and self.nearest.missed < errors.missed:
                best, errors = self.champion, self.nearest
            yield Generation(
                number, best, errors, self.settings.mutation(number), self.statistics.compile(self.population), stop
            )
            if stop:
                return
            fine = errors.off < self.settings.sharpen or self.without_models or number - self.since >= _STUCK
            self.near = self.near or (fine and self.settings.sharpen > 0)
            if self.near and self.counts is not None:
                continue
            if self.near:
                self._sharpen(number)
            if due or self.near:
                self._refresh(self.best)

    @property
    def best(self) -> Candidate:
        found: Candidate = self.hall[0]
        return found

    @property
    def closing(self) -> bool:
        """Whether numbers still close in, so that standing still means nothing yet."""
        return self.near and self.tightens and self.warmth > _COLDEST

    def _step(self, generation: int) -> None:
        """One generation: copies of the parents mate, mutate and climb, then compete with their parents."""
        if self.near and self.counts is not None:
            self._count(generation)
            return
        order = self.rng.permutation(len(self.population))
        parents = [self.population[at] for at in order]
        children = [self.spare.pop() if self.spare else deepcopy(parent) for parent in parents]
        pairs = zip(range(0, len(parents), 2), self.rngs, strict=True)
        list(self.toolbox.map(lambda pair: self._breed(parents, children, pair[0], pair[1], generation), pairs))
        self.population = self.toolbox.select(parents, children)
        survivors = {id(candidate) for candidate in self.population}
        self.spare = [candidate for candidate in (*parents, *children) if id(candidate) not in survivors]
        self.hall.update(self.population)

    def _breed(
        self,
        parents: Sequence[Candidate],
        children: Sequence[Candidate],
        first: int,
        rng: np.random.Generator,
        generation: int,
    ) -> None:
        """Make the children of parents `first` and `first + 1`, in the memory of candidates that did not survive."""
        settings, toolbox = self.settings, self.toolbox
        pair = children[first : first + 2]
        for parent, child in zip(parents[first : first + 2], pair, strict=True):
            child.become(parent)
        if not self.near and rng.random() < settings.mate_probability:  # children of near ones fall between them
            toolbox.mate(*pair, settings.mate_share(generation), rng=rng)
        fitter = 0 if parents[first].fitness >= parents[first + 1].fitness else 1
        for at, child in enumerate(pair):
            if not (self.near and self.tightens):  # trades keep the tables as they are
                toolbox.mutate(child, settings.mutation(generation), rng=rng)
            visits = min(_MOST_VISITS, round(settings.climb(generation) * self.problem.n_records))
            if not self.near and visits:
                toolbox.climb(child, self.linear, visits, False, 0.0, rng=rng)
            elif self.near and at == fitter:  # the other one would hardly catch up
                heat = settings.heat * self.warmth if self.tightens else 0.0
                traded = toolbox.trade(child, self.linear, heat, rng=rng) if self.tightens else 0
                if traded < _FEW * len(child.codes) or self.far or generation % _CLIMB == 0:
                    toolbox.climb(child, self.linear, self.polish, True, heat, rng=rng)
            child.fitness.values = toolbox.evaluate(child, self.linear)

    def _count(self, generation: int) -> None:
        """One generation of counts alone, in which the fittest climbs; they are done when they stand still."""
        counts, candidate = self.counts, max(self.population, key=operator.attrgetter("fitness"))
        assert counts is not None
        twin = Candidate(candidate.codes, counts.totals(candidate.codes))
        for fitness in ("precision", "sampling"):
            linear = counts.linearise(twin.codes, twin.totals, fitness)
            operators.climb(counts, twin, linear, self.polish, True, 0.0, self.rng)
        candidate.totals = self.problem.totals(candidate.codes)
        errors = counts.errors(twin.totals, linear)
        self.standing = 0 if errors.off < self.counted * (1 - _GAIN) else self.standing + 1
        self.counted = min(errors.off, self.counted)
        late = generation >= _COUNTING * self.settings.generations
        if errors.all_matched or self.standing == _STUCK or late:
            self.counts, self.fitness = None, "tightening"
        self._refresh(candidate)

    def _tighten(self) -> None:
        """Tighten the numbers a step, a smaller one where they have not settled; then let the heat fall."""
        if self.fitness == "tightening" and self.tightness < 1.0:
            left = self.problem.fitness(self.best.totals, self.linear) / len(self.emphasis)
            self.far, self.left = _FAR < left < _FALLING * self.left, left
            if self.far:
                return
            settled = left < _SETTLED
            self.tightness = min(1.0, self.tightness + self.settings.tighten * (1.0 if settled else _SLOWLY))
        elif self.fitness == "tightening":
            self.warmth = max(_COLDEST, self.warmth * _COOLER)
        self.fitness = "tightening"

    def _sharpen(self, number: int) -> None:
        """Turn to the fitness for fine work: all numbers tighten together, or one of two in turn, where each number off
        gains weight. Tables alone go the second way; others both, one after the other.
        """
        if self.modelled and not self.closing and number - max(self.since, self.turned) >= _TURN:
            self.tightens, self.turned, self.tightness, self.warmth = not self.tightens, number, _AGAIN, 1.0
            self.emphasis[:] = 1.0
        if self.tightens:
            self._tighten()
            return
        self.fitness = "sampling" if self.fitness == "precision" else "precision"
        off = np.abs(self.problem.distances(self.best.totals, self.linear)) > self.problem.tolerance
        self.emphasis = 1.0 + (self.emphasis - 1.0) * _FADE
        self.emphasis[off] *= _EMPHASIS

    def _refresh(self, at: Candidate) -> None:
        """Take the linear map afresh at a candidate and judge everyone by it."""
        self.linear = self._linearise(at)
        for candidate in self.population:
            candidate.fitness.values = self.toolbox.evaluate(candidate, self.linear)
        self.hall.clear()
        self.hall.update(self.population)

    def _linearise(self, at: Candidate) -> Linear:
        return self.problem.linearise(at.codes, at.totals, self.fitness, self.emphasis, self.tightness)

    def _errors(self, candidate: Candidate) -> Errors:
        return self.problem.errors(candidate.totals, self.linear)

    def _stop(self, number: int) -> tuple[Stop, Errors]:
        """Whether and why the run stops here, and the errors of the best."""
        errors = self._errors(self.best)
        off = errors.off
        if errors.all_matched:
            self.best.totals = self.problem.totals(self.best.codes)
            self.linear = self._linearise(self.best)
            errors = self._errors(self.best)
            if errors.all_matched:
                return "matched", errors
            off = errors.off
            self._refresh(self.best)
            errors = self._errors(self.best)
        if off < self.least * (1 - _GAIN):
            self.least, self.since = off, number
        if number == self.settings.generations:
            return "budget", errors
        waited = 0 if self.closing else number - self.since
        return ("stalled" if 0 < self.settings.patience <= waited else ""), errors
