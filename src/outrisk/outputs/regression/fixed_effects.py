"""Released linear regressions with fixed effects: of categories that are adjusted for and not printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Subset, joint_for, places_in, record_counts
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.regression.absorbed_fit import Grouped, fit_within, within, without_variation
from outrisk.outputs.regression.by_coefficient import ByCoefficient
from outrisk.outputs.regression.clustered_totals import pairs_of
from outrisk.outputs.regression.design import Side, read_formula
from outrisk.outputs.regression.existence import Existence
from outrisk.outputs.regression.programs import (
    Program,
    Singletons,
    drops_singletons,
    is_within,
    not_single,
    prints_constant,
)
from outrisk.outputs.regression.release import INFERENCE, Release
from outrisk.outputs.regression.response import NumberResponse
from outrisk.outputs.regression.sandwich import OF_THE_MODEL, Covariance
from outrisk.outputs.regression.within_totals import Within, sought
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Joint, Mask, Model, Tally, Term, spread_rows
from outrisk.problem.counts import Counts, middle
from outrisk.problem.released import ModelPart, Released, TallyPart

MOST_PRODUCTS = 60  # of pairs of columns, by which errors clustered by the largest absorbed variable are sought
MOST_DUMMIES = 100  # levels of further absorbed variables that a search takes in; of the largest there is no limit
CONSTANT = "Intercept"


@dataclass(frozen=True)
class FixedEffects(ByCoefficient):
    """A linear regression of a formula with fixed effects of the variables in `absorb`, none of which is printed.

    `program` says how levels are counted in degrees of freedom and whether a constant is printed (see `programs`),
    `singletons` whether groups of one record are left out first ('' for what the program does). `keep`: as of
    `Regression`. OutputError for a formula that cannot be read, or without a constant; for `absorb` of what is no
    variable, is the response, or stands among the terms.
    """

    formula: str
    absorb: tuple[str, ...]
    release: Release = field(default_factory=Release)
    where: str = ""
    covariance: Covariance = OF_THE_MODEL
    keep: tuple[str, ...] = ()
    program: Program = "fixest"
    singletons: Singletons = ""

    kind = "ols"

    def __post_init__(self) -> None:
        object.__setattr__(self, "release", replace(self.release, absorbed=self.absorb).checked(self.name, "ols"))
        if self.release.exponentiate:
            raise self._error("exponentiate: no program prints exp(b) of a linear regression with fixed effects")
        _ = self.covariance_meant
        self._check_absorbed()
        self._subset.masks()
        _ = self._response.table(), self.terms, self.kept
        if {"sigma_u", "rho"} & set(self.release.parts) and len(self.absorb) > 1:
            raise self._error("release: sigma_u and rho are of one absorbed variable, as xtreg prints them")

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.name}': {text}")

    def _check_absorbed(self) -> None:
        response, design = self._sides
        if not self.absorb or len(set(self.absorb)) < len(self.absorb):
            raise self._error(f"absorb: {list(self.absorb)} must name one variable or more, each once")
        for name in self.absorb:
            if name not in self.codebook:
                raise self._error(f"absorb: no variable '{name}'; variables are {self.codebook.names}")
            if name in response.variables:
                raise self._error(f"absorb: '{name}' is the response; leave it out")
            inside = {str(each) for term in design.spec.term_variables.values() for each in term}
            alone = [
                str(term)
                for term, named in design.spec.term_variables.items()
                if {str(each) for each in named} & set(self.codebook.names) == {name}
            ]
            if name in inside and alone:
                raise self._error(f"absorb: the term {alone[0]} does not vary within '{name}'; leave one of them out")
        if self.program in ("areg", "xtreg") and len(self.absorb) > 1:
            raise self._error(f"program: {self.program} absorbs one variable; write reghdfe, fixest or plm")
        if not any(name == CONSTANT for name in self._with_constant):
            raise self._error(
                f"formula {self.formula!r} is without a constant, which fixed effects take up; write none"
            )

    @cached_property
    def covariance_meant(self) -> Covariance:
        """How its standard errors were estimated: 'robust' as what that is of a linear regression."""
        inference = bool({*INFERENCE, "f"} & set(self.release.parts))
        found = self.covariance.checked(self.name, True, inference)
        if found.cluster and found.cluster not in self.codebook:
            raise self._error(f"cluster: no variable '{found.cluster}'; variables are {self.codebook.names}")
        return found

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    @cached_property
    def _sides(self) -> tuple[Side, Side]:
        left, right = read_formula(self.codebook, self.name, self.formula)
        return left, replace(right, constant=False)

    @cached_property
    def _with_constant(self) -> list[str]:
        return replace(self.design, constant=True).columns

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
        """The right side, without what is absorbed."""
        return self._sides[1]

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The terms over the supports of their variables; OutputError where there is none."""
        found = self.design.terms()
        if not found:
            raise self._error(f"formula {self.formula!r} has no term beside what is absorbed: nothing is printed of it")
        return found

    @cached_property
    def variables(self) -> list[str]:
        """Codebook variables of the analysis (without `where`), in codebook order."""
        cluster = self.covariance.cluster
        used = {*self._sides[0].variables, *self.design.variables, *self.absorb, *([cluster] if cluster else [])}
        return [name for name in self.codebook.names if name in used]

    @cached_property
    def coefficients(self) -> list[str]:
        """Names of the K coefficients that there are: of the terms, behind the constant where the program prints it."""
        return [*([CONSTANT] if prints_constant(self.program) else []), *self.design.columns]

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
        """Which of these are printed."""
        return self.kept

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Which coefficients (K,) are printed; OutputError where `keep` names none."""
        names, first = np.array(self.coefficients), int(prints_constant(self.program))
        if not self.keep:
            return np.ones(len(names), dtype=np.bool_)
        kept = np.zeros(len(names), dtype=np.bool_)
        for each in self.keep:
            found = np.isin(np.arange(len(names)) - first, self.design.places(each)) | (names == each)
            if first and each.lower() in ("constant", "_cons", "const", "intercept"):
                found[0] = True
            if not found.any():
                known = ", ".join([*self.design.variables, *self.coefficients][:20])
                raise self._error(
                    f"keep: {each!r} is no term of {self.formula!r} that is printed; write some of {known}"
                )
            kept |= found
        return kept

    @property
    def drops(self) -> bool:
        """Whether groups of one record are left out first."""
        return drops_singletons(self.program, self.singletons)

    @property
    def notes(self) -> str:
        """The model in words."""
        first = [
            f"{self.kind}: {self.formula}",
            f"fixed effects of {' and '.join(self.absorb)}, counted as {self.program} does",
            "groups of one record left out" if self.drops else "",
        ]
        then = [
            self.covariance_meant.notes,
        ]
        return self.in_words(first, self.design.categories, then)

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """The number of records; where singletons are dropped, that is of those left, and no more is said."""
        return () if self.drops else record_counts(self.labels, "number of records", low, high)

    def records(self, data: Microdata) -> tuple[Grouped, pd.DataFrame]:
        """What it is fitted on, and these records."""
        frame = self._subset.complete(data, self.variables)
        found = self._grouped(frame)
        if self.drops:
            frame = frame[not_single(found.groups)]
            if frame.empty:
                raise self._error(f"every group of {' and '.join(self.absorb)} has one record; with fixed effects of "
                                  "these nothing is left")  # fmt: skip
            found = self._grouped(frame)
        return found, frame

    def _grouped(self, frame: pd.DataFrame) -> Grouped:
        def group(name: str) -> NDArray[np.int64]:
            return np.unique(places_in(self.codebook, [name], frame), return_inverse=True)[1].astype(np.int64)

        cluster = self.covariance.cluster
        groups = [group(name) for name in self.absorb]
        clusters = group(cluster) if cluster else None
        return Grouped(self._response.of(frame), self.design.matrix(frame), groups, clusters)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """Published numbers (k,) by what is left within groups; NaN where one is undefined. OutputError where a term
        does not vary within groups, or terms are collinear there.
        """
        records, _ = self.records(data)
        if (
            self.program == "xtreg"
            and records.clusters is not None
            and not is_within(records.groups[0], records.clusters)
        ):
            raise self._error(
                f"cluster: groups of '{self.absorb[0]}' are not each within one '{self.covariance.cluster}', which "
                "xtreg refuses; write program: areg or reghdfe"
            )
        fit = fit_within(records, self.program, self.covariance_meant)
        if fit is None:
            raise self._error(self._why_not(records))
        return self.release.numbers(fit)

    def _why_not(self, records: Grouped) -> str:
        within_what = " and ".join(self.absorb)
        still = without_variation(records, within(records.terms, records.groups))
        if still.any():
            term = self.design.columns[int(np.argmax(still))]
            return f"'{term}' does not vary within {within_what}, whose fixed effects take it up; drop it"
        return f"its {records.terms.shape[1]} terms are collinear within {within_what}; drop one"

    @cached_property
    def _by_size(self) -> list[str]:
        """The absorbed variables, that of the most levels first."""
        return sorted(self.absorb, key=lambda name: -len(self.codebook[name].values))

    @property
    def is_sought(self) -> bool:
        """Whether totals by group are possible: beside the largest absorbed variable, others have few levels."""
        return sum(len(self.codebook[name].values) - 1 for name in self._by_size[1:]) <= MOST_DUMMIES

    @property
    def by_model(self) -> bool:
        """Whether standard errors are by the model, and so follow from totals by group."""
        return not self.covariance_meant.estimator

    @property
    def by_groups(self) -> bool:
        """Whether standard errors are clustered by the largest absorbed variable, with few enough columns: they follow
        from sums of products by group.
        """
        d = sum(len(term.columns) for term in self.terms) + sum(len(each) for each in self._dummies)
        clustered = self.covariance_meant.estimator.startswith("CR") and self.covariance.cluster == self._by_size[0]
        return clustered and not self.drops and len(pairs_of(d, self._dummies)) <= MOST_PRODUCTS

    @property
    def _dummies(self) -> list[range]:
        """Where the dummies of each further absorbed variable stand among the columns."""
        k = len(self.design.columns)
        ends = np.cumsum([k, *(len(self.codebook[name].values) - 1 for name in self._by_size[1:])]).tolist()
        return [range(low, high) for low, high in pairwise(ends)]

    @property
    def sought(self) -> NDArray[np.bool_]:
        """Which of the numbers (k,) follow from totals by group, or are numbers of levels, which all have records."""
        if not self.is_sought:
            return np.zeros(len(self.labels), dtype=np.bool_)
        of_levels = [label.startswith("levels of ") for label in self.labels]
        return np.asarray(self._sought | np.array(of_levels), dtype=np.bool_)

    @property
    def _sought(self) -> NDArray[np.bool_]:
        return sought(self.release, len(self.coefficients), self.by_model, self.by_groups)

    def _products(self, terms: Sequence[Term], pairs: Sequence[tuple[int, int]]) -> list[Term]:
        """A column for each pair of columns, their product, behind all columns."""
        of = {int(column): (term, at) for term in terms for at, column in enumerate(term.columns)}
        first, found = len(of), []
        for at, (i, j) in enumerate(pairs):
            (one, here), (other, there) = of[i + 1], of[j + 1]
            named = [self.codebook.names[each] for each in sorted({*one.joint.variables, *other.joint.variables})]
            joint = self._joint(named)
            rows = (
                spread_rows(one, joint, self.codebook.sizes)[:, here]
                * spread_rows(other, joint, self.codebook.sizes)[:, there]
            )
            found.append(Term(joint, np.array([first + at]), rows[:, None]))
        return found

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Sums and products of terms and response, and the sums of each group: the scores of a linear model with the
        response among its columns, whose residual is 1.
        """
        terms, centre, scale = self._columns
        pairs = tuple(pairs_of(len(scale) - 1, self._dummies)) if self.by_groups else ()
        if pairs:
            terms = (*terms, *self._products(terms, pairs))
        model = Model(
            "ols",
            np.zeros((1, 1 + len(scale) + len(pairs))),
            Joint((), (), 1),
            np.ones(1),
            terms,
            information=True,
            robust=True,
            clusters=self._joint(self._by_size[:1]),
            masks=self._subset.masks() + self._complete,
        )
        K, largest = len(self.coefficients), self._by_size[0]
        made = Within(
            len(self.design.columns),
            tuple(len(self.codebook[name].values) for name in self._by_size[1:]),
            self.codebook[largest].size,
            centre,
            scale,
            self.program,
            self.release,
            np.asarray(values, dtype=float),
            self.covariance_meant.distribution == "normal",
            bool({"sigma_u", "rho"} & set(self.release.parts)),
            self.drops and len(self.absorb) == 1,
            self.covariance_meant if pairs else OF_THE_MODEL,
            pairs,
        )
        errors, p_values = (self.release.places(part, K) for part in ("standard_errors", "p_values"))
        return (ModelPart(model, made, len(self.labels), errors, p_values),)

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Without the numbers that do not follow from totals by group, which a search cannot bring nearer."""
        of = np.flatnonzero(self._sought)
        if proves or not self.is_sought or len(of) == len(low):
            return None if self.is_sought or proves else self._not_sought()
        parts = tuple(part for part in self.release.parts if part in self._parts_sought)
        rest_of = self.covariance if self.by_groups and set(INFERENCE) & set(parts) else OF_THE_MODEL
        decimals = self.release.decimals
        if not isinstance(decimals, int):
            decimals = {part: digits for part, digits in decimals.items() if part in parts}
        rest = replace(self, release=replace(self.release, parts=parts, decimals=decimals), covariance=rest_of)
        made = rest.parts(middle(low[of], high[of]))
        names = [self.labels[at] for at in of]
        return Released(CountsFirst.of_whole(self, self, made, of, names), low[of], high[of], made, of)

    @property
    def _parts_sought(self) -> set[str]:
        K, some = len(self.coefficients), self._sought
        return {part for part, place in self.release.layout(K) if some[place].any()}

    def _not_sought(self) -> Released | None:
        """None of its numbers: an output of a search that asks for nothing."""
        none = np.zeros(0, dtype=np.int64)
        return Released(CountsFirst.of_whole(self, self, [], none, []), np.zeros(0), np.zeros(0), (), none)

    def implied(self, low: Array, high: Array) -> Sequence[Released]:
        """Each level has a record, where as many levels were printed as there are."""
        place = dict(self.release.layout(len(self.coefficients))).get("levels", slice(0, 0))
        blocks = []
        for name, least in zip(self.absorb, low[place], strict=False):
            if least == len(self.codebook[name].values) and not self.drops:
                cell = np.where(np.arange(self.codebook[name].size) < least, np.arange(self.codebook[name].size), -1)
                masks = self._subset.masks() + self._complete
                blocks.append(Tally(self._joint([name]), int(least), cell.astype(np.int32), masks=masks))
        if not blocks:
            return ()
        numbers = sum(block.size for block in blocks)
        made = TallyPart(tuple(blocks), Counts(np.arange(numbers)), numbers)
        output = Existence(self.codebook, self.name, made, importance=self.importance)
        return (Released(output, np.ones(numbers), np.full(numbers, np.inf), (made,)),)

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
        """The constant, terms, dummies of further absorbed variables and the response, each about its centre and by its
        scale (p,), which are of all but the constant.
        """
        found = [Term(Joint((), (), 1), np.array([0]), np.ones((1, 1)))]
        centre, scale = [], []
        pieces = [(term.joint, term.rows) for term in self.terms]
        for name in self._by_size[1:]:
            pieces.append(
                (self._joint([name]), np.eye(self.codebook[name].size)[:, 1 : len(self.codebook[name].values)])
            )
        joint, y = self._response.table()
        pieces.append((joint, y[:, None]))
        at, order = 1, [term.columns for term in self.terms]
        for place, (joint, rows) in enumerate(pieces):
            columns = order[place] + 1 if place < len(order) else np.arange(at, at + rows.shape[1])
            low, high = rows.min(axis=0), rows.max(axis=0)
            plain = place >= len(order) and place < len(pieces) - 1  # dummies, which are counted
            middles = np.zeros(len(low)) if plain else (low + high) / 2.0
            half = np.ones(len(low)) if plain else np.where(high > low, (high - low) / 2.0, 1.0)
            found.append(Term(joint, columns.astype(np.int64), (rows - middles) / half))
            centre.append(middles)
            scale.append(half)
            at += rows.shape[1]
        by_column = np.argsort(np.concatenate([term.columns for term in found[1:]]))
        return tuple(found), np.concatenate(centre)[by_column], np.concatenate(scale)[by_column]


def split_absorbed(formula: str) -> tuple[str, tuple[str, ...]]:
    """A formula 'y ~ x | region + year', as fixest and plm have it, as 'y ~ x' and the variables behind the bar; a
    formula without a bar outside brackets and quotes as it is.
    """
    depth, quote = 0, ""
    for at, letter in enumerate(formula):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
        elif letter == "|" and not depth:
            names = [each.strip().strip("`") for each in formula[at + 1 :].split("+")]
            return formula[:at].strip(), tuple(names)
        else:
            depth += (letter in "([") - (letter in ")]")
    return formula, ()


def built(codebook: Codebook, name: str, formula: str, absorb: Sequence[str], **options: object) -> FixedEffects:
    """A regression whose absorbed variables stand in its formula, or beside it; OutputError where both differ."""
    terms, named = split_absorbed(formula)
    if named and absorb and set(named) != set(absorb):
        raise OutputError(f"output '{name}': absorb: {list(absorb)}, but the formula has {list(named)}; keep one")
    return FixedEffects(codebook, name, terms, tuple(absorb) or named, **options)  # type: ignore[arg-type]
