"""Released regressions with instrumental variables: two-stage least squares, in which some terms are endogenous."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.grammar import named_in
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, record_counts
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.regression.by_coefficient import ByCoefficient
from outrisk.outputs.regression.design import Side, read_formula
from outrisk.outputs.regression.fit import Sample
from outrisk.outputs.regression.newton import Newton
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import INFERENCE, Number, Release
from outrisk.outputs.regression.sandwich import OF_THE_MODEL, Covariance, Estimator
from outrisk.outputs.regression.two_stage_fit import IV_PROGRAMS, LARGE_SAMPLE, STATA, IvProgram, fit_two_stage
from outrisk.outputs.regression.two_stage_totals import Roles, TwoStage, Way
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.counts import middle
from outrisk.problem.released import ModelPart, Released

CONSTANT = "Intercept"
_TESTS: tuple[Number, ...] = ("first_stage_f", "wu_hausman", "sargan")
_BY_ERRORS: tuple[Number, ...] = (*INFERENCE, "f", "wald")  # what robust errors are part of
_ALL: tuple[Number, ...] = ("coefficients", "standard_errors", "r2")  # of a linear model that has all totals


@dataclass(frozen=True)
class Instrumental(ByCoefficient):
    """A linear regression of a formula by two-stage least squares, whose `endogenous` terms (or variables) are told by
    the `instruments`, terms as on the right of a formula; all other terms of the formula are their own instruments.

    `program` and `small` say what the residual variance is divided by and which distribution there is: n and the
    normal one (`ivregress`, `ivreg2`, `linearmodels`), or n - K and Student's t (these with `small`, and `ivreg` and
    `statsmodels`), which with clusters has n - K degrees of freedom, of Stata's programs one less than clusters.
    `covariance`: as of `Regression`; 'robust' is HC0 or CR0, with n - K below HC1 or CR1S. `weight`, `keep`: as of
    `Regression`.
    OutputError for a formula or instruments that cannot be read, for fewer instruments than endogenous columns, and for
    what no program prints.
    """

    formula: str
    endogenous: tuple[str, ...]
    instruments: str
    release: Release = field(default_factory=Release)
    where: str = ""
    weight: str = ""
    covariance: Covariance = OF_THE_MODEL
    keep: tuple[str, ...] = ()
    program: IvProgram = "ivreg"
    small: bool = False

    kind = "iv"

    def __post_init__(self) -> None:
        if self.program not in IV_PROGRAMS:
            raise self._error(f"program: {self.program!r} is not one of {list(IV_PROGRAMS)}")
        if self.small and self.program not in LARGE_SAMPLE:
            raise self._error(f"small: {self.program} divides by n - K always; leave it out")
        columns = tuple(self.columns[at] for at in self._endogenous)
        object.__setattr__(self, "release", replace(self.release, endogenous=columns).checked(self.name, "iv"))
        if self.release.exponentiate:
            raise self._error("exponentiate: no program prints exp(b) of a linear regression with instruments")
        _ = self.covariance_meant, self.roles, self.kept, self.together.tables
        self._check_parts()

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.name}': {text}")

    def _check_parts(self) -> None:
        """OutputError for parts of which programs differ, or which there are not."""
        parts = set(self.release.parts)
        robust = bool(self.covariance_meant.estimator)
        for part in _TESTS:
            if part in parts and robust:
                raise self._error(f"release: {part} is known of errors by the model, not of robust ones; leave it out")
        if "sargan" in parts and self.roles.excluded <= len(self._endogenous):
            raise self._error("release: sargan asks for more instruments than endogenous columns; leave it out")
        if {"sargan", "f", "wald"} & parts and CONSTANT not in self.columns:
            raise self._error("release: of a formula without a constant programs differ in sargan, f and wald; leave "
                              "them out")  # fmt: skip
        if {"f", "wald"} & parts and not len(self.roles.tested):
            raise self._error("release: f and wald are of terms, and there are none")
        if "f" in parts and self.program == "ivreg2" and self.by_n:
            raise self._error(
                "release: the F that ivreg2 prints is one of small samples, unlike its errors; leave it out, or give "
                "it as wald, which is F times its first number times N / (N - K)"
            )
        if self.weight and self.program in LARGE_SAMPLE and "residual_sd" in parts:
            raise self._error(
                f"release: of weights, {self.program} prints a residual_sd in units that are not known; leave it out"
            )

    @property
    def by_n(self) -> bool:
        """Whether the residual variance is divided by n."""
        return self.program in LARGE_SAMPLE and not self.small

    @property
    def _way(self) -> Way:
        return Way(self.by_n, self.program in STATA)

    @cached_property
    def covariance_meant(self) -> Covariance:
        """How its standard errors were estimated: 'robust' as what that is of the program; and their distribution."""
        given, released = self.covariance, bool(set(_BY_ERRORS) & set(self.release.parts))
        if given.distribution or given.survey:
            raise self._error(
                "distribution and design do not go with instruments: the distribution is that of the program"
            )
        estimator: Estimator = given.estimator
        if estimator == "robust" or (given.cluster and not estimator):
            estimator = ("CR" if given.cluster else "HC") + ("0" if self.by_n else "1S" if given.cluster else "1")  # type: ignore[assignment]
        if (given.estimator or given.cluster) and not released:
            raise self._error(
                "covariance and cluster go with standard errors, limits, p-values, f or wald, and none is released"
            )
        found = replace(given, estimator=estimator, distribution="normal" if self.by_n else "t")
        return found.checked(self.name, True, True)

    @cached_property
    def _structural(self) -> Regression:
        """The linear regression of the formula, with the exogenous and endogenous terms."""
        return self._linear(self.formula)

    @cached_property
    def together(self) -> Regression:
        """The linear regression on the terms of the formula and on the instruments: it has all columns and records."""
        _ = self._structural
        instruments, constant = self._instruments, CONSTANT in self._structural.columns
        terms = [str(term) for term in instruments.formula if str(term) != "1"]
        found = self._linear(f"{self.formula} + {' + '.join(terms)}")
        lacks = [name for name in self._structural.columns if name not in found.columns]
        if lacks or constant != (CONSTANT in found.columns):
            raise self._error(
                f"instruments: beside {self.instruments!r} the formula {self.formula!r} has other columns, without "
                f"{', '.join(lacks) or CONSTANT}; write C(...) terms with a constant"
            )
        return found

    def _linear(self, formula: str) -> Regression:
        covariance = OF_THE_MODEL
        if self.covariance_meant.estimator:
            covariance = self.covariance_meant
        release = Release(_ALL, self.release.decimals if isinstance(self.release.decimals, int) else 4)
        return Regression(
            self.codebook, self.name, "ols", formula, release, self.where, weight=self.weight, covariance=covariance
        )

    @cached_property
    def _instruments(self) -> Side:
        """The instruments, with a constant of their own that is none of theirs."""
        if not self.instruments.strip():
            raise self._error("say with 'instruments' which variables tell the endogenous terms, as in z1 + C(z2)")
        if re.search(r"[~|]", self.instruments):
            raise self._error(f"instruments: {self.instruments!r} are terms without ~ or |, as in z1 + C(z2)")
        response, side = read_formula(self.codebook, self.name, f"{self.formula.split('~')[0]} ~ {self.instruments}")
        if CONSTANT not in side.columns:
            raise self._error(
                f"instruments: {self.instruments!r} leaves the constant out, which the formula has or has not"
            )
        own = replace(side, constant=False)
        if not own.columns:
            raise self._error(f"instruments: {self.instruments!r} has no term, as z1 is")
        _ = response
        return own

    @property
    def response(self) -> str:
        """The left side as written."""
        return self._structural.response.side.name

    @property
    def support(self) -> Array:
        """What the response can be, ascending."""
        return np.unique(self.together.tables.response[1])

    @property
    def design(self) -> Side:
        """The right side of the formula."""
        return self._structural.design

    @property
    def columns(self) -> list[str]:
        """Columns of the formula as formulaic names them."""
        return self._structural.columns

    @property
    def coefficients(self) -> list[str]:
        """Names of the K coefficients."""
        return self.columns

    @property
    def variables(self) -> list[str]:
        """Codebook variables of the analysis (without `where`), in codebook order."""
        return self.together.variables

    @property
    def references(self) -> dict[str, str]:
        """Variables that enter as categories, each with its reference level ('' if its coding has none)."""
        return self.together.references

    @cached_property
    def _endogenous(self) -> list[int]:
        """Which columns of the formula are endogenous."""
        if not self.endogenous:
            raise self._error("say with 'endogenous' which terms of the formula the instruments are for")
        found: set[int] = set()
        for each in self.endogenous:
            own = [at for at in self.design.places(each) if self.columns[at] != CONSTANT]
            if not own:
                names = dict.fromkeys([*self.design.variables, *self.columns])
                known = ", ".join([name for name in names if name != CONSTANT][:20])
                raise self._error(f"endogenous: {each!r} is no term of {self.formula!r}; write some of {known}")
            found |= set(own)
        return sorted(found)

    @cached_property
    def roles(self) -> Roles:
        """What each column is; OutputError where the instruments are too few, or endogenous themselves."""
        at = {name: place for place, name in enumerate(self.together.columns)}
        x = np.array([at[name] for name in self.columns])
        endogenous = x[self._endogenous]
        own = [name for name in self._instruments.columns if at.get(name) in endogenous]
        if own:
            raise self._error(f"instruments: '{own[0]}' is endogenous, and tells nothing of itself; leave it out")
        z = np.setdiff1d(np.arange(len(at)), endogenous)
        exogenous = np.setdiff1d(x, endogenous)
        if len(z) - len(exogenous) < len(endogenous):
            raise self._error(
                f"instruments: {len(z) - len(exogenous)} columns beside those of the formula for {len(endogenous)} "
                "endogenous ones; as many are needed at least"
            )
        tested = np.array([place for place, name in enumerate(self.columns) if name != CONSTANT], dtype=np.intp)
        return Roles(x, z, exogenous, endogenous, tested)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which coefficients (K,) are printed; OutputError where `keep` names none."""
        return replace(self._structural, keep=self.keep).kept

    @property
    def kept_columns(self) -> NDArray[np.bool_]:
        """The same: each has its column."""
        return self.kept

    @property
    def notes(self) -> str:
        """The model in words."""
        how = f"{self.program}{', small' if self.small else ''}"
        first = [
            f"{self.kind}: {self.formula}",
            f"two-stage least squares: {', '.join(self.release.endogenous)} by the instruments {self.instruments}",
            f"as {how} has it, {'n and the normal' if self.by_n else 'n - K and the t'} distribution",
        ]
        then = [
            f"weighted by {self.weight}" if self.weight else "",
            replace(self.covariance_meant, distribution="").notes,
        ]
        return self.in_words(first, self.references, then)

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """The number of records; with weights, records of weight 0 are none of them."""
        return () if self.weight else record_counts(self.labels, "number of records", low, high)

    def records(self, data: Microdata) -> tuple[Sample, pd.DataFrame]:
        """Response, all columns, weights and clusters of the records that count, and these records."""
        return self.together.sample(data)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """Published numbers (k,); NaN where one is undefined. OutputError where columns or instruments are collinear,
        or the instruments do not tell the endogenous columns apart.
        """
        sample, _ = self.records(data)
        fit = fit_two_stage(sample, self.roles, self.covariance_meant, self._way, self._structural.has_constant)
        if isinstance(fit, str):
            raise self._error(fit)
        return self.release.numbers(fit)

    @property
    def _robust_of_unknown(self) -> bool:
        """Whether robust errors rest on coefficients that are not printed."""
        return bool(self.covariance_meant.estimator) and not self.kept.all()

    @property
    def sought(self) -> NDArray[np.bool_]:
        """All numbers (k,) but robust errors, and what is made of these, beside coefficients that are not printed: the
        meat is one at the printed coefficients.
        """
        found = np.ones(len(self.labels), dtype=np.bool_)
        for part, place in self.release.layout(len(self.coefficients)):
            found[place] = not (self._robust_of_unknown and part in _BY_ERRORS)
        return found

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Scores and products of all columns at the published coefficients, 0 of those that are no regressors."""
        values, K = np.asarray(values, dtype=float), len(self.coefficients)
        whole = np.zeros(len(self.together.labels))
        whole[self.roles.x] = np.nan_to_num(self.release.coefficients(values, K))
        part = self.together.parts(whole)[0]
        linear = part.map
        assert isinstance(linear, Newton)
        linear = replace(linear, centred=self._structural.has_constant)
        made = TwoStage(self.roles, linear, self.release, values, self.covariance_meant, self._way)
        errors, p_values = (self.release.places(name, K) for name in ("standard_errors", "p_values"))
        return (ModelPart(part.model, made, len(self.labels), errors, p_values),)

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Without the numbers that a search cannot bring nearer."""
        of = np.flatnonzero(self.sought)
        if proves or len(of) == len(low):
            return None
        rest = replace(self, release=self.release.without(_BY_ERRORS), covariance=OF_THE_MODEL)
        made = rest.parts(middle(low[of], high[of]))
        names = [self.labels[at] for at in of]
        return Released(CountsFirst.of_whole(self, self, made, of, names), low[of], high[of], made, of)

    def implied(self, low: Array, high: Array) -> Sequence[Released]:
        """That there are coefficients which are not printed, in a regression on all columns."""
        K = len(self.together.columns)
        ends = np.full(len(self.together.labels), -np.inf), np.full(len(self.together.labels), np.inf)
        for whole, own in zip(ends, (low, high), strict=True):
            whole[:K] = 0.0
            whole[self.roles.x] = own[: len(self.roles.x)]
        return self.together.implied(*ends)


