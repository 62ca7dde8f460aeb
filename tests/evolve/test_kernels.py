"""Running totals against totals afresh, and those against their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import design_and_response, random_data, random_problem, slow_totals

from outrisk.evolve import kernels
from outrisk.evolve.plan import ScoreBlock
from outrisk.evolve.problem import Problem
from outrisk.microdata import Microdata
from outrisk.outputs import Logit, release

SEEDS = st.integers(0, 10_000)
close = {"rtol": 0, "atol": 1e-8}


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_totals_equal_their_definition(seed):
    problem, outputs, data = random_problem(seed)
    np.testing.assert_allclose(problem.totals(data.codes), slow_totals(problem, outputs, data), **close)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from(["chi2", "mse", "precision"]))
def test_running_totals_follow_every_edit(seed, fitness):
    problem, _, data = random_problem(seed)
    rng = np.random.default_rng(seed + 1)
    codes, other = data.codes.copy(), np.ascontiguousarray(data.codes[::-1])
    totals, other_totals = problem.totals(codes), problem.totals(other)
    weights = problem.linearise(codes, fitness).weights
    for _ in range(3):
        kernels.mutate(problem.plan, codes, totals, 0.1, 0.3, rng)
        kernels.mate(problem.plan, codes, totals, other, other_totals, 0.3, rng)
        kernels.climb(problem.plan, codes, totals, problem.target, weights, 200, 0.3, rng)
        kernels.exchange(problem.plan, codes, totals, problem.target, weights, 200, rng)
    np.testing.assert_allclose(totals, problem.totals(codes), **close)
    np.testing.assert_allclose(other_totals, problem.totals(other), **close)
    assert (codes < np.array(problem.codebook.sizes)).all()


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_kept_edits_never_raise_the_fitness_and_refused_ones_would(seed):
    problem, _, data = random_problem(seed)
    rng = np.random.default_rng(seed)
    codes = data.codes.copy()
    kernels.mutate(problem.plan, codes, problem.totals(codes), 0.2, 0.0, rng)
    totals = problem.totals(codes)
    linear = problem.linearise(codes, "chi2")
    for move in (kernels.climb, kernels.exchange):
        for _ in range(60):
            before, fitness = codes.copy(), problem.fitness(totals, linear)
            extra = (0.3,) if move is kernels.climb else ()
            kept = move(problem.plan, codes, totals, problem.target, linear.weights, 1, *extra, rng)
            assert problem.fitness(problem.totals(codes), linear) <= fitness + 1e-9 * (1 + fitness)
            assert (codes != before).sum() == kept * (1 if move is kernels.climb else 2)


def test_a_climb_accepts_exactly_the_edits_that_do_not_hurt():
    problem, _, data = random_problem(4)
    codes = data.codes.copy()
    kernels.mutate(problem.plan, codes, problem.totals(codes), 0.3, 0.0, np.random.default_rng(0))
    linear = problem.linearise(codes, "chi2")
    start = problem.fitness(problem.totals(codes), linear)
    kept = [0, 0]
    for seed in range(400):
        trial, totals = codes.copy(), problem.totals(codes)
        accepted = kernels.climb(
            problem.plan, trial, totals, problem.target, linear.weights, 1, 0.0, np.random.default_rng(seed)
        )
        replay = np.random.default_rng(seed)
        draw = int(replay.random() * len(codes) * len(problem.plan.active))
        i, j = draw // len(problem.plan.active), problem.plan.active[draw % len(problem.plan.active)]
        size = problem.plan.sizes[j]
        edited = codes.copy()
        edited[i, j] = (int(codes[i, j]) + 1 + int(replay.random() * (size - 1))) % size
        change = problem.fitness(problem.totals(edited), linear) - start
        if abs(change) > 1e-9:
            assert accepted == (change < 0)
            kept[accepted] += 1
    assert min(kept) > 20


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_information_is_the_derivative_of_the_score(seed):
    problem, outputs, data = random_problem(seed)
    for b, (output, one) in enumerate(zip(outputs, problem.released, strict=True)):
        if not isinstance(one.block, ScoreBlock):
            continue
        information = kernels.information_of(problem.plan, problem.plan.blocks[b], data.codes)
        design, _ = design_and_response(output, data)
        p = 1 / (1 + np.exp(-design @ one.values))
        np.testing.assert_allclose(information, design.T @ ((p * (1 - p))[:, None] * design), rtol=1e-9, atol=1e-9)


def test_mating_swaps_whole_records_and_mutation_hits_at_its_rate():
    problem, _, _ = random_problem(3)
    rng = np.random.default_rng(0)
    n, p = 20_000, len(problem.codebook.variables)
    one = np.stack([rng.integers(0, size, n) for size in problem.codebook.sizes], axis=1).astype(np.uint16)
    other = np.stack([rng.integers(0, size, n) for size in problem.codebook.sizes], axis=1).astype(np.uint16)
    a, b = one.copy(), other.copy()
    kernels.mate(problem.plan, a, problem.totals(a), b, problem.totals(b), 0.1, rng)
    swapped = (a != one).any(axis=1) | (b != other).any(axis=1)
    np.testing.assert_array_equal(a[swapped], other[swapped])
    np.testing.assert_array_equal(b[swapped], one[swapped])
    same = (one == other).all(axis=1).mean()
    assert swapped.mean() == pytest.approx(0.1 * (1 - same), abs=0.01)
    changed = kernels.mutate(problem.plan, a, problem.totals(a), 0.05, 0.0, rng)
    assert changed / (n * p) == pytest.approx(0.05, abs=0.003)
    assert kernels.mutate(problem.plan, a, problem.totals(a), 1.0, 0.0, rng) == n * p
    assert kernels.mutate(problem.plan, a, problem.totals(a), 1e-300, 0.0, rng) == 0


def test_the_published_numbers_follow_from_totals_to_second_order():
    """One Newton step against a full refit: the gap shrinks with the square of the distance."""
    rng = np.random.default_rng(5)
    data = random_data(rng, 4000)
    output = Logit(data.codebook, "logit", "ill ~ age + C(area) + C(job)", 8)
    problem = Problem(data.codebook, len(data), (release(output, data),))
    gaps, distances = [], []
    for share in (0.4, 0.2, 0.1, 0.02):
        codes = data.codes.copy()
        rows = rng.permutation(len(codes))[: int(share * len(codes))]
        codes[rows, 4] = (codes[rows, 0] > 1).astype(np.uint16)
        refit = output.refit(Microdata(data.codebook, codes)) - problem.released[0].values
        linear = problem.residuals(problem.totals(codes), problem.linearise(codes, "chi2"))
        gaps.append(np.abs(linear - refit).max())
        distances.append(np.abs(refit).max())
    assert distances[0] > 10 * distances[-1]
    for gap, distance in zip(gaps, distances, strict=True):
        assert gap < 1.5 * distance**2
