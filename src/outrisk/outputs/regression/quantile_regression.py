"""Released quantile regressions (Koenker and Bassett 1978)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, record_counts
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.regression.by_coefficient import ByCoefficient
from outrisk.outputs.regression.design import Side
from outrisk.outputs.regression.fit import Sample
from outrisk.outputs.regression.on_plane import OnPlane, held_by
from outrisk.outputs.regression.quantile_errors import (
    ERRORS,
    PROGRAMS,
    Bandwidth,
    Errors,
    QuantileProgram,
    errors_of,
)
from outrisk.outputs.regression.quantile_fit import Plane, deviations_of, fitted_plane, residuals_of
from outrisk.outputs.regression.quantile_totals import AtPlane, summary_of
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import INFERENCE, Number, Release, Summary
from outrisk.outputs.regression.totals import spans_one
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Model, Term
from outrisk.problem.counts import middle
from outrisk.problem.released import ModelPart, Released, half_digit

_VALUES = 2_000  # of the response, up to which a search is told the raw sum of deviations
_RAW: tuple[Number, ...] = ("pseudo_r2", "raw_deviations")
_WHOLE = 1e-9  # records
_COLLINEAR = 1e-12  # least eigenvalue of the scaled cross-product of the design


@dataclass(frozen=True)
class QuantileRegression(ByCoefficient):
    """A regression of the quantile `tau` of a response on a formula.

    `program`: whose standard errors, p-values and pseudo-R2 they are; `errors` and `bandwidth`: which of these (''
    for the program's default; see `quantile_errors`). Where several planes have the least sum of deviations, as often
    beside categories, each program prints one that passes through as many records as there are columns: here it is
    one of these too, beside published values the nearest of all. OutputError for a formula that cannot be read, or
    without a constant among its columns; for a `tau` that is not between 0 and 1.
    """

    formula: str
    tau: float = 0.5
    release: Release = field(default_factory=Release)
    where: str = ""
    program: QuantileProgram = "quantreg"
    errors: Errors | str = ""
    bandwidth: Bandwidth = "hsheather"
    keep: tuple[str, ...] = ()

    kind = "quantreg"

    def __post_init__(self) -> None:
        self.release.checked(self.name, "quantreg")
        if not 0.0 < self.tau < 1.0:
            raise self._error(f"tau: {self.tau:g} is not between 0 and 1, as 0.5 is")
        if self.release.exponentiate:
            raise self._error("exponentiate: no program prints exp(b) of a quantile regression")
        if self.program not in PROGRAMS:
            raise self._error(f"program: {self.program!r} is not one of {list(PROGRAMS)}")
        if self.errors not in ("", *ERRORS[self.program]):
            raise self._error(
                f"errors: {self.errors!r} is not known of {self.program}; write one of {list(ERRORS[self.program])}, "
                "or leave standard errors, limits and p-values out of 'release'"
            )
        if not self.linear.has_constant:
            raise self._error(f"formula {self.formula!r} is without a constant; add 1 to it")
        _ = self.linear.kept

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.name}': {text}")

    @cached_property
    def linear(self) -> Regression:
        """The linear regression of the same formula on the same records."""
        return Regression(self.codebook, self.name, "ols", self.formula, Release(), self.where, keep=self.keep)

    @property
    def errors_meant(self) -> Errors:
        """Which standard errors they are."""
        return self.errors or ERRORS[self.program][0]  # type: ignore[return-value]

    @property
    def response(self) -> str:
        """The left side as written."""
        return self.linear.response.side.name

    @property
    def support(self) -> Array:
        """What the response can be, ascending."""
        return np.unique(self.linear.tables.response[1])

    @property
    def design(self) -> Side:
        """The right side."""
        return self.linear.design

    @property
    def variables(self) -> list[str]:
        """Codebook variables of the analysis (without `where`), in codebook order."""
        return self.linear.variables

    @property
    def coefficients(self) -> list[str]:
        """Names of the K coefficients."""
        return self.linear.coefficients

    @property
    def columns(self) -> list[str]:
        """The same, as formulaic names them."""
        return self.linear.columns

    @property
    def references(self) -> dict[str, str]:
        """Variables that enter as categories, each with its reference level ('' if its coding has none)."""
        return self.linear.references

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which coefficients (K,) are printed."""
        return self.linear.kept

    @property
    def kept_columns(self) -> NDArray[np.bool_]:
        """The same."""
        return self.linear.kept

    @property
    def notes(self) -> str:
        """The model in words."""
        inference = set(INFERENCE) & set(self.release.parts)
        errors = f"standard errors {self.errors_meant} of {self.program} ({self.bandwidth})" if inference else ""
        first = [
            f"{self.kind}: {self.formula}, quantile {self.tau:g}",
            errors,
        ]
        return self.in_words(first, self.references)

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """The number of records, where it is printed."""
        return record_counts(self.labels, "number of records", low, high)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """Published numbers (k,); NaN where one is undefined. OutputError where columns are collinear."""
        sample, frame = self.linear.sample(data)
        return self.release.numbers(self.fit(sample, frame, start))

    def plane(self, sample: Sample, frame: pd.DataFrame) -> Plane:
        """The fitted plane; OutputError where there is none."""
        X = sample.design
        scale = np.sqrt((X**2).mean(axis=0))
        full = scale.all() and np.linalg.eigvalsh((X / scale).T @ (X / scale) / len(X))[0] > _COLLINEAR
        plane = fitted_plane(X, sample.response, self.tau) if full else None
        if plane is None:
            raise self.linear.no_fit(sample, frame)
        return plane

    def fit(self, sample: Sample, frame: pd.DataFrame, start: Array | None = None) -> Summary:
        """What the fit says, beside published numbers (k,) at the plane nearest to them."""
        plane, parts = self.plane(sample, frame), set(self.release.parts)
        begin = None if start is None else np.asarray(start[: len(plane.coefficients)], dtype=float)
        b = plane.coefficients
        if not plane.unique.all() and begin is not None:
            b = plane.nearest(sample.design, self.tau, begin)
        n, k = sample.design.shape
        errors = None
        if parts & set(INFERENCE):
            residuals = residuals_of(sample.design, sample.response, b)
            how = (self.program, self.errors_meant, self.bandwidth)
            errors = errors_of(sample.design, sample.response, residuals, self.tau, *how)
        raw, quantile = self._raw(sample.response)
        deviations = plane.deviations(self.tau)
        pseudo = 1.0 - deviations / raw if raw > 0.0 else np.nan
        df = float(n - k) if n > k else np.nan
        return summary_of(b, errors, df, float(n), pseudo, deviations, raw, quantile)

    def _raw(self, response: Array) -> tuple[float, float]:
        """The sum of deviations from the quantile of the response, and that: the least of several that it may be, by
        statsmodels interpolated.
        """
        place = len(response) * self.tau
        whole = round(place) if abs(place - round(place)) < _WHOLE else int(np.ceil(place))
        quantile = float(np.sort(response)[max(whole, 1) - 1])
        if self.program == "statsmodels":
            quantile = float(np.quantile(response, self.tau))
        return deviations_of(response - quantile, self.tau), quantile

    @property
    def sought(self) -> NDArray[np.bool_]:
        """Which numbers (k,) follow from totals at the printed plane: not those of standard errors."""
        found = np.ones(len(self.labels), dtype=np.bool_)
        for part in (*INFERENCE, "raw_quantile", *(() if self._tells_raw else _RAW)):
            found[list(self.release.places(part, len(self.coefficients)))] = False
        return found

    @cached_property
    def _tells_raw(self) -> bool:
        return len(self.support) <= _VALUES

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Signs of residuals at the printed plane, those on it, and the sum of deviations."""
        K = len(self.coefficients)
        values = np.asarray(values, dtype=float)
        return (self._at(values, np.nan_to_num(values[:K])),)

    def _at(self, values: Array, b: Array) -> ModelPart:
        """The part with the totals at coefficients (K,) that need not be those published."""
        K, tables = len(b), self.linear.tables
        place, y = tables.response
        half = half_digit(self.release.digits(K))[:K]
        unit = float(half @ tables.largest) + 1e-9 * float(np.abs(y).max())
        raw = bool(set(_RAW) & set(self.release.parts)) and self._tells_raw
        extra = [Term(place, np.array([0]), y[:, None])]
        if raw:
            at = np.searchsorted(self.support, y)
            extra.append(Term(place, np.arange(1, len(self.support) + 1), np.eye(len(self.support))[at]))
        model = Model(
            "sign",
            b[None, :] / unit,
            place,
            y / unit,
            tables.terms,
            information=True,
            robust=True,
            likelihood=True,
            extra=tuple(extra),
            masks=tables.masks,
        )
        made = AtPlane(b, self.tau, unit, self._ones, self.release, values, self.support, raw)
        if np.isfinite(values[:K]).all():
            return ModelPart(model, made, len(self.labels))
        return ModelPart(model, made, len(self.labels), fitted=made, at=partial(self._at, values))

    def implied(self, low: Array, high: Array) -> Sequence[Released]:
        """As many records lie on the plane as there are columns, and one at least with each of these."""
        K = len(self.coefficients)
        if not (np.isfinite(low[:K]) & np.isfinite(high[:K])).all():
            return ()
        least = np.full(K, np.inf)
        for term in self.linear.tables.terms:
            squares = np.where(term.rows == 0.0, np.inf, term.rows**2).min(axis=0)
            least[term.columns] = np.minimum(least[term.columns], squares)
        (part,) = self.parts(middle(low, high))
        model = replace(part.model, robust=False, likelihood=False, extra=())
        made = held_by(model, least, self._ones)
        output = OnPlane(self.codebook, self.name, made, importance=self.importance)
        ends = np.append(np.ones(K), float(K))
        return (Released(output, ends, np.full(K + 1, np.inf), (made,)),)

    @cached_property
    def _ones(self) -> Array:
        """Which combination of the columns is 1, (K,)."""
        found = np.zeros(len(self.coefficients))
        term = next(term for term in self.linear.tables.terms if spans_one(term.rows))
        found[term.columns] = np.linalg.lstsq(term.rows, np.ones(len(term.rows)), rcond=None)[0]
        return found

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Without what a search cannot bring nearer."""
        of = np.flatnonzero(self.sought)
        if proves or len(of) == len(low):
            return None
        parts = {*INFERENCE, "raw_quantile", *(() if self._tells_raw else _RAW)}
        rest = replace(self, release=self.release.without(parts))
        made = rest.parts(middle(low[of], high[of]))
        names = [self.labels[at] for at in of]
        return Released(CountsFirst.of_whole(self, self, made, of, names), low[of], high[of], made, of)
