"""One result row for the measures of all families: what it is of, its value on each side, what it is read against.

Shares stay shares in [0, 1]; percentages are made where people read them. Undefined is NaN, and `reason` says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from outrisk.result_row import RISKIER, SHARE, Row
from outrisk.risk.coding.classes import HOLDOUT, SIDES, Equivalence
from outrisk.risk.intervals.closed import Floats, interval, sample

__all__ = [
    "AGRESTI_CAFFO",
    "ALL",
    "COLUMNS",
    "JACKKNIFE",
    "MOVER",
    "RISKIER",
    "SHARE",
    "Row",
    "asdict",
    "frame",
    "joined",
    "mean_row",
    "of_scores",
    "sized",
]

AGRESTI_CAFFO, JACKKNIFE, MOVER = "Agresti-Caffo", "jackknife", "MOVER"  # methods of intervals
ALL = "all"  # the size of a mean over key sets of all sizes


COLUMNS = tuple(field.name for field in fields(Row))


def joined(keys: Sequence[str]) -> str:
    """A key set as rows write it."""
    return "+".join(keys)


def frame(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows as a data frame, a column a field."""
    return pd.DataFrame([asdict(row) for row in rows], columns=list(COLUMNS))


def asdict(row: Row) -> dict[str, Any]:
    """The fields of a row by name."""
    return {name: getattr(row, name) for name in COLUMNS}


def of_scores(row: Row, scores: Floats, of: Equivalence) -> Row:
    """The row with values and interval of a measure that is a mean of scores of the records attacked.

    scores: of a record in each cell, in [0, 1], shape (n_cells,). The interval is that of Agresti and Caffo (see
    `intervals.closed`).
    """
    row = sized(row, of.counts)
    counts = {side: of.counts[side].astype(float) for side in SIDES if side in of.counts}
    own, other = (float(counts[side] @ scores) / of.n_records(side) if side in counts else math.nan for side in SIDES)
    row = replace(row, original=own, holdout=other)
    if HOLDOUT not in counts:
        return replace(row, reason=row.reason or "no_holdout")
    low, high = interval(*(sample(scores, counts[side], members=of.members(side)) for side in SIDES))
    return replace(row, difference=own - other, low=low, high=high, method=AGRESTI_CAFFO)


def sized(row: Row, counts: Mapping[str, NDArray[Any]]) -> Row:
    """The row with the numbers of records attacked."""
    n_original, n_holdout = (int(counts[side].sum()) if side in counts else 0 for side in SIDES)
    return replace(row, n_original=n_original, n_holdout=n_holdout)


def mean_row(rows: Sequence[Row]) -> Row:
    """Mean of one measure over several synthetic tables, without an interval: the tables share their records.

    Only the tables where original and holdout are both defined are taken, if there are any, so that the means subtract.
    """
    compared = [row for row in rows if not math.isnan(row.difference)]
    used = compared or [row for row in rows if not math.isnan(row.original)] or list(rows)
    numbers = ("original", "holdout", "difference", "baseline", "worst_case", "synthetic")
    fields_: dict[str, Any] = {name: _mean([getattr(row, name) for row in used]) for name in numbers}
    fields_ |= dict.fromkeys(("low", "high", "original_low", "original_high"), math.nan)
    first = next((row for row in rows if row.reason), rows[0])
    return replace(rows[0], **fields_, method="", reason=first.reason, detail=first.detail)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
