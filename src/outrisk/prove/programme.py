"""Released numbers as linear constraints on how many records there are of each kind.

Unknown are counts x[g, u] of records of group g (the same values of all variables that the intruder knows) with the
values u of the others; and, where the register lacks people, counts of records of any kind for these. Counts, sums,
shares and means are linear in them, between the ends that the printed digits leave; so are standard deviations beside
their means, modes, and regressions by their score equations; quantiles are, with 0/1 variables for the records around
them. Numbers that are not (correlations, survival but for numbers of records) are left out and named: a claim that
holds without a constraint holds with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.codebook import Codebook
from outrisk.errors import ProveError
from outrisk.problem.blocks import Array, Mask, joint_over, level_in, variables
from outrisk.problem.determined import determined
from outrisk.problem.released import ROUNDING, Released, TallyPart
from outrisk.prove.constraints import Codes, Columns, Rows, Seen
from outrisk.prove.of_models import NOT_LINEAR, constrain_model
from outrisk.prove.of_tallies import constrain_tallies

MOST_COLUMNS = 400_000  # kinds of records; a programme of that size takes about a gigabyte


@dataclass(frozen=True, eq=False)
class Programme:
    """Constraints on counts x (columns,), low <= matrix x <= high and 0 <= x <= most.

    groups (m,): the group of each person of the register. sizes (G,): people in each. unknown: names of the variables
    not known; kinds (U, unknown): their codes in each kind. Column g U + u is the number of people of group g and kind
    u; then come kinds of people outside the register, then 0/1 helpers. codes (kinds of records, variables): what each
    column of records is, -1 for a variable that the column leaves open. origin, number (rows,): the output of each
    constraint, and which of its numbers it comes from (-1: none). released: all outputs, of which those `shortened` are
    without some numbers (see `Released.proving`). left_out: outputs of which numbers are not among the constraints,
    with the reason. integer: columns up to which counts are taken as whole in the programme, not only in what follows
    from it.
    """

    codebook: Codebook
    groups: NDArray[np.int64]
    sizes: NDArray[np.int64]
    unknown: tuple[str, ...]
    kinds: Codes
    codes: Codes
    matrix: sparse.csr_array
    low: Array
    high: Array
    most: Array
    origin: tuple[str, ...]
    number: NDArray[np.int64]
    released: tuple[Released, ...]
    left_out: Mapping[str, str]
    shortened: tuple[str, ...] = ()
    integer: int = 20_000

    def some(self, kept: NDArray[np.bool_]) -> Programme:
        """The programme of some of its rows (rows,)."""
        at = np.flatnonzero(kept)
        return replace(
            self,
            matrix=sparse.csr_array(self.matrix[at]),
            low=self.low[at],
            high=self.high[at],
            origin=tuple(self.origin[k] for k in at.tolist()),
            number=self.number[at],
        )

    def kind_of(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """The kind, of `kinds`, of each record by its codes (m, variables), (m,)."""
        return level_in(joint_over([self.codebook.index(name) for name in self.unknown], self.codebook.sizes), codes)

    def broken(self, x: Array, within: float) -> NDArray[np.bool_]:
        """Which constraints (rows,) counts x (columns,) break by more than `within`, relative to their ends."""
        sums = self.matrix @ x
        below, above = (within * (1.0 + np.abs(ends)) for ends in (self.low, self.high))
        return np.asarray((sums < self.low - below) | (sums > self.high + above))

    @property
    def n_kinds(self) -> int:
        """Kinds of records within a group, U."""
        return len(self.kinds)

    @property
    def n_counts(self) -> int:
        """Columns that are counts of records of the register's groups; others stand behind."""
        return len(self.sizes) * len(self.kinds)

    @property
    def n_columns(self) -> int:
        """Columns that are counts of records, those of people outside the register too; helpers stand behind."""
        return len(self.codes)


def drawn(n: int, known_for: float, seed: int) -> NDArray[np.bool_]:
    """Who of n people is in a register that has this share of them, at random, (n,)."""
    some = np.zeros(n, dtype=np.bool_)
    some[np.random.default_rng([seed, 0x9E6]).permutation(n)[: round(known_for * n)]] = True
    return some


