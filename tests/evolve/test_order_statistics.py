"""Values with published quantiles, nearest to those drawn: beside all combinations there are."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from problems import published

from outrisk.codebook import Codebook, Variable
from outrisk.evolve.loop import evolve
from outrisk.evolve.order_statistics import nearest_sorted, with_quantiles
from outrisk.evolve.settings import preset
from outrisk.evolve.start import from_released
from outrisk.microdata import Microdata

QUARTILES = {"kind": "quantiles", "value": "wage", "by": ["sex"], "quantiles": [0.25, 0.5, 0.75]}
BY_JOB = {**QUARTILES, "by": ["job"], "quantiles": [0.0, 0.25, 0.5, 0.75, 1.0]}


def workers(n, seed=1):
    rng = np.random.default_rng(seed)
    codebook = Codebook(
        (
            Variable("sex", "categorical", ("f", "m")),
            Variable("job", "categorical", tuple("abcdefgh")),
            Variable("wage", "integer", tuple(range(0, 200_000, 50))),
        )
    )
    wages = np.clip(rng.lognormal(10.3, 0.5, n), 0, 199_950) // 50
    return Microdata(
        codebook, np.stack([rng.integers(0, 2, n), rng.integers(0, 8, n), wages], axis=1).astype(np.uint16)
    )


def drawn_case(rng):
    """Ascending points, sorted values out of them, and what quantiles of others say of as many."""
    points = np.sort(rng.choice(40, rng.integers(3, 9), replace=False)).astype(float)
    n = int(rng.integers(1, 5))
    values, others = np.sort(rng.choice(points, n)), np.sort(rng.choice(points, n))
    knots = []
    for share in rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], rng.integers(1, 4), replace=False):
        place, quantile = (n - 1) * share, np.quantile(others, share) + (rng.random() < 0.1)
        knots.append((int(place), place - int(place), quantile - 0.05, quantile + 0.05))
    return points, values, knots


def best_of_all(points, values, knots):
    """The least sum of differences of all sorted values that lie as the knots say; infinite where none do."""
    sums = [np.inf]
    for found in combinations_with_replacement(points, len(values)):
        ends = [*found, found[-1]]
        lie = ((1 - weight) * ends[at] + weight * ends[at + 1] for at, weight, _, _ in knots)
        if all(low <= value <= high for value, (_, _, low, high) in zip(lie, knots, strict=True)):
            sums.append(np.abs(np.array(found) - values).sum())
    return min(sums)


def test_no_other_values_with_the_quantiles_are_nearer():
    rng, none = np.random.default_rng(1), 0
    for _ in range(200):
        points, values, knots = drawn_case(rng)
        found, best = nearest_sorted(points, values, knots), best_of_all(points, values, knots)
        if found is None:
            none += 1
            assert best == np.inf
        else:
            assert (np.diff(found) >= 0).all()
            assert np.abs(points[found] - values).sum() == pytest.approx(best)
    assert 10 < none < 100


def test_records_of_each_class_get_its_quantiles_and_those_that_have_them_stay():
    data = workers(120)
    problem = published(data, BY_JOB)
    drawn = workers(120, seed=2)
    codes = drawn.codes.copy()
    codes[:, 1] = data.codes[:, 1]  # jobs as large as they were
    before = codes.copy()
    assert with_quantiles(problem, codes) == {}
    refit = problem.released[0].recompute(Microdata(data.codebook, codes))
    assert refit.matched.all()
    assert (codes[:, :2] == before[:, :2]).all() and (codes[:, 2] == before[:, 2]).mean() > 0.2
    again = codes.copy()
    with_quantiles(problem, again)
    np.testing.assert_array_equal(again, codes)
    codes[:, 1] = 0
    assert list(with_quantiles(problem, codes).values()) == [0] * 7  # classes of nobody


@pytest.mark.parametrize("n", [60, 150])
def test_quartiles_of_classes_of_a_few_people_are_reproduced_from_the_start(n):
    problem = published(workers(n), BY_JOB, {"kind": "frequencies", "by": ["job"]})
    for seed in (1, 2):
        first = next(evolve(problem, preset("fast"), np.random.default_rng(seed)))
        assert first.stop == "matched"


def test_what_has_its_quantiles_stays_above_a_top_code_and_without_a_value_too():
    data = workers(200)
    missing = replace(data.codebook["wage"], missing=True)
    codebook = Codebook((*data.codebook.variables[:2], missing))
    data.codes[::20, 2] = missing.size - 1
    for entry in ({**BY_JOB, "protection": {"top_code": 40_000}}, QUARTILES):
        problem = published(Microdata(codebook, data.codes), entry)
        codes = data.codes.copy()
        assert with_quantiles(problem, codes) == {}
        np.testing.assert_array_equal(codes, data.codes)
        codes[:, 2] = np.where(codes[:, 2] == missing.size - 1, codes[:, 2], 3)
        assert with_quantiles(problem, codes) == {}
        assert problem.released[0].recompute(Microdata(codebook, codes)).matched.all()
        assert (codes[::20, 2] == missing.size - 1).all()


def test_values_that_tables_count_stay():
    data = workers(60)
    small = Variable("wage", "integer", tuple(range(20)))
    codebook = Codebook((*data.codebook.variables[:2], small))
    data = Microdata(codebook, np.minimum(data.codes, 19))
    problem = published(data, QUARTILES, {"kind": "frequencies", "by": ["wage", "job"]})
    codes = np.zeros_like(data.codes)
    codes[:30, 0] = 1
    before = codes.copy()
    assert with_quantiles(problem, codes) == {}
    np.testing.assert_array_equal(codes, before)


def test_a_start_is_drawn_again_for_classes_to_be_as_large_as_their_quantiles_need():
    """Nothing says how many are of either sex; but that one alone, or none, has no quartiles that differ."""
    data = workers(5)
    data.codes[:, 0] = [0, 0, 1, 1, 1]
    problem = published(data, QUARTILES)
    for seed in range(20):
        codes = from_released(problem)(5, np.random.default_rng(seed))
        assert with_quantiles(problem, codes) == {}
        assert 2 <= (codes[:, 0] == 0).sum() <= 3
