"""What released tables say about counts they do not print, to a reader who knows nobody: the least and the most.

The bounds of a cell are its minimum and maximum over all data sets that fit the released tables, by linear and integer
programmes on how many records there are of each kind. A cell whose bounds agree is recovered; one whose bounds are
close together is narrowed. Auditing of suppressed tables asks the same (Fischetti and Salazar, Management Science 47,
2001), of one table or of linked ones; here of all tables together, and of tables that were not released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint

from outrisk.codebook import Codebook
from outrisk.problem.blocks import Array, Mask, variables
from outrisk.problem.released import Released, TallyPart
from outrisk.prove.asked_cells import Table, tables_not_released, withheld_cells
from outrisk.prove.budget import Budget
from outrisk.prove.constraints import Columns, Seen, totals_of
from outrisk.prove.programme import Programme, programme
from outrisk.prove.solver import ONE, Solver, only
from outrisk.quiet_milp import INFEASIBLE, milp

Flags = NDArray[np.bool_]
NARROW = 0.5  # a cell is narrowed when its bounds leave less than this share of the upper one open
MOST_KINDS = 400  # kinds of records up to which outputs are solved together
_PROBES = 12  # data sets that say what is wide before any bound is looked for
_WORK = 3e6  # of a budget: a few seconds
_CLOSE = 3  # people between the bounds of a linear programme up to which whole numbers are tried
_ARITHMETIC = 1e-4  # of a count


@dataclass(frozen=True, eq=False)
class CellBounds:
    """Bounds low, high (q,) of the cells of a table: no data set that fits is outside.

    small: a table that was not released is of interest where its cells hold fewer records, and somebody. outputs: those
    that say what is `recovered`, none of which can be spared (`irreducible`; else all that were used). sharp: no closer
    bounds hold. left_out: outputs that were not used, with the reason. only (q,): cells of interest, where not all are.
    """

    table: Table
    low: Array
    high: Array
    small: float = np.inf
    outputs: tuple[str, ...] = ()
    irreducible: bool = True
    sharp: bool = True
    left_out: Mapping[str, str] = field(default_factory=dict)
    only: Flags | None = None

    @property
    def _counts(self) -> Flags:
        """Cells (q,) of interest: withheld ones, and of other tables small ones."""
        small = np.asarray(bool(self.table.output) | ((self.high > 0) & (self.high < self.small)))
        return small if self.only is None else small & self.only

    @property
    def recovered(self) -> Flags:
        """Cells (q,) of interest whose bounds agree."""
        return np.asarray((self.low == self.high) & self._counts)

    @property
    def narrowed(self) -> Flags:
        """Cells (q,) of interest, not recovered, whose bounds leave less than `NARROW` of the upper one open, and less
        than the output itself does.
        """
        closer = (self.low > self.table.low) | (self.high < self.table.high)
        narrow = (self.low < self.high) & (self.high - self.low < NARROW * self.high)
        return np.asarray(closer & narrow & self._counts)


@dataclass(frozen=True, eq=False)
class Audit:
    """Bounds of tables; not_asked: names of tables that were not released and not asked about, with the reason."""

    tables: tuple[CellBounds, ...]
    not_asked: Mapping[str, str]

    @property
    def sentence(self) -> str:
        """What was found, in a sentence or two; '' where nothing was there to ask."""
        if not self.tables and not self.not_asked:
            return ""
        hidden = [each for each in self.tables if each.table.output]
        parts = []
        if hidden:
            number, near = _numbers(hidden)
            cells = sum(len(each.low) for each in hidden)
            parts.append(f"of {cells:,} withheld or rounded cells {number:,} follow exactly and {near:,} nearly")
        if crosses := [each for each in self.tables if not each.table.output]:
            number, near = _numbers(crosses)
            parts.append(
                f"of {len(crosses):,} tables that were not released {number:,} small cells follow exactly and {near:,} "
                "nearly"
            )
        said = f"Without a register, from the outputs alone: {'; '.join(parts)}." if parts else ""
        left = f"Not asked about: {len(self.not_asked):,} tables ({', '.join(sorted(set(self.not_asked.values())))})."
        return f"{said} {left if self.not_asked else ''}".strip()


def _numbers(tables: Sequence[CellBounds]) -> tuple[int, int]:
    """Cells recovered, and narrowed."""
    return sum(int(each.recovered.sum()) for each in tables), sum(int(each.narrowed.sum()) for each in tables)


def audit(
    codebook: Codebook,
    released: Sequence[Released],
    n_records: int | None,
    rules: Sequence[Mask] = (),
    first: str = "",
    crosses: bool = True,
    small: float = np.inf,
    every: bool = False,
    budget: Budget | None = None,
    told: Sequence[Released] = (),
) -> Audit:
    """Bounds of all withheld counts of tables, and (with `crosses`) of cells of tables that were not released.

    `n_records`: None where it is not known. `first`: the variable whose crosses are asked about before others. Used are
    counts, sums, shares, means and rates. Bounds are those of linear programmes, then of whole numbers where these are
    close. Cells soon seen to be neither recovered nor narrowed, or (where no output withholds them) to be able to hold
    `small` records or more, keep wider bounds than they might, unless `every` one is asked for. `told` are tables that
    nobody released, with what follows of their counts from outputs that are not used here. ProveError where no data set
    fits.
    """
    budget = budget or Budget(_WORK)
    linear = _linear(released)
    asked, unasked = withheld_cells(codebook, linear), dict[str, str]()
    if crosses:
        more, left = tables_not_released(codebook, linear, first, told)
        asked += more
        unasked = dict.fromkeys(left, "too many cells")
    linear += told
    found, whole = [], _programme(codebook, linear, n_records, rules, ())
    for table in asked:
        if budget.over:
            unasked[table.name] = "the work allowed was done"
            continue
        of = whole or _programme(codebook, linear, n_records, rules, table.variables)
        if of is None:
            unasked[table.name] = "too many kinds of records"
            continue
        found.append(_bounded(of, table, small, every, budget))
    return Audit(tuple(found), unasked)


def some_data_set_fits(codebook: Codebook, released: Sequence[Released], n_records: int | None) -> bool:
    """Whether numbers of records (not only whole ones) fit all counts of tables, as far as `audit` takes them up."""
    of = _programme(codebook, _linear(released), n_records, (), ())
    if of is None:
        return True
    rows = [LinearConstraint(of.matrix, of.low, of.high)]
    return bool(milp(np.zeros(len(of.most)), constraints=rows, bounds=Bounds(0.0, of.most)).status != INFEASIBLE)


def _linear(released: Sequence[Released]) -> list[Released]:
    """Those of which all numbers are counts, sums, shares, means or rates, whose limits stand as the events that they
    tell: others take integer programmes of their own. And the numbers of records that means with errors tell.
    """
    told = [more for each in released if each.kind == "magnitudes" for more in each.implied]
    return told + [
        one
        for one in (each.proving for each in released)
        if all(
            isinstance(part, TallyPart)
            and all(formula.kind in ("total", "ratio", "limit") for formula in part.formulas)
            for part in one.parts
        )
    ]


def _programme(
    codebook: Codebook,
    released: Sequence[Released],
    n_records: int | None,
    rules: Sequence[Mask],
    about: Sequence[str],
) -> Programme | None:
    """All outputs, or those of the variables of a table and few more; None where these make too many kinds."""
    used = {j for one in released for block in one.blocks for j in variables(block)}
    names = about or [codebook.names[j] for j in used]
    if float(np.prod([float(codebook[name].size) for name in names])) > MOST_KINDS:
        return None
    n = 1 if n_records is None else n_records
    of = programme(codebook, released, n, {}, about, rules, MOST_KINDS)
    return of if n_records is not None else _of_any_number(of)


def _of_any_number(of: Programme) -> Programme:
    """The programme of any number of records: however many, nothing that does not hold of them is said."""
    own = np.array([not origin for origin in of.origin]) & (of.high > 0)  # the others tie tables to each other
    return replace(
        of,
        low=np.where(own, 0.0, of.low),
        high=np.where(own, np.inf, of.high),
        most=np.where(of.most > 0, np.inf, 0.0),
    )


def _bounded(of: Programme, table: Table, small: float, every: bool, budget: Budget) -> CellBounds:
    n = len(of.codes)
    columns = Columns(of.codes, np.zeros(n, np.int64), of.most[:n], n)
    rows = sparse.csr_array(totals_of(table.blocks, Seen(columns, np.arange(of.n_counts)))[table.total])
    found = _Range(of, rows, table.low, table.high, budget)
    above = np.inf if table.output or every else small
    if not every:
        found.probe(of, above)
    for q in range(len(table.labels)):
        if every or not found.settled(above)[q]:
            found.close(q)
    left = found.high - found.low
    found.in_whole_numbers(of)
    for q in np.flatnonzero((left > 0) & (every | ((left <= _CLOSE) & (found.high < above)))).tolist():
        found.close(q)
    sharp = every and found.sharp and not budget.over
    bounds = CellBounds(table, found.low, found.high, small, sharp=sharp, left_out=dict(of.left_out))
    told = np.flatnonzero(bounds.recovered)
    outputs, irreducible = _needed(of, rows[told], found.low[told], budget) if len(told) else ((), True)
    return replace(bounds, outputs=outputs, irreducible=irreducible)


class _Range:
    """Bounds (q,) of rows over the data sets that fit, and what data sets found lie between.

    low, high: no data set is outside; least, most: some data sets are as low and as high. sharp: low and high are.
    """

    def __init__(self, of: Programme, rows: sparse.csr_array, low: Array, high: Array, budget: Budget) -> None:
        self.rows, self.low, self.high = rows, low.copy(), np.minimum(high, of.most.max())
        self.sharp = True
        self._start(replace(of, integer=0), budget)

    def _start(self, of: Programme, budget: Budget) -> None:
        self.solver = Solver(of, budget)
        self.least, self.most = np.full(len(self.low), np.inf), np.full(len(self.low), -np.inf)

    def in_whole_numbers(self, of: Programme) -> None:
        """From here on counts are whole numbers; what data sets were found to hold so far were not."""
        self._start(of, self.solver.budget)
        self.sharp = self.solver.whole

    def settled(self, small: float) -> Flags:
        """Rows (q,) known to be neither fixed nor narrowed, or not to be small."""
        wide = (self.least < self.most) & (self.least <= (1.0 - NARROW) * self.most)
        return np.asarray(wide | (self.most >= small))

    def solve(self, weights: Array, solver: Solver | None = None) -> float:
        """The bound of a weighted sum of the rows."""
        found = (solver or self.solver).maximise(weights @ self.rows)
        if found.x is not None:
            here = self.rows @ found.x[: self.rows.shape[1]]
            self.least, self.most = np.minimum(self.least, here), np.maximum(self.most, here)
        self.sharp &= found.status == 0
        return self.solver.bound(found)

    def probe(self, of: Programme, small: float) -> None:
        """Data sets of all kinds: after a few, most rows are settled. Of any number of records they are not many more
        than the fewest that fit: a sum without end shows no data set.
        """
        rng, solver = np.random.default_rng(0), self.solver
        if not np.isfinite(of.most).all():
            fewest = solver.maximise(-np.ones(self.rows.shape[1])).x
            if fewest is None:
                return
            solver = Solver(replace(of, integer=0, most=np.minimum(of.most, 10 + 10 * fewest.sum())), solver.budget)
        for _ in range(_PROBES):
            settled = self.settled(small)
            if settled.all() or self.solver.budget.over:
                return
            each = np.where(settled, 0.0, rng.choice([-1.0, 1.0], len(settled)) * rng.random(len(settled)))
            self.solve(each, solver)

    def close(self, q: int) -> None:
        """The bounds of one row."""
        one = np.zeros(len(self.low))
        one[q] = 1.0
        if self.most[q] < self.high[q] - _ARITHMETIC and not self.solver.budget.over:
            self.high[q] = min(self.high[q], np.floor(self.solve(one) + _ARITHMETIC))
        if self.least[q] > self.low[q] + _ARITHMETIC and not self.solver.budget.over:
            self.low[q] = max(self.low[q], np.ceil(-self.solve(-one) - _ARITHMETIC))


def _needed(of: Programme, rows: sparse.csr_array, value: Array, budget: Budget) -> tuple[tuple[str, ...], bool]:
    """Outputs that fix these rows, without any that can be spared; whether all were tried."""
    kept = [name for name in dict.fromkeys(of.origin) if name]
    for name in list(kept):
        fewer = [other for other in kept if other != name]
        fixed = _fixed(Solver(only(of, fewer), budget), rows, value)
        if fixed is None:
            return tuple(kept), False
        kept = fewer if fixed else kept
    return tuple(kept), True


def _fixed(solver: Solver, rows: sparse.csr_array, value: Array) -> bool | None:
    """Whether all rows have these values in every data set that fits; None where the budget did not do.

    A sum of the rows under random weights has one value where all of them have, and where not then almost never: two
    programmes settle most cases, before each row is asked about by itself.
    """
    rng = np.random.default_rng(0)
    weights = rng.choice([-1.0, 1.0], len(value)) * rng.uniform(1.0, 2.0, len(value))
    over = []
    for each in (weights, -weights):
        found = solver.maximise(each @ rows)
        if solver.budget.over:
            return None
        if found.x is not None and np.abs(rows @ found.x[: rows.shape[1]] - value).max() > ONE:
            return False
        over.append(solver.bound(found) - each @ value)
    if max(over) < _ARITHMETIC:
        return True
    for q, sign in ((q, sign) for q in range(len(value)) for sign in (1.0, -1.0)):
        if solver.budget.over:
            return None
        if solver.bound(solver.maximise(sign * rows[[q]].toarray().ravel())) > sign * value[q] + ONE:
            return False
    return True
