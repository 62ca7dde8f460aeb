"""Released linear mixed models with a random intercept: records of groups, whose levels are not printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Subset, joint_for, places_in, record_counts
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.regression.by_coefficient import ByCoefficient
from outrisk.outputs.regression.design import Side, read_formula
from outrisk.outputs.regression.existence import Existence
from outrisk.outputs.regression.group_totals import RandomIntercept
from outrisk.outputs.regression.random_intercept import METHODS, Method, Moments, moments_of
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import OF_EACH, Release
from outrisk.outputs.regression.response import NumberResponse
from outrisk.outputs.regression.variance_numbers import (
    BY_GLS,
    PROGRAMS,
    MixedProgram,
    Numbers,
    Units,
    fitted,
    method_of,
)
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Joint, Mask, Model, Tally, Term
from outrisk.problem.counts import Counts, middle
from outrisk.problem.released import ModelPart, Released, TallyPart

CONSTANT = "Intercept"
_BAR = re.compile(r"\(([^()|]*)(\|\|?)([^()|]*)\)")


@dataclass(frozen=True)
class Mixed(ByCoefficient):
    """A linear regression of a formula with a random intercept of the levels of `groups`, none of which is printed.

    `method`: by restricted maximum likelihood, maximum likelihood, or GLS of Swamy and Arora ('' for what the program
    does). `program`: which degrees of freedom p-values and limits have, which parameters AIC and BIC count, and what
    GLS weighs (see `variance_numbers`). `keep`: as of `Regression`. OutputError for a formula that cannot be read, or
    without a constant; for `groups` that are no variable, are the response, or stand among the terms.
    """

    formula: str
    groups: str
    release: Release = field(default_factory=Release)
    where: str = ""
    method: Method | str = ""
    program: MixedProgram = "lme4"
    keep: tuple[str, ...] = ()

    kind = "mixed"

    def __post_init__(self) -> None:
        object.__setattr__(self, "release", replace(self.release, absorbed=(self.groups,)).checked(self.name, "mixed"))
        if self.release.exponentiate:
            raise self._error("exponentiate: no program prints exp(b) of a linear mixed model")
        if self.program not in PROGRAMS:
            raise self._error(f"program: {self.program!r} is not one of {list(PROGRAMS)}")
        if self.method not in ("", *METHODS):
            raise self._error(f"method: {self.method!r} is not one of {list(METHODS)}")
        if (self.fitted_by == "gls") != (self.program in BY_GLS):
            raise self._error(f"method: {self.program} does not fit by {self.fitted_by}; {self._instead}")
        unknown = {"log_likelihood", "aic", "bic"} & set(self.release.parts)
        if self.fitted_by == "gls" and unknown:
            raise self._error(f"release: a fit by gls has no {sorted(unknown)[0]}; leave it out")
        if self.program == "spss" and {"confidence_limits", "p_values"} & set(self.release.parts):
            raise self._error(
                "release: p-values and limits of SPSS, whose degrees of freedom are not known, are left out"
            )
        self._check_groups()
        self._subset.masks()
        _ = self._response.table(), self.kept

    @property
    def _instead(self) -> str:
        return "write program: xtreg or plm" if self.fitted_by == "gls" else "write method: gls"

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.name}': {text}")

    def _check_groups(self) -> None:
        response, design = self._sides
        if self.groups not in self.codebook:
            raise self._error(f"groups: no variable '{self.groups}'; variables are {self.codebook.names}")
        if self.groups in response.variables:
            raise self._error(f"groups: '{self.groups}' is the response; give another variable")
        if self.groups in design.categories:
            raise self._error(f"groups: the levels of '{self.groups}' are terms of the formula too; leave one out")
        if CONSTANT not in replace(design, constant=True).columns:
            raise self._error(f"formula {self.formula!r} is without a constant; add 1 to it")

    @cached_property
    def fitted_by(self) -> Method:
        """The method, that of the program where none is said."""
        return self.method or method_of(self.program)  # type: ignore[return-value]

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    @cached_property
    def _sides(self) -> tuple[Side, Side]:
        left, right = read_formula(self.codebook, self.name, self.formula)
        return left, replace(right, constant=False)

    @cached_property
    def _response(self) -> NumberResponse:
        return NumberResponse(self._sides[0])

    @property
    def response(self) -> str:
        """The left side as written."""
        return self._sides[0].name

    @property
    def support(self) -> Array:
        """What the response can be, ascending."""
        return np.unique(self._response.table()[1])

    @property
    def design(self) -> Side:
        """The right side, without its constant."""
        return self._sides[1]

    @cached_property
    def variables(self) -> list[str]:
        """Codebook variables of the analysis (without `where`), in codebook order."""
        used = {*self._sides[0].variables, *self.design.variables, self.groups}
        return [name for name in self.codebook.names if name in used]

    @cached_property
    def coefficients(self) -> list[str]:
        """Names of the K coefficients, the constant first."""
        return [CONSTANT, *self.design.columns]

    @property
    def columns(self) -> list[str]:
        """The same, as formulaic names them."""
        return self.coefficients

    @property
    def references(self) -> dict[str, str]:
        """Variables that enter as categories, each with its reference level ('' if its coding has none)."""
        return self.design.categories

    @property
    def kept_columns(self) -> NDArray[np.bool_]:
        """Which of the coefficients are printed."""
        return self.kept

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Which coefficients (K,) are printed; OutputError where `keep` names none."""
        if not self.keep:
            return np.ones(len(self.columns), dtype=np.bool_)
        kept = np.zeros(len(self.columns), dtype=np.bool_)
        for each in self.keep:
            found = np.isin(np.arange(len(self.columns)) - 1, self.design.places(each)) | (
                np.array(self.columns) == each
            )
            if each.lower() in ("constant", "_cons", "const", "intercept", "(intercept)"):
                found[0] = True
            if not found.any():
                known = ", ".join([*self.design.variables, *self.columns][:20])
                raise self._error(f"keep: {each!r} is no term of {self.formula!r}; write some of {known}")
            kept |= found
        return kept

    @property
    def notes(self) -> str:
        """The model in words."""
        first = [
            f"{self.kind}: {self.formula}",
            f"random intercept of {self.groups}, by {self.fitted_by.upper()} as {self.program} has it",
        ]
        return self.in_words(first, self.references)

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """The number of records, where it is printed."""
        return record_counts(self.labels, "number of records", low, high)

    def records(self, data: Microdata) -> tuple[Array, Array, NDArray[np.int64], pd.DataFrame]:
        """What it is fitted on: terms (n, k), response (n,), group (n,) of each; and these records."""
        frame = self._subset.complete(data, self.variables)
        groups = np.unique(places_in(self.codebook, [self.groups], frame), return_inverse=True)[1].astype(np.int64)
        return self.design.matrix(frame), self._response.of(frame), groups, frame

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """Published numbers (k,); NaN where one is undefined, all but n of a fit that leaves nothing within groups.
        OutputError where the columns are collinear, there is one group, each record is a group, or by REML no variance
        between groups is left.
        """
        terms, response, groups, _ = self.records(data)
        moments, units = self._moments(terms, response, groups)
        return self.release.numbers(fitted(Numbers(self.fitted_by, self.program, units), moments))

    def _moments(self, terms: Array, response: Array, groups: NDArray[np.int64]) -> tuple[Moments, Units]:
        levels = int(groups.max()) + 1
        if levels < 2:
            raise self._error(f"all records are of one level of '{self.groups}'; a random intercept needs two")
        if levels == len(groups):
            raise self._error(f"every level of '{self.groups}' has one record; a random intercept needs some with more")
        if len(groups) <= len(self.columns):
            raise self._error(f"{len(groups)} records are too few for {len(self.columns)} coefficients")
        columns = np.column_stack([terms, response])
        centre, spread = columns.mean(axis=0), columns.std(axis=0)
        scale = np.where(spread > 0.0, spread, 1.0)
        moments = moments_of(np.column_stack([np.ones(len(groups)), (columns - centre) / scale]), groups)
        if moments.collinear:
            raise self._error(f"its {len(self.columns)} columns are collinear in these records; drop a term")
        if self.fitted_by == "reml" and moments.flat:
            raise self._error(
                f"as many columns as levels of '{self.groups}' do not vary within these, so that REML does not tell "
                "their variance; drop a term, or write method: ml"
            )
        return moments, Units.of(centre, scale)

    def ratio(self, data: Microdata) -> float:
        """That of the variance between groups to that of the residuals; 1 where it is undefined."""
        terms, response, groups, _ = self.records(data)
        try:
            moments, units = self._moments(terms, response, groups)
        except OutputError:
            return 1.0
        found = np.nan if moments.exact else Numbers(self.fitted_by, self.program, units).ratio(moments)[0]
        return max(found, 0.0) if np.isfinite(found) else 1.0

    @cached_property
    def linear(self) -> Regression:
        """The linear regression that it is of records between whose groups it finds no variance."""
        parts = [part for part in self.release.parts if part in (*OF_EACH, "n", "residual_sd")]
        release = replace(self.release.without([each for each in self.release.parts if each not in parts]), absorbed=())
        return Regression(self.codebook, self.name, "ols", self.formula, release, self.where, keep=self.keep)

    @property
    def sought(self) -> NDArray[np.bool_]:
        """Which numbers (k,) follow from totals by group: all but the number of groups."""
        return np.array([not label.startswith("levels of ") for label in self.labels], dtype=np.bool_)

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Sums and products of terms and response, and the sums of each group: the scores of a linear model with the
        response among its columns, whose residual is 1.
        """
        terms, centre, scale = self._columns
        model = Model(
            "ols",
            np.zeros((1, 1 + len(scale))),
            Joint((), (), 1),
            np.ones(1),
            terms,
            information=True,
            robust=True,
            clusters=self._joint([self.groups]),
            masks=self._subset.masks() + self._complete,
        )
        K = len(self.columns)
        made = RandomIntercept(
            K + 1,
            self.codebook[self.groups].size,
            Numbers(self.fitted_by, self.program, Units.of(centre, scale)),
            self.release,
            np.asarray(values, dtype=float),
        )
        errors, p_values = (self.release.places(part, K) for part in ("standard_errors", "p_values"))
        return (ModelPart(model, made, len(self.labels), errors, p_values),)

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Without the number of groups, which a search cannot bring nearer but by `implied`."""
        of = np.flatnonzero(self.sought)
        if proves or len(of) == len(low):
            return None
        rest = replace(self, release=self.release.without(["levels"]))
        made = rest.parts(middle(low[of], high[of]))
        names = [self.labels[at] for at in of]
        return Released(CountsFirst.of_whole(self, self, made, of, names), low[of], high[of], made, of)

    def implied(self, low: Array, high: Array) -> Sequence[Released]:
        """Each level has a record, where as many levels were printed as there are."""
        place = dict(self.release.layout(len(self.columns))).get("levels", slice(0, 0))
        variable = self.codebook[self.groups]
        if len(low[place]) == 0 or low[place][0] != len(variable.values):
            return ()
        least = len(variable.values)
        cell = np.where(np.arange(variable.size) < least, np.arange(variable.size), -1)
        masks = self._subset.masks() + self._complete
        block = Tally(self._joint([self.groups]), least, cell.astype(np.int32), masks=masks)
        made = TallyPart((block,), Counts(np.arange(least)), least)
        output = Existence(self.codebook, self.name, made, importance=self.importance)
        return (Released(output, np.ones(least), np.full(least, np.inf), (made,)),)

    def _joint(self, names: Sequence[str]) -> Joint:
        return joint_for(self.codebook, names, self.name)

    @property
    def _complete(self) -> tuple[Mask, ...]:
        """Masks that leave out records with a missing value."""
        return tuple(
            Mask(self._joint([name]), np.arange(self.codebook[name].size) < len(self.codebook[name].values))
            for name in self.variables
            if self.codebook[name].missing
        )

    @cached_property
    def _columns(self) -> tuple[tuple[Term, ...], Array, Array]:
        """The constant, terms and the response, each about its centre and by its scale (p,), which are of all but the
        constant.
        """
        found = [Term(Joint((), (), 1), np.array([0]), np.ones((1, 1)))]
        joint, y = self._response.table()
        pieces = [(term.joint, term.rows, term.columns + 1) for term in self.design.terms()]
        pieces.append((joint, y[:, None], np.array([len(self.columns)])))
        centre, scale = np.zeros(len(self.columns)), np.ones(len(self.columns))
        for joint, rows, columns in pieces:
            low, high = rows.min(axis=0), rows.max(axis=0)
            centre[columns - 1] = (low + high) / 2.0
            scale[columns - 1] = np.where(high > low, (high - low) / 2.0, 1.0)
            found.append(Term(joint, columns.astype(np.int64), (rows - centre[columns - 1]) / scale[columns - 1]))
        return tuple(found), centre, scale


