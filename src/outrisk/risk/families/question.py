"""What is asked of every family of measures, and what a family is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from outrisk.risk.attribution.over_key_sets import Scores
from outrisk.risk.coding.classes import Coding
from outrisk.risk.rows import Row


@dataclass(frozen=True, eq=False)
class Question:
    """What the intruder knows and wants to learn, and what the measures may cost."""

    keys: tuple[str, ...]
    target: str
    key_sets: tuple[tuple[str, ...], ...] = ()  # that means are taken over; none: all keys together
    tau: float = 1.0
    groups: int = 20  # of the jackknife
    seed: int = 0
    classifiers: tuple[str, ...] = ()
    encoding: str = "nominal"  # of the keys that classifiers learn from
    metrics: tuple[str, ...] = ()  # privacy metrics
    sample: int | None = None  # records of each table that these are asked about; None: all
    time_limit: float | None = None  # seconds: of a privacy metric for each table attacked, of GCAP
    worst_case: bool = True  # whether privacy metrics have one, where there is no holdout
    scores: Scores | None = None  # of the key sets and of `keys`, where they are known already

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The key sets that means are taken over."""
        return self.key_sets or (self.keys,)


@dataclass(frozen=True, eq=False)
class Family:
    """Measures that are made together.

    rows: is given the tables under one coding ('original', 'synthetic', perhaps 'holdout') and the question; a
    RiskError becomes a row for each of `measures` that says why. measures: names of what the rows are about.
    """

    name: str
    title: str
    rows: Callable[[Coding, Question], Sequence[Row]]
    measures: Callable[[Question], Sequence[str]]
