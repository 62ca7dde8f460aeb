"""Values of variables that have many, as wages, of many records moved all at once (Levenberg and Marquardt).

A coefficient of variation, a Gini coefficient and a skewness of the same wages are each met soon by a few records that
change places or values, but hardly ever all of them: a change that suits one spoils the others. How all numbers change
with the value of each record is known, and values of a variable with many may as well be continuous: so small changes
of some records are sought, drawn anew each time, that add up to what all numbers miss, the least ones by their sum of
squares, in what records near by in rank differ by. Steps are damped as far as numbers bend (Levenberg 1944, Marquardt
1963), and rounded to the values that there are. Counts stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.around import Equations, equations_at
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.linear_map import Linear
from outrisk.evolve.order_statistics import within_quantiles
from outrisk.evolve.problem import Problem
from outrisk.evolve.swaps import Edits, changes_by, leaving
from outrisk.evolve.tuning import TUNING
from outrisk.problem.blocks import Array, breaks_rule, variables
from outrisk.problem.counts import made_of_counts
from outrisk.problem.refit import NEAR
from outrisk.problem.released import ModelPart, TallyPart

MANY = 100  # values from which on those of a variable are moved
STEPS, IN_VAIN = 15, 4  # of a round, at most; those with little gain, or none, that end it
WORTH, MOST = 0.98, 1e3  # of what is missed: a fall to less is a gain; of what each number misses, at most
RECORDS, EACH = (60, 5_000), 2.0  # moved in a step: least and most; for each number, at least
DAMPED, LESS, MORE = 1e-3, 0.2, 8.0  # of the mean square of slopes; times that after a gain, and after none
WITHIN = 0.5  # of half a digit, and of what makes it near: what a number is measured in
APART = 20  # of so many records in a row by rank, one way and the other, are the differences that steps are measured in


@dataclass(frozen=True, eq=False)
class _Step:
    """What a step may change: records (s,) and the variable of each, how far it may go, and what that changes each of
    some numbers by, (s, r), which they miss by `missing` (r,), in what they may miss.
    """

    record: NDArray[np.int64]
    variable: NDArray[np.int64]
    reach: Array
    rows: Array
    missing: Array

    def changes(self, damped: float, scattered: Array) -> NDArray[np.int64]:
        """By how many values each record is to move (s,), nearest to being `scattered` (s,), in how far each may."""
        squares = self.rows.T @ self.rows
        damping = max(damped * float(np.trace(squares)) / len(squares), 1e-9)
        missing = self.missing - scattered @ self.rows
        shares = scattered + self.rows @ np.linalg.solve(squares + damping * np.eye(len(squares)), missing)
        return np.rint(np.clip(shares, -1.0, 1.0) * self.reach).astype(np.int64)


def amounts_of(problem: Problem) -> NDArray[np.int64]:
    """The variables with many values of which there is more than sums and regressions: where these are closed in on by
    the size of changes, amounts that are fitted first keep everything else as it happens to be.
    """
    models = [part.model for part in problem.parts if isinstance(part, ModelPart) and part.model.family == "none"]
    found, plan = {j for model in models for j in variables(model)}, problem.plan
    return np.asarray([j for j in sorted(found) if plan.numeric[j] and plan.sizes[j] >= MANY], np.int64)


def moved(
    at: Candidate, linear: Linear, around: Callable[[Candidate], Linear], errors: Array, rng: np.random.Generator
) -> tuple[Candidate, Linear] | None:
    """The data set, and the linear map `around` it, once values have been moved; None where that brings numbers, which
    have sampling errors (total k,), no nearer. Of few people, half of the time, values are first scattered, along what
    changes no number: of two who earn the same no small change says how a standard deviation would grow; and quantiles
    are not held, as their median would be, but no less is missed where they go.
    """
    problem, amounts, begun, damped, idle = linear.problem, amounts_of(linear.problem), at, DAMPED, 0
    if not len(amounts):
        return None
    unit = _may_miss(problem, errors)
    missed = before = _missed(linear, at, unit)
    few = len(at.codes) <= TUNING.anew
    held, scatters = not few or rng.random() < 0.5, few and rng.random() < 0.5
    equations = equations_at(linear, at, errors, True)
    for _ in range(STEPS):
        step = _drawn(at.codes, equations, amounts, rng)
        if step is None or idle == IN_VAIN:
            break
        new, scattered = deepcopy(at), scatters * rng.uniform() * rng.normal(size=len(step.record))
        _make(new.codes, step, step.changes(damped, scattered), equations, held)
        new.changed_from(at, problem)
        less = _missed(linear, new, unit)
        idle = 0 if less < WORTH * missed else idle + 1
        damped *= LESS if less < missed else MORE
        if less < missed or scatters:
            at, linear, missed, scatters = new, around(new), less, False
            equations = equations_at(linear, at, errors, True)
    return (at, linear) if at is not begun and missed < before else None


def _may_miss(problem: Problem, errors: Array) -> Array:
    """What each number (total k,) may miss; of counts, which stay as they are, anything."""
    unit = WITHIN * np.maximum(problem.tolerance, NEAR * errors)
    for part, _, which, _ in problem.slices:
        if isinstance(part, TallyPart) and made_of_counts(part):
            unit[which] = np.inf
    return unit


def _missed(linear: Linear, at: Candidate, unit: Array) -> float:
    """The sum of squares of what numbers miss, in what they may (total k,), each up to a limit."""
    off = np.nan_to_num(np.abs(linear.distances(at.totals)) / unit, nan=0.0, posinf=MOST)
    return float(np.square(np.minimum(off, MOST)).sum())


def _drawn(codes: Codes, equations: Equations, amounts: NDArray[np.int64], rng: np.random.Generator) -> _Step | None:
    """A step of some records, drawn at random, more or fewer; None where none of them moves a number that is off."""
    n, counts = len(codes), np.zeros(len(equations.missing), np.bool_)
    counts[len(counts) - len(equations.totals) :] = equations.counts[equations.totals]
    unit = WITHIN * np.maximum(equations.half, NEAR * equations.error)
    least, most = (min(n, max(each, round(EACH * len(unit)))) for each in RECORDS)
    record = np.sort(rng.permutation(n)[: round(np.exp(rng.uniform(np.log(least), np.log(most))))])
    reach = np.concatenate([_apart(codes[:, j])[record] for j in amounts])
    rows = np.vstack([_slopes(codes, equations, record, int(j)) for j in amounts]) * reach[:, None] / unit
    moves = (rows**2).sum(axis=0) > 0.0
    moves &= ~counts
    if not equations.off[moves].any():
        return None
    variable = np.repeat(amounts, len(record))
    return _Step(np.tile(record, len(amounts)), variable, reach, rows[:, moves], (equations.missing / unit)[moves])


def _slopes(codes: Codes, equations: Equations, record: NDArray[np.int64], j: int) -> Array:
    """What numbers change by (s, q) when records take the next value of a variable."""
    after = codes[record]
    by = np.where(after[:, j] + 1 < equations.problem.codebook.sizes[j], 1, -1)
    after[:, j] = after[:, j].astype(np.int64) + by
    return changes_by(equations, codes, Edits.of_one(record, after)) / by[:, None]


def _apart(values: NDArray[np.integer]) -> Array:
    """How far each value (n,) is from those of records near by in rank, at least 1."""
    order, n = np.argsort(values, kind="stable"), len(values)
    ranked, wide = values[order].astype(np.float64), max(1, n // APART)
    place, apart = np.arange(n), np.empty(n)
    apart[order] = ranked[np.minimum(place + wide, n - 1)] - ranked[np.maximum(place - wide, 0)]
    return np.maximum(apart, 1.0)


def _make(codes: Codes, step: _Step, by: NDArray[np.int64], equations: Equations, held: bool) -> None:
    """Move values, in place, but those that would change a count or break a rule; as far as quantiles stay, if these
    are `held`.
    """
    problem = equations.problem
    for j in np.unique(step.variable):
        mine = step.variable == j
        record, after = step.record[mine], codes[step.record[mine]]
        within = within_quantiles(problem, codes, int(j)) if held else None
        ends = (0, problem.codebook.sizes[j] - 1) if within is None else (each[record] for each in within)
        after[:, j] = np.clip(after[:, j] + by[mine], *ends)
        fine = after[:, j] != codes[record, j]
        fine &= ~breaks_rule(problem.rules, after)
        edits = leaving(problem, codes, Edits.of_one(record[fine], after[fine]), equations.counts)
        codes[edits.record] = edits.after
