"""What an output contributes to the totals: sums over records of something that depends on that record alone.

Two shapes of block cover every kind of output:

- `Tally`: a record adds one number to one total: cell counts, sums by cell, weighted counts. Each total has a range
  that it should lie in, and the fitness adds up the squared distances outside it.
- `Model`: a record adds several numbers: score, information and log-likelihood of a regression at its published
  coefficients, what makes the risk sets of a Cox model, or any other design columns. The published numbers are smooth
  functions of these totals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import EvolveError

Array = NDArray[np.float64]
Family = Literal["none", "ols", "logit", "probit", "poisson", "mnlogit", "cox", "sign", "ologit", "oprobit", "negbin"]
MAX_JOINT = 4_000_000  # largest product of supports that one table of an output may span


@dataclass(frozen=True)
class Joint:
    """A place in the product of some variables' supports; the last variable runs fastest (C order)."""

    variables: tuple[int, ...]
    strides: tuple[int, ...]
    size: int


def joint_over(variables: Sequence[int], sizes: Sequence[int]) -> Joint:
    """The joint of variables given by position."""
    supports = [sizes[j] for j in variables]
    strides = tuple(math.prod(supports[e + 1 :]) for e in range(len(supports)))
    return Joint(tuple(variables), strides, math.prod(supports))


