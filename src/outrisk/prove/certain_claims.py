"""What every data set that fits a programme says: values of people with a register, whole records without one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from outrisk.errors import ProveError
from outrisk.problem.blocks import Array
from outrisk.prove.programme import Programme

_ONE = 1.0 - 1e-4  # a number of people below this is 0
_PROBES = 6  # random data sets that rule claims out before any is proved
_INTEGER = 20_000  # columns up to which counts are taken as whole in the programme, not only in what follows from it

State = Literal["complete", "out of time"]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Claims:
    """Values of people that are the same in every data set which fits.

    value (n,): the code of the target that is proved for each person; -1 where none is. state: "out of time" where some
    claims were left untried, so that there may be more. seconds: what it took. solved: programmes solved.
    """

    value: Positions
    state: State
    seconds: float
    solved: int

    @property
    def proved(self) -> int:
        """People whose value is proved."""
        return int((self.value >= 0).sum())


@dataclass(frozen=True, eq=False)
class CertainRecords:
    """Records that every data set which fits holds: kinds (r, unknown) by code, and at least how many of each (r,).

    complete: whether these are all records, so that exactly one data set fits (as a multiset, in these variables).
    state, seconds, solved: as of `Claims`.
    """

    kinds: Positions
    number: Positions
    complete: bool
    state: State
    seconds: float
    solved: int


def certain_values(of: Programme, target: str, seconds: float = 60.0, seed: int = 0) -> Claims:
    """The people whose target is the same in every data set that fits, with its value (see `_proved`).

    Sound: the released numbers being those of the data, a claim is true of them. It is sharp, no claim is missed, where
    the programme is in whole numbers (up to 20,000 columns) and all outputs are linear. `seconds` in all; ProveError
    where no data set fits.
    """
    solver = _Solver(of, seconds)
    shape = (len(of.sizes), of.n_kinds)
    code = of.kinds[:, of.unknown.index(target)]
    rng = np.random.default_rng(seed)
    only = np.full(shape[0], -2)
    for _ in range(_PROBES):
        found = solver.maximise(rng.random(of.n_counts))
        if found.x is None:
            break
        counts = found.x[: of.n_counts].reshape(shape)
        by_value = np.stack([counts[:, code == value].sum(axis=1) for value in range(code.max() + 1)], axis=1)
        here = np.where(by_value.max(axis=1) > of.sizes - _ONE, by_value.argmax(axis=1), -1)
        only = np.where((only == -2) | (only == here), here, -1)
    against = code != only[:, None]  # (groups, kinds): records that would refute a claim

    def refuted(some: Positions) -> Array:
        objective = np.zeros(shape)
        objective[some] = against[some]
        return objective.ravel()

    def amounts(x: Array) -> Array:
        return np.asarray((x[: of.n_counts].reshape(shape) * against).sum(axis=1))

    proved = _proved(solver, shape[0], np.flatnonzero(only >= 0), refuted, amounts)
    value = np.where(proved, only, -1)[of.groups]
    return Claims(value.astype(np.int64), solver.state, solver.seconds, solver.solved)


def certain_records(of: Programme, seconds: float = 120.0) -> CertainRecords:
    """Without a register: the records that are in every data set which fits (see `_proved`)."""
    plain = _Solver(of, seconds)
    found = plain.maximise(np.zeros(of.n_counts))
    here = np.flatnonzero(found.x[: of.n_counts] > 0.5) if found.x is not None else np.zeros(0, np.int64)
    # A 0/1 helper for each kind found, 1 where there is any such record: a claim is refuted where it is 0.
    n_columns, k = of.matrix.shape[1], len(here)
    link = sparse.csr_array((np.ones(k), (np.arange(k), here)), shape=(k, n_columns))
    matrix = sparse.block_array([[of.matrix, None], [link, -float(of.sizes.sum()) * sparse.eye_array(k)]], format="csr")
    none = np.zeros(k)
    low, high = np.concatenate([of.low, none - np.inf]), np.concatenate([of.high, none])
    solver = _Solver(of, plain.left, (sparse.csr_array(matrix), low, high, k), plain.solved)

    def refuted(some: Positions) -> Array:
        objective = np.zeros(n_columns + k)
        objective[n_columns + some] = -1.0
        return objective

    def amounts(x: Array) -> Array:
        return np.asarray(1.0 - np.round(x[n_columns:]))

    proved = np.flatnonzero(_proved(solver, k, np.arange(k), refuted, amounts, shift=True))
    number = np.ones(len(proved), dtype=np.int64)
    if found.x is not None:
        for at, kind in enumerate(here[proved]):
            if found.x[kind] > 1.5 and plain.left > 0:
                objective = np.zeros(of.n_counts)
                objective[kind] = -1.0
                number[at] = max(1, int(np.ceil(-plain.bound(plain.maximise(objective)) - 1e-4)))
    kinds = of.kinds[here[proved] % of.n_kinds]
    whole = int(number.sum()) == int(of.sizes.sum())
    state: State = "out of time" if found.x is None else solver.state
    return CertainRecords(kinds, number, whole, state, plain.seconds, plain.solved + solver.solved)


def _proved(
    solver: _Solver,
    n_claims: int,
    candidates: Positions,
    refuted: Callable[[Positions], Array],
    amounts: Callable[[Array], Array],
    shift: bool = False,
) -> NDArray[np.bool_]:
    """Which of so many claims hold in every data set that fits, (n_claims,); only the candidates are tried.

    All are tried together: a programme maximises by how many people a data set that fits refutes the set. Below one,
    the whole set is proved. Else the data set found rules some out, or the set is halved. `shift`: the objective counts
    claims that hold, negatively, in place of people who refute them.
    """
    done = np.zeros(n_claims, dtype=np.bool_)
    sets = [candidates] if len(candidates) else []
    while sets:
        if solver.left <= 0:
            solver.state = "out of time"
            break
        some = sets.pop()
        found = solver.maximise(refuted(some))
        if solver.bound(found) + shift * len(some) < _ONE:
            done[some] = True
            continue
        left = some if found.x is None else some[amounts(found.x)[some] < _ONE]
        if len(left) < len(some):
            sets += [left] if len(left) else []
        elif len(some) > 1:
            sets += [some[: len(some) // 2], some[len(some) // 2 :]]
        elif found.status != 0:
            solver.state = "out of time"
    return done


class _Solver:
    """One set of constraints under many objectives, within a time."""

    def __init__(
        self,
        of: Programme,
        seconds: float,
        rows: tuple[sparse.csr_array, Array, Array, int] | None = None,
        solved: int = 0,
    ) -> None:
        self.of, self.solved = of, solved
        self.state: State = "complete"
        self.started = time.perf_counter()
        self.until = self.started + seconds
        matrix, low, high, helpers = rows or (of.matrix, of.low, of.high, 0)
        self.rows = LinearConstraint(matrix, low, high)
        self.most = np.concatenate([of.most, np.ones(helpers)])
        self.integer = np.ones(len(self.most), dtype=np.int64)
        if len(self.most) > _INTEGER:
            self.integer[: of.n_counts] = 0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.until - time.perf_counter()

    def maximise(self, objective: Array) -> OptimizeResult:
        """The programme with this objective (the first columns); ProveError where no data set fits at all."""
        self.solved += 1
        cost = np.zeros(len(self.most))
        cost[: len(objective)] = -objective
        found = milp(
            cost,
            constraints=self.rows,
            bounds=Bounds(0.0, self.most),
            integrality=self.integer,
            options={"time_limit": max(self.left, 0.1)},
        )
        if found.status == 2:
            raise ProveError(f"no data set fits all the released numbers; {self._contradiction()}")
        return found

    def bound(self, found: OptimizeResult) -> float:
        """What no data set that fits exceeds; infinite where the time did not do to find one."""
        if self.integer.any():
            dual = found.mip_dual_bound
            return -float(dual) if dual is not None and np.isfinite(dual) else np.inf
        return -float(found.fun) if found.status == 0 else np.inf

    def _contradiction(self) -> str:
        """The outputs whose numbers have to give way, by the least amounts that let all others stand."""
        rows, columns = self.of.matrix.shape
        slack = sparse.hstack([self.of.matrix, sparse.eye_array(rows), -sparse.eye_array(rows)], format="csr")
        fixed = np.array([not origin for origin in self.of.origin])
        most = np.concatenate([self.of.most, np.tile(np.where(fixed, 0.0, np.inf), 2)])
        found = milp(
            np.concatenate([np.zeros(columns), np.ones(2 * rows)]),
            constraints=LinearConstraint(slack, self.of.low, self.of.high),
            bounds=Bounds(0.0, most),
            options={"time_limit": 20.0},
        )
        given = found.x[columns : columns + rows] + found.x[columns + rows :] if found.x is not None else np.zeros(rows)
        names = list(dict.fromkeys(self.of.origin[at] for at in np.argsort(-given) if given[at] > 1e-6))
        if not names:
            return "they contradict each other in whole numbers only; see whether all are of the same records"
        return f"those of {names} cannot all be: correct them, or the records that they are held against"
