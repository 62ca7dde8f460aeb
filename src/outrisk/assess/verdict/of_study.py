"""The verdict of a study, from its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import NOBODY, Found, Rows
from outrisk.assess.people import people_rows
from outrisk.assess.run import Job, RunResult
from outrisk.assess.study import Assessment
from outrisk.assess.verdict.by_level import LevelRisk, risk_by_level
from outrisk.assess.verdict.decide import Evidence, decide
from outrisk.assess.verdict.looked_at import LookedAt, looked_at, of_output
from outrisk.assess.verdict.reproduction import not_reproduced
from outrisk.records.provenance import seed_of
from outrisk.records.schema import Contrast, Decision, Limit, PeopleCount, Unmet

_BRANCH = 3  # of the study's random tree: labels dealt at random


@dataclass(frozen=True)
class Reached:
    """The decision with the rows of marginal.csv and people.csv behind it; key_sets: those of the study's keys."""

    decision: Decision
    contrasts: tuple[Contrast, ...]
    people: tuple[PeopleCount, ...]
    key_sets: tuple[tuple[str, ...], ...]


def reach(
    name: str,
    appetite: Appetite,
    assessment: Assessment,
    jobs: Sequence[Job],
    results: Sequence[RunResult],
    findings: Sequence[Found],
    levels: Sequence[LevelRisk],
    guessed: Limit | None = None,
    intruders: Sequence[str] = (),
    proved: tuple[Rows, str] = (NOBODY, ""),
    unmet: tuple[Unmet, ...] = (),
    beyond: str = "",
) -> Reached:
    """The verdict on what is done of a study; `results` may lack some of the jobs, and has those of swapped folds.

    levels: what `levels_of` finds in them. guessed, intruders, proved, unmet, beyond: see `Evidence`.
    """
    names, target = assessment.original.codebook.names, assessment.target
    released = jobs[0].problem.released
    own = tuple(each.keys for each in _sets_of(assessment, jobs) if not each.about)
    people = tuple(people_rows([result for result in results if not result.job.fold.swapped]))
    leading = _leading(results, levels[0].level if levels else None)
    evidence = Evidence(
        study=name,
        target=assessment.learnt,
        keys=tuple(assessment.keys),
        appetite=appetite,
        outputs={output.name: of_output(output, target, names) for output in released},
        findings=findings,
        levels=levels,
        people=people,
        missed=not_reproduced(leading),
        runs_done=len(results),
        guessed=guessed,
        intruders=tuple(intruders),
        proved=proved,
        unmet=unmet,
        beyond=beyond,
    )
    return Reached(decide(evidence), tuple(row for level in levels for row in level.rows()), people, own)


def levels_of(
    appetite: Appetite, assessment: Assessment, jobs: Sequence[Job], results: Sequence[RunResult]
) -> list[LevelRisk]:
    """The marginal risk at every level of folds with a holdout, that of the verdict first (see `risk_by_level`)."""
    sets = _sets_of(assessment, jobs)
    return risk_by_level(results, sets, appetite.measure, seed_of(assessment.seed, [_BRANCH]))


def _sets_of(assessment: Assessment, jobs: Sequence[Job]) -> list[LookedAt]:
    """The key sets that people are scored at."""
    return looked_at(assessment.keys, assessment.target, jobs[0].problem.released, assessment.original.codebook.names)


def _leading(results: Sequence[RunResult], level: int | None) -> list[RunResult]:
    """The runs that the verdict rests on: of the leading level, without one of the largest folds."""
    by_level = {at: list(runs) for at, runs in groupby(results, key=lambda result: result.job.fold.level)}
    return by_level.get(min(by_level, default=0) if level is None else level, [])
