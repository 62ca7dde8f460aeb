"""Synthetic records for a course: any number of copies, each from a seed of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from threading import Event

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from outrisk.codebook import Codebook
from outrisk.errors import EvolveError
from outrisk.evolve.loop import Generation, evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import Settings
from outrisk.microdata import Microdata
from outrisk.outputs import Rule
from outrisk.problem.blocks import Tally
from outrisk.problem.released import Released, TallyPart
from outrisk.prove.in_conflict import in_conflict
from outrisk.records.provenance import seed_of

_COPIES = 2  # branch of the study's random tree; 0 and 1 are those of an assessment


@dataclass(frozen=True, eq=False)
class Course:
    """All that teaching data are made from: no record is among it."""

    codebook: Codebook
    released: tuple[Released, ...]
    n_records: int
    rules: tuple[Rule, ...]
    settings: Settings
    seed: int
    copies: int

    @cached_property
    def problem(self) -> Problem:
        """What the evolution solves; EvolveError where a table counts more or fewer records than there are to be."""
        for output in self.released:
            _check_records(output, self.n_records)
        return Problem(self.codebook, self.n_records, self.released, tuple(rule.mask for rule in self.rules))

    @cached_property
    def conflicts(self) -> list[dict[int, str]]:
        """What no data set has together, of the released numbers (see in_conflict.py)."""
        rules = [rule.mask for rule in self.rules]
        return in_conflict(self.codebook, self.released, self.n_records, rules)


@dataclass(frozen=True, eq=False)
class Copy:
    """One synthetic data set; `number` counts from 1, `stop` says why its evolution ended."""

    number: int
    data: Microdata
    stop: str
    generations: int
    seconds: float


def _check_records(output: Released, n_records: int) -> None:
    """A table that counts every record once binds their number."""
    for part in output.parts:
        tally = part.blocks[0]
        if not isinstance(part, TallyPart) or len(part.blocks) > 1 or tally.masks or tally.weight:
            continue
        if not isinstance(tally, Tally) or tally.cell is not None or tally.value is not None:
            continue
        low, high = output.low[: part.n_numbers], output.high[: part.n_numbers]
        here, there = (part.map.bounds(np.full(tally.size, total), low, high) for total in (0.0, n_records))
        if (here.low != there.low).any() or (here.high != there.high).any():
            continue  # shares, not counts
        least, most = np.maximum(here.low, 0).sum(), here.high.sum()
        if not least <= n_records <= most:
            counted = f"{least:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"
            raise EvolveError(
                f"output '{output.name}' counts {counted} records, and {n_records:,} are to be made; "
                "make as many, or leave it out"
            )


Watcher = Callable[[int, Generation], None]  # is told of every generation of every copy, by its number, from any thread


def make_copies(
    course: Course, workers: int, halt: Event | None = None, watcher: Watcher | None = None
) -> Iterator[Copy]:
    """Evolve the copies on `workers` threads, each given as it ends; a copy depends on seed and number alone.

    Once `halt` is set, copies that are not finished are left out.
    """
    problem = course.problem
    _ = problem.plan
    threads = max(1, workers // course.copies)
    with threadpool_limits(limits=1):  # linear algebra in one thread: the copies already fill the cores
        made = joblib.Parallel(n_jobs=min(workers, course.copies), prefer="threads", return_as="generator_unordered")(
            joblib.delayed(_make)(course, problem, number, threads, halt, watcher)
            for number in range(1, course.copies + 1)
        )
        yield from (copy for copy in made if copy is not None)


def _make(
    course: Course, problem: Problem, number: int, threads: int, halt: Event | None, watcher: Watcher | None
) -> Copy | None:
    started = time.perf_counter()
    rng = np.random.default_rng(seed_of(course.seed, [_COPIES, number]))
    for generation in evolve(problem, course.settings, rng, threads):
        if watcher is not None:
            watcher(number, generation)
        if halt is not None and halt.is_set():
            return None
        if generation.stop:
            data = Microdata(course.codebook, generation.codes)
            return Copy(number, data, generation.stop, generation.number, time.perf_counter() - started)
    return None
