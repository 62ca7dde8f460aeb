"""Designs of records as they are, with a variable at another value, and how they change with a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.grammar import named_in
from outrisk.outputs.base import Array, support_frame
from outrisk.outputs.regression.design import Side, filled
from outrisk.outputs.regression.release import Kind
from outrisk.problem.blocks import Joint, Term, level_in

Codes = NDArray[np.integer]  # of records (n, variables)
_STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))  # exact to the fourth power
_STEP, _NEAR = 1e-3, 0.1  # of a number, or where it is near 0 of this share of the range of its values
_FLAT = 1e-9  # a change, of the size of a column, that is none
_APART = 1e-6  # of a derivative, by which differences over half the step may be another one
_BENT = 0.75  # what halving a step leaves of the change of a slope, where it is one: half for a smooth function
_LARGEST = 700.0  # of an exponent


@dataclass(frozen=True, eq=False)
class Designs:
    """The right side of a regression over the supports of its variables, and its offset."""

    output: str
    side: Side
    offset: tuple[Joint, Array] | None = None

    @property
    def codebook(self) -> Codebook:
        """That of its variables."""
        return self.side.codebook

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The terms with their columns."""
        return self.side.terms()

    def rows(self, codes: Codes, terms: Sequence[Term] | None = None) -> Array:
        """Design rows (n, k) of records, or what some other terms have in the place of the columns."""
        found = np.zeros((len(codes), len(self.side.columns)))
        for term in self.terms if terms is None else terms:
            found[:, term.columns] = term.rows[level_in(term.joint, codes)]
        return found

    def offsets(self, codes: Codes) -> Array:
        """Offsets (n,) of records."""
        return np.zeros(len(codes)) if self.offset is None else self.offset[1][level_in(self.offset[0], codes)]

    def at(self, codes: Codes, levels: Sequence[tuple[str, int]]) -> Codes:
        """Records with some variables at other codes."""
        found = codes.copy()
        for name, code in levels:
            found[:, self.codebook.index(name)] = code
        return found

    def having(self, name: str) -> list[Term]:
        """The terms that a variable is in."""
        return [term for term in self.terms if self.codebook.index(name) in term.joint.variables]

    def slopes(self, name: str) -> tuple[Term, ...]:
        """How the columns of the terms with a numeric variable change with it, by differences to the fourth order.

        OutputError where they change by steps, or without bounds.
        """
        return tuple(Term(term.joint, term.columns, self._slopes_of(term, name)) for term in self.having(name))

    def _slopes_of(self, term: Term, name: str) -> Array:
        frame = filled(self.codebook, support_frame(self.codebook, term.joint), self.side.variables)
        x, values = frame[name].to_numpy(dtype=float), np.array(self.codebook[name].values, dtype=float)
        step = _STEP * np.maximum(np.abs(x), _NEAR * float(np.ptp(values)) or 1.0)

        def columns(at: Array) -> Array:
            moved = frame.assign(**{name: pd.Series(at, index=frame.index)})
            return self.side.matrix(moved)[:, term.columns]

        def differences(by: Array) -> Array:
            return np.asarray(sum(weight * columns(x + many * by) for many, weight in _STENCIL) / by[:, None])

        def bend(by: Array) -> Array:
            """How far the slope above is from that below, which it is not the nearer the smaller a step is."""
            return np.abs(columns(x + by) - 2.0 * columns(x) + columns(x - by)) / by[:, None]

        slopes, nearer = differences(step), differences(step / 2.0)
        if not np.isfinite(slopes).all():
            raise self._error(f"the formula has no derivative in '{name}' at some of its values; leave it out of dydx")
        size = np.maximum(np.abs(term.rows).max(axis=0), 1e-300)
        slopes[np.abs(slopes) * float(np.ptp(values) or 1.0) < _FLAT * size] = 0.0
        apart = np.abs(slopes - nearer).max(axis=0) > _APART * np.abs(nearer).max(axis=0) + _FLAT * size
        least = _APART * np.abs(nearer).max(axis=0) + _FLAT * size
        apart |= ((bend(step / 2.0) > least) & (bend(step / 2.0) > _BENT * bend(step))).any(axis=0)
        flat = (np.ptp(term.rows, axis=0) > 0.0) & ~slopes.any(axis=0) & (len(term.joint.variables) == 1)
        if (apart | flat).any():
            column = self.side.columns[int(term.columns[int(np.argmax(apart | flat))])]
            raise self._error(
                f"{column} changes with '{name}' by steps, or bends at one of its values, and has no derivative; leave "
                "it out of dydx, or derive a variable of its own"
            )
        return slopes

    def column_of(self, name: str) -> int | None:
        """The column that a numeric variable is, as it is and in no other term; None where it enters otherwise."""
        having = self.having(name)
        if len(having) != 1 or len(having[0].joint.variables) != 1 or len(having[0].columns) != 1:
            return None
        values = np.array(self.codebook[name].values, dtype=float)
        return int(having[0].columns[0]) if np.array_equal(having[0].rows[: len(values), 0], values) else None

    @cached_property
    def categories(self) -> list[str]:
        """The variables that enter by their levels, as they are or in C(...)."""
        coded = [str(factor) for factor, (_, state) in self.side.spec.encoder_state.items() if "contrasts" in state]
        whole = [each for each in coded if each.startswith("C(") or each.strip("`") in self.side.variables]
        return [name for name in self.side.variables if any(named_in(each, [name]) for each in whole)]

    def levels(self, name: str) -> list[int]:
        """The codes of the levels of a category, without those that have no column."""
        without = self.side.without.get(name, ())
        return [code for code, value in enumerate(self.codebook[name].values) if format_value(value) not in without]

    def reference(self, name: str) -> int:
        """The code of the level that others are compared with; the first where the coding has none."""
        base, levels = self.side.categories.get(name, ""), self.levels(name)
        of = (code for code in levels if format_value(self.codebook[name].values[code]) == base)
        return next(of, levels[0])

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.output}': {text}")


def expected(kind: Kind, eta: Array) -> tuple[Array, Array, Array]:
    """The expected response at linear predictors (n,), its first and its second derivative in them."""
    if kind == "ols":
        return eta, np.ones_like(eta), np.zeros_like(eta)
    if kind == "probit":
        density = norm.pdf(eta)
        return norm.cdf(eta), density, -eta * density
    if kind == "logit":
        chance = expit(eta)
        density = chance * expit(-eta)
        return chance, density, density * (expit(-eta) - chance)
    mean = np.exp(np.minimum(eta, _LARGEST))
    return mean, mean, mean
