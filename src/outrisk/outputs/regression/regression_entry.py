"""Logits of a formula or of response and terms, and regressions in a study file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry, Level, Names
from outrisk.outputs.regression.design import quoted
from outrisk.outputs.regression.fixed_effects import built as with_absorbed
from outrisk.outputs.regression.fixed_effects import split_absorbed
from outrisk.outputs.regression.programs import Program, Singletons
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import DECIMALS, NUMBERS, Number, Release
from outrisk.outputs.regression.sandwich import Covariance, Distribution, Estimator
from outrisk.outputs.survey_design import SurveyDesign

_INSTEAD = {
    "response": "write a formula",
    "weight": "regressions with weights and fixed effects are not known: write C(...) terms and keep",
    "design": "regressions by a design with fixed effects are not known: write C(...) terms and keep",
}


def _decimals(given: object) -> object:
    """Digits after the point: one number, or one a part."""
    numbers = list(given.values()) if isinstance(given, dict) else [given]
    if not all(isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= 12 for number in numbers):
        raise ValueError("it must be a whole number from 0 to 12, or one a part, as in {coefficients: 3, p_values: 2}")
    unknown = [part for part in given if part not in NUMBERS] if isinstance(given, dict) else []
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a part of a regression; parts are {list(NUMBERS)}")
    return given


Decimals = Annotated[int | dict[Number, int], BeforeValidator(_decimals)]


def Logit(  # noqa: N802 - a kind of Regression, named like one
    codebook: Codebook,
    name: str,
    formula: str,
    decimals: int = 4,
    where: str = "",
    event: str = "",
    names: Mapping[str, str] | None = None,
) -> Regression:
    """A logit of which the coefficients are released, to so many decimals (see `Regression`)."""
    return Regression(codebook, name, "logit", formula, Release(decimals=decimals), where, event, names=names)


def logit_from_terms(
    codebook: Codebook,
    name: str,
    response: str,
    terms: Sequence[str],
    reference: Mapping[str, str],
    decimals: int = 4,
    where: str = "",
    event: str = "",
) -> Regression:
    """A logit given as response and terms (see `formula_of_terms`), of which the coefficients are released."""
    formula, labels = formula_of_terms(codebook, name, response, terms, reference)
    return labelled(Logit(codebook, name, formula, decimals, where, event), labels)


def labelled(regression: Regression, labels: Sequence[str]) -> Regression:
    """A regression with its design columns renamed, in their order."""
    return replace(regression, names=dict(zip(regression.columns, labels, strict=True)))


def formula_of_terms(
    codebook: Codebook, name: str, response: str, terms: Sequence[str], reference: Mapping[str, str]
) -> tuple[str, list[str]]:
    """A formula of response and terms, and labels of its design columns.

    Numbers enter as they are, categories as dummies against a reference, by default the first level of the codebook.
    Columns are labelled as in the literature: const, AGE, AREAP_58. OutputError for a name or a reference that is not
    in the codebook.
    """
    unknown = [each for each in [response, *terms, *reference] if each not in codebook]
    if unknown:
        raise OutputError(f"output '{name}': no variable '{unknown[0]}'; variables are {codebook.names}")
    if len(set(terms)) < len(terms) or response in terms:
        raise OutputError(
            f"output '{name}': terms: {list(terms)} must be different variables, and not the response '{response}'"
        )
    unused = [each for each in reference if each not in terms]
    if unused:
        raise OutputError(f"output '{name}': a reference for '{unused[0]}', which is not among the terms {list(terms)}")
    parts, labels = ["1"], ["const"]
    for term in terms:
        variable = codebook[term]
        if variable.numeric:
            if term in reference:
                raise OutputError(
                    f"output '{name}': '{term}' is numeric and has no reference; make it categorical in the codebook"
                )
            parts.append(quoted(term))
            labels.append(term)
            continue
        base = str(reference.get(term, variable.values[0]))
        if base not in variable.values:
            raise OutputError(
                f"output '{name}': reference {base!r} is not a level of '{term}'; levels are {list(variable.values)}"
            )
        parts.append(f"C({quoted(term)}, contr.treatment(base={base!r}))")
        labels += [f"{term}_{level}" for level in variable.values if level != base]
    return f"{quoted(response)} ~ " + " + ".join(parts), labels


class FormulaEntry(Entry):
    """What entries of regressions of every kind have in common."""

    positional: ClassVar[tuple[str, ...]] = ("formula",)

    formula: str = ""
    response: str = ""
    terms: tuple[str, ...] = ()
    reference: dict[str, Level] = Field(default_factory=dict)
    event: Level = ""
    release: tuple[Number, ...] = Field(default=("coefficients",), min_length=1)
    decimals: Decimals = DECIMALS
    level: float = 0.95
    exponentiate: bool = False
    keep: Names = ()

    def build(self, codebook: Codebook, position: int) -> Sequence[Any]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        name = self.name or f"{self.kind} {position}"
        if bool(self.formula) == bool(self.response):
            raise OutputError(f"output '{name}': give either 'formula', or 'response' and 'terms'")
        if self.formula and (self.terms or self.reference):
            raise OutputError(
                f"output '{name}': 'terms' and 'reference' go with 'response'; "
                "in a formula write C(x, contr.treatment(base=...))"
            )
        formula, labels = self.formula, None
        if self.response:
            formula, labels = formula_of_terms(codebook, name, self.response, self.terms, self.reference)
        built = self._built(codebook, name, formula)
        if labels is not None:
            built = labelled(built, labels[-len(built.columns) :])
        return [replace(built, keep=self.keep) if self.keep else built]

    @property
    def _released(self) -> Release:
        return Release(self.release, self.decimals, self.level, self.exponentiate)

    def _built(self, codebook: Codebook, name: str, formula: str) -> Regression:
        """The regression of a formula, printed in whole; its kind says."""
        raise NotImplementedError


class RegressionEntry(FormulaEntry):
    """A regression in a study file: a formula, or response and terms; and what is released of it."""

    kind: Literal["logit", "probit", "poisson", "ols", "mnlogit", "ologit", "oprobit", "negbin"]
    base: Level = ""
    offset: str = ""
    weight: str = ""
    covariance: Estimator = ""
    cluster: str = ""
    distribution: Distribution = ""
    absorb: Names = ()
    program: Program | None = None
    singletons: Singletons = ""
    design: SurveyDesign | None = None

    def build(self, codebook: Codebook, position: int) -> Sequence[Any]:
        """The output of this entry; with fixed effects, which are in the formula or in `absorb`, one of these."""
        name = self.name or f"{self.kind} {position}"
        if not (self.absorb or split_absorbed(self.formula)[1]):
            if self.program or self.singletons:
                key = "program" if self.program else "singletons"
                raise OutputError(f"output '{name}': '{key}' goes with absorb, and nothing is absorbed; leave it out")
            return super().build(codebook, position)
        if self.kind != "ols":
            raise OutputError(f"output '{name}': absorb goes with ols, not {self.kind}; write C(...) terms and keep")
        for key in ("response", "weight", "design"):
            if getattr(self, key):
                raise OutputError(f"output '{name}': '{key}' does not go with absorb; {_INSTEAD[key]}")
        covariance = Covariance(self.covariance, self.cluster, self.distribution)
        options = {"release": self._released, "where": self.where, "covariance": covariance, "keep": self.keep}
        how = {"program": self.program or "fixest", "singletons": self.singletons}
        return [with_absorbed(codebook, name, self.formula, self.absorb, **options, **how)]

    def _built(self, codebook: Codebook, name: str, formula: str) -> Regression:
        design = self.design
        if design and self.weight:
            raise OutputError(f"output '{name}': weight does not go with design; write design: {{weights: ...}}")
        where, weight = (design.subset(self.where), design.weights) if design else (self.where, self.weight)
        options = (where, self.event, self.base, self.offset, weight)
        within = self.where if design else ""
        covariance = Covariance(self.covariance, self.cluster, self.distribution, design, within)
        return Regression(codebook, name, self.kind, formula, self._released, *options, covariance=covariance)
