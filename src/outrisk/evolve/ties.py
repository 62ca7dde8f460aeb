"""Records as a start draws them, made to agree with what is known of all records (see problem/determined.py).

A start draws each variable as tables have it, an age band as well as an age. Where tables count the band and not the
age, the age is drawn again among those of the band, as ages were drawn; else the band is that of the age.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from outrisk.evolve.compiled.layout import Codes
from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import Tally, level_in
from outrisk.problem.determined import Determined, whole


def agreeing(problem: Problem, codes: Codes, rng: np.random.Generator) -> Codes:
    """Records (n, variables) in which determined variables have the values that follow from the others; a copy, where
    there are any.
    """
    determined = problem.tied.determined
    if not determined:
        return codes
    found, counted, kept = codes.copy(), _counted(problem.free), set[int]()
    for one in sorted(determined, key=lambda each: -problem.codebook.sizes[each.variable]):
        if one.variable in counted and not (counted | kept) & set(one.of.variables):
            _redraw(one, found, problem.codebook.sizes, rng)
            kept |= set(one.of.variables)
    return whole(found, determined)


def _counted(problem: Problem) -> set[int]:
    """The variables of tables of counts, or of shares, by all combinations of their values."""
    blocks = [block for part in problem.parts for block in part.blocks if isinstance(block, Tally)]
    return {j for block in blocks if block.cell is None and block.value is None for j in block.place.variables}


def _redraw(one: Determined, codes: Codes, sizes: Sequence[int], rng: np.random.Generator) -> None:
    """Draw what tells a variable again, in place, in records in which it tells another value."""
    level = level_in(one.of, codes)
    drawn = np.bincount(level, minlength=one.of.size) + 1.0  # as if each had been drawn once besides
    off = np.flatnonzero(one.code[level] != codes[:, one.variable])
    for code in np.unique(codes[off, one.variable]).tolist():
        rows, there = off[codes[off, one.variable] == code], np.flatnonzero(one.code == code)
        if len(there):
            level[rows] = rng.choice(there, len(rows), p=drawn[there] / drawn[there].sum())
    for j, stride in zip(one.of.variables, one.of.strides, strict=True):
        codes[off, j] = level[off] // stride % sizes[j]