class _Terms(NamedTuple):
    """A formula with its instruments, taken apart."""

    formula: str
    endogenous: tuple[str, ...]
    instruments: str


def split_instruments(formula: str, place: str) -> _Terms:
    """A formula 'y ~ x1 + x2 | x1 + z1' as AER and ivreg have it, 'y ~ x1 | x2 | z1' as ivreg has it too, or
    'y ~ 1 + x1 + [x2 ~ z1]' as linearmodels has it; any other as it is, without endogenous terms and instruments.

    OutputError where nothing on the left of the bar is missing on its right, and for more than two bars.
    """
    inside = re.fullmatch(r"(.*?)\+?\s*\[([^\[\]~]+)~([^\[\]]+)\]\s*(.*)", formula)
    if inside:
        rest, behind = inside[1].strip(), inside[4].strip()
        found = [each.strip() for each in inside[2].split("+")]
        joined = " + ".join([*([] if rest.endswith("~") else [""]), *found])
        return _Terms(f"{rest}{joined if joined.startswith(' +') else ' ' + joined} {behind}".strip(),
                      tuple(found), inside[3].strip())  # fmt: skip
    sides = _at_bars(formula)
    if len(sides) == 1:
        return _Terms(formula, (), "")
    if len(sides) > 3:
        raise OutputError(f"{place}: formula {formula!r} has {len(sides) - 1} bars; write y ~ x1 + x2 | x1 + z1")
    response, first = sides[0].split("~", 1) if "~" in sides[0] else ("", sides[0])
    terms = _added(first)
    if len(sides) == 3:
        own = _added(sides[1])
        return _Terms(f"{response.strip()} ~ {' + '.join([*terms, *own])}", tuple(own), sides[2])
    behind_bar = _added(sides[1])
    known = {_plain(each) for each in behind_bar}
    if behind_bar and behind_bar[0].startswith("."):
        raise OutputError(f"{place}: formula {formula!r}: write the instruments out, without a dot")
    endogenous = tuple(each for each in terms if _plain(each) not in known and each not in ("0", "1"))
    if not endogenous:
        raise OutputError(
            f"{place}: formula {formula!r} has no endogenous term: all stand on the right of the bar as well"
        )
    inside_of = [each for each in terms if each not in endogenous and named_in(each, endogenous)]
    if inside_of:
        raise OutputError(
            f"{place}: formula {formula!r}: {inside_of[0]} is exogenous and has an endogenous variable in it; make a "
            "variable of it (data: derive)"
        )
    exogenous = {_plain(each) for each in terms}
    more = [each for each in behind_bar if _plain(each) not in exogenous and each not in ("0", "1")]
    return _Terms(sides[0], endogenous, " + ".join(more))


