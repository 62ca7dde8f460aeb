"""What several rules ask of the same output and the same records, worked out once for a look."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from outrisk.assess.look.finding import Rows
from outrisk.microdata import Microdata
from outrisk.outputs import base
from outrisk.outputs.base import Array, Output, Subset
from outrisk.problem.released import Released

_T = TypeVar("_T")
_MOST_TABLES = 16  # tables of all records by their cells that are kept at a time

_found: WeakKeyDictionary[Microdata, dict[object, object]] = WeakKeyDictionary()


def once(data: Microdata, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
    """What is made of the records, under a key that names all that it depends on; kept as long as they are."""
    found = _found.setdefault(data, {})
    if key not in found:
        found[key] = make()
    return found[key]  # type: ignore[return-value]


def some(data: Microdata, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
    """As `once`, of what takes much room: the last few are kept."""
    last: dict[tuple[object, ...], _T] = once(data, ("last",), dict)
    found = last.get(key)
    if found is None:
        if len(last) >= _MOST_TABLES:
            last.pop(next(iter(last)), None)
        found = last[key] = make()
    return found


def forget(data: Microdata) -> None:
    """Keep nothing of these records any more."""
    _found.pop(data, None)


def refit(output: Output, data: Microdata) -> Array:
    """The output's numbers (k,) of the records, which nobody may change."""

    def make() -> tuple[Output, Array]:
        numbers = np.asarray(output.refit(data))
        numbers.flags.writeable = False
        return output, numbers

    return once(data, ("refit", id(output)), make)[1]


def release(output: Output, data: Microdata) -> Released:
    """The output as it would be released from the records; OutputError as of `outputs.base.release`."""
    made = once(data, ("release", id(output)), lambda: (output, base.release(output, data, refit)))
    return made[1]


def inside(data: Microdata, where: str, output: str) -> Rows:
    """The records that a condition keeps, ascending; OutputError, with the output named, for one that cannot be."""

    def make() -> Rows:
        rows = np.arange(len(data))
        if where:
            rows = np.flatnonzero(Subset(data.codebook, where, output).holds(data.frame()))
        rows.flags.writeable = False
        return rows

    return once(data, ("inside", where), make)
