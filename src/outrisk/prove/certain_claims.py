"""What every data set that fits a programme says: values of people with a register, whole records without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.errors import ProveError
from outrisk.problem.blocks import Array
from outrisk.prove.budget import Budget
from outrisk.prove.programme import Programme
from outrisk.prove.settled import Settled, settled
from outrisk.prove.solver import ONE, Solver, State
from outrisk.prove.verified import Verifier

_PROBES = 6  # random data sets that rule claims out before any is proved

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Claims:
    """What is the same in every data set which fits.

    value (m,): the code of the target that is proved for each person of the register; -1 where none is. possible (m,
    levels): values that are not proved to be wrong. asked (m,): who was asked about. state: "stopped early" where some
    claims were left untried, so that there may be more. sharp: no claim is missed (but for that). seconds: what it
    took. solved: programmes solved.
    """

    value: Positions
    possible: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    state: State
    sharp: bool
    seconds: float
    solved: int

    @property
    def proved(self) -> int:
        """People whose value is proved."""
        return int((self.value >= 0).sum())

    @property
    def narrowed(self) -> int:
        """People whose value is not proved, of whom some value is ruled out."""
        left = self.possible.sum(axis=1)
        return int((self.asked & (left > 1) & (left < self.possible.shape[1])).sum())


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


def certain_values(
    of: Programme,
    target: str,
    budget: Budget | None = None,
    seed: int = 0,
    asked: NDArray[np.bool_] | None = None,
    fitting: Positions | None = None,
) -> Claims:
    """The people whose target is the same in every data set that fits, with its value (see `_proved`).

    `asked` (m,): people who are asked about, all by default. `fitting` (m,): codes of the target in some data set that
    is known to fit; it only saves time. Sound: the released numbers being those of the data, a claim is true of them.
    It is sharp, no claim is missed, where the programme is in whole numbers (up to `Programme.integer` columns) and its
    outputs are linear; and in small studies (see `Verifier`) whatever they are, as then a data set that refutes a claim
    is held against the outputs themselves. Nothing beyond the `budget` is tried; ProveError where no data set fits.
    """
    budget, verifier = budget or Budget(), Verifier(of)
    here = np.ones(len(of.groups), dtype=np.bool_) if asked is None else asked
    alone = of.matrix.shape[1] == of.n_counts
    first = settled(of) if alone and not verifier.active else None
    if first is not None:
        try:
            return _beyond_settled(of, first, target, budget, seed, here, fitting)
        except ProveError:  # the whole programme tells which of all numbers contradict each other
            pass
    return _searched(of, target, budget, verifier, seed, here, fitting)


def _beyond_settled(
    of: Programme,
    first: Settled,
    target: str,
    budget: Budget,
    seed: int,
    here: NDArray[np.bool_],
    fitting: Positions | None,
) -> Claims:
    """Claims of people whom the constraints settle one by one, and of the others by what is left."""
    code = of.kinds[:, of.unknown.index(target)]
    levels = np.zeros((len(of.sizes), of.codebook[target].size))
    np.add.at(levels.T, code, first.counts.T)
    left, verifier = np.flatnonzero(first.open[of.groups]), Verifier(of)
    value = np.where((levels > 0).sum(axis=1) == 1, levels.argmax(axis=1), -1)[of.groups]
    found = Claims(
        np.where(here, value, -1), levels[of.groups] > 0, here, "complete", verifier.exact, budget.seconds, 0
    )
    if len(left):
        rest = first.with_sizes
        rest = replace(rest, groups=rest.groups[left], integer=of.integer if len(of.most) <= of.integer else 0)
        more = _searched(rest, target, budget, verifier, seed, here[left], None if fitting is None else fitting[left])
        found.value[left], found.possible[left] = more.value, more.possible
        found = replace(found, state=more.state, sharp=more.sharp, seconds=more.seconds, solved=more.solved)
    return found


def _searched(
    of: Programme,
    target: str,
    budget: Budget,
    verifier: Verifier,
    seed: int,
    here: NDArray[np.bool_],
    fitting: Positions | None,
) -> Claims:
    """Claims by programmes alone."""
    solver = Solver(of, budget)
    code = of.kinds[:, of.unknown.index(target)]
    G, L = len(of.sizes), of.codebook[target].size
    to_level = sparse.csr_array((np.ones(of.n_kinds), (np.arange(of.n_kinds), code)), shape=(of.n_kinds, L))

    def by_level(x: Array) -> Array:  # people of each group with each value, (G L,)
        return np.asarray(x[: of.n_counts].reshape(G, of.n_kinds) @ to_level).ravel()

    def refuted(some: Positions) -> Array:
        chosen = np.zeros((G, L))
        chosen.ravel()[some] = 1.0
        return chosen[:, code].ravel()

    tried = np.zeros(G, dtype=np.bool_)
    tried[of.groups[here]] = True
    open_ = np.repeat(tried, L)  # values that may be ruled out
    if fitting is not None:
        open_[of.groups * L + fitting] = False
    rng = np.random.default_rng(seed)
    for _ in range(_PROBES if fitting is None else 0):
        found = _data_set(solver, verifier, rng.random(of.n_counts))
        if found is None:
            break
        open_ &= by_level(found) < ONE
    ruled_out = _proved(solver, verifier, G * L, np.flatnonzero(open_), refuted, by_level).reshape(G, L)
    ruled_out[ruled_out.all(axis=1)] = False  # cannot be, where a data set fits
    possible = ~ruled_out[of.groups]
    left = possible.sum(axis=1)
    value = np.where((left == 1) & here, possible.argmax(axis=1), -1)
    sharp = solver.whole and (verifier.exact or not of.left_out)
    return Claims(value.astype(np.int64), possible, here, solver.state, sharp, budget.seconds, solver.solved)


def _data_set(solver: Solver, verifier: Verifier, objective: Array) -> Array | None:
    """A data set that fits, as large in the objective as the budget did for; None where none was found."""
    while not solver.budget.over:
        found = solver.maximise(objective)
        if found.x is None or not verifier.refuses(solver, found.x):
            return None if found.x is None else np.asarray(found.x)
    return None


def certain_records(of: Programme, budget: Budget | None = None) -> CertainRecords:
    """Without a register: the records that are in every data set which fits (see `_proved`)."""
    budget = budget or Budget()
    plain, verifier = Solver(of, budget, whole=True), Verifier(None)
    found = plain.maximise(np.zeros(of.n_counts))
    here = np.flatnonzero(found.x[: of.n_counts] > 0.5) if found.x is not None else np.zeros(0, np.int64)
    # A 0/1 helper for each kind found, 1 where there is any such record: a claim is refuted where it is 0.
    n_columns, k = of.matrix.shape[1], len(here)
    link = sparse.csr_array((np.ones(k), (np.arange(k), here)), shape=(k, n_columns))
    matrix = sparse.block_array([[of.matrix, None], [link, -float(of.sizes.sum()) * sparse.eye_array(k)]], format="csr")
    none = np.zeros(k)
    low, high = np.concatenate([of.low, none - np.inf]), np.concatenate([of.high, none])
    solver = Solver(of, budget, (sparse.csr_array(matrix), low, high, k), plain.solved, whole=True)

    def refuted(some: Positions) -> Array:
        objective = np.zeros(n_columns + k)
        objective[n_columns + some] = -1.0
        return objective

    def amounts(x: Array) -> Array:
        return np.asarray(1.0 - np.round(x[n_columns:]))

    proved = np.flatnonzero(_proved(solver, verifier, k, np.arange(k), refuted, amounts, shift=True))
    number = np.ones(len(proved), dtype=np.int64)
    if found.x is not None:
        for at, kind in enumerate(here[proved]):
            if found.x[kind] > 1.5 and not budget.over:
                objective = np.zeros(of.n_counts)
                objective[kind] = -1.0
                number[at] = max(1, int(np.ceil(-plain.bound(plain.maximise(objective)) - 1e-4)))
    kinds = of.kinds[here[proved] % of.n_kinds]
    whole = int(number.sum()) == int(of.sizes.sum())
    state: State = "stopped early" if found.x is None else solver.state
    return CertainRecords(kinds, number, whole, state, budget.seconds, plain.solved + solver.solved)


def _proved(
    solver: Solver,
    verifier: Verifier,
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
        if solver.budget.over:
            solver.state = "stopped early"
            break
        some = sets.pop()
        found = solver.maximise(refuted(some))
        if solver.bound(found) + shift * len(some) < ONE:
            done[some] = True
            continue
        if found.x is not None and verifier.refuses(solver, found.x):
            sets.append(some)  # once more, without what is none
            continue
        left = some if found.x is None else some[amounts(found.x)[some] < ONE]
        if len(left) < len(some):
            sets += [left] if len(left) else []
        elif len(some) > 1:
            sets += [some[: len(some) // 2], some[len(some) // 2 :]]
        elif found.status != 0:
            solver.state = "stopped early"
    return done
