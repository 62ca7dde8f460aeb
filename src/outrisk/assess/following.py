"""Whom does a release follow? People whose inferred value changes when their own value is changed and the outputs are
released again: the release's doing, whatever the population looks like. No holdout is needed.

Everything happens in memory: the changed copies of the records are written nowhere, and only counts are told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations, pairwise
from threading import Event

import joblib
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from outrisk.assess.verdict.reproduction import distance
from outrisk.evolve.loop import evolve, load_compiled
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import Settings
from outrisk.microdata import Codes, Microdata
from outrisk.outputs.base import Output, release
from outrisk.outputs.of_one_table.told_together import tables_told
from outrisk.problem.blocks import Mask
from outrisk.problem.determined import determined, whole
from outrisk.records.provenance import seed_of
from outrisk.risk.coding.bands import Bands
from outrisk.risk.coding.classes import combined_code
from outrisk.side_by_side.forked import Here, forked_if_safe

MOST_PEOPLE, MOST_KEYS = 10, 4  # of a class; of its key set, beside the set of all keys
CONSISTENT = 0.9  # of the runs
AT_ONCE = 0.05  # of the records, whose value is changed in one round
_BRANCH = 4  # of the study's random tree
Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Question:
    """Whose target is asked about, by which keys, and how the release is evolved."""

    original: Microdata
    outputs: tuple[Output, ...]
    keys: tuple[str, ...]
    target: str
    settings: Settings
    rules: tuple[Mask, ...] = ()
    seed: int = 1
    runs: int = 5
    rounds: int = 1
    workers: int = 1
    learnt: str = ""  # the target in words; empty: its name
    bands: Bands | None = None  # of the target: a value is inferred that comes near the true one

    def measured(self, data: Microdata) -> Microdata:
        """Records as they are compared."""
        return data if self.bands is None else self.bands.of(data)


@dataclass(frozen=True)
class ByKeys:
    """Classes of one key set: how many were tried, how many of them were followed, and their people."""

    keys: tuple[str, ...]
    tried: int
    followed: int
    people_tried: int
    people_followed: int


@dataclass(frozen=True)
class Followed:
    """Counts of people. flagged: in a small class that the runs infer rightly; tried: of these, whose value changed;
    followed: whose inferred value changed with it. reproduced: whether every run reproduced every output; where not,
    the numbers are those of data further from the release, and may be too small.
    """

    people: int
    target: str
    runs: int
    rounds: int
    flagged: int
    tried: int
    followed: int
    reproduced: bool
    by_keys: tuple[ByKeys, ...]


@dataclass(frozen=True, eq=False)
class _Class:
    """People with the same values of some keys, who all have one value of the target."""

    keys: tuple[str, ...]
    rows: Positions
    value: int


def follow(question: Question) -> Followed:
    """Evolve the release, change the value of people inferred rightly in small classes, and evolve what is then
    released: a class is followed where at least 90 % of the new runs infer its new value.

    Classes are of at most 10 people, all of one value, by the sets of up to four keys and by all keys; they are taken
    up where in at least 90 % of the runs all synthetic records with their keys have that value (and there are some).
    The smallest key sets come first; at most 5 % of the records are changed at once, further classes in further rounds.
    """
    runs, reproduced = _evolved(question, question.original, 0)
    flagged = _flagged(question, runs)
    tried: list[_Class] = []
    hits: list[_Class] = []
    rng = np.random.default_rng(seed_of(question.seed, [_BRANCH, 0]))
    for number in range(1, question.rounds + 1):
        chosen = _chosen(flagged, tried, hits, int(AT_ONCE * len(question.original)))
        if not chosen:
            break
        changed, new = _changed(question, chosen, rng)
        runs, as_well = _evolved(question, changed, number)
        reproduced &= as_well
        tried += chosen
        hits += [each for each, value in zip(chosen, new, strict=True) if _claimed(question, each, value, runs)]
    return Followed(
        people=len(question.original),
        target=question.learnt or question.target,
        runs=question.runs,
        rounds=question.rounds,
        flagged=_people(flagged),
        tried=_people(tried),
        followed=_people(hits),
        reproduced=reproduced,
        by_keys=tuple(
            ByKeys(keys, *(len(part) for part in parts), *(_people(part) for part in parts))
            for keys in dict.fromkeys(each.keys for each in tried)
            for parts in [[[each for each in some if each.keys == keys] for some in (tried, hits)]]
        ),
    )


def _people(classes: Sequence[_Class]) -> int:
    return len(set[int]().union(*(each.rows.tolist() for each in classes)))


def _evolved(question: Question, records: Microdata, number: int) -> tuple[list[Microdata], bool]:
    """Synthetic data of every run on the release of some records, and whether all outputs are reproduced in all."""
    released = tuple(release(output, records) for output in question.outputs)
    told = tables_told(records.codebook, released)
    problem = Problem(records.codebook, len(records), released, question.rules, told=told)
    seeds = [seed_of(question.seed, [_BRANCH, 1, number, run]) for run in range(question.runs)]
    runs = [Microdata(problem.codebook, codes) for codes in _codes_of_runs(problem, question, seeds)]
    return runs, all(distance(each.recompute(run)) <= 1 for run in runs for each in released)


def _codes_of_runs(problem: Problem, question: Question, seeds: Sequence[np.random.SeedSequence]) -> list[Codes]:
    """Of every run; side by side in processes forked for them, on threads where these are not safe or not worth it."""
    settings, processes = question.settings, min(question.workers, len(seeds))
    ready = processes > 1 and load_compiled(problem, settings)
    forked = forked_if_safe((problem, settings), processes) if ready else None
    if forked is not None:
        with closing(forked):
            found = forked.carry_out(_run_there, [(seed,) for seed in seeds], Event())
            return [codes for _, codes in sorted(found, key=lambda each: each[0])]
    with threadpool_limits(limits=1):
        parallel = joblib.Parallel(n_jobs=question.workers, prefer="threads")
        return list(parallel(joblib.delayed(_run)(problem, settings, seed) for seed in seeds))


def _run_there(here: Here, seed: np.random.SeedSequence) -> Codes:
    problem, settings = here.shared
    return _run(problem, settings, seed)


def _run(problem: Problem, settings: Settings, seed: np.random.SeedSequence) -> Codes:
    return deque(evolve(problem, settings, np.random.default_rng(seed)), maxlen=1)[0].codes


def _flagged(question: Question, runs: Sequence[Microdata]) -> list[_Class]:
    """Small classes of one value that the runs infer rightly, smallest key sets first; each group of people once."""
    sets = [
        keys for size in range(1, min(MOST_KEYS, len(question.keys)) + 1) for keys in combinations(question.keys, size)
    ]
    found: dict[bytes, _Class] = {}
    for keys in dict.fromkeys([*sets, question.keys]):
        for each in _of_key_set(question, keys, runs):
            found.setdefault(each.rows.tobytes(), each)
    return list(found.values())


def _of_key_set(question: Question, keys: tuple[str, ...], runs: Sequence[Microdata]) -> list[_Class]:
    tables, n = [question.measured(table) for table in (question.original, *runs)], len(question.original)
    codebook = tables[0].codebook
    at = codebook.index(question.target)
    levels = codebook.sizes[at]
    columns = [np.concatenate([table.codes[:, codebook.index(name)] for table in tables]) for name in keys]
    code, _ = combined_code(columns, [codebook[name].size for name in keys])
    classes = np.unique(code, return_inverse=True)[1].reshape(-1)
    cells = classes * levels + np.concatenate([table.codes[:, at] for table in tables])
    size = int(classes.max()) + 1
    bounds = np.cumsum([0, *(len(table) for table in tables)])
    counts = [
        np.bincount(cells[start:end], minlength=size * levels).reshape(size, levels) for start, end in pairwise(bounds)
    ]
    people, value = counts[0].sum(axis=1), counts[0].argmax(axis=1)
    alike = (people > 0) & (people <= MOST_PEOPLE) & (counts[0].max(axis=1) == people)
    if codebook[question.target].missing:
        alike &= value != levels - 1
    claims = np.mean([_claims(each) == value for each in counts[1:]], axis=0)
    wanted = np.flatnonzero(alike & (claims >= CONSISTENT - 1e-9))
    order = np.argsort(classes[:n], kind="stable")
    starts = np.searchsorted(classes[:n][order], wanted)
    return [
        _Class(keys, np.sort(order[start : start + people[each]]), int(value[each]))
        for each, start in zip(wanted, starts, strict=True)
    ]


def _claims(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The value that all records of a class have, (n_classes,); -1 where they differ or there are none."""
    total = counts.sum(axis=1)
    return np.where((total > 0) & (counts.max(axis=1) == total), counts.argmax(axis=1), -1)


