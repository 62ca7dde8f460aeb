"""Published means, sums and standard deviations of a start, exactly: values of records that add up to them.

A mean printed to six digits tells the sum of its records' values, and a standard deviation that of their squares, to
the last unit. A search that changes a record or two at a time comes near, and stands still where tables are crossed: a
change that puts a cell of one right puts one of another out. But once it is settled who is in which cell, both sums are
linear in what each class of records adds to them, a class being those that all tables count alike; and whole numbers
that agree in all tables are found as those behind shares are (agreeing_shares.py): of sums, then of squares, which are
both odd or both even. Then values of each class are changed to have both (values_with_sums.py). Where values lie evenly
but for one (17.5 beside 22, 27, 32, ...), how many records have that one is settled before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.codebook import Codebook
from outrisk.evolve.agreeing_sums import EXACT, Changes, agreeing
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.order_statistics import within_quantiles
from outrisk.evolve.problem import LARGE, Problem
from outrisk.evolve.tested_moments import as_tested, is_tested
from outrisk.evolve.values_with_sums import FEW, Values, with_sums
from outrisk.evolve.whole_numbers import UNKNOWNS
from outrisk.problem.blocks import Array, Tally, breaks_rule
from outrisk.problem.influence import records_of_tally
from outrisk.problem.refit import NEAR
from outrisk.problem.released import ROUNDING, TallyPart

_LARGE = 3, 0, 1, 0  # classes of so many, at most, of a cell that is small; at each attempt
_FEW = 2  # attempts where people are many
_LOOSE = 4  # records from which on the squares of a class may be chosen
_AGAIN, _HOPELESS = 4, 15  # times that classes of which no values have such sums stay, and others are changed; of so
# many, at most
_OTHERS, _CHOICES = 400, 12  # sums beside the present one that are looked at, and that are left to choose from
_ALIKE = 10.0  # records of all classes that the variance of one is reckoned from too
_CHANCE = 0.7, 1.4  # by which the standard deviation of a sum over a class is multiplied, at random
_TURNS = 3  # of aiming at what tests leave, each nearer to it
_ROOM = 2  # sums that a mean has to have to be near the middle of its limits
_FURTHER = 0.3, 3.0  # standard deviations of a sum of squares that a class is off by, where it cannot be met


class _Even(NamedTuple):
    """Values first, first + step, and so on; and one that lies beside them, or None."""

    first: int
    step: int
    values: Values
    odd: int | None


@dataclass(frozen=True, eq=False)
class _Told:
    """What tables say of the values of a variable: which records are in each cell of all of them (cells, n); and where
    in each cell the sum of values lies (cells, 2), and the sum of squares about their mean (cells, 2).
    """

    cells: sparse.csr_matrix
    sums: Array
    squares: Array

    def missed(self, own: Values) -> int:
        """How many sums, and sums of squares, of values (n,) lie elsewhere."""
        n, sums = np.maximum(self.cells @ np.ones(len(own)), 1.0), self.cells @ own.astype(np.float64)
        squares = self.cells @ own.astype(np.float64) ** 2 - sums**2 / n
        each = np.stack([sums, squares]), np.stack([self.sums, self.squares])
        return int(((each[0] < each[1][..., 0] - EXACT) | (each[0] > each[1][..., 1] + EXACT)).sum())

    def classes(self, least: Values, most: Values) -> NDArray[np.int64]:
        """The class of each record (n,): those in the same cells are in one, that may have the same values (n,)."""
        key = self.cells.T @ np.random.default_rng(0).random(self.cells.shape[0])
        key = np.unique(key, return_inverse=True)[1]
        return np.asarray(np.unique(np.stack([key, least, most]), axis=1, return_inverse=True)[1]).ravel()


@dataclass(frozen=True, eq=False)
class _Among:
    """The same of values that lie evenly, first + step t, beside those of records that stay: which classes are in each
    cell (cells, classes); where the sum of t lies (cells, 2); the squares of values about their mean (cells, 2), how
    many records there are (cells,), and the sum and the squares of all values where each t is 0 (2, cells).
    """

    rows: sparse.csr_matrix
    sums: Array
    about: Array
    people: Array
    beside: Array
    even: _Even

    @classmethod
    def of(cls, told: _Told, own: Values, free: NDArray[np.bool_], of: NDArray[np.int64], even: _Even) -> _Among:
        """With records (n,) in classes, of values that they are free to change, or not."""
        there = sparse.csr_matrix((np.ones(int(free.sum())), (np.flatnonzero(free), of[free])), (len(of), of.max() + 1))
        rows = sparse.csr_matrix(told.cells @ there > 0.0, dtype=np.float64)
        values = np.where(free, even.first, own).astype(np.float64)
        beside = np.stack([told.cells @ values, told.cells @ values**2])
        people = np.maximum(told.cells @ np.ones(len(own)), 1.0)
        return cls(rows, (told.sums - beside[0][:, None]) / even.step, told.squares, people, beside, even)

    def squares(self, totals: Array) -> Array:
        """Where the sum of squares of t lies in each cell, for sums of t (cells,), (cells, 2)."""
        first, step = self.even.first, self.even.step
        sums = self.beside[0] + step * totals
        rest = sums**2 / self.people - self.beside[1] - 2.0 * first * step * totals
        return np.asarray((self.about + rest[:, None]) / step**2)

    def can_be(self, cell: int, totals: Array, more: Array | None = None) -> NDArray[np.bool_]:
        """Which sums of t in a cell go with squares that there can be: both odd or both even; with the sum and the
        squares of values beside being so many more, (2, any).
        """
        first, step = self.even.first, self.even.step
        sums, squares = self.beside[:, cell, None] + (0.0 if more is None else more)
        rest = (sums + step * totals) ** 2 / self.people[cell] - squares - 2.0 * first * step * totals
        least = np.ceil((self.about[cell, 0] + rest) / step**2 - EXACT)
        least += np.where(np.isfinite(least), least - totals, 0.0) % 2.0
        return np.asarray(least <= (self.about[cell, 1] + rest) / step**2 + EXACT)


def with_moments(problem: Problem, codes: Codes, rng: np.random.Generator) -> None:
    """Give records values that have the published means, sums and standard deviations, in place, where it can be: of
    variables of which tables tell no more than quantiles besides, which stay as they are.
    """
    for j in _summed(problem):
        grid, within = _grid(problem, j), within_quantiles(problem, codes, j)
        told = None if grid is None or within is None else _told(problem, codes, j, *grid[1:])
        if grid is None or within is None or told is None:
            continue
        levels, even = grid[0], _even(grid[0], bool(np.isfinite(told.squares).any()))
        bounds = levels[within[0]], levels[within[1]]
        if even is None and len(levels) > FEW:
            continue
        if even is not None and even.odd is not None and (bounds[1] - bounds[0] < levels[-1]).any():
            continue
        new = codes.copy()
        new[:, j] = np.searchsorted(levels, _with_moments(levels[codes[:, j]], levels, bounds, even, told, rng))
        for _ in range(_TURNS):
            tested = as_tested(problem, new, j, levels, (told.cells, told.sums, told.squares), rng)
            if tested is None:
                break
            aimed = replace(told, sums=tested[0], squares=tested[1])
            new[:, j] = np.searchsorted(levels, _with_moments(levels[new[:, j]], levels, bounds, even, aimed, rng))
        if not (breaks_rule(problem.rules, new) & ~breaks_rule(problem.rules, codes)).any():
            codes[:, j] = new[:, j]


def are_fine(problem: Problem, codes: Codes) -> bool:
    """Whether most published sums of values of a variable are within 1 % of their sampling errors only where they are
    exact, for cells are small and values coarse; or tests of them leave few.
    """
    for j in _summed(problem):
        if is_tested(problem, j):
            return True
        grid = _grid(problem, j)
        told = None if grid is None else _told(problem, codes, j, *grid[1:])
        if grid is None or told is None or len(grid[0]) < 2:
            continue
        values, n = grid[0][codes[:, j]].astype(np.float64), np.maximum(told.cells @ np.ones(len(codes)), 1.0)
        near = NEAR * np.sqrt(np.maximum(told.cells @ values**2 - (told.cells @ values) ** 2 / n, 0.0))
        fine = (near < np.diff(grid[0]).min())[np.isfinite(told.sums).any(axis=1)]
        if 2 * fine.sum() > len(fine):
            return True
    return False


def _summed(problem: Problem) -> list[int]:
    """Variables of which sums of values were published, of all records or of some that they do not tell."""
    summed, others = set[int](), set[int]()
    for part in problem.parts:
        for block in part.blocks if isinstance(part, TallyPart) else ():
            others |= {j for mask in block.masks for j in mask.joint.variables}
            others |= {block.weight.variable} if block.weight else set()
            if block.value is not None:
                groups = set(part.blocks[0].place.variables)
                others |= groups
                (others if block.weight else summed).update(set(block.place.variables) - groups)
    plain = [each.kind != "categorical" and not each.missing for each in problem.codebook.variables]
    return sorted(j for j in summed - others if plain[j])


def _grid(problem: Problem, j: int) -> tuple[Values, float, float] | None:
    """The values of a variable as whole numbers from 0 on, where 0 is, and how large a unit is; None where they have
    too many decimals, or squares would add up to more than floating point tells apart.
    """
    values = np.array(problem.codebook.variables[j].values, np.float64)
    for decimals in range(round(-np.log10(EXACT)) + 1):
        whole = np.rint(values * 10**decimals)
        if np.abs(whole - values * 10**decimals).max() < EXACT:
            steps = (whole - whole[0]).astype(np.int64)
            unit = int(np.gcd.reduce(steps)) or 1
            if problem.n_records * float(steps[-1] // unit) ** 2 * np.finfo(np.float64).eps > 1.0:
                return None
            return steps // unit, float(values[0]), unit / 10**decimals
    return None


def _even(levels: Values, squares: bool) -> _Even | None:
    """How values lie; None where they lie otherwise, and sums of squares are asked for."""
    steps = np.diff(levels)
    if not squares or len(levels) < 3 or (steps == steps[0]).all():
        return _Even(0, 1, levels, None)
    for odd in (0, len(levels) - 1) if len(levels) <= FEW else ():
        others = np.delete(levels, odd)
        steps = np.diff(others)
        if (steps == steps[0]).all():
            return _Even(int(others[0]), int(steps[0]), np.arange(len(others)), int(levels[odd]))
    return None


def _told(problem: Problem, codes: Codes, j: int, origin: float, unit: float) -> _Told | None:
    """What tables say, in units from an origin on; None where one says it in another way."""
    values = np.array(problem.codebook.variables[j].values, np.float64)[codes[:, j]]
    found = list[tuple[sparse.csr_matrix, Array, Array]]()
    for part, _, which, _ in problem.slices:
        if isinstance(part, TallyPart) and any(_adds(block, j) for block in part.blocks):
            half = problem.tolerance[which] * ROUNDING
            ends = problem.low[which] - half, problem.high[which] + half
            one = _of_part(part, *ends, codes, j, values, problem.codebook)
            if one is None:
                return None
            found.append(one)
    cells, sums, squares = zip(*found, strict=True)
    n, total, about = sparse.vstack(cells, format="csr"), np.vstack(sums), np.vstack(squares)
    some = np.flatnonzero(np.isfinite(np.hstack([total, about])).any(axis=1))
    total -= (n @ np.full(len(codes), origin))[:, None]
    return _Told(n[some], total[some] / unit, about[some] / unit**2)


def _adds(block: Tally, j: int) -> bool:
    """Whether a tally adds up values of a variable."""
    return block.value is not None and j in block.place.variables


def _of_part(
    part: TallyPart, low: Array, high: Array, codes: Codes, j: int, values: Array, codebook: Codebook
) -> tuple[sparse.csr_matrix, Array, Array] | None:
    """The cells, sums and squares of one table of numbers from low to high (k,)."""
    starts = np.cumsum([0, *(block.size for block in part.blocks)])
    seen = [records_of_tally(block, codes) for block in part.blocks]
    of_values = [_adds(block, j) for block in part.blocks]
    first, adding = seen[of_values.index(True)], part.blocks[of_values.index(True)]
    assert adding.value is not None
    axis, sizes = adding.place.variables.index(j), [codebook.sizes[v] for v in adding.place.variables]
    steps = np.diff(np.moveaxis(adding.value.reshape(sizes), axis, -1), axis=-1)
    if np.abs(steps - np.diff(np.array(codebook.variables[j].values, np.float64))).max(initial=0.0) > EXACT:
        return None  # as values above a top code are alike
    there = np.flatnonzero(first.cell >= 0)
    cells = sparse.csr_matrix((np.ones(len(there)), (first.cell[there], there)), shape=(first.size, len(codes)))
    n, own = cells @ np.ones(len(codes)), cells @ values
    sums, squares = (np.tile([-np.inf, np.inf], (first.size, 1)) for _ in range(2))
    limits: dict[int, list[Array]] = {}
    totals = [each.totals(np.ones(len(codes))) for each in seen]
    for formula, ends in zip(part.formulas, np.stack([low, high], axis=1), strict=True):
        block = int(np.searchsorted(starts, formula.totals[-1], side="right")) - 1
        of = int(formula.totals[-1] - starts[block])
        if not of_values[block] or np.isinf(ends).all():
            continue
        if formula.kind == "deviation" or (formula.kind == "error" and not len(formula.base)):
            of_one = ends if formula.kind == "deviation" else ends / formula.times(max(n[of], 1.0))
            squares[of] = _both(squares[of], max(n[of] - 1.0, 0.0) * np.maximum(of_one, 0.0) ** 2)
            continue
        if formula.kind == "error":  # limits of a mean, the lower one first
            limits.setdefault(of, []).extend(
                [ends] if formula.scale < 0.0 else [ends, np.array([formula.times(n[of])])]
            )
            continue
        if formula.kind not in ("total", "ratio") or formula.scale != 1.0:
            return None
        is_mean = formula.kind == "ratio"
        if is_mean and part.blocks[int(np.searchsorted(starts, formula.base[0], side="right")) - 1].value is not None:
            return None  # a rate per a sum
        now = totals[block][of] + (n[of] * formula.shift if is_mean else 0.0)
        if abs(now - own[of]) > EXACT * max(1.0, abs(own[of])):
            return None
        if is_mean:
            ends = n[of] * ends if n[of] else np.array([-np.inf, np.inf])
        sums[of] = _both(sums[of], ends)
    least, step = float(values.min()), float(np.diff(np.unique(values)).min(initial=np.inf))
    for of, (lower, upper, unit) in ((of, each) for of, each in limits.items() if len(each) == 3 and n[of] > 1.0):
        sums[of], squares[of] = _limited(sums[of], squares[of], lower, upper, float(unit[0]), n[of], (least, step))
    return cells, sums, squares


def _both(one: Array, other: Array) -> Array:
    """What lies within two ranges, or the middle between them."""
    least, most = max(one[0], other[0]), min(one[1], other[1])
    return np.array([least, most] if least <= most else [(least + most) / 2.0] * 2)


def _limited(
    sums: Array, squares: Array, lower: Array, upper: Array, unit: float, n: float, grid: tuple[float, float]
) -> tuple[Array, Array]:
    """Ranges (2,) of the sum of n values on a grid of an origin and a step, and of their squares about the mean, that
    have both limits, each (2,), which lie `unit` standard deviations from the mean: the nearer one of the two is to the
    middle, the more is left to the other. Where few sums are left it is the one nearest to the middle.
    """
    half, apart, degrees = float(upper[1] - upper[0]) / 2.0, float(upper.mean() - lower.mean()) / 2.0, n - 1.0
    told = _both(unit * np.sqrt(np.maximum(squares, 0.0) / degrees), np.array([max(apart - half, 0.0), apart + half]))
    start = float(np.clip(apart, *told))
    room = max(half - abs(start - apart), 0.0) / 2.0
    chosen = np.clip([start - room, start + room], *told)
    left = half - float(np.abs(chosen - apart).max())
    middle = float(upper.mean() + lower.mean()) / 2.0
    near = _both(sums, n * np.array([middle - left, middle + left]))
    if near[1] - near[0] < _ROOM * grid[1]:
        near = _both(sums, n * np.array([middle - half, middle + half]))
        steps = (np.clip(n * middle, *near) - n * grid[0]) / grid[1]
        sum_ = n * grid[0] + grid[1] * round(steps)
        left, chosen = half - abs(sum_ / n - middle), told
        if near[0] <= sum_ <= near[1] and told[0] <= apart + left and told[1] >= apart - left:
            near, chosen = np.array([sum_, sum_]), np.clip([apart - left, apart + left], *told)
    return near, degrees * (chosen / unit) ** 2


def _with_moments(
    own: Values,
    levels: Values,
    bounds: tuple[Values, Values],
    even: _Even | None,
    told: _Told,
    rng: np.random.Generator,
) -> Values:
    """Values (n,) out of `levels` near to those that records have, of which all that is told holds where it can be; for
    each within its bounds (n,).
    """
    of = told.classes(*bounds)
    best, least = own, told.missed(own)
    attempts = 0 if of.max() >= UNKNOWNS else len(_LARGE) if len(own) <= LARGE else _FEW
    for large in _LARGE[:attempts]:
        if not least:
            break
        found = _attempt(own.copy(), levels, bounds, even, told, of, large, rng)
        missed = told.missed(found)
        if missed >= least and large == _LARGE[1]:  # nor would others do
            break
        if missed < least:
            best, least = found, missed
    return best


def _attempt(
    own: Values,
    levels: Values,
    bounds: tuple[Values, Values],
    even: _Even | None,
    told: _Told,
    of: NDArray[np.int64],
    large: int,
    rng: np.random.Generator,
) -> Values:
    """The same, of which it is not known how much holds; of cells with so many large classes, at most, first, and of
    values that do not lie evenly of these alone.
    """
    people = told.cells.T @ np.ones(told.cells.shape[0]) > 0.0
    held = bounds[1] - bounds[0] < levels[-1]
    free = people & ~_with_small(own, levels, told, held | ~people, of, large, rng)
    free &= bounds[0] < bounds[1]
    if even is None:
        return own
    if even.odd is not None:
        _with_odd(own, even, told, free, of, rng)
        free &= own != even.odd
    firm = np.bincount(of, free) == 0
    for _ in range(_AGAIN):
        failed = _changed(own, even, bounds, told, free, of, firm, rng)
        if not 0 < failed.sum() <= _HOPELESS:
            break
        firm |= failed
    return own


def _with_small(
    own: Values,
    levels: Values,
    told: _Told,
    held: NDArray[np.bool_],
    of: NDArray[np.int64],
    large: int,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Change the values of cells with so many large classes at most, in place, the smallest cells first: few sums over
    classes would do there, if any. Returns which records (n,) have values that are to stay, beside those held.
    """
    stay, size, failed = held.copy(), np.bincount(of), 0
    for cell in np.argsort(told.cells @ np.ones(len(own)), kind="stable"):
        every = told.cells[cell].indices
        there = every[~stay[every]]
        if not len(there) or (size[np.unique(of[every])] >= _LOOSE).sum() > large or failed > _HOPELESS:
            continue
        now, (least, most) = int(own[every].sum()), told.sums[cell]
        totals = now + np.arange(-_OTHERS, _OTHERS + 1)
        totals += 0 if np.isinf(least) else round(float(np.clip(now, least, most))) - now
        totals = totals[np.argsort(np.abs(totals - now), kind="stable")].astype(np.float64)
        squares = told.squares[cell] + totals[:, None] ** 2 / len(every)
        fine = (totals >= least - EXACT) & (totals <= most + EXACT)
        fine &= np.ceil(squares[:, 0] - EXACT) <= np.floor(squares[:, 1] + EXACT)
        others = own[every[stay[every]]]
        for at in np.flatnonzero(fine)[:_CHOICES]:
            total, beside = int(totals[at] - others.sum()), float(others.astype(np.float64) @ others)
            found = with_sums(own[there], levels, total, squares[at] - beside, rng)
            if found is not None:
                own[there], stay[there] = found, True
                break
            failed += 1
    return stay & ~held


