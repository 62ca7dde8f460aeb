"""Fisher's exact test: the chance of all tables with the same margins that are no likelier than the one at hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from outrisk.errors import OutputError

_TIED = float(np.log1p(1e-7))  # tables whose probabilities differ by less are as likely as each other, as in R
_SAME = 1e-9  # logarithms of probabilities that differ by less are one
_WIDE = 4.5  # roots of records: beyond, a cell has a chance below 1e-17 (Hoeffding 1963)
_NOTHING = 1e-15  # chance of all that is left out at a column
_AT_ONCE = 500_000  # columns that are filled at a time
_MARGINS, _REST = 2_000, 50  # as many columns take the time of each margins, and of each rest of their rows
_FEWER = 64  # times fewer columns there are, at the least, than their cells alone would allow
_MOST_STATES = 2_000_000  # rows that are left to be filled, at a time
MOST_WORK = 2_000_000  # columns that are filled: a second or two

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class TooMuchWorkError(OutputError):
    """There are too many tables with the same margins."""


def fisher(tables: Counts, most: int = MOST_WORK) -> Array:
    """Two-sided p (b,) of Fisher's exact test of tables of whole numbers (b, r, c) without empty rows or columns;
    NaN for one row or column. Its error is one of rounding, some 1e-11 of 10,000 records. TooMuchWorkError where more
    than `most` columns would have to be filled.

    Fisher, Design of Experiments (1935), of 2 x 2; Freeman and Halton, Biometrika 38 (1951), of others, by a network
    as Mehta and Patel's, JASA 78 (1983): column by column, a table that is filled as far as here is done with as soon
    as all its completions are likelier than the table at hand, or none is; their chance together is known in closed
    form.
    """
    if min(tables.shape[1:]) < 2:
        return np.full(len(tables), np.nan)
    if tables.shape[1] > tables.shape[2]:
        tables = tables.transpose(0, 2, 1)
    n_rows = tables.shape[1]
    margins = np.hstack([tables.sum(axis=2), tables.sum(axis=1)])
    if tables.shape[1:] != (2, 2):  # of 2 x 2, the place of a cell matters
        margins = np.hstack([np.sort(each, axis=1) for each in (margins[:, :n_rows], margins[:, n_rows:])])
    each, group = np.unique(margins, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    work, p = _Work(most), np.empty(len(tables))
    for of, which in zip(each, np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1]), strict=True):
        if tables.shape[1:] == (2, 2):
            p[which] = _two_by_two(of[:2], of[2:], tables[which, 0, 0], work)
        else:
            likely, back = np.unique(-gammaln(tables[which] + 1.0).sum(axis=(1, 2)), return_inverse=True)
            p[which] = _Network(of[:n_rows], of[n_rows:], likely + _TIED, work).p()[back.ravel()]
    return np.minimum(p, 1.0)


@dataclass
class _Work:
    """What may still be done."""

    left: int

    def spend(self, columns: int) -> None:
        """TooMuchWorkError where it is not left."""
        self.ask(columns)
        self.left -= columns

    def ask(self, columns: int) -> None:
        """The same, of what is to be done at the least."""
        if columns > self.left:
            raise TooMuchWorkError("too many tables have the same margins")


def _two_by_two(rows: Counts, columns: Counts, first: Counts, work: _Work) -> Array:
    """P of the tables of these margins whose first cells (b,) are given: those of all tables, once."""
    least, most = max(0, int(rows[0] - columns[1])), int(min(rows[0], columns[0]))
    work.spend(_REST + most - least + 1)
    x = np.arange(least, most, dtype=np.float64)
    more = np.log((rows[0] - x) * (columns[0] - x)) - np.log((x + 1.0) * (columns[1] - rows[0] + x + 1.0))
    likely = np.append(0.0, np.cumsum(more))
    order = np.argsort(likely)
    chance = np.cumsum(np.exp(likely[order] - likely.max()))
    at = np.searchsorted(likely[order], likely[first - least] + _TIED, side="right")
    return np.asarray(chance[at - 1] / chance[-1])


@dataclass(frozen=True, eq=False)
class _States:
    """Tables as far as they are filled: what is left of each row (s, r), ascending; the sum (s,) of -log(x!) of the
    cells; in how many ways (s,) each comes about.
    """

    rows: Counts
    likely: Array
    ways: Array

    def some(self, which: NDArray[np.bool_] | slice) -> _States:
        return _States(self.rows[which], self.likely[which], self.ways[which])

    def merged(self) -> _States:
        """Equal ones once."""
        rows = np.sort(self.rows, axis=1)
        likely = np.round(self.likely / _SAME)
        order = np.lexsort([likely, *rows.T])
        rows, likely = rows[order], likely[order]
        first = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1) | (likely[1:] != likely[:-1])))
        return _States(rows[first], self.likely[order][first], np.add.reduceat(self.ways[order], first))


@dataclass(frozen=True, eq=False)
class _Network:
    """All tables of some margins, ascending, against some that are likely (m,): sums of -log(x!), ascending."""

    rows: Counts
    columns: Counts
    likely: Array
    work: _Work

    def p(self) -> Array:
        """The chance (m,) of all tables that are no likelier."""
        self.work.spend(_MARGINS)
        factorial = gammaln(np.arange(self.rows.sum() + 2) + 1.0)
        all_of = -_log_sum(self.rows[None], self.columns, factorial)[0]
        found = np.zeros(len(self.likely) + 1)  # chance of tables by the first that is as likely
        states = _States(self.rows[None], np.zeros(1), np.ones(1))
        for at, column in enumerate(self.columns[:-2].tolist()):
            if not len(states.rows):
                break
            parent, cells = self._filled(states.rows, column)
            states = _States(
                states.rows[parent] - cells,
                states.likely[parent] - factorial[cells].sum(axis=1),
                states.ways[parent],
            ).merged()
            states = self._undecided(states, self.columns[at + 1 :], factorial, all_of, found)
        return self._finished(states, factorial, all_of) + np.cumsum(found)[:-1]

    def _filled(self, rows: Counts, column: int) -> tuple[NDArray[np.intp], Counts]:
        """All ways to fill a column beside what is left of the rows (s, r): of which of these (n,), and its cells
        (n, r), without those of no chance.
        """
        behind = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1]
        of, left = np.arange(len(rows)), np.full(len(rows), column)
        cells = np.empty((len(rows), 0), dtype=np.int64)
        for at in range(rows.shape[1] - 1):
            row, rest = rows[of, at], behind[of, at + 1]
            wide = _WIDE * np.sqrt(np.minimum(row, left)) + 1.0
            mean = left * (row / np.maximum(row + rest, 1))
            least = np.maximum(np.maximum(left - rest, 0), np.ceil(mean - wide).astype(np.int64))
            most = np.minimum(np.minimum(left, row), np.floor(mean + wide).astype(np.int64))
            number = most - least + 1
            self.work.spend(int(number.sum()))
            if number.sum() > _MOST_STATES:
                raise TooMuchWorkError("too many tables have the same margins")
            before = np.repeat(np.arange(len(of)), number)
            cell = np.arange(len(before)) - np.repeat(np.cumsum(number) - number, number) + least[before]
            of, left, cells = of[before], left[before] - cell, np.column_stack([cells[before], cell])
        return of, np.column_stack([cells, left])

    def _undecided(self, states: _States, columns: Counts, factorial: Array, all_of: float, found: Array) -> _States:
        """Those of which some completions are no likelier than one of the tables, and others are; the chance of others
        is added.
        """
        chance = states.ways * np.exp(all_of + states.likely + _log_sum(states.rows, columns, factorial))
        least = states.likely - np.minimum(factorial[states.rows].sum(axis=1), factorial[columns].sum())
        nothing = np.log(_NOTHING / len(chance)) - all_of - np.log(states.ways) - _log_number(states.rows, columns)
        first = np.searchsorted(self.likely, np.maximum(least, nothing) - _SAME)
        last = np.searchsorted(self.likely, states.likely + _most(states.rows, columns) + _SAME)
        found += np.bincount(last, np.where(first == last, chance, 0.0), minlength=len(found))
        return states.some((first < last) & (chance > _NOTHING / len(chance)))

    def _finished(self, states: _States, factorial: Array, all_of: float) -> Array:
        """The chance (m,) of all tables that are filled but for two columns: of those with the same left, at once."""
        if not len(states.rows):
            return np.zeros(len(self.likely))
        new = np.append(True, (states.rows[1:] != states.rows[:-1]).any(axis=1))
        left, ends = states.rows[new], np.append(np.flatnonzero(new), len(new))
        found = np.zeros(len(self.likely))
        wide = self._widths(left)
        self.work.ask(_REST * len(left) + int(wide.sum() / _FEWER))
        some = max(1, int(_AT_ONCE / wide.max()))
        for start in range(0, len(left), some):
            stop = min(start + some, len(left))
            parent, cells = self._filled(left[start:stop], int(self.columns[-2]))
            likely = -(factorial[cells] + factorial[left[start:stop][parent] - cells]).sum(axis=1)
            likely = likely[np.lexsort([likely, parent])]
            behind = np.searchsorted(parent, np.arange(stop - start + 1))
            for at in range(stop - start):
                of, rest = slice(ends[start + at], ends[start + at + 1]), likely[behind[at] : behind[at + 1]]
                ways = states.ways[of] * np.exp(all_of + states.likely[of] + rest[-1])
                found += self._completed(states.likely[of], ways, rest)
        return found

    def _completed(self, before: Array, ways: Array, likely: Array) -> Array:
        """The chance (m,) of tables that are made of parts (s,), in so many ways, and of others (x,), ascending:
        ways are weighted by the chance of the likeliest of these.
        """
        self.work.spend(_REST + len(before) * min(len(likely), len(self.likely)))
        if len(likely) < len(self.likely):
            at = np.searchsorted(self.likely, (before[:, None] + likely).ravel())
            each = (ways[:, None] * np.exp(likely - likely[-1])).ravel()
            return np.asarray(np.cumsum(np.bincount(at, each, minlength=len(self.likely) + 1))[:-1])
        chance = np.append(0.0, np.cumsum(np.exp(likely - likely[-1])))
        return np.asarray(ways @ chance[np.searchsorted(likely, self.likely - before[:, None], side="right")])

    def _widths(self, rows: Counts) -> Array:
        """How many ways rows (s, r) leave to fill the last column but one, at most (s,)."""
        fewer = np.minimum(rows, self.columns[-2])[:, :-1]
        return np.asarray(np.prod(np.minimum(fewer, 2.0 * _WIDE * np.sqrt(fewer) + 3.0) + 1.0, axis=1))


def _log_sum(rows: Counts, columns: Counts, factorial: Array) -> Array:
    """Logarithms (s,) of the sum of the product of 1 / x!, over all tables of these margins (s, r) and (c,)."""
    return np.asarray(factorial[columns.sum()] - factorial[columns].sum() - factorial[rows].sum(axis=1))


def _log_number(rows: Counts, columns: Counts) -> Array:
    """Logarithms (s,) of a number that tables of these margins (s, r) and (c,), ascending, are no more than."""
    found = np.zeros(len(rows))
    for column in columns[:-1]:
        found += np.log(np.minimum(rows[:, :-1], column) + 1.0).sum(axis=1)
    return found


def _most(rows: Counts, columns: Counts) -> Array:
    """What the sum of -log(x!) is at most (s,), over all tables of these margins (s, r) and (c,).

    With m the expected counts, the sum of x log(m) is the same of all of them, and x log(m) - log(x!) is greatest at
    the whole part of m: as if each cell was a Poisson count.
    """
    n, found = int(columns.sum()), np.zeros(len(rows))
    for column in columns:
        expected = rows * (column / n)
        whole = np.floor(expected)
        found += (whole * np.log(np.maximum(expected, 1e-300)) - gammaln(whole + 1.0)).sum(axis=1)
    of_rows = (rows * np.log(np.maximum(rows, 1))).sum(axis=1)
    return np.asarray(found - of_rows - (columns * np.log(columns)).sum() + n * np.log(n))
