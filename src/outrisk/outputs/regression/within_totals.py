"""From totals by group to the numbers of a linear regression with fixed effects.

With z the terms, the dummies of further absorbed variables and the response, the products of what is left within groups
are W = sum z z' - sum over groups of (sum z)(sum z)' / n. All else follows from W, n, means and total sums of squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.regression.clustered_totals import Pair, Scores
from outrisk.outputs.regression.programs import Program, counted, prints_constant
from outrisk.outputs.regression.release import INFERENCE, Release, Summary
from outrisk.outputs.regression.sandwich import OF_THE_MODEL, Covariance
from outrisk.problem.algebra import invert

_RIDGE = 1e-11  # least eigenvalue of the scaled products that is told from 0
_HALF = 0.5  # of a record: groups with fewer have none
_OF_EACH = ("coefficients", "standard_errors", "first_stage_f")
_OF_MODEL = tuple(each.name for each in fields(Summary) if each.name not in _OF_EACH)  # `levels` is the last


@dataclass(frozen=True, eq=False)
class _Base:
    """What the numbers are made of, at some totals, as one vector (u,), and its derivatives (u, m) in these.

    b (k,), the diagonal of the inverse (k,), means of the terms (k,) and of the response, rss, the same without terms,
    the total sum of squares, n, mean' inverse mean, the variance of the fixed effects. Of errors clustered by the
    groups variances by scores stand in the place of what is inverse, and last those of the sum of each two
    coefficients. levels (a,): of each absorbed variable how many have records.
    """

    values: Array
    slopes: Array
    levels: Array


@dataclass(frozen=True, eq=False)
class Within:
    """The map of a regression with k terms, then `dummies` of further absorbed variables (of so many levels each), then
    the response; all columns about `centre` and by `scale` (p,). Totals are those of a `Model` of all columns behind a
    constant: p + 1 sums, their products, and the sums of each of `groups`.

    effects: whether the variance of the fixed effects is asked for. drop: whether groups of one record are left out.
    covariance: where errors are clustered by the groups; products of `pairs` of columns then come behind the columns.
    """

    k: int
    dummies: tuple[int, ...]
    groups: int
    centre: Array
    scale: Array
    program: Program
    release: Release
    published: Array
    normal: bool = False
    effects: bool = False
    drop: bool = False
    covariance: Covariance = OF_THE_MODEL
    pairs: tuple[Pair, ...] = ()

    def numbers(self, totals: Array, information: Array) -> Array:
        """The published numbers (k,), exactly but for standard errors that are not by the model."""
        return self.release.numbers(self._summary(self._base(totals, False)), self.published)

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m)."""
        base = self._base(totals, True)
        found = self._vector(base.values.astype(complex), base.levels)
        steps = np.zeros((len(found), len(base.values)))
        for at, value in enumerate(base.values):  # by a complex step (Squire and Trapp 1998)
            moved = base.values.astype(complex)
            step = 1e-20 * max(abs(value), 1e-6)
            moved[at] += 1j * step
            steps[:, at] = np.nan_to_num(self._vector(moved, base.levels).imag / step, posinf=0.0, neginf=0.0)
        return self.release.jacobian(self._summary(base), self._as_summary(steps @ base.slopes), self.published)

    def says(self, low: Array, high: Array) -> None:
        """Nothing: the estimates that are not printed are as many as groups."""

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse covariance (k, k) of the published numbers, sampling and rounding together, by the delta method:
        coefficients vary as the model has it, standard errors as in `newton`, each other number by itself.
        """
        base = self._base(totals, False)
        fit = self._summary(base)
        K, single = len(fit.coefficients), len(_OF_MODEL) - 1 + len(base.levels)
        n = max(float(np.nan_to_num(fit.n)), 4.0)
        many = max(float(base.levels[0]), 2.0) if self.covariance else n  # that errors are made of
        error = np.nan_to_num(fit.standard_errors, nan=1.0)
        covariance = np.zeros((2 * K + single, 2 * K + single))
        covariance[:K, :K] = np.outer(error, error) * self._correlation(totals)
        covariance[range(K, 2 * K), range(K, 2 * K)] = np.maximum(error**2 / (2.0 * many), 1e-30)
        covariance[range(2 * K, 2 * K + single), range(2 * K, 2 * K + single)] = self._variances(fit, n)
        change = self.release.jacobian(fit, self._as_summary(np.eye(2 * K + single)), self.published)
        found = change @ covariance @ change.T
        found[np.diag_indices_from(found)] += self.release.noise(fit) + 1e-300
        scale = np.sqrt(np.diag(found))
        values, vectors = np.linalg.eigh(found / np.outer(scale, scale))
        precision = (vectors / np.maximum(values, _RIDGE)) @ vectors.T
        return np.asarray((precision + precision.T) / 2.0 / np.outer(scale, scale))

    def _correlation(self, totals: Array) -> Array:
        """That of the coefficients (K, K), the constant by itself."""
        inverse = self._inverse(self._parts(totals)[2])[: self.k, : self.k]
        root = np.sqrt(np.maximum(np.diag(inverse), 1e-300))
        found = np.eye(self.k + prints_constant(self.program))
        found[-self.k :, -self.k :] = inverse / np.outer(root, root) if self.k else 0.0
        return found

    def _variances(self, fit: Summary, n: float) -> Array:
        """Sampling variances of the numbers of the whole model, about, in the order of `_OF_MODEL`."""
        found: list[float] = []
        for name in _OF_MODEL[:-1]:
            value = abs(float(np.nan_to_num(getattr(fit, name), posinf=0.0)))
            share = 4.0 * value * (1.0 - min(value, 1.0)) ** 2 / n
            own = {"n": n, "df": n, "f": (1.0 + value) ** 2}.get(name, value**2 / (2.0 * n))
            found.append(max(share if name.startswith(("r2", "rho")) else own, 1e-12))
        return np.array([*found, *[1.0] * len(fit.levels)])

    @cached_property
    def _size(self) -> int:
        """Number of columns of the model."""
        return 1 + len(self.scale) + len(self.pairs)

    @cached_property
    def _triangle(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Of the columns but products of pairs, which come last in it."""
        return np.tril_indices(len(self.scale) + 1)

    @cached_property
    def _first(self) -> int:
        """Where the sums of groups begin."""
        return self._size + self._size * (self._size + 1) // 2

    def _by_group(self, totals: Array) -> Array:
        """Sums (groups, columns)."""
        return totals[self._first : self._first + self.groups * self._size].reshape(self.groups, self._size)

    def _parts(self, totals: Array) -> tuple[Array, Array, Array]:
        """Products (p + 1, p + 1) of all records that count, sums (groups, p + 1), and W (p, p)."""
        p = len(self.scale) + 1
        products = np.zeros((p, p))
        rows, columns = self._triangle
        products[rows, columns] = products[columns, rows] = totals[self._size : self._size + len(rows)]
        sums = self._by_group(totals)[:, :p]
        if self.drop:
            single = sums[np.abs(sums[:, 0] - 1.0) < _HALF]
            products = products - single.T @ single
            sums = np.where((np.abs(sums[:, :1] - 1.0) < _HALF), 0.0, sums)
        some = sums[sums[:, 0] > _HALF]
        means = some / np.sqrt(some[:, :1])
        return products, sums, (products - means.T @ means)[1:, 1:]

    def _inverse(self, left: Array) -> Array:
        """The inverse (d, d) of W but the response, in scaled units."""
        d = len(self.scale) - 1
        diagonal = np.diag(left)[:d]
        scale = np.sqrt(np.where(diagonal > 1e-9, diagonal, 1.0))
        own = left[:d, :d].copy()
        own[np.diag_indices(d)] = scale**2
        return invert(own, scale, _RIDGE) if d else np.zeros((0, 0))

    def _levels(self, products: Array, sums: Array) -> Array:
        """Levels with records of each absorbed variable, that of the groups first."""
        found = [float((sums[:, 0] > _HALF).sum())]
        at = self.k + 1
        for count in self.dummies:  # the first level of each has no dummy
            own = products[0, at : at + count - 1]
            found.append(float((own > _HALF).sum() + (products[0, 0] - own.sum() > _HALF)))
            at += count - 1
        return np.array(found)

    def _base(self, totals: Array, slopes: bool) -> _Base:
        products, sums, left = self._parts(totals)
        d, k, p = len(self.scale) - 1, self.k, len(self.scale)
        inverse = self._inverse(left)
        b = inverse @ left[:d, d]
        other = self._inverse_of_dummies(left)
        plain = other @ left[k:d, d]
        n = max(products[0, 0], 1e-9)
        means = products[0, 1:] / n
        spread = left[d, d]
        rss, tested = spread - b @ left[:d, d], spread - plain @ left[k:d, d]
        about = products[-1, -1] - n * means[-1] ** 2
        mean = np.zeros(d)
        mean[:k] = means[:k] + (self.centre / self.scale)[:k]  # about 0, as the constant is
        along = inverse @ mean
        residual = np.append(-b, 1.0)
        alone = np.zeros(p)
        alone[k:] = np.append(-plain, 1.0)
        scores = self._scores(totals, sums, inverse, np.append(-b, 1.0))
        diagonal, beside = np.diag(inverse)[:k], float(mean @ along)
        if scores is not None:
            diagonal = np.array([scores.variance(row) for row in inverse[:k]])
            beside = scores.variance(along)
        values = [*b[:k], *diagonal, *means[:k], means[-1], rss, tested, about, n, beside]
        some, effect = self._effects(sums, residual)
        values.append(some)
        crossed = [inverse[i] + inverse[j] for i in range(k) for j in range(i)] if scores is not None else []
        values += [scores.variance(row) for row in crossed if scores is not None]
        levels = self._levels(products, sums)
        if not slopes:
            return _Base(np.array(values), np.zeros((0, 0)), levels)
        wide = np.zeros((d, p))
        wide[:, :d] = inverse
        of_products = [
            *(np.outer(row, residual) for row in wide[:k]),
            *(-np.outer(row, row) for row in wide[:k]),
            *[np.zeros((p, p))] * (k + 1),
            np.outer(residual, residual),
            np.outer(alone, alone),
            np.zeros((p, p)),
            np.zeros((p, p)),
            -np.outer(np.append(along, 0.0), np.append(along, 0.0)),
            np.zeros((p, p)) if effect is None else -np.outer(np.append(inverse @ effect[1], 0.0), residual),
        ]
        of_moments = self._of_moments(k, n, means, along if scores is None else inverse @ scores.towards(along) / 2.0)
        groups: dict[int, tuple[Array, Array | None]] = {}
        if effect is not None:
            groups[3 * k + 6] = effect[0], None
        if scores is not None:
            of_products += [np.zeros((p, p))] * len(crossed)
            of_moments += [np.zeros(p + 2)] * len(crossed)
            for at, row in [*enumerate(inverse[:k], k), (3 * k + 5, along), *enumerate(crossed, 3 * k + 7)]:
                of_products[at], *of_groups = scores.slopes(row)
                groups[at] = of_groups[0], of_groups[1]
        return _Base(np.array(values), self._chain(totals, sums, of_products, of_moments, groups), levels)

    def _scores(self, totals: Array, sums: Array, inverse: Array, r: Array) -> Scores | None:
        """Of groups; None where errors are not clustered by them."""
        if not self.covariance:
            return None
        starts = np.cumsum([self.k, *(count - 1 for count in self.dummies)]).tolist()
        dummies = [range(low, high) for low, high in pairwise(starts)]
        return Scores(sums, self._by_group(totals)[:, len(self.scale) + 1 :], self.pairs, dummies, inverse, r)

    def _of_moments(self, k: int, n: float, means: Array, along: Array) -> list[Array]:
        """Derivatives of the base in n, the sums of columns (p,) and the products of the response, (p + 2,) each."""
        p = len(self.scale)
        found = [np.zeros(p + 2) for _ in range(3 * k + 7)]
        for place, column in zip(range(2 * k, 3 * k + 1), [*range(k), p - 1], strict=True):
            found[place][0], found[place][1 + column] = -means[column] / n, 1.0 / n
        about = found[3 * k + 3]
        about[0], about[p], about[p + 1] = means[-1] ** 2, -2.0 * means[-1], 1.0
        found[3 * k + 4][0] = 1.0
        beside = found[3 * k + 5]
        beside[0] = -2.0 * (along[:k] @ means[:k]) / n
        beside[1 : 1 + k] = 2.0 * along[:k] / n
        return found

    def _effects(self, sums: Array, residual: Array) -> tuple[float, tuple[Array, Array] | None]:
        """The variance of the fixed effects over groups; and, for its derivatives, those in the sums of each group
        (groups, p + 1) and in b (d,).
        """
        some = sums[:, 0] > _HALF
        if not self.effects or some.sum() < 2:
            return np.nan if self.effects else 0.0, None
        n = sums[some, :1]
        means = sums[some, 1:] / n
        effects = means @ residual
        gap = (effects - effects.mean()) * 2.0 / (len(effects) - 1.0)
        slopes = np.zeros_like(sums)
        slopes[some, 1:] = gap[:, None] * residual / n
        slopes[some, 0] = -gap * effects / n[:, 0]
        return float(effects.var(ddof=1)), (slopes, means[:, :-1].T @ gap)

    def _chain(
        self,
        totals: Array,
        sums: Array,
        of_products: Sequence[Array],
        of_moments: Sequence[Array],
        groups: Mapping[int, tuple[Array, Array | None]],
    ) -> Array:
        """Derivatives (u, m) in the totals, from those in W (p, p), which are made symmetric, and in the moments;
        groups: of some, further ones in the sums of groups, and in those of products.
        """
        p = len(self.scale) + 1
        rows, columns = self._triangle
        found = np.zeros((len(of_products), len(totals)))
        some = sums[:, 0] > _HALF
        n = np.where(some, sums[:, 0], 1.0)[:, None]
        first, end = self._size, self._size + len(rows)
        for at, (square, moment) in enumerate(zip(of_products, of_moments, strict=True)):
            own = np.zeros((p, p))
            own[1:, 1:] = (square + square.T) / 2.0
            twice = np.where(rows == columns, 1.0, 2.0)
            found[at, first:end] = own[rows, columns] * twice
            here = np.zeros((p, p))
            here[:, 0] = moment[:p]
            here[-1, -1] = moment[p]
            found[at, first:end] += here[rows, columns]
            by_group = np.zeros_like(sums)
            along = sums @ own
            by_group[:, 1:] = -2.0 * along[:, 1:] / n
            by_group[:, 0] = np.einsum("gp,gp->g", along, sums) / n[:, 0] ** 2
            more, pairs = groups.get(at, (0.0, None))
            by_group += more
            wide = np.hstack([by_group, np.zeros((len(sums), len(self.pairs))) if pairs is None else pairs])
            wide[~some] = 0.0
            found[at, self._first : self._first + wide.size] = wide.ravel()
        return found

    def _inverse_of_dummies(self, left: Array) -> Array:
        """The inverse of the part of W that is of dummies alone."""
        d = len(self.scale) - 1
        own = left[self.k : d, self.k : d].copy()
        if not len(own):
            return own
        diagonal = np.diag(own)
        scale = np.sqrt(np.where(diagonal > 1e-9, diagonal, 1.0))
        own[np.diag_indices_from(own)] = scale**2
        return invert(own, scale, _RIDGE)

    def _summary(self, base: _Base) -> Summary:
        return self._as_summary(self._vector(base.values, base.levels))

    def _vector(self, u: NDArray[Any], levels: Array) -> NDArray[Any]:
        """Coefficients (K,), standard errors (K,), then numbers of the whole in the order of `_OF_MODEL`."""
        k = self.k
        unit = self.scale[-1] / self.scale[:k]
        b, inverse, mean, of_y = u[:k], u[k : 2 * k], u[2 * k : 3 * k], u[3 * k]
        rss, tested, about, n, beside, effects = u[3 * k + 1 : 3 * k + 7]
        df = n - counted(self.program, k, [int(each) for each in levels], 1, [False] * len(levels)).whole
        factor, t_df = self._clustered(n, levels)
        with np.errstate(all="ignore"):
            some = df.real > 0
            s2 = rss / df if some and rss.real > 0 else np.nan * df
            found, errors = b * unit, np.sqrt(inverse * (s2 if factor is None else factor)) * unit
            if prints_constant(self.program):
                x = mean * self.scale[:k] + self.centre[:k]
                constant = of_y * self.scale[-1] + self.centre[-1] - x @ found
                found = np.append(constant, found)
                of_constant = s2 * (1.0 / n + beside) if factor is None else factor * beside
                errors = np.append(np.sqrt(of_constant) * self.scale[-1], errors)
            r2 = 1.0 - rss / about
            s, sigma = np.sqrt(s2) * self.scale[-1], np.sqrt(effects) * self.scale[-1]
            of_model = {
                "df": np.inf if self.normal else (df if some else np.nan) if t_df is None else t_df,
                "n": n,
                "residual_sd": s,
                "r2": r2,
                "r2_within": 1.0 - rss / tested,
                "r2_adjusted": 1.0 - rss / (tested if self.program == "plm" else about) * (n - 1.0) / df,
                "rmse": np.sqrt(rss / n) * self.scale[-1],
                "f": (tested - rss) / k / s2 if factor is None else self._wald(b, inverse, u[3 * k + 7 :]) / factor,
                "sigma_u": sigma,
                "rho": sigma**2 / (sigma**2 + s**2),
            }
        return np.array([*found, *errors, *(of_model.get(name, np.nan) for name in _OF_MODEL[:-1]), *levels])

    def _wald(self, b: NDArray[Any], squares: NDArray[Any], crossed: NDArray[Any]) -> Any:
        """B' V^-1 b / k; V has the squares (k,) on its diagonal, and `crossed` are those of the sum of each two."""
        low = np.tril_indices(self.k, -1)
        V = np.diag(squares)
        V[low] = (crossed - squares[low[0]] - squares[low[1]]) / 2.0
        V[low[::-1]] = V[low]
        try:
            return b @ np.linalg.solve(V, b) / self.k
        except np.linalg.LinAlgError:
            return np.nan

    def _clustered(self, n: Any, levels: Array) -> tuple[Any, float | None]:
        """The factor of errors clustered by the groups, and their degrees of freedom; None for errors by the model."""
        if not self.covariance:
            return None, None
        groups = float(levels[0])
        nested = [True, *[False] * len(self.dummies)]
        K = counted(self.program, self.k, [int(each) for each in levels], 1, nested).clustered
        if groups < 2.0 or n.real <= K:
            return np.nan, np.nan
        factor = 1.0 if self.covariance.estimator == "CR0" else groups / (groups - 1.0)
        return factor * ((n - 1.0) / (n - K) if self.covariance.estimator == "CR1S" else 1.0), groups - 1.0

    def _as_summary(self, vector: Array) -> Summary:
        """A summary of numbers, (v,), or of their derivatives, (v, m)."""
        K = self.k + prints_constant(self.program)
        named = dict(zip(_OF_MODEL[:-1], vector[2 * K :], strict=False))
        return Summary(vector[:K], vector[K : 2 * K], levels=vector[2 * K + len(_OF_MODEL) - 1 :], **named)


def sought(release: Release, K: int, by_model: bool, by_groups: bool = False) -> NDArray[np.bool_]:
    """Which of the numbers (k,) follow from totals by group: all but numbers of levels, and F, errors, limits and
    p-values where errors are neither by the model nor clustered `by_groups`.
    """
    found: list[bool] = []
    for part, place in release.layout(K):
        no = part == "levels" or (not by_model and not by_groups and (part == "f" or part in INFERENCE))
        found += [not no] * (place.stop - place.start)
    return np.array(found, dtype=np.bool_)
