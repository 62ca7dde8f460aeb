"""Which numbers of a regression are released, and how they are printed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from outrisk.errors import OutputError
from outrisk.outputs.base import Array
from outrisk.problem.formulas import ModelSays
from outrisk.problem.released import half_digit

Kind = Literal["logit", "probit", "poisson", "ols", "mnlogit", "cox", "ologit", "oprobit", "negbin"]
ORDERED: tuple[Kind, ...] = ("ologit", "oprobit")
Number = Literal[
    "coefficients",
    "standard_errors",
    "confidence_limits",
    "p_values",
    "n",
    "events",
    "log_likelihood",
    "pseudo_r2",
    "r2",
    "residual_sd",
    "r2_within",
    "r2_adjusted",
    "rmse",
    "f",
    "sigma_u",
    "rho",
    "levels",
    "variance_u",
    "variance_e",
    "aic",
    "bic",
    "wald",
    "first_stage_f",
    "wu_hausman",
    "sargan",
    "deviations",
    "raw_deviations",
    "raw_quantile",
]
NUMBERS: tuple[Number, ...] = get_args(Number)
DECIMALS = 4
STEEPEST = 1e30  # of a derivative
INFERENCE: tuple[Number, ...] = ("standard_errors", "confidence_limits", "p_values")
OF_EACH: tuple[Number, ...] = ("coefficients", *INFERENCE)  # each coefficient has its own
COUNTS: tuple[Number, ...] = ("n", "events", "levels")
OF_ABSORBED: tuple[Number, ...] = NUMBERS[NUMBERS.index("r2_within") : NUMBERS.index("variance_u")]  # of fixed effects
OF_VARIANCES: tuple[Number, ...] = NUMBERS[NUMBERS.index("variance_u") : NUMBERS.index("wald")]  # of random intercepts
OF_INSTRUMENTS: tuple[Number, ...] = NUMBERS[NUMBERS.index("wald") : NUMBERS.index("deviations")]
OF_QUANTILES: tuple[Number, ...] = NUMBERS[NUMBERS.index("deviations") :]  # of a quantile regression
_OF_MIXED: tuple[Number, ...] = ("n", "log_likelihood", "residual_sd", "sigma_u", "rho", "levels", *OF_VARIANCES)
_OF_IV: tuple[Number, ...] = ("n", "r2", "r2_adjusted", "residual_sd", "f", *OF_INSTRUMENTS)
_OF_QUANTREG: tuple[Number, ...] = ("n", "pseudo_r2", *OF_QUANTILES)
_OWN: dict[str, tuple[Number, ...]] = {"mixed": _OF_MIXED, "iv": _OF_IV, "quantreg": _OF_QUANTREG}
_SINGLE: dict[Number, str] = {
    "n": "number of records",
    "events": "number of events",
    "log_likelihood": "log-likelihood",
    "pseudo_r2": "pseudo-R2",
    "r2": "R2",
    "residual_sd": "residual s",
    "r2_within": "within R2",
    "r2_adjusted": "adjusted R2",
    "rmse": "root of the mean squared residual",
    "f": "F",
    "sigma_u": "sigma_u",
    "rho": "rho",
    "variance_u": "variance between groups",
    "variance_e": "residual variance",
    "aic": "AIC",
    "bic": "BIC",
    "wald": "Wald chi2",
    "wu_hausman": "Wu-Hausman F",
    "sargan": "Sargan chi2",
    "deviations": "sum of deviations",
    "raw_deviations": "raw sum of deviations",
    "raw_quantile": "raw quantile",
}


@dataclass(frozen=True, eq=False)
class Summary:
    """What a fit says of its K coefficients and of the model; NaN where undefined.

    `df` are the degrees of freedom of Student's t, of all or of each; infinite for the normal distribution. Also used
    for the derivatives of all of these in m totals: arrays then have one more axis, of length m, and numbers are arrays
    (m,).
    """

    coefficients: Array  # (K,)
    standard_errors: Array  # (K,)
    df: float | Array
    n: float | Array
    log_likelihood: float | Array
    pseudo_r2: float | Array
    r2: float | Array
    residual_sd: float | Array
    events: float | Array = np.nan  # of a Cox model
    r2_within: float | Array = np.nan  # these of fixed effects
    r2_adjusted: float | Array = np.nan
    rmse: float | Array = np.nan
    f: float | Array = np.nan
    sigma_u: float | Array = np.nan
    rho: float | Array = np.nan
    variance_u: float | Array = np.nan  # these of a random intercept
    variance_e: float | Array = np.nan
    aic: float | Array = np.nan
    bic: float | Array = np.nan
    wald: float | Array = np.nan  # these of instrumental variables
    wu_hausman: float | Array = np.nan
    sargan: float | Array = np.nan
    first_stage_f: Array = field(default_factory=lambda: np.zeros(0))  # (endogenous columns,)
    deviations: float | Array = np.nan  # these of a quantile regression
    raw_deviations: float | Array = np.nan
    raw_quantile: float | Array = np.nan
    levels: Array = field(default_factory=lambda: np.zeros(0))  # (absorbed variables,)


@dataclass(frozen=True)
class Release:
    """Parts of a regression that are released.

    `parts` name them (their order in the output is that of `NUMBERS`); `decimals` are the printed digits, one number
    or one a part (4 where none is given; numbers of records and events have none). `level` is that of the confidence
    limits. With `exponentiate` coefficients and limits are printed as exp(b): odds ratios, rate ratios, hazard ratios;
    standard errors stay those of b, and so do the last `plain` coefficients, such as thresholds. `absorbed` names the
    variables of fixed effects, each of which has a number of levels, `endogenous` columns that have a first stage each.
    """

    parts: tuple[Number, ...] = ("coefficients",)
    decimals: int | Mapping[Number, int] = DECIMALS
    level: float = 0.95
    exponentiate: bool = False
    plain: int = 0
    absorbed: tuple[str, ...] = ()
    endogenous: tuple[str, ...] = ()

    def checked(self, output: str, kind: Kind | Literal["mixed", "iv", "quantreg"]) -> Release:
        """Itself; OutputError for parts that a regression of this kind does not have, or that contradict each other."""
        refused = {
            "ols": ("pseudo_r2", "events"),
            "cox": ("pseudo_r2", "r2", "residual_sd"),
            "negbin": ("pseudo_r2", "r2", "residual_sd", "events"),
        }.get(kind, ("r2", "residual_sd", "events"))
        refused = (*refused, *(("log_likelihood",) if self.absorbed else OF_ABSORBED), *OF_VARIANCES, *OF_INSTRUMENTS)
        refused = (*refused, *OF_QUANTILES)
        known = [part for part in NUMBERS if part not in refused]
        if kind in _OWN:
            known = [part for part in NUMBERS if part in OF_EACH or part in _OWN[kind]]
        wrong = [part for part in self.parts if part not in known]
        if wrong:
            raise OutputError(f"output '{output}': release: {wrong[0]!r} is not a part of {kind}; parts are {known}")
        if "coefficients" not in self.parts:
            raise OutputError(
                f"output '{output}': release: {list(self.parts)} lacks coefficients; "
                "the other parts can be reproduced beside them only"
            )
        unused = (
            [part for part in self.decimals if part not in self.parts] if isinstance(self.decimals, Mapping) else []
        )
        if unused:
            raise OutputError(
                f"output '{output}': decimals for {unused[0]!r}, which is not released; parts are {list(self.parts)}"
            )
        if not 0.0 < self.level < 1.0:
            raise OutputError(f"output '{output}': level: {self.level:g} is not between 0 and 1, as 0.95 is")
        return self

    def layout(self, K: int) -> list[tuple[Number, slice]]:
        """The released parts in order, each with the place of its numbers, for K coefficients."""
        found, at = [], 0
        for part in NUMBERS:
            if part in self.parts:
                several = {
                    "confidence_limits": 2 * K,
                    "levels": len(self.absorbed),
                    "first_stage_f": len(self.endogenous),
                }
                length = 1 if part in _SINGLE else several.get(part, K)
                found.append((part, slice(at, at + length)))
                at += length
        return found

    def without(self, parts: Collection[Number]) -> Release:
        """The same without some of its parts."""
        decimals = self.decimals
        if isinstance(decimals, Mapping):
            decimals = {part: digits for part, digits in decimals.items() if part not in parts}
        return replace(self, parts=tuple(part for part in self.parts if part not in parts), decimals=decimals)

    def labels(self, names: Sequence[str]) -> list[str]:
        """One label a published number; `names` are those of the coefficients."""
        percent = f"{100 * self.level:g} %"
        texts = {
            "coefficients": [
                f"{name}: exp(b)" if ratio else name
                for name, ratio in zip(names, self._ratios(len(names)), strict=True)
            ],
            "standard_errors": [f"{name}: standard error" for name in names],
            "confidence_limits": [f"{name}: {side} {percent}" for side in ("lower", "upper") for name in names],
            "p_values": [f"{name}: p-value" for name in names],
            **{part: [text] for part, text in _SINGLE.items()},
            "levels": [f"levels of {name}" for name in self.absorbed],
            "first_stage_f": [f"first-stage F of {name}" for name in self.endogenous],
        }
        return [label for part, _ in self.layout(len(names)) for label in texts[part]]

    def digits(self, K: int) -> NDArray[np.int64]:
        """Printed digits after the point of each number."""
        found = []
        for part, place in self.layout(K):
            given = self.decimals.get(part, DECIMALS) if isinstance(self.decimals, Mapping) else self.decimals
            found += [0 if part in COUNTS else given] * (place.stop - place.start)
        return np.array(found, dtype=np.int64)

    def coefficients(self, values: Array, K: int) -> Array:
        """The coefficients b (K,) that published numbers (k,) stand for; an exp(b) that prints as 0 is taken to be a
        quarter of a last digit.
        """
        found, ratios = np.array(values[:K], dtype=float), self._ratios(K)
        least = half_digit(self.digits(K))[:K] / 2.0
        found[ratios] = np.log(np.where(found > 0.0, found, least)[ratios])
        return found

    def begin(self, values: Array | None, K: int) -> Array | None:
        """The coefficients b (K,) to begin with, where published numbers (k,) tell all of them."""
        begin = None if values is None else self.coefficients(np.asarray(values, dtype=float), K)
        return begin if begin is not None and np.isfinite(begin).all() else None

    def places(self, part: Number, K: int) -> tuple[int, ...]:
        """Which of the published numbers of K coefficients are of a part."""
        place = dict(self.layout(K)).get(part, slice(0, 0))
        return tuple(range(place.start, place.stop))

    def beside(self, coefficients: Array, published: Array) -> Array:
        """Published numbers (k,) with these coefficients b (K,) in the place of their own."""
        return np.concatenate([self.shown(coefficients), published[len(coefficients) :]])

    def shown(self, coefficients: Array) -> Array:
        """Coefficients b (K,), or one limit of each, as they are printed: exp(b) with `exponentiate`; or of many fits,
        (K, b).
        """
        ratios = self._ratios(len(coefficients)).reshape(-1, *[1] * (coefficients.ndim - 1))
        with np.errstate(over="ignore"):
            return np.where(ratios, np.exp(coefficients), coefficients)

    def _ratios(self, K: int) -> NDArray[np.bool_]:
        """Which of K coefficients are printed as exp(b), (K,)."""
        return np.arange(K) < (K - self.plain if self.exponentiate else 0)

    def says(self, low: Array, high: Array, K: int, centred: bool) -> ModelSays:
        """What numbers between `low` and `high` (k,) say of the K estimates of a fit."""
        ends = np.stack([low, high], axis=1)
        places = dict(self.layout(K))
        free = np.tile([-np.inf, np.inf], (K, 1))

        def of(part: Number) -> Array:
            return ends[places[part]] if part in places else free[: 1 if part in _SINGLE else K]

        b = self._on_scale(of("coefficients"), K)
        if "confidence_limits" in places:  # they lie as far below b as above
            limits = self._on_scale(ends[places["confidence_limits"]], K)
            middle = (limits[:K] + limits[K:]) / 2.0
            b = np.stack([np.maximum(b[:, 0], middle[:, 0]), np.minimum(b[:, 1], middle[:, 1])], axis=1)
        single = {part: of(part)[0] for part in _SINGLE if part in ModelSays.__dataclass_fields__}
        return ModelSays(b, of("standard_errors"), **single, centred=centred)

    def of_limits(self, low: Array, high: Array, K: int, df: float) -> Array:
        """What confidence limits between `low` and `high` (k,) say of the K standard errors, (K, 2), at so many degrees
        of freedom; infinite ends where none are released.
        """
        places = dict(self.layout(K))
        if "confidence_limits" not in places:
            return np.tile([-np.inf, np.inf], (K, 1))
        least, most = (self._on_scale(each[places["confidence_limits"]], K) for each in (low, high))
        return np.asarray(np.stack([least[K:] - most[:K], most[K:] - least[:K]], axis=1) / (2.0 * self.quantile(df)))

    def _on_scale(self, numbers: Array, K: int) -> Array:
        """Printed numbers of K coefficients, or the lower and then the upper limits, on the scale of b."""
        found, ratios = numbers.copy(), np.tile(self._ratios(K), len(numbers) // K)
        with np.errstate(divide="ignore"):
            found[ratios] = np.log(np.maximum(found[ratios], 0.0))
        return found

    def numbers(self, fit: Summary, published: Array | None = None) -> Array:
        """All published numbers (k,), not rounded; NaN where one is undefined.

        Beside `published` numbers (k,) a p-value is that of a coefficient on the side of 0 that was published; on the
        other side it is more than 1, so that what brings the coefficient nearer brings the p-value nearer.
        """
        b, error = fit.coefficients, fit.standard_errors
        found: list[Array] = []
        with np.errstate(all="ignore"):
            for part, _ in self.layout(len(b)):
                if part == "coefficients":
                    found.append(self.shown(b))
                elif part == "standard_errors":
                    found.append(error)
                elif part == "confidence_limits":
                    far = self.quantile(fit.df) * error
                    found += [self.shown(b - far), self.shown(b + far)]
                elif part == "p_values":
                    found.append(_p_values(b / error, self._side(b, published), fit.df))
                elif part in ("levels", "first_stage_f"):
                    found.append(getattr(fit, part))
                else:
                    found.append(np.array([getattr(fit, part)]))
        return np.concatenate(found)

    def jacobian(self, fit: Summary, slopes: Summary, published: Array) -> Array:
        """Derivatives (k, m) of the published numbers; `slopes` are those of the summary. Finite, also where a number
        is undefined: 0 there; and none so large (exp(b) far away) that its square is not.

        exp(b) is far from linear, so its derivative is that of the chord to the `published` value (k,): the derivative
        itself at the match, and elsewhere a distance in exp(b) says how far b is.
        """
        b, error, df = fit.coefficients, fit.standard_errors, fit.df
        found: list[Array] = []
        with np.errstate(all="ignore"):
            for part, place in self.layout(len(b)):
                if part == "coefficients":
                    found.append(slopes.coefficients * self._chord(b, published[place]))
                elif part == "standard_errors":
                    found.append(slopes.standard_errors)
                elif part == "confidence_limits":
                    far, half = np.broadcast_to(self.quantile(df), b.shape), place.start + len(b)
                    by_df = _in_df(self.quantile, df)
                    change = far[:, None] * slopes.standard_errors + np.outer(error * by_df, slopes.df)
                    for sign, side in ((-1.0, slice(place.start, half)), (1.0, slice(half, place.stop))):
                        chord = self._chord(b + sign * far * error, published[side])
                        found.append((slopes.coefficients + sign * change) * chord)
                elif part == "p_values":
                    z, towards = b / error, self._side(b, published)
                    change = (slopes.coefficients - z[:, None] * slopes.standard_errors) / error[:, None]
                    density = (-2.0 * towards * student.pdf(z, df))[:, None]
                    by_df = _in_df(partial(_p_values, z, towards), df)
                    found.append(density * change + np.outer(by_df, slopes.df))
                else:
                    found.append(np.atleast_2d(getattr(slopes, part)))
        finite = np.nan_to_num(np.concatenate(found), nan=0.0, posinf=0.0, neginf=0.0)
        return np.clip(finite, -STEEPEST, STEEPEST)

    def _side(self, b: Array, published: Array | None) -> Array:
        """The sign (K,) of coefficients as published; of `b` itself where none was published, or 0."""
        if published is None:
            return np.sign(b)
        side = np.sign(self._on_scale(published[dict(self.layout(len(b)))["coefficients"]], len(b)))
        return np.where(side == 0.0, np.sign(b), side)

    def _chord(self, here: Array, published: Array) -> Array:
        """Slope (K, 1) from exp(here) to published values, by which those differ from it; 1 of what is no exp(b)."""
        ratios = self._ratios(len(here))
        far = here - np.log(published)
        slope = np.where(np.abs(far) > 1e-6, published * np.expm1(far) / far, np.exp(here))
        return np.asarray(np.where(ratios, np.where(np.isfinite(slope), slope, np.exp(here)), 1.0)[:, None])

    def noise(self, fit: Summary) -> Array:
        """Variance (k,) of each published number that is not sampling: rounding.

        Numbers that others imply (limits and p-values beside standard errors) get their own sampling variance: where a
        candidate is far off, they are not linear in the others, and would contradict them.
        """
        K = len(fit.coefficients)
        variance = 10.0 ** (-2.0 * self.digits(K)) / 12.0
        places = dict(self.layout(K))
        with np.errstate(all="ignore"):
            if "confidence_limits" in places and "standard_errors" in places:
                limits = self.quantile(fit.df) * fit.standard_errors * np.array([[-1.0], [1.0]]) + fit.coefficients
                scale = np.where(self._ratios(K), np.exp(limits), 1.0)
                variance[places["confidence_limits"]] += ((fit.standard_errors * scale) ** 2).ravel()
            if "p_values" in places and {"confidence_limits", "standard_errors"} & set(places):
                variance[places["p_values"]] += 1.0
        return np.asarray(np.nan_to_num(variance, nan=1.0, posinf=1e12))

    def quantile(self, df: float | Array) -> Array:
        """How many standard errors the confidence limits lie from the coefficient."""
        return np.asarray(student.isf((1.0 - self.level) / 2.0, df))

    def check(self, output: str, names: Sequence[str], low: Array, high: Array) -> None:
        """OutputError where published numbers (k,), each from `low` to `high`, cannot come from a regression."""
        labels, K = self.labels(names), len(names)
        tolerance = half_digit(self.digits(K))
        places = dict(self.layout(K))

        def refuse(part: Number, wrong: NDArray[np.bool_], reason: str) -> None:
            if wrong.any():
                at = places[part].start + int(np.argmax(wrong))
                raise OutputError(f"output '{output}': {labels[at]} is {high[at]:g}; {reason}")

        b = places["coefficients"]
        untold = np.isneginf(low[b]) & np.isposinf(high[b])
        wrong = ~untold & ~(np.isfinite(low[b]) & np.isfinite(high[b]))
        if wrong.any():
            raise OutputError(f"output '{output}': the value of {labels[int(np.argmax(wrong))]} is not a number")
        if untold.all():
            raise OutputError(f"output '{output}': no coefficient is known; give the values of some")
        refuse("coefficients", self._ratios(K) & (high[b] < 0.0), "exp(b) is positive: correct it")
        for part, place in places.items():
            least, most = low[place], high[place]
            if part == "standard_errors":
                refuse(
                    part, most + tolerance[place] <= 0.0, "a standard error is positive: correct it, or drop the term"
                )
            elif part == "p_values":
                refuse(
                    part,
                    (most < 0.0) | ((least > 1.0) & np.isfinite(least)),
                    "a p-value lies between 0 and 1: correct it",
                )
            elif part in COUNTS:
                told = np.where(np.isfinite(least), least, 0.0)
                refuse(part, (most < 1.0) | ((told == most) & (told % 1 != 0)), "it is a whole number from 1")
            elif part in ("r2", "pseudo_r2", "r2_within", "r2_adjusted", "rho"):
                refuse(part, least > 1.0, "it is at most 1")
            elif part in ("residual_sd", "rmse", "sigma_u"):
                refuse(part, most < 0.0, "a standard deviation is not negative")
            elif part in OF_INSTRUMENTS:
                refuse(part, most < 0.0, "a test's F or chi2 is not negative")
            elif part in ("variance_u", "variance_e"):
                refuse(part, most < 0.0, "a variance is not negative")
            elif part in ("deviations", "raw_deviations"):
                refuse(part, most < 0.0, "a sum of deviations is not negative")
            elif part == "confidence_limits":
                slack = tolerance[b] + tolerance[place][:K]
                lower, upper = (least[:K] > high[b] + slack), (most[K:] < low[b] - slack)
                refuse(part, np.concatenate([lower, upper]), "the limits must enclose their coefficient")


def _p_values(z: Array, side: Array, df: float | Array) -> Array:
    return np.asarray(2.0 * student.sf(side * z, df))


def _in_df(function: Callable[[float | Array], Array], df: float | Array) -> Array:
    """Derivative of a function of the degrees of freedom; 0 for infinite ones."""
    if not np.isfinite(df).all():
        return np.zeros_like(function(df))
    step = 1e-4 * df
    return np.asarray((function(df + step) - function(df - step)) / (2.0 * step))