def split_random(formula: str, place: str) -> tuple[str, str]:
    """A formula 'y ~ x + (1 | school)', as lme4 has it, as 'y ~ x' and the variable behind the bar; '' for none.

    OutputError for other random effects than one random intercept.
    """
    found = _BAR.findall(formula)
    if not found:
        return formula, ""
    inside, _, behind = (each.strip() for each in found[0])
    group = behind.strip("`")
    if len(found) > 1 or inside != "1" or not re.fullmatch(r"[\w.]+", group):
        written = " + ".join(f"({a.strip()} {bar} {b.strip()})" for a, bar, b in found)
        raise OutputError(
            f"{place}: {written} is not known; known is one random intercept of one variable, (1 | school)"
        )
    rest = re.sub(r"\s*\+?\s*$", "", _BAR.sub("", formula)).rstrip()
    rest = re.sub(r"\+\s*\+", "+", re.sub(r"~\s*\+\s*", "~ ", rest))
    return (f"{rest} 1" if rest.endswith("~") else rest), group


def built(codebook: Codebook, name: str, formula: str, groups: str, **options: object) -> Mixed:
    """A model whose groups stand in its formula, or beside it; OutputError where both differ, or neither says them."""
    terms, named = split_random(formula, f"output '{name}'")
    if named and groups and named != groups:
        raise OutputError(f"output '{name}': groups: {groups!r}, but the formula has (1 | {named}); keep one")
    if not (named or groups):
        raise OutputError(f"output '{name}': say with 'groups' of which variable the intercept is random")
    return Mixed(codebook, name, terms, groups or named, **options)  # type: ignore[arg-type]
