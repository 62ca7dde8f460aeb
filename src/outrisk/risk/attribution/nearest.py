"""What an intruder reads off the synthetic records nearest to a person: those with the fewest keys that differ.

The search runs over *distinct* key combinations with their counts. They are looked up by all sets of all keys but one,
then of all but two, and so on: O(sets x combinations), sorted. Where there are so many sets that this takes longer, one
query at a time is compared with all synthetic combinations: O(queries x combinations x keys), compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError
from outrisk.risk.coding.classes import SYNTHETIC, Coding, Counts, Equivalence, Positions, combined_code

_QUERIES_A_CALL = 1_024  # between two calls an interrupt is heard
_COUNTS_A_BLOCK = 2**22  # numbers of targets counted at once: 32 MiB
_LOOKUP = 3_000  # what one look-up costs, in comparisons of one key
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
    unmatched = np.flatnonzero(exact.size == 0)
    if not len(unmatched):
        return exact
    if len(keys) > _FEW_LEVELS:
        raise RiskError(f"{len(keys)} keys: at most {_FEW_LEVELS} can be searched for the nearest; name fewer")
    search = _Search(
        _class_codes(equivalence, coding, keys),
        np.flatnonzero(exact.size),
        np.append(_starts(equivalence), len(equivalence.cell_class)),
        equivalence.cell_target,
        exact.hits,
        int(equivalence.cell_target.max()) + 1,
    )
    found = Lookup(
        exact.hits.copy(),
        exact.size.copy(),
        exact.top.copy(),
        exact.tied.copy(),
        exact.guess.copy(),
        exact.distance.copy(),
    )
    a_block = max(_QUERIES_A_CALL, _COUNTS_A_BLOCK // search.n_targets)
    for start in range(0, len(unmatched), a_block):
        block = unmatched[start : start + a_block]
        left = search.by_keys_that_agree(block, found, partial(check, start / len(unmatched)) if check else None)
        for begin in range(0, len(left), _QUERIES_A_CALL):
            if check is not None:
                check((start + len(block) - len(left) + begin) / len(unmatched))
            search.among_all(left[begin : begin + _QUERIES_A_CALL], found)
    return found


@dataclass(frozen=True, eq=False)
class _Search:
    """The key combinations of all classes, and the synthetic records of those that have some."""

    codes: NDArray[np.int32]  # (n_classes, n_keys)
    met: Positions  # classes with synthetic records
    ends: Positions  # (n_classes + 1,) cells of class q: ends[q] to ends[q + 1]
    target: Positions  # (n_cells,)
    counts: Counts  # (n_cells,) synthetic records
    n_targets: int

    def by_keys_that_agree(self, asked: Positions, found: Lookup, check: Callable[[], None] | None) -> Positions:
        """Look the classes asked up by fewer and fewer of their keys; those left where that is not worth while.

        The records at the least distance r agree with a class in one set of all keys but r, and in no larger one: the
        counts of all such sets add up, nothing is counted twice.
        """
        from outrisk.risk.attribution.nearest_compiled import (
            count_group,  # numba takes longer to import than most measures take to compute
        )

        n_keys = self.codes.shape[1]
        for distance in range(1, n_keys + 1):
            lookups = math.comb(n_keys, distance) * (len(self.met) + len(asked)) * _LOOKUP
            if not len(asked) or lookups > len(self.met) * len(asked) * (n_keys + 2):
                break
            counts = np.zeros((len(asked), self.n_targets), dtype=np.int64)
            for kept in combinations(range(n_keys), n_keys - distance):
                if check is not None:
                    check()
                both = np.concatenate([self.met, asked])
                code = _joint_code(self.codes[both][:, list(kept)])
                points, queries = code[: len(self.met)], code[len(self.met) :]
                order = np.argsort(points)
                starts, stops = (np.searchsorted(points[order], queries, side=side) for side in ("left", "right"))
                count_group(self.met[order], starts, stops, self.ends, self.target, self.counts, counts)
            settled = counts.any(axis=1)
            self._settle(asked[settled], counts[settled], distance, found)
            asked = asked[~settled]
        return asked

    def _settle(self, asked: Positions, counts: Counts, distance: int, found: Lookup) -> None:
        """Write down what was found for some classes; counts (n_asked, n_targets)."""
        found.size[asked] = counts.sum(axis=1)
        found.top[asked] = counts.max(axis=1)
        found.tied[asked] = (counts == counts.max(axis=1)[:, None]).sum(axis=1)
        found.guess[asked] = counts.argmax(axis=1)  # the first of the most frequent
        found.distance[asked] = distance
        n_cells = np.diff(self.ends)[asked]
        rows = np.repeat(np.arange(len(asked)), n_cells)
        cells = np.arange(len(rows)) + np.repeat(self.ends[asked] - np.cumsum(n_cells) + n_cells, n_cells)
        found.hits[cells] = counts[rows, self.target[cells]]

    @cached_property
    def _layout(self) -> tuple[list[int], list[int], NDArray[np.uint8], NDArray[np.int64], list[NDArray[np.int32]]]:
        """Keys of few levels and of many; codes of the first, order and sorted codes of the second, of all `met`."""
        few = [k for k in range(self.codes.shape[1]) if self.codes[:, k].max() <= _FEW_LEVELS]
        many = [k for k in range(self.codes.shape[1]) if k not in few]
        common = np.ascontiguousarray(self.codes[self.met][:, few].T.astype(np.uint8))
        rare = np.array([np.argsort(self.codes[self.met, k], kind="stable") for k in many], dtype=np.int64)
        rare = rare.reshape(len(many), len(self.met))
        levels = [self.codes[self.met[order], k] for k, order in zip(many, rare, strict=True)]
        return few, many, common, rare, levels

    def among_all(self, asked: Positions, found: Lookup) -> None:
        """Compare each of the classes asked with all combinations."""
        from outrisk.risk.attribution.nearest_compiled import nearest

        few, many, common, rare, levels = self._layout
        places = np.array(
            [
                [np.searchsorted(level, self.codes[asked, k], side=side) for side in ("left", "right")]
                for k, level in zip(many, levels, strict=True)
            ],
            dtype=np.int64,
        ).reshape(len(many), 2, len(asked))
        nearest(
            common, rare, places, self.met, np.ascontiguousarray(self.codes[asked][:, few], np.uint8), asked, self.ends,
            self.target, self.counts, self.n_targets, found.hits, found.size, found.top, found.tied, found.guess,
            found.distance,
        )  # fmt: skip


def _joint_code(codes: NDArray[np.int32]) -> Counts:
    """One number a row, the same for equal rows; of no column 0."""
    if not codes.shape[1]:
        return np.zeros(len(codes), dtype=np.int64)
    return combined_code(list(codes.T), [int(column.max()) + 1 for column in codes.T])[0]


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