def _with_odd(
    own: Values, even: _Even, told: _Told, free: NDArray[np.bool_], of: NDArray[np.int64], rng: np.random.Generator
) -> None:
    """Give as many records of each class the value beside the others, in place, as sums and squares in all cells are
    possible with.
    """
    odd, values = even.odd, even.first + even.step * even.values
    assert odd is not None
    has, n = np.bincount(of, free & (own == odd)), np.bincount(of, free)
    choices, among = dict[int, Array](), _Among.of(told, own, free & (own != odd), of, even)
    more = np.arange(-_OTHERS, _OTHERS + 1)
    beside = np.outer([odd - even.first, odd**2 - even.first**2], more)  # of so many more records
    for cell in np.flatnonzero(np.isfinite(told.sums).all(axis=1)).tolist():
        least, most = among.sums[cell][:, None] - beside[0] / even.step + [[-EXACT], [EXACT]]
        fine = np.zeros(len(more), np.bool_)
        for total in np.ceil(least) + np.arange(_CHOICES)[:, None]:
            fine |= (total <= most) & among.can_be(cell, total, beside)
        if fine.any():
            choices[cell] = more[fine][np.argsort(np.abs(more[fine]), kind="stable")][:_CHOICES].astype(np.float64)
    room = np.stack([-has, n - has], axis=1).astype(np.float64)
    rows = _Among.of(told, own, free, of, even).rows
    anything = np.tile([-np.inf, np.inf], (rows.shape[0], 1))
    change = agreeing(rows, anything, Changes(1, np.zeros(len(n)), np.sqrt(n), room, n == 0), choices)
    if change is None:
        return
    for kind in np.flatnonzero(change):
        mine = np.flatnonzero(free & (of == kind) & ((own == odd) == (change[kind] < 0)))
        some = rng.permutation(mine)[: int(abs(change[kind]))]
        own[some] = odd if change[kind] > 0 else values[np.abs(values - odd).argmin()]


