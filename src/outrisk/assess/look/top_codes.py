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
    return float(top) if top is not None and len(_above(codebook, name, top, where)) > 1 else np.inf


def most_above(codebook: Codebook, name: str, top: float | None, where: str = "") -> float:
    """By how much a value that counts as a top code may be larger; 0 without one."""
    above = [] if top is None else _above(codebook, name, top, where)
    return max(above) - float(top) if above and top is not None else 0.0


def is_near(codebook: Codebook, name: str, top: float | None, where: str, share: float) -> bool:
    """Whether a top code tells whichever value counts as it to within a share of this."""
    above = [] if top is None else _above(codebook, name, top, where)
    return bool(above) and max(above) - min(above) < share * min(above)


def _above(codebook: Codebook, name: str, top: float, where: str) -> list[float]:
    """The values that count as a top code, ascending."""
    if not codebook[name].numeric:
        return []
    above = [float(value) for value in codebook[name].values if value >= top]
    if where and len(above) > 1:
        levels = _levels(codebook, name, where)
        above = [value for value in above if levels is None or format_value(value) in levels]
    return above


def _levels(codebook: Codebook, name: str, where: str) -> set[str] | None:
    """Those of a variable that a condition allows; None where it names it not, or too much to go through."""
    subset = Subset(codebook, where, "")
    try:
        return subset.levels(name) if name in subset.variables else None
    except OutputError:
        return None
