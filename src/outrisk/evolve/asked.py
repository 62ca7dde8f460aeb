"""Equations of the weights of a pool, what they miss, and the weights nearest to given ones that meet them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import linalg, sparse
from scipy.linalg import lapack

from outrisk.evolve.balance import STILL
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.estimated import LEAP
from outrisk.evolve.problem import Problem
from outrisk.evolve.tallied import equations_of
from outrisk.evolve.tilted import FELT
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array
from outrisk.problem.counts import made_of_counts
from outrisk.problem.influence import members_of
from outrisk.problem.released import TallyPart

STEPS = 12  # of Newton's method, at most
GAIN, STUCK = 1.0, 0.05  # of the convex function, and share of a step, below which it ends
FOLLOWS = 1e-6  # of the variance of an equation that is left, given others, if it follows from them


@dataclass(frozen=True, eq=False)
class Asked:
    """Equations of the weights: influence of each record, dense (N, d), and then sparse (N, s); what is missing, what
    may be, and how far the middle of its digits is from where each is to lie (d + s,); which are standard errors away
    from their digits; which are of tables of counts alone; whether any number rests on coefficients (a p-value does).
    """

    dense: Array | NDArray[np.float32]
    thin: sparse.csr_matrix
    missing: Array
    slack: Array
    aside: Array
    firm: NDArray[np.bool_]
    counts: NDArray[np.bool_]
    rests: bool

    @classmethod
    def of_all(
        cls,
        dense: list[tuple[Array, Array, Array, Array, NDArray[np.bool_]]],
        thin: list[tuple[sparse.csr_matrix, Array, Array, NDArray[np.bool_]]],
        weights: Array,
        n_records: int,
        precision: DTypeLike = np.float64,
        rests: bool = False,
    ) -> Asked:
        """Of these equations, each list with influence, what is missing and what may be (of the dense, how far the
        middle of their digits is), and which are firm, or counts, and that all records add up to their number.
        """
        n_dense, n_thin = (sum(len(each[1]) for each in some) for some in (dense, thin))
        every = np.ones((len(weights), 1), precision), np.array([n_records - weights.sum()]), np.array([0.5])
        return cls(
            np.hstack([every[0], *(each[0] for each in dense)]),
            sparse.hstack([sparse.csr_matrix((len(weights), 0)), *(each[0] for each in thin)], format="csr"),
            np.concatenate([every[1], *(each[1] for each in (*dense, *thin))]),
            np.concatenate([every[2], *(each[2] for each in (*dense, *thin))]),
            np.concatenate([np.zeros(1), *(each[3] for each in dense), np.zeros(n_thin)]),
            np.concatenate([np.zeros(1, np.bool_), *(each[4] for each in dense), np.zeros(n_thin, np.bool_)]),
            np.concatenate([np.zeros(1 + n_dense, np.bool_), *(each[3] for each in thin)]),
            rests,
        )

    def along(self, theta: Array) -> Array:
        """Change of the log weights (N,)."""
        d = self.dense.shape[1]
        return np.asarray(np.einsum("nd,d->n", self.dense, theta[:d]) + self.thin @ theta[d:])

    def spread(self, weights: Array) -> Array:
        """Standard deviation of every number over samples (d + s,)."""
        dense = (self.dense**2).T @ weights.astype(self.dense.dtype)
        squares = [dense, np.asarray(self.thin.multiply(self.thin).T @ weights)]
        return np.asarray(np.sqrt(np.maximum(np.concatenate(squares), 1e-300)))

    def coarse(self, spread: Array) -> bool:
        """Whether a standard error is away from digits that are coarser than its sampling error."""
        return bool((self.firm & (self.slack > spread)).any())

    def outside(self, spread: Array, coarse: float) -> bool:
        """Whether a number is away from digits of which half are more than so much of its sampling error."""
        told = (self.slack > coarse * spread) & (spread > FELT * self.slack)
        return bool((told & (np.abs(self.missing + self.aside) > self.slack)).any())

    def left(self, spread: Array) -> float:
        """Sum of squares of what is missed, in what closing in begins with, at this spread (d + s,)."""
        far = self.far(spread)
        return float(far @ far)

    def far(self, spread: Array) -> Array:
        """What is missed (d + s,), in what closing in begins with, at this spread (d + s,)."""
        return np.asarray(self.missing / np.maximum(TUNING.half * self.slack, TUNING.near[0] * spread))

    def sums(self, weights: Array) -> Array:
        """What the records add up to (d + s,)."""
        return np.concatenate([self.dense.T @ weights, np.asarray(self.thin.T @ weights)])

    def step(self, weights: Array, gradient: Array, slack: Array) -> Array:
        """Newton's step theta (d + s,): the gradient over the covariance and what may be missed."""
        for precision in (np.float32, np.float64):  # half the length is faster, and mostly exact enough
            covariance = self._covariance(weights, precision)
            scale = np.hypot(np.sqrt(np.maximum(np.diag(covariance), 1e-300)), slack)
            covariance /= np.outer(scale, scale)
            covariance[np.diag_indices_from(covariance)] += (slack / scale) ** 2
            try:
                root = linalg.cho_factor(covariance, check_finite=False)
                return np.asarray(linalg.cho_solve(root, gradient / scale, check_finite=False) / scale)
            except linalg.LinAlgError:  # by rounding
                continue
        return np.asarray(np.linalg.solve(covariance, gradient / scale) / scale)

    def telling(self, weights: Array, spread: Array) -> NDArray[np.int64]:
        """Those of the equations that the others follow from, nearly, at this spread (d + s,): the narrower the better.
        Many do follow: limits and p-values from coefficients and errors, margins and outputs that are released twice.
        """
        first = (1.0 + (self.slack / (TUNING.loose * spread)) ** 2) ** -0.25
        scale = np.where(spread > FELT * self.slack, first / spread, 0.0)
        covariance = self._covariance(weights, np.float32) * np.outer(scale, scale)
        _, order, rank, _ = lapack.dpstrf(covariance, tol=FOLLOWS, lower=1)
        return np.sort(order[:rank] - 1)

    def some(self, which: NDArray[np.int64]) -> Asked:
        """These of the equations alone, in order."""
        d = self.dense.shape[1]
        dense, thin = which[which < d], which[which >= d] - d
        return Asked(
            self.dense[:, dense],
            self.thin[:, thin].tocsr(),
            self.missing[which],
            self.slack[which],
            self.aside[which],
            self.firm[which],
            self.counts[which],
            self.rests,
        )

    def beside(self, rows: sparse.csr_matrix, slack: Array) -> Asked:
        """These, and others of which nothing is missing: influence (N, h), what may be (h,)."""
        nothing, no = np.zeros(len(slack)), np.zeros(len(slack), np.bool_)
        return Asked(
            self.dense,
            sparse.hstack([self.thin, rows], format="csr"),
            np.concatenate([self.missing, nothing]),
            np.concatenate([self.slack, slack]),
            np.concatenate([self.aside, nothing]),
            np.concatenate([self.firm, no]),
            np.concatenate([self.counts, no]),
            self.rests,
        )

    def _covariance(self, weights: Array, precision: DTypeLike) -> Array:
        """Covariance (d + s, d + s) of what the records add up to, over samples."""
        root = np.sqrt(weights).astype(precision)[:, None]
        dense = self.dense.astype(precision, copy=False) * root
        thin = self.thin.astype(precision).multiply(root).tocsr()
        own, mixed, thin = dense.T @ dense, np.asarray(thin.T @ dense), (thin.T @ thin).toarray()
        return np.block([[own, mixed.T], [mixed, thin]]).astype(np.float64)


