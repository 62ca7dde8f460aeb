"""Which numbers that are still off pull against each other: what moves one nearer moves the other away.

To first order each record changes a number by its influence. Where the changes that two numbers lack have opposite
influences on much the same records, no step brings both nearer. That is no proof that they cannot both be met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from outrisk.problem.blocks import Array
from outrisk.problem.influence import Records, records_of_model, records_of_tally
from outrisk.problem.refit import Compared, Refit
from outrisk.problem.released import ModelPart, Released, TallyPart
from outrisk.problem.untold import told_by

OPPOSITE = -0.5  # correlation of what two numbers lack, at most
_MOST = 200  # numbers that are looked at
_SEEN = 20_000  # records that tell it
Positions = NDArray[np.int64]
Conflicts = Callable[[], Sequence[Mapping[int, str]]]  # of each output, by position


def tensions(refits: Sequence[Refit]) -> list[dict[int, str]]:
    """Of each output, by position: the number, in words, that pulls most against a number that is not matched.

    Only numbers that are off themselves are named, with a correlation of `OPPOSITE` or less.
    """
    found: list[dict[int, str]] = [{} for _ in refits]
    off = [_off(refit) for refit in refits]
    places = [(at, int(k)) for at, numbers in enumerate(off) for k in numbers]
    if not 2 <= len(places) <= _MOST:
        return found
    lacks = np.concatenate([refit.released.distance(refit.numbers)[k] for refit, k in zip(refits, off, strict=True)])
    rows = np.hstack([influences(refit.released, refit.codes, k) for refit, k in zip(refits, off, strict=True)])
    rows = (rows - rows.mean(axis=0)) * np.sign(lacks)
    length = np.sqrt((rows**2).sum(axis=0))
    both = np.outer(length, length)
    alike = np.divide(rows.T @ rows, both, out=np.zeros_like(both), where=both > 0.0)
    for i, (at, k) in enumerate(places):
        j = int(np.argmin(alike[i]))
        if alike[i, j] <= OPPOSITE:
            other = refits[places[j][0]].released
            found[at][k] = f"{other.labels[places[j][1]]} of '{other.name}'"
    return found


def _off(refit: Refit) -> Positions:
    known = np.flatnonzero(refit.released.known)
    return known[~refit.matched & np.isfinite(refit.differences)]


def influences(released: Released, codes: Records, numbers: Positions) -> Array:
    """What each of some records (n, variables) adds to some numbers of an output, to first order, (n', numbers): of
    large data of every so many. 0 where that is not known.
    """
    codes = codes[:: -(-len(codes) // _SEEN)]
    found, at = [np.zeros((len(codes), 0))], 0
    for part in released.parts:
        here = numbers[(numbers >= at) & (numbers < at + part.n_numbers)]
        low, high = released.low[at : at + part.n_numbers], released.high[at : at + part.n_numbers]
        if len(here):
            found.append(
                _of_tallies(part, codes, low, high, here - at)
                if isinstance(part, TallyPart)
                else _of_model(told_by(part, low, high, codes), codes, here - at)
            )
        at += part.n_numbers
    return np.nan_to_num(np.hstack(found), posinf=0.0, neginf=0.0)


def _of_tallies(part: TallyPart, codes: Records, low: Array, high: Array, numbers: Positions) -> Array:
    seen = [records_of_tally(block, codes) for block in part.blocks]
    totals = np.concatenate([each.totals(np.ones(len(codes))) for each in seen])
    bounds = part.map.bounds(totals, low, high)
    starts = np.cumsum([0, *(each.size for each in seen)])
    found = np.zeros((len(codes), len(numbers)))
    for column, number in enumerate(numbers):
        carries = np.flatnonzero((bounds.number == number) & (bounds.unit != 0.0) & np.isfinite(bounds.unit))
        if not len(carries):
            continue
        total = carries[-1]  # of several the last: numbers of records come first
        block = int(np.searchsorted(starts, total, side="right")) - 1
        inside = seen[block].cell == total - starts[block]
        value = seen[block].value[inside]
        if part.blocks[block].value is not None and len(value):  # given how many records the cell has
            value = value - value.mean()
        found[inside, column] = bounds.unit[total] * value
    return found


def _of_model(part: ModelPart, codes: Records, numbers: Positions) -> Array:
    records = records_of_model(part.model, codes)
    return records.through(part.map.jacobian(*records.summed(np.ones(len(codes))))[numbers])


def compared(refits: Sequence[Refit], stop: str, conflicts: Conflicts | None = None) -> Iterator[Compared]:
    """All released numbers beside those of the records of a run which ended by `stop`, with reasons that take all
    outputs. conflicts: what no data have a number together with; worked out where some number is not matched.
    """
    missed = not all(refit.matched.all() for refit in refits)
    nothing: list[dict[int, str]] = [{} for _ in refits]
    contrary = conflicts() if conflicts is not None and missed else nothing
    pulls = tensions(refits) if missed and stop in ("stalled", "near") else nothing
    for refit, conflict, tension in zip(refits, contrary, pulls, strict=True):
        yield from refit.rows(stop, conflict, tension)
