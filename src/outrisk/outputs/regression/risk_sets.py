"""From the risk sets of a Cox model to its published numbers: score and information, then a Newton step as elsewhere.

A record is at risk until it leaves. With S the moments (1, x, x x', each times w = exp(eta)) of all at risk at a time,
D those of its d events, and the j-th of these leaving after a share f = j / d of all (Efron; Breslow: none before
another), the partial log-likelihood is the sum over events of eta - log q, q = S_0 - f D_0. Its derivatives need no
more of the ties than sums over j of f^a / q^b, so that a study of many events costs no more than its times.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.regression.newton import Newton
from outrisk.problem.blocks import Array
from outrisk.problem.formulas import Estimates, ModelSays

_NOBODY = 1e-12  # of all hazards: where no more is at risk, nobody is


@dataclass(frozen=True, eq=False)
class RiskSets:
    """The map of a Cox model: totals as `Model` has them, of `strata` with as many times each, then the number of
    records. newton: the way from score, information, log-likelihood, and numbers of records and of events (in this
    order) to the published numbers.
    """

    newton: Newton
    strata: int
    times: int
    efron: bool

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,), to first order around the published coefficients."""
        return self.newton.numbers(self._reduced(totals), information)

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m) in the totals; in the number of events at a time as if these were spread."""
        return self._through(totals, self.newton.jacobian(self._reduced(totals), information))

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse covariance (k, k) of the published numbers."""
        return self.newton.precision(self._reduced(totals), information)

    def says(self, low: Array, high: Array) -> None:
        """Nothing that is linear in the records: at its coefficients a Cox model's score is no sum over them."""

    def told(self, low: Array, high: Array) -> ModelSays:
        """What numbers between `low` and `high` (k,) say of the estimates."""
        return self.newton.told(low, high)

    def score(self, totals: Array, information: Array) -> tuple[Array, Array]:
        """Score (k,) and information (k, k) at the coefficients."""
        return self.newton.score(self._reduced(totals), information)

    def estimates(self, totals: Array, information: Array, low: Array, high: Array) -> Estimates:
        """The estimates, and what numbers between `low` and `high` (k,) say of them."""
        found = self.newton.estimates(self._reduced(totals), information, low, high)
        return Estimates(found.values, self._through(totals, found.jacobian), found.low, found.high, found.errors)

    @property
    def _k(self) -> int:
        return len(self.newton.values)

    @cached_property
    def _triangle(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.tril_indices(self._k)

    def _sums(self, totals: Array) -> tuple[Array, Array, Array, Array]:
        """Sums of x over events (k,), events of each cell (c,), and moments (c, P) of all at risk and of events."""
        cells, k = self.strata * self.times, self._k
        moments = totals[k + cells : -1].reshape(1 + self.efron, self.strata, self.times, -1)
        at_risk = np.cumsum(moments[0, :, ::-1], axis=1)[:, ::-1].reshape(cells, -1)
        events = moments[1].reshape(cells, -1) if self.efron else np.zeros((cells, 1 + k + len(self._triangle[0])))
        return totals[:k], totals[k : k + cells], at_risk, events

    def _ties(self, ends: Array, at_risk: Array, events: Array) -> tuple[Array, Array]:
        """Means over the events of each cell (c,) of f^a / q^b, [a, b], and of log q; of one event where there is none.

        Of weights that add up to no whole number of events, the nearest one counts.
        """
        cells = np.arange(len(ends))
        number = np.maximum(np.rint(ends), 1.0).astype(np.int64) if self.efron else np.ones(len(ends), np.int64)
        cell = np.repeat(cells, number)
        turn = np.arange(len(cell)) - np.repeat(np.cumsum(number) - number, number)
        f = turn / number[cell]
        q = at_risk[cell] - f * events[cell]
        some = q > _NOBODY * max(float(at_risk.max(initial=0.0)), 1e-300)
        share = np.where(some, 1.0 / number[cell], 0.0)
        q = np.where(some, q, 1.0)
        found = np.zeros((4, 4, len(cells)))
        for b in range(1, 4):
            for a in range(b + 1):
                found[a, b] = np.bincount(cell, share * f**a / q**b, minlength=len(cells))
        return found, np.asarray(np.bincount(cell, share * np.log(q), minlength=len(cells)), np.float64)

    def _reduced(self, totals: Array) -> Array:
        """Score (k,), information (its lower triangle by rows), log-likelihood, records and events."""
        k, (row, column) = self._k, self._triangle
        x, ends, S, D = self._sums(totals)
        ties, log = self._ties(ends, S[:, 0], D[:, 0])
        ties = ties * ends
        score = x - S[:, 1 : k + 1].T @ ties[0, 1] + D[:, 1 : k + 1].T @ ties[1, 1]
        first, left = S[:, 1 : k + 1], D[:, 1 : k + 1]
        information = S[:, k + 1 :].T @ ties[0, 1] - D[:, k + 1 :].T @ ties[1, 1]
        both = (first * ties[1, 2][:, None]).T @ left
        squares = (first * ties[0, 2][:, None]).T @ first - both - both.T + (left * ties[2, 2][:, None]).T @ left
        information -= squares[row, column]
        value = x @ self.newton.values - ends @ log
        return np.concatenate([score, information, [value, totals[-1], ends.sum()]])

    def _through(self, totals: Array, slopes: Array) -> Array:
        """Derivatives (g, m) in the totals of numbers that change with what `_reduced` gives by `slopes` (g, r)."""
        k, (row, column) = self._k, self._triangle
        _, ends, S, D = self._sums(totals)
        m, log = self._ties(ends, S[:, 0], D[:, 0])
        a, by_pair, by_value = slopes[:, :k], slopes[:, k : k + len(row)], slopes[:, k + len(row)]
        A = np.zeros((len(slopes), k, k))
        A[:, row, column] = by_pair / 2.0
        A = A + A.transpose(0, 2, 1)
        s, e = S[:, 1 : k + 1], D[:, 1 : k + 1]
        As, Ae = np.einsum("gij,cj->gci", A, s), np.einsum("gij,cj->gci", A, e)
        ss, se, ee = (np.einsum("gci,ci->gc", left, right) for left, right in ((As, s), (As, e), (Ae, e)))
        a_s, a_e = a @ s.T, a @ e.T
        t_s, t_e = by_pair @ S[:, k + 1 :].T, by_pair @ D[:, k + 1 :].T

        def column_of(number: Array, vector: Array, pairs: Array) -> Array:  # the order of the moments
            return np.concatenate([number[:, :, None], vector, pairs], axis=2)

        def of(each: Array) -> Array:
            return each[None, :, None]

        of_S = column_of(
            a_s * m[0, 2] - a_e * m[1, 2] - t_s * m[0, 2] + t_e * m[1, 2]
            + 2.0 * (ss * m[0, 3] - 2.0 * se * m[1, 3] + ee * m[2, 3]) - np.outer(by_value, m[0, 1]),
            -a[:, None] * of(m[0, 1]) - 2.0 * (As * of(m[0, 2]) - Ae * of(m[1, 2])),
            by_pair[:, None] * of(m[0, 1]),
        )  # fmt: skip
        of_ends = a_e * m[1, 1] - a_s * m[0, 1] + t_s * m[0, 1] - t_e * m[1, 1]
        of_ends += 2.0 * se * m[1, 2] - ss * m[0, 2] - ee * m[2, 2] - np.outer(by_value, log)
        shape = (len(slopes), self.strata, self.times, S.shape[1])
        at_risk = np.cumsum((of_S * of(ends)).reshape(shape), axis=2).reshape(len(slopes), S.size)
        found = [a + by_value[:, None] * self.newton.values, of_ends + slopes[:, -1:], at_risk]
        if self.efron:
            of_D = column_of(
                a_e * m[2, 2] - a_s * m[1, 2] + t_s * m[1, 2] - t_e * m[2, 2]
                - 2.0 * (ss * m[1, 3] - 2.0 * se * m[2, 3] + ee * m[3, 3]) + np.outer(by_value, m[1, 1]),
                a[:, None] * of(m[1, 1]) + 2.0 * (As * of(m[1, 2]) - Ae * of(m[2, 2])),
                -by_pair[:, None] * of(m[1, 1]),
            )  # fmt: skip
            found.append((of_D * of(ends)).reshape(len(slopes), S.size))
        return np.hstack([*found, slopes[:, -2:-1]])
