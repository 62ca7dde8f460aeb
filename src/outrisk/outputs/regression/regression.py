"""Released regressions: logit, probit, Poisson, linear, multinomial and ordered logit, negative binomial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import format_value
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Subset, joint_for, places_in, record_counts
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.regression.by_coefficient import ByCoefficient
from outrisk.outputs.regression.design import Side, read_formula, read_number
from outrisk.outputs.regression.existence import existence
from outrisk.outputs.regression.fit import Sample, fit_likelihood, fit_ols, why_not
from outrisk.outputs.regression.release import INFERENCE, ORDERED, Kind, Release, Summary
from outrisk.outputs.regression.response import NumberResponse, OutcomeResponse, Response
from outrisk.outputs.regression.sandwich import OF_THE_MODEL, Covariance
from outrisk.outputs.regression.totals import Tables, spans_one
from outrisk.outputs.regression.with_shape import fit_with_shape, why_no_dispersion
from outrisk.outputs.survey_design import Drawn, OverCodebook, SurveyDesign
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Mask, Weight
from outrisk.problem.counts import middle
from outrisk.problem.released import ModelPart, Released, half_digit


@dataclass(frozen=True)
class Regression(ByCoefficient):
    """A regression of a formula (as formulaic reads it); `release` says which of its numbers are published.

    Records with a missing value in any of its variables are left out. `event` is the value of a 0/1 response that
    counts as 1 (logit, probit; see `Response`), `base` the outcome that others are compared with (mnlogit; see
    `OutcomeResponse`), `offset` an expression that is added to the linear predictor (counts), `weight` a numeric
    variable that says how often a record counts: as frequencies for likelihoods, as analytic weights for ols; n counts
    records. `keep`: variables, terms, columns or labels of the coefficients that are printed, or 'constant'; empty for
    all. The others are adjusted for. An ordered logit or probit has no constant, and after the coefficients its
    thresholds, between each two outcomes in the order of the codebook; a negative binomial regression the dispersion
    alpha, the variance of a count being mean + alpha mean^2. `names` (may be empty) rename the design columns, such as
    'C(AREAP)[T.58]' to 'AREAP_58'.
    OutputError if the formula cannot be read, names what is not in the codebook, or depends on the data as a whole.
    """

    kind: Kind
    formula: str
    release: Release = field(default_factory=Release)
    where: str = ""
    event: str = ""
    base: str = ""
    offset: str = ""
    weight: str = ""
    names: Mapping[str, str] | None = None
    covariance: Covariance = OF_THE_MODEL
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.release.checked(self.name, self.kind)
        _ = self.covariance_meant
        for option, given, kinds in (
            ("event", self.event, ("logit", "probit", "cox")),
            ("base", self.base, ("mnlogit",)),
            ("offset", self.offset, ("poisson", "negbin")),
        ):
            if given and self.kind not in kinds:
                some = " and ".join(filter(None, [", ".join(kinds[:-1]), kinds[-1]]))
                raise OutputError(f"output '{self.name}': '{option}' goes with {some}, not {self.kind}")
        if self.of_shape:
            object.__setattr__(self, "release", replace(self.release, plain=len(self.of_shape)))
        self._prepare()
        _ = self.kept

    def _prepare(self) -> None:
        """OutputError where there is no such model over the codebook."""
        _ = self.tables

    @cached_property
    def covariance_meant(self) -> Covariance:
        """How its standard errors were estimated: 'robust' as what that is of this kind."""
        inference = bool(set(INFERENCE) & set(self.release.parts))
        found = self.covariance.checked(self.name, self.kind == "ols", inference)
        if found.survey:
            self._check_survey(found.survey)
        if found.cluster and found.cluster not in self.codebook:
            raise OutputError(
                f"output '{self.name}': cluster: no variable '{found.cluster}'; variables are {self.codebook.names}"
            )
        return found

    def _check_survey(self, survey: SurveyDesign) -> None:
        """OutputError where no program prints it of a survey."""
        OverCodebook(self.codebook, self.name, survey)
        unknown = [each for each in self.release.parts if each in ("log_likelihood", "pseudo_r2", "residual_sd")]
        if self.kind not in ("ols", "logit", "poisson"):
            raise OutputError(
                f"output '{self.name}': design goes with ols, logit and poisson, not {self.kind}; of others programs "
                "differ"
            )
        if unknown:
            raise OutputError(
                f"output '{self.name}': release: {unknown[0]!r} is not printed of a survey's regression, which has no "
                "likelihood; leave it out"
            )

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    @cached_property
    def _sides(self) -> tuple[Response | NumberResponse | OutcomeResponse, Side]:
        left, right = read_formula(self.codebook, self.name, self.formula)
        if self.kind in ORDERED:
            return OutcomeResponse(left, kind=self.kind), replace(right, constant=False)
        if self.kind == "mnlogit":
            return OutcomeResponse(left, self.base), right
        if self.kind in ("ols", "poisson", "negbin"):
            return NumberResponse(left, counts=self.kind != "ols"), right
        return Response(left, self.event), right

    @property
    def response(self) -> Response | NumberResponse | OutcomeResponse:
        """The left side; of a Cox model the time."""
        return self._sides[0]

    @property
    def design(self) -> Side:
        """The right side."""
        return self._sides[1]

    @cached_property
    def _offset(self) -> Side | None:
        return read_number(self.codebook, self.name, "offset", self.offset) if self.offset else None

    @cached_property
    def tables(self) -> Tables:
        """Its sides, subset and weight over the supports of their variables."""
        response, design = self._sides
        self._check_left_out(design)
        terms = design.terms()
        if self.kind in ORDERED and (not terms or any(spans_one(term.rows) for term in terms)):
            raise OutputError(
                f"output '{self.name}': formula {self.formula!r} needs a term, and no constant among its columns: an "
                f"{self.kind} has thresholds; leave out '0 +' or '- 1'"
            )
        offset = None
        if self._offset is not None:
            joint, values = self._offset.table(self._offset.variables)
            offset = joint, values[:, 0]
        return Tables(
            self.codebook,
            self.name,
            self.kind,
            self.release,
            terms,
            response.table(),
            max(1, len(self.outcomes) - 1) if self.kind == "mnlogit" else 1,
            offset,
            self._weight,
            self._subset.masks() + self._complete,
            self.covariance_meant if set(INFERENCE) & set(self.release.parts) else OF_THE_MODEL,
            len(self.of_shape),
        )

    def _check_left_out(self, design: Side) -> None:
        """OutputError where a record may have a level without a column: it would count to the reference."""
        for name, levels in design.without.items():
            if name not in self.codebook or not self._subset.excludes(name, levels):
                raise OutputError(
                    f"output '{self.name}': formula {self.formula!r} is without {', '.join(levels)} of '{name}', which "
                    "'where' does not leave out; do, or give the level its column"
                )

    @property
    def _complete(self) -> tuple[Mask, ...]:
        """Masks that leave out records with a missing value."""
        return tuple(
            Mask(
                joint_for(self.codebook, [name], self.name),
                np.arange(self.codebook[name].size) < len(self.codebook[name].values),
            )
            for name in self.variables
            if self.codebook[name].missing
        )

    @cached_property
    def _weight(self) -> Weight | None:
        """The weight by code; 0 where it is missing."""
        if not self.weight:
            return None
        if self.weight not in self.codebook or not self.codebook[self.weight].numeric:
            numeric = [variable.name for variable in self.codebook.variables if variable.numeric]
            raise OutputError(
                f"output '{self.name}': weight: '{self.weight}' is not a numeric variable; these are {numeric}"
            )
        variable = self.codebook[self.weight]
        values = np.array([*variable.values, *([0.0] if variable.missing else [])], dtype=float)
        if (values < 0).any() or not values.any():
            raise OutputError(
                f"output '{self.name}': weight: '{self.weight}' takes the value {format_value(values.min())}; "
                "weights are 0 or more, and not all 0"
            )
        return Weight(self.codebook.index(self.weight), values)

    @cached_property
    def variables(self) -> list[str]:
        """Codebook variables of the analysis (without `where`), in codebook order."""
        response, design = self._sides
        offset = self._offset.variables if self._offset else []
        survey = self.covariance.survey
        others = [each for each in (self.weight, self.covariance.cluster, *(survey.names if survey else [])) if each]
        used = {*response.side.variables, *design.variables, *offset, *others}
        return [name for name in self.codebook.names if name in used]

    @property
    def has_constant(self) -> bool:
        """Whether the columns of some term add up to a constant."""
        return self.tables.has_constant

    @property
    def references(self) -> dict[str, str]:
        """Variables that enter as categories, each with its reference level ('' if its coding has none)."""
        return self._sides[1].categories

    @property
    def columns(self) -> list[str]:
        """Design columns as formulaic names them."""
        return self._sides[1].columns

    @cached_property
    def coefficients(self) -> list[str]:
        """Names of the K coefficients, one equation after the other, and of what comes after them."""
        names, response = self._column_labels, self._sides[0]
        if self.kind == "mnlogit" and isinstance(response, OutcomeResponse):
            return [f"{response.name} = {outcome}: {name}" for outcome in response.outcomes[1:] for name in names]
        return [*names, *self.of_shape]

    @cached_property
    def of_shape(self) -> list[str]:
        """Names of the parameters after the coefficients: thresholds, or the dispersion."""
        if self.kind == "negbin":
            return ["alpha"]
        return [f"{low}|{high}" for low, high in pairwise(self.outcomes)] if self.kind in ORDERED else []

    @property
    def _column_labels(self) -> list[str]:
        return [(self.names or {}).get(column, column) for column in self.columns]

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Which coefficients (K,) are printed; OutputError where `keep` names none."""
        if not self.keep:
            return np.ones(len(self.coefficients), dtype=np.bool_)
        design, names, labels = self._sides[1], np.array(self.coefficients), np.array(self._column_labels)
        kept, shape = np.zeros(len(names), dtype=np.bool_), len(self.of_shape)
        for each in self.keep:
            columns = np.isin(np.arange(len(labels)), design.places(each)) | (labels == each)
            of_all = np.append(np.resize(columns, len(names) - shape), np.zeros(shape, dtype=np.bool_))
            found = of_all | (names == each)
            if not found.any():
                known = list(dict.fromkeys([*design.variables, *labels.tolist(), *self.of_shape]))
                raise OutputError(
                    f"output '{self.name}': keep: {each!r} is no variable and no term of {self.formula!r}; "
                    f"write some of {', '.join(known[:20])}{', ...' * (len(known) > 20)}"
                )
            kept |= found
        return kept

    @property
    def kept_columns(self) -> NDArray[np.bool_]:
        """Which design columns (k,) have a coefficient that is printed."""
        of_columns = self.kept[: len(self.kept) - len(self.of_shape)]
        return np.asarray(of_columns.reshape(-1, len(self.columns)).any(axis=0))

    @property
    def notes(self) -> str:
        """The model in words."""
        response, design = self._sides
        first = [
            f"{self.kind}: {self.formula}",
            response.notes,
        ]
        then = [
            f"offset {self.offset}" if self.offset else "",
            f"weighted by {self.weight}" if self.weight else "",
            self.covariance_meant.notes,
            "coefficients as exp(b)" if self.release.exponentiate else "",
        ]
        return self.in_words(first, design.categories, then)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """Published numbers (k,) by statsmodels on the decoded records; NaN where one is undefined.

        `start` (k,), published numbers, only sets where the iterations begin. OutputError if the coefficients are
        undefined: a level has no records or is separated (the level is named), columns are collinear, the iterations
        do not converge.
        """
        return self._numbers(*self.sample(data), start)

    def refits(self, many: Sequence[Microdata], start: Array | None = None) -> Iterator[Array | OutputError]:
        """The refit of each of several sets of records, or why there is none; their design is made at once."""
        together = (
            many[0] if len(many) == 1 else Microdata(self.codebook, np.concatenate([data.codes for data in many]))
        )
        if self.covariance.survey:
            yield from super().refits(many, start)
            return
        try:
            sample, frame = self.sample(together)
        except OutputError:  # of one of them at least
            yield from super().refits(many, start)
            return
        ends = np.searchsorted(frame.index.to_numpy(), np.cumsum([len(data) for data in many]))
        for begin, end in pairwise([0, *ends.tolist()]):
            try:
                if begin == end:
                    raise self._no_records
                yield self._numbers(sample.part(begin, end), frame.iloc[begin:end], start)
            except OutputError as error:
                yield error

    def _numbers(self, sample: Sample, frame: pd.DataFrame, start: Array | None) -> Array:
        """The numbers of a sample, of the records of a frame."""
        return self.release.numbers(self.fit(sample, frame, start))

    def fit(self, sample: Sample, frame: pd.DataFrame, start: Array | None = None) -> Summary:
        """The fit of a sample, of the records of a frame; OutputError where there is none."""
        begin = self.release.begin(start, len(self.coefficients))
        if self.kind == "ols":
            fit = fit_ols(sample, self.tables.has_constant, self.covariance_meant)
        elif self._is_plain_wrong(sample):
            fit = None
        elif self.of_shape:
            fit = fit_with_shape(self.kind, sample, begin, "pseudo_r2" in self.release.parts, self.covariance_meant)
        else:
            fit = fit_likelihood(self.kind, sample, begin, "pseudo_r2" in self.release.parts, self.covariance_meant)
        if fit is None:
            raise self.no_fit(sample, frame)
        return fit

    def no_fit(self, sample: Sample, frame: pd.DataFrame) -> OutputError:
        """Why a sample, of the records of a frame, has no fit, and the way out."""
        reason = (why_no_dispersion(sample) if self.kind == "negbin" else "") or why_not(
            self.kind, sample, self._column_labels, self._groups(frame), self.outcomes
        )
        return OutputError(f"output '{self.name}': {reason}")

    @property
    def outcomes(self) -> list[str]:
        """Outcomes of a mnlogit, the base first, or of an ordered model; none of other kinds."""
        response = self._sides[0]
        return response.outcomes if isinstance(response, OutcomeResponse) else []

    def _is_plain_wrong(self, sample: Sample) -> bool:
        """Whether the response alone rules a fit out, where statsmodels would fail in its own ways."""
        y = sample.response
        if self.outcomes:
            return len(np.unique(y)) < len(self.outcomes)
        return bool(y.max() == 0 if self.kind in ("poisson", "negbin") else y.min() == y.max())

    def sample(self, data: Microdata) -> tuple[Sample, pd.DataFrame]:
        """Response, design, offset and weights of the records that count, and these records."""
        frame = self._subset.select(data.frame())[self.variables].dropna()
        if self.weight:
            frame = frame[frame[self.weight] > 0]
        if frame.empty:
            raise self._no_records
        response, design = self._sides
        offset = self._offset.matrix(frame)[:, 0] if self._offset else np.zeros(len(frame))
        weights = frame[self.weight].to_numpy(dtype=float) if self.weight else None
        cluster = self.covariance.cluster
        clusters: NDArray[np.int64] | Drawn | None = None
        if self.covariance.survey:
            clusters = self._drawn(data, frame)
        elif cluster:
            clusters = places_in(self.codebook, [cluster], frame)
        return Sample(response.of(frame), design.matrix(frame), offset, weights, clusters), frame

    def _drawn(self, data: Microdata, frame: pd.DataFrame) -> Drawn:
        """How its records were drawn."""
        survey = self.covariance.survey
        assert survey is not None
        over = OverCodebook(self.codebook, self.name, survey)
        _, drawn = over.records(data, self.covariance.within, self.where, self.variables)
        assert drawn is not None and len(drawn.psu) == len(frame)
        return drawn

    @property
    def _errors_follow(self) -> bool:
        """Whether standard errors are sums over the records that it is fitted on: PSUs of others count to a design."""
        survey = self.covariance.survey
        if survey is None:
            return True
        gaps = survey.program == "r" and any(self.codebook[name].missing for name in self.variables)
        return not survey.subpop and not gaps and bool(survey.psu or not survey.strata)

    @property
    def sought(self) -> NDArray[np.bool_]:
        """All numbers but standard errors, and what is made of these, that do not follow from the records fitted."""
        found = np.ones(len(self.labels), dtype=np.bool_)
        for part, place in self.release.layout(len(self.coefficients)):
            found[place] = self._errors_follow or part not in INFERENCE
        return found

    @property
    def _no_records(self) -> OutputError:
        return OutputError(f"output '{self.name}': no records to fit it on; see 'where' and missing values")

    def _groups(self, frame: pd.DataFrame) -> dict[str, NDArray[np.bool_]]:
        """The records of each level of each variable that enters as a category."""
        return {
            f"{name} = {format_value(value)}": (frame[name] == value).to_numpy()
            for name in self._sides[1].categories
            if name in self.codebook
            for value in self.codebook[name].values
        }

    def check(self, low: Array, high: Array) -> None:
        """OutputError for numbers that no regression has, such as a standard error of 0."""
        super().check(low, high)
        K, names = len(self.coefficients), self.coefficients
        some = slice(K - len(self.of_shape), K)
        half = half_digit(self.decimals[some])
        least, most = low[some] - half, high[some] + half
        if self.kind == "negbin" and most[0] <= 0.0:
            raise OutputError(f"output '{self.name}': alpha is {high[some][0]:g}; a dispersion is positive: correct it")
        wrong = np.flatnonzero(np.maximum.accumulate(least)[:-1] >= most[1:])
        if self.kind in ORDERED and len(wrong):
            at = int(wrong[0]) + 1
            raise OutputError(
                f"output '{self.name}': {names[some][at]} is {high[some][at]:g}, below that before it; thresholds "
                "increase in the order of the codebook: correct it, or the order"
            )

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """The number of records; with weights, what they add up to is not that."""
        return () if self.weight else record_counts(self.labels, "number of records", low, high)

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """For a proof, without standard errors by clusters, and so without these, which would multiply the kinds of
        records; without errors by a design that a search cannot bring nearer.
        """
        cluster, survey = self.covariance_meant.cluster, self.covariance.survey
        psu = cluster or (survey.psu if survey else "")
        if survey and not self._errors_follow:
            if not set(INFERENCE) & set(self.release.parts):
                return None
        elif not (proves and psu) or self.codebook[psu].missing:
            return None
        release = self.release.without(INFERENCE)
        layout = self.release.layout(len(self.coefficients))
        kept = np.concatenate([np.arange(len(low))[place] for part, place in layout if part in release.parts])
        rest = replace(self, release=release, covariance=self.covariance if survey else OF_THE_MODEL)
        made = rest.parts(middle(low[kept], high[kept]))
        if survey and not proves:
            names = [self.labels[at] for at in kept]
            return Released(CountsFirst.of_whole(self, self, made, kept, names), low[kept], high[kept], made, kept)
        return Released(rest, low[kept], high[kept], made, kept)

    def implied(self, low: Array, high: Array) -> tuple[Released, ...]:
        """That there are coefficients which are not printed."""
        K = len(self.coefficients)
        of_columns = slice(0, K - len(self.of_shape))
        untold = np.isneginf(low[of_columns]) & np.isposinf(high[of_columns])
        hidden = np.asarray(untold.reshape(-1, len(self.columns)).any(axis=0))
        if not hidden.any():
            return ()
        constant = self.kind in ("cox", *ORDERED) or self.tables.has_constant
        model = self.parts(middle(low, high))[0].model
        found = existence(self.codebook, self.name, model, hidden, constant, self.importance)
        return (found,) if found else ()

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Totals of the regression at its published coefficients, and the way back to its numbers."""
        return (self.tables.part(np.asarray(values, dtype=float)),)
