"""What a teacher hands on with the data: which released numbers they reproduce, checked on the written files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from outrisk.errors import EvolveError
from outrisk.microdata import Microdata
from outrisk.problem.refit import Refit
from outrisk.problem.released import agrees
from outrisk.problem.tension import Conflicts, compared
from outrisk.records.provenance import file_digest
from outrisk.records.schema import ReleasedOutput, Reproduced, SyntheticFile, Teaching, TeachingCopy
from outrisk.teach.course import Copy, Course
from outrisk.teach.marked import read_marked
from outrisk.teach.pictures import bars, chance_relation
from outrisk.teach.relations import relations


def check_files(course: Course, copy: Copy, files: Sequence[Path]) -> tuple[TeachingCopy, list[Reproduced]]:
    """Read the written files of a copy back and check them: its facts, and its rows of reproduced.csv.

    EvolveError if they differ from the copy, or if a record breaks a rule: such data must not be handed on.
    """
    back = [read_marked(file, course.codebook) for file in files]
    broken = [rule.broken(back[0]) for rule in course.rules]
    faults = [f"breaks {rule.place}" for rule, n in zip(course.rules, broken, strict=True) if n]
    if any((each.codes != copy.data.codes).any() for each in back):
        faults.append("reads back differently")
    if faults:
        raise EvolveError(f"copy {copy.number} {faults[0]}, a fault of OutRisk: please report it; nothing was written")
    refits = [released.recompute(back[0]) for released in course.released]
    rows = list(reproduced_rows(copy.number, refits, copy.stop, lambda: course.conflicts))
    checked = TeachingCopy(
        copy_number=copy.number,
        stop=copy.stop,
        generations=copy.generations,
        seconds=round(copy.seconds, 3),
        files=tuple(SyntheticFile(f"{file.parent.name}/{file.name}", file_digest(file)) for file in files),
        matched=sum(row.matched for row in rows),
        near=sum(row.near for row in rows),
        numbers=len(rows),
        broken=tuple(broken),
        failures=tuple(refit.failure for refit in refits if refit.failure),
    )
    return checked, rows


def reproduced_rows(
    number: int, refits: Sequence[Refit], stop: str = "", conflicts: Conflicts | None = None
) -> Iterator[Reproduced]:
    """Rows of reproduced.csv for one copy: every number of which something was released (see `compared`)."""
    for row in compared(refits, stop, conflicts):
        yield Reproduced(copy=number, **vars(row), agrees=agreement(row.difference, row.decimals))


def agreement(difference: float, decimals: int) -> float:
    """To how many of the released decimals a difference vanishes: it is at most half a unit of that decimal.

    NaN where it does not even vanish in whole units, or is undefined.
    """
    return next((d for d in range(decimals, -1, -1) if agrees(difference, d)), math.nan)


def document(
    course: Course,
    copies: Sequence[TeachingCopy],
    data: Sequence[Microdata],
    source: str,
    remarks: Sequence[str] = (),
) -> Teaching:
    """The content of teaching.json. `data`: the records of each copy. `remarks`: how released numbers were read."""
    tied = relations(course.codebook, course.released, course.rules)
    return Teaching(
        computed=course.computed,
        source=source,
        records=course.n_records,
        outputs=tuple(ReleasedOutput.of(released) for released in course.released),
        rules=tuple(rule.text for rule in course.rules),
        relations=tied,
        copies=tuple(copies),
        bars=bars(data[0]) if data else (),
        chance=chance_relation(data, tied.absent) if data else None,
        remarks=tuple(remarks),
    )
