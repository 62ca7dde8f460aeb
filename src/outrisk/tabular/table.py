"""Records as a file holds them, with what it says about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd


@dataclass(frozen=True, eq=False)
class Table:
    """The records of a file (n, columns).

    `notes` say, without a value of a person, what was found out about how it is written; `labels` have the label of a
    column, `levels` of a column's codes (as text) what each means.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
