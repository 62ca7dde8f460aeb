"""Blocks flattened for the compiled loops (layout: see layout.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.evolve.compiled.layout import BARE, FAMILIES, GENERAL, HEADER, MAPPED, MODEL, TALLY, WHOLE, Codes, Plan
from outrisk.problem.blocks import (
    Array,
    Block,
    Joint,
    Mask,
    Model,
    Tally,
    Term,
    joint_over,
    levels_over,
    spread_rows,
    variables,
)

FOLDED = 1 << 18  # levels up to which a tally takes its masks and weight into its own table
PROFILES = 1 << 22  # numbers up to which a model gets a table of what each kind of record adds to its residuals
BINS = 1 << 12  # of a model; with more of them, emptying them costs more than they save
MERGED = 512  # terms of a regression share a table up to this many levels; larger ones leave the nearest cache


def build_plan(
    codebook: Codebook,
    blocks: Sequence[Block],
    n_numbers: Sequence[int],
    rules: Sequence[Mask] = (),
    most_profiles: int = 0,
) -> Plan:
    """Flatten blocks and rules; `n_numbers` of each block: the published numbers of a model, anything for a tally.
    Models of at most `most_profiles` kinds of records get a table of them.
    """
    flat = _Flat(codebook.sizes, most_profiles)
    addresses = [flat.add(block, numbers) for block, numbers in zip(blocks, n_numbers, strict=True)]
    ruled = [flat.mask(rule) for rule in rules]
    p = len(codebook.variables)
    marks = [marks_of(j, blocks, codebook.sizes) if v.numeric else [] for j, v in enumerate(codebook.variables)]
    used = [variables(block) for block in blocks]
    by_variable = [[at for at, on in zip(addresses, used, strict=True) if j in on] for j in range(p)]
    rules_by = [[at for at, rule in zip(ruled, rules, strict=True) if j in rule.joint.variables] for j in range(p)]
    return Plan(
        sizes=_ints(codebook.sizes),
        numeric=np.array([variable.numeric for variable in codebook.variables], np.uint8),
        active=_ints([j for j, on in enumerate(by_variable) if on and codebook.sizes[j] > 1]),
        var_ptr=_pointers(by_variable),
        var_blocks=_ints([at for on in by_variable for at in on]),
        blocks=_ints(addresses),
        mark_ptr=_pointers(marks),
        marks=_ints([value for those in marks for value in those]),
        rule_ptr=_pointers(rules_by),
        rules=_ints([at for on in rules_by for at in on]),
        extent=_ints(
            [
                flat.n_totals,
                flat.most_design,
                flat.most_entries,
                flat.most_equations,
                flat.most_numbers,
                flat.n_bins,
            ]
        ),
        code=_ints(flat.code),
        floats=np.concatenate([np.zeros(0), *flat.floats]),
        flags=np.concatenate([np.zeros(0, np.uint8), *flat.flags]),
        cells=np.concatenate([np.zeros(0, np.int32), *flat.cells]),
        cols=np.concatenate([np.zeros(0, np.int32), *flat.cols]),
        vals=np.concatenate([np.zeros(0), *flat.vals]),
    )


def marks_of(j: int, blocks: Sequence[Block], sizes: Sequence[int]) -> list[int]:
    """Values of a variable at which a count of a tally, of several values each, begins or ends; ascending."""
    found = np.zeros(sizes[j], np.bool_)
    for block in blocks:
        if not isinstance(block, Tally) or block.cell is None or block.value is not None:
            continue
        if j in block.place.variables:
            shape = [sizes[v] for v in block.place.variables]
            cell = np.moveaxis(block.cell.reshape(shape), block.place.variables.index(j), 0).reshape(sizes[j], -1)
            new = (cell[1:] != cell[:-1]).any(axis=1)
            found[1:] |= new
            found[:-1] |= new
    return [int(value) for value in np.flatnonzero(found)]


def merge_terms(terms: Sequence[Term], sizes: Sequence[int], limit: int = MERGED) -> list[Term]:
    """Join terms while their supports multiply to no more than the limit: the same design in fewer tables."""
    merged: list[Term] = []
    for term in sorted(terms, key=lambda term: -term.joint.size):
        for at, other in enumerate(merged):
            together = tuple(sorted({*other.joint.variables, *term.joint.variables}))
            if math.prod(sizes[j] for j in together) <= limit:
                joint = joint_over(together, sizes)
                rows = np.hstack([spread_rows(part, joint, sizes) for part in (other, term)])
                merged[at] = Term(joint, np.concatenate([other.columns, term.columns]), rows)
                break
        else:
            merged.append(term)
    return merged


def fold(block: Tally, sizes: Sequence[int]) -> Tally:
    """The same tally without masks and weight, where one table over all its variables is not too large."""
    together = tuple(sorted(variables(block)))
    if not (block.masks or block.weight) or math.prod(sizes[j] for j in together) > FOLDED:
        return block
    joint = joint_over(together, sizes)
    place = levels_over(block.place, joint, sizes)
    cell = place.astype(np.int32) if block.cell is None else block.cell[place]
    value = np.ones(joint.size) if block.value is None else block.value[place]
    if block.weight:
        value = value * block.weight.by_code[levels_over(joint_over([block.weight.variable], sizes), joint, sizes)]
    inside = value != 0.0
    for mask in block.masks:
        inside &= mask.include[levels_over(mask.joint, joint, sizes)]
    plain = block.value is None and block.weight is None
    return Tally(joint, block.size, np.where(inside, cell, -1).astype(np.int32), None if plain else value)


def _ints(numbers: Sequence[int]) -> NDArray[np.int64]:
    return np.array(numbers, dtype=np.int64)


def _pointers(lists: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum([len(one) for one in lists], dtype=np.int64)])


def kinds_of(plan: Plan, b: int) -> Codes | None:
    """A record (kinds, p) of each kind that the MODEL at address b tells apart, in the order of its profiles; None if
    it has none.
    """
    code, whole = plan.code, int(plan.code[b + WHOLE])
    if whole < 0:
        return None
    which, strides = code[whole + 1 : whole + 1 + 2 * code[whole]].reshape(-1, 2).T
    kind = np.arange(plan.sizes[which].prod())[:, None]
    records = np.zeros((len(kind), len(plan.sizes)), np.uint16)
    records[:, which] = kind // strides % plan.sizes[which]
    return records


class _Flat:
    """The growing flat arrays while blocks are added."""

    def __init__(self, sizes: Sequence[int], most_profiles: int) -> None:
        self.sizes, self.most_profiles = sizes, most_profiles
        self.code: list[int] = []
        self.floats: list[Array] = []
        self.flags: list[NDArray[np.uint8]] = []
        self.cells: list[NDArray[np.int32]] = []
        self.cols: list[NDArray[np.int32]] = []
        self.vals: list[Array] = []
        self.n_totals = self.n_forms = self.n_residuals = self.n_bins = self.n_profiles = 0
        self.n_floats = self.n_flags = self.n_cells = self.n_design = 0
        self.most_design = self.most_entries = self.most_equations = self.most_numbers = 1

    def add(self, block: Block, n_numbers: int) -> int:
        """Lay a block out; returns its address."""
        if isinstance(block, Tally):
            block = fold(block, self.sizes)
        place = self._joint(block.place)
        laid = [self._mask(mask) for mask in block.masks]
        masks = len(self.code)
        self.code += [number for mask in laid for number in mask]
        weight = (block.weight.variable, self._floats(block.weight.by_code)) if block.weight else (-1, -1)
        own = self._tally(block) if isinstance(block, Tally) else self._model(block, n_numbers)
        address = len(self.code)
        kind = TALLY if isinstance(block, Tally) else MODEL
        self.code += [kind, self.n_totals, block.size, place, len(laid), masks, *weight, *own]
        assert len(self.code) == address + HEADER + len(own)
        self.n_totals += block.size
        return address

    def mask(self, mask: Mask) -> int:
        """Lay a mask out on its own; returns its address."""
        laid = self._mask(mask)
        self.code += laid
        return len(self.code) - len(laid)

    def _mask(self, mask: Mask) -> list[int]:
        at = self.n_flags
        self.flags.append(mask.include.astype(np.uint8))
        self.n_flags += len(mask.include)
        return [self._joint(mask.joint), at]

    def _tally(self, block: Tally) -> list[int]:
        cell = value = -1
        if block.cell is not None:
            cell = self.n_cells
            self.cells.append(np.asarray(block.cell, np.int32))
            self.n_cells += len(block.cell)
        if block.value is not None:
            value = self._floats(block.value)
        shape = GENERAL if block.masks or block.weight else BARE if cell < 0 and value < 0 else MAPPED
        return [cell, value, shape]

    def _model(self, block: Model, n_numbers: int) -> list[int]:
        columns = block.coefficients.shape[1]
        coefficients = np.vstack([block.coefficients, np.zeros((len(block.shape), columns))])
        equations, before = len(coefficients), self.n_bins
        terms = [self._term(term, coefficients) for term in merge_terms(block.terms, self.sizes)]
        terms += [self._constant([*np.zeros(len(block.coefficients)), *block.shape])] if len(block.shape) else []
        design = sum(term[3] for term in terms)
        if block.offset:
            joint, values = block.offset
            of_shape = [0.0] * len(block.shape)
            eta = self._floats(np.array([[value] * len(block.coefficients) + of_shape for value in values]).ravel())
            terms.append([self._joint(joint), eta, 0, 0, self._bins(joint), joint.size])
        binned = equations == 1 and block.size == block.n_score and self.n_bins - before <= BINS
        if not binned:
            self.n_bins = before
        extras = [self._term(term, np.zeros((0, block.n_extra))) for term in merge_terms(block.extra, self.sizes)]
        at = len(self.code)
        self.code += [number for term in (*terms, *extras) for number in term]
        response = self._floats(block.response)
        meat = block.n_score + block.n_information
        likelihood = meat + block.n_meat
        own = [FAMILIES[block.family], equations, columns]
        own += [len(terms), at, len(extras), at + sum(map(len, terms))]
        own += [block.n_score if block.information else -1, likelihood if block.likelihood else -1]
        own += [block.size - block.n_extra, response, self.n_forms, n_numbers, self.n_residuals, int(binned)]
        own += [*self._whole(block, n_numbers), self._clock(block)]
        own += [meat if block.robust else -1, self._joint(block.clusters) if block.clusters else -1]
        products = (equations * design) * (equations * design + 1) // 2
        entries = equations * design + 1 + sum(term[3] for term in extras) + products * int(block.information)
        entries += (equations * design if block.clusters else products) * int(block.robust)
        entries += (1 + block.clock.efron) * (1 + design + products) if block.clock else 0
        self.most_design, self.most_entries = max(self.most_design, design + 1), max(self.most_entries, entries)
        self.most_equations = max(self.most_equations, equations)
        self.most_numbers = max(self.most_numbers, n_numbers)
        self.n_forms += block.size * n_numbers
        self.n_residuals += n_numbers
        return own

    def _whole(self, block: Model, n_numbers: int) -> list[int]:
        """A joint over all variables of a model and the offset of its profiles; (-1, -1) where that is too large."""
        together = tuple(sorted(variables(block)))
        profiles = math.prod(self.sizes[j] for j in together)
        if profiles > self.most_profiles or profiles * n_numbers > PROFILES:
            return [-1, -1]
        at = self.n_profiles
        self.n_profiles += profiles * n_numbers
        return [self._joint(joint_over(together, self.sizes)), at]

    def _clock(self, block: Model) -> int:
        """Address of a model's clock; -1 where it has none."""
        if block.clock is None:
            return -1
        laid = [
            self._joint(block.clock.joint),
            self._floats(block.clock.cell.astype(np.float64)),
            block.clock.cells,
            block.clock.efron,
        ]
        self.code += laid
        return len(self.code) - len(laid)

    def _term(self, term: Term, coefficients: Array) -> list[int]:
        """Sparse design rows, padded with zeros to one width."""
        joint = self._joint(term.joint)
        eta = self._floats((term.rows @ coefficients[:, term.columns].T).ravel())
        at = self.n_design
        used = term.rows != 0
        width = max(1, int(used.sum(axis=1).max(initial=0)))
        order = np.argsort(~used, axis=1, kind="stable")[:, :width]
        self.cols.append(term.columns[order].ravel().astype(np.int32))
        self.vals.append(np.take_along_axis(term.rows, order, axis=1).ravel())
        self.n_design += order.size
        return [joint, eta, at, width, self._bins(term.joint), term.joint.size]

    def _constant(self, eta: list[float]) -> list[int]:
        """A term of no columns that adds the same to the predictors of all records."""
        joint = Joint((), (), 1)
        return [self._joint(joint), self._floats(np.array(eta)), 0, 0, self._bins(joint), 1]

    def _bins(self, joint: Joint) -> int:
        at = self.n_bins
        self.n_bins += joint.size
        return at

    def _joint(self, joint: Joint) -> int:
        address = len(self.code)
        self.code.append(len(joint.variables))
        for variable, stride in zip(joint.variables, joint.strides, strict=True):
            self.code += [variable, stride]
        return address

    def _floats(self, table: Array) -> int:
        at = self.n_floats
        self.floats.append(np.asarray(table, float).ravel())
        self.n_floats += table.size
        return at
