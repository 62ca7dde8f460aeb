"""What a teacher hands on with the data: which released numbers they reproduce, checked on the written files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from outrisk.errors import EvolveError
from outrisk.problem.released import Refit, Released, agrees
from outrisk.provenance import file_digest
from outrisk.teach.course import Copy, Course
from outrisk.teach.marked import read_marked
from outrisk.teach.relations import relations

Row = dict[str, Any]
REPRODUCED = [
    "copy", "output", "label", "released", "low", "high", "refit", "difference", "decimals", "agrees", "matched",
]  # fmt: skip


def check_files(course: Course, copy: Copy, files: Sequence[Path]) -> tuple[Row, list[Row]]:
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
    rows = list(reproduced_rows(copy.number, refits))
    facts = {
        "files": [{"name": f"{file.parent.name}/{file.name}", "sha256": file_digest(file)} for file in files],
        "matched": sum(row["matched"] == "true" for row in rows),
        "numbers": len(rows),
        "broken": broken,
        "failures": [refit.failure for refit in refits if refit.failure],
    }
    return facts, rows


def reproduced_rows(number: int, refits: Sequence[Refit]) -> Iterator[Row]:
    """Rows of reproduced.csv for one copy: every number of which something was released."""
    for refit in refits:
        for row in refit.rows():
            yield {"copy": number, **row, "agrees": agreement(row["difference"], row["decimals"])}


def agreement(difference: float, decimals: int) -> int | None:
    """To how many of the released decimals a difference vanishes: it is at most half a unit of that decimal.

    None where it does not even vanish in whole units, or is undefined.
    """
    return next((d for d in range(decimals, -1, -1) if agrees(difference, d)), None)


def document(course: Course, copies: Sequence[tuple[Copy, Row]], computed: bool, source: str) -> Row:
    """The content of teaching.json: all that the page says and reproduced.csv does not.

    Each copy comes with its files and checks. `computed`: the released numbers come from the study's own data.
    """
    found = relations(course.codebook, course.released, course.rules)
    return {
        "synthetic": True,
        "computed": computed,
        "source": source,
        "records": course.n_records,
        "outputs": [_output(released) for released in course.released],
        "rules": [rule.text for rule in course.rules],
        "relations": {
            "unseen": list(found.unseen),
            **{
                name: [list(pair) for pair in getattr(found, name)] for name in ("direct", "partial", "ruled", "absent")
            },
        },
        "copies": [
            {
                "copy_number": copy.number,
                "stop": copy.stop,
                "generations": copy.generations,
                "seconds": round(copy.seconds, 3),
                **facts,
            }
            for copy, facts in copies
        ],
    }


def _output(released: Released) -> Row:
    known = int(released.known.sum())
    return {
        "name": released.name,
        "kind": released.kind,
        "notes": released.output.notes,
        "numbers": known,
        "withheld": len(released.low) - known,
        "importance": released.importance,
    }
