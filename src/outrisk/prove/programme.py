"""Released numbers as linear constraints on how many records there are of each kind.

Unknown are counts x[g, u] of records of group g (the same values of all variables that the intruder knows) with the
values u of the others. Counts, sums, shares and means are linear in them, between the ends that the printed digits
leave; quantiles are, with 0/1 variables for the records around them. Numbers that are not (standard deviations, modes,
regressions) are left out and named: a claim that holds without a constraint holds with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from outrisk.codebook import Codebook
from outrisk.errors import ProveError
from outrisk.problem.blocks import Array, Joint, Mask, Tally, variables
from outrisk.problem.formulas import Formula
from outrisk.problem.released import ROUNDING, Released, TallyPart

MOST_COLUMNS = 400_000  # kinds of records; a programme of that size takes about a gigabyte
_WHOLE = 1e-6  # what arithmetic may take from a whole number
_MOST_RANKED = 5_000_000  # values of a quantile times kinds of records
Codes = NDArray[np.int64]


@dataclass(eq=False)
class Rows:
    """Constraints low <= matrix x <= high, collected in blocks of rows; columns may still be added behind."""

    matrix: list[sparse.csr_array] = field(default_factory=list)
    low: list[Array] = field(default_factory=list)
    high: list[Array] = field(default_factory=list)
    origin: list[str] = field(default_factory=list)  # the output that each block comes from

    def add(self, matrix: sparse.csr_array, low: ArrayLike, high: ArrayLike, origin: str) -> None:
        """More constraints; those that say nothing are left out, whole sums of whole numbers get whole ends."""
        rows = matrix.shape[0]
        low, high = (np.broadcast_to(np.asarray(each, dtype=np.float64), rows) for each in (low, high))
        broken = np.repeat(np.arange(rows), np.diff(matrix.indptr))[matrix.data != np.round(matrix.data)]
        whole = ~np.isin(np.arange(rows), broken)
        low, high = np.where(whole, np.ceil(low - _WHOLE), low), np.where(whole, np.floor(high + _WHOLE), high)
        empty = np.diff(matrix.indptr) == 0
        says = (np.isfinite(low) | np.isfinite(high)) & ~(empty & (low <= 0) & (high >= 0))
        if says.any():
            self.matrix.append(sparse.csr_array(matrix[np.flatnonzero(says)]))
            self.low.append(low[says])
            self.high.append(high[says])
            self.origin.append(origin)

    def one(self, column: ArrayLike, value: ArrayLike, low: float, high: float, origin: str, width: int) -> None:
        """One more constraint, by its columns."""
        column = np.asarray(column, dtype=np.int64)
        value = np.broadcast_to(np.asarray(value, dtype=np.float64), column.shape)
        self.add(sparse.csr_array((value, column, [0, len(column)]), shape=(1, width)), low, high, origin)

    def stacked(self, width: int) -> tuple[sparse.csr_array, Array, Array, tuple[str, ...]]:
        """All of them over so many columns, and the origin of each."""
        for each in self.matrix:
            each.resize(each.shape[0], width)
        origins = tuple(name for name, each in zip(self.origin, self.matrix, strict=True) for _ in range(each.shape[0]))
        matrix = sparse.csr_array(sparse.vstack(self.matrix, format="csr"))
        return matrix, np.concatenate(self.low), np.concatenate(self.high), origins


@dataclass(frozen=True, eq=False)
class Programme:
    """Constraints on counts x (columns,), low <= matrix x <= high and 0 <= x <= most; the last columns are 0/1 helpers.

    groups (n,): the group of each person. sizes (G,): people in each. unknown: names of the variables not known; kinds
    (U, unknown): their codes in each kind. Column g U + u is the number of people of group g and kind u. origin: the
    output of each constraint. left_out: outputs of which numbers are not among the constraints, with the reason.
    """

    codebook: Codebook
    groups: NDArray[np.int64]
    sizes: NDArray[np.int64]
    unknown: tuple[str, ...]
    kinds: Codes
    matrix: sparse.csr_array
    low: Array
    high: Array
    most: Array
    origin: tuple[str, ...]
    left_out: Mapping[str, str]

    @property
    def n_kinds(self) -> int:
        """Kinds of records within a group, U."""
        return len(self.kinds)

    @property
    def n_counts(self) -> int:
        """Columns that are counts of records; helpers stand behind."""
        return len(self.sizes) * len(self.kinds)


def programme(
    codebook: Codebook,
    released: Sequence[Released],
    n_records: int,
    known: Mapping[str, Codes] | None = None,
    wanted: Sequence[str] = (),
    rules: Sequence[Mask] = (),
) -> Programme:
    """The programme of released numbers. `known`: code (n,) of everybody, of the variables of a register.

    `wanted`: variables that are asked about, unknown or not in any output. An output whose variables would make more
    than `MOST_COLUMNS` kinds of records is left out. ProveError where that holds for the wanted variables alone.
    """
    known = dict(known or {})
    left_out: dict[str, str] = {}
    used = {codebook.index(name) for name in wanted}
    kept: list[Released] = []
    for one in sorted(released, key=lambda one: len(_named(one) - used)):
        names = {codebook.variables[j].name for j in _named(one) | used}
        if _columns(codebook, names, known, n_records) > MOST_COLUMNS:
            left_out[one.name] = "its variables make too many kinds of records"
            continue
        used |= _named(one)
        kept.append(one)
    used |= {j for rule in rules for j in rule.joint.variables if {*rule.joint.variables} <= used}
    names = {codebook.variables[j].name for j in used}
    if _columns(codebook, names, known, n_records) > MOST_COLUMNS:
        raise ProveError(
            f"{sorted(names - set(known))} make too many kinds of records to be asked about together; "
            "give some of them as keys, or band them in the codebook"
        )
    kept.sort(key=list(released).index)
    unknown = tuple(name for name in codebook.names if name in names and name not in known)
    return _build(codebook, kept, n_records, known, sorted(names & set(known)), unknown, rules, left_out)


def _named(released: Released) -> set[int]:
    return {j for block in released.blocks for j in variables(block)}


def _columns(codebook: Codebook, names: set[str], known: Mapping[str, Codes], n_records: int) -> float:
    kinds = float(np.prod([codebook[name].size for name in names if name not in known]))
    groups = min(float(np.prod([codebook[name].size for name in names if name in known])), float(n_records))
    return kinds * groups


def _build(
    codebook: Codebook,
    released: Sequence[Released],
    n_records: int,
    known: Mapping[str, Codes],
    keys: Sequence[str],
    unknown: tuple[str, ...],
    rules: Sequence[Mask],
    left_out: dict[str, str],
) -> Programme:
    if keys:
        table = np.column_stack([known[name] for name in keys])
        distinct, groups, sizes = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    else:
        distinct, groups, sizes = np.zeros((1, 0), np.int64), np.zeros(n_records, np.int64), np.array([n_records])
    kinds = np.array(list(product(*(range(codebook[name].size) for name in unknown))), dtype=np.int64)
    kinds = kinds.reshape(-1, len(unknown))
    codes = np.zeros((len(distinct) * len(kinds), len(codebook.variables)), dtype=np.int64)
    codes[:, [codebook.index(name) for name in keys]] = np.repeat(distinct, len(kinds), axis=0)
    codes[:, [codebook.index(name) for name in unknown]] = np.tile(kinds, (len(distinct), 1))
    most = np.repeat(sizes, len(kinds)).astype(np.float64)
    inside = {codebook.index(name) for name in (*keys, *unknown)}
    for rule in rules:
        if {*rule.joint.variables} <= inside:
            most[~rule.include[_level(rule.joint, codes)]] = 0.0
        else:
            left_out["rules"] = "a rule names variables that no output has"
    rows, n_counts = Rows(), len(codes)
    of_group = sparse.csr_array(
        (np.ones(n_counts), np.arange(n_counts), np.arange(0, n_counts + 1, len(kinds))), shape=(len(sizes), n_counts)
    )
    rows.add(of_group, sizes, sizes, "")
    if len(sizes) > 1:  # says nothing new; a quantile of everybody asks for it
        rows.one(np.arange(n_counts), 1.0, n_records, n_records, "", n_counts)
    helpers = _Helpers(n_counts)
    for one in released:
        reason = _constrain(rows, one, codes, helpers)
        if reason:
            left_out[one.name] = reason
    matrix, low, high, origin = rows.stacked(helpers.next)
    return Programme(
        codebook,
        groups.ravel().astype(np.int64),
        sizes.astype(np.int64),
        unknown,
        kinds,
        matrix,
        low,
        high,
        np.concatenate([most, np.ones(helpers.next - n_counts)]),
        origin,
        left_out,
    )


@dataclass(eq=False)
class _Helpers:
    """Columns of 0/1 helpers, handed out one after the other."""

    next: int

    def take(self, number: int) -> NDArray[np.int64]:
        self.next += number
        return np.arange(self.next - number, self.next)


def _level(joint: Joint, codes: Codes) -> NDArray[np.int64]:
    level = np.zeros(len(codes), dtype=np.int64)
    for j, stride in zip(joint.variables, joint.strides, strict=True):
        level += codes[:, j] * stride
    return level


def _totals(blocks: Sequence[Tally], codes: Codes) -> sparse.csr_array:
    """What a record of each kind adds to each total of the blocks, (totals, kinds)."""
    parts, first = [], 0
    for block in blocks:
        level = _level(block.place, codes)
        cell = level if block.cell is None else block.cell[level].astype(np.int64)
        value = np.ones(len(codes)) if block.value is None else np.asarray(block.value[level], dtype=np.float64)
        if block.weight is not None:
            value = value * block.weight.by_code[codes[:, block.weight.variable]]
        inside = (cell >= 0) & (value != 0)
        for mask in block.masks:
            inside &= mask.include[_level(mask.joint, codes)]
        at = np.flatnonzero(inside)
        parts.append(sparse.coo_array((value[at], (cell[at], at)), shape=(block.size, len(codes))))
        first += block.size
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def _constrain(rows: Rows, one: Released, codes: Codes, helpers: _Helpers) -> str:
    """Add the constraints of one output; why some of its numbers are not among them, '' where all are."""
    reason, number = "", 0
    half = one.tolerance * ROUNDING
    for part in one.parts:
        if not isinstance(part, TallyPart):
            reason = f"numbers of a model ({one.kind}) are not linear"
            number += part.n_numbers
            continue
        totals = _totals(part.blocks, codes)
        ends = slice(number, number + part.n_numbers)
        low, high = one.low[ends] - half[ends], one.high[ends] + half[ends]
        formulas = part.map.formulas(part.n_numbers)
        at = {kind: [k for k, each in enumerate(formulas) if each.kind == kind] for kind in {f.kind for f in formulas}}
        if plain := at.pop("total", None):
            place = np.array([int(formulas[k].totals[0]) for k in plain])
            rows.add(sparse.csr_array(totals[place]), low[plain], high[plain], one.name)
        if shares := at.pop("ratio", None):
            _ratios(rows, totals, [formulas[k] for k in shares], low[shares], high[shares], one.name)
        for k in at.pop("rank", []):
            if np.isfinite(low[k]) and one.low[number + k] == one.high[number + k]:
                reason = _rank(rows, totals, formulas[k], low[k], high[k], helpers, one.name) or reason
        for kind, those in at.items():
            if np.isfinite(low[those]).any() or np.isfinite(high[those]).any():
                reason = f"a {kind} is not linear"
        number += part.n_numbers
    return reason


def _ratios(
    rows: Rows, totals: sparse.csr_array, formulas: Sequence[Formula], low: Array, high: Array, origin: str
) -> None:
    """shift + scale T / B in [low, high] with B > 0: scale T - (end - shift) B on the right side of 0."""
    place = np.concatenate([formula.base for formula in formulas])
    starts = np.cumsum([0, *(len(formula.base) for formula in formulas)])
    base = sparse.csr_array((np.ones(len(place)), place, starts), shape=(len(formulas), totals.shape[0])) @ totals
    top = totals[np.array([int(formula.totals[0]) for formula in formulas])]
    top = sparse.diags_array(np.array([formula.scale for formula in formulas])) @ top
    shift = np.array([formula.shift for formula in formulas])
    known = np.isfinite(low) | np.isfinite(high)
    for end, at_least in ((low, True), (high, False)):
        finite = np.isfinite(end)
        some = np.flatnonzero(finite)
        row = sparse.csr_array(top - sparse.diags_array(np.where(finite, end - shift, 0.0)) @ base)[some]
        rows.add(sparse.csr_array(row), 0.0 if at_least else -np.inf, np.inf if at_least else 0.0, origin)
    least = np.array([max(formula.least, 1e-9) for formula in formulas])
    rows.add(sparse.csr_array(base[np.flatnonzero(known)]), least[known], np.inf, origin)


def _rank(
    rows: Rows,
    totals: sparse.csr_array,
    formula: Formula,
    low: float,
    high: float,
    helpers: _Helpers,
    origin: str,
) -> str:
    """A quantile of a group whose size the constraints already fix: 0/1 helpers choose the records around its rank."""
    if len(formula.points) * totals.shape[1] > _MOST_RANKED:
        return "a quantile of so many kinds of records is not taken up"
    base = sparse.csr_array(totals[formula.base].sum(axis=0).reshape(1, -1))
    size = _fixed(rows, base)
    if size is None:
        return "a quantile of a group of unknown size is not linear"
    rank = (size - 1) * formula.scale
    below = int(np.floor(rank + 1e-9))
    share = max(rank - below, 0.0)
    cumulated = sparse.csr_array(np.cumsum(totals[formula.totals].toarray(), axis=0))
    points = formula.points
    if share < 1e-9:  # the value of one record, between the ends that its digits leave
        upper, lower = np.flatnonzero(points <= high), np.flatnonzero(points < low)
        rows.add(cumulated[[upper[-1]]] if len(upper) else 0 * base, below + 1.0, np.inf, origin)
        rows.add(cumulated[[lower[-1]]] if len(lower) else 0 * base, -np.inf, float(below), origin)
        return ""
    ends = [_reached(rows, cumulated, place, size, helpers, origin) for place in (below, below + 1)]
    steps = np.append(points[:-1] - points[1:], points[-1])  # the value is the last point less the steps not taken
    value = np.concatenate([(1.0 - share) * steps, share * steps])
    rows.one(np.concatenate(ends), value, low, high, origin, helpers.next)
    return ""


def _reached(rows: Rows, cumulated: sparse.csr_array, place: int, size: int, helpers: _Helpers, origin: str) -> Codes:
    """Helpers (points,): 1 from the value on of the record at a place (from 0) in rising order."""
    helper = helpers.take(cumulated.shape[0])
    n, first = len(helper), int(helper[0])
    wide = sparse.csr_array((cumulated.data, cumulated.indices, cumulated.indptr), shape=(n, helpers.next))
    mine = sparse.csr_array((np.ones(n), helper, np.arange(n + 1)), shape=(n, helpers.next))
    rows.add(sparse.csr_array(wide - (place + 1.0) * mine), 0.0, np.inf, origin)
    rows.add(sparse.csr_array(wide - float(size - place) * mine), -np.inf, float(place), origin)
    rows.add(sparse.csr_array(mine[1:] - mine[:-1]), 0.0, np.inf, origin)
    rows.one([first + n - 1], 1.0, 1.0, 1.0, origin, helpers.next)
    return helper


def _fixed(rows: Rows, base: sparse.csr_array) -> int | None:
    """The size of a group, if one constraint alone fixes it."""
    columns = np.sort(base.indices)
    for matrix, lows, highs in zip(rows.matrix, rows.low, rows.high, strict=True):
        for at in np.flatnonzero(np.diff(matrix.indptr) == len(columns)):
            low, high = np.ceil(lows[at] - 1e-9), np.floor(highs[at] + 1e-9)
            inside = slice(matrix.indptr[at], matrix.indptr[at + 1])
            if low == high and (matrix.data[inside] == 1).all() and (np.sort(matrix.indices[inside]) == columns).all():
                return int(low)
    return None