def _at_bars(formula: str) -> list[str]:
    """A formula taken apart at bars outside brackets and quotes."""
    return _apart(formula, "|")


def _added(terms: str) -> list[str]:
    """Terms taken apart at plus signs outside brackets and quotes."""
    return [each for each in _apart(terms, "+") if each]


def _apart(text: str, mark: str) -> list[str]:
    depth, quote, found = 0, "", [""]
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
        else:
            depth += (letter in "([") - (letter in ")]")
        if letter == mark and not depth and not quote:
            found.append("")
        else:
            found[-1] += letter
    return [each.strip() for each in found]


def _plain(term: str) -> str:
    return re.sub(r"[\s`]", "", term)


def built(
    codebook: Codebook, name: str, formula: str, endogenous: Sequence[str], instruments: str, **options: object
) -> Instrumental:
    """A regression whose instruments stand in its formula, or beside it; OutputError where both do."""
    found = split_instruments(formula, f"output '{name}'")
    if found.instruments and (endogenous or instruments):
        key = "endogenous" if endogenous else "instruments"
        raise OutputError(f"output '{name}': {key}: the formula {formula!r} has its instruments in it; keep one")
    terms = found if found.instruments or found.endogenous else _Terms(formula, tuple(endogenous), instruments)
    return Instrumental(codebook, name, *terms, **options)  # type: ignore[arg-type]
