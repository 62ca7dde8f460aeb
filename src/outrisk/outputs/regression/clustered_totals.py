"""Errors of a regression with fixed effects that are clustered by its largest absorbed variable, from totals by group.

The score of a group is u = W_g r, with W_g the products of what is left within it and r = (-b, 1); the sandwich adds up
u u'. W_g takes sums of products of columns by group, beside the sums of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from outrisk.outputs.base import Array

_HALF = 0.5  # of a record: groups with fewer have none
Pair = tuple[int, int]


def pairs_of(d: int, dummies: Sequence[range]) -> list[Pair]:
    """Pairs of columns whose products scores are made of: of d columns with each other and with the response, the d-th;
    but for two dummies of one variable, whose product is one of them or 0.
    """
    own = {(i, j) for each in dummies for i in each for j in each}
    return [(i, j) for i in range(d) for j in range(i, d + 1) if (i, j) not in own]


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of groups. sums (groups, p + 1): of a constant and the columns, the response last. products (groups, q):
    of the `pairs`. inverse (d, d), r (p,).
    """

    sums: Array
    products: Array
    pairs: Sequence[Pair]
    dummies: Sequence[range]
    inverse: Array
    r: Array

    @property
    def _d(self) -> int:
        return len(self.inverse)

    @cached_property
    def _n(self) -> Array:
        return np.where(self.sums[:, 0] > _HALF, self.sums[:, 0], 1.0)

    @cached_property
    def _along(self) -> Array:
        """Sums of z'r, (groups,)."""
        return np.asarray(self.sums[:, 1:] @ self.r)

    def _times(self, vector: Array) -> Array:
        """Products (groups, d) of W_g with a vector (p,)."""
        d, z = self._d, self.sums[:, 1:]
        found = np.zeros((len(z), d))
        for (i, j), column in zip(self.pairs, self.products.T, strict=True):
            found[:, i] += column * vector[j]
            if i < j < d:
                found[:, j] += column * vector[i]
        for each in self.dummies:  # of which the square is itself
            found[:, each.start : each.stop] += z[:, each.start : each.stop] * vector[each.start : each.stop]
        return found - z[:, :d] * ((z @ vector) / self._n)[:, None]

    @cached_property
    def scores(self) -> Array:
        """U, (groups, d)."""
        return self._times(self.r)

    def variance(self, a: Array) -> float:
        """The sum over groups of (a'u)^2, for a (d,)."""
        return float(((self.scores @ a) ** 2).sum())

    def towards(self, a: Array) -> Array:
        """How the sum changes with `a` itself, (d,)."""
        return np.asarray(2.0 * self.scores.T @ (self.scores @ a))

    def slopes(self, a: Array) -> tuple[Array, Array, Array]:
        """Derivatives of the sum of (a'u)^2, where `a` is a fixed vector times the inverse: in W (p, p), in the sums of
        groups (groups, p + 1) and in their products (groups, q).
        """
        d, p, t = self._d, len(self.r), self.scores @ a
        wide = np.zeros(p)
        wide[:d] = self.inverse @ self.towards(a)
        by_b = np.zeros(p)
        by_b[:d] = self.inverse @ (2.0 * t @ self._times(np.append(a, np.zeros(p - d))))
        padded = np.append(a, np.zeros(p - d))
        of_left = -np.outer(wide, padded) - np.outer(by_b, self.r)
        z, n = self.sums[:, 1:], self._n
        inside = z[:, :d] @ a
        of_sums = np.zeros_like(self.sums)
        of_sums[:, 1:] = -2.0 * (t / n)[:, None] * (np.outer(self._along, padded) + np.outer(inside, self.r))
        of_sums[:, 0] = 2.0 * t * inside * self._along / n**2
        for each in self.dummies:
            here = slice(1 + each.start, 1 + each.stop)
            of_sums[:, here] += 2.0 * t[:, None] * (a * self.r[:d])[each.start : each.stop]
        both = [a[i] * self.r[j] + (a[j] * self.r[i] if i < j < d else 0.0) for i, j in self.pairs]
        return of_left, of_sums, 2.0 * np.outer(t, both)
