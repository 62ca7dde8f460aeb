"""The first words of `outrisk measure`: exact copies always, then what the synthetic data tell by the keys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from outrisk.assess.measured.sections import Request, Section, Table
from outrisk.risk.coding.bands import MANY
from outrisk.risk.exact_copies import Copies, exact_copies
from outrisk.risk.rows import Row

_MAIN = "DiSCO"


def copies_of(request: Request) -> list[Copies]:
    """Exact copies in each synthetic table."""
    return [exact_copies(request.original, table, request.holdout) for table in request.synthetic]


def copies_section(request: Request, found: Sequence[Copies]) -> Section:
    """The exact copies as a table: people of the original and of the holdout."""
    several = len(found) > 1
    frame = pd.DataFrame(
        [
            {
                **({"synthesis": str(number)} if several else {}),
                "people of": side,
                "as they are in the synthetic data": copies,
                "of": n,
                "share": copies / n,
            }
            for number, each in enumerate(found, start=1)
            for side, copies, n in (
                ("the original", each.original, each.n_original),
                ("the holdout", each.holdout, each.n_holdout),
            )
            if n
        ]
    )
    columns = f"Compared in every column that all files have: {', '.join(found[0].columns) or 'there is none'}."
    chance = "A record of few or coarse columns can be met by chance: then people of the holdout are met as often."
    table = Table("People whose record stands in the synthetic data exactly as it is", frame)
    return Section("copies", "Exact copies", (table,), (columns, chance))


def in_short(request: Request, copies: Sequence[Copies], rows: Sequence[Row]) -> list[str]:
    """Sentences for people: exact copies, then the share of people whose target is told rightly and outright."""
    return [_copies_sentence(copies), *_told_sentence(request, rows), *_amounts(request)]


def _amounts(request: Request) -> Iterator[str]:
    """What counts as told of a number of many values."""
    target = request.original[request.target]
    many = target.nunique()
    if many > MANY and pd.api.types.is_numeric_dtype(target):
        yield (
            f"{request.target} has {many:,} different values in the original, and only the very value counts as told: "
            "who comes near it is not counted. Put it in bands, alike in all files, to see how many that are."
        )


def _copies_sentence(found: Sequence[Copies]) -> str:
    worst = max(found, key=lambda each: each.original)
    where = "the synthetic file" if len(found) == 1 else f"one of the {len(found)} synthetic files (the worst)"
    if not worst.columns:
        return "The files have no column in common, so that no record can be a copy."
    number = f"{worst.original:,}" if worst.original else "None"
    said = f"{number} of {worst.n_original:,} people {'is' if worst.original == 1 else 'are'} in {where} as they are"
    said += f", in all {len(worst.columns)} columns that the files share"
    if not worst.n_holdout:
        return f"{said}."
    return f"{said}; of {worst.n_holdout:,} people who were never used, {worst.holdout:,}."


def _told_sentence(request: Request, rows: Sequence[Row]) -> Iterator[str]:
    row = next((row for row in rows if row.measure == _MAIN), None)
    if row is None or math.isnan(row.original):
        return
    keys = ", ".join(request.keys)
    told = f"To somebody who knows {keys}, the synthetic data tell {request.target} outright and rightly of "
    told += f"{_percent(row.original)} of the people ({_MAIN})"
    if math.isnan(row.difference):
        none = "; without a holdout nothing says how much of that is known of the population anyway"
        yield f"{told}{none if request.holdout is None else ''}."
        return
    said = f"{told}, and of {_percent(row.holdout)} of people who were never used"
    by = f"{_points(row.difference)} percentage points"
    if math.isnan(row.low):
        yield f"{said}: a difference of {by}, without an interval."
        return
    between = f"{by} (95 % interval {_points(row.low)} to {_points(row.high)})"
    judged = "more than chance explains" if row.low > 0 else "which chance may explain"
    yield f"{said}: a difference of {between}, {judged if row.low > 0 or row.high >= 0 else 'to the other side'}."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _points(share: float) -> str:
    text = f"{100 * share:.1f}"
    return "0.0" if text == "-0.0" else text
