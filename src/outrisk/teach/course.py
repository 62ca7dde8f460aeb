"""Synthetic records for a course: any number of copies, each from a seed of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from outrisk.codebook import Codebook
from outrisk.errors import EvolveError
from outrisk.evolve.loop import evolve, load_compiled
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import Settings
from outrisk.microdata import Microdata
from outrisk.outputs import Rule
from outrisk.outputs.of_one_table.told_together import tables_told
from outrisk.problem.blocks import Tally
from outrisk.problem.released import Released, TallyPart
from outrisk.prove.in_conflict import in_conflict
from outrisk.records.provenance import seed_of
from outrisk.side_by_side.forked import Forked, Here, Stop, forked_if_safe

_COPIES = 2  # branch of the study's random tree; 0 and 1 are those of an assessment


@dataclass(frozen=True, eq=False)
class Course:
    """All that teaching data are made from: no record is among it. computed: the numbers were computed from records, so
    that they contradict nothing.
    """

    codebook: Codebook
    released: tuple[Released, ...]
    n_records: int
    rules: tuple[Rule, ...]
    settings: Settings
    seed: int
    copies: int
    computed: bool = False

    @cached_property
    def problem(self) -> Problem:
        """What the evolution solves; EvolveError where a table counts more or fewer records than there are to be."""
        for output in self.released:
            _check_records(output, self.n_records)
        rules, told = tuple(rule.mask for rule in self.rules), tables_told(self.codebook, self.released)
        return Problem(self.codebook, self.n_records, self.released, rules, told=told)

    @cached_property
    def conflicts(self) -> list[dict[int, str]]:
        """What no data set has together, of released numbers that are given (see in_conflict.py)."""
        if self.computed:
            return [{} for _ in self.released]
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


# is told of every generation of every copy: its number, the generation's, and the share of the numbers right by then
Watcher = Callable[[int, int, float], None]


def fork_copies(course: Course, workers: int) -> Forked | None:
    """Processes for `make_copies`, forked now; None where threads do as well, or have to."""
    processes = min(workers, course.copies)
    ready = processes > 1 and load_compiled(course.problem, course.settings)
    return forked_if_safe(course, processes) if ready else None


def make_copies(
    course: Course,
    workers: int,
    halt: Event | None = None,
    watcher: Watcher | None = None,
    forked: Forked | None = None,
) -> Iterator[Copy]:
    """Evolve the copies on `workers` threads, or in processes forked for them, each given as it ends; a copy depends on
    seed and number alone.

    Once `halt` is set, copies that are not finished are left out. The watcher may be called from any thread.
    """
    halt, threads = halt or Event(), max(1, workers // course.copies)
    numbers = range(1, course.copies + 1)
    if forked is not None:

        def heard(at: int, told: tuple[int, float]) -> None:
            if watcher is not None:
                watcher(at + 1, *told)

        for _, made in forked.carry_out(_made, [(number, threads) for number in numbers], halt, heard):
            if made is not None:
                yield replace(made, data=Microdata(course.codebook, made.data.codes))
        return
    _ = course.problem.searched.plan
    with threadpool_limits(limits=1):  # linear algebra in one thread: the copies already fill the cores
        found = joblib.Parallel(n_jobs=min(workers, course.copies), prefer="threads", return_as="generator_unordered")(
            joblib.delayed(_make)(course, number, threads, halt, watcher) for number in numbers
        )
        yield from (made for made in found if made is not None)


def _made(here: Here, number: int, threads: int) -> Copy | None:
    """A copy evolved in a forked process."""

    def watch(_: int, *told: Any) -> None:
        here.tell(told)

    return _make(here.shared, number, threads, here.halt, watch)


def _make(course: Course, number: int, threads: int, halt: Stop, watcher: Watcher | None) -> Copy | None:
    started = time.perf_counter()
    rng = np.random.default_rng(seed_of(course.seed, [_COPIES, number]))
    for generation in evolve(course.problem, course.settings, rng, threads):
        if watcher is not None:
            watcher(number, generation.number, generation.errors.share)
        if halt.is_set():
            return None
        if generation.stop:
            data = Microdata(course.codebook, generation.codes)
            return Copy(number, data, generation.stop, generation.number, time.perf_counter() - started)
    return None
