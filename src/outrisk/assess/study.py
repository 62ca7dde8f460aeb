"""A study: released numbers of every fold, runs on each, and what they say together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np

from outrisk.assess.contributions.combinations import Wish
from outrisk.assess.folds import Fold, make_folds, swapped
from outrisk.assess.run import Job, KeySets
from outrisk.assess.suite.of_run import Suite
from outrisk.errors import OutputError, RiskError
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import Settings
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, release
from outrisk.outputs.of_one_table.told_together import tables_told
from outrisk.problem.blocks import Mask
from outrisk.problem.released import Released
from outrisk.records.provenance import seed_of
from outrisk.risk.attribution.definitions import key_sets
from outrisk.risk.attribution.over_key_sets import score
from outrisk.risk.coding.bands import Bands, bands_of, in_words

_FOLDS, _RUNS = 0, 1  # branches of the study's random tree
_DIVISIONS = 50  # of the data into folds, at most, for every output to be one that each fold can have


class _FoldError(OutputError):
    """An output that cannot be computed in a part of the data."""

    def __init__(self, output: Output, fold: Fold, error: OutputError) -> None:
        super().__init__(f"{error} (in fold {fold.name} of {fold.level}; fewer folds may do)")
        self.output = output


@dataclass(frozen=True, eq=False)
class Assessment:
    """What is to be assessed, and how. `runs` gives the number of runs for each level of folds.

    given: outputs by name whose released numbers are known; the whole data are taken to have released these. n_earlier:
    the first outputs, which are already released. wish: what is to be said of each output.
    """

    original: Microdata
    holdout: Microdata | None
    outputs: tuple[Output, ...]
    keys: tuple[str, ...]
    key_sizes: tuple[int, ...]
    target: str
    tau: float
    settings: Settings
    runs: Mapping[int, int]
    seed: int
    rules: tuple[Mask, ...] = ()
    suite: Suite = field(default_factory=Suite)
    given: Mapping[str, Released] = field(default_factory=dict)
    n_earlier: int = 0
    wish: Wish = field(default_factory=Wish)
    within: float | None = None  # see `Bands`

    @cached_property
    def bands(self) -> Bands | None:
        """Of the target, where the measures take what comes near it for right."""
        return bands_of(self.original.codebook, self.target, self.within)

    @property
    def learnt(self) -> str:
        """What the intruder wants to learn, in words."""
        return in_words(self.target, self.bands)

    @property
    def sets(self) -> KeySets:
        """All key sets of the given sizes."""
        return key_sets(self.keys, self.key_sizes)


def plan_jobs(
    assessment: Assessment, workers: int, time_limit: float | None = None, folder: Path | None = None
) -> list[Job]:
    """Compute each fold's released numbers and lay out all runs; every fault shows here, before anything is written.

    time_limit: seconds of evolution for a run. folder: where runs keep their checkpoints.
    """
    rng = np.random.default_rng(seed_of(assessment.seed, [_FOLDS]))
    problems = _problems(assessment, rng)
    n_runs = sum(assessment.runs[fold.level] for fold in problems)
    jobs = []
    for fold, problem in problems.items():
        for run in range(1, assessment.runs[fold.level] + 1):
            jobs.append(
                Job(
                    fold=fold,
                    run=run,
                    problem=problem,
                    settings=assessment.settings,
                    seed=seed_of(assessment.seed, [_RUNS, fold.level, fold.index, run]),
                    key_sets=[assessment.keys] if fold.swapped else assessment.sets,
                    keys=assessment.keys,
                    target=assessment.target,
                    tau=assessment.tau,
                    jackknife_seed=assessment.seed,
                    suite=Suite(metrics=()) if fold.swapped else assessment.suite,
                    workers=max(1, workers // n_runs),
                    time_limit=time_limit,
                    folder=folder,
                )
            )
    return jobs


def _problem(assessment: Assessment, fold: Fold) -> Problem:
    """What a fold's evolution is asked for; its measures are tried."""
    _try_measures(assessment, fold)
    released = tuple(_release(assessment, fold))
    codebook = assessment.original.codebook
    told = tables_told(codebook, released)
    problem = Problem(codebook, len(fold.original), released, assessment.rules, told=told)
    _ = problem.searched.plan
    return problem


