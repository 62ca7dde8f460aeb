"""Regressions with as many coefficients as there are kinds of records, such as a crude odds ratio: their numbers follow
from the counts of one table, in closed form, and so tell of it what a test of it would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, ndtr, ndtri, xlogy

from outrisk.outputs.base import Array
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import OF_EACH, Summary
from outrisk.outputs.regression.totals import spans_one
from outrisk.problem.analysis import Analysis
from outrisk.problem.blocks import Model, level_in
from outrisk.problem.counts import middle
from outrisk.problem.released import ROUNDING, half_digit

MOST_CELLS = 400  # of a table that is tried out
_KINDS = ("ols", "logit", "probit", "poisson", "mnlogit")
_NO_ERROR = 1e-6  # a standard error that may be none
_SURE = {"mnlogit": 2}  # digits: R's multinom stops early
_FAR = 4.0  # a coefficient that may be infinite, wherever iterations have stopped
_NEITHER = 0.5  # one that may be of two infinite ones
_NO_REST = 1e-20  # share of the squares
_LARGE = 1e7  # size of a response, in its spread
_NO_PART = 1e-12  # of a linear predictor, in a coefficient
_WORST = 1e6  # condition of the kinds of records
_SLACK = 1e-7  # what a fit's last iteration may leave of a linear predictor


@dataclass(frozen=True, eq=False)
class Saturated:
    """Such a regression, as a function of counts by its `variables`.

    group, outcome (cells,): the kind of record and the value of the response at each cell, -1 where no record counts.
    values: of the response, each once. inverse (G, G): makes coefficients of linear predictors. low, high (G, E):
    between which printed numbers leave the coefficients; G kinds of records, E equations. centred: R2 is about the
    mean. printed (k,): the printed numbers; largest_error (G, E): how large those leave standard errors.
    """

    regression: Regression
    group: NDArray[np.int64]
    outcome: NDArray[np.int64]
    values: Array
    inverse: Array
    low: Array
    high: Array
    centred: bool
    printed: Array
    largest_error: Array

    @property
    def variables(self) -> list[str]:
        """Codebook variables of the regression, in codebook order."""
        return self.regression.variables

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Printed digits after the point of each number, as far as iterations are sure of them."""
        return np.minimum(self.regression.decimals, _SURE.get(self.regression.kind, 6))

    @property
    def counted(self) -> NDArray[np.bool_]:
        """At which cells records count, in the shape of a table by the `variables`."""
        return (self.group >= 0).reshape([self.regression.codebook[name].size for name in self.variables])

    @cached_property
    def _members(self) -> Array:
        """Which cells are of each group and outcome, (cells, groups * values)."""
        G, Y = len(self.inverse), len(self.values)
        found = np.zeros((len(self.group), G * Y))
        known = np.flatnonzero(self.group >= 0)
        found[known, self.group[known] * Y + self.outcome[known]] = 1.0
        return found

    def of_counts(self, counts: Array) -> Array:
        """The numbers (b, k) from tables of counts (b, ...) with an axis for each of the `variables`, whose missing
        level is the last; NaN where one is undefined.
        """
        b, G, Y = len(counts), len(self.inverse), len(self.values)
        number = (counts.reshape(b, -1) @ self._members).reshape(b, G, Y)
        with np.errstate(all="ignore"):
            fit = self._of_outcomes(number) if self.regression.kind == "mnlogit" else self._of_means(number)
            found = np.asarray(self.regression.release.numbers(fit)).T
            self._take_what_arithmetic_decides(found, fit)
            if self.regression.kind != "ols":
                self._take_what_iterations_decide(found, fit, number)
        return found

    def _take_what_arithmetic_decides(self, found: Array, fit: Summary) -> None:
        """As printed: p-values without a standard error, and what says how well nothing fits."""
        places = partial(self.regression.release.places, K=len(fit.coefficients))
        for at, error in zip(p_values := places("p_values"), fit.standard_errors, strict=bool(p_values)):
            found[error < _NO_ERROR, at] = self.printed[at]
        for at in [*places("log_likelihood"), *places("r2")] if self.regression.kind == "ols" else []:
            found[np.isnan(found[:, at]), at] = self.printed[at]

    def _take_what_iterations_decide(self, found: Array, fit: Summary, number: Array) -> None:
        """As printed: the numbers of coefficients that are infinite, as a group has no record of an outcome (number (b,
        groups, values)), where those printed are large, as iterations that are stopped leave them, and so are their
        standard errors. Two such groups may leave anything, and mostly nothing; all groups alike leave no regression.
        """
        K, G = len(fit.coefficients), len(self.inverse)
        varies = (number.sum(axis=1) > 0).sum(axis=1) > 1
        infinite = ~np.isfinite(fit.coefficients).all(axis=0)
        some = np.flatnonzero(infinite & (number.sum(axis=2) > 0).all(axis=1) & varies)
        number = number[some]
        if self.regression.kind == "mnlogit":
            eta = np.log(number[:, :, 1:] / number[:, :, :1])
        else:
            eta = _link(self.regression.kind, number @ self.values / number.sum(axis=2))[0][:, :, None]
        for (e, g), part in product(np.ndindex(eta.shape[2], G), OF_EACH if len(some) else ()):
            row = np.flatnonzero(self.inverse[g])
            ends = eta[:, row, e] * self.inverse[g, row]
            up, down = (ends == np.inf).any(axis=1), (ends == -np.inf).any(axis=1)
            low, high = self.low[g, e], self.high[g, e]
            as_printed = np.where(up & down, low <= _NEITHER and high >= -_NEITHER, False)
            as_printed |= (up & (high >= _FAR)) | (down & (low <= -_FAR))
            as_printed &= self.largest_error[g, e] >= _FAR
            for at in self.regression.release.places(part, K)[e * G + g :: K]:
                found[some[as_printed], at] = self.printed[at]

    def _of_means(self, number: Array) -> Summary:
        """The fit (K, b) where each group has a mean of its own; number (b, groups, values)."""
        kind, covariance = self.regression.kind, self.regression.covariance_meant
        K, y = len(self.inverse), self.values
        people = number.sum(axis=2)
        n, mean = people.sum(axis=1), number @ y / people
        squares = (number * (y - mean[:, :, None]) ** 2).sum(axis=2)
        rest = squares.sum(axis=1)
        eta, slope, spread = _link(kind, mean)
        if covariance:
            variance = self._factor(n, K)[:, None] * squares / (people * slope) ** 2
        elif kind == "ols":
            variance = (rest / (n - K))[:, None] / people
        else:
            variance = spread / (people * slope**2)
        distribution = covariance.distribution or ("t" if kind == "ols" else "normal")
        df = np.where(n > K, n - K, np.nan) if distribution == "t" else np.inf
        likelihood = _likelihood(kind, number, y, mean)
        whole = number.sum(axis=1, keepdims=True)
        of_constant = _likelihood(kind, whole, y, whole @ y / n[:, None])
        about = whole @ y / n[:, None] if self.centred else np.zeros((len(n), 1))
        total = (whole * (y - about[:, :, None]) ** 2).sum(axis=(1, 2))
        if kind == "ols":
            nothing = _NO_REST * (whole * y**2).sum(axis=(1, 2))
            likelihood, total = np.where(rest <= nothing, np.nan, likelihood), np.where(total <= nothing, np.nan, total)
        return Summary(
            self._combined(self.inverse, eta),
            np.sqrt(self._combined(self.inverse**2, variance)),
            df,
            n,
            likelihood,
            1.0 - likelihood / of_constant,
            1.0 - rest / total,
            np.sqrt(rest / (n - K)),
        )

    def _factor(self, n: Array, K: int) -> Array:
        """What the sandwich is multiplied by at so many records (b,)."""
        each, of = np.unique(n, return_inverse=True)
        return np.array([self.regression.covariance_meant.factor(one, None, K)[0] for one in each.tolist()])[of]

    def _of_outcomes(self, number: Array) -> Summary:
        """The fit (K, b) where each group has a share of its own of each outcome; the first is the base."""
        covariance = self.regression.covariance_meant
        people = number.sum(axis=2)
        n, whole = people.sum(axis=1), number.sum(axis=1)
        coefficients, errors = [], []
        for e in range(1, len(self.values)):
            eta = np.log(number[:, :, e] / number[:, :, 0])
            variance = 1.0 / number[:, :, e] + 1.0 / number[:, :, 0]  # the sandwich is the same
            coefficients.append(self._combined(self.inverse, eta))
            errors.append(np.sqrt(self._combined(self.inverse**2, variance)))
        error = np.concatenate(errors)
        K = len(error)
        if covariance:
            error *= np.sqrt(self._factor(n, K))
        likelihood = xlogy(number, number / people[:, :, None]).sum(axis=(1, 2))
        of_constant = xlogy(whole, whole / n[:, None]).sum(axis=1)
        df = np.where(n > K, n - K, np.nan) if covariance.distribution == "t" else np.inf
        nothing = np.full(len(n), np.nan)
        return Summary(
            np.concatenate(coefficients), error, df, n, likelihood, 1.0 - likelihood / of_constant, nothing, nothing
        )

    def pairs(self, by: Sequence[str]) -> NDArray[np.int64]:
        """Of each group the cell without and the one with the outcome, (G, 2), among those of a table by these
        variables (the regression's, in whatever order), flat; (0, 2) where there are more, or it is not 0 or 1.
        """
        shape = [self.regression.codebook[name].size for name in self.variables]
        order = [self.variables.index(name) for name in by]
        group, outcome = (each.reshape(shape).transpose(order).ravel() for each in (self.group, self.outcome))
        cells = np.flatnonzero(group >= 0)
        if self.regression.kind == "mnlogit" or self.values.tolist() != [0.0, 1.0] or len(cells) != 2 * len(self.low):
            return np.zeros((0, 2), np.int64)
        found = np.full((len(self.low), 2), -1)
        found[group[cells], outcome[cells]] = cells
        return found if (found >= 0).all() else np.zeros((0, 2), np.int64)

    @property
    def first(self) -> NDArray[np.intp]:
        """Groups (G,), those first of which most printed coefficients are made."""
        known = np.isfinite(self.low[:, 0]) | np.isfinite(self.high[:, 0])
        return np.argsort(-(self.inverse[known] != 0.0).sum(axis=0), kind="stable")

    def means(self, group: int, others: Mapping[int, Array]) -> tuple[Array, Array]:
        """Between which (b,) the printed coefficients leave the mean of a group's response, given the means (b,) of
        some `others`; of a regression of one equation.
        """
        least, most = np.full(1, -np.inf), np.full(1, np.inf)
        with np.errstate(all="ignore"):
            eta = {g: _link(self.regression.kind, mean)[0] for g, mean in others.items()}
            for row, low, high in zip(self.inverse, self.low[:, 0], self.high[:, 0], strict=True):
                some = np.flatnonzero(row).tolist()
                if group not in some or not {*some} <= {group, *others}:
                    continue
                rest = sum((row[g] * eta[g] for g in some if g != group), np.zeros(1))
                if not np.isfinite([low, high]).all():  # it may be infinite itself
                    rest = np.where(np.isfinite(rest), rest, np.nan)
                ends = np.sort([(low - rest) / row[group], (high - rest) / row[group]], axis=0)
                least, most = np.fmax(least, ends[0]), np.fmin(most, ends[1])
            return _mean(self.regression.kind, least), _mean(self.regression.kind, most)

    @staticmethod
    def _combined(by: Array, each: Array) -> Array:
        """Sums by (K, G) of what each group has (b, G), (K, b): of those alone that are in a sum."""
        found = np.zeros((len(by), len(each)))
        for at, row in enumerate(by):
            some = np.flatnonzero(row)
            found[at] = each[:, some] @ row[some]
        return found


