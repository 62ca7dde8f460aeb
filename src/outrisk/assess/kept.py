"""A run that has ended, as it is kept until its study is complete (see records/stored.py), and back.

The fields of a `RunResult` are kept by their declared types. What the study has anyway is not: the job, what was
released, the codebook.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def packed(result: RunResult) -> dict[str, Any]:
    """What a result says beside its job, by field."""
    values = {field.name: getattr(result, field.name) for field in fields(RunResult) if field.name != "job"}
    values["refits"] = [_Numbers(refit.numbers, refit.failure) for refit in result.refits]
    values["synthetic"] = result.synthetic.codes
    return values


def unpacked(job: Job, values: Mapping[str, Any]) -> RunResult:
    """The result of a job, of what it says beside that."""
    synthetic = Microdata(job.problem.codebook, values["synthetic"])
    pairs = zip(job.problem.released, values["refits"], strict=True)
    refits = [Refit(released, synthetic.codes, each.numbers, each.failure) for released, each in pairs]
    return RunResult(job=job, **{**values, "synthetic": synthetic, "refits": refits})


def keep(directory: StudyDirectory, result: RunResult) -> None:
    """Keep a result."""
    directory.keep(result.job.name, _form()(**packed(result)), _form())


def kept(directory: StudyDirectory, job: Job) -> RunResult | None:
    """The result of a job, if it was kept."""
    found = directory.kept(job.name, _form())
    if found is None or len(found.refits) != len(job.problem.released):
        return None
    return unpacked(job, {field.name: getattr(found, field.name) for field in fields(found)})
