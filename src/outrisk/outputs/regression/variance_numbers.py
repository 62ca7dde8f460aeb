"""The numbers that are printed of a linear model with a random intercept, from what a fit of it comes down to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.regression.random_intercept import Method, Moments, Products, satterthwaite, swamy_arora
from outrisk.outputs.regression.release import Summary

MixedProgram = Literal["lme4", "lmerTest", "nlme", "mixed", "xtreg", "plm", "statsmodels", "spss"]
PROGRAMS: tuple[MixedProgram, ...] = get_args(MixedProgram)
BY_GLS: tuple[MixedProgram, ...] = ("xtreg", "plm")
OF_MODEL = ("n", "log_likelihood", "aic", "bic", "residual_sd", "sigma_u", "rho", "variance_u", "variance_e")


def method_of(program: MixedProgram) -> Method:
    """How a program fits unless it is told otherwise."""
    return "gls" if program in BY_GLS else "ml" if program == "mixed" else "reml"


@dataclass(frozen=True, eq=False)
class Units:
    """From scaled columns to those of the data: coefficients are `back` (d, d) times the scaled ones, times `scale` of
    the response, whose centre is added to the first, the constant.
    """

    back: Array
    centre: float
    scale: float

    @classmethod
    def of(cls, centre: Array, scale: Array) -> Units:
        """Of columns about their `centre` and by their `scale` (p,), the response last; the constant is not among."""
        back = np.diag(np.append(1.0, 1.0 / scale[:-1]))
        back[0, 1:] = -centre[:-1] / scale[:-1]
        return cls(back, float(centre[-1]), float(scale[-1]))


@dataclass(frozen=True)
class Numbers:
    """Which model it is, and in which units: `vector` has its numbers, from `Fit`."""

    method: Method
    program: MixedProgram
    units: Units

    def vector(self, u: NDArray[Any]) -> NDArray[Any]:
        """Coefficients (K,), standard errors (K,), then those of `OF_MODEL`; u: b (K,), the diagonal of the inverse
        (K,), the residual sum of squares, n, log-determinants of the covariance and of the products, the ratio, and the
        residual variance of Swamy and Arora.
        """
        K = (len(u) - 6) // 2
        b, inverse, (rss, n, spread, products, ratio, of_within) = u[:K], u[K : 2 * K], u[2 * K :]
        unit = self.units.scale
        of = n - K if self.method == "reml" else n
        with np.errstate(all="ignore"):
            s2 = of_within if self.method == "gls" else rss / of
            of_errors = rss / (n - K) if self.method == "gls" or self._adjusted else s2
            found, errors = b * unit, np.sqrt(inverse * of_errors) * unit
            found = found + np.append(self.units.centre, np.zeros(K - 1))
            likelihood = -0.5 * (of * np.log(2.0 * np.pi * s2 * unit**2) + spread + of)
            if self.method == "reml":
                likelihood = likelihood - 0.5 * (products - 2.0 * np.linalg.slogdet(self.units.back)[1])
            if self.method == "gls":
                likelihood = np.nan * n
            alone = self.program == "spss" and self.method == "reml"  # the variances alone are its parameters
            parameters = 2.0 if alone else K + 2.0
            restricted = self.method == "reml" and self.program in ("nlme", "spss")
            records = n - K if restricted else n
            between, residual = ratio * s2 * unit**2, s2 * unit**2
            of_model = {
                "n": n,
                "log_likelihood": likelihood,
                "aic": 2.0 * (parameters - likelihood),
                "bic": parameters * np.log(records) - 2.0 * likelihood,
                "residual_sd": np.sqrt(residual),
                "sigma_u": np.sqrt(between),
                "rho": ratio / (1.0 + ratio),
                "variance_u": between,
                "variance_e": residual,
            }
        return np.array([*found, *errors, *(of_model[name] for name in OF_MODEL)])

    @property
    def _adjusted(self) -> bool:
        """Nlme's summary takes the residual variance over n - K in its errors, also of a fit by ML."""
        return self.program == "nlme" and self.method == "ml"

    def summary(self, vector: Array, df: Array | float, groups: Array) -> Summary:
        """A summary of numbers, (v,), or of their derivatives, (v, m)."""
        K = (len(vector) - len(OF_MODEL)) // 2
        named = dict(zip(OF_MODEL, vector[2 * K :], strict=True))
        missing = {"pseudo_r2": np.nan * vector[0], "r2": np.nan * vector[0]}
        return Summary(vector[:K], vector[K : 2 * K], df, levels=groups, **named, **missing)

    def ratio(self, moments: Moments) -> tuple[float, float]:
        """The ratio, which of GLS may be below 0, and the residual variance of Swamy and Arora (0 of others)."""
        if self.method == "gls":
            found = swamy_arora(moments, self.program == "plm")
            return found.ratio, found.residual
        return moments.likeliest(self.method), 0.0

    def fit(self, moments: Moments, ratio: float, residual: float) -> Array:
        """What `vector` takes, at a ratio that is not below 0."""
        products = moments.products(ratio)
        fit = Products.of(products)
        rows = self.units.back @ fit.inverse
        diagonal = (rows * self.units.back).sum(axis=1)
        if self.program == "statsmodels":
            diagonal = diagonal + self._by_ratio(moments, fit, ratio)
        determinant = -np.linalg.slogdet(fit.inverse)[1]
        rest = (fit.rss, moments.records, moments.spread(ratio)[0], determinant, ratio, residual)
        return np.array([*(self.units.back @ fit.b), *diagonal, *rest])

    def _by_ratio(self, moments: Moments, fit: Products, ratio: float) -> Array:
        """What statsmodels' errors have besides, (K,) over the residual variance: they are by the inverse of all second
        derivatives of the likelihood, in which coefficients and the ratio are not independent.
        """
        bend = moments.bend(ratio, self.method)
        moved = self.units.back @ fit.inverse @ (moments.slope(ratio) @ fit.r)[:-1]
        s2 = fit.rss / moments.degrees(self.method)
        return np.asarray(moved**2 * 2.0 / (bend * s2)) if bend > 0.0 else np.full(len(moved), np.nan)

    def df(self, moments: Moments, ratio: float) -> Array:
        """Degrees of freedom of each coefficient, (K,): infinite for the normal distribution."""
        d = moments.d
        if self.program == "lmerTest":
            rows = self.units.back @ Products.of(moments.products(ratio)).inverse
            return satterthwaite(moments, ratio, self.method, list(rows))
        if self.program != "nlme":
            return np.full(d, np.inf)
        groups, varies = float(len(moments.n)), moments.varies
        inside = moments.records - groups - varies.sum()
        outside = groups - (~varies).sum()  # the constant among these
        found = np.where(varies, inside, outside)
        found[0] = max(inside, outside if d > 1 else groups)  # as nlme 3.1 has it
        return np.where(found > 0.0, found, np.nan)


def fitted(numbers: Numbers, moments: Moments) -> Summary:
    """The fit of such a model."""
    ratio, residual = numbers.ratio(moments)
    groups = np.array([float(len(moments.n))])
    K = moments.d
    if not np.isfinite(ratio) or moments.exact:
        found = np.full(2 * K + len(OF_MODEL), np.nan)
        found[2 * K] = moments.records
        return numbers.summary(found, np.nan, groups)
    ratio = max(ratio, 0.0)
    return numbers.summary(numbers.vector(numbers.fit(moments, ratio, residual)), numbers.df(moments, ratio), groups)
