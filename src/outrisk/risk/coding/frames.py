"""Data frames of any origin into one coding, every fault of the input told in one line."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from outrisk.codebook import MISSING, Codebook
from outrisk.errors import RiskError
from outrisk.microdata import from_frame
from outrisk.risk.coding.classes import (
    HOLDOUT,
    ORIGINAL,
    SYNTHETIC,
    Coding,
    check_keys,
    check_target_varies,
    code_frames,
    code_microdata,
)
from outrisk.risk.coding.kinds import same_kind


def code_tables(
    original: pd.DataFrame,
    synthetic: pd.DataFrame,
    holdout: pd.DataFrame | None,
    keys: Sequence[str],
    target: str,
    codebook: Codebook | None = None,
    same_kinds: bool = True,
) -> Coding:
    """Keys and target of the tables under one coding; RiskError where no measure is defined on them.

    With a codebook, values are read as it says (DataError where they do not fit it). Without, values are compared as
    `code_frames` says, and a column of several kinds is refused (`same_kind`); with `same_kinds` False, 1 and '1' are
    one level.
    """
    tables = {SYNTHETIC: synthetic, ORIGINAL: original} | ({} if holdout is None else {HOLDOUT: holdout})
    for table, frame in tables.items():
        if not isinstance(frame, pd.DataFrame):
            raise RiskError(f"{table}: expected a pandas data frame, found {type(frame).__name__}")
    check_keys(list(dict.fromkeys(name for frame in tables.values() for name in frame.columns)), keys, target)
    names = (*keys, target)
    if codebook is None:
        coding = code_frames(tables, names)
        if same_kinds:
            for name in names:
                same_kind(name, {table: frame[name] for table, frame in tables.items()})
    else:
        chosen = Codebook(tuple(codebook[name] for name in names))
        coding = code_microdata(
            {table: from_frame(frame, chosen, source=table) for table, frame in tables.items()}, names
        )
    _check_target_known(coding, target)
    check_target_varies(coding, target)
    return coding


def _check_target_known(coding: Coding, target: str) -> None:
    j = coding.names.index(target)
    if MISSING not in coding.labels[j]:
        return
    missing = len(coding.labels[j]) - 1
    for table, rows in coding.rows().items():
        if (coding.columns[j][rows] == missing).all():
            raise RiskError(f"target {target!r} is missing in every record of {table}; choose a target with values")