def saturated(of: Analysis, low: Array | None = None, high: Array | None = None) -> Saturated | None:
    """An output as a function of one table, with numbers printed between `low` and `high` (k,), if any; None where it
    is none.
    """
    if not isinstance(of, Regression) or of.kind not in _KINDS or of.weight or of.offset or of.covariance.cluster:
        return None
    if np.prod([of.codebook[name].size for name in of.variables], dtype=float) > MOST_CELLS:
        return None
    low, high = (
        np.full(len(of.labels), default) if each is None else each for each, default in ((low, -np.inf), (high, np.inf))
    )
    model = of.parts(np.ones(len(low)))[0].model
    codes = _cells(of)
    rows = np.zeros((len(codes), model.coefficients.shape[1]))
    for term in model.terms:
        rows[:, term.columns] = term.rows[level_in(term.joint, codes)]
    counts = _counting(of, model, codes)
    kinds, group = np.unique(rows[counts], axis=0, return_inverse=True)
    if kinds.shape[0] != kinds.shape[1] or np.linalg.cond(kinds) > _WORST:
        return None
    values, outcome = np.unique(model.response[level_in(model.place, codes[counts])], return_inverse=True)
    if of.kind == "mnlogit" and len(values) != len(model.coefficients) + 1:  # `where` leaves an outcome out
        return None
    if of.kind == "ols" and np.abs(values).max() > _LARGE * np.ptp(values):  # its digits are arithmetic's
        return None
    inverse = np.asarray(np.linalg.inv(kinds), np.float64)
    inverse[np.abs(inverse) < _NO_PART] = 0.0
    half = half_digit(of.decimals) * ROUNDING
    says = of.release.says(low - half, high + half, len(of.coefficients), True)
    least, most = says.coefficients.T.reshape(2, -1, len(kinds)).transpose(0, 2, 1)
    of_cells = np.full((2, len(codes)), -1)
    of_cells[:, counts] = group.ravel(), outcome
    centred = any(spans_one(term.rows) for term in model.terms)
    if of.kind != "ols":
        least, most = np.where(least <= -_FAR, -np.inf, least), np.where(most >= _FAR, np.inf, most)
    errors = of.release.of_limits(low - half, high + half, len(of.coefficients), np.inf)[:, 1]
    errors = np.fmin(errors, says.standard_errors[:, 1]).reshape(-1, len(kinds)).T
    ends = least - _SLACK, most + _SLACK
    return Saturated(of, of_cells[0], of_cells[1], values, inverse, *ends, centred, middle(low, high), errors)