def _problems(assessment: Assessment, rng: np.random.Generator) -> dict[Fold, Problem]:
    """What each fold is asked for. A part of the data may lack what an output needs, such as the few people of a level:
    then they are divided anew, at random.
    """
    folds = _folds(assessment, rng)
    problems = dict(_of_the_whole(assessment, [fold for fold in folds if fold.level == 1], rng))
    failed, first = dict[str, Output](), ""
    for time in range(1, _DIVISIONS + 1):
        try:
            for fold, output in product(folds, failed.values()):  # what could not be computed before fails soonest
                if fold.level > 1:
                    _computed(fold, output)
            parts = {fold: _problem(assessment, fold) for fold in folds if fold.level > 1}
        except _FoldError as error:
            failed[error.output.name], first = error.output, first or str(error)
            folds = _folds(assessment, np.random.default_rng(seed_of(assessment.seed, [_FOLDS, time])))
            continue
        why = ", ".join(f"'{name}'" for name in failed)
        anew = f"divided {time} times, until each part could have {why}" if failed else ""
        return problems | {replace(fold, divided_anew=anew): problem for fold, problem in parts.items()}
    raise OutputError(first)


def _folds(assessment: Assessment, rng: np.random.Generator) -> list[Fold]:
    return make_folds(assessment.original, assessment.holdout, list(assessment.runs), rng, assessment.bands)


def _of_the_whole(
    assessment: Assessment, folds: Sequence[Fold], rng: np.random.Generator
) -> Iterator[tuple[Fold, Problem]]:
    """The whole, and after it the given holdout in its place, where the outputs can be computed from that."""
    for fold in folds:
        problem = _problem(assessment, fold)
        if fold.holdout is None:
            yield fold, problem
            continue
        other, crossing = swapped(fold, rng), None
        why = f"it has {_many(fold.holdout, ' people')} and the data {_many(fold.original)}" if other is None else ""
        if other is not None:
            try:
                crossing = other, _problem(assessment, other)
            except (OutputError, RiskError) as error:
                why = f"in its people, {error}"
        yield replace(fold, not_crossed=why), problem
        if crossing is not None:
            yield crossing


def _many(data: Microdata, word: str = "") -> str:
    return f"{len(data):,} records of {data.whose}" if data.whose else f"{len(data):,}{word}"


def _try_measures(assessment: Assessment, fold: Fold) -> None:
    """The risk of the fold's own records: keys, key sizes and target are wrong here or nowhere."""
    _ = assessment.sets
    try:
        score(
            fold.people,
            fold.people,
            fold.others,
            sets=[assessment.keys],
            target=assessment.target,
            tau=assessment.tau,
            groups=0,
        )
    except RiskError as error:
        raise RiskError(f"{error}{'' if fold.level == 1 else f' (in fold {fold.name} of {fold.level})'}") from None


def _release(assessment: Assessment, fold: Fold) -> Iterator[Released]:
    for output in assessment.outputs:
        whole = fold.level == 1 and not fold.swapped
        given = assessment.given.get(output.name) if whole else None
        yield given or _computed(fold, output)


def _computed(fold: Fold, output: Output) -> Released:
    try:
        return release(output, fold.original)
    except OutputError as error:
        if fold.level == 1:
            raise
        raise _FoldError(output, fold, error) from None


def in_order(jobs: Sequence[Job]) -> list[Job]:
    """The runs in the order they are carried out in: those that say what the risk is come first, so that a study which
    is stopped can say it: of the largest folds with a holdout, all folds by turns; of folds without, at the end.
    """
    return sorted(jobs, key=lambda job: (job.fold.holdout is None, job.fold.level, job.run, job.fold.index))
