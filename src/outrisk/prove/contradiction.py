"""Released numbers that no data set has together with the register: an irreducible set of them.

An elastic programme lets every number give way at a price; the constraints that carry a price at its optimum contradict
each other already (Farkas). A deletion filter then drops output after output, and number after number, that the
contradiction does not need (Chinneck and Dravnieks, ORSA Journal on Computing 3, 1991).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog

from outrisk.problem.blocks import Array
from outrisk.prove.programme import Programme
from outrisk.quiet_milp import INFEASIBLE, milp

_SHOWN = 12  # numbers that a message names
_PRICE = 1e-9
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Contradiction:
    """Numbers that cannot all be: (output, position of the number, its label, as printed) each.

    irreducible: without any one of them no contradiction is left between the others.
    """

    numbers: tuple[tuple[str, int, str, str], ...]
    irreducible: bool

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs that they are of."""
        return tuple(dict.fromkeys(output for output, *_ in self.numbers))

    @property
    def sentence(self) -> str:
        """What it says, in one line."""
        start = "no data set fits all the released numbers"
        if not self.numbers:
            return f"{start}, and the time did not do to say which of them; see whether all are of the same records"
        each = [f"{output}: {label} = {printed}" for output, _, label, printed in self.numbers[:_SHOWN]]
        more = f"; and {len(self.numbers) - _SHOWN} more" if len(self.numbers) > _SHOWN else ""
        if len(self.numbers) == 1:
            return f"{start}: {each[0]} cannot be; correct it, or the records that it is held against"
        rest = "; without any one of them the others can" if self.irreducible else ""
        return (
            f"{start}: these of {list(self.outputs)} cannot all be: {'; '.join(each)}{more}{rest}; "
            "correct them, or the records that they are held against"
        )


def contradiction(of: Programme, seconds: float) -> Contradiction:
    """The numbers that contradict each other, or the register, as few as the time does for."""
    until = time.perf_counter() + seconds
    free = np.array([k for k, origin in enumerate(of.origin) if origin], dtype=np.int64)
    hard = np.setdiff1d(np.arange(len(of.origin)), free)
    priced = _priced(of, free, seconds / 2)
    whole = False
    if priced is None or not _contradicts(of, np.append(hard, priced), False, until):
        priced, whole = free, True  # in whole numbers only
    names = np.array([of.origin[k] for k in priced])
    kept, outputs_done = _filtered(of, hard, [priced[names == name] for name in dict.fromkeys(names)], whole, until)
    units = [np.array(rows) for rows in _by_number(of, np.concatenate(kept) if kept else priced).values()]
    kept, done = _filtered(of, hard, units, whole, until)
    found = []
    for rows in kept:
        output, number = of.origin[int(rows[0])], int(of.number[int(rows[0])])
        one = next(each for each in of.released if each.name == output)
        label = one.labels[number] if 0 <= number < len(one.labels) else "its records"
        found.append((output, number, label, _printed(one.low, one.high, number)))
    return Contradiction(tuple(found), done and outputs_done)


def infeasible(of: Programme, whole: bool, until: float) -> bool:
    """Whether no counts fit all rows, not even broken ones or, if `whole`, no whole ones; False where that is not known
    by then.
    """
    try:
        return _contradicts(of, np.arange(len(of.origin)), whole, until)
    except TimeoutError:
        return False


def _printed(low: Array, high: Array, number: int) -> str:
    if not 0 <= number < len(low):
        return "as said"
    if low[number] == high[number]:
        return f"{low[number]:g}"
    return f"{low[number]:g} to {high[number]:g}"


def _by_number(of: Programme, rows: Positions) -> dict[tuple[str, int], list[int]]:
    found: dict[tuple[str, int], list[int]] = {}
    for row in rows.tolist():
        found.setdefault((of.origin[row], int(of.number[row])), []).append(row)
    return found


def _filtered(
    of: Programme, hard: Positions, units: list[Positions], whole: bool, until: float
) -> tuple[list[Positions], bool]:
    """Units of rows that are needed; whether all were tried. Halves are tried before single ones."""

    def needed(background: list[Positions], some: list[Positions], fresh: bool) -> list[Positions]:
        if fresh and _contradicts(of, np.concatenate([hard, *background]), whole, until):
            return []
        if len(some) == 1:
            return some
        first, second = some[: len(some) // 2], some[len(some) // 2 :]
        right = needed(background + first, second, True)
        return needed(background + right, first, bool(right)) + right

    if not units:
        return units, True
    try:
        return needed([], units, False), True
    except TimeoutError:
        return units, False


def _contradicts(of: Programme, rows: Positions, whole: bool, until: float) -> bool:
    """Whether no data set fits some of the rows; TimeoutError where that is not known in time."""
    left = until - time.perf_counter()
    if left <= 0:
        raise TimeoutError
    integer = np.ones(of.matrix.shape[1]) if whole else None
    found = milp(
        np.zeros(of.matrix.shape[1]),
        constraints=LinearConstraint(of.matrix[rows], of.low[rows], of.high[rows]),
        bounds=Bounds(0.0, of.most),
        integrality=integer,
        options={"time_limit": max(left, 0.1)},
    )
    if found.status not in (0, 2):
        raise TimeoutError
    return bool(found.status == INFEASIBLE)


def _priced(of: Programme, free: Positions, seconds: float) -> Positions | None:
    """Rows that carry a price where every number may give way; None where no price is found."""
    columns, k = of.matrix.shape[1], len(free)
    gives = np.zeros(of.matrix.shape[0], dtype=np.bool_)
    gives[free] = True
    rows = np.arange(of.matrix.shape[0])
    slack = sparse.csr_array((np.ones(k), (free, np.arange(k))), shape=(of.matrix.shape[0], k))
    below, above = rows[np.isfinite(of.low)], rows[np.isfinite(of.high)]
    upper = sparse.vstack(
        [
            sparse.hstack([-of.matrix[below], -slack[below]]),
            sparse.hstack([of.matrix[above], -slack[above]]),
        ],
        format="csr",
    )
    ends = np.concatenate([-of.low[below], of.high[above]])
    bounds = np.stack([np.zeros(columns + k), np.concatenate([of.most, np.full(k, np.inf)])], axis=1)
    cost = np.concatenate([np.zeros(columns), np.ones(k)])
    found = linprog(cost, A_ub=upper, b_ub=ends, bounds=bounds, method="highs", options={"time_limit": seconds})
    if found.status != 0 or found.fun < 1e-7:
        return None
    price = np.zeros(of.matrix.shape[0])
    np.add.at(price, np.concatenate([below, above]), np.abs(found.ineqlin.marginals))
    priced = rows[(price > _PRICE) & gives]
    return priced if len(priced) else None
