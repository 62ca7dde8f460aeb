"""Random blocks of every shape, with simple maps from their totals to numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from outrisk.codebook import Codebook, Variable
from outrisk.evolve.problem import Problem
from outrisk.outputs.base import Common
from outrisk.problem.blocks import Mask, Model, Tally, Term, Weight, joint_over
from outrisk.problem.formulas import Formula
from outrisk.problem.released import Bounds, ModelPart, Released, TallyPart

FAMILIES = ("none", "ols", "logit", "probit", "poisson", "mnlogit", "ologit", "oprobit", "negbin")


@dataclass(frozen=True, eq=False)
class Named(Common):
    """An analysis that has a name and nothing to compute."""

    labels: list[str]
    places: np.ndarray
    kind = "random"
    decimals = property(lambda self: self.places)


@dataclass(frozen=True, eq=False)
class Identity:
    """Totals are numbers."""

    size: int

    def numbers(self, totals):
        return totals

    def bounds(self, totals, low, high):
        return Bounds(low, high, np.ones(self.size), np.arange(self.size), np.full(self.size, 2.0))

    def formulas(self, n_numbers):
        return [Formula("total", np.array([at])) for at in range(n_numbers)]


@dataclass(frozen=True, eq=False)
class Affine:
    """Numbers are linear in the totals."""

    matrix: np.ndarray

    def numbers(self, totals, information):
        return self.matrix @ totals

    def jacobian(self, totals, information):
        return self.matrix

    def precision(self, totals, information):
        return np.diag(np.linspace(0.5, 2.0, len(self.matrix)))


def random_codebook(rng):
    sizes = rng.integers(2, 6, 4)
    variables = [Variable(f"v{j}", "categorical", tuple(f"l{k}" for k in range(s))) for j, s in enumerate(sizes)]
    wide = int(rng.choice([20, 150, 300]))
    return Codebook((*variables, Variable("wide", "integer", tuple(range(wide)))))


def some_joint(rng, sizes, most=2):
    chosen = rng.choice(len(sizes), int(rng.integers(1, most + 1)), replace=False)
    return joint_over([int(j) for j in chosen], sizes)


def some_masks(rng, sizes):
    joints = [some_joint(rng, sizes) for _ in range(int(rng.integers(0, 3)))]
    return tuple(Mask(joint, rng.random(joint.size) < 0.8) for joint in joints)


def some_weight(rng, sizes):
    j = int(rng.integers(len(sizes)))
    return Weight(j, rng.uniform(0.5, 3.0, sizes[j])) if rng.random() < 0.3 else None


def random_tally(rng, sizes):
    place = some_joint(rng, sizes)
    if rng.random() < 0.5:
        return Tally(place, place.size)
    size = int(rng.integers(1, 5))
    return Tally(
        place,
        size,
        rng.integers(-1, size, place.size).astype(np.int32),
        rng.normal(size=place.size) if rng.random() < 0.5 else None,
        some_masks(rng, sizes),
        some_weight(rng, sizes),
    )


def some_terms(rng, sizes, n_columns):
    cuts = np.split(rng.permutation(n_columns), [int(rng.integers(0, n_columns + 1))])
    joints = [some_joint(rng, sizes) for _ in cuts]
    return tuple(
        Term(joint, columns, rng.normal(0, 0.5, (joint.size, len(columns))) * (rng.random((joint.size, 1)) < 0.7))
        for joint, columns in zip(joints, cuts, strict=True)
        if len(columns)
    )


def random_model(rng, sizes, family=None):
    family = family or str(rng.choice(FAMILIES))
    place = some_joint(rng, sizes)
    extra = some_terms(rng, sizes, int(rng.integers(1, 4)))
    masks, weight = some_masks(rng, sizes), some_weight(rng, sizes)
    if family == "none":
        none = np.zeros((0, 0))
        return Model("none", none, place, np.zeros(place.size), extra=extra, masks=masks, weight=weight)
    equations = int(rng.integers(1, 4)) if family == "mnlogit" else 1
    shape = np.zeros(0)
    if family in ("ologit", "oprobit"):
        shape = np.cumsum(rng.uniform(0.2, 1.5, int(rng.integers(2, 5)))) - 1.5
    elif family == "negbin":
        shape = rng.uniform(0.2, 2.0, 1)
    counts = {"ols": 7, "poisson": 7, "negbin": 7, "mnlogit": equations + 1}
    outcomes = counts.get(family, len(shape) + 1 if len(shape) else 2)
    k = int(rng.integers(1, 5))
    offset = some_joint(rng, sizes)
    return Model(
        family,
        rng.normal(0, 0.5, (equations, k)),
        place,
        rng.integers(0, outcomes, place.size).astype(float),
        some_terms(rng, sizes, k),
        (offset, rng.normal(0, 0.2, offset.size)) if rng.random() < 0.3 else None,
        information=bool(rng.random() < 0.5),
        likelihood=bool(rng.random() < 0.5),
        extra=extra if rng.random() < 0.5 else (),
        masks=masks,
        weight=weight,
        robust=(robust := bool(rng.random() < 0.5)),
        clusters=some_joint(rng, sizes, 1) if robust and rng.random() < 0.5 else None,
        shape=shape,
    )


def random_problem(seed, n=40, rules=False):
    """A problem of one to four random blocks, whose published numbers are those of other random records; and codes."""
    rng = np.random.default_rng(seed)
    codebook = random_codebook(rng)
    sizes = codebook.sizes
    codes = np.stack([rng.integers(0, size, n) for size in sizes], axis=1).astype(np.uint16)
    mask = Mask(joint_over((0, 1), sizes), rng.random(sizes[0] * sizes[1]) < 0.7)
    mask.include[0] = True
    parts = []
    for _ in range(int(rng.integers(1, 5))):
        if rng.random() < 0.5:
            tally = random_tally(rng, sizes)
            parts.append(TallyPart((tally,), Identity(tally.size), tally.size))
        else:
            model = random_model(rng, sizes)
            matrix = rng.normal(0, 0.1, (int(rng.integers(1, 4)), model.size))
            parts.append(ModelPart(model, Affine(matrix), len(matrix)))
    k = sum(part.n_numbers for part in parts)
    low = np.round(rng.uniform(-1, n / 4, k), 1)
    high = low + np.where(rng.random(k) < 0.3, 3.0, 0.0)
    output = Released(Named(None, "o", list(map(str, range(k))), np.ones(k, np.int64)), low, high, tuple(parts))
    return Problem(codebook, n, (output,), (mask,) if rules else ()), codes
