"""How numbers without an additive form depend on counts: refits of expanded counts, and differences of refits."""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import RLock

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.problem.algebra import invert
from outrisk.problem.released import half_digit

_KEPT = 64  # refits of the latest counts, which several questions are asked of
_STEPS = 20  # towards counts that reproduce the published numbers
_MOST = 1.0  # largest change of a count in a step, on the log scale
_NEAR = 10.0  # half last digits within which the published numbers count as reproduced there


@dataclass
class Effort:
    """What the slow path has taken: refits, and their seconds on the clock."""

    refits: int = 0
    seconds: float = 0.0
    lock: RLock = field(default_factory=RLock, repr=False, compare=False)

    def add(self, refits: int, seconds: float) -> None:
        """Add what more it has taken."""
        with self.lock:
            self.refits += refits
            self.seconds += seconds

    def row(self) -> dict[str, float]:
        """Refits and seconds by name; they differ from one time to the next, so they belong in the manifest alone."""
        return {"refits": self.refits, "seconds": round(self.seconds, 1)}

    def __reduce__(self) -> tuple[type[Effort], tuple[int, float]]:
        """A copy in another process has a lock of its own."""
        return Effort, (self.refits, self.seconds)


@dataclass(frozen=True, eq=False)
class Recount:
    """Published numbers as a function of counts (m,): `call` on the cells, each repeated as often as it is counted.

    The derivatives are taken once for a number of records, by differences of refits around counts that reproduce the
    published numbers as nearly as some steps allow, and serve all data sets. For an estimator defined by scores that
    depend on one record (a regression, penalised or not) they are nearly right near the published numbers; for others,
    such as an area below a survival curve, roughly, and the last digits may not be met. They depend on the published
    numbers and the number of records alone, not on what was asked before, so that runs on several threads give what
    they give on one. `fixed`: all data sets have the same number of records.
    """

    call: Callable[[pd.DataFrame], Sequence[float]]
    cells: pd.DataFrame
    published: Array
    decimals: NDArray[np.int64]
    fixed: bool
    effort: Effort
    _kept: OrderedDict[bytes, Array] = field(default_factory=OrderedDict)
    _slopes: dict[int, Array] = field(default_factory=dict)

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,), by a refit; NaN where there is none."""
        counts = _whole(totals)
        key = counts.tobytes()
        with self.effort.lock:
            if key not in self._kept:
                self._kept[key] = self._refit(counts)
            self._kept.move_to_end(key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return self._kept.get(key, np.full(len(self.published), np.nan)).copy()

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m) around counts that reproduce the published numbers, of about as many records."""
        n = max(1, round(float(np.maximum(totals, 0).sum())))
        size = n if self.fixed else 2 ** round(np.log2(n))
        with self.effort.lock:
            if size not in self._slopes:
                self._slopes[size] = self._around(self._reproducing(size))
            return self._slopes[size]

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling covariance by the delta method, with the variance of rounding, shape (k, k)."""
        jacobian = self.jacobian(totals, information)
        rounding = 10.0 ** (-2.0 * self.decimals) / 12.0
        return invert((jacobian * np.maximum(totals, 1.0)) @ jacobian.T + np.diag(rounding))

    def _refit(self, counts: NDArray[np.int64]) -> Array:
        undefined = np.full(len(self.published), np.nan)
        if not counts.any():
            return undefined
        frame = self.cells.iloc[np.repeat(np.arange(len(counts)), counts)].reset_index(drop=True)
        started = time.perf_counter()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # data on the way to the published numbers are odd at times
                found = np.asarray(self.call(frame), dtype=np.float64)
        except (Exception, SystemExit):  # no numbers from these data; the refit of a run's result says why
            found = undefined
        self.effort.add(1, time.perf_counter() - started)
        return found if found.shape == undefined.shape else undefined

    def _around(self, counts: Array) -> Array:
        """Derivatives (k, m) by adding a record to each cell in turn; 0 where they are not defined."""
        base, whole = self.numbers(counts, np.empty(0)), _whole(counts)
        unit = np.eye(len(whole), dtype=np.int64)
        slopes = np.stack([self._refit(whole + unit[cell]) - base for cell in range(len(whole))], axis=1)
        return np.where(np.isfinite(slopes), slopes, 0.0)

    def _reproducing(self, n: int) -> Array:
        """Counts (m,) that add up to n and nearly reproduce the published numbers; the nearest ones found.

        From equal counts, by Newton's method on their exponential tilt; Broyden's updates keep up the derivatives.
        """
        counts = np.full(len(self.cells), n / len(self.cells))
        found = self.numbers(counts, np.empty(0))
        best, best_distance = counts, self._distance(found)
        jacobian = self._around(counts)
        for _ in range(_STEPS):
            if best_distance <= _NEAR:
                break
            gap = np.where(np.isfinite(self.published - found), self.published - found, 0.0)
            spread = (jacobian * counts) @ jacobian.T
            tilt = np.clip(jacobian.T @ (invert(spread) @ gap), -_MOST, _MOST)
            moved = counts * np.exp(tilt)
            moved *= n / moved.sum()
            after = self.numbers(moved, np.empty(0))
            step = (_whole(moved) - _whole(counts)).astype(np.float64)
            metric = step / np.maximum(counts, 1.0)
            if not np.isfinite(after).all() or not step.any():
                break
            missed = np.where(np.isfinite(after - found), after - found, 0.0) - jacobian @ step
            jacobian = jacobian + np.outer(missed, metric) / (step @ metric)
            counts, found = moved, after
            if self._distance(found) < best_distance:
                best, best_distance = counts, self._distance(found)
        return best

    def _distance(self, found: Array) -> float:
        """Largest distance from the published numbers, in half last digits."""
        off = np.abs(found - self.published) / half_digit(self.decimals)
        off = off[np.isfinite(self.published)]
        return float(np.max(np.where(np.isfinite(off), off, np.inf), initial=0.0))


def _whole(counts: Array) -> NDArray[np.int64]:
    """Counts rounded so that their running sums are off by half a record at most: small ones do not all vanish."""
    running = np.rint(np.cumsum(np.maximum(counts, 0.0)))
    return np.asarray(np.diff(running, prepend=0.0), dtype=np.int64)
