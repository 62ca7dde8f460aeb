"""How likely each value of the target is for each person, given released numbers and a register of everybody's keys.

Of all ways to spread people over values that meet the released numbers, the one of largest entropy stands for the mean
over the data sets that fit: of a group of m people with the same keys, the number with each value is m times a softmax
of the released cells that they fall into. It is the maximum-likelihood fit of the log-linear model with a term for each
released number (iterative proportional fitting gives the same; Csiszar, Annals of Probability 3, 1975), found here as
the minimum of its convex dual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from outrisk.errors import ProveError
from outrisk.problem.blocks import Array
from outrisk.prove.kinds_of_people import Further
from outrisk.prove.programme import Programme
from outrisk.prove.settled import narrowed, settled

SLACK = 0.05  # people by which a released number may be missed at the price of about one unit of entropy
_STEPS = (150, 1_500)  # least and most steps of the search
_WORK = 2e9  # coefficients of the programme times steps, between these
_FALL = 3e-7  # relative, of the dual in a step, at which the search ends
_NEGATIVE = 1e-6  # a person: what arithmetic may take from an entropy of 0
_MEMORY = 10  # steps that L-BFGS remembers


@dataclass(frozen=True, eq=False)
class Guesses:
    """Chances of the values of the target, (people in the register, levels), rows sum to 1; larger = surer.

    missed: the largest distance of a released number from where it should lie, in people (its equation divided by its
    largest coefficient): a fraction where data sets fit. contradicted: no data set of these people fits the numbers:
    bounds of counts left one no value, or the dual without its price, which no entropy is above, was found below 0.
    converged: whether the search ended by itself, not by its budget.
    """

    chances: Array
    missed: float
    contradicted: bool
    converged: bool


def best_guesses(of: Programme, target: str, slack: float = SLACK) -> Guesses:
    """The chance of each value of the target for each person in the register (see the module).

    ProveError where no value at all is possible for somebody.

    Released numbers that are met within an interval count as met. A large programme gets fewer steps, so that the
    search ends within minutes, and after as many on any machine.
    """
    alone = of.matrix.shape[1] == of.n_registered
    first = settled(of) if alone and not of.further else None
    if first is None:
        narrower = narrowed(of) if of.further else None
        share, found = _spread(narrower or of, slack)
        found = replace(found, contradicted=found.contradicted or (alone and narrower is None))
    else:
        share = first.counts / of.sizes[:, None]
        share[first.open], found = _spread(first.left, slack)
    code = of.kinds[:, of.unknown.index(target)]
    by_value = np.zeros((share.shape[0], of.codebook[target].size))
    for value in range(by_value.shape[1]):
        by_value[:, value] = share[:, code == value].sum(axis=1)
    return replace(found, chances=by_value[of.groups])


def _spread(of: Programme, slack: float) -> tuple[Array, Guesses]:
    """Share of each kind in each group, (groups, kinds), and how the search ended."""
    if not any(of.origin):
        share = (of.most[: of.n_counts] > 0).reshape(len(of.sizes), of.n_kinds).astype(np.float64)
        share /= share.sum(axis=1, keepdims=True)
        return share, Guesses(share, 0.0, False, True)
    dual = _Dual(of, slack)
    steps = int(np.clip(_WORK / max(1, of.matrix.nnz), *_STEPS))
    unit = dual.units()

    def scaled(multipliers: Array) -> tuple[float, Array]:
        value, gradient = dual.value(unit * multipliers)
        return value, unit * gradient

    found = minimize(
        scaled,
        np.zeros(len(dual.ends)),
        jac=True,
        method="L-BFGS-B",
        bounds=dual.bounds,
        options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": _MEMORY, "ftol": _FALL},
    )
    multipliers = unit * found.x
    share, counts = dual.spread(multipliers)
    contradicted = dual.impossible or dual.bound(multipliers) < -_NEGATIVE * (1.0 + len(of.groups))
    return share, Guesses(share, dual.missed(counts), contradicted, bool(found.success))


class _Dual:
    """The dual of the entropy under the constraints of a programme, with a quadratic `price` of missing them.

    A constraint with two different ends has a multiplier for each, of one sign; one whose ends agree has a free one.
    People outside the register are one more group, whose keys are unknown too. Of a further table (see `Further`) the
    kinds of a sum pull together at the kinds of the table before it that are in the same sum (Lauritzen and
    Spiegelhalter, JRSS B 50, 1988).
    """

    def __init__(self, of: Programme, slack: float) -> None:
        self.price = slack**2
        self.shape, self.sizes = (len(of.sizes), of.n_kinds), of.sizes.astype(np.float64)
        rows = np.flatnonzero([bool(origin) for origin in of.origin])  # the others say how large the groups are
        scale = abs(of.matrix[rows]).max(axis=1).toarray().ravel()
        empty = scale == 0.0  # of nobody in the register
        self.impossible = bool((empty & ((of.low[rows] > 0) | (of.high[rows] < 0))).any())
        rows, scale = rows[~empty], scale[~empty]
        self.matrix = sparse.csr_array(sparse.diags_array(1.0 / scale) @ of.matrix[rows])
        self.low, self.high = of.low[rows] / scale, of.high[rows] / scale
        equal = self.low == self.high
        up, down = np.flatnonzero(np.isfinite(self.low)), np.flatnonzero(np.isfinite(self.high) & ~equal)
        self.row = np.concatenate([up, down])
        self.sign = np.repeat([1.0, -1.0], [len(up), len(down)])
        self.ends = np.concatenate([self.low[up], self.high[down]])
        self.bounds = np.column_stack([np.where(equal[self.row], -np.inf, 0.0), np.full(len(self.row), np.inf)])
        self.columns = sparse.csr_array(self.matrix.T)
        self.outside = of.outside
        self.further = of.further_tables
        self.helpers = slice(of.n_columns, None)
        self.base = np.where(of.most[: of.n_columns] > 0, 0.0, -np.inf)  # of kinds that there can be

    def value(self, multipliers: Array) -> tuple[float, Array]:
        """The dual and its gradient."""
        _, counts, level = self._spread(multipliers)
        signed = self.sign * multipliers
        value = level - float(signed @ self.ends) + 0.5 * self.price * float(multipliers @ multipliers)
        gradient = self.sign * ((self.matrix @ counts)[self.row] - self.ends) + self.price * multipliers
        return value, gradient

    def units(self) -> Array:
        """Units of the multipliers in which the dual bends about alike in all of them at 0."""
        share, bend = self.spread(np.zeros(len(self.ends)))
        bend[: share.size] = (self.sizes[:, None] * share * (1.0 - share)).ravel()
        bend[self.helpers] = 0.0
        return np.asarray(((self.matrix.power(2) @ bend)[self.row] + self.price) ** -0.5)

    def spread(self, multipliers: Array) -> tuple[Array, Array]:
        """Share of each kind in each group, (groups, kinds); and the programme's columns."""
        share, counts, _ = self._spread(multipliers)
        return share, counts

    def bound(self, multipliers: Array) -> float:
        """What the entropy of no data set that fits exceeds."""
        return self._spread(multipliers)[2] - float((self.sign * multipliers) @ self.ends)

    def missed(self, counts: Array) -> float:
        """The largest distance of a constraint from its ends."""
        values = self.matrix @ counts
        return float(np.max(np.maximum(self.low - values, values - self.high), initial=0.0))

    def _spread(self, multipliers: Array) -> tuple[Array, Array, float]:
        by_row = np.bincount(self.row, self.sign * multipliers, minlength=self.matrix.shape[0])
        pull = self.columns @ by_row
        pull[: self.helpers.start] += self.base
        within = [_passed_on(each, pull) for each in reversed(self.further)]
        n = self.shape[0] * self.shape[1]
        exponent = pull[:n].reshape(self.shape)
        top = exponent.max(axis=1, keepdims=True)
        if np.isneginf(top).any():
            raise ProveError("the rules leave some people of the register no value at all; correct the rules")
        share = np.exp(exponent - top)
        total = share.sum(axis=1, keepdims=True)
        share /= total
        level = float(self.sizes @ (np.log(total) + top)[:, 0])
        counts = np.zeros(len(pull))
        counts[:n] = (self.sizes[:, None] * share).ravel()
        if self.outside is not None:
            pulled = pull[self.outside.columns]
            counts[self.outside.columns] = self.outside.people * softmax(pulled)
            level += self.outside.people * float(logsumexp(pulled))
        for each, part in zip(self.further, reversed(within), strict=True):
            sums = np.bincount(each.parent_cell, counts[each.parent], minlength=each.n_cells)
            counts[each.columns] = sums[each.cell] * part
        free = pull[self.helpers]
        counts[self.helpers] = expit(free)
        return share, counts, level + float(np.logaddexp(0.0, free).sum())


def _passed_on(table: Further, pull: Array) -> Array:
    """The share that each kind of a further table has of its sum; what pulls at the kinds of a sum, added, in place, to
    the pull at all of the table before it that are in that sum.
    """
    exponent = pull[table.columns]
    top = np.full(table.n_cells, -np.inf)
    np.maximum.at(top, table.cell, exponent)
    top[np.isneginf(top)] = 0.0
    share = np.exp(exponent - top[table.cell])
    total = np.bincount(table.cell, share, minlength=table.n_cells)
    with np.errstate(divide="ignore"):
        pull[table.parent] += (np.log(total) + top)[table.parent_cell]
    return np.asarray(share / np.where(total > 0.0, total, 1.0)[table.cell])
