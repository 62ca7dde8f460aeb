"""Compilation before the first use, in two processes side by side.

numba compiles a function when it is first called, one at a time in a process, and keeps it on disk. So half of what a
local search needs is compiled here and half in a process of its own: python -P -m outrisk.evolve.ahead (-P: no module
that lies in the current folder is run). What fails here is compiled where it is needed.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from outrisk.codebook import Codebook, Variable
from outrisk.evolve.compiled import climb, cube, sums, trades
from outrisk.evolve.compiled.kept_code import kept
from outrisk.evolve.compiled.layout import Plan
from outrisk.evolve.compiled.plan import build_plan
from outrisk.problem.blocks import Model, Term, joint_over

_SWAPS: tuple[Any, ...] = (trades.draw, trades.anneal, cube.fly, cube.land)
_ENTRIES: tuple[Any, ...] = (climb.visit_all, sums.add_all, sums.information_by_records, *_SWAPS)


def compile_ahead(swaps: bool) -> None:
    """Compile what a local search needs, if it is not kept on disk; `swaps`: batches of swaps too."""
    if is_compiled(swaps):
        return
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    other = None
    with suppress(OSError, ValueError):
        other = subprocess.Popen([sys.executable, "-P", "-m", __name__], **quiet)
    try:
        with _collecting_rarely():
            _visits()
            if swaps:
                _batches()
    finally:
        if other:
            other.wait()


def is_compiled(swaps: bool) -> bool:
    """Whether what a local search needs is kept on disk; `swaps`: batches of swaps too."""
    return all(kept(entry) for entry in _ENTRIES if swaps or entry not in _SWAPS)


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Leave the objects of numba, of which few can go, alone: looking through them took a tenth of compiling."""
    usual = gc.get_threshold()
    gc.set_threshold(100_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _visits() -> None:
    plan, codes, totals, none = _smallest()
    arrays = totals, totals, totals, none, none
    climb.visit_all(plan, codes, totals, *arrays, np.zeros(1), totals, 0, False, 0.0, np.random.default_rng(0))


def _batches() -> None:
    plan, codes, totals, none = _smallest()
    rng = np.random.default_rng(0)
    found = trades.draw(plan, codes, totals, totals, totals, none, none, 1, 1, False, rng)
    trades.anneal(found, np.zeros(1), totals, totals, totals, totals, 1.0, 1.0, 0, rng)
    cube.fly(np.zeros((1, 1)), np.zeros(1), np.zeros(1, np.int64), rng)
    cube.land(np.zeros((1, 1)), np.zeros(1, np.bool_), np.zeros(1), 1.0, 1, rng)


def _sums() -> None:
    plan, codes, totals, _ = _smallest()
    sums.add_all(plan, plan.blocks, codes, 1.0, totals)
    sums.information_by_records(plan, plan.blocks[0], codes)


def _smallest() -> tuple[Plan, Any, Any, Any]:
    """Two records of one variable and a model of it, and arrays of the types that a search has."""
    codebook = Codebook((Variable("v", "categorical", ("0", "1")),))
    joint = joint_over((0,), codebook.sizes)
    term = Term(joint, np.zeros(1, np.int64), np.ones((2, 1)))
    model = Model("logit", np.zeros((1, 1)), joint, np.arange(2.0), (term,))
    return build_plan(codebook, [model], [1]), np.zeros((2, 1), np.uint16), np.zeros(1), np.ones(1)


if __name__ == "__main__":
    with _collecting_rarely():
        _sums()
