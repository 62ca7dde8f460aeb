"""What a part adds, alone and with the others, against the definitions written out."""

from itertools import combinations, permutations

import numpy as np
import pytest

from outrisk.assess.contributions.combinations import combinations_of, increment, shapley_weights, subsets_in


def worths(n, seed=3):
    rng = np.random.default_rng(seed)
    every = [subset for size in range(1, n + 1) for subset in combinations(range(n), size)]
    return {(): 0.0} | {subset: float(rng.normal()) for subset in every}


def value(weights, worth):
    return sum(weight * worth[subset] for subset, weight in weights.items())


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_shapley_is_the_mean_over_all_orders(n):
    worth = worths(n)
    for part in range(n):
        added = []
        for order in permutations(range(n)):
            before = tuple(sorted(order[: order.index(part)]))
            added.append(worth[tuple(sorted((*before, part)))] - worth[before])
        assert value(shapley_weights(n, part), worth) == pytest.approx(np.mean(added))


@pytest.mark.parametrize("n", [2, 3, 6, 8])
def test_what_is_said_of_parts(n):
    worth = worths(n)
    everything = tuple(range(n))
    chosen = list(combinations_of(n, shapley=True))
    found = {(each.what, each.part): value(each.weights, worth) for each in chosen}
    assert sum(found["share", part] for part in range(n)) == pytest.approx(worth[everything])
    assert found["together", None] == pytest.approx(worth[everything])
    assert found["emerges", None] == pytest.approx(worth[everything] - sum(worth[part,] for part in range(n)))
    for part in range(n):
        others = tuple(each for each in everything if each != part)
        assert found["alone", part] == worth[part,]
        assert found["adds", part] == pytest.approx(worth[everything] - worth[others])
    assert value(increment(n).weights, worth) == pytest.approx(worth[everything] - worth[0,])
    assert len(subsets_in(chosen, n)) == 2**n - 2


def test_few_evolutions_without_shares():
    chosen = list(combinations_of(10, shapley=False))
    assert len(subsets_in(chosen, 10)) == 20
    assert len(subsets_in(list(combinations_of(2, shapley=False)), 2)) == 2  # alone and left out are the same
    assert subsets_in([increment(5)], 5) == [(0,)]
