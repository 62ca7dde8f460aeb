"""Exact copies: people whose record stands in the synthetic data as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.microdata import MISSING_VALUES, as_text


@dataclass(frozen=True)
class Copies:
    """How many records of the original, and of the holdout, a synthetic table holds as they are in all `columns`."""

    columns: tuple[str, ...]
    original: int
    n_original: int
    holdout: int
    n_holdout: int  # 0 = there is none


def exact_copies(original: pd.DataFrame, synthetic: pd.DataFrame, holdout: pd.DataFrame | None = None) -> Copies:
    """Count the records that a synthetic table holds as they are, in every column that all tables have.

    Values are compared as data files write them (2.0 is 2), a missing value equals a missing one. Without a common
    column nothing is a copy.
    """
    tables = [original, synthetic, *([] if holdout is None else [holdout])]
    columns = [name for name in original.columns if all(name in table.columns for table in tables)]
    ends = np.cumsum([len(table) for table in tables])
    rows = _row_numbers(tables, columns)
    held = rows[ends[0] : ends[1]] if columns else rows[:0]
    own, others = np.isin(rows[: ends[0]], held), np.isin(rows[ends[1] :], held)
    return Copies(tuple(columns), int(own.sum()), len(own), int(others.sum()), len(others))


def _row_numbers(tables: Sequence[pd.DataFrame], columns: Sequence[str]) -> NDArray[np.int64]:
    """A number for each record of all tables, the same for the same values, shape (records,)."""
    rows = np.zeros(sum(len(table) for table in tables), dtype=np.int64)
    for name in columns:
        text = pd.concat([as_text(table[name]).astype(object) for table in tables], ignore_index=True)
        codes, levels = pd.factorize(text.where(~text.isin(list(MISSING_VALUES)), None), use_na_sentinel=True)
        rows = pd.factorize(rows * (len(levels) + 1) + codes + 1)[0].astype(np.int64)
    return rows
