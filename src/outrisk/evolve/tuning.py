"""What tunes the local search of preset `fast`, in one place.

Each constant says what it is for and what measured it: `ablation` is benchmarks/ablation.py, `outputs` is
benchmarks/outputs.py (tables, mixed). `by hand`: chosen while these were watched, and no benchmark turns on it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """The constants. Errors are in half last digits, the fitness is per released number."""

    # When a phase ends
    stuck: int = 5  # generations without gain after which the approach, or the counts alone, go no further (by hand)
    turn: int = 10  # generations without gain after which numbers are weighed the other way (ablation: one finish)
    gain: float = 1e-3  # relative fall of the error below which a generation counts as without gain (by hand)
    counting: float = 0.25  # share of the generations in which counts may come first (by hand)
    # How much is looked at
    shares: tuple[float, float, float, float] = (1.0, 2.0, 0.5, 0.15)
    most_visits: int = 400_000
    least_visits: int = 20_000
    # Weights
    emphasis: float = 1.1
    fade: float = 0.95
    settled: float = 0.5
    slowly: float = 0.4
    far: float = 10.0
    falling: float = 0.9
    again: float = 0.8
    within: float = 1.0
    seen: int = 5_000
    aim: float = 0.6
    closest: float = 4.0
    pinned: float = 16.0
    narrowest: float = 3e-4
    gentle: float = 0.2
    # Annealing
    batch: int = 12_000
    sweeps: int = 60
    hotter: float = 2.5
    colder: float = 0.25
    cooling: float = 0.9
    coldest: float = 0.02
    few: float = 0.02
    every: int = 8


TUNING = Tuning()
