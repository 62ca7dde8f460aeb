"""Sums of values and of their squares that tests leave, beside means and standard deviations of the same groups.

A mean and a standard deviation printed to a digit or two leave some sums and squares of whole numbers for each group,
and the p of a test to three digits few of all their combinations. A search that changes a record or two at a time
stands still between them: what puts the test right puts a mean out. So they are tried, and one that has all is aimed
at. Where no standard deviation is printed, as beside R's t test, the test itself says near which squares it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import least_squares

from outrisk.evolve.agreeing_sums import EXACT
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.number_errors import FAR
from outrisk.evolve.problem import Problem
from outrisk.evolve.values_with_sums import Values
from outrisk.problem.blocks import Array, Model, joint_over, level_in
from outrisk.problem.released import ROUNDING, ModelPart

_SUMS = 41  # of a group that are tried, those nearest to the present one; and squares for each
_DRAWN, _CHANGED = 100_000, (4, 8, 16)  # changes of a group, where values lie unevenly; of so many records
_COMBINATIONS = 3_000  # of sums and squares of all groups that are tried
_LEAST = 1e-9  # of half a digit
_FAR = 3.0  # how far squares are looked for, as a logarithm
_TILTS = 0.0, 0.5, -0.5  # that they are looked for from, as logarithms
_WITHIN = 25.0  # of squares that a test tells of, by how much they may be others


@dataclass(frozen=True, eq=False)
class _Test:
    """A test of a variable: its part, its totals (m,) at present; of each of its groups the cell of the tables that it
    is, the records there, and what its totals gain by one more in the sum of values, and in that of squares (2, m).
    """

    part: ModelPart
    totals: Array
    ends: Array  # (k, 2), of its numbers
    cells: list[int]
    people: list[NDArray[np.int64]]
    gains: list[Array]

    def fits(self, totals: Array) -> bool:
        """Whether its numbers are as printed, at these totals."""
        numbers = self.part.map.numbers(totals, np.zeros((0, 0)))
        return bool(((numbers >= self.ends[:, 0]) & (numbers <= self.ends[:, 1])).all())


def is_tested(problem: Problem, j: int) -> bool:
    """Whether there is a test, or the like, of a variable."""
    return any(isinstance(part, ModelPart) and _rows_of(part.model, j) is not None for part in problem.parts)


def as_tested(
    problem: Problem,
    codes: Codes,
    j: int,
    levels: Values,
    told: tuple[sparse.csr_matrix, Array, Array],
    rng: np.random.Generator,
) -> tuple[Array, Array] | None:
    """Where the sums of a variable's values lie in each cell, and the squares about their mean (cells, 2), with what
    tests leave of it: in groups of a test one combination that it has as printed, or else about where its squares lie.
    None where tests are as printed, or nothing is found. `levels` of the values, as whole numbers; told: the cells
    (cells, n), and both.
    """
    cells, sums, squares = told
    changed = False
    own = levels[codes[:, j]].astype(np.float64)
    for test in _tests(problem, codes, j, levels, cells):
        if test.fits(test.totals):
            continue
        now = np.array([[own[people].sum(), own[people] @ own[people]] for people in test.people])
        for tilt in _TILTS if np.isinf(squares[test.cells]).any() else (0.0,):
            about = _about(test, now, sums[test.cells], squares[test.cells], tilt)
            choices = [
                _choices(own[people], levels, ends, these, rng)
                for people, ends, these in zip(test.people, sums[test.cells], about, strict=True)
            ]
            chosen = _one_that_fits(test, choices, now, rng) if all(map(len, choices)) else None
            if chosen is not None:
                break
        sums, squares, before = sums.copy(), squares.copy(), squares
        if chosen is None:
            squares[test.cells] = about
        else:
            sums[test.cells] = chosen[:, :1]
            squares[test.cells] = (chosen[:, 1] - chosen[:, 0] ** 2 / [len(each) for each in test.people])[:, None]
        changed |= chosen is not None or not np.array_equal(before, squares)
    return (sums, squares) if changed else None


def _one_that_fits(test: _Test, choices: list[Array], now: Array, rng: np.random.Generator) -> Array | None:
    """A sum and a sum of squares of each group (groups, 2) with which a test is as printed; None if none is found."""
    sizes, gains = [len(each) for each in choices], np.array(test.gains)
    some = min(_COMBINATIONS, int(np.prod(sizes, dtype=np.float64)))
    picks = np.stack([rng.integers(size, size=some) for size in sizes], axis=1)
    if len(choices) <= 2 and np.prod(sizes) <= _COMBINATIONS:
        picks = rng.permutation(np.stack(np.unravel_index(np.arange(some), sizes), axis=1))
    for pick in picks:
        to = np.array([each[at] for each, at in zip(choices, pick, strict=True)])
        if test.fits(test.totals + np.einsum("gs,gsm->m", to - now, gains)):
            return to
    return None


def _about(test: _Test, now: Array, sums: Array, about: Array, tilt: float) -> Array:
    """Where the squares about the mean lie in each group (groups, 2); where they are not told and sums are, near those
    with which the test is as printed, by least squares from the present ones, the groups tilted against each other: the
    same degrees of freedom may have two solutions.
    """
    open_ = np.isinf(about).any(axis=1)
    if not open_.any() or not np.isfinite(sums).all() or not np.isfinite(test.ends).all():
        return about
    gains, people = np.array(test.gains), np.array([len(each) for each in test.people])
    totals, middle = np.clip(now[:, 0], *np.sort(sums, axis=1).T), about.copy()
    middle[open_] = (now[:, 1] - now[:, 0] ** 2 / people)[open_, None]
    start, half = middle.mean(axis=1), np.maximum(np.diff(test.ends, axis=1)[:, 0] / 2.0, _LEAST)

    def off(log: Array) -> Array:
        within = np.where(open_, start * np.exp(log), start)
        to = np.stack([totals, within + totals**2 / people], axis=1)
        numbers = test.part.map.numbers(test.totals + np.einsum("gs,gsm->m", to - now, gains), np.zeros((0, 0)))
        far = np.nan_to_num((numbers - test.ends.mean(axis=1)) / half, nan=FAR)
        return np.asarray(np.clip(far, -FAR, FAR))

    first = tilt * np.where(np.arange(len(start)) % 2, -1.0, 1.0)
    found = least_squares(off, first, bounds=(-_FAR, _FAR))
    near = start * np.exp(found.x)
    return np.asarray(np.where(np.isinf(about), near[:, None] + _WITHIN * np.array([-1.0, 1.0]), about))


def _choices(own: Array, levels: Values, ends: Array, about: Array, rng: np.random.Generator) -> Array:
    """Sums and sums of squares (any, 2) that a group of values may have; none where they are not told on both sides.
    Where values lie evenly those about the present ones, both odd or both even; else what a few records with other
    values have.
    """
    if not np.isfinite([*ends, *about]).all():
        return np.zeros((0, 2))
    n, now, found = len(own), np.array([own.sum(), own @ own]), [np.zeros((0, 2))]
    if (np.diff(levels) == 1).all():
        for more in _steps(1, *(ends - now[0])):
            squares = _steps(2, *(np.maximum(about, 0.0) + (now[0] + more) ** 2 / n - now[1] - more))
            found.append(now + np.stack([np.full(len(squares), more), squares + more], axis=1))
        return np.vstack(found)
    for changed in _CHANGED:
        before, after = (rng.choice(some, (_DRAWN, changed)).astype(np.float64) for some in (own, levels))
        to = now + np.stack([(after - before).sum(axis=1), (after**2 - before**2).sum(axis=1)], axis=1)
        squares = to[:, 1] - to[:, 0] ** 2 / n
        fine = (to[:, 0] >= ends[0] - EXACT) & (to[:, 0] <= ends[1] + EXACT)
        found.append(to[fine & (squares >= about[0] - EXACT) & (squares <= about[1] + EXACT)])
    return np.unique(np.vstack(found), axis=0)


def _steps(step: int, least: float, most: float) -> Array:
    """Multiples of a step from the least to the most, those about 0."""
    first, last = math.ceil((least - EXACT) / step), math.floor((most + EXACT) / step)
    middle = min(max(0, first), last)
    return step * np.arange(max(first, middle - _SUMS // 2), min(last, middle + _SUMS // 2) + 1).astype(np.float64)


def _tests(problem: Problem, codes: Codes, j: int, levels: Values, cells: sparse.csr_matrix) -> Iterator[_Test]:
    """The tests of a variable whose groups are cells of tables that tell of its values."""
    size = np.asarray(cells.sum(axis=1)).ravel()
    for part, _, which, _ in problem.slices:
        rows = _rows_of(part.model, j) if isinstance(part, ModelPart) else None
        if not isinstance(part, ModelPart) or rows is None:
            continue
        added = _squared(rows, levels)
        if added is None:
            continue
        group, there = _groups(part.model, j, codes, problem.codebook.sizes)
        found = list[tuple[int, NDArray[np.int64], Array]]()
        for each in np.flatnonzero(added.any(axis=(1, 2))):
            mine = there & (group == each)
            people, among = np.flatnonzero(mine), cells @ mine.astype(np.float64)
            same = np.flatnonzero((among == len(people)) & (size == len(people)))
            if len(people) and not len(same):
                break
            if len(people):
                found.append((int(same[0]), people, added[each, 1:]))
        else:
            half = problem.tolerance[which] * ROUNDING
            ends = np.stack([problem.low[which] - half, problem.high[which] + half], axis=1)
            totals = rows[group[there], codes[there, j]].sum(axis=0)
            if found:
                yield _Test(part, totals, ends, *(list(each) for each in zip(*found, strict=True)))


def _rows_of(model: Model, j: int) -> Array | None:
    """What a record adds to the totals of a model of nothing but these, by the level of its other variables and the
    value of this one (others, values, m); None of another model.
    """
    if model.family != "none" or len(model.extra) != 1 or model.weight is not None or model.clusters is not None:
        return None
    (term,) = model.extra
    if j not in term.joint.variables or any(j in mask.joint.variables for mask in model.masks):
        return None
    sizes = np.array([term.joint.size, *term.joint.strides])
    supports = sizes[:-1] // sizes[1:]
    at = term.joint.variables.index(j)
    rows = np.moveaxis(term.rows.reshape(*supports, -1), at, -2)
    return np.asarray(rows.reshape(-1, supports[at], term.rows.shape[1]))


def _groups(model: Model, j: int, codes: Codes, sizes: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The level of each record (n,) in the other variables of a model, and whether it counts in it."""
    (term,) = model.extra
    group = level_in(joint_over([each for each in term.joint.variables if each != j], sizes), codes)
    there = np.ones(len(codes), np.bool_)
    for mask in model.masks:
        there &= mask.include[level_in(mask.joint, codes)]
    return group, there


def _squared(rows: Array, levels: Values) -> Array | None:
    """What a value t adds (others, values, m) as a + b t + c t^2: a, b and c (others, 3, m); None where it is not."""
    if len(levels) < 3:
        return None
    t = np.vander(levels.astype(np.float64), 3, increasing=True)
    some = np.array([0, len(levels) // 2, len(levels) - 1])
    found = np.linalg.solve(t[some], rows[:, some])
    off = np.abs(t @ found - rows).max(initial=0.0)
    return found if off <= EXACT * max(1.0, np.abs(rows).max(initial=0.0)) else None
