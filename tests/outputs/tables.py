"""Tables on small data: what a reader of the released numbers, and the slow totals, make of them."""

import numpy as np
from slow import block_totals

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata

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


def middle(low, high):
    with np.errstate(invalid="ignore"):
        return np.where(low == high, low, (low + high) / 2)


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


def placed(output, data, low, high, within=1.0):
    """Whether all totals lie in their ranges, to within what half a last digit (times `within`) explains."""
    near = True
    for part, place in split(output, middle(low, high)):
        totals = totals_of(part, data)
        bounds = part.map.bounds(totals, low[place], high[place])
        assert len(bounds.low) == len(bounds.high) == len(bounds.unit) == len(bounds.variance) == len(totals)
        assert (bounds.low <= bounds.high).all() and (bounds.variance > 0).all() and (bounds.unit >= 0).all()
        assert not np.isnan(np.concatenate([bounds.low, bounds.high, bounds.unit, bounds.variance])).any()
        assert ((bounds.number >= 0) & (bounds.number < part.n_numbers)).all()
        half = 0.5 * 10.0 ** -output.decimals[place].astype(float)[bounds.number]
        with np.errstate(divide="ignore"):
            slack = np.where(bounds.unit > 0, half / bounds.unit, np.inf) * within + 1e-9
        near &= bool((np.abs(totals - np.clip(totals, bounds.low, bounds.high)) <= slack).all())
    return near


def matched(output, numbers, low, high, within=1.0):
    """Whether all numbers (k,) of which something is known lie where they should, to within half a last digit."""
    half = 0.5 * 10.0 ** -output.decimals.astype(float) * within + 1e-9
    far = np.abs(numbers - np.clip(numbers, low, high))
    return bool(((np.nan_to_num(far, nan=np.inf) <= half) | (np.isneginf(low) & np.isposinf(high))).all())
