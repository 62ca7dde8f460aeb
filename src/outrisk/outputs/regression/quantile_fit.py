"""Coefficients of a quantile regression, exactly: the linear programme of Koenker and Bassett (1978), and whether its
optimum is the only one.

By the dual: maximise y'a over weights a in [tau - 1, tau] with X'a = 0, where a record above the plane has tau and one
below it tau - 1. Of many records those far from a first guess have their weight by their side, and only those near it
are asked (Portnoy and Koenker 1997); sides that turn out wrong are asked too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from outrisk.outputs.base import Array

_WHOLE, _NEAR = 3_000, 2_000  # records up to which all are asked; those of more that are asked first
_SAMPLE = 1_500  # records of the first guess
_GUESSES = (0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.02)  # shares of the records that tell the density around a guess
_ON = 1e-8  # of the largest response and the largest product, within which a record lies on the plane
_INSIDE = 1e-7  # how far weights on the plane stay from their ends where the optimum is the only one
_MOVES = 1e-6  # of a direction along which the sum of deviations does not grow, that a coefficient moves by
_ASKED = 60  # rounds at most


@dataclass(frozen=True, eq=False)
class Plane:
    """A fitted plane: coefficients (k,), residuals (n,), exactly 0 on it; which coefficients are the same in every
    optimum (k,).
    """

    coefficients: Array
    residuals: Array
    unique: NDArray[np.bool_]

    @property
    def on(self) -> NDArray[np.bool_]:
        """Which records lie on it, (n,)."""
        return np.asarray(self.residuals == 0.0)

    def nearest(self, design: Array, tau: float, wanted: Array) -> Array:
        """The coefficients (k,) of the plane with the least sum of deviations that lies nearest to some (k,), by the
        sum of their distances over the sizes of their columns; NaN among these asks nothing. Its own where that plane
        passes through fewer records than there are columns: no program prints it.
        """
        scale = np.abs(design).max(axis=0)
        X, far = design / scale, np.nan_to_num((wanted - self.coefficients) * scale)
        if not far.any():
            return self.coefficients
        found = self.coefficients + _moved(X, self.residuals, tau, far, np.isfinite(wanted)) / scale
        response = self.residuals + design @ self.coefficients
        on = residuals_of(design, response, found) == 0.0
        return found if np.linalg.matrix_rank(X[on]) == len(found) else self.coefficients

    def deviations(self, tau: float) -> float:
        """The sum of weighted absolute deviations: tau above, 1 - tau below."""
        return deviations_of(self.residuals, tau)


def deviations_of(residuals: Array, tau: float) -> float:
    """The sum of tau times what lies above 0 and 1 - tau times what lies below."""
    return float(np.where(residuals > 0.0, tau, tau - 1.0) @ residuals)


def fitted_plane(design: Array, response: Array, tau: float, unique: bool = True) -> Plane | None:
    """The plane of records (n, k), (n,), whose columns are linearly independent; None where none is found.

    unique: whether to ask which coefficients are the same in every optimum; else all count as if.
    """
    scale = np.abs(design).max(axis=0)
    X = design / scale
    found = _whole(X, response, tau) if len(X) <= _WHOLE else _near(X, response, tau)
    if found is None:
        return None
    b, residuals = _on_plane(X, response, found)
    for _ in range(X.shape[1]):
        if np.linalg.matrix_rank(X[residuals == 0.0]) == X.shape[1]:
            break
        b, residuals = _on_plane(X, response, b + _to_the_next(X, residuals))
    sure = _told(X, residuals, tau) if unique else np.ones(len(b), np.bool_)
    return Plane(b / scale, residuals, sure)


def _to_the_next(X: Array, residuals: Array) -> Array:
    """The step (k,) from a plane through too few records, whose sum of deviations is flat where these stay on it, to
    one that passes through another.
    """
    on = residuals == 0.0
    direction = np.linalg.svd(X[on], full_matrices=True)[2][-1] if on.any() else np.eye(X.shape[1])[0]
    along = X[~on] @ direction
    some = np.abs(along) > _ON * float(np.abs(along).max())
    steps = residuals[~on][some] / along[some]
    return np.asarray(direction * steps[np.abs(steps).argmin()])


def _on_plane(X: Array, y: Array, b: Array) -> tuple[Array, Array]:
    """The coefficients as the records on the plane tell them, to all digits; and residuals, 0 of these."""
    for _ in range(2):
        on = residuals_of(X, y, b) == 0.0
        kinds = np.unique(np.column_stack([X[on], y[on]]), axis=0) if on.any() else np.zeros((0, X.shape[1] + 1))
        better = np.linalg.lstsq(kinds[:, :-1], kinds[:, -1] - kinds[:, :-1] @ b, rcond=None)[0] if len(kinds) else 0.0
        b = b + better
    return b, residuals_of(X, y, b)


def residuals_of(X: Array, y: Array, b: Array) -> Array:
    """What records (n, k), (n,) are above the plane, exactly 0 on it."""
    residuals = y - X @ b
    size = max(float(np.abs(y).max()), float((np.abs(X).max(axis=0) * np.abs(b)).max()), 1e-300)
    return np.asarray(np.where(np.abs(residuals) <= _ON * size, 0.0, residuals), dtype=np.float64)


def _solved(X: Array, y: Array, counts: Array, fixed: Array, tau: float) -> Array | None:
    """Coefficients of some kinds of records (m, k), so many of each, beside others whose weights add up to `fixed`."""
    result = linprog(
        -y,
        A_eq=X.T,
        b_eq=-fixed,
        bounds=np.column_stack([(tau - 1.0) * counts, tau * counts]),
        method="highs",
    )
    return np.asarray(-np.asarray(result.eqlin.marginals), dtype=np.float64) if result.status == 0 else None


def _kinds(X: Array, y: Array) -> tuple[Array, Array, Array]:
    rows, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    return rows[:, :-1], rows[:, -1], counts.astype(np.float64)


def _whole(X: Array, y: Array, tau: float) -> Array | None:
    return _solved(*_kinds(X, y), np.zeros(X.shape[1]), tau)


def _guess(X: Array, y: Array, tau: float) -> Array:
    """A plane near the fitted one: that of some records, then steps of the score over the density around it."""
    step = -(-len(X) // _SAMPLE)
    b = np.linalg.lstsq(X, y, rcond=None)[0]
    some = _whole(X[::step], y[::step], tau) if np.linalg.matrix_rank(X[::step]) == X.shape[1] else None
    b = b if some is None else some
    best, least = b, deviations_of(y - X @ b, tau)
    for share in _GUESSES:
        residuals = y - X @ b
        width = max(float(np.quantile(np.abs(residuals), share)), 1e-12)
        near = np.abs(residuals) <= width
        score = X.T @ np.clip(np.where(near, residuals / (2.0 * width), np.sign(residuals) / 2.0) + tau - 0.5, -1, 1)
        inside = X[near]
        b = b + np.linalg.pinv(inside.T @ inside / (2.0 * width), hermitian=True) @ score
        value = deviations_of(y - X @ b, tau)
        if value < least:
            best, least = b, value
    return np.asarray(best, dtype=np.float64)


def _near(X: Array, y: Array, tau: float) -> Array | None:
    """Those near a guess are asked, and ever more of the others whose side was wrong."""
    b, n = _guess(X, y, tau), len(X)
    residuals = y - X @ b
    asked = np.abs(residuals) <= np.partition(np.abs(residuals), _NEAR)[_NEAR]
    above = residuals > 0.0
    for _ in range(_ASKED):
        side = np.where(above, tau, tau - 1.0)
        fixed = side[~asked] @ X[~asked]
        found = _solved(*_kinds(X[asked], y[asked]), fixed, tau)
        if found is None:  # the sides of the others cannot be
            if asked.all():
                return None
            many = min(4 * int(asked.sum()), n - 1)
            asked |= np.abs(residuals) <= np.partition(np.abs(residuals), many)[many]
            asked |= many == n - 1
            continue
        residuals = y - X @ found
        wrong = ~asked & (np.where(above, -residuals, residuals) > _ON * max(float(np.abs(y).max()), 1e-300))
        if not wrong.any():
            return found
        asked |= wrong
    return _whole(X, y, tau)


def _told(X: Array, residuals: Array, tau: float) -> NDArray[np.bool_]:
    """Which coefficients (k,) no other optimum has otherwise.

    The optimum is the only one where the score of the records off the plane is made up for by weights strictly inside
    their ends on it, whose columns have full rank. Else a coefficient is told if no direction moves it along which the
    sum of deviations does not grow.
    """
    k = X.shape[1]
    off = residuals != 0.0
    score = np.where(residuals[off] > 0.0, tau, tau - 1.0) @ X[off]
    B, counts = np.unique(X[~off], axis=0, return_counts=True)
    if len(B) == 0:
        return np.zeros(k, dtype=np.bool_)
    if np.linalg.matrix_rank(B) == k:
        # weights a in [tau - 1 + t, tau - t] of each record, t as large as may be
        rows = np.hstack([B.T * counts, np.zeros((k, 1))])
        beyond = np.vstack(
            [
                np.hstack([np.eye(len(B)), np.ones((len(B), 1))]),
                np.hstack([-np.eye(len(B)), np.ones((len(B), 1))]),
            ]
        )
        ends = np.repeat([tau, 1.0 - tau], len(B))
        bounds = [(tau - 1.0, tau)] * len(B) + [(0.0, 1.0)]
        result = linprog(np.append(np.zeros(len(B)), -1.0), beyond, ends, rows, -score, bounds, method="highs")
        if result.status == 0 and -result.fun > _INSIDE:
            return np.ones(k, dtype=np.bool_)
    return _unmoved(B, counts.astype(np.float64), score, tau)


def _unmoved(B: Array, counts: Array, score: Array, tau: float) -> NDArray[np.bool_]:
    """Which coefficients no direction d, |d| <= 1, moves whose change of the sum of deviations is 0."""
    m, k = B.shape
    # B d = up - down: records that fall below the plane, and that rise above it
    rows = np.hstack([B, -np.eye(m), np.eye(m)])
    change = np.concatenate([-score, (1.0 - tau) * counts, tau * counts])
    slack = _INSIDE * max(float(np.abs(score).max(initial=0.0)), 1.0)
    bounds = [(-1.0, 1.0)] * k + [(0.0, None)] * (2 * m)
    told = np.ones(k, dtype=np.bool_)
    for at in range(k):
        for sign in (-1.0, 1.0):
            aim = np.zeros(k + 2 * m)
            aim[at] = sign
            result = linprog(aim, change[None, :], [slack], rows, np.zeros(m), bounds, method="highs")
            if result.status != 0 or -result.fun > 1e3 * _MOVES:
                told[at] = False
    return told


def _moved(X: Array, residuals: Array, tau: float, far: Array, asked: NDArray[np.bool_]) -> Array:
    """The step d (k,) nearest to one `far` (k,), as far as `asked`, along which the sum of deviations does not grow.

    Residuals off the plane may come to 0 and not beyond, beyond which others than those asked would count.
    """
    k, off = X.shape[1], residuals != 0.0
    score = np.where(residuals[off] > 0.0, tau, tau - 1.0) @ X[off]
    B, counts = np.unique(X[~off], axis=0, return_counts=True)
    m, some = len(B), np.flatnonzero(off)
    reach = np.abs(X).sum(axis=1)[some] * max(float(np.abs(far).max()), 1e-300)
    near = some[np.abs(residuals[some]) <= reach]  # which a step within |far| can come to
    sign = np.sign(residuals[near])
    # d, then records that fall below the plane and that rise above it, then |d - far|
    change = np.concatenate([-score, (1.0 - tau) * counts, tau * counts, np.zeros(k)])
    slack = _INSIDE * max(float(np.abs(score).max(initial=0.0)), 1.0) * float(np.abs(far).max())
    kept = np.hstack([sign[:, None] * X[near], np.zeros((len(near), 2 * m + k))])
    apart = [np.hstack([each * np.eye(k), np.zeros((k, 2 * m)), -np.eye(k)]) for each in (1.0, -1.0)]
    rows = np.vstack([change[None, :], kept, *apart])
    ends = np.concatenate([[slack], np.abs(residuals[near]), far, -far])
    equal = np.hstack([B, -np.eye(m), np.eye(m), np.zeros((m, k))])
    most = float(np.abs(far).max())
    bounds = [(-most, most)] * k + [(0.0, None)] * (2 * m + k)
    aim = np.concatenate([np.zeros(k + 2 * m), asked.astype(np.float64)])
    result = linprog(aim, rows, ends, equal, np.zeros(m), bounds, method="highs")
    return np.asarray(result.x[:k]) if result.status == 0 else np.zeros(k)