def nearest(asked: Asked, start: Array, loose: float = TUNING.loose) -> tuple[Array, bool]:
    """The weights (N,) nearest to the start, in relative entropy, that meet what is linear in them to `loose` standard
    deviations over samples, as near as it goes; and whether nothing was left to gain: Newton's method.
    """
    slack = np.maximum(asked.slack, loose * asked.spread(start))
    theta, tilt, weights = np.zeros(len(slack)), np.zeros(len(start)), start
    target = asked.missing + asked.sums(start)

    def left(tilt: Array, theta: Array) -> float:
        return float(start @ np.exp(tilt) - theta @ target + 0.5 * (slack * theta) @ (slack * theta))

    value = left(tilt, theta)
    for _ in range(STEPS):
        gradient = target - asked.sums(weights) - slack**2 * theta
        step = asked.step(weights, gradient, slack)
        move, fall = asked.along(step), float(gradient @ step)
        share = min(1.0, LEAP / max(float(move.max()), 1e-300))
        while share > STILL and left(tilt + share * move, theta + share * step) > value - 0.1 * share * fall:
            share /= 2.0
        theta, tilt = theta + share * step, tilt + share * move
        value, weights = left(tilt, theta), start * np.exp(tilt)
        if fall < GAIN or share < STUCK:
            break
    return weights, -GAIN < fall < GAIN


def equations_of_tallies(
    problem: Problem,
    part: TallyPart,
    which: slice,
    member: sparse.csr_matrix,
    weights: Array,
    passed: bool = False,
) -> tuple[sparse.csr_matrix, Array, Array, NDArray[np.bool_]]:
    """The equations of the numbers of a part at these weights: influence of each record (N, s), what is missing and
    what may be, and whether they are of counts alone (s,); `member`: what each record adds to each total, `passed`: as
    `equations_of` has it.
    """
    low, high, tolerance = problem.low[which], problem.high[which], problem.tolerance[which]
    tallied = equations_of(part, np.asarray(member.T @ weights), low, high, tolerance, passed)
    counts = np.full(len(tallied.missing), made_of_counts(part))
    return member @ tallied.rows.T, tallied.missing, tallied.half, counts


def beyond(problem: Problem, part: TallyPart, which: slice, codes: Codes) -> NDArray[np.bool_]:
    """Which of records (N, variables) have a value beyond a largest or smallest one that was published in a part."""
    low, high = problem.low[which] - problem.tolerance[which], problem.high[which] + problem.tolerance[which]
    found = list[NDArray[np.int64]]()
    for at, formula in enumerate(part.formulas):
        if formula.kind == "rank" and formula.scale in (0.0, 1.0):
            out = formula.points > high[at] if formula.scale else formula.points < low[at]
            found.append(formula.totals[out])
    if not found:
        return np.zeros(len(codes), np.bool_)
    return np.asarray(members_of(part.blocks, codes)[:, np.concatenate(found)].sum(axis=1)).ravel() > 0.0
