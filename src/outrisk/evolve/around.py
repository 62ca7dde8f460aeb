"""What a data set misses, number by number, and what a record adds to each, to first order (its influence)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.problem import Problem
from outrisk.evolve.tilted import FELT
from outrisk.problem.blocks import Array
from outrisk.problem.influence import records_of_model
from outrisk.problem.refit import NEAR
from outrisk.problem.released import Bounds, ModelPart, TallyPart

_NARROW = 3.0, 1.0  # width of a range from which on a count need not be kept as it is; where classes are resized
_NOISE = 1e-7  # of the largest sampling error of alike numbers, up to which one is none
_MARGIN = 0.125  # of a range, at either end, that is left to what is not seen to first order


@dataclass(frozen=True, eq=False)
class Equations:
    """The numbers of models, and those totals of tallies that are no counts to be kept, around a data set.

    number (q,): which of the published numbers each is; missing: to where it should lie; half: half a last digit;
    error: its sampling error, positive; drift: what it should come to more with each record in its total, 0 for those
    of models. slopes: of each model, the change of its numbers with its totals. totals: which totals of tallies; they
    come last. kept (m,): totals that are counts, or sums of values told to the last unit, to be kept as they are.
    counts (m,): all counts. room (2, m): by how much a count of a wide range may fall and rise; infinite for other
    totals.
    """

    problem: Problem
    number: NDArray[np.int64]
    missing: Array
    half: Array
    error: Array
    drift: Array
    slopes: tuple[Array, ...]
    totals: NDArray[np.int64]
    kept: NDArray[np.bool_]
    counts: NDArray[np.bool_]
    room: Array

    def rows(self, codes: Codes) -> Array:
        """What each of some records (n, variables) adds to every number, (n, q), in single precision."""
        models = [part.model for part in self.problem.parts if isinstance(part, ModelPart)]
        found = [
            records_of_model(model, codes).single().through(slopes)
            for model, slopes in zip(models, self.slopes, strict=True)
        ]
        return np.hstack([*found, self._of_totals(codes)])

    def _of_totals(self, codes: Codes) -> NDArray[np.float32]:
        """What each of some records (n, variables) adds to the totals that are equations, beyond what it should."""
        found = np.zeros((len(codes), len(self.totals)), np.float32)
        column = np.full(len(self.kept), -1)
        column[self.totals] = np.arange(len(self.totals))
        record, total, value = self.problem.added(codes, column >= 0)
        drift = self.drift[len(self.drift) - len(self.totals) :]
        found[record, column[total]] = value - drift[column[total]]
        return found

    def column(self, codes: Codes, number: int) -> Array:
        """What each of some records (n, variables) adds to one number, (n,)."""
        at, slopes = number, []
        for slope in self.slopes:
            slopes.append(slope[at : at + 1] if 0 <= at < len(slope) else slope[:0])
            at -= len(slope)
        totals, drift = self.totals[at : at + 1] if at >= 0 else self.totals[:0], self.drift[number : number + 1]
        return replace(self, slopes=tuple(slopes), totals=totals, drift=drift).rows(codes)[:, 0]

    @property
    def keys(self) -> NDArray[np.int64]:
        """What tells each of the equations from others, around any data set, (q,)."""
        models = self.number[: len(self.number) - len(self.totals)]
        return np.concatenate([models, len(self.problem.tolerance) + self.totals])

    @property
    def loose(self) -> NDArray[np.bool_]:
        """Which totals (m,) are counts of wide ranges."""
        return np.asarray(np.isfinite(self.room).any(axis=0))

    @property
    def off(self) -> Array:
        """What numbers miss (q,); 0 where they are at their digits."""
        return np.where(np.abs(self.missing) <= self.half, 0.0, self.missing)


def equations_at(linear: Linear, candidate: Candidate, errors: Array, resized: bool = False) -> Equations:
    """The equations around a data set, whose numbers have sampling errors (total k,); those with next to none are left
    out: they do not say to first order how they would change. `resized`: classes are, so that fewer counts are kept as
    they are, and a record adds to a sum of squares what is beyond what an sd allows a class that is larger by one.
    """
    models, tallies, slopes, totals = [], [], [], []
    of_models, of_tallies = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    kept, counts = np.zeros((2, len(candidate.totals)), np.bool_)
    room = np.full((2, len(candidate.totals)), np.inf)
    far = -linear.distances(candidate.totals)
    jacobians = iter(linear.jacobians)
    for part, where, which, _ in linear.problem.slices:
        tolerance = linear.problem.tolerance[which]
        if isinstance(part, TallyPart):
            found, at, number, kept[where], counts[where], room[:, where] = _of_tally(
                part, linear, where, which, candidate.totals[where], errors[which], resized
            )
            tallies.append(found)
            totals.append(where.start + at)
            of_tallies.append(which.start + number)
            continue
        slope = next(jacobians)
        use = linear.problem.known[which] & np.isfinite(far[which]) & np.isfinite(slope).all(axis=1)
        use &= errors[which] > FELT * tolerance
        models.append(np.array([far[which], tolerance, errors[which], np.zeros(len(tolerance))])[:, use])
        slopes.append(slope[use])
        of_models.append(which.start + np.flatnonzero(use))
    missing, half, error, drift = np.hstack([np.zeros((4, 0)), *models, *tallies])
    return Equations(
        linear.problem,
        np.concatenate([*of_models, *of_tallies]),
        missing,
        half,
        error,
        drift,
        tuple(slopes),
        np.concatenate([np.zeros(0, np.int64), *totals]),
        kept,
        counts,
        room,
    )


def _of_tally(
    part: TallyPart, linear: Linear, where: slice, which: slice, here: Array, errors: Array, resized: bool
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_], Array]:
    """What is missing, half a digit, error and drift of the totals that are equations, (4, q); which they are, and of
    which number; which totals are counts to be kept, and which are counts at all; and the room of the others.
    """
    bounds = part.map.bounds(here, linear.problem.low[which], linear.problem.high[which])
    low, high, weighs = linear.low[where], linear.high[where], linear.weight[where] > 0.0
    smooth = np.concatenate([np.full(block.size, block.value is not None) for block in part.blocks])
    counts = weighs & ~smooth
    kept = counts & (high - low < _NARROW[resized])
    if not resized:
        kept |= _exact(part, linear.problem, bounds, here, linear.problem.tolerance[which], errors)
    free = counts & ~kept & (here >= low) & (here <= high)
    room = np.where(free, [here - low, high - here], np.inf)
    at = np.flatnonzero(weighs & ~kept & ~free & (bounds.unit != 0.0))
    low, high, here, number = low[at], high[at], here[at], bounds.number[at]
    inner = _MARGIN * np.where(np.isfinite(high - low), high - low, 0.0)
    # what was published of a smooth total; its range is wider
    low, high = np.where(smooth[at], [bounds.low[at], bounds.high[at]], [low + inner, high - inner])
    missing = np.clip(here, low, high) - here
    half = np.where(smooth[at], linear.problem.tolerance[which][number] / np.abs(bounds.unit[at]), inner)
    drift = np.broadcast_to(bounds.drift if resized else 0.0, len(kept))[at]
    own = errors[number] / np.abs(bounds.unit[at])
    block = np.repeat(np.arange(len(part.blocks)), [block.size for block in part.blocks])[at]
    for each in np.unique(block[smooth[at]]):
        # of people who are all alike it is not known how a mean varies: no less than of any others, for all we know
        these = own[block == each]
        sure = these > _NOISE * np.nanmax(these, initial=0.0)
        own[block == each] = np.where(sure, these, these[sure].min() if sure.any() else half[block == each])
    error = np.where(smooth[at], own, np.sqrt(bounds.variance[at]))
    return np.array([missing, half, error, drift]), at, number, kept, counts, room


def _exact(
    part: TallyPart, problem: Problem, bounds: Bounds, here: Array, tolerance: Array, errors: Array
) -> NDArray[np.bool_]:
    """Which totals (m,) are sums of values, or of their squares, that are at their digits, and no more once a record
    takes the next value; of tallies of which most are, and most would not be near any more: what is right would not
    soon be so again.
    """
    found, end = np.zeros(len(here), np.bool_), 0
    with np.errstate(divide="ignore"):
        unit = np.where(bounds.unit != 0.0, np.abs(bounds.unit), np.nan)
    half, near = tolerance[bounds.number] / unit, NEAR * errors[bounds.number] / unit
    squares = {int(formula.totals[2]) for formula in part.formulas if formula.kind in ("deviation", "error")}
    for block in part.blocks:
        own, end = slice(end, end + block.size), end + block.size
        value = set(block.place.variables) - set(part.blocks[0].place.variables)
        if block.value is None or block.weight or len(value) != 1:
            continue
        variable = problem.codebook.variables[value.pop()]  # a category, where a number follows from it
        values = np.array(variable.values, np.float64) if variable.numeric else np.unique(block.value)
        step = np.diff(values).min(initial=np.inf) ** (1 + (own.start in squares))
        told = np.isfinite(bounds.low[own]) & np.isfinite(bounds.high[own])
        met = (here[own] >= bounds.low[own] - half[own]) & (here[own] <= bounds.high[own] + half[own])
        exact = told & met & (half[own] < step)
        if 2 * min(exact.sum(), (told & (near[own] < step)).sum()) > told.sum():
            found[own] = exact
    return found