def programme(
    codebook: Codebook,
    released: Sequence[Released],
    n_records: int,
    known: Mapping[str, Codes] | None = None,
    wanted: Sequence[str] = (),
    rules: Sequence[Mask] = (),
    most_columns: int | None = None,
) -> Programme:
    """The programme of released numbers of n_records people.

    `known`: codes (m,) of the variables of a register, of everybody in it; m may be less than n_records. `wanted`:
    variables that are asked about, unknown or not in any output. An output whose variables would make more than
    `most_columns` (`MOST_COLUMNS`) kinds of records is left out. ProveError where that holds for the wanted variables
    alone.
    """
    published, released = released, [one.proving for one in released]
    known, most_columns = _and_determined(codebook, known or {}, rules, wanted), most_columns or MOST_COLUMNS
    left_out: dict[str, str] = {}
    used = {codebook.index(name) for name in wanted}
    kept: list[Released] = []
    for one in sorted(released, key=lambda one: len(_named(one) - used)):
        names = {codebook.variables[j].name for j in _named(one) | used}
        if _columns(codebook, names, known, n_records) > most_columns:
            left_out[one.name] = "its variables make too many kinds of records"
            continue
        used |= _named(one)
        kept.append(one)
    given = {codebook.index(name) for name in known}
    for rule in rules:  # of what outputs have, and what is known
        with_its = used | {*rule.joint.variables}
        wider = {codebook.variables[j].name for j in with_its}
        if with_its - given <= used and _columns(codebook, wider, known, n_records) <= most_columns:
            used = with_its
    names = {codebook.variables[j].name for j in used}
    if _columns(codebook, names, known, n_records) > most_columns:
        raise ProveError(
            f"{sorted(names - set(known))} make too many kinds of records to be asked about together; "
            "give some of them as keys, or band them in the codebook"
        )
    kept.sort(key=released.index)
    unknown = tuple(name for name in codebook.names if name in names and name not in known)
    built = _build(codebook, kept, n_records, known, sorted(names & set(known)), unknown, rules, left_out)
    shortened = [one.name for one, whole in zip(released, published, strict=True) if len(one.low) < len(whole.low)]
    for name in (one.name for one in kept if one.name in shortened):
        more = left_out.get(name, "coefficients are used")
        left_out[name] = f"{more}, standard errors by clusters are not"
    return replace(built, released=tuple(released), shortened=tuple(shortened))


def _and_determined(
    codebook: Codebook, known: Mapping[str, Codes], rules: Sequence[Mask], wanted: Sequence[str]
) -> dict[str, Codes]:
    """Codes (m,) of what is known of everybody, and of what that says of other variables by rules, but those wanted."""
    found, names = dict(known), codebook.names
    for one in determined(rules, codebook.sizes):
        name, of = names[one.variable], [names[j] for j in one.of.variables]
        if name not in (*known, *wanted) and set(of) <= set(known):
            strides = zip(of, one.of.strides, strict=True)
            code = one.code[sum(known[each].astype(np.int64) * stride for each, stride in strides)]
            if (code >= 0).all():
                found[name] = code
    return found


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
    m = len(next(iter(known.values()))) if known else n_records
    if keys:
        table = np.column_stack([known[name] for name in keys])
        distinct, groups, sizes = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        groups, sizes = groups.ravel().astype(np.int64), sizes.astype(np.int64)
    else:
        distinct, sizes = np.zeros((1, 0), np.int64), np.array([m], np.int64)
        groups = np.broadcast_to(np.int64(0), m)  # takes no memory, however many there are
    kinds = _kinds(codebook, unknown)
    codes = np.full((len(distinct) * len(kinds), len(codebook.variables)), -1, dtype=np.int64)
    codes[:, [codebook.index(name) for name in keys]] = np.repeat(distinct, len(kinds), axis=0)
    codes[:, [codebook.index(name) for name in unknown]] = np.tile(kinds, (len(distinct), 1))
    group = np.repeat(np.arange(len(sizes)), len(kinds))
    most = np.repeat(sizes, len(kinds)).astype(np.float64)
    blocks = _others(codebook, released, n_records - m, {*keys, *unknown}, len(codes), left_out)
    for block in blocks:
        codes = np.vstack([codes, block.codes])
        group = np.append(group, np.full(len(block.codes), -1))
        most = np.append(most, np.full(len(block.codes), float(n_records - m)))
    n_counts = len(sizes) * len(kinds)
    _apply_rules(codebook, rules, codes, most, left_out)
    rows, columns = Rows(), Columns(codes, group, most, len(codes))
    of_group = sparse.csr_array(
        (np.ones(n_counts), np.arange(n_counts), np.arange(0, n_counts + 1, len(kinds))), shape=(len(sizes), len(codes))
    )
    rows.add(of_group, sizes, sizes, "")
    seen = {name: Seen(columns, at) for name, at in _seen(blocks, released, n_counts).items()}
    for at in {at.tobytes(): at for at in (each.at for each in seen.values())}.values():
        if len(sizes) > 1 or len(at) > n_counts:  # says nothing new, but for those outside; quantiles ask for it
            rows.one(at, 1.0, n_records, n_records, "", len(codes))
    for one in released:
        if one.name in seen:
            reason = _constrain(rows, one, seen[one.name], n_records)
            if reason:
                left_out[one.name] = reason
    matrix, low, high, origin, number = rows.stacked(columns.next)
    most = np.concatenate([most, np.ones(columns.next - len(codes))])
    return Programme(
        codebook, groups, sizes, unknown, kinds, codes, matrix, low, high, most, origin, number, (), left_out
    )


