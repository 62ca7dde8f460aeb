"""How first values are drawn, from the codebook and the released numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.constants import golden_ratio
from scipy.special import expit, gammaln, ndtr, softmax

from outrisk.evolve.calibrated import applies, draw_calibrated, many_numbers, pool_of
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.crossed_quantiles import with_crossed
from outrisk.evolve.exact_moments import with_moments
from outrisk.evolve.order_statistics import with_quantiles
from outrisk.evolve.problem import Problem
from outrisk.evolve.settled_shares import open_shares, settled
from outrisk.evolve.shaped import Shape, shapes
from outrisk.evolve.ties import agreeing
from outrisk.evolve.told_counts import Table, tables_of
from outrisk.problem.blocks import Array, Model, joint_over, level_in
from outrisk.problem.influence import derivatives
from outrisk.problem.released import ModelPart

Draw = Callable[[int, np.random.Generator], Codes]  # draws so many records
_DRAWN = (  # families whose response can be drawn from coefficients alone
    "logit", "probit", "poisson", "mnlogit", "ologit", "oprobit", "negbin",
)  # fmt: skip
_CHUNK = 1 << 16  # records, so that their chances need little memory
_DRAWS = 20  # of a start again, at most, for all classes to have as many records as their quantiles can be of,
_ALIKE = 10  # draws in which these stay as large, after which there is no other
_LARGEST = 50.0  # of the exponent of a Poisson mean


@dataclass(frozen=True, eq=False)
class Link:
    """A variable, those that it is drawn given, and its chances, a row for each combination of their levels."""

    variable: int
    given: tuple[int, ...]
    chances: Array


def uniform(problem: Problem) -> Draw:
    """Every level of every variable equally likely, variables and records independent."""
    return partial(_agreeing, problem, partial(_independent, problem.codebook.sizes))


def _agreeing(problem: Problem, draw: Draw, n: int, rng: np.random.Generator) -> Codes:
    return agreeing(problem, draw(n, rng), rng)


def _independent(sizes: Sequence[int], n: int, rng: np.random.Generator) -> Codes:
    codes = _empty(n, sizes)
    for j, size in enumerate(sizes):
        codes[:, j] = rng.integers(0, size, n)
    return codes


def univariate(problem: Problem) -> Draw:
    """Each variable drawn independently from its released one-way table of counts of all records, uniform where there
    is none: the "univariate distributions" that the paper's intruder gathers beside a regression.
    """
    chances = [np.full(size, 1.0 / size) for size in problem.codebook.sizes]
    for table in tables_of(settled(problem, np.random.default_rng(0))):  # of one variable, none is left to chance
        if len(table.variables) == 1:
            chances[table.variables[0]] = table.counts / table.counts.sum()
    return partial(_agreeing, problem, partial(_by_chance, [np.cumsum(chance) for chance in chances]))


def _by_chance(steps: Sequence[Array], n: int, rng: np.random.Generator) -> Codes:
    codes = _empty(n, [len(step) for step in steps])
    for j, step in enumerate(steps):
        spot = np.searchsorted(step, step[-1] * rng.random(n), side="right")
        codes[:, j] = np.minimum(spot, len(step) - 1)  # should rounding reach the end
    return codes


def from_released(problem: Problem) -> Draw:
    """As the released numbers have it: tables of counts of all records, and models of what no table counts.

    Each variable is drawn given those that stand in one table with it and tell most of it, of each value as many
    records as its share says, to whole numbers, in random order (of tables of two variables Chow and Liu 1968: the
    tree of variables with the largest sum of mutual information). Then values that no table counts, as what was
    published of them says (shaped.py); other variables are uniform. After that the response of a model is drawn from
    the model, at its published coefficients.
    """
    return partial(
        _exactly, problem, partial(_settled_anew, problem) if open_shares(problem) else _from_tables(problem)
    )


def _exactly(problem: Problem, draw: Draw, n: int, rng: np.random.Generator) -> Codes:
    """As drawn, but for a whole data set with published quantiles, means and standard deviations as they are."""
    best = draw(n, rng)
    if n != problem.n_records:
        return best
    best = _with_quantiles(problem.tied, best, draw, rng)
    with_crossed(problem.tied, best)
    with_moments(problem.tied, best, rng)
    return problem.whole(best)


def _with_quantiles(problem: Problem, best: Codes, draw: Draw, rng: np.random.Generator) -> Codes:
    """Records as drawn, with published quantiles; drawn again where no records of a class can have its quantiles, being
    as many as they are, unless they stay as many.
    """
    n = len(best)
    least, seen = with_quantiles(problem, best), list[dict[tuple[int, int], int]]()
    for _ in range(0 if problem.large else _DRAWS):
        if not least or seen[-_ALIKE:] == _ALIKE * [least]:
            break
        codes = draw(n, rng)
        seen.append(with_quantiles(problem, codes))
        if len(seen[-1]) < len(least):
            best, least = codes, seen[-1]
    return best


def _settled_anew(problem: Problem, n: int, rng: np.random.Generator) -> Codes:
    """Counts that shares can be of are drawn each time."""
    return _from_tables(settled(problem, rng))(n, rng)


def _from_tables(problem: Problem, pairs: bool = False) -> Draw:
    tables, sizes = tables_of(problem), problem.codebook.sizes
    counted = {j for table in tables for j in table.variables}
    order = links(tables, sizes, pairs)
    shaped = list(shapes(problem, tables, lambda: _along(order, sizes, problem.n_records, np.random.default_rng(0))))
    counted |= {each.variable for each in shaped}
    return partial(_in_turn, problem, order, shaped, list(_responses(problem, counted)))


def _in_turn(
    problem: Problem,
    order: list[Link],
    shaped: list[Shape],
    responses: list[tuple[Model, NDArray[np.int64]]],
    n: int,
    rng: np.random.Generator,
) -> Codes:
    sizes = problem.codebook.sizes
    codes = _along(order, sizes, n, rng)
    for shape in shaped:
        group = _drawn(codes, shape.given, shape.chances, sizes, rng)
        first, last = shape.edges[group], shape.edges[group + 1]
        codes[:, shape.variable] = first + ((last - first) * rng.random(n)).astype(np.int64)
    codes = agreeing(problem, codes, rng)
    for model, levels in responses:
        _respond(model, levels, codes, rng)
    return problem.whole(codes)


def _responses(problem: Problem, counted: set[int]) -> Iterator[tuple[Model, NDArray[np.int64]]]:
    """Models from which the response can be drawn: of one variable, which no table counts and no other model has drawn;
    and the levels that it may take.
    """
    for part in problem.parts:
        if not isinstance(part, ModelPart) or part.model.family not in _DRAWN or len(part.model.place.variables) != 1:
            continue
        model = part.model
        (j,) = model.place.variables
        masks = [mask for mask in model.masks if j in mask.joint.variables]
        given = {v for term in model.terms for v in term.joint.variables}
        if j in counted or j in given or any(len(mask.joint.variables) > 1 for mask in masks):
            continue
        if model.offset and j in model.offset[0].variables:
            continue
        inside = np.logical_and.reduce([np.ones(model.place.size, bool), *(mask.include for mask in masks)])
        counted = {*counted, j}
        yield model, np.flatnonzero(inside)


def _respond(model: Model, levels: NDArray[np.int64], codes: Codes, rng: np.random.Generator) -> None:
    """Draw the response of a model in place; evenly along the records in the order of what it is drawn given, so that
    little is left to chance.
    """
    (j,) = model.place.variables
    given = sorted({v for term in model.terms for v in term.joint.variables})
    order = np.lexsort([codes[:, v] for v in given]) if given else np.arange(len(codes))
    start = rng.random()
    y = model.response[levels]
    alike = (y[:, None] == y).sum(axis=1)
    for at in range(0, len(codes), _CHUNK):
        rows = order[at : at + _CHUNK]
        chances = _likelihoods(model, _predictors(model, codes[rows]), y) / alike
        steps = np.cumsum(chances, axis=1)
        # steps of this size cover the unit interval evenly, however many they are
        spot = (start + (golden_ratio - 1.0) * np.arange(at, at + len(rows))) % 1.0
        codes[rows, j] = levels[np.minimum((spot[:, None] * steps[:, -1:] >= steps).sum(axis=1), len(levels) - 1)]


def _predictors(model: Model, codes: Codes) -> Array:
    """Linear predictors (n, equations) at the published coefficients."""
    eta = np.zeros((len(codes), len(model.coefficients)))
    for term in model.terms:
        eta += (term.rows @ model.coefficients[:, term.columns].T)[level_in(term.joint, codes)]
    if model.offset:
        joint, values = model.offset
        eta += values[level_in(joint, codes)][:, None]
    return eta


def _likelihoods(model: Model, eta: Array, y: Array) -> Array:
    """Likelihood of each response (n, len(y)) at linear predictors (n, equations)."""
    if model.family == "poisson":
        eta = np.minimum(eta, _LARGEST)
        return np.asarray(np.exp(y * eta - np.exp(eta) - gammaln(y + 1.0)))
    if len(model.shape):
        eta = np.hstack([eta, np.broadcast_to(model.shape, (len(eta), len(model.shape)))])
        logs = [derivatives(model.family, np.full(len(eta), each), eta)[2] for each in y]
        return np.exp(np.stack(logs, axis=1))
    if model.family == "mnlogit":
        return np.asarray(softmax(np.hstack([np.zeros((len(eta), 1)), eta]), axis=1)[:, y.astype(int)])
    mean = expit(eta) if model.family == "logit" else ndtr(eta)
    return np.asarray(np.where(y > 0.5, mean, 1.0 - mean))


def links(tables: list[Table], sizes: Sequence[int], pairs: bool = False) -> list[Link]:
    """Variables in the order in which they are drawn, each given all those before it that are in one table with it, or
    one of them (`pairs`): of all tables and variables, the ones that tell most of each other.
    """
    ones, told = dict[int, Array](), dict[tuple[int, ...], tuple[Array, float]]()
    for table in tables:
        for j in table.variables:
            ones.setdefault(j, table.over((j,), table.counts))
    found, left = list[Link](), set(range(len(sizes)))
    while left:
        near = list[tuple[int, ...]]()
        for table in tables:
            drawn = sorted(set(table.variables) - left)
            for given in [[each] for each in drawn] if pairs else [drawn] if drawn else []:
                for j in sorted(set(table.variables) & left):
                    if (j, *given) not in told:
                        joint = table.over((j, *given), table.counts).reshape(sizes[j], -1)
                        told[j, *given] = joint, _information(joint)
                    near.append((j, *given))
        if near:
            j, *given = max(near, key=lambda some: told[some][1])
            joint = told[j, *given][0].T
            total = joint.sum(axis=1, keepdims=True)
            chances = np.where(total > 0, joint, joint.sum(axis=0)) / np.where(total > 0, total, joint.sum())
        else:
            j, given = min(left, key=lambda j: (j not in ones, j)), []
            chances = ones.get(j, np.ones(sizes[j]))
            chances = (chances / chances.sum())[None, :]
        found.append(Link(j, tuple(given), chances))
        left.discard(j)
    return found


def _along(order: list[Link], sizes: Sequence[int], n: int, rng: np.random.Generator) -> Codes:
    codes = _empty(n, sizes)
    for link in order:
        codes[:, link.variable] = _drawn(codes, link.given, link.chances, sizes, rng)
    return codes


def _drawn(
    codes: Codes, given: tuple[int, ...], chances: Array, sizes: Sequence[int], rng: np.random.Generator
) -> NDArray[np.int64]:
    """A level for each record (n,), in random order, by the chances for each combination of levels of those given."""
    rows, groups, found = rng.permutation(len(codes)), np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
    if given:
        groups = level_in(joint_over(given, sizes), codes[rows])
    rows = rows[np.argsort(groups, kind="stable")]
    found[rows] = _quotas(np.bincount(groups, minlength=len(chances)), chances, rng)
    return found


def _quotas(counts: NDArray[np.int64], chances: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """The levels of the records of each group, of so many, one group after the other, that the chances (groups, levels)
    say: each as often as its chance to the next whole number below or above.
    """
    steps = np.cumsum(chances, axis=1) / chances.sum(axis=1, keepdims=True) * counts[:, None]
    steps = np.minimum(np.floor(steps + rng.random(len(counts))[:, None]), counts[:, None])
    steps[:, -1] = counts
    times = np.diff(steps, axis=1, prepend=0.0).astype(np.int64)
    return np.repeat(np.tile(np.arange(chances.shape[1]), len(counts)), times.ravel())


def _information(table: Array) -> float:
    """Mutual information of the two variables of a table."""
    share = table / table.sum()
    expected = np.outer(share.sum(axis=1), share.sum(axis=0))
    inside = share > 0
    return float(np.sum(share[inside] * np.log(share[inside] / expected[inside])))


def _empty(n: int, sizes: Sequence[int]) -> Codes:
    return np.empty((n, len(sizes)), np.uint16)


def calibrated(problem: Problem) -> Draw:
    """As `from_released`, calibrated to all released numbers where regressions stand beside other outputs (see
    calibrated.py).
    """
    if not applies(problem):
        return from_released(problem)
    return partial(_settled_by_weights, problem) if open_shares(problem) else _calibrated(problem)


def _calibrated(problem: Problem) -> Draw:
    return partial(draw_calibrated, problem, _from_tables(problem, pairs=True))  # weights see to the rest


def _settled_by_weights(problem: Problem, n: int, rng: np.random.Generator) -> Codes:
    """Calibrated twice, where there is a choice and numbers are not many: to shares, which tells how large their groups
    may be; and to counts that these are shares of.
    """
    problem = settled(problem, rng, certain=True)
    chosen = settled(problem, rng)
    if open_shares(chosen) < open_shares(problem) and not many_numbers(problem):
        pool = pool_of(problem, _from_tables(problem, pairs=True), n, rng)
        chosen = settled(problem, rng, partial(pool.said, pool.calibrated()))
    return _calibrated(chosen)(n, rng)


STARTS: dict[str, Callable[[Problem], Draw]] = {
    "uniform": uniform,
    "univariate": univariate,
    "released": from_released,
    "calibrated": calibrated,
}
