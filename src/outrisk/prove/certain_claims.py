"""What every data set that fits a programme says: values of people with a register, whole records without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from outrisk.errors import ProveError
from outrisk.problem.blocks import Array
from outrisk.prove.budget import Budget
from outrisk.prove.nearby import ENTRIES, Nearby
from outrisk.prove.programme import Programme
from outrisk.prove.settled import Settled, narrowed, settled
from outrisk.prove.solver import ONE, Solver, State
from outrisk.prove.verified import Verifier

_PROBES = 6  # random data sets that rule claims out before any is proved
_NARROWING = 0.1  # share of the budget left in which values are ruled out of people with several, among many columns

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
class _Asking:
    """What is asked: code (kinds,), the value or band of the target of each kind, below `levels`.

    here (m,): the people asked about. fitting (m, variables): codes of a data set that fits, if one is known.
    """

    code: Positions
    levels: int
    here: NDArray[np.bool_]
    fitting: NDArray[np.integer] | None
    bands: Positions
    seed: int

    def some(self, people: Positions) -> _Asking:
        """The same of some people."""
        return replace(self, here=self.here[people], fitting=None if self.fitting is None else self.fitting[people])


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
    fitting: NDArray[np.integer] | None = None,
    bands: Positions | None = None,
) -> Claims:
    """The people whose target is the same in every data set that fits, with its value (see `_proved`).

    `bands` (levels,): of each code of the target, the band that claims are about in its place (None: the code itself).

    `asked` (m,): people who are asked about, all by default. `fitting` (m, variables): everybody's codes in some data
    set that is known to fit; it only saves time. Sound: the released numbers being those of the data, a claim is true
    of them. It is sharp, no claim is missed, where the programme is in whole numbers (up to `Programme.integer`
    columns) and its outputs are linear; and in small studies (see `Verifier`) whatever they are, as then a data set
    that refutes a claim is held against the outputs themselves. Nothing beyond the `budget` is tried; ProveError where
    no data set fits.
    """
    budget, verifier = budget or Budget(), Verifier(of)
    bands = np.arange(of.codebook[target].size) if bands is None else bands
    here = np.ones(len(of.groups), dtype=np.bool_) if asked is None else asked
    code = bands[of.kinds[:, of.unknown.index(target)]]
    asking = _Asking(code, int(bands.max()) + 1, here, fitting, bands, seed)
    alone = of.matrix.shape[1] == of.n_counts
    first = settled(of) if alone and not verifier.active else None
    if of.further:
        of = narrowed(of) or of
    if first is not None:
        try:
            return _beyond_settled(of, first, asking, budget)
        except ProveError:  # the whole programme tells which of all numbers contradict each other
            pass
    return _searched(of, asking, budget, verifier)


def _beyond_settled(of: Programme, first: Settled, asking: _Asking, budget: Budget) -> Claims:
    """Claims of people whom the constraints settle one by one, and of the others by what is left."""
    levels = np.zeros((len(of.sizes), asking.levels))
    np.add.at(levels.T, asking.code, first.counts.T)
    left, verifier = np.flatnonzero(first.open[of.groups]), Verifier(of)
    value = np.where((levels > 0).sum(axis=1) == 1, levels.argmax(axis=1), -1)[of.groups]
    here = asking.here
    found = Claims(
        np.where(here, value, -1), levels[of.groups] > 0, here, "complete", verifier.exact, budget.seconds, 0
    )
    if len(left):
        rest = first.with_sizes
        rest = replace(rest, groups=rest.groups[left], integer=of.integer if len(of.most) <= of.integer else 0)
        more = _searched(rest, asking.some(left), budget, verifier)
        found.value[left], found.possible[left] = more.value, more.possible
        found = replace(found, state=more.state, sharp=more.sharp, seconds=more.seconds, solved=more.solved)
    return found


def _searched(of: Programme, asking: _Asking, budget: Budget, verifier: Verifier) -> Claims:
    """Claims by programmes alone: whose value is certain first, then whose values are ruled out."""
    run = _Search(of, asking, budget, verifier)
    if not run.open.any() and run.fitting is None:
        run.solver.maximise(np.zeros(of.n_counts))  # whether any data set fits
    if verifier.active:
        run.rule_out_by_constraints()
    seen = run.refute_nearby()
    settled_first = bool(run.open.any()) and asking.levels > 2 and (seen or run.has_seen_some())
    if settled_first:
        run.prove_groups()
        run.narrow(run.several)
    state = run.solver.state
    if settled_first and run.solver.by_columns is not None:
        run.solver.budget = budget.part(_NARROWING)
    run.narrow(np.ones(len(of.sizes), dtype=np.bool_))
    ruled_out = run.ruled_out
    ruled_out[ruled_out.all(axis=1)] = False  # cannot be, where a data set fits
    possible = ~ruled_out[of.groups]
    left = possible.sum(axis=1)
    value = np.where((left == 1) & asking.here, possible.argmax(axis=1), -1)
    sharp = run.solver.whole and verifier.exact
    state = state if settled_first else run.solver.state
    return Claims(value.astype(np.int64), possible, asking.here, state, sharp, budget.seconds, run.solver.solved)


class _Search:
    """Values of the target of each group of people: open (G, L), those that may be ruled out; ruled_out; alike, those
    that all of a group have in every data set seen, but for less than a person.
    """

    def __init__(self, of: Programme, asking: _Asking, budget: Budget, verifier: Verifier) -> None:
        self.of, self.asking, self.verifier, self.solver = of, asking, verifier, Solver(of, budget, relaxes=True)
        shape = (len(of.sizes), asking.levels)
        tried = np.zeros(shape[0], dtype=np.bool_)
        tried[of.groups[asking.here]] = True
        self.open = np.repeat(tried, shape[1]).reshape(shape)
        each = (np.ones(of.n_kinds), (np.arange(of.n_kinds), asking.code))
        self.to_level = sparse.csr_array(each, shape=(of.n_kinds, shape[1]))
        self.ruled_out = tried[:, None] & (self.people(of.most) == 0)
        self.open &= ~self.ruled_out
        self.open[self.open.sum(axis=1) == 1] = False  # as a data set fits
        self.alike = self.open.copy()

    @property
    def several(self) -> NDArray[np.bool_]:
        """Groups of which it is not told yet which value they may all have, (G,): parts of people have several."""
        return np.asarray(self.alike.sum(axis=1) > 1)

    def people(self, x: Array) -> Array:
        """People of each group with each value, (G, L)."""
        return np.asarray(x[: self.of.n_counts].reshape(-1, self.of.n_kinds) @ self.to_level)

    def counted(self, chosen: Array) -> Array:
        """The objective that counts people with chosen values (G, L), in the columns of the programme."""
        return chosen[:, self.asking.code].ravel()

    def see(self, x: Array, groups: Positions | slice = slice(None)) -> None:
        """Take in a data set that fits: x begins with the counts of all groups, or of these."""
        people = self.people(x)
        self.open[groups] &= people < ONE
        self.alike[groups] &= people > self.of.sizes[groups, None] - ONE

    def refute_nearby(self) -> bool:
        """See data sets near one that fits, where a programme of all groups is a long one; whether any was seen."""
        long = not self.solver.whole and self.of.matrix.nnz > 2 * ENTRIES
        if not long or self.verifier.active or not self.open.any():
            return False
        x = self.fitting
        if x is None:
            x = _data_set(self.solver, self.verifier, self.counted(self.open.astype(np.float64)))
        if x is None:
            return False
        self.see(x)
        Nearby(self.of, x, self.asking.code, self.solver.budget, self.asking.seed).refute(lambda: self.open, self.see)
        return True

    @cached_property
    def fitting(self) -> Array | None:
        """The data set that is known to fit, (columns,); None where there is none, or it does not."""
        fitting = self.asking.fitting
        return None if fitting is None else self.solver.completed(self.of.counted(fitting))

    def has_seen_some(self) -> bool:
        """Take in the data set that is known to fit, or a few found; whether these were found."""
        of = self.of
        if self.fitting is not None:
            self.see(self.fitting)
            return True
        rng = np.random.default_rng(self.asking.seed)
        for _ in range(_PROBES):
            found = _data_set(self.solver, self.verifier, rng.random(of.n_counts))
            if found is None:
                return False
            self.see(found)
        return True

    def rule_out_by_constraints(self) -> None:
        """Rule out what the constraints do, before data sets are held against the outputs: those that fit the former
        alone may be so many that nothing would be left for these claims.
        """
        tried, verifier, self.verifier = self.open.copy(), self.verifier, Verifier(None)
        self.narrow(np.ones(len(self.of.sizes), dtype=np.bool_))
        self.verifier, self.open = verifier, tried & ~self.ruled_out
        self.open[self.open.sum(axis=1) == 1] = False  # as a data set fits
        self.alike &= ~self.ruled_out

    def prove_groups(self) -> None:
        """Which groups have one value in every data set that fits: one question a group, not one a value."""
        groups = np.flatnonzero(self.alike.sum(axis=1) == 1)
        others = ~self.alike[groups]  # as many values as are wrong where the claim holds

        def refuted(some: Positions) -> Array:
            chosen = np.zeros(self.open.shape)
            chosen[groups[some]] = others[some]
            return self.counted(chosen)

        def amounts(x: Array) -> Array:
            return np.asarray((self.people(x)[groups] * others).sum(axis=1))

        sure = _proved(self.solver, self.verifier, len(groups), np.arange(len(groups)), refuted, amounts)
        self.ruled_out[groups[sure]] = others[sure]
        self.open[groups[sure]] = False

    def narrow(self, groups: NDArray[np.bool_]) -> None:
        """Which values are ruled out of some groups (G,)."""

        def refuted(some: Positions) -> Array:
            chosen = np.zeros(self.open.shape)
            chosen.ravel()[some] = 1.0
            return self.counted(chosen)

        def amounts(x: Array) -> Array:
            return self.people(x).ravel()

        values = self.open.size
        tried = np.flatnonzero(self.open & groups[:, None])
        found = _proved(self.solver, self.verifier, values, tried, refuted, amounts)
        self.ruled_out |= found.reshape(self.open.shape)
        self.open[groups] = False


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
