"""Formulas over a codebook: the design of a regression, each term a table over the supports of its variables."""

from __future__ import annotations

import keyword
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from formulaic import Formula, ModelSpec
from formulaic.formula import SimpleFormula

from outrisk.codebook import Codebook, format_value
from outrisk.errors import ExpressionError, OutputError, first_line
from outrisk.grammar import named_in
from outrisk.microdata import decode
from outrisk.outputs.base import Array, joint_for, support_frame
from outrisk.outputs.regression.terms import CONTEXT, check_formula
from outrisk.problem.blocks import Joint, Term

_MOST_COLUMNS = 1_000
_CONSTANT = "Intercept"
_NAMES_OF_CONSTANT = ("constant", "const", "intercept", "(intercept)", "_cons")
_CHUNK = 1 << 15  # records whose columns are made at once


@dataclass(frozen=True)
class Side:
    """One side of a formula, as formulaic reads it: columns that depend on each record alone; with `constant` False but
    for the constant.

    OutputError if it cannot be evaluated on the codebook's values, or if it depends on the data as a whole.
    """

    codebook: Codebook
    output: str
    formula: SimpleFormula
    constant: bool = True

    @property
    def name(self) -> str:
        """Its first term as written: of a left side the response, a plain variable without its backticks."""
        return str(next(iter(self.formula)))

    @cached_property
    def variables(self) -> list[str]:
        """Codebook variables it names, in codebook order."""
        required = {str(name) for name in self.formula.required_variables}  # and the functions, which are no variables
        return [name for name in self.codebook.names if name in required]

    @cached_property
    def spec(self) -> ModelSpec:
        """Formulaic's specification, with every level of the codebook known."""
        _ = self.variables
        self._refuse_wide()
        variables = self.codebook.variables  # all: formulaic does not list those inside its stateful transforms
        length = max(len(variable.values) for variable in variables)
        frame = pd.DataFrame(
            {variable.name: decode(variable, np.arange(length) % len(variable.values)) for variable in variables},
            index=pd.RangeIndex(length),
        )
        try:
            # Rows without a number are kept: `table` refuses them, where formulaic would quietly drop the records.
            with np.errstate(all="ignore"):
                spec = self.formula.get_model_matrix(frame, CONTEXT, output="numpy", na_action="ignore").model_spec
        except Exception as error:  # whatever the formula's functions raise
            raise OutputError(
                f"output '{self.output}': formula '{self.formula}' cannot be evaluated: {first_line(error)}"
            ) from None
        if spec.transform_state:
            self._refuse_whole_data(next(iter(spec.transform_state)))
        return spec

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [str(self.spec.column_names[at]) for at in self._kept]

    @cached_property
    def _kept(self) -> list[int]:
        """Which of formulaic's columns are these."""
        names = enumerate(self.spec.column_names)
        return [at for at, name in names if self.constant or name != _CONSTANT]

    def matrix(self, frame: pd.DataFrame) -> Array:
        """Columns for decoded records without missing values, shape (n, columns), an array of its own. Some records at
        a time, as formulaic holds every column twice before they are put together.
        """
        starts = range(0, max(len(frame), 1), _CHUNK)
        parts = (self._matrix(frame.iloc[start : start + _CHUNK]) for start in starts)
        if len(starts) == 1:
            return next(parts)
        matrix = np.empty((len(frame), len(self.columns)))
        for start, part in zip(starts, parts, strict=True):
            matrix[start : start + _CHUNK] = part
        return matrix

    def _matrix(self, frame: pd.DataFrame) -> Array:
        try:
            with np.errstate(all="ignore"):
                matrix = np.array(self.spec.get_model_matrix(frame, CONTEXT), dtype=float)
        except Exception as error:
            raise OutputError(
                f"output '{self.output}': formula '{self.formula}' cannot be evaluated: {first_line(error)}"
            ) from None
        matrix = matrix.reshape(len(frame), -1)
        return matrix if self.constant else matrix[:, self._kept]

    def table(self, names: Sequence[str], columns: slice | list[int] = slice(None)) -> tuple[Joint, Array]:
        """Some columns at every combination of the named variables, shape (joint.size, columns)."""
        joint = joint_for(self.codebook, names, self.output)
        frame = filled(self.codebook, support_frame(self.codebook, joint), self.variables)
        rows = self.matrix(frame)[:, columns]
        place = ", ".join(names)
        wrong = ~np.isfinite(rows).all(axis=1)
        if wrong.any():
            at = frame.iloc[int(np.argmax(wrong))]
            values = ", ".join(f"{name} = {format_value(at[name])}" for name in names)
            raise OutputError(
                f"output '{self.output}': formula '{self.formula}' gives no number at {values}, "
                "which the codebook has; rewrite it, or give a codebook without that value"
            )
        if len(frame) > 1 and not np.allclose(self.matrix(frame.iloc[-2::-1])[:, columns], rows[-2::-1]):
            self._refuse_whole_data(f"the term of {place}")
        return joint, rows

    def terms(self) -> tuple[Term, ...]:
        """Every term with its columns."""
        terms = []
        for term, indices in self.spec.term_indices.items():
            used = {str(variable) for variable in self.spec.term_variables[term]}
            columns = [self._kept.index(at) for at in indices if at in self._kept]
            if columns or self.constant:
                joint, rows = self.table([name for name in self.variables if name in used], columns)
                terms.append(Term(joint, np.array(columns, dtype=np.int64), rows))
        return tuple(terms)

    def places(self, named: str) -> list[int]:
        """Which columns are of a variable, a term or a column, as it is `named`; or else the constant."""
        bare, found = named.strip("`"), set[int]()
        for term, indices in self.spec.term_indices.items():
            of = {str(variable) for variable in self.spec.term_variables[term]} & set(self.variables)
            whole = bare in of or _factors(named) == _factors(str(term))
            found |= {at for at in indices if whole or named == str(self.spec.column_names[at])}
        if not found and named.lower() in _NAMES_OF_CONSTANT:
            found = {at for at, name in enumerate(self.spec.column_names) if name == _CONSTANT}
        return [at for at, column in enumerate(self._kept) if column in found]

    @cached_property
    def categories(self) -> dict[str, str]:
        """Variables that enter as categories, each with its reference level ('' if its coding has none)."""
        found = {}
        for factor, (_, state) in self.spec.encoder_state.items():
            if "contrasts" not in state:
                continue
            base = getattr(state["contrasts"].contrasts, "base", None)
            levels = list(state["contrasts"].levels)
            name = self._category(factor)
            has_base = hasattr(state["contrasts"].contrasts, "base")
            found[name] = format_value(base if base in levels else levels[0]) if has_base else ""
        return found

    @cached_property
    def without(self) -> dict[str, tuple[str, ...]]:
        """Levels that are given no column, by their variables."""
        coded = {
            factor: state["contrasts"].contrasts
            for factor, (_, state) in self.spec.encoder_state.items()
            if "contrasts" in state
        }
        return {self._category(factor): each.without for factor, each in coded.items() if getattr(each, "without", ())}

    def _category(self, factor: str) -> str:
        return next(iter(named_in(factor, self.variables)), factor)

    def _refuse_wide(self) -> None:
        """OutputError for more columns than any study needs, before they are computed."""
        columns = sum(math.prod(self._levels(str(factor.expr)) for factor in term.factors) for term in self.formula)
        if columns > _MOST_COLUMNS:
            raise OutputError(
                f"output '{self.output}': formula '{self.formula}' has {columns:,} columns; at most {_MOST_COLUMNS:,} "
                "are possible: band the variables that enter as categories"
            )

    def _levels(self, factor: str) -> int:
        """As many columns as a factor may have: the levels of a category, 1 for a number."""
        named = [self.codebook[name] for name in named_in(factor, self.codebook.names)]
        as_category = factor.startswith("C(")
        return max((each.size for each in named if as_category or not each.numeric), default=1)

    def _refuse_whole_data(self, what: str) -> None:
        raise OutputError(
            f"output '{self.output}': {what} in the formula depends on all the data; write its constants out instead"
        )


