"""By which outputs a claim is proved: smallest sets of them.

A set of outputs proves a person's value when no data set that fits these outputs refutes it. Each data set that does
refute it leaves outputs broken, of which a proving set must hold one; a smallest set that meets all of these conditions
is tried, and either proves the claim, and is then a smallest proof, or brings one more data set (implicit hitting sets:
Ignatiev, Previti, Liffiton and Marques-Silva, CP 2015). Data sets found for one person serve all others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint

from outrisk.problem.blocks import Array
from outrisk.prove.budget import Budget
from outrisk.prove.certain_claims import Claims
from outrisk.prove.programme import Programme
from outrisk.prove.solver import ONE, Solver, idle, only
from outrisk.quiet_milp import milp


@dataclass(frozen=True, eq=False)
class ProvingSet:
    """Outputs that together prove values of people: `people`, their positions in the register.

    smallest (people,): whether fewer outputs do not prove the person's value; else the budget did not do to tell.
    """

    outputs: tuple[str, ...]
    people: NDArray[np.int64]
    smallest: NDArray[np.bool_]


@dataclass(eq=False)
class _Pool:
    """Data sets that fit some outputs: broken (d, outputs), those they do not fit; refutes (d, groups), claims."""

    broken: list[NDArray[np.bool_]] = field(default_factory=list)
    refutes: list[NDArray[np.bool_]] = field(default_factory=list)

    def of(self, group: int) -> NDArray[np.bool_]:
        """What each data set that refutes the claim of a group does not fit, (some, outputs)."""
        return np.array([each for each, who in zip(self.broken, self.refutes, strict=True) if who[group]])


class _Proofs:
    def __init__(
        self, of: Programme, target: str, claims: Claims, budget: Budget, bands: NDArray[np.int64] | None
    ) -> None:
        self.of, self.budget = of, budget
        self.names = [name for name in dict.fromkeys(of.origin) if name]
        code = of.kinds[:, of.unknown.index(target)]
        self.code = code if bands is None else bands[code]
        G = len(of.sizes)
        told = claims.value >= 0  # of a group perhaps not everybody is asked about
        self.value = np.full(G, -1)
        self.value[of.groups[told]] = claims.value[told]
        self.claimed = self.value >= 0
        self.against = (self.code != self.value[:, None]).astype(float) * self.claimed[:, None]  # (G, U)
        self.pool = _Pool()

    @cached_property
    def cost(self) -> Array:
        """What each output costs (outputs,): of as many, those are tried first that take least time."""
        entries = np.array([float(only(self.of, [name]).matrix.nnz) for name in self.names])
        return np.asarray(1.0 + 0.9 * entries / max(entries.sum(), 1.0))

    def proved(self, names: tuple[str, ...], groups: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Which claims of groups these outputs prove; None where the budget does not do."""
        solver = Solver(only(self.of, names), self.budget)
        done, sets = np.zeros(len(self.of.sizes), dtype=np.bool_), [groups]
        while sets:
            if self.budget.over:
                return None
            some = sets.pop()
            objective = np.zeros_like(self.against)
            objective[some] = self.against[some]
            found = solver.maximise(objective.ravel())
            if solver.bound(found) < ONE:
                done[some] = True
                continue
            if found.x is None:
                return None
            refuted = self._keep(found.x, names)
            left = some[~refuted[some]]
            if len(left) == len(some):
                if len(some) == 1:
                    if found.status != 0:
                        return None
                    continue
                sets += [some[: len(some) // 2], some[len(some) // 2 :]]
            elif len(left):
                sets.append(left)
        return done

    def _keep(self, x: Array, fits: tuple[str, ...]) -> NDArray[np.bool_]:
        """Take a data set that fits some outputs into the pool; the groups whose claims it refutes."""
        of = self.of
        amounts = (x[: of.n_counts].reshape(self.against.shape) * self.against).sum(axis=1)
        broken = {of.origin[k] for k in np.flatnonzero(of.broken(x, 1e-6)).tolist()}
        broken |= {name for each in idle(of, fits) for name in each.outputs}  # what it says of these, nobody asked
        self.pool.broken.append(np.array([name in broken for name in self.names]))
        self.pool.refutes.append(amounts >= ONE)
        return np.asarray(amounts >= ONE)

    def least(self, group: int) -> NDArray[np.int64]:
        """Positions of a smallest set of outputs that meets what the pool asks of a proof."""
        conditions = self.pool.of(group)
        if not len(conditions):
            return np.zeros(0, np.int64)
        found = milp(
            self.cost,
            constraints=LinearConstraint(sparse.csr_array(conditions.astype(float)), 1.0, np.inf),
            bounds=Bounds(0.0, 1.0),
            integrality=np.ones(len(self.names)),
        )
        return np.flatnonzero(found.x > 0.5) if found.x is not None else np.arange(len(self.names))


def smallest_proofs(
    of: Programme, target: str, claims: Claims, budget: Budget, bands: NDArray[np.int64] | None = None
) -> list[ProvingSet]:
    """Sets of outputs that prove the claims, most people first; people whom the budget did not do for are in none.

    `bands` as of `certain_values`.
    """
    run = _Proofs(of, target, claims, budget, bands)
    open_ = np.flatnonzero(run.claimed)
    by: dict[tuple[str, ...], list[int]] = {}
    for name in [(), *((name,) for name in run.names)]:
        done = run.proved(name, open_) if len(open_) else None
        if done is None:
            break
        if done.any():
            by[name] = np.flatnonzero(done).tolist()
            open_ = open_[~done[open_]]
    tried: tuple[int, tuple[str, ...]] | None = None
    while len(open_) and run.names and not budget.over:
        group = int(open_[0])
        chosen = tuple(run.names[k] for k in run.least(group))
        if (group, chosen) == tried:  # neither proved nor refuted for certain: in no set
            open_ = open_[1:]
            continue
        tried = group, chosen
        done = run.proved(chosen, open_[:1]) if chosen not in by else None
        if done is None and chosen not in by:
            break
        if done is not None and not done[group]:
            continue
        more = run.proved(chosen, open_)
        done = done if more is None else more
        if done is None or not done[group]:
            break
        by.setdefault(chosen, []).extend(np.flatnonzero(done).tolist())
        open_ = open_[~done[open_]]
    found = []
    for names, groups in by.items():
        smallest = np.array([len(run.least(group)) == len(names) for group in groups], dtype=np.bool_)
        chosen_groups = np.isin(of.groups, groups) & (claims.value >= 0)
        people = np.flatnonzero(chosen_groups)
        place = {group: at for at, group in enumerate(groups)}
        at = np.array([place[group] for group in of.groups[people].tolist()], dtype=np.int64)
        found.append(ProvingSet(names, people, smallest[at]))
    return sorted(found, key=lambda each: -len(each.people))
