"""A run that has ended, as it is kept until its study is complete (see records/stored.py), and back.

The fields of a `RunResult` are kept by their declared types. What the study has anyway is not: the job, what was
released, the codebook.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, make_dataclass
from functools import cache
from typing import Any, get_type_hints

from outrisk.assess.run import Job, RunResult
from outrisk.microdata import Codes, Microdata
from outrisk.problem.blocks import Array
from outrisk.problem.refit import Refit
from outrisk.records.directory import StudyDirectory


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A refit without what was released."""

    numbers: Array
    failure: str


_INSTEAD = {"refits": list[_Numbers], "synthetic": Codes}


@cache
def _form() -> type[Any]:
    """A class with the fields of a result as they are kept."""
    hints = get_type_hints(RunResult, include_extras=True)
    names = [field.name for field in fields(RunResult) if field.name != "job"]
    return make_dataclass("KeptRun", [(name, _INSTEAD.get(name, hints[name])) for name in names], eq=False)


def keep(directory: StudyDirectory, result: RunResult) -> None:
    """Keep a result."""
    values = {field.name: getattr(result, field.name) for field in fields(RunResult) if field.name != "job"}
    values["refits"] = [_Numbers(refit.numbers, refit.failure) for refit in result.refits]
    values["synthetic"] = result.synthetic.codes
    directory.keep(result.job.name, _form()(**values), _form())


def kept(directory: StudyDirectory, job: Job) -> RunResult | None:
    """The result of a job, if it was kept."""
    found = directory.kept(job.name, _form())
    if found is None or len(found.refits) != len(job.problem.released):
        return None
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    pairs = zip(job.problem.released, found.refits, strict=True)
    values["refits"] = [Refit(released, found.synthetic, each.numbers, each.failure) for released, each in pairs]
    values["synthetic"] = Microdata(job.problem.codebook, found.synthetic)
    return RunResult(job=job, **values)