def _kinds(codebook: Codebook, names: Sequence[str]) -> Codes:
    """Every combination of codes of some variables, (kinds, variables); of none, one."""
    kinds = list(product(*(range(codebook[name].size) for name in names)))
    return np.array(kinds, dtype=np.int64).reshape(len(kinds), len(names))


@dataclass(frozen=True, eq=False)
class _Others:
    """Kinds of people outside the register, as far as some outputs are concerned (all of them: no names)."""

    outputs: tuple[str, ...]
    codes: Codes


def _others(
    codebook: Codebook,
    released: Sequence[Released],
    number: int,
    used: set[str],
    taken: int,
    left_out: dict[str, str],
) -> list[_Others]:
    """Kinds of people outside the register: of all variables, or, where these are too many, those of each output.

    The second is weaker: outputs then need not agree on who these people are.
    """
    if not number:
        return []
    room = float(MOST_COLUMNS - taken)

    def block(names: set[str], outputs: tuple[str, ...]) -> _Others:
        ordered = [name for name in codebook.names if name in names]
        kinds = _kinds(codebook, ordered)
        codes = np.full((len(kinds), len(codebook.variables)), -1, dtype=np.int64)
        codes[:, [codebook.index(name) for name in ordered]] = kinds
        return _Others(outputs, codes)

    def size(names: set[str]) -> float:
        return float(np.prod([float(codebook[name].size) for name in names]))

    if size(used) <= room:
        return [block(used, ())]
    blocks = []
    for one in released:
        names = {codebook.variables[j].name for j in _named(one)}
        if size(names) > room:
            left_out[one.name] = "its variables make too many kinds of people outside the register"
            continue
        room -= size(names)
        blocks.append(block(names, (one.name,)))
    return blocks


def _seen(blocks: Sequence[_Others], released: Sequence[Released], n_counts: int) -> dict[str, Codes]:
    """The columns that each output is about; none for one that is left out."""
    own = np.arange(n_counts)
    if not blocks:
        return {one.name: own for one in released}
    found: dict[str, Codes] = {}
    first = n_counts
    for block in blocks:
        at = np.append(own, first + np.arange(len(block.codes)))
        found |= dict.fromkeys(block.outputs or [one.name for one in released], at)
        first += len(block.codes)
    return found


def _apply_rules(
    codebook: Codebook, rules: Sequence[Mask], codes: Codes, most: Array, left_out: dict[str, str]
) -> None:
    """No records of kinds that a rule excludes, of those that have all its variables."""
    for rule in rules:
        has = (codes[:, list(rule.joint.variables)] >= 0).all(axis=1)
        most[np.flatnonzero(has)[~rule.include[level_in(rule.joint, codes[has])]]] = 0.0
        if not has.any():
            left_out["rules"] = "a rule names variables that no output has"


def _constrain(rows: Rows, one: Released, seen: Seen, n_records: int) -> str:
    """Add the constraints of one output; why some of its numbers are not among them, '' where all are."""
    reason, first = "", 0
    half = one.tolerance * ROUNDING
    for part in one.parts:
        ends = slice(first, first + part.n_numbers)
        low, high = one.low[ends] - half[ends], one.high[ends] + half[ends]
        if isinstance(part, TallyPart):
            found = constrain_tallies(rows, part, low, high, one.values[ends], seen, one.name, first)
        else:
            found = constrain_model(rows, part, low, high, seen, n_records, one.name, first)
        reason, first = found or reason, first + part.n_numbers
    return f"{reason}, but for numbers of records" if reason == NOT_LINEAR and len(one.parts) > 1 else reason
