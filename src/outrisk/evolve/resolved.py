"""Coefficients that are printed coarsely, taken where the other released numbers have them.

A coefficient of age squared is printed as -0.0007, with a standard error of 0.00006: it may lie most of a sampling
error away. The totals of a regression are those at its published coefficients, and scores that add up to nothing at
-0.0007 contradict the counts of tables, if it was -0.00065. So before anything is drawn, such coefficients are moved
within their printed digits to where the weights of a pool meet the scores and the tables best (calibrated.py): what
these miss is nearly linear in the coefficients, so that a few least squares find it (Gauss and Newton).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from outrisk.evolve.calibrated import MANY, Pool, alone, applies
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.evolve.settled_shares import of_told_sizes
from outrisk.problem.algebra import invert
from outrisk.problem.blocks import Array
from outrisk.problem.influence import records_of_model
from outrisk.problem.released import ModelPart, Released

COARSE = 0.1  # sampling errors of a coefficient, in half its last printed digit, from which it is coarse
MOST = 12  # coefficients that are moved: the coarsest
RECORDS = 20_000  # of the pool, at most
ROUNDS, STEP = 5, 0.5  # of least squares; half digits, or sampling errors if these are less, to see what a move does
WIDEST, LEAST = 4.0, 0.1  # of an exp(b) that prints as 0: how far its logarithm may lie either way, in all; half digits
BACK = 0.3  # weight of where it is printed, for what nothing else says
_FOUND: WeakKeyDictionary[Problem, Problem | None] = WeakKeyDictionary()  # None: itself, which would keep it for ever


def once_resolved(problem: Problem, draw: Callable[[int, np.random.Generator], Codes]) -> Problem:
    """What `resolved` makes of a problem with shares of groups that tables tell the sizes of, where there is more than
    counts: all runs of a fold have it, so it is found once, and its plan with it.
    """
    if problem not in _FOUND:
        found = resolved(of_told_sizes(problem) if problem.sums else problem, draw)
        _FOUND[problem] = None if found is problem else found
    return _FOUND[problem] or problem


def resolved(problem: Problem, draw: Callable[[int, np.random.Generator], Codes]) -> Problem:
    """The same problem with the parts of regressions at such coefficients; itself where there are none, or where no
    table says what they are, or numbers are so many that it takes long. What a number may be stays as it was published.

    The pool is the same for every run, so that a run that goes on has the same problem.
    """
    if alone(problem) or not applies(problem) or int(problem.known.sum()) > MANY:
        return problem
    codes = draw(min(problem.n_records, RECORDS), np.random.default_rng(0))
    places, half, ratio, least = _coarse(problem, codes)
    if not len(places):
        return problem
    found, moved = problem, np.where(least > 0.0, 0.5, 0.0)
    missed = _missed(found, codes)
    for _ in range(ROUNDS):
        steps = np.diag(STEP / np.maximum(ratio, 1.0) * np.where(moved > 0, -1.0, 1.0))
        tried = [_missed(_at(problem, places, half * (moved + step)), codes) for step in steps]
        slopes = np.column_stack([(each - missed) / step.sum() for each, step in zip(tried, steps, strict=True)])
        if not np.isfinite(np.column_stack([slopes, missed])).all():
            break
        slopes, off = np.vstack([slopes, BACK * np.eye(len(places))]), np.concatenate([missed, BACK * moved])
        step = lsq_linear(slopes, -off, (least - moved, 1.0 - moved)).x
        other = _at(problem, places, half * (moved + step))
        left = _missed(other, codes)
        if not left @ left < 0.9 * (missed @ missed):
            break
        found, moved, missed = other, moved + step, left
    return found


def _coarse(problem: Problem, codes: Codes) -> tuple[NDArray[np.intp], Array, Array, Array]:
    """Which numbers (of all outputs) are coarse coefficients; half their last digits, also in sampling errors; and by
    how many of these they move down at most, as exp(b) stays above 0.
    """
    places, half, coarse, least = list[int](), list[float](), list[float](), list[float]()
    for part, _, which, _ in problem.slices:
        if not isinstance(part, ModelPart) or not part.model.n_score:
            continue
        low, high = problem.low[which], problem.high[which]
        tolerance, K = problem.tolerance[which], part.model.n_score
        says = part.map.says(low - tolerance, high + tolerance)
        if says is None:
            continue
        seen = records_of_model(part.model, codes)
        weights = np.full(len(codes), problem.n_records / len(codes))
        errors = np.sqrt(np.maximum(np.diag(invert(seen.information(weights * seen.weight))), 0.0))
        width = np.minimum(np.diff(says.coefficients)[:, 0], WIDEST)
        ratio = width / 2.0 / np.maximum(errors, 1e-300)
        for at in np.flatnonzero((ratio > COARSE) & (low[:K] == high[:K]) & (errors > 0)):
            places.append(which.start + int(at))
            half.append(float(tolerance[at]))
            coarse.append(float(ratio[at]))
            least.append(-1.0 if np.isfinite(says.coefficients[at, 0]) else LEAST - low[at] / tolerance[at])
    chosen = np.argsort(coarse)[::-1][:MOST]
    return np.array(places, np.intp)[chosen], *(np.array(each)[chosen] for each in (half, coarse, least))


def _at(problem: Problem, places: NDArray[np.intp], moved: Array) -> Problem:
    """The problem with the parts of its regressions at numbers moved by so much."""
    with np.errstate(invalid="ignore"):  # NaN where nothing is known
        values = 0.5 * (problem.low + problem.high)
    values[places] += moved
    released, at = list[Released](), 0
    for each in problem.released:
        own = slice(at, at + len(each.low))
        at = own.stop
        touched = ((places >= own.start) & (places < own.stop)).any() and np.isfinite(values[own]).all()
        released.append(replace(each, parts=each.output.parts(values[own])) if touched else each)
    return replace(problem, released=tuple(released))


def _missed(problem: Problem, codes: Codes) -> Array:
    """What the weights of a pool miss of scores and tables, in what closing in begins with."""
    return Pool.of(problem, codes).missed_of_linear()
