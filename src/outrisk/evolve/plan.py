"""Blocks: what an output contributes to the totals, and their flat form for the compiled loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import EvolveError
from outrisk.evolve import kernels
from outrisk.evolve.kernels import Plan

Array = NDArray[np.float64]
MERGED = 512  # terms of a regression share a table up to this many levels; larger ones leave the nearest cache
MAX_JOINT = 4_000_000  # largest product of supports that one table of an output may span


@dataclass(frozen=True)
class Joint:
    """A place in the product of some variables' supports; the last variable runs fastest (C order)."""

    variables: tuple[int, ...]
    strides: tuple[int, ...]
    size: int


def joint_over(variables: Sequence[int], sizes: Sequence[int]) -> Joint:
    """The joint of variables given by position."""
    supports = [sizes[j] for j in variables]
    strides = tuple(math.prod(supports[e + 1 :]) for e in range(len(supports)))
    return Joint(tuple(variables), strides, math.prod(supports))


def joint_of(codebook: Codebook, names: Sequence[str], limit: int = MAX_JOINT) -> Joint:
    """The joint of named variables; EvolveError where the product of supports passes the limit."""
    joint = joint_over([codebook.index(name) for name in names], codebook.sizes)
    if joint.size > limit:
        raise EvolveError(
            f"the supports of {list(names)} multiply to {joint.size:,} combinations; "
            f"at most {limit:,} are possible: band one of them"
        )
    return joint


@dataclass(frozen=True, eq=False)
class Mask:
    """Which combinations of some variables an output includes: `include[level]`, shape (joint.size,)."""

    joint: Joint
    include: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Term:
    """Design columns that depend on one set of variables: `rows[level]` are their values, shape (joint.size,
    columns).
    """

    joint: Joint
    columns: NDArray[np.int64]
    rows: Array


@dataclass(frozen=True, eq=False)
class CountBlock:
    """Totals = number of records in each cell of a table; they are the published numbers."""

    cell: Joint
    masks: tuple[Mask, ...]

    @property
    def size(self) -> int:
        """Number of totals."""
        return self.cell.size


@dataclass(frozen=True, eq=False)
class ScoreBlock:
    """Totals = score of a logit at its published coefficients; the published numbers are b + I^-1 score (one Newton
    step).

    `response[level]` is the 0/1 response by combination of the variables it depends on.
    """

    coefficients: Array
    place: Joint
    response: Array
    terms: tuple[Term, ...]
    masks: tuple[Mask, ...]

    @property
    def size(self) -> int:
        """Number of totals."""
        return len(self.coefficients)


Block = CountBlock | ScoreBlock


def build_plan(codebook: Codebook, blocks: Sequence[Block]) -> Plan:
    """Flatten blocks for the compiled loops (layout: see kernels.py)."""
    flat = _Flat(codebook.sizes)
    addresses = [flat.add(block) for block in blocks]
    used = [{j for joint in _joints(block) for j in joint.variables} for block in blocks]
    p = len(codebook.variables)
    by_variable = [[at for at, on in zip(addresses, used, strict=True) if j in on] for j in range(p)]
    return Plan(
        sizes=_ints(codebook.sizes),
        numeric=np.array([variable.numeric for variable in codebook.variables], np.uint8),
        active=_ints([j for j, on in enumerate(by_variable) if on and codebook.sizes[j] > 1]),
        var_ptr=np.concatenate([np.zeros(1, np.int64), np.cumsum([len(on) for on in by_variable])]),
        var_blocks=_ints([at for on in by_variable for at in on]),
        blocks=_ints(addresses),
        extent=_ints([flat.n_totals, flat.n_weights, 2 * max(flat.widths, default=1)]),
        code=_ints(flat.code),
        floats=np.concatenate([np.zeros(0), *flat.floats]),
        flags=np.concatenate([np.zeros(0, np.uint8), *flat.flags]),
        cols=np.concatenate([np.zeros(0, np.int32), *flat.cols]),
        vals=np.concatenate([np.zeros(0), *flat.vals]),
    )


