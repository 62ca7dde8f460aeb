"""Margins from totals: what each record adds to them at the coefficients, and the delta method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array, joint_for
from outrisk.outputs.regression.margin_quantities import AS_IS, Key, Quantities
from outrisk.outputs.regression.newton import Newton, estimates_of
from outrisk.outputs.regression.release import Release, Summary
from outrisk.problem.blocks import Joint, Model, Term
from outrisk.problem.formulas import Estimates, ModelSays
from outrisk.problem.released import ModelPart

if TYPE_CHECKING:
    from outrisk.outputs.regression.marginal_effects import Margins

MOST_NUMBERS = 20_000_000  # what all kinds of records add to totals of margins, at most
_RIDGE = 1e-11  # least eigenvalue of a scaled covariance that is told from 0


@dataclass(frozen=True, eq=False)
class Places:
    """Where among the totals of margins (E,) the sum of weights, and what each key adds up to, stand: its value, and
    its derivatives in the coefficients (k,), -1 where these are 0 for every record.
    """

    keys: Sequence[Key]
    value: NDArray[np.intp]
    slopes: NDArray[np.intp]  # (keys, k)
    size: int

    def linear(self, quantities: Quantities, b: Array) -> tuple[Array, Array]:
        """How the margins (J, E) and their derivatives (J, k, E) are made of these totals, times the weights' sum."""
        J, k, at = len(quantities.all), self.slopes.shape[1], {key: i for i, key in enumerate(self.keys)}
        values, slopes = np.zeros((J, self.size)), np.zeros((J, k, self.size))

        def add(j: int, key: Key, times: float) -> None:
            i = at[key]
            values[j, self.value[i]] += times
            some = np.flatnonzero(self.slopes[i] >= 0)
            slopes[j, some, self.slopes[i, some]] += times

        for j, each in enumerate(quantities.all):
            if each.column >= 0:
                add(j, AS_IS, float(b[each.column]))
                slopes[j, each.column, self.value[at[AS_IS]]] += 1.0
            for sign, key in each.sides:
                add(j, key, sign)
        return values, slopes


