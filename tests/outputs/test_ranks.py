"""How few records can have published quantiles: against all sets of records, one after the other."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.evolve.mending import _cells
from outrisk.evolve.problem import Problem
from outrisk.microdata import Microdata
from outrisk.outputs import release
from outrisk.outputs.tables.quantiles import Quantiles
from outrisk.outputs.tables.ranks import fewest_records
from outrisk.problem.quantile_places import METHODS

SUPPORT = np.array([1.0, 2.0, 4.0, 5.0, 8.0])
QUARTERS = (0.25, 0.5, 0.75)


@pytest.mark.parametrize("of_type", list(METHODS))
@pytest.mark.parametrize(
    "quantiles", [(2, 2, 2), (1, 4, 8), (1.5, 2, 4.5), (2, 2, 5), (2.5, 3, 4), (1, 1.2, 8), (4.2, 4.5, 6)]
)
def test_the_fewest_records_with_some_quantiles(quantiles, of_type):
    def has(n):
        return any(
            (np.abs(np.quantile(each, QUARTERS, method=METHODS[of_type]) - quantiles) <= 0.05 + 1e-9).all()
            for each in combinations_with_replacement(SUPPORT, n)
        )

    (found,) = fewest_records(np.array([quantiles]), 0.05, SUPPORT, QUARTERS, of_type)
    tried = next((n for n in range(1, 9) if has(n)), None)
    assert found == tried if tried else found == 1 or found > 8


@pytest.fixture
def by_class():
    codebook = Codebook((Variable("class", "categorical", ("a", "b")), Variable("age", "integer", tuple(range(20)))))
    rng = np.random.default_rng(1)
    ages = np.concatenate([rng.integers(0, 20, 29), [3, 7, 7, 12, 15]])
    codes = np.stack([np.repeat([0, 1], [29, 5]), ages], axis=1).astype(np.uint16)
    output = Quantiles(codebook, "quantiles", value="age", by=("class",), probabilities=QUARTERS)
    return codes, Problem(codebook, 34, (release(output, Microdata(codebook, codes)),))


def test_a_class_is_not_to_lose_the_records_that_its_quantiles_need(by_class):
    codes, problem = by_class
    part, where, which, _ = problem.slices[0]
    for many in (30, 5, 1, 0):  # of the second class, whose quantiles are off: it is to lose none, and to have enough
        totals = problem.totals(np.concatenate([codes[:29], np.repeat(codes[29:30], many, axis=0)]))
        bounds = part.map.bounds(totals[where], problem.low[which], problem.high[which])
        assert bounds.low[1] == max(part.map.fewest[1], many)
        assert bounds.high[1] == np.inf
        assert bounds.low[0] == int(0.8 * 29)  # as published: some may go elsewhere
    assert part.map.fewest[1] > 1


def test_an_empty_cell_is_known_by_the_values_that_are_counted_in_it(by_class):
    codes, problem = by_class
    empty = codes[:29]
    size = np.zeros(len(problem.totals(empty)), bool)
    size[1] = True
    (cell,) = _cells(empty, problem, size, np.random.default_rng(1))
    assert not len(cell.there) and cell.variables == [0] and cell.values.tolist() == [1]