def merge_terms(terms: Sequence[Term], sizes: Sequence[int], limit: int = MERGED) -> list[Term]:
    """Join terms while their supports multiply to no more than the limit: the same design in fewer tables."""
    merged: list[Term] = []
    for term in sorted(terms, key=lambda term: -term.joint.size):
        for at, other in enumerate(merged):
            variables = tuple(sorted({*other.joint.variables, *term.joint.variables}))
            if math.prod(sizes[j] for j in variables) <= limit:
                joint = joint_over(variables, sizes)
                rows = np.hstack([spread_rows(part, joint, sizes) for part in (other, term)])
                merged[at] = Term(joint, np.concatenate([other.columns, term.columns]), rows)
                break
        else:
            merged.append(term)
    return merged


def spread_rows(term: Term, joint: Joint, sizes: Sequence[int]) -> Array:
    """Design rows of a term over a wider joint that contains its variables."""
    levels = np.indices([sizes[j] for j in joint.variables]).reshape(len(joint.variables), -1)
    own = np.zeros(joint.size, dtype=np.int64)
    for j, stride in zip(term.joint.variables, term.joint.strides, strict=True):
        own += levels[joint.variables.index(j)] * stride
    return term.rows[own]


def _ints(numbers: Sequence[int]) -> NDArray[np.int64]:
    return np.array(numbers, dtype=np.int64)


def _joints(block: Block) -> list[Joint]:
    masks = [mask.joint for mask in block.masks]
    if isinstance(block, CountBlock):
        return [block.cell, *masks]
    return [block.place, *(term.joint for term in block.terms), *masks]


class _Flat:
    """The growing flat arrays while blocks are added."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.code: list[int] = []
        self.floats: list[Array] = []
        self.flags: list[NDArray[np.uint8]] = []
        self.cols: list[NDArray[np.int32]] = []
        self.vals: list[Array] = []
        self.widths: list[int] = []  # design entries a record has in each score block
        self.n_totals = self.n_weights = self.n_floats = self.n_flags = self.n_entries = 0

    def add(self, block: Block) -> int:
        """Lay a block out; returns its address."""
        counts = isinstance(block, CountBlock)
        joint_of_mask = [self._joint(mask.joint) for mask in block.masks]
        terms = () if isinstance(block, CountBlock) else merge_terms(block.terms, self.sizes)
        joint_of_term = [self._joint(term.joint) for term in terms]
        place = self._joint(block.cell if isinstance(block, CountBlock) else block.place)
        response = -1 if isinstance(block, CountBlock) else self._floats(block.response)
        address = len(self.code)
        kind = kernels.COUNTS if counts else kernels.SCORES
        self.code += [kind, self.n_totals, block.size, self.n_weights, place, response]
        self.code += [len(joint_of_mask), len(joint_of_term)]
        for mask, joint in zip(block.masks, joint_of_mask, strict=True):
            self.code += [joint, self.n_flags]
            self.flags.append(mask.include.astype(np.uint8))
            self.n_flags += len(mask.include)
        if isinstance(block, ScoreBlock):
            widths = 0
            for term, joint in zip(terms, joint_of_term, strict=True):
                eta = self._floats(term.rows @ block.coefficients[term.columns])
                at, width = self._entries(term)
                self.code += [joint, eta, at, width]
                widths += width
            self.widths.append(widths)
        self.n_totals += block.size
        self.n_weights += block.size if counts else block.size**2
        return address

    def _joint(self, joint: Joint) -> int:
        address = len(self.code)
        self.code.append(len(joint.variables))
        for variable, stride in zip(joint.variables, joint.strides, strict=True):
            self.code += [variable, stride]
        return address

    def _floats(self, table: Array) -> int:
        at = self.n_floats
        self.floats.append(np.asarray(table, float))
        self.n_floats += len(table)
        return at

    def _entries(self, term: Term) -> tuple[int, int]:
        """Sparse design rows, padded with zeros to one width; returns the place of the first entry and the width."""
        at = self.n_entries
        used = term.rows != 0
        width = max(1, int(used.sum(axis=1).max(initial=0)))
        order = np.argsort(~used, axis=1, kind="stable")[:, :width]
        self.cols.append(term.columns[order].ravel().astype(np.int32))
        self.vals.append(np.take_along_axis(term.rows, order, axis=1).ravel())
        self.n_entries += order.size
        return at, width
