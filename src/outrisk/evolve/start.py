"""How first values are drawn, from the codebook and the released numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, ndtr, softmax

from outrisk.evolve.calibrated import applies, draw_calibrated
from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import Array, Model, level_in
from outrisk.problem.released import ModelPart, TallyPart

Draw = Callable[[int, np.random.Generator], Codes]  # draws so many records
_DRAWN = ("logit", "probit", "poisson", "mnlogit")  # families whose response can be drawn from coefficients alone
_CHUNK = 1 << 16  # records, so that their chances need little memory
_GOLDEN = (5.0**0.5 - 1.0) / 2.0  # steps of this size cover the unit interval evenly, however many they are
_LARGEST = 50.0  # of the exponent of a Poisson mean
_UNKNOWN = 0.5  # records at least taken to be in a cell of which nothing was released


def uniform(problem: Problem) -> Draw:
    """Every level of every variable equally likely, variables and records independent."""
    return partial(_independent, problem.codebook.sizes)


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
    for variables, table in _counts(problem):
        if len(variables) == 1:
            chances[variables[0]] = table / table.sum()
    return partial(_by_chance, [np.cumsum(chance) for chance in chances])


def _by_chance(steps: Sequence[Array], n: int, rng: np.random.Generator) -> Codes:
    codes = _empty(n, [len(step) for step in steps])
    for j, step in enumerate(steps):
        spot = np.searchsorted(step, step[-1] * rng.random(n), side="right")
        codes[:, j] = np.minimum(spot, len(step) - 1)  # should rounding reach the end
    return codes


def from_released(problem: Problem) -> Draw:
    """As the released numbers have it: tables of counts of all records, and models of what no table counts.

    Each variable is drawn given the one it depends on most, of each value as many records as its share says, to whole
    numbers, in random order (Chow and Liu 1968: the tree of variables with the largest sum of mutual information).
    Variables without a table are uniform; after that the response of a model is drawn from the model, at its published
    coefficients.
    """
    counted = {j for variables, _ in _counts(problem) for j in variables}
    return partial(_in_turn, links(problem), list(_responses(problem, counted)), problem.codebook.sizes)


def _in_turn(
    order: list[tuple[int, int, Array]],
    responses: list[tuple[Model, NDArray[np.int64]]],
    sizes: Sequence[int],
    n: int,
    rng: np.random.Generator,
) -> Codes:
    codes = _along(order, sizes, n, rng)
    for model, levels in responses:
        _respond(model, levels, codes, rng)
    return codes


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
        spot = (start + _GOLDEN * np.arange(at, at + len(rows))) % 1.0
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
    if model.family == "mnlogit":
        return np.asarray(softmax(np.hstack([np.zeros((len(eta), 1)), eta]), axis=1)[:, y.astype(int)])
    mean = expit(eta) if model.family == "logit" else ndtr(eta)
    return np.asarray(np.where(y > 0.5, mean, 1.0 - mean))


def links(problem: Problem) -> list[tuple[int, int, Array]]:
    """Variables in the order in which they are drawn, each with the one it is drawn given (itself: none) and its
    chances (sizes[given], sizes[variable]), or (1, sizes[variable]).
    """
    sizes = problem.codebook.sizes
    ones: dict[int, Array] = {}
    pairs: dict[tuple[int, int], Array] = {}
    for variables, table in _counts(problem):
        for at, j in enumerate(variables):
            ones.setdefault(j, _margin(table, (at,)))
            for also in range(at):
                both, axes = (
                    ((variables[also], j), (also, at)) if variables[also] < j else ((j, variables[also]), (at, also))
                )
                pairs.setdefault(both, _margin(table, axes))
    found = []
    left = set(range(len(sizes)))
    strength = {both: _information(table) for both, table in pairs.items()}
    while left:
        near = [both for both in strength if (both[0] in left) != (both[1] in left)]
        if near:
            one, other = max(near, key=lambda both: strength[both])
            table = pairs[one, other]
            j, given, joint = (other, one, table) if other in left else (one, other, table.T)
            total = joint.sum(axis=1, keepdims=True)
            found.append(
                (j, given, np.where(total > 0, joint, joint.sum(axis=0)) / np.where(total > 0, total, joint.sum()))
            )
        else:
            j = min(left, key=lambda j: (j not in ones, j))
            chances = ones.get(j, np.ones(sizes[j]))
            found.append((j, j, (chances / chances.sum())[None, :]))
        left.discard(j)
    return found


def _along(order: list[tuple[int, int, Array]], sizes: Sequence[int], n: int, rng: np.random.Generator) -> Codes:
    codes = _empty(n, sizes)
    for j, given, chances in order:
        rows = rng.permutation(n)
        groups = np.zeros(n, np.uint8) if given == j else codes[rows, given]
        rows = rows[np.argsort(groups, kind="stable")]
        counts = np.bincount(groups, minlength=len(chances))
        codes[rows, j] = np.concatenate([_quota(k, share, rng) for k, share in zip(counts, chances, strict=True)])
    return codes


def _quota(n: int, chances: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """The n levels that the chances say, each as often as its chance to the next whole number below or above."""
    steps = np.floor(n * np.cumsum(chances) / np.sum(chances) + rng.random())
    steps[-1] = n
    return np.repeat(np.arange(len(chances)), np.diff(np.minimum(steps, n), prepend=0).astype(np.int64))


def _counts(problem: Problem) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Released tables of counts of all records: their variables and counts."""
    for released in problem.released:
        at = 0
        for part in released.parts:
            which = slice(at, at + part.n_numbers)
            at = which.stop
            if not isinstance(part, TallyPart) or len(part.blocks) != 1:
                continue
            block = part.blocks[0]
            if block.masks or block.weight or block.value is not None or block.cell is not None:
                continue
            if block.size != part.n_numbers:
                continue
            low, high = np.maximum(released.low[which], 0.0), released.high[which]
            known = high < problem.n_records
            counts = np.where(known, (low + high) / 2, low)
            spare = max(0.0, problem.n_records - counts.sum()) / max(1, (~known).sum())
            counts[~known] = np.maximum(counts[~known], spare + _UNKNOWN)
            if (part.map.bounds(np.ones(block.size), counts, counts).unit != 1.0).any():  # shares, not counts
                continue
            if counts.sum() > 0:
                yield block.place.variables, counts.reshape([problem.codebook.sizes[j] for j in block.place.variables])


def _margin(table: Array, axes: tuple[int, ...]) -> Array:
    """The margin of a table over some of its axes, in their order."""
    kept = table.sum(axis=tuple(a for a in range(table.ndim) if a not in axes))
    return np.asarray(kept if axes == tuple(sorted(axes)) else kept.T)


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
    draw = from_released(problem)
    return partial(draw_calibrated, problem, draw) if applies(problem) else draw


STARTS: dict[str, Callable[[Problem], Draw]] = {
    "uniform": uniform,
    "univariate": univariate,
    "released": from_released,
    "calibrated": calibrated,
}
