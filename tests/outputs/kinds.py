"""What the tests of every kind share: random records, and a kind's numbers from totals made by their definition."""

import sys
from pathlib import Path

import numpy as np
from hypothesis import reject

sys.path.append(str(Path(__file__).resolve().parents[1] / "evolve"))

from slow import block_totals

from outrisk.errors import OutputError
from outrisk.evolve.loop import evolve
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata

NO_INFORMATION = np.zeros((0, 0))


def random_records(codebook, seed, most=60):
    """Records of independent values, some of them rare; now and then very few records."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 5, most]))
    columns = [rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.7))) for size in codebook.sizes]
    return Microdata(codebook, np.stack(columns, axis=1).astype(np.uint16))


def even_records(codebook, seed, n):
    """Records of independent values, each as likely, none of them missing."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, len(v.values), n) for v in codebook.variables], axis=1)
    return Microdata(codebook, codes.astype(np.uint16))


def slopes_of(part, totals, step):
    """Derivatives (k, m) of a part's numbers: as it has them, and by differences; and the size of each number's."""
    found = part.map.jacobian(totals, NO_INFORMATION)
    expected = by_differences(lambda each: part.map.numbers(each, NO_INFORMATION), totals, step)
    return found, expected, np.abs(expected).max(axis=1, keepdims=True)


def refit_of(output, data):
    """The refit; other data are drawn where these leave no records."""
    try:
        return output.refit(data)
    except OutputError:
        reject()


def totals_of(part, data):
    return block_totals(part.model, data.codes)


def numbers_of(output, data):
    """The numbers from totals, at the data's own numbers as published values."""
    low, _ = output.publish(output.refit(data))
    found = []
    for part in output.parts(np.where(np.isfinite(low), low, 0.0)):
        found.append(part.map.numbers(totals_of(part, data), NO_INFORMATION))
    return np.concatenate(found)


def by_differences(function, totals, step):
    """Derivatives (k, m) by central differences."""
    columns = [
        (function(totals + step * unit) - function(totals - step * unit)) / (2 * step) for unit in np.eye(len(totals))
    ]
    return np.array(columns).T


def assert_reproduced(problem, seed=1):
    """Assert that a search comes to records that have all released numbers by refit."""
    *_, end = evolve(problem, preset("fast"), np.random.default_rng(seed))
    assert end.stop == "matched"
    for each in problem.released:
        assert each.recompute(Microdata(problem.codebook, end.codes)).matched.all()
