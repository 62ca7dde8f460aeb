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

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.codebook import Codebook
from outrisk.problem.blocks import Array, Mask, joint_over, level_in
from outrisk.problem.determined import determined
from outrisk.problem.released import ROUNDING, Released, TallyPart
from outrisk.prove.arranged import Arranged, Arranger
from outrisk.prove.constraints import Codes, Columns, Rows, Seen, sums_of_groups
from outrisk.prove.kinds_of_people import Further, cells_of, kinds_of_people
from outrisk.prove.of_models import NOT_LINEAR, constrain_model
from outrisk.prove.of_tallies import constrain_tallies

MOST_COLUMNS = 400_000  # kinds of records; a programme of that size takes about a gigabyte
_CROSSED = 20_000  # kinds of records of all variables together up to which no other tables are looked for
_SMALLER = 2  # times fewer kinds for which there are tables in the place of one


@dataclass(frozen=True, eq=False)
class Outside:
    """People outside the register: so many, of kinds in `columns` of a programme, and in `further` tables."""

    people: int
    columns: slice
    further: tuple[Further, ...]


@dataclass(frozen=True, eq=False)
class Programme:
    """Constraints on counts x (columns,), low <= matrix x <= high and 0 <= x <= most.

    groups (m,): the group of each person of the register. sizes (G,): people in each. unknown: names of the variables
    not known; kinds (U, unknown): their codes in each kind. Column g U + u is the number of people of group g and kind
    u; then come `further` tables of the same people, kinds of people `outside` the register, and 0/1 helpers. codes
    (kinds of records, variables): what each column of records is, -1 for a variable that the column leaves open.
    origin, number (rows,): the output of each constraint, and which of its numbers it comes from (-1: none). released:
    all outputs, of which those `shortened` are without some numbers (see `Released.proving`). left_out: outputs of
    which numbers are not among the constraints, with the reason. integer: columns up to which counts are taken as whole
    in the programme, not only in what follows from it.
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
    further: tuple[Further, ...] = ()
    outside: Outside | None = None
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

    def counted(self, codes: NDArray[np.integer]) -> Array:
        """Records of each kind in the tables of the register's people, (n_registered,), by the codes of all of them,
        (m, variables), of which those that are known are taken from the register.
        """
        counts = np.zeros(self.n_registered)
        counts[: self.n_counts] = np.bincount(self.groups * self.n_kinds + self.kind_of(codes), minlength=self.n_counts)
        if not self.further:
            return counts
        records, of_group = codes.astype(np.int64), self.codes[self.groups * self.n_kinds]
        known = [j for j in range(codes.shape[1]) if self.codebook.names[j] not in self.unknown]
        records[:, known] = np.where(of_group[:, known] >= 0, of_group[:, known], records[:, known])
        for each in self.further:
            kinds = self.codes[each.columns]
            cell, of_record = cells_of(kinds, records, np.flatnonzero((kinds >= 0).all(axis=0)).tolist())
            counts[each.columns] = np.bincount(of_record, minlength=int(cell.max()) + 1)[cell]
        return counts

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
    def n_registered(self) -> int:
        """Columns that are counts of the register's people, further tables of them included."""
        return int(self.further[-1].columns.stop) if self.further else self.n_counts

    @property
    def further_tables(self) -> tuple[Further, ...]:
        """Further tables of people in the register and outside."""
        return *self.further, *(self.outside.further if self.outside else ())

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
    crossed: bool = False,
) -> Programme:
    """The programme of released numbers of n_records people.

    `known`: codes (m,) of the variables of a register, of everybody in it; m may be less than n_records. `wanted`:
    variables that are asked about, unknown or not in any output. An output whose variables would make more than
    `most_columns` (`MOST_COLUMNS`) kinds of records is left out. Variables that are not wanted may be in tables of
    their own (see `Further`), where fewer outputs are left out so, or the programme is much smaller; but not if
    `crossed`. ProveError where the wanted variables alone make too many kinds.
    """
    published, released = released, [one.proving for one in released]
    known = _and_determined(codebook, known or {}, rules, wanted)
    arranger = Arranger(codebook, known, wanted, most_columns or MOST_COLUMNS)
    arranged = arranger.crossed(released, rules)
    if not crossed and (arranged.left_out or arranged.columns > _CROSSED):
        tables = arranger.apart(released, rules)
        gained = len(tables.kept) - len(arranged.kept)
        no_worse = gained == 0 and len(tables.left_out) <= len(arranged.left_out)
        smaller = _SMALLER * tables.columns < arranged.columns
        arranged = tables if gained > 0 or (no_worse and smaller) else arranged
    built = _build(codebook, arranged, n_records, known, rules)
    left_out = dict(built.left_out)
    shortened = [one.name for one, whole in zip(released, published, strict=True) if len(one.low) < len(whole.low)]
    for name in (one.name for one in arranged.kept if one.name in shortened and one.output.explains):
        more = left_out.get(name, "coefficients are used")
        left_out[name] = f"{more}, standard errors by clusters are not"
    return replace(built, released=tuple(released), shortened=tuple(shortened), left_out=left_out)


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