def _factors(term: str) -> list[str]:
    """The factors of a term in any order, without spaces."""
    return sorted("".join(factor.split()) for factor in term.split(":"))


def read_formula(codebook: Codebook, output: str, formula: str) -> tuple[Side, Side]:
    """Response and design of a formula such as 'affair ~ age + C(educ)'; OutputError if it is not of that form."""
    parsed = _parsed(codebook, output, "formula", formula, formula)
    left, right = getattr(parsed, "lhs", None), getattr(parsed, "rhs", None)
    if not isinstance(left, SimpleFormula) or not isinstance(right, SimpleFormula) or len(left) != 1:
        raise OutputError(
            f"output '{output}': formula {formula!r} needs one response and one design, as in 'affair ~ age'"
        )
    if not len(right):
        raise OutputError(f"output '{output}': formula {formula!r} has no terms; write at least 1, the constant")
    response, design = Side(codebook, output, left), Side(codebook, output, right)
    both = [name for name in response.variables if name in design.variables]
    if both:
        raise OutputError(f"output '{output}': formula {formula!r} has '{both[0]}' on both sides; keep one")
    return response, design


def read_number(codebook: Codebook, output: str, what: str, text: str) -> Side:
    """An expression such as 'log(months)' as one number a record; OutputError if it is not that."""
    parsed = _parsed(codebook, output, f"{what}:", text, f"0 + {text}")
    if not isinstance(parsed, SimpleFormula) or len(parsed) != 1:
        raise OutputError(f"output '{output}': {what}: {text!r} is not one expression, such as log(months)")
    side = Side(codebook, output, parsed)
    if len(side.columns) != 1 or side.categories:
        raise OutputError(f"output '{output}': {what}: {text!r} is not a number for each record, as log(months) is")
    return side


def quoted(name: str) -> str:
    """A variable's name in a formula: in backticks where it must be, as formulaic then takes it for one elsewhere in
    the formula too (`a` in 'contr.treatment').
    """
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"`{name}`"


def _parsed(codebook: Codebook, output: str, what: str, text: str, formula: str) -> Any:
    try:
        check_formula(formula, codebook.names, codebook)
        return Formula(formula)
    except ExpressionError as error:
        raise OutputError(f"output '{output}': {what} {text!r} {error}") from None
    except Exception as error:  # formulaic's own errors have no common base
        raise OutputError(f"output '{output}': {what} {text!r} cannot be read: {first_line(error)}") from None


def filled(codebook: Codebook, frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Complete a support frame: other variables at their first value; missing levels too (such records are masked)."""
    columns = {}
    for name in names:
        first = pd.Series(decode(codebook[name], np.zeros(len(frame), dtype=np.int64)), index=frame.index)
        columns[name] = frame[name].where(frame[name].notna(), first) if name in frame else first
    return pd.DataFrame(columns, index=frame.index)