@dataclass(frozen=True, eq=False)
class MarginMap:
    """From totals to the coefficients (K,) and then margins, as `release` has them. Totals: those of the regression, of
    which `newton` makes its estimates, then those of margins, from `first` on. `values` (J, E) and `slopes` (J, k, E):
    how margins follow from the latter at the regression's coefficients (see `Places`).
    """

    newton: Newton
    release: Release
    published: Array
    first: int
    values: Array
    slopes: Array

    @property
    def n_hidden(self) -> int:
        """Number of coefficients, none of which is printed."""
        return len(self.newton.values)

    def numbers(self, totals: Array, information: Array) -> Array:
        """All numbers (k,)."""
        fit, found, *_ = self._margins(totals, information)
        return np.concatenate([fit.coefficients, self.release.numbers(found, self.published[self.n_hidden :])])

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m) in the totals."""
        slopes, found, of_found = self._slopes(totals, information)
        return np.vstack([slopes.coefficients, self.release.jacobian(found, of_found, self.published[self.n_hidden :])])

    def _margins(self, totals: Array, information: Array) -> tuple[Summary, Summary, Array, Array]:
        """The regression's fit and the margins, the derivatives of these in the coefficients (J, K), and the inverse of
        the information.
        """
        inverse = self.newton.inverse(totals, information)
        fit = self.newton.summary(totals, inverse)
        own = totals[self.first :]
        weight = own[0] if own[0] > 0.0 else np.nan
        D = np.zeros((len(self.values), self.n_hidden))
        D[:, : self.slopes.shape[1]] = self.slopes @ own / weight
        values = self.values @ own / weight + D @ (fit.coefficients - self.newton.values)
        errors = np.sqrt(np.maximum(self._variance(totals, inverse, fit, D), 0.0))
        return fit, Summary(values, errors, fit.df, fit.n, np.nan, np.nan, np.nan, np.nan), D, inverse

    def _variance(self, totals: Array, inverse: Array, fit: Summary, D: Array) -> Array:
        sandwich = self.newton.sandwich
        if sandwich is not None:
            return np.asarray(np.einsum("jk,kl,jl->j", D, sandwich.of(totals, inverse, float(fit.n)), D))
        dispersion = float(fit.residual_sd) ** 2 if self.newton.kind == "ols" else 1.0
        return np.asarray(dispersion * np.einsum("jk,kl,jl->j", D, inverse, D))

    def _slopes(self, totals: Array, information: Array) -> tuple[Summary, Summary, Summary]:
        """Derivatives in all totals of the fit; the margins, and their derivatives."""
        newton, K, k, m = self.newton, self.n_hidden, self.slopes.shape[1], len(totals)
        fit, found, D, inverse = self._margins(totals, information)
        of_fit = newton.slopes(totals, inverse)
        weight, own = totals[self.first], slice(self.first, m)
        step = fit.coefficients - newton.values
        values = D @ of_fit.coefficients
        values[:, own] += (self.values + np.einsum("k,jke->je", step[:k], self.slopes)) / weight
        values[:, self.first] -= found.coefficients / weight
        along, variance = D @ inverse, np.zeros((len(D), m))
        if newton.sandwich is not None:
            of_information, of_meat, of_n = newton.sandwich.slopes(totals, inverse, float(fit.n), D)
            variance[:, K : K + of_information.shape[1]] = of_information
            variance[:, newton.sandwich.place] = of_meat
            variance += np.outer(of_n, of_fit.n)
            along = D @ newton.sandwich.of(totals, inverse, float(fit.n))
        else:
            s = float(fit.residual_sd) if newton.kind == "ols" else 1.0
            if newton.information:
                rows, columns = np.tril_indices(K)
                twice = np.where(rows == columns, 1.0, 2.0)  # totals off the diagonal stand in the matrix twice
                variance[:, K : K + len(rows)] = -(s**2) * along[:, rows] * along[:, columns] * twice
            if newton.kind == "ols":
                variance += np.outer(found.standard_errors**2 * 2.0 / s, of_fit.residual_sd)
            along = along * s**2
        variance[:, own] += 2.0 * np.einsum("jk,jke->je", along[:, :k], self.slopes) / weight
        variance[:, self.first] -= 2.0 * found.standard_errors**2 / weight
        errors = variance / (2.0 * np.maximum(found.standard_errors, 1e-150)[:, None])
        zero = np.zeros(m)
        return of_fit, found, Summary(values, errors, of_fit.df, of_fit.n, zero, zero, zero, zero)

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse covariance (k, k): of coefficients as if they were printed, and of margins by the delta method."""
        K = self.n_hidden
        _, found, D, inverse = self._margins(totals, information)
        covariance = D @ inverse @ D.T
        scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        with np.errstate(all="ignore"):
            size = np.where(scale > 0.0, found.standard_errors / scale, 1.0)
        size = np.where(np.isfinite(size) & (size > 0.0), size, 1.0)
        covariance = covariance * np.outer(size, size)
        own, slopes = estimates_of("logit", found, covariance, max(float(np.nan_to_num(found.n)), 1.0))
        change = self.release.jacobian(found, slopes, self.published[K:])
        of_margins = change @ own @ change.T
        of_margins[np.diag_indices_from(of_margins)] += self.release.noise(found)
        scale = np.sqrt(np.maximum(np.diag(of_margins), 1e-300))
        values, vectors = np.linalg.eigh(of_margins / np.outer(scale, scale))
        precise = (vectors / np.maximum(values, _RIDGE)) @ vectors.T / np.outer(scale, scale)
        matrix = np.zeros((K + len(precise), K + len(precise)))
        matrix[:K, :K] = self.newton.score(totals, information)[1]
        matrix[K:, K:] = (precise + precise.T) / 2.0
        return matrix

    def says(self, low: Array, high: Array) -> ModelSays:
        """What numbers between `low` and `high` (k,) say of the regression's estimates: of its coefficients nothing but
        what is given of them, and how many records there are.
        """
        K, J = self.n_hidden, len(self.values)
        free = self.newton.says(*self._of_regression(low, high))
        own = self.release.says(low[K:], high[K:], J, self.newton.centred)
        return replace(free, n=own.n, errors=None)

    def _of_regression(self, low: Array, high: Array) -> tuple[Array, Array]:
        more = len(self.newton.published) - self.n_hidden
        return np.append(low[: self.n_hidden], np.full(more, -np.inf)), np.append(
            high[: self.n_hidden], np.full(more, np.inf)
        )

    def told(self, low: Array, high: Array) -> ModelSays:
        """The same."""
        return self.says(low, high)

    def score(self, totals: Array, information: Array) -> tuple[Array, Array]:
        """Score (K,) and information (K, K) at the coefficients."""
        return self.newton.score(totals, information)

    def estimates(self, totals: Array, information: Array, low: Array, high: Array) -> Estimates:
        """The coefficients, margins and their standard errors, and the number of records, and what numbers between
        `low` and `high` (k,) say of them.
        """
        K, J = self.n_hidden, len(self.values)
        of_fit, found, slopes = self._slopes(totals, information)
        fit, *_ = self._margins(totals, information)
        says = self.release.says(low[K:], high[K:], J, self.newton.centred)
        of_limits = self.release.of_limits(low[K:], high[K:], J, float(found.df))
        errors = np.stack(
            [
                np.fmax(says.standard_errors[:, 0], of_limits[:, 0]),
                np.fmin(says.standard_errors[:, 1], of_limits[:, 1]),
            ],
            axis=1,
        )
        ranges = np.concatenate([np.stack([low[:K], high[:K]], axis=1), says.coefficients, errors, says.n[None]])
        values = np.concatenate([fit.coefficients, found.coefficients, found.standard_errors, [float(found.n)]])
        jacobian = np.vstack(
            [of_fit.coefficients, slopes.coefficients, slopes.standard_errors, np.atleast_2d(slopes.n)]
        )
        return Estimates(values, jacobian, ranges[:, 0], ranges[:, 1], range(K + J, K + 2 * J))