def level_in(joint: Joint, codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Level (n,) of each record in a joint."""
    level = np.zeros(len(codes), dtype=np.int64)
    for j, stride in zip(joint.variables, joint.strides, strict=True):
        level += codes[:, j].astype(np.int64) * stride
    return level


def joint_of(codebook: Codebook, names: Sequence[str], limit: int = MAX_JOINT) -> Joint:
    """The joint of named variables; EvolveError where the product of supports passes the limit."""
    joint = joint_over([codebook.index(name) for name in names], codebook.sizes)
    if joint.size > limit:
        raise EvolveError(
            f"the supports of {list(names)} multiply to {joint.size:,} combinations; "
            f"at most {limit:,} are possible: band one of them"
        )
    return joint


@dataclass(frozen=True, eq=False)
class Mask:
    """Which combinations of some variables an output includes: `include[level]`, shape (joint.size,)."""

    joint: Joint
    include: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Term:
    """Design columns that depend on one set of variables: `rows[level]` are their values, shape (joint.size,
    columns).
    """

    joint: Joint
    columns: NDArray[np.int64]
    rows: Array


@dataclass(frozen=True, eq=False)
class Weight:
    """A survey weight: each record counts `by_code[code]` times, by its code of one variable; shape (sizes[j],)."""

    variable: int
    by_code: Array


@dataclass(frozen=True, eq=False)
class Tally:
    """Total `cell[level]` grows by `value[level]` for a record at that level of `place`.

    `cell` (place.size,) is -1 where the record adds nothing; None: the level is the cell. `value` (place.size,); None:
    1. A record outside any of the masks adds nothing.
    """

    place: Joint
    size: int
    cell: NDArray[np.int32] | None = None
    value: Array | None = None
    masks: tuple[Mask, ...] = ()
    weight: Weight | None = None


@dataclass(frozen=True, eq=False)
class Clock:
    """When records leave the risk sets of a Cox model: `cell[level]` (joint.size,) of `cells`, the strata one after the
    other and in each its times in order. efron: records that leave together by an event do so in turn (Efron's
    approximation); Breslow's, where all do so at once, needs no sums over them.
    """

    joint: Joint
    cell: NDArray[np.int64]
    cells: int
    efron: bool


@dataclass(frozen=True, eq=False)
class Model:
    """Totals of a model, in this order: score, information, meat, log-likelihood, extra columns.

    With x the design row of a record (`terms`, k columns in all), eta_e = x'coefficients[e] + offset for each of E
    equations and y its `response[level]` at a level of `place`:

    - score (E k): residual_e x; for 'ols' the residual is y - eta, for the GLMs the derivative of the log-likelihood
      in eta; for 'sign' that of y - eta, 0 where it is at most 1. 'mnlogit' has y = 0 for the reference outcome and
      e + 1 for the outcome of equation e.
    - with `shape` (A,), of one equation, then the derivatives in these further parameters (A): each is like an equation
      of its own whose design is a constant alone. 'ologit', 'oprobit': A thresholds, increasing; y = 0, ..., A is how
      many of them lie below the latent response x'coefficients + error. 'negbin': the dispersion alpha, the variance
      being mean + alpha mean^2.
    - information, if asked for (K (K + 1) / 2 with K = E k + A; lower triangle by rows): minus the second derivative of
      the log-likelihood ('ols': x x'; 'sign': x x' of those whose residual is 0).
    - meat of robust standard errors, if asked for: sums of s s' over the records, s being the score of one (as the
      information); with `clusters` the scores of each (C K), as s is then the sum of a cluster's.
    - log-likelihood, if asked for (1); 'ols': the squared residual; 'sign': |y - eta|.
    - extra columns ('family' none has these alone): each record adds the rows of `extra`, as they are.

    'cox', of one equation, with a `clock` and an event (y = 1) or none (0), has other totals before the extra columns:

    - sums of x over the events (k), and the events of each cell of the clock.
    - of each cell its moments: sums over its records of w = exp(eta), w x and w x x' (1, k, and k (k + 1) / 2: the
      lower triangle by rows). With Efron's ties, then the same over its events.

    All of these times the weight, the meat of single records times its square.
    """

    family: Family
    coefficients: Array  # (E, k); shape (0, 0) for 'none'
    place: Joint
    response: Array
    terms: tuple[Term, ...] = ()
    offset: tuple[Joint, Array] | None = None
    information: bool = False
    robust: bool = False
    clusters: Joint | None = None
    likelihood: bool = False
    extra: tuple[Term, ...] = ()
    masks: tuple[Mask, ...] = ()
    weight: Weight | None = None
    clock: Clock | None = None
    shape: Array = field(default_factory=lambda: np.zeros(0))

    @cached_property
    def n_score(self) -> int:
        """Number of scores, one a parameter: K = E k + A; none of a Cox model: its scores are no sums over records."""
        return 0 if self.clock else int(self.coefficients.size) + len(self.shape)

    @property
    def parameters(self) -> Array:
        """The coefficients, one equation after the other, and the shape, (K,)."""
        return np.concatenate([self.coefficients.ravel(), self.shape])

    @cached_property
    def n_information(self) -> int:
        """Number of information totals."""
        return self.n_score * (self.n_score + 1) // 2 if self.information else 0

    @cached_property
    def n_meat(self) -> int:
        """Number of totals of the meat."""
        if not self.robust:
            return 0
        return self.clusters.size * self.n_score if self.clusters else self.n_score * (self.n_score + 1) // 2

    @property
    def apart(self) -> bool:
        """Whether there is an information that is not among the totals."""
        return self.n_score > 0 and not self.information

    @cached_property
    def n_moments(self) -> int:
        """Number of moments of each cell of the clock."""
        k = int(self.coefficients.shape[1])
        return 1 + k + k * (k + 1) // 2

    @cached_property
    def n_leaving(self) -> int:
        """Number of totals of a Cox model but the extra columns."""
        if self.clock is None:
            return 0
        return int(self.coefficients.shape[1]) + self.clock.cells * (1 + (1 + self.clock.efron) * self.n_moments)

    @cached_property
    def n_extra(self) -> int:
        """Number of extra columns."""
        return sum(len(term.columns) for term in self.extra)

    @property
    def size(self) -> int:
        """Number of totals."""
        likelihood = int(self.likelihood)
        return self.n_leaving + self.n_score + self.n_information + self.n_meat + likelihood + self.n_extra


Block = Tally | Model


def is_shape(family: str, shape: Array) -> bool:
    """Whether there is such a shape (A,): thresholds increase, a dispersion is positive."""
    return bool((shape > 0.0).all()) if family == "negbin" else bool((np.diff(shape) > 0.0).all())


def joints(block: Block) -> list[Joint]:
    """All joints of a block."""
    found = [block.place, *(mask.joint for mask in block.masks)]
    if isinstance(block, Model):
        found += [term.joint for term in (*block.terms, *block.extra)]
        found += [block.offset[0]] if block.offset else []
        found += [block.clock.joint] if block.clock else []
        found += [block.clusters] if block.clusters else []
    return found


def variables(block: Block) -> set[int]:
    """Positions of the variables that a block depends on."""
    found = {j for joint in joints(block) for j in joint.variables}
    return found | {block.weight.variable} if block.weight else found


def spread_rows(term: Term, joint: Joint, sizes: Sequence[int]) -> Array:
    """Design rows of a term over a wider joint that contains its variables."""
    return term.rows[levels_over(term.joint, joint, sizes)]


def levels_over(part: Joint, joint: Joint, sizes: Sequence[int]) -> NDArray[np.int64]:
    """Level in a joint at each level of a wider one that contains its variables."""
    levels = np.indices([sizes[j] for j in joint.variables]).reshape(len(joint.variables), joint.size)
    own = np.zeros(joint.size, dtype=np.int64)
    for j, stride in zip(part.variables, part.strides, strict=True):
        own += levels[joint.variables.index(j)] * stride
    return own


def breaks_rule(rules: Sequence[Mask], codes: NDArray[np.uint8] | NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Which records (n,) break any of the rules."""
    broken = np.zeros(len(codes), dtype=bool)
    for rule in rules:
        broken |= ~rule.include[level_in(rule.joint, codes)]
    return broken
