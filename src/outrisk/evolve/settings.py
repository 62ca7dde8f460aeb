"""Settings of an evolution and the presets."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from outrisk.errors import EvolveError


@dataclass(frozen=True)
class SteppedRate:
    """A rate divided by `divisor` every `every` generations, within `least` and `most`; below 1, it grows."""

    start: float
    divisor: float
    every: int
    least: float = 0.0
    most: float = math.inf

    def __call__(self, generation: int) -> float:
        """The rate in force at a generation (counted from 0)."""
        return min(self.most, max(self.least, float(self.start * self.divisor ** -(generation // self.every))))


@dataclass(frozen=True)
class GeneticSettings:
    """The genetic algorithm of Elliot, Little and Allmendinger, "Evolutionary Algorithms for Output Disclosure Risk
    Assessment", Table 1 (see genetic.py).

    population: candidates; even, so that they pair. generations: the length of a run. start: how the first values are
    drawn (see start.py). mate_probability: chance that a pair of children swaps records. mate_share: chance that it
    swaps a given record. mutation: chance that a value is redrawn. fitness: mse; or chi2 (see weights.py).

    Not printed in the paper. crowding: generations at first in which each child competes with its own parent alone
    (when to stop: benchmarks/paper.py).
    tournament: of so many the fittest becomes a parent afterwards. survival: afterwards; comma, children and one elite
    candidate; plus, the best of parents and children. refresh: generations between refreshes of the linear map, which
    the paper, refitting every candidate, does not need.
    """

    population: int
    generations: int
    start: str
    mate_probability: float
    mate_share: float
    mutation: SteppedRate
    fitness: Literal["mse", "chi2"]
    crowding: int
    tournament: int
    survival: Literal["comma", "plus"]
    refresh: int

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class LocalSearchSettings:
    """How a local search runs (see local_search.py; what else tunes it: tuning.py).

    generations: the budget. start: how the first values are drawn. fitness: of the approach; chi2, or mse (see
    problem.py). near: the approach ends when `Errors.off` falls below this or no longer falls, and at once where no
    model is among the outputs. visits: records visited in a generation of the approach, per record (a visit: see
    compiled/climb.py). polish: the same afterwards, at most (fewer where models are alone). tighten: where a model
    stands beside other outputs, counts come first, and the numbers then close in together, from their sampling errors
    to their digits, by this share of the way in a generation, but for where they are held (see schedule.py; 0 = not
    so). temperature: rises of the fitness by about this are kept while swaps are annealed. patience: the run ends when
    the error has not fallen by 0.1 % for this many generations (half as many where every number has been within 1 % of
    its sampling error), and numbers no longer close in (0 = only the budget ends it). anneal: records up to which the
    published numbers themselves are annealed instead (see small.py).
    """

    generations: int
    start: str
    fitness: Literal["mse", "chi2"]
    near: float
    visits: float
    polish: float
    tighten: float
    temperature: float
    patience: int
    anneal: int

    def __post_init__(self) -> None:
        _check(self)


Settings = GeneticSettings | LocalSearchSettings
_RANGES = (
    ("population", 2, 10_000),
    ("generations", 1, 1_000_000),
    ("mate_probability", 0, 1),
    ("near", 0, 1e9),
    ("visits", 0, 1_000_000),
    ("polish", 0, 1_000_000),
    ("tighten", 0, 1),
    ("temperature", 0, 1e9),
    ("crowding", 0, 1_000_000),
    ("tournament", 1, 1_000),
    ("refresh", 1, 1_000_000),
    ("patience", 0, 1_000_000),
    ("anneal", 0, 1_000_000),
)


def _check(settings: Settings) -> None:
    for name, low, high in _RANGES:
        value = getattr(settings, name, low)
        if not low <= value <= high:
            raise EvolveError(f"[evolve] {name} is {value}; it must lie between {low} and {high}")
    if isinstance(settings, GeneticSettings) and settings.population % 2:
        raise EvolveError(f"[evolve] population is {settings.population}; it must be even, so that candidates pair")


PRESETS: dict[str, Settings] = {
    "paper": GeneticSettings(
        population=32,
        generations=2000,
        start="uniform",
        mate_probability=0.8,
        mate_share=0.1,
        mutation=SteppedRate(0.005, 3.0, 250),
        fitness="mse",
        crowding=1600,
        tournament=4,
        survival="comma",
        refresh=10,
    ),
    "fast": LocalSearchSettings(
        generations=400,
        start="calibrated",
        fitness="chi2",
        near=1.2,
        visits=2.0,
        polish=7.0,
        tighten=0.03,
        temperature=0.3,
        patience=50,
        anneal=30,
    ),
}


def preset(name: str, **changes: Any) -> Settings:
    """Settings of a preset, some of them changed; EvolveError for an unknown preset or setting."""
    if name not in PRESETS:
        raise EvolveError(f"[evolve] no preset '{name}'; presets are {sorted(PRESETS)}")
    known = {field.name for field in fields(PRESETS[name])}
    unknown = sorted(set(changes) - known)
    if unknown:
        raise EvolveError(f"[evolve] has settings {unknown} that preset '{name}' does not know; known: {sorted(known)}")
    if "start" in changes:
        from outrisk.evolve.start import STARTS  # compiled code behind it, which reading settings does not need

        if changes["start"] not in STARTS:
            raise EvolveError(f"[evolve.start] is '{changes['start']}': it must be one of {sorted(STARTS)}")
    return replace(PRESETS[name], **changes)
