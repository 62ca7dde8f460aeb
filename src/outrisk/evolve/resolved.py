"""Coefficients that are printed coarsely, or not at all, taken where the other released numbers have them.

A coefficient of age squared is printed as -0.0007, with a standard error of 0.00006: it may lie most of a sampling
error away; so may the logarithm of an odds that is printed as 0.01. The totals of a regression are those at its
published coefficients, and scores that add up to nothing at -0.0007 contradict the counts of tables, if it was
-0.00065. So before anything is drawn, such coefficients are moved within their printed digits to where the weights of a
pool meet the scores and the tables best (calibrated.py): what these miss is nearly linear in the coefficients, so that
a few least squares find it (Gauss and Newton). Where weights miss much wherever coefficients are, as a variable stands
in no table and the pool knows nothing of it, they begin in the middle of their digits instead, and are taken where
weights have them that meet all numbers, limits and p-values too. Where these weights miss much, steps that hold
coefficients less to where they were may miss less: the estimates are taken at which all numbers are met best.

One that was not published, such as the constant beside a paper's odds ratios, or all that these were adjusted for, is
first taken where it is most likely in records that are drawn as all else says, and in a run again and again where it is
in the run's own: what is published of the others is linear in the records around there alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from outrisk.evolve.calibrated import COARSE, MANY, MET, Pool, alone, applies
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.evolve.settled_shares import of_told_sizes
from outrisk.evolve.shared_coefficients import with_shared
from outrisk.evolve.tuning import TUNING
from outrisk.problem.algebra import invert
from outrisk.problem.blocks import Array
from outrisk.problem.influence import ModelRecords, records_of_model
from outrisk.problem.released import ModelPart, Released
from outrisk.problem.untold import begun, most_likely, told_by

MOST = 12  # coefficients that are moved: the coarsest
WIDEST = 4.0  # of an exp(b) that prints as 0: how far below the most that it can be its logarithm is looked for
ROUNDS, STEP = 5, 0.5  # of least squares; half digits, or sampling errors if these are less, to see what a move does
UNTOLD, AGAIN = 0.1, 3  # mean square that weights miss, from which they tell nothing; estimates then taken in turn
PULLS = (1.0, 0.1, 0.01)  # how much coefficients are drawn to where they are, in other estimates that are tried
UNMET = 5.0  # mean square that numbers miss with estimates, up to which no others are tried (up to 4 where runs came
# near by them; "probabilities and odds" 9 to 75)
BACK = 0.3  # weight of the middle of its digits, for what nothing else says
_Kept = WeakKeyDictionary[Problem, Problem | None]  # None: itself, which would keep it for ever
_FOUND, _TOLD, _SHARED = _Kept(), _Kept(), _Kept()

Draw = Callable[[int, np.random.Generator], Codes]


class _Coarse(NamedTuple):
    """A coefficient: the part that it is of, its position there, the middle of what it may be and half the range, also
    in sampling errors.
    """

    part: int
    at: int
    middle: float
    half: float
    ratio: float


def once_told(problem: Problem, drawing: Callable[[Problem], Draw]) -> Problem:
    """The problem with coefficients that were not published taken from records drawn as `drawing` has it; once for all
    runs of a fold.
    """
    return _once(_TOLD, problem, partial(_told, drawing=drawing))


def once_shared(problem: Problem) -> Problem:
    """The problem with coefficients that one output leaves unprinted as another one of the same regression has them."""
    return _once(_SHARED, problem, with_shared)


def once_resolved(problem: Problem, draw: Draw) -> Problem:
    """What `resolved` makes of a problem with shares of groups that tables tell the sizes of, where there is more than
    counts: all runs of a fold have it, so it is found once, and its plan with it.
    """
    return _once(_FOUND, problem, lambda each: resolved(of_told_sizes(each) if each.sums else each, draw))


def _once(kept: _Kept, problem: Problem, find: Callable[[Problem], Problem]) -> Problem:
    if problem not in kept:
        found = find(problem)
        kept[problem] = None if found is problem else found
    return kept[problem] or problem


def resolved(problem: Problem, draw: Draw) -> Problem:
    """The same problem with the parts of regressions at such coefficients; itself where there are none, or where no
    table says what they are, or numbers are so many that it takes long. What a number may be stays as it was published.

    The pool is the same for every run, so that a run that goes on has the same problem.
    """
    if alone(problem) or not applies(problem) or int(problem.known.sum()) > MANY:
        return problem
    codes = draw(min(problem.n_records, TUNING.pool[1]), np.random.default_rng(0))
    coarse = sorted(_coarse(problem, codes), key=lambda each: -each.ratio)[:MOST]
    if not coarse:
        return problem
    moved = np.zeros(len(coarse))
    found = _moved(problem, coarse, moved)
    missed = _missed(found, codes)
    for _ in range(ROUNDS):
        steps = np.diag([STEP / max(each.ratio, 1.0) for each in coarse] * np.where(moved > 0, -1.0, 1.0))
        tried = [_missed(_moved(problem, coarse, moved + step), codes) for step in steps]
        slopes = np.column_stack([(each - missed) / step.sum() for each, step in zip(tried, steps, strict=True)])
        if not np.isfinite(np.column_stack([slopes, missed])).all():
            break
        slopes, off = np.vstack([slopes, BACK * np.eye(len(coarse))]), np.concatenate([missed, BACK * moved])
        step = lsq_linear(slopes, -off, (-1.0 - moved, 1.0 - moved)).x
        other = _moved(problem, coarse, moved + step)
        left = _missed(other, codes)
        if not left @ left < 0.9 * (missed @ missed):
            break
        found, moved, missed = other, moved + step, left
    if missed @ missed < UNTOLD * len(missed):
        return found
    return _best_estimated(_moved(problem, coarse, np.zeros(len(coarse))), codes)


def _best_estimated(problem: Problem, codes: Codes) -> Problem:
    """The problem at the first estimates, if little is missed with them or no coefficient is printed in other units; or
    at those of which a pool that is calibrated misses least.
    """
    tried, numbers = list[tuple[float, Problem]](), int(problem.known.sum())
    for pull in (None, *PULLS):
        found, left = _estimated(problem, codes, pull)
        if pull in (None, 1.0) and left <= UNMET * numbers:
            return found
        if pull is None and not Pool.of(found, codes).in_other_units:
            return found
        _, _, left = Pool.of(found, codes).met()
        tried.append((left if np.isfinite(left) else np.inf, found))
        if left <= MET * numbers:
            break
    return min(tried, key=lambda each: each[0])[1]


def _estimated(problem: Problem, codes: Codes, pull: float | None) -> tuple[Problem, float]:
    """The problem at coefficients as a pool has them that meets all numbers as near as it goes, in turn; and the sum of
    squares of what that misses.
    """
    left = np.inf
    for _ in range(AGAIN):
        coefficients, left = Pool.of(problem, codes, pull).estimates()
        problem = with_coefficients(problem, coefficients)
    return problem, left


def _coarse(problem: Problem, codes: Codes) -> Iterator[_Coarse]:
    """The coefficients that are coarse."""
    for number, (part, _, which, _) in enumerate(problem.slices):
        if not isinstance(part, ModelPart) or part.at is None:
            continue
        low, high, tolerance = problem.low[which], problem.high[which], problem.tolerance[which]
        says, seen = part.map.says(low - tolerance, high + tolerance), records_of_model(part.model, codes)
        if says is None:
            continue
        errors = np.sqrt(np.maximum(np.diag(_covariance(seen, problem)), 0.0))
        for at, (least, most) in enumerate(says.coefficients):
            a_range = np.isfinite(low[at]) and low[at] != high[at]
            if a_range or not (np.isfinite(most) and least < most and errors[at] > 0):
                continue
            least = max(least, most - WIDEST)
            middle, half = (least + most) / 2.0, (most - least) / 2.0
            if half > COARSE * errors[at]:
                yield _Coarse(number, at, middle, half, half / errors[at])


def _covariance(seen: ModelRecords, problem: Problem) -> Array:
    """That of the coefficients (K, K), of records that stand for all."""
    return invert(seen.information(seen.weight * (problem.n_records / len(seen.weight))))


def _moved(problem: Problem, coarse: list[_Coarse], moved: Array) -> Problem:
    """The problem with the parts of its regressions at coefficients moved so many half ranges from their middles."""
    found = dict[int, Array]()
    for each, by in zip(coarse, moved, strict=True):
        part = problem.parts[each.part]
        assert isinstance(part, ModelPart)
        found.setdefault(each.part, part.model.parameters)[each.at] = each.middle + by * each.half
    return with_coefficients(problem, found)


def with_coefficients(problem: Problem, coefficients: Mapping[int, Array]) -> Problem:
    """The problem with some of its parts, by position, at other coefficients (K,)."""
    found = dict[int, ModelPart]()
    for number, b in coefficients.items():
        part = problem.parts[number]
        assert isinstance(part, ModelPart) and part.at is not None
        found[number] = part.at(b)
    return _with(problem, found)


def _with(problem: Problem, parts: Mapping[int, ModelPart]) -> Problem:
    """The problem with other parts in the place of some, by position."""
    released, number = list[Released](), 0
    for each in problem.released:
        found = tuple(parts.get(at, part) for at, part in enumerate(each.parts, number))
        number += len(found)
        released.append(replace(each, parts=found))
    return replace(problem, released=tuple(released))


def _missed(problem: Problem, codes: Codes) -> Array:
    """What the weights of a pool miss of scores and tables, in what closing in begins with."""
    return Pool.of(problem, codes).missed_of_linear()


def told_again(problem: Problem, codes: Codes) -> dict[int, Array]:
    """Coefficients (K,) of parts, by position, some of which were not published and nothing is said of: these where
    they are most likely in records (n, variables), given all others as they are.
    """
    return {number: most_likely(part, places, codes).model.parameters for number, part, places in _untold(problem)}


def has_untold(problem: Problem) -> bool:
    """Whether there are coefficients that were not published and nothing is said of."""
    return any(True for _ in _untold(problem))


def _untold(problem: Problem) -> Iterator[tuple[int, ModelPart, NDArray[np.intp]]]:
    """The parts that have some, by position, and which."""
    for number, (part, _, which, _) in enumerate(problem.slices):
        if isinstance(part, ModelPart):
            _, places = begun(part, problem.low[which], problem.high[which])
            if len(places):
                yield number, part, places


def _told(problem: Problem, drawing: Callable[[Problem], Draw]) -> Problem:
    said = {
        number: (part, problem.low[which], problem.high[which])
        for number, (part, _, which, _) in enumerate(problem.slices)
        if isinstance(part, ModelPart)
    }
    first = {number: begun(*each)[0] for number, each in said.items()}
    first = {number: part for number, part in first.items() if part is not said[number][0]}
    if not first:
        return problem
    codes = drawing(_with(problem, first))(min(problem.n_records, TUNING.pool[1]), np.random.default_rng(0))
    return _with(problem, {number: told_by(*said[number], codes) for number in first})
