"""Released logistic regressions: their coefficients."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
import statsmodels.api as sm
from formulaic import Formula
from formulaic.errors import FormulaicError
from numpy.typing import NDArray
from pydantic import Field
from statsmodels.tools.sm_exceptions import PerfectSeparationError

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.evolve.plan import Mask, ScoreBlock, Term
from outrisk.microdata import Microdata, decode
from outrisk.outputs.base import Array, Entry, Subset, joint_for, support_frame


@dataclass(frozen=True)
class Logit:
    """A binary logit of a formula (as formulaic reads it). Records with a missing value in any of its variables are left out.

    `event` is the response's value that counts as 1: needed for a categorical response, where it defaults to the last
    of its two levels. `names` (may be empty) rename the design columns, such as 'C(AREAP)[T.58]' to 'AREAP_58'.
    """

    codebook: Codebook
    name: str
    formula: str
    decimals: int = 4
    where: str = ""
    event: str = ""
    names: Mapping[str, str] | None = None
    kind = "logit"

    def __post_init__(self) -> None:
        _ = self._specs, self._terms, self._response_table
        self._subset.masks()

    # -- definition ---------------------------------------------------------------------------------------------------

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    @cached_property
    def variables(self) -> list[str]:
        """Codebook variables of the formula, in codebook order."""
        try:
            required = {str(name) for name in Formula(self.formula).required_variables}
        except (FormulaicError, SyntaxError, AttributeError, TypeError, ValueError) as error:
            raise self._error(f"formula {self.formula!r} cannot be read: {_first_line(error)}") from None
        unknown = sorted(required - set(self.codebook.names))
        if unknown:
            raise self._error(f"formula names '{unknown[0]}', which is not a variable; variables are {self.codebook.names}")
        return [name for name in self.codebook.names if name in required]

    @cached_property
    def _specs(self) -> tuple[Any, Any]:
        """Formulaic's specifications of response (None if it is a categorical variable) and design, with every codebook level known."""
        length = max([len(self.codebook[name].values) for name in self.variables], default=1)
        frame = pd.DataFrame(
            {
                name: decode(self.codebook[name], np.arange(length) % len(self.codebook[name].values))
                for name in self.variables
            }
        )
        parts = self.formula.split("~")
        if len(parts) != 2 or not parts[0].strip():
            raise self._error(f"formula {self.formula!r} needs a response, as in 'affair ~ age'")
        try:
            design = Formula(parts[1]).get_model_matrix(frame, output="numpy").model_spec
            response = None
            if not self._categorical_response:
                response = Formula(f"0 + {parts[0]}").get_model_matrix(frame, output="numpy").model_spec
        except Exception as error:
            raise self._error(f"formula {self.formula!r} cannot be read: {_first_line(error)}") from None
        if design.transform_state:
            raise self._error(
                f"{next(iter(design.transform_state))} in the formula depends on the data; write its constants out instead"
            )
        return response, design

    @property
    def _left(self) -> str:
        """Left side of the formula; a plain variable without its backticks."""
        left = self.formula.split("~")[0].strip()
        return left.strip("`") if left.strip("`") in self.codebook else left

    @property
    def _categorical_response(self) -> bool:
        return self._left in self.codebook and not self.codebook[self._left].numeric

    @cached_property
    def _event(self) -> str:
        levels = self.codebook[self._left].values
        event = self.event or levels[-1]
        if len(levels) != 2 and not self.event:
            raise self._error(f"the response '{self._left}' has {len(levels)} levels; say which one counts with 'event'")
        if event not in levels:
            raise self._error(f"event {event!r} is not a level of '{self._left}'; levels are {list(levels)}")
        return event

    def _respond(self, frame: pd.DataFrame) -> Array:
        """The 0/1 response of decoded records."""
        if self._categorical_response:
            return (frame[self._left] == self._event).to_numpy(dtype=float)
        response = np.asarray(self._specs[0].get_model_matrix(frame), dtype=float)
        if self.event and response.shape[1] == 1:
            return (response[:, 0] == float(self.event)).astype(float)
        if response.shape[1] != 1 or not np.isin(response, (0.0, 1.0)).all():
            raise self._error(f"the response '{self._left}' takes other values than 0 and 1; derive a 0/1 variable or give 'event'")
        return response[:, 0]

    # -- published numbers --------------------------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        """Design columns as formulaic names them."""
        return [str(name) for name in self._specs[1].column_names]

    @property
    def labels(self) -> list[str]:
        """One label a coefficient."""
        return [(self.names or {}).get(column, column) for column in self.columns]

    @cached_property
    def reference(self) -> dict[str, str]:
        """Reference level of each categorical term."""
        found = {}
        for factor, (_, state) in self._specs[1].encoder_state.items():
            if "contrasts" in state and hasattr(state["contrasts"].contrasts, "base"):
                levels = list(state["contrasts"].levels)
                base = state["contrasts"].contrasts.base
                name = next((v for v in self.variables if re.search(rf"\b{re.escape(v)}\b", factor)), factor)
                found[name] = format_value(base if base in levels else levels[0])
        return found

    @property
    def notes(self) -> str:
        """The model in words."""
        text = f"logit: {self.formula}"
        if self._categorical_response:
            text += f"; event {self._left} = {self._event}"
        if self.reference:
            text += "; reference " + ", ".join(f"{name} = {level}" for name, level in self.reference.items())
        return text + (f"; where {self.where}" if self.where else "")

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """Coefficients by statsmodels' Logit on the decoded records, shape (k,).

        `start` only sets where the iterations begin. OutputError if a level has no records or is separated (the level is
        named), or if the iterations do not converge.
        """
        frame = self._subset.select(data.frame())[self.variables].dropna()
        if frame.empty:
            raise self._error("no records to fit it on; see 'where' and missing values")
        design = np.asarray(self._specs[1].get_model_matrix(frame), dtype=float)
        response = self._respond(frame)
        constant = response.min() == response.max()
        for begin in [] if constant else [start, None] if start is not None else [None]:
            fitted = self._fit(response, design, begin)
            if fitted is not None:
                return fitted
        raise self._error(self._diagnose(response, design))

    @staticmethod
    def _fit(response: Array, design: Array, start: Array | None) -> Array | None:
        try:
            with np.errstate(all="ignore"):
                model = sm.Logit(response, design, check_rank=start is None)
                model.raise_on_perfect_prediction = True  # an error that can be told, in place of a warning at every step
                fit = model.fit(
                    disp=0, maxiter=100, start_params=start, skip_hessian=True, warn_convergence=False
                )
        except (np.linalg.LinAlgError, PerfectSeparationError):
            return None
        parameters = np.asarray(fit.params, dtype=float)
        converged = fit.mle_retvals["converged"] and np.isfinite(parameters).all() and np.abs(parameters).max() < 1e3
        return parameters if converged else None

    def _diagnose(self, response: Array, design: Array) -> str:
        if response.min() == response.max():
            return f"the response is constant ({response[0]:g}) on these records"
        for column, label in zip(design.T, self.labels, strict=True):
            present = column != 0
            if not present.any():
                return f"{label} has no records; merge it with another level, or leave it out of the codebook"
            if np.isin(column, (0.0, 1.0)).all() and not present.all():
                for side, holds in ((label, present), (f"the reference of {label}", ~present)):
                    if response[holds].min() == response[holds].max():
                        return (
                            f"{side} is separated: the response is {response[holds][0]:g} in all {holds.sum():,} "
                            "of its records; merge it with another level"
                        )
        rank = np.linalg.matrix_rank(design)
        if rank < design.shape[1]:
            return f"its {design.shape[1]} columns are collinear (rank {rank}); drop a term"
        return "the fit does not converge (some combination of terms separates the response); drop or merge a term"

    # -- totals -------------------------------------------------------------------------------------------------------

    @cached_property
    def _response_table(self) -> tuple[Any, Array]:
        used = {self._left} if self._left in self.codebook else {str(v) for v in Formula(self._left).required_variables}
        names = [name for name in self.codebook.names if name in used]
        joint = joint_for(self.codebook, names, self.name)
        return joint, self._respond(_filled(self.codebook, support_frame(self.codebook, joint), self.variables))

    @cached_property
    def _terms(self) -> tuple[Term, ...]:
        spec = self._specs[1]
        terms = []
        for term, indices in spec.term_indices.items():
            used = {str(variable) for variable in spec.term_variables[term]}
            names = [name for name in self.variables if name in used]
            joint = joint_for(self.codebook, names, self.name)
            frame = _filled(self.codebook, support_frame(self.codebook, joint), self.variables)
            rows = np.asarray(spec.get_model_matrix(frame), dtype=float)[:, indices]
            terms.append(Term(joint, np.array(indices, dtype=np.int64), rows))
        return tuple(terms)

    @cached_property
    def _complete(self) -> tuple[Mask, ...]:
        """Masks that leave out records with a missing value."""
        masks = []
        for name in self.variables:
            variable: Any = self.codebook[name]
            if variable.missing:
                include: NDArray[np.bool_] = np.arange(variable.size) < len(variable.values)
                masks.append(Mask(joint_for(self.codebook, [name], self.name), include))
        return tuple(masks)

    def block(self, values: Array) -> ScoreBlock:
        """Totals of the logit: its score at the published coefficients."""
        place, response = self._response_table
        return ScoreBlock(np.asarray(values, float), place, response, self._terms, self._subset.masks() + self._complete)

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.name}': {text}")


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
    """A logit given as response and terms: numbers enter as they are, categorical variables as dummies against a reference.

    The reference defaults to the first level of the codebook. Coefficients are labelled as in the literature: const, AGE, AREAP_58.
    """
    for variable in [response, *terms, *reference]:
        if variable not in codebook:
            raise OutputError(f"output '{name}': no variable '{variable}'; variables are {codebook.names}")
    if len(set(terms)) < len(terms) or response in terms:
        raise OutputError(f"output '{name}': terms: {list(terms)} must be different variables, and not the response '{response}'")
    parts, names = [], {"Intercept": "const"}
    for term in terms:
        variable = codebook[term]
        if variable.numeric:
            if term in reference:
                raise OutputError(f"output '{name}': '{term}' is numeric and has no reference; make it categorical in the codebook")
            parts.append(f"`{term}`")
            continue
        base = str(reference.get(term, variable.values[0]))
        if base not in variable.values:
            raise OutputError(f"output '{name}': reference {base!r} is not a level of '{term}'; levels are {list(variable.values)}")
        parts.append(f"C(`{term}`, contr.treatment(base={base!r}))")
    unused = [variable for variable in reference if variable not in terms]
    if unused:
        raise OutputError(f"output '{name}': a reference for '{unused[0]}', which is not among the terms {list(terms)}")
    logit = Logit(codebook, name, f"`{response}` ~ " + " + ".join(parts or ["1"]), decimals, where, event)
    for column in logit.columns:
        match = re.fullmatch(r"C\(`?(.+?)`?, contr\.treatment\(.*\)\)\[T\.(.+)\]", column)
        if match:
            names[column] = f"{match[1]}_{match[2]}"
    return Logit(codebook, name, logit.formula, decimals, where, event, names)


