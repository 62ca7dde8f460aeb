"""Released logistic regressions: their coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.evolve.blocks import Joint, Mask, Model, Term
from outrisk.evolve.problem import invert
from outrisk.evolve.released import ModelPart
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Entry, Level, Subset, joint_for, printed
from outrisk.outputs.design import Side, read_formula
from outrisk.outputs.fit import fit_logit, why_not
from outrisk.outputs.response import Response


@dataclass(frozen=True)
class Logit:
    """A binary logit of a formula (as formulaic reads it).

    Records with a missing value in any of its variables are left out. `event` is the response's value that counts as 1
    (see `Response`). `names` (may be empty) rename the design columns, such as 'C(AREAP)[T.58]' to 'AREAP_58'.
    OutputError if the formula cannot be read, names what is not in the codebook, or depends on the data as a whole.
    """

    codebook: Codebook
    name: str
    formula: str
    digits: int = 4
    where: str = ""
    event: str = ""
    names: Mapping[str, str] | None = None
    kind = "logit"

    def __post_init__(self) -> None:
        _ = self._terms, self._response_table
        self._subset.masks()

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    @cached_property
    def _sides(self) -> tuple[Response, Side]:
        left, right = read_formula(self.codebook, self.name, self.formula)
        return Response(left, self.event), right

    @cached_property
    def _response_table(self) -> tuple[Joint, Array]:
        return self._sides[0].table()

    @cached_property
    def _terms(self) -> tuple[Term, ...]:
        return self._sides[1].terms()

    @cached_property
    def variables(self) -> list[str]:
        """Codebook variables of the formula, in codebook order."""
        response, design = self._sides
        return [name for name in self.codebook.names if name in {*response.side.variables, *design.variables}]

    @property
    def columns(self) -> list[str]:
        """Design columns as formulaic names them."""
        return self._sides[1].columns

    @property
    def labels(self) -> list[str]:
        """One label a coefficient."""
        return [(self.names or {}).get(column, column) for column in self.columns]

    @property
    def notes(self) -> str:
        """The model in words."""
        response, design = self._sides
        reference = ", ".join(f"{name} = {level}" for name, level in design.categories.items() if level)
        parts = [
            f"logit: {self.formula}",
            response.notes,
            f"reference {reference}" if reference else "",
            f"where {self.where}" if self.where else "",
        ]
        return "; ".join(part for part in parts if part)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """Coefficients by statsmodels' Logit on the decoded records, shape (k,).

        `start` only sets where the iterations begin. OutputError if a level has no records or is separated (the level
        is named), if columns are collinear, or if the iterations do not converge.
        """
        response, design = self._sides
        frame = self._subset.select(data.frame())[self.variables].dropna()
        if frame.empty:
            raise OutputError(f"output '{self.name}': no records to fit it on; see 'where' and missing values")
        y, X = response.of(frame), design.matrix(frame)
        fitted = None if y.min() == y.max() else fit_logit(y, X, start)
        if fitted is None:
            raise OutputError(f"output '{self.name}': {why_not(y, X, self.labels, self._groups(frame))}")
        return fitted

    def _groups(self, frame: pd.DataFrame) -> dict[str, NDArray[np.bool_]]:
        """The records of each level of each variable that enters as a category."""
        return {
            f"{name} = {format_value(value)}": (frame[name] == value).to_numpy()
            for name in self._sides[1].categories
            if name in self.codebook
            for value in self.codebook[name].values
        }

    @property
    def decimals(self) -> NDArray[np.int64]:
        """The same number for every coefficient."""
        return np.full(len(self.labels), self.digits, dtype=np.int64)

    def publish(self, values: Array) -> tuple[Array, Array]:
        """Rounded coefficients."""
        return printed(values, self.decimals)

    def check(self, low: Array, high: Array) -> None:
        """Any finite coefficient is possible."""
        if not np.isfinite(low).all():
            wrong = self.labels[int(np.argmin(np.isfinite(low)))]
            raise OutputError(f"output '{self.name}': the value of {wrong} is not a number")

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Totals of the logit: its score at the published coefficients."""
        place, response = self._response_table
        masks = self._subset.masks() + self._complete
        model = Model("logit", values[None, :], place, response, self._terms, masks=masks)
        return (ModelPart(model, Coefficients(values), len(values)),)

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


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients (k,) from the score at the published ones: one Newton step."""

    values: Array

    def numbers(self, totals: Array, information: Array) -> Array:
        """Published coefficients plus the step."""
        return self.values + invert(information) @ totals

    def jacobian(self, totals: Array, information: Array) -> Array:
        """The inverse information."""
        return invert(information)

    def precision(self, totals: Array, information: Array) -> Array:
        """The information."""
        return information


def logit_from_terms(
    codebook: Codebook,
    name: str,
    response: str,
    terms: Sequence[str],
    reference: Mapping[str, str],
    decimals: int = 4,
    where: str = "",
    event: str = "",
) -> Logit:
    """A logit given as response and terms: numbers enter as they are, categories as dummies against a reference.

    The reference defaults to the first level of the codebook. Coefficients are labelled as in the literature: const,
    AGE, AREAP_58. OutputError for a name, a reference or an event that is not in the codebook.
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
            parts.append(f"`{term}`")
            labels.append(term)
            continue
        base = str(reference.get(term, variable.values[0]))
        if base not in variable.values:
            raise OutputError(
                f"output '{name}': reference {base!r} is not a level of '{term}'; levels are {list(variable.values)}"
            )
        parts.append(f"C(`{term}`, contr.treatment(base={base!r}))")
        labels += [f"{term}_{level}" for level in variable.values if level != base]
    logit = Logit(codebook, name, f"`{response}` ~ " + " + ".join(parts), decimals, where, event)
    names = dict(zip(logit.columns, labels, strict=True))
    return Logit(codebook, name, logit.formula, decimals, where, event, names)


class LogitEntry(Entry):
    """A logit in a study file: a formula, or response and terms."""

    kind: Literal["logit"]
    formula: str = ""
    response: str = ""
    terms: tuple[str, ...] = ()
    reference: dict[str, Level] = Field(default_factory=dict)
    event: Level = ""
    decimals: int = Field(default=4, ge=0, le=12)

    def build(self, codebook: Codebook, position: int) -> list[Logit]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        name = self.name or f"logit {position}"
        if bool(self.formula) == bool(self.response):
            raise OutputError(f"output '{name}': give either 'formula', or 'response' and 'terms'")
        if not self.formula:
            return [
                logit_from_terms(
                    codebook, name, self.response, self.terms, self.reference, self.decimals, self.where, self.event
                )
            ]
        if self.terms or self.reference:
            raise OutputError(
                f"output '{name}': 'terms' and 'reference' go with 'response'; "
                "in a formula write C(x, contr.treatment(base=...))"
            )
        return [Logit(codebook, name, self.formula, self.decimals, self.where, self.event)]