def _chosen(flagged: Sequence[_Class], tried: Sequence[_Class], hits: Sequence[_Class], most: int) -> list[_Class]:
    """Classes of the next round: not tried yet, no two with people in common, not of people known to be followed."""
    known = set[int]().union(*(each.rows.tolist() for each in hits))
    chosen: list[_Class] = []
    used = set[int]()
    for each in flagged:
        people = set(each.rows.tolist())
        if any(each is other for other in tried) or people & used or people <= known:
            continue
        if len(used) + len(people) > max(most, MOST_PEOPLE):
            break
        used |= people
        chosen.append(each)
    return chosen


def _changed(question: Question, chosen: Sequence[_Class], rng: np.random.Generator) -> tuple[Microdata, list[int]]:
    """The records with another value of the target for each class, drawn as they occur elsewhere, and of what follows
    from it; these as compared.
    """
    codebook = question.original.codebook
    at = codebook.index(question.target)
    codes, band = question.original.codes.copy(), np.arange(codebook.sizes[at])
    if question.bands is not None:
        band = question.bands.code
    counts = np.bincount(codes[:, at], minlength=codebook.sizes[at]).astype(float)
    if codebook[question.target].missing:
        counts[-1] = 0
    new = []
    for each in chosen:
        others = counts.copy()
        others[band == each.value] = 0
        chosen_value = int(rng.choice(len(others), p=others / others.sum()))
        codes[each.rows, at] = chosen_value
        new.append(int(band[chosen_value]))
    follow = [one for one in determined(question.rules, codebook.sizes) if one.variable != at]
    return Microdata(codebook, whole(codes, follow)), new


def _claimed(question: Question, each: _Class, value: int, runs: Sequence[Microdata]) -> bool:
    """Whether enough runs infer a value for the people of a class."""
    codebook = question.original.codebook
    at, columns = codebook.index(question.target), [codebook.index(name) for name in each.keys]
    wanted = question.original.codes[each.rows[0], columns]
    measured = [question.measured(run).codes for run in runs]
    met = [codes[(codes[:, columns] == wanted).all(axis=1), at] for codes in measured]
    return float(np.mean([len(found) > 0 and bool((found == value).all()) for found in met])) >= CONSISTENT - 1e-9