@dataclass(frozen=True, eq=False)
class NotSought:
    """Margins (k,) that are not made of totals: what they are these do not say."""

    n_numbers: int

    def numbers(self, totals: Array, information: Array) -> Array:
        """Undefined."""
        return np.full(self.n_numbers, np.nan)

    def jacobian(self, totals: Array, information: Array) -> Array:
        """None."""
        return np.zeros((self.n_numbers, len(totals)))

    def precision(self, totals: Array, information: Array) -> Array:
        """Nothing is known."""
        return np.zeros((self.n_numbers, self.n_numbers))

    def says(self, low: Array, high: Array) -> None:
        """Nothing of any regression."""


def part_not_sought(n_numbers: int) -> ModelPart:
    """So many numbers that no totals tell."""
    everywhere = Joint((), (), 1)
    one = Term(everywhere, np.zeros(1, np.int64), np.ones((1, 1)))
    return ModelPart(
        Model("none", np.zeros((0, 0)), everywhere, np.zeros(1), extra=(one,)), NotSought(n_numbers), n_numbers
    )


def part_of(output: Margins, published: Array) -> ModelPart:
    """Totals at the coefficients that are among some published numbers (k,), and the way back to these."""
    return _at(output, published, published[: output.n_hidden])


def _at(output: Margins, published: Array, coefficients: Array) -> ModelPart:
    """The same at coefficients (K,) that need not be those published."""
    K, regression = output.n_hidden, output.regression
    of_regression = np.append(coefficients, np.zeros(len(regression.labels) - K))
    base = regression.tables.part(of_regression)
    newton = cast(Newton, base.map)
    b = base.model.parameters[: len(regression.columns)]
    term, places = _table(output, b, base.model)
    model = replace(base.model, extra=(*base.model.extra, term))
    values, slopes = places.linear(output.quantities, b)
    made = MarginMap(newton, output.release, published, base.model.size, values, slopes)
    J = len(output.quantities.all)
    errors, p_values = (
        tuple(K + at for at in output.release.places(part, J)) for part in ("standard_errors", "p_values")
    )
    return ModelPart(model, made, len(published), errors, p_values, made, partial(_at, output, published))


def _table(output: Margins, b: Array, model: Model) -> tuple[Term, Places]:
    """What each kind of record adds to the totals of margins, and where these stand."""
    codebook, quantities = output.codebook, output.quantities
    joint = joint_for(codebook, output.quantities_over, output.name)
    codes = _codes(joint, codebook.sizes)
    columns, at, value, slopes = [np.ones((joint.size, 1))], 1, [], []
    for key in quantities.keys:
        of_value, of_slopes = quantities.of_key(key, codes, b)
        some = np.flatnonzero(of_slopes.any(axis=0))
        columns += [of_value[:, None], of_slopes[:, some]]
        place = np.full(len(b), -1, dtype=np.intp)
        place[some] = at + 1 + np.arange(len(some))
        value.append(at)
        slopes.append(place)
        at += 1 + len(some)
    places = Places(quantities.keys, np.array(value, dtype=np.intp), np.array(slopes, dtype=np.intp), at)
    return Term(joint, model.n_extra + np.arange(at), np.hstack(columns)), places


def _codes(joint: Joint, sizes: Sequence[int]) -> NDArray[np.int64]:
    """A record's codes (joint.size, variables) at each level of a joint; 0 of other variables."""
    levels = np.indices([sizes[j] for j in joint.variables]).reshape(len(joint.variables), joint.size)
    codes = np.zeros((joint.size, len(sizes)), dtype=np.int64)
    codes[:, list(joint.variables)] = levels.T
    return codes