def _changed(
    own: Values,
    even: _Even,
    bounds: tuple[Values, Values],
    told: _Told,
    free: NDArray[np.bool_],
    of: NDArray[np.int64],
    firm: NDArray[np.bool_],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Change values of records that are free, in place, so that sums agree with all that is told, but those of classes
    that are firm. Returns which classes (classes,) have no values of the sums that they were to have.
    """
    classes, among = _Classes.of(own, even, bounds, free, of), _Among.of(told, own, free, of, even)
    n, sums, squared = classes.n, classes.sums(), bool(np.isfinite(told.squares).any())
    small = n < _LOOSE  # of these a sum leaves little choice
    within = (sums[:, 1] - sums[:, 0] ** 2 / n + _ALIKE * classes.variance) / (n + _ALIKE)
    evenly = np.diff(classes.ends, axis=1)[:, 0] ** 2 / 12.0  # more than that there is not between two quantiles
    spread = np.sqrt(np.maximum(np.minimum(within, evenly), 1.0))
    room, here = np.outer(n, [1.0, 1.0]) * classes.ends - sums[:, :1], among.rows @ sums[:, 0]
    chance = rng.uniform(*_CHANCE, len(n))  # so that another attempt is another one
    changes = Changes(1, np.zeros(len(n)), chance * n**0.5 * spread, room, firm)
    change = agreeing(among.rows, among.sums - here[:, None], changes, _choices(among, here))
    if change is None:
        return classes.failed
    for kind in np.flatnonzero((small | (not squared)) & (change != 0.0)).tolist():
        classes.give(kind, sums[kind, 0] + change[kind], np.array([-np.inf, np.inf]), 0.0, rng)
    if not squared:
        return classes.failed
    change[small], sums[small] = 0.0, classes.sums()[small]
    target, moved = sums[:, 0] + change, 2.0 * sums[:, 0] / n * change  # where all values are moved alike
    base = sums[:, 1] + change  # a sum and its squares are both odd or both even
    squares = among.squares(among.rows @ target)
    room = _squares_of(target, n, classes.ends[:, 0], classes.ends[:, 1]) - base[:, None]
    changes = Changes(2, moved - change, n**0.5 * spread**2, room, firm | small)
    more = agreeing(among.rows, squares - (among.rows @ base)[:, None], changes, {})
    if more is None:
        return classes.failed
    aim = base + more
    spare = squares - (among.rows @ aim)[:, None]
    cells = among.rows.tocsc()
    for kind in np.flatnonzero((target != sums[:, 0]) | (aim != sums[:, 1])).tolist():
        mine = cells.indices[cells.indptr[kind] : cells.indptr[kind + 1]]
        ends = aim[kind] + np.array([min(spare[mine, 0].max(), 0.0), max(spare[mine, 1].min(), 0.0)])
        spare[mine] -= classes.give(kind, target[kind], ends, changes.scale[kind], rng) - aim[kind]
    return classes.failed


@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes of records that are free to have another value, first + step t: which records these are, one class after
    the other, how many (classes,), from where to where t may be in each (classes, 2), how it varies among all; and
    which classes have no values of the sums that they were to have.
    """

    own: Values
    even: _Even
    records: list[NDArray[np.int64]]
    n: Array
    ends: Array
    variance: float
    failed: NDArray[np.bool_]

    @classmethod
    def of(
        cls, own: Values, even: _Even, bounds: tuple[Values, Values], free: NDArray[np.bool_], of: NDArray[np.int64]
    ) -> _Classes:
        """Of these records (n,), in classes."""
        size = np.bincount(of, free, int(of.max()) + 1).astype(np.int64)
        there = np.flatnonzero(free)
        records = np.split(there[np.argsort(of[there], kind="stable")], np.cumsum(size)[:-1])
        ends = np.zeros((len(size), 2))
        for end, bound in enumerate(bounds):
            ends[of, end] = np.clip((bound - even.first) // even.step, even.values[0], even.values[-1])
        variance = float((own[there] / even.step).var()) if len(there) else 0.0
        return cls(own, even, records, np.maximum(size, 1.0), ends, variance, np.zeros(len(size), np.bool_))

    def _values(self, kind: int) -> Values:
        return np.asarray((self.own[self.records[kind]] - self.even.first) // self.even.step)

    def sums(self) -> Array:
        """Sums of t and of its squares, (classes, 2)."""
        each = (self._values(kind).astype(np.float64) for kind in range(len(self.n)))
        return np.array([[t.sum(), t @ t] for t in each])

    def give(self, kind: int, total: float, squares: Array, spread: float, rng: np.random.Generator) -> float:
        """Give a class values of this sum whose squares add up to something in a range, or else near it, where so many
        are little (`spread`), so that other classes make up for it. Returns what they add up to.
        """
        own, values = self._values(kind), self.even.values
        values = values[(values >= self.ends[kind, 0]) & (values <= self.ends[kind, 1])]
        for further in (0.0, *_FURTHER) if spread else (0.0,):
            found = with_sums(own, values, int(total), squares + further * spread * np.array([-1.0, 1.0]), rng)
            if found is not None:
                self.own[self.records[kind]] = self.even.first + self.even.step * found
                break
        self.failed[kind] = found is None or further > 0.0
        now = (own if found is None else found).astype(np.float64)
        return float(now @ now)


def _choices(among: _Among, here: Array) -> dict[int, Array]:
    """By how much sums may be changed in cells where not all that are told go with squares that there can be."""
    choices = dict[int, Array]()
    for cell in np.flatnonzero(np.isfinite(among.sums).all(axis=1) & np.isfinite(among.about).all(axis=1)).tolist():
        least, most = np.ceil(among.sums[cell, 0] - EXACT), np.floor(among.sums[cell, 1] + EXACT)
        totals = np.clip(here[cell], least, most) + np.arange(-_OTHERS, _OTHERS + 1)
        totals = totals[(totals >= least) & (totals <= most)]
        fine = among.can_be(cell, totals)
        if fine.any() and not fine.all():
            more = totals[fine] - here[cell]
            choices[cell] = more[np.argsort(np.abs(more), kind="stable")][:_CHOICES]
    return choices


def _squares_of(sums: Array, n: Array, first: Array, last: Array) -> Array:
    """Sums of squares (classes, 2) that n whole numbers of such sums, from the first to the last, have at least and at
    most.
    """
    beyond, wide = sums - n * first, np.maximum(last - first, 1.0)  # reckoned from the first
    each = np.floor(beyond / n)
    least = n * each**2 + (2.0 * each + 1.0) * (beyond - n * each)
    most = beyond // wide * wide**2 + (beyond % wide) ** 2
    return np.stack([least, most], axis=1) + (2.0 * first * beyond + n * first**2)[:, None]
