"""What is to be measured, and the sections of tables that it is told in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from outrisk.codebook import Codebook
from outrisk.risk.rows import Row


@dataclass(frozen=True, eq=False)
class Privacy:
    """Which privacy metrics are asked for, and what they may cost."""

    metrics: tuple[str, ...] = ()  # none: all
    sample: int | None = None  # records of each table that are asked about; None: all
    time_limit: float | None = None  # seconds a metric may take for each table attacked
    progress: Callable[[str, float], None] | None = None  # is given the metric's name and the share done


@dataclass(frozen=True, eq=False)
class Request:
    """What is to be measured: data frames, roles of their columns, and the families asked for."""

    original: pd.DataFrame
    synthetic: tuple[pd.DataFrame, ...]
    holdout: pd.DataFrame | None
    keys: tuple[str, ...]
    target: str
    targets: tuple[str, ...] = ()  # further ones; with them the targets are compared
    key_sizes: tuple[int, ...] = ()  # with them the CAP family is measured over all key sets of these sizes
    attacks: str = ""  # encoding of the keys that classifiers learn from; empty: none is trained
    privacy: Privacy | None = None
    codebook: Codebook | None = None
    ngroups_keys: int | None = None  # intervals that numeric keys are grouped into


@dataclass(frozen=True, eq=False)
class Table:
    """A data frame under a caption; its measures are shares in [0, 1] unless their names say otherwise.

    details: for who wants to look closer.
    """

    caption: str
    frame: pd.DataFrame
    unit: str = "share"
    details: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """One family of measures, or a part of it: tables, notes, and the name of a figure that report draws of it.

    figure: a figure of `outrisk.report.measured`; it is drawn from the first table. details: for who wants to look
    closer; `rows` are the result rows behind the first table, where it has them.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    figure: str = ""
    details: bool = False
    rows: tuple[Row, ...] = ()
