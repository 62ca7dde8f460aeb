"""Cells that those of another subset's table are together, held against all combinations gone through one by one."""

from itertools import product

import numpy as np
import pytest

from outrisk.assess.look.as_cells import _made_of
from outrisk.codebook import Codebook, Variable

SIZES = {"a": 3, "b": 2, "c": 2, "d": 1}
CODEBOOK = Codebook(tuple(Variable(name, "integer", tuple(range(size))) for name, size in SIZES.items()))
WHERE = ("", "a == 0", "a >= 1", "b == 1", "c == 0", "a == 1 or b == 0", "b == 0 and c == 1")


def one_by_one(where, by, other, names):
    """Cell by cell, from all combinations of values: those whose records are parts of the other table, whole."""
    every = [dict(zip(SIZES, values, strict=True)) for values in product(*map(range, SIZES.values()))]

    def place(values, of):
        found = 0
        for name in of:
            found = found * SIZES[name] + values[name]
        return found

    one, rest = ([not w or eval(w, {}, v) for v in every] for w in (where, other))
    cells = {}
    for cell in {place(v, by) for v, flag in zip(every, one, strict=True) if flag}:
        held = [at for at, v in enumerate(every) if one[at] and place(v, by) == cell]
        parts = {place(every[at], names) for at in held}
        together = [at for at, v in enumerate(every) if rest[at] and place(v, names) in parts]
        if all(rest[at] for at in held) and held == together:
            cells[cell] = sorted(parts)
    return cells


@pytest.mark.parametrize("where", WHERE)
def test_cells_are_made_of_what_all_combinations_say(where):
    sets = [(), ("a",), ("b",), ("a", "b"), ("b", "a"), ("c", "a"), ("a", "b", "c"), ("d", "b")]
    seen = 0
    for by, names, other in product(sets, sets, WHERE):
        found = {}
        for cells, parts in _made_of(CODEBOOK, where, by, other, names):
            assert parts.shape[0] == len(cells)
            found |= {int(cell): np.asarray(some).tolist() for cell, some in zip(cells, parts, strict=True)}
        assert found == one_by_one(where, by, other, names), (by, names, other)
        seen += len(found)
    assert seen
