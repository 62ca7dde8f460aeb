"""Means and proportions of a survey as functions of totals: the score of a group, and those of its PSUs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from outrisk.outputs.base import Array
from outrisk.outputs.survey_design import SurveyDesign, about_strata, df_of, psus_there
from outrisk.outputs.tables.errors_of_means import ERROR
from outrisk.outputs.tables.person_time import ENDS

_STEP = 1e-6  # of an estimate or its error, by which slopes are taken
_LEAST = 1e-9  # weight, from which a group has records


@dataclass(frozen=True)
class SurveyLimits:
    """Limits of an estimate with a standard error, at a level by Student's t or (`normal`) the normal distribution.

    logit: of a share of `per` on the log odds, and none at 0 and at all of them; else on either side of it.
    """

    level: float
    normal: bool
    logit: bool
    per: float = 1.0

    def quantile(self, df: float) -> float:
        """How many standard errors away, at so many degrees of freedom."""
        upper = 0.5 + self.level / 2.0
        return float(special.ndtri(upper) if self.normal else special.stdtrit(df, upper) if df > 0 else np.nan)

    def of(self, estimate: Array | float, error: Array | float, df: float) -> tuple[Array, Array]:
        """Lower and upper limit; NaN where there are none."""
        away = self.quantile(df) * np.asarray(error, dtype=np.float64)
        if not self.logit:
            return np.asarray(estimate - away), np.asarray(estimate + away)
        p = np.asarray(estimate, dtype=np.float64) / self.per
        some = (p > 0.0) & (p < 1.0)
        with np.errstate(all="ignore"):
            odds, apart = special.logit(p), away / self.per / (p * (1.0 - p))
            ends = [np.where(some, self.per * special.expit(odds + sign * apart), np.nan) for sign in (-1.0, 1.0)]
        return ends[0], ends[1]


@dataclass(frozen=True, eq=False)
class SurveyTotals:
    """The numbers `shown` of one group, at its estimate as published, `at`.

    Totals: the score of the group and its weight; the scores of PSUs (P,) and their records (P,), whose strata (P,)
    are `stratum`; or, where each record is one (None), the sum of squared scores and the number of records.
    """

    shown: tuple[str, ...]
    at: float
    limits: SurveyLimits
    design: SurveyDesign
    stratum: NDArray[np.int64] | None
    own_df: bool
    decimals: NDArray[np.int64]

    def numbers(self, totals: Array, information: Array) -> Array:
        """The numbers (k,); NaN where they are undefined."""
        estimate, variance, _ = self._estimate(totals)
        return self._shown(estimate, np.sqrt(max(variance, 0.0)), self._df(totals))

    def jacobian(self, totals: Array, information: Array) -> Array:
        """Their derivatives (k, m); 0 where they are undefined."""
        return self._by_both(totals) @ self._slopes(totals)

    def precision(self, totals: Array, information: Array) -> Array:
        """Inverse sampling variances, on the diagonal: of a standard error its square over twice the degrees."""
        _, variance, _ = self._estimate(totals)
        df = np.nan_to_num(self._df(totals)) or 1.0
        own = np.nan_to_num(np.array([variance, variance / (2.0 * df)]))
        rounding = 10.0 ** (-2.0 * self.decimals) / 12.0
        return np.diag(1.0 / (self._by_both(totals) ** 2 @ own + rounding))

    def says(self, low: Array, high: Array) -> None:
        """Nothing: these are no estimates of a regression."""

    @cached_property
    def _size(self) -> int:
        return 1 if self.stratum is None else len(self.stratum)

    def _df(self, totals: Array) -> float:
        if self.stratum is None:
            return float(totals[3] - 1.0)
        there = psus_there(totals[2 + self._size :])
        inside = there if not self.own_df else there & (totals[2 : 2 + self._size] != 0.0)
        return df_of(self.stratum, there, inside, self.design.program)

    def _apart(self, totals: Array) -> Array:
        """What the scores of PSUs are multiplied with to their variance, (P,)."""
        if self.stratum is None:
            n = float(totals[3])
            return np.array([n / (n - 1.0) if n > 1.0 else 0.0])
        scores, there = totals[2 : 2 + self._size], psus_there(totals[2 + self._size :])
        inside = there & (scores != 0.0) if self.design.program == "r" else there
        return about_strata(scores[:, None], self.stratum, there, self.design.lonely, inside)[:, 0]

    def _estimate(self, totals: Array) -> tuple[float, float, Array]:
        """The estimate, its variance, and how that changes with the scores of PSUs; NaN without records."""
        weight, apart = float(totals[1]), self._apart(totals)
        if weight <= _LEAST:
            return np.nan, np.nan, np.zeros(self._size)
        meat = float(totals[2 : 2 + self._size] @ apart)
        slope = (apart if self.stratum is None else 2.0 * apart) / weight**2
        return self.at + float(totals[0]) / weight, meat / weight**2, slope

    def _slopes(self, totals: Array) -> Array:
        """Derivatives (2, m) of the estimate and of its standard error."""
        found = np.zeros((2, len(totals)))
        _, variance, slope = self._estimate(totals)
        weight = float(totals[1])
        if weight <= _LEAST or not np.isfinite(variance):
            return found
        found[0, :2] = 1.0 / weight, -float(totals[0]) / weight**2
        root = np.sqrt(max(variance, 1e-300))
        found[1, 1] = -variance / weight / root
        found[1, 2 : 2 + self._size] = slope / (2.0 * root)
        return np.clip(found, -1e30, 1e30)

    def _by_both(self, totals: Array) -> Array:
        """Derivatives (k, 2) of the numbers in the estimate and in its standard error."""
        estimate, variance, _ = self._estimate(totals)
        error, df = np.sqrt(max(variance, 0.0)), self._df(totals)
        found = np.zeros((len(self.shown), 2))
        for column, size in enumerate((max(abs(estimate), 1e-3), max(error, 1e-3))):
            step = _STEP * size
            ends = [
                self._shown(estimate + sign * step * (column == 0), error + sign * step * (column == 1), df)
                for sign in (-1.0, 1.0)
            ]
            found[:, column] = (ends[1] - ends[0]) / (2.0 * step)
        return np.where(np.isfinite(found), found, 0.0)

    def _shown(self, estimate: float, error: float, df: float) -> Array:
        found = dict(zip(ENDS, self.limits.of(estimate, error, df), strict=True)) if ENDS[0] in self.shown else {}
        return np.array([found.get(each, error if each == ERROR else estimate) for each in self.shown])