def _build(
    codebook: Codebook, arranged: Arranged, n_records: int, known: Mapping[str, Codes], rules: Sequence[Mask]
) -> Programme:
    m = len(next(iter(known.values()))) if known else n_records
    left_out, kept = dict(arranged.left_out), list(arranged.kept)
    own = kinds_of_people(codebook, arranged.tables, known, m, kept)
    codes, group, most = own.codes, own.group, own.most
    outside = None
    if m < n_records:
        others = Arranger(codebook, {}, (), max(MOST_COLUMNS - len(codes), 1)).apart(kept, rules)
        left_out = {**{name: f"{why} outside the register" for name, why in others.left_out.items()}, **left_out}
        beyond = kinds_of_people(codebook, others.tables, {}, n_records - m, others.kept, len(codes))
        outside = Outside(n_records - m, beyond.first_table, beyond.further)
        codes, most = np.vstack([codes, beyond.codes]), np.append(most, beyond.most)
        group = np.append(group, np.full(len(beyond.codes), -1))
        kept = list(others.kept)
    _apply_rules(codebook, rules, codes, most, left_out)
    rows, columns = Rows(), Columns(codes, group, most, len(codes))
    rows.add(sums_of_groups(len(own.sizes), len(own.kinds), len(codes)), own.sizes, own.sizes, "")
    if outside is not None:
        rows.one(
            np.arange(outside.columns.start, outside.columns.stop), 1.0, n_records - m, n_records - m, "", len(codes)
        )
    for each in (*own.further, *(outside.further if outside else ())):
        rows.add(each.tied(len(codes)), 0.0, 0.0, "")
    seen = dict[str, Seen]()
    for one in kept:
        at = [own.of_output[one.name], *([beyond.of_output[one.name]] if outside else [])]
        seen[one.name] = Seen(columns, np.concatenate([np.arange(each.start, each.stop) for each in at]))
    columns.places = tuple({each.at.tobytes(): each.at for each in seen.values()}.values())
    for one in sorted(kept, key=_has_quantiles):  # which ask what others say
        reason = _constrain(rows, one, seen[one.name], n_records)
        if reason:
            left_out[one.name] = "; ".join(filter(None, [left_out.get(one.name), reason]))
    matrix, low, high, origin, number = rows.stacked(columns.next)
    return Programme(
        codebook=codebook,
        groups=own.groups,
        sizes=own.sizes,
        unknown=own.unknown,
        kinds=own.kinds,
        codes=codes,
        matrix=matrix,
        low=low,
        high=high,
        most=np.concatenate([most, np.ones(columns.next - len(codes))]),
        origin=origin,
        number=number,
        released=(),
        left_out=left_out,
        further=own.further,
        outside=outside,
    )


def _has_quantiles(one: Released) -> bool:
    return any(formula.kind == "rank" for part in one.parts if isinstance(part, TallyPart) for formula in part.formulas)


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
