"""Tables on small data: what a reader of the released numbers, and the slow totals, make of them."""

import numpy as np
from slow import block_totals

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs.base import middle

CODEBOOK = Codebook(
    (
        Variable("age", "integer", (1, 2, 3, 4, 7)),
        Variable("job", "categorical", ("b", "a", "c"), missing=True),
        Variable("pay", "numeric", (0.5, 2.0, 2.5, 9.0), missing=True),
        Variable("ill", "categorical", ("no", "yes")),
        Variable("w", "numeric", (0.0, 0.5, 1.0, 3.5), missing=True),
    )
)


def draw(n, seed, codebook=CODEBOOK):
    """Records whose levels are unequally likely, so that some cells are empty."""
    rng = np.random.default_rng(seed)
    columns = [rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.7))) for size in codebook.sizes]
    return Microdata(codebook, np.stack(columns, axis=1).astype(np.uint16))


def split(output, values):
    """The parts at published values, each with the slice of the numbers that it holds."""
    at = 0
    for part in output.parts(values):
        yield part, slice(at, at + part.n_numbers)
        at += part.n_numbers
    assert at == len(output.labels) == len(output.decimals)


def totals_of(part, data):
    return np.concatenate([block_totals(block, data.codes) for block in part.blocks])


def recomputed(output, values, data):
    """Numbers (k,) from slow totals, of parts made at published values."""
    return np.concatenate([part.map.numbers(totals_of(part, data)) for part, _ in split(output, values)])


def edited(data, edits, seed):
    """The records with some values redrawn."""
    rng, codes = np.random.default_rng(seed), data.codes.copy()
    for _ in range(edits):
        i, j = rng.integers(len(codes)), rng.integers(codes.shape[1])
        codes[i, j] = rng.integers(data.codebook.sizes[j])
    return Microdata(data.codebook, codes)


def half_digit(output, within):
    return 0.5 * 10.0 ** -output.decimals.astype(float) * within + 1e-9


def placed(output, data, low, high, within=1.0):
    """Whether all totals lie in the ranges of numbers that are off by half a last digit (times `within`) at most."""
    near, half = True, half_digit(output, within)
    for part, place in split(output, middle(low, high)):
        totals = totals_of(part, data)
        bounds = part.map.bounds(totals, (low - half)[place], (high + half)[place])
        assert len(bounds.low) == len(bounds.high) == len(bounds.unit) == len(bounds.variance) == len(totals)
        assert (bounds.low <= bounds.high).all() and (bounds.variance > 0).all() and (bounds.unit >= 0).all()
        assert not np.isnan(np.concatenate([bounds.low, bounds.high, bounds.unit, bounds.variance])).any()
        assert ((bounds.number >= 0) & (bounds.number < part.n_numbers)).all()
        assert (np.isinf(bounds.low) & np.isinf(bounds.high) | (bounds.unit > 0)).all(), "a range that draws nothing"
        near &= bool((np.abs(totals - np.clip(totals, bounds.low, bounds.high)) <= 1e-7).all())
    return near


def matched(output, numbers, low, high, within=1.0):
    """Whether all numbers (k,) lie where they should, to within half a last digit; undefined ones are undefined."""
    nothing = np.isneginf(low) & np.isposinf(high)
    near = np.abs(numbers - np.clip(numbers, low, high)) <= half_digit(output, within)
    return bool(np.where(nothing, np.isnan(numbers) | bool(output.protection.threshold), near).all())
