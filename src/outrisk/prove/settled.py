"""What the constraints settle one by one, before any search: bounds of counts, narrowed until nothing changes.

A released 0 rules kinds out; a group with one kind left is settled; that settles further cells. In detailed tables of
few people this settles nearly everybody, and what is left is small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.problem.blocks import Array
from outrisk.prove.constraints import sums_of_groups
from outrisk.prove.programme import Programme

_ROUNDS = 60
_WHOLE = 1e-6
_PLACES = 5_000_000  # coefficients beyond which constraints are not seen person by person


@dataclass(frozen=True, eq=False)
class Settled:
    """The programme that is `left`, of the groups `open` (G,); counts (G, U) of the others, 0 where they are open.

    With two kinds a group, `left` is of the counts of the first alone.
    """

    left: Programme
    open: NDArray[np.bool_]
    counts: Array

    @property
    def with_sizes(self) -> Programme:
        """What is left, with the constraint that the counts of a group add up to its size."""
        of = self.left
        G = len(of.sizes)
        of_group = sums_of_groups(G, of.n_kinds, of.n_counts)
        return replace(
            of,
            matrix=sparse.csr_array(sparse.vstack([of_group, of.matrix])),
            low=np.concatenate([of.sizes, of.low]),
            high=np.concatenate([of.sizes, of.high]),
            origin=("",) * G + of.origin,
            number=np.concatenate([np.full(G, -1), of.number]),
        )


def settled(of: Programme) -> Settled | None:
    """A programme without what its constraints settle by themselves; None where they contradict each other.

    Only for programmes of the register's people alone. Counts are whole, so that bounds are rounded inwards.
    """
    ends = _narrowed(of)
    if ends is None:
        return None
    shape = (len(of.sizes), of.n_kinds)
    least, most = (each.reshape(shape) for each in ends)
    still = np.asarray((least < most).any(axis=1))
    columns = np.flatnonzero(np.repeat(still, of.n_kinds))
    fixed = np.where(still[:, None], 0.0, least)
    known = of.matrix @ fixed.ravel()
    matrix = sparse.csr_array(sparse.csc_array(of.matrix)[:, columns])
    rows = np.flatnonzero(np.diff(matrix.indptr) > 0)
    left = replace(
        of,
        groups=(np.cumsum(still) - 1)[of.groups],
        sizes=of.sizes[still],
        codes=of.codes[columns],
        matrix=sparse.csr_array(matrix[rows]),
        low=of.low[rows] - known[rows],
        high=of.high[rows] - known[rows],
        most=most.ravel()[columns],
        origin=tuple(of.origin[row] for row in rows.tolist()),
        number=of.number[rows],
    )
    merged = _merged(left) if of.n_kinds == 2 and len(columns) else left
    return None if merged is None else Settled(merged, still, fixed)


def narrowed(of: Programme) -> Programme | None:
    """A programme of several tables with what its constraints settle by themselves, as the most of each count; as it
    is with people outside the register or helpers; None where they contradict each other.
    """
    if of.matrix.shape[1] > of.n_registered:
        return of
    ends = _narrowed(of)
    return None if ends is None else replace(of, most=ends[1])


def entries_left(of: Programme) -> int:
    """Entries of the constraints that a search has to do with: those that are not settled one by one."""
    first = settled(of) if of.matrix.shape[1] == of.n_counts else None
    return int(of.matrix.nnz if first is None else first.left.matrix.nnz)


def _merged(of: Programme) -> Programme | None:
    """The same with two kinds a group, in counts of the first alone, and equal constraints as one; None where two
    contradict each other.

    The second is the group's size less the first: of a cell's two counts one is left.
    """
    first, second = (sparse.csc_array(of.matrix)[:, at::2] for at in (0, 1))
    rows = np.flatnonzero([bool(origin) for origin in of.origin])  # the others say how large the groups are
    matrix = sparse.csr_array(first - second)[rows]
    matrix.eliminate_zeros()
    shift = (second @ of.sizes)[rows]
    low, high = of.low[rows] - shift, of.high[rows] - shift
    some = np.diff(matrix.indptr) > 0  # the others are of both kinds together
    if ((low > _WHOLE) | (high < -_WHOLE))[~some].any():
        return None
    rows, matrix, low, high = rows[some], sparse.csr_array(matrix[np.flatnonzero(some)]), low[some], high[some]
    sign = np.sign(matrix.data[matrix.indptr[:-1]])
    low, high = np.where(sign > 0, low, -high), np.where(sign > 0, high, -low)
    matrix = sparse.csr_array(sparse.diags_array(sign) @ matrix)
    key = np.round(matrix @ np.random.default_rng(0).random(matrix.shape[1]), 9)  # equal rows have equal sums
    _, at, place = np.unique(key, return_index=True, return_inverse=True)
    least, most = np.full(len(at), -np.inf), np.full(len(at), np.inf)
    np.maximum.at(least, place, low)
    np.minimum.at(most, place, high)
    if (least > most + _WHOLE).any():
        return None
    matrix = sparse.csr_array(matrix[at])
    wide = sparse.csr_array((matrix.data, 2 * matrix.indices, matrix.indptr), shape=(len(at), of.matrix.shape[1]))
    return replace(
        of,
        matrix=wide,
        low=least,
        high=np.maximum(least, most),
        origin=tuple(of.origin[row] for row in rows[at].tolist()),
        number=of.number[rows][at],
    )


def _narrowed(of: Programme) -> tuple[Array, Array] | None:
    """Least and most of each count; None where one has none left."""
    least, most = np.zeros(of.matrix.shape[1]), np.floor(of.most)
    matrix = of.matrix.copy()
    matrix.eliminate_zeros()
    plain = ((matrix < 0).sum(axis=1) == 0) | np.array([not origin for origin in of.origin])
    matrix = sparse.csr_array(matrix[np.flatnonzero(plain)])
    low, high = of.low[plain], of.high[plain]
    row, column, value = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices, matrix.data
    more, less = matrix.maximum(0), matrix.minimum(0)
    tables = [(slice(0, of.n_counts), of.sizes), *((each.columns, each.sizes) for each in of.further)]
    places = [(at, each) for at, sizes in tables if (each := _Places.of(of, at, sizes)) is not None]
    for _ in range(_ROUNDS):
        if not all(each.narrow(most[at]) for at, each in places):
            return None
        below, above = more @ least + less @ most, more @ most + less @ least
        if (below > high + _WHOLE).any() or (above < low - _WHOLE).any():
            return None
        over, under = (high - below)[row] / np.abs(value), (above - low)[row] / np.abs(value)
        up = np.floor(least[column] + np.where(value > 0, over, under) + _WHOLE)
        down = np.ceil(most[column] - np.where(value > 0, under, over) - _WHOLE)
        before = float(most.sum() - least.sum())
        np.minimum.at(most, column, up)
        np.maximum.at(least, column, down)
        if (least > most).any():
            return None
        if float(most.sum() - least.sum()) == before:
            break
    return least, most


@dataclass(frozen=True, eq=False)
class _Places:
    """Constraints as what each person of a group adds to them: everybody of a group is of some kind.

    value (pairs, U): coefficients by kind of each pair of a constraint, `row`, and a group that it is about. A sum of
    which the others add the most that they can leaves a person the kinds that add the rest; bounds of single counts do
    not see that (a mean of one person is that person's value, and half of twice it beside half of nothing).
    """

    row: NDArray[np.int64]
    group: NDArray[np.int64]
    value: Array
    low: Array
    high: Array
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, of: Programme, columns: slice, sizes: NDArray[np.int64]) -> _Places | None:
        """Those of the constraints that are about a table of a programme, in `columns`; None where there are none,
        or too many.
        """
        matrix = sparse.csr_array(sparse.csc_array(of.matrix)[:, columns])
        about = (np.diff(matrix.indptr) > 0) & np.array([bool(origin) for origin in of.origin])
        rows = np.flatnonzero(about)
        matrix = sparse.csr_array(matrix[rows])
        G, U = len(sizes), (columns.stop - columns.start) // len(sizes)
        row = np.repeat(np.arange(len(rows)), np.diff(matrix.indptr))
        pairs, at = np.unique(row * G + matrix.indices // U, return_inverse=True)
        if len(pairs) * U > _PLACES or not len(pairs):
            return None
        value = np.zeros((len(pairs), U))
        value[at, matrix.indices % U] = matrix.data
        return cls(pairs // G, pairs % G, value, of.low[rows], of.high[rows], sizes)

    def narrow(self, most: Array) -> bool:
        """Lower, in place, how many of each kind there are at most, (G U,); whether everybody has a kind left."""
        kinds = most.reshape(len(self.sizes), -1)
        open_ = kinds[self.group] > 0
        if not (kinds > 0).any(axis=1).all():
            return False
        largest = np.where(open_, self.value, -np.inf).max(axis=1)
        least = np.where(open_, self.value, np.inf).min(axis=1)
        people = self.sizes[self.group]
        above, below = (np.bincount(self.row, people * each, minlength=len(self.low)) for each in (largest, least))
        slack = _WHOLE * (1.0 + np.maximum(np.abs(above), np.abs(below)))
        with np.errstate(divide="ignore", invalid="ignore"):
            up = (above - self.low + slack)[self.row][:, None] / (largest[:, None] - self.value)
            down = (self.high - below + slack)[self.row][:, None] / (self.value - least[:, None])
        for bound in (up, down):
            np.minimum.at(kinds, self.group, np.where(open_ & (bound >= 0), np.floor(bound + _WHOLE), np.inf))
        return not ((above + slack < self.low) | (below - slack > self.high)).any()