def _cells(of: Regression) -> NDArray[np.int64]:
    """Codes of every cell of the table by the regression's variables, (cells, variables of the codebook)."""
    names = of.variables
    codes = np.zeros((int(np.prod([of.codebook[name].size for name in names])), len(of.codebook.names)), np.int64)
    cells = np.indices([of.codebook[name].size for name in names]).reshape(len(names), -1).T
    codes[:, [of.codebook.index(name) for name in names]] = cells
    return codes


def _counting(of: Regression, model: Model, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which cells (c,) hold records that count, as far as the regression's own variables say so."""
    own = {of.codebook.index(name) for name in of.variables}
    counts = np.ones(len(codes), dtype=np.bool_)
    for mask in model.masks:
        if set(mask.joint.variables) <= own:
            counts &= mask.include[level_in(mask.joint, codes)]
    return counts


def _link(kind: str, mean: Array) -> tuple[Array, Array, Array]:
    """Linear predictor, slope of the mean in it, and variance of the response at means (b, G)."""
    if kind == "logit":
        return np.log(mean / (1.0 - mean)), mean * (1.0 - mean), mean * (1.0 - mean)
    if kind == "probit":
        eta = ndtri(mean)
        return eta, np.exp(-(eta**2) / 2.0) / np.sqrt(2.0 * np.pi), ndtr(eta) * ndtr(-eta)
    if kind == "poisson":
        return np.log(mean), mean, mean
    return mean, np.ones_like(mean), np.ones_like(mean)


def _mean(kind: str, eta: Array) -> Array:
    """The mean at linear predictors."""
    return np.asarray({"logit": expit, "probit": ndtr, "poisson": np.exp}.get(kind, np.asarray)(eta))


def _likelihood(kind: str, number: Array, y: Array, mean: Array) -> Array:
    """Log-likelihood (b,) at means (b, G) of counts (b, G, values)."""
    if kind == "ols":
        n, rest = number.sum(axis=(1, 2)), (number * (y - mean[:, :, None]) ** 2).sum(axis=(1, 2))
        return np.asarray(-n / 2.0 * (np.log(2.0 * np.pi * rest / n) + 1.0))
    if kind == "poisson":
        each = xlogy(y, mean[:, :, None]) - mean[:, :, None] - gammaln(y + 1.0)
        return np.asarray((number * each).sum(axis=(1, 2)))
    some = (number * y).sum(axis=2)
    none = number.sum(axis=2) - some
    return np.asarray((xlogy(some, mean) + xlogy(none, 1.0 - mean)).sum(axis=1))
