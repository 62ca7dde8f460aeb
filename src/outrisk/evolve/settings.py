"""Settings of an evolution and the presets."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from outrisk.errors import EvolveError

Start = Literal["uniform", "univariate", "released"]


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
    drawn. mate_probability: chance that a pair of children swaps records. mate_share: chance that it swaps a given
    record. mutation: chance that a value is redrawn. fitness: mse; or chi2 (see problem.py). refresh: generations
    between refreshes of the linear map, which the paper, refitting every candidate, does not need.
    """

    population: int
    generations: int
    start: Start
    mate_probability: float
    mate_share: float
    mutation: SteppedRate
    fitness: Literal["mse", "chi2"]
    refresh: int

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class MemeticSettings:
    """How a memetic evolution runs (see loop.py).

    population: candidates; even, so that they pair. generations: the budget. start: how the first values are drawn.
    mate_probability: chance that a pair of children swaps records. mate_share: chance that it swaps a given record.
    mutation: chance that a value changes. creep: chance that a changed numeric value goes to a neighbouring grid point
    only. climb: visits a child gets in each generation, per record (a visit: see kernels.climb). fitness: mse, or chi2
    (see problem.py). sharpen: the numbers are near when `Errors.off` falls below this or no longer falls, and from the
    start where no model is among the outputs (0 = never). Then the fitness turns to squared errors in half last digits,
    where numbers that are off gain weight; values may be exchanged between records; and the fitter child of a pair gets
    `polish` visits per record (fewer where models are alone). tighten: where a model stands beside other outputs,
    counts come first, and the numbers then close in together instead, from their sampling errors to their digits, by
    this share of the way in a generation, less where they have not settled (see problem.py; 0 = not so): smaller is
    slower and ends nearer. Values are then traded between records while rises of the fitness by about `heat` are kept.
    refresh: generations between refreshes of the linear map; when near, every generation refreshes it. patience: the
    run ends when the error has not fallen by 0.1 % for this many generations, and numbers no longer close in (0 = only
    the budget ends it).
    """

    population: int
    generations: int
    start: Start
    mate_probability: float
    mate_share: SteppedRate
    mutation: SteppedRate
    creep: float
    climb: SteppedRate
    polish: float
    fitness: Literal["mse", "chi2"]
    sharpen: float
    tighten: float
    heat: float
    refresh: int
    patience: int

    def __post_init__(self) -> None:
        _check(self)


Settings = GeneticSettings | MemeticSettings
_RANGES = (
    ("population", 2, 10_000),
    ("generations", 1, 1_000_000),
    ("mate_probability", 0, 1),
    ("creep", 0, 1),
    ("polish", 0, 1_000_000),
    ("sharpen", 0, 1e9),
    ("tighten", 0, 1),
    ("heat", 0, 1e9),
    ("refresh", 1, 1_000_000),
    ("patience", 0, 1_000_000),
)


def _check(settings: Settings) -> None:
    for name, low, high in _RANGES:
        value = getattr(settings, name, low)
        if not low <= value <= high:
            raise EvolveError(f"[evolve] {name} is {value}; it must lie between {low} and {high}")
    if settings.population % 2:
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
        refresh=10,
    ),
    # Climbing does the fine work, so the rates fall a hundred times faster; they stand still late, where only a few
    # values change.
    "fast": MemeticSettings(
        population=2,
        generations=400,
        start="released",
        mate_probability=0.8,
        mate_share=SteppedRate(0.1, 3.0, 3),
        mutation=SteppedRate(0.001, 3.0, 3),
        creep=0.3,
        climb=SteppedRate(2.0, 1.0, 100),
        polish=7.0,
        fitness="chi2",
        sharpen=1.2,
        tighten=0.011,
        heat=0.3,
        refresh=1,
        patience=50,
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
    return replace(PRESETS[name], **changes)
