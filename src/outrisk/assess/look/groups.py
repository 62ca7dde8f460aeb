"""Groups of records that a regression tells apart: the levels of its categories, and what its terms are 1 for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.finding import Rows
from outrisk.assess.look.told import Flags
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array
from outrisk.outputs.regression.regression import Regression
from outrisk.problem.blocks import Joint, Term, level_in

_IN_SPAN = 1e-6  # how far a group may be from a combination of columns
_CLOSE = 1e-4  # the same by squares, before it is asked record by record


@dataclass(frozen=True, eq=False)
class Groups:
    """Records in groups: the group of each (n,), and what each group is called."""

    place: NDArray[np.int64]
    labels: list[str]

    def sizes(self, among: Flags | None = None) -> NDArray[np.int64]:
        """How many records each group has, or has among some (n,)."""
        place = self.place if among is None else self.place[among]
        return np.asarray(np.bincount(place, minlength=len(self.labels)), dtype=np.int64)

    def inside(self, group: int) -> NDArray[np.intp]:
        """The places of a group's records among all."""
        order, ends = self._sorted
        return order[ends[group] : ends[group + 1]]

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        return np.argsort(self.place, kind="stable"), np.r_[0, np.cumsum(self.sizes())]


def groups_of(output: Regression, rows: Rows, data: Microdata) -> Iterator[Groups]:
    """All records; by each category, those of each level; and by each term, those of each combination of its
    categories, or of each set of its columns that are 1. Columns need not tell all of them apart, see `Span`.
    """
    yield Groups(np.zeros(len(rows), dtype=np.int64), ["all records"])
    codes, terms = data.codes[rows], [term for term in output.design.terms() if term.joint.variables]
    alone = {term.joint.variables for term in terms}
    for name in output.references:
        if name in data.codebook and (data.codebook.index(name),) not in alone:
            yield Groups(codes[:, data.codebook.index(name)].astype(np.int64), _levels(data, name))
    for term in terms:
        level, seen = np.unique(level_in(term.joint, codes), return_inverse=True)
        if all(_is_category(output, data, each) for each in term.joint.variables):
            yield Groups(seen, [_label(data, term.joint, each) for each in level.tolist()])
        elif np.isin(term.rows, (0.0, 1.0)).all():
            sets, of_level = np.unique(term.rows[level], axis=0, return_inverse=True)
            yield Groups(of_level.ravel()[seen], [_of_columns(output, term, each) for each in sets])


def _levels(data: Microdata, name: str) -> list[str]:
    return [f"{name}={label}" for label in data.codebook[name].labels]


def _is_category(output: Regression, data: Microdata, variable: int) -> bool:
    known = data.codebook.variables[variable]
    return not known.numeric or known.name in output.references or set(known.values) <= {0, 1}


def _label(data: Microdata, joint: Joint, level: int) -> str:
    parts = []
    for at, stride in zip(joint.variables, joint.strides, strict=True):
        variable = data.codebook.variables[at]
        parts.append(f"{variable.name}={variable.labels[level // stride % variable.size]}")
    return ", ".join(parts)


def _of_columns(output: Regression, term: Term, values: Array) -> str:
    columns = [output.columns[at] for at in term.columns]
    names = [(output.names or {}).get(name, name) for name in columns]
    return ", ".join(f"{name}={value:g}" for name, value in zip(names, values, strict=True))


@dataclass(frozen=True, eq=False)
class Span:
    """The combinations of the columns of a design (n, k)."""

    design: Array

    @cached_property
    def _scale(self) -> Array:
        scale = np.sqrt((self.design**2).sum(axis=0))
        return np.asarray(np.where(scale > 0, scale, 1.0))

    @cached_property
    def _inverse(self) -> Array:
        scaled = self.design / self._scale
        return np.asarray(np.linalg.pinv(scaled.T @ scaled, hermitian=True, rcond=1e-12))

    def of(self, inside: NDArray[np.intp]) -> Array | None:
        """How columns (k,) make a column that is 1 for some records, and 0 for others; None: they do not. inside: the
        places of these among the n.
        """
        sums = self.design[inside].sum(axis=0) / self._scale
        found = self._inverse @ sums
        if abs(len(inside) - sums @ found) > _CLOSE * len(inside):  # squares that the columns leave
            return None
        rest = self.design @ (found / self._scale)
        rest[inside] -= 1.0
        return found / self._scale if np.abs(rest).max() < _IN_SPAN else None

    def holds(self, column: NDArray[np.floating]) -> bool:
        """Whether a column (n,), which is not 0, is one of them."""
        found = self._inverse @ (column @ self.design / self._scale)
        rest = self.design @ (found / self._scale) - column
        return bool(np.abs(rest).max() < _IN_SPAN * np.abs(column).max())
