"""What margins are asked for, and what each record adds to them: effects, and predictions at levels of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np

from outrisk.codebook import format_value
from outrisk.errors import OutputError
from outrisk.outputs.base import Array
from outrisk.outputs.regression.margin_designs import Codes, Designs, expected
from outrisk.outputs.regression.release import Kind
from outrisk.problem.blocks import Term

Factors = Literal["levels", "columns", "slopes"]
Key = tuple[object, ...]  # ("as is",), ("levels", ((name, code), ...)), ("slope", name), ("column", column, 0 or 1)
AS_IS: Key = ("as is",)


@dataclass(frozen=True)
class Quantity:
    """One margin: the sum of what `sides` add, each times its sign; or the slope in a design column, which is its
    coefficient times that of the expected response.
    """

    label: str
    sides: tuple[tuple[float, Key], ...] = ()
    column: int = -1


@dataclass(frozen=True, eq=False)
class Quantities:
    """The margins of a regression: effects (dy/dx) of the variables in `dydx` and predictive margins at the levels of
    those in `predictions` ('a:b' for the levels of both; '' for all records as they are). `factors`: see `Margins`.

    OutputError for what is no variable of the model, or has no such margin.
    """

    kind: Kind
    designs: Designs
    dydx: tuple[str, ...]
    predictions: tuple[str, ...]
    factors: Factors = "levels"

    @cached_property
    def all(self) -> list[Quantity]:
        """One after the other, in the order that they are asked for."""
        effects = [each for name in self.dydx for each in self._effects(name)]
        return [*effects, *(each for name in self.predictions for each in self._predictions(name))]

    @cached_property
    def keys(self) -> list[Key]:
        """What they are made of, each once."""
        found = [key for each in self.all for key in ([AS_IS] if each.column >= 0 else [k for _, k in each.sides])]
        return list(dict.fromkeys(found))

    def _effects(self, name: str) -> list[Quantity]:
        side, codebook = self.designs.side, self.designs.codebook
        if name not in side.variables:
            raise self._error(f"dydx: '{name}' is no variable on the right of the formula; these are {side.variables}")
        if self.factors != "levels":
            return [self._of_column(at, side.columns[at]) for at in side.places(name)]
        if name in self.designs.categories:
            base = self.designs.reference(name)
            return [
                Quantity(
                    f"dy/dx: {name} = {self._value(name, code)}",
                    ((1.0, ("levels", ((name, code),))), (-1.0, ("levels", ((name, base),)))),
                )
                for code in self.designs.levels(name)
                if code != base
            ]
        if not codebook[name].numeric:
            raise self._error(f"dydx: '{name}' is no number and has no levels in the formula; write C({name}) there")
        column = self.designs.column_of(name)
        if column is not None:
            return [Quantity(f"dy/dx: {name}", column=column)]
        _ = self._slopes(name)
        return [Quantity(f"dy/dx: {name}", ((1.0, ("slope", name)),))]

    def _of_column(self, at: int, column: str) -> Quantity:
        """As statsmodels has it: each column on its own, whatever variables it is made of."""
        rows = next(term.rows[:, list(term.columns).index(at)] for term in self.designs.terms if at in term.columns)
        if self.factors == "columns" and set(np.unique(rows)) == {0.0, 1.0}:
            return Quantity(f"dy/dx: {column}", ((1.0, ("column", at, 1)), (-1.0, ("column", at, 0))))
        return Quantity(f"dy/dx: {column}", column=at)

    def _predictions(self, named: str) -> list[Quantity]:
        if not named:
            return [Quantity("margin", ((1.0, ("levels", ())),))]
        names = named.split(":")
        for name in names:
            if names.count(name) > 1:
                raise self._error(f"predictions: '{named}' has '{name}' twice; keep one")
            if name not in self.designs.categories:
                raise self._error(
                    f"predictions: '{name}' is no category on the right of the formula; these are "
                    f"{self.designs.categories}"
                )
        found = []
        for codes in product(*(self.designs.levels(name) for name in names)):
            label = ", ".join(f"{n} = {self._value(n, c)}" for n, c in zip(names, codes, strict=True))
            found.append(Quantity(f"margin: {label}", ((1.0, ("levels", tuple(zip(names, codes, strict=True)))),)))
        return found

    def _value(self, name: str, code: int) -> str:
        return format_value(self.designs.codebook[name].values[code])

    def _slopes(self, name: str) -> tuple[Term, ...]:
        if name not in self._kept:
            self._kept[name] = self.designs.slopes(name)
        return self._kept[name]

    @cached_property
    def _kept(self) -> dict[str, tuple[Term, ...]]:
        return {}

    def of_key(self, key: Key, codes: Codes, b: Array) -> tuple[Array, Array]:
        """What records add to a part of the margins (n,), and its derivatives in the coefficients (n, k)."""
        designs = self.designs
        what = key[0]
        moved = designs.at(codes, key[1]) if what == "levels" else codes  # type: ignore[arg-type]
        rows = designs.rows(moved)
        if what == "column":
            rows[:, key[1]] = key[2]  # type: ignore[call-overload]
        value, first, second = expected(self.kind, rows @ b + designs.offsets(moved))
        if what in ("levels", "column"):
            return value, first[:, None] * rows
        if key == AS_IS:
            return first, second[:, None] * rows
        change = designs.rows(codes, self._slopes(str(key[1])))
        slope = change @ b
        return first * slope, (second * slope)[:, None] * rows + first[:, None] * change

    def of_keys(self, parts: Sequence[tuple[Array, Array]], b: Array) -> tuple[Array, Array]:
        """The margins (J,) and their derivatives in the coefficients (J, k), of means of what `keys` add to them."""
        by_key = dict(zip(self.keys, parts, strict=True))
        values, slopes = np.zeros(len(self.all)), np.zeros((len(self.all), len(b)))
        for at, each in enumerate(self.all):
            if each.column >= 0:
                value, slope = by_key[AS_IS]
                values[at], slopes[at] = b[each.column] * float(value), b[each.column] * slope
                slopes[at, each.column] += float(value)
            for sign, key in each.sides:
                values[at] += sign * by_key[key][0]
                slopes[at] += sign * by_key[key][1]
        return values, slopes

    def over(self, codes: Codes, weights: Array, b: Array) -> tuple[Array, Array]:
        """The margins (J,), means over records of so much weight (n,), and their derivatives in coefficients b."""
        share, parts = weights / weights.sum(), []
        for key in self.keys:
            value, slope = self.of_key(key, codes, b)
            parts.append((share @ value, share @ slope))
        return self.of_keys(parts, b)

    def at_means(self, codes: Codes, weights: Array, b: Array) -> tuple[Array, Array]:
        """The same at the means of the design columns."""
        share = weights / weights.sum()
        means, offset = share @ self.designs.rows(codes), float(share @ self.designs.offsets(codes))
        parts = []
        for key in self.keys:
            row = means.copy()
            if key[0] == "column":
                row[key[1]] = key[2]  # type: ignore[call-overload, unused-ignore]
            for name, code in key[1] if key[0] == "levels" else ():  # type: ignore[attr-defined]
                (term,) = self.designs.having(name)
                row[term.columns] = term.rows[code]
            value, first, second = expected(self.kind, row[None] @ b + offset)
            parts.append((first[0], second[0] * row) if key == AS_IS else (value[0], first[0] * row))
        return self.of_keys(parts, b)

    def check_means(self) -> None:
        """OutputError where programs differ in what the means of a model's columns are."""
        for term in self.designs.terms:
            if len(term.joint.variables) > 1:
                raise self._error(
                    "at_means: the formula has interactions, of whose means programs make different things"
                )
        for name in self.designs.side.variables:
            if len(self.designs.having(name)) > 1 or (
                name not in self.designs.categories and self.designs.column_of(name) is None
            ):
                raise self._error(f"at_means: '{name}' is not in the formula as it is; programs differ in its mean")
        if self.designs.offset is not None:
            raise self._error("at_means: programs differ in the mean of an offset; leave one of them out")

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.designs.output}': {text}")
