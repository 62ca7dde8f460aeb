"""Numbers that follow from tallies as linear constraints: counts, shares, means, spreads, quantiles, modes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from scipy import sparse

from outrisk.problem.blocks import Array
from outrisk.problem.formulas import Formula
from outrisk.problem.quantile_places import rank_of
from outrisk.problem.released import TallyPart
from outrisk.prove.constraints import Codes, Rows, Seen, totals_of

_MOST_RANKED = 5_000_000  # values of a quantile times kinds of records
_MOST_ENTRIES = 500_000  # of all quantiles of a programme: beyond, it takes all the time that is allowed
_SO_MANY = "a quantile of so many kinds of records is not taken up"


def constrain_tallies(
    rows: Rows, part: TallyPart, low: Array, high: Array, printed: Array, seen: Seen, origin: str, first: int
) -> str:
    """Add the constraints of numbers between `low` and `high` (k,), the `first` of which is that one of its output.

    `printed` (k,): the number itself, NaN where a range was released. Why some are not among them, '' where all are.
    """
    totals = totals_of(part.blocks, seen)
    formulas = part.formulas
    constrain_formulas(rows, totals, formulas, low, high, printed, origin, first)
    reason, sizes = "", dict[bytes, int | None]()
    for k, formula in enumerate(formulas):
        if formula.kind == "rank" and np.isfinite(printed[k]):
            reason = _rank(rows, totals, formula, (low[k], high[k]), seen, origin, first + k, sizes) or reason
        elif formula.kind == "rank" and (np.isfinite(low[k]) or np.isfinite(high[k])):
            reason = "a range of a quantile is not taken up"
    return reason


def constrain_formulas(
    rows: Rows,
    totals: sparse.csr_array,
    formulas: Sequence[Formula],
    low: Array,
    high: Array,
    printed: Array,
    origin: str,
    first: int,
) -> None:
    """Add the constraints of numbers that are linear without a helper: all but quantiles."""
    at = {kind: [k for k, each in enumerate(formulas) if each.kind == kind] for kind in {f.kind for f in formulas}}
    if plain := at.get("total"):
        place = np.array([int(formulas[k].totals[0]) for k in plain])
        rows.add(sparse.csr_array(totals[place]), low[plain], high[plain], origin, first + np.array(plain))
    if shares := at.get("ratio"):
        numbers = first + np.array(shares)
        _ratios(rows, totals, [formulas[k] for k in shares], low[shares], high[shares], origin, numbers)
    for k in at.get("deviation", []):
        if np.isfinite(low[k]) or np.isfinite(high[k]):
            _deviation(rows, totals, formulas, k, low, high, origin, first + k)
    for k in at.get("mode", []):
        if np.isfinite(printed[k]):
            _mode(rows, totals, formulas[k], printed[k], origin, first + k)


def _ratios(
    rows: Rows,
    totals: sparse.csr_array,
    formulas: Sequence[Formula],
    low: Array,
    high: Array,
    origin: str,
    number: Codes,
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
        ends = (0.0, np.inf) if at_least else (-np.inf, 0.0)
        rows.add(sparse.csr_array(row), *ends, origin, number[some])
    least = np.array([max(formula.least, 1e-9) for formula in formulas])
    rows.add(sparse.csr_array(base[np.flatnonzero(known)]), least[known], np.inf, origin, number[known])


def _deviation(
    rows: Rows,
    totals: sparse.csr_array,
    formulas: Sequence[Formula],
    k: int,
    low: Array,
    high: Array,
    origin: str,
    number: int,
) -> None:
    """Sd s of n records with sums F and Q of x - c and its squares: (n - 1) s^2 = Q - n (mean - c)^2, so that

    Q >= (n - 1) low^2, and Q <= (n - 1) high^2 + n h^2 with h the most that the mean is from c.
    """
    n, shifted, squares = (sparse.csr_array(totals[[int(at)]]) for at in formulas[k].totals)
    rows.add(n, 1.0 + 1e-6, np.inf, origin, number)
    if np.isfinite(low[k]) and low[k] > 0:
        rows.add(sparse.csr_array(squares - low[k] ** 2 * n), -(low[k] ** 2) * (1 + 1e-9), np.inf, origin, number)
    means = [
        at
        for at, each in enumerate(formulas)
        if each.kind == "ratio"
        and each.totals[0] == formulas[k].totals[1]
        and list(each.base) == [formulas[k].totals[0]]
    ]
    far = np.abs(shifted.data).max(initial=0.0)
    far /= max(np.abs(n.data).min(initial=1.0), 1e-12)  # of one record: its weight is in both
    if means and np.isfinite([low[means[0]], high[means[0]]]).all():
        centre = formulas[means[0]].shift
        far = min(far, max(abs(low[means[0]] - centre), abs(high[means[0]] - centre)))
    if np.isfinite(high[k]):
        most = high[k] ** 2
        rows.add(sparse.csr_array(squares - (most + far**2) * n), -np.inf, -most * (1 - 1e-9), origin, number)


def _mode(rows: Rows, totals: sparse.csr_array, formula: Formula, printed: float, origin: str, number: int) -> None:
    """The first point with the most records: one more than each before it has, no fewer than each behind it."""
    counts = sparse.csr_array(totals[formula.totals])
    found = np.flatnonzero(formula.points == printed)
    if not len(found):
        return
    at, whole = int(found[0]), bool((counts.data == np.round(counts.data)).all())
    others = np.delete(np.arange(len(formula.points)), at)
    more = np.where((others < at) & whole, 1.0, 0.0)
    own = sparse.csr_array(sparse.vstack([counts[[at]]] * len(others))) if len(others) else None
    if own is not None:
        rows.add(sparse.csr_array(own - counts[others]), more, np.inf, origin, number)
    rows.add(sparse.csr_array(counts[[at]]), 1.0 if whole else 1e-9, np.inf, origin, number)


def _rank(
    rows: Rows,
    totals: sparse.csr_array,
    formula: Formula,
    ends: tuple[float, float],
    seen: Seen,
    origin: str,
    number: int,
    sizes: dict[bytes, int | None],
) -> str:
    """A quantile of a group whose size the constraints already fix: 0/1 helpers choose the records around its rank.

    `sizes`: of groups that were looked up before, by their columns.
    """
    low, high = ends
    if len(formula.points) * totals.shape[1] > _MOST_RANKED:
        return _SO_MANY
    base = sparse.csr_array(totals[formula.base].sum(axis=0).reshape(1, -1))
    key = base.indices.tobytes()
    if key not in sizes:
        sizes[key] = _size(rows, base.indices, seen)
    size = sizes[key]
    if size is None:
        return "a quantile of a group of unknown size is not linear"
    before, weight = rank_of(np.array(float(size)), formula.scale, int(formula.least))
    below, share = int(before), float(weight)
    entries = 2 * base.nnz * (len(formula.points) if share >= 1e-9 else 1)
    if rows.of_quantiles + entries > _MOST_ENTRIES:
        return _SO_MANY
    rows.of_quantiles += entries
    cumulated = sparse.csr_array(np.cumsum(totals[formula.totals].toarray(), axis=0))
    points = formula.points
    if share < 1e-9:  # the value of one record, between the ends that its digits leave
        upper, lower = np.flatnonzero(points <= high), np.flatnonzero(points < low)
        rows.add(cumulated[[upper[-1]]] if len(upper) else 0 * base, below + 1.0, np.inf, origin, number)
        rows.add(cumulated[[lower[-1]]] if len(lower) else 0 * base, -np.inf, float(below), origin, number)
        return ""
    found = [_reached(rows, cumulated, place, size, seen, origin, number) for place in (below, below + 1)]
    steps = np.append(points[:-1] - points[1:], points[-1])  # the value is the last point less the steps not taken
    value = np.concatenate([(1.0 - share) * steps, share * steps])
    rows.one(np.concatenate(found), value, low, high, origin, seen.columns.next, number)
    return ""


def _size(rows: Rows, columns: Codes, seen: Seen) -> int | None:
    """How many people some columns are of, where the register or one constraint says so."""
    if (size := seen.people(columns)) is not None:
        return size
    for same in chain([columns], seen.elsewhere(columns)):
        if (size := rows.fixed(same)) is not None:
            return size
    return None


def _reached(
    rows: Rows, cumulated: sparse.csr_array, place: int, size: int, seen: Seen, origin: str, number: int
) -> Codes:
    """Helpers (points,): 1 from the value on of the record at a place (from 0) in rising order."""
    helper = seen.columns.helpers(cumulated.shape[0])
    n, first, width = len(helper), int(helper[0]), seen.columns.next
    wide = sparse.csr_array((cumulated.data, cumulated.indices, cumulated.indptr), shape=(n, width))
    mine = sparse.csr_array((np.ones(n), helper, np.arange(n + 1)), shape=(n, width))
    rows.add(sparse.csr_array(wide - (place + 1.0) * mine), 0.0, np.inf, origin, number)
    rows.add(sparse.csr_array(wide - float(size - place) * mine), -np.inf, float(place), origin, number)
    rows.add(sparse.csr_array(mine[1:] - mine[:-1]), 0.0, np.inf, origin, number)
    rows.one([first + n - 1], 1.0, 1.0, 1.0, origin, width, number)
    return helper
