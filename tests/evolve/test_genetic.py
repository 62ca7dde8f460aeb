"""The genetic algorithm of the paper: its settings are Table 1, and each operator does what it says and helps."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from problems import random_data, random_problem

from outrisk.evolve import breeding, start
from outrisk.evolve.candidate import Candidate, draw_candidate
from outrisk.evolve.compiled.records import places_of, redrawn
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.outputs import Frequencies, Logit, release


@pytest.fixture(scope="module")
def problem():
    data = random_data(np.random.default_rng(8), 1000)
    outputs = [Logit(data.codebook, "logit", "ill ~ age + C(area) + income", 4)]
    outputs += [Frequencies(data.codebook, name, (name,), importance=1e-9) for name in ("age", "area", "ill")]
    return Problem(data.codebook, len(data), tuple(release(output, data) for output in outputs))


def candidates(*errors):
    found = [Candidate(np.zeros((1, 1), np.uint8), np.zeros(1)) for _ in errors]
    for candidate, error in zip(found, errors, strict=True):
        candidate.fitness.values = (error,)
    return found


def errors_of(family):
    return [candidate.fitness.values[0] for candidate in family]


def test_the_preset_is_table_1_and_its_error_falls():
    data = random_data(np.random.default_rng(8), 3000)
    outputs = (
        Logit(data.codebook, "logit", "ill ~ age + C(area) + income", 4),
        Frequencies(data.codebook, "table", ("area", "ill")),
    )
    problem = Problem(data.codebook, len(data), tuple(release(output, data) for output in outputs))
    settings = preset("paper")
    assert (settings.population, settings.generations, settings.start, settings.fitness) == (32, 2000, "uniform", "mse")
    assert (settings.mate_probability, settings.mate_share) == (0.8, 0.1)
    assert [settings.mutation(g) for g in (0, 249, 250, 500)] == pytest.approx([0.005, 0.005, 0.005 / 3, 0.005 / 9])
    generations = list(evolve(problem, preset("paper", generations=60), np.random.default_rng(0)))
    assert generations[-1].stop == "budget"
    assert generations[-1].errors.mse < 0.7 * generations[0].errors.mse
    assert generations[0].fitness["mean"] > generations[0].fitness["best"]


@pytest.mark.parametrize("without", ["mate_probability", "mutation"])
def test_mating_and_mutation_each_help(problem, without):
    """At the same number of generations, over four seeds: the error is lower with the operator than without."""
    settings = preset("paper", generations=120, population=12)
    settings = replace(settings, mutation=replace(settings.mutation, every=20))
    none = 0.0 if without == "mate_probability" else replace(settings.mutation, start=0.0)

    def error(used):
        ends = []
        for seed in range(4):
            *_, end = evolve(problem, used, np.random.default_rng(seed))
            ends.append(np.log(end.fitness["best"]))
        return np.mean(ends)

    assert error(settings) < error(replace(settings, **{without: none}))


def test_same_seed_same_result_on_any_number_of_workers(problem):
    settings = preset("paper", generations=12, population=6, crowding=6)

    def codes(seed, workers):
        *_, end = evolve(problem, settings, np.random.default_rng(seed), workers)
        return end.codes

    np.testing.assert_array_equal(codes(1, 1), codes(1, 2))
    np.testing.assert_array_equal(codes(1, 1), codes(1, 3))
    assert (codes(1, 1) != codes(2, 1)).any()


def test_mating_swaps_records_with_the_given_share():
    problem, _, _ = random_problem(1, 4000)
    zeros, ones = np.zeros((4000, 5), np.uint8), np.ones((4000, 5), np.uint8)
    one, other = (Candidate(codes.copy(), problem.totals(codes)) for codes in (zeros, ones))
    breeding.mate(problem, one, other, 0.1, np.random.default_rng(0))
    assert (one.codes == one.codes[:, :1]).all() and (one.codes + other.codes == 1).all()  # whole records
    assert one.codes[:, 0].sum() == pytest.approx(400, abs=4 * 400**0.5)


def test_mutation_redraws_values_with_the_given_rate_any_other_alike(problem):
    candidate = Candidate(np.zeros((30000, 5), np.uint8), problem.totals(np.zeros((30000, 5), np.uint8)))
    breeding.mutate(problem, candidate, 0.2, np.random.default_rng(0))
    for column, size in zip(candidate.codes.T, problem.codebook.sizes, strict=True):
        counts = np.bincount(column, minlength=size)
        np.testing.assert_allclose(counts[1:], 6000 / (size - 1), atol=4 * (6000 / (size - 1)) ** 0.5)


def test_events_are_as_many_as_their_chance_says():
    rng = np.random.default_rng(0)
    found = np.concatenate([breeding.hits(50, 0.1, rng) for _ in range(4000)])
    np.testing.assert_allclose(np.bincount(found, minlength=50), 400, atol=5 * 400**0.5)
    assert len(breeding.hits(50, 0.0, rng)) == 0
    assert breeding.hits(50, 1.0, rng).tolist() == list(range(50))


def test_compiled_places_of_events_are_those_that_numpy_adds_up():
    gaps = np.random.default_rng(0).standard_exponential(200)
    all_of_them = np.cumsum(np.ceil(gaps * 7.3)) - 1
    within = all_of_them[all_of_them < 500]
    assert 0 < len(within) < 200
    assert places_of(gaps, 7.3, 500).tolist() == [*within, 500]
    assert places_of(gaps, 7.3, 10**6).tolist() == all_of_them.tolist()
    assert places_of(gaps, 1e30, 500).tolist() == [500]


def test_compiled_redrawn_records_are_those_that_python_draws():
    rng, sizes = np.random.default_rng(0), np.array([2, 300, 1, 5])
    codes = (rng.random((400, 4)) * sizes).astype(np.uint16)
    places, draws = np.flatnonzero(rng.random(codes.size) < 0.3), rng.random(codes.size)
    expected = codes.copy()
    for place, draw in zip(places, draws, strict=False):
        i, j = divmod(int(place), 4)
        expected[i, j] = (codes[i, j] + 1 + int(draw * (sizes[j] - 1))) % sizes[j]
    rows, after = redrawn(codes, sizes, places, draws)
    np.testing.assert_array_equal(rows, np.unique(places // 4))
    np.testing.assert_array_equal(after, expected[rows])


def test_each_child_competes_with_its_own_parent_while_crowding():
    good, bad, child_of_good, child_of_bad = candidates(1.0, 1.0, 2.0, 1.0)
    assert breeding.own_parent([good, bad], [child_of_good, child_of_bad]) == [good, child_of_bad]


def test_the_elite_and_the_best_survive():
    population, children = candidates(1.0, 5.0, 6.0), candidates(4.0, 3.0, 7.0)
    assert errors_of(breeding.comma(population, children)) == [1.0, 3.0, 4.0]
    assert errors_of(breeding.plus(population, children)) == [1.0, 3.0, 4.0]
    population, children = candidates(1.0, 2.0, 6.0), candidates(4.0, 3.0, 7.0)
    assert errors_of(breeding.comma(population, children)) == [1.0, 3.0, 4.0]
    assert errors_of(breeding.plus(population, children)) == [1.0, 2.0, 3.0]


def test_a_tournament_prefers_the_fittest_as_its_size_says():
    population = candidates(*range(8))
    rng = np.random.default_rng(0)
    for size in (1, 3):
        rounds = [errors_of(breeding.tournament(population, size, rng)) for _ in range(3000)]
        won = np.bincount(np.ravel(rounds).astype(int))
        expected = [((8 - at) / 8) ** size - ((7 - at) / 8) ** size for at in range(8)]
        np.testing.assert_allclose(won / won.sum(), expected, atol=0.02)


def test_the_best_candidate_is_never_lost_between_refreshes(problem):
    settings = preset("paper", generations=30, population=8, refresh=1000, crowding=10)
    best = [generation.fitness["best"] for generation in evolve(problem, settings, np.random.default_rng(0))]
    assert all(later <= earlier for earlier, later in pairwise(best[1:]))


def test_rules_hold_through_mutation_and_mating():
    from blocks import random_problem as ruled

    problem, _ = ruled(4, rules=True)
    one, other = (draw_candidate(problem, start.uniform(problem), np.random.default_rng(seed)) for seed in range(2))
    rng = np.random.default_rng(0)
    for _ in range(30):
        breeding.mate(problem, one, other, 0.3, rng)
        breeding.mutate(problem, one, 0.3, rng)
    assert not breeding.breaks_rule(problem.rules, np.concatenate([one.codes, other.codes])).any()
