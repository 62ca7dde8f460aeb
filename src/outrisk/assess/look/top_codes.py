"""Values that stand for others too: whoever has the top code of an output has it or more, and how much is not told."""

from __future__ import annotations

import numpy as np

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.outputs.base import Subset


def open_from(codebook: Codebook, name: str, top: float | None, where: str = "") -> float:
    """The value as which several values of a variable count that records of a condition may have; infinite where none
    does, as where one value alone lies above the top code.
    """
    if top is None or not codebook[name].numeric:
        return np.inf
    above = [value for value in codebook[name].values if value >= top]
    if where and len(above) > 1:
        levels = _levels(codebook, name, where)
        above = [value for value in above if levels is None or format_value(value) in levels]
    return float(top) if len(above) > 1 else np.inf


def _levels(codebook: Codebook, name: str, where: str) -> set[str] | None:
    """Those of a variable that a condition allows; None where it names it not, or too much to go through."""
    subset = Subset(codebook, where, "")
    try:
        return subset.levels(name) if name in subset.variables else None
    except OutputError:
        return None
