"""Penalty weights: how much each released number counts, in each kind of fitness.

mse: mean squared error of the published numbers. chi2: r' V^-1 r with V their sampling covariance, as far as it is
known (for a regression V^-1 is the information; for counts 1/expected). precision: squared errors in units of half the
last printed digit, for tallies times that unit in standard errors: neither digits alone nor sampling alone, and with
weights that are no multiples of each other a search does not get stuck where they are. sampling: precision, but the
models by chi2, scaled to weigh as much: where one of the two stands still, the other often moves on. tightening: chi2
at `tightness` 0, squared errors in half last digits at 1, and between them on the way (a homotopy); but counts are at
their digits at once, so that tables hold still while all else closes in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.tuning import TUNING
from outrisk.problem.algebra import root_of
from outrisk.problem.blocks import Array
from outrisk.problem.released import Bounds

Fitness = Literal["mse", "chi2", "precision", "sampling", "tightening"]
LEAST = 1e-14  # weight of what says nothing to first order


@dataclass(frozen=True, eq=False)
class Weights:
    """A kind of fitness; how far it has tightened (0 to 1); and what the share of each released number in it is
    multiplied by, (total k,).
    """

    fitness: Fitness
    tightness: float
    emphasis: Array


def pressed(emphasis: Array, off: NDArray[np.bool_]) -> Array:
    """The emphasis of numbers (k,) after a generation: it lets go of all half as fast as it grows of those off."""
    less = 1.0 + (emphasis - 1.0) / np.sqrt(TUNING.emphasis)
    return np.asarray(np.where(off, TUNING.emphasis * less, less))


def of_tally(weights: Weights, which: slice, bounds: Bounds, tolerance: Array, pinned: bool) -> Array:
    """Weight of each total of a tally (m,), of whose numbers `which` half a last digit is `tolerance` (k,). `pinned`:
    they are at their digits from the start.
    """
    carries = bounds.unit != 0.0
    number = np.where(carries, bounds.number, 0)
    per_digit = (bounds.unit / tolerance[number]) ** 2
    if weights.fitness == "mse":
        by_total = bounds.unit**2 / len(weights.emphasis)
    elif weights.fitness == "chi2":
        by_total = 1.0 / bounds.variance
    elif weights.fitness == "tightening":
        by_total = _between(1.0 / bounds.variance, TUNING.pinned * per_digit, 1.0 if pinned else weights.tightness)
    else:
        by_total = np.sqrt(per_digit / bounds.variance)
    return np.where(carries, by_total * weights.emphasis[which][number], 0.0)


def of_model(weights: Weights, which: slice, precision: Array, tolerance: Array) -> Array:
    """A root (k, k) of the weights of a model's numbers `which`, from their precision (k, k) and half digits (k,)."""
    root = np.sqrt(weights.emphasis[which])
    own = np.maximum(np.diag(precision), 1e-300)
    between = np.sqrt(own) / tolerance  # the geometric mean of both weights, as for tallies
    if weights.fitness == "mse":
        return np.diag(root * len(weights.emphasis) ** -0.5)
    if weights.fitness == "tightening":
        values, vectors = np.linalg.eigh(precision * np.outer(tolerance, tolerance))
        values = _between(np.maximum(values, LEAST), TUNING.closest, weights.tightness)
        return np.asarray((root / tolerance)[:, None] * vectors * np.sqrt(values))
    if weights.fitness == "precision":
        return np.diag(root * np.sqrt(between))
    scale = np.asarray(root_of(precision) * root[:, None])
    return scale * np.sqrt(between.mean() / own.mean()) if weights.fitness == "sampling" else scale


def _between(sampling: Array, digits: Array | float, tightness: float) -> Array:
    """Weights on the way from those of sampling errors (tightness 0) to those of last digits (1), never beyond them.

    Two ways, whichever is ahead: in one all sampling errors shrink by the same factor; in the other every number has
    come the same share of its own way, so that one printed to many digits does not come last, when others that it
    needs to move are settled.
    """
    together = np.minimum(sampling / TUNING.narrowest ** (2.0 * tightness), digits)
    return np.asarray(np.minimum(np.maximum(together, sampling ** (1.0 - tightness) * digits**tightness), digits))