class LogitEntry(Entry):
    """A logit in a study file: a formula, or response and terms."""

    kind: Literal["logit"]
    formula: str = ""
    response: str = ""
    terms: tuple[str, ...] = ()
    reference: dict[str, str | int | float] = Field(default_factory=dict)
    event: str | int = ""
    decimals: int = Field(default=4, ge=0, le=12)

    def build(self, codebook: Codebook, position: int) -> list[Logit]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        name = self.name or f"logit {position}"
        if bool(self.formula) == bool(self.response):
            raise OutputError(f"output '{name}': give either 'formula', or 'response' and 'terms'")
        if self.formula:
            if self.terms or self.reference:
                raise OutputError(
                    f"output '{name}': 'terms' and 'reference' go with 'response'; in a formula write C(x, contr.treatment(base=...))"
                )
            return [Logit(codebook, name, self.formula, self.decimals, self.where, str(self.event))]
        reference = {variable: format_value(level) for variable, level in self.reference.items()}
        return [
            logit_from_terms(
                codebook, name, self.response, self.terms, reference, self.decimals, self.where, str(self.event)
            )
        ]


def _filled(codebook: Codebook, frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Complete a support frame: other variables at their first value; missing levels too (such records are masked)."""
    columns = {}
    for name in names:
        first = decode(codebook[name], np.zeros(len(frame), dtype=np.int64))
        if name in frame:
            column = frame[name]
            columns[name] = column.where(column.notna(), pd.Series(first, index=frame.index)) if column.isna().any() else column
        else:
            columns[name] = pd.Series(first, index=frame.index)
    return pd.DataFrame(columns, index=frame.index)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
