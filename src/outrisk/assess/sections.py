"""What is to be measured, and the sections of tables that it is told in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from outrisk.codebook import Codebook


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
    attacks: bool = False
    codebook: Codebook | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A data frame under a caption, its measures in percent or as shares in [0, 1]."""

    caption: str
    frame: pd.DataFrame
    unit: Literal["percent", "share"] = "percent"


@dataclass(frozen=True, eq=False)
class Section:
    """One family of measures, or a part of it: tables, notes, and the name of a figure that report draws of it.

    figure: a figure of `outrisk.report.measured`; it is drawn from the first table.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    figure: str = ""
