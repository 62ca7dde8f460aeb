"""Sums over classes of records that agree with those published of several tables: by integer programming (HiGHS).

Where a sum over each cell of a table is told, it is the sum of what the classes in the cell add, whole numbers. Tables
that cross have classes in common, so that a change of one class that puts one table right puts the other one out; all
of them together are linear, and nearly a flow through a network, so that whole numbers are found at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint

from outrisk.problem.blocks import Array
from outrisk.quiet_milp import milp

_NODES = 20  # of a search for whole numbers, at most
_GAP = 0.1  # share of what it costs that may be saved yet
_BEYOND = 1e4  # how much more it counts to miss a published number than to change values
_LITTLE, _FAR = 0.5, 8.0  # standard deviations of a sum over a class that it is changed by at little cost; beyond
EXACT = 1e-6  # by how much sums may be off for rounding


@dataclass(frozen=True, eq=False)
class Changes:
    """What the sums over classes may be changed by: multiples of a step, each in its `room` (classes, 2), as near to
    `about` (classes,) as can be, in standard deviations `scale` (classes,); nothing where they are `firm`.
    """

    step: int
    about: Array
    scale: Array
    room: Array
    firm: NDArray[np.bool_]


def agreeing(rows: sparse.csr_matrix, wanted: Array, changes: Changes, choices: Mapping[int, Array]) -> Array | None:
    """Changes (classes,) of sums over classes that add up in each cell (cells, classes) to what is wanted, (cells, 2)
    from there to there, and in some cells to one of the choices. Where none do, as few cells as can be are off; None if
    nothing is found.
    """
    step, free, chosen = changes.step, np.flatnonzero(~changes.firm), np.array(list(choices), np.int64)
    least, most = np.ceil(changes.room[free, 0] / step), np.floor(changes.room[free, 1] / step)
    base = np.clip(np.rint(changes.about[free] / step), least, np.maximum(least, most))
    ends = np.stack([np.ceil(wanted[:, 0] - EXACT), np.floor(wanted[:, 1] + EXACT)], axis=1)
    told = np.isfinite(ends).any(axis=1) & (ends[:, 0] <= ends[:, 1])
    told[chosen] = False
    some = np.flatnonzero(told)
    found, k, q = np.zeros(len(changes.about)), len(free), len(some) + len(chosen)
    found[free] = step * base
    if not (k and q):
        return found
    used = step * rows[np.concatenate([some, chosen])][:, free]
    ends = np.vstack([ends[some], np.zeros((len(chosen), 2))]) - (used @ base)[:, None]
    picks, one = _picks([choices[cell] for cell in chosen.tolist()], len(some))
    room = np.maximum(np.concatenate([most - base, base - least]), 0.0)
    near = np.minimum(np.tile(np.ceil(_LITTLE * changes.scale[free] / step), 2), room)
    cost, p = np.tile(step / np.maximum(changes.scale[free], 1.0), 2), picks.shape[1]
    off = sparse.eye(q, format="csr")
    exactly = [sparse.csr_matrix((len(chosen), 4 * k)), one, sparse.csr_matrix((len(chosen), 2 * q))]
    solved = milp(
        np.concatenate([cost, _FAR * cost, np.zeros(p), np.full(2 * q, _BEYOND)]),
        constraints=[
            LinearConstraint(sparse.hstack([used, -used, used, -used, -picks, off, -off], format="csr"), *ends.T),
            LinearConstraint(sparse.hstack(exactly, format="csr"), 1.0, 1.0),
        ],
        integrality=np.repeat([1.0, 0.0], [4 * k + p, 2 * q]),
        bounds=Bounds(0.0, np.concatenate([near, room - near, np.ones(p), np.full(2 * q, np.inf)])),
        options={"node_limit": _NODES, "mip_rel_gap": _GAP},
    )
    if solved.x is None:
        return None
    more, less, further, fewer = np.rint(solved.x[: 4 * k]).reshape(4, k)
    found[free] += step * (more - less + further - fewer)
    return found


def _picks(choices: list[Array], before: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """What each choice comes to in its row, so many rows being before, and which choices there are for each."""
    of = np.repeat(np.arange(len(choices)), [len(each) for each in choices])
    values, at = np.concatenate([np.zeros(0), *choices]), np.arange(len(of))
    picks = sparse.csr_matrix((values, (before + of, at)), shape=(before + len(choices), len(of)))
    return picks, sparse.csr_matrix((np.ones(len(of)), (of, at)), shape=(len(choices), len(of)))
