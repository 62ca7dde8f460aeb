"""What an intruder reads off the synthetic records nearest to a person: those with the fewest keys that differ.

The search runs over *distinct* key combinations with their counts, one query at a time against all synthetic
combinations, so its memory is a few numbers a combination: O(queries x combinations x keys) time, compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError
from outrisk.risk.cap import SYNTHETIC
from outrisk.risk.equivalence import Coding, Counts, Equivalence, Positions

_QUERIES_A_CALL = 1_024  # between two calls an interrupt is heard
_FEW_LEVELS = 255  # largest code of a key that is compared as one byte, and keys that one byte can count


@dataclass(frozen=True, eq=False)
class Lookup:
    """For each class, the targets of the synthetic records that an intruder takes as its own."""

    hits: Counts  # (n_cells,) those records that have the cell's target
    size: Counts  # (n_classes,) those records; 0 = no match
    top: Counts  # (n_classes,) those with the most frequent target
    tied: Counts  # (n_classes,) targets that are most frequent; 0 without a match
    guess: Positions  # (n_classes,) the first of them in the order of codes; -1 without a match
    distance: Counts  # (n_classes,) keys in which they differ; -1 without a match


def same_keys(equivalence: Equivalence) -> Lookup:
    """The synthetic records with exactly the class's keys, if there are any."""
    hits, size = equivalence.counts[SYNTHETIC], equivalence.class_counts[SYNTHETIC]
    classes = equivalence.cell_class
    top = np.maximum.reduceat(hits, _starts(equivalence))
    modal = np.flatnonzero((hits == top[classes]) & (hits > 0))
    guess = np.full(len(size), -1, dtype=np.intp)
    guess[classes[modal[::-1]]] = equivalence.cell_target[modal[::-1]]  # the first of a class is written last
    tied = np.bincount(classes[modal], minlength=len(size))
    return Lookup(hits, size, top, tied, guess, np.where(size > 0, 0, -1))


def nearest_keys(
    equivalence: Equivalence,
    coding: Coding,
    keys: Sequence[str],
    exact: Lookup,
    check: Callable[[float], None] | None = None,
) -> Lookup:
    """All synthetic records at the least Hamming distance from the class's keys; at 0 they are those of `exact`.

    Two missing values of a key agree; one that is missing in one record only differs. `check` is called now and then
    with the share done and may raise, to stop.
    """
    from outrisk.risk.kernels import nearest  # numba takes longer to import than most measures take to compute

    unmatched = np.flatnonzero(exact.size == 0)
    if not len(unmatched):
        return exact
    codes, n_targets = _class_codes(equivalence, coding, keys), int(equivalence.cell_target.max()) + 1
    met, ends = np.flatnonzero(exact.size), np.append(_starts(equivalence), len(equivalence.cell_class))
    hits, size, top, tied, distance = (
        array.copy() for array in (exact.hits, exact.size, exact.top, exact.tied, exact.distance)
    )
    guess = exact.guess.copy()
    if len(keys) > _FEW_LEVELS:
        raise RiskError(f"{len(keys)} keys: at most {_FEW_LEVELS} can be searched for the nearest; name fewer")
    few = [k for k in range(len(keys)) if codes[:, k].max() <= _FEW_LEVELS]
    many = [k for k in range(len(keys)) if k not in few]
    common = np.ascontiguousarray(codes[met][:, few].T.astype(np.uint8))
    rare = np.array([np.argsort(codes[met, k], kind="stable") for k in many], dtype=np.int64)
    rare = rare.reshape(len(many), len(met))
    levels = [codes[met[order], k] for k, order in zip(many, rare, strict=True)]
    for start in range(0, len(unmatched), _QUERIES_A_CALL):
        if check is not None:
            check(start / len(unmatched))
        block = unmatched[start : start + _QUERIES_A_CALL]
        places = np.array(
            [
                [np.searchsorted(level, codes[block, k], side=side) for side in ("left", "right")]
                for k, level in zip(many, levels, strict=True)
            ],
            dtype=np.int64,
        ).reshape(len(many), 2, len(block))
        nearest(
            common, rare, places, met, codes[block][:, few].astype(np.uint8), block, ends,
            equivalence.cell_target, exact.hits, n_targets, hits, size, top, tied, guess, distance,
        )  # fmt: skip
    return Lookup(hits, size, top, tied, guess, distance)


def _starts(equivalence: Equivalence) -> Positions:
    """First cell of each class."""
    return np.flatnonzero(np.diff(equivalence.cell_class, prepend=-1))


def one_of_each_class(equivalence: Equivalence, coding: Coding) -> Positions:
    """Position in the coding of one record of each class, whatever its table; shape (n_classes,)."""
    member = np.empty(len(equivalence.class_counts[SYNTHETIC]), dtype=np.intp)
    for table, rows in coding.rows().items():
        member[equivalence.cell_class[equivalence.records[table]]] = np.arange(rows.start, rows.stop)
    return member


def _class_codes(equivalence: Equivalence, coding: Coding, keys: Sequence[str]) -> NDArray[np.int32]:
    """Codes of the keys of each class, shape (n_classes, n_keys)."""
    member = one_of_each_class(equivalence, coding)
    return np.stack([coding.columns[coding.names.index(key)][member] for key in keys], axis=1)
