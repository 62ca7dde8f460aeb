"""Released margins of a regression: average marginal effects and predictive margins, by the delta method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, record_counts
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.regression.covariance import covariance_of
from outrisk.outputs.regression.margin_designs import Designs
from outrisk.outputs.regression.margin_quantities import Factors, Quantities
from outrisk.outputs.regression.margin_totals import MOST_NUMBERS, part_not_sought, part_of
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import INFERENCE, Kind, Number, Release, Summary
from outrisk.outputs.regression.sandwich import OF_THE_MODEL, Covariance
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import MAX_JOINT
from outrisk.problem.released import ModelPart, Released

MODELS: tuple[Kind, ...] = ("logit", "probit", "poisson", "negbin", "ols")


@dataclass(frozen=True)
class Margins(Common):
    """Margins of a regression that is fitted again: `model` and `formula` as of `Regression`, and its options.

    `dydx`: variables whose average marginal effects are printed: of a number the mean over records of the derivative of
    the expected response, of a category that of the change from the reference to each other level. `predictions`:
    categories at whose levels the mean expected response is, everybody being at that level ('a:b' for the levels of
    both; '' for all as they are). `factors`: 'levels' as above, as Stata and R's marginaleffects have it; 'columns': of
    each design column alone, from 0 to 1 where it has these values only, as statsmodels' `get_margeff(dummy=True)`;
    'slopes': its derivative, as without `dummy`. `at_means`: at the means of columns, instead of means over records.
    Means are weighted where the regression is; standard errors are by the delta method from its covariance.

    The numbers are the coefficients of the regression, none of which is printed, and then those of the margins, as
    `release` says with a margin in the place of a coefficient.
    """

    model: Kind
    formula: str
    dydx: tuple[str, ...] = ()
    predictions: tuple[str, ...] = ()
    factors: Factors = "levels"
    at_means: bool = False
    release: Release = field(default_factory=Release)
    where: str = ""
    event: str = ""
    offset: str = ""
    weight: str = ""
    covariance: Covariance = OF_THE_MODEL

    kind = "margins"

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise self._error(f"model: margins are known of {', '.join(MODELS)}, not of {self.model}")
        parts = ("coefficients", *INFERENCE, "n")
        wrong = [part for part in self.release.parts if part not in parts]
        if wrong or self.release.exponentiate:
            raise self._error(f"release: {wrong[0] if wrong else 'exp(b)'!r} is no part of margins; parts are margins, "
                              f"{', '.join(parts[1:])}")  # fmt: skip
        self.release.checked(self.name, self.model)
        if self.covariance and not self._infers:
            raise self._error("covariance goes with standard errors, limits or p-values, and none is released")
        twice = [each for names in (self.dydx, self.predictions) for each in names if names.count(each) > 1]
        if twice:
            raise self._error(f"dydx and predictions: '{twice[0]}' stands there twice")
        if not self.quantities.all:
            raise self._error("nothing is asked for: name variables in dydx, categories in predictions")
        if self.at_means:
            self.quantities.check_means()

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.name}': {text}")

    @property
    def _infers(self) -> bool:
        return bool(set(INFERENCE) & set(self.release.parts))

    @cached_property
    def regression(self) -> Regression:
        """The regression, with all coefficients."""
        parts: tuple[Number, ...] = ("coefficients", "standard_errors" if self._infers else "n")
        options = (self.where, self.event, "", self.offset, self.weight)
        return Regression(
            self.codebook,
            self.name,
            self.model,
            self.formula,
            Release(parts, self.release.decimals if isinstance(self.release.decimals, int) else 4),
            *options,
            covariance=self.covariance,
            importance=self.importance,
        )

    @property
    def regression_of_n(self) -> Regression:
        """The regression of which the number of records is printed beside coefficients."""
        return replace(self.regression, release=Release(("coefficients", "n")), covariance=OF_THE_MODEL)

    @cached_property
    def quantities(self) -> Quantities:
        """The margins, one after the other."""
        designs = Designs(self.name, self.regression.design, self.regression.tables.offset)
        return Quantities(self.model, designs, self.dydx, self.predictions, self.factors)

    @property
    def variables(self) -> list[str]:
        """Codebook variables of the analysis (without `where`), in codebook order."""
        return self.regression.variables

    @property
    def _names(self) -> list[str]:
        return [each.label for each in self.quantities.all]

    @property
    def n_hidden(self) -> int:
        """How many coefficients there are, none of which is printed."""
        return len(self.regression.coefficients)

    @cached_property
    def labels(self) -> list[str]:
        """One label a number: those of the coefficients first, which are not printed."""
        hidden = [f"coefficient of {name}" for name in self.regression.coefficients]
        return [*hidden, *self.release.labels(self._names)]

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each number, shape (k,)."""
        of_margins = self.release.digits(len(self._names))
        return np.concatenate([np.full(self.n_hidden, of_margins[0]), of_margins])

    @property
    def printed(self) -> NDArray[np.bool_]:
        """Which of the numbers (k,) are printed: none of the coefficients."""
        return np.arange(len(self.labels)) >= self.n_hidden

    def publish(self, values: Array) -> tuple[Array, Array]:
        """Plainly rounded; nothing of what is not printed."""
        low, high = super().publish(values)
        return np.where(self.printed, low, -np.inf), np.where(self.printed, high, np.inf)

    @property
    def explains(self) -> bool:
        """It has a response."""
        return True

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        how = "at the means of the columns" if self.at_means else "averaged over records"
        which = {"levels": "", "columns": "of each column alone", "slopes": "each column as a number"}[self.factors]
        return "; ".join(part for part in (f"margins, {how}", which, self.regression.notes) if part)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """Coefficients and margins (k,) from decoded records, by statsmodels and the delta method; OutputError where
        the regression has no fit.
        """
        sample, frame = self.regression.sample(data)
        fit = self.regression.fit(sample, frame, start)
        codes, k = data.codes[frame.index.to_numpy()], sample.design.shape[1]
        covariance = covariance_of(self.model, sample, fit, self.regression.covariance_meant)
        over = self.quantities.at_means if self.at_means else self.quantities.over
        values, slopes = over(codes, sample.counts, fit.coefficients[:k])
        errors = np.sqrt(np.maximum(np.einsum("jk,kl,jl->j", slopes, covariance[:k, :k], slopes), 0.0))
        found = Summary(values, errors, fit.df, fit.n, np.nan, np.nan, np.nan, np.nan)
        return np.concatenate([fit.coefficients, self.release.numbers(found)])

    def check(self, low: Array, high: Array) -> None:
        """OutputError for numbers that no margin has, such as a standard error below 0."""
        K = self.n_hidden
        self.release.check(self.name, self._names, low[K:], high[K:])
        if self.model == "ols":
            return
        place = slice(K, K + len(self._names))
        half = 0.5 * 10.0 ** -self.decimals[place].astype(float)
        bounded = self.model in ("logit", "probit")
        for each, least, most, slack in zip(self._names, low[place], high[place], half, strict=True):
            is_margin = each.startswith("margin")
            if is_margin and (most + slack < 0.0 or (bounded and np.isfinite(least) and least - slack > 1.0)):
                raise self._error(f"{each} is {most:g}; an expected {'chance' if bounded else 'count'} is never that")

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """The number of records; with weights, what they add up to is not that."""
        return () if self.weight else record_counts(self.labels, "number of records", low, high)

    @property
    def is_sought(self) -> bool:
        """Whether totals of it are possible: it is a mean over records, of few enough kinds."""
        kinds = self._kinds
        per_key = 1 + len(self.regression.columns)
        return not self.at_means and kinds <= MAX_JOINT and kinds * per_key * len(self.quantities.keys) <= MOST_NUMBERS

    @property
    def _kinds(self) -> int:
        names = self.quantities_over
        return int(np.prod([float(self.codebook[name].size) for name in names])) if names else 1

    @cached_property
    def quantities_over(self) -> list[str]:
        """The variables that margins differ by between records: of the right side and the offset, in codebook order."""
        offset = self.quantities.designs.offset
        of_offset = [self.codebook.names[j] for j in offset[0].variables] if offset else []
        used = {*self.regression.design.variables, *of_offset}
        return [name for name in self.codebook.names if name in used]

    @property
    def sought(self) -> NDArray[np.bool_]:
        """A search can bring all of its numbers (k,) nearer, or none of them."""
        return np.full(len(self.labels), self.is_sought)

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Nothing, where a search cannot bring its numbers nearer."""
        if self.is_sought or proves:
            return None
        none = np.zeros(0, dtype=np.int64)
        return Released(CountsFirst.of_whole(self, self, [], none, []), np.zeros(0), np.zeros(0), (), none)

    def implied(self, low: Array, high: Array) -> Sequence[Released]:
        """That there is a fit: each level has records with each outcome."""
        if not self.is_sought:
            return ()
        K, more = self.n_hidden, len(self.regression.labels) - self.n_hidden
        ends = ((low, -np.inf), (high, np.inf))
        return self.regression.implied(*(np.append(each[:K], np.full(more, end)) for each, end in ends))

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Totals of the regression at its coefficients, and of what each record adds to the margins there."""
        return (
            part_of(self, np.asarray(values, dtype=float)) if self.is_sought else part_not_sought(len(self.labels)),
        )
