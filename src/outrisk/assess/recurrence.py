"""Records that recur over the runs of a fold: rows of recurring.csv."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from outrisk.assess.run import RunResult
from outrisk.records.schema import Recurring
from outrisk.risk.recurrence.recurring import recurring

_MOST = 5_000_000  # records of all runs of a fold; of more runs the first are taken
KEYS, RECORDS = "keys and target", "all variables"


def recurring_rows(results: Sequence[RunResult], seed: int) -> Iterator[Recurring]:
    """Rows of each fold with two runs or more: of whole records, and of keys and target."""
    for _, runs in groupby(results, key=lambda result: (result.job.fold.level, result.job.fold.index)):
        some = list(runs)
        job = some[0].job
        some = some[: max(2, _MOST // len(job.fold.original))]
        if len(some) < 2 or job.fold.swapped:
            continue
        asked = {KEYS: (*job.keys, job.target), RECORDS: job.problem.codebook.names}
        if set(asked[KEYS]) == set(asked[RECORDS]):
            del asked[KEYS]
        synthetic = [job.fold.measured(run.synthetic) for run in some]
        for of, names in asked.items():
            tops = recurring(synthetic, job.fold.people, job.fold.others, names, seed)
            for top in tops:
                yield Recurring(level=job.fold.level, fold=job.fold.name, of=of, runs=len(some), **asdict(top))
